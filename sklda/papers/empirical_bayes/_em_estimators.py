"""Estimators of the priors by expectation maximisation, which the paper compares with the maximum of m(h)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklda._core import random
from sklda._core.priors import Priors
from sklda._core.types import Counts, Seed, TopicPrior
from sklda._models.empirical_bayes.chain_pool import ChainPool
from sklda._models.empirical_bayes.estimate import MarginalLikelihoodEstimate
from sklda._models.empirical_bayes.estimator import EmpiricalBayesLDA
from sklda._models.empirical_bayes.settings import WIDEST, Settings
from sklda._models.fit_run import FitRun, all_or_nothing
from sklda._models.parameters import POSITIVE, shared
from sklda._models.progress import with_callbacks
from sklda._sampling.point_estimates import check_memory_of_results
from sklda.papers.empirical_bayes._em_stages import ascent_of_chains, gibbs_em
from sklda.papers.empirical_bayes._settings import SWEEPS_OF_EM, checked_region, run_lengths


class EMLDA(EmpiricalBayesLDA):
    """What both estimators by EM have in common: their parameters and their fit. They give no m(h)."""

    # The name of the method in `summary`.
    _name: str

    _parameter_constraints = {
        **shared(
            "n_components",
            "doc_topic_prior",
            "topic_word_prior",
            "n_draws",
            "point_estimate",
            "fold_in_iter",
            "n_jobs",
            "verbose",
            "random_state",
        ),
        "n_tuning": [None, POSITIVE],
        "max_iter": [None, POSITIVE],
        "region": [None, "array-like"],
        "n_chains": [POSITIVE, None],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        n_tuning: int | None = None,
        max_iter: int | None = None,
        region: ArrayLike | None = None,
        doc_topic_prior: TopicPrior | None = None,
        topic_word_prior: ArrayLike | None = None,
        n_chains: int | None = None,
        n_draws: int = 15,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        fold_in_iter: int = 6,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.n_tuning = n_tuning
        self.max_iter = max_iter
        self.region = region
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.point_estimate = point_estimate
        self.fold_in_iter = fold_in_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Counts, y: Any = None) -> Self:
        """Find the priors, and topics at these priors.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.

        Returns
        -------
        self : estimator
            The fitted estimator. If an error or Ctrl-C ends the fit, the estimator is as it was before.

        Raises
        ------
        ValueError, TypeError
            As in `sklda.EmpiricalBayesLDA.fit`.
        """
        self._validate_params()
        corpus = self._training_corpus(X)
        with FitRun(self, corpus, X, y) as run:
            self._check_symmetric()
            priors = Priors.make(self._alpha, self.topic_word_prior, self.n_components, corpus.n_features)
            region = checked_region(self.region)
            n_tuning, max_iter, n_chains = run_lengths(
                SWEEPS_OF_EM, corpus.n_tokens, self.n_tuning, self.max_iter, self.n_chains
            )
            settings = Settings(n_tuning, max_iter, self.n_draws, region=WIDEST if region is None else region)
            check_memory_of_results(corpus, self.n_components, n_chains, self.n_draws, self._rows_of_maximum(corpus))

            run.begin(n_chains=n_chains, n_sweeps=self._sweeps_of(settings))
            self._fold_in_seed_ = run.fold_in_seed
            seed = random.child(run.seed, 0)
            pool = ChainPool(corpus, priors, settings, seed, n_chains=n_chains, n_jobs=self.n_jobs, run=run)
            pool.initialise(pool.seed, 3)
            pool.finish(self._maximise(pool), settings.n_last)
            run.progress.end(pool.chains)
            self._set_results(pool.chains)
            return run.finish()

    @abstractmethod
    def _maximise(self, pool):
        """log h of every chain of a pool, which has random topics."""

    @abstractmethod
    def _sweeps_of(self, settings):
        """Number of sweeps of a chain."""

    def _rows_of_maximum(self, corpus):
        """Rows of topics in double precision that the method needs beside the chains."""
        return 0

    def _found(self) -> MarginalLikelihoodEstimate:
        check_is_fitted(self)
        raise ValueError(
            f"{type(self).__name__} does not estimate the marginal likelihood of the priors: fit an EmpiricalBayesLDA."
        )

    def summary(self) -> str:
        """The priors that were found, in a sentence.

        Returns
        -------
        str

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        alpha = np.array2string(np.asarray(self.doc_topic_prior_), precision=3)
        return f"doc_topic_prior {alpha}, topic_word_prior {self.topic_word_prior_:.3g} by {self._name}."


class GibbsEMLDA(EMLDA):
    """The priors by Gibbs-EM: Newton steps on the mean log joint of the last draws of a chain.

    It gives no m(h), and no theory ensures that it finds the maximum.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    n_tuning : int, default=None
        Sweeps of each chain with the priors found, which follow those of `max_iter`. None: 67,000 divided by the square
        root of the number of tokens, between 40 and 200.
    max_iter : int, default=None
        Number of sweeps that learn the priors. None: 2e8 divided by the number of tokens, between 30 and 1000.
    region : ((float, float), (float, float)), default=None
        ((alpha_low, alpha_high), (eta_low, eta_high)): the bounds of the priors. None: between 1e-5 and 1e4.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        The first alpha; None: ``1 / n_components``. With an array, an alpha is learnt for every topic. The paper warns
        that a corpus contains too little information about so many priors.
    topic_word_prior, n_draws, point_estimate, fold_in_iter, n_jobs, verbose, random_state
        Those of `sklda.EmpiricalBayesLDA`.
    n_chains : int, default=None
        Independent chains; the priors are geometric means over chains. None: 4.

    Attributes
    ----------
    doc_topic_prior_ : float or ndarray of shape (n_components,)
        alpha, with a value for every topic if `doc_topic_prior` has one.
    topic_word_prior_ : float
        eta. Topics, proportions and traces are those of `sklda.EmpiricalBayesLDA`.

    References
    ----------
    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.

    Examples
    --------
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.empirical_bayes import GibbsEMLDA
    >>> X = make_lda_corpus(60, 40, 3, random_state=0).data
    >>> GibbsEMLDA(3, max_iter=40, random_state=0).fit(X).summary()[:16]
    'doc_topic_prior '
    """

    _name = "Gibbs-EM"

    def _check_symmetric(self):
        """Refuse an eta that is an array; alpha may have one for every topic."""
        if np.ndim(self.topic_word_prior) > 0:
            raise ValueError("topic_word_prior must be one number: the search is over a symmetric prior.")

    def _maximise(self, pool):
        return gibbs_em(pool, per_topic=np.ndim(self._alpha) > 0)

    def _sweeps_of(self, settings):
        return settings.max_iter + settings.n_last


class VariationalEMLDA(EMLDA):
    """The priors by variational EM: ascent on a lower bound of m(h), with independent posteriors of theta, phi and z.

    It gives no m(h), and no theory ensures that it finds the maximum.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    n_tuning : int, default=None
        Sweeps of each chain before the ascent, and with the priors found. None: 67,000 divided by the square root of
        the number of tokens, between 40 and 200.
    max_iter : int, default=None
        Largest number of M-steps. None: 2e8 divided by the number of tokens, between 30 and 1000.
    region : ((float, float), (float, float)), default=None
        ((alpha_low, alpha_high), (eta_low, eta_high)): the bounds of the priors. None: between 1e-5 and 1e4.
    doc_topic_prior, topic_word_prior, n_draws, point_estimate, fold_in_iter, n_jobs, verbose, random_state
        Those of `sklda.EmpiricalBayesLDA`.
    n_chains : int, default=None
        Independent ascents; the priors are those of the highest bound. None: 4.

    Attributes
    ----------
    doc_topic_prior_, topic_word_prior_ : float
        alpha and eta. Topics, proportions and traces are those of `sklda.EmpiricalBayesLDA`.

    References
    ----------
    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.

    Examples
    --------
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.empirical_bayes import VariationalEMLDA
    >>> X = make_lda_corpus(60, 40, 3, random_state=0).data
    >>> VariationalEMLDA(3, max_iter=40, random_state=0).fit(X).summary()[:16]
    'doc_topic_prior '
    """

    _name = "variational EM"

    def _maximise(self, pool):
        return ascent_of_chains(pool)

    def _sweeps_of(self, settings):
        # M-steps are not sweeps.
        return 2 * settings.n_last

    def _rows_of_maximum(self, corpus):
        # An ascent has its parameters, counts, expected logarithms, and the terms of its bound.
        return 8 * (corpus.n_documents + corpus.n_features)
