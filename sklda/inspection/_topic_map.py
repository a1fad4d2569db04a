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
from sklda.inspection._axes import SKY, Display, colours_of, fit_texts, wrapped
from sklda.inspection._scaling import least_stress, point_distances

# Parts of the area of the axes that the circles have together, and of its sides that their centres are in.
_AREA, _SIDE = 0.08, 0.8
# Topics with names, at most, and the lines and points of a name. More than so many topics have small labels.
_NAMED, _NAME_LINES, _NAME_WIDTH, _LARGE = 40, 2, 105, 20
# Points between a circle and its name, at most: without a free place that is so near, a topic has its number only.
_NEAR = 60
# A label is at its circle, or at one of these distances from it in points, in one of these directions.
_DISTANCES = np.arange(0, 300, 4)
_DIRECTIONS = [(0, -1), (0, 1), (1, 0), (-1, 0), *product((1, -1), (1, -1))]
# Points between labels, and the distance from which a line joins a label and its circle.
_GAP, _LINE_FROM = 2.0, 12.0


@dataclass(eq=False, repr=False, kw_only=True)
class TopicMapDisplay(Display):
    """A map of topics: circles by size, near each other if their words are alike.

    The places are those of multidimensional scaling of the Jensen-Shannon distances between topics: distances on the
    map are as near to these as two dimensions allow. Topics of a corpus differ in more than two ways, so the map is a
    first view. Its note has the correlation between both distances, and `similarity_table` has all of them.
    Labels do not lie on each other. At most forty topics have names, the largest that have room for them; the note says
    how many. The others have numbers. `from_estimator` plots a fitted model; the constructor takes the values to plot.

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
        return (8, 5.6) if len(self.names) <= _LARGE else (10, 7.5)

    def _draw(self, ax):
        places, share = np.asarray(self.places, dtype=np.float64), np.asarray(self.share, dtype=np.float64)
        colours = colours_of(ax)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color(colours.rule)
        self._write_note(ax, 0)
        # Places of labels depend on the size that the layout gives to the axes.
        fit_texts([ax])
        scale = 72 / ax.figure.dpi
        box = ax.get_window_extent().get_points() * scale
        sides = box[1] - box[0]
        self._set_limits(ax, places, sides)
        areas = _AREA * sides.prod() * share / (share.sum() or 1)
        self.circles_: Any = ax.scatter(*places.T, areas, color=SKY, alpha=0.45, edgecolor=colours.line, linewidth=1)
        centres, radii = ax.transData.transform(places) * scale, np.sqrt(areas / np.pi)
        names, numbers = self._texts()
        self.labels_: list[Any] = [self._label(ax, place) for place in places]
        widest, smallest = (
            np.array([_size(label, text) for label, text in zip(self.labels_, texts, strict=True)]) * scale
            for texts in (names, numbers)
        )
        n_named = 0
        for k, is_name, offset in _offsets(centres, radii, widest, smallest, box):
            n_named += is_name
            self.labels_[k].set_text(names[k] if is_name else numbers[k])
            self.labels_[k].set_position(tuple(offset))
            reach = (widest if is_name else smallest)[k].max() / 2
            if np.hypot(*offset) > radii[k] + reach + _LINE_FROM:
                line = {"arrowstyle": "-", "color": colours.muted, "lw": 0.6, "shrinkA": 0, "shrinkB": 0}
                line = ax.annotate("", places[k], tuple(offset), textcoords="offset points", arrowprops=line, zorder=3)
                line.set_in_layout(False)
        self._write_note(ax, n_named)

    def _write_note(self, ax, n_named):
        """What the map shows, in lines whose number does not depend on how many topics have names."""
        agreement = "" if self.agreement is None else f"; correlation of the distances: {self.agreement:.2f}"
        n = len(self.names)
        few = "" if n <= _LARGE else "\n" if n_named == n else f"\n{n_named} of {n} topics have their names"
        note = f"near: similar words; area: share of the tokens{agreement}{few}"
        ax.set_xlabel(note, fontsize=9, color=colours_of(ax).muted)

    def _set_limits(self, ax, places, sides):
        """Limits for sides in points, so that both directions have the same scale."""
        middle, reach = (places.min(axis=0) + places.max(axis=0)) / 2, np.maximum(np.ptp(places, axis=0), 1e-9)
        unit = (reach / (_SIDE * sides)).max()
        low, high = middle - unit * sides / 2, middle + unit * sides / 2
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))

    def _texts(self):
        """The name and the number at its start, of each topic."""
        names = [wrapped(name, _NAME_WIDTH, self._size_of_font(), _NAME_LINES) for name in self.names]
        return names, [name.partition(":")[0] for name in self.names]

    def _size_of_font(self):
        return 9 if len(self.names) <= _LARGE else 7.5

    def _label(self, ax, place):
        style = {"ha": "center", "va": "center", "fontsize": self._size_of_font(), "zorder": 4, "linespacing": 1}
        label = ax.annotate("", place, (0, 0), textcoords="offset points", **style)
        label.set_in_layout(False)
        return label


def _size(label, text):
    """Width and height of a label with this text, in pixels."""
    label.set_text(text)
    return label.get_window_extent().size


def _agreement(places, distances):
    """Correlation between the distances of places and others; None where there is none."""
    pairs = np.triu_indices(len(places), 1)
    shown, true = point_distances(places)[pairs], distances[pairs]
    if len(shown) < 3 or min(np.ptp(shown), np.ptp(true)) == 0:
        return None
    return float(np.corrcoef(shown, true)[0, 1])


def _offsets(centres, radii, names, numbers, edges):
    """The label of each topic: whether it is the name, and its offset. The largest topics come first, and no two meet.

    The name has the nearest place that is free, first of those without the middle of another circle. If none of them is
    near, or there are enough names, the number has the nearest place that is free, or else the farthest. `names` and
    `numbers` are their sizes; all is in points.
    """
    taken = np.empty((0, 4))
    for rank, k in enumerate(np.argsort(-radii, kind="stable")):
        found = None
        if rank < _NAMED:
            tried, free, clear = _places(k, centres, radii, names[k], taken, edges)
            near = np.abs(tried).max(axis=1) <= radii[k] + names[k].max() + _NEAR
            found = next((np.flatnonzero(each)[0] for each in (free & near & clear, free & near) if each.any()), None)
        is_name = found is not None
        if not is_name:
            tried, free, _ = _places(k, centres, radii, numbers[k], taken, edges)
            found = np.flatnonzero(free)[0] if free.any() else -1
        half = (names if is_name else numbers)[k] / 2 + _GAP
        middle = centres[k] + tried[found]
        taken = np.vstack([taken, np.concatenate([middle - half, middle + half])])
        yield k, is_name, tried[found]


def _places(k, centres, radii, size, taken, edges):
    """Offsets of a label from near to far, which of them are inside and meet no label, which cover no other centre."""
    half = size / 2 + _GAP
    # On the circle, then around it.
    around = radii[k] + _DISTANCES[:, None, None] + half
    tried = np.vstack([np.zeros((1, 2)), (np.array(_DIRECTIONS) * around).reshape(-1, 2)])
    low, high = centres[k] + tried - half, centres[k] + tried + half
    meets = (low[:, None] < taken[:, 2:]).all(axis=2) & (high[:, None] > taken[:, :2]).all(axis=2)
    others = np.delete(centres, k, axis=0)
    covers = (low[:, None] < others).all(axis=2) & (high[:, None] > others).all(axis=2)
    inside = (low >= edges[0]).all(axis=1) & (high <= edges[1]).all(axis=1)
    return tried, inside & ~meets.any(axis=1), ~covers.any(axis=1)
