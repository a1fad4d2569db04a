"""The cost of a scan: its budget of sweeps, and its seconds from the speed of a few sweeps over part of a corpus."""

import time

import numpy as np

from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.sampling.choice import chain_class
from sklda._inference.topic_count.posterior import LAST_SWEEPS

# Tokens of the part, which is a small share of a large corpus; sweeps over it, of which the fastest counts.
_TOKENS, _SWEEPS = 20_000, 3

# Budgets by default, in sweeps with 20 topics. A large corpus has the least. A smaller one has, up to the most, as many
# sweeps as draw this many tokens, which takes 60 to 150 CPU seconds. A small one has `_SMALL_TOKENS` over the sum of
# its tokens and of the tokens that take the fixed time of a sweep, which takes 1 to 10 CPU seconds.
_LEAST, _MOST, _MOST_TOKENS = 10_000, 50_000, 15 * 10**8
_SMALL_TOKENS, _TOKENS_BESIDES = 5 * 10**7, 400
# A sweep with T topics takes the time of (T + _FIXED) / (20 + _FIXED) sweeps with 20.
_FIXED = 40
# The largest share of a budget that the last sweeps take.
_LAST_SHARE = 1 / 5


class BudgetSpent(Exception):
    """The sweeps that are left do not suffice for the next runs."""


class Budget:
    """The sweeps over a corpus that a scan may make, last sweeps included.

    Parameters
    ----------
    corpus : Corpus
    max_sweeps : int or None
        None: a default for the corpus, of which sweeps with many topics take more.
    n_chains : int
        Pruned chains of the scan; with as many annealed ones, the last sweeps are those of twice as many.
    least : int
        The fewest sweeps before the last ones.

    Attributes
    ----------
    limit : int
        Sweeps in all; if `max_sweeps` is None, with 20 topics.
    n_sweeps : int
        Sweeps so far, all chains together.
    left : float
        The budget that is left without the last sweeps, in sweeps as `limit`.
    """

    def __init__(self, corpus, max_sweeps, n_chains, least):
        self._given, self.n_sweeps = max_sweeps is not None, 0
        of_small = _SMALL_TOKENS // (corpus.n_tokens + _TOKENS_BESIDES)
        default = max(min(_MOST_TOKENS // corpus.n_tokens, _MOST), of_small, _LEAST)
        self.limit = max_sweeps if self._given else default
        if self.limit < least + 1:
            raise ValueError(
                f"max_sweeps={max_sweeps} is too small: a look at one number of topics and the last sweep take "
                f"{least + 1} sweeps. Give max_sweeps=None, or thousands of sweeps."
            )
        last = min(2 * n_chains * LAST_SWEEPS, int(_LAST_SHARE * self.limit), self.limit - least)
        self.left = self.limit - max(last, 1)

    def cost(self, *sweeps):
        """The cost of pairs of a number of sweeps and a number of topics."""
        return sum(n if self._given else n * (T + _FIXED) / (20 + _FIXED) for n, T in sweeps)

    def take(self, *sweeps):
        """Count pairs of a number of sweeps, to be made now, and a number of topics.

        Raises
        ------
        BudgetSpent
        """
        cost = self.cost(*sweeps)
        if cost > self.left:
            raise BudgetSpent(f"the {self.limit} sweeps of max_sweeps do not suffice for the next {int(cost)}")
        self.left -= cost
        self.n_sweeps += sum(n for n, _ in sweeps)

    def last(self, n_chains):
        """How many of this many chains can make last sweeps, and how many each."""
        left = self.limit - self.n_sweeps if self._given else n_chains * LAST_SWEEPS
        n_chains = min(n_chains, left)
        return n_chains, min(left // n_chains, LAST_SWEEPS)


def cost_of_scan(corpus, priors, first, most):
    """In words, the seconds of the first look and of the whole fit.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        Those of the chains with the most topics of the first look.
    first, most : int
        Sweeps of the first look, and of the whole fit at most.
    """
    n = max(int(np.searchsorted(corpus.offsets, _TOKENS, side="right")) - 1, 1)
    part = Corpus(corpus.words[: corpus.offsets[n]], corpus.offsets[: n + 1], corpus.n_features)
    if len(priors.doc) > 1 or not part.n_tokens:
        part = corpus
    kind, seconds = chain_class("collapsed", part, priors), []
    chain = kind.initialise_randomly(part, priors, random.seed_sequence(0))
    for _ in range(_SWEEPS):
        start = time.perf_counter()
        chain.sweep()
        seconds.append(time.perf_counter() - start)
    sweep = min(seconds) / part.n_tokens * corpus.n_tokens
    return (
        f"{corpus.n_tokens} tokens; the first look takes {first} sweeps, about {_seconds(first * sweep)}; "
        f"the whole fit at most {most} sweeps, about {_seconds(most * sweep)}"
    )


def _seconds(value):
    return f"{float(f'{value:.2g}'):g} s"
