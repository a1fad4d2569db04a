"""Shares of topics in periods of time, with intervals."""

from dataclasses import dataclass

import numpy as np

from sklda._core import random
from sklda.inspection._effects import GroupMeans
from sklda.inspection._periods import MOST_PERIODS, read_dates
from sklda.inspection._topics_over_time import ByPeriod

_NAMES = {("D", 1): "day", ("D", 7): "week", ("M", 1): "month", ("M", 3): "quarter", ("Y", 1): "year"}
# Characters of an ISO date that has the year, the month or the day.
_CHARACTERS = {"Y": 4, "Q": 7, "M": 7, "W": 10, "D": 10}


@dataclass
class PeriodShares:
    """Shares of topics in periods, without gaps between these; rows without dated documents are NaN."""

    length: str  # such as "month" or "period of 10 years"
    labels: list  # of the periods, str
    means: GroupMeans  # with intervals of 95 %
    n_undated: int  # documents that take part, but have no date
    dates: list  # of all documents, str; "" for those without


def period_shares(view):
    """The mean proportions of topics by period, in the documents of a `View`, as `topics_over_time` has them."""
    days, units = read_dates(view.values["dates"])
    used = view.counted("dates")
    if not len(used):
        raise ValueError("dates has no date of a document with words: give some, or none at all.")
    # The page draws all of them.
    seed = random.seed_sequence(0)
    found = ByPeriod.of(view, used, days, units, most=MOST_PERIODS, seed=seed, shrinks=False)
    period = found.period
    return PeriodShares(
        length=_NAMES.get((period.unit, period.length), f"period of {period.length} years"),
        labels=[_label(period, str(first), str(last)) for first, last in zip(found.starts, found.ends, strict=True)],
        means=found.means,
        n_undated=len(view.used) - len(used),
        dates=["" if np.isnat(day) else str(day)[: _CHARACTERS[own]] for day, own in zip(days, units, strict=True)],
    )


def _label(period, first, last):
    """Such as 1998, 1990–1999, 1998 Q2 or 1998-05."""
    if period.unit == "Y":
        return first[:4] if period.length == 1 else f"{first[:4]}–{last[:4]}"
    if period.unit == "M" and period.length == 3:
        return f"{first[:4]} Q{(int(first[5:7]) + 2) // 3}"
    return first[: _CHARACTERS[period.unit]]
