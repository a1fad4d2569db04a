"""The evidence of modes of the topic assignments, by guided annealing in both directions from a chain in each mode."""

from dataclasses import dataclass

import numpy as np

from sklda._core import random
from sklda._likelihood.evidence.bennett import run_both_ways
from sklda._likelihood.evidence.combining import CountEvidence
from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.run_chains import NO_RUN

# In nats, as an order of magnitude: annealing is not run if half the distance of the two directions may be larger.
_LARGEST_BIAS = 100


@dataclass(frozen=True, eq=False)
class ModeEvidence:
    """log p(w | priors) by runs from the modes of chains."""

    value: np.ndarray  # by the runs in both directions, in nats, (n_chains,)
    std: float  # standard error of a value by its runs, pooled over the chains


def can_tell_modes_apart(corpus, n_components, n_temperatures):
    """Whether annealing is precise: half the distance of its directions is a few K (D + V) / temperatures nats."""
    return n_components * (corpus.n_documents + corpus.n_features) < _LARGEST_BIAS * n_temperatures


def mode_evidence(chains, priors, n_temperatures, n_runs, seed, n_jobs=None, run=NO_RUN) -> ModeEvidence:
    """The evidence of the modes of chains, by `n_runs` runs of guided annealing in each direction from each chain."""
    tasks = [(chain, priors, n_temperatures, n_runs, random.child(seed, c)) for c, chain in enumerate(chains)]
    known = CountEvidence(n_temperatures, run.parallel(_runs_of_mode, tasks, n_jobs))
    return ModeEvidence(value=known.values, std=float(np.sqrt(known.run_variance)))


def _runs_of_mode(chain, priors, n_temperatures, n_runs, seed, stop):
    corpus = chain.corpus
    state = ChainState(chain.topics, random.stream(random.child(seed, 0)))
    own = chain_class("collapsed", corpus, priors)(corpus, priors, state)
    return run_both_ways(corpus, priors, own, n_temperatures, n_runs, seed, stop)
