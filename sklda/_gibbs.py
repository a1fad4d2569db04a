"""GibbsLDA: topics by Gibbs sampling, with fixed priors."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklda._base import BaseLDA
from sklda._callbacks import Progress
from sklda._inference import random
from sklda._inference.sampling.choice import SAMPLERS, chain_class
from sklda._inference.sampling.initialisation import INITS, initialise_chains
from sklda._inference.sampling.point_estimates import METHODS, reserve_memory
from sklda._inference.sampling.run_chains import run_chains


class GibbsLDA(BaseLDA):
    """Latent Dirichlet allocation by exact Gibbs sampling, with fixed priors.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        alpha, the Dirichlet parameter per topic of the topic proportions. None: ``1 / n_components``.
    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=None
        eta, the Dirichlet parameter per word of the topics. None: ``1 / n_components``. With a matrix, topics can have
        seed words. Both priors must lie between 1e-12 and 1e12.
    sampler : {"collapsed", "partitioned", "grouped", "partially_collapsed"}, default="collapsed"
        All samplers have the posterior as their target. ``"collapsed"``: tokens are drawn one after the other from
        their exact full conditionals, with theta and phi integrated out. ``"partitioned"``: the collapsed sampler with
        four to eight workers. At any time, workers draw tokens of different documents and different words. They share
        the totals of topics; a Metropolis-Hastings step corrects for this. ``"partially_collapsed"``: phi is drawn
        given z; then the tokens of each document are drawn one after the other, with theta integrated out.
        ``"grouped"``: phi and theta are drawn given z; then all tokens are drawn given phi and theta. The last two can
        need more sweeps to converge, and on small corpora a sweep takes longer. With all samplers but ``"collapsed"``,
        a single chain can use `n_jobs` cores.
    init : {"random", "sequential", "anneal", "prune"}, default="random"
        Initialisation of the chains. It matters, because the posterior has modes that sweeps do not leave.
        ``"random"``: every token has a random topic. ``"sequential"``: every token is drawn given the tokens before it,
        with documents in random order (Griffiths & Steyvers 2004). This takes the time of a sweep and temporarily
        ``4 * n_components * n_features`` bytes, and saves many sweeps on large corpora with many topics. ``"anneal"``:
        300 additional sweeps, in which both priors decrease from ten times their values. ``"prune"``: 60 sweeps with
        twice as many topics; then the closest pair of topics is merged, with 15 sweeps after each merge, until there
        are `n_components` topics. ``"prune"`` needs priors that are equal for all topics.
    max_iter : int, default=500
        Number of sweeps over the corpus in each chain. With `warm_start`, number of additional sweeps.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        Estimate of topics and topic proportions from the last draw. ``"cgs_p"``: expected counts under the full
        conditional of each token (Papanikolaou et al. 2017, equations 33 and 41). ``"cgs"``: the counts of the draw.
    n_chains : int, default=1
        Number of independent chains. The topics are those of the chain with the highest mean log joint over the last
        half of its sweeps.
    fold_in_iter : int, default=30
        Number of sweeps over a document in `transform`.
    warm_start : bool, default=False
        Whether `fit` continues from the last state of the previous fit, which must have had the same X. The draws are
        then those of one longer fit.
    snapshot_every : int, default=None
        Number of sweeps between two copies of the topics, for `sklda.metrics.held_out_curve`. None: no copies. A copy
        takes ``4 * n_components * n_features`` bytes in every chain. With `verbose`, their total size is printed before
        the first sweep.
    n_jobs : int, default=None
        Number of chains at a time. With a single chain and a sampler other than ``"collapsed"``: number of workers, or
        of blocks of documents, at a time. In `transform`: number of blocks of 64 documents at a time. Results do not
        depend on it.
    verbose : int, default=0
        1 prints about ten lines for each chain, 2 a line for each sweep.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the results of `fit` and of `transform` after it are reproducible.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Topic-word counts plus prior. `topic_word_` has the normalised rows.
    topic_word_ : ndarray of shape (n_components, n_features)
        Topics as distributions over words.
    doc_topic_ : ndarray of shape (n_documents, n_components)
        Topic proportions of the training documents, from the same draw as `components_`.
    doc_topic_prior_, topic_word_prior_ : float or ndarray
        alpha and eta of the fit.
    topic_assignments_ : ndarray of shape (n_tokens,), int32
        The topic of every token, document by document. The tokens of a document are in ascending order of word ids; a
        word of count c has c tokens.
    log_joint_trace_ : ndarray of shape (n_chains, n_iter_)
        log p(w, z | alpha, eta) after every sweep, in nats. If a callback ended a chain early, its remaining entries
        are NaN.
    snapshots_ : ndarray of shape (n_snapshots, n_components, n_features), float32
        Topics during the sweeps of the best chain, computed from the counts. Only with `snapshot_every`.
    snapshot_sweeps_ : ndarray of shape (n_snapshots,), int
        The numbers of the sweeps after which the snapshots were taken.
    n_iter_ : int
        Number of sweeps of the longest chain, including those before a warm start.
    best_chain_ : int
        Index of the chain from which the topics come.
    sampler_ : str
        The sampler that was used. For ``sampler="collapsed"`` there are two implementations, which are exact but make
        different draws. ``"sparse"`` goes through the tokens word by word and stores no matrix of counts. It is used if
        `n_components` is at least 256 and at least 1.4 times the mean length of a document, all topics have the same
        eta, and no document has more than 65,535 tokens. ``"dense"`` goes through them document by document. For other
        samplers, their name.
    n_features_in_ : int
        Size of the vocabulary.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words. Only if X has column names that are all strings.

    Notes
    -----
    The full conditional of a token of word v in document d, with counts that do not include the token, is

    .. math::

        p(z = k \\mid \\text{rest}) \\propto
        (n_{dk} + \\alpha_k) \\frac{m_{kv} + \\eta_{kv}}{m_k + \\sum_v \\eta_{kv}}.

    References
    ----------
    Griffiths & Steyvers (2004). Finding scientific topics. PNAS 101.

    Papanikolaou, Foulds, Rubin & Tsoumakas (2017). Dense distributions from sparse samples: improved Gibbs sampling
    parameter estimators for LDA. JMLR 18.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklda import GibbsLDA
    >>> texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]
    >>> lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    >>> theta = make_pipeline(CountVectorizer(), lda).fit_transform(texts)
    >>> theta.shape, (theta.argmax(axis=1) == theta[0].argmax()).tolist()
    ((4, 2), [True, True, False, False])
    """

    _parameter_constraints = {
        **BaseLDA._parameter_constraints,
        "sampler": [StrOptions(set(SAMPLERS))],
        "init": [StrOptions(set(INITS))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "point_estimate": [StrOptions(set(METHODS))],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "snapshot_every": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        sampler="collapsed",
        init="random",
        max_iter=500,
        point_estimate="cgs_p",
        n_chains=1,
        fold_in_iter=30,
        warm_start=False,
        snapshot_every=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.sampler = sampler
        self.init = init
        self.max_iter = max_iter
        self.point_estimate = point_estimate
        self.n_chains = n_chains
        self.fold_in_iter = fold_in_iter
        self.warm_start = warm_start
        self.snapshot_every = snapshot_every
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, corpus, data):
        n_snapshots = self.max_iter // self.snapshot_every if self.snapshot_every is not None else 0
        priors, attributes = self._priors(corpus)
        reserved = reserve_memory(corpus, self.n_components, n_snapshots)
        if self.warm_start and hasattr(self, "_chain_states_"):
            chains, fold_in_seed = self._resume(corpus, priors), self._fold_in_seed_
        else:
            seed = random.seed_sequence(self.random_state)
            seeds = [random.child(seed, 0, c) for c in range(self.n_chains)]
            kind = chain_class(self.sampler, corpus, priors)
            chains = initialise_chains(corpus, priors, seeds, [self.init] * self.n_chains, self.n_jobs, kind)
            fold_in_seed = random.key(random.child(seed, 1))
        attributes["_fold_in_seed_"] = fold_in_seed

        def fitted(chains):
            return attributes | self._fitted_attributes(chains)

        if n_snapshots and self.verbose:
            size = len(chains) * n_snapshots * 4 * self.n_components * corpus.n_features
            print(f"[{type(self).__name__}] snapshots of the topics will take {size / 1e6:.1f} MB")
        progress = Progress(self, data, fitted, len(chains), self.max_iter)
        options = {"n_jobs": self.n_jobs, "listener": progress, "snapshot_every": self.snapshot_every}
        chains = run_chains(chains, self.max_iter, **options)
        del reserved
        progress.end(chains)
        return fitted(chains)

    def _resume(self, corpus, priors):
        """Chains that continue from the states of the previous fit."""
        self._check_same_corpus(corpus)
        self._check_same_parameters({"n_components": len(self.components_), "n_chains": len(self._chain_states_)})
        kind = chain_class(self.sampler, corpus, priors)
        return [kind(corpus, priors, state) for state in self._chain_states_]

    def _fitted_attributes(self, chains):
        """Fitted attributes from the present states of the chains."""
        traces = self._trace_attributes(chains)
        chain = chains[traces["best_chain_"]]
        snapshots = {}
        if self.snapshot_every is not None:
            snapshots = {
                "snapshots_": np.array([phi for _, phi in chain.snapshots]).reshape(
                    -1, chain.priors.n_components, chain.corpus.n_features
                ),
                "snapshot_sweeps_": np.array([sweep for sweep, _ in chain.snapshots], dtype=int),
            }
        return (
            snapshots
            | traces
            | self._topic_attributes(chain)
            | {
                "sampler_": chain.sampler,
                "_chain_states_": [chain.state() for chain in chains],
                "_fingerprint_": chains[0].corpus.fingerprint,
            }
        )
