"""Checks of arguments that several functions share."""

import os
from numbers import Integral
from pathlib import Path

import numpy as np
from sklearn.utils.validation import check_scalar


def real_numbers(values, name):
    """`values` as a float64 array, aligned in memory; a TypeError if they are not real numbers.

    A ValueError if some are masked.
    """
    check_no_mask(values, name)
    try:
        return np.require(np.asarray(values, dtype=np.float64), requirements="A")
    except (OverflowError, TypeError, ValueError) as error:
        shown = repr(values)
        shown = shown if len(shown) <= 100 else f"{shown[:100]} ..."
        raise TypeError(f"{name} must hold real numbers, got {shown}.") from error


def path_of(path):
    """A path that a user has given; ~ is the home folder, as in pandas."""
    return Path(os.path.expanduser(path))


def check_no_mask(values, name):
    """Refuse a masked array that hides some of its entries: they would be used."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries, which would be used: fill them in, or leave them out.")


def distributions(values, name):
    """Rows divided by their sums, float64.

    Parameters
    ----------
    values : array-like of shape (n, m)
    name : str
        For messages.

    Raises
    ------
    ValueError, TypeError
        If it is not a matrix of real numbers, or a row cannot be a distribution.
    """
    values = real_numbers(values, name)
    if values.ndim == 2 and values.shape[1] and not len(values):
        raise ValueError(f"{name} has no topics: it has shape {values.shape}.")
    if values.ndim != 2 or not values.size:
        raise ValueError(f"{name} has shape {values.shape}: it must be a matrix with at least one row and one column.")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"{name} holds negative, NaN or infinite values: its rows must be distributions.")
    sums = values.sum(axis=1, keepdims=True)
    if not (sums > 0).all():
        raise ValueError(f"{name}[{int(np.argmin(sums))}] holds only zeros: it is not a distribution.")
    return values / sums


def is_whole(value):
    """Whether a value is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_int(value, name, least=None, most=None):
    """`value` as an int; a TypeError if it is not a whole number, a ValueError if it is not from `least` to `most`."""
    if not is_whole(value):
        raise TypeError(f"{name} must be an int, got {value!r}.")
    if most is not None and not least <= value <= most:
        raise ValueError(f"{name} must lie between {least} and {most}, got {value}.")
    if least is not None and value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.")
    return int(value)


def check_level(value):
    """The probability of intervals as a float, or an error."""
    level = float(check_scalar(value, "level", (int, float)))
    # Not a number, too.
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level:g}.")
    return level


def check_bool(value, name):
    """`value` as a bool, or a TypeError."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_choice(value, name, allowed):
    """Return `value`, or raise a ValueError if it is not one of the strings `allowed`."""
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(f"{name} must be one of {tuple(allowed)}, got {value!r}.")
    return value


def check_components(components, owner, n_features=None):
    """The `components_` of an estimator as a matrix of floats; it may have been replaced since the fit.

    A float32 or float64 array is not copied if it is aligned in memory.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
    owner : str
        Name of the estimator's class.
    n_features : int, default=None
        Number of features of the fit.

    Raises
    ------
    ValueError, TypeError
        If it is not a matrix of real numbers, or does not have these features.
    """
    in_place = isinstance(components, np.ndarray) and components.dtype in (np.float32, np.float64)
    name = f"components_ of the {owner}"
    values = np.require(components, requirements="A") if in_place else real_numbers(components, name)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"components_ of the {owner} has shape {values.shape}: it is not a matrix of topics.")
    if n_features is not None and values.shape[1] != n_features:
        raise ValueError(f"components_ of the {owner} has {values.shape[1]} features, and X of its fit {n_features}.")
    return values


def check_weights(components, owner):
    """Sums of the rows of a matrix of `check_components`, (n_components, 1).

    Raises
    ------
    ValueError
        If a value is negative, NaN or infinite, or a row has only zeros.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        sums = components.sum(axis=1, keepdims=True, dtype=np.float64)
    bad = ~((components.min(axis=1, keepdims=True) >= 0) & (sums > 0) & np.isfinite(sums))
    if bad.any():
        k = int(np.argmax(bad))
        what = "has a negative value" if components[k].min() < 0 else f"sums to {sums[k, 0]:g}"
        raise ValueError(f"components_[{k}] of the {owner} {what}: it is not a distribution over words.")
    return sums
