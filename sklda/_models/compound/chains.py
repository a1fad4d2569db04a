"""The chains of a fit of compound LDA: new ones, or those of a fit that is continued."""

from sklda._core import random
from sklda._core.gibbs_em import BOUNDS, MStep
from sklda._models.compound.concentrations import SMALLEST_HDP_ETA
from sklda._models.compound.hdp import HDPMixtures
from sklda._models.compound.mixtures import GammaMStep, Mixtures
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.prior_learning import EVERY, LAST_DRAWS, Learner
from sklda._sampling.some_topics import SomeTopicsChain


def first_chains(corpus, priors, model, n_chains, seed):
    """New chains, each with a stream of its own."""
    seeds = [random.child(seed, c) for c in range(n_chains)]
    return [chain_with_mixtures(corpus, priors, each, model, model.alpha, model.gamma) for each in seeds]


def chain_with_mixtures(corpus, priors, seed, model, alpha, gamma, mixtures=Mixtures):
    """A chain with random topics, and the steps that draw its mixtures and learn priors. Of `priors`, eta is used."""
    chain = _kind(model).initialise_randomly(corpus, priors, random.child(seed, 0))
    seed, K = random.child(seed, 1), priors.n_components
    hdp = model.concentrations
    chain.steps = [HDPMixtures(model, seed, K) if hdp else mixtures(model, seed, K, alpha, gamma)]
    if model.learn_gamma:
        chain.steps.append(Learner(GammaMStep()))
    if model.learn_eta:
        m_step = MStep((None, (SMALLEST_HDP_ETA, BOUNDS[1]) if hdp else BOUNDS))
        chain.steps.append(Learner(m_step, **(_with_merges(model) if hdp else {})))
    chain.steps[0].begin(chain)
    return chain


def _with_merges(model):
    """Merges need an eta that fits from the beginning; the last M-step uses draws after the merges."""
    return {"first_sweep": 0, "n_last": max(min((model.burn_in - model.merging) // EVERY, LAST_DRAWS), 1)}


def _kind(model):
    return SomeTopicsChain if model.concentrations else GibbsChain


def continued_chains(corpus, priors, model, states):
    """Chains at the states of an earlier fit."""
    chains = [_kind(model)(corpus, priors, state) for state in states]
    for chain in chains:
        chain.step(Mixtures).model = model
    return chains
