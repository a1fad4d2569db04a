"""The tree of the topics of several fits: the nodes that are chosen."""

from itertools import combinations

import numpy as np
import pytest

from sklda._core.distances import jensen_shannon_pairs
from sklda._models.consensus.agreement import find_consensus
from sklda._models.consensus.topic_tree import Pool, TopicTree

RNG = np.random.default_rng(0)
# Eight distributions of words of their own, and 40 words that all of them have.
PIECES = np.hstack([np.kron(np.eye(8), np.ones(20)), np.full((8, 40), 0.05)]) * RNG.gamma(1, 1, (8, 200))
PIECES /= PIECES.sum(axis=1, keepdims=True)


def fits_of(*groups):
    """A fit for each of `groups`, whose topics are mixtures of the pieces of each group, with some noise."""
    topics, shares = [], []
    for f, groups_of_fit in enumerate(groups):
        rows = np.array([PIECES[list(group)].mean(axis=0) for group in groups_of_fit])
        topics.append(0.9 * rows + 0.1 * np.random.default_rng(f).dirichlet(np.ones(200), len(rows)))
        shares.append(np.array([len(group) for group in groups_of_fit]) / 8)
    return topics, shares


WHOLE, BOTH = (0, 1), (2, 3)
OTHERS = ((4, 5), (6,), (7,))
# Three of eight fits divide the first topic, and seven the second one.
GROUPS = [(*(((0,), (1,)) if f < 3 else (WHOLE,)), *((BOTH,) if f == 7 else ((2,), (3,))), *OTHERS) for f in range(8)]


def pieces_found(consensus):
    """The pieces of which each topic is made."""
    return {tuple(np.flatnonzero(PIECES @ row > 0.4 * (PIECES @ row).max()).tolist()) for row in consensus.topic_word}


def test_topics_are_as_fine_as_most_fits_have_them():
    found = find_consensus(*fits_of(*GROUPS), 0.75)
    assert pieces_found(found) == {WHOLE, (2,), (3,), *OTHERS}
    assert len(found.topic_word) == 6
    # Three fits divide a topic.
    assert [len(members) for members in found.members if len(members) > 8] == [11]


def test_without_persistence_topics_are_too_coarse_or_too_fine(monkeypatch):
    """The mutation: a node is worth its share and prevalence alone."""
    monkeypatch.setattr(TopicTree, "_persistence", lambda tree: np.ones(len(tree.members)))
    assert pieces_found(find_consensus(*fits_of(*GROUPS), 0.75)) != {WHOLE, (2,), (3,), *OTHERS}


def best_antichain(tree, qualifies, value):
    """By all sets of nodes, none of which contains another."""
    good = [i for i in np.flatnonzero(qualifies) if value[i] > 0]
    best, chosen = 0.0, ()
    for size in range(1, 5):
        for nodes in combinations(good, size):
            members = np.concatenate([tree.members[i] for i in nodes])
            if len(np.unique(members)) == len(members) and value[list(nodes)].sum() > best:
                best, chosen = value[list(nodes)].sum(), nodes
    return best, sorted(chosen)


@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(30, 0.2), 3)
    topics = [0.8 * truth + 0.2 * rng.dirichlet(np.full(30, 0.2), 3) for _ in range(4)]
    tree = TopicTree(Pool(topics, [rng.dirichlet(np.ones(3)) for _ in range(4)]))
    qualifies = tree.prevalence >= 0.5
    value = tree.share * tree.prevalence * tree.persistence
    best, nodes = best_antichain(tree, qualifies, value)
    chosen = tree.choose(qualifies)
    assert value[chosen].sum() == pytest.approx(best)
    assert sorted(chosen) == nodes


def test_all_topics_together_are_no_topic():
    """They are alike in all fits, because they are the corpus."""
    topics, shares = fits_of(*[[(f % 4,), (4 + f % 3,)] for f in range(6)])
    tree = TopicTree(Pool(topics, shares))
    assert tree.prevalence[-1] == 1 and tree.persistence[-1] == 0
    one = np.array([[0.5, 0.3, 0.2]])
    assert len(find_consensus([one] * 3, [np.ones(1)] * 3, 0.75).topic_word) == 1
    # Rows of zeros are topics without words. They do not count.
    padded = [np.vstack([one, np.zeros((1, 3))])] * 3
    assert len(find_consensus(padded, [np.array([1.0, 0.0])] * 3, 0.75).topic_word) == 1


def test_nodes_that_are_not_alike_are_no_topics(monkeypatch):
    """Topics whose noise is larger than what they have in common."""
    rng = np.random.default_rng(0)
    topics = [0.45 * PIECES[:2] + 0.55 * rng.dirichlet(np.full(200, 0.02), 2) for _ in range(8)]
    shares = [np.full(2, 0.5)] * 8
    assert len(find_consensus(topics, shares, 0.75).topic_word) == 0
    monkeypatch.setattr("sklda._models.consensus.agreement.ALIKE", 0.0)
    monkeypatch.setattr("sklda._models.consensus.agreement._BEYOND_CHANCE", -np.inf)
    assert len(find_consensus(topics, shares, 0.75).topic_word) == 2


def test_similarity_of_nodes_is_that_of_mixtures():
    topics, shares = fits_of(*GROUPS)
    tree = TopicTree(Pool(topics, shares))
    for node in (len(tree.linkage) // 2, -3):
        rows = tree.pool.of_fits(tree.members[node])
        pairs = [jensen_shannon_pairs(a, b) for a, b in combinations(rows, 2)]
        expected = 1 - np.mean(pairs) if pairs else 1
        assert tree.similarity[node] == pytest.approx(expected, abs=1e-3)
    own = tree.members[-3]
    assert tree.share[-3] == pytest.approx(sum(tree.pool.weight[i] for i in own) / 8)
    assert tree.prevalence[-3] == len({tree.pool.fit[i] for i in own}) / 8
