"""Clusters of topics of several fits: members that are known, centres, splits and merges."""

import numpy as np
import pytest

from sklda._core.distances import jensen_shannon, jensen_shannon_pairs
from sklda._core.same_topics import has_own_words, parts_of, splits_and_merges, stability_and_prevalence
from sklda._models.consensus.agreement import find_consensus
from sklda._models.consensus.topic_tree import centre


@pytest.fixture(scope="module")
def fits():
    """Eight fits of the topics 0 to 4 in random orders, with noise. Only the fits 0 to 2 have topic 3, only 7 has 4."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.full(200, 0.05), 5)
    topics, shares, orders = [], [], []
    for f in range(8):
        order = rng.permutation([0, 1, 2, *([3] if f < 3 else []), *([4] if f == 7 else [])])
        topics.append(rng.dirichlet(np.ones(200), len(order)) * 0.1 + truth[order] * 0.9)
        shares.append(np.array([0.5, 0.1, 0.25, 0.15, 0.05])[order])
        orders.append(order)
    return truth, topics, shares, orders


def test_members_and_prevalence_of_known_topics(fits):
    truth, topics, shares, orders = fits
    found = find_consensus(topics, shares, 3 / 8)
    assert found.prevalence.tolist() == [1, 1, 1, 3 / 8]
    # By falling prevalence, then by falling share.
    for c, k in enumerate([0, 2, 1, 3]):
        assert [orders[f][j] for f, j in found.members[c]] == [k] * len(found.members[c])
        assert jensen_shannon_pairs(found.topic_word[c], truth[k]) < 0.2
        pairs = jensen_shannon(np.array([topics[f][j] for f, j in found.members[c]]))
        own = pairs[~np.eye(len(pairs), dtype=bool)].mean()
        assert found.similarity[c] == pytest.approx(1 - own, abs=1e-5)
    np.testing.assert_allclose(found.share, [0.5, 0.25, 0.1, 0.15 * 3 / 8])
    np.testing.assert_allclose(found.topic_word.sum(axis=1), 1)
    members = np.array([topics[f][j] for f, j in found.members[0]])
    np.testing.assert_allclose(found.topic_word_std[0], members.std(axis=0, ddof=1))
    assert len(find_consensus(topics, shares, 1.0).topic_word) == 3
    assert len(find_consensus(topics, shares, 1 / 8).topic_word) == 5


def test_a_fit_with_two_members_counts_once(fits):
    truth, topics, shares, _ = fits
    rng = np.random.default_rng(1)
    halves = [0.9 * truth[[0]] + 0.1 * rng.dirichlet(np.ones(200), 1) for _ in range(2)]
    found = find_consensus([*topics, np.concatenate(halves)], [*shares, np.array([0.3, 0.1])], 0.5)
    assert found.prevalence[0] == 1 and len(found.members[0]) == 10
    assert found.share[0] == pytest.approx((8 * 0.5 + 0.4) / 9)


def test_the_centre_has_the_smallest_sum_of_squared_hellinger_distances():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(6, 0.5), 5)

    def sum_of_squares(p):
        return ((np.sqrt(rows) - np.sqrt(p)) ** 2).sum()

    best = centre(rows)
    assert best.sum() == pytest.approx(1)
    others = np.concatenate([0.99 * best + 0.01 * rng.dirichlet(np.ones(6), 200), rng.dirichlet(np.ones(6), 200)])
    assert sum_of_squares(best) < min(map(sum_of_squares, others))
    # The arithmetic mean is not such a centre.
    assert sum_of_squares(best) < sum_of_squares(rows.mean(axis=0)) - 1e-3


def test_topics_without_words_are_never_found():
    topics = [np.array([[0.5, 0.5, 0, 0], [0, 0, 0, 0]])] * 3
    found = find_consensus(topics, [np.array([1.0, 0.0])] * 3, 0.1)
    assert found.topic_word.tolist() == [[0.5, 0.5, 0, 0]]


def test_own_words_are_those_of_a_bayes_factor():
    """Against the log evidence by the predictive distribution of one token after the other."""

    def log_evidence(tokens, eta):
        counts, total = np.array(eta), 0.0
        for v in tokens:
            total += np.log(counts[v] / counts.sum())
            counts[v] += 1
        return total

    rng, found = np.random.default_rng(0), []
    for own in (0.0, 0.2, 0.4, 1.0) * 5:
        eta = rng.uniform(0.1, 0.4, 12)
        a, b = rng.multinomial(40, own * np.eye(12)[0] + (1 - own) / 12), rng.multinomial(300, np.full(12, 1 / 12))
        words = [np.repeat(np.arange(12), n) for n in (a, b, a + b)]
        gain = log_evidence(words[0], eta) + log_evidence(words[1], eta) - log_evidence(words[2], eta)
        found.append(gain > 0)
        assert has_own_words(np.stack([a, b]) + eta, eta).tolist() == [gain > 0] * 2
        assert has_own_words(np.stack([a, b]) + eta, np.stack([eta, eta])).tolist() == [gain > 0] * 2
    assert 0 < sum(found) < len(found)


def test_a_small_topic_can_have_words_of_its_own():
    """Sixty tokens of ten words among 1,000, whose prior mass is 50. As many tokens of all words are not a topic."""
    words = np.ones((1, 1000)) * 20
    small, leftover = np.zeros((2, 1, 1000))
    small[0, :10], leftover[0] = 6, 0.06
    found = has_own_words(np.concatenate([words, small, leftover]) + 0.05, 0.05)
    assert found[1:].tolist() == [True, False]
    # Ten tokens less, and the prior is half of it.
    assert not has_own_words(np.concatenate([words, small * 5 / 6]) + 0.05, 0.05)[1]


def test_all_tokens_are_a_topic():
    assert has_own_words(np.array([[3.0, 5, 2]]), 0.1).tolist() == [True]
    assert has_own_words(np.array([[4.0, 6, 3], [0.1, 0.1, 0.1]]), 0.1).tolist() == [True, False]


def test_known_and_seeded_topics_have_the_words_of_their_prior():
    """The first two have priors of their own, stronger than their tokens; a topic without a token has no words."""
    flat = np.full(40, 0.05)
    known = np.random.default_rng(0).dirichlet(np.full(40, 0.1), 3) * 500
    tokens = np.zeros((5, 40))
    tokens[:2, :3] = 20
    tokens[3, 10:13] = 20
    tokens[4] = 0.04
    priors = np.stack([*known, flat, flat])
    assert has_own_words(tokens + priors, priors).tolist() == [True, True, False, True, False]
    # The counts of a topic that does not change are without its prior.
    fixed = priors * np.array([1e20, 1, 1, 1, 1])[:, None]
    counts = np.where([[True], *[[False]] * 4], tokens, tokens + priors).astype(np.float32)
    assert has_own_words(counts, fixed).tolist() == [True, True, False, True, False]


def test_stability_is_unknown_without_words_of_its_own():
    nearest = np.array([[0.1, 0.2, 0.9], [0.3, 0.0, 0.5]])
    found = stability_and_prevalence(nearest, np.array([True, False, True]))
    np.testing.assert_allclose(found["topic_stability_"], [0.8, np.nan, 0.3])
    np.testing.assert_allclose(found["topic_prevalence_"], [1, np.nan, 2 / 3])


def test_a_mixture_has_its_parts():
    rng = np.random.default_rng(0)
    pieces = rng.dirichlet(np.full(100, 0.05), 6)
    weights = np.array([0.3, 0.1, 0.2, 0.1, 0.2, 0.1])
    whole = weights[[2, 4]] / 0.4 @ pieces[[2, 4]]
    chosen, distance = parts_of(whole, pieces, weights, jensen_shannon(whole[None], pieces)[0])
    assert sorted(chosen) == [2, 4] and distance == pytest.approx(0, abs=1e-7)
    chosen, distance = parts_of(pieces[3], pieces, weights, jensen_shannon(pieces[[3]], pieces)[0])
    assert chosen == [3] and distance == pytest.approx(0, abs=1e-7)


def test_splits_and_merges_go_both_ways():
    rng = np.random.default_rng(0)
    a = rng.dirichlet(np.full(100, 0.05), 3)
    halves = rng.dirichlet(np.full(100, 0.05), 2)
    # b merges the first two topics of a, and has the third in two parts.
    a[2] = halves.mean(axis=0)
    b = np.stack([a[:2].mean(axis=0), *halves])
    found = splits_and_merges(a, b, np.ones(3), np.ones(3), jensen_shannon(a, b))
    assert [each[:2] for each in found] == [([2], [1, 2]), ([0, 1], [0])]
    assert splits_and_merges(a, a, np.ones(3), np.ones(3), jensen_shannon(a, a)) == []
