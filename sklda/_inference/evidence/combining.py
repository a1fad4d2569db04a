"""One value of the log evidence from runs of several chains, with its standard error and its bias."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

# All constants were set so that stated errors cover simulated ones (tests/evidence/test_combining.py).
# Largest relative variance (of p, no unit) that a plain mean over normal log weights may have; above it the mean is
# too low in most samples, and a log-normal correction replaces it.
RELATIVE_VARIANCE = 0.5
# Variance between chains over the variance that their runs explain, from which on chains count as in different modes.
_DIFFERENT_MODES = 4.0
# Degrees of freedom of the variance between chains, from which on other models' chains are not needed.
_ENOUGH_FREEDOM = 2
# A chain is dropped when it is further below the best than this many nats plus this many standard deviations of a run.
_FAILED_NATS, _FAILED_DEVIATIONS = 20.0, 5.0
# Standard errors are made wider, by Student's law, so that two of them have this coverage.
_COVERAGE = 0.95
# Simulated normal values behind the standard deviation of a log-mean-exp: values in all, and sets at least.
_SIMULATED_VALUES, _LEAST_SETS = 8000, 200


class Combined(NamedTuple):
    """The log of the mean of unbiased estimates."""

    value: float  # in nats
    std: float  # standard error of `value` plus `downward_bias`
    downward_bias: float  # by how much `value` is probably too low


def _log_mean_exp(values):
    """log of the mean of exp(values) over the last axis. The function of scipy.special is slow on small arrays."""
    largest = values.max(axis=-1, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0)
    with np.errstate(divide="ignore"):
        return largest[..., 0] + np.log(np.exp(values - largest).mean(axis=-1))


def without_failed_chains(log_weights):
    """The rows of `log_weights` without chains far below the best, unless these are half of all or more."""
    values, half = _log_mean_exp(log_weights), len(log_weights) // 2
    better = log_weights[np.argsort(values)[half:]]
    deviation = better.std(axis=1, ddof=1).mean() if better.shape[1] > 1 else 0.0
    near = values > values.max() - _FAILED_NATS - _FAILED_DEVIATIONS * deviation
    return log_weights[near] if near.sum() > half else log_weights


def combine_chains(log_weights, variance=None, freedom=None, other_chains=()):
    """log of the mean of unbiased estimates of p(w), its standard error and its downward bias; `Combined`.

    The standard error comes from the spread between runs, and from the spread between chains if it is larger.
    For normal log weights the log of the mean is their mean plus half their variance. Few runs do not reach that;
    the difference is the downward bias. It is 0 if the runs are enough.

    Parameters
    ----------
    log_weights : ndarray of shape (n_chains, n_runs)
    variance : float, default=None
        Variance of log weights between runs of one chain, if it is known better than from these runs.
    freedom : float, default=None
        Degrees of freedom of `variance`, if the standard error is to contain the error of the variance; None with
        `variance`: it does not.
    other_chains : sequence of ndarray of shape (n_chains,), default=()
        Values of the chains of other models, which differ as much as these do. They are used when these chains are
        fewer than three, or disagree.
    """
    n_chains, n_runs = log_weights.shape
    value = _log_mean_exp(log_weights.ravel())
    log_weights = without_failed_chains(log_weights)
    log_share = np.log(len(log_weights) / n_chains)
    n_chains = len(log_weights)
    if variance is None:
        variance = log_weights.var(axis=1, ddof=1).mean() if n_runs > 1 else 0.0
        freedom = n_chains * (n_runs - 1)
    by_chain, within, _ = _run_means(log_weights, variance, freedom)
    values = [by_chain]
    between, between_freedom = pooled_variance(values)
    if between_freedom < _ENOUGH_FREEDOM or between > _DIFFERENT_MODES * within:
        values = [by_chain, *other_chains]
        between, between_freedom = pooled_variance(values)
    if log_weights.size == 1 and not between_freedom:
        return Combined(float(value), np.nan, 0.0)
    (best,), error, correction_error = _run_means(log_weights.reshape(1, -1), variance, freedom)
    if between > within:
        # Runs do not explain a difference of modes. It follows no normal law, so no correction is made for modes that
        # no chain found: each value is moved only by the share of the variance that runs explain.
        explained = within / between
        best = _log_mean_exp(by_chain + explained * (best - by_chain))
        error = explained**2 * error + (1 - explained**2) * _modes_error(values, within) ** 2
    std = float(np.sqrt(error + correction_error**2))
    return Combined(float(value), std, float(max(best + log_share - value, 0.0)))


def _run_means(log_weights, variance, freedom):
    """log of the mean of each row, its variance, and the standard error of its log-normal correction."""
    n_runs = log_weights.shape[1]
    if np.log1p(RELATIVE_VARIANCE * n_runs) < variance:
        correction_error = student_factor(freedom) * variance / np.sqrt(2 * freedom) if freedom else 0.0
        return log_weights.mean(axis=1) + variance / 2, variance / n_runs, correction_error
    return _log_mean_exp(log_weights), _log_mean_exp_std(n_runs, variance) ** 2, 0.0


def _modes_error(values, within):
    """Standard error of the log-mean-exp of the first of `values`, from the variance between chains in all of them.

    Each of `values` is of the shape (n_chains,); `within` is the variance of the value of one chain by its runs.
    """
    between, freedom = pooled_variance(values)
    n_chains = len(values[0])
    errors = [_log_mean_exp_std(n_chains, max(between, within)) * student_factor(freedom)]
    # Chains in poor modes have no information on the best mode: the better half gives an error of its own.
    half = -(-n_chains // 2)
    if half > 1 and within > 0:
        between, freedom = better_half_variance(values)
        errors.append(_log_mean_exp_std(half, max(between, within)) * student_factor(freedom))
    return min(errors)


def pooled_variance(values):
    """Mean variance within several arrays, and its degrees of freedom."""
    freedom = sum(len(each) - 1 for each in values)
    return sum(((each - each.mean()) ** 2).sum() for each in values) / max(freedom, 1), freedom


def better_half_variance(values):
    """`pooled_variance` without the smaller half of each array."""
    return pooled_variance([np.sort(each)[len(each) // 2 :] for each in values])


def student_factor(freedom):
    """Width of a Student interval with this many degrees of freedom over that of the normal interval."""
    p = (1 + _COVERAGE) / 2
    return stdtrit(freedom, p) / ndtri(p)


@lru_cache(maxsize=4096)
def _log_mean_exp_std(n, variance):
    """Standard deviation of the log-mean-exp of n normal values.

    For a small variance it is that of their mean, for a large one that of their maximum.
    """
    return float(_log_mean_exp(np.sqrt(variance) * _normal_sets(n)).std())


@lru_cache(maxsize=32)
def _normal_sets(n):
    return np.random.default_rng(0).standard_normal((max(_SIMULATED_VALUES // n, _LEAST_SETS), n))
