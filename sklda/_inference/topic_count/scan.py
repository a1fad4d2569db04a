"""The posterior over the number of topics: a scan of the evidence, from above."""

import bisect
import itertools
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from sklda._inference import random
from sklda._inference.evidence import annealing as evidence
from sklda._inference.evidence import combining as log_mean
from sklda._inference.parallel import side_by_side
from sklda._inference.sampling.initialisation import ANNEAL_SWEEPS, longest_start, merge, start_chains
from sklda._inference.topic_count.evidence_by_count import (
    NEIGHBOURS,
    Level,
    Table,
    credible_interval,
    deviation,
    variances,
)

# Pruning: topics at first, relative to the most that are asked for; restarts and their sweeps; sweeps after a merge.
_FROM_ABOVE, _RESTARTS, _FIRST_SWEEPS, _BETWEEN = 1.4, 2, 100, 15
# Temperatures of the first look; and numbers of topics are first looked at with at most this share of them in between.
_FIRST_TEMPERATURES, _BETWEEN_LOOKS = 20, 1 / 8
# A number of topics is given up when at best it is this many nats below the best.
_HOPELESS = 20.0
# Effort goes on while a posterior probability has a larger standard error, for numbers of topics at least this likely.
# It is 0.037 where the two best are three standard errors of their difference apart.
_VAGUE, _NEGLIGIBLE = 0.03, 1e-3
# Draws are kept for numbers of topics at least this likely.
_UNLIKELY = 1e-9


@dataclass(frozen=True, eq=False)
class Result:
    """The posterior over the number of topics, with its error.

    Attributes
    ----------
    counts : ndarray of shape (n_counts,)
        Numbers of topics, ascending.
    posterior, posterior_std : ndarray of shape (n_counts,)
    interval : tuple of (int, int)
        Credible interval of 0.95, over the Monte Carlo error as well.
    log_evidence, log_evidence_std, log_evidence_shortfall : ndarray of shape (n_counts,)
        NaN where nothing was estimated.
    runs : ndarray of shape (n_runs,)
        Fields ``n_components``, ``pilot``, ``n_sweeps``, ``log_evidence``.
    draws : dict of {int: (Priors, list of ChainState, list of ChainState, ndarray)}
        For likely numbers of topics: priors, pilots, draws of z, and the log weights of these.
    n_sweeps : int
    """

    counts: np.ndarray
    posterior: np.ndarray
    posterior_std: np.ndarray
    interval: tuple
    log_evidence: np.ndarray
    log_evidence_std: np.ndarray
    log_evidence_shortfall: np.ndarray
    runs: np.ndarray
    draws: dict
    n_sweeps: int


RUN = np.dtype([("n_components", int), ("pilot", int), ("n_sweeps", int), ("log_evidence", float)])


class _Stopped(Exception):
    """A callback asked to stop."""


class Scan:
    """log p(w | T) for a range of T: wide apart at first, then those that matter.

    Parameters
    ----------
    corpus : Corpus
    priors_of : callable
        Priors for a number of topics; topics have equal ones.
    log_prior : dict of {int: float}
        log p(T), up to a constant, of the numbers of topics to look at.
    method : str
        One of `evidence.METHODS`.
    n_temperatures, n_runs, n_inner : int
        As in `evidence.run_pilots`, for the numbers of topics that matter.
    n_pilots : int
        Independent prunings, and annealed starts where it matters.
    budget : int
        Sweeps after which no new round begins.
    seed : numpy.random.SeedSequence
    n_jobs : int, default=None
    report : callable
        Called with a line of text after every round; the scan ends there when it returns True.

    Attributes
    ----------
    levels : dict of {int: Level}
        Those without log weights were passed over: neither neighbour that was looked at came near the best.
    runs : list of (int, int, int, float)
        Number of topics, pilot, sweeps and log weight of every run.
    spent : int
        Sweeps so far.
    """

    def __init__(
        self,
        corpus,
        priors_of,
        log_prior,
        *,
        method,
        n_temperatures,
        n_runs,
        n_inner,
        n_pilots,
        budget,
        seed,
        n_jobs,
        report,
    ):
        self.corpus, self.priors_of, self.log_prior = corpus, priors_of, dict(log_prior)
        self.method, self.n_temperatures, self.n_runs, self.n_inner = method, n_temperatures, n_runs, n_inner
        self.n_pilots, self.budget, self.seed, self.n_jobs, self.report = n_pilots, budget, seed, n_jobs, report
        self.levels, self.runs, self.spent, self._prunings, self._rounds = {}, [], 0, 0, 0

    def run(self, limit=None, log_prior_of=None):
        """Look over the range, then at what matters.

        With `limit` the range is widened up to there while its end is not hopeless; ``log_prior_of(counts)`` is then
        log p(T) of the new ones, as a dict.
        """
        try:
            self._run(limit, log_prior_of)
        except _Stopped:
            pass

    def _run(self, limit, log_prior_of):
        self._look(sorted(self.log_prior))
        while limit is not None and max(self.levels) < limit and max(self.levels) in self._alive():
            last = max(self.levels)
            wider = log_prior_of(range(last + 1, min(ceil(1.5 * last), limit) + 1))
            if not wider:
                break
            self.log_prior |= wider
            self._look(sorted(wider))
        if self.method not in evidence.ANNEALED:
            return
        temperatures, alive = min(_FIRST_TEMPERATURES, self.n_temperatures), self._alive()
        while 2 * temperatures < self.n_temperatures:
            temperatures, before = 2 * temperatures, alive
            self._round(alive, [temperatures])
            alive = self._alive()
            if alive == before:
                # Longer looks would give up nothing either.
                break
        # The neighbours too: of the mode, for they are what it is compared with, and of all, for short looks miss some.
        counts, likely = sorted(self.levels), self._likely()
        mode = counts.index(list(self._seen())[np.argmax(self.posterior().mean(axis=0))])
        first = min(mode - NEIGHBOURS, counts.index(likely[0]) - 1)
        last = max(mode + NEIGHBOURS, counts.index(likely[-1]) + 1)
        self._settle(counts[max(first, 0) : last + 1])
        while self.posterior().std(axis=0).max() > _VAGUE and self._refine(self._likely()):
            pass

    def _settle(self, counts):
        """Runs of full length, and from annealed starts as well."""
        self._anneal(counts, self.n_pilots)
        self._round(counts, [self.n_temperatures] * self.n_runs)

    def _seen(self):
        """The levels with runs, by ascending number of topics."""
        return {T: self.levels[T] for T in sorted(self.levels) if self.levels[T].log_weights is not None}

    def _likely(self):
        """Numbers of topics that matter to the posterior as far as it is known, and those in between, ascending."""
        likely = np.array(list(self._seen()))[self.posterior().mean(axis=0) > _NEGLIGIBLE]
        return [T for T in sorted(self.levels) if likely[0] <= T <= likely[-1]]

    def _look(self, counts):
        """Pilots for numbers of topics not seen yet, and first runs: of some, then of all near which it may be best."""
        self._prune(counts, self.n_pilots)
        if self.method not in evidence.ANNEALED:
            self._round(counts, [0] * self.n_runs)
            return
        first = min(_FIRST_TEMPERATURES, self.n_temperatures)
        looks = wide_apart(counts)
        while looks:
            self._round(looks, [max(first // 2, 1), first])
            looks = self._between()

    def _prune(self, counts, n_pilots):
        """Add pilots to the levels `counts`."""
        first = _above(counts)
        seeds = [random.child(self.seed, 0, self._prunings + p) for p in range(n_pilots)]
        self._prunings += n_pilots
        priors, pilots = prunings(self.corpus, self.priors_of, counts, seeds, self.n_jobs)
        for T in counts:
            level = self.levels.get(T) or Level(priors[T], [])
            self.levels[T] = replace(level, states=[*level.states, *(states[T] for states in pilots)])
        self.spent += n_pilots * (_RESTARTS * _FIRST_SWEEPS + _BETWEEN * (first - min(counts)))
        self._end(f"{n_pilots} prunings from {first} topics to {min(counts)}")

    def _anneal(self, counts, n_pilots):
        """Add pilots to the levels `counts` whose priors were annealed: with few topics these find better modes."""
        for T in counts:
            level = self.levels[T]
            seeds = [random.child(self.seed, 4, len(level.states) + p, T) for p in range(n_pilots)]
            chains = start_chains(self.corpus, level.priors, seeds, ["anneal"] * n_pilots, self.n_jobs)
            states = [chain.snapshot().small(T) for chain in chains]
            self.levels[T] = replace(level, states=[*level.states, *states])
        self.spent += n_pilots * len(counts) * ANNEAL_SWEEPS
        self._end(f"{n_pilots} annealed starts for {len(counts)} numbers of topics from {min(counts)} to {max(counts)}")

    def _round(self, counts, temperatures, only=slice(None)):
        """Runs for the levels `counts`, from all pilots, or from the pilots `only` to add to those of the others.

        The longest of `temperatures` replace what was there; shorter ones say what length is worth.
        """
        targets = [
            (self.levels[T].priors, self.levels[T].states[only], random.child(self.seed, 1, self._rounds, T))
            for T in counts
        ]
        self._rounds += 1
        found = evidence.run_pilots(
            self.corpus,
            targets,
            method=self.method,
            temperatures=temperatures,
            n_inner=self.n_inner,
            n_jobs=self.n_jobs,
        )
        long = np.array(temperatures) == max(temperatures)
        sweeps = [n or self.n_inner for n in temperatures]
        for T, (log_weights, ends, left_out, states) in zip(counts, found, strict=True):
            level = self.levels[T]
            first = len(level.states) - len(states)
            self.runs += [
                (T, first + p, n, each)
                for p, row in enumerate(log_weights)
                for n, each in zip(sweeps, row, strict=True)
            ]
            each = evidence.sweeps_of(self.corpus, self.method, sum(sweeps)) + evidence.GUIDE_SWEEPS
            self.spent += len(states) * each
            shorter = level.log_weights if long.all() else log_weights[:, ~long]
            log_weights = log_weights[:, long]
            ends = tuple(itertools.compress(ends, np.tile(long, len(states))))
            if first:
                level = replace(
                    level,
                    states=[*level.states[:first], *states],
                    log_weights=np.concatenate([level.log_weights, log_weights]),
                    ends=(*level.ends, *ends),
                    left_out=max(level.left_out, left_out),
                )
            else:
                shorter = -np.inf if shorter is None else log_mean.combine(shorter)[0]
                level = Level(level.priors, states, max(temperatures), log_weights, ends, left_out, shorter)
            self.levels[T] = level
        each = f"{sum(long)} x {max(sweeps)} sweeps from each of {len(states)} pilots"
        self._end(f"{len(counts)} numbers of topics from {min(counts)} to {max(counts)}, {each}")

    def _end(self, text):
        if self.report(text) and self._seen():
            raise _Stopped

    def _refine(self, alive):
        """More pilots where they disagree, longer runs otherwise; False when the budget does not allow it.

        What was given up, but turns out to be likely as the others are known better, gets its full runs first.
        """
        if self.spent > self.budget:
            return False
        passed_over = [T for T in alive if self.levels[T].temperatures < self.n_temperatures]
        if passed_over:
            self._settle(passed_over)
            return True
        temperatures = max(self.levels[T].temperatures for T in alive)
        n_pilots = max(len(self.levels[T].states) for T in alive)
        seen = self._seen()
        within = variances(seen)[0][np.isin(list(seen), alive)].mean()
        apart, _ = log_mean.better_half([log_mean.pilots(self.levels[T].log_weights) for T in alive])
        disagree = apart > 2 * within / self.n_runs
        n_temperatures = temperatures if disagree else 2 * temperatures
        sweeps = evidence.sweeps_of(self.corpus, self.method, self.n_runs * n_temperatures)
        if self.spent + len(alive) * n_pilots * sweeps > self.budget:
            return False
        if disagree:
            self._prune(alive, n_pilots // 2)
            self._anneal(alive, n_pilots - n_pilots // 2)
            self._round(alive, [temperatures] * self.n_runs, slice(-n_pilots, None))
        else:
            self._round(alive, [n_temperatures] * self.n_runs)
        return True

    def _alive(self):
        """Numbers of topics that may still be likely, ascending."""
        counts, reach, least = self._reach()
        return [T for T, value in zip(counts, reach, strict=True) if self.log_prior[T] + value > least]

    def _between(self):
        """Numbers of topics passed over so far that may be likely if as good as a neighbour, ascending."""
        counts, reach, least = self._reach()
        looks = []
        for T in sorted(self.levels.keys() - set(counts)):
            above = bisect.bisect(counts, T)
            if self.log_prior[T] + max(reach[above - 1 : above + 1]) > least:
                looks.append(T)
        return looks

    def _reach(self):
        """Numbers of topics seen, their log evidence at best, and the log posterior from which on one counts."""
        table = self.table()
        hope = self._log_prior(table.counts) + table.best
        best = np.argmax(hope)
        doubt = np.hypot(table.own, table.own[best]) + np.abs(table.common - table.common[best])
        return table.counts.tolist(), table.best + 3 * doubt, hope[best] - _HOPELESS

    def _log_prior(self, counts):
        return np.array([self.log_prior[T] for T in counts])

    def table(self):
        """The evidence of the numbers of topics seen."""
        return Table.of(self._seen())

    def posterior(self):
        """Draws of p(T | w) over the error of the evidence, (n_draws, n_seen)."""
        table = self.table()
        return table.posterior(self._log_prior(table.counts), random.child(self.seed, 2))

    def result(self):
        """What the scan has found."""
        table, draws = self.table(), self.posterior()
        seen, posterior = table.counts, draws.mean(axis=0)
        likely = seen[posterior > _UNLIKELY]
        counts = np.array(sorted(self.levels))
        known = np.isin(counts, seen)

        def spread(values, elsewhere):
            full = np.full(len(counts), elsewhere)
            full[known] = values
            return full

        return Result(
            counts,
            spread(posterior, 0.0),
            spread(deviation(draws), 0.0),
            credible_interval(seen, posterior),
            *(spread(values, np.nan) for values in (table.value, table.std, table.shortfall)),
            np.array(self.runs, RUN),
            {
                int(T): (level.priors, level.states, level.ends, level.log_weights.ravel())
                for T, level in ((T, self.levels[T]) for T in likely)
            },
            self.spent,
        )


def prunings(corpus, priors_of, counts, seeds, n_jobs=None):
    """Chains pruned from above, independent of each other, and where they were at the numbers of topics in `counts`.

    Returns
    -------
    priors : dict of {int: Priors}
        For each number of topics: `priors_of` it, or where these are learnt, the mean over the prunings of log eta and
        of log alpha.
    pilots : list of dict of {int: ChainState}
        One a seed.
    """
    found = side_by_side(_pruning, [(corpus, priors_of, counts, seed) for seed in seeds], n_jobs)
    priors = {T: priors_of.mean([rules[T] for _, rules in found])(T) for T in counts}
    return priors, [states for states, _ in found]


def wide_apart(counts):
    """Some of `counts`, ascending: all small ones, then with up to an eighth of them in between; and both ends."""
    chosen = counts[:1]
    for T, following in itertools.pairwise(counts[1:]):
        if following - chosen[-1] > max(1, int(_BETWEEN_LOOKS * chosen[-1])):
            chosen.append(T)
    return chosen + counts[-1:] if len(counts) > 1 else chosen


def _above(counts):
    """How many topics a pruning starts with."""
    return max(ceil(_FROM_ABOVE * max(counts)), max(counts) + 1)


def _pruning(corpus, rule, counts, seed, stop):
    seeds = [random.child(seed, r) for r in range(_RESTARTS)]
    chain = longest_start(corpus, rule(_above(counts)), seeds, _FIRST_SWEEPS, stop)
    states, rules = {}, {}
    while True:
        rule = rule.learn(chain)
        T = chain.priors.n_components
        if T in counts:
            states[T] = chain.snapshot().small(T)
            rules[T] = rule
        if min(counts) == T:
            break
        chain = merge(chain, rule(T - 1), _BETWEEN, stop)
    return states, rules
