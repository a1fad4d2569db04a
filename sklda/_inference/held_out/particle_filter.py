"""The particle filter for the log-likelihood of a document, with resampling of the particles."""

import numpy as np

from sklda._kernels import LANES, _sequential


def particle_filter(block, stop, *, n_particles):
    """Log weights, (n_documents,)."""
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
