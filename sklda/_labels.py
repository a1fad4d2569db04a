"""The labels of collections, which may have any hashable type."""

from numbers import Real

import numpy as np

from sklda._inference.arguments import check_no_mask
from sklda._inference.warn import warn

# From this number of values on, collections that look like a covariate get a warning. With fewer, a user sees the
# groups.
_MANY_COLLECTIONS = 10


def as_list(labels, name="collections"):
    """Labels as a list of Python objects, so that NumPy's and Python's numbers and strings are equal.

    Raises
    ------
    TypeError
        If they are no sequence, or a label is not hashable.
    ValueError
        If labels are masked.
    """
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__iter__"):
        raise TypeError(f"{name} must hold one label for each document, got {labels!r}.")
    check_no_mask(labels, name)
    labels = [x.item() if isinstance(x, np.generic) and x.dtype.kind in "biufUS" else x for x in labels]
    for d, label in enumerate(labels):
        try:
            hash(label)
        except TypeError as error:
            raise TypeError(
                f"{name}[{d}] = {label!r} is not hashable, as a label must be: give a string or a number."
            ) from error
    return labels


def is_missing(label):
    """Whether a label is None, NaN, NaT or the NA of pandas."""
    same = label == label
    # A comparison with NA is NA, which is neither true nor false.
    return label is None or not isinstance(same, (bool, np.bool_)) or not same


def in_order(labels):
    """The distinct labels as a list: sorted, where they have an order; otherwise by type and text."""
    distinct = set(labels)
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=lambda label: (type(label).__name__, repr(label)))


def check_length(labels, corpus):
    """Refuse labels that are more or fewer than the documents."""
    if len(labels) != corpus.n_documents:
        raise ValueError(f"collections has {len(labels)} labels; X has {corpus.n_documents} documents.")


def encode(collections, corpus):
    """The distinct labels, and the index of the label of every document.

    Parameters
    ----------
    collections : sequence of n_documents hashable labels, or None
        None: one collection, "all".
    corpus : Corpus

    Returns
    -------
    known : ndarray of shape (n_collections,)
        Sorted, where labels have an order; otherwise by type and text.
    index : ndarray of shape (n_documents,), int64
    """
    if collections is None:
        return np.array(["all"]), np.zeros(corpus.n_documents, np.int64)
    labels = as_list(collections)
    check_length(labels, corpus)
    for d, label in enumerate(labels):
        if is_missing(label):
            raise ValueError(f"collections[{d}] is {label!r}: in a fit every document needs the label of a collection.")
    distinct = in_order(labels)
    index = {label: j for j, label in enumerate(distinct)}
    plain = len({type(label) for label in distinct}) == 1 and isinstance(distinct[0], (str, int, float))
    # An array of NumPy's strings would lose zero characters at the end, one of floats the precision of large integers.
    if not plain or (known := np.array(distinct)).tolist() != distinct:
        known = np.empty(len(distinct), dtype=object)
        known[:] = distinct
    return known, np.array([index[label] for label in labels], np.int64)


def listed(labels, most=10):
    """The first labels, for a message."""
    shown = ", ".join(map(repr, labels[:most].tolist()))
    return shown + (f" and {len(labels) - most} others" if len(labels) > most else "")


def warn_of_many_collections(labels, collections):
    """Warn if a covariate such as a real number is given as collections."""
    if len(labels) <= _MANY_COLLECTIONS:
        return
    fractional = any(isinstance(label, Real) and label % 1 for label in labels.tolist())
    if fractional or np.median(np.bincount(collections, minlength=len(labels))) <= 1:
        reason = "they are fractional numbers" if fractional else "most of them belong to one document only"
        warn(
            f"collections has {len(labels)} different values, and {reason}. A collection is a group of documents, such "
            "as a year or a source, that have a mixture of topics in common. For a covariate that is a number, give "
            "intervals of it, for instance np.digitize(values, edges)."
        )
