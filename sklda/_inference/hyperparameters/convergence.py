"""Convergence of chains on (h, z): R-hat, effective draws, and warnings."""

import numpy as np
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning

from sklda._inference.diagnostics import variance_ratio
from sklda._inference.hyperparameters.batch_means import variance_of_sums
from sklda._inference.hyperparameters.maximum import NAMES
from sklda._inference.warn import warn

# A grid point with less than this share of its expected visits counts as not visited.
UNVISITED = 0.05
# Chains disagree when a chi-square test of their scores at the common maximum has a p-value below this.
_DISAGREE = 0.01
# Chains that disagree get a warning if R-hat is larger than this (the usual limit). Below it, wider errors are enough.
_LARGE_R_HAT = 1.1


def split_r_hat(series):
    """Gelman & Rubin's R-hat of halves of chains, (n_quantities,), from a list of (n_draws, n_quantities)."""
    halves = [half for each in series for half in np.array_split(each, 2) if len(half) > 1]
    if len(halves) < 2:
        return np.full(series[0].shape[1], np.inf)
    return variance_ratio(halves)


def effective_draws(series):
    """Effective number of draws by batch means, (n_quantities,)."""
    lengths = [len(each) for each in series]
    together = np.concatenate(series)
    spread = variance_of_sums(together - together.mean(axis=0), lengths)
    own = sum(((each - each.mean(axis=0)) ** 2).sum(axis=0) for each in series)
    return np.minimum(np.divide(own, spread, out=np.ones(together.shape[1]), where=spread > 0) * len(together), 1e300)


def disagree(curve, maximum):
    """Whether the scores of chains at the maximum differ by more than visits of points explain.

    Chains in one mode have deviations that are independent from visit to visit; chains in different modes do not.

    Parameters
    ----------
    curve : Curve
        From the draws of chains at fixed points.
    maximum : Maximum
    """
    inside, n_chains = maximum.interior, len(curve.lengths)
    if n_chains < 2 or not inside.any():
        return False
    weights, gradients = curve.derivatives(maximum.log_h)
    terms = curve.mixture.influences(weights[:, None] * (gradients - weights @ gradients))[:, inside]
    visits = curve.batches.sums(terms)
    chains = np.add.reduceat(terms, np.cumsum([0, *curve.lengths[:-1]]), axis=0)
    chains -= chains.mean(axis=0)
    # The covariance is an estimate with this many degrees of freedom.
    shrink = max(1 - (len(chains.T) + 1) / curve.freedom, 0.1)
    q = shrink * n_chains * np.einsum("ci,ij,cj->", chains, np.linalg.pinv(visits.T @ visits), chains)
    return bool(chi2.sf(q, chains.shape[1] * (n_chains - 1)) < _DISAGREE)


def warn_of_edges(maximum, region):
    """Warn of priors whose maximum lies at an edge of the region, or is not distinguishable from it."""
    for axis, side in maximum.edges.items():
        name, bound = NAMES[axis], region[axis][side == "upper"]
        warn(
            f"The marginal likelihood with {name} at the {side} edge of the region searched, {bound:.3g}, is not "
            f"distinguishable from its largest value. {name}_ = {maximum.h[axis]:.3g}, and its errors are infinite. "
            "The corpus has too little information on this prior; give a `region` to keep it within bounds.",
            ConvergenceWarning,
        )


def warn_of_disagreement(r_hat):
    """Warn of chains that disagree, if R-hat is large too."""
    if r_hat.max() <= _LARGE_R_HAT:
        return
    r_hat = dict(zip(NAMES, r_hat, strict=True))
    warn(
        "The chains disagree about the priors by more than their errors (R-hat of log doc_topic_prior "
        f"{r_hat['doc_topic_prior']:.2f}, of log topic_word_prior {r_hat['topic_word_prior']:.2f}): they mix slowly, "
        "or stay in different modes of the topic assignments. The errors contain the spread between chains. "
        "Longer chains (max_iter), more chains (n_chains) or longer tuning (n_tuning) may help.",
        ConvergenceWarning,
    )


def warn_of_unvisited_points(occupancy, grid):
    """Warn of grid points that serial tempering did not visit."""
    missed = occupancy * occupancy.size < UNVISITED
    if not missed.any():
        return
    etas, alphas = grid.etas[missed.any(axis=1)], grid.alphas[missed.any(axis=0)]
    warn(
        f"Serial tempering did not visit {missed.sum()} of {missed.size} grid points (doc_topic_prior from "
        f"{alphas[0]:.3g} to {alphas[-1]:.3g}, topic_word_prior from {etas[0]:.3g} to {etas[-1]:.3g}): the marginal "
        "likelihood there is extrapolated. Raise n_tuning, or give a smaller region.",
        ConvergenceWarning,
    )
