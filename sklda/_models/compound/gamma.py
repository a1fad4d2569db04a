"""gamma of compound LDA, the doc_concentration: learnt by Gibbs-EM from the mixtures and the topics of the tokens."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from sklda._core.count_histograms import Histograms
from sklda._core.newton import newton_on_log
from sklda._models.compound.hyperparameters import LEARNT_GAMMA
from sklda._models.compound.mixtures import Mixtures, TailCounts


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
        tails = mixtures.tails(chain)
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
