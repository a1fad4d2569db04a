"""Groups of topics whose tokens are redrawn together: topics that share documents and words."""

from dataclasses import dataclass

import numpy as np

# Tokens from which the overlaps are computed: every this many of them.
_SAMPLED_TOKENS = 20_000
# Sizes of groups, and how often each is chosen. Measured on C-2 and whales: from bad states, groups of three or four
# lead to better modes two to four times as often as pairs.
_SIZES, _SHARES = np.array([2, 3, 4]), np.array([0.2, 0.45, 0.35])
# How often a group of three is a pair that is merged and a topic that is split.
_MERGE_AND_SPLIT = 0.2
# The share of the choice of a further topic that does not depend on its overlaps.
_UNIFORM = 0.3


@dataclass(frozen=True)
class Group:
    """Topics to redraw."""

    topics: tuple
    # Whether the redrawing begins with the first two topics merged and the third split in two at random. Otherwise it
    # begins with random topics.
    merges_and_splits: bool = False


def overlaps(chain):
    """How much two topics share tokens: the sum over tokens of the products of their probabilities.

    The result, (n_components, n_components), is zero on the diagonal.
    """
    corpus, priors, K = chain.corpus, chain.priors, chain.priors.n_components
    tokens = np.arange(0, corpus.n_tokens, 1 + corpus.n_tokens // _SAMPLED_TOKENS)
    documents = np.searchsorted(corpus.offsets, tokens, side="right") - 1
    words = corpus.words[tokens]
    theta = priors.add_doc(chain.doc_topic_counts())
    phi = (chain.word_topic_counts[:, :K] + priors.topic_word().T) / (chain.topic_totals + priors.totals)
    weights = theta[documents] * phi[words]
    weights /= weights.sum(axis=1, keepdims=True)
    shared = weights.T @ weights
    np.fill_diagonal(shared, 0.0)
    return shared


def choose_group(shared: np.ndarray, totals: np.ndarray, rng: np.random.Generator) -> Group:
    """A random group, in which topics with large overlaps are likely.

    `shared` is from `overlaps`; `totals` has the number of tokens of every topic.
    """
    K = len(totals)
    if K > 2 and rng.random() < _MERGE_AND_SPLIT:
        pair = _grown([_drawn(shared.sum(axis=1), rng)], 2, shared, rng)
        split = _drawn(totals.astype(float), rng, without=pair)
        return Group(topics=(*pair, split), merges_and_splits=True)
    size = int(rng.choice(_SIZES, p=_SHARES))
    return Group(tuple(_grown([int(rng.integers(K))], min(size, K), shared, rng)))


def _grown(group, size, shared, rng):
    """The group with further topics, each drawn by its overlaps with those before it."""
    while len(group) < size:
        group = [*group, _drawn(shared[group].sum(axis=0), rng, without=group)]
    return group


def _drawn(weights, rng, without=()):
    """A topic drawn in proportion to its weight, or uniformly."""
    allowed = np.ones(len(weights))
    allowed[list(without)] = 0
    weights = weights * allowed
    total = weights.sum()
    shares = allowed / allowed.sum()
    if total > 0:
        shares = _UNIFORM * shares + (1 - _UNIFORM) * weights / total
    return int(rng.choice(len(shares), p=shares))
