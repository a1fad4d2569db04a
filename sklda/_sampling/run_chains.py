"""Run chains in parallel, record their sweeps, and choose among them."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from sklda._core import journal
from sklda._core.parallel import in_parallel
from sklda._core.progress import SILENT
from sklda._sampling.annealed_start import NOT_ANNEALED, AnnealedSweeps, Annealing
from sklda._sampling.prior_learning import Learner, PriorLearning
from sklda._sampling.steps import Ending, Snapshots, Thinning, Trace, advance


@dataclass(frozen=True)
class Schedule:
    """The work between the sweeps of a chain.

    Priors are learnt in the burn-in, after the annealed sweeps, and no draws are kept from it.

    Attributes
    ----------
    n_draws : int
        Number of the last draws of z that are kept in ``chain.draws``. The last one is the present z. 0: none.
    draw_every : int
        Number of sweeps between two of them.
    snapshot_every : int or None
        Number of sweeps between two snapshots of phi in ``chain.snapshots``. None: no snapshots.
    tol : float or None
        In nats per token. If the mean log joint of 20 sweeps is less than `tol` above that of the 20 sweeps before, the
        burn-in ends, but if priors are learnt not before 40 sweeps with M-steps. If this is so again and all draws are
        kept, the chain ends. None: all sweeps.
    learning : PriorLearning or None
        How the priors of a chain are learnt in its burn-in. None: they are fixed.
    annealing : Annealing
        The first sweeps of new chains. Their traces are at the priors without the factor.
    burn_in : int or None
        Sweeps of the burn-in of a chain, counted from its first sweep. None: the annealed sweeps and the first half of
        the others. If such a chain is continued, these are those of all its sweeps; but if priors were learnt, the
        burn-in is that of the first run.
    """

    n_draws: int = 1
    draw_every: int = 1
    snapshot_every: int | None = None
    tol: float | None = None
    learning: PriorLearning | None = None
    annealing: Annealing = NOT_ANNEALED
    burn_in: int | None = None

    def steps(self, chain, n_sweeps):
        """The steps before and after those of a chain, which has `n_sweeps` sweeps to come. Sets its burn-in."""
        if chain.n_sweeps == 0:
            # The records of `from_assignments`.
            chain.trace, chain.label_free, chain.n_annealed = [], [], 0
        chain.n_annealed = max(chain.n_annealed, self.annealing.n_sweeps)
        if self.burn_in is not None:
            chain.n_burn_in = self.burn_in
        elif chain.n_sweeps == 0 or self.learning is None:
            chain.n_burn_in = burn_in_of(None, chain.n_sweeps + n_sweeps, chain.n_annealed)
        learns = self.learning is not None and chain.n_sweeps < chain.n_burn_in
        learner = Learner(self.learning.m_step) if learns else None
        last = [Trace()] if learner is None else [learner, Trace()]
        if self.snapshot_every:
            last.append(Snapshots(self.snapshot_every))
        if self.n_draws:
            last.append(Thinning(self.n_draws, self.draw_every))
        if self.tol is not None:
            last.append(Ending(self.tol, self.n_draws * self.draw_every, learner))
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


def run_chains(chains, n_sweeps, *, n_jobs=None, progress=SILENT, schedule=None, numbers=None):
    """Run chains in parallel for `n_sweeps` sweeps each, with their steps.

    Parameters
    ----------
    chains : list of GibbsChain
    n_sweeps : int
        Number of sweeps of each chain.
    n_jobs : int, default=None
        Number of chains at a time, as in joblib; for a single chain, number of workers of its sweeps. The draws do not
        depend on it.
    progress : Progress, optional
        It hears of every sweep.
    schedule : Schedule, default=None
        None: only the sweeps, the steps of the chains and, if progress is printed, their trace.
    numbers : sequence of int, default=None
        Those of the chains for `progress`. None: 0, 1, ...

    Returns
    -------
    list of GibbsChain
        The chains after their sweeps. With the processes of a joblib backend, or with a journal, they are not the
        objects that were passed.
    """
    numbers = range(len(chains)) if numbers is None else numbers
    with journal.call("run_chains") as call:
        if call.found:
            for number, swept, chain in zip(numbers, call.result, chains, strict=True):
                progress.resumed(number, swept.n_sweeps - chain.n_sweeps)
            return call.result
        tasks = []
        for i, (number, chain) in enumerate(zip(numbers, chains, strict=True)):
            saver = call.saver(i)
            run = _Run.begin(number, chain, n_sweeps, progress, schedule, saver)
            tasks.append((run, number, progress, saver))
        if len(chains) == 1:
            return call.keep([tasks[0][0].chain.with_workers(n_jobs, partial(_sweeps, *tasks[0]))])
        # With one chain at a time, progress is reported in the caller's thread, which some callbacks need.
        return call.keep(in_parallel(_sweeps, tasks, n_jobs, always_in_threads=False))


def _sweeps(run, number, progress, saver, stop):
    """Make the sweeps of a chain that are left, and return it."""
    chain, steps = run.chain, [*run.first, *run.chain.steps, *run.last]
    while run.n_left:
        progress.before(number)
        ends = advance(chain, steps, stop)
        ends = progress.after(number, chain) or ends
        run.n_left = 0 if ends else run.n_left - 1
        if saver is not None:
            # A callback that ends a chain may not do so again.
            saver.save(chain, run, now=ends)
    for step in steps:
        step.end(chain)
    return chain


class _Run:
    """A chain during its sweeps: the state that a journal saves.

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
        for step in (*self.first, *chain.steps, *self.last):
            step.begin(chain)

    @classmethod
    def begin(cls, number, chain, n_sweeps, progress, schedule, saver):
        """The run of a chain; at its last state in the journal, if there is one."""
        run = None if saver is None else saver.load(chain.corpus)
        if run is None:
            return cls(chain, n_sweeps, progress, schedule)
        progress.resumed(number, run.chain.n_sweeps - chain.n_sweeps)
        return run


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
