"""Settings: how long chains are, and in which box h is searched."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklda._core.gibbs_em import BOUNDS


class Hyperparameters(NamedTuple):
    """h = (alpha, eta), or something of both, such as their regions."""

    alpha: Any
    eta: Any


# The names of the two priors, in the order of h.
NAMES = Hyperparameters("doc_topic_prior", "topic_word_prior")

# The box that is searched.
WIDEST = Hyperparameters(BOUNDS, BOUNDS)
# Modes are searched on corpora with at most this many tokens.
MOST_SEARCHED = 60_000
# Monte Carlo standard errors of log h below this are small enough, however small the statistical errors are: one
# percent of a prior changes no topic.
FINE_ENOUGH = 0.01
# Default of `max_iter`: the tokens that all sweeps of a chain draw are the third number, but the sweeps lie between the
# other two.
_LEAST, _MOST, _TOKENS = 500, 24_000, 3e8
# The tokens that all sweeps draw above 60,000 tokens, where modes are not searched. Above the second number of tokens
# there are at least as many sweeps as the third: with 2 million tokens and 100 topics, 500 leave eta 7 % and alpha 14 %
# away from the truth.
_WITHOUT_SEARCH, _MANY_TOKENS, _LEAST_OF_MANY = 6e7, 1e6, 1000
# Sweeps at the maximum: this number divided by the square root of the number of tokens, between the other two. On
# corpora without a search it is smaller, so that these sweeps are the same share of all.
_LAST, _LEAST_LAST, _MOST_LAST = 6.7e4, 40, 200
_LAST_WITHOUT_SEARCH = 3.4e4


@dataclass(frozen=True)
class Settings:
    """How long a fit is, and in which box it searches."""

    n_last: int  # sweeps of every chain at the maximum, but at most a quarter of all
    max_iter: int  # largest number of sweeps of every chain, searches and the sweeps at the maximum included
    n_draws: int = 15  # draws at the maximum that are kept
    # A skeleton ends when the Monte Carlo errors of log h are below this share of the statistical ones, or below
    # `FINE_ENOUGH`.
    error_ratio: float = 0.25
    region: tuple = WIDEST  # the box of (alpha, eta) that is searched, a pair of (float, float)


def run_lengths(n_tokens: int, max_iter: int | None = None, n_chains: int | None = None) -> tuple[int, int, int]:
    """The number of sweeps at the maximum, `max_iter` and the number of chains; if None, from the size of the corpus.

    A few long chains get farther than many short ones. So where a fit has the least number of sweeps, it has two
    chains.
    """
    n_tokens = max(n_tokens, 1)
    least, tokens, last = _LEAST, _TOKENS, _LAST
    if n_tokens > MOST_SEARCHED:
        least = _LEAST_OF_MANY if n_tokens > _MANY_TOKENS else least
        tokens, last = _WITHOUT_SEARCH, _LAST_WITHOUT_SEARCH
    if n_chains is None:
        n_chains = 2 if n_tokens * least > tokens else 4
    if max_iter is None:
        max_iter = int(np.clip(tokens // n_tokens, least, _MOST))
    return last_sweeps(n_tokens, last), max_iter, n_chains


def last_sweeps(n_tokens: int, last: float = _LAST) -> int:
    """The number of sweeps at the maximum."""
    return int(np.clip(last / np.sqrt(n_tokens), _LEAST_LAST, _MOST_LAST))
