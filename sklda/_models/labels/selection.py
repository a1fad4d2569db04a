"""Sets of labels from ranking scores."""

import numpy as np


def top_labels(scores, numbers):
    """The highest labels of every document.

    Parameters
    ----------
    scores : ndarray of shape (n_documents, n_labels)
    numbers : ndarray of shape (n_documents,), int
        How many labels every document gets. Of equal scores the first is higher.

    Returns
    -------
    ndarray of shape (n_documents, n_labels), bool
    """
    chosen = np.zeros(scores.shape, bool)
    order = np.argsort(-scores, axis=1, kind="stable")
    np.put_along_axis(chosen, order, np.arange(scores.shape[1]) < numbers[:, None], axis=1)
    return chosen


def top_documents(scores, numbers):
    """The highest documents of every label: as `top_labels`, with documents and labels exchanged."""
    return top_labels(np.ascontiguousarray(scores.T), numbers).T
