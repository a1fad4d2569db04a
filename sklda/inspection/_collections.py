"""Display of the shares of topics in groups of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sklda._core.names import label_array, plain_text
from sklda._core.types import Data, Model, Values
from sklda._description.view import lacks, view
from sklda.inspection._axes import LINE, PanelsDisplay, percent_axis
from sklda.inspection._groups import group_shares
from sklda.inspection._intervals import (
    SHARES,
    add_key,
    date_axis,
    draw_points,
    interval_handle,
    label_panels,
    new_rows,
    new_scales,
    style_rows,
    title_panel,
)
from sklda.inspection._parameters import described
from sklda.inspection._periods import dates_of_labels


@dataclass(eq=False, repr=False, kw_only=True)
class CollectionTopicsDisplay(PanelsDisplay):
    """Topic shares of collections, or of other groups of documents, with their errors, in a panel for each topic.

    Collections that are years, dates or other numbers are on an axis of time or numbers. Others have a row each, or
    follow each other from left to right if they are `ordered`. A point without an interval is open: its error is
    unknown. Use `from_estimator` to make one.

    Parameters
    ----------
    mean, low, high : ndarray of shape (n_collections, n_topics)
        Shares of the topics shown, and the ends of their intervals; NaN where unknown.
    collections : ndarray of shape (n_collections,)
        Labels.
    names : list of str
        Names of the topics shown.
    intervals : str, default="95% intervals"
        What the intervals are, for the legend.
    ordered : bool, default=None
        Whether the collections have an order. None: if they are numbers or dates.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One for each topic.
    legend_ : matplotlib Legend or None
        Marks that need an explanation.

    See Also
    --------
    TopicsOverTimeDisplay : Mean proportions by period, from dates, for any model.

    Examples
    --------
    >>> from sklda import CompoundLDA
    >>> from sklda.datasets import make_compound_lda_corpus
    >>> from sklda.inspection import CollectionTopicsDisplay
    >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
    >>> lda = CompoundLDA(3, max_iter=50, random_state=0).fit(corpus.data, collections=corpus.collections)
    >>> CollectionTopicsDisplay.from_estimator(lda).legend_.get_texts()[0].get_text()
    '95% intervals within one chain'
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    collections: Values
    names: Sequence[str]
    intervals: str = "95% intervals"
    ordered: bool | None = None

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        groups: ArrayLike | None = None,
        missing: Literal["raise", "drop"] = "raise",
        topics: Values | None = None,
        ordered: bool | None = None,
        n_words: int = 3,
        ax: Any = None,
    ) -> Self:
        """Plot the topic shares of the collections of a fitted `CompoundLDA`, or of groups of documents for any model.

        Parameters
        ----------
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents. Not needed for the collections of `CompoundLDA`.
        groups : sequence of n_documents hashable labels, default=None
            The groups of the documents, of which the mean proportions are shown, with the intervals of
            `topics_over_time`. None: the collections of a `CompoundLDA`, whose mixtures are shown, with intervals by
            their posterior standard deviations. Documents without words, and those that the fit left out, do not count:
            there is a warning, and the shares of a group of such documents are NaN.
        topics : sequence of int or str, default=None
            Topics to show; None: the eight largest.
        ordered : bool, default=None
            Whether the collections have an order, such as the volumes of a book, and are joined by a line. None: if all
            labels are numbers or dates.
        ax : sequence of matplotlib Axes, default=None
            One for each topic. None: those of a new figure.

        Raises
        ------
        TypeError
            If there are neither groups nor collections.
        """
        found = view(estimator, X, groups=groups, missing=missing)
        shares = group_shares(found)
        if shares is None:
            raise lacks(found.model, "collection_topic_", "give X and groups, or a fitted CompoundLDA")
        if shares.kind == "sample":
            found.say_what_is_left_out()
        topics = found.chosen(topics, 8)
        within = " within one chain" if shares.kind == "mixture" and found.n_chains == 1 else ""
        intervals = f"95% intervals{within}"
        return cls(
            mean=shares.mean[:, topics],
            low=shares.low[:, topics],
            high=shares.high[:, topics],
            collections=label_array(shares.labels),
            names=found.labels(topics, n_words),
            intervals=intervals,
            ordered=ordered,
        ).plot(ax)

    def _panels(self):
        return len(self.names), f"one Axes for each of the {len(self.names)} topics"

    def _places(self):
        """Places of the collections on an axis of dates or numbers, or None if they are rows."""
        if self.ordered is False:
            return None
        labels = list(self.collections)
        dates = dates_of_labels(labels)
        if dates is not None:
            return dates
        if all(isinstance(label, Real) and not isinstance(label, bool) and np.isfinite(label) for label in labels):
            return np.array(labels, dtype=np.float64)
        return np.arange(len(labels)) if self.ordered else None

    def _new_axes(self):
        if self._places() is None:
            return new_rows(len(self.names), len(self.collections))
        return new_scales(len(self.names))

    def _draw(self, axes):
        mean, low, high = (np.asarray(each, dtype=np.float64) for each in (self.mean, self.low, self.high))
        highest = max(np.nanmax(each, initial=0.01) for each in (mean, high))
        labels, places, key = [plain_text(label) for label in self.collections], self._places(), {}
        is_row = places is None
        order = np.arange(len(labels)) if is_row else np.argsort(places)
        style = {"colour": LINE, "bounds": SHARES, "key": key, "horizontal": is_row}
        for k, ax in enumerate(axes):
            own = order if is_row else places[order]
            draw_points(ax, own, mean[order, k], low[order, k], high[order, k], **style)
            title_panel(ax, self.names[k])
            if is_row:
                style_rows(ax, labels, SHARES)
                ax.set_xlim(0, min(1.04 * highest, 1))
            else:
                ax.plot(own, mean[order, k], color=LINE, lw=1, alpha=0.6)
                percent_axis(ax.yaxis)
                ax.set_ylim(0, min(1.05 * highest, 1))
                ax.spines[["top", "right"]].set_visible(False)
                self._label_places(ax, places, labels)
        label_panels(axes, "topic share" if is_row else "", "" if is_row else "topic share")
        if np.isfinite(low).any():
            key[self.intervals] = interval_handle(horizontal=is_row)
        self.legend_ = add_key(axes, key)

    def _label_places(self, ax, places, labels):
        """Ticks at dates, at numbers, or at the labels of an order."""
        from matplotlib.ticker import MaxNLocator

        if places.dtype.kind == "M":
            date_axis(ax)
        elif places.dtype.kind == "f":
            ax.xaxis.set_major_locator(MaxNLocator(6, integer=(places == np.floor(places)).all()))
        else:
            ax.set_xticks(places, labels, rotation=30, ha="right", rotation_mode="anchor")
