"""Display of the posterior over the number of topics, and of its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklda._core.types import Model, Values
from sklda._description.view import fitted
from sklda.inspection._axes import PanelsDisplay, colours_of, pyplot

# Probabilities with a larger error, two standard errors, do not tell numbers of topics apart.
_UNKNOWN = 0.25
# The scale of the evidence is linear for this many nats below the best, and logarithmic below that.
_LINEAR = 10.0
# The left panel shows numbers of topics with a larger posterior probability than this, and those in the interval.
_VISIBLE = 1e-3
# Width and height of a new figure, in inches.
_SIZE = (9.0, 3.8)


@dataclass(eq=False, repr=False, kw_only=True)
class TopicCountDisplay(PanelsDisplay):
    """The posterior over the number of topics, and the log evidence of each, with their Monte Carlo errors.

    The left panel shows the numbers of topics with posterior probability, and the credible interval as its title. The
    right panel shows the log evidence of all numbers of topics, in nats below the best. Its scale is linear for the
    upper ten nats and logarithmic below. Error bars have two standard errors in both directions. If a probability is
    not known to a quarter, the bars are pale and have no errors: then the interval is the result.

    `from_estimator` plots a fitted estimator; the constructor takes the values to plot.

    Parameters
    ----------
    topic_counts : array-like of shape (n_counts,), int
        Numbers of topics, ascending.
    posterior : array-like of shape (n_counts,)
        p(T | w).
    log_evidence : array-like of shape (n_counts,)
        log p(w | T), nats, up to a constant; NaN where it is unknown.
    posterior_std : array-like of shape (n_counts,), default=None
        Monte Carlo standard error of `posterior`.
    log_evidence_std : array-like of shape (n_counts,), default=None
        Monte Carlo standard error of `log_evidence`, nats; NaN where it is unknown.
    interval : (int, int), default=None
        Credible interval of T.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of shape (2,) of matplotlib Axes
        Axes of the posterior and of the evidence.
    bars_ : matplotlib BarContainer
        The posterior, with its errors if these are small.
    interval_ : tuple of matplotlib artists
        The credible interval in both panels; empty without one.
    line_ : matplotlib Line2D
        Difference of the log evidence from the best.
    errors_ : matplotlib LineCollection or None
        Errors of the log evidence.

    Examples
    --------
    >>> from sklda.inspection import TopicCountDisplay
    >>> display = TopicCountDisplay(
    ...     topic_counts=[2, 3, 4, 5],
    ...     posterior=[0.0, 0.1, 0.7, 0.2],
    ...     posterior_std=[0.0, 0.03, 0.05, 0.04],
    ...     log_evidence=[-1400.0, -1001.9, -1000.0, -1001.3],
    ...     log_evidence_std=[5.0, 0.3, 0.2, 0.3],
    ...     interval=(3, 5),
    ... )
    >>> display.plot().axes_[1].get_ylabel()
    'log evidence below the best (nats)'
    """

    topic_counts: Values
    posterior: Values
    log_evidence: Values
    posterior_std: Values | None = None
    log_evidence_std: Values | None = None
    interval: tuple[int, int] | None = None

    @classmethod
    def from_estimator(cls, estimator: Model, *, ax: Any = None) -> Self:
        """Plot the posterior of a fitted estimator.

        Parameters
        ----------
        estimator : TopicCountLDA
            A fitted estimator.
        ax : sequence of two matplotlib Axes, default=None
            Axes of the posterior and of the evidence. None: those of a new figure.

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
        >>> X = make_lda_corpus(100, 30, 3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data
        >>> lda = TopicCountLDA(2, 6, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(X)
        >>> TopicCountDisplay.from_estimator(lda).axes_[1].get_ylabel()
        'log evidence below the best (nats)'
        """
        model = fitted(estimator, ["topic_counts_"], "topic_counts_", "give a fitted TopicCountLDA")
        return cls(
            topic_counts=model.topic_counts_,
            posterior=model.topic_count_posterior_,
            posterior_std=model.topic_count_posterior_std_,
            log_evidence=model.log_evidence_,
            log_evidence_std=model.log_evidence_std_,
            interval=model.topic_count_interval_,
        ).plot(ax)

    def _panels(self):
        return 2, "two Axes, for the posterior and for the evidence"

    def _new_axes(self):
        return pyplot().subplots(1, 2, figsize=_SIZE, layout="constrained")[1]

    def _draw(self, axes):
        counts = np.asarray(self.topic_counts)
        self._posterior(axes[0], counts)
        self._evidence(axes[1], counts)
        self.interval_: tuple[Any, ...] = ()
        if self.interval is not None:
            low, high = self.interval
            area = {"color": colours_of(axes[0]).pale, "lw": 0, "zorder": 0}
            self.interval_ = tuple(each.axvspan(low - 0.5, high + 0.5, **area) for each in axes)
            topics = f"{low} topics" if low == high else f"{low} to {high} topics"
            axes[0].set_title(f"95 % interval: {topics}", color=colours_of(axes[0]).accent, loc="left", fontsize=11)

    def _posterior(self, ax, counts):
        from matplotlib.ticker import MaxNLocator

        posterior, found = np.asarray(self.posterior, dtype=np.float64), colours_of(ax)
        error = np.zeros(len(posterior)) if self.posterior_std is None else 2 * np.asarray(self.posterior_std)
        is_known = error.max() <= _UNKNOWN
        # Error bars end at probabilities 0 and 1.
        reach = np.minimum(error, [posterior, np.maximum(1 - posterior, 0)])
        style = {"color": found.fill, "yerr": reach, "ecolor": found.ink, "capsize": 2}
        if not is_known:
            style = {"color": found.uncertain}
        if self.posterior_std is None:
            style = {"color": found.fill}
        self.bars_: Any = ax.bar(counts, posterior, **style)
        seen = counts[posterior + (error if is_known else 0) > _VISIBLE]
        ends = [*seen, *(self.interval or ())]
        ax.set(xlim=(min(ends) - 1.5, max(ends) + 1.5), ylim=(0, 1.05 if posterior.max() > 0.8 else None))
        what = "posterior probability p(T | w)" + ("" if is_known else f",\nuncertain by up to ±{error.max():.2f}")
        outside = counts[(counts < min(ends)) | (counts > max(ends))]
        others = f"\nother numbers up to {counts.max()}: below {100 * _VISIBLE:.1f} %" if len(outside) else ""
        ax.set(xlabel="number of topics T" + others, ylabel=what)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))

    def _evidence(self, ax, counts):
        from matplotlib.ticker import MaxNLocator, StrMethodFormatter

        value = np.asarray(self.log_evidence, dtype=np.float64)
        known, found = np.isfinite(value), colours_of(ax)
        counts, below = counts[known], value[known] - value[known].max()
        self.line_: Any = ax.plot(counts, below, "o-", color=found.line, lw=1.2, ms=3.5)[0]
        self.errors_: Any = None
        if self.log_evidence_std is not None:
            reach = 2 * np.nan_to_num(np.asarray(self.log_evidence_std, dtype=np.float64))[known]
            self.errors_ = ax.vlines(counts, below - reach, below + reach, color=found.ink, lw=1.4)
        ax.set_yscale("symlog", linthresh=_LINEAR, linscale=1.0)
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        ax.set(xlabel="number of topics T", ylabel="log evidence below the best (nats)")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
