"""The topics on which fits agree, by the tree of the topics of all fits."""

from dataclasses import dataclass

import numpy as np

from sklda._core.diagnostics import std_of_proportions
from sklda._core.distances import jensen_shannon, jensen_shannon_pairs
from sklda._core.same_topics import SAME_TOPIC, mixture, parts_of
from sklda._models.consensus.topic_tree import Pool, TopicTree, centre

# Of more distant parts: the smallest mean of one less the distance between the fits of a topic.
ALIKE = 0.6
# 314 clusters of fits to corpora of one distribution had an agreement of .31 ± .06, at most .61; those of the bundled
# corpus have .77 to .92.
_BEYOND_CHANCE = 0.65
# The same for two halves of the documents, each of which has twice the noise. 17 candidates in ten corpora of one
# distribution with bursts had .13 ± .07, at most .23, and false topics beside true ones at most .29. True topics that
# overlap had at least .70, and .3 to .7 in one corpus of 6,000 tokens.
IN_HALVES = 0.4


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
