"""The labels of documents: an indicator matrix, or one label for each document."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from sklda._input.arguments import check_no_mask
from sklda._input.counts import LARGEST_COUNT, read_sparse, storable
from sklda._input.names import grouped, python_value, read_labels, read_once


@dataclass(frozen=True, eq=False)
class Targets:
    """Labels in the form in which the fit uses them.

    Attributes
    ----------
    indicator : csr_array of shape (n_documents, n_labels), bool
        Without explicit zeros, with sorted indices.
    classes : ndarray of shape (n_labels,)
        The sorted labels if every document has one; otherwise the numbers of the columns.
    names : ndarray of str of shape (n_labels,)
    is_multilabel : bool
        Whether y is an indicator matrix.
    is_sparse : bool
        Whether y is a sparse matrix.
    """

    indicator: sp.csr_array
    classes: np.ndarray
    names: np.ndarray
    is_multilabel: bool
    is_sparse: bool = False


def read_targets(y, n_documents):
    """Check y and convert it.

    Parameters
    ----------
    y : array-like of shape (n_documents,), or array-like or sparse matrix of shape (n_documents, n_labels)
    n_documents : int

    Returns
    -------
    Targets

    Raises
    ------
    ValueError
        If y is None, has another number of rows, is continuous, or is a matrix with entries other than 0 and 1.
    """
    names, is_sparse = getattr(y, "columns", None), sp.issparse(y)
    y = _as_array(y)
    if y.ndim not in (1, 2) or y.dtype.kind == "V":
        raise ValueError(f"y must have one or two dimensions, got an array of shape {y.shape} and dtype {y.dtype}.")
    if y.shape[0] != n_documents:
        raise ValueError(f"y has {y.shape[0]} rows; X has {n_documents} documents.")
    if is_sparse or (y.ndim == 2 and y.shape[1] != 1):
        indicator = _indicator(y)
        numbers = np.arange(indicator.shape[1])
        names = np.array([str(name) for name in (numbers if names is None else names)])
        return Targets(indicator, numbers, names, True, is_sparse)
    check_classification_targets(y)
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "O":
        distinct, index = grouped(read_labels(labels, "y"))
        classes = np.empty(len(distinct), dtype=object)
        classes[:] = distinct
    else:
        classes, index = np.unique(labels, return_inverse=True)
    indicator = sp.csr_array(
        (np.ones(n_documents, bool), index, np.arange(n_documents + 1)), shape=(n_documents, len(classes))
    )
    return Targets(indicator, classes, np.array([str(name) for name in classes]), False)


def _as_array(y):
    """y as an array of numbers or other labels, none of which is missing, or as a CSR matrix."""
    if y is None:
        raise ValueError("LabeledLDA requires y to be passed, but the target y is None: give the labels as y.")
    if sp.issparse(y):
        return read_sparse(y, "y")
    if isinstance(y, (Mapping, Set)):
        raise TypeError(
            f"y is a {type(y).__name__}, which is in no order of the documents: give a list with the label of each "
            "document, or an indicator matrix."
        )
    check_no_mask(y, "y")
    y = read_once(y)
    try:
        y = np.asarray(y)
    except ValueError as error:
        raise ValueError(
            "y is not an array: give one label for each document, or an indicator matrix. "
            "sklearn.preprocessing.MultiLabelBinarizer makes one from lists of labels."
        ) from error
    if y.dtype.kind == "O":
        # Such as the scalars of pyarrow.
        y = y.copy()
        for place, label in np.ndenumerate(y):
            y[place] = python_value(label)
            if isinstance(label, (list, tuple, set, frozenset, np.ndarray)):
                raise ValueError(
                    "y has lists of labels. Make an indicator matrix of them with "
                    "sklearn.preprocessing.MultiLabelBinarizer."
                )
    for place in map(tuple, np.argwhere(pd.isna(y)).tolist()):
        raise ValueError(
            f"y[{', '.join(map(str, place))}] is {python_value(y[place])!r}: Input y contains NaN or another missing "
            "value. In an indicator matrix a document without labels has only zeros."
        )
    if y.dtype.kind in "fc":
        assert_all_finite(y, input_name="y", estimator_name="LabeledLDA")
    # The integers of a nullable column of pandas are objects.
    numbers = y.dtype.kind == "O" and all(isinstance(label, (Number, np.bool_)) for label in y.flat)
    return np.array(y.tolist()) if numbers else y


def _indicator(y):
    """A matrix of zeros and ones as csr_array of bool."""
    if not y.shape[1]:
        raise ValueError(f"y has shape {y.shape}: it has no label.")
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"y is a matrix with dtype {y.dtype}: an indicator matrix has entries 0 and 1. "
            "sklearn.preprocessing.MultiLabelBinarizer makes one from lists of labels."
        )
    if y.shape[1] > LARGEST_COUNT:
        raise ValueError(f"y has {y.shape[1]} labels, more than {LARGEST_COUNT}.")
    matrix = sp.csr_array(y if sp.issparse(y) else storable(y), copy=True)
    matrix.sum_duplicates()
    bad = (matrix.data != 0) & (matrix.data != 1)
    if bad.any():
        i = int(np.argmax(bad))
        row = int(np.searchsorted(matrix.indptr, i, side="right")) - 1
        raise ValueError(
            f"y[{row}, {matrix.indices[i]}] = {matrix.data[i]}: Unknown label type. An indicator matrix has only "
            "entries 0 and 1."
        )
    matrix = matrix.astype(bool)
    matrix.eliminate_zeros()
    return matrix


def read_known_labels(y, fitted):
    """Check the y of a score and convert it.

    Parameters
    ----------
    y : array-like or sparse matrix
        Labels, in the form of the fit.
    fitted : LabelClassifier

    Returns
    -------
    csr_array of shape (n_documents, n_labels), bool, or ndarray of shape (n_documents,) or (n_documents, 1)

    Raises
    ------
    ValueError
        If y is malformed, or has a label that the fit did not have; the message names it.
    """
    names, n_labels, y = getattr(y, "columns", None), len(fitted.classes_), _as_array(y)
    if not fitted.multilabel_:
        known = set(fitted.classes_.tolist())
        for d, label in enumerate(np.ravel(y.toarray() if sp.issparse(y) else y).tolist()):
            if label not in known:
                shown: Any = ", ".join(map(repr, fitted.classes_[:10].tolist()))
                raise ValueError(f"y[{d}] = {label!r} is not a label of the fit, which had {shown}.")
        return y
    if y.ndim == 2 and y.shape[1] > n_labels:
        raise ValueError(
            f"y has the label {n_labels}, which is not a label of the fit: it has {y.shape[1]} columns, and the "
            f"y of the fit had {n_labels}."
        )
    if y.ndim != 2 or y.shape[1] != n_labels:
        raise ValueError(f"y has shape {y.shape}; the y of the fit had {n_labels} columns.")
    known, numbers = fitted.label_names_.tolist(), [str(column) for column in range(n_labels)]
    given = numbers if names is None else [str(name) for name in names]
    if given != known and numbers not in (given, known):
        column = next(j for j in range(n_labels) if given[j] != known[j])
        raise ValueError(
            f"column {column} of y is {given[column]!r}, and that of the y of the fit was {known[column]!r}. Give the "
            "columns of the fit in their order."
        )
    return _indicator(y)
