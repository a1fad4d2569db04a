"""The collections of the documents: their labels, and which of them each document has."""

from numbers import Real

import numpy as np

from sklda._input.names import grouped, label_array
from sklda._input.warn import warn

# From this number of values on, collections that look like a covariate get a warning. With fewer, a user sees the
# groups.
_MANY_COLLECTIONS = 10


def encode(collections, n_documents):
    """The distinct labels in the order of `in_order`, and the place of that of every document, int64 (n_documents,).

    Without collections, all documents are in one, "all". A warning if they look like a covariate.
    """
    if collections is None:
        return np.array(["all"]), np.zeros(n_documents, np.int64)
    distinct, index = grouped(collections)
    labels = label_array(distinct)
    warn_of_many_collections(labels, index)
    return labels, index


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
