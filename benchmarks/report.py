"""Tables of the benchmarks, fits with their cost, and constants at half and twice their values."""

import time
import warnings
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


def fitted(estimator, X, **data):
    """The estimator fitted without its warnings, and CPU seconds."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, **data)
    return estimator, time.process_time() - begin


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
