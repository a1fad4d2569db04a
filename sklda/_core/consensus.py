"""Topics of several fits: those that are found again, and topics of one fit that are split or merged in another."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from sklda._core.consensus_tree import Pool, TopicTree, centre, mixture
from sklda._core.diagnostics import std_of_proportions
from sklda._core.distances import jensen_shannon, jensen_shannon_pairs

# Topics at a smaller Jensen-Shannon distance are the same topic. benchmarks/bench_consensus.py has the measurements.
SAME_TOPIC = 0.5
# Of more distant parts: the smallest mean of one less the distance between the fits of a topic.
ALIKE = 0.6
# 314 clusters of fits to corpora of one distribution had an agreement of .31 ± .06, at most .61; those of the bundled
# corpus have .77 to .92.
_BEYOND_CHANCE = 0.65
# The same for two halves of the documents, each of which has twice the noise. 17 candidates in ten corpora of one
# distribution with bursts had .13 ± .07, at most .23, and false topics beside true ones at most .29. True topics that
# overlap had at least .70, and .3 to .7 in one corpus of 6,000 tokens.
IN_HALVES = 0.4
# A topic covers several others if each of these makes the distance of their mixture smaller by this, chosen by looking
# at the words of the topics of eight fits of the bundled corpus.
_GAIN = 0.03


@dataclass
class Consensus:
    """Topics that are found again.

    Attributes
    ----------
    topic_word : ndarray of shape (n_topics, n_features)
        Rows sum to one.
    topic_word_std : ndarray of shape (n_topics, n_features)
        Standard deviations between the fits that have the topic.
    share : ndarray of shape (n_topics,)
        Means over all fits of the summed shares of the members.
    prevalence : ndarray of shape (n_topics,)
        Parts of the fits that have the topic.
    similarity : ndarray of shape (n_topics,)
        Means over pairs of fits of one less the distance of the mixtures of their members.
    members : list of ndarray of shape (n_members, 2)
        Pairs of a fit and one of its topics.
    split_half_agreement : ndarray of shape (n_topics,)
        The second figure of `in_halves`; 1 without halves.
    n_by_chance : int
        Topics that enough fits have, but that are not more alike than in a corpus without topics; 0 if others are.
    n_not_in_halves : int
        Topics of the fits that halves of the documents do not have in common; 0 if others are.
    best_in_halves : tuple of (float, float)
        The figures of `in_halves` of the one of these with the largest second figure.
    """

    topic_word: np.ndarray
    topic_word_std: np.ndarray
    share: np.ndarray
    prevalence: np.ndarray
    similarity: np.ndarray
    members: list[np.ndarray]
    split_half_agreement: np.ndarray | None = None
    n_by_chance: int = 0
    n_not_in_halves: int = 0
    best_in_halves: tuple[float, float] = (0.0, 0.0)


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


def find_consensus(topics, shares, min_prevalence, halves=()):
    """The topics on which fits agree: nodes of the tree of the topics of all fits.

    A node can have several topics of a fit. Then their mixture stands for that fit. The topic of a node is the
    distribution whose Hellinger distances from those of its fits have the smallest sum of squares: its roots are
    proportional to the mean of their roots. Nodes that chance can make are left out, see `Pool.likeness`, and so are
    those that halves of the documents do not have in common.

    Parameters
    ----------
    topics : list of ndarray of shape (n_components of the fit, n_features)
        For every fit. Rows sum to one.
    shares : list of ndarray of shape (n_components of the fit,)
        Shares of the topics in the tokens.
    min_prevalence : float
        The smallest part of the fits that must have a topic.
    halves : list of (half, half)
        For each random split of the documents, the topics and shares of a fit to each half.

    Returns
    -------
    Consensus
        By falling prevalence, then by falling share.
    """
    tree = TopicTree(Pool(topics, shares))
    # The margin is for rounding errors.
    alike = (tree.height <= SAME_TOPIC) | (tree.similarity >= ALIKE)
    qualifies = (tree.prevalence >= min_prevalence - 1e-9) & alike & (tree.persistence > 0)
    beyond_chance = qualifies & (tree.beyond_chance >= _BEYOND_CHANCE)
    alike_in_halves, agreement = np.ones((2, len(qualifies)))
    n_with_words = np.count_nonzero(tree.pool.topics.any(axis=1))
    for node in np.flatnonzero(beyond_chance):
        # The only topic of all fits is the frequencies of words themselves, beyond which it has nothing.
        if len(tree.members[node]) < n_with_words:
            alike_in_halves[node], agreement[node] = in_halves(tree.pool, tree.members[node], halves)
    is_in_halves = (alike_in_halves >= ALIKE) & (agreement >= IN_HALVES)
    nodes = tree.order(tree.choose(beyond_chance & is_in_halves))
    consensus = _consensus(tree.pool, [tree.members[node] for node in nodes])
    consensus.split_half_agreement = agreement[nodes]
    if not nodes:
        tested = tree.choose(beyond_chance)
        consensus.n_not_in_halves = len(tested)
        if tested:
            best = max(tested, key=lambda node: agreement[node])
            consensus.best_in_halves = float(alike_in_halves[best]), float(agreement[best])
        consensus.n_by_chance = len(tree.choose(qualifies))
    return consensus


def in_halves(pool, members, halves):
    """How alike a topic is to its counterparts in halves of the documents, and how much two halves have in common.

    The counterpart in a half is the mixture of topics of the fit to this half that is closest to the topic. Two halves
    share no document. So what single documents add to a topic, such as bursts of words, differs between both, but all
    fits to the same documents have it. The second figure is that of `Pool.likeness`, beyond the frequencies of words.
    Both are means over splits; 1 without halves.
    """
    if not halves:
        return 1.0, 1.0
    topic, alike, agreement = centre(pool.of_fits(members)), [], []
    for pair in halves:
        rows = [_counterpart(topic, *half) for half in pair]
        if any(each is None for each in rows):
            alike.append(0.0)
            agreement.append(0.0)
        else:
            alike.append(1 - jensen_shannon_pairs(topic, np.array(rows)).mean())
            agreement.append(pool.likeness(np.array(rows))[1])
    return np.mean(alike), np.mean(agreement)


def _counterpart(topic, others, shares):
    """The mixture of other topics that is closest to a topic; None if none of them has words."""
    words = others.any(axis=1)
    if not words.any():
        return None
    others, shares = others[words], shares[words]
    chosen, _ = parts_of(topic, others, shares, jensen_shannon(topic[None], others, dtype=np.float32)[0])
    return mixture(others[chosen], shares[chosen])


def consensus_of(topics, shares, members):
    """The `Consensus` of given members: a list of arrays of pairs of a fit and one of its topics, in their order."""
    starts = np.cumsum([0, *map(len, topics)])
    return _consensus(Pool(topics, shares), [np.sort(starts[pairs[:, 0]] + pairs[:, 1]) for pairs in members])


def _consensus(pool, found):
    """The `Consensus` of topics, a list of arrays of places in the pool."""
    topic_word, std = np.zeros((2, len(found), pool.topics.shape[1]))
    similarity = np.zeros(len(found))
    for c, members in enumerate(found):
        rows = pool.of_fits(members)
        topic_word[c], similarity[c] = centre(rows), pool.likeness(rows)[0]
        std[c] = std_of_proportions(rows.var(axis=0, ddof=1)) if len(rows) > 1 else 0
    return Consensus(
        topic_word,
        std,
        np.array([pool.share(members) for members in found]),
        np.array([pool.prevalence(members) for members in found]),
        similarity,
        [np.stack([pool.fit[members], pool.number[members]], axis=1) for members in found],
    )


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
