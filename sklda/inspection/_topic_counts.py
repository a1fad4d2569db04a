"""Display of the comparison of several numbers of topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from pandas import DataFrame
from scipy.special import stdtrit

from sklda._core.composition import share_interval
from sklda._core.types import Data, Model, Seed
from sklda.inspection._axes import PanelsDisplay, colours_of, pyplot
from sklda.inspection._intervals import add_key, draw_points
from sklda.metrics._topic_counts import compare_topic_counts

_TITLES = {
    "score": "held-out log-likelihood\n(nats per token)",
    "coherence": "coherence on documents\nleft out (NPMI)",
    "exclusivity": "exclusivity",
    "found_again": "topics found again",
    "found_share": "their part of the tokens",
}
_LEVEL = 0.95
# Ends of the measures whose intervals are symmetric. The others are parts of a whole.
_ENDS = {"score": (-np.inf, 0.0), "coherence": (-1.0, 1.0)}


@dataclass(eq=False, repr=False)
class TopicCountComparisonDisplay(PanelsDisplay):
    """Held-out score, coherence, exclusivity and topics found again, by number of topics.

    Error bars are intervals of 95 % by Student's t, because errors come from a few folds: with four folds they have 3.2
    standard errors in both directions. They end where a measure ends. Exclusivity, topics found again and their part of
    the tokens are parts of a whole, so their intervals are longer towards one half, as those of the shares of topics in
    `topic_effects`. A point without a line is open: two folds have no errors. `from_estimator` fits the models; the
    constructor takes the result of `sklda.metrics.compare_topic_counts`.

    Parameters
    ----------
    comparison : pandas.DataFrame
        As from `compare_topic_counts`.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of matplotlib Axes
        One for every measure.
    legend_ : matplotlib Legend or None
        Marks that need an explanation.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import TopicCountComparisonDisplay
    >>> X = make_lda_corpus(40, 30, 3, random_state=0).data
    >>> lda = GibbsLDA(max_iter=20)
    >>> display = TopicCountComparisonDisplay.from_estimator(lda, X, n_components=[2, 4], cv=2, random_state=0)
    >>> display.axes_.shape
    (5,)
    """

    comparison: DataFrame

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        X: Data,
        *,
        n_components: Sequence[int],
        cv: Any = None,
        n_words: int = 10,
        n_jobs: int | None = None,
        random_state: Seed = None,
        ax: Any = None,
    ) -> Self:
        """Fit a model with several numbers of topics, and plot the comparison.

        Parameters
        ----------
        estimator : estimator or pipeline
            Not fitted.
        X, n_components, cv, n_words, n_jobs, random_state
            See `compare_topic_counts`.
        ax : sequence of matplotlib Axes, default=None
            One for every measure. None: those of a new figure.

        Returns
        -------
        TopicCountComparisonDisplay

        Raises
        ------
        ValueError, TypeError
            If the model is not one that this function takes, or an argument does not fit it.
        """
        options = {"cv": cv, "n_words": n_words, "n_jobs": n_jobs, "random_state": random_state}
        return cls(compare_topic_counts(estimator, X, n_components, **options)).plot(ax=ax)

    def _rows(self):
        """The rows by number of topics, and the measures that they have."""
        rows = self.comparison.sort_values("n_components")
        return rows, [name for name in _TITLES if name in rows]

    def _panels(self):
        n = len(self._rows()[1])
        return n, f"one Axes for each of the {n} measures"

    def _new_axes(self):
        n = self._panels()[0]
        return pyplot().subplots(1, n, figsize=(2.6 * n, 3), layout="constrained", squeeze=False)[1][0]

    def _draw(self, axes):
        rows, names = self._rows()
        counts = rows["n_components"].to_numpy()
        key = {}
        for ax, name in zip(axes, names, strict=True):
            values, (low, high), colour = rows[name].to_numpy(), _interval(rows, name), colours_of(ax).line
            ax.plot(counts, values, color=colour, lw=1, alpha=0.6)
            draw_points(ax, counts, values, low, high, colour=colour, bounds=(-np.inf, np.inf), key=key, size=4)
            ax.set_xscale("log")
            ax.set_xticks(counts, counts)
            ax.minorticks_off()
            ax.set_title(_TITLES[name], fontsize=10)
            ax.set_xlabel("topics of a fit")
            ax.spines[["top", "right"]].set_visible(False)
            if name == "found_share":
                ax.yaxis.set_major_formatter("{x:.0%}")
        self.legend_: Any = add_key(axes, key)


def _interval(rows, name):
    """The ends of the intervals of a measure, NaN where its error is unknown."""
    values, errors = (rows[column].to_numpy(dtype=np.float64) for column in (name, f"{name}_std"))
    # Of two fits no error is known.
    freedom = rows["n_fits"].to_numpy(dtype=np.float64) - 1
    if name in _ENDS:
        reach = stdtrit(freedom, (1 + _LEVEL) / 2) * errors
        return tuple(np.clip(values + side * reach, *_ENDS[name]) for side in (-1, 1))
    whole = rows["n_components"].to_numpy() if name == "found_again" else 1
    ends = share_interval(values / whole, errors / whole, freedom, _LEVEL)
    return tuple(np.where(errors == 0, values, whole * end) for end in ends)
