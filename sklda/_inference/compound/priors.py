"""The hyperparameters of compound LDA: (gamma, eta) by Gibbs-EM, alpha by slice sampling."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, polygamma, psi

from sklda._kernels import _compound

# Hyperparameters are sought in this range.
SMALLEST, LARGEST = 1e-6, 1e6


@dataclass(frozen=True, eq=False)
class Tails:
    """How many documents of a collection have more than i tokens of a topic: all that p(z | pi, gamma) depends on.

    For a cell (j, k), the sum over documents of log Gamma(a + n_dk) - log Gamma(a) is the sum over i of
    ``documents * log(a + i)``.

    Attributes
    ----------
    cells : ndarray of shape (n_entries,), int64
        j * n_components + k, ascending.
    steps : ndarray of shape (n_entries,), int64
        i = 0, 1, ...
    documents : ndarray of shape (n_entries,), int64
    shape : tuple
        (n_collections, n_components).
    """

    cells: np.ndarray
    steps: np.ndarray
    documents: np.ndarray
    shape: tuple

    @classmethod
    def count(cls, corpus, topics, collections, shape, scratch_counts):
        largest = np.zeros(shape, np.int64)
        _compound.largest_counts(corpus.offsets, topics, collections, largest, scratch_counts)
        starts = (np.cumsum(largest.ravel()) - largest.ravel()).reshape(shape)
        documents = np.zeros(largest.sum(), np.int64)
        _compound.tail_counts(corpus.offsets, topics, collections, starts, documents, scratch_counts)
        cells = np.repeat(np.arange(largest.size), largest.ravel())
        return cls(cells, np.arange(len(cells)) - starts.ravel()[cells], documents, shape)

    def sums(self, terms):
        """Sums of ``documents * terms`` over the entries of every cell; float64 of `shape`."""
        return np.bincount(self.cells, self.documents * terms, minlength=np.prod(self.shape)).reshape(self.shape)


def newton_on_logs(slopes, start):
    """Where a function of h > 0 stops rising: Newton's method on log h between bounds that close in.

    Parameters
    ----------
    slopes : callable
        ``slopes(h)`` returns first and second derivative with respect to h.
    start : float

    Returns
    -------
    float
        Between 1e-6 and 1e6; an end where the function has no maximum inside.
    """
    low, high, x = np.log(SMALLEST), np.log(LARGEST), np.log(start)
    for _ in range(100):
        first, second = slopes(np.exp(x))
        # With respect to log h.
        slope, curvature = first * np.exp(x), second * np.exp(2 * x) + first * np.exp(x)
        low, high = (x, high) if slope > 0 else (low, x)
        new = x - slope / curvature if curvature < 0 else np.inf
        if not low < new < high:
            new = (low + high) / 2
        if abs(new - x) < 1e-9:
            break
        x = new
    return float(np.exp(new))


class GibbsEM:
    """Draws of (pi, z) between two M-steps, and the M-step: arg max of the mean of log p(w, z | pi, gamma, eta)."""

    def __init__(self, lengths, n_features, draws=()):
        self.lengths, self.n_documents = np.unique(lengths, return_counts=True)
        self.n_features = n_features
        self.draws = list(draws)

    def add(self, tails, pi, word_topic_counts, topic_totals):
        counts = np.bincount(word_topic_counts.ravel())
        # Entries of m_kv that are larger than i.
        larger = counts[:0:-1].cumsum()[::-1]
        self.draws.append((tails, pi.ravel()[tails.cells], larger, topic_totals.copy()))

    def maximise(self, gamma, eta):
        """The next (gamma, eta), started from the present ones; forgets the draws."""
        found = newton_on_logs(self._gamma_slopes, gamma), newton_on_logs(self._eta_slopes, eta)
        self.draws = []
        return found

    def _gamma_slopes(self, gamma):
        first = second = 0.0
        for tails, pi, _, _ in self.draws:
            share = pi / (np.maximum(gamma * pi, 1e-300) + tails.steps)
            # The entries of i = 0 are documents / gamma, whatever pi is.
            share[tails.steps == 0] = 1 / gamma
            first += tails.documents @ share
            second -= tails.documents @ share**2
        n = len(self.draws)
        first -= n * (self.n_documents @ (psi(gamma + self.lengths) - psi(gamma)))
        second -= n * (self.n_documents @ (polygamma(1, gamma + self.lengths) - polygamma(1, gamma)))
        return first, second

    def _eta_slopes(self, eta):
        first = second = 0.0
        V = self.n_features
        for _, _, larger, totals in self.draws:
            terms = 1 / (eta + np.arange(len(larger)))
            first += larger @ terms - V * (psi(V * eta + totals) - psi(V * eta)).sum()
            second -= larger @ terms**2 + V**2 * (polygamma(1, V * eta + totals) - polygamma(1, V * eta)).sum()
        return first, second


def draw_alpha(rng, alpha, log_pi, shape, rate):
    """alpha given pi under a Gamma(shape, rate) prior, cut off at 1e-6 and 1e6: one slice step on log alpha."""
    J, K = log_pi.shape
    total = log_pi.sum()

    def log_density(x):
        a = np.exp(x)
        return J * (gammaln(K * a) - K * gammaln(a)) + a * total + shape * x - rate * a

    low, high = np.log(SMALLEST), np.log(LARGEST)
    x = np.log(alpha)
    level = log_density(x) - rng.standard_exponential()
    left = x - rng.random()
    right = left + 1
    while left > low and log_density(left) > level:
        left -= 1
    while right < high and log_density(right) > level:
        right += 1
    left, right = max(left, low), min(right, high)
    while True:
        new = rng.uniform(left, right)
        if log_density(new) >= level:
            return float(np.exp(new))
        left, right = (new, right) if new < x else (left, new)
