"""Shares of topics in periods of time, with intervals."""

from dataclasses import dataclass

import numpy as np

from sklda.inspection._periods import read_dates, read_period

# The 97.5% quantile of the normal distribution.
_Z = 1.959963984540054
_NAMES = {("D", 1): "day", ("D", 7): "week", ("M", 1): "month", ("M", 3): "quarter", ("Y", 1): "year"}
# Characters of an ISO date that has the year, the month or the day.
_CHARACTERS = {"Y": 4, "M": 7, "D": 10}


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
    days, unit = read_dates(None, dates, view.n_documents)
    used = view.used[~np.isnat(days[view.used])]
    if not len(used):
        raise ValueError("dates has no date of a document with words: give some, or none at all.")
    period = read_period(None, days[used], unit)
    numbers = period.number(days[used])
    place, n_periods = numbers - numbers.min(), int(np.ptp(numbers)) + 1
    theta, weights = np.asarray(view.doc_topic[used], dtype=np.float64), view.weights[used]
    tokens = np.bincount(place, weights, n_periods)
    sums = np.stack([np.bincount(place, weights * column, n_periods) for column in theta.T], axis=1)
    with np.errstate(invalid="ignore"):
        mean = sums / tokens[:, None]
        low, high = wilson(mean, n_effective(theta, weights, place, n_periods))
    return PeriodShares(
        length=_NAMES.get((period.unit, period.length), f"period of {period.length} years"),
        labels=[_label(period, numbers.min() + i) for i in range(n_periods)],
        mean=mean,
        low=low,
        high=high,
        n_documents=np.bincount(place, minlength=n_periods),
        n_undated=len(view.used) - len(used),
        dates=["" if np.isnat(day) else str(day)[: _CHARACTERS[unit]] for day in days],
    )


def _label(period, number):
    """Such as 1998, 1990–1999, 1998 Q2 or 1998-05."""
    first, last = str(period.start(number)), str(period.end(number))
    if period.unit == "Y":
        return first[:4] if period.length == 1 else f"{first[:4]}–{last[:4]}"
    if period.unit == "M" and period.length == 3:
        return f"{first[:4]} Q{(int(first[5:7]) + 2) // 3}"
    return first[: _CHARACTERS[period.unit]]


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
