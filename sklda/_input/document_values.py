"""One reader of what has a value for each document, beside X and before anything is cut.

Outcomes, covariates, labels of groups, weights, dates and texts come in here. `check_documents` refuses values of other
documents, of these in another order, or of another number. `DocumentValues` reads them once, and says which documents
count: those of weight zero leave first, and missing values of the others are refused or left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from sklda._input.arguments import check_choice
from sklda._input.covariates import covariate_frame, has_names, read_covariates
from sklda._input.names import (
    in_memory,
    index_of,
    is_missing,
    listed,
    order_of,
    python_value,
    read_column,
    read_labels,
    read_numbers,
)
from sklda._input.warn import warn

MISSING = "raise", "drop"
# Different texts of an outcome for which a message shows numbers.
_MOST_ANSWERS = 6


def check_documents(X: Any = None, n_documents: int | None = None, **values: Any) -> None:
    """Refuse values that do not belong to the documents of X in their order: by their index, and by their number.

    Values without an index belong to the documents by their places. Those that are None are not given.
    """
    if all(each is None for each in values.values()):
        return
    check_same_index(X, **values)
    n_documents = number_of_documents(X) if n_documents is None else n_documents
    for name, _, column in _columns(values):
        n = number_of_documents(column)
        if None not in (n, n_documents) and n != n_documents:
            how = ""
            if isinstance(values[name], Mapping):
                how = f" Folds cut data frames, and no dicts: give them pandas.DataFrame({name})."
            raise ValueError(f"{name} has {n} values; there are {n_documents} documents.{how}")


def check_same_index(X: Any = None, **values: Any) -> None:
    """Refuse values whose index has labels of that of X, or of other values, in other places."""
    indexes = [(name, index) for name, index, _ in _columns({"X": X} | values) if index is not None]
    for (of, first), (name, own) in combinations(indexes, 2):
        if not own.equals(first):
            _check_same_index(own, first, name, of)


def _columns(values):
    """Name, index and values of each column; covariates may be a dict of columns."""
    for name, each in values.items():
        for column in each.values() if isinstance(each, Mapping) else [each]:
            if column is not None:
                yield name, index_of(column), column


def _check_same_index(own, first, name, of):
    own, first = _labels_of_index(own), _labels_of_index(first)
    if len(own) != len(first) or own == first or set(own).isdisjoint(first):
        return
    i = next(i for i, (a, b) in enumerate(zip(own, first, strict=True)) if a != b)
    same = set(own) == set(first)
    how, which = ("the labels", "in another order") if same else ("labels", "and others")
    raise ValueError(
        f"the index of {name} has {how} of the index of {of} {which}: row {i} is {own[i]!r} in {name} and {first[i]!r} "
        f"in {of}. Give {name} in the order of {of}, as in {name}.loc[{of}.index], or without an index, as in "
        f"{name}.to_numpy(), if the rows belong together as they are."
    )


def _labels_of_index(index):
    """The labels of an index as values of Python; None for those that are missing."""
    return [None if not isinstance(each, tuple) and is_missing(each) else python_value(each) for each in index]


def number_of_documents(values: Any) -> int | None:
    """The number of rows; None if it is not known, as that of an iterator, or they have no order."""
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple) and shape:
        # That of Dask may be NaN, or not computed.
        return int(shape[0]) if isinstance(shape[0], Integral) else None
    return len(values) if hasattr(values, "__len__") and not isinstance(values, (str, bytes, Set)) else None


@dataclass(eq=False)
class DocumentValues:
    """Values of the documents, each read once. Those that were not given are None."""

    given: dict[str, Any]
    missing: str = "raise"
    needed: Any = None  # names of the covariates that must not be missing; None: all
    index: Any = None  # what the documents are called; None: by their places
    tables: set[str] = field(default_factory=set)  # values that are tables of pyarrow
    said: set[str] = field(default_factory=set, init=False)  # warnings

    @classmethod
    def read(cls, X: Any = None, *, missing: str = "raise", needed: Any = None, **values: Any) -> DocumentValues:
        """The values, of which those that are None are not given; `DocumentValues` have been read before."""
        check_choice(missing, "missing", MISSING)
        known = next((each for each in values.values() if isinstance(each, cls)), None)
        if known is not None:
            return replace(known, missing=missing, needed=needed)
        for name, each in values.items():
            if each is not None and each is X and name != "texts":
                raise TypeError(f"{name} is X itself: it has a value for each document of X, which comes first.")
        tables = {name for name, each in values.items() if hasattr(each, "column_names")}
        values = {name: _in_memory(each, missing) for name, each in values.items()}
        check_documents(X, **values)
        found = {name: _READERS[name](each, name) for name, each in values.items() if each is not None}
        index = next((index for each in (X, *values.values()) if (index := index_of(each)) is not None), None)
        read = cls(found, missing, needed, index, tables)
        # Iterators have a length now.
        check_documents(X, **found)
        return read

    def __getitem__(self, name: str) -> Any:
        return self.given.get(name)

    def used(self, rows: np.ndarray, n_documents: int, names: Any = None) -> np.ndarray:
        """Those of the documents `rows` that count: they have a positive weight, and none of their values is missing.

        `names` are those of the values; None: all. If one is missing, there is a ValueError, or a warning that says
        which documents are left out.
        """
        check_documents(n_documents=n_documents, **self.given)
        weights = self["weights"]
        if weights is not None:
            rows = rows[weights[rows] != 0]
        names = [name for name in (self.given if names is None else names) if name in self.given]
        lacks = {what: own[rows] for name in names for what, own in self._lacks(name) if own[rows].any()}
        if not lacks:
            return rows
        said = " ".join(self._said(what, rows[own], len(rows)) for what, own in lacks.items())
        if self.missing == "raise":
            raise ValueError(f"{said} Give each document a value, or leave these out with missing='drop'.")
        rest = rows[~np.any(list(lacks.values()), axis=0)]
        if not len(rest):
            raise ValueError(f"{said} No document is left.")
        if said not in self.said:
            warn(f"{said} These documents are left out.")
            self.said.add(said)
        return rest

    def complete(self, n_documents: int) -> np.ndarray:
        """Which documents lack no value, (n_documents,) bool."""
        found = np.ones(n_documents, bool)
        for name in self.given:
            for _, own in self._lacks(name):
                found &= ~own
        return found

    def check_complete(self) -> None:
        """A ValueError if a value is missing, for those who need one of every document."""
        for name in self.given:
            for what, own in self._lacks(name):
                if not own.any():
                    continue
                # For all kinds of values: only those of pandas have these methods themselves.
                kind, every = ("DataFrame", ".all(axis=1)") if name == "covariates" else ("Series", "")
                of_pandas = f"{name}.to_pandas()" if name in self.tables else f"pandas.{kind}({name})"
                known = f"{of_pandas}.notna(){every}.to_numpy()"
                raise ValueError(
                    f"{self._said(what, np.flatnonzero(own), len(own))} Each document needs one: leave these out of X "
                    f"and {name}, as in X[{known}]."
                )

    def _said(self, what, rows, n):
        shown = rows.tolist() if self.index is None else [python_value(self.index[d]) for d in rows]
        which = "document" if len(rows) == 1 else "documents"
        return f"{what} is missing in {which} {listed(shown)} ({len(rows):,} of {n:,})."

    def _lacks(self, name):
        """What documents may lack, and which of them do, (n_documents,) bool."""
        values = self.given[name]
        if name == "covariates":
            frame = covariate_frame(values)
            for each in frame if self.needed is None else self.needed:
                if each in frame:
                    yield f"covariate {each!r}", _missing_in(frame[each])
        elif isinstance(values, np.ndarray):
            yield name, np.isnan(values)
        else:
            yield name, np.array([value is None for value in values], dtype=bool)

    def covariates_of(self, rows: np.ndarray) -> Any:
        """The covariates of some documents: a frame if they have names, otherwise as they were given."""
        covariates = self["covariates"]
        frame = covariate_frame(covariates)
        if len(rows) == len(frame):
            return covariates
        frame = frame.iloc[rows]
        if has_names(covariates):
            return frame.set_axis(list(getattr(covariates, "columns", covariates)), axis=1)
        # A column may have a type of its own.
        return frame.iloc[:, 0] if frame.shape[1] == 1 else frame.to_numpy()


def _in_memory(values, missing):
    """Values in memory; if missing ones are left out, those that are masked are None, that is missing."""
    if isinstance(values, Mapping):
        return {name: _in_memory(each, missing) for name, each in values.items()}
    values = in_memory(values)
    if missing == "raise" or not isinstance(values, np.ma.MaskedArray):
        return values
    return np.where(np.ma.getmaskarray(values), None, values.data) if np.ma.is_masked(values) else values.data


def _missing_in(column):
    if column.dtype == object:
        return np.array([is_missing(value) for value in column], dtype=bool)
    return np.asarray(pd.isna(column))


def _labels(values, name):
    return read_labels(values, name, may_be_missing=True)


def _column(values, name):
    """Python objects, None where they are missing."""
    found = read_column(values, name, "one value for each document")
    return [None if is_missing(value) else value for value in found]


def _dates(values, name):
    """As `_column`, but dates of NumPy keep their unit."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "M" and values.ndim == 1:
        return [None if np.isnat(value) else value for value in values]
    return _column(values, name)


def _outcome(values, name):
    return read_numbers(values, name, lambda found: _numbers_for_texts(found, order_of(values)))


def _numbers_for_texts(values, order):
    """What to write in place of an outcome that has texts, which may be categories in an order."""
    texts = order or sorted({value for value in values if isinstance(value, str)})
    if not texts:
        return ""
    if not np.isnan(pd.to_numeric(texts, errors="coerce")).any():
        return " These texts are numbers: give pandas.to_numeric(y)."
    if len(texts) > _MOST_ANSWERS:
        return ""
    numbers = ", ".join(f"{text!r}: {i if order else int(text == texts[-1])}" for i, text in enumerate(texts))
    if order:
        return f" Say which number each category has: give pandas.Series(y).map({{{numbers}}})."
    return f" Say which of the answers is explained: give pandas.Series(y).map({{{numbers}}}), and family='logistic'."


def _weights(values, name):
    weights = read_numbers(values, name)
    # A score needs all of them.
    bad = np.isinf(weights) | (weights < 0) | (np.isnan(weights) & (name == "sample_weight"))
    if bad.any():
        d = int(np.argmax(bad))
        raise ValueError(f"{name}[{d}] = {weights[d]:g}: a weight must be finite and not negative.")
    return weights


_READERS = {
    "y": _outcome,
    "covariates": lambda values, name: read_covariates(values),
    "collections": _labels,
    "groups": _labels,
    "clusters": _labels,
    "weights": _weights,
    "sample_weight": _weights,
    "dates": _dates,
    "texts": _column,
}
