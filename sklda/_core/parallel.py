"""Parallel execution in threads, which end after an interrupt or an error, or in the processes of a joblib backend.

Python raises KeyboardInterrupt only in the main thread. There it leaves `with_team`, which sets a flag that all threads
read, also in long kernels, and waits until they have ended.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from numbers import Integral
from queue import Empty, SimpleQueue

import numpy as np
from joblib.parallel import get_active_backend
from sklearn import get_config, set_config
from sklearn.utils.parallel import Parallel, delayed

# Seconds that a thread waits before it looks for interrupts (the main thread) or at the flag (the others).
_WAIT = 0.05


class Stopped(BaseException):
    """Raised in a task whose result is not needed any more."""


class Stop:
    """A stop flag. Calling it raises `Stopped` if the flag is set. Threads share it; another process gets a copy.

    Attributes
    ----------
    flag : ndarray of shape (1,), int32
        Not zero: stop. Long kernels check it too; if it is set, they return early and their results are not valid.
    """

    def __init__(self):
        self.flag = np.zeros(1, np.int32)

    def __call__(self):
        if self.flag[0]:
            raise Stopped


# For work in the calling thread, where KeyboardInterrupt is raised directly. Its flag is never set.
NEVER_STOP = Stop()


class Aligned:
    """Mixin: after unpickling, the arrays that are attributes are aligned in memory, as kernels need them.

    The arrays of a message of Dask begin at any byte.
    """

    def __setstate__(self, state):
        vars(self).update({name: aligned(value) for name, value in state.items()})


def aligned(value):
    """An array, or a tuple with arrays, as kernels need it."""
    if type(value) is tuple:
        return tuple(map(aligned, value))
    return np.require(value, requirements="A") if isinstance(value, np.ndarray) else value


def in_other_process(function, *arguments):
    """A joblib task ``function(*arguments)``; arrays among the arguments are aligned where they arrive.

    `results_of` runs such tasks.
    """
    return delayed(_with_aligned_arrays)(function, *arguments)


def _with_aligned_arrays(function, *arguments):
    return function(*map(aligned, arguments))


def jobs_for(n_tasks, n_jobs):
    """`n_jobs` for joblib, which starts as many processes as it says, however few tasks there are."""
    requested = get_active_backend()[1] if n_jobs is None else n_jobs
    most = max(n_tasks, 2)
    return most if isinstance(requested, Integral) and requested > most else n_jobs


def results_of(parallel, tasks):
    """The results of tasks in other processes, in order; arrays are aligned."""
    return [aligned(result) for result in parallel(tasks)]


class Team:
    """Threads that share the tasks of many calls of `run`. `with_team` starts and ends them."""

    def __init__(self, n_threads):
        self.n_threads, self.stop = n_threads, Stop()
        # Queues rather than futures: an interrupt in the main thread may leave a future locked, and `run` costs less.
        self._tasks, self._results = SimpleQueue(), SimpleQueue()

    def start(self, pool):
        """Give each thread of a pool its work. Afterwards `n_threads` is how many could be started."""
        for n_started in range(self.n_threads):
            try:
                pool.submit(self._work)
            except RuntimeError as error:
                # An interrupt inside a lock of the pool comes out as an error of that lock.
                if isinstance(error.__context__, KeyboardInterrupt):
                    raise error.__context__ from None
                # Memory or permissions allow only fewer threads: those that have started are used.
                if n_started == 0:
                    raise
                self.n_threads = n_started
                break

    def run(self, function, tasks):
        """``[function(*task) for task in tasks]``. After an error, the threads of the team end."""
        n_tasks = 0
        for n_tasks, task in enumerate(tasks, 1):
            self._tasks.put((n_tasks - 1, function, task))
        results = [None] * n_tasks
        for _ in range(n_tasks):
            while (found := _get(self._results)) is None:
                pass
            index, result, error = found
            if error is not None:
                raise error
            results[index] = result
        return results

    def wake(self):
        """End the waits for a task, so that the threads see the flag at once."""
        for _ in range(self.n_threads):
            self._tasks.put(None)

    def _work(self):
        while not self.stop.flag[0]:
            if (item := _get(self._tasks)) is None:
                continue
            index, function, task = item
            try:
                result = function(*task)
            except BaseException as error:
                # The error is put into the queue before the flag stops the other threads.
                self._results.put((index, None, error))
                self.stop.flag[0] = 1
            else:
                self._results.put((index, result, None))
            # No reference to a large array is kept while the thread waits for the next task.
            item = task = result = None


def _get(queue):
    """The next entry, or None after a while: a wait without end would not react to a signal on some systems."""
    try:
        return queue.get(timeout=_WAIT)
    except Empty:
        return None


def with_team(n_threads, work):
    """Return ``work(team)`` with a `Team` of `n_threads` threads. They have ended when this returns or raises."""
    team = Team(n_threads)
    pool = ThreadPoolExecutor(n_threads, initializer=partial(set_config, **get_config()))
    try:
        team.start(pool)
        return work(team)
    finally:
        # Before any function call, because a call may be interrupted. This store is enough to end the threads.
        team.stop.flag[0] = 1
        team.wake()
        pool.shutdown()


def in_parallel(function, tasks, n_jobs=None, *, always_in_threads=True):
    """``[function(*task, stop) for task in tasks]``, in threads or in the processes of the active joblib backend.

    Parameters
    ----------
    function : callable
        Its last argument is a `Stop`, which it calls repeatedly. The flag is set when a task has failed or the caller
        is interrupted.
    tasks : iterable of tuple
    n_jobs : int, default=None
        Number of tasks at a time, as in joblib.
    always_in_threads : bool, default=True
        Whether the tasks run in a separate thread also when there is one task at a time. Then the calling thread
        reacts to Ctrl-C while a long kernel runs.

    Returns
    -------
    list
        The results, in the order of the tasks.
    """
    if n_jobs is not None and not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs must be an int or None, got {n_jobs!r}.")
    backend, n_default = get_active_backend(prefer="threads")
    if not getattr(backend, "supports_sharedmem", False):
        tasks = [in_other_process(function, *task, NEVER_STOP) for task in tasks]
        return results_of(Parallel(n_jobs=jobs_for(len(tasks), n_jobs), prefer="threads"), tasks)
    tasks = list(tasks)
    n_threads = min(backend.effective_n_jobs(n_default if n_jobs is None else n_jobs), len(tasks))
    if n_threads < (1 if always_in_threads else 2):
        return [function(*task, NEVER_STOP) for task in tasks]
    return with_team(n_threads, lambda team: team.run(function, [(*task, team.stop) for task in tasks]))
