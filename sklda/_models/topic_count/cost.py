"""The budget of sweeps of a scan, and the seconds of a sweep."""

import time

from sklda._core import random
from sklda._sampling.choice import chain_class

# Sweeps by default: this, divided by the root of the number of tokens, or of the second number if that is larger. So
# four times the tokens have half the sweeps and take twice the time.
_ROOT_SWEEPS, _LEAST_TOKENS = 1.2e7, 10_000


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
        Sweeps in all.
    n_sweeps : int
        Sweeps so far, all chains together.
    """

    def __init__(self, corpus, max_sweeps, last):
        self.limit, self.n_sweeps = max_sweeps, 0
        if max_sweeps is None:
            self.limit = int(_ROOT_SWEEPS / max(corpus.n_tokens, _LEAST_TOKENS) ** 0.5)
        self._last = max(min(last, self.limit // 5), 1)

    def allows(self, n_sweeps):
        """Whether as many sweeps leave enough for the end."""
        return self.n_sweeps + n_sweeps + self._last <= self.limit

    def check(self, n_sweeps):
        """Raise a ValueError if the budget does not allow as many sweeps at the start."""
        if not self.allows(n_sweeps):
            raise ValueError(
                f"max_sweeps={self.limit} is too small: the first runs and the last sweeps take at least "
                f"{n_sweeps + self._last} sweeps. Give max_sweeps=None, or thousands of sweeps."
            )

    def take(self, n_sweeps):
        """Count sweeps that are to be made now.

        Raises
        ------
        BudgetSpent
        """
        if not self.allows(n_sweeps):
            raise BudgetSpent(f"the {self.limit} sweeps of max_sweeps do not suffice for the next {n_sweeps}")
        self.n_sweeps += n_sweeps

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
