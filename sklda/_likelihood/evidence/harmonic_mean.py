"""Harmonic means of the likelihood, comparators of the evidence (Chen & Doss 2018, section 5.1)."""

import numpy as np

from sklda._core.parallel import NEVER_STOP
from sklda._likelihood.held_out.document_completion import token_probabilities
from sklda._sampling.draws import draw_parameters


def harmonic_mean(chain, n_inner, seed, given, stop=NEVER_STOP):
    """Logarithms of 1 / p(w | z) along the next sweeps, (n_inner,).

    If `given` is "psi" rather than "z", those of 1 / p(w | theta, phi), with draws of theta and phi given z.
    """
    rng = np.random.default_rng(seed)
    log_weights = np.empty(n_inner)
    for i in range(n_inner):
        chain.sweep(stop)
        log_weights[i] = -(chain.log_words() if given == "z" else _log_likelihood(chain, rng))
    return log_weights


def _log_likelihood(chain, rng):
    """log p(w | theta, phi) at a draw of theta and phi given z."""
    return np.log(token_probabilities(chain.corpus, *draw_parameters(chain, rng))).sum()
