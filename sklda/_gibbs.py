"""GibbsLDA: topics by collapsed Gibbs sampling, priors given."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklda._base import BaseLDA
from sklda._callbacks import Progress
from sklda._inference import random
from sklda._inference.sampling.choice import SAMPLERS, chain_class
from sklda._inference.sampling.collapsed import run_chains
from sklda._inference.sampling.initialisation import INITS, start_chains
from sklda._inference.sampling.point_estimates import METHODS, reserve


class GibbsLDA(BaseLDA):
    """Latent Dirichlet allocation by exact collapsed Gibbs sampling, with fixed priors.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        alpha, the Dirichlet parameter per topic of a document's proportions. None: ``1 / n_components``.
    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=None
        eta, the Dirichlet parameter per word of a topic. None: ``1 / n_components``. A matrix seeds topics with words.
        Both priors must lie between 1e-12 and 1e12.
    sampler : {"collapsed", "partitioned", "grouped", "partially_collapsed"}, default="collapsed"
        All have the posterior as their target. ``"collapsed"``: tokens are drawn one after the other from their exact
        full conditionals, theta and phi integrated out. ``"partitioned"``: the same in four to eight lanes that share
        neither documents nor words, with a Metropolis-Hastings step for what they do share, the totals of topics.
        ``"partially_collapsed"``: phi is drawn given z, then the tokens of every document one after the other with
        theta integrated out. ``"grouped"``: phi and theta are drawn given z, then all tokens at once. The last two can
        need more sweeps for the same progress, and more time for one on small corpora. In all but the first, `n_jobs`
        cores serve a single chain.
    init : {"random", "sequential", "anneal", "prune"}, default="random"
        Where chains begin; the posterior has modes that sweeps do not leave. ``"random"``: topics drawn at random.
        ``"sequential"``: every token drawn given those before it, documents in random order, in the time of a sweep
        and with ``4 * n_components * n_features`` bytes meanwhile: on large corpora with many topics that saves most of
        the way (Griffiths & Steyvers 2004). ``"anneal"``: 300 sweeps more, in which both priors fall from ten times
        their values. ``"prune"``: begin with twice as many topics and merge the closest pair again and again, with 60
        sweeps at first and 15 after each merge; this needs priors that are the same for all topics.
    max_iter : int, default=500
        Sweeps over the corpus, each chain; with `warm_start`, further sweeps.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        How topics come from the last draw: expected counts under each token's full conditional (Papanikolaou et al.
        2017, equations 33 and 41), or the counts themselves.
    n_chains : int, default=1
        Independent chains. The topics kept are those of the chain with the highest mean log joint over the last half of
        its sweeps.
    fold_in_iter : int, default=30
        Sweeps over a document in `transform`.
    warm_start : bool, default=False
        Whether `fit` goes on from the last state of the previous fit on the same X. Sweeps and draws are then those
        of one longer fit.
    snapshot_every : int, default=None
        Sweeps between copies of the topics, which `sklda.metrics.held_out_curve` scores. Each takes
        ``4 * n_components * n_features`` bytes in every chain; `verbose` prints the sum before the first sweep.
    n_jobs : int, default=None
        Chains at a time; with a single chain and a sampler other than ``"collapsed"``, lanes or blocks of documents;
        blocks of 64 documents in `transform`. No result depends on it.
    verbose : int, default=0
        1 prints about ten lines a chain, 2 a line every sweep.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int makes the fit, and `transform` after it, the same every time.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Topic-word counts plus prior; normalised rows are `topic_word_`.
    topic_word_ : ndarray of shape (n_components, n_features)
        Topics as distributions over words.
    doc_topic_ : ndarray of shape (n_documents, n_components)
        Topic proportions of the training documents from the same draw.
    doc_topic_prior_, topic_word_prior_ : float or ndarray
        The priors used.
    topic_assignments_ : ndarray of shape (n_tokens,), int32
        Topic of every token: document by document, word ids ascending, a word of count c c times.
    log_joint_trace_ : ndarray of shape (n_chains, n_iter_)
        log p(w, z | alpha, eta) after every sweep, in nats. Where a callback ended a chain early, NaN follows.
    snapshots_ : ndarray of shape (n_snapshots, n_components, n_features), float32
        Topics along the sweeps of the chain kept, by its counts. Only with `snapshot_every`.
    snapshot_sweeps_ : ndarray of shape (n_snapshots,), int
        The sweeps after which they were taken.
    n_iter_ : int
        Sweeps made by the longest chain, those of earlier warm starts included.
    best_chain_ : int
        The row of `log_joint_trace_` that the topics come from.
    sampler_ : str
        The kernel that was used. For ``sampler="collapsed"`` ``"sparse"``, word by word and without a matrix of counts,
        from 256 topics on or 1.4 times the mean length of a document, whichever is more, unless topics have an eta each
        or a document has 65,536 tokens; otherwise ``"dense"``, document by document. Both are exact, but draws differ.
        For other samplers, their name.
    n_features_in_ : int
        Size of the vocabulary.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words, where X had them as column names.

    Notes
    -----
    The full conditional of a token of word v in document d, counts taken without the token itself, is

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
        room = reserve(corpus, self.n_components)
        if self.snapshot_every is not None:
            n_snapshots = self.max_iter // self.snapshot_every
            room.append(np.empty((n_snapshots, self.n_components, corpus.n_features), np.float32))
        priors, prior_attributes = self._priors(corpus)
        if self.warm_start and hasattr(self, "_chain_states_"):
            chains, fold_in_seed = self._resume(corpus, priors), self._fold_in_seed_
        else:
            seed = random.seed_sequence(self.random_state)
            seeds = [random.child(seed, 0, c) for c in range(self.n_chains)]
            kind = chain_class(self.sampler, corpus, priors)
            chains = start_chains(corpus, priors, seeds, [self.init] * self.n_chains, self.n_jobs, kind)
            fold_in_seed = random.key(random.child(seed, 1))

        if self.snapshot_every is not None and self.verbose:
            size = len(chains) * (self.max_iter // self.snapshot_every) * 4 * self.n_components * corpus.n_features
            print(f"[{type(self).__name__}] snapshots of the topics will take {size / 1e6:.1f} MB")
        progress = Progress(self, data, prior_attributes | {"_fold_in_seed_": fold_in_seed}, len(chains))
        chains = run_chains(
            chains, self.max_iter, n_jobs=self.n_jobs, listener=progress, keep_every=self.snapshot_every
        )
        del room
        progress.end(chains)
        return progress.fitted(chains)

    def _resume(self, corpus, priors):
        """Chains that go on from the states of the previous fit."""
        self._check_same_corpus(corpus)
        self._check_same_parameters({"n_components": len(self.components_), "n_chains": len(self._chain_states_)})
        kind = chain_class(self.sampler, corpus, priors)
        return [kind(corpus, priors, state) for state in self._chain_states_]

    def _fitted_attributes(self, chains):
        """Attributes that describe the chains as they stand."""
        traces = self._trace_attributes(chains)
        chain = chains[traces["best_chain_"]]
        snapshots = {}
        if self.snapshot_every is not None:
            snapshots = {
                "snapshots_": np.array([phi for _, phi in chain.kept]).reshape(
                    -1, chain.priors.n_components, chain.corpus.n_features
                ),
                "snapshot_sweeps_": np.array([sweep for sweep, _ in chain.kept], dtype=int),
            }
        return (
            snapshots
            | traces
            | self._topic_attributes(chain)
            | {
                "sampler_": chain.sampler,
                "_chain_states_": [chain.snapshot() for chain in chains],
                "_fingerprint_": chains[0].corpus.fingerprint,
            }
        )
