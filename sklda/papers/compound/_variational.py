"""Compound LDA by variational EM (George, Xia & Michailidis 2019, appendix E)."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sklda._core import random
from sklda._core.labels import encode, warn_of_many_collections
from sklda._core.priors import Priors
from sklda._core.types import Counts, Seed
from sklda._models.compound.base import NEVER_SYMMETRIC, CollectionsLDA
from sklda._models.compound.hyperparameters import document_prior, first_hyperparameters
from sklda._models.compound.model import CompoundModel
from sklda._models.compound.results import check_same_collections, corpus_mixture
from sklda._models.fit_run import FitRun, all_or_nothing, settings_of
from sklda._models.parameters import Interval, shared
from sklda._models.progress import with_callbacks
from sklda._models.results import ChainAttributes, FitResults, eta_attribute
from sklda._sampling.draws import draw_dirichlets
from sklda._sampling.point_estimates import check_memory_of_results
from sklda._sampling.prior_learning import refuse_symmetric
from sklda._sampling.run_chains import best_chain, in_rows
from sklda.papers.compound._ascent import VariationalAscent, maximise_bounds


class VariationalCompoundLDA(ChainAttributes, CollectionsLDA):
    """Compound LDA by ascent on a lower bound of log p(w).

    The approximation is a product: topics, mixtures and proportions are independent Dirichlet variables. It understates
    the spread of the posterior, which `sklda.CompoundLDA` draws from.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    collection_topic_prior : float, default=1.0
        alpha, the Dirichlet parameter per topic of a collection's mixture.
    doc_concentration, topic_word_prior, learn_priors
        Those of `sklda.CompoundLDA`. gamma and eta are learnt in every iteration.
    max_iter : int, default=500
        Largest number of iterations, with `warm_start` that of further ones.
    n_chains : int, default=1
        Number of ascents from independent starts. The results are those of the ascent with the highest bound.
    fold_in_iter : int, default=6
        Sweeps over a document in `transform`, after CVB0.
    warm_start : bool, default=False
        Whether `fit` continues from the last state of the previous fit, on the same X and collections. An ascent that
        has converged makes one more iteration.
    n_jobs : int, default=None
        Ascents, or blocks of 64 documents in `transform`, that run at the same time. Results do not depend on it.
    verbose : int, default=0
        1 shows one line that is updated in a terminal or a notebook, and otherwise prints ten lines; 2 prints a line
        for every iteration.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the fit and `transform` after it are the same every time.

    Attributes
    ----------
    collections_, collection_topic_, collection_topic_std_, corpus_topic_, collection_topic_prior_
        Those of `sklda.CompoundLDA`, with means and standard deviations of the approximation.
    doc_concentration_, topic_word_prior_, doc_topic_prior_, components_, topic_word_, doc_topic_, topic_share_
        Those of `sklda.CompoundLDA`.
    log_joint_trace_ : ndarray of shape (n_chains, n_iter_)
        The lower bound of log p(w) after every iteration, in nats. NaN after the last iteration of a shorter ascent.
    prior_trace_ : ndarray of shape (n_chains, n_iter_, 2)
        doc_concentration and the mean of topic_word_prior in every iteration. Only if priors are learnt.
    n_iter_ : int
        Iterations of the longest ascent.
    best_chain_ : int
        Index of the ascent that was kept, a row of `log_joint_trace_`.
    n_features_in_ : int
        Size of the vocabulary.

    References
    ----------
    George, Xia & Michailidis (2019). Analyses of multi-collection corpora via compound topic modeling.

    Examples
    --------
    >>> from sklda.datasets import make_compound_lda_corpus
    >>> from sklda.papers.compound import VariationalCompoundLDA
    >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
    >>> lda = VariationalCompoundLDA(3, max_iter=20, random_state=0).fit(corpus.data, collections=corpus.collections)
    >>> lda.collection_topic_.shape, bool((np.diff(lda.log_joint_trace_[0]) > 0).all())
    ((2, 3), True)
    """

    _continued = (
        "n_components",
        "collection_topic_prior",
        "doc_concentration",
        "topic_word_prior",
        "learn_priors",
        "n_chains",
    )
    # There are no chains to save.
    _samples = False
    collection_topic_: np.ndarray
    collection_topic_std_: np.ndarray

    _parameter_constraints = {
        **shared(
            "n_components",
            "topic_word_prior",
            "learn_priors",
            "max_iter",
            "n_chains",
            "fold_in_iter",
            "warm_start",
            "n_jobs",
            "verbose",
            "random_state",
        ),
        "collection_topic_prior": [Interval(Real, 0, None, closed="neither")],
        "doc_concentration": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        collection_topic_prior: float = 1.0,
        doc_concentration: float | None = None,
        topic_word_prior: ArrayLike | None = None,
        learn_priors: Literal["asymmetric", False] = "asymmetric",
        max_iter: int = 500,
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
        self.learn_priors = learn_priors
        self.max_iter = max_iter
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
        self : VariationalCompoundLDA
            The fitted estimator. If an error or Ctrl-C ends the fit, the estimator is as it was before.

        Raises
        ------
        ValueError, TypeError
            As in `sklda.CompoundLDA.fit`.
        """
        corpus, values = self._training_documents(X, collections=collections)
        given = values["collections"]
        if given is None:
            self._warn_of_no_collections(y)
        refuse_symmetric(self.learn_priors, NEVER_SYMMETRIC)
        labels, collection_of = encode(given, corpus.n_documents)
        warn_of_many_collections(labels, collection_of)
        with FitRun(self, corpus, X, y, collections=given) as run:
            if run.former is not None:
                check_same_collections(labels, collection_of, self.collections_, self._collection_of_)
            first = first_hyperparameters(
                self.n_components,
                self.collection_topic_prior,
                self.doc_concentration,
                self.topic_word_prior,
                self.learn_priors,
                corpus.n_tokens,
            )
            model = CompoundModel(collection_of, len(labels), **first)
            priors = Priors.make(1.0, model.eta, self.n_components, corpus.n_features)
            # An ascent and its state have the proportions, and an iteration three more arrays of their size.
            n_rows = (2 * self.n_chains + 3) * corpus.n_documents
            check_memory_of_results(corpus, self.n_components, self.n_chains, n_rows=n_rows)

            run.begin(n_chains=self.n_chains, n_sweeps=self.max_iter)
            self._settings_ = settings_of(self)
            self._fold_in_seed_ = run.fold_in_seed
            self._model_ = model
            self._collection_of_ = collection_of
            self.collections_ = labels
            if run.former is not None:
                ascents = [VariationalAscent(corpus, priors, state, model) for state in run.former.states]
            else:
                eta = float(model.eta) if model.learn_eta else None
                seeds = [random.child(run.seed, 0, c) for c in range(self.n_chains)]
                ascents = [
                    VariationalAscent.initialise(corpus, priors, seed, model, model.alpha, model.gamma, eta)
                    for seed in seeds
                ]
            ascents = maximise_bounds(ascents, self.max_iter, n_jobs=self.n_jobs, progress=run.progress)
            run.progress.end(ascents)
            self._set_results(ascents)
            return run.finish()

    def _set_results(self, ascents):
        results = AscentResults(ascents)
        best = results.states[results.best]
        self._results_ = results
        self._fingerprint_ = results.corpus.fingerprint
        self._used_tokens_ = results.corpus.lengths
        self.log_joint_trace_: np.ndarray = in_rows([each.trace for each in results.states])
        self.n_iter_: int = self.log_joint_trace_.shape[1]
        self.best_chain_: int = results.best
        self.components_: np.ndarray = best.topic_word_parameter.copy()
        self.doc_topic_: np.ndarray = best.doc_topic / best.doc_topic.sum(axis=1, keepdims=True)
        self.topic_share_: np.ndarray = results.corpus.lengths @ self.doc_topic_ / results.corpus.n_tokens
        self.topic_word_prior_: np.ndarray | float = eta_attribute(self._model_.eta) if best.eta is None else best.eta
        self.doc_concentration_: float = best.gamma
        self.collection_topic_, self.collection_topic_std_ = results.mixtures[results.best]
        self.collection_topic_prior_: float = best.alpha
        if best.prior_trace:
            self.prior_trace_: np.ndarray = in_rows([np.reshape(each.prior_trace, (-1, 2)) for each in results.states])
        self.corpus_topic_: np.ndarray = corpus_mixture(self.collection_topic_, self._collection_of_, results.corpus)
        self.doc_topic_prior_: np.ndarray = document_prior(self.doc_concentration_, self.corpus_topic_)


class AscentResults(FitResults):
    """The results of variational ascents."""

    def __init__(self, ascents):
        self.corpus, self.states = ascents[0].corpus, [each.state() for each in ascents]
        self.best, self.mixtures = best_chain(self.states), [each.mixtures() for each in ascents]

    def sample(self, n_samples, seed):
        """theta and phi of `n_samples` draws."""
        state = self.states[self.best]
        parameters = state.doc_topic, state.topic_word_parameter
        return draw_dirichlets(parameters, n_samples, np.random.default_rng(seed))

    def draw_topic_word(self, n_draws, seed):
        """Iterate over draws of phi."""
        for i in range(n_draws):
            parameters = (self.states[self.best].topic_word_parameter,)
            yield draw_dirichlets(parameters, 1, np.random.default_rng(random.child(seed, i)))[0][0]

    def draw_doc_topic(self, n_draws, seed, topic_word):
        """Iterate over draws of theta."""
        for i in range(n_draws):
            yield self.sample(1, random.child(seed, i))[0][0]

    def has_topics(self, topic_word):
        """Which topics every chain of `draw_doc_topic` has, (n_chains, n_components): all of them."""
        return np.ones((1, len(topic_word)), bool)
