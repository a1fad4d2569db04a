"""h = (alpha, eta) by maximum marginal likelihood: the stages of each method in their order, and the result."""

from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklda._core import random
from sklda._core.warn import warn
from sklda._models.empirical_bayes.chain_pool import ChainPool
from sklda._models.empirical_bayes.convergence import (
    draws_by_batch_means,
    unranked_r_hat,
    warn_of_disagreement,
    warn_of_edges,
    warn_of_unvisited_points,
)
from sklda._models.empirical_bayes.denominators import conditional_means
from sklda._models.empirical_bayes.marginal_likelihood import AveragedCurve, Curve, region_of
from sklda._models.empirical_bayes.maximum import Maximum
from sklda._models.empirical_bayes.modes import Beginning, begin, resolve
from sklda._models.empirical_bayes.prior_steps import trace_of
from sklda._models.empirical_bayes.skeleton import Skeleton, find_maximum
from sklda._models.empirical_bayes.tempered_stages import RESTARTS, current_curve, full_bayes, serial_tempering


@dataclass(frozen=True, eq=False)
class FunctionalDraws:
    """Draws from which posterior expectations of functionals are computed."""

    curve: Curve  # weights of the draws of (theta, beta)
    values: np.ndarray  # functionals at these draws, (n_draws, n_functionals)
    region: tuple  # of the grid on which they were drawn: a pair of (float, float)


@dataclass(frozen=True, eq=False)
class MarginalLikelihoodEstimate:
    """An estimate of m(h) and of its maximum."""

    method: str
    curve: Curve | AveragedCurve  # m(h)
    maximum: Maximum
    # Values at which the chains were swept, (n_alphas,) and (n_etas,).
    alphas: np.ndarray
    etas: np.ndarray
    # The box in which the maximum was searched, a pair of (float, float).
    region: tuple
    # Share of the draws at each pair, (n_alphas, n_etas); on a grid by the full conditionals of the grid point.
    occupancy: np.ndarray
    # Share of the sweeps before which h changed.
    acceptance_rate: float
    # R-hat and effective number of draws, (2,): on a grid of E(log h | z), otherwise of the derivatives of
    # log p(w, z | h) at the maximum, less their mean at the draw's point.
    r_hat: np.ndarray
    n_effective: np.ndarray
    beginning: Beginning
    chains_disagree: bool
    # None if there were no functionals, or no draws for them.
    functionals: FunctionalDraws | None


def estimate(pool: ChainPool, method: str) -> MarginalLikelihoodEstimate:
    """Estimate m(h) and its maximum, and warn of what the estimate lacks.

    Afterwards the chains of the pool have the maximum as their priors, and sweeps there.
    """
    settings = pool.settings
    n_last = min(settings.n_tuning, settings.max_iter // 4)
    beginning = begin(pool, random.child(pool.seed, 0))
    if method == "skeleton":
        found = _by_skeleton(pool, beginning, n_last)
    else:
        found = _on_grid(pool, beginning, method, n_last)
    if method == "skeleton" and settings.error_ratio == 0:
        # The sweeps that no longer help to find the maximum are made there.
        n_last = max(n_last, pool.left)
    pool.finish([found.maximum.log_h] * len(pool.chains), n_last)
    _warn(found)
    return found


def _by_skeleton(pool: ChainPool, beginning: Beginning, n_last: int) -> MarginalLikelihoodEstimate:
    """m(h) from a skeleton; then draws for functionals, by full Bayes around its maximum."""
    settings = pool.settings
    n_functionals = min(settings.max_iter // 3, 5 * settings.n_tuning) if settings.functionals else 0
    reserved = n_last + n_functionals

    skeleton = find_maximum(
        pool,
        beginning.log_h,
        reserved=reserved,
        error_ratio=settings.error_ratio,
        several_modes=beginning.several_modes,
        settled=beginning.settled,
    )
    skeleton = resolve(pool, skeleton, reserved=reserved, shares=beginning.shares, seed=random.child(pool.seed, 2))
    functionals = _functionals_around(pool, skeleton, n_functionals) if n_functionals else None

    alphas, etas, occupancy = _shares_at_points(skeleton)
    series = skeleton.score_series()
    return MarginalLikelihoodEstimate(
        method="skeleton",
        curve=skeleton.curve,
        maximum=skeleton.maximum.with_distance(beginning.moved),
        alphas=alphas,
        etas=etas,
        region=skeleton.region,
        occupancy=occupancy,
        acceptance_rate=_share_moved(pool.chains),
        r_hat=unranked_r_hat(series),
        n_effective=draws_by_batch_means(series),
        beginning=beginning,
        chains_disagree=not skeleton.agree,
        functionals=functionals,
    )


def _on_grid(pool: ChainPool, beginning: Beginning, method: str, n_last: int) -> MarginalLikelihoodEstimate:
    """m(h) from chains on (h, z), on a grid around the maximum of a short skeleton."""
    settings = pool.settings
    placed = find_maximum(
        pool,
        beginning.log_h,
        reserved=(pool.left + n_last) // 2,
        error_ratio=np.inf,
        several_modes=beginning.several_modes,
    )
    region = settings.region if settings.grid_is_region else region_of(placed.curve, placed.region)
    n_runs = RESTARTS if settings.tempering.tuning == "restarts" else 1
    n_tuning = max(min(settings.n_tuning, (pool.left - n_last) // (2 * n_runs)), 1)
    if method == "full_bayes":
        full_bayes(pool, region, n_tuning)
    else:
        serial_tempering(pool, region, n_tuning, placed.curve)
    pool.sweep(max(pool.left - n_last, 1))

    curve = current_curve(pool)
    grid = pool.grid
    occupancy, log_h = conditional_means(curve.draws, grid)
    if method == "serial_tempering":
        warn_of_unvisited_points(occupancy, grid)
    series = np.split(log_h, np.cumsum(curve.batches.of_chain)[:-1])
    return MarginalLikelihoodEstimate(
        method=method,
        curve=curve,
        maximum=Maximum.of(curve, pool.search_region),
        alphas=grid.alphas,
        etas=grid.etas,
        region=pool.search_region,
        occupancy=occupancy,
        acceptance_rate=_share_moved(pool.observed),
        r_hat=unranked_r_hat(series),
        n_effective=draws_by_batch_means(series),
        beginning=beginning,
        chains_disagree=False,
        functionals=_functionals(pool) if settings.functionals else None,
    )


def _functionals_around(pool: ChainPool, skeleton: Skeleton, n_sweeps: int) -> FunctionalDraws | None:
    """Functionals by full Bayes around the maximum; None if few sweeps, or a callback, have left no draws."""
    n_burn_in = n_sweeps // 4
    full_bayes(pool, region_of(skeleton.curve, skeleton.region), n_burn_in)
    pool.sweep(n_sweeps - n_burn_in)
    return _functionals(pool) if pool.observed else None


def _functionals(pool: ChainPool) -> FunctionalDraws:
    """Functionals at the draws that the chains have on the grid."""
    return FunctionalDraws(
        curve=current_curve(pool, augmented=True),
        values=np.array([each.values for each in pool.observations]),
        region=pool.grid.region,
    )


def _shares_at_points(skeleton: Skeleton) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The values of alpha and of eta of the points, and the shares of the draws at each pair."""
    alphas, i = np.unique(np.exp(skeleton.points[:, 0]), return_inverse=True)
    etas, j = np.unique(np.exp(skeleton.points[:, 1]), return_inverse=True)
    occupancy = np.zeros((len(alphas), len(etas)))
    np.add.at(occupancy, (i, j), skeleton.n_at / skeleton.n_at.sum())
    return alphas, etas, occupancy


def _share_moved(chains: list) -> float:
    """Share of the sweeps of chains before which h changed."""
    shares = []
    for chain in chains:
        path = np.array(trace_of(chain).path)
        moved = (path[1:] != path[:-1]).any(axis=1) if len(path) > 1 else np.zeros(1)
        shares.append(moved.mean())
    return float(np.mean(shares))


def _warn(found: MarginalLikelihoodEstimate) -> None:
    """Warn of a maximum at an edge or away from the draws, and of chains that disagree."""
    warn_of_edges(found.maximum, found.region)
    if found.maximum.extrapolated and found.maximum.interior.any():
        warn(
            "The priors may move further: chains were not swept near their last estimate, or have too few draws there. "
            "Monte Carlo errors contain the distance, or are infinite on a grid. Make max_iter larger.",
            ConvergenceWarning,
        )
    if found.chains_disagree:
        warn_of_disagreement(found.r_hat)
