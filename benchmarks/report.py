"""Tables of the benchmarks, calls and fits with their cost, and constants at half and twice their values."""

import multiprocessing
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np


def say(*words, **options):
    print(*words, flush=True, **options)


def table(title, header, rows):
    """Print a header and rows of strings in aligned columns."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    say(f"\n{title}")
    for row in [header, ["-" * width for width in widths], *rows]:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        say("  " + "  ".join([first.strip().ljust(widths[0]), *others]))


def timed(function, *arguments, **options):
    """The result of a call, and CPU seconds."""
    begin = time.process_time()
    result = function(*arguments, **options)
    return result, time.process_time() - begin


def fitted(estimator, X, **data):
    """The estimator fitted without its warnings, and CPU seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return timed(estimator.fit, X, **data)


def one_core():
    """Keep this process on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def in_child(function, *arguments):
    """The result of a call in a new process, into which the libraries are imported beforehand."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "tomotopy", "topica", "gensim"])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


@contextmanager
def scaled(modules, module, name, factor):
    """A constant of a module times a factor, also in other modules that have imported it by name."""
    value = _times(getattr(module, name), factor)
    with ExitStack() as stack:
        for each in modules:
            if hasattr(each, name) and (each is module or not name.startswith("_")):
                stack.enter_context(patch.object(each, name, value))
        yield


def _times(value, factor):
    """A constant times a factor; one minus the rest for a probability near one."""
    if isinstance(value, tuple):
        return tuple(_times(each, factor) for each in value)
    if isinstance(value, int):
        return max(round(value * factor), 1)
    plain = isinstance(value, np.ndarray) or value * factor < 1 or value >= 1
    return value * factor if plain else 1 - (1 - value) / factor
