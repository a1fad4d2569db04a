"""Covariates of documents: any form of them as a data frame, and whether each is a number or a category."""

from collections.abc import Mapping, Set
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd
import scipy.sparse as sp

from sklda._input.arguments import check_no_mask
from sklda._input.names import (
    grouped,
    index_of,
    is_missing,
    label_array,
    listed,
    order_of,
    python_value,
    read_column,
    read_labels,
    read_numbers,
    read_once,
)
from sklda._input.warn import warn

# Texts with more values than this, most of which one document has, get a warning: they may be numbers.
_MANY_LEVELS = 10
# Values that are not categories, because they lie on a scale.
_ON_A_SCALE = date, time, timedelta, np.datetime64, np.timedelta64, complex


# --- Any form as a data frame --------------------------------------------------------------------------------------


def read_covariates(covariates):
    """Covariates that can be read several times, of which the rows can be taken."""
    if isinstance(covariates, Set):
        raise TypeError(
            f"covariates must be an array or a data frame with a row for each document, got a "
            f"{type(covariates).__name__}, which has no order."
        )
    if isinstance(covariates, Mapping):
        return {name: read_once(values) for name, values in covariates.items()}
    return read_once(covariates)


def has_names(covariates):
    """Whether covariates are a data frame or a dict of columns."""
    return isinstance(covariates, dict) or (hasattr(covariates, "columns") and hasattr(covariates, "__getitem__"))


def covariate_frame(covariates, known=None):
    """Covariates as a data frame of pandas, with a text for the name of each column and no index.

    Parameters
    ----------
    covariates : data frame, dict of columns, series, array, list or sparse matrix
    known : list of str, default=None
        The columns of the fit, which are those of the result. Those of arrays are taken to be in this order.
    """
    columns, named = _named_columns(covariates)
    if known == ["x0"] and not has_names(covariates):
        # A series belongs to a fit without names, too.
        named = False
    if known is None and not columns:
        raise ValueError("covariates has no column: give at least one covariate.")
    if known is not None and named:
        missing = [name for name in known if name not in columns]
        if missing:
            raise ValueError(f"covariates has no column {missing[0]!r}, which the fit had.")
        columns = {name: columns[name] for name in known}
    elif known is not None:
        if len(columns) != len(known):
            raise ValueError(f"covariates has {len(columns)} columns; the fit had {len(known)}: {', '.join(known)}.")
        columns = dict(zip(known, columns.values(), strict=True))
    columns = {name: _pandas_column(name, values) for name, values in columns.items()}
    index = index_of(covariates) if not isinstance(covariates, dict) else None
    return pd.DataFrame(columns) if index is None else pd.DataFrame(columns).set_axis(index)


def _named_columns(covariates):
    """The columns by their names, and whether the names were given: those of arrays are x0, x1, ..."""
    if has_names(covariates):
        names = list(covariates.columns if hasattr(covariates, "columns") else covariates)
        shown = list(map(str, names))
        if len(set(shown)) < len(names):
            twice = next(name for name in shown if shown.count(name) > 1)
            raise ValueError(f"covariates has two columns with the name {twice!r}.")
        return {str(name): covariates[name] for name in names}, True
    check_no_mask(covariates, "covariates")
    is_array = isinstance(covariates, np.ndarray) or sp.issparse(covariates)
    if not is_array and len(getattr(covariates, "shape", ())) == 1:
        # A series, which has a type of its own and may have a name.
        name = getattr(covariates, "name", None)
        return ({"x0": covariates}, False) if name in (None, "") else ({str(name): covariates}, True)
    if sp.issparse(covariates):
        covariates = covariates.toarray()
    if isinstance(covariates, (str, bytes)) or not hasattr(covariates, "__len__"):
        raise TypeError(
            f"covariates must be an array or a data frame with a row for each document, got {covariates!r}."
        )
    try:
        values = covariates if isinstance(covariates, np.ndarray) else np.asarray(covariates, dtype=object)
    except ValueError as error:
        raise ValueError(f"covariates must be a matrix with a row for each document: {error}.") from error
    if values.ndim not in (1, 2):
        raise ValueError(f"covariates has {values.ndim} dimensions: it must have one row for each document.")
    values = values[:, None] if values.ndim == 1 else values
    return {f"x{j}": column for j, column in enumerate(values.T)}, False


def _pandas_column(name, values):
    """One column as pandas takes it, without an index."""
    check_no_mask(values, f"covariate {name!r}")
    if sp.issparse(values):
        values = values.toarray()
    shape = getattr(values, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        values = values.iloc[:, 0] if hasattr(values, "iloc") else np.asarray(values)[:, 0]
    if isinstance(values, (pd.Series, pd.Index)):
        return values.array
    if isinstance(values, pd.api.extensions.ExtensionArray):
        return values
    if hasattr(values, "to_list") and hasattr(values, "dtype"):
        # polars
        order = order_of(values)
        return values.to_list() if order is None else pd.Categorical(values.to_list(), order)
    if not isinstance(values, (list, tuple, range)):
        values = np.asarray(values)
        if values.ndim != 1:
            raise ValueError(f"covariate {name!r} must have one value for each document.")
    return values


def with_value(frame, name, value):
    """A copy of a data frame in which all documents have the same value of one covariate."""
    if isinstance(value, (Real, str)):
        return frame.assign(**{name: value})
    column = np.empty(len(frame), dtype=object)
    column[:] = [value] * len(frame)
    return frame.assign(**{name: column})


# --- Numbers and categories ----------------------------------------------------------------------------------------


def levels_of(name, values):
    """The distinct values of a category, of which the first is the base; None for a number, a date or a duration."""
    is_categorical = isinstance(values.dtype, pd.CategoricalDtype)
    if not is_categorical and (_is_number(values) or _scale_of(name, values) is not None):
        return None
    labels = read_labels(values, f"covariate {name!r}")
    levels = tuple(grouped(labels)[0])
    if not is_categorical and len(levels) > _MANY_LEVELS and 2 * len(levels) > len(labels):
        warn(
            f"covariate {name!r} is a category with {len(levels)} different values, most of which one document has. "
            "If they are numbers, give them as numbers."
        )
    return levels


def typed(frame, levels, *, new_levels=False):
    """The covariates in `levels` as numbers or, if they have levels, as categories with these.

    A ValueError if a number is not finite, or a category is one that the fit did not have. With `new_levels`, it has
    the code -1.
    """
    return frame.assign(**{name: _typed(name, frame[name], own, new_levels) for name, own in levels.items()})


def _typed(name, values, levels, new_levels):
    if levels is None:
        return values if _scale_of(name, values) is not None else _numbers(values, name)
    labels = read_labels(values, f"covariate {name!r}")
    place = {level: j for j, level in enumerate(levels)}
    codes = np.array([place.get(label, -1) for label in labels], dtype=np.int64)
    if codes.min(initial=0) < 0 and not new_levels:
        d = int(codes.argmin())
        raise ValueError(
            f"covariate {name!r} of document {python_value(values.index[d])!r} is {labels[d]!r}, which no document of "
            f"the fit had. It had {listed(list(levels))}."
        )
    return pd.Categorical.from_codes(codes, pd.Index(label_array(levels), tupleize_cols=False))


def check_no_scale(name, values):
    """Refuse dates, periods and other values that lie on a scale, and are neither numbers nor categories."""
    kind = _scale_of(name, values)
    if kind is not None:
        raise TypeError(
            f"covariate {name!r} has values of type {kind}: give a real number, such as the year, or a text for "
            "categories."
        )


def _scale_of(name, values):
    """The type of values that lie on a scale, such as dates; None for others."""
    if values.dtype.kind in "Mmc":
        return values.dtype
    if values.dtype.kind != "O":
        return None
    found = read_column(values, f"covariate {name!r}", "one value for each document")
    return next((type(value).__name__ for value in found if is_on_scale(value)), None)


def is_on_scale(value):
    """Whether a value is a date, a period, a duration or a complex number."""
    # Periods of pandas
    return isinstance(value, _ON_A_SCALE) or (hasattr(value, "to_timestamp") and hasattr(value, "freq"))


def _is_number(values):
    """Whether all values are real numbers. Missing ones are floats, or None beside numbers."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return True
    if array.dtype.kind != "O" or not array.size:
        return False
    present = (value for value in map(python_value, array) if not is_missing(value))
    return isinstance(next(present, None), (Real, Decimal)) and all(
        isinstance(value, (Real, Decimal)) for value in present
    )


def _numbers(values, name):
    """A column of finite numbers; those of NumPy keep their type."""
    shown = np.asarray(values)
    numbers = read_numbers(shown if shown.dtype.kind in "biuf" else values, f"covariate {name!r}")
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(
            f"covariate {name!r} of document {python_value(values.index[bad[0]])!r} is {numbers[bad[0]]}: it must be a "
            "finite number."
        )
    return shown if shown.dtype.kind in "biuf" else numbers


# --- Sources -------------------------------------------------------------------------------------------------------


def warn_of_sources(frame, variables):
    """Warn if a covariate is the same for all documents that have the same value of another column.

    Such a column may be their source. Columns in which values have fewer than two documents on average, real numbers,
    and those that only name the values of the covariate do not count.
    """
    codes, sources = {}, {}
    for name in dict.fromkeys([*variables, *frame]):
        try:
            codes[name] = grouped(read_labels(frame[name], "a covariate", may_be_missing=name in variables))[1]
        except (TypeError, ValueError):
            # Such as lists of words.
            continue
        n_values = codes[name].max() + 1
        if np.asarray(frame[name]).dtype.kind != "f" and 2 * n_values <= len(frame):
            sources[name] = n_values
    for name in variables:
        n_values = codes[name].max() + 1 if name in codes else 1
        nested = [
            source
            for source, n in sources.items()
            if 1 < n_values < n and len(np.unique(codes[source] * n_values + codes[name])) == n
        ]
        if nested:
            source = min(nested, key=sources.__getitem__)
            warn(
                f"covariate {name!r} is the same for all documents with one value of {source!r}. If such documents are "
                "alike for other reasons too, the errors of its effects are too small, often several times: give "
                f"clusters=covariates[{source!r}]."
            )
