"""h = (eta, alpha) by maximum marginal likelihood: the stages in their order, and the result."""

from dataclasses import dataclass

import numpy as np

from sklda._inference.hyperparameters.convergence import (
    disagree,
    effective_draws,
    split_r_hat,
    warn_of_disagreement,
    warn_of_edges,
    warn_of_unvisited_points,
)
from sklda._inference.hyperparameters.disagreement import weigh_modes
from sklda._inference.hyperparameters.extension import extend, extend_at_maximum
from sklda._inference.hyperparameters.marginal_likelihood import Curve, conditional_means, mixture_denominators
from sklda._inference.hyperparameters.maximum import Maximum
from sklda._inference.hyperparameters.placement import place
from sklda._inference.hyperparameters.serial_tempering import Grid
from sklda._inference.hyperparameters.tempered_stages import (
    AT_MAXIMUM,
    current_curve,
    current_maximum,
    full_bayes,
    is_narrow,
    log_h_series,
    serial_tempering,
    stack_draws,
    tempering_is_better,
)
from sklda._inference.priors import Priors


@dataclass(frozen=True, eq=False)
class MarginalLikelihoodEstimate:
    """An estimate of m(h) and of its maximum.

    Attributes
    ----------
    method : str
    curve : Curve
        m(h).
    maximum : Maximum
    grid : Grid
    region : pair of (float, float)
        The box in which the maximum was searched.
    occupancy : ndarray of shape (n_etas, n_alphas)
        Share of the draws at each grid point, by the full conditionals of the grid point.
    acceptance_rate : float
        Share of the sweeps that changed the grid point.
    r_hat, ess : ndarray of shape (2,)
        Split R-hat and effective number of draws, of E(log eta | z) and E(log alpha | z).
    chains_disagree : bool
        Whether chains differ by more than their errors.
    log_weights : ndarray of shape (n_chains,)
        Log weights of the chains' modes by their evidence, if the chains disagree; otherwise zeros.
    mode_log_evidence, mode_log_evidence_std : ndarray, float
        Evidence of the initialisations, see `ModeSearch`.
    functional_curve : Curve or None
        Weights of the draws of (theta, beta).
    functional_values : ndarray of shape (n_draws, n_functionals)
    """

    method: str
    curve: Curve
    maximum: Maximum
    grid: Grid
    region: tuple
    occupancy: np.ndarray
    acceptance_rate: float
    r_hat: np.ndarray
    ess: np.ndarray
    chains_disagree: bool
    log_weights: np.ndarray
    mode_log_evidence: np.ndarray
    mode_log_evidence_std: float
    functional_curve: Curve | None
    functional_values: np.ndarray

    def log_ratio(self, eta, alpha):
        """log m(h) minus its value at the maximum; its standard error by batch means and the spread of chains."""
        value, std = self.curve.log_ratio(eta, alpha, self.maximum.h)
        if self.chains_disagree:
            shares = np.exp(self.log_weights) / np.exp(self.log_weights).sum()
            own = [self.curve.of_chain(c).log_ratio(eta, alpha, self.maximum.h)[0] for c in np.flatnonzero(shares)]
            away, shares = np.array(own) - value, shares[shares > 0]
            if len(own) > 1:
                std = np.sqrt(std**2 + shares @ away**2 / (1 - (shares**2).sum()))
        return value, std


def estimate(pool, method):
    """Estimate m(h) and its maximum.

    Parameters
    ----------
    pool : ChainPool
        Afterwards its chains have the maximum as their priors.
    method : {"serial_tempering", "full_bayes", "auto"}

    Returns
    -------
    MarginalLikelihoodEstimate

    Warns
    -----
    ConvergenceWarning
        If the maximum lies at an edge, chains disagree, or a part of the grid was not visited.
    """
    placement = place(pool)
    method = _first_sweeps(pool, placement, method)
    n_left = 0 if placement.no_topics and pool.settings.tol > 0 else extend(pool, placement)
    found = _conclude(pool, placement, method, n_left)
    eta, alpha = found.maximum.h
    for chain in pool.chains:
        chain.priors = Priors.make(alpha, eta, pool.priors.n_components, pool.corpus.n_features)
    return found


def _first_sweeps(pool, placement, method):
    """Prepare the chains and sweep them on their grid; return the method by which they continue."""
    n_sweeps = min(pool.settings.n_tuning, pool.settings.max_iter)
    if method == "auto" and (placement.no_topics or is_narrow(placement.region)):
        method = "full_bayes"
    if method == "full_bayes":
        full_bayes(pool, placement)
    elif method == "serial_tempering":
        serial_tempering(pool, placement.region, placement.curve)
    else:
        tempered = pool.branch()
        full_bayes(pool, placement)
        serial_tempering(tempered, placement.region, placement.curve)
        pool.sweep(n_sweeps)
        tempered.sweep(n_sweeps)
        if not tempering_is_better(pool, tempered):
            return "full_bayes"
        pool.chains = tempered.chains
        return "serial_tempering"
    pool.sweep(n_sweeps)
    return method


def _conclude(pool, placement, method, n_left):
    """The curve and its maximum, the last sweeps at the maximum, and the diagnostics."""
    curve = current_curve(pool)
    maximum = current_maximum(pool, curve)
    chains_disagree = disagree(curve, maximum)
    grid, search, observed = pool.grid, pool.search_region, pool.observed
    log_weights = np.zeros(len(observed))
    if chains_disagree and not placement.no_topics:
        weighted = weigh_modes(pool, curve, maximum)
        log_weights, curve, maximum = weighted.log_weights, weighted.curve, weighted.maximum
    functional_curve, functional_values = _functionals(observed, pool, curve)
    series = log_h_series(curve, grid)

    pool.temper(pool.grid_at(maximum.h), AT_MAXIMUM)
    pool.sweep(pool.settings.n_tuning)
    if not (chains_disagree or maximum.edges) and pool.settings.tempering.is_default:
        maximum = extend_at_maximum(pool, curve, maximum, search, n_left)
    found = MarginalLikelihoodEstimate(
        method=method,
        curve=curve,
        maximum=maximum,
        grid=grid,
        region=search,
        occupancy=conditional_means(curve.draws, grid)[0],
        acceptance_rate=float(np.mean([_share_moved(chain) for chain in observed])),
        r_hat=split_r_hat(series),
        ess=effective_draws(series),
        chains_disagree=chains_disagree,
        log_weights=log_weights,
        mode_log_evidence=placement.log_evidence,
        mode_log_evidence_std=placement.log_evidence_std,
        functional_curve=functional_curve,
        functional_values=functional_values,
    )
    _warn(found)
    return found


def _share_moved(chain):
    """Share of the sweeps of a chain before which h changed."""
    at = np.array(chain.prior_path)
    return np.mean((at[1:] != at[:-1]).any(axis=1)) if len(at) > 1 else 0.0


def _functionals(chains, pool, curve):
    """The curve of the draws of (theta, beta), and the functionals at these draws."""
    if not pool.settings.functionals:
        return None, np.empty((0, 0))
    draws = stack_draws(chains, True)
    values = np.concatenate([chain.observations.values for chain in chains])
    return Curve(draws, mixture_denominators(draws, pool.grid), curve.lengths, curve.log_shares), values


def _warn(found):
    """A `ConvergenceWarning` for each reason to doubt the result."""
    warn_of_edges(found.maximum, found.region)
    if found.chains_disagree:
        warn_of_disagreement(found.r_hat)
    if found.method == "serial_tempering":
        warn_of_unvisited_points(found.occupancy, found.grid)
