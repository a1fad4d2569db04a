"""The Chib-style estimator of the log-likelihood of a document (Murray & Salakhutdinov 2009; Wallach et al. 2009)."""

import numpy as np

from sklda._kernels import LANES, _chib

# Sweeps before the state whose probability is estimated.
_BURN_IN = 20


def chib(block, stop, *, n_sweeps):
    """Log weights, (n_documents,)."""
    log_weights = block.zeros()
    if len(block.words):
        _chib.chib(
            *block.arguments,
            n_sweeps,
            _BURN_IN,
            log_weights,
            np.empty((4, block.longest), np.int32),
            block.floats(1),
            block.counts(),
            np.empty((2, max(block.width // LANES, n_sweeps))),
            stop.flag,
        )
    return log_weights
