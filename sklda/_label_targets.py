"""The labels of documents: an indicator matrix, or one label for each document."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target


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


def read_targets(y, n_documents, estimator):
    """Check y and convert it.

    Parameters
    ----------
    y : array-like of shape (n_documents,), or array-like or sparse matrix of shape (n_documents, n_labels)
    n_documents : int
    estimator : str
        Name of the estimator, for error messages.

    Returns
    -------
    Targets

    Raises
    ------
    ValueError
        If y is None, has another number of rows, is continuous, or is a matrix with entries other than 0 and 1.
    """
    if y is None:
        raise ValueError(f"{estimator} requires y to be passed, but the target y is None. It has the labels.")
    given, names = y, getattr(y, "columns", None)
    if not sp.issparse(y):
        y = _as_array(y)
    if y.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, got an array of shape {y.shape}.")
    if y.shape[0] != n_documents:
        raise ValueError(f"y has {y.shape[0]} rows; X has {n_documents} documents.")
    if sp.issparse(y) or (y.ndim == 2 and y.shape[1] != 1):
        indicator = _indicator(y)
        numbers = np.arange(indicator.shape[1])
        names = np.array([str(name) for name in (numbers if names is None else names)])
        return Targets(indicator, numbers, names, True, sp.issparse(given))
    check_classification_targets(y)
    classes, index = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    indicator = sp.csr_array(
        (np.ones(n_documents, bool), index, np.arange(n_documents + 1)), shape=(n_documents, len(classes))
    )
    return Targets(indicator, classes, np.array([str(name) for name in classes]), False)


def _as_array(y):
    try:
        y = np.asarray(y)
    except ValueError as error:
        raise ValueError(
            "y is not an array: give one label for each document, or an indicator matrix. "
            "sklearn.preprocessing.MultiLabelBinarizer makes one from lists of labels."
        ) from error
    if y.dtype == object and any(isinstance(value, (list, tuple, set)) for value in y.ravel()):
        raise ValueError(
            "y has lists of labels. Make an indicator matrix of them with sklearn.preprocessing.MultiLabelBinarizer."
        )
    if y.dtype.kind in "fc" or y.dtype == object:
        assert_all_finite(y, input_name="y", estimator_name="LabeledLDA")
    return y


def _indicator(y):
    """A matrix of zeros and ones as csr_array of bool."""
    if not y.shape[1]:
        raise ValueError(f"y has shape {y.shape}: it has no label.")
    if not sp.issparse(y) and y.dtype.kind not in "biuf":
        kind = type_of_target(y) if y.dtype.kind == "O" else ""
        if kind != "multilabel-indicator":
            raise ValueError(
                f"y is a matrix with dtype {y.dtype}: an indicator matrix has entries 0 and 1. "
                "sklearn.preprocessing.MultiLabelBinarizer makes one from lists of labels."
            )
        y = y.astype(float)
    matrix = sp.csr_array(y, copy=True)
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


def check_known_labels(y, classes, is_multilabel):
    """Raise a ValueError if y has a label that the fit did not have; the message names it."""
    if is_multilabel:
        n_columns = np.shape(y)[1] if np.ndim(y) == 2 else None
        if n_columns is not None and n_columns > len(classes):
            raise ValueError(
                f"y has the label {len(classes)}, which is not a label of the fit: it has {n_columns} columns, and the "
                f"y of the fit had {len(classes)}."
            )
        if n_columns != len(classes):
            raise ValueError(f"y has shape {np.shape(y)}; the y of the fit had {len(classes)} columns.")
        return
    known = set(classes.tolist())
    for d, label in enumerate(np.ravel(_as_array(y)).tolist()):
        if label not in known:
            shown: Any = ", ".join(map(repr, classes[:10].tolist()))
            raise ValueError(f"y[{d}] = {label!r} is not a label of the fit, which had {shown}.")
