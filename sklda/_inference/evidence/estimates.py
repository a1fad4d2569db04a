"""Estimates of log p(w | K, alpha, eta) by any method, from several chains and in several runs from each."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from sklda._inference import random
from sklda._inference.evidence.annealing import Guide, guided_run, prior_run, reserve_runs
from sklda._inference.evidence.cgs_transition import cgs_transition
from sklda._inference.evidence.chib import inverse_by_chib
from sklda._inference.evidence.combining import combine_chains
from sklda._inference.evidence.harmonic_mean import harmonic_mean
from sklda._inference.held_out.averages import log_mean
from sklda._inference.parallel import in_parallel
from sklda._inference.priors import Priors
from sklda._inference.sampling.choice import chain_class
from sklda._inference.sampling.collapsed import GibbsChain
from sklda._inference.sampling.initialisation import initialise_chains

METHODS = ("guided_ais", "ais", "cgs_transition", "chib", "harmonic_mean_z", "harmonic_mean_psi")
ANNEALED = METHODS[:2]
# Methods whose estimates of p(w) are unbiased.
UNBIASED = METHODS[:3]

# With at most this many tokens, annealing from the prior is run as well as the guided one. With more, its path crosses
# a phase transition, and its estimates are thousands of nats too low.
SMALL_CORPUS = 5000
# Temperatures of that annealing, relative to those of the guided one.
_PRIOR_AIS_FACTOR = 10
# Sweeps of a chain between its initialisation and its first use.
_SETTLING_SWEEPS = 50


@dataclass(frozen=True, eq=False)
class Target:
    """A model whose evidence is to be estimated."""

    priors: Priors
    states: list  # of the chains, near modes of the posterior
    seed: np.random.SeedSequence


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of the evidence of one `Target`."""

    log_weights: np.ndarray  # estimates of log p(w), (n_chains, n_runs)
    ends: list  # states at the ends of the runs, chain by chain
    label_error: float  # the largest error of a sum over topic labels, in nats
    states: list  # of the chains after the estimates


def log_evidence(corpus, priors, *, method, n_temperatures, n_runs, n_chains, n_inner, init, seed, n_jobs=None):
    """log p(w | priors) and its standard error, from chains that are initialised here.

    The error contains the downward bias and the error of the sum over topic labels. `sklda.metrics.log_evidence`
    describes the options.
    """
    # Annealed and pruned chains find different modes; pruning needs topics that can be merged.
    kinds = (init,) if init else ("prune", "anneal") if priors.exchangeable else ("anneal",)
    inits = [kinds[c % len(kinds)] for c in range(n_chains)]
    kind, seeds = chain_class("collapsed", corpus, priors), [random.child(seed, 0, c) for c in range(n_chains)]
    reserved = reserve_runs(corpus, priors.n_components, method)
    chains = initialise_chains(corpus, priors, seeds, inits, n_jobs, kind)
    for chain in chains:
        for _ in range(_SETTLING_SWEEPS):
            chain.sweep()
    del reserved
    target = Target(priors, [chain.state() for chain in chains], random.child(seed, 1))
    options = {"method": method, "temperatures": [n_temperatures] * n_runs, "n_inner": n_inner, "n_jobs": n_jobs}
    (found,) = estimate_evidence(corpus, [target], **options)
    value, std, bias = combine_chains(found.log_weights)
    return value, float((std**2 + bias**2 + found.label_error**2) ** 0.5)


def estimate_evidence(corpus, targets, *, method, temperatures, n_inner, also_prior_ais=True, n_jobs=None):
    """Estimates of the evidence of several targets, an `Estimates` for each; all chains run in parallel.

    `temperatures` has the temperatures of each run of a chain; for methods that do not anneal only the number of runs
    is used, and a run has `n_inner` sweeps. With `also_prior_ais`, for up to 5,000 tokens annealing from the prior is
    run as well as the guided one, in ten times as many temperatures, and the larger mean is kept. Estimates are exactly
    unbiased only without it.
    """
    methods = {method: temperatures}
    if also_prior_ais and uses_both(corpus, method):
        methods["ais"] = [_PRIOR_AIS_FACTOR * n for n in temperatures]
    tasks = [
        (corpus, target.priors, state, each, lengths, n_inner, random.child(target.seed, METHODS.index(each), c))
        for target in targets
        for each, lengths in methods.items()
        for c, state in enumerate(target.states)
    ]
    parts = iter(in_parallel(runs_of_chain, tasks, n_jobs))
    return [_larger([_gather([next(parts) for _ in target.states]) for _ in methods]) for target in targets]


def uses_both(corpus, method):
    """Whether `estimate_evidence` anneals from the prior as well as by the guide, by default."""
    return method == "guided_ais" and corpus.n_tokens <= SMALL_CORPUS


def _gather(chains):
    """One `Estimates` from those of single chains."""
    return Estimates(
        np.concatenate([chain.log_weights for chain in chains]),
        [end for chain in chains for end in chain.ends],
        max(chain.label_error for chain in chains),
        [state for chain in chains for state in chain.states],
    )


def _larger(found):
    """The `Estimates` with the largest mean, but with the chains' states of the first.

    By Markov's inequality no mean is likely to be far above p(w), but it may be far below: the larger one is closer.
    """
    best = max(found, key=lambda each: logsumexp(each.log_weights))
    return Estimates(best.log_weights, best.ends, best.label_error, found[0].states)


def runs_of_chain(corpus, priors, state, method, temperatures, n_inner, seed, stop):
    """The `Estimates` of one chain, see `estimate_evidence`."""
    # The other methods need sweeps in the order of `log_transition`.
    kind = chain_class("collapsed", corpus, priors) if method in ANNEALED else GibbsChain
    chain = kind(corpus, priors, state)
    seeds = [random.child(seed, r) for r in range(len(temperatures))]
    if method in ANNEALED:
        guided = method == "guided_ais"
        # A guide of fewer sweeps is narrower than what a run can reach: weights are lower, by more with more topics.
        n_guide = max(temperatures)
        source, anneal = (Guide.from_chain(chain, n_guide, stop), guided_run) if guided else (priors, prior_run)
        runs = [anneal(corpus, source, n, own, stop) for n, own in zip(temperatures, seeds, strict=True)]
        log_weights, ends = [run.log_weight for run in runs], [run.state for run in runs]
        label_error = max(run.label_error for run in runs)
    else:
        # With the chain's own stream, a second call would give the same estimates.
        chain.stream = random.stream(seed)
        log_weights, ends, label_error = [], [], 0.0
        for own in seeds:
            log_weights.append(_along_chain(chain, method, n_inner, own, stop))
            ends.append(chain.state().compact(priors.n_components))
    return Estimates(np.array([log_weights]), ends, label_error, [chain.state().compact(priors.n_components)])


def _along_chain(chain, method, n_inner, seed, stop):
    """log of an estimate of p(w) by the next `n_inner` sweeps of a chain."""
    if method == "cgs_transition":
        return log_mean(cgs_transition(chain, n_inner, stop))
    if method == "chib":
        return -log_mean(inverse_by_chib(chain, n_inner, stop))
    return -log_mean(harmonic_mean(chain, n_inner, seed, method.removeprefix("harmonic_mean_"), stop))
