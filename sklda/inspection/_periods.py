"""Dates of documents, and the periods of equal length that they lie in."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from numbers import Real

import numpy as np

from sklda._core.arguments import check_choice, check_int

# Dates as ISO 8601 writes them, of which the time is not read.
_ISO = re.compile(r"\d{4}(-\d\d(-\d\d([T ].*)?)?)?")
# Periods of which the length is chosen: at most so many, and with so many documents on average.
_MOST, _DOCUMENTS = 40, 10
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
    """Dates of documents, None where missing, as days, NaT there, and the unit that all of them have at least.

    Raises
    ------
    ValueError, TypeError
        If a value is not a date.
    """
    days, units = np.full(len(dates), "NaT", dtype="datetime64[D]"), set()
    for d, value in enumerate(dates):
        if value is not None:
            found = _read(value, d)
            days[d] = found.astype("datetime64[D]")
            units.add(np.datetime_data(found.dtype)[0])
    return days, next((unit for unit in "DM" if unit in units), "Y")


def dates_of_labels(labels):
    """Labels as days, if all of them are dates, or years from 1000 to 2999; None otherwise."""
    try:
        days = np.array([_read(label, 0).astype("datetime64[D]") for label in labels])
    except (TypeError, ValueError):
        return None
    years = days.astype("datetime64[Y]").astype(np.int64) + 1970
    return days if len(days) and ((years >= 1000) & (years < 3000)).all() else None


def _read(value, d):
    """One date, in the unit in which it is given."""
    if isinstance(value, datetime):
        value = value.date()
    if isinstance(value, date):
        return np.datetime64(value, "D")
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[D]")
    if hasattr(value, "to_timestamp") and hasattr(value, "freqstr"):
        # A period of pandas.
        unit = {"Y": "Y", "A": "Y", "Q": "M", "M": "M"}.get(value.freqstr[0], "D")
        return np.datetime64(value.to_timestamp().date(), unit)
    if isinstance(value, str) and _ISO.fullmatch(value.strip()):
        try:
            return np.datetime64(value.strip()[:10])
        except ValueError as error:
            raise ValueError(f"dates[{d}] = {value!r} is not a day of the calendar.") from error
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and 1 <= value <= 9999 and value == int(value):
        return np.datetime64(f"{int(value):04d}", "Y")
    if is_number or isinstance(value, str):
        raise ValueError(f"dates[{d}] = {value!r} is not a date: {_ADVICE}.")
    raise TypeError(f"dates[{d}] is a {type(value).__name__} and not a date: {_ADVICE}.")


def read_period(period, days, unit):
    """The periods that were asked for; without any, the shortest that are few and have several documents each.

    Parameters
    ----------
    period : str, int or None
    days : ndarray of shape (n_documents,), datetime64
    unit : {"D", "M", "Y"}
        That of the dates: shorter periods are not chosen.
    """
    if isinstance(period, str):
        return _NAMED[check_choice(period, "period", tuple(_NAMED))]
    if period is not None:
        return _years(check_int(period, "period", 1))
    possible = [each for each in _CHOICE if "DMY".index(each.unit) >= "DMY".index(unit)]
    for each in possible:
        numbers = each.number(days)
        if np.ptp(numbers) < _MOST and _DOCUMENTS * len(np.unique(numbers)) <= len(numbers):
            return each
    return next((each for each in possible if np.ptp(each.number(days)) < _MOST), possible[-1])
