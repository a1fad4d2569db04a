"""Which topics are the same: with words of their own, alike, or split and merged."""

from collections import Counter

import numpy as np
from scipy.special import gammaln

from sklda._core.distances import jensen_shannon_pairs

# Topics at a smaller Jensen-Shannon distance are the same topic. benchmarks/bench_consensus.py has the measurements.
SAME_TOPIC = 0.5
# A topic covers several others if each of these makes the distance of their mixture smaller by this, chosen by looking
# at the words of the topics of eight fits of the bundled corpus.
_GAIN = 0.03


def has_own_words(components, topic_word_prior):
    """Which topics have words of their own, (n_components,) bool.

    A topic with a prior of its own, which no other topic has and which prefers some words, as of known and of seeded
    topics, has the words of this prior as soon as it has a token. Of topics that share a prior, two things are needed.
    First, their counts exceed their prior mass, the sum of eta: otherwise more than half of their distribution is the
    prior, which other topics have too. Second, their counts and those of all other topics are more probable as draws
    from two distributions than from one. The prior of these is that of the topic: the Bayes factor is above one. A
    topic with all tokens has words of its own. Those that have none look like their prior, or like the corpus.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Counts m + eta; of a topic that a fit did not change, m.
    topic_word_prior : float or ndarray
        eta, in a shape that broadcasts to that of `components`.
    """
    priors = np.broadcast_to(np.asarray(topic_word_prior, dtype=np.float64), components.shape)
    words = sum(map(_counts, components, priors))
    has_own_prior = _has_own_prior(priors)
    found = np.zeros(len(components), bool)
    for k, (row, eta) in enumerate(zip(components, priors, strict=True)):
        own = _counts(row, eta)
        if has_own_prior[k]:
            # Not all of a token may be left of large numbers.
            found[k] = own.sum() > 0.5
            continue
        rest = np.maximum(words - own, 0)
        if own.sum() > eta.sum():
            gain = _log_evidence(own, eta) + _log_evidence(rest, eta) - _log_evidence(words, eta)
            found[k] = rest.sum() < 1 or gain > 0
    return found


def _counts(row, eta):
    """m of one topic."""
    is_fixed = eta.sum() > 2 * row.sum()
    return np.asarray(row, dtype=np.float64) if is_fixed else np.maximum(row - eta, 0)


def _has_own_prior(priors):
    """Which topics have a prior that prefers some words, and that no other topic has, (n_components,) bool."""
    if priors.strides[0] == 0:
        return np.zeros(len(priors), bool)
    # Marks in place of the rows, which would have to be copied.
    marks = [hash(row.tobytes()) for row in priors]
    times = Counter(marks)
    return np.array([times[mark] == 1 for mark in marks]) & (np.ptp(priors, axis=1) > 0)


def _log_evidence(counts, eta):
    """log p of tokens in their order: draws from a distribution that is drawn from its Dirichlet prior."""
    total = eta.sum()
    return gammaln(total) - gammaln(total + counts.sum()) + (gammaln(eta + counts) - gammaln(eta)).sum()


def stability_and_prevalence(nearest, kept):
    """How alike each topic of a chain is to the nearest ones of the others, and the part of the chains that have it.

    Parameters
    ----------
    nearest : ndarray of shape (n_chains - 1, n_components)
        Distances of the nearest topics of the other chains.
    kept : ndarray of shape (n_components,), bool
        See `has_own_words`. The others get NaN.

    Returns
    -------
    dict of {str: ndarray of shape (n_components,)}
        The fitted attributes.
    """
    prevalence = (1 + (nearest <= SAME_TOPIC).sum(axis=0)) / (len(nearest) + 1)
    found = {"topic_stability_": 1 - nearest.mean(axis=0), "topic_prevalence_": prevalence}
    return {name: np.where(kept, values, np.nan) for name, values in found.items()}


def parts_of(whole, pieces, weights, distances):
    """The pieces whose mixture is closest to a topic, found one after the other.

    Parameters
    ----------
    whole : ndarray of shape (n_features,)
    pieces : ndarray of shape (n, n_features)
    weights : ndarray of shape (n,)
    distances : ndarray of shape (n,)
        Of the pieces from the whole.

    Returns
    -------
    chosen : list of int
        At least one, the closest first. Each of the others makes the distance clearly smaller.
    distance : float
        Of the mixture from the whole.
    """
    first = int(np.argmin(distances))
    chosen, best = [first], float(distances[first])
    # More distant pieces have almost no word of the topic.
    candidates = [int(i) for i in np.argsort(distances, kind="stable") if i != first and distances[i] < 0.9]
    while candidates:
        mixtures = np.array([mixture(pieces[[*chosen, i]], weights[[*chosen, i]]) for i in candidates])
        found = jensen_shannon_pairs(whole, mixtures)
        place = int(found.argmin())
        if found[place] > best - _GAIN:
            break
        best = float(found[place])
        chosen.append(candidates.pop(place))
    return chosen, best


def splits_and_merges(a, b, a_weights, b_weights, distances):
    """Topics of one set that several topics of the other set cover together, and do not cover alone.

    Parameters
    ----------
    a, b : ndarray of shape (n, n_features) and (l, n_features)
    a_weights, b_weights : ndarray of shape (n,) and (l,)
        Shares of the topics.
    distances : ndarray of shape (n, l)

    Returns
    -------
    list of (list of int, list of int, float)
        Topics of `a`, topics of `b` and their distance. One of the lists has one topic, the other at least two.
    """
    found = []
    if not distances.size:
        return found
    for i, row in enumerate(distances):
        chosen, distance = parts_of(a[i], b, b_weights, row)
        if len(chosen) > 1 and distance <= SAME_TOPIC:
            found.append(([i], sorted(chosen), distance))
    for j, column in enumerate(distances.T):
        chosen, distance = parts_of(b[j], a, a_weights, column)
        if len(chosen) > 1 and distance <= SAME_TOPIC:
            found.append((sorted(chosen), [j], distance))
    return found


def mixture(rows, weights):
    """The mixture of distributions with weights, (n_features,)."""
    weights = np.maximum(weights, np.finfo(np.float64).tiny)
    return weights / weights.sum() @ rows
