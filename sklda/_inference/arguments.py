"""Checks of arguments that several functions share."""

import numpy as np


def real_numbers(values, name):
    """`values` as a float64 array; a TypeError if they are not real numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        shown = repr(values)
        shown = shown if len(shown) <= 100 else f"{shown[:100]} ..."
        raise TypeError(f"{name} must hold real numbers, got {shown}.") from error


def check_choice(value, name, allowed):
    """Return `value`, or raise a ValueError if it is not one of the strings `allowed`."""
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(f"{name} must be one of {tuple(allowed)}, got {value!r}.")
    return value
