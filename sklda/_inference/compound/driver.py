"""Chains or variational ascents of a fit of compound LDA: initialise, continue and run."""

from sklda._inference import random
from sklda._inference.compound.chain import CompoundChain
from sklda._inference.compound.hdp_chain import HDPChain
from sklda._inference.compound.variational import VariationalAscent, maximise_bounds
from sklda._inference.sampling.run_chains import run_chains


def _kind(model):
    if model.concentrations:
        return HDPChain
    return VariationalAscent if model.method == "variational" else CompoundChain


def initialise(corpus, priors, model, hyperparameters, n_chains, seed):
    """New chains or ascents, each with a stream of its own."""
    eta = float(hyperparameters.eta) if model.learn_eta else None
    return [
        _kind(model).initialise(
            corpus, priors, random.child(seed, c), model, hyperparameters.alpha, hyperparameters.gamma, eta
        )
        for c in range(n_chains)
    ]


def continued(corpus, priors, model, states):
    """Chains or ascents at the states of an earlier fit."""
    return [_kind(model)(corpus, priors, state, model) for state in states]


def run(chains, n_iter, *, n_jobs=None, listener=None, schedule=None):
    """`n_iter` sweeps of each chain, or ascents until they have converged but no longer than that."""
    if isinstance(chains[0], VariationalAscent):
        return maximise_bounds(chains, n_iter, n_jobs=n_jobs, listener=listener)
    return run_chains(chains, n_iter, n_jobs=n_jobs, listener=listener, schedule=schedule)
