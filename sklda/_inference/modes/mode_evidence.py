"""The evidence of modes of the topic assignments, by guided annealing from a chain in each mode."""

from dataclasses import dataclass

import numpy as np

from sklda._inference import random
from sklda._inference.evidence.estimates import Target, estimate_evidence
from sklda._inference.sampling.collapsed import ChainState

# In nats, as an order of magnitude: annealing is not run if its downward bias may be larger.
_LARGEST_BIAS = 100


@dataclass(frozen=True, eq=False)
class ModeEvidence:
    """log p(w | priors) by runs from the modes of chains.

    Attributes
    ----------
    value : ndarray of shape (n_chains,)
        Means over runs of the logarithms of their weights, nats. They are too low, by about the same for all modes. The
        logarithm of the mean weight would be less biased, but single lucky runs dominate it.
    std : float
        Standard error of a value, pooled over the chains; NaN with one run each.
    """

    value: np.ndarray
    std: float


def can_tell_modes_apart(corpus, n_components, n_temperatures):
    """Whether annealing is precise enough: its downward bias is a few times K (D + V) / temperatures nats."""
    return n_components * (corpus.n_documents + corpus.n_features) < _LARGEST_BIAS * n_temperatures


def sweeps_of_evidence(n_temperatures, n_runs):
    """Sweeps of `mode_evidence` for each chain: a guide, and the runs."""
    return n_temperatures + n_runs * (n_temperatures + 1)


def mode_evidence(chains, priors, n_temperatures, n_runs, seed, n_jobs=None):
    """The evidence of the modes of chains, by `n_runs` runs of guided annealing from each chain.

    Returns
    -------
    ModeEvidence
    """
    corpus = chains[0].corpus
    states = [ChainState(chain.topics, random.stream(random.child(seed, 0, c))) for c, chain in enumerate(chains)]
    targets = [Target(priors, states, random.child(seed, 1))]
    options = {"method": "guided_ais", "temperatures": [n_temperatures] * n_runs, "n_inner": 0, "also_prior_ais": False}
    (found,) = estimate_evidence(corpus, targets, **options, n_jobs=n_jobs)
    std = float(np.sqrt(found.log_weights.var(axis=1, ddof=1).mean() / n_runs)) if n_runs > 1 else np.nan
    return ModeEvidence(found.log_weights.mean(axis=1), std)
