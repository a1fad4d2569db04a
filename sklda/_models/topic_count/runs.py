"""New chains at a number of topics, and their runs."""

from dataclasses import replace

import numpy as np

from sklda._core import random
from sklda._likelihood.evidence.estimates import runs_of_chain
from sklda._sampling.annealed_start import anneal
from sklda._sampling.initialisation import prune

# Least sweeps in which a chain before runs is annealed, relative to those of the first runs (no unit), also if the
# budget shortens these. With 600,000 tokens and 20 topics, four chains of 72 sweeps ended 4,000 to 34,000 nats below
# those of 144, which differed by 1,500.
_START_SHARE = 1.5
# The kinds of new chains at a number of topics, in turn. On simulated corpora with fewer topics than are true, annealed
# chains end in modes 50 to 1,000 nats below those of pruned ones; on some real corpora pruned ones end lower.
_STARTS = prune, anneal
# With one topic z is known, and every run is exact.
_EXACT_SWEEPS = 2


def run_chain(corpus, rule, priors, settings, n_sweeps, kind, seed, stop):
    """`Runs` of a new chain, with the evidence at unknown priors by that at the priors on which the chain settles."""
    T, n_start = priors.n_components, start_sweeps(settings, priors.n_components, n_sweeps)
    n_sweeps = n_sweeps if T > 1 else _EXACT_SWEEPS
    chain, change = None, 0.0
    if settings.needs_chain or rule.unknown:
        chain = _STARTS[kind % len(_STARTS)](corpus, priors, random.child(seed, 0), stop, n_sweeps=n_start)
        change = rule.settle(chain, n_start, np.random.default_rng(random.child(seed, 3)), stop)
        priors = chain.priors
    runs = runs_of_chain(corpus, priors, chain, settings, n_sweeps, seed, stop)
    return replace(runs, forward=runs.forward + change, backward=runs.backward + change)


def start_sweeps(settings, T, n_sweeps):
    """Sweeps of a new chain before runs of this length, annealed or with merges; and those at unknown priors."""
    return max(n_sweeps, int(_START_SHARE * settings.n_sweeps)) if T > 1 else _EXACT_SWEEPS


def sweeps_of_chain(settings, rule, T, n_sweeps):
    """Sweeps of `run_chain`."""
    n_start = start_sweeps(settings, T, n_sweeps)
    stages = (settings.needs_chain or rule.unknown) + rule.unknown
    return stages * n_start + settings.sweeps_of_runs(n_sweeps if T > 1 else _EXACT_SWEEPS)
