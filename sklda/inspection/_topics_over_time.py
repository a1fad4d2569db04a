"""Mean topic proportions by period, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pandas import DataFrame

from sklda._core import random
from sklda._description.view import View, view
from sklda._input.arguments import check_int, check_level
from sklda._input.types import Data, Model, Seed, Values
from sklda.inspection._effects import GroupMeans, used_documents
from sklda.inspection._periods import MOST_ROWS, Period, are_known, read_dates, read_period


def topics_over_time(
    estimator: Model,
    X: Data | None = None,
    dates: Any = None,
    *,
    period: Literal["day", "week", "month", "quarter", "year", "decade"] | int | None = None,
    topics: Values | None = None,
    clusters: Any = None,
    weights: ArrayLike | None = None,
    missing: Literal["raise", "drop"] = "raise",
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
        that n divides. None: the shortest for which there are at most forty periods, most with documents, and ten of
        these on average; a few dates that are far from all others, such as a wrong century, do not count for this. If
        only the year of some dates is known, or the quarter or month, periods are not shorter than this; with
        ``missing="drop"`` and the name of a shorter period, these dates are left out.
    topics : sequence of int or str, default=None
        Topics of the table, by number or name. None: all.
    clusters : sequence of n_documents labels, default=None
        The source, author or book of every document, if documents of one are not independent. None: documents are
        independent.
    weights : array-like of shape (n_documents,), default=None
        Weights of the documents in the means, see `topics_by_group`. None: all documents count alike.
    missing : {"raise", "drop"}, default="raise"
        What happens to documents that count and lack a value of an argument: an error that names them, or they are left
        out and a warning says so.
    n_draws : int, default=50
        Number of draws of theta; at least one of each chain or fit.
    level : float, default=0.95
        Probability of the intervals.
    n_words : int, default=3
        How many of a topic's most probable words are in its label, if it has no name.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Of the draws.

    Returns
    -------
    pandas.DataFrame
        A row for every topic and every period with documents, with the columns

        - ``topic``, ``name`` (its number, with its name or its words);
        - ``start``, ``end``: the first and the last day of the period, as datetime64;
        - ``documents``: their number in the period;
        - ``estimate``: the mean proportion of the topic in these;
        - ``standard_error``, and ``low`` and ``high``, the ends of the interval; NaN if nothing tells how exact the
          estimate is, as with one document or cluster;
        - ``df``: degrees of freedom;
        - ``found_in``: the number of chains or fits that have the topic, whose draws count;
        - ``attenuation``: see `topic_effects`.

    Raises
    ------
    ValueError
        If a date is missing or cannot be read, or no document has one, if `period` is shorter than what is known of all
        dates, or an argument is out of range.
    TypeError
        If the model is not a topic model, or a value is not a date.

    Warns
    -----
    UserWarning
        If documents have no date or no words, or the fit left them out: they do not count.

    See Also
    --------
    TopicEffectsDisplay.from_dates : The same as a plot.
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
    found = by_period(estimator, X, dates, period, clusters, weights, missing, n_draws, level, random_state)
    # pandas has no unit of days.
    days = {"start": found.starts.astype("datetime64[s]"), "end": found.ends.astype("datetime64[s]")}
    table = found.means.table(found.view, topics, n_words, days)
    return table[table["documents"] > 0].reset_index(drop=True)


@dataclass
class ByPeriod:
    """Mean proportions by period, from the first that has documents to the last."""

    view: View
    days: np.ndarray  # of the documents that take part
    period: Period
    starts: np.ndarray  # first and last days of the periods, (n_periods,)
    ends: np.ndarray
    means: GroupMeans

    @classmethod
    def of(cls, found, used, days, units, period=None, most=MOST_ROWS, **options):
        """Those of the documents `used` of a view, of dates as `read_dates` has them; `options` of `GroupMeans`."""
        days = days[used]
        periods = read_period(period, days, [units[d] for d in used], most)
        own = periods.number(days)
        numbers = np.arange(own.min(), own.max() + 1)
        means = GroupMeans.of(found, used, own - own.min(), len(numbers), **options)
        return cls(found, days, periods, periods.start(numbers), periods.end(numbers), means)


def by_period(estimator, X, dates, period, clusters, weights, missing, n_draws, level, random_state):
    n_draws, level = check_int(n_draws, "n_draws", 1), check_level(level)
    seed = random.seed_sequence(random_state)
    if dates is None:
        raise ValueError("dates is None: give the year or the day of every document.")
    found = view(estimator, X, needs="prior", missing=missing, dates=dates, clusters=clusters, weights=weights)
    days, units = read_dates(found.values["dates"])
    if missing == "drop":
        days[~are_known(period, units)] = np.datetime64("NaT", "D")
        found.values.given["dates"] = [None if np.isnat(day) else day for day in days]
    used = used_documents(found)
    found.say_what_is_left_out()
    return ByPeriod.of(found, used, days, units, period, n_draws=n_draws, level=level, seed=seed)
