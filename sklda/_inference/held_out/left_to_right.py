"""The left-to-right estimator of the log-likelihood of a document (Wallach et al. 2009; Buntine 2009)."""

import numpy as np

from sklda._kernels import LANES, _sequential


def left_to_right(block, stop):
    """Log weights, (n_documents,): all earlier tokens are drawn again before the probability of each token is taken."""
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
