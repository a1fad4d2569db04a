"""HDPLDA: the hierarchical Dirichlet process, in which the number of topics in use is unknown."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklda._core.gibbs_em import BOUNDS
from sklda._input.types import Counts, Seed
from sklda._input.warn import warn
from sklda._models.chain_lda import LocalChainLDA
from sklda._models.compound.base import CollectionsLDA
from sklda._models.compound.collections import encode
from sklda._models.compound.concentrations import SMALLEST_HDP_ETA, Concentrations
from sklda._models.compound.hdp import HDPMixtures
from sklda._models.compound.prior import ProcessMixtures
from sklda._models.fit_run import all_or_nothing
from sklda._models.parameters import POSITIVE, Interval
from sklda._models.progress import with_callbacks
from sklda._sampling.prior_learning import EVERY, SMALL_CORPUS_PRIOR, DefaultPrior
from sklda._sampling.prior_of_topics import PriorOfTopics

_CONCENTRATION = [None, Interval(Real, 0, None, closed="neither"), tuple]


class HDPLDA(CollectionsLDA, LocalChainLDA):
    """The hierarchical Dirichlet process (HDP): topics whose number in use is unknown, for one or several collections.

    The fit has a posterior of the number of topics in use (Teh et al. 2006). The mixture of the corpus, pi_0, is
    Dirichlet(a / max_components, ...): the HDP, truncated at `max_components` topics. With several collections, each
    has a mixture pi_j, which is Dirichlet(b pi_0); with one, it is pi_0 itself. The topic proportions of a document of
    collection j are Dirichlet(gamma pi_j).

    The number of topics in use is that of this model, and not a property of the corpus. It grows with the corpus, and
    is too large if the corpus is not a draw of the model (Miller & Harrison 2013; Cai, Campbell & Broderick 2021). In
    real texts a word that occurs in a document is likely to occur there again, and the model takes such repetitions for
    topics. Chains then agree on about how many topics there are, but only in part on which. Use
    `large_topic_count_interval_` as a rough size, and the topics that most chains have: those with a large
    `topic_prevalence_`. `TopicCountLDA` estimates the number of topics of LDA instead.

    Parameters
    ----------
    max_components : int, default=500
        The largest number of topics. Take several times as many as are in use; a topic that is not in use costs little.
    topic_concentration : float or tuple (shape, rate), default=None
        a. With a larger value, more topics are in use. A number is between 1e-6 and 1e6 and stays fixed; a pair is a
        Gamma prior, cut off at these values, and a is drawn in every sweep. None: (1, 0.1).
    collection_concentration : float or tuple (shape, rate), default=None
        b, only with several collections. With a larger value, their mixtures are more similar. As
        `topic_concentration`.
    doc_concentration : float or tuple (shape, rate), default=None
        gamma. With a larger value, documents are closer to the mixture of their collection. As `topic_concentration`,
        but a number is between 1e-6 and 1e12. None: (1, 1).
    topic_word_prior : float or array-like of shape (n_features,), default=None
        eta, the Dirichlet parameter per word of a topic, which the topics share. None: 0.1, the first value if it is
        learnt.
    vocabulary : array-like of n_features str, or dict of {str: int}, default=None
        Words of the columns of X, for all tables and plots.
    learn_priors : bool, default=True
        Whether `topic_word_prior` is learnt if it is None, by Gibbs-EM in the burn-in, between 0.05 and 1e4. If X has
        fewer than 1,000 tokens, it is not. In real texts it usually ends at 0.05, and the number of topics depends on
        this bound. A smaller value can be given, but chains then agree on fewer topics.
    max_iter : int, default=500
        Sweeps over the corpus of each chain. With `warm_start`, the number of further ones.
    burn_in : int, default=None
        Number of sweeps before the draws. eta changes only in these, and topics with similar words are merged in the
        first 40 % of them. None: half of the sweeps.
    tol : float, default=None
        In nats per token: a chain that has converged ends before `max_iter`, as in `GibbsLDA`. Its burn-in does not end
        while topics are merged.
    n_draws : int, default=15
        Topics and topic proportions are means over this number of draws, the last ones of the chain. A chain takes one
        byte for each token and draw, two bytes with more than 256 topics. With ``"cgs_p"``, at most one draw is
        averaged for every ``max_components / 12`` sweeps.
    draw_every : int, default=10
        Number of sweeps between two draws.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        Estimate of topics and topic proportions from each draw. ``"cgs_p"``: expected counts under the full conditional
        of each token (Papanikolaou et al. 2017, equations 33 and 41). ``"cgs"``: the counts of the draw.
    n_chains : int, default=4
        Number of independent chains. Draws of the number of topics are those of all chains, because one chain changes
        it slowly. The topics are those of the chain with the highest mean log joint over the last half of its sweeps.
    fold_in_iter : int, default=6
        Sweeps over a document in `transform`, after CVB0.
    warm_start : bool, default=False
        Whether `fit` continues from the last state of the previous fit, on the same X and collections. The results are
        then those of one longer fit with the burn-in of the first. Parameters that the chains depend on must not
        change; `draw_every` may change.
    n_jobs : int, default=None
        Chains, or blocks of 64 documents in `transform`, that run at the same time. Results do not depend on it.
    verbose : int, default=0
        1 shows one line that is updated in a terminal or a notebook, and else prints ten lines; 2 prints a line for
        every sweep.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the fit and `transform` after it are the same every time.

    Attributes
    ----------
    topic_count_draws_ : ndarray of shape (n_sweeps,), int
        Number of topics with at least one token after every sweep of the draws, chain by chain.
    topic_count_mean_, topic_count_interval_ : float, tuple of (int, int)
        Its posterior mean, and a credible interval of 0.95, from the draws of all chains.
    large_topic_count_draws_, large_topic_count_mean_, large_topic_count_interval_
        The same for the number of the largest topics that together have 99 % of the tokens.
    topic_concentration_, collection_concentration_ : float
        Posterior means of a and b, or the values that were given; b only with several collections.
    doc_concentration_ : float
        Posterior mean of gamma, or the value that was given.
    concentration_draws_ : dict of {str: ndarray of shape (n_sweeps,)}
        ``"topic_concentration"``, ``"collection_concentration"`` with several collections, and
        ``"doc_concentration"`` after the same sweeps.
    collections_ : ndarray of shape (n_collections,)
        The labels of the collections, sorted, or as categories of pandas are; ``["all"]`` if the fit had none.
    collection_topic_, collection_topic_std_ : ndarray of shape (n_collections, n_topics)
        pi_j: posterior means over the sweeps after the burn-in, and standard deviations.
    collection_topic_draws_ : ndarray of shape (n_draws, n_collections, n_topics)
        Draws of the mixtures after the burn-in, chain by chain; see `CompoundLDA`.
    corpus_topic_ : ndarray of shape (n_topics,)
        Mean of the mixtures, weighted by the number of documents with words: the mixture for documents of unknown
        collection.
    doc_topic_prior_ : ndarray of shape (n_topics,)
        ``doc_concentration_ * corpus_topic_``.
    topic_word_prior_ : float or ndarray
        eta, as given or learnt.
    components_ : ndarray of shape (n_topics, n_features), float32
        Topic-word counts plus prior, means over draws. All attributes have the topics that occur in a draw, sorted by
        their size at the end of the burn-in; the last topic stands for all that occur in none.
    topic_word_ : ndarray of shape (n_topics, n_features)
        Topics as distributions over words: `components_` with rows that sum to one.
    doc_topic_, doc_topic_std_ : ndarray of shape (n_documents, n_topics), float32
        Topic proportions of the training documents, means over draws, and their posterior standard deviations within
        the chain.
    topic_share_, topic_share_std_ : ndarray of shape (n_topics,)
        Share of the tokens in each topic, and its posterior standard deviation.
    n_draws_ : int
        Number of draws that were averaged.
    chains_ : list of sklearn.utils.Bunch
        Results of every chain, with the chain's own ``doc_concentration``, ``collection_topic``,
        ``collection_topic_std`` and ``collection_topic_draws``.
    topic_stability_, topic_prevalence_ : ndarray of shape (n_topics,)
        How close each topic is to the nearest topics of the other chains, and the part of the chains that have it, as
        of `GibbsLDA`. Only with several chains.
    traces_, diagnostics_ : dict
        Quantities after every sweep, and their R-hat and effective draws.
    sampler_ : str
        ``"dense"``: tokens are drawn document by document.
    topic_assignments_ : ndarray of shape (n_tokens,), int32
        Topic of every token in the last draw.
    log_joint_trace_ : ndarray of shape (n_chains, n_iter_)
        log p(w, z | pi, gamma, eta) after every sweep, in nats. NaN after the last sweep of a chain that ended early.
    prior_trace_ : ndarray of shape (n_chains, n_iter_, 2)
        doc_concentration and topic_word_prior in every sweep. NaN after the last sweep of a chain that ended early.
    n_iter_, n_burn_in_ : int
        Sweeps of the longest chain, those of earlier fits with `warm_start` included, and of the burn-in.
    best_chain_ : int
        Index of the chain from which the topics come, a row of `log_joint_trace_`.
    n_features_in_ : int
        Size of the vocabulary.
    topic_names_ : ndarray of shape (n_topics,)
        Names of the topics. Only after `set_topic_names`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words, if X had them as column names.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If chains clearly disagree: R-hat of a quantity in `diagnostics_` is above 2 over at least 50 sweeps, or that of
        the number of topics in use is above 1.5. If the log joint still rises: there were too few sweeps.
    UserWarning
        If more than half of the topics are in use. If `topic_word_prior` was learnt and ended at 0.05 in all chains. If
        more than 10 collections are fractional numbers, or most of more than 10 have a single document.

    See Also
    --------
    TopicCountLDA : The posterior over the number of topics of LDA.
    CompoundLDA : Collections with a given number of topics.

    References
    ----------
    Teh, Jordan, Beal & Blei (2006). Hierarchical Dirichlet processes. Journal of the American Statistical Association
    101.

    Miller & Harrison (2013). A simple example of Dirichlet process mixture inconsistency for the number of components.
    Advances in Neural Information Processing Systems 26.

    Cai, Campbell & Broderick (2021). Finite mixture models do not reliably learn the number of components. Proceedings
    of the 38th International Conference on Machine Learning.

    George, Xia & Michailidis (2019). Analyses of multi-collection corpora via compound topic modeling.

    Examples
    --------
    >>> from sklda import HDPLDA
    >>> from sklda.datasets import make_compound_lda_corpus
    >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
    >>> hdp = HDPLDA(max_components=40, topic_word_prior=0.1, max_iter=60, random_state=0).fit(corpus.data)
    >>> low, high = hdp.large_topic_count_interval_
    >>> bool(low <= hdp.large_topic_count_mean_ <= high), hdp.topic_count_draws_.shape
    (True, (120,))
    """

    _continued = (
        "max_components",
        "topic_concentration",
        "collection_concentration",
        "doc_concentration",
        "topic_word_prior",
        "learn_priors",
        "burn_in",
        "n_chains",
    )
    _parameter_constraints = {
        "max_components": [POSITIVE],
        "topic_concentration": _CONCENTRATION,
        "collection_concentration": _CONCENTRATION,
        "doc_concentration": _CONCENTRATION,
    }

    def __init__(
        self,
        *,
        max_components: int = 500,
        topic_concentration: float | tuple[float, float] | None = None,
        collection_concentration: float | tuple[float, float] | None = None,
        doc_concentration: float | tuple[float, float] | None = None,
        topic_word_prior: ArrayLike | None = None,
        vocabulary: ArrayLike | dict[str, int] | None = None,
        learn_priors: bool = True,
        max_iter: int = 500,
        burn_in: int | None = None,
        tol: float | None = None,
        n_draws: int = 15,
        draw_every: int = 10,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        n_chains: int = 4,
        fold_in_iter: int = 6,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.max_components = max_components
        self.topic_concentration = topic_concentration
        self.collection_concentration = collection_concentration
        self.doc_concentration = doc_concentration
        self.topic_word_prior = topic_word_prior
        self.vocabulary = vocabulary
        self.learn_priors = learn_priors
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
        """Find topics in a corpus and how many of them are in use.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used. There is a UserWarning if y is given without `collections`.
        collections : sequence of n_documents hashable labels, default=None
            The collection of every document: strings, numbers, tuples. None: one collection.

        Returns
        -------
        self : HDPLDA
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
        if collections is None and y is not None:
            warn("HDPLDA does not use y. If it holds the collections of the documents, call fit(X, collections=y).")
        return self._fit(X, y, collections=collections)

    def _priors(self, corpus, values, columns):
        if np.ndim(self.topic_word_prior) == 2:
            raise ValueError(
                "the HDP needs topics that can be exchanged: give topic_word_prior as a float or one value per word."
            )
        labels, collection_of = encode(values["collections"], corpus.n_documents)
        concentrations = Concentrations.make(
            len(labels),
            topic_concentration=self.topic_concentration,
            collection_concentration=self.collection_concentration,
            doc_concentration=self.doc_concentration,
        )
        # The number of topics in use is not K, so eta does not begin at 1 / K.
        default = DefaultPrior.of(self.learn_priors, corpus.n_tokens, self.max_components)
        topic_prior = PriorOfTopics.make(
            self.topic_word_prior,
            default._replace(value=SMALL_CORPUS_PRIOR),
            corpus.n_tokens,
            bounds=(SMALLEST_HDP_ETA, BOUNDS[1]),
            # Merges need an eta that fits from the beginning, and the last M-step uses draws after them.
            learning={"every": EVERY, "first_sweep": 0, "forming": HDPMixtures.merging_share},
        )
        learns_eta = topic_prior.learns_eta
        return ProcessMixtures(labels, collection_of, concentrations, self.max_components, learns_eta), topic_prior

    def summary(self) -> str:
        """What the fit says of the number of topics in use, in a sentence.

        Returns
        -------
        str

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Examples
        --------
        >>> from sklda import HDPLDA
        >>> from sklda.datasets import make_compound_lda_corpus
        >>> X = make_compound_lda_corpus([30, 30], 40, 3, random_state=0).data
        >>> HDPLDA(max_components=40, topic_word_prior=0.1, max_iter=40, random_state=0).fit(X).summary()[-33:]
        'The number grows with the corpus.'
        """
        check_is_fitted(self)
        in_use, large = (
            f"{low}" if low == high else f"{low} to {high}"
            for low, high in (self.topic_count_interval_, self.large_topic_count_interval_)
        )
        return (
            f"{in_use} topics are in use (95 %), and the largest {large} of them have 99 % of the tokens. The number "
            "grows with the corpus."
        )
