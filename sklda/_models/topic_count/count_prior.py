"""The prior p(T) over the number of topics, and the range of T."""

from collections.abc import Mapping, Set
from functools import cached_property
from typing import Any

import numpy as np

from sklda._input.memory import check_number_of_topics

# The largest T if the range has no upper end: one topic for so many tokens, within these bounds. Chains begin with so
# many topics. From 200 topics in 1,469 tokens without any, a chain of 800 sweeps does not come down; from 58 it does.
_TOKENS_EACH, _SMALLEST_RANGE, LARGEST = 25, 10, 200
TOKENS_OF_LARGEST = _TOKENS_EACH * LARGEST


class CountPrior:
    """log p(T), up to a constant, from the smallest number of topics up to a largest one, or without an upper end.

    `topic_count_prior` is an array with a value of each number of topics, up to a factor, or a distribution of
    scipy.stats; None: uniform. Without `max_components`, the end of the range depends on the number of
    tokens. `last` is the end of the range. A ValueError if the range or the prior is not possible.
    """

    def __init__(self, topic_count_prior: Any, min_components: int, max_components: int | None, n_tokens: int) -> None:
        self._given = topic_count_prior
        self._low = min_components
        is_open = max_components is None
        possible = min(max(n_tokens // _TOKENS_EACH, _SMALLEST_RANGE), LARGEST)
        self.last = max(min_components, possible) if max_components is None else max_components
        if min_components > self.last:
            raise ValueError(f"min_components={min_components} is larger than max_components={self.last}.")
        check_number_of_topics(self.last, "min_components" if is_open else "max_components")
        if topic_count_prior is not None and not hasattr(topic_count_prior, "pmf"):
            if isinstance(topic_count_prior, (Mapping, Set)):
                raise TypeError(
                    "topic_count_prior must be an array with a value of each number of topics from min_components to "
                    f"max_components, in this order, or a distribution of scipy.stats; got {topic_count_prior!r}."
                )
            if is_open:
                raise ValueError("topic_count_prior as an array needs max_components, to which its last value belongs.")
            self._given = np.asarray(topic_count_prior, dtype=np.float64)
            n_counts = self.last - self._low + 1
            if self._given.shape != (n_counts,):
                raise ValueError(
                    f"topic_count_prior has shape {self._given.shape}; from min_components={self._low} to "
                    f"max_components={self.last} there are {n_counts} numbers of topics."
                )
            self._check(self._given, self._low)
        if not self.log_p:
            raise ValueError(
                f"topic_count_prior is zero everywhere from {min_components} to {self.last}: "
                "no number of topics is possible."
            )

    @cached_property
    def log_p(self) -> dict[int, float]:
        """log p(T) of all T of positive probability."""
        return self._log_prior(self._low, self.last)

    def cuts_off(self, count: int) -> bool:
        """Whether only the range excludes a number of topics beside it, which has positive probability."""
        if self._given is None:
            return count > 0
        return count > 0 and hasattr(self._given, "pmf") and bool(self._log_prior(count, count))

    def _check(self, values: np.ndarray, low: int) -> None:
        bad = ~(np.isfinite(values) & (values >= 0))
        if bad.any():
            raise ValueError(
                f"topic_count_prior is {values[bad][0]:g} at {low + int(np.argmax(bad))} topics; "
                "it must be finite and not negative."
            )

    def _log_prior(self, low: int, high: int) -> dict[int, float]:
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
