"""A scan of log p(w | T) over numbers of topics T: first short runs at distant T, then longer runs at likely T."""

import numpy as np

from sklda._inference import random
from sklda._inference.evidence import estimates
from sklda._inference.evidence.combining import better_half_variance, chain_means
from sklda._inference.modes.search import improve_modes
from sklda._inference.sampling.annealed_start import ANNEAL_SWEEPS
from sklda._inference.sampling.collapsed import ChainState
from sklda._inference.topic_count.candidates import Candidates, wide_apart
from sklda._inference.topic_count.cost import Budget, BudgetSpent, cost_of_scan
from sklda._inference.topic_count.evidence_by_count import CountEvidence, variances
from sklda._inference.topic_count.posterior import (
    ESTIMATE,
    ModelDraws,
    Posterior,
    credible_interval,
    standard_errors,
)
from sklda._inference.topic_count.pruning import first_count, prune, pruning_sweeps, start_annealed
from sklda._inference.topic_count.settings import LEAST_LOOK, Look, short_scan

# More runs are made while a posterior probability has a larger standard error than this.
_LARGEST_ERROR = 0.05
# More chains are made, not longer runs, if the variance between chains is more than this many times the variance that
# their runs explain.
_CHAINS_DISAGREE = 2
# More runs are made, not longer ones, if the variance between runs is below this, in nats squared.
_LITTLE = 0.5
# Gaps between numbers of topics with runs, relative to these: wider ones that may hide a likely number get a look.
# After each of these widths, longer runs exclude some numbers of topics.
_GAPS = 1 / 8, 1 / 30, 0
# Runs are at most shorter than this many times those of a look, before larger numbers of topics get a look.
_LONGER = 3
# Sweeps of a search between the modes of one number of topics, at most and at least.
_MODE_SWEEPS, _LEAST_MODE_SWEEPS = 10_000, 2_000
# Draws are kept for numbers of topics with at least this posterior probability.
_LEAST_PROBABILITY = 1e-9
# Numbers of topics that a line of text names at most.
_NAMED = 4


class _Ended(Exception):
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
        Largest number of sweeps over the corpus, last sweeps included; None: the default for the corpus.
    seed : numpy.random.SeedSequence
    n_jobs : int, default=None
    report : callable
        Called with a line of text after every stage. The scan ends if it returns True.
    announce : callable, default=None
        Called with a line of text about the cost, at the start.

    Attributes
    ----------
    candidates : Candidates
        The evidence of each number of topics.
    trace : list of (int, int, int, float)
        Number of topics, chain, sweeps and log weight of every run.
    budget : Budget
        Sweeps so far, and those that are left.
    """

    def __init__(
        self, corpus, rule, prior, settings, *, n_chains, max_sweeps, seed, n_jobs=None, report, announce=None
    ):
        self.corpus, self.rule, self.prior, self.settings = corpus, rule, prior, settings
        self.n_chains = n_chains
        self.budget = Budget(corpus, max_sweeps, n_chains, LEAST_LOOK + rule.learning_sweeps)
        self.seed, self.n_jobs, self.report, self.announce = seed, n_jobs, report, announce
        self.candidates = Candidates(prior.first, random.child(seed, 2))
        self.look = Look.of(corpus, settings, n_chains)
        self.trace, self._n_prunings, self._n_rounds = [], 0, 0

    @property
    def annealed(self):
        """Whether the method is annealing, whose estimates improve with more temperatures."""
        return self.settings.method in estimates.ANNEALED

    def run(self):
        """Estimate the evidence over the range, then more precisely at likely T.

        Returns
        -------
        Posterior
            Also after Ctrl-C and after a callback asked to stop, if there are estimates.
        """
        unfinished = ""
        try:
            self._run()
        except (_Ended, BudgetSpent) as reason:
            unfinished = str(reason)
        except KeyboardInterrupt:
            if not self.candidates.with_runs:
                raise
            unfinished = "the fit was interrupted"
        return self.result(unfinished)

    def _run(self):
        self._first_look(sorted(self.prior.first))
        self._look_at_larger()
        for share in _GAPS:
            while some := self.candidates.between(share):
                self._look(some)
            # Longer runs would only tell more precisely that a range without end should be longer.
            if not self.annealed or (self.prior.open and self.candidates.mode() == self.prior.last):
                return
            self._longer_runs()
        self._better_chains(self._near_the_likely())
        self._search_modes(self._likely())
        self._full_runs(self._likely())
        while self.candidates.posterior_draws().std(axis=0).max() > _LARGEST_ERROR:
            self._refine(self._likely())

    # Looks

    def _first_look(self, counts):
        """Chains for the first numbers of topics, and short runs at some of them."""
        some, most = wide_apart(counts), first_count(counts)
        pruning = self.n_chains * pruning_sweeps(counts, self.rule)
        looks = [(self.look.sweeps(self.corpus, self.settings), T) for T in some]
        if self.announce is not None:
            sweeps = pruning + sum(n for n, _ in looks)
            self.announce(cost_of_scan(self.corpus, self.rule(most), sweeps, self.budget.limit))
        if self.budget.cost((pruning, most), *looks) <= self.budget.left / 2:
            self._prune(counts, self.n_chains)
            self._look(some)
        else:
            sweeps = int(self.budget.left / self.budget.cost((1, max(some))))
            self.look, some = short_scan(self.settings, some, sweeps, self.rule.learning_sweeps)
            self._look(some)

    def _look_at_larger(self):
        """Looks at larger and larger numbers of topics, while these may be likely.

        If the largest is worse than another one, but by less than its error, longer runs at both come first.
        """
        while self.candidates.may_be_larger(self.prior.largest_after(max(self.candidates.counts))):
            last, mode = max(self.candidates.with_runs), self.candidates.mode()
            if self.annealed and mode < last and self._double([mode, last], _LONGER * max(self.look.temperatures)):
                continue
            wider = self.prior.wider(max(self.candidates.counts))
            if not wider:
                break
            self.candidates.log_prior |= wider
            self._look([max(wider)])

    def _look(self, counts):
        """Short runs at `counts`, as many of them as the sweeps that are left allow."""
        sweeps = self.look.sweeps(self.corpus, self.settings)
        start = self.look.n_chains * (self.look.anneal_sweeps + self.rule.learning_sweeps)
        costs = [(sweeps + start * (T not in self.candidates.by_count), T) for T in counts]
        n_allowed = sum(self.budget.cost(*costs[: n + 1]) <= self.budget.left for n in range(len(costs)))
        counts = counts[: max(n_allowed, 1)]
        new = [T for T in counts if T not in self.candidates.by_count]
        if new:
            self._anneal(new, self.look.n_chains, self.look.anneal_sweeps)
        options = self.look.options(self.settings)
        self._round(counts, options.pop("temperatures"), **options)

    # Runs at likely numbers of topics

    def _longer_runs(self):
        """Double the length of the shortest runs while this excludes numbers of topics, or lengths differ."""
        possible, before = self.candidates.possible(), None
        while len(possible) > 1:
            equal = len({self.candidates[T].temperatures for T in possible}) == 1
            if (possible == before and equal) or not self._double(possible, self.settings.n_temperatures):
                break
            before, possible = possible, self.candidates.possible()

    def _double(self, counts, limit):
        """Double the length of the shortest runs of `counts`; return False if it would not stay below `limit`."""
        shortest = min(self.candidates[T].temperatures for T in counts)
        if 2 * shortest >= min(limit, self.settings.n_temperatures):
            return False
        short = [T for T in counts if self.candidates[T].temperatures == shortest]
        self._round_like_look(short, 2 * shortest)
        return True

    def _round_like_look(self, counts, n_temperatures):
        """Runs as those of a look, but with this many temperatures."""
        n_runs = 1 if self.look.upper or self.settings.method != "guided_ais" else len(self.look.temperatures)
        self._round(counts, [n_temperatures] * n_runs, upper=self.look.upper)

    def _likely(self):
        """Likely numbers of topics and all in between, each with runs."""
        likely = self.candidates.likely()
        if hidden := [T for T in likely if T not in self.candidates.with_runs]:
            self._look(hidden)
        return likely

    def _near_the_likely(self):
        """Likely numbers of topics and a neighbour on either side, because short runs may miss a likely T."""
        counts, likely = self.candidates.counts, self._likely()
        return counts[max(counts.index(likely[0]) - 1, 0) : counts.index(likely[-1]) + 2]

    def _better_chains(self, counts):
        """Annealed chains, pruned ones where there are none, and runs as long as before from all of them.

        On a small corpus annealing from the prior needs no better chains.
        """
        if estimates.uses_both(self.corpus, self.settings.method):
            return
        annealed = [T for T in counts if T not in self.prior.first]
        if annealed:
            self._prune(annealed, self.n_chains)
        self._anneal(counts, self.n_chains, ANNEAL_SWEEPS)
        lengths = {T: max(self.candidates[T].temperatures, max(self.look.temperatures)) for T in counts}
        for n in sorted(set(lengths.values())):
            self._round_like_look([T for T in counts if lengths[T] == n], n)

    def _search_modes(self, counts):
        """Better modes for those of `counts` whose chains disagree, and runs from them as long as before."""
        if estimates.uses_both(self.corpus, self.settings.method):
            return
        counts = [T for T in counts if T > 1 and self.candidates[T].in_different_modes]
        share = self.budget.left / (2 * max(len(counts), 1))
        for T in counts:
            budget = int(min(share / self.budget.cost((1, T)), _MODE_SWEEPS))
            if budget < _LEAST_MODE_SWEEPS:
                return
            self.budget.take((budget, T))
            known, seed = self.candidates[T], random.child(self.seed, 5, self._n_rounds, T)
            options = {"seed": random.child(seed, 0), "n_jobs": self.n_jobs, "max_sweeps": budget}
            modes = improve_modes(self.corpus, known.priors, known.states, **options)
            states = [
                ChainState(mode.topics, random.stream(random.child(seed, 1, c))).compact(T)
                for c, mode in enumerate(modes)
            ]
            self.candidates[T] = known.with_other_chains(states)
            self._end_stage(f"modes of {T} topics searched, {budget} sweeps at most")
            self._round_like_look([T], self.candidates[T].temperatures)

    def _full_runs(self, counts):
        """Runs of full length."""
        self._round(counts, [self.settings.n_temperatures] * self.settings.n_runs)

    def _refine(self, likely):
        """Make more chains if they disagree, otherwise more runs if they vary little, otherwise longer runs.

        Dropped numbers of topics that are likely after all, by better estimates of others, get full runs first.
        """
        dropped = [T for T in likely if self.candidates[T].temperatures < self.settings.n_temperatures]
        if dropped:
            self._better_chains(dropped)
            self._full_runs(dropped)
            return
        temperatures = max(self.candidates[T].temperatures for T in likely)
        within, disagree = self._chains_disagree(likely)
        if disagree:
            n_chains = max(len(self.candidates[T].states) for T in likely)
            self._prune(likely, n_chains // 2)
            self._anneal(likely, n_chains - n_chains // 2, ANNEAL_SWEEPS)
            for T, known in [(T, self.candidates[T]) for T in likely]:
                runs = [known.temperatures] * known.log_weights.shape[1]
                self._round([T], runs, only=slice(-n_chains, None))
        elif within < _LITTLE:
            for T, known in [(T, self.candidates[T]) for T in likely]:
                self._round([T], [known.temperatures] * known.log_weights.shape[1], more=True)
        else:
            self._round(likely, [2 * temperatures] * self.settings.n_runs)

    def _chains_disagree(self, counts):
        """The variance between runs, and whether the variance between chains is larger than it explains."""
        with_runs = self.candidates.with_runs
        within = variances(with_runs)[0][np.isin(list(with_runs), counts)].mean()
        between, _ = better_half_variance([chain_means(with_runs[T].log_weights) for T in counts])
        n_runs = np.mean([with_runs[T].log_weights.shape[1] for T in counts])
        return within, between > _CHAINS_DISAGREE * within / n_runs

    # Chains and runs

    def _prune(self, counts, n_chains):
        """Add pruned chains for the numbers of topics `counts`."""
        self.budget.take((n_chains * pruning_sweeps(counts, self.rule), first_count(counts)))
        seeds = [random.child(self.seed, 0, self._n_prunings + p) for p in range(n_chains)]
        self._n_prunings += n_chains
        self._add_chains(counts, *prune(self.corpus, self.rule, counts, seeds, self.n_jobs))
        self._end_stage(f"{n_chains} chains pruned from {first_count(counts)} topics to {min(counts)}")

    def _anneal(self, counts, n_chains, n_sweeps):
        """Add annealed chains for the numbers of topics `counts`. With few topics they find better modes."""
        self.budget.take(*((n_chains * (n_sweeps + self.rule.learning_sweeps), T) for T in counts))
        by_count = self.candidates.by_count
        n_known = [len(by_count[T].states) if T in by_count else 0 for T in counts]
        seeds = [
            [random.child(self.seed, 4, n + c, T) for c in range(n_chains)]
            for T, n in zip(counts, n_known, strict=True)
        ]
        self._add_chains(counts, *start_annealed(self.corpus, self.rule, counts, seeds, n_sweeps, self.n_jobs))
        self._end_stage(f"{n_chains} annealed chains for {_range(counts)}")

    def _add_chains(self, counts, priors, states):
        for T in counts:
            known = self.candidates.by_count.get(T) or CountEvidence(priors[T], [])
            self.candidates[T] = known.with_chains(states[T])

    def _round(self, counts, temperatures, *, only=slice(None), more=False, **options):
        """Make runs for the numbers of topics `counts`, from all chains, or from the chains `only`.

        They take the place of shorter runs of these chains, or with `more` are added to runs as long.
        """
        options = {"method": self.settings.method, "n_inner": self.settings.n_inner, **options}
        by_count = {T: self.candidates[T].states[only] for T in counts}
        per_chain = estimates.sweeps_of_chain(self.corpus, temperatures=temperatures, **options)
        self.budget.take(*((len(states) * per_chain, T) for T, states in by_count.items()))
        targets = [
            estimates.Target(self.candidates[T].priors, states, random.child(self.seed, 1, self._n_rounds, T))
            for T, states in by_count.items()
        ]
        self._n_rounds += 1
        found = estimates.estimate(self.corpus, targets, temperatures=temperatures, n_jobs=self.n_jobs, **options)
        sweeps = [n or options["n_inner"] for n in temperatures]
        for T, each in zip(counts, found, strict=True):
            known = self.candidates[T]
            first = len(known.states) - len(each.states)
            for c, row in enumerate(each.log_weights, start=first):
                self.trace += [(T, c, n, log_weight) for n, log_weight in zip(sweeps, row, strict=True)]
            self.candidates[T] = known.with_more_runs(each) if more else known.with_runs(each, temperatures)
        longest = max(sweeps)
        runs = f"{sweeps.count(longest)} x {longest} sweeps from each of {len(found[-1].states)} chains"
        self._end_stage(f"{_range(counts)}, {runs}")

    def _end_stage(self, text):
        known = bool(self.candidates.with_runs)
        if self.report(f"{text}{self._known() if known else ''}") and known:
            raise _Ended("a callback stopped the fit")

    # Results

    def _known(self):
        """The most likely numbers of topics so far, in words."""
        draws, counts = self.candidates.posterior_draws(), list(self.candidates.with_runs)
        probability, std = draws.mean(axis=0), standard_errors(draws)
        named = [i for i in np.argsort(-probability)[:_NAMED] if probability[i] >= 0.01]
        words = ", ".join(f"{counts[i]} ({probability[i]:.2f} +- {std[i]:.2f})" for i in named)
        return f"; {self.budget.n_sweeps} sweeps so far; likely numbers of topics: {words}"

    def result(self, unfinished=""):
        """`Posterior` by the runs so far."""
        table, draws = self.candidates.table(), self.candidates.posterior_draws()
        seen, probability = table.counts, draws.mean(axis=0)
        counts = self.candidates.counts
        counts = np.array(counts + sorted(self.prior.listed_after(counts[-1])))
        has_runs = np.isin(counts, seen)

        def of_all(values, elsewhere):
            full = np.full(len(counts), elsewhere)
            full[has_runs] = values
            return full

        n_hidden = sum(map(len, self.candidates.hidden()))
        if n_hidden and not unfinished:
            unfinished = "larger numbers of topics than those allowed are likely"
        if n_hidden:
            unfinished += f", and {n_hidden} numbers of topics without estimates may be likely"
        kept, mode = seen[probability > _LEAST_PROBABILITY].tolist(), int(seen[np.argmax(probability)])
        n_last, last_sweeps = self.budget.last(len(self.candidates[mode].states))
        return Posterior(
            counts,
            of_all(probability, 0.0),
            of_all(standard_errors(draws), 0.0),
            credible_interval(seen, probability),
            *(of_all(values, np.nan) for values in (table.value, table.std, table.downward_bias)),
            np.array(self.trace, ESTIMATE),
            {T: self._model_draws(self.candidates[T], n_last) for T in kept},
            self.budget.n_sweeps,
            last_sweeps,
            unfinished,
        )

    @staticmethod
    def _model_draws(each, n_chains):
        """`ModelDraws` of the best `n_chains` chains with runs."""
        n_runs = len(each.log_weights)
        best = np.argsort(-chain_means(each.log_weights), kind="stable")[:n_chains]
        states = [each.states[c] for c in sorted(best)] if n_chains < len(each.states) else each.states
        return ModelDraws(each.priors, states[: max(n_runs, n_chains)], each.ends, each.log_weights.ravel())


def _range(counts):
    return f"{len(counts)} numbers of topics from {min(counts)} to {max(counts)}"
