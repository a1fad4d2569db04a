"""Parallel execution in threads, which end after an interrupt or an error, or in the processes of a joblib backend.

Python raises KeyboardInterrupt only in the main thread, but there it can be raised between any two instructions. So the
calling thread only puts tasks into a queue and reads results from another queue; both queues are consistent after every
instruction. A separate thread, the leader, starts the worker threads and waits until they have ended. All threads read
one flag, and setting it is enough to end them.
"""

import sys
import time
from _thread import interrupt_main, start_new_thread
from functools import wraps
from numbers import Integral
from queue import Empty, SimpleQueue
from threading import Thread, current_thread, main_thread

import numpy as np
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed

# Seconds between two checks of the flag: an interrupt is noticed after at most this time.
_FLAG_INTERVAL = 0.05
# Seconds between two checks whether the worker threads have ended.
_END_INTERVAL = 1e-4


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


def no_interrupt_lost(function):
    """Decorator: while `function` runs in the main thread, no KeyboardInterrupt is lost.

    Python only prints exceptions that are raised inside a finaliser or the callback of a weak reference, and continues.
    Such code can run at any time. If a KeyboardInterrupt is raised in it, the interrupt is sent again.
    """

    @wraps(function)
    def guarded(*args, **kwargs):
        if current_thread() is not main_thread():
            return function(*args, **kwargs)
        before = sys.unraisablehook

        def hook(unraisable):
            if issubclass(unraisable.exc_type, KeyboardInterrupt):
                start_new_thread(_interrupt_after, (sys._getframe(),))
            else:
                before(unraisable)

        sys.unraisablehook = hook
        try:
            return function(*args, **kwargs)
        finally:
            sys.unraisablehook = before

    return guarded


def _interrupt_after(hook):
    """Interrupt the main thread when the frame `hook` has returned: inside it, the interrupt would be lost again."""
    while hook in _frames_of_main_thread():
        time.sleep(0.001)
    interrupt_main()


def _frames_of_main_thread():
    frame, found = sys._current_frames()[main_thread().ident], []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


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
    """Worker threads that take tasks from a queue. `with_team` creates and ends it."""

    def __init__(self, n_threads):
        self.n_threads, self.stop = n_threads, Stop()
        self._tasks, self._results, self._end_call = SimpleQueue(), SimpleQueue(), SimpleQueue()
        self._started, self._ended, self._config = False, False, get_config()

    def start(self):
        """Start the threads. Afterwards `n_threads` is the number of threads that could be started."""
        self._started = True
        try:
            start_new_thread(self._lead, ())
        except RuntimeError:
            self._started = False
            raise
        self.n_threads = self._next_result()[0]

    def run(self, function, tasks):
        """``[function(*task) for task in tasks]``. After an error, the threads of the team end."""
        n_tasks = 0
        for n_tasks, task in enumerate(tasks, 1):
            self._tasks.put((n_tasks - 1, function, task))
        results = [None] * n_tasks
        for _ in range(n_tasks):
            index, result = self._next_result()
            results[index] = result
        return results

    def wait(self):
        """Return when all threads have ended. The flag must be set. An interrupt is raised after that."""
        interrupt = None
        self._end_call.put(None)
        while True:
            try:
                while self._started and not self._ended:
                    _get(self._results)
                break
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _next_result(self):
        while (result := _get(self._results)) is None:
            pass
        if isinstance(result[-1], BaseException):
            raise result[-1]
        return result[:-1]

    def _lead(self):
        """The leader: start the workers and wait until they have ended. No interrupt is raised in this thread."""
        threads, error = [], None
        try:
            for _ in range(self.n_threads):
                thread = Thread(target=self._work, daemon=True)
                thread.start()
                threads.append(thread)
        except Exception as failure:
            # If memory or permissions allow only fewer threads, those that have started are used.
            error = None if threads else failure
        self._results.put((len(threads), error))
        while not self.stop.flag[0]:
            _get(self._end_call)
        for _ in threads:
            self._tasks.put(None)
        while any(thread.is_alive() for thread in threads):
            time.sleep(_END_INTERVAL)
        self._ended = True
        self._results.put(None)

    def _work(self):
        with config_context(**self._config):
            while (item := self._tasks.get()) is not None and not self.stop.flag[0]:
                index, function, task = item
                try:
                    result = (index, function(*task), None)
                except BaseException as error:
                    # The error is put into the queue before the flag stops the other threads.
                    self._results.put((index, None, error))
                    self.stop.flag[0] = 1
                else:
                    self._results.put(result)
                # No reference to a large array is kept while the thread waits for the next task.
                item = task = result = None


def _get(queue):
    """The next entry, or None after 0.05 seconds.

    Without the time limit, the main thread would not react to a signal that the system sends to another thread.
    """
    try:
        return queue.get(timeout=_FLAG_INTERVAL)
    except Empty:
        return None


@no_interrupt_lost
def with_team(n_threads, work):
    """Return ``work(team)`` with a `Team` of `n_threads` threads. They have ended when this returns or raises."""
    team = Team(n_threads)
    try:
        team.start()
        return work(team)
    finally:
        # Before any function call, because a call may be interrupted. This store is enough to end the threads.
        team.stop.flag[0] = 1
        team.wait()


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
