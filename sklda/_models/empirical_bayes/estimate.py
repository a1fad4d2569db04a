"""h = (alpha, eta) by maximum marginal likelihood: the stages in their order, and the result."""

from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklda._core import random
from sklda._input.warn import warn
from sklda._models.empirical_bayes.chain_pool import ChainPool
from sklda._models.empirical_bayes.convergence import (
    draws_by_batch_means,
    warn_of_disagreement,
    warn_of_edges,
)
from sklda._models.empirical_bayes.marginal_likelihood import AveragedCurve, Curve
from sklda._models.empirical_bayes.maximum import Maximum
from sklda._models.empirical_bayes.modes import Beginning, begin, resolve
from sklda._models.empirical_bayes.skeleton import Skeleton, find_maximum


@dataclass(frozen=True, eq=False)
class MarginalLikelihoodEstimate:
    """An estimate of m(h) and of its maximum."""

    curve: Curve | AveragedCurve  # m(h)
    maximum: Maximum
    # Values at which the chains were swept, (n_alphas,) and (n_etas,).
    alphas: np.ndarray
    etas: np.ndarray
    # The box in which the maximum was searched, a pair of (float, float).
    region: tuple
    # Share of the draws at each pair, (n_alphas, n_etas).
    occupancy: np.ndarray
    # R-hat and effective number of draws, (2,), of the derivatives of log p(w, z | h) at the maximum, less their mean
    # at the draw's point.
    r_hat: np.ndarray
    n_effective: np.ndarray
    beginning: Beginning


def estimate(pool: ChainPool) -> MarginalLikelihoodEstimate:
    """Estimate m(h) and its maximum, and warn of what the estimate lacks.

    Afterwards the chains of the pool have the maximum as their priors, and sweeps there.
    """
    settings = pool.settings
    n_last = min(settings.n_last, settings.max_iter // 4)
    beginning = begin(pool, random.child(pool.seed, 0))
    skeleton = find_maximum(
        pool,
        beginning.log_h,
        reserved=n_last,
        error_ratio=settings.error_ratio,
        several_modes=beginning.several_modes,
        settled=beginning.settled,
    )
    skeleton = resolve(pool, skeleton, reserved=n_last, shares=beginning.shares, seed=random.child(pool.seed, 2))

    alphas, etas, occupancy = _shares_at_points(skeleton)
    found = MarginalLikelihoodEstimate(
        curve=skeleton.curve,
        maximum=skeleton.maximum.with_distance(beginning.moved),
        alphas=alphas,
        etas=etas,
        region=skeleton.region,
        occupancy=occupancy,
        r_hat=skeleton.r_hat,
        n_effective=draws_by_batch_means(skeleton.score_series()),
        beginning=beginning,
    )
    if settings.error_ratio == 0:
        # The sweeps that no longer help to find the maximum are made there.
        n_last = max(n_last, pool.left)
    pool.finish([found.maximum.log_h] * len(pool.chains), n_last)
    warn_of_faults(found)
    warn_of_disagreement(found.r_hat)
    return found


def _shares_at_points(skeleton: Skeleton) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The values of alpha and of eta of the points, and the shares of the draws at each pair."""
    alphas, i = np.unique(np.exp(skeleton.points[:, 0]), return_inverse=True)
    etas, j = np.unique(np.exp(skeleton.points[:, 1]), return_inverse=True)
    occupancy = np.zeros((len(alphas), len(etas)))
    np.add.at(occupancy, (i, j), skeleton.n_at / skeleton.n_at.sum())
    return alphas, etas, occupancy


def warn_of_faults(found: MarginalLikelihoodEstimate) -> None:
    """Warn of a maximum at an edge or away from the draws."""
    warn_of_edges(found.maximum, found.region)
    if found.maximum.extrapolated and found.maximum.interior.any():
        warn(
            "The priors may move further: chains were not swept near their last estimate, or have too few draws there. "
            "Monte Carlo errors contain the distance, or are infinite. Make max_iter larger.",
            ConvergenceWarning,
        )
