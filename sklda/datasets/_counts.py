"""Counts of words in a folder: written and read in chunks, and used from there without a copy in memory."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import Bunch
from sklearn.utils.validation import _get_feature_names

from sklda._input.arguments import check_int, path_of
from sklda._input.counts import LARGEST_COUNT, read_counts, row_blocks
from sklda._input.dask_arrays import blocks_of, check_shape, is_dask
from sklda._input.names import read_words
from sklda._input.types import Counts

_FORMAT = 1
_DESCRIPTION = "counts.json"
# The files of a folder are the arrays of a CSR matrix: NAME.npy.
_TYPES = {"indptr": np.dtype("<i8"), "indices": np.dtype("<i4"), "data": np.dtype("<i4")}
# Entries of a chunk of a matrix.
_CHUNK = 2**22


def save_counts(
    path: str | os.PathLike[str],
    X: Counts | Iterable[str],
    *,
    vectorizer: Any = None,
    vocabulary: ArrayLike | None = None,
    batch_size: int = 10_000,
    verbose: int = 0,
) -> None:
    """Write word counts, or the counts of the words of texts, to a folder.

    The corpus can be larger than the memory: chunks of documents are written one after the other. The folder has the
    three arrays of a CSR matrix, ``indptr.npy``, ``indices.npy`` and ``data.npy``, which `numpy.load` reads too.
    ``counts.json`` has the number of columns, their names, and the number of documents of each chunk. It is written
    last, so a folder without it is not complete.

    Parameters
    ----------
    path : str or path-like
        The folder. It is made if it does not exist; an existing one must be empty.
    X : array-like, sparse matrix or Dask array of shape (n_documents, n_features), or iterable of str
        Word counts; or texts, which `vectorizer` counts.
    vectorizer : object, default=None
        A fitted vectorizer with ``transform``, such as `CountVectorizer` or `HashingVectorizer` with
        ``alternate_sign=False, norm=None``. Texts need it.
    vocabulary : array-like of shape (n_features,), default=None
        Words of the columns, or ``vectorizer.vocabulary_``. None: those of `vectorizer`, if it has
        ``get_feature_names_out``, or the names of the columns of a data frame.
    batch_size : int, default=10,000
        Number of texts that are counted together.
    verbose : int, default=0
        1 prints a line with the number of documents so far, about every ten seconds.

    Raises
    ------
    ValueError
        If X is not a matrix of counts, there is no document, there is not one name for each column, or the folder is
        not empty. After an error or Ctrl-C, no file is left in the folder.
    TypeError
        If X holds texts and there is no vectorizer, or X is a single text or a table.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklda.datasets import load_counts, save_counts
    >>> texts = ["apple banana apple", "banana cherry"]
    >>> vectorizer = CountVectorizer().fit(texts)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_counts(folder, texts, vectorizer=vectorizer)
    ...     print(load_counts(folder).data.toarray())
    [[2 1 0]
     [0 1 1]]
    """
    folder = path_of(path)
    parts = _parts(X, vectorizer, check_int(batch_size, "batch_size", 1))
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"the folder {folder} is not empty: give another one, or delete its files.")
    try:
        described = _write_arrays(folder, parts, vocabulary, _known_names(X, vectorizer), verbose)
        (folder / _DESCRIPTION).write_text(json.dumps({"format": _FORMAT} | described), encoding="utf-8")
    except BaseException:
        # Also Ctrl-C: what is left could not be used, and the next call needs an empty folder.
        for name in (*(f"{each}.npy" for each in _TYPES), _DESCRIPTION):
            (folder / name).unlink(missing_ok=True)
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _known_names(X, vectorizer):
    """The names of the columns that a vectorizer or a data frame has, as in a fit; or None."""
    if vectorizer is None:
        return _get_feature_names(X)
    return vectorizer.get_feature_names_out() if hasattr(vectorizer, "get_feature_names_out") else None


class _ArrayFile:
    """A .npy file with an array of one dimension, which is written in parts."""

    def __init__(self, path, dtype):
        self.file, self.dtype, self.length = open(path, "wb"), dtype, 0
        self._write_header()

    def _write_header(self):
        # NumPy leaves room in the header, so that a larger length has as many bytes.
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self.file, header)

    def append(self, values):
        self.file.write(values.astype(self.dtype).tobytes())
        self.length += len(values)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.seek(0)
        self._write_header()
        self.file.close()


def _write_arrays(folder, parts, names, known, verbose):
    """Write the arrays of all documents; what the description says of them, a dict."""
    chunks, n_documents, n_features = [], 0, None
    begin = said = time.perf_counter()
    with ExitStack() as stack:
        indptr, indices, data = (
            stack.enter_context(_ArrayFile(folder / f"{name}.npy", dtype)) for name, dtype in _TYPES.items()
        )
        indptr.append(np.zeros(1))
        for part in parts:
            counts = read_counts(part, first_row=n_documents)
            if n_features is None:
                n_features = counts.shape[1]
                known = None if known is None else read_words(known, "the names of the columns of X", n_features)
                names = known if names is None else read_words(names, "vocabulary", n_features, known)
            if counts.shape[1] != n_features:
                raise ValueError(f"document {n_documents} has {counts.shape[1]} columns, those before it {n_features}.")
            if counts.data.max(initial=0) > LARGEST_COUNT:
                raise ValueError(f"a count is larger than {LARGEST_COUNT}.")
            indptr.append(data.length + counts.indptr[1:].astype(np.int64))
            indices.append(counts.indices)
            data.append(counts.data)
            chunks.append(int(counts.shape[0]))
            n_documents += chunks[-1]
            if verbose and time.perf_counter() > said + 10:
                said = time.perf_counter()
                print(f"[save_counts] {n_documents} documents, {said - begin:.0f} s", flush=True)
    if not n_documents:
        raise ValueError("there is no document to save.")
    return {"n_features": n_features, "feature_names": names, "chunks": chunks}


def _parts(X, vectorizer, batch_size) -> Iterator[Any]:
    """Matrices of some documents each."""
    if vectorizer is not None:
        # Iteration over these gives characters, names of columns, keys or rows.
        if isinstance(X, (str, bytes, Mapping)) or getattr(X, "ndim", 1) != 1:
            raise TypeError(
                f"X is a {type(X).__name__}, and a vectorizer counts the words of texts: give a list of str."
            )
        return _batches(X, vectorizer, batch_size)
    if is_dask(X):
        return _computed(X)
    if sp.issparse(X):
        return (part for _, part in row_blocks(X, _CHUNK))
    if not hasattr(X, "shape") and not isinstance(X, (list, tuple)):
        raise TypeError(
            f"X is a {type(X).__name__}, and no matrix of counts: give a vectorizer that counts the words of texts."
        )
    return iter([X])


def _computed(X):
    for i, (block, n_rows) in enumerate(zip(blocks_of(X), X.chunks[0], strict=True)):
        part = block.compute()
        check_shape(i, part.shape, (n_rows, X.shape[1]))
        if part.shape[0]:
            yield part


def _batches(texts, vectorizer, batch_size):
    texts = iter(texts)
    while batch := list(itertools.islice(texts, batch_size)):
        yield vectorizer.transform(batch)


def load_counts(path: str | os.PathLike[str], *, as_dask: bool = False) -> Bunch:
    """Read a folder that `save_counts` wrote.

    The matrix is on disk: its arrays are of type `numpy.memmap`, and estimators read it in blocks of documents. Its
    memory is only that of the tokens, 8 bytes each, in the estimator.

    Parameters
    ----------
    path : str or path-like
        The folder.
    as_dask : bool, default=False
        Whether ``data`` is a Dask array with a block for each chunk. Needs Dask. On a cluster, the workers read the
        blocks, so all of them need the folder at this path.

    Returns
    -------
    sklearn.utils.Bunch
        ``data``: csr_matrix of shape (n_documents, n_features), int32, or a Dask array of such blocks;
        ``feature_names``: ndarray of shape (n_features,), or None.

    Raises
    ------
    ValueError
        If the folder is not complete, was written by a later version, or has a file that does not belong to the others.
    ImportError
        If Dask is needed and not installed.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sklda.datasets import load_counts, save_counts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_counts(folder, np.array([[2, 1, 0], [0, 1, 1]]), vocabulary=["apple", "banana", "cherry"])
    ...     corpus = load_counts(folder)
    ...     print(corpus.data.sum(), corpus.feature_names)
    5 ['apple' 'banana' 'cherry']
    """
    folder = path_of(path)
    chunks, n_features, names = _read_description(folder)
    indptr, indices, data = _mapped_arrays(folder, sum(chunks))
    if as_dask:
        matrix = _as_dask(folder, chunks, n_features)
    else:
        matrix = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_features), copy=False)
    return Bunch(data=matrix, feature_names=None if names is None else np.array(names, dtype=object))


def _read_description(folder):
    """Numbers of documents of the chunks, the number of columns and their names."""
    path = folder / _DESCRIPTION
    if not path.is_file():
        raise ValueError(f"the folder {folder} has no {_DESCRIPTION}: save_counts has not written all of it.")
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
        form, chunks = described["format"], described["chunks"]
        n_features, names = described["n_features"], described["feature_names"]
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged, or save_counts has not written it: write the folder again.") from error
    if form != _FORMAT:
        raise ValueError(f"the folder {folder} has format {form}; this version reads {_FORMAT}.")
    has_numbers = isinstance(chunks, list) and all(type(n) is int and n >= 0 for n in [n_features, *chunks])
    has_names = isinstance(names, list) and len(names) == n_features and all(isinstance(each, str) for each in names)
    if not has_numbers or not (names is None or has_names):
        raise ValueError(f"{path} is damaged, or save_counts has not written it: write the folder again.")
    return chunks, n_features, names


def _mapped_arrays(folder, n_documents):
    """The three arrays, which stay on disk."""
    indptr = _mapped(folder, "indptr", n_documents + 1)
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError(f"{folder / 'indptr.npy'} is damaged: its numbers do not rise from 0. Write the folder again.")
    return indptr, _mapped(folder, "indices", int(indptr[-1])), _mapped(folder, "data", int(indptr[-1]))


def _mapped(folder, name, length):
    """An array on disk, after a check of its type and its length."""
    path = folder / f"{name}.npy"
    try:
        found = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # NumPy's parser of a damaged header may raise anything.
        raise ValueError(f"{path} is missing or damaged ({error}): write the folder again.") from error
    if found.dtype != _TYPES[name] or found.shape != (length,):
        raise ValueError(
            f"{path} has the type {found.dtype} and the shape {found.shape}; {_TYPES[name]} and {(length,)} are "
            "needed. Write the folder again."
        )
    return found


def _as_dask(folder, chunks, n_features):
    """A Dask array of the chunks, which are read where they are needed."""
    try:
        import dask
        import dask.array as da
    except ImportError as error:
        raise ImportError('as_dask=True needs Dask: pip install "sklda[cluster]"') from error
    read = dask.delayed(_documents)
    ends = np.cumsum(chunks).tolist()
    blocks = [
        da.from_delayed(read(str(folder), end - n, end, ends[-1], n_features), (n, n_features), np.int32)
        for n, end in zip(chunks, ends, strict=True)
    ]
    return da.concatenate(blocks)


def _documents(folder, first, last, n_documents, n_features):
    """The documents between two numbers, in memory."""
    indptr, indices, data = _mapped_arrays(Path(folder), n_documents)
    chosen = slice(*indptr[[first, last]])
    arrays = np.array(data[chosen]), np.array(indices[chosen]), indptr[first : last + 1] - indptr[first]
    return sp.csr_matrix(arrays, shape=(last - first, n_features))
