"""The budget of sweeps of a scan, and the seconds of a sweep."""

import time

from sklda._inference import random
from sklda._inference.sampling.choice import chain_class

# Sweeps by default, with 20 topics: those that draw this many tokens, but at least and at most these.
_DRAWN_TOKENS, _LEAST, _MOST = 3 * 10**9, 20_000, 150_000
# A sweep with T topics takes as long as T plus this number of terms of the sums over topics.
_FIXED = 40


class BudgetSpent(Exception):
    """The sweeps that are left do not suffice for the next runs."""


class Budget:
    """The sweeps over a corpus that a fit may make.

    Parameters
    ----------
    corpus : Corpus
    max_sweeps : int or None
        None: a default for the corpus.
    last : int
        Sweeps that are kept for the end, but not more than a fifth of all.

    Attributes
    ----------
    limit : int
        Sweeps in all; if `max_sweeps` is None, with 20 topics, and more or fewer with other numbers.
    n_sweeps : int
        Sweeps so far, all chains together.
    """

    def __init__(self, corpus, max_sweeps, last):
        self._given, self.limit, self.n_sweeps, self._spent = max_sweeps is not None, max_sweeps, 0, 0.0
        if max_sweeps is None:
            self.limit = min(max(_DRAWN_TOKENS // max(corpus.n_tokens, 1), _LEAST), _MOST)
        self._last = max(min(last, self.limit // 5), 1)

    def cost(self, sweeps):
        """The cost of sweeps, a dict by number of topics, as a part of `limit`."""
        return sum(n if self._given else n * (T + _FIXED) / (20 + _FIXED) for T, n in sweeps.items())

    def allows(self, sweeps):
        """Whether these sweeps, a dict by number of topics, leave enough for the end."""
        return self._spent + self.cost(sweeps) + self._last <= self.limit

    def check(self, sweeps):
        """Raise a ValueError if the budget does not allow these sweeps at the start."""
        if not self.allows(sweeps):
            raise ValueError(
                f"max_sweeps={self.limit} is too small: the first runs and the last sweeps take at least "
                f"{sum(sweeps.values()) + self._last} sweeps. Give max_sweeps=None, or thousands of sweeps."
            )

    def take(self, sweeps):
        """Count sweeps, a dict by number of topics, that are to be made now.

        Raises
        ------
        BudgetSpent
        """
        if not self.allows(sweeps):
            needed = sum(sweeps.values())
            raise BudgetSpent(f"the {self.limit} sweeps of max_sweeps do not suffice for the next {needed}")
        self._spent += self.cost(sweeps)
        self.n_sweeps += sum(sweeps.values())

    def last(self, n_chains):
        """Last sweeps of each of this many chains."""
        return max(self._last // n_chains, 1)


def seconds_of_sweep(corpus, priors):
    """Seconds of a chain's second sweep, after a first one that fills the memory."""
    chain = chain_class("collapsed", corpus, priors).initialise_randomly(corpus, priors, random.seed_sequence(0))
    chain.sweep()
    start = time.perf_counter()
    chain.sweep()
    return time.perf_counter() - start
