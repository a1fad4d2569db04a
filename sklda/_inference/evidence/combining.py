"""The log of the mean of unbiased estimates that come from several pilots, and its error."""

from functools import lru_cache

import numpy as np
from scipy.special import logsumexp, ndtri, stdtrit

# A pilot's runs are too few to be averaged as they stand when normal ones would leave a larger relative variance.
_FEW = 0.5
# Variance between pilots over what their runs explain, from which on they are taken to be in different modes.
_APART = 4.0
# So many pilots that agree, less one, do without those of other targets.
_ENOUGH = 2
# A pilot counts for nothing this many nats, and deviations of runs, below the best.
_FAR, _DEVIATIONS = 20.0, 5.0


def pilots(log_weights):
    """log of the mean over the runs of each pilot, (n_pilots,)."""
    return logsumexp(log_weights, axis=1) - np.log(log_weights.shape[1])


def that_count(log_weights):
    """The rows of pilots that count: without those far below the best, unless half of them or more are."""
    values, half = pilots(log_weights), len(log_weights) // 2
    better = log_weights[np.argsort(values)[half:]]
    deviation = better.std(axis=1, ddof=1).mean() if better.shape[1] > 1 else 0.0
    near = values > values.max() - _FAR - _DEVIATIONS * deviation
    return log_weights[near] if near.sum() > half else log_weights


def combine(log_weights, variance=None, freedom=None, beside=()):
    """log of the mean of unbiased estimates of p(w), its standard error, and by how much it is probably too low.

    Parameters
    ----------
    log_weights : ndarray of shape (n_pilots, n_runs)
    variance : float, default=None
        Variance of log weights between runs of one pilot, where it is known better than from these runs.
    freedom : float, default=None
        Its degrees of freedom, where the error is to contain that of the variance; None with `variance`: it is not.
    beside : sequence of ndarray of shape (n_pilots,), default=()
        Values of the pilots of other targets, which differ as much as these do; used unless four of these agree.

    Returns
    -------
    log_evidence : float
    std : float
        From the spread between runs, and from the spread between pilots where it is larger.
    shortfall : float
        For normal log weights the log of the mean is their mean plus half their variance, which few runs do not reach.
        0 where they are enough.
    """
    n_pilots, n_runs = log_weights.shape
    value = logsumexp(log_weights) - np.log(log_weights.size)
    log_weights = that_count(log_weights)
    share = np.log(len(log_weights) / n_pilots)
    n_pilots = len(log_weights)
    if variance is None:
        variance = log_weights.var(axis=1, ddof=1).mean() if n_runs > 1 else 0.0
        freedom = n_pilots * (n_runs - 1)
    per_pilot, within, _ = _means(log_weights, variance, freedom)
    values = [per_pilot]
    spread, spread_freedom = pooled(values)
    if spread_freedom < _ENOUGH or spread > _APART * within:
        values = [per_pilot, *beside]
        spread, spread_freedom = pooled(values)
    if log_weights.size == 1 and not spread_freedom:
        return float(value), np.nan, 0.0
    (best,), error, doubt = _means(log_weights.reshape(1, -1), variance, freedom)
    if spread > within:
        # What runs do not explain is in which modes pilots are: the best of these count. By no normal law, though, are
        # there better ones in proportion to the variance between pilots, so that is not made up for.
        explained = within / spread
        best = logsumexp(per_pilot + explained * (best - per_pilot)) - np.log(n_pilots)
        error = explained**2 * error + (1 - explained**2) * _modes_error(values, within) ** 2
    return float(value), float(np.sqrt(error + doubt**2)), float(max(best + share - value, 0.0))


def _means(log_weights, variance, freedom):
    """log mean of each row, its variance, and the error of what few runs are corrected by."""
    n_runs = log_weights.shape[1]
    if np.log1p(_FEW * n_runs) < variance:
        doubt = _student(freedom) * variance / np.sqrt(2 * freedom) if freedom else 0.0
        return log_weights.mean(axis=1) + variance / 2, variance / n_runs, doubt
    return pilots(log_weights), _deviation(n_runs, variance) ** 2, 0.0


def _modes_error(values, within):
    """Standard error of the log-mean-exp of the first of `values`, from how far pilots are apart in all of them.

    Parameters
    ----------
    values : list of ndarray of shape (n_pilots,)
    within : float
        Variance of a value from one pilot.
    """
    spread, freedom = pooled(values)
    n_pilots = len(values[0])
    errors = [_deviation(n_pilots, max(spread, within)) * _student(freedom)]
    # Starts that failed say nothing of the best mode: the better half tells as well how sure that is.
    half = -(-n_pilots // 2)
    if half > 1 and within > 0:
        spread, freedom = better_half(values)
        errors.append(_deviation(half, max(spread, within)) * _student(freedom))
    return min(errors)


def pooled(values):
    """Mean variance within several arrays, and its degrees of freedom."""
    freedom = sum(len(each) - 1 for each in values)
    return sum(((each - each.mean()) ** 2).sum() for each in values) / max(freedom, 1), freedom


def better_half(values):
    """`pooled` without the smaller half of each array."""
    return pooled([np.sort(each)[len(each) // 2 :] for each in values])


def _student(freedom):
    """How much wider than a normal interval of 0.95 one is whose variance has so many degrees of freedom."""
    return stdtrit(freedom, 0.975) / ndtri(0.975)


def _deviation(n, variance):
    """Standard deviation of the log-mean-exp of n normal values: falls as a mean's, or as that of the largest."""
    values = np.sqrt(variance) * _normal(n)
    largest = values.max(axis=1, keepdims=True)
    return (largest[:, 0] + np.log(np.exp(values - largest).sum(axis=1))).std()


@lru_cache(maxsize=32)
def _normal(n):
    return np.random.default_rng(0).standard_normal((max(8000 // n, 200), n))
