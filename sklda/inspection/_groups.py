"""Shares of topics in groups of documents, with errors."""

from dataclasses import dataclass

import numpy as np

from sklda._inference.names import grouped, read_labels


@dataclass
class GroupShares:
    """Shares of topics in groups."""

    labels: list  # sorted, if they have an order; otherwise by type and text
    mean: np.ndarray  # (n_groups, n_components)
    std: np.ndarray
    # "mixture": posterior means and standard deviations of the model; "sample": shares in the tokens, and their errors.
    kind: str
    overall: np.ndarray  # (n_components,): shares in all tokens, or of the mixture of all collections


def group_index(groups, n_documents):
    """The distinct labels of documents in order, and the place of each document's label in them.

    Documents whose label is missing are one group, None.
    """
    return grouped(read_labels(groups, "groups", n_documents, may_be_missing=True))


def group_shares(view):
    """Shares of topics in the tokens of groups of documents, or the mixtures of a model that has collections.

    None if there are no groups. The mixtures without groups, or if all labels are among the collections of the fit.
    Documents whose label is missing are one group, None. The share of topic k in a group is the ratio
    ``sum_d n_d theta_dk / sum_d n_d``. Its standard error is that of a ratio estimator, with the documents of the group
    as the sample; NaN in a group of one document.
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
    weights = np.ones(len(index)) if view.counts is None else view.lengths
    mean = np.full((len(distinct), view.n_topics), np.nan)
    std = mean.copy()
    for j in range(len(distinct)):
        mean[j], std[j] = _ratio(view.doc_topic[index == j], weights[index == j])
    return GroupShares(distinct, mean, std, "sample", view.share)


def _of_model(model, labels):
    rows = [model.collections_.tolist().index(label) for label in labels]
    mean = model.collection_topic_[rows]
    std = getattr(model, "collection_topic_std_", None)
    std = np.full_like(mean, np.nan) if std is None else std[rows]
    return GroupShares(labels, mean, std, "mixture", model.corpus_topic_)


def _ratio(theta, n):
    """Weighted mean of the rows of theta, and its standard error."""
    if n.sum() == 0:
        n = np.ones_like(n)
    mean = n @ theta / n.sum()
    used = np.count_nonzero(n)
    if used < 2:
        return mean, np.full_like(mean, np.nan)
    squares = ((n[:, None] * (theta - mean)) ** 2).sum(axis=0)
    return mean, np.sqrt(used / (used - 1) * squares) / n.sum()
