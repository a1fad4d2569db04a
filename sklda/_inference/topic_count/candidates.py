"""Which numbers of topics may be likely, by the evidence so far."""

import bisect
import itertools

import numpy as np

from sklda._inference.topic_count.evidence_by_count import EvidenceTable

# Neighbours among the first numbers of topics differ by this share of the smaller, and by one at least.
_STEP = 0.6
# A number of topics is dropped when its log posterior plus three standard errors is this many nats below the best.
_HOPELESS, _ERRORS = 8.0, 3
# Numbers of topics below this posterior probability are negligible.
_NEGLIGIBLE = 1e-3


class Candidates:
    """The numbers of topics of a scan and the evidence of each.

    Parameters
    ----------
    log_prior : dict of {int: float}
        log p(T), up to a constant, of the numbers of topics so far.
    seed : numpy.random.SeedSequence
        Seed of the draws over the errors of the evidence.

    Attributes
    ----------
    by_count : dict of {int: CountEvidence}
        Those without log weights have chains, but had no runs.
    """

    def __init__(self, log_prior, seed):
        self.log_prior, self.seed, self.by_count = dict(log_prior), seed, {}
        self._table = self._draws = None

    def __getitem__(self, T):
        return self.by_count[T]

    def __setitem__(self, T, evidence):
        self.by_count[T] = evidence
        self._table = self._draws = None

    @property
    def counts(self):
        """All numbers of topics so far, ascending."""
        return sorted(self.log_prior)

    @property
    def with_runs(self):
        """`by_count` of those with runs, by ascending number of topics."""
        return {T: each for T, each in sorted(self.by_count.items()) if each.log_weights is not None}

    def table(self):
        """`EvidenceTable` of the numbers of topics with runs."""
        if self._table is None:
            self._table = EvidenceTable.of(self.with_runs)
        return self._table

    def posterior_draws(self):
        """Draws of p(T | w) over the errors of the evidence, (n_draws, n_with_runs)."""
        if self._draws is None:
            table = self.table()
            self._draws = table.posterior_draws(self._log_prior(table.counts), self.seed)
        return self._draws

    def possible(self):
        """Numbers of topics with runs that may be likely, ascending."""
        counts, upper, least = self._upper_bounds()
        return [T for T, value in zip(counts, upper, strict=True) if self.log_prior[T] + value > least]

    def hidden(self):
        """Lists of numbers of topics without runs that may be likely, ascending, one for each gap.

        A gap lies between two neighbouring numbers of topics with runs. Those in it may be as good as the better of the
        two.
        """
        counts, upper, least = self._upper_bounds()
        gaps = {}
        for T in sorted(self.log_prior.keys() - set(counts)):
            above = bisect.bisect(counts, T)
            if self.log_prior[T] + max(upper[max(above - 1, 0) : above + 1]) > least:
                gaps.setdefault(above, []).append(T)
        return list(gaps.values())

    def between(self, share):
        """The middle one of each list of `hidden` with more members than `share` of it."""
        middles = [(gap[len(gap) // 2], len(gap)) for gap in self.hidden()]
        return [T for T, n in middles if n > share * T]

    def may_be_larger(self, log_prior):
        """Whether larger numbers of topics may be likely, if they are as good as the largest so far.

        `log_prior` is the largest log p(T) among them. If the log posterior clearly falls already, they are not.
        """
        counts, upper, least = self._upper_bounds()
        if log_prior + upper[-1] <= least:
            return False
        return log_prior > self.log_prior[counts[-1]] or not self._falls()

    def _falls(self):
        """Whether the log posterior falls twice in a row up to the largest number of topics.

        The first fall, from the best one, is larger than the error of its bias and than what makes a number hopeless.
        """
        table = self.table()
        log_posterior = self._log_prior(table.counts) + table.corrected
        best = np.argmax(log_posterior)
        if best > len(log_posterior) - 3:
            return False
        common = abs(table.common_std[-2] - table.common_std[best])
        return log_posterior[-1] < log_posterior[-2] < log_posterior[best] - _HOPELESS - common

    def likely(self):
        """Numbers of topics of more than negligible posterior probability, and all in between, ascending."""
        likely = np.array(list(self.with_runs))[self.posterior_draws().mean(axis=0) > _NEGLIGIBLE]
        return [T for T in self.counts if likely[0] <= T <= likely[-1]]

    def mode(self):
        """The most likely number of topics."""
        return list(self.with_runs)[np.argmax(self.posterior_draws().mean(axis=0))]

    def _upper_bounds(self):
        """Numbers of topics with runs, upper bounds of their log evidence, and the least log posterior to keep."""
        table = self.table()
        log_posterior = self._log_prior(table.counts) + table.corrected
        best = np.argmax(log_posterior)
        std = np.hypot(table.own_std, table.own_std[best]) + np.abs(table.common_std - table.common_std[best])
        return table.counts.tolist(), table.corrected + _ERRORS * std, log_posterior[best] - _HOPELESS

    def _log_prior(self, counts):
        return np.array([self.log_prior[T] for T in counts])


def wide_apart(counts):
    """Some of `counts`, ascending: all small ones, then with distances of up to an eighth; both ends are included."""
    chosen = counts[:1]
    for T, following in itertools.pairwise(counts[1:]):
        if following - chosen[-1] > max(1, int(_STEP * chosen[-1])):
            chosen.append(T)
    return chosen + counts[-1:] if len(counts) > 1 else chosen
