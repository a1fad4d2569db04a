"""Tasks side by side, in threads that end when anything interrupts, or in joblib's other processes.

Python raises KeyboardInterrupt in the main thread alone, but there after any step. So the thread that wants the results
puts tasks into one queue and waits for another, both of which are whole after each step; a thread of its own starts the
others and waits for them. One store into memory, the flag that all of them read, is what it takes to end them.
"""

import sys
import time
from _thread import interrupt_main, start_new_thread
from functools import wraps
from queue import Empty, SimpleQueue
from threading import Thread, current_thread, main_thread

import numpy as np
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed

# Seconds between looks at the flag, and between looks whether threads have ended.
_LOOK, _BLINK = 0.05, 1e-4


class Stopped(BaseException):
    """Raised in a task whose result nobody waits for any more."""


class Stop:
    """Raises `Stopped` when called once its flag is up; threads share it, another process gets a copy of its own.

    Attributes
    ----------
    flag : ndarray of shape (1,), int32
        Not zero: end. Long kernels read it, too; what they then leave behind is not to be used.
    """

    def __init__(self):
        self.flag = np.zeros(1, np.int32)

    def __call__(self):
        if self.flag[0]:
            raise Stopped


# Of work that is done by the thread that wants it.
GO_ON = Stop()


def hears_interrupts(function):
    """While `function` runs in the main thread, no KeyboardInterrupt is lost.

    Python drops an exception that a finaliser or the callback of a weak reference raises, and prints that it did. Any
    may run at any time; the interrupt that lands in one is sent again.
    """

    @wraps(function)
    def listening(*args, **kwargs):
        if current_thread() is not main_thread():
            return function(*args, **kwargs)
        before = sys.unraisablehook

        def hook(unraisable):
            if issubclass(unraisable.exc_type, KeyboardInterrupt):
                start_new_thread(_interrupt_again, ())
            else:
                before(unraisable)

        sys.unraisablehook = hook
        try:
            return function(*args, **kwargs)
        finally:
            sys.unraisablehook = before

    return listening


def _interrupt_again():
    # By then the hook is over, in which the interrupt would be lost once more.
    time.sleep(0.01)
    interrupt_main()


class Team:
    """Threads that take tasks from a queue; for one use of `with_team`."""

    def __init__(self, n_threads):
        self.n_threads, self.stop = n_threads, Stop()
        self._jobs, self._done, self._call = SimpleQueue(), SimpleQueue(), SimpleQueue()
        self._begun, self._over, self._config = False, False, get_config()

    def start(self):
        """Start the threads; `n_threads` is then how many there are."""
        self._begun = True
        try:
            start_new_thread(self._lead, ())
        except RuntimeError:
            self._begun = False
            raise
        self.n_threads = self._result()[0]

    def run(self, function, tasks):
        """``[function(*task) for task in tasks]``; after an error the team does nothing any more."""
        n_tasks = 0
        for n_tasks, task in enumerate(tasks, 1):
            self._jobs.put((n_tasks - 1, function, task))
        results = [None] * n_tasks
        for _ in range(n_tasks):
            index, result = self._result()
            results[index] = result
        return results

    def wait(self):
        """Return when the threads have ended, which the flag makes them do, whatever interrupts meanwhile."""
        interrupt = None
        self._call.put(None)
        while True:
            try:
                while self._begun and not self._over:
                    _get(self._done)
                break
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _result(self):
        while (result := _get(self._done)) is None:
            pass
        if isinstance(result[-1], BaseException):
            raise result[-1]
        return result[:-1]

    def _lead(self):
        """Start the others, and stay until they have ended. No interrupt is raised in this thread."""
        threads, error = [], None
        try:
            for _ in range(self.n_threads):
                thread = Thread(target=self._work, daemon=True)
                thread.start()
                threads.append(thread)
        except Exception as failure:
            # As many as there are memory and permission for.
            error = None if threads else failure
        self._done.put((len(threads), error))
        while not self.stop.flag[0]:
            _get(self._call)
        for _ in threads:
            self._jobs.put(None)
        while any(thread.is_alive() for thread in threads):
            time.sleep(_BLINK)
        self._over = True
        self._done.put(None)

    def _work(self):
        with config_context(**self._config):
            while (job := self._jobs.get()) is not None and not self.stop.flag[0]:
                index, function, task = job
                try:
                    result = (index, function(*task), None)
                except BaseException as error:
                    # In this order: the others may stop only once it is known why.
                    self._done.put((index, None, error))
                    self.stop.flag[0] = 1
                else:
                    self._done.put(result)
                job = task = result = None


def _get(queue):
    """The next entry, or None if there is none for a while: a signal that another thread took is heard then."""
    try:
        return queue.get(timeout=_LOOK)
    except Empty:
        return None


@hears_interrupts
def with_team(n_threads, work):
    """``work(team)`` with a `Team`, whose threads have ended when this returns or raises."""
    team = Team(n_threads)
    try:
        team.start()
        return work(team)
    finally:
        # Before any call, at which an interrupt may land: this alone ends the threads.
        team.stop.flag[0] = 1
        team.wait()


def side_by_side(function, tasks, n_jobs=None, *, aside=True):
    """``[function(*task, stop) for task in tasks]``, by joblib's backend, as a rule in threads.

    Parameters
    ----------
    function : callable
        Calls the `Stop` that it gets now and then; the flag is up once a task has failed or the caller is interrupted.
    tasks : iterable of tuple
    n_jobs : int, default=None
        Tasks at a time, as in joblib.
    aside : bool, default=True
        Whether one job at a time has a thread, too, so that Ctrl-C is heard while a long kernel runs.

    Returns
    -------
    list
    """
    backend, n_default = get_active_backend(prefer="threads")
    if not getattr(backend, "supports_sharedmem", False):
        return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(function)(*task, GO_ON) for task in tasks)
    tasks = list(tasks)
    n_threads = min(backend.effective_n_jobs(n_default if n_jobs is None else n_jobs), len(tasks))
    if n_threads < (1 if aside else 2):
        return [function(*task, GO_ON) for task in tasks]
    return with_team(n_threads, lambda team: team.run(function, [(*task, team.stop) for task in tasks]))
