"""Validation of document-term matrices, and their conversion to CSR."""

import copy

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

# The kernels use 32-bit integers for counts and word ids.
LARGEST_COUNT = 2**31 - 1


def read_counts(X, validate=check_array):
    """Check a matrix of word counts and convert it to CSR.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n_documents, n_features)
        Non-negative whole numbers of any dtype. X is not changed.
    validate : callable, default=check_array
        `sklearn.utils.check_array`, or a function with the same options.

    Returns
    -------
    csr_array of shape (n_documents, n_features)
        With sorted indices and without duplicate entries. It may share memory with X.

    Raises
    ------
    ValueError
        If X is not a matrix, is malformed or holds texts, or if a count is negative, not finite, not a whole number or
        too large. The message names the first such entry.
    """
    X = check_matrix(X, validate, ensure_all_finite=False)
    # Sparse matrices of scipy cannot hold half precision.
    X = sp.csr_array(X.astype(np.float32) if X.dtype == np.float16 else X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    counts = X.data
    if counts.dtype.kind not in "iub":
        _refuse(X, ~np.isfinite(counts), "is not a count. Replace NaN and infinite values, or drop their documents")
    _refuse(X, counts < 0, "is negative. Negative values in data passed to a topic model: it takes word counts")
    if counts.dtype.kind not in "iub":
        _refuse(
            X,
            counts != np.floor(counts),
            "is not a whole number: a topic model takes word counts. Use CountVectorizer rather than TfidfVectorizer",
        )
    _refuse(
        X, counts > LARGEST_COUNT, f"is too large: no word and no document may have more than {LARGEST_COUNT} tokens"
    )
    return X


def check_matrix(X, validate=check_array, **options):
    """Check a matrix of numbers with scikit-learn's validation; sparse matrices become CSR.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n_documents, n_features)
    validate : callable, default=check_array
        `sklearn.utils.check_array`, or a function with the same options.
    **options : dict
        Options of `validate`.

    Returns
    -------
    ndarray or sparse CSR matrix

    Raises
    ------
    ValueError
        If X is not a matrix of numbers, has too many features, or is a malformed sparse matrix.
    """
    shape = getattr(X, "shape", ())
    if len(shape) == 2 and shape[1] > LARGEST_COUNT:
        raise ValueError(f"X has {shape[1]} features, more than {LARGEST_COUNT}: word ids are 32-bit numbers.")
    try:
        if sp.issparse(X):
            X = _wide_csr(X)
        elif isinstance(X, (list, tuple)):
            # scikit-learn converts objects to numbers in arrays, but not in lists.
            X = _as_array(X)
        X = validate(X, accept_sparse="csr", **options)
        if X.dtype.kind not in "biuf":
            # Old versions of scikit-learn pass on the strings of new versions of pandas.
            raise TypeError(f"X must hold numbers, got dtype {X.dtype}.")
        return X
    except (TypeError, ValueError):
        if _holds_texts(X):
            # Without the original error, whose message repeats the texts.
            raise ValueError(
                "X holds texts, and a topic model takes word counts. Count the words with CountVectorizer of "
                "sklearn.feature_extraction.text, for instance as the first step of a pipeline."
            ) from None
        raise


def _as_array(rows):
    try:
        return np.asarray(rows)
    except ValueError as error:
        raise ValueError(f"X is not a matrix: its rows differ in length or shape ({error}).") from error


def _wide_csr(X):
    """A sparse matrix as CSR, with a dtype that can hold the sums of duplicate entries."""
    if X.ndim != 2:
        raise ValueError(f"X must be a matrix of documents and words, got a {type(X).__name__} of shape {X.shape}.")
    try:
        X = _readable(X)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"X is a malformed {type(X).__name__}: {error}. Its arrays were probably changed by hand; build it again."
        ) from error
    if X.dtype.kind in "biu":
        # Floats do not overflow silently. Sums that they would round are too large and are refused later.
        small = (
            X.dtype.itemsize < 8 or -LARGEST_COUNT <= X.data.min(initial=0) <= X.data.max(initial=0) <= LARGEST_COUNT
        )
        X = X.astype(np.int64 if small else np.float64, copy=False)
    elif X.dtype.kind == "f" and X.dtype.itemsize < 8:
        X = X.astype(np.float64)
    return X.tocsr()


def _readable(X):
    """X, after checks that its conversion to CSR reads no memory outside its arrays. It may share memory with X."""
    if X.format == "lil":
        lengths = [len(row) for row in X.rows]
        if lengths != [len(row) for row in X.data] or len(lengths) != X.shape[0]:
            raise ValueError("rows and data have different lengths")
    if X.format == "dia" and (X.data.ndim != 2 or X.offsets.shape != X.data.shape[:1]):
        raise ValueError("data and offsets have different lengths")
    if X.format in ("dia", "dok", "lil"):
        X = X.tocsr()
    if X.format == "coo":
        return sp.coo_array((_aligned(X.data), (_aligned(X.row), _aligned(X.col))), shape=X.shape)
    # A shallow copy, because `check_format` may shorten the arrays of X.
    X = copy.copy(X)
    for name in ("indices", "indptr"):
        if getattr(X, name).dtype.kind != "i":
            raise ValueError(f"{name} has dtype {getattr(X, name).dtype}")
    for name in ("data", "indices", "indptr"):
        setattr(X, name, _aligned(getattr(X, name)))
    X.check_format(full_check=True)
    # `check_format` skips this check where the last entry of indptr is 0.
    if (X.indptr[1:] < X.indptr[:-1]).any():
        raise ValueError("indptr must be a non-decreasing sequence")
    return X


def _aligned(array):
    """The array, or a copy that is aligned in memory, as the code of scipy needs it."""
    return np.require(array, requirements="A")


def _holds_texts(X):
    """Whether X is a text, or a sequence or an array that contains texts."""
    if isinstance(X, (str, bytes)):
        return True
    if sp.issparse(X) or not hasattr(X, "__len__"):
        return False
    values = np.asarray(X) if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    if values.dtype.kind != "O":
        return values.dtype.kind in "SU"
    nested = (value if isinstance(value, (list, tuple)) else [value] for value in values.ravel())
    return any(isinstance(each, (str, bytes)) for value in nested for each in value)


def _refuse(X, bad, why):
    """Raise a ValueError that names the first entry of the CSR matrix X where `bad` is True."""
    if bad.any():
        i = int(np.argmax(bad))
        row = int(np.searchsorted(X.indptr, i, side="right")) - 1
        raise ValueError(f"X[{row}, {X.indices[i]}] = {X.data[i]} {why}.")
