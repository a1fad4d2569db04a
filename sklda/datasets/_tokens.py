"""Counts from lists of tokens, with the topics in the order of the counts."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence, Set

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.utils import Bunch

from sklda._input.arguments import check_int
from sklda._input.counts import LARGEST_COUNT


def count_tokens(
    documents: Sequence[ArrayLike],
    topic_assignments: ArrayLike | Sequence[ArrayLike] | None = None,
    *,
    n_features: int | None = None,
) -> Bunch:
    """Count the words of token lists, and put their topics in the order of the counts.

    Most samplers keep the tokens of a document in the order of the text. The functions and estimators of sklda take a
    matrix of counts, and topics in ascending order of word ids within a document.

    Parameters
    ----------
    documents : sequence of n_documents sequences of int
        The word ids of every document, in any order. Words are numbered from 0. A document may be empty.
    topic_assignments : sequence of n_documents sequences of int, default=None
        The topic of every token, in the order of `documents`.
    n_features : int, default=None
        Size of the vocabulary. None: the largest word id plus one.

    Returns
    -------
    sklearn.utils.Bunch
        ``data``, the counts, csr_array of shape (n_documents, n_features), int64; and ``topic_assignments``, int32
        (n_tokens,), or None if no topics were given. Topics are in the order that `GibbsLDA.from_assignments` takes:
        document by document, and by word id within a document. Topics of the same word in the same document keep their
        order.

    Raises
    ------
    ValueError
        If a word id or a topic is out of range, or the topics do not have the lengths of the documents.
    TypeError
        If `documents` or `topic_assignments` is not a sequence of sequences of integers.

    See Also
    --------
    read_mallet_state : Read the state file of MALLET.

    Examples
    --------
    >>> from sklda.datasets import count_tokens
    >>> found = count_tokens([[2, 0, 2], [], [1]], [[0, 1, 3], [], [2]])
    >>> found.data.toarray()
    array([[1, 0, 2],
           [0, 0, 0],
           [0, 1, 0]])
    >>> found.topic_assignments
    array([1, 0, 3, 2], dtype=int32)
    """
    largest = LARGEST_COUNT - 1
    if n_features is not None:
        largest = check_int(n_features, "n_features", 1, LARGEST_COUNT) - 1
    words, lengths = _flatten(documents, "documents", largest)
    topics = None
    if topic_assignments is not None:
        topics, own = _flatten(topic_assignments, "topic_assignments", LARGEST_COUNT - 1)
        if len(own) != len(lengths):
            raise ValueError(f"topic_assignments has {len(own)} documents, documents has {len(lengths)}.")
        if (own != lengths).any():
            d = int(np.argmax(own != lengths))
            raise ValueError(f"topic_assignments[{d}] has {own[d]} topics; documents[{d}] has {lengths[d]} tokens.")
    width = int(words.max(initial=-1)) + 1 if n_features is None else largest + 1
    data, order = count_cells(np.repeat(np.arange(len(lengths)), lengths), words, (len(lengths), width))
    return Bunch(data=data, topic_assignments=None if topics is None else topics[order])


def _flatten(parts, name, largest):
    """The numbers of all documents, int32, and the number of them in each document."""
    if isinstance(parts, (str, bytes, Mapping, Set)) or not hasattr(parts, "__iter__"):
        raise TypeError(f"{name} must be a sequence of sequences of integers, got {reprlib.repr(parts)}.")
    arrays = [np.zeros(0, np.int32)]
    for d, part in enumerate(parts):
        try:
            array = np.asarray(part)
        except ValueError:  # ragged
            array = np.zeros(())
        if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
            raise TypeError(f"{name}[{d}] must be a sequence of integers, got {reprlib.repr(part)}.")
        if len(array) and not (0 <= array.min() and array.max() <= largest):
            wrong = array[(array < 0) | (array > largest)][0]
            raise ValueError(f"{name}[{d}] contains {wrong}; its numbers must lie between 0 and {largest}.")
        arrays.append(array.astype(np.int32, copy=False))
    return np.concatenate(arrays), np.array([len(array) for array in arrays[1:]], dtype=np.int64)


def count_cells(documents, words, shape):
    """The counts of words, csr_array, and the order of the tokens by document and then by word.

    Tokens of the same cell keep their order.
    """
    cells = documents.astype(np.int64) * shape[1] + words
    order = np.argsort(cells, kind="stable")
    cells = cells[order]
    first = np.flatnonzero(np.append(True, cells[1:] != cells[:-1])[: len(cells)])
    rows, columns = np.divmod(cells[first], max(shape[1], 1))
    counts = np.diff(np.append(first, len(cells)))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=shape[0]))))
    index = np.int32 if len(cells) <= LARGEST_COUNT else np.int64
    data = csr_array((counts.astype(np.int64), columns.astype(index), offsets.astype(index)), shape=shape)
    data.has_canonical_format = True
    return data, order
