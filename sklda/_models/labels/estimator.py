"""LabeledLDA: topics that are labels, for documents with several labels or one."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from sklda._core import random
from sklda._core.priors import LARGEST, SMALLEST, at_topics, dirichlet_variance
from sklda._input.document_values import check_documents
from sklda._input.names import distinct
from sklda._input.types import Counts, Model, Seed, TopicPrior
from sklda._models.fit_run import FitRun, all_or_nothing
from sklda._models.gibbs import GibbsLDA
from sklda._models.labels.classifier import RANKING_SCORES, LabelClassifier
from sklda._models.labels.dependency import SAMPLERS
from sklda._models.labels.label_chain import LabelChain
from sklda._models.labels.label_topics import label_prior
from sklda._models.labels.missing_labels import warn_of_labels_without_words, warn_of_missing_labels
from sklda._models.labels.open_topics import LabelPriors, OpenTopics
from sklda._models.labels.results import LabelMeans, LabelResults, LabelSums
from sklda._models.labels.targets import read_targets
from sklda._models.parameters import POSITIVE, HasMethods, Interval, StrOptions
from sklda._models.progress import with_callbacks
from sklda._models.results import RunResults, set_traces, shares_with_std
from sklda._sampling.prior_of_topics import eta_attribute
from sklda._sampling.run_chains import Schedule, best_chain, burn_in_of

_LABEL_PRIORS = ("uniform", "frequency", "dependency")
# For label_prior="dependency": the sweeps of the chains over the labels, and the priors of the topics of labels, as in
# the experiments of Rubin et al. (2012).
_LABEL_TOPIC_SWEEPS, _LABEL_TOPIC_PRIORS = 200, {"doc_topic_prior": 0.01, "topic_word_prior": 1.0}


class LabeledLDA(LabelClassifier):
    """Labelled LDA: a classifier for documents with several labels or one, whose topics are the labels.

    Each label is a topic, and the topic of a word is one of the labels of its document. So the fit finds the words of
    each label, even if most documents have several labels. Labels of new documents are predicted with the topics fixed
    and all labels allowed. `label_prior` chooses between Labeled LDA, Prior-LDA and Dependency-LDA.

    Parameters
    ----------
    n_shared : int, default=0
        Number of further topics that all documents have, for words that belong to no label. With shared topics,
        documents without labels are used too; otherwise they are left out.
    doc_topic_prior : float, array-like of shape (n_labels + n_shared,), str or callable, default=None
        alpha in the fit: the Dirichlet parameter per topic of the proportions of a document's labels. None: ``50 /
        n_labels``. A text such as ``"10/K"`` and a function are for ``K = n_labels + n_shared``.
    topic_word_prior : float or array-like of shape (n_features,) or (n_labels + n_shared, n_features), default=0.1
        eta, the Dirichlet parameter per word of the topics. Both priors must lie between 1e-12 and 1e12.
    max_iter : int, default=100
        Number of sweeps over the corpus in each chain.
    burn_in : int, default=None
        Number of sweeps before the draws. None: half of `max_iter`.
    n_draws : int, default=10
        Number of draws of each chain, the last ones. Labels anchor the topics, so the results are means over draws and
        chains.
    draw_every : int, default=5
        Number of sweeps between two draws.
    n_chains : int, default=5
        Number of independent chains. With several shared topics, those of different chains are matched before the
        average. With ``label_prior="dependency"`` it is also the number of chains of topics of labels.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        Estimate of the topics from each draw. ``"cgs_p"``: expected counts under the full conditional of each token
        (Papanikolaou et al. 2017, equations 33 and 41). ``"cgs"``: the counts of the draw.
    label_prior : {"uniform", "frequency", "dependency"}, default="frequency"
        alpha of new documents. It has a part with the sum `label_weight`, and a part with the sum `even_weight` that is
        the same for all labels. ``"uniform"`` (Labeled LDA): the first part is the same for all labels, too.
        ``"frequency"`` (Prior-LDA): it is proportional to the frequency of the label in the fit (equation 59).
        ``"dependency"`` (Dependency-LDA): it depends on the document, through topics of labels, which say which
        labels occur together.
    label_weight, even_weight : float, default=50.0, 30.0
        The sums of the two parts of alpha. Rubin et al. use 100 and 1 for Dependency-LDA on data with few labels.
    n_label_topics : int, default=20
        Number of topics of labels. They come from a `GibbsLDA` of `y`, in which labels take the place of words.
    dependency_sampler : {"fast", "gibbs"}, default="fast"
        The sampler of new documents for ``label_prior="dependency"``. ``"gibbs"`` draws label tokens from their exact
        full conditionals; their number is the rounded mean number of labels in the fit. ``"fast"`` is an approximation
        of Rubin et al.: the labels of the words take the place of label tokens. It predicts better.
    ranking_score : {"proportions", "shares"}, default="proportions"
        The score that `decision_function` returns and `predict` uses. ``"proportions"``: the posterior mean of theta
        from full conditionals, as `transform`. ``"shares"``: the expected share of the words that have the label, plus
        its share of alpha. Unlike theta, it gives both the same weight in documents of any length.
    label_count : "meta", int or regressor, default="meta"
        Number of labels that `predict` returns; only used if `y` is an indicator matrix. ``"meta"``: a regression of
        the number of labels on the words, here a ridge regression on tf-idf weights. A scikit-learn regressor can be
        given; it is fitted to the sparse matrix of counts. An int: this number.
    fold_in_iter : int, default=30
        Number of sweeps over a new document, of which the last two thirds are averaged.
    n_jobs : int, default=None
        Number of chains, or of blocks of 64 new documents, at a time. Results do not depend on it.
    verbose : int, default=0
        1 shows one line that is updated in a terminal or a notebook, and otherwise prints ten lines; 2 prints a line
        for every sweep.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the results of `fit` and of predictions after it are reproducible.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The sorted labels; for an indicator matrix, the numbers of its columns.
    label_names_ : ndarray of str of shape (n_labels,)
        Column names of the indicator matrix, or the labels as strings.
    multilabel_ : bool
        Whether `y` was an indicator matrix.
    label_frequency_ : ndarray of shape (n_labels,)
        Share of the documents with labels that have this label.
    n_unlabeled_ : int
        Number of documents without labels. Without shared topics they were left out.
    components_ : ndarray of shape (n_labels + n_shared, n_features)
        Counts of words in labels and shared topics plus eta. A label without documents has only eta. It is computed at
        every access; the fit keeps the counts that are not zero.
    topic_word_ : ndarray of shape (n_labels + n_shared, n_features)
        Labels and shared topics as distributions over words.
    doc_label_ : csr_array of shape (n_documents, n_labels + n_shared)
        Proportions of the training documents, given their labels. Rows of documents that were left out are empty.
    doc_topic_ : ndarray of shape (n_documents, n_labels + n_shared)
        The same as a dense array, computed at every access. A document that was left out has the proportions of the
        prior.
    doc_topic_prior_ : ndarray of shape (n_labels + n_shared,)
        alpha of new documents; with ``label_prior="dependency"``, of a document with mean frequencies of labels. Shared
        topics have the same share of alpha as of the words of the fit.
    topic_word_prior_ : float or ndarray
        eta.
    doc_topic_std_ : ndarray of shape (n_documents, n_labels + n_shared)
        Posterior standard deviations of the proportions given the labels, over the draws of all chains, computed at
        every access. It is zero for labels that a document does not have. A document that was left out has those of the
        prior.
    topic_share_, topic_share_std_ : ndarray of shape (n_labels + n_shared,)
        Share of the tokens of the fit in each topic, and its standard deviation over the draws of all chains.
    n_draws_ : int
        Number of draws of all chains that were averaged.
    label_topics_ : ndarray of shape (n_chains, n_label_topics, n_labels)
        Topics of labels. Only with ``label_prior="dependency"``.
    label_count_regressor_ : estimator
        The regression of the number of labels. Only with a `label_count` that needs it.
    topic_assignments_ : ndarray of shape (n_tokens,), int32
        The topic of every token in the last draw of the best chain, document by document; -1 in documents that were
        left out.
    traces_, diagnostics_ : dict
        Quantities after every sweep, and their R-hat and effective draws, as in `GibbsLDA`.
    log_joint_trace_ : ndarray of shape (n_chains, n_iter_)
        log p(w, z | alpha, eta) after every sweep, in nats, of the documents that were used.
    n_iter_ : int
        Number of sweeps of the longest chain.
    n_burn_in_ : int
        Number of sweeps before the draws.
    best_chain_ : int
        Index of the chain with the highest mean log joint over the last half of its sweeps.
    n_features_in_ : int
        Size of the vocabulary.
    topic_names_ : ndarray of shape (n_labels + n_shared,)
        The labels, then "shared 0", ... Absent if labels are only the numbers 0, 1, ...
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words. Only if X has column names that are all strings.

    Notes
    -----
    With one label per document the topics have the closed form of multinomial naive Bayes with Dirichlet priors.

    The time of a sweep is proportional to the number of tokens times the labels of their documents. The memory is
    proportional to the number of labels of all documents plus the number of pairs of a word and a label that can occur.
    Results of `transform` and `decision_function` are dense matrices of documents and labels.

    References
    ----------
    Papanikolaou, Foulds, Rubin & Tsoumakas (2017). Dense distributions from sparse samples: improved Gibbs sampling
    parameter estimators for LDA. JMLR 18.

    Ramage, Hall, Nallapati & Manning (2009). Labeled LDA: a supervised topic model for credit attribution in
    multi-labeled corpora. EMNLP.

    Ramage, Manning & Dumais (2011). Partially labeled topic models for interpretable text mining. KDD.

    Rubin, Chambers, Smyth & Steyvers (2012). Statistical topic models for multi-label document classification. Machine
    Learning 88.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklda import LabeledLDA
    >>> texts = ["apple banana apple", "engine wheel", "apple banana engine wheel", "banana banana", "wheel engine"]
    >>> y = [[1, 0], [0, 1], [1, 1], [1, 0], [0, 1]]
    >>> model = make_pipeline(CountVectorizer(), LabeledLDA(label_weight=1, even_weight=1, random_state=0))
    >>> model.fit(texts, y).predict(["banana apple banana", "wheel wheel engine"]).tolist()
    [[1, 0], [0, 1]]
    """

    _parameter_constraints = {
        "topic_word_prior": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "n_shared": [Interval(Integral, 0, None, closed="left")],
        "label_prior": [StrOptions(set(_LABEL_PRIORS))],
        "label_weight": [Interval(Real, 0, LARGEST, closed="both")],
        "even_weight": [Interval(Real, 0, LARGEST, closed="both")],
        "n_label_topics": [POSITIVE],
        "dependency_sampler": [StrOptions(set(SAMPLERS))],
        "ranking_score": [StrOptions(set(RANKING_SCORES))],
        "label_count": [
            StrOptions({"meta"}),
            POSITIVE,
            HasMethods(["fit", "predict"]),
        ],
    }

    def __init__(
        self,
        *,
        n_shared: int = 0,
        doc_topic_prior: TopicPrior | None = None,
        topic_word_prior: ArrayLike = 0.1,
        max_iter: int = 100,
        burn_in: int | None = None,
        n_draws: int = 10,
        draw_every: int = 5,
        n_chains: int = 5,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        label_prior: Literal["uniform", "frequency", "dependency"] = "frequency",
        label_weight: float = 50.0,
        even_weight: float = 30.0,
        n_label_topics: int = 20,
        dependency_sampler: Literal["fast", "gibbs"] = "fast",
        ranking_score: Literal["proportions", "shares"] = "proportions",
        label_count: Literal["meta"] | int | Model = "meta",
        fold_in_iter: int = 30,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_shared = n_shared
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.n_draws = n_draws
        self.draw_every = draw_every
        self.n_chains = n_chains
        self.point_estimate = point_estimate
        self.label_prior = label_prior
        self.label_weight = label_weight
        self.even_weight = even_weight
        self.n_label_topics = n_label_topics
        self.dependency_sampler = dependency_sampler
        self.ranking_score = ranking_score
        self.label_count = label_count
        self.fold_in_iter = fold_in_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Counts, y: Counts) -> Self:
        """Find the words of labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts: non-negative whole numbers of any dtype, as from `CountVectorizer`. Documents may be empty.
        y : array-like or sparse matrix of shape (n_documents, n_labels), or array-like of shape (n_documents,)
            An indicator matrix of zeros and ones, as from `MultiLabelBinarizer`; its column names are names of labels.
            Or one label for each document: strings, whole numbers, booleans or dates. None may be missing.

        Returns
        -------
        self : LabeledLDA
            The fitted estimator. If an error or Ctrl-C ends the fit, the estimator is as it was before.

        Raises
        ------
        ValueError
            If X is not a matrix of counts or has no token, or a parameter is out of range. If y is malformed, has a
            missing entry, other entries than 0 and 1 or another number of rows, or no document has a label.
        TypeError
            If a parameter has the wrong type.
        """
        self._validate_params()
        corpus = self._training_corpus(X)
        with FitRun(self, corpus, X, y) as run:
            check_documents(X, y=y)
            targets = read_targets(y, corpus.n_documents)
            if self.label_weight + self.even_weight == 0:
                raise ValueError("label_weight and even_weight are both 0: one of them must be positive.")
            labels = targets.indicator
            n_labels = labels.shape[1]
            is_labelled = np.diff(labels.indptr) > 0
            n_used = corpus.lengths[is_labelled].sum() if self.n_shared == 0 else corpus.n_tokens
            if not is_labelled.any() or not n_used:
                raise ValueError(
                    f"y has {labels.nnz} labels, and documents with labels have {corpus.lengths[is_labelled].sum()} "
                    "tokens: there is nothing to fit. Documents without labels are used only if n_shared is positive."
                )
            warn_of_labels_without_words(corpus, targets)
            opened = OpenTopics.make(corpus, labels, self.n_shared)
            alpha = at_topics(self.doc_topic_prior, "doc_topic_prior", n_labels + self.n_shared)
            alpha = 50 / n_labels if alpha is None else alpha
            priors = LabelPriors.make(alpha, self.topic_word_prior, opened)
            burn_in = burn_in_of(self.burn_in, self.max_iter)
            # The last draws, of which there are at most `n_draws`.
            first_draw = max(burn_in, self.max_iter - self.n_draws * self.draw_every)
            sums = LabelSums(first_draw, self.draw_every, self.point_estimate)
            numbers = np.diff(labels.indptr)[is_labelled]

            run.begin(n_chains=self.n_chains, n_sweeps=self.max_iter)
            self.classes_: np.ndarray = targets.classes
            self.label_names_: np.ndarray = targets.names
            self.multilabel_: bool = targets.is_multilabel
            self.label_frequency_: np.ndarray = np.bincount(labels.indices, minlength=n_labels) / is_labelled.sum()
            self.n_unlabeled_: int = int((~is_labelled).sum())
            self.topic_word_prior_: np.ndarray | float = eta_attribute(self.topic_word_prior)
            self._sparse_labels_ = targets.is_sparse
            self._numbers_of_labels_ = (int(numbers.min()), int(numbers.max()))
            names = targets.names.tolist()
            if names != [str(j) for j in range(len(names))]:
                names = distinct([*map(str, names), *(f"shared {s}" for s in range(self.n_shared))])
                self.topic_names_ = np.array(names, dtype=object)
            if self.label_prior == "dependency":
                seed = random.child(run.seed, 2)
                self.label_topics_: np.ndarray = run.once(lambda: self._topics_of_labels(labels[is_labelled], seed))
                self._n_label_tokens_ = max(int(np.rint(numbers.mean())), 1)
            if targets.is_multilabel and self._counts_labels_by_regression():
                self.label_count_regressor_: Any = self._label_count_regressor(corpus, is_labelled, numbers)
            chains = [LabelChain.initialise(corpus, priors, seed, (sums,)) for seed in run.chain_seeds(self.n_chains)]
            for chain in chains:
                chain.n_burn_in = burn_in
            chains = run.sweep(chains, self.max_iter, schedule=Schedule(0), n_jobs=self.n_jobs)
            run.progress.end(chains)
            self._set_results(chains)
            if targets.is_multilabel:
                topics = self._known_topics()
                warn_of_missing_labels(corpus, targets, topics, self.topic_share_, self._fold_in_seed_)
            return run.finish()

    def _set_results(self, chains):
        n_labels = len(self.label_frequency_)
        traces = RunResults(chains, chains[0].n_burn_in, best_chain(chains))
        chain, means = chains[traces.best], LabelMeans.of(chains, n_labels)
        opened = chain.priors.opened
        counts = opened.pair_matrix(means.pair_counts)
        totals = np.asarray(counts.sum(axis=0)).ravel()
        set_traces(self, traces)
        self.doc_label_: Any = means.theta(chain.priors)
        self.n_draws_: int = len(means.shares)
        # The mean of expected counts has less noise than that of the shares of draws.
        self.topic_share_: np.ndarray = totals / totals.sum()
        self.topic_share_std_: np.ndarray = shares_with_std(means.shares, [means.shares])[1]
        self.topic_assignments_: np.ndarray = chain.token_topics()
        self._word_topic_counts_ = counts
        self._fingerprint_ = chain.corpus.fingerprint
        # Documents without open topics are left out.
        self._used_tokens_ = np.where(opened.numbers > 0, chain.corpus.lengths, 0)
        self._results_ = LabelResults(chain, traces.best, means.theta_std(chain.priors))

        shared_odds = totals[n_labels:] / max(totals[:n_labels].sum(), 1)
        weights = self.label_weight, self.even_weight
        even = label_prior(self.label_frequency_, (0, sum(weights)), shared_odds)
        prior = even
        if self.label_prior != "uniform":
            prior = label_prior(self.label_frequency_, weights, shared_odds)
        # The part of alpha that does not depend on the document.
        base = np.concatenate([np.full(n_labels, self.even_weight / n_labels), even[n_labels:]])
        self.doc_topic_prior_: np.ndarray = np.clip(prior, SMALLEST, LARGEST)
        self._base_prior_ = np.clip(base, SMALLEST, LARGEST)

    def _topics_of_labels(self, labels, seed):
        """Topics of labels, (n_chains, n_label_topics, n_labels): a set for each chain, as draws cannot be averaged."""
        found = []
        for c in range(self.n_chains):
            model = GibbsLDA(
                self.n_label_topics,
                learn_priors=False,
                **_LABEL_TOPIC_PRIORS,
                max_iter=_LABEL_TOPIC_SWEEPS,
                n_draws=1,
                random_state=np.random.Generator(np.random.PCG64(random.child(seed, c))),
            )
            with warnings.catch_warnings():
                # Its number of sweeps is none of the user's parameters.
                warnings.simplefilter("ignore", ConvergenceWarning)
                found.append(model.fit(sp.csr_matrix(labels, dtype=np.int64)).topic_word_)
        return np.array(found)

    def _counts_labels_by_regression(self):
        return not isinstance(self.label_count, Integral)

    def _label_count_regressor(self, corpus, is_labelled, numbers):
        """The regression of the number of labels on the words."""
        if isinstance(self.label_count, str):
            regressor = make_pipeline(TfidfTransformer(sublinear_tf=True), Ridge())
        else:
            regressor = clone(self.label_count)
        counts = corpus.to_counts()[is_labelled].astype(np.float64)
        return regressor.fit(counts, numbers.astype(np.float64))

    @property
    def doc_topic_(self) -> np.ndarray:
        """Proportions of the training documents, given their labels, as a dense array; see `doc_label_`."""
        theta = self.doc_label_.toarray()
        alpha = self._doc_prior()[0]
        theta[self._left_out()] = alpha / alpha.sum()
        return theta

    @property
    def doc_topic_std_(self) -> np.ndarray:
        """Posterior standard deviations of the proportions given the labels, (n_documents, n_labels + n_shared)."""
        std = self._results_.doc_label_std.toarray()
        std[self._left_out()] = np.sqrt(dirichlet_variance(self._doc_prior()[0]))
        return std

    def _prior_of_training(self):
        alpha = self.doc_label_.copy()
        alpha.data = self._results_.priors.doc[alpha.indices]
        return alpha.toarray()

    def _sample_posterior(self, n_draws, seed):
        theta, phi = self._results_.sample(self.topic_word_prior_, n_draws, seed)
        left_out, rng = self._left_out(), np.random.default_rng(random.child(seed, 2))
        theta[:, left_out] = rng.dirichlet(self._doc_prior()[0], (n_draws, left_out.sum()))
        return theta, phi

    def _left_out(self):
        """Which documents of the fit had no topic that was open to them, (n_documents,) bool."""
        return np.diff(self.doc_label_.indptr) == 0
