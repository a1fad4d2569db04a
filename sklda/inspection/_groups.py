"""Shares of topics in groups of documents, with intervals."""

from dataclasses import dataclass

import numpy as np

from sklda._core.names import grouped, read_labels
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


def group_index(groups, n_documents):
    """The distinct labels of documents in order, and the place of each document's label in them.

    Documents whose label is missing are one group, None.
    """
    return grouped(read_labels(groups, "groups", n_documents, may_be_missing=True))


def groups_to_compare(view, groups):
    """At least two groups that have documents that take part: as `group_index`, with -1 for all other documents."""
    labels, index = group_index(groups, view.n_documents)
    if len(labels) < 2:
        raise ValueError("groups has one label: a comparison needs at least two.")
    kept, found = np.unique(index[view.used], return_inverse=True)
    if len(kept) < 2:
        raise ValueError(f"a comparison needs at least two groups: {view.left_out} The others are in one group.")
    index = np.full(view.n_documents, -1)
    index[view.used] = found
    return [labels[j] for j in kept], index


def group_shares(view):
    """Shares of topics in the tokens of groups of documents, or the mixtures of a model that has collections.

    None if there are no groups. The mixtures without groups, or if all labels are among the collections of the fit.
    Documents whose label is missing are one group, None. The share of topic k in a group is the ratio
    ``sum_d n_d theta_dk / sum_d n_d``. A group without documents that take part has NaN only.
    """
    groups = view.groups
    mixtures = getattr(view.model, "collection_topic_", None)
    if groups is None:
        if mixtures is None:
            return None
        return _of_model(view.model, view.model.collections_.tolist())
    if view.doc_topic is None:
        raise ValueError("groups are groups of documents: give X.")
    distinct, index = group_index(groups, len(view.doc_topic))
    if mixtures is not None and set(distinct) <= set(view.model.collections_.tolist()):
        return _of_model(view.model, distinct)
    used = view.used
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
