"""One curve from chains that stay in different modes of the topic assignments."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax

from sklda._inference import random
from sklda._inference.held_out.averages import log_mean_exp
from sklda._inference.hyperparameters.marginal_likelihood import Curve
from sklda._inference.hyperparameters.maximum import Maximum, maximum_of
from sklda._inference.modes.mode_evidence import NEGLIGIBLE, can_tell_modes_apart, mode_evidence
from sklda._inference.priors import Priors

# Modes are weighed by this many runs from every chain. Their temperatures: as many as draw this many tokens, but
# between these two.
_RUNS, _TOKENS, _TEMPERATURES = 3, 8e7, (200, 1000)
# Normal errors of the evidence over which weights are averaged.
_SIMULATED = 4000


@dataclass(frozen=True, eq=False)
class WeightedModes:
    """Chains' curves, weighted by the evidence of their modes.

    Attributes
    ----------
    log_weights : ndarray of shape (n_chains,)
    curve : Curve
        The sum of the chains' curves, each with the evidence of its mode at its own maximum.
    maximum : Maximum
        Of that curve; its Monte Carlo covariance contains the spread of the chains' maxima.
    """

    log_weights: np.ndarray
    curve: Curve
    maximum: Maximum


def weigh_modes(pool, curve, maximum):
    """Weight the chains' curves by the evidence of their modes, from guided annealing, and widen the errors.

    On corpora that are too large for annealing all modes have the same weight.

    Parameters
    ----------
    pool : ChainPool
    curve : Curve
        From the draws of all chains.
    maximum : Maximum
        Of the curve.

    Returns
    -------
    WeightedModes
    """
    chains, search, K = pool.observed, pool.search_region, pool.priors.n_components
    n_temperatures = int(np.clip(_TOKENS / max(pool.corpus.n_tokens * len(chains) * _RUNS, 1), *_TEMPERATURES))
    own = [curve.of_chain(c) for c in range(len(chains))]
    peaks = np.array([each.maximise(search) for each in own])
    heights = _log_values(own, np.exp(peaks))
    log_weights = np.zeros(len(chains))
    if can_tell_modes_apart(pool.corpus, K, n_temperatures):
        eta, alpha = maximum.h
        priors = Priors.make(alpha, eta, K, pool.corpus.n_features)
        found = mode_evidence(chains, priors, n_temperatures, _RUNS, random.child(pool.seed, 2), pool.n_jobs)
        # The weight of a mode is its evidence at its own best h.
        at_maximum = _log_values(own, [maximum.h] * len(own))
        log_weights = _averaged_log_weights(found.value + heights - at_maximum, found.std)
    log_weights[log_weights < np.log(NEGLIGIBLE)] = -np.inf
    weighted = Curve(curve.draws, curve.log_denominators, curve.lengths, log_weights - heights)
    maximum = maximum_of(weighted, search)
    return WeightedModes(log_weights, weighted, _with_spread(maximum, peaks, log_weights))


def _averaged_log_weights(log_evidence, std):
    """Log weights of modes, 0 for the largest: means of their posterior probabilities over errors of the evidence."""
    errors = np.random.default_rng(0).standard_normal((_SIMULATED, len(log_evidence))) * std
    log_weights, _ = log_mean_exp(log_softmax(log_evidence + errors, axis=1))
    return log_weights - log_weights.max()


def _log_values(curves, where):
    return np.array([each.log_values(*h)[0] for each, h in zip(curves, where, strict=True)])


def _with_spread(maximum, peaks, log_weights):
    """The maximum with the covariance of the chains' own maxima around it added to the Monte Carlo one."""
    shares = np.exp(log_weights) / np.exp(log_weights).sum()
    if shares.max() == 1:
        return maximum
    away = peaks - maximum.log_h
    spread = (away.T * shares) @ away / (1 - (shares**2).sum())
    return replace(maximum, monte_carlo=maximum.monte_carlo + spread)
