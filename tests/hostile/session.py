"""Calls, and what is allowed to come back from them."""

import os
import re
import traceback
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from sklda import metrics

REFUSALS = (ValueError, TypeError, NotFittedError)
# Messages that Python, NumPy and SciPy give to those who passed something on without looking at it.
ACCIDENTS = re.compile(
    r"could not be broadcast|cannot be broadcast|cannot reshape|Buffer dtype mismatch|Buffer has wrong number|"
    r"not subscriptable|unsupported operand|not supported between|out of bounds|is ambiguous|has no len|"
    r"inhomogeneous|not iterable|zero-size array|object cannot be interpreted|read-only|not supported for the input|"
    r"cannot unpack|to unpack|must be real number|NoneType|arange|negative dimensions|array is too big|"
    r"attempt to get arg|bad operand|cannot convert float|object arrays are not|dimension mismatch|matmul|"
    r"could not convert|only length-1|only integer scalar|invalid literal|loop of ufunc|can't multiply|must not contain"
    r"|unexpected keyword|positional argument|keyword-only argument|multiple values"
)


# Annealing estimates p without bias, and so may exceed 1 where p is near it; by e^20 with probability e^-20 at most.
ESTIMATED = 20.0


class Violation(Exception):
    """A failure; its text names it."""


class Session:
    """The calls of one input, one after the other.

    Attributes
    ----------
    told : callable or None
        Gets the text of every call before it is made. None: the texts, which take long, are not made.
    answers, refusals : int
    called, answered : set of str
        Names of the functions, as ``GibbsLDA.fit`` or ``topic_table``, and of those that did not refuse every time.
    kinds : set of str
        Those of the `Draw`.
    """

    def __init__(self, told):
        self.told = told
        self.answers = self.refusals = 0
        self.called, self.answered, self.kinds = set(), set(), set()

    def call(self, function, *args, refuse=None, also=(), **options):
        """What `function` answers, or None where it refuses.

        Parameters
        ----------
        function : callable
        refuse : str, default=None
            Why it must refuse.
        also : tuple of exception types
            Further ones that are right here, such as MemoryError where the memory of the machine would not do.
        """
        self.called.add(_name(function))
        if self.told is not None:
            self.told(f"{_name(function)}({', '.join([*map(show, args), *_named(options)])})")
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                answer = function(*args, **options)
        except (*REFUSALS, *also) as error:
            if not str(error) or (ACCIDENTS.search(str(error)) and not _meant(error)):
                raise Violation(f"unhelpful {type(error).__name__}: {error} [{_place(error)}]") from error
            self.refusals += 1
            return None
        except Exception as error:
            raise Violation(f"{type(error).__name__}: {error} [{_place(error)}]") from error
        for warning in caught:
            if issubclass(warning.category, RuntimeWarning):
                raise Violation(f"RuntimeWarning: {warning.message} [{_short(warning.filename)}:{warning.lineno}]")
        if refuse:
            raise Violation(f"accepted: {refuse}")
        self.answers += 1
        self.answered.add(_name(function))
        return answer

    def require(self, holds, what):
        if not np.all(holds):
            raise Violation(f"broken: {what}")

    def finite(self, value, what):
        self.require(np.isfinite(np.asarray(value, float)), f"{what} is finite, got {show(value)}")

    def distribution(self, rows, shape, what):
        """Rows are distributions, of the right shape."""
        rows = np.asarray(rows, float)
        self.require(rows.shape == shape, f"{what} has shape {shape}, got {rows.shape}")
        self.finite(rows, what)
        self.require(rows >= 0, f"{what} is not negative")
        self.require(np.abs(rows.sum(axis=-1) - 1) < 1e-6, f"rows of {what} sum to one")

    def log_probability(self, values, shape, what, *, possible=True, tolerance=1e-6):
        """Logarithms of probabilities; -inf only for what is impossible."""
        values = np.asarray(values, float)
        self.require(values.shape == shape, f"{what} has shape {shape}, got {values.shape}")
        self.require(~np.isnan(values), f"{what} is not NaN, got {show(values)}")
        self.require(values <= tolerance, f"{what} is at most 0, got {show(values)}")
        self.require(np.isfinite(values) | ~np.asarray(possible), f"{what} is finite where possible: {show(values)}")


def show(value):
    """A short text of a value."""
    with np.printoptions(threshold=20, linewidth=10**6, precision=17):
        # A malformed sparse matrix may have no repr.
        text = value if isinstance(value, type) else type(value).__name__ if sp.issparse(value) else repr(value)
    if sp.issparse(value):
        arrays = ("data", "indices", "indptr", "coords", "offsets", "rows")
        parts = [f"{key}={vars(value)[key]!r}" for key in arrays if key in vars(value)]
        text = f"{type(value).__name__} {value.shape} {value.dtype} {' '.join(parts)}"
    elif isinstance(value, np.ndarray):
        text += f" {value.dtype} {value.shape}"
    elif isinstance(value, Path):
        # The name of its folder is different every time.
        text = value.name
    text = re.sub(" at 0x[0-9a-fA-F]+", "", " ".join(str(text).split()))
    return text if len(text) <= 400 else text[:400] + " ..."


def _named(options):
    return [f"{name}={show(value)}" for name, value in options.items()]


def _name(function):
    if function is metrics.neg_ais_perplexity_scorer:
        return "neg_ais_perplexity_scorer"
    owner = getattr(function, "__self__", None)
    owner = owner if owner is None or isinstance(owner, type) else type(owner)
    owner = f"{owner.__name__}." if owner is not None and owner.__module__ != "builtins" else ""
    return owner + getattr(function, "__name__", type(function).__name__)


def _short(path):
    return os.path.join(*os.path.normpath(path).split(os.sep)[-3:])


def _frames(error):
    return [frame for frame in traceback.extract_tb(error.__traceback__) if os.sep + "hostile" + os.sep not in frame[0]]


def _place(error):
    """The last line of the package on the way to the error, and where it was raised."""
    frames = _frames(error)
    ours = [frame for frame in frames if os.sep + "sklda" + os.sep in frame.filename] or frames
    places = [f"{_short(each.filename)}:{each.lineno}" for each in (*ours[-1:], *frames[-1:])]
    return " < ".join(dict.fromkeys(places))


def _meant(error):
    """Whether somebody wrote a raise for it, or scikit-learn's validation passes it on."""
    last = _frames(error)[-1]
    return "raise" in (last.line or "") or f"{os.sep}sklearn{os.sep}" in last.filename
