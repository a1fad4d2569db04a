"""The loop over sweeps: chains run in parallel, stage by stage; and what is recorded of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from sklda._checkpoints.saver import Saver
from sklda._core.parallel import in_parallel
from sklda._core.progress import SILENT
from sklda._sampling.annealed_start import NOT_ANNEALED, AnnealedSweeps, Annealing
from sklda._sampling.prior_learning import Learner
from sklda._sampling.steps import Ending, ParameterDraws, Thinning, Trace, advance


@dataclass(frozen=True)
class Schedule:
    """The work between the sweeps of a chain beside its own steps. No draws are kept from its burn-in.

    Attributes
    ----------
    n_draws : int
        Number of the last draws of z that are kept in ``chain.draws``. The last one is the present z. 0: none.
    draw_every : int
        Number of sweeps between two of them.
    tol : float or None
        In nats per token. If the mean log joint of 20 sweeps is less than `tol` above that of the 20 sweeps before, the
        burn-in ends, unless a step has not settled. If this is so again and all draws are kept, the chain ends. None:
        all sweeps.
    annealing : Annealing
        The first sweeps of new chains. Their traces are at the priors without the factor.
    m_steps : sequence of MStep
        Each of them is that of a `Learner` of a chain in its burn-in, or without any sweep.
    learning : dict
        Options of `Learner`.
    """

    n_draws: int = 1
    draw_every: int = 1
    tol: float | None = None
    annealing: Annealing = NOT_ANNEALED
    m_steps: tuple[Any, ...] = ()
    learning: Mapping[str, Any] = field(default_factory=dict)

    def steps(self, chain, n_sweeps):
        """The steps before and after those of a chain, which has `n_sweeps` sweeps to come."""
        learns = chain.n_sweeps < chain.n_burn_in or n_sweeps == 0
        learners = [Learner(each, **self.learning) for each in self.m_steps if learns]
        last = [*learners, Trace()]
        if self.n_draws:
            last.append(Thinning(self.n_draws, self.draw_every))
            if chain.keeps_parameters:
                last.append(ParameterDraws(chain.n_sweeps + n_sweeps))
        if self.tol is not None:
            last.append(Ending(self.tol, self.n_draws * self.draw_every, learners))
        return [AnnealedSweeps(self.annealing)] if chain.n_sweeps < self.annealing.n_sweeps else [], last


def burn_in_of(burn_in, n_sweeps, n_annealed=0):
    """The burn-in of chains of `n_sweeps` sweeps. None: the annealed sweeps and the first half of the others.

    Raises
    ------
    ValueError
        If no sweep is left for draws.
    """
    if burn_in is None:
        return (n_annealed + n_sweeps) // 2
    if burn_in >= n_sweeps:
        raise ValueError(f"burn_in={burn_in} leaves none of {n_sweeps} sweeps for draws: make max_iter larger.")
    return burn_in


class Run:
    """What goes through a fit from one stage to the next: who hears of its progress, and where it is saved.

    That of an estimator is a `FitRun`.
    """

    def __init__(self, progress=SILENT, saver: Saver | None = None):
        self.progress, self.saver = progress, saver

    def sweep(self, chains, n_sweeps, *, schedule=None, n_jobs=None, numbers=None, reports=True):
        """Run chains in parallel for `n_sweeps` sweeps each, with their steps: a stage.

        Parameters
        ----------
        chains : list of GibbsChain
        n_sweeps : int
            Number of sweeps of each chain.
        schedule : Schedule, default=None
            None: only the sweeps, the steps of the chains and, if progress is printed, their trace.
        n_jobs : int, default=None
            Number of chains at a time, as in joblib; for a single chain, number of workers of its sweeps. The draws do
            not depend on it.
        numbers : sequence of int, default=None
            Those of the chains for the progress. None: 0, 1, ...
        reports : bool, default=True
            Whether the progress hears of the sweeps.

        Returns
        -------
        list of GibbsChain
            The chains after their sweeps. If they ran in other processes or are saved, these are other objects.
        """
        numbers = range(len(chains)) if numbers is None else numbers
        progress = self.progress if reports else SILENT
        stage = None if self.saver is None else self.saver.next_stage()
        if stage is not None and stage.found:
            for number, swept, chain in zip(numbers, stage.result, chains, strict=True):
                progress.resumed(number, swept.n_sweeps - chain.n_sweeps)
            return stage.result
        tasks = []
        for i, (number, chain) in enumerate(zip(numbers, chains, strict=True)):
            saver = None if stage is None else stage.chain(i)
            sweeps = _Sweeps.begin(number, chain, n_sweeps, progress, schedule, saver)
            tasks.append((sweeps, number, progress, saver))
        if len(chains) == 1:
            swept = [tasks[0][0].chain.with_workers(n_jobs, partial(_make_sweeps, *tasks[0]))]
        else:
            # With one chain at a time, progress is reported in the caller's thread, which some callbacks need.
            swept = in_parallel(_make_sweeps, tasks, n_jobs, always_in_threads=False)
        # The files of chains whose state is in other processes have it.
        return swept if stage is None or any(chain.saves_parts for chain in swept) else stage.keep(swept)

    def parallel(self, function, tasks, n_jobs=None, *, always_in_threads=True):
        """The results of independent tasks, as of `in_parallel`: a stage."""
        return self.once(lambda: in_parallel(function, tasks, n_jobs, always_in_threads=always_in_threads))

    def once(self, make):
        """The result of ``make()``: a stage, which is not made again when a saved fit continues behind it."""
        if self.saver is None:
            return make()
        stage = self.saver.next_stage()
        return stage.result if stage.found else stage.keep(make())


# Of a function that is not a fit.
NO_RUN = Run()


def _make_sweeps(sweeps, number, progress, saver, stop):
    """Make the sweeps of a chain that are left, and return it."""
    chain, steps = sweeps.chain, sweeps.steps
    while sweeps.n_left:
        progress.before(number)
        ends = advance(chain, steps, stop)
        ends = progress.after(number, chain) or ends
        sweeps.n_left = 0 if ends else sweeps.n_left - 1
        if saver is not None:
            # A callback that ends a chain may not do so again.
            saver.save(chain, sweeps, now=ends)
    for step in steps:
        step.end(chain)
    return chain


class _Sweeps:
    """A chain during its sweeps: the state that is saved.

    Attributes
    ----------
    chain : GibbsChain
    n_left : int
        Number of sweeps that are left.
    first, last : list of Step
        The steps of the schedule before those of the chain and after them.
    """

    def __init__(self, chain, n_left, progress, schedule):
        self.chain, self.n_left = chain, n_left
        self.first, self.last = [], [Trace()] if progress.prints else []
        if schedule is not None:
            self.first, self.last = schedule.steps(chain, n_left)
        for step in self.steps:
            step.begin(chain)

    @property
    def steps(self):
        """All steps in the order of their work."""
        return [*self.first, *self.chain.steps, *self.last]

    @classmethod
    def begin(cls, number, chain, n_sweeps, progress, schedule, saver):
        """The sweeps of a chain; from the last state that was saved, if there is one."""
        saved = None if saver is None else saver.load(chain.corpus)
        if saved is None:
            return cls(chain, n_sweeps, progress, schedule)
        progress.resumed(number, saved.chain.n_sweeps - chain.n_sweeps)
        return saved


def traces_of(chains):
    """Quantities after every sweep that do not depend on the names of topics, a dict of arrays (n_chains, n_sweeps).

    ``"log_joint"``, ``"log_topics"`` (log p(z | alpha)) and ``"squared_shares"`` (the sum of the squared shares of the
    topics), and those of steps; NaN after the end of shorter chains.
    """
    series = []
    for chain in chains:
        log_topics, squared_shares = zip(*chain.label_free, strict=True)
        series.append({"log_joint": chain.trace, "log_topics": log_topics, "squared_shares": squared_shares})
        for step in chain.steps:
            series[-1].update(step.traces())
    return {name: in_rows([each[name] for each in series]) for name in series[0]}


def in_rows(series):
    """Numbers, or rows of numbers, of every sweep of each chain in one array; NaN after the end of shorter chains."""
    found = np.full((len(series), max(map(len, series)), *np.shape(series[0])[1:]), np.nan)
    for row, each in zip(found, series, strict=True):
        row[: len(each)] = each
    return found


def best_chain(chains):
    """Index of the chain with the highest mean log joint over the last half of its sweeps."""
    return int(np.argmax([np.mean(chain.trace[len(chain.trace) // 2 :]) for chain in chains]))
