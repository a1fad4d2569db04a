"""Checks of arguments that several functions share."""

import numpy as np


def real_numbers(values, name):
    """A float64 array of `values`; TypeError if they are no real numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        shown = repr(values)
        shown = shown if len(shown) <= 100 else f"{shown[:100]} ..."
        raise TypeError(f"{name} must hold real numbers, got {shown}.") from error


def check_choice(value, name, allowed):
    """ValueError if `value` is not one of the strings `allowed`."""
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}.")
