"""The cost of a scan in seconds, from the speed of a few sweeps over part of a corpus."""

import time

import numpy as np

from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.sampling.collapsed import GibbsChain

# Tokens of the part, which is a small share of a large corpus; sweeps over it, of which the fastest counts.
_TOKENS, _SWEEPS = 20_000, 3


def cost_of_scan(corpus, priors, first, most):
    """In words, the seconds of the first look and of the whole fit.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        Those of the chains with the most topics of the first look.
    first, most : int
        Sweeps of the first look, and of the whole fit at most.
    """
    n = max(int(np.searchsorted(corpus.offsets, _TOKENS, side="right")) - 1, 1)
    part = Corpus(corpus.words[: corpus.offsets[n]], corpus.offsets[: n + 1], corpus.n_features)
    if len(priors.doc) > 1 or not part.n_tokens:
        part = corpus
    chain, seconds = GibbsChain.initialise_randomly(part, priors, random.seed_sequence(0)), []
    for _ in range(_SWEEPS):
        start = time.perf_counter()
        chain.sweep()
        seconds.append(time.perf_counter() - start)
    sweep = min(seconds) / part.n_tokens * corpus.n_tokens
    return (
        f"the first look takes {first} sweeps, about {_seconds(first * sweep)}; "
        f"the fit takes at most {most}, about {_seconds(most * sweep)}"
    )


def _seconds(value):
    return f"{float(f'{value:.2g}'):g} s"
