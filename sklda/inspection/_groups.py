"""Shares of topics in groups of documents, with intervals."""

from dataclasses import dataclass

import numpy as np

from sklda._core import random
from sklda._core.linear_models import share_interval
from sklda._input.names import grouped
from sklda.inspection._effects import GroupMeans, cluster_numbers
from sklda.inspection._theta import N_DRAWS


@dataclass
class GroupShares:
    """Shares of topics in groups."""

    labels: list  # sorted, if they have an order; otherwise by type and text
    mean: np.ndarray  # (n_groups, n_components)
    # Ends of intervals; NaN where errors are unknown.
    low: np.ndarray
    high: np.ndarray
    attenuation: np.ndarray  # (n_components,)
    # "mixture": those of the model for its collections; "sample": means of the proportions of the documents.
    kind: str


def groups_to_compare(view):
    """The labels of at least two groups in order, and the number of the group and of the cluster of each document.

    Numbers are -1 for documents that do not count. Those of clusters are None without clusters.
    """
    if view.groups is None:
        raise ValueError("groups is None: give the group of every document.")
    used = view.counted("groups", "clusters")
    labels, found = grouped(view.groups.take(used))
    if len(labels) < 2:
        others = f" {view.left_out}" if view.left_out else ""
        raise ValueError(f"groups has one label for all documents that count: a comparison needs two groups.{others}")
    clusters = cluster_numbers(view.values["clusters"], used)
    return labels, view.of_all(used, found), None if clusters is None else view.of_all(used, clusters)


def group_shares(view, random_state=0, level=0.95, n_draws=N_DRAWS, shrinks=False):
    """Mean proportions of topics in groups of documents, or the mixtures of a model that has collections.

    The mixtures without groups; None if there are neither. A group without documents that take part has NaN only.
    """
    if view.groups is None:
        if getattr(view.model, "collection_topic_", None) is None:
            return None
        mean, std = view.model.collection_topic_, getattr(view.model, "collection_topic_std_", None)
        low, high = share_interval(mean, np.full_like(mean, np.nan) if std is None else std, np.inf, level)
        return GroupShares(view.model.collections_.tolist(), mean, low, high, np.ones(view.n_topics), kind="mixture")
    if view.doc_topic is None:
        raise ValueError("groups are groups of documents: give X.")
    used = view.counted("groups", "clusters", "weights")
    known = np.flatnonzero([label is not None for label in view.groups])
    distinct, found = grouped(view.groups.take(known))
    options = {"n_draws": n_draws, "level": level, "seed": random.seed_sequence(random_state), "shrinks": shrinks}
    means = GroupMeans.of(view, used, view.of_all(known, found)[used], len(distinct), **options)
    return GroupShares(distinct, means.estimate, means.low, means.high, means.attenuation, kind="sample")
