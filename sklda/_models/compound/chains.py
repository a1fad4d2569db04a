"""The chains of a fit of compound LDA: new ones, or those of a fit that is continued."""

from sklda._core import random
from sklda._core.gibbs_em import BOUNDS
from sklda._models.compound.concentrations import SMALLEST_HDP_ETA
from sklda._models.compound.hdp import HDPMixtures
from sklda._models.compound.mixtures import MixtureMStep, Mixtures
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.merge_and_split import MergeAndSplit
from sklda._sampling.prior_learning import EVERY, LAST_DRAWS, Learner
from sklda._sampling.some_topics import SomeTopicsChain


def first_chains(corpus, priors, model, n_chains, seed, mixtures=Mixtures):
    """New chains, each with a stream of its own; `mixtures` is the class of the step that draws pi."""
    seeds = [random.child(seed, c) for c in range(n_chains)]
    chains = [chain_with_mixtures(corpus, priors, each, model, model.alpha, model.gamma, mixtures) for each in seeds]
    if not model.concentrations:
        # The HDP merges topics itself.
        for chain in chains:
            chain.steps.insert(0, MergeAndSplit(learns_alpha=True))
    return chains


def chain_with_mixtures(corpus, priors, seed, model, alpha, gamma, mixtures=Mixtures):
    """A chain with random topics, and the steps that draw its mixtures and learn priors. Of `priors`, eta is used."""
    chain = _kind(model).initialise_randomly(corpus, priors, random.child(seed, 0))
    seed, K = random.child(seed, 1), priors.n_components
    hdp = model.concentrations
    chain.steps = [HDPMixtures(model, seed, K) if hdp else mixtures(model, seed, K, alpha, gamma)]
    if model.learns:
        m_step = MixtureMStep(model.learn_gamma, model.learn_eta, (SMALLEST_HDP_ETA, BOUNDS[1]) if hdp else BOUNDS)
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
