"""Display of the documents closest to a topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklda._core.arguments import check_int
from sklda._core.types import Data, Model, Values
from sklda.inspection._axes import TOPIC_COLOURS, Display, legend_beside, plain_text, style_bars
from sklda.inspection._parameters import described
from sklda.inspection._ranking import largest
from sklda.inspection._view import view

_OTHER = "0.75"


@dataclass(eq=False, repr=False)
class TopicDocumentsDisplay(Display):
    """The documents with the largest proportion of a topic, as bars of their topic proportions.

    Error bars have two posterior standard deviations in both directions. `from_estimator` plots a fitted model; the
    constructor takes the values to plot.

    Parameters
    ----------
    proportions : array-like of shape (n_documents, n_shown)
        Proportions of the topics shown in each document. The first topic is the chosen one.
    names : sequence of n_documents str
        Names of the documents, from top to bottom.
    topics : sequence of n_shown str
        Names of the topics shown.
    std : array-like of shape (n_documents,), default=None
        Posterior standard deviations of the proportion of the first topic.

    Attributes
    ----------
    bars_ : list of matplotlib BarContainer
        One for every topic, and one for the other topics together.

    Examples
    --------
    >>> from sklda.inspection import TopicDocumentsDisplay
    >>> topics = [[0.5, 0.5], [0.1, 0.9]], [[0.2, 0.8], [0.9, 0.1], [0.7, 0.3]]
    >>> TopicDocumentsDisplay.from_estimator(topics, topic=0, n_documents=2).names
    ['1', '2']
    """

    proportions: Values
    names: Sequence[str]
    topics: Sequence[Any]
    std: Values | None = None

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        topic: int | str = 0,
        n_documents: int = 10,
        n_topics: int = 6,
        ax: Any = None,
    ) -> Self:
        """Plot the documents of a fitted model that are closest to a topic.

        Parameters
        ----------
        topic : int or str, default=0
            Its number or name.
        n_documents : int, default=10
            Number of documents.
        n_topics : int, default=6
            Number of topics with a colour of their own, at most 7: `topic`, and those with the largest proportions in
            these documents.
        """
        check_int(n_documents, "n_documents", 1)
        if check_int(n_topics, "n_topics", 1) > len(TOPIC_COLOURS):
            raise ValueError(f"n_topics is at most {len(TOPIC_COLOURS)}, the number of colours; got {n_topics}.")
        found = view(estimator, X, needs="proportions")
        (chosen,) = found.chosen([topic])
        rows = found.closest(chosen, n_documents)
        weight = found.doc_topic[rows].sum(axis=0)
        weight[chosen] = np.inf
        shown = largest(weight, n_topics)
        return cls(
            found.doc_topic[np.ix_(rows, shown)],
            [str(found.document_names[d]) for d in rows],
            found.labels(shown),
            None if found.doc_topic_std is None else np.asarray(found.doc_topic_std)[rows, chosen],
        ).plot(ax=ax)

    def _figsize(self):
        return 9, 1.2 + 0.3 * len(self.names)

    def _draw(self, ax):
        proportions = np.asarray(self.proportions, dtype=np.float64)
        places = np.arange(len(proportions))
        left = np.zeros(len(places))
        self.bars_ = []
        columns = [*proportions.T, np.maximum(1 - proportions.sum(axis=1), 0)]
        colours = [*TOPIC_COLOURS[: len(self.topics)], _OTHER]
        for values, name, colour in zip(columns, [*self.topics, "other topics"], colours, strict=True):
            bars = ax.barh(places, values, left=left, color=colour, edgecolor="white", lw=0.5, label=name)
            self.bars_.append(bars)
            left = left + values
        if self.std is not None:
            ax.errorbar(proportions[:, 0], places, xerr=2 * np.asarray(self.std), fmt="none", ecolor="black", capsize=2)
        ax.set_yticks(places, map(plain_text, self.names))
        ax.set(xlabel="topic proportion", xlim=(0, 1))
        style_bars(ax)
        legend_beside(ax, fontsize=8)
