"""A joblib backend of one process in which tasks and results travel as between processes, and the real ones.

Tasks and results are pickled by plain pickle, as `multiprocessing` does it, and all arrays that arrive are read-only,
as those are that joblib maps into memory. So a parallel path that writes into an array it was given fails at once.
"""

import pickle

from joblib import parallel_config
from joblib.parallel import ThreadingBackend

from hostile import estimators, functions, labels


class Copies(ThreadingBackend):
    """Threads that receive copies of their tasks, as processes do."""

    supports_sharedmem = False

    def submit(self, func, callback=None):
        return super().submit(_Sent(func), callback)


class _Sent:
    def __init__(self, function):
        self.function = function

    def __call__(self):
        return received(received(self.function)())


def received(value):
    """A copy of `value` as from another process, whose arrays are read-only."""
    buffers = []
    text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=[bytes(buffer.raw()) for buffer in buffers])


def processes(draw, session):
    """Another input, whose parallel work is done by tasks that travel; in rare cases by real processes."""
    if draw.chance(0.06):
        backend = draw.pick(["loky", "multiprocessing"])
        draw.kinds.add(f"processes: {backend}")
        with parallel_config(backend, n_jobs=2, max_nbytes=1):
            draw.pick([*_QUICK.values()])(draw, session)
        return
    kind = draw.pick(sorted(_CASES))
    draw.kinds.add("processes: copies")
    with parallel_config(Copies(), n_jobs=2):
        _CASES[kind](draw, session)


_QUICK = {
    kind: estimators.CASES[kind] for kind in ("GibbsLDA", "CollapsedVariationalLDA", "CompoundLDA")
} | labels.CASES
_CASES = estimators.CASES | functions.CASES | labels.CASES
CASES = {"processes": processes}
