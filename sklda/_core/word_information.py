"""How much the words of the tokens of a topic depend on groups, and the values of this in replicated data."""

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from sklda._core import random
from sklda._core.rounding import rounding

# Replicates of each topic in `dependence_on_documents`.
_CHECK_REPLICATES = 30
# Documents of a topic whose z is about normal. In corpora of the model with two documents, z is above 4 in 1 % of the
# cases, and with ten in .1 %.
_FEWEST_DOCUMENTS = 10
# Signs with a smaller mean of the statistic, in units of that without signs, are drawn again; at most so many times.
_LEAST_MEAN, _MOST_TRIALS = 1e-6, 20


class TopicTokens:
    """The tokens of one topic in one draw: their words and groups.

    Parameters
    ----------
    words, groups : ndarray of shape (n_tokens,), int
    """

    def __init__(self, words, groups):
        self.n = len(words)
        self.words, self.groups = (np.unique(each, return_inverse=True)[1] for each in (words, groups))
        self.n_words, self.n_groups = (int(each.max(initial=-1)) + 1 for each in (self.words, self.groups))
        self._of_words = _sum_of_logs(np.bincount(self.words))

    def information(self):
        """Mutual information of words and groups, in bits for each token."""
        return self._bits(self.words, self.groups)

    def with_words_permuted(self, rng):
        """The same after a permutation of the words of the tokens: what a topic of the model has."""
        return self._bits(rng.permutation(self.words), self.groups)

    def _bits(self, words, groups):
        if not self.n:
            return 0.0
        cells = words * self.n_groups + groups
        if self.n_words * self.n_groups <= 4 * self.n:
            counts = np.bincount(cells)
        else:
            # Half the time with 32 bits.
            cells = cells.astype(np.int32 if self.n_words * self.n_groups < 2**31 else np.int64)
            cells.sort()
            counts = np.diff(np.flatnonzero(np.diff(cells, prepend=-1, append=-1)))
        sums = _sum_of_logs(counts) - self._of_words - _sum_of_logs(np.bincount(groups))
        return (sums + self.n * np.log2(self.n)) / self.n


class TopicDocuments:
    """The words of one topic in its documents, in one draw: how much groups of documents differ.

    The statistic is Pearson's chi-square of words and groups. A word that occurs in a document is likely to occur there
    again, above all in a long one. So replicates keep the groups, the lengths and the repeats: each document has its
    deviation from the words of the topic with a random sign (a wild bootstrap). If clusters of documents are
    independent, such as those of authors, all documents of a cluster have one sign.

    The deviations add up to zero, but with random signs they do not, and then the words of the whole topic are others.
    How much this takes from the statistic depends on the signs. Each replicate is divided by its mean given the signs,
    in units of that of the statistic. Then both have the same mean and variance, also if there are few documents, or if
    a few are much longer than the others.

    Parameters
    ----------
    words, units, groups : ndarray of shape (n_tokens,), int
        At least one token. Units are documents or clusters; a cluster may have documents in several groups.
    """

    def __init__(self, words, units, groups):
        groups = np.unique(groups, return_inverse=True)[1]
        n_groups = int(groups.max()) + 1
        # Rows are the parts of units in groups: a document is one.
        own, part_of = np.unique(units.astype(np.int64) * n_groups + groups, return_inverse=True)
        rows = np.arange(len(own))
        self.unit_of = np.unique(own // n_groups, return_inverse=True)[1]
        self.n, self.lengths = len(words), np.bincount(part_of)
        self.counts = sp.csr_array((np.ones(self.n), (part_of, np.unique(words, return_inverse=True)[1])))
        self.members = sp.csr_array((np.ones(len(own)), (own % n_groups, rows)))
        self.sizes = self.members @ self.lengths
        self.probability = self.counts.sum(axis=0) / self.n
        self._set_products(sp.csr_array((np.ones(len(own)), (self.unit_of, rows))))
        self.mean = self._mean(np.ones(len(self.of_units)))

    def _set_products(self, units):
        """Products of the deviations of units with themselves and with those of their parts."""
        of_units, lengths = units @ self.counts, units @ self.lengths
        # The tokens of a unit are a part of the words of the topic, so its deviation is too small by this.
        others = 1 - lengths / self.n
        scale = np.divide(1, others, out=np.zeros(len(lengths)), where=others > 0)
        own, inverse = scale[self.unit_of], 1 / self.probability
        self.of_units = scale * (of_units.power(2) @ inverse - lengths**2)
        whole, n_whole = of_units[self.unit_of], lengths[self.unit_of]
        self.with_unit = own * ((self.counts * whole) @ inverse - self.lengths * n_whole)
        of_parts = own * (self.counts.power(2) @ inverse - self.lengths**2)
        share = self.sizes / self.n
        self.of_groups = self.members @ of_parts - 2 * share * (self.members @ self.with_unit)
        self.of_groups += share**2 * self.of_units.sum()

    def information(self):
        """Chi-square in bits for each token. If it is small, it is the mutual information of words and groups."""
        return self._bits(np.ones(len(self.lengths)))

    def with_random_signs(self, rng):
        """The same if the deviation of each unit has a random sign."""
        for _ in range(_MOST_TRIALS):
            signs = rng.choice([-1.0, 1.0], len(self.of_units))
            mean = self._mean(signs)
            # Without a mean, all deviations are those of the whole topic.
            if mean > _LEAST_MEAN * self.mean:
                return self._bits(signs[self.unit_of]) * self.mean / mean
        return self.information()

    def _mean(self, signs):
        """The mean of the statistic given the signs of the units, times a constant."""
        own, share = signs[self.unit_of], self.sizes / self.n
        moved = self.members @ (own * self.lengths) / self.n
        moved -= share * moved.sum()
        products = self.members @ (own * self.with_unit) - share * (signs @ self.of_units)
        return ((self.of_groups - 2 * moved * products + moved**2 * self.of_units.sum()) / self.sizes).sum()

    def _bits(self, weights):
        """Of sums of the deviations of the parts with these weights."""
        weighted = self.members.copy()
        weighted.data = weights[weighted.indices]
        counts, sums = weighted @ self.counts, weighted @ self.lengths
        # Squares of deviations by expected counts. Those of all documents do not add up to zero if signs are random:
        # then the words of the whole topic are others.
        of_groups = counts.power(2) @ (1 / self.probability) - 2 * sums * counts.sum(axis=1) + sums**2
        of_all = (weights @ self.counts) ** 2 @ (1 / self.probability) - sums.sum() ** 2
        return ((of_groups / self.sizes).sum() - of_all / self.n) / (2 * np.log(2) * self.n)


def _sum_of_logs(counts):
    """Sum of n log2 n over counts n."""
    times, n = 1, counts
    if counts.max(initial=0) < len(counts):
        # Few different numbers.
        times = np.bincount(counts)
        n = np.arange(len(times))
    return (times * xlogy(n, n)).sum() / np.log(2)


# A topic whose z is below this may be one of the model, and the largest part of the variance that is within a chain.
# In 15 corpora of the model, half and twice of the first change the standard deviation of z by at most .015. Values of
# .6 and .9 for the second change it by at most .002.
_NEAR, _MOST_WITHIN = 3.0, 0.8


def deviations(observed, replicates):
    """The excess of a statistic over replicated data, in its unit and in standard deviations.

    For topics of the model, the difference from the replicates has their variance V in each draw. By the law of total
    variance, that of its mean over draws is V less the expected variance between draws, times 1 - 1 / n_draws. The part
    of V that is between draws is the mean over the topics that do not deviate clearly, and one without.

    Parameters
    ----------
    observed : ndarray of shape (n_topics, n_draws)
        The statistic in every posterior draw.
    replicates : ndarray of shape (n_topics, n_draws, n_replicates)
        Its values in replicates of each draw, at least two.

    Returns
    -------
    excess, z, z_std : ndarray of shape (n_topics,)
        `excess` is the mean over draws. `z_std` is the Monte Carlo error of z, with draws taken as independent; NaN for
        one draw. z is NaN if all replicates are equal.
    """
    n_draws, n_replicates = replicates.shape[1:]
    centre = replicates.mean(axis=2)
    variance = ((replicates - centre[:, :, None]) ** 2).sum(axis=(1, 2)) / (n_draws * (n_replicates - 1))
    std = np.sqrt(variance)
    std = np.where(std > rounding(replicates, axis=(1, 2)), std, np.nan)
    differences = (observed - centre) / std[:, None]
    z = differences.mean(axis=1)
    if n_draws == 1:
        return (observed - centre).mean(axis=1), z, np.full(len(z), np.nan)
    between = differences.var(axis=1, ddof=1)
    near = np.abs(z) < _NEAR
    # The means of the replicates have errors.
    within = np.clip((between[near] - 1 / n_replicates).sum() / (near.sum() + 1), 0, _MOST_WITHIN)
    scale = np.sqrt(1 - within * (1 - 1 / n_draws))
    z_std = np.sqrt(between / n_draws + z**2 / (2 * n_draws * (n_replicates - 1)))
    return (observed - centre).mean(axis=1), z / scale, z_std / scale


def dependence_on_documents(corpus, topics, n_topics, seed):
    """How far the words of all topics depend on the documents in one draw of z, in standard deviations of replicates.

    The sum of the topics' z, as of `deviations` of one draw, over the root of their number. Topics in few documents do
    not count, nor do those with one word. 0 if there are no others.
    """
    order, documents = np.argsort(topics, kind="stable"), corpus.token_documents
    ends, found = np.searchsorted(topics[order], np.arange(n_topics + 1)), []
    for k in range(n_topics):
        at = order[ends[k] : ends[k + 1]]
        own = TopicTokens(corpus.words[at], documents[at])
        if own.n_groups < _FEWEST_DOCUMENTS:
            continue
        rng = np.random.default_rng(random.child(seed, k))
        replicates = np.array([own.with_words_permuted(rng) for _ in range(_CHECK_REPLICATES)])
        _, z, _ = deviations(np.array([[own.information()]]), replicates[None, None])
        found.append(z[0])
    known = np.array(found)
    known = known[~np.isnan(known)]
    return float(known.sum() / np.sqrt(max(len(known), 1)))
