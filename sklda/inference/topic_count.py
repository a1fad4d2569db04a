"""The posterior over the number of topics: a scan of evidence from above, and pseudo-marginal Metropolis-Hastings."""

import itertools
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from scipy.special import logsumexp

from sklda.inference import evidence, random
from sklda.inference.chain import ChainState, side_by_side
from sklda.inference.priors import Priors
from sklda.inference.starts import longest_start, merge

# Pruning: topics at first, relative to the most that are asked for; restarts and their sweeps; sweeps after a merge.
_FROM_ABOVE, _RESTARTS, _FIRST_SWEEPS, _BETWEEN = 1.4, 2, 100, 15
# Temperatures of the first look at every number of topics.
_FIRST_TEMPERATURES = 20
# A number of topics is given up when at best it is this many nats below the best.
_HOPELESS = 20.0
# Effort goes on while a posterior probability has a larger standard error.
_VAGUE = 0.05
# Variances are pooled over this many neighbours on either side.
_NEIGHBOURS = 2
_DRAWS = 4000
# States of z that pseudo-marginal Metropolis-Hastings keeps for each number of topics.
_KEPT = 16


@dataclass(frozen=True, eq=False)
class PriorRule:
    """The priors for any number of topics, the same for all topics.

    Attributes
    ----------
    doc_topic_prior : float or None
        alpha; None: one over the number of topics.
    topic_word_prior : float, ndarray of shape (n_features,) or None
        eta, likewise.
    n_features : int
    """

    doc_topic_prior: float
    topic_word_prior: object
    n_features: int

    def __call__(self, n_components):
        values = self.values(n_components)
        return Priors.make(values["doc_topic_prior"], values["topic_word_prior"], n_components, self.n_features)

    def values(self, n_components):
        """The two priors by name."""
        given = {name: getattr(self, name) for name in ("doc_topic_prior", "topic_word_prior")}
        return {name: 1 / n_components if value is None else value for name, value in given.items()}

    def learn(self, chain):
        """The rule that goes on from `chain`; this one learns nothing."""
        return self

    def mean(self, rules):
        return self


@dataclass(frozen=True, eq=False)
class Level:
    """What is known about one number of topics.

    Attributes
    ----------
    priors : Priors
    states : list of ChainState
        The pilots'.
    temperatures : int
        Length of the longest runs so far, which the next three are about.
    log_weights : ndarray of shape (n_pilots, n_runs)
    ends : list of ChainState
        Where the runs ended, pilot by pilot.
    left_out : float
    shorter : float
        Log evidence by half as many temperatures; -inf where there were none.
    """

    priors: object
    states: list
    temperatures: int = 0
    log_weights: np.ndarray = None
    ends: tuple = ()
    left_out: float = 0.0
    shorter: float = -np.inf


class _Stopped(Exception):
    """A callback asked to stop."""


class Scan:
    """log p(w | T) for a range of T: every T at first, then those that matter.

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
        Independent prunings.
    budget : int
        Sweeps after which no new round begins.
    seed : numpy.random.SeedSequence
    n_jobs : int, default=None
    report : callable
        Called with a line of text after every round; the scan ends there when it returns True.

    Attributes
    ----------
    levels : dict of {int: Level}
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

    def run(self, limit=None):
        """Look at every number of topics, wider while the end of the range is not hopeless, up to `limit`."""
        try:
            self._run(limit)
        except _Stopped:
            pass

    def _run(self, limit):
        self._look(sorted(self.log_prior))
        while limit is not None and max(self.levels) < limit and max(self.levels) in self._alive():
            last = max(self.levels)
            wider = range(last + 1, min(ceil(1.5 * last), limit) + 1)
            self.log_prior |= dict.fromkeys(wider, self.log_prior[last])
            self._look(list(wider))
        if self.method not in evidence.ANNEALED:
            return
        temperatures, alive = min(_FIRST_TEMPERATURES, self.n_temperatures), self._alive()
        while temperatures < self.n_temperatures:
            temperatures = min(2 * temperatures, self.n_temperatures)
            self._round(alive, [temperatures] * (self.n_runs if temperatures == self.n_temperatures else 1))
            alive = self._alive()
        while self.posterior()[1].max() > _VAGUE:
            if not self._refine(alive):
                break
            alive = self._alive()

    def _look(self, counts):
        """Pilots for numbers of topics not seen yet, and their first runs."""
        self._prune(counts, self.n_pilots)
        if self.method in evidence.ANNEALED:
            first = min(_FIRST_TEMPERATURES, self.n_temperatures)
            self._round(counts, [max(first // 2, 1), first])
        else:
            self._round(counts, [0] * self.n_runs)

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
            self.spent += len(states) * (sum(sweeps) + evidence.GUIDE_SWEEPS)
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
                shorter = -np.inf if shorter is None else evidence.combine(shorter)[0]
                level = Level(level.priors, states, max(temperatures), log_weights, ends, left_out, shorter)
            self.levels[T] = level
        each = f"{sum(long)} x {max(sweeps)} sweeps from each of {len(states)} prunings"
        self._end(f"{len(counts)} numbers of topics from {min(counts)} to {max(counts)}, {each}")

    def _end(self, text):
        known = all(level.log_weights is not None for level in self.levels.values())
        if self.report(text) and known:
            raise _Stopped

    def _refine(self, alive):
        """More pilots where they disagree, longer runs otherwise; False when the budget does not allow it."""
        levels = [self.levels[T] for T in alive]
        temperatures = max(level.temperatures for level in levels)
        n_pilots = max(len(level.states) for level in levels)
        variance, spread = (np.mean(v) for v in zip(*(self._variances(T) for T in alive), strict=True))
        disagree = spread > 2 * variance / self.n_runs
        n_temperatures = temperatures if disagree else 2 * temperatures
        sweeps = len(alive) * n_pilots * self.n_runs * n_temperatures
        if self.spent + sweeps > self.budget:
            return False
        if disagree:
            self._prune(alive, n_pilots)
            self._round(alive, [temperatures] * self.n_runs, slice(-n_pilots, None))
        else:
            self._round(alive, [n_temperatures] * self.n_runs)
        return True

    def _alive(self):
        """Numbers of topics that may still be likely, ascending."""
        values = {T: evidence.combine(level.log_weights) for T, level in self.levels.items()}
        best = max(self.log_prior[T] + value[0] for T, value in values.items())
        alive = []
        for T, (value, std, shortfall) in values.items():
            # Twice what the last doubling gained, and what pilots may differ by.
            gain = value - self.levels[T].shorter
            hope = max(2 * gain if np.isfinite(gain) else 0.0, shortfall) + 3 * (0 if np.isnan(std) else std)
            if self.log_prior[T] + value + hope > best - _HOPELESS:
                alive.append(T)
        return sorted(alive)

    def _variances(self, T):
        """Variance between runs of one pilot, and between pilots, pooled over neighbours with runs as long."""
        counts = sorted(self.levels)
        here = counts.index(T)
        near = [self.levels[t] for t in counts[max(here - _NEIGHBOURS, 0) : here + _NEIGHBOURS + 1]]
        near = [level for level in near if level.temperatures == self.levels[T].temperatures]
        within = [level.log_weights.var(axis=1, ddof=1).mean() for level in near if level.log_weights.shape[1] > 1]
        between = [evidence.pilots(level.log_weights).var(ddof=1) for level in near if len(level.log_weights) > 1]
        return np.mean(within or [0.0]), np.mean(between or [0.0])

    def table(self):
        """Numbers of topics, log evidence, its standard error, and by how much it is probably too low."""
        counts, rows = sorted(self.levels), []
        for T in counts:
            level = self.levels[T]
            value, std, shortfall = evidence.combine(level.log_weights, *self._variances(T))
            if level.log_weights.shape[1] == 1 and np.isfinite(level.shorter):
                # Short runs are not repeated: what half as many temperatures lost tells what is lost still.
                shortfall = max(value - level.shorter, 0.0)
                std = np.hypot(np.nan_to_num(std), shortfall / 2)
            rows.append((value, std, shortfall))
        return np.array(counts), *np.array(rows).T

    def posterior(self):
        """p(T | w), its standard error, and draws of it over the error of the evidence, (_DRAWS, n_counts)."""
        counts, value, std, shortfall = self.table()
        log_prior = np.array([self.log_prior[T] for T in counts])
        rng = np.random.default_rng(random.child(self.seed, 2))
        noise = np.nan_to_num(std) * rng.standard_normal((_DRAWS, len(counts)))
        log_posterior = log_prior + value + shortfall + np.concatenate([np.zeros((1, len(counts))), noise])
        posterior = np.exp(log_posterior - logsumexp(log_posterior, axis=1, keepdims=True))
        return posterior[0], posterior[1:].std(axis=0), posterior[1:]


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


def _above(counts):
    """How many topics a pruning starts with."""
    return max(ceil(_FROM_ABOVE * max(counts)), max(counts) + 1)


def _pruning(corpus, rule, counts, seed, stop):
    seeds = [random.child(seed, r) for r in range(_RESTARTS)]
    chain = longest_start(corpus, rule(_above(counts)), seeds, _FIRST_SWEEPS, stop)
    states, rules = {}, {}
    while not stop():
        rule = rule.learn(chain)
        T = chain.priors.n_components
        if T in counts:
            # In as few bytes as topics take, for there is one state for every number of topics.
            states[T] = ChainState(chain.topics.astype(np.min_scalar_type(T)), chain.stream.copy())
            rules[T] = rule
        if min(counts) == T:
            break
        chain = merge(chain, rule(T - 1), _BETWEEN, stop)
    return states, rules


@dataclass(frozen=True, eq=False)
class Trace:
    """What pseudo-marginal Metropolis-Hastings leaves.

    Attributes
    ----------
    counts : ndarray of shape (n_proposals + 1,)
        The number of topics after every proposal, the start first.
    log_evidence : ndarray of shape (n_proposals + 1,)
        The estimate of log p(w | T) that the chain holds.
    proposed : ndarray of shape (n_proposals + 1,)
        The number of topics proposed; the start for the first.
    proposed_log_evidence : ndarray of shape (n_proposals + 1,)
        Its estimate.
    ends : dict of {int: list of ChainState}
        States of z that the chain was in, the latest of each number of topics.
    """

    counts: np.ndarray
    log_evidence: np.ndarray
    proposed: np.ndarray
    proposed_log_evidence: np.ndarray
    ends: dict

    @property
    def accepted(self):
        """Whether each proposal was, (n_proposals,)."""
        return self.counts[1:] != self.counts[:-1]

    @property
    def longest_stay(self):
        """Most proposals in a row that were not accepted."""
        moves = np.flatnonzero(np.concatenate([[True], self.accepted, [True]]))
        return int(np.diff(moves).max()) - 1


def pmmh(
    corpus, priors_of, log_prior, *, method, n_temperatures, n_runs, n_inner, n_proposals, seed, n_jobs=None, report
):
    """Pseudo-marginal Metropolis-Hastings over the number of topics (Chen & Doss 2018, section 4.2).

    T moves to a neighbour in `log_prior` with probability 1/2 each, from an end to its only neighbour. Every proposal
    gets a fresh unbiased estimate of p(w | T), from a pilot that is the same whenever T is proposed, and what is
    accepted keeps its estimate until it is left: so the chain is exact however crude the estimates are.

    Parameters
    ----------
    corpus, priors_of, log_prior, method, n_temperatures, n_runs, n_inner, seed, n_jobs, report
        As in `Scan`; `method` one of `evidence.UNBIASED`.
    n_proposals : int

    Returns
    -------
    Trace
    """
    counts = sorted(log_prior)
    rng = np.random.default_rng(random.child(seed, 3))
    priors, (pilots,) = prunings(corpus, priors_of, counts, [random.child(seed, 0)], n_jobs)

    def estimate(T, i):
        """log of an unbiased estimate of p(w | T), from streams that nothing else uses, and where z ended."""
        ((log_weights, ends, _, _),) = evidence.run_pilots(
            corpus,
            [(priors[T], [pilots[T]], random.child(seed, 1, i))],
            method=method,
            temperatures=[n_temperatures] * n_runs,
            n_inner=n_inner,
            beside=False,
            n_jobs=n_jobs,
        )
        chosen = rng.choice(n_runs, p=_normalised(log_weights[0]))
        return evidence.combine(log_weights)[0], ends[chosen]

    T = int(rng.choice(counts, p=_normalised(np.array([log_prior[t] for t in counts]))))
    value, end = estimate(T, 0)
    rows, ends = [(T, value, T, value)], {T: [end]}
    for i in range(1, n_proposals + 1):
        proposed, log_back = _neighbour(counts, T, rng)
        new, new_end = estimate(proposed, i)
        accept = np.log(rng.random()) < new + log_prior[proposed] - value - log_prior[T] + log_back
        if accept:
            T, value, end = proposed, new, new_end
            ends[T] = [*ends.get(T, []), end][-_KEPT:]
        rows.append((T, value, proposed, new))
        if i % max(n_proposals // 10, 1) == 0 and report(f"{i} of {n_proposals} proposals, {T} topics"):
            break
    T, value, proposed, new = map(np.array, zip(*rows, strict=True))
    return Trace(T, value, proposed, new, ends)


def _neighbour(counts, T, rng):
    """A proposal from T, and log of the proposal density back over the one there."""
    here = counts.index(T)
    near = [i for i in (here - 1, here + 1) if 0 <= i < len(counts)]
    if not near:
        return T, 0.0
    there = near[rng.integers(len(near))]
    back = sum(0 <= i < len(counts) for i in (there - 1, there + 1))
    return counts[there], np.log(len(near) / back)


def _normalised(log_weights):
    return np.exp(log_weights - logsumexp(log_weights))
