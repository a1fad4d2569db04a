"""New chains at a number of topics, and their runs."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from sklda._inference import random
from sklda._inference.evidence import estimates
from sklda._inference.evidence.bennett import Runs, run_both_ways, sweeps_both_ways
from sklda._inference.sampling.annealed_start import anneal
from sklda._inference.sampling.initialisation import prune

# Least sweeps in which a chain before runs is annealed, relative to those of the first runs (no unit), also if the
# budget shortens these. With 600,000 tokens and 20 topics, four chains of 72 sweeps ended 4,000 to 34,000 nats below
# those of 144, which differed by 1,500.
_START_SHARE = 0.5


@dataclass(frozen=True)
class EvidenceSettings:
    """How the evidence of one number of topics is estimated.

    Attributes
    ----------
    method : str
        One of `estimates.METHODS`.
    n_sweeps : int
        Length of the first runs, if the budget allows it.
    n_runs : int
        Runs of a chain, in each direction.
    n_inner : int
        Sweeps of one estimate, for methods that do not anneal.
    """

    method: str
    n_sweeps: int
    n_runs: int
    n_inner: int

    @property
    def annealed(self):
        """Whether the runs are annealed, and more precise if they are longer."""
        return self.method in estimates.ANNEALED

    def sweeps_of_chain(self, n_sweeps):
        """Sweeps of a new chain and its runs of this length."""
        if self.annealed:
            return sweeps_both_ways(n_sweeps, self.n_runs, self.start_of_runs(n_sweeps))
        return self.start(n_sweeps) + self.n_runs * self.n_inner

    def sweeps_of_estimate(self):
        """Sweeps of the runs in one direction from a known state, with their guide."""
        if not self.annealed:
            return self.n_runs * self.n_inner
        return self.n_runs * (self.n_sweeps + 1) + (self.n_sweeps if self.method == "guided_ais" else 0)

    def start(self, n_sweeps):
        """Sweeps of an annealed chain before runs of this length."""
        return max(n_sweeps, int(_START_SHARE * self.n_sweeps))

    def start_of_runs(self, n_sweeps):
        """The same, or None if runs begin at the prior of z."""
        return None if self.method == "ais" else self.start(n_sweeps)


# The kinds of new chains at a number of topics, in turn. On simulated corpora with fewer topics than are true, annealed
# chains end in modes 50 to 1,000 nats below those of pruned ones; on some real corpora pruned ones end lower.
_STARTS = prune, anneal


def run_chain(corpus, priors, settings, n_sweeps, kind, seed, stop):
    """`Runs` of a new chain; methods that do not anneal have one direction, and equal weights in both."""
    start = _STARTS[kind % len(_STARTS)]
    if settings.annealed:
        n_start = settings.start_of_runs(n_sweeps)
        return run_both_ways(corpus, priors, n_sweeps, settings.n_runs, seed, stop, n_start=n_start, start=start)
    state = start(corpus, priors, random.child(seed, 0), stop, settings.start(n_sweeps)).state()
    runs, own = [0] * settings.n_runs, random.child(seed, 1)
    found = estimates.runs_of_chain(corpus, priors, state, settings.method, runs, settings.n_inner, own, stop)
    value = logsumexp(found.log_weights, axis=1) - np.log(settings.n_runs)
    return Runs(value, value, found.states[0])


def learn_chain(corpus, rule, T, n_sweeps, seed, stop):
    """A new annealed chain's rule, with the priors that it learns, and its state."""
    chain = anneal(corpus, rule(T), seed, stop, n_sweeps)
    return rule.learn(chain), chain.state().compact(T)
