"""Warnings that point at the line which called the package."""

import sys
import warnings

# What stands between that line and the place where something is wrong.
_INNER = {"sklda", "sklearn", "joblib", "contextlib", "functools"}


def warn(message, category=UserWarning):
    """As ``warnings.warn``, for the first caller outside this package and scikit-learn, whose wrappers differ."""
    frame, stacklevel = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INNER:
        frame, stacklevel = frame.f_back, stacklevel + 1
    warnings.warn(message, category, stacklevel=stacklevel)
