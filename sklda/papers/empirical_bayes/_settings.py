"""What the functions of the paper are given: counts and priors, how serial tempering is done, regions, lengths."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.gibbs_em import MStep
from sklda._core.priors import LARGEST, SMALLEST, Priors
from sklda._input.arguments import check_int, real_numbers
from sklda._models.empirical_bayes.settings import Settings, last_sweeps
from sklda._models.gibbs import GibbsLDA

# Default of `max_iter`: the tokens that all sweeps of a chain draw are the third number, but the sweeps lie between the
# other two.
SWEEPS_ON_A_GRID = 400, 5000, 1.6e8
SWEEPS_OF_EM = 30, 1000, 2e8


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
class GridSettings(Settings):
    """Settings of chains on (h, z)."""

    n_tuning: int = 0  # sweeps of every chain to tune serial tempering, or of the burn-in of full Bayes
    grid_is_region: bool = False  # whether the grid covers the box that is searched; otherwise it covers a part of it
    tempering: Tempering = field(default_factory=Tempering)
    functionals: tuple[Callable[..., float], ...] = ()  # functions of (doc_topic, topic_word)

    def search_region(self, grid_region: tuple) -> tuple:
        """The box in which the maximum is searched, given the region of the grid."""
        whole = self.grid_is_region or self.tempering.estimator == "simple"
        return self.region if whole else wider(grid_region, self.region)


def checked_lengths(
    sweeps: tuple, n_tokens: int, n_tuning: int | None, max_iter: int | None, n_chains: int | None
) -> tuple[int, int, int]:
    """`n_tuning`, `max_iter` and the number of chains; if None, from the size of the corpus."""
    for name, given in (("n_tuning", n_tuning), ("max_iter", max_iter), ("n_chains", n_chains)):
        if given is not None:
            check_int(given, name, 1)
    n_tokens = max(n_tokens, 1)
    least, most, tokens = sweeps
    if n_tuning is None:
        n_tuning = last_sweeps(n_tokens)
    if max_iter is None:
        max_iter = int(np.clip(tokens // n_tokens, least, most))
    return n_tuning, max_iter, 4 if n_chains is None else n_chains


def checked_region(given: Any) -> tuple | None:
    """The region as a pair of (float, float), or None."""
    if given is None:
        return None
    region = real_numbers(given, "region")
    if region.shape != (2, 2) or not ((region >= SMALLEST) & (region <= LARGEST)).all():
        raise ValueError(
            "region must be ((alpha_low, alpha_high), (eta_low, eta_high)) between "
            f"{SMALLEST:g} and {LARGEST:g}, got {given!r}."
        )
    if (region[:, 0] >= region[:, 1]).any():
        raise ValueError(f"region must have low < high for both priors, got {given!r}.")
    return tuple((float(low), float(high)) for low, high in region)


def checked_functionals(given: Any) -> dict[str, Callable[..., float]]:
    """The functionals by name."""
    functionals = dict(given or {})
    for name, function in functionals.items():
        if not callable(function):
            raise TypeError(f"functionals[{name!r}] must be a function of (doc_topic, topic_word), got {function!r}.")
    return functionals


def wider(region: tuple, within: tuple) -> tuple:
    """The region, wider by half its length at both ends on the scale of logarithms, but not beyond `within`."""
    result = []
    for (low, high), (lowest, highest) in zip(region, within, strict=True):
        more = np.sqrt(high / low)
        result.append((max(low / more, lowest), min(high * more, highest)))
    return tuple(result)


def read_problem(X: Any, n_components: int, alpha: Any = None, eta: Any = None) -> tuple[Corpus, Priors]:
    """The corpus and the first priors."""
    check_int(n_components, "n_components", 1)
    corpus = Corpus.from_counts(X)
    if corpus.n_tokens == 0:
        raise ValueError(f"X has {corpus.n_documents} documents and no token at all.")
    return corpus, Priors.make(alpha, eta, n_components, corpus.n_features)


def topics_at(X: Any, pool: Any, log_h: Any) -> dict[str, Any]:
    """The priors found, log h for each chain, and a `GibbsLDA` of the most probable last state of the chains there."""
    for chain, own in zip(pool.chains, log_h, strict=True):
        MStep().set(chain, own)
    best = max(pool.chains, key=lambda chain: chain.log_joint())
    alpha, eta = best.priors.doc[0], float(best.priors.word[0])
    alpha = float(alpha[0]) if (alpha == alpha[0]).all() else alpha.copy()
    K = len(best.priors.doc[0])
    priors = {"doc_topic_prior": alpha, "topic_word_prior": eta}
    options = {"n_components": K, "random_state": random.key(pool.seed) % 2**32, **priors}
    return {**priors, "model": GibbsLDA.from_assignments(X, best.topics, **options)}
