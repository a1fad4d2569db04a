"""Estimators of the log-likelihood of a document that go through its tokens in order; log weights, (n_documents,)."""

import numpy as np

from sklda._kernels import LANES, _sequential


def left_to_right(block, stop):
    """All earlier tokens are drawn again before each token's probability (Wallach et al. 2009; Buntine 2009)."""
    log_weights = block.zeros()
    if len(block.words):
        _sequential.left_to_right(
            *block.arguments,
            log_weights,
            np.empty((2, block.longest), np.int32),
            block.floats(1),
            block.counts(),
            np.empty(block.width // LANES),
            stop.flag,
        )
    return log_weights


def particle_filter(block, stop, *, n_particles):
    """The particle filter, with resampling of the particles."""
    log_weights = block.zeros()
    if len(block.words):
        _sequential.particle_filter(
            *block.arguments,
            log_weights,
            np.empty(block.longest, np.int32),
            np.empty((2, n_particles, block.longest), np.int32),
            block.floats(n_particles),
            np.empty((n_particles, block.width), np.int32),
            np.empty(block.width // LANES),
            np.empty(n_particles),
            stop.flag,
        )
    return log_weights
