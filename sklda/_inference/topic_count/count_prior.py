"""The prior p(T) over the number of topics, and the range of T."""

from math import ceil

import numpy as np

from sklda._inference.priors import check_number_of_topics

# The largest T of the first part of the range, the factor by which it is widened, and the largest T if the range has no
# upper end.
_FIRST_LARGEST, _WIDENING, _LARGEST = 20, 1.6, 200


class CountPrior:
    """log p(T), up to a constant, from the smallest number of topics up to a largest one, or without an upper end.

    Parameters
    ----------
    topic_count_prior : array-like of shape (max_components - min_components + 1,), scipy.stats distribution or None
        p(T), up to a factor; None: uniform.
    min_components : int
    max_components : int or None
        None: there is no upper end; no T above 200 is used.

    Raises
    ------
    ValueError
        If the range is empty or ends above the largest number of topics, or `topic_count_prior` has the wrong length, a
        negative or infinite value, or only zeros.

    Attributes
    ----------
    first : dict of {int: float}
        log p(T) of the first numbers of topics, without those of probability zero.
    last : int
        The end of the range, or 200.
    open : bool
        Whether there is no upper end.
    """

    def __init__(self, topic_count_prior, min_components, max_components):
        self._given, self._low, self.open = topic_count_prior, min_components, max_components is None
        self.last = max(min_components, _LARGEST) if self.open else max_components
        if min_components > self.last:
            raise ValueError(f"min_components={min_components} is larger than max_components={self.last}.")
        check_number_of_topics(self.last, "min_components" if self.open else "max_components")
        if topic_count_prior is not None and not hasattr(topic_count_prior, "pmf"):
            self._given = self._checked_array(topic_count_prior)
        end = min(max(min_components, _FIRST_LARGEST), self.last)
        self.first = self._log_prior(min_components, end)
        while not self.first and end < self.last:
            self.first, end = self._log_prior(end + 1, self._wider_end(end)), self._wider_end(end)
        if not self.first:
            raise ValueError(
                f"topic_count_prior is zero everywhere from {min_components} to {self.last}: "
                "no number of topics is possible."
            )

    def wider(self, last):
        """log p(T) of the next numbers of topics after `last`; empty at the end of the range."""
        wider, end = {}, last
        while not wider and end < self.last:
            wider, end = self._log_prior(end + 1, self._wider_end(end)), self._wider_end(end)
        return wider

    def listed_after(self, last):
        """log p(T) of those after `last` of a given range, up to 200, which results list even if nothing ran there."""
        return {} if self.open else self._log_prior(last + 1, min(self.last, _LARGEST))

    def largest_after(self, last):
        """The largest log p(T) after `last`; with a scipy.stats distribution, of the next numbers of topics."""
        if self._given is None:
            return 0.0 if last < self.last else -np.inf
        if hasattr(self._given, "pmf"):
            return max(self.wider(last).values(), default=-np.inf)
        with np.errstate(divide="ignore"):
            return float(np.log(self._given[max(last + 1 - self._low, 0) :].max(initial=0.0)))

    def cut_off_at(self, last):
        """Whether numbers of topics above `last` have positive probability, and only the range excludes them."""
        if self._given is None:
            return True
        return hasattr(self._given, "pmf") and bool(self._log_prior(last + 1, last + 1))

    def _wider_end(self, last):
        return min(ceil(_WIDENING * last), self.last)

    def _checked_array(self, given):
        if self.open:
            raise ValueError("topic_count_prior as an array needs max_components, to which its last value belongs.")
        values, n_counts = np.asarray(given, dtype=np.float64), self.last - self._low + 1
        if values.shape != (n_counts,):
            raise ValueError(
                f"topic_count_prior has shape {values.shape}; from min_components={self._low} to "
                f"max_components={self.last} there are {n_counts} numbers of topics."
            )
        self._check(values, self._low)
        return values

    def _check(self, values, low):
        bad = ~(np.isfinite(values) & (values >= 0))
        if bad.any():
            raise ValueError(
                f"topic_count_prior is {values[bad][0]:g} at {low + int(np.argmax(bad))} topics; "
                "it must be finite and not negative."
            )

    def _log_prior(self, low, high):
        """log p(T) of those from `low` to `high` that have positive probability."""
        counts = range(low, high + 1)
        if self._given is None:
            return dict.fromkeys(counts, 0.0)
        if hasattr(self._given, "pmf"):
            values = np.asarray(self._given.pmf(np.array(counts)), dtype=np.float64)
            self._check(values, low)
        else:
            values = self._given[low - self._low : high + 1 - self._low]
        return {T: float(np.log(p)) for T, p in zip(counts, values, strict=True) if p > 0}
