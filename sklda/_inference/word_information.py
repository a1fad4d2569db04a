"""Mutual information of the words and the groups of the tokens of a topic, and its values in replicated data."""

import numpy as np
from scipy.special import xlogy


class TopicTokens:
    """The tokens of one topic in one draw: their words, documents and groups.

    Parameters
    ----------
    words, documents, groups : ndarray of shape (n_tokens,), int
    """

    def __init__(self, words, documents, groups):
        self.n = len(words)
        self.words, self.documents, self.groups = (
            np.unique(each, return_inverse=True)[1] for each in (words, documents, groups)
        )
        self.n_words, self.n_groups = (int(each.max(initial=-1)) + 1 for each in (self.words, self.groups))
        self.group_of = np.zeros(int(self.documents.max(initial=-1)) + 1, np.int64)
        self.group_of[self.documents] = self.groups
        self._of_words = _sum_of_logs(np.bincount(self.words))

    def information(self):
        """Mutual information of words and groups, in bits for each token."""
        return self._bits(self.words, self.groups)

    def with_words_permuted(self, rng):
        """The same after a permutation of the words of the tokens: what a topic of the model has."""
        return self._bits(rng.permutation(self.words), self.groups)

    def with_documents_permuted(self, rng):
        """The same after a permutation of the groups of the documents: the tokens of a document stay together."""
        return self._bits(self.words, rng.permutation(self.group_of)[self.documents])

    def _bits(self, words, groups):
        if not self.n:
            return 0.0
        cells = words * self.n_groups + groups
        if self.n_words * self.n_groups <= 4 * self.n:
            counts = np.bincount(cells)
        else:
            cells.sort()
            counts = np.diff(np.flatnonzero(np.diff(cells, prepend=-1, append=-1)))
        sums = _sum_of_logs(counts) - self._of_words - _sum_of_logs(np.bincount(groups))
        return (sums + self.n * np.log2(self.n)) / self.n


def _sum_of_logs(counts):
    """Sum of n log2 n over counts n."""
    return xlogy(counts, counts).sum() / np.log(2)


def deviation(observed, replicates):
    """The excess of a statistic over replicated data, in its unit and in standard deviations of the replicates.

    Parameters
    ----------
    observed : ndarray of shape (n_draws,)
        The statistic in every posterior draw.
    replicates : ndarray of shape (n_draws, n_replicates)
        Its values in replicates of each draw, at least two.

    Returns
    -------
    excess, z, z_std : float
        `excess` is the mean over draws. `z_std` is the Monte Carlo error of z, with draws taken as independent; NaN for
        one draw. z is NaN if all replicates are equal.
    """
    n_draws, n_replicates = replicates.shape
    centre = replicates.mean(axis=1)
    variance = ((replicates - centre[:, None]) ** 2).sum() / (n_draws * (n_replicates - 1))
    excess = float((observed - centre).mean())
    # Rounding makes differences of this size.
    if variance < 1e-24:
        return excess, np.nan, np.nan
    z = excess / np.sqrt(variance)
    if n_draws == 1:
        return excess, float(z), np.nan
    of_mean = (observed - centre).var(ddof=1) / n_draws / variance
    return excess, float(z), float(np.sqrt(of_mean + z**2 / (2 * n_draws * (n_replicates - 1))))
