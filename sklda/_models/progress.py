"""Progress of a fit: printed lines, and the callbacks of scikit-learn 1.9 and later."""

import copy
import shutil
import sys
import time
from typing import Self

from sklda._core.progress import SILENT, Progress
from sklda._input.types import Method
from sklda.callbacks import Checkpoint

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:

    class _NoContext:
        _callbacks = ()

        def subcontext(self, **kwargs):
            return self

        def call_on_fit_task_begin(self, **kwargs):
            return self

        def call_on_fit_task_end(self, **kwargs):
            return False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        def set_callbacks(self, *callbacks: Checkpoint) -> Self:
            """Set the callbacks of the estimator: a `sklda.callbacks.Checkpoint`, or none."""
            for callback in callbacks:
                if not isinstance(callback, Checkpoint):
                    raise TypeError(
                        f"{callback!r} is not a Checkpoint: other callbacks need scikit-learn 1.9 or a later version."
                    )
            if callbacks:
                self._skl_callbacks = list(callbacks)
            else:
                vars(self).pop("_skl_callbacks", None)
            return self

        def _init_callback_context(self, **kwargs):
            return _NoContext()

    def _with_callbacks(method):
        return method


_OF_INPUT = "n_features_in_", "feature_names_in_"
# Seconds between two states of a line that is updated.
_REFRESH = 0.1


def with_callbacks(method: Method) -> Method:
    """Decorator: callbacks learn of the beginning and of the end of a fit."""
    return _with_callbacks(method)


def progress_of(estimator, data, n_chains=None, n_sweeps=None, n_annealed=0):
    """The `Progress` of a fit: a `Report`, which has the parameters, if lines are printed or there are callbacks."""
    root = estimator._init_callback_context(max_subtasks=n_chains, sequential_subtasks=n_chains is None)
    # A checkpoint does not need to hear of tasks.
    has_callbacks = any(not isinstance(each, Checkpoint) for each in root._callbacks)
    if not (estimator.verbose or has_callbacks):
        return SILENT
    # Only callbacks ask for X, which may be large, or of a type that other processes cannot receive.
    return Report(estimator, root, data if has_callbacks else {}, n_chains, n_sweeps, n_annealed)


class Report(Progress):
    """Reports the progress of a fit, by printed lines and to callbacks.

    Parameters
    ----------
    estimator : BaseLDA
        Its `_set_results` takes the argument of `end`, or a list with one chain, when a callback asks for the fitted
        attributes.
    root : CallbackContext
    data : dict
        X and y, for callbacks.
    n_chains : int, default=None
        None: a fit in stages.
    n_sweeps : int, default=None
        Number of sweeps of each chain.
    n_annealed : int, default=0
        How many of them, the first ones, are annealed. The lines say so.
    """

    def __init__(self, estimator, root, data, n_chains=None, n_sweeps=None, n_annealed=0):
        self.estimator, self.data = estimator, data
        self.n_chains, self.n_sweeps, self.n_annealed = n_chains, n_sweeps, n_annealed
        self.prints, self.ended, self.start_time, self.root = bool(estimator.verbose), set(), time.perf_counter(), root
        self.updates = estimator.verbose == 1 and _is_watched(sys.stdout)
        # Tenths of all sweeps that have a line; the width of the line that is updated, 0 without one, and its time.
        self.n_tenths, self.open_width, self.updated = 0, 0, 0.0
        self._begin(root)
        if n_chains is None:
            self._begin_stage()
            return
        self.chains = [
            self._begin(self.root.subcontext(task_name="chain", task_id=c, max_subtasks=n_sweeps))
            for c in range(n_chains)
        ]
        self.sweeps, self.n_done = [None] * n_chains, [0] * n_chains

    def before(self, index):
        self.sweeps[index] = self._begin(self.chains[index].subcontext(task_name="sweep"))

    def after(self, index, chain):
        self.n_done[index] += 1
        self._print_sweep(index, chain)
        ends = self._end(self.sweeps[index], [chain])
        if ends:
            self.ended.add(index)
        return ends

    def resumed(self, index, n_sweeps):
        self.n_done[index] += n_sweeps
        self.say(f"chain {index + 1} of {self.n_chains} continues after sweep {self.n_done[index]} of {self.n_sweeps}")

    def stage(self, text):
        self.say(text)
        stop = self.current_stage.call_on_fit_task_end(estimator=self.estimator, **self.data)
        if not stop:
            self._begin_stage()
        return stop

    def say(self, text):
        if self.prints:
            self._print(text)

    def end(self, result):
        self._close_line()
        if self.n_chains is not None:
            for context, chain in zip(self.chains, result, strict=True):
                self._end(context, [chain])
        self._end(self.root, result)

    def _begin(self, context):
        context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return context

    def _begin_stage(self):
        self.current_stage = self._begin(self.root.subcontext(task_name="stage"))

    def _end(self, context, result):
        return context.call_on_fit_task_end(
            estimator=self.estimator,
            **self.data,
            reconstruction_attributes=lambda: self._attributes(result),
        )

    def _attributes(self, result):
        """The fitted attributes as they would be if the fit ended now, a dict."""
        fitted = copy.copy(self.estimator)
        # A list of chains is emptied when their results have been taken.
        fitted._set_results(copy.copy(result))
        return fitted_attributes(vars(fitted))

    def _print_sweep(self, index, chain):
        if not self.prints:
            return
        done, log_joint = self.n_done[index], chain.trace[-1]
        per_token = log_joint / chain.corpus.n_tokens
        if self.updates:
            # As short as the narrowest terminal.
            if time.perf_counter() > self.updated + _REFRESH or done == self.n_sweeps:
                self._update(
                    f"chain {index + 1}/{self.n_chains}, sweep {done}/{self.n_sweeps}: {per_token:.4f} nats a token"
                )
        elif self._has_line():
            sweep = f"chain {index + 1} of {self.n_chains}, sweep {done} of {self.n_sweeps}"
            sweep += " (annealed)" if done <= self.n_annealed else ""
            self._print(f"{sweep}: log joint {log_joint:.6g} nats ({per_token:.4f} a token)")

    def _has_line(self):
        """Whether the sweeps that are done have a line: each of them, or every tenth of those of all chains."""
        if self.estimator.verbose > 1:
            return True
        done, total = sum(self.n_done), self.n_chains * self.n_sweeps
        n_tenths = done // max(total // 10, 1)
        has_line = n_tenths > self.n_tenths or done == total
        self.n_tenths = n_tenths
        return has_line

    def _print(self, text):
        self._close_line()
        # One string with its line break, because chains in threads print at the same time.
        print(f"{self._with_time(text)}\n", end="", flush=True)

    def _update(self, text):
        """Write the text over the last one."""
        # A longer line would go on in the next row, and could not be written over.
        text = self._with_time(text)[: shutil.get_terminal_size().columns - 1]
        print("\r" + text.ljust(self.open_width), end="", flush=True)
        self.open_width, self.updated = len(text), time.perf_counter()

    def _close_line(self):
        if self.open_width:
            print(flush=True)
        self.open_width = 0

    def _with_time(self, text):
        return f"[{type(self.estimator).__name__}] {text}, {time.perf_counter() - self.start_time:.1f} s"


def fitted_attributes(state):
    """The fitted attributes in the state of an estimator, a dict; without those that say what X was."""
    return {name: value for name, value in state.items() if name.endswith("_") and name not in _OF_INPUT}


def _is_watched(stream):
    """Whether a line that is written over is seen as one line: in a terminal or a notebook."""
    # Programs without a console have no stream, and some streams have no `isatty`.
    return type(stream).__module__.startswith("ipykernel") or (hasattr(stream, "isatty") and stream.isatty())
