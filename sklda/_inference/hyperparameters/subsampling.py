"""The region of the grid by serial tempering on a few documents, then on more (George & Doss 2018, section 2.3)."""

import numpy as np

from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.hyperparameters.chain_pool import ChainPool
from sklda._inference.hyperparameters.tempered_stages import current_curve, serial_tempering
from sklda._inference.sampling.choice import chain_class

# The first grid reaches from 1 / 2 of the first h to 2 times the first h; its half-width in log h then shrinks by 0.9,
# and the documents grow by 1.1 in each round.
_REACH, _NARROWS, _GROWS = 2.0, 0.9, 1.1
_FIRST_DOCUMENTS, _MOST_ROUNDS = 20, 60
# Converged when log h moved by less than this in each of the last rounds.
_STILL, _ROUNDS_STILL = 0.1, 3


def find_region(pool, seed):
    """The last grid of the iterative scheme, which ends when the maximum moves no more or all documents are used.

    Parameters
    ----------
    pool : ChainPool
        Its chains are not used.
    seed : numpy.random.SeedSequence

    Returns
    -------
    pair of (float, float)
    """
    rng, within = np.random.default_rng(random.child(seed, 0)), pool.settings.region
    order = rng.permutation(pool.corpus.n_documents)
    log_h = np.log([pool.priors.doc[0, 0], pool.priors.word[0]])
    reach, n_documents, moved = np.log(_REACH), float(min(_FIRST_DOCUMENTS, len(order))), []
    for t in range(_MOST_ROUNDS):
        region = _around(log_h, reach, within)
        corpus = documents(pool.corpus, np.sort(order[: int(n_documents)]))
        if corpus.n_tokens:
            part = ChainPool(
                corpus, pool.priors, pool.settings, random.child(seed, 1, t), n_chains=1, n_jobs=pool.n_jobs
            )
            kind = chain_class("collapsed", corpus, pool.priors)
            part.chains = [kind.initialise_randomly(corpus, pool.priors, random.child(seed, 2, t))]
            new = _maximum(part, region, _around(log_h, 2 * reach, within))
            moved.append(np.abs(new - log_h).max())
            log_h = new
        if n_documents >= len(order) or (len(moved) >= _ROUNDS_STILL and max(moved[-_ROUNDS_STILL:]) < _STILL):
            break
        n_documents, reach = min(_GROWS * n_documents, len(order)), _NARROWS * reach
    return _around(log_h, reach, within)


def _maximum(pool, region, search):
    """log h at the maximum, by a short run of serial tempering."""
    serial_tempering(pool, region, pool.settings.n_tuning)
    pool.sweep(pool.settings.n_tuning)
    return current_curve(pool).maximise(search)


def _around(log_h, reach, within):
    low, high = np.log(within).T
    centre = np.clip(log_h, low + reach, high - reach)
    return tuple((float(a), float(b)) for a, b in np.exp(np.stack([centre - reach, centre + reach], axis=1)))


def documents(corpus, which):
    """The corpus of some of the documents."""
    parts = [corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]] for d in which]
    offsets = np.concatenate([[0], np.cumsum(corpus.lengths[which])])
    return Corpus(np.concatenate(parts), offsets, corpus.n_features)
