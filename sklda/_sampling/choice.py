"""The choice of the class of chains for a sampler."""

import numpy as np

from sklda._core.priors import padded
from sklda._sampling.blocked import GroupedChain
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.partially_collapsed import PartiallyCollapsedChain
from sklda._sampling.partitioned import PartitionedChain
from sklda._sampling.word_major import WordMajorChain

SAMPLERS = ("collapsed", "partitioned", "grouped", "partially_collapsed")

# Nanoseconds per token by the features of `cost_features`, fitted by benchmarks/bench_choice.py.
COSTS = {
    "dense": (34.5, 0.136, 0.121, 0.206),
    "sparse": (54.3, 0.176, 0.0598, 0.0232, 0.493),
}
# The bytes that the model of costs takes for the cache of a core: a constant, so that the choice and the draws do not
# depend on the machine.
_CACHE = 2**20


def cost_features(corpus, n_components):
    """Features of a corpus that predict the time of a sweep per token, for the dense and for the word-major kernel.

    Parameters
    ----------
    corpus : Corpus
    n_components : int

    Returns
    -------
    dict of str to ndarray
        The terms of the sum. Lists have the length that uniform topics would give.

        - ``"dense"``: 1; the width of a row of topics; the width times the share of the tokens whose rows do not fit in
          the cache; the width times the documents per token
        - ``"sparse"``: 1; the mean length of a token's list; that of its row; their sum times
          log2(storage of all documents / cache); the width times the distinct words per token
    """
    lengths, frequencies = corpus.lengths, np.sort(corpus.word_frequencies)[::-1]
    n_tokens, width = max(corpus.n_tokens, 1), padded(n_components)
    fit = int(_CACHE // (2 * width))
    beyond = frequencies[fit:].sum() / n_tokens
    row = lengths >= WordMajorChain.least_for_row * n_components**2
    distinct = n_components * -np.expm1(lengths * np.log1p(-1 / max(n_components, 2)))
    storage = np.where(row, 2.0 * width, 4.0 * distinct)
    seen = np.where(row, 0, distinct) @ lengths / n_tokens
    rows = np.where(row, width, 0) @ lengths / n_tokens
    outside = max(np.log2(max(storage.sum(), 1) / _CACHE), 0)
    words = np.count_nonzero(frequencies)
    return {
        "dense": np.array([1, width, width * beyond, width * len(lengths) / n_tokens]),
        "sparse": np.array([1, seen, rows, (seen + rows) * outside, width * words / n_tokens]),
    }


def chain_class(sampler, corpus, priors, shares_alpha=True):
    """The class of chains for a sampler. For the collapsed sampler, the faster of two.

    Parameters
    ----------
    sampler : {"collapsed", "partitioned", "grouped", "partially_collapsed"}
    corpus : Corpus
    priors : Priors
    shares_alpha : bool, default=True
        Whether all documents will have one alpha. Word-major sweeps are made for this.

    Returns
    -------
    type
        `GibbsChain` or a subclass.
    """
    for kind in (PartitionedChain, GroupedChain, PartiallyCollapsedChain):
        if sampler == kind.sampler:
            return kind
    if not shares_alpha or not WordMajorChain.supports(corpus, priors):
        return GibbsChain
    features = cost_features(corpus, priors.n_components)
    dense, sparse = (features[kind.sampler] @ COSTS[kind.sampler] for kind in (GibbsChain, WordMajorChain))
    return WordMajorChain if sparse < dense else GibbsChain
