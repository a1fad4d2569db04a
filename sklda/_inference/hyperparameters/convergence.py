"""Whether chains on (h, z) can be trusted: R-hat, effective draws, and the warnings of what went wrong."""

import numpy as np
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning

from sklda._inference.hyperparameters.marginal_likelihood import covariance_of_sums, n_batches, variance_of_sums
from sklda._inference.hyperparameters.maximum import NAMES
from sklda._inference.warn import warn

# Grid points that get less than this part of their due were not visited.
UNVISITED = 0.05
# Chains disagree when their scores at the common maximum are as far apart as chance makes them once in a hundred.
_DISAGREE = 0.01
# R-hat beyond which chains that disagree are worth a warning; below, wider errors say enough.
_FORGETFUL = 1.1


def split_r_hat(series):
    """Gelman & Rubin's R-hat of halves of chains, (n_quantities,), from a list of (n_draws, n_quantities)."""
    halves = [half for each in series for half in np.array_split(each, 2) if len(half) > 1]
    if len(halves) < 2:
        return np.full(series[0].shape[1], np.inf)
    n = np.mean([len(half) for half in halves])
    within = np.mean([half.var(axis=0, ddof=1) for half in halves], axis=0)
    between = np.var([half.mean(axis=0) for half in halves], axis=0, ddof=1)
    # Chains that all stand still at one value agree.
    ratio = np.divide(between, within, out=np.where(between > 0, np.inf, 0.0), where=within > 0)
    return np.sqrt((n - 1) / n + ratio)


def effective_draws(series):
    """Effective number of draws by batch means, (n_quantities,)."""
    lengths = [len(each) for each in series]
    together = np.concatenate(series)
    spread = variance_of_sums(together - together.mean(axis=0), lengths)
    own = sum(((each - each.mean(axis=0)) ** 2).sum(axis=0) for each in series)
    return np.minimum(np.divide(own, spread, out=np.ones(together.shape[1]), where=spread > 0) * len(together), 1e300)


def disagree(curve, maximum):
    """Whether the chains' scores at the common maximum differ by more than their errors."""
    inside = maximum.interior
    n_chains = len(curve.lengths)
    if n_chains < 2 or not inside.any() or min(curve.lengths) < 16:
        return False
    scores, covariance = [], np.zeros((2, 2))
    for c in range(n_chains):
        own = curve.of_chain(c)
        weights, gradients = own.derivatives(maximum.log_h)
        scores.append(weights @ gradients)
        covariance += covariance_of_sums(weights[:, None] * (gradients - scores[-1]), own.lengths) / n_chains
    scores, covariance = np.array(scores)[:, inside], covariance[np.ix_(inside, inside)]
    # The covariance is itself estimated, from so many batches.
    freedom = sum(n_batches(n) - 1 for n in curve.lengths)
    shrink = max(1 - (len(covariance) + 1) / freedom, 0.1)
    q = shrink * np.einsum("ci,ij,cj->", scores, np.linalg.pinv(covariance), scores)
    return bool(chi2.sf(q, scores.shape[1] * (n_chains - 1)) < _DISAGREE)


def warn_of(method, maximum, search, disagree, r_hat, occupancy, grid, pilots):
    """A `ConvergenceWarning` for everything that keeps the result from being what was asked for."""
    if pilots is not None and pilots.few:
        warn(
            f"Of {len(pilots.log_evidence)} starts, only {pilots.n_within} came within reach of the best evidence, and "
            "all chains go on from there. A mode of the topic assignments that no start found may be better and have "
            "its maximum elsewhere: the errors contain how far apart the modes that were found have theirs. "
            "More starts (n_chains) or longer tuning (n_tuning) may find others as good.",
            ConvergenceWarning,
        )
    for axis, side in maximum.edges.items():
        bound = search[axis][side == "upper"]
        warn(
            f"The marginal likelihood has no maximum in {NAMES[axis]} that can be told from the {side} edge of what "
            f"was searched, {bound:.3g}: it is as high there as anywhere. {NAMES[axis]}_ = {maximum.h[axis]:.3g}, and "
            "its errors are infinite. "
            "The corpus says too little of this prior; give a `region` to keep it within bounds.",
            ConvergenceWarning,
        )
    if disagree and r_hat.max() > _FORGETFUL:
        warn(
            "The chains disagree about the priors by more than their errors (R-hat of log topic_word_prior "
            f"{r_hat[0]:.2f}, of log doc_topic_prior {r_hat[1]:.2f}): they forget slowly, or stay in different modes "
            "of the topic assignments. The errors contain their spread. "
            "Longer chains (max_iter), more of them (n_chains) or longer tuning (n_tuning) may mend it.",
            ConvergenceWarning,
        )
    missed = occupancy * occupancy.size < UNVISITED
    if method == "serial_tempering" and missed.any():
        etas, alphas = grid.etas[missed.any(axis=1)], grid.alphas[missed.any(axis=0)]
        warn(
            f"Serial tempering did not visit {missed.sum()} of {missed.size} grid points (topic_word_prior from "
            f"{etas[0]:.3g} to {etas[-1]:.3g}, doc_topic_prior from {alphas[0]:.3g} to {alphas[-1]:.3g}): the marginal "
            "likelihood there is extrapolated. Raise n_tuning, or give a smaller region.",
            ConvergenceWarning,
        )
