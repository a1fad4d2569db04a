"""The paper's way to place the grid: serial tempering on a few documents, then on more (section 2.3)."""

from dataclasses import replace

import numpy as np

from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.sampling.collapsed import GibbsChain

# The first grid reaches from half the start to twice it; it narrows and the documents grow by a tenth each time.
_REACH, _NARROWS, _GROWS = 2.0, 0.9, 1.1
_FIRST_DOCUMENTS, _MOST_ROUNDS = 20, 60
# Converged where log h moved by less than this in the last rounds.
_STILL, _ROUNDS_STILL = 0.1, 3


def find_region(plan, seed, peak):
    """The last grid of the iterative scheme: by then the maximum stands still, or all documents are in.

    Parameters
    ----------
    plan : Plan
    seed : numpy.random.SeedSequence
    peak : callable
        log h at the maximum, of (plan, chain, region of the grid, region of the search).

    Returns
    -------
    pair of pairs of float
    """
    rng = np.random.default_rng(random.child(seed, 0))
    order = rng.permutation(plan.corpus.n_documents)
    log_h = np.log([plan.priors.word[0], plan.priors.doc[0, 0]])
    reach, n_documents, moved = np.log(_REACH), float(min(_FIRST_DOCUMENTS, len(order))), []
    for t in range(_MOST_ROUNDS):
        region = _around(log_h, reach, plan.region)
        corpus = documents(plan.corpus, np.sort(order[: int(n_documents)]))
        if corpus.n_tokens:
            part = replace(plan, corpus=corpus, seed=random.child(seed, 1, t), listener=None, n_chains=1, ended=set())
            start = GibbsChain.start(corpus, plan.priors, random.child(seed, 2, t))
            new = peak(part, start, region, _around(log_h, 2 * reach, plan.region))
            moved.append(np.abs(new - log_h).max())
            log_h = new
        if n_documents >= len(order) or (len(moved) >= _ROUNDS_STILL and max(moved[-_ROUNDS_STILL:]) < _STILL):
            break
        n_documents, reach = min(_GROWS * n_documents, len(order)), _NARROWS * reach
    return _around(log_h, reach, plan.region)


def _around(log_h, reach, within):
    low, high = np.log(within).T
    centre = np.clip(log_h, low + reach, high - reach)
    return tuple((float(a), float(b)) for a, b in np.exp(np.stack([centre - reach, centre + reach], axis=1)))


def documents(corpus, which):
    """The corpus of some of the documents."""
    parts = [corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]] for d in which]
    offsets = np.concatenate([[0], np.cumsum(corpus.lengths[which])])
    return Corpus(np.concatenate(parts), offsets, corpus.n_features)
