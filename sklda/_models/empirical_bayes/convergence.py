"""Convergence of the chains of a fit: R-hat, effective draws, and warnings."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklda._core.diagnostics import variance_ratio
from sklda._input.warn import warn
from sklda._models.empirical_bayes.batch_means import Batches
from sklda._models.empirical_bayes.settings import NAMES

# Chains with a larger R-hat, the usual limit, do not mix.
LARGEST_R_HAT = 1.1

# The R-hat and the effective draws of `sklda._core.diagnostics` are other numbers: they are those of ranks, and need
# chains of one length. Chains of a search for h differ in length, and the errors of h come from the values and from
# batch means, so their diagnostics do, too.


def unranked_r_hat(series: list[np.ndarray]) -> np.ndarray:
    """Gelman & Rubin's R-hat of halves of chains, (n_quantities,), from a list of (n_draws, n_quantities)."""
    halves = [half for each in series for half in np.array_split(each, 2) if len(half) > 1]
    if len(halves) < 2:
        return np.full(series[0].shape[1], np.inf)
    return variance_ratio(halves)


def draws_by_batch_means(series: list[np.ndarray]) -> np.ndarray:
    """Effective number of draws by batch means, (n_quantities,), from a list of (n_draws, n_quantities)."""
    together = np.concatenate(series)
    variance_of_sum = Batches.of_chains([len(each) for each in series]).variance(together - together.mean(axis=0))
    within_chains = sum(((each - each.mean(axis=0)) ** 2).sum(axis=0) for each in series)
    efficiency = np.divide(within_chains, variance_of_sum, out=np.ones(together.shape[1]), where=variance_of_sum > 0)
    return np.minimum(efficiency * len(together), 1e300)


def warn_of_edges(maximum, region):
    """Warn of priors whose maximum lies at an edge of the region, or is not distinguishable from it."""
    for axis, side in maximum.edges.items():
        name = NAMES[axis]
        bound = region[axis][side == "upper"]
        warn(
            f"The marginal likelihood with {name} at the {side} edge of the region searched, {bound:.3g}, is not "
            f"distinguishable from its largest value. {name}_ = {maximum.h[axis]:.3g}, and its errors are infinite. "
            "The corpus has too little information on this prior, or chains are far from their posterior distribution: "
            "make chains longer (max_iter), or give the prior to GibbsLDA.",
            ConvergenceWarning,
        )


def warn_of_disagreement(r_hat):
    """Warn of chains that do not mix."""
    if r_hat.max() <= LARGEST_R_HAT:
        return
    alpha, eta = r_hat
    warn(
        f"Chains, or halves of one, disagree about the priors (R-hat of log doc_topic_prior {alpha:.2f}, of log "
        f"topic_word_prior {eta:.2f}): they mix slowly, or stay in different modes of the topic assignments. The "
        "errors contain the spread between chains. Longer chains (max_iter) or more chains (n_chains) may help.",
        ConvergenceWarning,
    )
