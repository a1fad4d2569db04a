"""How far known topics have moved: draws of z in which little holds them, the distance, and its interval."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.known_weights import counts_of_known

# Tokens that hold a known topic, as a share of its own. In corpora of benchmarks/bench_known_topics.py, changes were
# 1 % smaller with a share of .02, and the same without any.
_HELD = 0.002
# Sweeps until the chain has left what the weights of the fit held, and between two draws. In these corpora, means and
# variances were the same with 1,000 and 20.
_SWEEPS_BEFORE, _SWEEPS_BETWEEN = 100, 3
# Tokens of a topic, and documents of equal size that would have them, from which on its words say something about its
# drift.
_FEWEST_TOKENS, _FEWEST_DOCUMENTS = 10, 3
# The largest change of a topic that is looked at, as a multiple of the estimated one.
_MOST = 2.0


@dataclass(frozen=True, eq=False)
class DriftDraws:
    """Draws of the words of known topics, and of the noise of their shares.

    A document deviates from the words of a topic, by chance and because its words repeat. In the noise, the deviation
    of each document has a random sign (Liu 1988).

    Attributes
    ----------
    counts : list of csr_array of shape (n_known, n_features)
        Of the words, draw by draw.
    signed : list of csr_array of shape (n_known, n_features)
        The same sums over the tokens, of the signs of their documents.
    n_documents : ndarray of shape (n_known,)
        The number of documents of equal size that deviate as much as those with the topic.
    """

    counts: list[csr_array]
    signed: list[csr_array]
    n_documents: np.ndarray

    def of(self, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Shares of the words and noise, (n_draws, n_features) each; None with too few tokens or documents."""
        counts, signed = (np.array([draw[[k]].toarray()[0] for draw in draws]) for draws in (self.counts, self.signed))
        totals = counts.sum(axis=1, keepdims=True)
        if totals.min() < _FEWEST_TOKENS or self.n_documents[k] < _FEWEST_DOCUMENTS:
            return None
        shares = counts / totals
        noise = (signed - signed.sum(axis=1, keepdims=True) * shares) / totals
        # Deviations from a mean of which the document is a part are too small.
        return shares, noise / np.sqrt(1 - 1 / self.n_documents[k])


def draw_drift(chain, known, eta, n_draws, rng) -> DriftDraws:
    """`DriftDraws` of a chain that goes on with little that holds its known topics.

    Parameters
    ----------
    chain : GibbsChain
        It has the known topics, with the weights of its priors. A fixed topic stays so.
    known : ndarray of shape (n_known, n_features)
        Their distributions.
    eta : float or ndarray of shape (n_features,) or (n_components, n_features)
        Without the part of known topics.
    n_draws : int
    rng : numpy.random.Generator
    """
    corpus, n_known = chain.corpus, len(known)
    n_tokens = counts_of_known(chain.topics, corpus, n_known).sum(axis=1)
    priors = _loosened(chain.priors, known, eta, np.maximum(_HELD * n_tokens, 1))
    loose = chain_class("collapsed", corpus, priors)(corpus, priors, ChainState(chain.topics, chain.stream))
    for _ in range(_SWEEPS_BEFORE):
        loose.sweep()
    counts, signed, squares = [], [], 0.0
    for _ in range(n_draws):
        for _ in range(_SWEEPS_BETWEEN):
            loose.sweep()
        signs = np.repeat(rng.choice([-1, 1], corpus.n_documents), corpus.lengths)
        counts.append(counts_of_known(loose.topics, corpus, n_known))
        signed.append(counts_of_known(loose.topics, corpus, n_known, signs))
        totals = np.maximum(loose.topic_totals[:n_known], 1)
        squares = squares + (loose.doc_topic_counts()[:, :n_known] ** 2.0).sum(axis=0) / totals**2 / n_draws
    return DriftDraws(counts, signed, 1 / np.maximum(squares, 1e-9))


def _loosened(priors, known, eta, weights):
    """`Priors` in which known topics that are not fixed have other weights."""
    topic, totals = priors.topic.copy(), priors.totals.copy()
    weights = np.where(np.isinf(priors.weights), np.inf, weights)
    rows = np.broadcast_to(eta, priors.shape)
    for k in np.flatnonzero(np.isfinite(weights)):
        topic[:, k] = rows[k] + weights[k] * known[k]
        totals[k] = topic[:, k].sum(dtype=np.float64)
    return replace(priors, topic=topic, totals=totals, weights=weights)


def distance_from_known(draws, known, std, level, rng):
    """The chord distance of a topic from a known one, and the ends of its interval, from draws of the topic.

    The mean of the draws is around the truth as the draws are around their mean. So the part of the mean that is
    orthogonal to the known topic is too long by noise, whose variance is that of the draws, and by the errors of the
    known topic. If the true change is s times the estimated one, a mean is as ``known + s * change + noise``. The
    interval has all s for which the mean that was found is not in a tail of these.

    Parameters
    ----------
    draws : (ndarray of shape (n_draws, n_features), ndarray of shape (n_draws, n_features)) or None
        Shares of the words in the topic, and noise of each; see `DriftDraws`.
    known : ndarray of shape (n_features,)
    std : ndarray of shape (n_features,)
        Standard errors of the known topic.
    level : float
    rng : numpy.random.Generator
    """
    if draws is None:
        return np.nan, 0.0, 1.0
    shares, noise = draws
    mean = shares.mean(axis=0)
    along, change = _parts(mean, known)
    noise_along, noise = _parts(shares + noise - mean, known)
    _, errors = _parts(std * rng.standard_normal(noise.shape), known)
    size = np.linalg.norm(known)
    of_noise, of_errors, of_both = (noise**2).sum(axis=1), (errors**2).sum(axis=1), (noise * errors).sum(axis=1)
    noise_on_change, errors_on_change = noise @ change, errors @ change

    def squared_tangent(squares, lengths):
        # A distance of 1 has no length along the known topic. Changes beyond it would have a negative one.
        return squares / np.maximum(lengths, 1e-9 * size) ** 2

    def length(s):
        return size + s * (along - size)

    def variance(s):
        return of_noise.mean() + (length(s) / size) ** 2 * of_errors.mean()

    def true(s):
        return np.inf if np.isinf(s) else squared_tangent(s**2 * (change @ change), length(s))

    def others(s):
        # An error of the known topic is as large in a topic that has moved as what is left along it.
        part = length(s) / size
        squares = s**2 * (change @ change) + of_noise + part**2 * of_errors
        squares += 2 * (s * noise_on_change + s * part * errors_on_change + part * of_both)
        return squared_tangent(squares - variance(s), length(s) + noise_along)

    found = squared_tangent(change @ change - variance(1), along)
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
