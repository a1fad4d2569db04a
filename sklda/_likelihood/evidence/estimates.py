"""Estimates of log p(w | K, alpha, eta) by any method, from several chains."""

from dataclasses import dataclass

import numpy as np

from sklda._core import random
from sklda._core.parallel import in_parallel
from sklda._likelihood.evidence.annealing import Guide, check_memory_of_runs, guided_run, prior_run
from sklda._likelihood.evidence.bennett import Runs, run_both_ways, sweeps_both_ways
from sklda._likelihood.evidence.combining import CountEvidence, EvidenceTable
from sklda._likelihood.evidence.without_annealing import cgs_transition, harmonic_mean, inverse_by_chib
from sklda._likelihood.held_out.averages import log_mean, log_mean_exp
from sklda._sampling.choice import chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.initialisation import check_exchangeable, initialise_chain

METHODS = ("guided_ais", "ais", "cgs_transition", "chib", "harmonic_mean_z", "harmonic_mean_psi")
ANNEALED = METHODS[:2]
# Methods whose estimates of p(w) are unbiased.
UNBIASED = METHODS[:3]

# Sweeps of a chain between its initialisation and its first use.
_SETTLING_SWEEPS = 50


@dataclass(frozen=True)
class EvidenceSettings:
    """How the evidence of one number of topics is estimated."""

    method: str  # one of `METHODS`
    n_sweeps: int  # length of an annealing run; of the first ones, where later ones may be longer
    n_runs: int  # runs of a chain, in each direction
    n_inner: int  # sweeps of one estimate, for methods that do not anneal

    @property
    def annealed(self):
        """Whether the runs are annealed, and more precise if they are longer."""
        return self.method in ANNEALED

    @property
    def needs_chain(self):
        """Whether the runs begin at a state of z; annealing from the prior does not."""
        return self.method != "ais"

    def sweeps_of_runs(self, n_sweeps):
        """Sweeps of the runs of a chain, of this length, with those of their guide."""
        if self.annealed:
            return sweeps_both_ways(n_sweeps, self.n_runs, self.method == "guided_ais")
        return self.n_runs * self.n_inner

    def sweeps_of_estimate(self):
        """Sweeps of the runs in one direction from a known state, with their guide."""
        if not self.annealed:
            return self.n_runs * self.n_inner
        return self.n_runs * (self.n_sweeps + 1) + (self.n_sweeps if self.method == "guided_ais" else 0)


def log_evidence(corpus, priors, settings, *, n_chains, init, seed, n_jobs=None):
    """log p(w | priors) and its standard error, which contains the error of the sum over topic labels.

    `sklda.metrics.log_evidence` describes the options. A list for `init` has initialisations that chains take in turn;
    arrays of topics are among them. Methods that do not anneal have the log of the mean over chains, as published.
    """
    if isinstance(init, str) and init == "prune":
        check_exchangeable(priors, "init='prune' merges topics")
    # Annealed and pruned chains find different modes; pruning needs topics that can be merged.
    kinds = ("prune", "anneal") if priors.exchangeable else ("anneal",)
    if init is not None:
        kinds = init if isinstance(init, list) else [init]
    # Before any of them runs.
    check_memory_of_runs(corpus, priors.n_components, settings.method)
    tasks = [(corpus, priors, settings, kinds[c % len(kinds)], random.child(seed, c)) for c in range(n_chains)]
    found = in_parallel(_runs_of_new_chain, tasks, n_jobs)
    if not settings.annealed:
        value, std = log_mean_exp(np.concatenate([runs.forward for runs in found]))
        return float(value), float(std) if n_chains > 1 else np.inf
    table = EvidenceTable.of({priors.n_components: CountEvidence(settings.n_sweeps, found)})
    return float(table.value[0]), float(np.hypot(table.std, table.common)[0])


def _runs_of_new_chain(corpus, priors, settings, init, seed, stop):
    chain = None
    if settings.needs_chain:
        first = random.child(seed, 0)
        chain = initialise_chain(init, corpus, priors, first, chain_class("collapsed", corpus, priors), stop)
        for _ in range(_SETTLING_SWEEPS):
            chain.sweep(stop)
    return runs_of_chain(corpus, priors, chain, settings, settings.n_sweeps, seed, stop)


def runs_of_chain(corpus, priors, chain, settings, n_sweeps, seed, stop):
    """`Runs` of a chain, of this length; methods that do not anneal have one value, in both directions.

    Annealing from the prior takes no chain.
    """
    if settings.annealed:
        chain = chain if settings.needs_chain else None
        return run_both_ways(corpus, priors, chain, n_sweeps, settings.n_runs, seed, stop)
    log_weights, ends = forward_runs(corpus, priors, chain.state(), settings, random.child(seed, 1), stop)
    value = np.array([log_mean(log_weights)])
    return Runs(forward=value, backward=value, end=ends[-1], priors=priors)


def forward_runs(corpus, priors, state, settings, seed, stop):
    """Estimates of log p(w) by runs in one direction from a state of z, (n_runs,), and the states in which they end."""
    # The other methods need sweeps in the order of `log_transition`.
    kind = chain_class("collapsed", corpus, priors) if settings.annealed else GibbsChain
    chain = kind(corpus, priors, state)
    seeds = [random.child(seed, r) for r in range(settings.n_runs)]
    if settings.annealed:
        n_sweeps = settings.n_sweeps
        if settings.method == "guided_ais":
            guide = Guide.from_chain(chain, n_sweeps, stop)
            runs = [guided_run(corpus, guide, n_sweeps, own, stop) for own in seeds]
        else:
            runs = [prior_run(corpus, priors, n_sweeps, own, stop) for own in seeds]
        return np.array([run.log_weight for run in runs]), [run.state for run in runs]
    # With the chain's own stream, a second call would give the same estimates.
    chain.stream = random.stream(seed)
    log_weights = []
    ends = []
    for own in seeds:
        log_weights.append(_along_chain(chain, settings.method, settings.n_inner, own, stop))
        ends.append(chain.state().compact(priors.n_components))
    return np.array(log_weights), ends


def _along_chain(chain, method, n_inner, seed, stop):
    """log of an estimate of p(w) by the next `n_inner` sweeps of a chain."""
    if method == "cgs_transition":
        return log_mean(cgs_transition(chain, n_inner, stop))
    if method == "chib":
        return -log_mean(inverse_by_chib(chain, n_inner, stop))
    return -log_mean(harmonic_mean(chain, n_inner, seed, method.removeprefix("harmonic_mean_"), stop))
