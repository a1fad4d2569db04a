"""Run chains in parallel, record their sweeps, and choose among them."""

from dataclasses import dataclass

import numpy as np

from sklda._inference.journal import recorded
from sklda._inference.parallel import in_parallel
from sklda._inference.sampling.annealed_start import NOT_ANNEALED, Annealing, annealed_sweep
from sklda._inference.sampling.prior_learning import PriorLearning

# Sweeps in each of the two windows whose mean log joints `Schedule.tol` compares.
_WINDOW = 20


@dataclass(frozen=True)
class Schedule:
    """The work between the sweeps of a chain.

    Priors are learnt in the burn-in, after the annealed sweeps, and no draws are kept from it.

    Attributes
    ----------
    n_draws : int
        Number of the last draws of z that are kept in ``chain.draws``. The last one is the present z.
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


def run_chains(chains, n_sweeps, *, n_jobs=None, listener=None, schedule=None):
    """Run chains in parallel for `n_sweeps` sweeps each.

    Parameters
    ----------
    chains : list of GibbsChain
    n_sweeps : int
        Number of sweeps of each chain.
    n_jobs : int, default=None
        Number of chains at a time, as in joblib; for a single chain, number of workers of its sweeps. The draws do not
        depend on it.
    listener : object, default=None
        ``listener.before(index)`` is called before every sweep of chain `index`, and ``listener.after(index, chain)``
        after it. If the latter returns True, this chain ends. ``listener.resumed(index, n_sweeps)`` is called if the
        first sweeps of a chain come from a journal.
    schedule : Schedule, default=None
        None: only the sweeps and their trace.

    Returns
    -------
    list of GibbsChain
        The chains after their sweeps. With the processes of a joblib backend, or with a journal, they are not the
        objects that were passed.
    """

    def found(results):
        if listener is not None:
            for index, (result, chain) in enumerate(zip(results, chains, strict=True)):
                listener.resumed(index, result.n_sweeps - chain.n_sweeps)

    def work(journal):
        savers = [None if journal is None else journal.saver(index) for index in range(len(chains))]
        tasks = [
            (index, chain, n_sweeps, listener, schedule, saver)
            for index, (chain, saver) in enumerate(zip(chains, savers, strict=True))
        ]
        if len(chains) == 1:
            run = _Run.begin(*tasks[0])
            return [run.chain.with_workers(n_jobs, lambda stop: run.go(listener, savers[0], stop))]
        # With one chain at a time, the listener is called in the caller's thread, which some callbacks need.
        return in_parallel(_run, tasks, n_jobs, always_in_threads=False)

    return recorded("run_chains", work, found)


def _run(index, chain, n_sweeps, listener, schedule, saver, stop):
    return _Run.begin(index, chain, n_sweeps, listener, schedule, saver).go(listener, saver, stop)


class _Run:
    """A chain during its sweeps: the state that a journal saves.

    Attributes
    ----------
    index : int
        Number of the chain.
    chain : GibbsChain
    recorder : _Recorder or None
    n_left : int
        Number of sweeps that are left.
    """

    def __init__(self, index, chain, n_sweeps, recorder):
        self.index, self.chain, self.n_left, self.recorder = index, chain, n_sweeps, recorder

    @classmethod
    def begin(cls, index, chain, n_sweeps, listener, schedule, saver):
        """The run of a chain; at its last state in the journal, if there is one."""
        run = None if saver is None else saver.load(chain.corpus)
        if run is None:
            return cls(index, chain, n_sweeps, None if schedule is None else _Recorder(chain, n_sweeps, schedule))
        if listener is not None:
            listener.resumed(index, run.chain.n_sweeps - chain.n_sweeps)
        return run

    def go(self, listener, saver, stop):
        """Make the sweeps that are left, and return the chain."""
        chain, recorder = self.chain, self.recorder
        while self.n_left:
            if listener is None and recorder is None:
                chain.trace += chain.sweeps(1, stop)
                ends = False
            else:
                ends = self._sweep(listener, stop)
            self.n_left = 0 if ends else self.n_left - 1
            if saver is not None:
                # A listener that ends a chain may not do so again.
                saver.save(chain, self, now=ends)
        if recorder is not None:
            recorder.end()
        return chain

    def _sweep(self, listener, stop):
        """Sweep once; return whether the chain ends."""
        chain, recorder = self.chain, self.recorder
        if listener is not None:
            listener.before(self.index)
        (chain if recorder is None else recorder).sweep(stop)
        stop()
        if recorder is None:
            chain.record()
        else:
            recorder.after_sweep()
        if listener is not None and listener.after(self.index, chain):
            return True
        return recorder is not None and recorder.converged()


class _Recorder:
    """Does between the sweeps of a chain what a `Schedule` says."""

    def __init__(self, chain, n_sweeps, schedule):
        self.chain, self.schedule = chain, schedule
        if chain.n_sweeps == 0:
            # The records of `from_assignments`.
            chain.trace, chain.label_free = [], []
            chain.n_annealed = schedule.annealing.n_sweeps
        n_burn_in = schedule.burn_in
        if n_burn_in is None:
            learnt = chain.n_sweeps > 0 and schedule.learning is not None
            n_burn_in = chain.n_burn_in if learnt else burn_in_of(None, chain.n_sweeps + n_sweeps, chain.n_annealed)
        # Those that one longer run would have kept.
        chain.keep_only(n_burn_in, schedule.draw_every)
        learns = schedule.learning is not None and chain.n_sweeps < chain.n_burn_in
        self.learning = schedule.learning.begin(chain) if learns else None
        self.n_sweeps, self.factors = 0, schedule.annealing.factors(chain.priors)

    def sweep(self, stop):
        number = self.chain.n_sweeps
        if number < len(self.factors):
            annealed_sweep(self.chain, self.factors[number], stop)
        else:
            self.chain.sweep(stop)

    def after_sweep(self):
        chain, schedule, sweep = self.chain, self.schedule, self.chain.n_sweeps
        self.n_sweeps += 1
        if self.learning is not None:
            self.learning.after_sweep(chain)
            if sweep == chain.n_burn_in:
                self._end_of_learning()
        chain.record()
        if schedule.snapshot_every and sweep % schedule.snapshot_every == 0:
            chain.snapshots.append((sweep, chain.topic_word()))
        if sweep > chain.n_burn_in and sweep % schedule.draw_every == 0:
            chain.keep_draw(schedule.n_draws)

    def converged(self):
        """Whether the chain can end. In the burn-in, this ends the burn-in."""
        if self.schedule.tol is None or self.n_sweeps % _WINDOW or self.n_sweeps < 2 * _WINDOW:
            return False
        chain = self.chain
        if chain.n_sweeps < chain.n_annealed + 2 * _WINDOW:
            return False
        before, last = np.reshape(chain.trace[-2 * _WINDOW :], (2, _WINDOW)).mean(axis=1)
        if last - before >= self.schedule.tol * chain.corpus.n_tokens:
            return False
        if chain.n_sweeps >= chain.n_burn_in + self.schedule.n_draws * self.schedule.draw_every:
            return True
        # Before the first M-steps the log joint can be flat, because they are still to come.
        learnt = self.learning is None or self.learning.has_learnt_for(2 * _WINDOW)
        if chain.n_sweeps < chain.n_burn_in and learnt:
            chain.n_burn_in = chain.n_sweeps
            if self.learning is not None:
                self._end_of_learning()
        return False

    def end(self):
        """Keep the last draw."""
        chain = self.chain
        chain.n_annealed = min(chain.n_annealed, chain.n_sweeps)
        if chain.n_sweeps <= chain.n_burn_in or chain.n_sweeps % self.schedule.draw_every:
            chain.keep_draw(self.schedule.n_draws)

    def _end_of_learning(self):
        self.learning.end(self.chain)
        self.learning = None


def log_joint_traces(chains):
    """log p(w, z | alpha, eta) after every sweep, (n_chains, n_sweeps); NaN after the end of shorter chains."""
    return _padded([chain.trace for chain in chains])


def traces_of(chains):
    """Quantities after every sweep that do not depend on the names of topics, a dict of arrays (n_chains, n_sweeps).

    ``"log_joint"``, ``"log_topics"`` (log p(z | alpha)) and ``"squared_shares"`` (the sum of the squared shares of the
    topics); NaN after the end of shorter chains.
    """
    log_topics, squared_shares = zip(*(zip(*chain.label_free, strict=True) for chain in chains), strict=True)
    return {
        "log_joint": log_joint_traces(chains),
        "log_topics": _padded(log_topics),
        "squared_shares": _padded(squared_shares),
    }


def more_traces_of(states):
    """Those of `ChainState.more_traces`, in the form of `traces_of`."""
    traces = [state.more_traces() for state in states]
    return {name: _padded([each[name] for each in traces]) for name in traces[0]}


def _padded(series):
    traces = np.full((len(series), max(len(each) for each in series)), np.nan)
    for row, each in zip(traces, series, strict=True):
        row[: len(each)] = each
    return traces


def best_chain(chains):
    """Index of the chain with the highest mean log joint over the last half of its sweeps."""
    return int(np.argmax([np.mean(chain.trace[len(chain.trace) // 2 :]) for chain in chains]))
