"""Dates of documents, and the periods of equal length that they lie in."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from numbers import Real

import numpy as np

from sklda._input.arguments import check_choice, check_int

# Dates as ISO 8601 writes them, of which the time is not read.
_ISO = re.compile(r"\d{4}(-\d\d(-\d\d([T ].*)?)?)?")
# Units of dates, the finest first.
_UNITS = {"D": "day", "W": "week", "M": "month", "Q": "quarter", "Y": "year"}
# Periods of which the length is chosen: at most so many, and with so many documents on average.
MOST_PERIODS, _DOCUMENTS = 40, 10
# Rows of a table from the first to the last period, if a few dates are far from the others.
MOST_ROWS = 4000
# Values that may be far from the others: at most this part of all, or one; how many times as far as the others reach;
# and the fewest distinct values of these.
_FAR_PART, _FAR, _FEWEST = 0.02, 2, 5
_NO_PERIOD = "give days, or the periods as groups"
_ADVICE = "give years as whole numbers, texts such as '1984' or '1984-05-31', or dates, as from pandas.to_datetime"


@dataclass(frozen=True)
class Period:
    """Periods of a number of days, months or years, counted from those of 1 January 1970.

    Attributes
    ----------
    unit : {"D", "M", "Y"}
        As in NumPy.
    length : int
        Units of a period.
    first : int, default=0
        A unit with which a period begins: -3 for weeks, because 1 January 1970 was a Thursday.
    """

    unit: str
    length: int
    first: int = 0

    def is_known(self, unit):
        """Whether dates of a unit tell these periods apart. A week may be in two months."""
        own = {("M", 3): "Q", ("D", 7): "W"}.get((self.unit, self.length), self.unit)
        return own == "W" if unit == "W" else list(_UNITS).index(own) >= list(_UNITS).index(unit)

    def number(self, days):
        """The numbers of the periods of days, an array of datetime64."""
        return (days.astype(f"datetime64[{self.unit}]").astype(np.int64) - self.first) // self.length

    def start(self, number):
        """The first days of periods."""
        units = np.asarray(number, dtype=np.int64) * self.length + self.first
        return units.astype(f"datetime64[{self.unit}]").astype("datetime64[D]")

    def end(self, number):
        """The last days of periods."""
        return self.start(np.asarray(number) + 1) - np.timedelta64(1, "D")


def _years(length):
    # Decades begin in 1970, 1980, ..., whatever their first year.
    return Period("Y", length, -(1970 % length))


_NAMED = {
    "day": Period("D", 1),
    "week": Period("D", 7, -3),
    "month": Period("M", 1),
    "quarter": Period("M", 3),
    "year": _years(1),
    "decade": _years(10),
}
_CHOICE = [*list(_NAMED.values())[:5], *map(_years, (2, 5, 10, 20, 50, 100))]


def read_dates(dates):
    """Dates of documents, None where missing, as days, NaT there, and the unit that is known of each, a list of str.

    Raises
    ------
    ValueError, TypeError
        If a value is not a date.
    """
    days, units = np.full(len(dates), "NaT", dtype="datetime64[D]"), ["D"] * len(dates)
    for d, value in enumerate(dates):
        if value is not None:
            days[d], units[d] = _read(value, d)
            if days[d] < np.datetime64("0001-01-01"):
                raise ValueError(f"dates[{d}] = {value!r} is before the year 1: give the periods as groups.")
    if "W" in units and not set(units) <= {"D", "W"}:
        raise ValueError("some dates are weeks and others months or years, which do not begin together: give days.")
    return days, units


def dates_of_labels(labels):
    """Labels as days, if all of them are dates, or years from 1000 to 2999; None otherwise."""
    try:
        days = np.array([_read(label, 0)[0] for label in labels], dtype="datetime64[D]")
    except (TypeError, ValueError):
        return None
    years = days.astype("datetime64[Y]").astype(np.int64) + 1970
    return days if len(days) and ((years >= 1000) & (years < 3000)).all() else None


def _read(value, d):
    """The first day of a date, and the unit in which it is given."""
    if isinstance(value, datetime):
        value = value.date()
    if isinstance(value, date):
        return np.datetime64(value, "D"), "D"
    if isinstance(value, np.datetime64):
        unit, length = np.datetime_data(value.dtype)
        # Weeks of NumPy begin with Thursday.
        if unit == "W" or (length > 1 and unit in _UNITS):
            raise ValueError(f"dates[{d}] = {value!r} is a period of {value.dtype}: {_NO_PERIOD}.")
        return value.astype("datetime64[D]"), unit if unit in _UNITS else "D"
    if hasattr(value, "to_timestamp") and hasattr(value, "freqstr"):
        # A period of pandas.
        first, unit = np.datetime64(value.start_time.date(), "D"), value.freqstr[0].replace("A", "Y")
        days = int((value.end_time.normalize() - value.start_time.normalize()).days) + 1
        if days > 1 and (value.freq.n > 1 or unit not in _UNITS or not _begins(first, unit)):
            raise ValueError(
                f"dates[{d}] = {value!r}, of the frequency {value.freqstr}, is not a month, quarter or year of the "
                f"calendar, or a week that begins with Monday: {_NO_PERIOD}."
            )
        return first, unit if days > 1 else "D"
    if isinstance(value, str) and _ISO.fullmatch(value.strip()):
        try:
            found = np.datetime64(value.strip()[:10])
        except ValueError as error:
            raise ValueError(f"dates[{d}] = {value!r} is not a day of the calendar.") from error
        return found.astype("datetime64[D]"), np.datetime_data(found.dtype)[0]
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and 1 <= value <= 9999 and value == int(value):
        return np.datetime64(f"{int(value):04d}-01-01", "D"), "Y"
    if is_number or isinstance(value, str):
        raise ValueError(f"dates[{d}] = {value!r} is not a date: {_ADVICE}.")
    raise TypeError(f"dates[{d}] is a {type(value).__name__} and not a date: {_ADVICE}.")


def _begins(day, unit):
    """Whether a week, month, quarter or year begins with a day."""
    period = {"W": Period("D", 7, -3), "M": Period("M", 1), "Q": Period("M", 3), "Y": Period("Y", 1)}[unit]
    return period.start(period.number(day)) == day


def are_known(period, units):
    """Which dates with these units tell the periods of this name apart, an array of bool."""
    named = _NAMED.get(period) if isinstance(period, str) else None
    return np.array([named is None or named.is_known(unit) for unit in units])


def read_period(period, days, units, most=MOST_ROWS):
    """The periods that were asked for; without any, the shortest that are few and have several documents each.

    Most of these are not empty, as months are if all dates are the first of January because only years are known. A few
    dates that are far from the others do not count for this.

    Parameters
    ----------
    period : str, int or None
    days : ndarray of shape (n_documents,), datetime64
    units : sequence of {"D", "W", "M", "Q", "Y"}
        Those of the dates: periods are not shorter than the longest.
    most : int
        Periods from the first to the last date, if their length is chosen.
    """
    unit = max(units, key=list(_UNITS).index)
    if isinstance(period, str):
        found = _NAMED[check_choice(period, "period", tuple(_NAMED))]
        if not found.is_known(unit):
            raise ValueError(
                f"period = {period!r} is shorter than what is known of all dates, which is the "
                f"{_UNITS[unit]}: give a longer period, or leave out the dates that lack it with missing='drop'."
            )
        return found
    if period is not None:
        return _years(check_int(period, "period", 1))
    near = days[is_near(days, fewest=1)]
    possible = [each for each in _CHOICE if each.is_known(unit) and np.ptp(each.number(days)) < most] or _CHOICE[-1:]
    for each in possible:
        numbers = each.number(near)
        n_used, n_all = len(np.unique(numbers)), np.ptp(numbers) + 1
        if n_all <= MOST_PERIODS and _DOCUMENTS * n_used <= len(numbers) and 2 * n_used > n_all:
            return each
    return next((each for each in possible if np.ptp(each.number(near)) < MOST_PERIODS), possible[-1])


def on_an_axis(*dates):
    """Days for an axis of Matplotlib: as years if some are early, because its ticks may be before the year 1."""
    if min(each.min() for each in dates) >= np.datetime64("1000-01-01"):
        return dates
    return tuple(1970 + each.astype("datetime64[D]").astype(np.float64) / 365.2425 for each in dates)


def is_near(values, fewest=_FEWEST):
    """Which numbers or dates are near most of them, an array of bool.

    A few may be far: their distance from the range of the others, which have the `fewest` distinct values, is more than
    twice as long as this range, so that on an axis with all of them the others are hardly apart.
    """
    values = np.asarray(values)
    numbers = values.astype(np.int64 if values.dtype.kind == "M" else np.float64)
    distance = np.abs(numbers - np.median(numbers)) if len(numbers) else numbers
    others = numbers[np.argsort(distance, kind="stable")][: len(numbers) - max(int(_FAR_PART * len(numbers)), 1)]
    if len(np.unique(others)) < fewest:
        return np.ones(len(numbers), bool)
    low, high = others.min(), others.max()
    return (numbers >= low - _FAR * (high - low)) & (numbers <= high + _FAR * (high - low))
