"""Annealed starts: the first sweeps of a chain have larger priors, at which the posterior has fewer modes."""

from dataclasses import dataclass

import numpy as np

from sklda._core.priors import LARGEST
from sklda._sampling.choice import chain_class
from sklda._sampling.prior_path import PriorPath
from sklda._sampling.steps import Step

# Sweeps of an annealed start that a fit, a search or an estimate makes in addition to its own sweeps, and the factor of
# both priors in the first of them.
ANNEAL_SWEEPS, _ANNEAL_FACTOR = 300, 10.0
# The share of the sweeps of a fit that are annealed, the largest number of them, and the factor in the first of them.
# benchmarks/bench_starts.py shows what half and twice these values do. The largest number is for fits with `tol`, whose
# `max_iter` is a limit and not a plan: half and twice of it do not change the score.
_SHARE, _MOST, _FACTOR = 0.4, 400, 20.0


@dataclass(frozen=True)
class Annealing:
    """The first sweeps of a chain have both priors times a factor, which falls geometrically to one.

    Attributes
    ----------
    n_sweeps : int
        Number of annealed sweeps.
    factor : float
        The factor in the first sweep. It is smaller if a prior would exceed its largest value.
    """

    n_sweeps: int
    factor: float = _FACTOR

    @classmethod
    def within(cls, n_sweeps, burn_in=None):
        """The annealed sweeps of a fit of `n_sweeps` sweeps in all.

        They are the same share of a given burn-in as of that without a given one, (1 + `_SHARE`) / 2 of all sweeps.
        """
        n_sweeps = n_sweeps if burn_in is None else min(n_sweeps, burn_in * 2 / (1 + _SHARE))
        return cls(min(int(_SHARE * n_sweeps), _MOST))

    def factors(self, priors):
        """The factors of all sweeps, for the priors at the end."""
        return np.geomspace(np.clip(LARGEST / priors.largest(), 1, self.factor), 1, self.n_sweeps)


NOT_ANNEALED = Annealing(0)


class AnnealedSweeps(Step):
    """Makes the first sweeps at larger priors. Before and after each of them, the chain has its own priors."""

    def __init__(self, annealing):
        self.annealing, self._own, self._factors = annealing, None, None

    def before(self, chain):
        if chain.n_sweeps >= self.annealing.n_sweeps:
            self._own = None
            return
        if chain.priors is not self._own:
            self._own, self._factors = chain.priors, self.annealing.factors(chain.priors)
        factor = self._factors[chain.n_sweeps]
        chain.priors = chain.priors.scaled(factor, factor)

    def after(self, chain, stop):
        if self._own is not None:
            chain.priors = self._own

    def end(self, chain):
        chain.n_annealed = min(chain.n_annealed, chain.n_sweeps)


def annealed_chain(corpus, priors, seed, stop, n_sweeps=ANNEAL_SWEEPS):
    """A chain after `n_sweeps` sweeps in which both priors decrease from ten times their values."""
    kind = chain_class("collapsed", corpus, priors)
    chain = kind.initialise_randomly(corpus, priors, seed)
    factors = Annealing(n_sweeps, _ANNEAL_FACTOR).factors(priors)
    chain.anneal(PriorPath.multiples(priors, np.append(factors, 1)), stop, weigh=False)
    chain.priors = priors
    return chain
