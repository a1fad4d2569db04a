"""Warnings that name the user's line of code."""

import sys
import warnings

# Packages whose stack frames lie between the user's line and the call of `warn`.
_INNER = {"sklda", "sklearn", "joblib", "contextlib", "functools"}


def warn(message, category=UserWarning):
    """``warnings.warn`` with the stack level of the first caller outside this package and the packages it uses.

    A fixed stack level would be wrong, because the number of wrappers of scikit-learn differs between versions.
    """
    frame, stacklevel = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INNER:
        frame, stacklevel = frame.f_back, stacklevel + 1
    warnings.warn(message, category, stacklevel=stacklevel)
