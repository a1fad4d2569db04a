"""The evidence of modes of the topic assignments, by guided annealing from a chain in each mode."""

from dataclasses import dataclass

import numpy as np

from sklda._inference import random
from sklda._inference.evidence.estimates import Target, estimate
from sklda._inference.held_out.averages import log_mean_exp
from sklda._inference.sampling.collapsed import ChainState

# In nats, as an order of magnitude: annealing is not run if its downward bias may be larger.
_LARGEST_BIAS = 100
# A mode with less weight than this, times the largest, is dropped.
NEGLIGIBLE = 1e-3


@dataclass(frozen=True, eq=False)
class ModeEvidence:
    """log p(w | priors) by runs from the modes of chains.

    Attributes
    ----------
    value : ndarray of shape (n_chains,)
        Nats.
    std : float
        Standard deviation of the logarithm of a single run, pooled over the chains; NaN with one run each. The error
        of `value` is smaller, but the delta method would understate it, because the best run dominates it.
    ends : list of list of ndarray
        Topics at the ends of the runs of every chain, the run with the largest weight first.
    """

    value: np.ndarray
    std: float
    ends: list


def can_tell_modes_apart(corpus, n_components, n_temperatures):
    """Whether annealing is precise enough: its downward bias is a few times K (D + V) / temperatures nats."""
    return n_components * (corpus.n_documents + corpus.n_features) < _LARGEST_BIAS * n_temperatures


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
    (found,) = estimate(corpus, targets, **options, n_jobs=n_jobs)
    log_weights = found.log_weights
    ends = np.array([end.topics for end in found.ends]).reshape(*log_weights.shape, -1)
    ends = [list(own[np.argsort(-row)]) for own, row in zip(ends, log_weights, strict=True)]
    std = float(np.sqrt(log_weights.var(axis=1, ddof=1).mean())) if n_runs > 1 else np.nan
    return ModeEvidence(log_mean_exp(log_weights.T)[0], std, ends)


def log_mode_weights(log_evidence, std):
    """Log weights of modes, 0 for the best: the difference of their evidence, less its standard error."""
    return -np.maximum(log_evidence.max() - log_evidence - np.sqrt(2) * std, 0.0)
