"""Annealed importance sampling (AIS) of the topics of a document, given topics phi.

Every document has a chain over its topics z and a log weight. The exponential of the weight is an unbiased estimate of
p(w_d | phi, alpha).
"""

from dataclasses import dataclass

import numpy as np

from sklda._kernels import _annealing

# Constants of guided AIS. Iterations of CVB0 that make the guide:
_GUIDE_ITERATIONS = 10
# The guide's strength at the first temperature, without unit:
_FIRST_STRENGTH = 10.0
# Bounds of its strength at the last temperature, which is a tenth of the mean alpha: the guide must be weak compared
# with the prior.
_LAST_STRENGTH = (1e-5, 0.01)


@dataclass(frozen=True, eq=False)
class AnnealingState:
    """The state of annealing for the documents of a block. Kernels change the arrays in place."""

    log_weights: np.ndarray  # (n_documents,)
    topics: np.ndarray  # int32 (n_tokens,); -1: none yet, the first sweep draws it
    streams: np.ndarray  # uint64 (n_documents, 4): states of the random generators


def guided_ais(block, stop, *, n_temperatures):
    """Log weights of guided AIS, (n_documents,)."""
    return guided_state(block, stop, n_temperatures=n_temperatures).log_weights


def guided_state(block, stop, *, n_temperatures):
    """The `AnnealingState` at the end of guided AIS."""
    state = AnnealingState(
        block.zeros(), np.full(len(block.words), -1, np.int32), np.zeros((block.n_documents, 4), np.uint64)
    )
    if len(block.words):
        _annealing.guided(
            *block.arguments,
            strengths(block.prior, n_temperatures),
            _GUIDE_ITERATIONS,
            state.topics,
            state.streams,
            state.log_weights,
            block.floats(block.most_distinct),
            np.empty((2, block.most_distinct), np.int32),
            block.floats(_annealing.GUIDE_ROWS),
            block.counts(),
            block.doubles(3),
            stop.flag,
        )
    return state


def strengths(doc_topic_prior, n_temperatures):
    """The strengths of the guide, (1 or n_documents, n_temperatures). The last one is smaller if alpha is small."""
    last = np.clip(doc_topic_prior.mean(axis=1) / 10, *_LAST_STRENGTH)
    return np.ascontiguousarray(np.geomspace(_FIRST_STRENGTH, last, n_temperatures, axis=1))
