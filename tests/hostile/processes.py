"""A joblib backend of one process in which tasks and results travel as between processes, and the real ones.

Tasks and results are pickled by plain pickle, as `multiprocessing` does it, and all arrays that arrive are read-only,
as those are that joblib maps into memory. So a parallel path that writes into an array it was given fails at once.
"""

import pickle

from joblib.parallel import ThreadingBackend


class Copies(ThreadingBackend):
    """Threads that receive copies of their tasks, as processes do."""

    supports_sharedmem = False

    def submit(self, func, callback=None):
        return super().submit(_Sent(func), callback)

    def apply_async(self, func, callback=None):
        # The name of `submit` before joblib 1.5.
        return super().apply_async(_Sent(func), callback)


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
