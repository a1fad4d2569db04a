"""GibbsLDA: topics by Gibbs sampling, with learnt or fixed priors."""

from __future__ import annotations

from typing import Any, Literal, Self

from numpy.typing import ArrayLike

from sklda._input.document_values import DocumentValues
from sklda._input.types import Counts, Model, Seed, TopicPrior, Topics, TopicWords
from sklda._models.chain_lda import LocalChainLDA
from sklda._models.fit_run import all_or_nothing
from sklda._models.progress import with_callbacks
from sklda._sampling.point_estimates import check_assignments


class GibbsLDA(LocalChainLDA):
    """Latent Dirichlet allocation by exact Gibbs sampling, with learnt priors.

    Topics and topic proportions are means over the last draws of a chain. The priors are learnt in the burn-in and
    fixed afterwards, so the draws come from an exact sampler of the posterior at these priors. Sweeps do not leave a
    mode of the posterior. Therefore topics that are alike are merged in the burn-in, and topics that are two are split,
    as the user guide describes ("Are all topics found?").

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    learn_priors : bool or "symmetric", default=True
        Which priors are learnt if they are None. True: one alpha for each topic, and one eta.
        ``"symmetric"``: one alpha and one eta. The method is Gibbs-EM (Wallach 2006) in the burn-in of each chain,
        after its annealed sweeps, with about thirty M-steps. Fewer than 15 sweeps learn nothing. If X has fewer than
        1,000 tokens, priors that are None are 0.1, because so few tokens do not determine them. False: priors that
        are None are ``1 / n_components``.
    doc_topic_prior : float, array-like of shape (n_components,), str or callable, default=None
        alpha, the Dirichlet parameter per topic of the topic proportions. A given alpha is not changed. A text such as
        ``"50/K"`` and a function such as ``lambda K: 50 / K`` follow the number of topics.
    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=None
        eta, the Dirichlet parameter per word of the topics. It is not changed. Both priors: from 1e-12 to 1e12.
    seed_words : dict of {str or int: sequence of words, or dict of {word: float}}, default=None
        What some topics are about. Keys are names or numbers of topics. Topics with names are the first ones behind
        `known_topics`, and ``topic_names_`` has these names. Words are those of `vocabulary` or of the columns of X,
        patterns with ``*`` (any letters) and ``?`` (one letter), or numbers of columns. Chains begin with all tokens of
        these words in their topics, and with many other tokens of the documents that have them. `init` must be
        ``"anneal"`` or ``"random"``, which then mean the same: nothing is annealed. A dict of words has their
        strengths, in tokens: the eta of a word in its topic is larger by its strength, as if the topic had had so many
        tokens of it before; in a list it is 0. A warning names words that are no column of X, that no document has,
        that several topics share, or that more than half of the documents have, and after the fit topics without most
        tokens of their words.
    known_topics : fitted model, pipeline, data frame or array-like of shape (n_known, n_words), default=None
        Topics that are known before the fit, such as those of another corpus. They are the first topics of the fit, and
        `n_components` counts them as well: the others are new. The columns of a data frame are words, its index the
        names of the topics; an array has a column for each column of X. Words are compared by their names, which X or
        `vocabulary` must have. A warning names the words that only one side has. Those that X does not have are left
        out. The others have the prior eta in the known topics; in a fixed topic, the probability of its rarest word.
        Names of known topics stay, in ``topic_names_``. With `GridSearchCV`, wrap a model in
        `sklearn.frozen.FrozenEstimator`.
    known_weight : "learn", float, sequence or dict of these, default="learn"
        How firmly each known topic is held, in words: the eta of known topic k is eta plus its weight times its
        distribution. ``numpy.inf``: the topic does not change. ``"learn"``: the weight is learnt with the priors by
        Gibbs-EM, from 0.01 to 1e9, whatever `learn_priors` is. A small weight is a topic that has drifted. With fewer
        than 1,000 tokens it stays at its first value, 0.03 times the tokens of X by `n_components`. A sequence has an
        entry for each known topic; a dict has some, by their numbers or names, and the others are learnt.
    vocabulary : array-like of n_features str, or dict of {str: int}, default=None
        Words of the columns of X, for `seed_words`, `known_topics`, and for all tables and plots:
        ``get_feature_names_out()`` or ``vocabulary_`` of a vectorizer.
    sampler : {"collapsed", "partitioned", "grouped", "partially_collapsed"}, default="collapsed"
        All samplers have the posterior as their target. ``"collapsed"``: tokens are drawn one after the other from
        their exact full conditionals, with theta and phi integrated out. ``"partitioned"``: the collapsed sampler with
        two to eight workers. At any time, workers draw tokens of different documents and different words. They share
        the totals of topics; a Metropolis-Hastings step corrects for this. ``"partially_collapsed"``: phi is drawn
        given z; then the tokens of each document are drawn one after the other, with theta integrated out.
        ``"grouped"``: phi and theta are drawn given z; then all tokens are drawn given phi and theta. The last two can
        need more sweeps to converge, and on small corpora a sweep takes longer. With every sampler except
        ``"collapsed"``, a single chain can use `n_jobs` cores.
    init : {"anneal", "random", "sequential", "prune", "search"}, array-like or fitted model, default="anneal"
        Initialisation of the chains. It matters, because sweeps do not leave a mode. ``"anneal"``: random topics; then,
        in the first two fifths of the sweeps but at most 400, both priors decrease from twenty times their values.
        Traces are at the priors themselves. ``"random"``: every token has a random topic. ``"sequential"``: every token
        is drawn given the tokens before it, with documents in random order (Griffiths & Steyvers 2004). This takes the
        time of a sweep and temporarily ``4 * n_components * n_features`` bytes, and saves many sweeps on large corpora
        with many topics. ``"prune"``: 60 sweeps with twice as many topics; then the closest pair of topics is merged,
        with 15 sweeps after each merge, until there are `n_components` topics. ``"search"``: each chain begins in the
        mode with the most evidence that a search finds at the first priors, by redrawing groups of topics. It makes at
        most 10,000 sweeps; with more than 100,000 tokens, as many as draw 10^9 tokens, but at least 4,000. ``"prune"``
        and ``"search"`` need priors that are equal for all topics. An array has the topic of every token, as
        `topic_assignments_`; a list has an array for each document. A fitted model with ``components_`` and
        ``transform`` has the same number of topics; the topic of a token is drawn from its theta and phi. With
        `GridSearchCV`, wrap it in `sklearn.frozen.FrozenEstimator`.
        After a start that is a text, topics are merged and split in rounds, in which those with seed words keep their
        places. The first one comes when a third of the burn-in after the annealed sweeps is over, and after a round
        that finds better topics, another one comes ten sweeps later. At least 30 sweeps of the burn-in must follow the
        first round, as with ``max_iter=150``. Only topics with the same prior take part, but an alpha that is learnt
        may differ.
    max_iter : int, default=500
        Number of sweeps over the corpus in each chain. With `warm_start`, number of additional sweeps.
    burn_in : int, default=None
        Number of sweeps of each chain before the draws, in which priors are learnt. None: the annealed sweeps and half
        of the others. With `warm_start`, of all sweeps so far; but if priors were learnt, that of the first fit.
    tol : float, default=None
        In nats per token. The burn-in ends when the mean log joint of 20 sweeps is less than `tol` above that of the 20
        sweeps before. If priors are learnt, it does not end before they were learnt for 40 sweeps, nor in the annealed
        sweeps. The chain ends when this condition holds again after `n_draws` draws. None: all `max_iter` sweeps.
    n_draws : int, default=15
        Topics and topic proportions are means over this number of draws, the last ones of the chain. They come from the
        sweeps after the burn-in. A chain takes one byte for each token and draw, two bytes with more than 256 topics.
        With ``"cgs_p"``, at most one draw is averaged for every ``n_components / 12`` sweeps: with many topics, the
        averages of a short fit would take longer than a tenth of it.
    draw_every : int, default=10
        Number of sweeps between two draws.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        Estimate of topics and topic proportions from each draw. ``"cgs_p"``: expected counts under the full
        conditional of each token (Papanikolaou et al. 2017, equations 33 and 41). ``"cgs"``: the counts of the draw.
    n_chains : int, default=1
        Number of independent chains. The topics are those of the chain with the highest mean log joint over the last
        half of its sweeps. `chains_` has the results of all chains.
    fold_in_iter : int, default=6
        Number of sweeps over a document in `transform`, after CVB0.
    warm_start : bool, default=False
        Whether `fit` continues from the last state of the previous fit, which must have had the same X. The draws are
        then those of one longer fit with as many annealed sweeps as the first. Learnt priors and their burn-in stay.
        Given priors may change.
    n_jobs : int, default=None
        Number of chains at a time; with a single chain and a sampler other than ``"collapsed"``, of workers or blocks
        of documents. In `transform`: number of blocks of 64 documents. Results do not depend on it.
    verbose : int, default=0
        1 shows one line that is updated in a terminal or a notebook, and otherwise prints ten lines; 2 prints a line
        for every sweep. Both say when one chain of a large corpus uses one core only.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the results of `fit` and of `transform` after it are reproducible.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), float32
        Topic-word counts plus prior, means over draws. `topic_word_` has the normalised rows. The row of a known topic
        that is fixed is its distribution times its number of tokens.
    topic_word_ : ndarray of shape (n_components, n_features)
        Topics as distributions over words.
    doc_topic_ : ndarray of shape (n_documents, n_components), float32
        Topic proportions of the training documents, means over draws.
    doc_topic_std_ : ndarray of shape (n_documents, n_components), float32
        Posterior standard deviations of the proportions, within the chain, computed at the first access: the variance
        between draws of their mean given the topics of all tokens, plus the mean of their variance given these.
    topic_share_, topic_share_std_ : ndarray of shape (n_components,)
        Share of the tokens in each topic, and its posterior standard deviation. It allows for the small number of draws
        and for their dependence. With several chains it contains the differences between matched topics of the chains.
        That of one chain is often far too small, because a chain stays in one mode. That of fewer than four draws is
        NaN.
    n_draws_ : int
        Number of draws that were averaged. It is smaller than `n_draws` if a chain had fewer draws, if there are many
        topics for the number of sweeps, or if topics exchanged their names: then only the draws after that are used.
    doc_topic_prior_, topic_word_prior_ : float or ndarray
        alpha and eta, learnt or given. With known topics, eta is an array, and a fixed topic has 2^80 times its
        distribution.
    topic_assignments_ : ndarray of shape (n_tokens,), int32
        The topic of every token in the last draw, document by document. The tokens of a document are in ascending order
        of word ids; a word of count c has c tokens.
    chains_ : list of sklearn.utils.Bunch
        Copies of the results of every chain: ``topic_assignments``, ``topic_word`` and ``doc_topic`` in small types,
        ``doc_topic_prior``, ``topic_word_prior``, ``n_draws``, and ``matched``: the topic of this chain that belongs to
        each topic of the chain that was kept.
    topic_stability_ : ndarray of shape (n_components,)
        Mean over the other chains of one less the Jensen-Shannon distance of the nearest topic, from 0 to 1. Only with
        several chains. NaN for a topic without words of its own. This is a topic whose counts do not exceed its prior
        mass, the sum of its eta, or are as probable as draws from one distribution with those of the other topics.
        Because such topics look like their prior, they are alike in all chains and do not count as nearest.
    topic_prevalence_ : ndarray of shape (n_components,)
        Part of the chains that have the topic: their nearest topic is at a distance of at most 0.5. NaN where
        `topic_stability_` is NaN. Only with several chains.
    traces_ : dict of {str: ndarray of shape (n_chains, n_iter_)}
        Quantities after every sweep. They do not depend on the names of topics. ``"log_joint"`` is `log_joint_trace_`.
        ``"log_topics"`` is log p(z | alpha), which is high if documents have few topics. ``"squared_shares"`` is the
        sum of the squared shares of the topics.
    diagnostics_ : dict of {str: Diagnosis}
        For every quantity of `traces_`, after `n_burn_in_` sweeps: ``r_hat`` and ``n_effective`` of all chains
        together, ``r_hat_by_chain`` and ``n_effective_by_chain`` of each chain (Vehtari et al. 2021).
    n_burn_in_ : int
        Number of sweeps of the longest burn-in of a chain: `burn_in`; None: the annealed sweeps and half of the others,
        or as many as `tol` needed. At least one sweep of every chain follows.
    log_joint_trace_ : ndarray of shape (n_chains, n_iter_)
        log p(w, z | alpha, eta) after every sweep, in nats. If a callback ended a chain early, its remaining entries
        are NaN.
    n_iter_ : int
        Number of sweeps of the longest chain, including those before a warm start.
    best_chain_ : int
        Index of the chain from which the topics come.
    sampler_ : str
        The sampler that was used. For ``sampler="collapsed"`` it is ``"dense"``, which draws the tokens document by
        document, or ``"sparse"``, which draws them word by word: both are exact, and `n_components` and the corpus
        decide which one has lower expected costs. For other samplers, their name.
    n_features_in_ : int
        Size of the vocabulary.
    known_topic_word_ : ndarray of shape (n_known, n_features)
        The known topics over the words of X. Only with `known_topics`.
    known_topic_word_std_ : ndarray of shape (n_known, n_features), float32
        Their standard errors. Those of a fitted model come from its draws, and from how far its documents deviate from
        the topics. Those of an array or data frame are 0. Only with `known_topics`.
    known_weight_ : ndarray of shape (n_known,)
        Their weights, in words, given or learnt. Only with `known_topics`.
    known_weight_log_std_ : ndarray of shape (n_known,)
        Standard errors of the logarithms of the learnt weights given the priors, computed at the first access. NaN for
        a weight that was given. Infinite if the documents do not say how large the weight is, as for a topic that has
        not changed. :func:`~sklda.inspection.topic_drift` has intervals. Only with `known_topics`.
    seed_words_ : dict of {int: list}
        The seed words that X has, of every topic with some, by its number. Only with `seed_words`.
    topic_names_ : ndarray of shape (n_components,)
        Names of the topics. Only after `set_topic_names`, and with `known_topics` or `seed_words` that have names. The
        names of topics without seeds are then their first three words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words. Only if X has column names that are all strings.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If chains clearly disagree: R-hat of a quantity in `diagnostics_` is above 2 over at least 50 sweeps. If alpha
        is learnt, and words have less than 30 % of the information about it that the topics of all tokens would have.
        Gibbs-EM is then too slow, and alpha usually too small. If there were too few sweeps: the log joint still
        rises, the learnt alpha is far from its maximum, or the last round of merges and splits in the burn-in still
        found better topics. A fit that misses a topic does not warn: several chains and `topic_check` tell some.

    See Also
    --------
    DaskGibbsLDA : One chain on the workers of a Dask cluster, for a corpus that is too large for one machine.

    Notes
    -----
    The full conditional of a token of word v in document d, with counts that do not include the token, is

    .. math::

        p(z = k \\mid \\text{rest}) \\propto
        (n_{dk} + \\alpha_k) \\frac{m_{kv} + \\eta_{kv}}{m_k + \\sum_v \\eta_{kv}}.

    **What known topics assume.** For the weights, the distribution that is given is exact, so errors that it has from
    its own corpus count as change. Distances of `topic_drift` contain these errors if a fitted model is given. In the
    new corpus the topic varies around it with one weight: its words change independently of each other. How frequent it
    was says nothing about its share, which may be zero. New topics have the prior of any topic, and may be parts of a
    known one that has changed.

    References
    ----------
    Griffiths & Steyvers (2004). Finding scientific topics. PNAS 101.

    Papanikolaou, Foulds, Rubin & Tsoumakas (2017). Dense distributions from sparse samples: improved Gibbs sampling
    parameter estimators for LDA. JMLR 18.

    Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021). Rank-normalization, folding, and localization: an improved
    R-hat for assessing convergence of MCMC. Bayesian Analysis 16.

    Wallach (2006). Topic modeling: beyond bag-of-words. ICML.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklda import GibbsLDA
    >>> texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]
    >>> lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0)
    >>> theta = make_pipeline(CountVectorizer(), lda).fit_transform(texts)
    >>> theta.shape, (theta.argmax(axis=1) == theta[0].argmax()).tolist()
    ((4, 2), [True, True, False, False])
    """

    _continued = ("n_components", "n_chains", "learn_priors")

    def __init__(
        self,
        n_components: int = 10,
        *,
        learn_priors: bool | Literal["symmetric"] = True,
        doc_topic_prior: TopicPrior | None = None,
        topic_word_prior: ArrayLike | None = None,
        seed_words: TopicWords | None = None,
        known_topics: ArrayLike | Model | None = None,
        known_weight: Any = "learn",
        vocabulary: ArrayLike | dict[str, int] | None = None,
        sampler: Literal["collapsed", "partitioned", "grouped", "partially_collapsed"] = "collapsed",
        init: Literal["anneal", "random", "sequential", "prune", "search"] | ArrayLike | Model = "anneal",
        max_iter: int = 500,
        burn_in: int | None = None,
        tol: float | None = None,
        n_draws: int = 15,
        draw_every: int = 10,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        n_chains: int = 1,
        fold_in_iter: int = 6,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.learn_priors = learn_priors
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.seed_words = seed_words
        self.known_topics = known_topics
        self.known_weight = known_weight
        self.vocabulary = vocabulary
        self.sampler = sampler
        self.init = init
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.tol = tol
        self.n_draws = n_draws
        self.draw_every = draw_every
        self.point_estimate = point_estimate
        self.n_chains = n_chains
        self.fold_in_iter = fold_in_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Counts, y: Any = None) -> Self:
        """Find topics in a corpus.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts: non-negative whole numbers of any dtype, as from `CountVectorizer`. Documents may be empty.
        y : None
            Not used.

        Returns
        -------
        self : GibbsLDA
            The fitted estimator. If an error or Ctrl-C ends the fit, the estimator is as it was before.

        Raises
        ------
        ValueError
            If X has a negative, missing, infinite or fractional count (the message names the first one), if X has no
            token, or if a parameter is out of range.
        TypeError
            If a parameter has the wrong type.

        Examples
        --------
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(40, 20, 2, random_state=0).data
        >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
        >>> lda.topic_word_.shape, lda.doc_topic_.shape
        ((2, 20), (40, 2))
        """
        return self._fit(X, y)

    @classmethod
    def from_assignments(
        cls, X: Counts, topic_assignments: Topics, *, n_components: int | None = None, **parameters: Any
    ) -> Self:
        """A fitted estimator from topic assignments, as any Gibbs sampler for LDA draws them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        topic_assignments : array-like of int, shape (n_tokens,), or sequence of n_documents such arrays
            The topic of every token, document by document. The tokens of a document are in ascending order of word ids;
            a word of count c has c tokens. Topics are numbered from 0. `sklda.datasets.read_mallet_state` and
            `sklda.datasets.count_tokens` return them in this order.
        n_components : int, default=None
            Number of topics. None: the largest topic in `topic_assignments` plus one; more than 10,000 topics are
            accepted only if there are at least as many tokens.
        **parameters
            Other parameters of the estimator. With `learn_priors`, priors that are None have their most likely values
            given the topic assignments.

        Returns
        -------
        GibbsLDA
            As after `fit`, without a sweep. With ``warm_start=True``, `fit` continues from the topic assignments.

        Raises
        ------
        ValueError, TypeError
            As `fit`; also if the number of assignments is not the number of tokens, or one is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from sklda import GibbsLDA
        >>> X = np.array([[2, 1, 0], [0, 1, 2]])
        >>> lda = GibbsLDA.from_assignments(X, [0, 0, 0, 1, 1, 1], doc_topic_prior=0.5, topic_word_prior=0.5)
        >>> print(lda.doc_topic_.round(2))
        [[0.77 0.23]
         [0.23 0.77]]
        """
        lda: Any = cls(1 if n_components is None else n_components, **parameters)
        lda._validate_params()
        corpus = lda._training_corpus(X)
        topics, lda.n_components = check_assignments(topic_assignments, corpus, n_components)
        given = lda.get_params(deep=False)
        # One chain without a sweep, whatever the parameters say.
        lda.set_params(init=topics, n_chains=1, max_iter=0, burn_in=None, verbose=0)
        lda._fit_corpus(corpus, DocumentValues({}), X, None).set_params(**given)
        lda.n_iter_ = 0
        return lda
