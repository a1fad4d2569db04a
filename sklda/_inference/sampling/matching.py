"""Topics of one draw matched to those of another."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.special import rel_entr

# Elements of the arrays of a block of words, which stay in the cache, and its most words: longer sums in single
# precision would be less exact.
_BLOCK, _WORDS = 1 << 17, 1024
# Topics have switched names if the overlap under another name is larger by this share of a topic of mean size.
_SWITCHED = 0.1


def match_topics(a, b):
    """The order of the topics `b` with the smallest sum of distances from the topics `a` (Hungarian algorithm).

    Parameters
    ----------
    a, b : ndarray of shape (n_components, n_features)
        Distributions over words. Rows sum to one.

    Returns
    -------
    order : ndarray of shape (n_components,), int
        Topic ``order[k]`` of `b` belongs to topic k of `a`.
    distances : ndarray of shape (n_components,)
        Jensen-Shannon distances of the matched topics: roots of the divergence in bits, from 0 to 1.
    """
    order = linear_sum_assignment(_distances_of_all_pairs(a, b))[1]
    return order, _distances(a, b[order])


def same_names(before, after):
    """Whether the topics of two successive draws have the same names.

    The overlap of topics k and l is the sum over words of the root of the product of their counts, by the number of
    tokens. If the best assignment gives a topic another name, the overlap there must be larger than under its own name
    by a tenth of the mean share of a topic. So small topics, which come and go, do not count.

    Parameters
    ----------
    before, after : ndarray of shape (n_features, n_components), int
        Word-topic counts, without the columns that pad them.

    Returns
    -------
    bool
    """
    return names_kept(overlaps(before, after) / before.sum(dtype=np.int64))


def overlaps(before, after):
    """Sums over words of the root of the product of their counts, (n_components, n_components)."""
    # Sparse: most words have few topics, and the threads of a dense product would compete with other chains.
    first, second = (csr_array(counts).sqrt() for counts in (before, after))
    return (first.T @ second).toarray()


def names_kept(overlap):
    """`same_names` from the overlaps by the number of tokens."""
    sigma = linear_sum_assignment(overlap, maximize=True)[1]
    gain = overlap[np.arange(len(sigma)), sigma] - np.diag(overlap)
    return not (gain > _SWITCHED / len(sigma)).any()


def _distances(a, b):
    """Jensen-Shannon distance of each topic of `a` from that of `b` in its place, (n_components,)."""
    middle = (a + b) / 2
    bits = (rel_entr(a, middle) + rel_entr(b, middle)).sum(axis=1) / (2 * np.log(2))
    return np.sqrt(np.clip(bits, 0, 1))


def _distances_of_all_pairs(a, b):
    """Jensen-Shannon distances, (n_components, n_components), in single precision."""
    # No logarithm of zero.
    a, b = (np.maximum(topics, np.finfo(np.float32).tiny, dtype=np.float32) for topics in (a, b))
    n_topics, n_words = a.shape
    bits = np.ones((n_topics, n_topics))
    width = min(max(_BLOCK // n_topics, 1), _WORDS)
    for start in range(0, n_words, width):
        block, other = a[:, start : start + width], np.ascontiguousarray(b[:, start : start + width])
        both, logs = np.empty_like(other), np.empty_like(other)
        bits += (_information(block, np.log2(block))[:, None] + _information(other, np.log2(other))) / 2
        for row, topic in zip(bits, block, strict=True):
            np.log2(np.add(topic, other, out=both), out=logs)
            row -= _information(both, logs) / 2
    return np.sqrt(np.clip(bits, 0, 1))


def _information(p, logs):
    """Sum over words of p log p, (n_topics,)."""
    return np.einsum("kv,kv->k", p, logs)
