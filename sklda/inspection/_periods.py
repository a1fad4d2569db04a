"""Shares of topics in periods of time: dates of documents, the periods that suit them, and intervals."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from numbers import Real

import numpy as np

from sklda._core.names import read_labels

# A page or a plot has room for so many periods, and a share needs some documents.
MOST_PERIODS, LEAST_DOCUMENTS = 60, 10
# Lengths of periods in years, from the shortest.
_YEARS = 1, 5, 10, 50, 100, 500, 1000
# The 97.5% quantile of the normal distribution.
_Z = 1.959963984540054
_ISO = re.compile(r"(-?\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ].*)?)?)?")
_KINDS = "a year such as 1998, a date or datetime, or an ISO text such as '1998', '1998-05' or '1998-05-17'"


@dataclass
class PeriodShares:
    """Shares of topics in periods, without gaps between these; rows without dated documents are NaN."""

    length: str  # such as "month" or "period of 10 years"
    labels: list  # of the periods, str
    mean: np.ndarray  # (n_periods, n_components)
    low: np.ndarray  # ends of 95% intervals
    high: np.ndarray
    n_documents: np.ndarray  # (n_periods,): those that take part
    n_undated: int  # documents that take part, but have no date
    dates: list  # of all documents, str; "" for those without


def period_shares(view, dates):
    """The shares of topics by period, in the tokens of the documents of a `View`.

    Intervals are Wilson's (1927), with the effective number of documents in place of their number: that of tokens in
    `n_effective`. Few documents have a topic at all, so the spread within a period of 20 documents often misses those
    that do. Their spread is therefore that of all documents: with standard errors of the period alone, only half of
    the intervals of ten documents have the share of the population.
    """
    found = _read_dates(dates, view.n_documents)
    used = [d for d in view.used.tolist() if found[d] is not None]
    if not used:
        raise ValueError("dates has no date of a document with words: give some, or none at all.")
    length, index = _suitable([found[d] for d in used])
    first, n_periods = min(index), max(index) - min(index) + 1
    place = np.array(index) - first
    theta, weights = np.asarray(view.doc_topic[used], dtype=np.float64), view.weights[used]
    tokens = np.bincount(place, weights, n_periods)
    sums = np.stack([np.bincount(place, weights * column, n_periods) for column in theta.T], axis=1)
    with np.errstate(invalid="ignore"):
        mean = sums / tokens[:, None]
        low, high = wilson(mean, n_effective(theta, weights, place, n_periods))
    return PeriodShares(
        length=length.name,
        labels=[length.label(first + i) for i in range(n_periods)],
        mean=mean,
        low=low,
        high=high,
        n_documents=np.bincount(place, minlength=n_periods),
        n_undated=len(view.used) - len(used),
        dates=["" if each is None else each.text for each in found],
    )


def n_effective(theta, weights, place, n_periods):
    """The number of independent draws of a topic that have the variance of its share, (n_periods, n_components).

    If documents of n tokens had only whole topics, a share s would have the variance s (1 - s) sum n^2 / (sum n)^2.
    The proportions of documents are mixtures, so that it is smaller (or larger, if long documents differ): by a factor
    that all documents together estimate. NaN for topics of which all documents have the same proportion.
    """
    share = weights @ theta / weights.sum()
    squares = (weights[:, None] * (theta - share)) ** 2
    expected = share * (1 - share) * (weights**2).sum()
    factor = squares.sum(axis=0) / np.where(expected > 0, expected, np.nan)
    tokens, token_squares = (np.bincount(place, each, n_periods) for each in (weights, weights**2))
    draws = tokens**2 / np.where(token_squares > 0, token_squares, np.nan)
    return draws[:, None] / np.where(factor > 1e-9, factor, np.nan)


def wilson(share, n):
    """The ends of Wilson's 95% interval of shares of n draws."""
    centre = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(share * (1 - share) / n + (_Z / (2 * n)) ** 2)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


# --- Dates ----------------------------------------------------------------------------------------------------------


@dataclass
class _Date:
    """A date of which the day, or the month and the day, may not be known."""

    text: str
    year: int
    month: int | None = None
    day: int | None = None


def _read_dates(dates, n):
    """The dates of n documents as a list of `_Date`, None for documents without."""
    return [
        None if each is None else _read_date(each, i)
        for i, each in enumerate(read_labels(dates, "dates", n, kind="date", may_be_missing=True))
    ]


def _read_date(value, i):
    if hasattr(value, "start_time"):
        # A period of pandas. Its text has no more than what it knows.
        value = str(value) if _ISO.fullmatch(str(value)) else value.start_time
    if isinstance(value, np.datetime64):
        # One that Python's dates do not have: nanoseconds, or another calendar.
        value = str(value)
    if hasattr(value, "year") and hasattr(value, "month"):
        return _Date(f"{value.year:04}-{value.month:02}-{value.day:02}", value.year, value.month, value.day)
    if isinstance(value, Real) and not isinstance(value, bool) and abs(value) < 10_000 and value == int(value):
        return _Date(str(int(value)), int(value))
    match = _ISO.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise TypeError(f"dates[{i}] is {value!r}: a date is {_KINDS}.")
    year, month, day = (None if part is None else int(part) for part in match.groups())
    try:
        date(2000 if year < 1 else year, month or 1, day or 1)
    except ValueError:
        raise ValueError(f"dates[{i}] = {value!r} is not in the calendar.") from None
    text = str(year) if month is None else value.strip()[: match.end(2 if day is None else 3)]
    return _Date(text, year, month, day)


# --- Periods --------------------------------------------------------------------------------------------------------


class _Days:
    name = "day"

    def index(self, each):
        return date(each.year, each.month, each.day).toordinal()

    def label(self, index):
        return (date.min + timedelta(index - 1)).isoformat()


class _Months:
    def __init__(self, n):
        self.n, self.name = n, "month" if n == 1 else "quarter"

    def index(self, each):
        return (12 * each.year + each.month - 1) // self.n

    def label(self, index):
        year, part = divmod(index, 12 // self.n)
        return f"{year}-{part + 1:02}" if self.n == 1 else f"{year} Q{part + 1}"


class _Years:
    def __init__(self, n):
        self.n, self.name = n, "year" if n == 1 else f"period of {n} years"

    def index(self, each):
        return each.year // self.n

    def label(self, index):
        first = self.n * index
        return str(first) if self.n == 1 else f"{first}–{first + self.n - 1}"


def _suitable(dates):
    """The periods of dates, and the index of the period of each.

    They are the shortest of which there are 2 to `MOST_PERIODS` with `LEAST_DOCUMENTS` on average. If none have so many
    documents, then the shortest of those with the fewest periods.
    """
    known = [_Years(n) for n in _YEARS]
    if all(each.month is not None for each in dates):
        known = [_Months(1), _Months(3), *known]
        if all(each.day is not None and each.year > 0 for each in dates):
            known = [_Days(), *known]
    indices = [list(map(length.index, dates)) for length in known]
    n_periods = [max(index) - min(index) + 1 for index in indices]
    fits = [i for i, n in enumerate(n_periods) if 2 <= n <= MOST_PERIODS]
    suits = [i for i in fits if len(dates) >= LEAST_DOCUMENTS * n_periods[i]]
    best = suits[0] if suits else min(fits, key=n_periods.__getitem__, default=0)
    return known[best], indices[best]
