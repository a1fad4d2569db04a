"""Validation of document-term matrices, and their conversion to CSR."""

import mmap
from collections.abc import Mapping, Set
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from sklda._input.arguments import check_no_mask
from sklda._input.warn import warn

# The kernels use 32-bit integers for counts and word ids.
LARGEST_COUNT = 2**31 - 1
# Fewer rows may have counts like their numbers by chance.
_FEWEST_ROWS = 10


def read_counts(X, validate=check_array, first_row=0):
    """Check a matrix of word counts and convert it to CSR.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n_documents, n_features)
        Non-negative whole numbers of any dtype. X is not changed.
    validate : callable, default=check_array
        `sklearn.utils.check_array`, or a function with the same options.
    first_row : int, default=0
        The number of the first row in error messages.

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
    names = getattr(X, "columns", None)
    X = read_rows(X, validate, ensure_all_finite=False)
    counts, refuse = X.data, partial(_refuse, X, first_row)
    if counts.dtype.kind not in "iub":
        refuse(~np.isfinite(counts), "is not a count. Replace NaN and infinite values, or drop their documents")
    refuse(
        counts < 0,
        "is negative. Negative values in data passed to a topic model: it takes word counts. HashingVectorizer gives "
        "them with alternate_sign=False, norm=None",
    )
    if counts.dtype.kind not in "iub":
        refuse(
            counts != np.floor(counts),
            "is not a whole number: a topic model takes word counts. Use CountVectorizer rather than TfidfVectorizer, "
            "and counts as they were before log1p or a normalisation",
        )
    refuse(counts > LARGEST_COUNT, f"is too large: no word and no document may have more than {LARGEST_COUNT} tokens")
    _warn_of_row_numbers(X, names)
    return X


def read_rows(X, validate=check_array, **options):
    """A matrix as `check_matrix` reads it, as csr_array with sorted indices and one entry for each place."""
    X = sp.csr_array(check_matrix(X, validate, **options))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _warn_of_row_numbers(X, names):
    """Warn of a column that numbers the rows: it is no word, and would be the first of all topics."""
    n = X.shape[0]
    if n < _FEWEST_ROWS:
        return
    last = slice(*X.indptr[-2:])
    for j in X.indices[last][(X.data[last] == n - 1) | (X.data[last] == n)].tolist():
        if (np.diff(X[:, [j]].toarray()[:, 0]) == 1).all():
            name = j if names is None else list(names)[j]
            warn(
                f"the column {name!r} of X numbers the rows, so it is no word, and it is fitted as one: leave it out, "
                "as with index_col=0 in pandas.read_csv, or X.set_index of a data frame."
            )


def check_no_container(X):
    """A TypeError for an AnnData, which has a matrix of counts, and for a matrix that it has on disk."""
    # A data frame can have columns of these names.
    if all(hasattr(X, name) for name in ("X", "obs", "var")) and not hasattr(X, "columns"):
        raise TypeError(
            f"X is an object of type {type(X).__name__}, no matrix of counts: give the matrix in it, as in adata.X; "
            "or adata.layers['counts'] if adata.X has other values."
        )
    if hasattr(X, "to_memory"):
        raise TypeError(f"X is a {type(X).__name__}, which is on disk: give X.to_memory().")


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
        With a dtype that sparse matrices can hold.

    Raises
    ------
    ValueError
        If X is not a matrix of numbers, has too many features, is a malformed sparse matrix, has masked entries, or is
        on disk in a file that was cut off.
    TypeError
        If X is not a matrix, such as a generator, or an object that contains one, such as an AnnData.
    """
    check_no_container(X)
    shape = getattr(X, "shape", ())
    if len(shape) == 2 and shape[1] > LARGEST_COUNT:
        raise ValueError(f"X has {shape[1]} features, more than {LARGEST_COUNT}: word ids are 32-bit numbers.")
    check_no_mask(X, "X")
    check_on_disk(X)
    try:
        if sp.issparse(X):
            found = read_sparse(X, "X")
        else:
            # scikit-learn converts objects to numbers in arrays, but not in lists.
            found = _as_array(X) if isinstance(X, (list, tuple)) else X
        found = validate(found, accept_sparse="csr", **options)
        if found.dtype.kind not in "biuf":
            # scikit-learn passes on dates.
            raise TypeError(f"X must hold numbers, got dtype {found.dtype}.")
        return found if sp.issparse(found) else storable(found)
    except (TypeError, ValueError):
        # Without the original error, whose message repeats the documents.
        if not isinstance(X, (list, tuple, str, bytes)) and not hasattr(X, "shape"):
            raise TypeError(
                f"X is {'None' if X is None else f'a {type(X).__name__}'}: it must be a matrix of word counts of shape "
                "(n_documents, n_features), as an array, a sparse matrix or a data frame. CountVectorizer makes one of "
                "texts, DictVectorizer of dicts of counts, and gensim.matutils.corpus2csc(X).T of pairs."
            ) from None
        why = _why_no_counts(X)
        if why:
            raise ValueError(f"X {why}.") from None
        raise


def _why_no_counts(X):
    """Why X cannot be read as counts, and which tool makes counts of it; an empty text if this is not known."""
    is_list = isinstance(X, (list, tuple))
    rows = X if is_list or (getattr(X, "dtype", None) == np.dtype(object) and np.ndim(X) == 1) else ()
    entries = [entry for row in rows if isinstance(row, (list, tuple)) for entry in row]
    if any(isinstance(entry, complex) for entry in entries) or (not is_list and np.iscomplexobj(X)):
        return "has complex numbers: Complex data not supported, because counts are real"
    for dtype in getattr(X, "dtypes", ()) if hasattr(X, "columns") else ():
        if getattr(dtype, "fill_value", 0) != 0:
            return (
                f"is a sparse frame, and the value of its entries that are not stored is {dtype.fill_value}, not 0: "
                "give X.fillna(0).astype(pandas.SparseDtype(int, 0)), if missing entries are zeros"
            )
    if any(isinstance(row, Mapping) for row in rows):
        return "has dicts: DictVectorizer of sklearn.feature_extraction makes a matrix of dicts of words and counts"
    names = list(getattr(X, "columns", ()))
    texts = [name for name in names if holds_texts(X[name])] if hasattr(X, "__getitem__") else []
    if texts and len(texts) < len(names):
        return (
            f"has texts in the column {texts[0]!r}, and a topic model takes word counts. If they name the documents, "
            f"give X.set_index({texts[0]!r}) of a data frame of pandas, or leave the column out"
        )
    if holds_texts(X):
        return (
            "holds texts, and a topic model takes word counts. Count the words with CountVectorizer of "
            "sklearn.feature_extraction.text, for instance as the first step of a pipeline"
        )
    if entries and all(isinstance(entry, (list, tuple)) and len(entry) == 2 for entry in entries):
        return "has pairs: gensim.matutils.corpus2csc(X, num_terms=n_features).T makes a matrix of words and counts"
    return ""


def _as_array(rows):
    try:
        return np.asarray(rows)
    except ValueError as error:
        raise ValueError(f"X is not a matrix: its rows differ in length or shape ({error}).") from error


def read_sparse(X, name):
    """A sparse matrix as CSR, with a dtype that can hold the sums of duplicate entries. X is not changed.

    Parameters
    ----------
    X : scipy sparse matrix of shape (n_documents, n_columns)
    name : str
        For error messages.

    Raises
    ------
    ValueError
        If X has not two dimensions, or its arrays do not belong together.
    """
    X = sparse_rows(X, name)
    # A new object, because X may be that of the caller.
    return type(X)((_wide(X.data), X.indices, X.indptr), shape=X.shape)


def sparse_rows(X, name):
    """A sparse matrix as CSR, after the checks of `read_sparse`, whose entries keep a small dtype if they can."""
    check_on_disk(X, name)
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, got a {type(X).__name__} of shape {X.shape}.")
    try:
        return _readable(X)
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"{name} is a malformed {type(X).__name__}: {error}. Its arrays were probably changed by hand; build it "
            "again."
        ) from error


def row_blocks(X, n_entries):
    """Blocks of rows of a sparse matrix with about `n_entries` entries, and the number of their first row.

    The whole matrix is checked before it is cut: blocks of a malformed one may look sound, and lack rows or entries. A
    block is a copy, so that a CSR matrix on disk is never in memory as a whole. A ValueError if X is malformed, or a
    file of X was cut off.
    """
    X = sparse_rows(X, "X")
    step = max(int(n_entries * X.shape[0] / max(X.nnz, 1)), 1)
    for first in range(0, X.shape[0], step):
        check_on_disk(X)
        bounds = np.asarray(X.indptr[first : first + step + 1])
        own = slice(int(bounds[0]), int(bounds[-1]))
        parts = np.array(X.data[own]), np.array(X.indices[own]), bounds - bounds[0]
        yield first, type(X)(parts, shape=(len(bounds) - 1, X.shape[1]))


def check_on_disk(X, name="X"):
    """A ValueError if a file that an array, or a sparse matrix, has mapped is shorter now: reading it would end Python.

    Parameters
    ----------
    X : object
    name : str
        For error messages.
    """
    for array in vars(X).values() if sp.issparse(X) else [X]:
        path = None
        while isinstance(array, np.ndarray):
            path = getattr(array, "filename", path)
            array = array.base
        if isinstance(array, mmap.mmap):
            try:
                n_left, n_needed = array.size(), len(array)
            except (OSError, ValueError):
                # It has no file.
                continue
            if n_left < n_needed:
                raise ValueError(
                    f"{name} is on disk, and its file {path} was cut off after it was opened: {n_needed} bytes are "
                    f"needed, and {n_left} are left. Write it again."
                )


def _readable(X):
    """X as CSR, after checks that the conversion reads no memory outside its arrays. It may share memory with X."""
    kind, shape = type(X), X.shape
    if X.format == "lil":
        lengths = [len(row) for row in X.rows]
        if lengths != [len(row) for row in X.data] or len(lengths) != shape[0]:
            raise ValueError("rows and data have different lengths")
    if X.format in ("dok", "lil"):
        X = X.tocsr()
        kind = type(X)
    data = storable(X.data)
    if X.format == "coo":
        # This conversion adds up the entries of a place.
        return kind((_wide(data), (_integers(X, "row"), _integers(X, "col"))), shape=shape).tocsr()
    if X.format == "dia":
        offsets = _integers(X, "offsets")
        if data.ndim != 2 or offsets.shape != data.shape[:1]:
            raise ValueError("data and offsets have different lengths")
        if len(offsets) and not -LARGEST_COUNT <= offsets.min() <= offsets.max() <= LARGEST_COUNT:
            raise ValueError(f"offsets has {offsets[np.abs(offsets).argmax()]}, which does not fit into 32 bits")
        # The sum of a row and an offset could exceed 32 bits elsewhere.
        inside = (offsets > -shape[0]) & (offsets < shape[1])
        return kind((data[inside], offsets[inside]), shape=shape).tocsr()
    if X.format == "bsr" and (shape[0] % data.shape[1] or shape[1] % data.shape[2]):
        raise ValueError(f"blocks of shape {data.shape[1:]} do not fill the matrix")
    # A new object, because X may remember that its indices were sorted, and `check_format` may shorten its arrays.
    X = kind((data, _integers(X, "indices"), _integers(X, "indptr")), shape=shape)
    X.check_format(full_check=True)
    # `check_format` skips this check where the last entry of indptr is 0.
    if (X.indptr[1:] < X.indptr[:-1]).any():
        raise ValueError("indptr must be a non-decreasing sequence")
    return X.tocsr()


def _wide(values):
    """Values with a dtype that can hold their sums: the entries of a place are added up."""
    if values.dtype.kind in "biu":
        # Floats do not overflow silently. Sums that they would round are too large and are refused later.
        small = (
            values.dtype.itemsize < 8
            or -LARGEST_COUNT <= values.min(initial=0) <= values.max(initial=0) <= LARGEST_COUNT
        )
        return values.astype(np.int64 if small else np.float64, copy=False)
    return values.astype(np.float64) if values.dtype.kind == "f" and values.dtype.itemsize < 8 else values


def _integers(X, name):
    """An index array of a sparse matrix."""
    values = getattr(X, name)
    if values.dtype.kind != "i":
        raise ValueError(f"{name} has dtype {values.dtype}")
    return np.require(values, requirements="A")


def storable(values):
    """An aligned array of a dtype that sparse matrices can hold: no half precision, the byte order of the machine."""
    dtype = np.dtype(np.float32) if values.dtype.kind == "f" and values.dtype.itemsize == 2 else values.dtype
    # The code of scipy needs aligned arrays.
    return np.require(values.astype(dtype.newbyteorder("="), copy=False), requirements="A")


def holds_texts(values):
    """Whether values are a text, or a collection or an array in which there are texts."""
    if isinstance(values, (str, bytes)):
        return True
    if isinstance(values, (list, tuple, Set)):
        return any(map(holds_texts, values))
    if sp.issparse(values) or not hasattr(values, "__len__"):
        return False
    array = np.asarray(values)
    return array.dtype.kind in "SU" or (
        array.dtype.kind == "O" and array.ndim > 0 and any(map(holds_texts, array.ravel()))
    )


def _refuse(X, first_row, bad, why):
    """Raise a ValueError that names the first entry of the CSR matrix X where `bad` is True."""
    if bad.any():
        i = int(np.argmax(bad))
        row = int(np.searchsorted(X.indptr, i, side="right")) - 1
        raise ValueError(f"X[{first_row + row}, {X.indices[i]}] = {X.data[i]} {why}.")
