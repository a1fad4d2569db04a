"""A scan of log p(w | T) over numbers of topics T, with most runs where they tell most about p(T | w)."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logsumexp, softmax

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._likelihood.evidence.annealing import check_memory_of_runs
from sklda._likelihood.evidence.combining import MUCH_WORSE, CountEvidence, EvidenceTable
from sklda._likelihood.evidence.estimates import EvidenceSettings
from sklda._models.topic_count.count_prior import LARGEST, CountPrior
from sklda._models.topic_count.curve import Curves, too_low
from sklda._models.topic_count.posterior import (
    ESTIMATE,
    LAST_SWEEPS,
    ModelDraws,
    Posterior,
    credible_interval,
    standard_errors,
)
from sklda._models.topic_count.runs import Budget, BudgetSpent, PriorRule, run_chain, seconds_of_sweep, sweeps_of_chain
from sklda._sampling.run_chains import NO_RUN, Run

# The first runs take at most this share of all sweeps, in addition to the chains before them.
_FIRST_SHARE = 1 / 15
# The scan ends when no posterior probability has a larger standard error than this.
_LARGEST_ERROR = 0.05
# It also ends when two rounds of new chains at all likely T leave more than this share of the width of the interval, or
# if two further steps beyond the largest T do.
_NARROWER = 0.9
# A probability below exp(this) of the largest one does not count. In nats.
_NOTHING = -7.0
# Rounds of chains at a number of topics whose value is too low.
_MOST_ROUNDS = 4
# The first runs are at this many numbers of topics, each so many times the one before.
_FIRST = 4
# Runs go up in steps: the next number of topics is at most this many times the largest one that had runs.
_STEP = 2
# Draws over the errors, by which the simulation error of a probability is at most .016.
_DRAWS = 1000


class _Ended(Exception):
    """A callback asked to stop."""


@dataclass(frozen=True, eq=False)
class _Draws:
    """Draws over the errors of the values, at all numbers of topics that are possible so far."""

    counts: np.ndarray  # numbers of topics, ascending, (n_counts,)
    log_prior: np.ndarray  # log p(T), (n_counts,)
    curves: Curves  # log p(w | T), without the common error, which more runs of the same length do not reduce
    probability: np.ndarray  # p(T | w), (n_draws, n_counts)

    def interval(self) -> tuple[int, int]:
        """Credible interval of 0.95 of T, errors included."""
        return credible_interval(self.counts, self.probability.mean(axis=0))


class Scan:
    """Estimates of log p(w | T) for a range of T, and the posterior that follows.

    Each round makes `n_chains` new chains, at least two, at some T. `max_sweeps` is the largest number of sweeps over
    the corpus, last sweeps included; None: the default for the corpus. Every round is a stage of the `run`.
    """

    def __init__(
        self,
        corpus: Corpus,
        rule: PriorRule,
        prior: CountPrior,
        settings: EvidenceSettings,
        *,
        n_chains: int,
        max_sweeps: int | None,
        seed: np.random.SeedSequence,
        n_jobs: int | None = None,
        run: Run = NO_RUN,
    ) -> None:
        self.corpus = corpus
        self.rule = rule
        self.prior = prior
        self.settings = settings
        self.n_chains = n_chains
        self.seed = seed
        self.n_jobs = n_jobs
        self.run = run
        self.by_count: dict[int, CountEvidence] = {}
        # The rows of `Posterior.estimates`.
        self.trace: list[tuple] = []
        self.n_rounds = 0
        # Widths of the interval, in numbers of topics: before each round for precision, and for each largest number of
        # topics beyond which the evidence might not rise.
        self.widths: list[int] = []
        self.open_widths: dict[int, int] = {}
        self.budget = Budget(corpus, max_sweeps, n_chains * LAST_SWEEPS)
        self.first = self._first_runs()

    def estimate(self) -> Posterior:
        """Make runs until p(T | w) is precise or the budget is spent.

        If there are estimates, they are the result also after Ctrl-C, after a callback asked to stop, and if the memory
        was full.
        """
        unfinished = ""
        following = self.first
        if self.run.progress.prints:
            self.run.progress.say(self._cost_in_words())
        try:
            while following:
                self._round(following)
                following = self._next()
        except (_Ended, BudgetSpent) as reason:
            unfinished = str(reason)
        except MemoryError as error:
            if not self.by_count:
                raise
            self.run.leaves_the_plan()
            unfinished = str(error).rstrip(".") or "the memory was full"
        except KeyboardInterrupt:
            if not self.by_count:
                raise
            self.run.leaves_the_plan()
            unfinished = "the fit was interrupted"
        return self._result(unfinished)

    # The rule

    def _first_runs(self) -> dict[int, int]:
        """Lengths of the first runs, by number of topics: as in the settings, or as the budget allows."""
        counts = np.array(sorted(self.prior.up_to(LARGEST)))
        at = np.searchsorted(counts, counts[0] * _STEP ** np.arange(_FIRST))
        first = counts[np.unique(np.minimum(at, len(counts) - 1))].tolist()
        n_sweeps = self.settings.n_sweeps
        # The guides have as many sweeps as the runs in one direction.
        n_runs = len(first) * self.n_chains * (2 * self.settings.n_runs + 1)
        while n_sweeps > 2 and n_runs * n_sweeps > _FIRST_SHARE * self.budget.limit:
            n_sweeps //= 2
        while len(first) > 1 and not self.budget.allows(self._sweeps(dict.fromkeys(first, n_sweeps))):
            first.pop()
        lengths = dict.fromkeys(first, n_sweeps)
        self.budget.check(self._sweeps(lengths))
        return lengths

    def _next(self) -> dict[int, int]:
        """Lengths of the next runs, by number of topics, by the first rule that applies; empty at the end."""
        by_runs = EvidenceTable.of(self.by_count)
        table = self._raised(by_runs)
        drawn = self._draws(table)
        if self._stays_open(table, drawn):
            return {}
        return self._next_of_range(by_runs, table, drawn) or self._next_for_precision(table, drawn)

    def _stays_open(self, table, drawn) -> bool:
        """Whether the evidence is flat up to the last runs and beyond: two more steps told hardly anything."""
        if self._rises(table, drawn):
            return False
        low, high = drawn.interval()
        self.open_widths[int(table.counts[-1])] = high - low + 1
        widths = list(self.open_widths.values())
        posterior = self._log_posterior(table, drawn)
        is_flat = posterior[-1] > posterior.max() + _NOTHING and high > table.counts[-1]
        return is_flat and len(widths) > 2 and widths[-1] > _NARROWER * widths[-3]

    def _rises(self, table, drawn) -> bool:
        """Whether p(T | w) is highest at the largest number of topics with runs."""
        posterior = self._log_posterior(table, drawn)
        return len(posterior) == 1 or posterior[-1] - posterior[:-1].max() > table.std[-1]

    @staticmethod
    def _log_posterior(table, drawn):
        """log p(w | T) p(T) where there are runs, by the values; (n_values,)."""
        return table.value + drawn.log_prior[np.searchsorted(drawn.counts, table.counts)]

    def _next_of_range(self, by_runs, table, drawn) -> dict[int, int]:
        """The next runs that look for likely numbers of topics; empty when all are found."""
        counts = drawn.counts
        has_runs = np.searchsorted(counts, table.counts)
        posterior = self._log_posterior(table, drawn)
        best = has_runs[np.argmax(posterior)]

        # While the log evidence rises up to the largest number of topics, a larger one follows.
        if self._rises(table, drawn) and best < len(counts) - 1:
            return self._lengths([self._larger(counts, counts[best])])

        # Values that cannot be right need new chains.
        doubtful = self._doubtful(by_runs, table, posterior)
        if len(doubtful):
            return self._lengths(doubtful)

        # Numbers of topics without runs that may be likely: the one with the highest upper bound is next.
        unclear = self._unclear(drawn, table)
        if len(unclear):
            upper = drawn.curves.upper.mean(axis=0) + drawn.log_prior
            highest = unclear[np.argmax(upper[unclear])]
            if highest == has_runs[-1] - 1:
                # Nothing bounds the last gap from the right: it is halved.
                highest = np.searchsorted(counts, np.sqrt(counts[has_runs[-2]] * counts[has_runs[-1]]))
            return self._lengths(counts[[highest]])

        # Where the interval goes on beyond the largest number of topics, a larger one follows.
        if drawn.interval()[1] > table.counts[-1]:
            return self._lengths([self._larger(counts, table.counts[-1])])
        return {}

    def _next_for_precision(self, table, drawn) -> dict[int, int]:
        """The next runs where all likely numbers of topics are found; empty at the end."""
        counts = drawn.counts
        has_runs = np.searchsorted(counts, table.counts)
        probability = drawn.probability.mean(axis=0)
        low, high = drawn.interval()
        width = high - low + 1

        # Where the evidence rises up to the largest T that is tried, larger ones would be likelier than all of these.
        if self.prior.open and table.counts[-1] == counts[-1] and self._rises(table, drawn):
            return {}

        # The end is near if each probability is known, or if the last two rounds made the interval hardly narrower.
        precise = drawn.probability.std(axis=0).max() <= _LARGEST_ERROR
        if precise or (len(self.widths) > 1 and width > _NARROWER * self.widths[-2]):
            if probability.max() < 0.5:
                # The probability is spread over several T, and their neighbours are as likely.
                return {}
            # Where one T has most of it, its neighbours have runs of their own.
            best = has_runs[np.argmax(self._log_posterior(table, drawn))]
            near = np.clip([best - 1, best, best + 1], 0, len(counts) - 1)
            return self._lengths(np.setdiff1d(counts[near], table.counts))

        # All T that may be likely get new chains: only values by runs of one length can be compared. Longer runs reduce
        # the common error, and more of them that of chains, so the length is doubled in every other round.
        longer = 1 if len(self.widths) % 2 else 2
        self.widths.append(width)
        may_be_likely = np.flatnonzero(drawn.probability[:, has_runs].max(axis=0) > _LARGEST_ERROR)
        chosen = table.counts[may_be_likely].tolist()
        return dict.fromkeys(chosen, longer * max(self.by_count[T].n_sweeps for T in chosen))

    @staticmethod
    def _larger(counts, last):
        """The next number of topics above the largest one with runs."""
        return int(counts[min(np.searchsorted(counts, _STEP * last), len(counts) - 1)])

    def _raised(self, table):
        """The table, no value of which is below that with fewer topics and empty ones beside them."""
        least, source = self._least(table.counts, table)
        source = np.where(table.value < least, source, np.arange(len(source)))
        return replace(table, value=np.maximum(table.value, least), std=table.std[source])

    def _least(self, counts, table):
        """Lower bounds of log p(w | T) by the values with fewer topics, and the positions of these."""
        bounds = np.full((len(table.counts), len(counts)), -np.inf)
        if self.rule.same_for_all:
            for i, few in enumerate(table.counts.tolist()):
                more = counts > few
                alpha = self._priors(few).doc[0, 0]
                shares = self.rule.log_share_with_empty_topics(self.corpus, alpha, few, counts[more])
                bounds[i, more] = table.value[i] + shares
        return bounds.max(axis=0), bounds.argmax(axis=0)

    def _doubtful(self, by_runs, table, posterior):
        """Numbers of topics whose values are too low to be right, where right ones might count: new chains may help."""
        excess = np.maximum(
            too_low(table.counts.astype(float), table.value, table.std),
            table.value - by_runs.value - MUCH_WORSE * np.maximum(by_runs.std, 1),
        )
        few = np.array([len(self.by_count[T].chains) < _MOST_ROUNDS * self.n_chains for T in table.counts.tolist()])
        highest = posterior + excess + 2 * MUCH_WORSE * np.maximum(table.std, 1)
        might_count = highest > posterior.max() + _NOTHING
        return table.counts[(excess > 0) & few & might_count]

    def _unclear(self, drawn, table):
        """Positions of numbers of topics without runs that might be likely, and are not held as close as the errors."""
        curves = drawn.curves
        others = logsumexp(curves.drawn + drawn.log_prior, axis=1, keepdims=True)
        may_be_likely = expit(curves.upper + drawn.log_prior - others).mean(axis=0) > _LARGEST_ERROR
        errors = np.maximum(np.interp(drawn.counts, table.counts, np.hypot(table.std, table.common)), 1)
        is_open = (curves.upper - curves.lower).mean(axis=0) > errors
        is_near = drawn.counts <= _STEP * table.counts[-1]
        has_runs = np.isin(drawn.counts, table.counts)
        return np.flatnonzero(may_be_likely & is_open & is_near & ~has_runs)

    def _lengths(self, counts):
        """Runs as long as the last ones at these numbers of topics, or at the nearest ones."""
        return {T: self.by_count[self._nearest(T)].n_sweeps for T in np.asarray(counts).tolist()}

    def _log_prior(self, counts):
        """log p(T) at numbers of topics of positive probability, (n_counts,)."""
        found = self.prior.up_to(int(counts[-1]))
        return np.array([found[T] for T in counts.tolist()])

    def _nearest(self, T):
        return min(self.by_count, key=lambda known: abs(np.log(known / T)))

    def _draws(self, table: EvidenceTable) -> _Draws:
        """Draws of log p(w | T) and p(T | w) over the errors of the values."""
        counts = np.array(sorted(self.prior.up_to(max(LARGEST, _STEP * int(table.counts[-1])))))
        log_prior = self._log_prior(counts)
        least, _ = self._least(counts, table)
        at = np.searchsorted(counts, table.counts)
        curves = Curves.draw(counts, at, table.value, table.std, least, _DRAWS)
        common = np.random.default_rng(0).standard_normal((_DRAWS, 1)) * np.interp(counts, table.counts, table.common)
        return _Draws(
            counts=counts,
            log_prior=log_prior,
            curves=curves,
            probability=softmax(curves.drawn + common + log_prior, axis=1),
        )

    # Runs

    def _sweeps(self, lengths):
        """Sweeps of a round with runs of these lengths by number of topics."""
        return self.n_chains * sum(sweeps_of_chain(self.settings, self.rule, T, n) for T, n in lengths.items())

    def _first_priors(self, T):
        """The priors of new chains: what is unknown begins where chains with about as many topics have settled."""
        if T in self.by_count:
            return self._priors(T)
        return self.rule.at(T, self._priors(self._nearest(T)) if self.by_count else None)

    def _priors(self, T):
        """The priors at a number of topics with runs: the mean of those of the better half of its chains."""
        known = self.by_count[T]
        best = np.argsort(-known.values, kind="stable")[: -(-len(known.chains) // 2)]
        return self.rule.mean([known.chains[c].priors for c in best])

    def _round(self, lengths: dict[int, int]) -> None:
        """New chains and their runs, of these lengths by number of topics."""
        # Before any of them runs.
        check_memory_of_runs(self.corpus, max(lengths), self.settings.method)
        self.budget.take(self._sweeps(lengths))

        priors = {T: self._first_priors(T) for T in lengths}
        chains = [(T, c) for T in lengths for c in range(self.n_chains)]
        tasks = [
            (self.corpus, self.rule, priors[T], self.settings, lengths[T], c, self._seed_of_chain(T, c))
            for T, c in chains
        ]
        found = self.run.parallel(run_chain, tasks, self.n_jobs)

        by_count = dict(self.by_count)
        trace = list(self.trace)
        for T in lengths:
            by_count[T] = CountEvidence.copy_of(by_count[T]) if T in by_count else CountEvidence()
        for (T, c), runs in zip(chains, found, strict=True):
            by_count[T].add(runs, lengths[T])
            number = self.n_rounds * self.n_chains + c
            for forward, backward in zip(runs.forward, runs.backward, strict=True):
                trace.append((T, number, lengths[T], forward, backward))
        # Ctrl-C comes before a round is stored or after it.
        self.by_count, self.trace, self.n_rounds = by_count, trace, self.n_rounds + 1

        counts = ", ".join(map(str, lengths))
        text = f"{counts} topics, {self.n_chains} chains with runs of {max(lengths.values())} sweeps"
        if self.run.progress.prints:
            text += self._known()
        if self.run.progress.stage(text):
            raise _Ended("a callback stopped the fit")

    def _seed_of_chain(self, T, c):
        return random.child(self.seed, self.n_rounds, T, 1, c)

    # Results

    def _cost_in_words(self):
        first = self._sweeps(self.first)
        limit = self.budget.limit
        sweep = seconds_of_sweep(self.corpus, self.rule.at(max(self.first)))
        return (
            f"{self.corpus.n_tokens} tokens; the first runs take {first} sweeps, about {first * sweep:.2g} s; "
            f"the whole fit at most {limit} sweeps, about {limit * sweep:.2g} s"
        )

    def _known(self) -> str:
        """The posterior so far, in words, from when the likely numbers of topics are found."""
        by_runs = EvidenceTable.of(self.by_count)
        table = self._raised(by_runs)
        drawn = self._draws(table)
        if self._next_of_range(by_runs, table, drawn):
            return f"; {self.budget.n_sweeps} sweeps so far; likely numbers of topics are still to be found"
        probability = drawn.probability.mean(axis=0)
        low, high = credible_interval(drawn.counts, probability)
        mode = f"{drawn.counts[np.argmax(probability)]} topics ({probability.max():.2f}), {low} to {high} with 0.95"
        return f"; {self.budget.n_sweeps} sweeps so far; most likely: {mode}"

    def _result(self, unfinished: str) -> Posterior:
        """`Posterior` by the runs so far."""
        table = self._raised(EvidenceTable.of(self.by_count))
        drawn = self._draws(table)
        counts = drawn.counts
        probability = drawn.probability.mean(axis=0)
        has_runs = np.searchsorted(counts, table.counts)
        value = np.full(len(counts), np.nan)
        value[has_runs] = table.value
        std = np.full(len(counts), np.nan)
        std[has_runs] = np.hypot(table.std, table.common)

        # Before a larger T has had runs, draws may leave no probability to those that had.
        known = probability[has_runs] if probability[has_runs].any() else table.value + self._log_prior(table.counts)
        mode = int(table.counts[np.argmax(known)])
        best = sorted(np.argsort(-self.by_count[mode].values, kind="stable")[: self.n_chains])
        # The interval contains the number of topics of the model also then: there is one answer.
        low, high = credible_interval(counts, probability)
        likely = {mode, *counts[probability > 1 / _DRAWS].tolist()}
        return Posterior(
            counts=counts,
            probability=probability,
            std=standard_errors(drawn.probability),
            interval=(min(low, mode), max(high, mode)),
            mode=mode,
            log_evidence=value,
            log_evidence_std=std,
            estimates=np.array(self.trace, ESTIMATE),
            draws={T: self._model_draws(T) for T in likely},
            states=[self.by_count[mode].chains[c].end for c in best],
            n_sweeps=self.budget.n_sweeps,
            last_sweeps=self.budget.last(len(best)),
            unfinished=unfinished,
        )

    def _model_draws(self, T):
        """`ModelDraws` of a number of topics; without runs, it has only priors."""
        if T not in self.by_count:
            return ModelDraws(rule=self.rule, priors=self._first_priors(T), ends=[], log_weights=np.zeros(0))
        known = self.by_count[T]
        return ModelDraws(
            rule=self.rule,
            priors=self._priors(T),
            ends=[chain.end for chain in known.chains],
            log_weights=known.values,
        )
