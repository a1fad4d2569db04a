"""Run chains in parallel, and choose among them."""

import numpy as np

from sklda._inference.parallel import in_parallel


def run_chains(chains, n_sweeps, *, n_jobs=None, listener=None, snapshot_every=None):
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
    snapshot_every : int, default=None
        Number of sweeps between two snapshots of phi in ``chain.snapshots``. None: no snapshots.

    Returns
    -------
    list of GibbsChain
        The chains after their sweeps. With the processes of a joblib backend they are not the objects that were passed.
    """
    if len(chains) == 1:
        chain = chains[0]
        return [chain.with_workers(n_jobs, lambda stop: _run(0, chain, n_sweeps, listener, snapshot_every, stop))]
    tasks = [(index, chain, n_sweeps, listener, snapshot_every) for index, chain in enumerate(chains)]
    # With one chain at a time, the listener is called in the caller's thread, which some callbacks need.
    return in_parallel(_run, tasks, n_jobs, always_in_threads=False)


def _run(index, chain, n_sweeps, listener, snapshot_every, stop):
    for _ in range(n_sweeps):
        if listener is not None:
            listener.before(index)
        chain.sweep(stop)
        stop()
        chain.trace.append(chain.log_joint())
        if snapshot_every and chain.n_sweeps % snapshot_every == 0:
            chain.snapshots.append((chain.n_sweeps, chain.topic_word()))
        if listener is not None and listener.after(index, chain):
            break
    return chain


def log_joint_traces(chains):
    """log p(w, z | alpha, eta) after every sweep, (n_chains, n_sweeps); NaN after the end of shorter chains."""
    traces = np.full((len(chains), max(len(chain.trace) for chain in chains)), np.nan)
    for row, chain in zip(traces, chains, strict=True):
        row[: len(chain.trace)] = chain.trace
    return traces


def best_chain(chains):
    """Index of the chain with the highest mean log joint over the last half of its sweeps."""
    return int(np.argmax([np.mean(chain.trace[len(chain.trace) // 2 :]) for chain in chains]))
