"""Whether chains on (h, z) can be trusted: R-hat, effective draws, and the warnings of what went wrong."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklda.inference.marginal_likelihood import Curve
from sklda.inference.maximum import NAMES

# Grid points that get less than this part of their due were not visited.
UNVISITED = 0.05
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
    batches = Curve.batch_sums(together - together.mean(axis=0), lengths)
    spread = (batches**2).sum(axis=0)
    own = sum(((each - each.mean(axis=0)) ** 2).sum(axis=0) for each in series)
    return np.minimum(np.divide(own, spread, out=np.ones(together.shape[1]), where=spread > 0) * len(together), 1e300)


def warn(method, maximum, search, disagree, r_hat, occupancy, grid, pilots):
    """A `ConvergenceWarning` for everything that keeps the result from being what was asked for."""
    if pilots is not None and len(pilots.chains) > 1 and len(np.unique(pilots.mode_of)) == 1:
        warnings.warn(
            f"Of {len(pilots.log_evidence)} starts, a single one was within reach of the best evidence, and all chains "
            "go on from it: the errors do not say what a better mode of the topic assignments would change. "
            "More starts (n_chains) or longer tuning (n_tuning) may find others as good.",
            ConvergenceWarning,
            stacklevel=2,
        )
    for axis, side in maximum.edges.items():
        bound = search[axis][side == "upper"]
        warnings.warn(
            f"The marginal likelihood has no maximum in {NAMES[axis]} that can be told from the {side} edge of what "
            f"was searched, {bound:.3g}: it is as high there as anywhere. {NAMES[axis]}_ = {maximum.h[axis]:.3g}, and "
            "its errors are infinite. "
            "The corpus says too little of this prior; give a `region` to keep it within bounds.",
            ConvergenceWarning,
            stacklevel=2,
        )
    if disagree and r_hat.max() > _FORGETFUL:
        warnings.warn(
            "The chains disagree about the priors by more than their errors (R-hat of log topic_word_prior "
            f"{r_hat[0]:.2f}, of log doc_topic_prior {r_hat[1]:.2f}): they forget slowly, or stay in different modes "
            "of the topic assignments. The modes were weighed by their evidence, and the errors contain their spread. "
            "Longer chains (max_iter), more of them (n_chains) or longer tuning (n_tuning) may mend it.",
            ConvergenceWarning,
            stacklevel=2,
        )
    missed = occupancy * occupancy.size < UNVISITED
    if method == "serial_tempering" and missed.any():
        etas, alphas = grid.etas[missed.any(axis=1)], grid.alphas[missed.any(axis=0)]
        warnings.warn(
            f"Serial tempering did not visit {missed.sum()} of {missed.size} grid points (topic_word_prior from "
            f"{etas[0]:.3g} to {etas[-1]:.3g}, doc_topic_prior from {alphas[0]:.3g} to {alphas[-1]:.3g}): the marginal "
            "likelihood there is extrapolated. Raise n_tuning, or give a smaller region.",
            ConvergenceWarning,
            stacklevel=2,
        )
