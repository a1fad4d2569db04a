"""The prior p(T) over the number of topics, and the range of T."""

from math import ceil

import numpy as np

# If the range has no upper end: its first largest T, the factor by which it is widened, and its last largest T.
_FIRST_LARGEST, _WIDENING, _LARGEST = 20, 1.5, 200


class CountPrior:
    """log p(T), up to a constant, from the smallest number of topics up to a largest one, or without an upper end.

    Parameters
    ----------
    topic_count_prior : array-like of shape (max_components - min_components + 1,), scipy.stats distribution or None
        p(T), up to a factor; None: uniform.
    min_components : int
    max_components : int or None
        None: there is no upper end.

    Raises
    ------
    ValueError
        If the range is empty, or `topic_count_prior` has the wrong length, a negative or infinite value, or only zeros.

    Attributes
    ----------
    first : dict of {int: float}
        log p(T) of the first numbers of topics, without those of probability zero.
    """

    def __init__(self, topic_count_prior, min_components, max_components):
        self._given, self._open = topic_count_prior, max_components is None
        high = max(min_components, _FIRST_LARGEST) if self._open else max_components
        if min_components > high:
            raise ValueError(f"min_components={min_components} is larger than max_components={high}.")
        self.first = self._log_prior(range(min_components, high + 1))
        if not self.first:
            raise ValueError(
                f"topic_count_prior is zero everywhere from {min_components} to {high}: "
                "no number of topics is possible."
            )

    def wider(self, last):
        """log p(T) of the next numbers of topics after `last`; empty at the end of the range."""
        if not self._open or last >= _LARGEST:
            return {}
        return self._log_prior(range(last + 1, min(ceil(_WIDENING * last), _LARGEST) + 1))

    def cut_off_at(self, last):
        """Whether numbers of topics above `last` have positive probability, and only the range excludes them."""
        return self._given is None or (hasattr(self._given, "pmf") and bool(self._log_prior([last + 1])))

    def _log_prior(self, counts):
        """log p(T) of those of `counts` that have positive probability."""
        given = self._given
        if given is None:
            return dict.fromkeys(counts, 0.0)
        if hasattr(given, "pmf"):
            values = np.asarray(given.pmf(np.array(counts)), dtype=np.float64)
        else:
            if self._open:
                raise ValueError("topic_count_prior as an array needs max_components, to which its last value belongs.")
            values = np.asarray(given, dtype=np.float64)
            if values.shape != (len(counts),):
                raise ValueError(
                    f"topic_count_prior has shape {values.shape}; from min_components={counts[0]} to "
                    f"max_components={counts[-1]} there are {len(counts)} numbers of topics."
                )
        bad = ~(np.isfinite(values) & (values >= 0))
        if bad.any():
            raise ValueError(
                f"topic_count_prior is {values[bad][0]:g} at {counts[int(np.argmax(bad))]} topics; "
                "it must be finite and not negative."
            )
        return {T: float(np.log(p)) for T, p in zip(counts, values, strict=True) if p > 0}
