"""A scan of log p(w | T) over numbers of topics T: first short runs at distant T, then longer runs at likely T."""

import numpy as np

from sklda._inference import random
from sklda._inference.evidence import estimates
from sklda._inference.evidence.annealing import GUIDE_SWEEPS
from sklda._inference.evidence.combining import better_half_variance, chain_means
from sklda._inference.sampling.initialisation import ANNEAL_SWEEPS, initialise_chains
from sklda._inference.topic_count.candidates import Candidates, wide_apart
from sklda._inference.topic_count.evidence_by_count import NEIGHBOURS, CountEvidence, variances
from sklda._inference.topic_count.posterior import (
    ESTIMATE,
    ModelDraws,
    Posterior,
    credible_interval,
    standard_errors,
)
from sklda._inference.topic_count.pruning import first_count, prune, pruning_sweeps
from sklda._inference.topic_count.settings import default_max_sweeps

# Temperatures of the first runs.
_FIRST_TEMPERATURES = 20
# More runs are made while a posterior probability has a larger standard error than this. If the two best T differ by
# three standard errors of their difference, it is 0.037.
_LARGEST_ERROR = 0.03
# More chains are made, not longer runs, if the variance between chains is more than this many times the variance that
# their runs explain.
_CHAINS_DISAGREE = 2
# Draws are kept for numbers of topics with at least this posterior probability.
_LEAST_PROBABILITY = 1e-9


class _StopRequested(Exception):
    """A callback asked to stop."""


class Scan:
    """Estimates of log p(w | T) for a range of T, and the posterior that follows.

    Parameters
    ----------
    corpus : Corpus
    rule : PriorRule
        alpha and eta at each number of topics, equal for all its topics.
    prior : CountPrior
        p(T), and the range.
    settings : Settings
        Settings of the runs at likely T.
    n_chains : int
        Independent prunings, and at likely T as many annealed chains.
    max_sweeps : int or None
        Sweeps after which no new round begins; None: the default for the corpus.
    seed : numpy.random.SeedSequence
    n_jobs : int, default=None
    report : callable
        Called with a line of text after every stage. The scan ends if it returns True.

    Attributes
    ----------
    candidates : Candidates
        The evidence of each number of topics.
    trace : list of (int, int, int, float)
        Number of topics, chain, sweeps and log weight of every run.
    n_sweeps : int
        Sweeps so far, all chains together.
    """

    def __init__(self, corpus, rule, prior, settings, *, n_chains, max_sweeps, seed, n_jobs=None, report):
        self.corpus, self.rule, self.prior, self.settings = corpus, rule, prior, settings
        self.n_chains = n_chains
        self.max_sweeps = default_max_sweeps(corpus) if max_sweeps is None else max_sweeps
        self.seed, self.n_jobs, self.report = seed, n_jobs, report
        self.candidates = Candidates(prior.first, random.child(seed, 2))
        self.trace, self.n_sweeps, self._n_prunings, self._n_rounds = [], 0, 0, 0

    @property
    def annealed(self):
        """Whether the method is annealing, whose estimates improve with more temperatures."""
        return self.settings.method in estimates.ANNEALED

    def run(self):
        """Estimate the evidence over the range, then more precisely at likely T.

        Returns
        -------
        Posterior
        """
        try:
            self._run()
        except _StopRequested:
            pass
        return self.result()

    def _run(self):
        self._first_runs(sorted(self.prior.first))
        while (last := max(self.candidates.counts)) in self.candidates.possible():
            wider = self.prior.wider(last)
            if not wider:
                break
            self.candidates.log_prior |= wider
            self._first_runs(sorted(wider))
        if self.annealed:
            self._longer_runs()
            self._full_runs(self._near_the_likely())
            while self.candidates.posterior_draws().std(axis=0).max() > _LARGEST_ERROR:
                if not self._refine(self.candidates.likely()):
                    break

    def _first_runs(self, counts):
        """Chains for new numbers of topics, and first runs: at some of them, then at all that may be likely."""
        self._prune(counts, self.n_chains)
        if not self.annealed:
            self._round(counts, [0] * self.settings.n_runs)
            return
        first = min(_FIRST_TEMPERATURES, self.settings.n_temperatures)
        some = wide_apart(counts)
        while some:
            self._round(some, [max(first // 2, 1), first])
            some = self.candidates.possible_between()

    def _longer_runs(self):
        """Double the length of the runs while this excludes some numbers of topics."""
        temperatures = min(_FIRST_TEMPERATURES, self.settings.n_temperatures)
        possible = self.candidates.possible()
        while 2 * temperatures < self.settings.n_temperatures:
            temperatures, before = 2 * temperatures, possible
            self._round(possible, [temperatures])
            possible = self.candidates.possible()
            if possible == before:
                break

    def _near_the_likely(self):
        """Likely numbers of topics, a neighbour on either side, and the neighbours that give the errors of the mode.

        Short runs may miss a likely T next to others.
        """
        counts, likely = self.candidates.counts, self.candidates.likely()
        mode = counts.index(self.candidates.mode())
        first = min(mode - NEIGHBOURS, counts.index(likely[0]) - 1)
        last = max(mode + NEIGHBOURS, counts.index(likely[-1]) + 1)
        return counts[max(first, 0) : last + 1]

    def _full_runs(self, counts):
        """Annealed chains, and runs of full length from all chains."""
        self._anneal(counts, self.n_chains)
        self._round(counts, [self.settings.n_temperatures] * self.settings.n_runs)

    def _refine(self, likely):
        """Make more chains if they disagree, otherwise longer runs; return False if `max_sweeps` does not allow it.

        Dropped numbers of topics that are likely after all, by better estimates of others, get full runs first.
        """
        if self.n_sweeps > self.max_sweeps:
            return False
        n_runs = self.settings.n_runs
        dropped = [T for T in likely if self.candidates[T].temperatures < self.settings.n_temperatures]
        if dropped:
            self._full_runs(dropped)
            return True
        temperatures = max(self.candidates[T].temperatures for T in likely)
        n_chains = max(len(self.candidates[T].states) for T in likely)
        disagree = self._chains_disagree(likely)
        n_temperatures = temperatures if disagree else 2 * temperatures
        sweeps = estimates.sweeps_per_run(self.corpus, self.settings.method, n_runs * n_temperatures)
        if self.n_sweeps + len(likely) * n_chains * sweeps > self.max_sweeps:
            return False
        if disagree:
            self._prune(likely, n_chains // 2)
            self._anneal(likely, n_chains - n_chains // 2)
            self._round(likely, [temperatures] * n_runs, slice(-n_chains, None))
        else:
            self._round(likely, [n_temperatures] * n_runs)
        return True

    def _chains_disagree(self, counts):
        """Whether the variance between chains is larger than their runs explain."""
        with_runs = self.candidates.with_runs
        within = variances(with_runs)[0][np.isin(list(with_runs), counts)].mean()
        between, _ = better_half_variance([chain_means(with_runs[T].log_weights) for T in counts])
        return between > _CHAINS_DISAGREE * within / self.settings.n_runs

    def _prune(self, counts, n_chains):
        """Add pruned chains for the numbers of topics `counts`."""
        seeds = [random.child(self.seed, 0, self._n_prunings + p) for p in range(n_chains)]
        self._n_prunings += n_chains
        priors, states = prune(self.corpus, self.rule, counts, seeds, self.n_jobs)
        for T in counts:
            known = self.candidates.by_count.get(T) or CountEvidence(priors[T], [])
            self.candidates[T] = known.with_chains(states[T])
        self.n_sweeps += n_chains * pruning_sweeps(counts)
        self._end_stage(f"{n_chains} chains pruned from {first_count(counts)} topics to {min(counts)}")

    def _anneal(self, counts, n_chains):
        """Add annealed chains for the numbers of topics `counts`. With few topics they find better modes."""
        for T in counts:
            known = self.candidates[T]
            seeds = [random.child(self.seed, 4, len(known.states) + c, T) for c in range(n_chains)]
            chains = initialise_chains(self.corpus, known.priors, seeds, ["anneal"] * n_chains, self.n_jobs)
            self.candidates[T] = known.with_chains([chain.state().compact(T) for chain in chains])
        self.n_sweeps += n_chains * len(counts) * ANNEAL_SWEEPS
        self._end_stage(f"{n_chains} annealed chains for {_range(counts)}")

    def _round(self, counts, temperatures, only=slice(None)):
        """Make runs for the numbers of topics `counts`, from all chains, or from the chains `only`."""
        targets = []
        for T in counts:
            known, seed = self.candidates[T], random.child(self.seed, 1, self._n_rounds, T)
            targets.append(estimates.Target(known.priors, known.states[only], seed))
        self._n_rounds += 1
        method, n_inner = self.settings.method, self.settings.n_inner
        options = {"method": method, "temperatures": temperatures, "n_inner": n_inner, "n_jobs": self.n_jobs}
        found = estimates.estimate(self.corpus, targets, **options)
        sweeps = [n or n_inner for n in temperatures]
        for T, each in zip(counts, found, strict=True):
            known = self.candidates[T]
            first = len(known.states) - len(each.states)
            for c, row in enumerate(each.log_weights, start=first):
                self.trace += [(T, c, n, log_weight) for n, log_weight in zip(sweeps, row, strict=True)]
            own = estimates.sweeps_per_run(self.corpus, method, sum(sweeps)) + GUIDE_SWEEPS
            self.n_sweeps += len(each.states) * own
            self.candidates[T] = known.with_runs(each, temperatures)
        longest = max(sweeps)
        runs = f"{sweeps.count(longest)} x {longest} sweeps from each of {len(found[-1].states)} chains"
        self._end_stage(f"{_range(counts)}, {runs}")

    def _end_stage(self, text):
        if self.report(text) and self.candidates.with_runs:
            raise _StopRequested

    def result(self):
        """`Posterior` by the runs so far."""
        table, draws = self.candidates.table(), self.candidates.posterior_draws()
        seen, probability = table.counts, draws.mean(axis=0)
        counts = np.array(self.candidates.counts)
        has_runs = np.isin(counts, seen)

        def of_all(values, elsewhere):
            full = np.full(len(counts), elsewhere)
            full[has_runs] = values
            return full

        kept = [(int(T), self.candidates[T]) for T in seen[probability > _LEAST_PROBABILITY]]
        return Posterior(
            counts,
            of_all(probability, 0.0),
            of_all(standard_errors(draws), 0.0),
            credible_interval(seen, probability),
            *(of_all(values, np.nan) for values in (table.value, table.std, table.downward_bias)),
            np.array(self.trace, ESTIMATE),
            {T: ModelDraws(each.priors, each.states, each.ends, each.log_weights.ravel()) for T, each in kept},
            self.n_sweeps,
        )


def _range(counts):
    return f"{len(counts)} numbers of topics from {min(counts)} to {max(counts)}"
