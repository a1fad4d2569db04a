"""CompoundLDA: topics shared by collections of documents, and a mixture of them for each collection."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self

from numpy.typing import ArrayLike

from sklda._input.types import Counts, Model, Seed, TopicWords
from sklda._models.chain_lda import LocalChainLDA
from sklda._models.compound.base import CollectionsLDA
from sklda._models.compound.collections import encode
from sklda._models.compound.model import CompoundModel
from sklda._models.compound.prior import CollectionMixtures
from sklda._models.fit_run import all_or_nothing
from sklda._models.parameters import Interval
from sklda._models.progress import with_callbacks
from sklda._sampling.prior_learning import DefaultPrior


class CompoundLDA(CollectionsLDA, LocalChainLDA):
    """Latent Dirichlet allocation of several collections that share their topics.

    Documents come in collections: years, sources, ratings. Each collection j has its own mixture pi_j of the common
    topics. The topic proportions of its documents vary around this mixture: theta_d is Dirichlet(gamma pi_j), and pi_j
    is Dirichlet(alpha, ..., alpha). With one collection this is LDA with an asymmetric prior that is learnt.

    `HDPLDA` is the model of an unknown number of topics.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    collection_topic_prior : float or tuple (shape, rate), default=1.0
        alpha, the Dirichlet parameter per topic of a collection's mixture. With a pair, alpha is drawn in every
        sweep, with a Gamma prior of this shape and rate that is cut off at 1e-6 and 1e6.
    doc_concentration : float, default=None
        gamma, between 1e-6 and 1e12. With a larger value, documents are closer to the mixture of their collection. It
        is the sum over topics of the Dirichlet parameter of theta. None: 1.0, the first value if it is learnt.
    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=None
        eta, the Dirichlet parameter per word of a topic. None: ``1 / n_components``, the first value if it is learnt.
    seed_words, known_topics, known_weight, vocabulary
        Seed words and known topics, as in `GibbsLDA`.
    learn_priors : bool, default=True
        Whether `doc_concentration` and `topic_word_prior` are learnt if they are None, by Gibbs-EM in the burn-in.
        gamma stays between 1e-6 and 1e6, eta between 1e-5 and 1e4. A value that is given stays fixed. The prior of
        theta, gamma pi_j, differs between topics, so there is no ``"symmetric"``. If X has fewer than 1,000 tokens,
        nothing is learnt: eta and gamma / `n_components` are 0.1 if they are None.
    sampler, init
        As in `GibbsLDA`. With every sampler except ``"collapsed"``, a single chain can use `n_jobs` cores.
    max_iter : int, default=500
        Sweeps over the corpus of each chain. With `warm_start`, the number of further ones.
    burn_in : int, default=None
        Number of sweeps before the draws. gamma and eta are learnt only in these. None: the annealed sweeps at the
        start, as in `GibbsLDA`, and half of the others.
    tol : float, default=None
        In nats per token: a chain that has converged ends before `max_iter`, as in `GibbsLDA`.
    n_draws : int, default=15
        Topics and topic proportions are means over this number of draws, the last ones of the chain. A chain takes one
        byte for each token and draw, two bytes with more than 256 topics.
        With ``"cgs_p"``, at most one draw is averaged for every ``n_components / 12`` sweeps: with many topics, the
        averages of a short fit would take longer than a tenth of it.
    draw_every : int, default=10
        Number of sweeps between two draws.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        Estimate of topics and topic proportions from each draw. ``"cgs_p"``: expected counts under the full conditional
        of each token (Papanikolaou et al. 2017, equations 33 and 41). ``"cgs"``: the counts of the draw.
    n_chains : int, default=1
        Number of independent chains. The topics are those of the chain with the highest mean log joint over
        the last half of its sweeps. `chains_` has the results of all chains.
    fold_in_iter : int, default=6
        Sweeps over a document in `transform`, after CVB0.
    warm_start : bool, default=False
        Whether `fit` continues from the last state of the previous fit, on the same X and collections. The results are
        then those of one longer fit with the burn-in of the first: learnt priors stay, and further sweeps are averaged
        together with the earlier ones. Parameters that the chains depend on must not change; `draw_every` may change.
    n_jobs : int, default=None
        Chains, or blocks of 64 documents in `transform`, that run at the same time. Results do not depend on it.
    verbose : int, default=0
        1 shows one line that is updated in a terminal or a notebook, and otherwise prints ten lines; 2 prints a line
        for every sweep.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the fit and `transform` after it are the same every time.

    Attributes
    ----------
    collections_ : ndarray of shape (n_collections,)
        The labels of the collections, sorted, or as categories of pandas are; ``["all"]`` if the fit had none.
    collection_topic_ : ndarray of shape (n_collections, n_components)
        pi_j: posterior means over the sweeps after the burn-in; rows sum to one.
    collection_topic_std_ : ndarray of shape (n_collections, n_components)
        Posterior standard deviations. With several chains they contain the differences between matched topics of the
        chains. That of one chain is within its mode, and often too small.
    collection_topic_draws_ : ndarray of shape (n_draws, n_collections, n_components)
        Up to 256 draws of the mixtures of each chain after the burn-in, a fixed number of sweeps apart, chain by chain.
        They do not depend on `n_draws`. With more than 8,000 mixtures times topics there are fewer, but at least 16.
        The topics of all chains have the order of `collection_topic_`.
    corpus_topic_ : ndarray of shape (n_components,)
        Mean of the mixtures, weighted by the number of documents with words: the mixture for documents of unknown
        collection.
    collection_topic_prior_ : float
        alpha as given, or its posterior mean if it is drawn.
    doc_concentration_ : float
        gamma, as given or learnt.
    topic_word_prior_ : float or ndarray
        eta, as given or learnt.
    doc_topic_prior_ : ndarray of shape (n_components,)
        ``doc_concentration_ * corpus_topic_``.
    components_ : ndarray of shape (n_components, n_features), float32
        Topic-word counts plus prior, means over draws.
    topic_word_ : ndarray of shape (n_components, n_features)
        Topics as distributions over words: `components_` with rows that sum to one.
    doc_topic_ : ndarray of shape (n_documents, n_components), float32
        Topic proportions of the training documents, means over draws.
    doc_topic_std_ : ndarray of shape (n_documents, n_components), float32
        Posterior standard deviations of the proportions, within the chain. This and the next attributes up to
        `topic_assignments_` are those of `GibbsLDA`.
    topic_share_, topic_share_std_ : ndarray of shape (n_components,)
        Share of the tokens in each topic, and its posterior standard deviation.
    n_draws_ : int
        Number of draws that were averaged.
    chains_ : list of sklearn.utils.Bunch
        Results of every chain, with ``doc_concentration`` and the chain's own ``collection_topic``,
        ``collection_topic_std`` and ``collection_topic_draws``.
    topic_stability_ : ndarray of shape (n_components,)
        How close each topic is to the nearest topics of the other chains, from 0 to 1. NaN for a topic without
        words of its own, see `GibbsLDA`. Only with several chains.
    topic_prevalence_ : ndarray of shape (n_components,)
        Part of the chains that have the topic, see `GibbsLDA`. Only with several chains.
    traces_, diagnostics_ : dict
        Quantities after every sweep, and their R-hat and effective draws.
    sampler_ : str
        The sampler that was used, see `GibbsLDA`. For ``sampler="collapsed"`` it is ``"dense"``.
    topic_assignments_ : ndarray of shape (n_tokens,), int32
        Topic of every token in the last draw.
    log_joint_trace_ : ndarray of shape (n_chains, n_iter_)
        log p(w, z | pi, gamma, eta) after every sweep, in nats.
        NaN after the last sweep of a chain that ended early.
    prior_trace_ : ndarray of shape (n_chains, n_iter_, 2)
        doc_concentration and topic_word_prior in every sweep; for a `topic_word_prior` given as an array, its mean. NaN
        after the last sweep of a chain that ended early. Only if priors are learnt.
    n_iter_ : int
        Sweeps of the longest chain, those of earlier fits with `warm_start` included.
    n_burn_in_ : int
        Number of sweeps of the burn-in.
    best_chain_ : int
        Index of the chain from which the topics come, a row of `log_joint_trace_`.
    n_features_in_ : int
        Size of the vocabulary.
    topic_names_ : ndarray of shape (n_components,)
        Names of the topics. Only after `set_topic_names`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words, if X had them as column names.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If chains clearly disagree: R-hat of a quantity in `diagnostics_` is above 2 over at least 50 sweeps. If there
        were too few sweeps: the log joint still rises, or the last round of merges and splits in the burn-in still
        found better topics.
    UserWarning
        If a fit has no collections, if more than 10 collections are fractional numbers, or if most of more than 10 have
        a single document.

    Notes
    -----
    **What the model assumes.** A topic has the same words in all collections, and only its share differs. Each document
    belongs to one collection, and the proportions of documents vary around its mixture as much as in any other: there
    is one gamma. Given the mixtures, documents are independent, so the deviations of `collection_topic_std_` are too
    small if documents of one author or source are alike. Collections have no order: years do not know their neighbours.
    The mixtures of small collections are pulled towards equal shares of all topics, by alpha.

    References
    ----------
    George, Xia & Michailidis (2019). Analyses of multi-collection corpora via compound topic modeling.

    Papanikolaou, Foulds, Rubin & Tsoumakas (2017). Dense distributions from sparse samples: improved Gibbs sampling
    parameter estimators for LDA. JMLR 18.

    Examples
    --------
    >>> from sklda import CompoundLDA
    >>> from sklda.datasets import make_compound_lda_corpus
    >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
    >>> lda = CompoundLDA(3, max_iter=100, random_state=0).fit(corpus.data, collections=corpus.collections)
    >>> lda.collection_topic_.shape, lda.transform(corpus.data, collections=corpus.collections).shape
    ((2, 3), (60, 3))
    """

    _continued = (
        "n_components",
        "collection_topic_prior",
        "doc_concentration",
        "topic_word_prior",
        "known_weight",
        "learn_priors",
        "burn_in",
        "n_chains",
    )
    _parameter_constraints = {
        "collection_topic_prior": [Interval(Real, 0, None, closed="neither"), tuple],
        "doc_concentration": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        collection_topic_prior: float | tuple[float, float] = 1.0,
        doc_concentration: float | None = None,
        topic_word_prior: ArrayLike | None = None,
        seed_words: TopicWords | None = None,
        known_topics: ArrayLike | Model | None = None,
        known_weight: Any = "learn",
        vocabulary: ArrayLike | dict[str, int] | None = None,
        learn_priors: bool = True,
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
        self.collection_topic_prior = collection_topic_prior
        self.doc_concentration = doc_concentration
        self.topic_word_prior = topic_word_prior
        self.seed_words = seed_words
        self.known_topics = known_topics
        self.known_weight = known_weight
        self.vocabulary = vocabulary
        self.learn_priors = learn_priors
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
    def fit(self, X: Counts, y: Any = None, *, collections: ArrayLike | None = None) -> Self:
        """Find topics in a corpus, and the mixture of every collection.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        collections : sequence of n_documents hashable labels, default=None
            The collection of every document: strings, numbers, tuples. None: one collection, with a UserWarning.

        Returns
        -------
        self : CompoundLDA
            The fitted estimator. If an error or Ctrl-C ends the fit, the estimator is as it was before.

        Raises
        ------
        ValueError
            If X is not a matrix of counts or has no token. If the number of labels is not the number of documents, or
            a label is None or NaN. If a parameter is out of range. With `warm_start`, if X, the collections or a
            parameter are not those of the previous fit.
        TypeError
            If a label is not hashable, or a parameter is of the wrong type.
        """
        if collections is None:
            self._warn_of_none("collections", y)
        return self._fit(X, y, collections=collections)

    def _priors(self, corpus, values, columns):
        default = DefaultPrior.of(self.learn_priors, corpus.n_tokens, self.n_components)
        topic_prior = self._read_topic_prior(corpus, default, columns)
        labels, collection_of = encode(values["collections"], corpus.n_documents)
        model = CompoundModel.make(
            collection_of,
            len(labels),
            self.n_components,
            alpha=self.collection_topic_prior,
            gamma=self.doc_concentration,
            default=default,
            learn_eta=topic_prior.learns_eta,
        )
        return CollectionMixtures(labels, model, self.n_components), topic_prior
