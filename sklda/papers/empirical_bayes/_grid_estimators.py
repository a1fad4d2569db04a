"""Estimators of the priors from chains on (h, z), with h = (alpha, eta) on a grid."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sklda._core import random
from sklda._core.priors import Priors
from sklda._core.types import Counts, Seed, TopicPrior
from sklda._models.empirical_bayes.estimator import EmpiricalBayesLDA
from sklda._models.empirical_bayes.results import pairs_of
from sklda._models.empirical_bayes.settings import WIDEST
from sklda._models.fit_run import FitRun, all_or_nothing
from sklda._models.parameters import POSITIVE, StrOptions, shared
from sklda._models.progress import with_callbacks
from sklda._sampling.point_estimates import check_memory_of_results
from sklda.papers.empirical_bayes._estimate import GridEstimate, estimate_on_grid
from sklda.papers.empirical_bayes._functionals import expectations, global_band
from sklda.papers.empirical_bayes._settings import (
    SWEEPS_ON_A_GRID,
    GridSettings,
    Tempering,
    checked_functionals,
    checked_region,
    run_lengths,
)
from sklda.papers.empirical_bayes._stages import GridPool, full_bayes, serial_tempering


class GridLDA(EmpiricalBayesLDA):
    """What both estimators on a grid have in common: their parameters, their fit, and posterior expectations."""

    # Whether all points of the grid should be visited.
    _every_point: bool
    _functional_names_: tuple[str, ...]
    _estimate_: GridEstimate

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
        "functionals": [None, Mapping],
        "tempering": [None, StrOptions({"paper"}), dict],
        "n_chains": [POSITIVE, None],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        n_tuning: int | None = None,
        max_iter: int | None = None,
        region: ArrayLike | None = None,
        functionals: dict[str, Callable[..., float]] | None = None,
        tempering: dict[str, Any] | Literal["paper"] | None = None,
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
        self.functionals = functionals
        self.tempering = tempering
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
            functionals = checked_functionals(self.functionals)
            region = checked_region(self.region)
            n_tuning, max_iter, n_chains = run_lengths(
                SWEEPS_ON_A_GRID, corpus.n_tokens, self.n_tuning, self.max_iter, self.n_chains
            )
            settings = GridSettings(
                n_last=n_tuning,
                max_iter=max_iter,
                n_draws=self.n_draws,
                region=WIDEST if region is None else region,
                n_tuning=n_tuning,
                grid_is_region=region is not None,
                tempering=Tempering.make(self.tempering),
                functionals=tuple(functionals.values()),
            )
            check_memory_of_results(corpus, self.n_components, n_chains, self.n_draws)

            run.begin(n_chains=n_chains, n_sweeps=max_iter)
            self._fold_in_seed_ = run.fold_in_seed
            seed = random.child(run.seed, 0)
            pool = GridPool(corpus, priors, settings, seed, n_chains=n_chains, n_jobs=self.n_jobs, run=run)
            found = estimate_on_grid(pool, self._visit, self._every_point)
            self._set_estimate(found)
            self.acceptance_rate_: float = found.acceptance_rate
            self._functional_names_ = tuple(functionals)
            run.progress.end(pool.chains)
            self._set_results(pool.chains)
            return run.finish()

    @staticmethod
    @abstractmethod
    def _visit(pool, region, n_tuning, curve):
        """Make the chains of a pool continue on a grid; `curve` is a first estimate of m(h)."""

    def posterior_expectation(
        self, name: str, doc_topic_prior: ArrayLike, topic_word_prior: ArrayLike, *, level: float = 0.95
    ) -> tuple[Any, Any, Any]:
        """Posterior expectation of a functional for given priors, with a band that holds for all priors at once.

        Parameters
        ----------
        name : str
            One of `functionals`.
        doc_topic_prior, topic_word_prior : float or array-like
            alpha and eta, of shapes that broadcast, on the grid's region.
        level : float, default=0.95
            Confidence that the band contains the whole function on the grid's region, except for h with fewer than ten
            effective draws.

        Returns
        -------
        value, low, high : float or ndarray
            Equation 2.14 of George & Doss (2018), and a band like that of equation 2.19, but wider for h with fewer
            effective draws, and infinite for h with fewer than ten.

        Raises
        ------
        ValueError
            If there is no functional of that name, or `level` does not lie between 0 and 1.

        Examples
        --------
        >>> from sklda.datasets import make_lda_corpus
        >>> from sklda.papers.empirical_bayes import FullBayesLDA
        >>> X = make_lda_corpus(60, 20, 2, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
        >>> def largest_share(doc_topic, topic_word):
        ...     return doc_topic.mean(axis=0).max()
        >>> lda = FullBayesLDA(2, max_iter=600, functionals={"largest": largest_share}, random_state=0).fit(X)
        >>> value, low, high = lda.posterior_expectation("largest", 0.3, 0.5)
        >>> bool(low < value < high)
        True
        """
        found = self._found()
        if name not in self._functional_names_:
            raise ValueError(f"there is no functional {name!r}; the fit had {list(self._functional_names_)}.")
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
        drawn = found.functionals
        values = drawn.values[:, self._functional_names_.index(name)]
        alpha, eta = pairs_of(doc_topic_prior, topic_word_prior)
        mean, std = expectations(drawn.curve, values, alpha.ravel(), eta.ravel())
        band = global_band(drawn.curve, values, drawn.region, level)
        # Infinite for h with too few draws, even if the functional is constant over the draws.
        half = band * std if band else np.where(np.isinf(std), np.inf, 0.0)
        value, low, high = (each.reshape(eta.shape)[()] for each in (mean, mean - half, mean + half))
        return value, low, high


class SerialTemperingLDA(GridLDA):
    """The priors by serial tempering: chains on (h, z) that visit all points of a grid of h equally often.

    The estimate of m(h) is that of section 2.3 of the paper, with theta and phi integrated out unless `tempering` says
    otherwise. A short skeleton, the method of `sklda.EmpiricalBayesLDA`, places the grid.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    n_tuning : int, default=None
        Sweeps of each chain that tune the weights of the grid points. The chains make as many sweeps at the maximum,
        but at most a quarter of `max_iter`. None: 67,000 divided by the square root of the number of tokens, between 40
        and 200.
    max_iter : int, default=None
        Largest number of sweeps of each chain. None: 1.6e8 divided by the number of tokens, between 400 and 5000.
    region : ((float, float), (float, float)), default=None
        ((alpha_low, alpha_high), (eta_low, eta_high)): the region of the grid, in which the maximum is searched. None:
        the grid lies around the maximum of a short skeleton.
    functionals : dict of {str: callable}, default=None
        Functions of (doc_topic, topic_word), arrays of shapes (n_documents, n_components) and (n_components,
        n_features), that return a number. Their posterior expectations are estimated for every h.
    tempering : dict or "paper", default=None
        Options. The first value of each is the default; ``"paper"`` takes the second value of the first three.

        - ``"ratio"``: "collapsed" or "augmented" (theta and phi drawn, equation 2.2)
        - ``"index"``: "full_conditional" or "neighbours" (equation 2.8)
        - ``"tuning"``: "stochastic_approximation" or "restarts" (equation 2.16)
        - ``"estimator"``: "mixture" (equation 2.10), "component" (2.17) or "simple" (2.1, from one h)
        - ``"grid_shape"``: the numbers of values of alpha and of eta on the grid, (11, 11)
    doc_topic_prior, topic_word_prior, n_draws, point_estimate, fold_in_iter, n_jobs, verbose, random_state
        Those of `sklda.EmpiricalBayesLDA`.
    n_chains : int, default=None
        Independent chains. None: 4.

    Attributes
    ----------
    grid_ : (ndarray of shape (n_alphas,), ndarray of shape (n_etas,))
        Values of alpha and of eta on the grid.
    occupancy_ : ndarray of shape (n_alphas, n_etas)
        Share of the draws at each point of the grid, by its full conditional. They are about equal.
    acceptance_rate_ : float
        Share of the sweeps in which h changed.
    r_hat_, n_effective_ : ndarray of shape (2,)
        Split R-hat and effective number of draws of the means of log alpha and log eta given z. All other attributes
        are those of `sklda.EmpiricalBayesLDA`.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        As `sklda.EmpiricalBayesLDA` does, and if a part of the grid was not visited.

    References
    ----------
    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.

    Examples
    --------
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.empirical_bayes import SerialTemperingLDA
    >>> X = make_lda_corpus(60, 20, 2, doc_length=50, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
    >>> lda = SerialTemperingLDA(2, n_tuning=100, max_iter=600, tempering={"grid_shape": (5, 5)}, random_state=0)
    >>> lda.fit(X).occupancy_.shape
    (5, 5)
    """

    _every_point = True
    _visit = staticmethod(serial_tempering)


class FullBayesLDA(GridLDA):
    """The priors by full Bayes: chains on (h, z), with a uniform prior of h on a grid.

    Points of the grid are visited in proportion to their posterior (section 6 of the paper). The grid is wider than
    that of serial tempering, and has three more values between neighbours. A short skeleton, the method of
    `sklda.EmpiricalBayesLDA`, places it.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    n_tuning : int, default=None
        Sweeps of each chain on the grid before the draws. The chains make as many sweeps at the maximum, but at most a
        quarter of `max_iter`. None: 67,000 divided by the square root of the number of tokens, between 40 and 200.
    max_iter : int, default=None
        Largest number of sweeps of each chain. None: 1.6e8 divided by the number of tokens, between 400 and 5000.
    region : ((float, float), (float, float)), default=None
        ((alpha_low, alpha_high), (eta_low, eta_high)): the region of the grid, in which the maximum is searched. None:
        the grid lies around the maximum of a short skeleton.
    functionals : dict of {str: callable}, default=None
        Functions of (doc_topic, topic_word), arrays of shapes (n_documents, n_components) and (n_components,
        n_features), that return a number. Their posterior expectations are estimated for every h.
    tempering : dict, default=None
        Options ``"ratio"``, ``"index"``, ``"estimator"`` and ``"grid_shape"`` of `SerialTemperingLDA`.
    doc_topic_prior, topic_word_prior, n_draws, point_estimate, fold_in_iter, n_jobs, verbose, random_state
        Those of `sklda.EmpiricalBayesLDA`.
    n_chains : int, default=None
        Independent chains. None: 4.

    Attributes
    ----------
    grid_ : (ndarray of shape (n_alphas,), ndarray of shape (n_etas,))
        Values of alpha and of eta on the grid.
    occupancy_ : ndarray of shape (n_alphas, n_etas)
        Share of the draws at each point of the grid, by its full conditional.
    acceptance_rate_ : float
        Share of the sweeps in which h changed.
    r_hat_, n_effective_ : ndarray of shape (2,)
        Split R-hat and effective number of draws of the means of log alpha and log eta given z. All other attributes
        are those of `sklda.EmpiricalBayesLDA`.

    References
    ----------
    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.

    Examples
    --------
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.empirical_bayes import FullBayesLDA
    >>> X = make_lda_corpus(60, 20, 2, doc_length=50, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
    >>> def purity(doc_topic, topic_word):
    ...     return (doc_topic**2).sum(axis=1).mean()
    >>> lda = FullBayesLDA(2, max_iter=600, functionals={"purity": purity}, random_state=0).fit(X)
    >>> value, low, high = lda.posterior_expectation("purity", 0.3, 0.5)
    >>> bool(low < value < high)
    True
    """

    _every_point = False
    _visit = staticmethod(full_bayes)
