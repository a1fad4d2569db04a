"""Displays of the similarity of topics, and of their hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import Bunch

from sklda._core.types import Model
from sklda._description.view import view
from sklda.inspection._axes import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    PanelsDisplay,
    pyplot,
)
from sklda.inspection._hierarchy import topic_hierarchy
from sklda.inspection._parameters import described

# Width and height of a new figure of the hierarchy, in inches.
_SIZE = (9.0, 5.0)
# Of clusters, in turn.
_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#000000", "#b5a800")


@dataclass(eq=False, repr=False)
class TopicHierarchyDisplay(PanelsDisplay):
    """Dendrogram of topics by Jensen-Shannon distance, and the silhouette widths of the clusters.

    Each cluster has a colour. `from_estimator` plots a fitted model; the constructor takes the values to plot.

    Parameters
    ----------
    hierarchy : sklearn.utils.Bunch
        As from `topic_hierarchy`.
    names : sequence of n_topics str
        Names of the topics, by number.

    Attributes
    ----------
    axes_ : ndarray of shape (2,) of matplotlib Axes
        Axes of the dendrogram and of the silhouette widths.
    bars_ : matplotlib BarContainer
        The silhouette widths, along the leaves of the dendrogram.

    Examples
    --------
    >>> from sklda.inspection import TopicHierarchyDisplay
    >>> topics = [[0.5, 0.5, 0.0], [0.0, 0.1, 0.9], [0.4, 0.5, 0.1]], [[0.3, 0.3, 0.4]]
    >>> TopicHierarchyDisplay.from_estimator(topics).axes_[0].get_xlabel()
    'Jensen-Shannon distance'
    """

    hierarchy: Bunch
    names: Sequence[str]

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Model,
        *,
        n_clusters: int | None = None,
        linkage_method: Literal["average", "complete", "single", "weighted"] = "average",
        n_words: int = 3,
        ax: Any = None,
    ) -> Self:
        """Plot the hierarchy of the topics of a fitted model.

        Parameters
        ----------
        n_clusters : int, default=None
            See `topic_hierarchy`.
        linkage_method : {"average", "complete", "single", "weighted"}, default="average"
            See `topic_hierarchy`.
        ax : sequence of two matplotlib Axes, default=None
            Axes of the dendrogram and of the silhouette widths. None: those of a new figure.
        """
        found = view(estimator, needs="topics")
        hierarchy = topic_hierarchy(estimator, n_clusters=n_clusters, linkage_method=linkage_method)
        return cls(hierarchy, found.labels(n_words=n_words)).plot(ax=ax)

    def _panels(self):
        return 2, "two Axes, for the dendrogram and for the widths"

    def _new_axes(self):
        size = _SIZE[0], max(_SIZE[1], 0.2 * len(self.names))
        return pyplot().subplots(1, 2, figsize=size, layout="constrained", width_ratios=(2, 1))[1]

    def _draw(self, axes):
        found = self.hierarchy
        n = len(found.labels)
        tree, widths = axes
        for each in axes:
            each.spines[["top", "right"]].set_visible(False)
        self._dendrogram(tree, n)
        colours = [_COLOURS[c % len(_COLOURS)] for c in range(found.n_clusters)]
        places = np.arange(n)
        self.bars_ = widths.barh(
            places, found.silhouette[found.order], color=[colours[found.labels[k]] for k in found.order]
        )
        widths.set(xlabel="silhouette width", ylim=(-0.5, n - 0.5), yticks=[])
        widths.axvline(0, color="0.3", lw=0.8)
        widths.axvline(found.silhouette.mean(), color="0.3", lw=0.8, ls="--", label="mean")
        widths.legend(frameon=False, fontsize=8)

    def _dendrogram(self, ax, n):
        """Lines of the tree, with leaf i at height i. Merges inside a cluster have its colour."""
        found = self.hierarchy
        colours = [_COLOURS[c % len(_COLOURS)] for c in range(found.n_clusters)]
        place = np.empty(n)
        place[found.order] = np.arange(n)
        nodes = [(place[k], 0.0, {found.labels[k]}) for k in range(n)]
        for left, right, distance, _ in found.linkage:
            (y0, x0, inside0), (y1, x1, inside1) = nodes[int(left)], nodes[int(right)]
            inside = inside0 | inside1
            colour = colours[next(iter(inside))] if len(inside) == 1 else "0.5"
            ax.plot([x0, distance, distance, x1], [y0, y0, y1, y1], color=colour, lw=1.3)
            nodes.append(((y0 + y1) / 2, distance, inside))
        ax.set_yticks(np.arange(n), [self.names[k] for k in found.order], fontsize=8)
        ax.set(xlabel="Jensen-Shannon distance", ylim=(-0.5, n - 0.5), xlim=(0, None))
