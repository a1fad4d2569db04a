"""Words of a topic in groups of documents: their mutual information with the groups, and log ratios of probabilities."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaln, digamma, polygamma, xlogy

from sklda._inference.corpus import count_tokens

# Bounds of the prior strength of `log_ratios`, in tokens: groups whose words have nothing in common, and equal groups.
_STRENGTHS = 1.0, 1e9


class TopicTokens:
    """The tokens of one topic in one draw: their words, documents and groups.

    Parameters
    ----------
    words, documents : ndarray of shape (n_tokens,), int
    groups : ndarray of shape (n_tokens,), int
        Numbers from 0.
    """

    def __init__(self, words, documents, groups):
        self.n = len(words)
        self.words = np.unique(words, return_inverse=True)[1]
        self.groups = np.unique(groups, return_inverse=True)[1]
        self.documents = np.unique(documents, return_inverse=True)[1]
        self.n_words, self.n_groups = (int(each.max(initial=-1)) + 1 for each in (self.words, self.groups))

    def information(self):
        """Mutual information of words and groups, in bits."""
        return self._bits(self.words, self.groups)

    def with_words_permuted(self, rng):
        """The same after a permutation of the words of the tokens."""
        return self._bits(rng.permutation(self.words), self.groups)

    def with_documents_permuted(self, rng):
        """The same after a permutation of the groups of the documents: the tokens of a document stay together."""
        group_of = np.empty(int(self.documents.max(initial=-1)) + 1, np.int64)
        group_of[self.documents] = self.groups
        return self._bits(self.words, rng.permutation(group_of)[self.documents])

    def _bits(self, words, groups):
        cells = words * self.n_groups + groups
        if self.n_words * self.n_groups <= 4 * self.n:
            counts = np.bincount(cells)
        else:
            cells.sort()
            counts = np.diff(np.flatnonzero(np.diff(cells, prepend=-1, append=-1)))
        sums = _sum_of_logs(counts) - _sum_of_logs(np.bincount(words)) - _sum_of_logs(np.bincount(groups))
        return (sums + self.n * np.log2(self.n)) / self.n if self.n else 0.0


def _sum_of_logs(counts):
    """Sum of n log2 n over counts n."""
    return xlogy(counts, counts).sum() / np.log(2)


def excess_information(tokens, replicate, n_replicates, rng):
    """Mutual information of a draw, and its values in replicated data, ndarray of shape (n_replicates,)."""
    return tokens.information(), np.array([replicate(tokens, rng) for _ in range(n_replicates)])


def prior_strength(first, second, shares):
    """The sum of the Dirichlet prior of the words of two groups that is most likely, in tokens.

    The words of each group are a draw from ``Dir(strength * shares)``. Given the number of tokens of a word in both
    groups, that in the first group then has a beta-binomial distribution, exact for groups of equal size. Its
    likelihood does not depend on the distribution from which both groups come, so equal groups are not taken as more
    alike than they are.

    Parameters
    ----------
    first, second : ndarray of shape (n_features,)
        Counts of the words in the groups.
    shares : ndarray of shape (n_features,)
        Shares of the words in the prior. They sum to one.
    """
    used = np.flatnonzero(first + second)
    a, b, p = first[used], second[used], shares[used]
    if not (a.sum() and b.sum()):
        return _STRENGTHS[1]
    part = a.sum() / (a.sum() + b.sum())

    def minus_log_likelihood(log_strength):
        each = np.exp(log_strength) * p / (2 * part * (1 - part))
        x, y = part * each, (1 - part) * each
        return -(betaln(a + x, b + y) - betaln(x, y)).sum()

    return float(np.exp(minimize_scalar(minus_log_likelihood, bounds=np.log(_STRENGTHS), method="bounded").x))


def log_ratios(first, second, shares, strength):
    """Posterior mean and variance of the log ratio of the probabilities of words in two groups, in nats.

    The probabilities of each group have the prior ``Dir(strength * shares)``.

    Parameters
    ----------
    first, second : ndarray of shape (n_features,)
        Counts of the words in the groups.
    shares : ndarray of shape (n_features,)
    strength : float

    Returns
    -------
    mean, variance : ndarray of shape (n_features,)
    """
    part = first.sum() / (first.sum() + second.sum())
    each = strength * shares / (2 * part * (1 - part))
    mean, variance = np.zeros(len(shares)), np.zeros(len(shares))
    for counts, own, sign in ((first, part, 1), (second, 1 - part, -1)):
        mean += sign * (digamma(own * each + counts) - np.log(own))
        variance += polygamma(1, own * each + counts)
    return mean, variance
