"""Averages of log-likelihoods: over the tokens of documents, over runs, and over annealing runs in two directions."""

from math import fsum

import numpy as np
from scipy.special import expit, logsumexp


def mean_per_token(log_likelihood, lengths, sample_weight=None):
    """Weighted sum of the log-likelihoods of documents, divided by the weighted number of their tokens, in nats.

    A ValueError if no token has a positive weight.
    """
    weight = np.ones(len(lengths)) if sample_weight is None else sample_weight
    # `fsum` rounds once, so the result does not depend on the order of the documents.
    n_tokens = fsum(weight * lengths)
    if not n_tokens > 0:
        raise ValueError("X has no token of positive weight: there is no likelihood per token.")
    # A document with weight 0 and log-likelihood -inf contributes 0 and not NaN.
    return fsum(np.where(weight == 0, 0, log_likelihood) * weight) / n_tokens


def log_mean(log_values, axis=0):
    """Log of the mean of ``exp(log_values)`` along an axis."""
    return logsumexp(log_values, axis=axis) - np.log(np.shape(log_values)[axis])


def log_mean_exp(log_weights):
    """Log of the mean of ``exp(log_weights)`` over runs, the first axis, and its standard error by the jackknife.

    The delta method is not used: if the weights differ by factors, it sees the spread of the runs, but not that the
    largest of them may be missing. With ten normal log weights of standard deviation 1.5 its error is 0.72 of the right
    one, and that of the jackknife 1.02. The error is 0 if all runs are -inf, infinite if one run is not, and NaN if
    there is one run.
    """
    n_runs = len(log_weights)
    value = log_mean(log_weights)
    if n_runs == 1:
        return value, np.full_like(value, np.nan)
    reached = np.isfinite(value)
    scaled = log_weights - np.where(reached, value, 0)
    largest = np.expand_dims(scaled.argmax(axis=0), 0)
    # The sum of the others. Beside the largest they are summed themselves, because a difference would be rounded off.
    others = n_runs - np.exp(scaled)
    np.put_along_axis(scaled, largest, -np.inf, axis=0)
    np.put_along_axis(others, largest, np.exp(scaled).sum(axis=0, keepdims=True), axis=0)
    known = (others > 0).all(axis=0)
    left = np.log(np.where(known, others, 1.0))
    std = np.sqrt((n_runs - 1) * left.var(axis=0))
    return value, np.where(reached, np.where(known, std, np.inf), 0.0)


def bennett(forward, backward):
    """log Z such that E exp(forward) = Z and E exp(-backward) = 1 / Z, by Bennett's acceptance ratio.

    The weights W of the two directions have densities with p_F(W) / p_B(W) = Z exp(-W). So a weight is a forward one
    with probability expit(log Z - W), and the most likely log Z is the root L of sum_F expit(W - L) = sum_B expit(L -
    W), which lies between the extremes. For one run in either direction it is the middle between the two.

    Parameters
    ----------
    forward, backward : ndarray of shape (..., n_runs)
        Log weights, as many in either direction.

    Returns
    -------
    ndarray of shape (...)
        In nats (Bennett 1976; Meng & Wong 1996, equation 4.1).
    """
    low = np.minimum(forward.min(axis=-1), backward.min(axis=-1))
    high = np.maximum(forward.max(axis=-1), backward.max(axis=-1))
    for _ in range(60):
        middle = (low + high) / 2
        excess = expit(forward - middle[..., None]).sum(axis=-1) - expit(middle[..., None] - backward).sum(axis=-1)
        low, high = np.where(excess > 0, middle, low), np.where(excess > 0, high, middle)
    return (low + high) / 2
