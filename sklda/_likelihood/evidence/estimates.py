"""Estimates of log p(w | K, alpha, eta) by annealing, from several chains."""

from dataclasses import dataclass

import numpy as np

from sklda._core import random
from sklda._core.parallel import in_parallel
from sklda._input.memory import check_memory_of_runs
from sklda._likelihood.evidence.bennett import run_both_ways
from sklda._likelihood.evidence.combining import CountEvidence, EvidenceTable
from sklda._sampling.annealed_start import annealed_chain
from sklda._sampling.choice import chain_class
from sklda._sampling.initialisation import initialise_chain

# Along a guide near the posterior, or from the prior.
METHODS = ("guided_ais", "ais")

# Sweeps of a chain between its initialisation and its first use.
_SETTLING_SWEEPS = 50


@dataclass(frozen=True)
class EvidenceSettings:
    """How the evidence of one number of topics is estimated."""

    method: str  # one of `METHODS`
    n_sweeps: int  # length of an annealing run; of the first ones, where later ones may be longer
    n_runs: int  # runs of a chain, in each direction

    @property
    def needs_chain(self):
        """Whether the runs begin at a state of z; annealing from the prior does not."""
        return self.method == "guided_ais"


def annealed_evidence(corpus, priors, settings, *, n_chains, init, seed, n_jobs=None):
    """log p(w | priors) and its standard error, which contains the error of the sum over topic labels.

    The public function describes the options. A list for `init` has initialisations that chains take in turn;
    arrays of topics are among them.
    """
    kinds = kinds_of_starts(init, priors)
    # Before any of them runs.
    check_memory_of_runs(corpus, priors.n_components, settings.method)
    tasks = [(corpus, priors, settings, kinds[c % len(kinds)], random.child(seed, c)) for c in range(n_chains)]
    found = in_parallel(_runs_of_new_chain, tasks, n_jobs)
    table = EvidenceTable.of({priors.n_components: CountEvidence(settings.n_sweeps, found)})
    return float(table.value[0]), float(np.hypot(table.std, table.common)[0])


def kinds_of_starts(init, priors):
    """The initialisations that chains take in turn."""
    if isinstance(init, str) and init == "prune":
        priors.check_exchangeable("init='prune' merges topics")
    if init is not None:
        return init if isinstance(init, list) else [init]
    # Annealed and pruned chains find different modes; pruning needs topics that can be merged.
    return ("prune", "anneal") if priors.exchangeable else ("anneal",)


def settled_chain(corpus, priors, init, seed, stop):
    """A new chain after some sweeps."""
    if isinstance(init, str) and init == "anneal":
        chain = annealed_chain(corpus, priors, seed, stop)
    else:
        chain = initialise_chain(init, corpus, priors, seed, chain_class("collapsed", corpus, priors), stop)
    for _ in range(_SETTLING_SWEEPS):
        chain.sweep(stop)
    return chain


def _runs_of_new_chain(corpus, priors, settings, init, seed, stop):
    chain = settled_chain(corpus, priors, init, random.child(seed, 0), stop) if settings.needs_chain else None
    return runs_of_chain(corpus, priors, chain, settings, settings.n_sweeps, seed, stop)


def runs_of_chain(corpus, priors, chain, settings, n_sweeps, seed, stop):
    """`Runs` of a chain, of this length. Annealing from the prior takes no chain."""
    chain = chain if settings.needs_chain else None
    return run_both_ways(corpus, priors, chain, n_sweeps, settings.n_runs, seed, stop)
