"""Priors learnt from expected counts: the M-step of Gibbs-EM, with whole numbers in place of expected counts.

An expected count n is the mean of a count, which is a whole number. The M-step takes it as the whole number below n or
the one above, with the probabilities that give the mean n. For n below one this is the exact distribution of a count
that is 0 or 1. log Gamma(n + alpha) at the mean itself would prefer large alphas, because it is much smaller than the
mean of the log between two whole numbers.
"""

import numpy as np
from scipy.sparse import csr_array

from sklda._core.count_histograms import CountHistograms, Histograms
from sklda._core.gibbs_em import Statistics

# Expected counts of a block of words. The histogram of a block takes a few times its memory.
_BLOCK = 2**20


class VariationalLearner:
    """Learns the priors of one model by an `MStep`, from the initial ones."""

    def __init__(self, m_step, priors):
        self.m_step, self.priors = m_step, priors
        self.log_h = m_step.present(self)

    def statistics(self, doc_topic, lengths, word_topic, topic_totals):
        """`Statistics` for the M-step.

        Expected counts n_dk are (n_documents, n_components), m_kv are (n_features, at least n_components) with zeros in
        the other columns, and m_k are (n_components,).
        """
        by_topic = _by_topic(doc_topic, int(lengths.max(initial=0)))
        counts = CountHistograms(
            self.priors.shape[1],
            _histograms(np.bincount(lengths[lengths > 0])),
            _histograms(by_topic.sum(axis=0)),
            _histograms(_of_words(word_topic)),
            topic_totals[None],
        )
        return Statistics(counts, by_topic if self.m_step.per_topic else None)

    def maximise(self, statistics):
        """Do an M-step and return the new priors."""
        self.log_h = self.m_step.maximum([statistics], self.log_h)
        self.m_step.set(self, self.log_h)
        return self.priors


def _by_topic(doc_topic, longest):
    """The split histogram of every column, csr_array (n_components, longest + 1)."""
    # Each one as long as its largest count, because one long document would make all of them long.
    columns = ((column, min(longest, int(np.ceil(column.max(initial=0))))) for column in doc_topic.T)
    rows = Histograms.stack([_histograms(split_histogram(*each)) for each in columns])
    return csr_array((rows.counts, rows.values, rows.offsets), shape=(len(rows), longest + 1))


def _of_words(word_topic):
    """The split histogram of all expected counts of words."""
    largest, step = int(np.ceil(word_topic.max())), max(_BLOCK // word_topic.shape[1], 1)
    starts = range(0, len(word_topic), step)
    return sum(split_histogram(word_topic[first : first + step].ravel(), largest) for first in starts)


def split_histogram(means, largest):
    """How often each whole number occurs if every mean is split between the two whole numbers next to it.

    The entry of 0 is 0, because zero counts do not change the likelihood; (largest + 1,).
    """
    means = np.minimum(means, largest)
    below = means.astype(np.int64)
    above = means - below
    histogram = np.bincount(below, 1 - above, largest + 1)
    histogram += np.bincount(np.minimum(below + 1, largest), above, largest + 1)
    histogram[0] = 0
    return histogram


def _histograms(histogram):
    """`Histograms` of one draw, with weights that need not be whole numbers."""
    (values,) = np.nonzero(histogram)
    return Histograms(values, histogram[values], np.array([0, len(values)]))
