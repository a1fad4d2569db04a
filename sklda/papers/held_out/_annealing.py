"""Annealing of the topics of documents from one model to another."""

import numpy as np

from sklda._core.random import GOLDEN_GAMMA, splitmix64
from sklda._kernels import _annealing
from sklda._likelihood.held_out.ais import AnnealingState


def initial_state(block):
    """An `AnnealingState` without topics, whose streams depend on the keys of the documents."""
    steps = np.arange(4, dtype=np.uint64) * np.uint64(GOLDEN_GAMMA)
    topics = np.full(len(block.words), -1, np.int32)
    return AnnealingState(block.zeros(), topics, splitmix64(block.keys[:, None] + steps))


def anneal_between(block, first, last, last_prior, positions, state, stop, *, geometric=False, n_burn_in=1):
    """Anneal from one model to another, and add to the log weights of the `AnnealingState`, which is changed in place.

    `first` and `last` are phi of the two models, float32 (n_rows, width). The prior of `block` is the alpha of the
    first model, `last_prior` (1 or n_documents, n_components) that of the last. `positions` ascend; 0 is the first
    model, 1 the last. Between them phi is the arithmetic or the geometric mean.
    """
    if len(block.words):
        distinct = block.most_distinct
        _annealing.between_models(
            block.words,
            block.offsets,
            first,
            last,
            block.prior,
            last_prior,
            positions,
            geometric,
            n_burn_in,
            state.topics,
            state.streams,
            state.log_weights,
            block.floats(distinct),
            np.empty((3, distinct if geometric else 0, block.width)),
            block.floats(1),
            np.empty(block.longest, np.int32),
            block.counts(),
            block.doubles(2),
            stop.flag,
        )
