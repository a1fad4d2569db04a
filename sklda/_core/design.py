"""Covariates of documents: their columns in arrays, data frames and dicts."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real

import numpy as np
import scipy.sparse as sp

from sklda._core.arguments import check_memory, check_no_mask, real_numbers
from sklda._core.names import in_order, is_missing, listed, read_column, read_labels, read_once
from sklda._core.warn import warn

# Texts with more values than this, most of which one document has, get a warning: they may be numbers.
_MANY_LEVELS = 10
# Values that are no categories, because they lie on a scale.
_ON_A_SCALE = date, time, timedelta, np.datetime64, np.timedelta64, complex


@dataclass(frozen=True, eq=False)
class Covariate:
    """One covariate of the documents.

    Attributes
    ----------
    name : str
    levels : tuple or None
        The distinct values of a category; the first is the base. None: a number.
    """

    name: str
    levels: tuple | None = None

    @property
    def terms(self):
        """Names of the columns."""
        return [self.name] if self.levels is None else [f"{self.name}[{level}]" for level in self.levels[1:]]

    def columns(self, values):
        """The columns of some documents, (n_documents, n_terms).

        Raises
        ------
        ValueError
            If a value is missing, not finite, or a category that the fit did not have.
        """
        if self.levels is None:
            return _numbers(values, self.name)[:, None]
        place = {level: j for j, level in enumerate(self.levels)}
        labels = read_labels(values, f"covariate {self.name!r}", may_be_missing=True)
        check_present(self.name, labels)
        for d, label in enumerate(labels):
            if label not in place:
                raise ValueError(
                    f"covariate {self.name!r} of document {d} is {label!r}, which no document of the fit had. It had "
                    f"{listed(list(self.levels))}."
                )
        found = np.zeros((len(labels), len(self.levels)))
        found[np.arange(len(labels)), [place[label] for label in labels]] = 1
        return found[:, 1:]


class Design:
    """How covariates become columns: categories have a column for each level but the first, numbers have one.

    Parameters
    ----------
    covariates : array-like, sparse matrix or data frame
        One row for each document.
    n_documents : int
    """

    def __init__(self, covariates, n_documents):
        columns = read_columns(covariates, n_documents)
        if not columns:
            raise ValueError("covariates has no column: give at least one covariate.")
        self.covariates = [covariate_of(name, values) for name, values in columns]

    @property
    def terms(self):
        return [term for each in self.covariates for term in each.terms]

    @property
    def bases(self):
        """The base of the category of every term; an empty text for numbers."""
        return ["" if each.levels is None else str(each.levels[0]) for each in self.covariates for _ in each.terms]

    def widest(self):
        """The covariate with most terms, and their number."""
        found = max(self.covariates, key=lambda each: len(each.terms))
        return repr(found.name), len(found.terms)

    def matrix(self, covariates, n_documents):
        """The columns of documents, (n_documents, n_terms). A data frame must have the names of the fit."""
        names = [each.name for each in self.covariates]
        columns = read_columns(covariates, n_documents, names)
        # A series belongs to a fit without names, too.
        if has_names(covariates) or (_series_name(covariates) and names != ["x0"]):
            found = dict(columns)
            missing = [name for name in names if name not in found]
            if missing:
                raise ValueError(f"covariates has no column {missing[0]!r}, which the fit had.")
            columns = [(name, found[name]) for name in names]
        if len(columns) != len(names):
            raise ValueError(f"covariates has {len(columns)} columns; the fit had {len(names)}: {', '.join(names)}.")
        n_terms = len(self.terms)
        check_memory(
            16 * n_documents * n_terms,
            f"{n_terms} terms of the covariates of {n_documents} documents need at least",
            "Give fewer covariates, or categories with fewer levels.",
        )
        return np.hstack(
            [each.columns(values) for each, (_, values) in zip(self.covariates, columns, strict=True)]
        ).astype(np.float64)


def read_covariates(covariates):
    """Covariates in one of the forms that the other functions take: an array, a list, a data frame, a dict of columns.

    Iterators are read here, once.
    """
    if hasattr(covariates, "__dask_graph__"):
        covariates = covariates.compute()
    if hasattr(covariates, "column_names") and hasattr(covariates, "to_pandas"):
        # pyarrow
        covariates = covariates.to_pandas()
    if isinstance(covariates, Set):
        raise TypeError(
            f"covariates must be an array or a data frame with a row for each document, got a "
            f"{type(covariates).__name__}, which has no order."
        )
    if isinstance(covariates, Mapping):
        return {name: _one_column(values) for name, values in covariates.items()}
    return read_once(covariates)


def _one_column(values):
    """A column of a dict: those of frames and arrays with one column."""
    values = read_once(values)
    if len(getattr(values, "shape", ())) != 2 or values.shape[1] != 1:
        return values
    if hasattr(values, "iloc"):
        return values.iloc[:, 0]
    return (values.toarray() if sp.issparse(values) else np.asarray(values))[:, 0]


def column_names(covariates):
    """The names of the columns of a data frame or dict. A ValueError if two have one name."""
    names = list(covariates.columns if hasattr(covariates, "columns") else covariates)
    shown = list(map(str, names))
    if len(set(shown)) < len(shown):
        twice = next(name for name in shown if shown.count(name) > 1)
        raise ValueError(f"covariates has two columns with the name {twice!r}.")
    return names


def read_columns(covariates, n_documents, used=None):
    """The columns of covariates, a list of (name, values); of those that are `used`, if they have names.

    Raises
    ------
    ValueError, TypeError
        If they are no matrix, vector, data frame or dict of columns, or do not have a row for each document.
    """
    if has_names(covariates):
        columns = [(str(name), covariates[name]) for name in column_names(covariates)]
        columns = [(name, values) for name, values in columns if used is None or name in used]
    elif _is_series(covariates):
        columns = [(_series_name(covariates) or "x0", covariates)]
    else:
        values = as_matrix(covariates)
        columns = [(f"x{j}", values[:, j]) for j in range(values.shape[1])]
        check_rows(len(values), n_documents)
    columns = [(name, values.toarray() if sp.issparse(values) else values) for name, values in columns]
    for name, values in columns:
        if _dimensions(values) != 1:
            raise ValueError(f"covariate {name!r} must have one value for each document.")
        check_no_mask(values, f"covariate {name!r}")
        check_rows(len(values), n_documents)
    return columns


def _dimensions(values):
    try:
        return np.ndim(values)
    except ValueError:
        # Parts of different lengths.
        return None


def check_rows(n_rows, n_documents):
    """Refuse covariates of another number of documents."""
    if n_rows != n_documents:
        raise ValueError(f"covariates has {n_rows} rows; X has {n_documents} documents.")


def n_rows(covariates):
    """Number of documents that covariates belong to."""
    if has_names(covariates):
        return len(covariates) if hasattr(covariates, "columns") else max(map(_length, covariates.values()), default=0)
    return len(as_matrix(covariates))


def _length(values):
    if sp.issparse(values):
        return values.shape[0]
    return len(values) if hasattr(values, "__len__") and np.shape(values) != () else 1


def with_value(covariates, name, value):
    """A copy of covariates in which all documents have the same value of one covariate."""
    if isinstance(covariates, dict):
        return {key: _repeated(value, _length(each)) if str(key) == name else each for key, each in covariates.items()}
    if hasattr(covariates, "with_columns"):
        # polars
        column = covariates[name]
        kept = {"dtype": column.dtype} if isinstance(value, str) else {}
        return covariates.with_columns(type(column)(name, [value] * len(covariates), **kept))
    if has_names(covariates):
        changed = covariates.copy()
        changed[next(each for each in covariates.columns if str(each) == name)] = _repeated(value, len(covariates))
        return changed
    if _is_series(covariates):
        return {name: _repeated(value, len(covariates))}
    values = as_matrix(covariates)
    is_number = isinstance(value, Real) and values.dtype.kind in "biuf"
    values = values.astype(np.float64 if is_number else object)
    values[:, int(name[1:])] = _repeated(value, len(values))
    return values


def of_documents(covariates, rows):
    """The covariates of some documents, in the same form."""
    if isinstance(covariates, dict):
        return {name: of_documents(values, rows) for name, values in covariates.items()}
    if hasattr(covariates, "iloc"):
        return covariates.iloc[rows]
    if hasattr(covariates, "to_pylist"):
        # pyarrow
        return covariates.take(rows)
    if sp.issparse(covariates):
        return covariates.tocsr()[rows]
    return covariates[rows] if hasattr(covariates, "shape") else [covariates[d] for d in rows]


def _repeated(value, n):
    return np.full(n, value) if isinstance(value, (Real, str)) else _objects([value] * n)


def _is_series(covariates):
    """Whether covariates are one column with a type of its own."""
    is_array = isinstance(covariates, np.ndarray) or sp.issparse(covariates)
    return not is_array and len(getattr(covariates, "shape", ())) == 1


def _series_name(covariates):
    """The name of a series; an empty text if it has none."""
    name = getattr(covariates, "name", None) if _is_series(covariates) else None
    return "" if name is None else str(name)


def has_names(covariates):
    return isinstance(covariates, dict) or (hasattr(covariates, "columns") and hasattr(covariates, "__getitem__"))


def as_matrix(covariates):
    """An array with two dimensions, whose values keep their types; data frames are returned as they are."""
    check_no_mask(covariates, "covariates")
    if sp.issparse(covariates):
        covariates = covariates.toarray()
    if isinstance(covariates, (str, bytes, dict)) or not hasattr(covariates, "__len__"):
        raise TypeError(
            f"covariates must be an array or a data frame with a row for each document, got {covariates!r}."
        )
    if hasattr(covariates, "columns"):
        return covariates
    plain = isinstance(covariates, np.ndarray)
    try:
        values = covariates if plain else np.asarray(covariates, dtype=object)
    except ValueError as error:
        raise ValueError(f"covariates must be a matrix with a row for each document: {error}.") from error
    if values.ndim == 1:
        return values[:, None]
    if values.ndim != 2:
        raise ValueError(f"covariates has {values.ndim} dimensions: it must have one row for each document.")
    return values


def covariate_of(name, values):
    """What kind of covariate a column is."""
    dtype = getattr(values, "dtype", None)
    categories = getattr(dtype, "categories", None)
    # Those of polars may have no order.
    if not hasattr(categories, "__len__") and _is_number(values):
        return Covariate(name)
    check_no_scale(name, dtype, values)
    labels = read_labels(values, f"covariate {name!r}", may_be_missing=True)
    check_present(name, labels)
    if hasattr(categories, "__len__"):
        used = set(labels)
        levels = read_labels(list(categories), f"the categories of covariate {name!r}", of="category")
        return Covariate(name, tuple(level for level in levels if level in used))
    levels = tuple(in_order(labels))
    if len(levels) > _MANY_LEVELS and 2 * len(levels) > len(labels):
        warn(
            f"covariate {name!r} is a category with {len(levels)} different values, most of which one document has. "
            "If they are numbers, give them as numbers."
        )
    return Covariate(name, levels)


def check_no_scale(name, dtype, values):
    """Refuse dates, periods and other values that lie on a scale, and are neither numbers nor categories."""
    kind = dtype if getattr(dtype, "kind", "O") in "Mmc" else None
    if kind is None:
        kinds = (
            type(each).__name__
            for each in read_column(values, name, "one value for each document")
            if is_on_scale(each)
        )
        kind = next(kinds, None)
    if kind is not None:
        raise TypeError(
            f"covariate {name!r} has values of type {kind}: give a real number, such as the year, or a text for "
            "categories."
        )


def is_on_scale(value):
    """Whether a value is a date, a period, a duration or a complex number."""
    # Periods of pandas
    return isinstance(value, _ON_A_SCALE) or (hasattr(value, "to_timestamp") and hasattr(value, "freq"))


def check_present(name, values):
    """Refuse a covariate, or what `name` says, with a missing value."""
    for d, value in enumerate(values):
        if is_missing(value):
            raise ValueError(f"covariate {name!r} of document {d} is missing ({value!r}): each document needs a value.")


def _is_number(values):
    """Whether all values are real numbers. Missing ones are floats, or None beside numbers."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return True
    if array.dtype.kind != "O" or not array.size:
        return False
    found = read_column(values, "a covariate", "one value for each document")
    present = [value for value in found if not is_missing(value)]
    return bool(present) and all(isinstance(value, (Real, Decimal)) for value in present)


def _numbers(values, name):
    """A column of finite numbers."""
    shown = np.asarray(values)
    if shown.dtype.kind == "O":
        shown = read_column(values, f"covariate {name!r}", "one value for each document")
        check_present(name, shown)
    numbers = real_numbers(shown, f"covariate {name!r}")
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(f"covariate {name!r} of document {bad[0]} is {numbers[bad[0]]}: it must be a finite number.")
    return numbers


def _objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
