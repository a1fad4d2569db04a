"""The priors from chains on (h, z), with h = (alpha, eta) on a grid."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from sklda._core import random
from sklda._input.types import Counts, Seed
from sklda._models.empirical_bayes.estimate import MarginalLikelihoodEstimate
from sklda._models.empirical_bayes.prior_steps import trace_of
from sklda._models.empirical_bayes.results import MarginalLikelihoodMixin, pairs_of
from sklda._models.empirical_bayes.settings import WIDEST
from sklda._sampling.run_chains import in_rows
from sklda.papers.empirical_bayes._estimate import FunctionalDraws, estimate_on_grid
from sklda.papers.empirical_bayes._functionals import expectations, global_band
from sklda.papers.empirical_bayes._settings import (
    SWEEPS_ON_A_GRID,
    GridSettings,
    Tempering,
    checked_functionals,
    checked_lengths,
    checked_region,
    read_problem,
    topics_at,
)
from sklda.papers.empirical_bayes._stages import GridPool, continue_with_full_bayes, continue_with_tempering


def serial_tempering(
    X: Counts,
    n_components: int,
    *,
    n_tuning: int | None = None,
    max_iter: int | None = None,
    region: ArrayLike | None = None,
    functionals: dict[str, Callable[..., float]] | None = None,
    tempering: dict[str, Any] | Literal["paper"] | None = None,
    n_chains: int | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """The priors by serial tempering: chains on (h, z) that visit all points of a grid of h equally often.

    The estimate of m(h) is that of section 2.3 of the paper, with theta and phi integrated out unless `tempering` says
    otherwise. A short skeleton, the method of `sklda.EmpiricalBayesLDA`, places the grid.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts.
    n_components : int
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
    n_chains : int, default=None
        Independent chains. None: 4.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        Chains that run at the same time. Results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        - ``doc_topic_prior``, ``topic_word_prior``: alpha and eta at the maximum of m(h).
        - ``grid``: values of alpha and of eta on the grid, a pair of arrays.
        - ``occupancy`` (n_alphas, n_etas): share of the draws at each point of the grid, by its full conditional. They
          are about equal.
        - ``acceptance_rate``: share of the sweeps in which h changed.
        - ``r_hat``, ``n_effective`` (2,): split R-hat and effective number of draws of the means of log alpha and log
          eta given z.
        - ``prior_trace`` (n_chains, n_sweeps, 2): alpha and eta in every sweep.
        - ``log_marginal_likelihood``, ``confidence_region``: functions, those of `sklda.EmpiricalBayesLDA`.
        - ``posterior_expectation(name, doc_topic_prior, topic_word_prior, *, level=0.95)``: the posterior expectation
          of a functional (equation 2.14) for given priors, and the ends of a band like that of equation 2.19. The band
          contains the whole function on the grid's region with probability `level`. It is wider for h with fewer
          effective draws, and infinite for h with fewer than ten.
        - ``model``: a `sklda.GibbsLDA` at the maximum, by the last draw of one chain.

    Raises
    ------
    ValueError, TypeError
        If X is not a matrix of counts, or an argument is out of range.

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
    >>> from sklda.papers.empirical_bayes import serial_tempering
    >>> X = make_lda_corpus(60, 20, 2, doc_length=50, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
    >>> found = serial_tempering(X, 2, n_tuning=50, max_iter=300, tempering={"grid_shape": (5, 5)}, random_state=0)
    >>> found.occupancy.shape
    (5, 5)
    """
    return _on_grid(continue_with_tempering, **locals())


def full_bayes(
    X: Counts,
    n_components: int,
    *,
    n_tuning: int | None = None,
    max_iter: int | None = None,
    region: ArrayLike | None = None,
    functionals: dict[str, Callable[..., float]] | None = None,
    tempering: dict[str, Any] | None = None,
    n_chains: int | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """The priors by full Bayes: chains on (h, z), with a uniform prior of h on a grid.

    Points of the grid are visited in proportion to their posterior (section 6 of the paper). The grid is wider than
    that of serial tempering, and has three more values between neighbours. A short skeleton, the method of
    `sklda.EmpiricalBayesLDA`, places it.

    Parameters
    ----------
    X, n_components, max_iter, region, functionals, n_chains, random_state, n_jobs
        Those of `serial_tempering`.
    n_tuning : int, default=None
        Sweeps of each chain on the grid before the draws. The chains make as many sweeps at the maximum, but at most a
        quarter of `max_iter`. None: 67,000 divided by the square root of the number of tokens, between 40 and 200.
    tempering : dict, default=None
        Options ``"ratio"``, ``"index"``, ``"estimator"`` and ``"grid_shape"`` of `serial_tempering`.

    Returns
    -------
    sklearn.utils.Bunch
        As that of `serial_tempering`. ``occupancy`` is proportional to m(h).

    Raises
    ------
    ValueError, TypeError
        If X is not a matrix of counts, or an argument is out of range.

    References
    ----------
    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.

    Examples
    --------
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.empirical_bayes import full_bayes
    >>> X = make_lda_corpus(60, 20, 2, doc_length=50, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
    >>> def purity(doc_topic, topic_word):
    ...     return (doc_topic**2).sum(axis=1).mean()
    >>> found = full_bayes(X, 2, max_iter=600, functionals={"purity": purity}, random_state=0)
    >>> value, low, high = found.posterior_expectation("purity", 0.3, 0.5)
    >>> bool(low < value < high)
    True
    """
    return _on_grid(continue_with_full_bayes, **locals())


def _on_grid(
    visit,
    X,
    n_components,
    n_tuning,
    max_iter,
    region,
    functionals,
    tempering,
    n_chains,
    random_state,
    n_jobs,
):
    corpus, priors = read_problem(X, n_components)
    named, region = checked_functionals(functionals), checked_region(region)
    n_tuning, max_iter, n_chains = checked_lengths(SWEEPS_ON_A_GRID, corpus.n_tokens, n_tuning, max_iter, n_chains)
    settings = GridSettings(
        n_last=n_tuning,
        max_iter=max_iter,
        region=WIDEST if region is None else region,
        n_tuning=n_tuning,
        grid_is_region=region is not None,
        tempering=Tempering.make(tempering),
        functionals=tuple(named.values()),
    )
    seed = random.child(random.seed_sequence(random_state), 0)
    pool = GridPool(corpus, priors, settings, seed, n_chains=n_chains, n_jobs=n_jobs)
    found = estimate_on_grid(pool, visit, every_point=visit is continue_with_tempering)
    curve = _Curve(found, tuple(named))
    return Bunch(
        **topics_at(X, pool, [found.maximum.log_h] * n_chains),
        grid=(found.alphas, found.etas),
        occupancy=found.occupancy,
        acceptance_rate=found.acceptance_rate,
        r_hat=found.r_hat,
        n_effective=found.n_effective,
        prior_trace=in_rows([np.reshape(trace_of(chain).path, (-1, 2)) for chain in pool.chains]),
        log_marginal_likelihood=curve.log_marginal_likelihood,
        confidence_region=curve.confidence_region,
        posterior_expectation=curve.posterior_expectation,
    )


class _Curve(MarginalLikelihoodMixin):
    """m(h) and posterior expectations of functionals as functions of h."""

    def __init__(self, estimate, names):
        self._estimate_ = estimate
        self._names = names

    def _found(self) -> MarginalLikelihoodEstimate:
        return self._estimate_

    def posterior_expectation(self, name, doc_topic_prior, topic_word_prior, *, level=0.95):
        """The posterior expectation of a functional, and the ends of its band."""
        if name not in self._names:
            raise ValueError(f"there is no functional {name!r}; those given are {list(self._names)}.")
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
        drawn: FunctionalDraws = self._estimate_.functionals
        values = drawn.values[:, self._names.index(name)]
        alpha, eta = pairs_of(doc_topic_prior, topic_word_prior)
        mean, std = expectations(drawn.curve, values, alpha.ravel(), eta.ravel())
        band = global_band(drawn.curve, values, drawn.region, level)
        # Infinite for h with too few draws, even if the functional is constant over the draws.
        half = band * std if band else np.where(np.isinf(std), np.inf, 0.0)
        return tuple(each.reshape(eta.shape)[()] for each in (mean, mean - half, mean + half))
