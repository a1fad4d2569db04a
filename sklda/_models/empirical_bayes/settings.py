"""Settings: how serial tempering is done, how long chains are, and in which box h is searched."""

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

METHODS = ("skeleton", "serial_tempering", "full_bayes")
EM_METHODS = ("gibbs_em", "variational_em")

# The box that is searched if no region is given.
WIDEST = Hyperparameters(BOUNDS, BOUNDS)
# Modes are searched on corpora with at most this many tokens.
MOST_SEARCHED = 60_000
# Monte Carlo standard errors of log h below this are small enough, however small the statistical errors are: one
# percent of a prior changes no topic.
FINE_ENOUGH = 0.01
# Default of `max_iter`: the tokens that all sweeps of a chain draw are the third number, but the sweeps lie between the
# other two.
_SWEEPS = {
    "skeleton": (500, 24_000, 3e8),
    "serial_tempering": (400, 5000, 1.6e8),
    "full_bayes": (400, 5000, 1.6e8),
    "gibbs_em": (30, 1000, 2e8),
    "variational_em": (30, 1000, 2e8),
}
# The tokens that all sweeps of a skeleton draw above 60,000 tokens, where modes are not searched. Above the second
# number of tokens there are at least as many sweeps as the third: with 2 million tokens and 100 topics, 500 leave eta
# 7 % and alpha 14 % away from the truth.
_WITHOUT_SEARCH, _MANY_TOKENS, _LEAST_OF_MANY = 6e7, 1e6, 1000
# Default of `n_tuning`: this number divided by the square root of the number of tokens; and that of a skeleton without
# a search, whose sweeps at the maximum are the same share of all.
_TUNING, _TUNING_WITHOUT_SEARCH = 6.7e4, 3.4e4


@dataclass(frozen=True)
class Tempering:
    """How serial tempering is done. Except for `estimator`, the second value is that of George & Doss (2018)."""

    # Ratios of p(w, z | h) ("collapsed"), or of nu_h(theta, beta, z) with theta and beta drawn after every sweep
    # (equation 2.2).
    ratio: str = "collapsed"
    # How the grid point moves: from its full conditional, or by Metropolis-Hastings among neighbours (equation 2.8).
    index: str = "full_conditional"
    # How zeta is found: adapted sweep by sweep, then frozen; or by runs from zeta = 1 (equation 2.16).
    tuning: str = "stochastic_approximation"
    # Equation 2.10, equation 2.17, or equation 2.1 from chains at one h. With the last two, draws far from h have
    # nearly no weight, so that over a wide grid the errors are understated.
    estimator: str = "mixture"
    # The numbers of values of alpha and of eta on the grid.
    grid_shape: tuple[int, int] = (11, 11)

    ALLOWED = {
        "ratio": ("collapsed", "augmented"),
        "index": ("full_conditional", "neighbours"),
        "tuning": ("stochastic_approximation", "restarts"),
        "estimator": ("mixture", "component", "simple"),
    }

    @classmethod
    def make(cls, given):
        """From None (the defaults), ``"paper"`` or a dict of some of the attributes."""
        if given is None:
            return cls()
        if isinstance(given, str) and given == "paper":
            return cls(ratio="augmented", index="neighbours", tuning="restarts", estimator="mixture")
        if not isinstance(given, dict):
            raise TypeError(f"tempering must be None, 'paper' or a dict, got {given!r}.")
        options = dict(given)
        if "grid_shape" in options:
            shape = np.asarray(options["grid_shape"])
            if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 2).any():
                raise ValueError(
                    f"tempering['grid_shape'] must be two whole numbers, both at least 2, got {given['grid_shape']!r}."
                )
            options["grid_shape"] = tuple(shape.tolist())
        for name, value in given.items():
            if name == "grid_shape":
                continue
            if name not in cls.ALLOWED:
                raise ValueError(
                    f"tempering has no option {name!r}; its options are {sorted([*cls.ALLOWED, 'grid_shape'])}."
                )
            if value not in cls.ALLOWED[name]:
                raise ValueError(f"tempering[{name!r}] must be one of {cls.ALLOWED[name]}, got {value!r}.")
        return cls(**options)

    @property
    def augmented(self):
        return self.ratio == "augmented"


@dataclass(frozen=True)
class Settings:
    """Settings that do not depend on the corpus or on the number of chains."""

    n_tuning: int  # sweeps of every chain to tune serial tempering, and at the maximum
    max_iter: int  # largest number of sweeps of every chain, searches and the sweeps at the maximum included
    n_draws: int = 15  # draws at the maximum that are kept
    # A skeleton ends when the Monte Carlo errors of log h are below this share of the statistical ones, or below
    # `FINE_ENOUGH`.
    error_ratio: float = 0.25
    region: tuple = WIDEST  # the box of (alpha, eta) that is searched, a pair of (float, float)
    grid_is_region: bool = False  # whether the grid covers that box; otherwise it covers a part of it
    tempering: Tempering = Tempering()
    functionals: tuple = ()  # functions of (doc_topic, topic_word)

    def search_region(self, grid_region: tuple) -> tuple:
        """The box in which the maximum is searched, given the region of the grid."""
        whole = self.grid_is_region or self.tempering.estimator == "simple"
        return self.region if whole else wider(grid_region, self.region)

    def most_sweeps(self, method: str) -> int:
        """Largest number of sweeps of a chain that are reported."""
        if method == "gibbs_em":
            return self.max_iter + self.n_tuning
        if method == "variational_em":
            # Before the ascent, and at the maximum; M-steps are not sweeps.
            return 2 * self.n_tuning
        return self.max_iter


def run_lengths(
    method: str,
    n_tokens: int,
    n_tuning: int | None = None,
    max_iter: int | None = None,
    n_chains: int | None = None,
) -> tuple[int, int, int]:
    """`n_tuning`, `max_iter` and the number of chains; if None, from the size of the corpus.

    A few long chains get farther than many short ones. So where a skeleton has the least number of sweeps, it has two
    chains.
    """
    n_tokens = max(n_tokens, 1)
    least, most, tokens = _SWEEPS[method]
    tuning = _TUNING
    if method == "skeleton" and n_tokens > MOST_SEARCHED:
        tokens = _WITHOUT_SEARCH
        least = _LEAST_OF_MANY if n_tokens > _MANY_TOKENS else least
        tuning = _TUNING_WITHOUT_SEARCH
    if n_chains is None:
        n_chains = 2 if method == "skeleton" and n_tokens * least > tokens else 4
    if n_tuning is None:
        n_tuning = int(np.clip(tuning / np.sqrt(n_tokens), 40, 200))
    if max_iter is None:
        max_iter = int(np.clip(tokens // n_tokens, least, most))
    return n_tuning, max_iter, n_chains


def wider(region: tuple, within: tuple) -> tuple:
    """The region, wider by half its length at both ends on the scale of logarithms, but not beyond `within`."""
    result = []
    for (low, high), (lowest, highest) in zip(region, within, strict=True):
        more = np.sqrt(high / low)
        result.append((max(low / more, lowest), min(high * more, highest)))
    return tuple(result)
