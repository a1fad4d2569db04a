"""Run chains in parallel, record their sweeps, and choose among them."""

from dataclasses import dataclass

import numpy as np

from sklda._inference.parallel import in_parallel
from sklda._inference.sampling.annealed_start import NOT_ANNEALED, Annealing
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
        after it. If the latter returns True, this chain ends.
    schedule : Schedule, default=None
        None: only the sweeps and their trace.

    Returns
    -------
    list of GibbsChain
        The chains after their sweeps. With the processes of a joblib backend they are not the objects that were passed.
    """
    if len(chains) == 1:
        chain = chains[0]
        return [chain.with_workers(n_jobs, lambda stop: _run(0, chain, n_sweeps, listener, schedule, stop))]
    tasks = [(index, chain, n_sweeps, listener, schedule) for index, chain in enumerate(chains)]
    # With one chain at a time, the listener is called in the caller's thread, which some callbacks need.
    return in_parallel(_run, tasks, n_jobs, always_in_threads=False)


def _run(index, chain, n_sweeps, listener, schedule, stop):
    if listener is None and schedule is None:
        chain.trace += chain.sweeps(n_sweeps, stop)
        return chain
    recorder = _Recorder(chain, n_sweeps, schedule) if schedule is not None else None
    for _ in range(n_sweeps):
        if listener is not None:
            listener.before(index)
        (chain if recorder is None else recorder).sweep(stop)
        stop()
        if recorder is None:
            chain.record()
        else:
            recorder.after_sweep()
        if (listener is not None and listener.after(index, chain)) or (recorder is not None and recorder.converged()):
            break
    if recorder is not None:
        recorder.end()
    return chain


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
        self.n_sweeps = 0

    def sweep(self, stop):
        self.schedule.annealing.sweep(self.chain, stop)

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


def _padded(series):
    traces = np.full((len(series), max(len(each) for each in series)), np.nan)
    for row, each in zip(traces, series, strict=True):
        row[: len(each)] = each
    return traces


def best_chain(chains):
    """Index of the chain with the highest mean log joint over the last half of its sweeps."""
    return int(np.argmax([np.mean(chain.trace[len(chain.trace) // 2 :]) for chain in chains]))
