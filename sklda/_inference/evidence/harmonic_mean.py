"""Harmonic means of the likelihood, comparators of the evidence (Chen & Doss 2018, section 5.1)."""

import numpy as np

from sklda._inference.parallel import NEVER_STOP
from sklda._inference.sampling.parameters import draw_parameters

# Tokens whose likelihoods are computed at a time; it bounds the memory to this many times K floats.
_BLOCK_TOKENS = 2**16


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
    theta, phi = draw_parameters(chain, rng)
    corpus, total = chain.corpus, 0.0
    doc_of = corpus.token_documents
    for start in range(0, corpus.n_tokens, _BLOCK_TOKENS):
        part = slice(start, start + _BLOCK_TOKENS)
        total += np.log(np.einsum("ik,ki->i", theta[doc_of[part]], phi[:, corpus.words[part]])).sum()
    return total
