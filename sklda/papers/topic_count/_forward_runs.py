"""Estimates of log p(w | T) in one direction from a state of z, by any method of the paper or by annealing."""

from dataclasses import dataclass

import numpy as np

from sklda._core import random
from sklda._input.memory import check_memory_of_runs, check_memory_of_topics
from sklda._likelihood.evidence.annealing import Guide, guided_run, prior_run
from sklda._likelihood.held_out.averages import log_mean
from sklda._sampling.choice import chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda.papers.topic_count._estimators import cgs_transition, harmonic_mean, inverse_by_chib

ANNEALED = ("guided_ais", "ais")
BY_SWEEPS = ("cgs_transition", "chib", "harmonic_mean_z", "harmonic_mean_psi")
# Methods whose estimates of p(w) are unbiased. Random streams depend on this order.
UNBIASED = (*ANNEALED, "cgs_transition")


@dataclass(frozen=True)
class ForwardSettings:
    """How p(w | T) is estimated."""

    method: str  # one of `ANNEALED` or of `BY_SWEEPS`
    n_sweeps: int  # length of an annealing run
    n_runs: int  # estimates from a chain
    n_inner: int  # sweeps of one estimate, for methods that do not anneal

    @property
    def annealed(self):
        return self.method in ANNEALED


def check_memory_of_chains(corpus, n_components, method):
    """Refuse runs by a method if their guides or draws certainly do not fit into the memory."""
    if method == "chib":
        # The topics of every token are counted.
        check_memory_of_topics(n_components, 2 * corpus.n_tokens)
    else:
        check_memory_of_runs(corpus, n_components, method)


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
