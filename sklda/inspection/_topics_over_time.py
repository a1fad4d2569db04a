"""Mean topic proportions by period, with intervals: a table, and its display on an axis of dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from pandas import DataFrame

from sklda._core import random
from sklda._core.arguments import check_int, check_level
from sklda._core.composition import LinearModels
from sklda._core.document_values import DocumentValues
from sklda._core.least_squares import spans
from sklda._core.types import Data, Model, Seed, Values
from sklda._description.models import Description
from sklda._description.view import View
from sklda.inspection._axes import LINE, PanelsDisplay, percent_axis
from sklda.inspection._effects import attenuation, cluster_numbers, proportion_draws
from sklda.inspection._intervals import (
    add_key,
    date_axis,
    draw_points,
    draw_rug,
    label_panels,
    new_scales,
    note_shrinkage,
    title_panel,
)
from sklda.inspection._parameters import described
from sklda.inspection._periods import read_dates, read_period

# --- A table ---------------------------------------------------------------------------------------------------------


@described
def topics_over_time(
    estimator: Model,
    X: Data | None = None,
    dates: Any = None,
    *,
    period: Literal["day", "week", "month", "quarter", "year", "decade"] | int | None = None,
    topics: Values | None = None,
    clusters: Any = None,
    missing: Literal["raise", "drop"] = "drop",
    n_draws: int = 50,
    level: float = 0.95,
    n_words: int = 3,
    random_state: Seed = None,
) -> DataFrame:
    """The mean proportions of topics in the documents of each period, with intervals.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        See `topic_effects`.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents. If they are those of the fit, theta has its posterior draws. Otherwise theta is drawn given the
        topics and `doc_topic_prior_` of the model.
    dates : sequence of length n_documents
        Years as whole numbers; texts such as ``"1984"``, ``"1984-05"`` or ``"1984-05-31"``; or dates of Python, NumPy
        or pandas.
    period : {"day", "week", "month", "quarter", "year", "decade"} or int, default=None
        Length of the periods; a number is that of years. Weeks begin with Monday, and periods of n years with the years
        that n divides. None: the shortest for which there are at most forty periods, with ten documents on average. If
        only the year of some dates is known, or the quarter or month, periods are not shorter than this.
    topics : sequence of int or str, default=None
        Topics of the table, by number or name. None: all.
    clusters : sequence of n_documents labels, default=None
        The source, author or book of every document, if documents of one are not independent. None: documents are
        independent.
    missing : {"raise", "drop"}, default="drop"
        What happens to documents without a date or a cluster: an error that names them, or they are left out and a
        warning says so.
    n_draws : int, default=50
        Number of draws of theta; at least one of each chain or fit.
    level : float, default=0.95
        Probability of the intervals.

    Returns
    -------
    pandas.DataFrame
        A row for every topic and every period from the first to the last, with the columns

        - ``topic``, ``name`` (its number, with its name or its words);
        - ``start``, ``end``: the first and the last day of the period, as datetime64;
        - ``documents``: their number in the period;
        - ``estimate``: the mean proportion of the topic in these, NaN without documents;
        - ``standard_error``, and ``low`` and ``high``, the ends of the interval; NaN if nothing tells how exact the
          estimate is, as with one document or cluster;
        - ``df``: degrees of freedom;
        - ``found_in``: the number of chains or fits that have the topic, whose draws count;
        - ``attenuation``: see `topic_effects`.

    Raises
    ------
    ValueError
        If a date cannot be read, or no document has one, if `period` is shorter than what is known of all dates, or an
        argument is out of range.
    TypeError
        If the model is not a topic model, or a value is not a date.

    Warns
    -----
    UserWarning
        If documents have no date or no words, or the fit left them out: they do not count.

    See Also
    --------
    TopicsOverTimeDisplay : The same as a plot.
    topic_effects : Effects of dates and other covariates together.
    sklda.CompoundLDA : A model with a mixture of topics for each period.

    Notes
    -----
    These are the means of `topic_effects` with a category for each period. Their errors contain the uncertainty of the
    proportions, over draws of all chains, and the differences between the documents of a period, as a sample.
    `topic_effects` explains them, and the intervals of shares. :ref:`topics_over_time` has their coverage.

    **Changes are shrunk, and the intervals do not contain this.** The prior of LDA does not know the periods, and pulls
    all documents to one mean. ``attenuation`` is the part of the changes that is left. For short documents, fit
    `CompoundLDA` with the periods as collections: its prior has them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import topics_over_time
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
    >>> table = topics_over_time(lda, X, np.repeat([1999, 2000, 2001], 20), topics=[0], random_state=0)
    >>> [str(start.date()) for start in table["start"]], table["documents"].tolist()
    (['1999-01-01', '2000-01-01', '2001-01-01'], [20, 20, 20])
    """
    found = _by_period(estimator, X, dates, period, clusters, missing, n_draws, level, random_state)
    shown, n = found.view.chosen(topics), len(found.starts)
    return DataFrame(
        {
            "topic": np.repeat(shown, n),
            "name": np.repeat(found.view.labels(shown, n_words), n),
            # pandas has no unit of days.
            "start": np.tile(found.starts.astype("datetime64[s]"), len(shown)),
            "end": np.tile(found.ends.astype("datetime64[s]"), len(shown)),
            "documents": np.tile(found.documents, len(shown)),
            "estimate": found.estimate[:, shown].T.ravel(),
            "standard_error": found.standard_error[:, shown].T.ravel(),
            "low": found.low[:, shown].T.ravel(),
            "high": found.high[:, shown].T.ravel(),
            "df": found.df[:, shown].T.ravel(),
            "found_in": np.repeat(found.found_in[shown], n),
            "attenuation": np.repeat(found.attenuation[shown], n),
        }
    )


@dataclass
class _ByPeriod:
    """Mean proportions by period."""

    view: View
    days: np.ndarray  # of the documents that take part
    starts: np.ndarray  # first and last days of the periods, (n_periods,)
    ends: np.ndarray
    documents: np.ndarray  # their numbers, (n_periods,)
    estimate: np.ndarray  # (n_periods, n_topics), as the following; NaN for periods without documents
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    df: np.ndarray
    found_in: np.ndarray  # (n_topics,)
    attenuation: np.ndarray


def _by_period(estimator, X, dates, period, clusters, missing, n_draws, level, random_state):
    n_draws, level = check_int(n_draws, "n_draws", 1), check_level(level)
    seed = random.seed_sequence(random_state)
    if dates is None:
        raise ValueError("dates is None: give the year or the day of every document.")
    values = DocumentValues.read(Description.of(estimator, X).X, missing=missing, dates=dates, clusters=clusters)
    days, unit = read_dates(values["dates"])
    draws = proportion_draws(X, estimator, n_draws, seed, values)
    found = draws.view
    if found.n_topics == 0:
        raise ValueError("the model has no topics: there is nothing to show.")
    found.say_what_is_left_out()
    days, clusters = days[draws.used], cluster_numbers(values["clusters"], draws.used)
    periods = read_period(period, days, unit)
    distinct, index = np.unique(periods.number(days), return_inverse=True)
    models = LinearModels.means(index, draws.theta, clusters)
    estimate, error, low, high, _, freedom = models.shares(level)
    numbers = np.arange(distinct[0], distinct[-1] + 1)

    def with_gaps(values):
        """Values of the periods that have documents, among those of all periods."""
        every = np.full((len(numbers), *values.shape[1:]), np.nan)
        every[distinct - distinct[0]] = values
        return every

    shrunk = attenuation(draws)
    if draws.groups is not None and spans(draws.groups, index[:, None] == np.arange(len(distinct))):
        shrunk = np.ones(found.n_topics)
    return _ByPeriod(
        view=found,
        days=days,
        starts=periods.start(numbers),
        ends=periods.end(numbers),
        documents=np.nan_to_num(with_gaps(np.bincount(index).astype(np.float64))).astype(np.int64),
        estimate=with_gaps(estimate),
        standard_error=with_gaps(error),
        low=with_gaps(low),
        high=with_gaps(high),
        df=with_gaps(freedom),
        found_in=draws.has_topics.sum(axis=0),
        attenuation=shrunk,
    )


# The periods with the fewest documents, which have this part of them together, do not set the range of the axis.
_FEW = 0.02


# --- A display -------------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class TopicsOverTimeDisplay(PanelsDisplay):
    """Mean topic proportions by period, with intervals, in a panel for each topic with an axis of dates.

    Points are in the middle of their periods, and a line joins those of periods that follow each other. A point without
    an interval is open: its error is unknown, as that of a period with one document. Lines below the axis are the
    documents. Intervals of periods with very few of them can be longer than the axis, and are cut there with a mark.
    `from_estimator` plots a fitted model; the constructor takes the values to plot.

    Parameters
    ----------
    starts, ends : array-like of shape (n_periods,), datetime64
        The first and the last days of the periods, in their order.
    estimate, low, high : ndarray of shape (n_periods, n_topics)
        Mean proportions and their intervals; NaN where there are no documents, and where an interval is unknown.
    topics : sequence of n_topics str
        Names of the topics shown.
    dates : array-like of datetime64, default=()
        Of the documents.
    attenuation : array-like of shape (n_topics,), default=1.0
        See `topic_effects`.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One for each topic.
    legend_ : matplotlib Legend or None
        Marks that need an explanation.

    See Also
    --------
    topics_over_time : The same as a table, and what the intervals contain.
    TopicEffectsDisplay : Curves over dates and other covariates.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import TopicsOverTimeDisplay
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
    >>> years = np.repeat([1999, 2000, 2001], 20)
    >>> TopicsOverTimeDisplay.from_estimator(lda, X, years, random_state=0).axes_.shape
    (2,)
    """

    starts: Values
    ends: Values
    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    topics: Sequence[str]
    dates: Values = ()
    attenuation: Values | float = 1.0

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        dates: Any = None,
        *,
        period: Literal["day", "week", "month", "quarter", "year", "decade"] | int | None = None,
        topics: Values | None = None,
        clusters: Any = None,
        missing: Literal["raise", "drop"] = "drop",
        n_draws: int = 50,
        level: float = 0.95,
        n_words: int = 3,
        random_state: Seed = None,
        ax: Any = None,
    ) -> Self:
        """Compute the mean proportions by period, and plot them.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
            See `topic_effects`.
        X : array-like, sparse matrix, or whatever a pipeline takes
            Documents.
        dates : sequence of length n_documents
            Years, or dates; see `topics_over_time`.
        period : {"day", "week", "month", "quarter", "year", "decade"} or int, default=None
            Length of the periods; see `topics_over_time`.
        topics : sequence of int or str, default=None
            Topics to show; None: the six largest.
        clusters, missing, n_draws, level
            See `topics_over_time`.
        ax : sequence of matplotlib Axes, default=None
            One for each topic. None: those of a new figure.

        Raises
        ------
        ValueError, TypeError
            As `topics_over_time`.
        """
        found = _by_period(estimator, X, dates, period, clusters, missing, n_draws, level, random_state)
        shown = found.view.chosen(topics, 6)
        return cls(
            starts=found.starts,
            ends=found.ends,
            estimate=found.estimate[:, shown],
            low=found.low[:, shown],
            high=found.high[:, shown],
            topics=found.view.labels(shown, n_words),
            dates=found.days,
            attenuation=found.attenuation[shown],
        ).plot(ax)

    def _panels(self):
        return len(self.topics), f"one Axes for each of the {len(self.topics)} topics"

    def _new_axes(self):
        return new_scales(len(self.topics))

    def _has_many(self, dates, starts):
        """Which periods have most documents, so that the intervals of others do not set the range of the axis."""
        counts = np.bincount(np.searchsorted(starts, dates, side="right"), minlength=len(starts) + 1)[1:]
        order = np.argsort(counts, kind="stable")
        few = np.cumsum(counts[order]) <= _FEW * len(dates)
        return ~np.isin(np.arange(len(starts)), order[few]) if len(dates) else np.ones(len(starts), bool)

    def _draw(self, axes):
        starts, ends = (np.asarray(each, dtype="datetime64[D]") for each in (self.starts, self.ends))
        middles = starts + (ends - starts) // 2
        estimate, low, high = (np.asarray(each, dtype=np.float64) for each in (self.estimate, self.low, self.high))
        dates = np.asarray(self.dates, dtype="datetime64[D]")
        own = high[self._has_many(dates, starts)]
        # NaN is not larger.
        highest = max(np.fmax.reduce(np.ravel(each), initial=0.01) for each in (estimate, own))
        shown, key = (0, min(1.05 * highest, 1)), {}
        for k, ax in enumerate(axes):
            ax.plot(middles, estimate[:, k], color=LINE, lw=1, alpha=0.6)
            draw_points(
                ax,
                middles,
                estimate[:, k],
                low[:, k],
                high[:, k],
                colour=LINE,
                bounds=shown,
                key=key,
                size=5.5 if len(middles) <= 20 else 3.5,
            )
            draw_rug(ax, [dates], [LINE], key)
            title_panel(ax, self.topics[k])
            percent_axis(ax.yaxis)
            date_axis(ax)
            ax.set(xlim=(starts[0], ends[-1] + np.timedelta64(1, "D")), ylim=shown)
            ax.spines[["top", "right"]].set_visible(False)
        label_panels(axes, "", "mean proportion")
        note_shrinkage(self.attenuation, key, "changes")
        self.legend_ = add_key(axes, key)
