"""A map of topics: circles by size, near each other if their words are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np

from sklda._core.distances import jensen_shannon
from sklda._core.types import Data, Model, Values
from sklda._description.view import view
from sklda.inspection._axes import LINE, MUTED, SKY, Display
from sklda.inspection._scaling import least_stress, point_distances

# Parts of the area of the axes that the circles have together, and of its sides that their centres are in.
_AREA, _SIDE = 0.08, 0.8
# Topics with names, the largest; the others have their numbers only. More than so many topics have small labels.
_NAMED, _LARGE = 40, 20
# A label is at its circle, or at one of these distances from it in points, in one of these directions.
_DISTANCES = np.arange(0, 300, 5)
_DIRECTIONS = [(0, -1), (0, 1), (1, 0), (-1, 0), *product((1, -1), (1, -1))]
# Points between labels, and the distance from which a line joins a label and its circle.
_GAP, _LINE_FROM = 2.0, 12.0


@dataclass(eq=False, repr=False, kw_only=True)
class TopicMapDisplay(Display):
    """A map of topics: circles by size, near each other if their words are alike.

    The places are those of multidimensional scaling of the Jensen-Shannon distances between topics: distances on the
    map are as near to these as two dimensions allow. Topics of a corpus differ in more than two ways, so the map is a
    first view. Its note has the correlation between both distances, and `similarity_table` has all of them.
    Labels do not lie on each other; of more than forty topics, the small ones have numbers only. `from_estimator` plots
    a fitted model; the constructor takes the values to plot.

    Parameters
    ----------
    places : array-like of shape (n_topics, 2)
    share : array-like of shape (n_topics,)
        Sizes of the topics, which are the areas of the circles.
    names : sequence of n_topics str
    agreement : float, default=None
        Correlation between the distances on the map and those of the topics.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    circles_ : matplotlib PathCollection
    labels_ : list of matplotlib Annotation

    References
    ----------
    De Leeuw & Mair (2009). Multidimensional scaling using majorization: SMACOF in R. Journal of Statistical Software
    31(3).

    Sievert & Shirley (2014). LDAvis: a method for visualizing and interpreting topics. ACL workshop on interactive
    language learning, visualization, and interfaces.

    Examples
    --------
    >>> from sklda.inspection import TopicMapDisplay
    >>> topics = [[0.5, 0.5, 0.0], [0.0, 0.1, 0.9], [0.4, 0.5, 0.1]], [[0.3, 0.3, 0.4]]
    >>> TopicMapDisplay.from_estimator(topics).names
    ['0: 0 1 2', '1: 2 1 0', '2: 1 0 2']
    """

    places: Values
    share: Values
    names: Sequence[str]
    agreement: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        topics: Values | None = None,
        n_words: int = 3,
        ax: Any = None,
    ) -> Self:
        """Plot the topics of a fitted model.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic)
            A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes
            (n_components, n_features) and (n_documents, n_components). `describe` adds names of words, topics and
            documents.
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents, for the sizes of the topics. None: the shares in the model.
        topics : sequence of int or str, default=None
            Topics to show; None: all.
        n_words : int, default=3
            How many of a topic's most probable words are in its label, if it has no name.
        ax : matplotlib Axes, default=None
            None: those of a new figure.

        Returns
        -------
        TopicMapDisplay

        Raises
        ------
        ValueError, TypeError
            If the model is not one that this function takes, or an argument does not fit it.
        """
        found = view(estimator, X)
        topics = found.chosen(topics)
        distances = jensen_shannon(found.topic_word[topics])
        places = least_stress(distances)
        return cls(
            places=places,
            share=found.share[topics],
            names=found.labels(topics, n_words),
            agreement=_agreement(places, distances),
        ).plot(ax)

    def _figsize(self):
        return 8, 5.6

    def _draw(self, ax):
        places, share = np.asarray(self.places, dtype=np.float64), np.asarray(self.share, dtype=np.float64)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#cccccc")
        note = "" if self.agreement is None else f"; correlation of the distances: {self.agreement:.2f}"
        ax.set_xlabel(f"near: similar words; area: share of the tokens{note}", fontsize=9, color=MUTED)
        # Places of labels depend on the size that the layout gives to the axes.
        ax.figure.draw_without_rendering()
        scale = 72 / ax.figure.dpi
        box = ax.get_window_extent().get_points() * scale
        sides = box[1] - box[0]
        self._set_limits(ax, places, sides)
        areas = _AREA * sides.prod() * share / (share.sum() or 1)
        self.circles_: Any = ax.scatter(*places.T, areas, color=SKY, alpha=0.45, edgecolor=LINE, linewidth=1)
        self.labels_: list[Any] = [self._label(ax, k) for k in range(len(places))]
        sizes = np.array([each.get_window_extent().size for each in self.labels_]).reshape(-1, 2) * scale
        centres, radii = ax.transData.transform(places) * scale, np.sqrt(areas / np.pi)
        for k, offset in _offsets(centres, radii, sizes, box):
            self.labels_[k].set_position(tuple(offset))
            if np.hypot(*offset) > radii[k] + sizes[k].max() / 2 + _LINE_FROM:
                line = {"arrowstyle": "-", "color": MUTED, "lw": 0.6, "shrinkA": 0, "shrinkB": 0}
                line = ax.annotate("", places[k], tuple(offset), textcoords="offset points", arrowprops=line, zorder=3)
                line.set_in_layout(False)

    def _set_limits(self, ax, places, sides):
        """Limits for sides in points, so that both directions have the same scale."""
        middle, reach = (places.min(axis=0) + places.max(axis=0)) / 2, np.maximum(np.ptp(places, axis=0), 1e-9)
        unit = (reach / (_SIDE * sides)).max()
        low, high = middle - unit * sides / 2, middle + unit * sides / 2
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))

    def _label(self, ax, k):
        """The name of a topic, or the number at its start, in the middle of its circle."""
        largest = np.argsort(-np.asarray(self.share), kind="stable")[:_NAMED]
        name = self.names[k] if k in largest else self.names[k].partition(":")[0]
        style = {"ha": "center", "va": "center", "fontsize": 9 if len(self.names) <= _LARGE else 7.5, "zorder": 4}
        label = ax.annotate(name, self.places[k], (0, 0), textcoords="offset points", **style)
        label.set_in_layout(False)
        return label


def _agreement(places, distances):
    """Correlation between the distances of places and others; None where there is none."""
    pairs = np.triu_indices(len(places), 1)
    shown, true = point_distances(places)[pairs], distances[pairs]
    if len(shown) < 3 or min(np.ptp(shown), np.ptp(true)) == 0:
        return None
    return float(np.corrcoef(shown, true)[0, 1])


def _offsets(centres, radii, sizes, edges):
    """The label of each topic with its offset, the largest topics first, so that no two labels meet.

    The first free place from near to far is taken, of those inside the edges; if none is, the farthest. All in points.
    """
    taken = np.empty((0, 4))
    for k in np.argsort(-radii, kind="stable"):
        half = sizes[k] / 2 + _GAP
        # On the circle, then around it.
        tried = [np.zeros(2)] + [
            np.array(direction) * (radii[k] + distance + half) for distance in _DISTANCES for direction in _DIRECTIONS
        ]
        for offset in tried:
            low, high = centres[k] + offset - half, centres[k] + offset + half
            meets = (low < taken[:, 2:]).all(axis=1) & (high > taken[:, :2]).all(axis=1)
            if not meets.any() and (low >= edges[0]).all() and (high <= edges[1]).all():
                break
        taken = np.vstack([taken, np.concatenate([low, high])])
        yield k, offset
