"""Topics of one draw matched to those of another."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from sklda._core.distances import jensen_shannon, jensen_shannon_pairs
from sklda._core.parallel import NEVER_STOP
from sklda._input.memory import MOST_DOUBTFUL

# Topics have switched names if the overlap under another name is larger by this share of a topic of mean size.
_SWITCHED = 0.1
# Products of a block of overlaps.
_PRODUCTS = 2**18


def match_distributions(a, b):
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
    order = linear_sum_assignment(jensen_shannon(a, b, dtype=np.float32))[1]
    return order, jensen_shannon_pairs(a, b[order])


def match_and_nearest(a, b, kept, n_known=0):
    """As `match_distributions`, but the first `n_known` topics keep their names; and distances of the nearest topics.

    These are those of the topics `a` from the nearest topics of `b`, which several topics can share, (n_components,).
    Only the topics of `b` with True in `kept`, of shape (n_components,), count. Without any, they are 1.
    """
    found = jensen_shannon(a, b, dtype=np.float32)
    order = np.arange(len(found))
    order[n_known:] = n_known + linear_sum_assignment(found[n_known:, n_known:])[1]
    if not kept.any():
        return order, np.ones(len(a))
    return order, jensen_shannon_pairs(a, b[np.where(kept, found, np.inf).argmin(axis=1)])


def differing(a, b, n_components):
    """The share of the tokens with different topics in two draws, (n_tokens,), whose topics are matched."""
    pairs = np.bincount(a.astype(np.int64) * n_components + b, minlength=n_components**2)
    overlaps = pairs.reshape(n_components, n_components)
    return 1 - overlaps[linear_sum_assignment(overlaps, maximize=True)].sum() / max(len(a), 1)


def same_names(before, after, stop=NEVER_STOP):
    """Whether the topics of two successive draws have the same names.

    The overlap of topics k and l is the sum over words of the root of the product of their counts, by the number of
    tokens. If the best assignment gives a topic another name, the overlap there must be larger than under its own name
    by a tenth of the mean share of a topic. So small topics, which come and go, do not count.

    The memory is that of the counts. If more than 4,096 topics are so alike that an assignment must decide, the names
    are not the same.

    Parameters
    ----------
    before, after : csr_array or ndarray of shape (n_features, n_components), int
        Word-topic counts, without the columns that pad them.
    stop : callable, optional
        Called between blocks of topics.

    Returns
    -------
    bool
    """
    n_tokens, K = before.sum(dtype=np.int64), before.shape[1]
    before, after = (csr_array(counts).sqrt() for counts in (before, after))
    own = before.multiply(after).sum(axis=0) / n_tokens
    switched, surplus, gains = _SWITCHED / K, np.zeros(K), False
    for i, j, overlap in _overlaps(before, after):
        stop()
        overlap /= n_tokens
        gains = gains or (overlap > own[i] + switched).any()
        overlap -= (own[i] + own[j]) / 2
        above = overlap > 0
        np.maximum.at(surplus, i[above], overlap[above])
    # Over a cycle of names, the sum of the surplus is what it gains.
    if not gains or not surplus.any():
        return True
    doubtful = _doubtful(before, after, own, n_tokens, surplus.sum(), stop)
    if len(doubtful) > MOST_DOUBTFUL:
        return False
    loss = (before[:, doubtful].T @ after[:, doubtful]).toarray()
    loss /= -n_tokens
    sigma = linear_sum_assignment(loss)[1]
    return not (np.diag(loss) - loss[np.arange(len(sigma)), sigma] > switched).any()


def _doubtful(before, after, own, n_tokens, most, stop):
    """The topics that may have another name in the best assignment: a cycle with any of the others gains nothing.

    The search ends with more than 4,096.

    Parameters
    ----------
    before, after : csr_array of shape (n_features, n_components)
        Roots of the counts.
    own : ndarray of shape (n_components,)
        Overlaps of topics under their own names.
    n_tokens : int
    most : float
        The largest sum of the positive surplus of a cycle.
    stop : callable
    """
    found = np.zeros(len(own), bool)
    for i, j, overlap in _overlaps(before, after):
        stop()
        near = overlap / n_tokens - (own[i] + own[j]) / 2 >= -most
        found[i[near]] = found[j[near]] = True
        if np.count_nonzero(found) > MOST_DOUBTFUL:
            break
    return np.flatnonzero(found)


def _overlaps(before, after):
    """Iterate over blocks of pairs of different topics, i and j, that share words, and the sums over their words."""
    before = before.T.tocsr()
    # The products up to each topic.
    ends = np.concatenate([[0], np.cumsum(np.diff(after.indptr)[before.indices])])[before.indptr]
    first, K = 0, before.shape[0]
    while first < K:
        last = max(int(np.searchsorted(ends, ends[first] + _PRODUCTS, side="right")) - 1, first + 1)
        block = before[first:last] @ after
        i, j = np.repeat(np.arange(first, last), np.diff(block.indptr)), block.indices
        other = i != j
        yield i[other], j[other], block.data[other]
        first = last
