"""Hierarchical clustering of topics, or of documents, by Jensen-Shannon distance."""

from typing import Literal

import numpy as np
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import silhouette_samples
from sklearn.utils import Bunch

from sklda._core.arguments import check_choice, check_int
from sklda._core.distances import jensen_shannon
from sklda._core.types import Data, Model
from sklda._description.view import view
from sklda.inspection._parameters import described

LINKAGES = ("average", "complete", "single", "weighted")


@described
def topic_hierarchy(
    estimator: Model,
    X: Data | None = None,
    *,
    of: Literal["topics", "documents"] = "topics",
    n_clusters: int | None = None,
    linkage_method: Literal["average", "complete", "single", "weighted"] = "average",
) -> Bunch:
    """Cluster topics, or documents, by the Jensen-Shannon distance of their distributions, with silhouette widths.

    Parameters
    ----------
    X : array-like, sparse matrix, or whatever a pipeline takes, default=None
        Only for ``of="documents"``. None: the documents of the fit.
    of : {"topics", "documents"}, default="topics"
        ``"topics"``: distributions over words. ``"documents"``: distributions over topics; memory grows with the square
        of the number of documents.
    n_clusters : int, default=None
        Number of clusters. None: the number from 2 to n - 1, and at most 50, with the largest mean silhouette width,
        where n is the number of topics (documents); n if there are fewer than three.
    linkage_method : {"average", "complete", "single", "weighted"}, default="average"
        As in `scipy.cluster.hierarchy.linkage`.

    Returns
    -------
    sklearn.utils.Bunch
        - ``distances`` (n, n): between 0 and 1
        - ``linkage`` (n - 1, 4): as in scipy
        - ``order`` (n,): leaves from left to right
        - ``n_clusters``
        - ``labels`` (n,): the cluster of every topic, numbered from 0 along ``order``
        - ``silhouette`` (n,): silhouette widths from -1 to 1 in these clusters
        - ``cluster_counts`` (m,) and ``mean_silhouette`` (m,): mean widths for other numbers of clusters
        - ``documents`` (n,): the rows of the documents, only with ``of="documents"``. Those without words, and those
          that the fit left out, are not clustered

    Notes
    -----
    The silhouette width of a topic is (b - a) / max(a, b) (Rousseeuw 1987). a is its mean distance to the other topics
    of its cluster, and b the smallest mean distance to the topics of another cluster. The width is 0 in a cluster of
    one. With one cluster, and with n, all widths are 0. George et al. (2019), Figures 7 and 16, show widths for topics
    and documents; their distance is the Manhattan distance.

    References
    ----------
    George, Xia & Michailidis (2019). Analyses of multi-collection corpora via compound topic modeling.

    Rousseeuw (1987). Silhouettes: a graphical aid to the interpretation and validation of cluster analysis. Journal of
    computational and applied mathematics 20.

    Examples
    --------
    >>> from sklda.inspection import topic_hierarchy
    >>> topics = [[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.6, 0.4]]
    >>> found = topic_hierarchy((topics, [[0.25] * 4]))
    >>> found.n_clusters, found.labels.tolist()
    (2, [0, 0, 1, 1])
    """
    check_choice(of, "of", ("topics", "documents"))
    check_choice(linkage_method, "linkage_method", LINKAGES)
    if of == "topics":
        rows, own = view(estimator, needs="topics").topic_word, {}
    else:
        found = view(estimator, X, needs="proportions")
        found.say_what_is_left_out()
        rows, own = found.whole_documents, {"documents": found.used}
    n = len(rows)
    if n_clusters is not None and check_int(n_clusters, "n_clusters", 1) > n:
        raise ValueError(f"n_clusters is {n_clusters}; there are only {n} {of}.")
    distances = jensen_shannon(rows)
    tree = cluster_tree(distances, linkage_method)
    counts = np.arange(2, min(n - 1, 50) + 1)
    widths = [_silhouettes(distances, _labels(tree, m)) for m in counts]
    means = np.array([width.mean() for width in widths])
    if n_clusters is None:
        n_clusters = int(counts[means.argmax()]) if len(counts) else n
    order = leaf_order(tree)
    labels = _labels(tree, n_clusters)
    # Clusters are contiguous along the leaves.
    first = [int(np.flatnonzero(labels[order] == c)[0]) for c in range(labels.max() + 1)]
    labels = np.argsort(np.argsort(first))[labels]
    return Bunch(
        distances=distances,
        linkage=tree,
        order=order,
        n_clusters=int(labels.max()) + 1,
        labels=labels,
        silhouette=_silhouettes(distances, labels),
        cluster_counts=counts,
        mean_silhouette=means,
        **own,
    )


def cluster_tree(distances, method="average"):
    """The linkage of scipy, with leaves in an order that puts close ones side by side where n is at most 500."""
    n = len(distances)
    if n < 2:
        return np.zeros((0, 4))
    return linkage(squareform(distances, checks=False), method, optimal_ordering=n <= 500)


def leaf_order(tree):
    """The leaves of a linkage from left to right."""
    return leaves_list(tree) if len(tree) else np.zeros(1, int)


def _labels(tree, n_clusters):
    """The cluster of every leaf, numbered from 0. Ties of the tree can give fewer clusters."""
    if not len(tree):
        return np.zeros(1, int)
    return fcluster(tree, n_clusters, "maxclust") - 1


def _silhouettes(distances, labels):
    if not 1 < len(np.unique(labels)) < len(labels):
        return np.zeros(len(labels))
    return silhouette_samples(distances, labels, metric="precomputed")
