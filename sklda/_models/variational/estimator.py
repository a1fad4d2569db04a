"""CollapsedVariationalLDA: topics by collapsed variational Bayes, from a corpus or from a stream of documents."""

from __future__ import annotations

import copy
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from joblib import cpu_count, effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.gibbs_em import BOUNDS, MStep
from sklda._core.parallel import with_team
from sklda._core.priors import SMALLEST, Priors
from sklda._input.arguments import check_weights
from sklda._input.types import Counts, Seed, TopicPrior
from sklda._models.base import BaseLDA
from sklda._models.fit_run import FitRun, all_or_nothing, check_same_parameters, fold_in_seed_of
from sklda._models.parameters import POSITIVE, Interval, StrOptions
from sklda._models.progress import with_callbacks
from sklda._models.variational.batch import Batch
from sklda._models.variational.fixed_topics import infer, perplexity
from sklda._models.variational.passes import OnlinePasses, make_passes, proportions, topics
from sklda._models.variational.prior_learning import VariationalLearner
from sklda._models.variational.stream import Stream, initial_counts
from sklda._sampling.draws import draw_dirichlets
from sklda._sampling.prior_learning import DefaultPrior
from sklda._sampling.prior_of_documents import alpha_attribute, has_one_each
from sklda._sampling.prior_of_topics import eta_attribute


class CollapsedVariationalLDA(BaseLDA):
    """Latent Dirichlet allocation by collapsed variational Bayes (CVB0), for corpora and for streams of documents.

    Each distinct word of a document has a distribution of its topic, given the expected counts of all other tokens. The
    method is deterministic after the first distributions. `fit` takes a corpus, `partial_fit` a chunk of a stream.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    learn_priors : bool or "symmetric", default=True
        Which priors are learnt if they are None. True: one alpha for each topic, and one eta.
        ``"symmetric"``: one alpha and one eta. There is an M-step every five passes over a corpus, from the fifth on,
        or every ten chunks of a stream, from the expected counts. If X of `fit` has fewer than 1,000 tokens, priors
        that are None are 0.1. A stream begins with ``1 / n_components`` and learns after 1,000 tokens. False: priors
        that are None are ``1 / n_components``.
    doc_topic_prior : float, array-like of shape (n_components,), str or callable, default=None
        alpha, the Dirichlet parameter per topic of the topic proportions. A given alpha is not changed. A text such as
        ``"50/K"`` and a function such as ``lambda K: 50 / K`` follow the number of topics.
    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=None
        eta, the Dirichlet parameter per word of the topics. A given eta is not changed. Both priors must lie between
        1e-12 and 1e12.
    learning_method : {"batch", "online"}, default="batch"
        The method of `fit`. ``"batch"``: CVB0. It stores all distributions in single precision: ``4 * n_components``
        bytes, with `n_components` rounded up to a multiple of 16, for every distinct word of every document. If the
        computer has less memory, the fit fails at once. ``"online"``: SCVB0, as `partial_fit`, in passes over the
        documents in random order. It needs about four arrays of ``8 * n_components * n_features`` bytes, and a chunk.
    learning_decay : float, default=0.7
        Chunk t of a stream moves the topics by the step ``(learning_offset + t) ** -learning_decay``. Between 0.5 and 1
        the topics converge. With a smaller decay they follow a stream that changes.
    learning_offset : float, default=10.0
        At least 1. A larger offset makes the first steps smaller.
    max_iter : int, default=50
        Number of passes over the corpus in `fit`. A few are enough for ``"online"``.
    batch_size : int, default=128
        Number of documents of a chunk. `partial_fit` cuts larger inputs.
    evaluate_every : int, default=-1
        Passes between two evaluations of the perplexity of the corpus. Not positive: there are none.
    total_samples : float, default=1e6
        Number of documents of the stream, for `partial_fit`. The counts in `components_` are those of this number of
        documents, so it is also the weight of the words relative to `topic_word_prior`.
    perp_tol : float, default=0.1
        The passes end if the perplexity changes by less than this between two evaluations.
    mean_change_tol : float, default=1e-3
        With fixed topics, in `transform` and in chunks, the updates of a document end if the mean absolute change of
        its topic counts is smaller.
    max_doc_update_iter : int, default=100
        The largest number of these updates.
    n_jobs : int, default=None
        Number of threads. Results do not depend on it.
    verbose : int, default=0
        If positive, the memory of the distributions and every pass are printed.
    random_state : int, RandomState instance, Generator or None, default=None
        For the first distributions and the order of the documents. `transform` is deterministic.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Expected topic-word counts plus prior. `topic_word_` has the normalised rows.
    topic_word_ : ndarray of shape (n_components, n_features)
        Topics as distributions over words.
    doc_topic_ : ndarray of shape (n_documents, n_components)
        Topic proportions of the documents of `fit`. `partial_fit` deletes it.
    topic_share_ : ndarray of shape (n_components,)
        Expected share of the tokens in each topic; of a stream, of the tokens in `components_`.
    doc_topic_prior_, topic_word_prior_ : float or ndarray
        alpha and eta, learnt or given.
    bound_ : float
        Perplexity of the corpus of `fit` from `doc_topic_` and `topic_word_`. It is not a bound: the name is that of
        scikit-learn. `partial_fit` deletes it.
    perplexity_trace_ : ndarray of shape (n_evaluations,)
        The perplexities at `evaluate_every`. `partial_fit` deletes it.
    n_iter_ : int
        Number of passes over the corpus of `fit`.
    n_batch_iter_ : int
        Number of chunks so far. The documents of a batch fit count as chunks of `batch_size`.
    n_features_in_ : int
        Size of the vocabulary.
    topic_names_ : ndarray of shape (n_components,)
        Names of the topics. Only after `set_topic_names`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words. Only if X has column names that are all strings.

    Notes
    -----
    With expected counts that do not include one token of word v in document d, the distribution of its topic is

    .. math::

        \\gamma_{dvk} \\propto
        (n_{dk} + \\alpha_k) \\frac{m_{kv} + \\eta_{kv}}{m_k + \\sum_v \\eta_{kv}}.

    In a stream, the topics stay fixed within a chunk and do not contain its documents, so only the counts of the
    document exclude the token. There is no lower bound of log p(w): the updates keep only the zero-order term of an
    expectation.

    References
    ----------
    Asuncion, Welling, Smyth & Teh (2009). On smoothing and inference for topic models. UAI.

    Foulds, Boyles, DuBois, Smyth & Welling (2013). Stochastic collapsed variational Bayesian inference for latent
    Dirichlet allocation. KDD.

    Papanikolaou, Foulds, Rubin & Tsoumakas (2017). Dense distributions from sparse samples: improved Gibbs sampling
    parameter estimators for LDA. JMLR 18.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklda import CollapsedVariationalLDA
    >>> texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]
    >>> X = CountVectorizer().fit_transform(texts)
    >>> lda = CollapsedVariationalLDA(2, random_state=0).fit(X)
    >>> theta = lda.transform(X)
    >>> theta.shape, (theta.argmax(axis=1) == theta[0].argmax()).tolist()
    ((4, 2), [True, True, False, False])
    >>> lda.partial_fit(X[:2]).n_batch_iter_
    2
    """

    _samples = False
    _parameter_constraints = {
        "learning_method": [StrOptions({"batch", "online"})],
        "learning_decay": [Interval(Real, 0, 1, closed="both")],
        "learning_offset": [Interval(Real, 1, None, closed="left")],
        "batch_size": [POSITIVE],
        "evaluate_every": [Integral],
        "total_samples": [Interval(Real, 0, None, closed="neither")],
        "perp_tol": [Interval(Real, 0, None, closed="left")],
        "mean_change_tol": [Interval(Real, 0, None, closed="left")],
        "max_doc_update_iter": [POSITIVE],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        learn_priors: bool | Literal["symmetric"] = True,
        doc_topic_prior: TopicPrior | None = None,
        topic_word_prior: ArrayLike | None = None,
        learning_method: Literal["batch", "online"] = "batch",
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        max_iter: int = 50,
        batch_size: int = 128,
        evaluate_every: int = -1,
        total_samples: float = 1e6,
        perp_tol: float = 0.1,
        mean_change_tol: float = 1e-3,
        max_doc_update_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.learn_priors = learn_priors
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learning_method = learning_method
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.evaluate_every = evaluate_every
        self.total_samples = total_samples
        self.perp_tol = perp_tol
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
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
        self : CollapsedVariationalLDA
            The fitted estimator. If an error or Ctrl-C ends the fit, the estimator is as it was before.

        Raises
        ------
        ValueError
            If X has a negative, missing, infinite or fractional count (the message names the first one), if X has no
            token, or if a parameter is out of range.
        TypeError
            If a parameter has the wrong type.
        """
        self._validate_params()
        corpus = self._training_corpus(X)
        with FitRun(self, corpus, X, y) as run:
            default = DefaultPrior.of(self.learn_priors, corpus.n_tokens, self.n_components)
            alpha, eta = default.or_given(self._alpha), default.or_given(self.topic_word_prior)
            priors = Priors.make(alpha, eta, self.n_components, corpus.n_features)
            learner = self._learner(priors) if default.is_learnt else None
            run.begin()
            model: Batch | OnlinePasses
            if self.learning_method == "batch":
                model = Batch(corpus, priors, random.child(run.seed, 0), learner)
                if self.verbose:
                    print(f"[{type(self).__name__}] the distributions of topics take {model.n_bytes / 1e6:.1f} MB")
            else:
                counts = initial_counts(corpus, priors, corpus.n_documents, random.child(run.seed, 0))
                stream = self._stream(counts, priors, learner, total_samples=corpus.n_documents)
                model = OnlinePasses(corpus, stream, self.batch_size, random.child(run.seed, 2))

            def passes(team):
                make_passes(
                    model,
                    self.max_iter,
                    team,
                    evaluate_every=self.evaluate_every,
                    tolerance=self.perp_tol,
                    progress=run.progress,
                )

            with_team(min(effective_n_jobs(self.n_jobs), cpu_count()), passes)
            run.progress.end(model)
            self._set_results(model)
            return run.finish()

    def _set_results(self, model):
        """Set the attributes that come from a `Batch` or from `OnlinePasses`."""
        self.doc_topic_: np.ndarray = proportions(model, self.n_jobs)
        self.bound_: float = perplexity(model.corpus, self.doc_topic_, topics(model))
        self.perplexity_trace_: np.ndarray = np.array(model.trace)
        self.n_iter_: int = model.n_sweeps
        self._fingerprint_ = model.corpus.fingerprint
        self._used_tokens_ = model.corpus.lengths
        self._set_topics(model, model.position(self.batch_size))

    def _set_topics(self, model, position):
        """Set the attributes of the topics, of the priors and of the place in the stream."""
        totals = model.counts.sum(axis=1, dtype=np.float64)
        per_topic = has_one_each(self._alpha, self.learn_priors)
        self.doc_topic_prior_: np.ndarray | float = alpha_attribute(model.priors, per_topic)
        self.topic_word_prior_: np.ndarray | float = eta_attribute(self.topic_word_prior, model.priors)
        self.components_: np.ndarray = model.counts + model.priors.topic_word()
        self.topic_share_: np.ndarray = totals / totals.sum()
        self.n_batch_iter_: int = position["n_chunks"]
        self._position_ = position
        # A copy, because the caller may change arrays of priors.
        self._given_ = copy.deepcopy(self._given())

    def _given(self):
        """The parameters that must not change before `partial_fit`."""
        priors = {"doc_topic_prior": self._alpha, "topic_word_prior": self.topic_word_prior}
        return priors | {"learn_priors": self.learn_priors}

    @all_or_nothing
    def partial_fit(self, X: Counts, y: Any = None) -> Self:
        """Move the topics towards those of a chunk of a stream of documents.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts. There may be no documents, or only empty ones.
        y : None
            Not used.

        Returns
        -------
        self : estimator
            The estimator. If an error or Ctrl-C ends the call, it is as it was before.

        Raises
        ------
        ValueError, TypeError
            As `fit`; also if `n_components`, `learn_priors` or a prior is not that of the earlier calls or of `fit`.

        Examples
        --------
        >>> from sklda import CollapsedVariationalLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
        >>> lda = CollapsedVariationalLDA(2, random_state=0)
        >>> for first in range(0, 60, 20):
        ...     lda = lda.partial_fit(X[first : first + 20])
        >>> lda.transform(X[:3]).shape
        (3, 2)
        """
        self._validate_params()
        known = hasattr(self, "components_")
        try:
            corpus = Corpus.from_counts(X, partial(validate_data, self, reset=not known, ensure_min_samples=0))
            self._check_words_of_prior(corpus.n_features)
        except ValueError as error:
            if known and "features" in str(error):
                raise ValueError(
                    f"{error} A stream has one vocabulary, that of its first chunk, and new words have no column. Fix "
                    "it before the first chunk, as CountVectorizer(vocabulary=...), or use HashingVectorizer("
                    "alternate_sign=False, norm=None), which has a column for any word."
                ) from error
            raise
        key, stream = self._resumed(corpus) if known else self._begun(corpus)

        def work(team):
            for first, last in corpus.blocks(n_documents=self.batch_size):
                stream.step(corpus.take(np.arange(first, last)), team)

        with_team(min(effective_n_jobs(self.n_jobs), cpu_count()), work)
        # The documents of an earlier fit do not belong to the new topics.
        for name in ("doc_topic_", "bound_", "perplexity_trace_", "_fingerprint_", "_used_tokens_"):
            self.__dict__.pop(name, None)
        self._fold_in_seed_ = key
        self._set_topics(stream, stream.position())
        return self

    def _begun(self, corpus):
        """The key of the documents' seeds, and a stream with random topics."""
        seed = random.seed_sequence(self.random_state)
        priors = Priors.make(self._alpha, self.topic_word_prior, self.n_components, corpus.n_features)
        first = corpus.take(np.arange(min(self.batch_size, corpus.n_documents)))
        counts = initial_counts(first, priors, self.total_samples, random.child(seed, 0))
        return fold_in_seed_of(seed), self._stream(counts, priors, self._learner(priors))

    def _resumed(self, corpus):
        """The same for the stream of the earlier calls."""
        components = self._components()
        if self.n_components != len(components):
            raise ValueError(
                f"partial_fit continues with the {len(components)} topics that it has, but n_components is now "
                f"{self.n_components}. Clone the estimator to begin again."
            )
        check_same_parameters(self._given(), self._given_, "partial_fit", "Clone the estimator")
        position = dict(self._position_)
        priors = Priors.make(self.doc_topic_prior_, self.topic_word_prior_, self.n_components, corpus.n_features)
        # Counts of a corpus of another size become those of `total_samples` documents.
        check_weights(components, type(self).__name__)
        counts = np.maximum(components - priors.topic_word(), 0)
        counts *= self.total_samples / position.pop("total_samples")
        return self._fold_in_seed_, self._stream(counts, priors, self._learner(priors), **position)

    def _stream(self, counts, priors, learner, **position):
        return Stream(
            counts,
            priors,
            decay=self.learning_decay,
            offset=self.learning_offset,
            n_updates=self.max_doc_update_iter,
            tolerance=self.mean_change_tol,
            learner=learner,
            **{"total_samples": self.total_samples} | position,
        )

    def _learner(self, priors):
        """How the priors that are not given are learnt; None if they are not."""
        bounds = tuple(BOUNDS if given is None else None for given in (self._alpha, self.topic_word_prior))
        if not self.learn_priors or bounds == (None, None):
            return None
        return VariationalLearner(MStep(bounds, has_one_each(None, self.learn_priors)), priors)

    def transform(self, X: Counts, *, normalize: bool = True) -> np.ndarray:
        """Topic proportions of documents, given the topics of the fit.

        The method is CVB0 with fixed topics. It is deterministic, and the row of a document does not depend on the
        other rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        normalize : bool, default=True
            Whether rows sum to one. Otherwise they are expected topic counts plus `doc_topic_prior_`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            The row of a document without words is the prior mean.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit` and `partial_fit`.
        ValueError
            If X is not a matrix of counts with the features of the fit, or a parameter is out of range.
        """
        return super().transform(X, normalize=normalize)

    def _expected_counts(self, corpus, alpha):
        return infer(
            corpus,
            self.topic_word_,
            alpha[0],
            n_updates=self.max_doc_update_iter,
            tolerance=self.mean_change_tol,
            n_jobs=self.n_jobs,
        )

    def _sample_posterior(self, n_draws, seed):
        if not hasattr(self, "doc_topic_"):
            raise ValueError(
                "sample_posterior draws the topic proportions of the documents of fit, and partial_fit keeps no "
                "documents. Call fit."
            )
        sizes = self._used_tokens_ + self._doc_prior().sum()
        parameters = self.doc_topic_ * sizes[:, None], self._topic_parameters()
        return draw_dirichlets(parameters, n_draws, np.random.default_rng(seed))

    def _draw_topic_word(self, n_draws, seed):
        for i in range(n_draws):
            yield draw_dirichlets([self._topic_parameters()], 1, np.random.default_rng(random.child(seed, i)))[0][0]

    def _topic_parameters(self):
        check_weights(components := self._components(), type(self).__name__)
        # A count that was set to zero since the fit is not a Dirichlet parameter.
        return np.maximum(components, SMALLEST)
