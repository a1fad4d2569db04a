"""Counts of words in a folder: written and read in chunks, and used from there without a copy in memory."""

from __future__ import annotations

import itertools
import json
import os
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import Bunch
from sklearn.utils.validation import _get_feature_names

from sklda._core.arguments import check_int
from sklda._core.counts import LARGEST_COUNT, read_counts, row_blocks
from sklda._core.dask_arrays import blocks_of, check_shape, is_dask
from sklda._core.names import read_words
from sklda._core.types import Counts

_FORMAT = 1
# The files of a folder, and their types.
_TYPES = {"lengths": "<i4", "words": "<i4", "counts": "<i4"}
# Entries of a chunk of a matrix.
_CHUNK = 2**22


def save_counts(
    path: str | os.PathLike[str],
    X: Counts | Iterable[str],
    *,
    vectorizer: Any = None,
    feature_names: ArrayLike | None = None,
    batch_size: int = 10_000,
    verbose: int = 0,
) -> None:
    """Write word counts, or the counts of the words of texts, to a folder.

    The corpus can be larger than the memory: chunks of documents are written one after the other. The folder has three
    arrays of little-endian 32-bit integers, without a header. ``lengths.i4`` has the number of entries of every
    document. ``words.i4`` has the columns of all entries, document by document and in ascending order within a
    document. ``counts.i4`` has their counts. ``counts.json`` has the shape and the names of the
    columns. For each chunk, it has the numbers of documents and entries, and the CRC-32 of its part of the three files.
    It is written last, so a folder without it is not complete.

    Parameters
    ----------
    path : str or path-like
        The folder. It is made if it does not exist; an existing one must be empty.
    X : array-like, sparse matrix or Dask array of shape (n_documents, n_features), or iterable of str
        Word counts; or texts, which `vectorizer` counts.
    vectorizer : object, default=None
        A fitted vectorizer with ``transform``, such as `CountVectorizer` or `HashingVectorizer` with
        ``alternate_sign=False, norm=None``. Texts need it.
    feature_names : array-like of shape (n_features,), default=None
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
    folder = Path(path)
    parts = _parts(X, vectorizer, check_int(batch_size, "batch_size", 1))
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"the folder {folder} is not empty: give another one, or delete its files.")
    try:
        chunks, n_features, names = _write_all(folder, parts, feature_names, _known_names(X, vectorizer), verbose)
        described = {"format": _FORMAT, "n_features": n_features, "feature_names": names, "chunks": chunks}
        (folder / "counts.json.part").write_text(json.dumps(described), encoding="utf-8")
        os.replace(folder / "counts.json.part", folder / "counts.json")
    except BaseException:
        # Also Ctrl-C: what is left could not be used, and the next call needs an empty folder.
        for name in (*(f"{each}.i4" for each in _TYPES), "counts.json.part"):
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


def _write_all(folder, parts, names, known, verbose):
    """Write the arrays of all documents; the description of their chunks, the number of columns and their names."""
    chunks, first, n_features, begin = [], 0, None, time.perf_counter()
    said = begin
    with ExitStack() as stack:
        files = {name: stack.enter_context(open(folder / f"{name}.i4", "wb")) for name in _TYPES}
        for part in parts:
            counts = read_counts(part, first_row=first)
            if n_features is not None and counts.shape[1] != n_features:
                raise ValueError(f"document {first} has {counts.shape[1]} columns, those before it {n_features}.")
            if n_features is None:
                n_features = counts.shape[1]
                known = None if known is None else read_words(known, "the names of the columns of X", n_features)
                names = known if names is None else read_words(names, "feature_names", n_features, known)
            chunks.append(_write(counts, files))
            first += counts.shape[0]
            if verbose and time.perf_counter() > said + 10:
                said = time.perf_counter()
                print(f"[save_counts] {first} documents, {said - begin:.0f} s", flush=True)
        for file in files.values():
            file.flush()
            os.fsync(file.fileno())
    if not first:
        raise ValueError("there is no document to save.")
    return chunks, n_features, names


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


def _write(counts, files):
    """Write one chunk; its entry in the description."""
    parts = {"lengths": np.diff(counts.indptr), "words": counts.indices, "counts": counts.data}
    if counts.data.max(initial=0) > LARGEST_COUNT:
        raise ValueError(f"a count is larger than {LARGEST_COUNT}.")
    checks = {}
    for name, values in parts.items():
        written = values.astype(_TYPES[name]).tobytes()
        files[name].write(written)
        checks[name] = zlib.crc32(written)
    return {"n_documents": int(counts.shape[0]), "n_entries": int(counts.nnz), "crc32": checks}


def load_counts(path: str | os.PathLike[str], *, check: bool = True, as_dask: bool = False) -> Bunch:
    """Read a folder that `save_counts` wrote.

    The matrix is on disk: its arrays are of type `numpy.memmap`, and estimators read it in blocks of documents. Its
    memory is only that of the tokens, 8 bytes each, in the estimator.

    Parameters
    ----------
    path : str or path-like
        The folder.
    check : bool, default=True
        Whether all chunks are read and compared with their CRC-32.
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
        If the folder is not complete, was written by a later version, or was changed.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sklda.datasets import load_counts, save_counts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_counts(folder, np.array([[2, 1, 0], [0, 1, 1]]), feature_names=["apple", "banana", "cherry"])
    ...     corpus = load_counts(folder)
    ...     print(corpus.data.sum(), corpus.feature_names)
    5 ['apple' 'banana' 'cherry']
    """
    folder = Path(path)
    if not (folder / "counts.json").is_file():
        raise ValueError(f"the folder {folder} has no counts.json: save_counts has not written all of it.")
    chunks, n_features, names = _described(folder)
    edges = {
        "lengths": np.cumsum([0] + [chunk["n_documents"] for chunk in chunks]),
        "words": np.cumsum([0] + [chunk["n_entries"] for chunk in chunks]),
    }
    edges["counts"] = edges["words"]
    arrays = {name: _mapped(folder / f"{name}.i4", _TYPES[name], int(edges[name][-1])) for name in _TYPES}
    if check:
        for i, chunk in enumerate(chunks):
            for name, values in arrays.items():
                if zlib.crc32(values[edges[name][i] : edges[name][i + 1]].tobytes()) != chunk["crc32"][name]:
                    raise ValueError(f"{folder / name}.i4 was changed: chunk {i} has another CRC-32. Write it again.")
    if as_dask:
        data = _as_dask(folder, arrays, edges, n_features)
    else:
        indptr = np.concatenate([[0], np.cumsum(arrays["lengths"], dtype=np.int64)])
        if arrays["lengths"].min(initial=0) < 0 or indptr[-1] != len(arrays["words"]):
            raise ValueError(f"{folder / 'lengths'}.i4 was changed: its sum is not the number of entries.")
        data = _matrix(arrays["counts"], arrays["words"], indptr, n_features)
    return Bunch(data=data, feature_names=None if names is None else np.array(names, dtype=object))


def _described(folder):
    """The chunks, the number of columns and their names, from the description of a folder."""
    try:
        described = json.loads((folder / "counts.json").read_text(encoding="utf-8"))
        if (form := described["format"]) == _FORMAT:
            chunks, n_features, names = described["chunks"], described["n_features"], described["feature_names"]
            numbers = [n_features, *(chunk[key] for chunk in chunks for key in ("n_documents", "n_entries"))]
            checks = [chunk["crc32"][name] for chunk in chunks for name in _TYPES]
            named = isinstance(names, list) and len(names) == n_features and all(type(each) is str for each in names)
            if (
                chunks
                and (names is None or named)
                and all(type(n) is int and 0 <= n <= LARGEST_COUNT for n in numbers)
                and len(checks)
            ):
                return chunks, n_features, names
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        form = _FORMAT
    if form != _FORMAT:
        raise ValueError(f"the folder {folder} has format {form}; this version reads {_FORMAT}.")
    raise ValueError(f"{folder / 'counts.json'} was changed: write the folder again.")


def _mapped(path, dtype, size):
    """An array on disk, after a check of its size."""
    found = path.stat().st_size if path.is_file() else -1
    if found != size * 4:
        raise ValueError(f"{path} has {max(found, 0)} bytes; {size * 4} are needed. Write the folder again.")
    return np.memmap(path, dtype, "r", shape=size) if size else np.empty(0, dtype)


def _matrix(counts, words, indptr, n_features):
    return sp.csr_matrix((counts, words, indptr), shape=(len(indptr) - 1, n_features), copy=False)


def _as_dask(folder, arrays, edges, n_features):
    """A Dask array of the chunks, which are read where they are needed."""
    import dask
    import dask.array as da

    blocks = [
        da.from_delayed(
            dask.delayed(_chunk)(
                str(folder), edges["lengths"][i : i + 2].tolist(), edges["words"][i : i + 2].tolist(), n_features
            ),
            (int(edges["lengths"][i + 1] - edges["lengths"][i]), n_features),
            np.int32,
        )
        for i in range(len(edges["lengths"]) - 1)
    ]
    return da.concatenate(blocks)


def _chunk(folder, documents, entries, n_features):
    """The documents and the entries between two numbers, from the files of a folder."""
    parts = {}
    for name, (first, last) in (("lengths", documents), ("words", entries), ("counts", entries)):
        path = Path(folder) / f"{name}.i4"
        parts[name] = np.fromfile(path, _TYPES[name], last - first, offset=4 * first)
        if len(parts[name]) < last - first:
            raise ValueError(f"{path} was cut off after load_counts had opened it: write the folder again.")
    indptr = np.concatenate([[0], np.cumsum(parts["lengths"], dtype=np.int64)])
    return _matrix(parts["counts"], parts["words"], indptr, n_features)
