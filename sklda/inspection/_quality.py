"""Display of the quality of topics: coherence against exclusivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklda._core.arguments import check_int
from sklda._core.types import Data, Model, Values
from sklda.inspection._axes import Display, pyplot
from sklda.inspection._parameters import described
from sklda.inspection._view import view
from sklda.metrics import topic_coherence, topic_exclusivity

# Area of the largest point, in square points, and topics whose labels are beside the axes.
_LARGEST, _MOST_LABELS = 500, 30


@dataclass(eq=False, repr=False)
class TopicQualityDisplay(Display):
    """Coherence and exclusivity of topics, with their shares as sizes and their prevalence as colours.

    Good topics are at the top right: their words occur together, and are rare in other topics. `from_estimator` plots a
    fitted model; the constructor takes the values to plot.

    Parameters
    ----------
    coherence, exclusivity : array-like of shape (n_topics,)
    share : array-like of shape (n_topics,)
        Of the topics in the tokens. The area of a point is proportional to it.
    names : sequence of n_topics str
    prevalence : array-like of shape (n_topics,), default=None
        The part of the chains or fits that have each topic. NaN: the topic has no words of its own.

    Attributes
    ----------
    points_ : matplotlib PathCollection

    See Also
    --------
    topic_report : The same numbers as a table.

    Examples
    --------
    >>> from sklda.inspection import TopicQualityDisplay
    >>> display = TopicQualityDisplay([0.1, 0.3], [0.9, 0.6], [0.7, 0.3], ["0: cat dog", "1: bank rate"])
    >>> display.plot().ax_.get_ylabel()
    'exclusivity'
    """

    coherence: Values
    exclusivity: Values
    share: Values
    names: Sequence[str]
    prevalence: Values | None = None

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        n_top: int = 10,
        n_words: int = 3,
        ax: Any = None,
    ) -> Self:
        """Plot all topics of a fitted model.

        Parameters
        ----------
        X : array-like, sparse matrix, or whatever a pipeline takes
            Documents. The coherence is that of words in these: it is more honest if they were not in the fit.
        n_top : int, default=10
            Number of most probable words of a topic from which coherence and exclusivity are computed, at least 2. See
            `sklda.metrics.topic_coherence` and `sklda.metrics.topic_exclusivity`.
        """
        found = view(estimator, X, needs="counts")
        options = {"n_words": min(check_int(n_top, "n_top", 2), found.topic_word.shape[1]), "per_topic": True}
        return cls(
            topic_coherence(found.topic_word, found.counts[found.used], **options),
            topic_exclusivity(found.topic_word, **options),
            found.share,
            found.labels(None, n_words),
            found.prevalence,
        ).plot(ax=ax)

    def _figsize(self):
        return 8.5, 5

    def _draw(self, ax):
        share = np.asarray(self.share, dtype=np.float64)
        colours = {"color": "steelblue"}
        if self.prevalence is not None:
            # A topic without words of its own is grey.
            shown = np.ma.masked_invalid(np.asarray(self.prevalence, dtype=np.float64))
            colours = {
                "c": shown,
                "cmap": pyplot().get_cmap("viridis").with_extremes(bad="0.7"),
                "vmin": 0,
                "vmax": 1,
                "plotnonfinite": True,
            }
        sizes = _LARGEST * share / (share.max(initial=0) or 1)
        self.points_ = ax.scatter(self.coherence, self.exclusivity, sizes, alpha=0.6, **colours)
        numbers = [name.partition(":")[0] for name in self.names]
        for number, x, y in zip(numbers, self.coherence, self.exclusivity, strict=True):
            ax.annotate(number, (x, y), (4, 4), textcoords="offset points", fontsize=8)
        ax.set(xlabel="coherence", ylabel="exclusivity")
        ax.spines[["top", "right"]].set_visible(False)
        if self.prevalence is not None:
            part = "part of the chains or fits that have the topic"
            ax.figure.colorbar(self.points_, ax=ax, label=part, location="bottom", shrink=0.5, aspect=40)
        if len(self.names) <= _MOST_LABELS:
            where = {"xycoords": "axes fraction", "va": "top", "fontsize": 8, "annotation_clip": False}
            ax.annotate("\n".join(self.names), (1.03, 1), **where)
