"""Display of the posterior over the number of topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklda._description.view import fitted
from sklda._input.types import Model, Values
from sklda.inspection._axes import Display, colours_of

# Numbers of topics with a larger posterior probability than this are shown, and those in the interval.
_VISIBLE = 1e-3
# Width and height of a new figure, in inches.
_SIZE = (6.0, 3.8)


@dataclass(eq=False, repr=False, kw_only=True)
class TopicCountDisplay(Display):
    """The posterior over the number of topics, with its credible interval as the title.

    `from_estimator` plots a fitted estimator; the constructor takes the values to plot.

    Parameters
    ----------
    topic_counts : array-like of shape (n_counts,), int
        Numbers of topics, ascending.
    posterior : array-like of shape (n_counts,)
        p(T | w).
    interval : (int, int), default=None
        Credible interval of T.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes, matplotlib Figure
    bars_ : matplotlib BarContainer
        The posterior.
    interval_ : matplotlib artist or None
        The credible interval.

    Examples
    --------
    >>> from sklda.inspection import TopicCountDisplay
    >>> display = TopicCountDisplay(topic_counts=[2, 3, 4, 5], posterior=[0.0, 0.1, 0.7, 0.2], interval=(3, 5))
    >>> display.plot().ax_.get_title(loc="left")
    '95 % interval: 3 to 5 topics'
    """

    topic_counts: Values
    posterior: Values
    interval: tuple[int, int] | None = None

    @classmethod
    def from_estimator(cls, estimator: Model, *, ax: Any = None) -> Self:
        """Plot the posterior of a fitted estimator.

        Parameters
        ----------
        estimator : TopicCountLDA
            A fitted estimator.
        ax : matplotlib Axes, default=None
            None: those of a new figure.

        Returns
        -------
        TopicCountDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklda import TopicCountLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> from sklda.inspection import TopicCountDisplay
        >>> X = make_lda_corpus(40, 20, 3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data
        >>> lda = TopicCountLDA(max_components=8, max_iter=60, random_state=0).fit(X)
        >>> TopicCountDisplay.from_estimator(lda).ax_.get_xlabel()[:18]
        'number of topics T'
        """
        model = fitted(estimator, ["topic_counts_"], "topic_counts_", "give a fitted TopicCountLDA")
        return cls(
            topic_counts=model.topic_counts_,
            posterior=model.topic_count_posterior_,
            interval=model.topic_count_interval_,
        ).plot(ax)

    def _figsize(self):
        return _SIZE

    def _draw(self, ax):
        from matplotlib.ticker import MaxNLocator

        counts, posterior = np.asarray(self.topic_counts), np.asarray(self.posterior, dtype=np.float64)
        found = colours_of(ax)
        self.bars_: Any = ax.bar(counts, posterior, color=found.fill)
        ends = [*counts[posterior > _VISIBLE], *(self.interval or ())]
        ax.set(xlim=(min(ends) - 1.5, max(ends) + 1.5), ylim=(0, 1.05 if posterior.max() > 0.8 else None))
        outside = counts[(counts < min(ends)) | (counts > max(ends))]
        others = f"\nother numbers up to {counts.max()}: below {100 * _VISIBLE:.1f} %" if len(outside) else ""
        ax.set(xlabel="number of topics T" + others, ylabel="posterior probability p(T | w)")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        self.interval_: Any = None
        if self.interval is not None:
            low, high = self.interval
            self.interval_ = ax.axvspan(low - 0.5, high + 0.5, color=found.pale, lw=0, zorder=0)
            topics = f"{low} topics" if low == high else f"{low} to {high} topics"
            ax.set_title(f"95 % interval: {topics}", color=found.accent, loc="left", fontsize=11)
