"""Shares of topics in groups of documents, with intervals."""

from dataclasses import dataclass

import numpy as np

from sklda._core.names import grouped
from sklda.inspection._share_intervals import share_intervals


@dataclass
class GroupShares:
    """Shares of topics in groups."""

    labels: list  # sorted, if they have an order; otherwise by type and text
    mean: np.ndarray  # (n_groups, n_components)
    # Ends of intervals, within 0 and 1; NaN where errors are unknown.
    low: np.ndarray
    high: np.ndarray
    # "mixture": posterior means of the model, two standard deviations; "sample": shares in the tokens, 95% intervals.
    kind: str
    overall: np.ndarray  # (n_components,): shares in all tokens, or of the mixture of all collections


def groups_to_compare(view):
    """The labels of at least two groups in order, and the place of each document's label in them; -1 for the others."""
    if view.groups is None:
        raise ValueError("groups is None: give the group of every document.")
    used = view.counted("groups")
    labels, found = grouped([view.groups[d] for d in used])
    if len(labels) < 2:
        raise ValueError("groups has one label for all documents that count: a comparison needs at least two.")
    index = np.full(view.n_documents, -1)
    index[used] = found
    return labels, index


def group_shares(view):
    """Shares of topics in the tokens of groups of documents, or the mixtures of a model that has collections.

    None if there are no groups. The mixtures without groups, or if all labels are among the collections of the fit. The
    share of topic k in a group is the ratio ``sum_d n_d theta_dk / sum_d n_d``. A group without documents that take
    part has NaN only.
    """
    groups = view.groups
    mixtures = getattr(view.model, "collection_topic_", None)
    if groups is None:
        if mixtures is None:
            return None
        return _of_model(view.model, view.model.collections_.tolist())
    if view.doc_topic is None:
        raise ValueError("groups are groups of documents: give X.")
    used = view.counted("groups")
    distinct, found = grouped([label for label in groups if label is not None])
    if mixtures is not None and set(distinct) <= set(view.model.collections_.tolist()):
        return _of_model(view.model, distinct)
    index = np.full(view.n_documents, -1)
    index[[label is not None for label in groups]] = found
    theta = np.asarray(view.doc_topic[used], dtype=np.float64)
    intervals = share_intervals(theta, view.weights[used], index[used], len(distinct))
    return GroupShares(distinct, *intervals, kind="sample", overall=view.share)


def _of_model(model, labels):
    rows = [model.collections_.tolist().index(label) for label in labels]
    mean = model.collection_topic_[rows]
    std = getattr(model, "collection_topic_std_", None)
    std = np.full_like(mean, np.nan) if std is None else std[rows]
    low, high = np.clip(mean - 2 * std, 0, 1), np.clip(mean + 2 * std, 0, 1)
    return GroupShares(labels, mean, low, high, kind="mixture", overall=model.corpus_topic_)
