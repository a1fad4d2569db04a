"""How far known topics have moved: draws of z in which little holds them, the distance, and its interval."""

from dataclasses import replace

import numpy as np

from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.known_weights import counts_of_known

# Tokens that hold a known topic, as a share of its own. In corpora of benchmarks/bench_known_topics.py, changes were
# 1 % smaller with a share of .02, and the same without any.
_HELD = 0.002
# Sweeps until the chain has left what the weights of the fit held, and between two draws. In these corpora, means and
# variances were the same with 1,000 and 20.
_SWEEPS_BEFORE, _SWEEPS_BETWEEN = 100, 3
# Tokens of a topic from which on its words say something about its drift.
_FEWEST_TOKENS = 10
# The largest change of a topic that is looked at, as a multiple of the estimated one.
_MOST = 2.0


def draw_counts(chain, known, eta, n_draws):
    """Draws of the counts of words in known topics, list of csr_array (n_known, n_features).

    Parameters
    ----------
    chain : GibbsChain
        It has the known topics, with the weights of its priors. A fixed topic stays so.
    known : ndarray of shape (n_known, n_features)
        Their distributions.
    eta : float or ndarray of shape (n_features,) or (n_components, n_features)
        Without the part of known topics.
    n_draws : int
    """
    corpus = chain.corpus
    n_tokens = counts_of_known(chain.topics, corpus, len(known)).sum(axis=1)
    priors = _loosened(chain.priors, known, eta, np.maximum(_HELD * n_tokens, 1))
    loose = chain_class("collapsed", corpus, priors)(corpus, priors, ChainState(chain.topics, chain.stream))
    for _ in range(_SWEEPS_BEFORE):
        loose.sweep()
    draws = []
    for _ in range(n_draws):
        for _ in range(_SWEEPS_BETWEEN):
            loose.sweep()
        draws.append(counts_of_known(loose.topics, corpus, len(known)))
    return draws


def _loosened(priors, known, eta, weights):
    """`Priors` in which known topics that are not fixed have other weights."""
    topic, totals = priors.topic.copy(), priors.totals.copy()
    weights = np.where(np.isinf(priors.weights), np.inf, weights)
    rows = np.broadcast_to(eta, priors.shape)
    for k in np.flatnonzero(np.isfinite(weights)):
        topic[:, k] = rows[k] + weights[k] * known[k]
        totals[k] = topic[:, k].sum(dtype=np.float64)
    return replace(priors, topic=topic, totals=totals, weights=weights)


def distance_from_known(counts, known, level, rng):
    """The chord distance of a topic from a known one, and the ends of its interval, from draws of the topic.

    The mean of the draws is around the truth as the draws are around their mean. So the part of the mean that is
    orthogonal to the known topic is too long by noise, whose variance is that of the draws. If the true change is s
    times the estimated one, a mean is as ``known + s * change + noise``. The interval has all s for which the mean that
    was found is not in a tail of these.

    Parameters
    ----------
    counts : ndarray of shape (n_draws, n_features)
    known : ndarray of shape (n_features,)
    level : float
    rng : numpy.random.Generator
    """
    totals = counts.sum(axis=1, keepdims=True)
    if totals.min() < _FEWEST_TOKENS:
        return np.nan, 0.0, 1.0
    shares = counts / totals
    mean = shares.mean(axis=0)
    # Dirichlet draws whose variance is that of the share of a word among so many tokens.
    words = rng.standard_gamma(counts * (1 - 2 / totals))
    along, change = _parts(mean, known)
    noise_along, noise = _parts(words / words.sum(axis=1, keepdims=True) - mean, known)
    variance = (noise**2).sum(axis=1).mean()
    size = np.linalg.norm(known)

    def squared_tangent(squares, lengths):
        # A distance of 1 has no length along the known topic. Changes beyond it would have a negative one.
        return squares / np.maximum(lengths, 1e-9 * size) ** 2

    def true(s):
        return np.inf if np.isinf(s) else squared_tangent(s**2 * (change @ change), size + s * (along - size))

    def others(s):
        squares = s**2 * (change @ change) + 2 * s * (noise @ change) + (noise**2).sum(axis=1)
        return squared_tangent(squares - variance, size + s * (along - size) + noise_along)

    found = squared_tangent(change @ change - variance, along)
    tail = (1 - level) / 2 * (len(noise) + 1) - 1
    low = true(_first(lambda s: (others(s) >= found).sum() > tail))
    high = true(_first(lambda s: (others(s) <= found).sum() <= tail))
    return np.sqrt(1 - 1 / np.sqrt(1 + np.maximum([found, low, high], 0)))


def _first(is_beyond):
    """The smallest multiple of a change, up to `_MOST`, that is beyond something; infinite if none is."""
    if is_beyond(0.0):
        return 0.0
    if not is_beyond(_MOST):
        return np.inf
    low, high = 0.0, _MOST
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return high


def _parts(rows, known):
    """The lengths of rows along a known topic, and their parts orthogonal to it."""
    direction = known / np.linalg.norm(known)
    along = rows @ direction
    return along, rows - along[..., None] * direction
