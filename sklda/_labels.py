"""Labels of collections, of any hashable type."""

import numpy as np


def as_list(collections):
    """A list of labels as Python objects."""
    if isinstance(collections, (str, bytes)) or not hasattr(collections, "__iter__"):
        raise TypeError(f"collections must hold one label for each document, got {collections!r}.")
    return [x.item() if isinstance(x, np.generic) and x.dtype.kind in "biufUS" else x for x in collections]


def check_length(labels, corpus):
    if len(labels) != corpus.n_documents:
        raise ValueError(f"collections has {len(labels)} labels; X has {corpus.n_documents} documents.")


def encode(collections, corpus):
    """Sorted labels, and the index of every document's."""
    if collections is None:
        return np.array(["all"]), np.zeros(corpus.n_documents, np.int64)
    labels = as_list(collections)
    check_length(labels, corpus)
    for d, label in enumerate(labels):
        try:
            hash(label)
        except TypeError as error:
            raise TypeError(f"collections[{d}] = {label!r} is not hashable, so it is no label.") from error
        if label is None or label != label:
            raise ValueError(f"collections[{d}] is {label!r}: in a fit every document needs the label of a collection.")
    distinct = set(labels)
    try:
        distinct = sorted(distinct)
    except TypeError:
        distinct = sorted(distinct, key=lambda label: (type(label).__name__, repr(label)))
    index = {label: j for j, label in enumerate(distinct)}
    plain = len({type(label) for label in distinct}) == 1 and isinstance(distinct[0], (str, int, float))
    # NumPy drops what is 0 at the end of strings, and makes floats of whole numbers that no dtype holds.
    if not plain or (known := np.array(distinct)).tolist() != distinct:
        known = np.empty(len(distinct), dtype=object)
        known[:] = distinct
    return known, np.array([index[label] for label in labels], np.int64)


def some(labels, most=10):
    shown = ", ".join(map(repr, labels[:most].tolist()))
    return shown + (f" and {len(labels) - most} others" if len(labels) > most else "")
