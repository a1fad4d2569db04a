"""Convergence of chains: rank-normalised R-hat and effective draws (Vehtari et al. 2021). Errors of proportions."""

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from sklda._core.rounding import rounding

# Fewest draws of a chain for R-hat: a half needs two draws for its variance.
FEWEST_DRAWS = 4
# A clear rise: batches of sweeps, the fewest sweeps of a chain and of a batch, the least slope in standard errors, the
# least rest in standard deviations of a sweep, and the power of the number of sweeps with which the rest falls.
# benchmarks/bench_short_fits.py has half and twice of them.
_BATCHES, _FEWEST_SWEEPS, _SMALLEST_BATCH, _CLEAR, _LEAST_REST, _POWER = 10, 100, 3, 3.0, 2.0, 1.5


@dataclass(frozen=True)
class Diagnosis:
    """Convergence of the chains of one quantity. All are NaN with fewer than four draws of each chain.

    If all draws are equal, R-hat is 1 and the number of effective draws NaN.

    Attributes
    ----------
    r_hat : float
        R-hat of all chains together.
    n_effective : float
        Effective draws of all chains together.
    r_hat_by_chain, n_effective_by_chain : ndarray of shape (n_chains,)
        Those of each chain alone; R-hat compares its two halves.
    """

    r_hat: float
    n_effective: float
    r_hat_by_chain: np.ndarray
    n_effective_by_chain: np.ndarray


def diagnose(traces, first):
    """R-hat and effective draws of several quantities.

    Parameters
    ----------
    traces : dict of str to ndarray of shape (n_chains, n_sweeps)
        Each quantity after every sweep; NaN after the end of chains that ended early.
    first : int
        The first sweep that counts, from 0.

    Returns
    -------
    dict of str to Diagnosis
    """
    found = {}
    for name, trace in traces.items():
        draws = draws_after(first, trace)
        by_chain = [(r_hat(each), effective_draws(each)) for each in draws[:, None, :]]
        found[name] = Diagnosis(r_hat(draws), effective_draws(draws), *np.array(by_chain).T)
    return found


def draws_after(first, trace):
    """The sweeps from `first` on that all chains have, (n_chains, n_draws)."""
    missing = np.isnan(trace).any(axis=0)
    # A NaN in front of the last common sweep is not an end of a chain.
    end = len(missing) - int(np.argmin(missing[::-1])) if not missing.all() else 0
    return trace[:, first:end]


def r_hat(draws):
    """Rank-normalised split R-hat, the larger one of the draws and of their distances from the median.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws)
        With one chain, its halves are compared.

    Returns
    -------
    float
        1 if all draws are equal, inf if each half chain stays at a value of its own. NaN with fewer than four draws of
        a chain, and for draws that are not finite.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021). Rank-normalization, folding, and localization: an improved
    R-hat for assessing convergence of MCMC. Bayesian Analysis 16.
    """
    if draws.shape[1] < FEWEST_DRAWS or not np.isfinite(draws).all():
        return np.nan
    halves = _split(draws)
    if np.ptp(halves) <= rounding(halves):
        return 1.0
    return max(_r_hat_of_ranks(halves), _r_hat_of_ranks(np.abs(halves - np.median(halves))))


def _r_hat_of_ranks(halves):
    spread = np.ptp(halves, axis=1)
    if not spread.any():
        # Equal distances from the median have no information: the draws have two values, and each is as frequent.
        return np.inf if np.ptp(halves) > 0 else 0.0
    return float(variance_ratio(_normal_scores(halves)))


def effective_draws(draws):
    """Effective number of draws for the mean of the normal scores (bulk), by Geyer's initial monotone sequence.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws) or (n_quantities, n_chains, n_draws)

    Returns
    -------
    float or ndarray of shape (n_quantities,)
        NaN if all draws are equal, with fewer than four draws of a chain, and for draws that are not finite.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), section 3.2. Geyer (1992). Practical Markov chain Monte Carlo.
    Statistical Science 7.
    """
    if draws.ndim == 2:
        return float(effective_draws(draws[None])[0])
    found = np.full(len(draws), np.nan)
    if draws.shape[2] < FEWEST_DRAWS:
        return found
    known = np.isfinite(draws).all(axis=(1, 2))
    halves = _split(draws[known])
    varies = np.ptp(halves, axis=(1, 2)) > rounding(halves, axis=(1, 2))
    known[known], halves = varies, halves[varies]
    # Sums of neighbouring autocorrelations are positive and fall with the lag; from the first that is not on, noise.
    rho = _autocorrelations(_normal_scores(halves))
    n, each = rho.shape[1], np.arange(len(rho))
    pairs = (rho[:, 0 : n - n % 2 : 2] + rho[:, 1::2])[:, : max((n - 1) // 2, 1)]
    last = np.where((pairs <= 0).any(axis=1), (pairs <= 0).argmax(axis=1), pairs.shape[1] - 1)
    even = rho[each, 2 * last]
    tail = np.where((pairs[each, last] >= 0) | (even > 0), even, 0.0)
    falling = np.minimum.accumulate(pairs, axis=1) * (np.arange(pairs.shape[1]) < last[:, None])
    time = -1 + 2 * falling.sum(axis=1) + tail
    # Antithetic draws count for more than independent ones, within a limit.
    size = halves.shape[1] * halves.shape[2]
    found[known] = size / np.maximum(time, 1 / np.log10(size))
    return found


def _split(draws):
    """Halves of the chains, (..., 2 n_chains, n_draws // 2); the middle one of an odd number of draws is left out."""
    half = draws.shape[-1] // 2
    return np.concatenate([draws[..., :half], draws[..., -half:]], axis=-2)


def _normal_scores(values):
    """Normal quantiles of the ranks (Blom 1958) among all chains of a quantity; ties have their mean rank."""
    n = values.shape[-2] * values.shape[-1]
    ranks = rankdata(values.reshape(*values.shape[:-2], n), axis=-1)
    return ndtri((ranks - 3 / 8) / (n + 1 / 4)).reshape(values.shape)


def variance_ratio(sequences):
    """Gelman & Rubin's R-hat: the root of the variance of all draws by that within sequences.

    Parameters
    ----------
    sequences : sequence of ndarray of shape (n_draws,) or (n_draws, n_quantities)
        At least two; their lengths may differ, and are at least 2.

    Returns
    -------
    float or ndarray of shape (n_quantities,)
        Infinite where each sequence stays at a value of its own.
    """
    n = np.mean([len(each) for each in sequences])
    within = np.mean([each.var(axis=0, ddof=1) for each in sequences], axis=0)
    between = np.var([each.mean(axis=0) for each in sequences], axis=0, ddof=1)
    # Sequences that all stay at one value agree.
    ratio = np.divide(between, within, out=np.where(between > 0, np.inf, 0.0), where=within > 0)
    return np.sqrt((n - 1) / n + ratio)


def _autocorrelations(chains):
    """Autocorrelations at all lags, (n_quantities, n_draws), from the variance within and between chains."""
    n = chains.shape[2]
    size = next_fast_len(2 * n, real=True)
    transform = rfft(chains - chains.mean(axis=2, keepdims=True), size, axis=2)
    covariances = irfft(transform * transform.conj(), size, axis=2)[:, :, :n].mean(axis=1) / n
    within = covariances[:, :1] * n / (n - 1)
    total = covariances[:, :1] + chains.mean(axis=2).var(axis=1, ddof=1)[:, None]
    rho = 1 - (within - covariances) / total
    rho[:, 0] = 1
    return rho


def clear_rise(trace, first):
    """The rise of a quantity of a chain that is more than noise, and the sweeps until it ends.

    A line is fitted to the means of ten batches of sweeps. Their scatter around it gives the error of its slope, also
    if a sweep is like the one before. What is left is taken to fall with a power of the number of sweeps.

    Parameters
    ----------
    trace : ndarray of shape (n_sweeps,)
    first : int
        The first sweep that counts, from 0. The first half of all sweeps never counts.

    Returns
    -------
    tuple of (float, int) or None
        The rise over the sweeps that count, and the number of sweeps after which the rest of it is less than the
        standard deviation from sweep to sweep. None if there are too few sweeps, if the rise is not clear, or if the
        rest is less than two standard deviations already.
    """
    n_sweeps = len(trace)
    size = (n_sweeps - max(first, n_sweeps // 2)) // _BATCHES
    if n_sweeps < _FEWEST_SWEEPS or size < _SMALLEST_BATCH:
        return None
    draws, place = trace[n_sweeps - size * _BATCHES :], np.arange(_BATCHES) - (_BATCHES - 1) / 2
    means = draws.reshape(_BATCHES, size).mean(axis=1)
    slope = place @ means / (place @ place)
    line = means.mean() + slope * place
    error = np.sqrt(((means - line) ** 2).sum() / (_BATCHES - 2) / (place @ place))
    if not slope > _CLEAR * error or np.ptp(draws) <= rounding(draws):
        return None
    rise, noise = float(slope * _BATCHES), np.std(draws - np.repeat(line, size))
    rest = rise / ((n_sweeps / (n_sweeps - len(draws))) ** _POWER - 1)
    return (rise, int(n_sweeps * (rest / noise) ** (1 / _POWER))) if rest > _LEAST_REST * noise else None


def std_of_proportions(variance):
    """Standard deviations of numbers in [0, 1], by unbiased estimates of their variances.

    No such number has a standard deviation above 0.5, but estimates from few draws may be larger.
    """
    return np.sqrt(np.clip(variance, 0, 0.25))
