"""gamma of compound LDA, the doc_concentration: learnt by Gibbs-EM from the mixtures and the topics of the tokens."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from sklda._core.count_histograms import Histograms
from sklda._core.newton import newton_on_log
from sklda._kernels import _compound
from sklda._models.compound.mixtures import Mixtures
from sklda._sampling.mixture_step import LEARNT_GAMMA


@dataclass(frozen=True, eq=False)
class TailCounts:
    """For each collection and topic: the number of documents with more than i tokens of the topic, i = 0, 1, ...

    p(z | pi, gamma) depends on z through these counts only. For collection j and topic k, with a = gamma pi_jk, the sum
    over documents of log Gamma(a + n_dk) - log Gamma(a) is the sum over i of ``documents * log(a + i)``.

    Attributes
    ----------
    cells : ndarray of shape (n_entries,), int64
        j * n_components + k, ascending.
    steps : ndarray of shape (n_entries,), int64
        i.
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


class GammaMStep:
    """The M-step of a `Learner`: the gamma that maximises the mean of log p(z | pi, gamma) over draws."""

    def present(self, chain):
        """log gamma, (1,)."""
        return np.log([chain.step(Mixtures).gamma])

    def set(self, chain, log_h):
        mixtures = chain.step(Mixtures)
        mixtures.gamma = float(np.exp(log_h[0]))
        mixtures.set_alpha(chain)

    def scales(self, log_h):
        """log gamma, (1,)."""
        return log_h

    def with_scales(self, log_h, scales):
        """`scales` within the bounds."""
        return np.clip(scales, *np.log(LEARNT_GAMMA))

    def statistics(self, chain):
        """`GammaStatistics` of the present draw."""
        mixtures = chain.step(Mixtures)
        tails = tails_of(chain, mixtures)
        lengths = Histograms.from_dense(chain.corpus.length_histogram)
        return GammaStatistics(tails, mixtures.pi.ravel()[tails.cells], lengths)

    def maximum(self, draws, log_h):
        """log gamma at the maximum, by Newton's method from `log_h`."""
        return np.array([newton_on_log(partial(_log_topics, draws), log_h[0], LEARNT_GAMMA)])


@dataclass(frozen=True, eq=False)
class GammaStatistics:
    """The statistics of one draw of (pi, z) on which gamma depends.

    Attributes
    ----------
    tails : TailCounts
    pi : ndarray of shape (n_entries,)
        pi_jk of the cell of each entry of `tails`.
    lengths : Histograms
    """

    tails: TailCounts
    pi: np.ndarray
    lengths: Histograms

    def log_topics(self, gamma, order=0):
        """log p(z | pi, gamma) without what gamma does not change, or its derivative with respect to log gamma."""
        i, documents = self.tails.steps, self.tails.documents
        total = self.lengths.sum_of_log_rising(gamma, order)[0, 0]
        later = i > 0
        a = gamma * self.pi[later]
        first, documents = documents[~later].sum(), documents[later]
        if order == 0:
            return first * np.log(gamma[0]) + documents @ np.log(a + i[later]) - total
        share = a / (a + i[later])
        return first + documents @ share - total if order == 1 else documents @ (share * (1 - share)) - total


def _log_topics(draws, gamma, order):
    return [draw.log_topics(gamma, order) for draw in draws]


def tails_of(chain, mixtures):
    """`TailCounts` of the present draw of a chain."""
    scratch = np.empty(mixtures.log_pi.shape[1], np.int32)
    return TailCounts.count(chain.corpus, chain.topics, mixtures.collections, mixtures.log_pi.shape, scratch)
