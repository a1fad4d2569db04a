"""The likelihood of the learnt weights of known topics, from draws of z, and their standard errors."""

import numpy as np
from scipy.sparse import coo_array

from sklda._core.corpus import tally
from sklda._core.known_topic_priors import WEIGHT_BOUNDS, Cells, WeightLikelihood


def weight_likelihood(corpus, draws, prior):
    """`WeightLikelihood` of the draws of a chain.

    Parameters
    ----------
    corpus : Corpus
    draws : KeptDraws
    prior : PriorOfTopics
        With known topics.
    """
    priors, known, counts, totals = draws.priors, prior.known, [], []
    K, V = priors.shape
    for topics in draws.topics:
        found = counts_of_known(topics, corpus, len(known))
        found.resize((K, V))
        counts.append(found)
        totals.append(tally(topics, K))
    eta = priors.base_eta if prior.learns_eta else prior.eta
    return WeightLikelihood(known, Cells.of(counts), np.array(totals), eta, prior.pseudo_counts)


def log_std(likelihood, log_weights):
    """Standard errors of the logarithms of learnt weights, (n_learnt,).

    The information of the words is that of the words with their topics, less the variance of its score over draws of
    the topics (Louis 1982). Infinite: the words do not say how large the weight is, or it is at a bound.
    """
    _, first, second = likelihood(log_weights)
    information = -second.mean(axis=0) - (first.var(axis=0, ddof=1) if len(first) > 1 else np.inf)
    inside = (log_weights > np.log(WEIGHT_BOUNDS[0]) + 1e-6) & (log_weights < np.log(WEIGHT_BOUNDS[1]) - 1e-6)
    positive = inside & (information > 0)
    return np.where(positive, 1 / np.sqrt(np.where(positive, information, 1)), np.inf)


def weight_interval(likelihood, log_weights, fall):
    """Intervals of learnt weights in which their log likelihood is at most `fall` below the largest; (2, n_learnt).

    The likelihood of a weight given the words is the mean over draws of z of its ratio to that of the weight at which
    they were drawn. It is evaluated on a grid between the bounds. An end is a bound, 0 or infinite, if the likelihood
    does not fall so far.
    """
    grid = _grid(log_weights)
    at_draws = likelihood(log_weights)[0]
    found = np.array([_log_mean(likelihood(point)[0] - at_draws) for point in grid])
    inside = found >= found.max(axis=0) - fall
    low, high = np.zeros(len(log_weights)), np.full(len(log_weights), np.inf)
    for k in range(len(log_weights)):
        within = np.flatnonzero(inside[:, k])
        if within[0] > 0:
            low[k] = np.exp(_crossing(grid[:, k], found[:, k], within[0] - 1, found[:, k].max() - fall))
        if within[-1] < len(grid) - 1:
            high[k] = np.exp(_crossing(grid[:, k], found[:, k], within[-1], found[:, k].max() - fall))
    return np.array([low, high])


def _grid(log_weights):
    """Points between the bounds, close to each other near the weights; (n_points, n_learnt)."""
    low, high = np.log(WEIGHT_BOUNDS)
    near = np.concatenate([-np.geomspace(4, 0.02, 20), [0], np.geomspace(0.02, 4, 20)])
    points = np.clip(log_weights + near[:, None], low, high)
    ends = np.linspace(0, 1, 12)[:, None]
    below, above = low + ends * (points[0] - low), points[-1] + ends * (high - points[-1])
    return np.sort(np.concatenate([below, points, above]), axis=0)


def _log_mean(values):
    largest = values.max(axis=0)
    return largest + np.log(np.exp(values - largest).mean(axis=0))


def _crossing(x, y, i, level):
    """Where a line between the points i and i + 1 has a level."""
    part = (level - y[i]) / (y[i + 1] - y[i]) if y[i + 1] != y[i] else 0.5
    return x[i] + part * (x[i + 1] - x[i])


def counts_of_known(topics, corpus, n_known, values=None):
    """How often the known topics have each word, csr_array (n_known, n_features); or sums of values of the tokens."""
    own = np.flatnonzero(topics < n_known)
    # Never dense: this is also called for all topics, of which there may be many.
    cells = np.ones(len(own), np.int64) if values is None else values[own], (topics[own], corpus.words[own])
    return coo_array(cells, (n_known, corpus.n_features)).tocsr()
