"""Covariates of documents: the columns of a linear predictor, from arrays, data frames and formulas."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from sklda._inference.arguments import real_numbers
from sklda._inference.warn import warn
from sklda._labels import as_list, in_order, is_missing, listed

INTERCEPT = "intercept"
# Texts with more values than this, most of which one document has, get a warning: they may be numbers.
_MANY_LEVELS = 10


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
        labels = as_list(values, f"covariate {self.name!r}")
        for d, label in enumerate(labels):
            if label not in place:
                raise ValueError(
                    f"covariate {self.name!r} of document {d} is {label!r}, which no document of the fit had. It had "
                    f"{listed(_objects(self.levels))}."
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
        names = [name for name, _ in columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"covariates has two columns with the name {twice!r}.")
        self.covariates = [covariate_of(name, values) for name, values in columns]

    @property
    def terms(self):
        return [term for each in self.covariates for term in each.terms]

    @property
    def bases(self):
        """The base of the category of every term; an empty text for numbers."""
        return ["" if each.levels is None else str(each.levels[0]) for each in self.covariates for _ in each.terms]

    def matrix(self, covariates, n_documents):
        """The columns of documents, (n_documents, n_terms). A data frame must have the names of the fit."""
        columns, names = read_columns(covariates, n_documents), [each.name for each in self.covariates]
        if _has_names(covariates):
            found = dict(columns)
            missing = [name for name in names if name not in found]
            if missing:
                raise ValueError(f"covariates has no column {missing[0]!r}, which the fit had.")
            columns = [(name, found[name]) for name in names]
        if len(columns) != len(names):
            raise ValueError(f"covariates has {len(columns)} columns; the fit had {len(names)}: {', '.join(names)}.")
        return np.hstack(
            [each.columns(values) for each, (_, values) in zip(self.covariates, columns, strict=True)]
        ).astype(np.float64)


class WithIntercept:
    """The columns of a `Design` after one of ones."""

    def __init__(self, covariates, n_documents):
        self.design = Design(covariates, n_documents)
        self.terms, self.bases = [INTERCEPT, *self.design.terms], ["", *self.design.bases]

    def matrix(self, covariates, n_documents):
        return np.column_stack([np.ones(n_documents), self.design.matrix(covariates, n_documents)])


class TransformedDesign:
    """The columns of a transformer of scikit-learn, after one of ones."""

    def __init__(self, transformer, covariates, n_documents):
        if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
            raise TypeError(f"transformer must have fit and transform, got {transformer!r}.")
        self.transformer = clone(transformer).fit(_as_matrix(covariates))
        width = self.matrix(covariates, n_documents).shape[1] - 1
        try:
            names = [str(name) for name in self.transformer.get_feature_names_out()]
        except (AttributeError, ValueError):
            names = [f"x{j}" for j in range(width)]
        self.terms, self.bases = [INTERCEPT, *names], [""] * (width + 1)

    def matrix(self, covariates, n_documents):
        found = self.transformer.transform(_as_matrix(covariates))
        found = real_numbers(found.toarray() if sp.issparse(found) else found, "the columns of the transformer")
        if found.ndim != 2 or not np.isfinite(found).all():
            raise ValueError("the transformer must return a matrix of finite numbers.")
        check_rows(len(found), n_documents)
        return np.column_stack([np.ones(n_documents), found])


class FormulaDesign:
    """The columns of a formula, by the package formulaic."""

    def __init__(self, formula, covariates, n_documents):
        try:
            from formulaic import model_matrix
        except ImportError as error:
            raise ImportError("a formula needs formulaic: pip install formulaic.") from error
        if not isinstance(formula, str):
            raise TypeError(f"formula must be a str such as 'year + source', got {formula!r}.")
        found = model_matrix(formula, covariates)
        if not hasattr(found, "model_spec"):
            raise ValueError(f"formula = {formula!r} has two sides: give the terms only, such as 'year + source'.")
        self.spec = found.model_spec
        self.terms = [INTERCEPT if name == "Intercept" else str(name) for name in found.columns]
        self.bases = [""] * len(self.terms)
        # Rows with missing values would be left out.
        check_rows(len(found), n_documents)

    def matrix(self, covariates, n_documents):
        found = real_numbers(self.spec.get_model_matrix(covariates), "the columns of the formula")
        check_rows(len(found), n_documents)
        return found


def read_columns(covariates, n_documents):
    """The columns of covariates, a list of (name, values).

    Raises
    ------
    ValueError, TypeError
        If they are no matrix, vector, data frame or dict of columns, or do not have a row for each document.
    """
    if _has_names(covariates):
        names = covariates.columns if hasattr(covariates, "columns") else covariates
        columns = [(str(name), covariates[name]) for name in names]
    elif getattr(covariates, "name", None) is not None and getattr(covariates, "ndim", 0) == 1:
        columns = [(str(covariates.name), covariates)]
    else:
        values = _as_matrix(covariates)
        columns = [(f"x{j}", values[:, j]) for j in range(values.shape[1])]
        check_rows(len(values), n_documents)
    for name, values in columns:
        if np.ndim(values) != 1:
            raise ValueError(f"covariate {name!r} must have one value for each document.")
        check_rows(len(values), n_documents)
    return columns


def check_rows(n_rows, n_documents):
    """Refuse covariates of another number of documents."""
    if n_rows != n_documents:
        raise ValueError(f"covariates has {n_rows} rows; X has {n_documents} documents.")


def n_rows(covariates):
    """Number of documents that covariates belong to."""
    if _has_names(covariates):
        return len(covariates) if hasattr(covariates, "columns") else max(map(np.size, covariates.values()), default=0)
    return len(_as_matrix(covariates))


def with_value(covariates, name, value):
    """A copy of covariates in which all documents have the same value of one covariate."""
    if isinstance(covariates, dict):
        return {key: np.full(len(each), value) if str(key) == name else each for key, each in covariates.items()}
    if _has_names(covariates):
        changed = covariates.copy()
        changed[next(each for each in covariates.columns if str(each) == name)] = value
        return changed
    if getattr(covariates, "name", None) == name:
        return {name: np.full(len(covariates), value)}
    values = _as_matrix(covariates).astype(np.float64 if isinstance(value, float) else object)
    values[:, int(name[1:])] = value
    return values


def _has_names(covariates):
    return isinstance(covariates, dict) or (hasattr(covariates, "columns") and hasattr(covariates, "__getitem__"))


def _as_matrix(covariates):
    """An array with two dimensions, whose values keep their types; data frames are returned as they are."""
    if sp.issparse(covariates):
        return covariates.toarray()
    if isinstance(covariates, (str, bytes, dict)) or not hasattr(covariates, "__len__"):
        raise TypeError(
            f"covariates must be an array or a data frame with a row for each document, got {covariates!r}."
        )
    if hasattr(covariates, "columns"):
        return covariates
    plain = isinstance(covariates, np.ndarray)
    values = covariates if plain else np.asarray(covariates, dtype=object)
    if values.ndim == 1:
        return values[:, None]
    if values.ndim != 2:
        raise ValueError(f"covariates has {values.ndim} dimensions: it must have one row for each document.")
    return values


def covariate_of(name, values):
    """What kind of covariate a column is."""
    categories = getattr(getattr(values, "dtype", None), "categories", None)
    if categories is not None:
        _check_present(name, values)
        used = set(as_list(values, name))
        return Covariate(name, tuple(level for level in as_list(list(categories), name) if level in used))
    if _is_number(values):
        return Covariate(name)
    if getattr(np.asarray(values), "dtype", np.dtype(object)).kind in "Mmc":
        raise TypeError(
            f"covariate {name!r} has values of type {np.asarray(values).dtype}: give a real number, such as the year, "
            "or a text for categories."
        )
    labels = as_list(values, f"covariate {name!r}")
    _check_present(name, labels)
    levels = tuple(in_order(labels))
    if len(levels) > _MANY_LEVELS and 2 * len(levels) > len(labels):
        warn(
            f"covariate {name!r} is a category with {len(levels)} different values, most of which one document has. "
            "If they are numbers, give them as numbers."
        )
    return Covariate(name, levels)


def _check_present(name, values):
    for d, value in enumerate(values):
        if is_missing(value):
            raise ValueError(f"covariate {name!r} of document {d} is missing ({value!r}): each document needs a value.")


def _is_number(values):
    """Whether all values are real numbers. Missing ones are floats, or None beside numbers."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return True
    if values.dtype.kind != "O" or not values.size:
        return False
    present = [value for value in values.ravel() if not is_missing(value)]
    return bool(present) and all(isinstance(value, Real) for value in present)


def _numbers(values, name):
    """A column of finite numbers."""
    shown = np.asarray(values)
    _check_present(name, shown if shown.dtype.kind == "O" else ())
    numbers = real_numbers(shown, f"covariate {name!r}")
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(f"covariate {name!r} of document {bad[0]} is {numbers[bad[0]]}: it must be a finite number.")
    return numbers


def _objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
