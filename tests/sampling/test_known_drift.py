"""The distance of a topic from a known one, where the topics of all tokens are known."""

import numpy as np
import pytest

from sklda._sampling.known_drift import distance_from_known

V = 150


def topics(moved, seed):
    """A known topic, and one of which a part has moved to other words."""
    rng = np.random.default_rng(seed)
    law = np.arange(1, V + 1) ** -0.7
    known, other = rng.dirichlet(30 * law / law.sum(), 2)
    return known, (1 - moved) * known + moved * other


def chord(a, b):
    return np.linalg.norm(a / np.linalg.norm(a) - b / np.linalg.norm(b)) / np.sqrt(2)


def intervals(moved, n_tokens, n=200, level=0.9):
    """The true distance, and estimates and ends for samples of so many tokens, (n, 3)."""
    known, true = topics(moved, seed=1)
    rng, found = np.random.default_rng(2), []
    for _ in range(n):
        counts = np.tile(rng.multinomial(n_tokens, true), (100, 1))
        found.append(distance_from_known(counts, known, level, rng))
    return chord(known, true), np.array(found)


@pytest.mark.parametrize("n_tokens", [100, 2000])
@pytest.mark.parametrize("moved", [0, 0.1, 0.3, 0.7])
def test_intervals_cover_and_noise_is_no_drift(moved, n_tokens):
    truth, found = intervals(moved, n_tokens)
    inside = (found[:, 1] <= truth) & (truth <= found[:, 2])
    # A binomial count of 200 with a probability of .9 is outside with a probability of 1e-5.
    assert 158 <= inside.sum()
    if n_tokens == 2000:
        assert inside.sum() <= 198
    # Squares are unbiased before they are cut at 0.
    squares = found[:, 0] ** 2
    if moved >= 0.3 and n_tokens == 2000:
        assert abs(squares.mean() - truth**2) < 5 * squares.std() / np.sqrt(len(squares)) + 0.002
    if moved == 0:
        assert (found[:, 1] == 0).sum() >= 158


def test_equal_topics_and_topics_without_a_common_word():
    rng = np.random.default_rng(0)
    known = np.repeat([1 / 20, 0], 20)
    same, other = np.tile(1000 * np.repeat([1, 0], 20), (50, 1)), np.tile(1000 * np.repeat([0, 1], 20), (50, 1))
    estimate, low, high = distance_from_known(same, known, 0.9, rng)
    assert (estimate, low) == (0, 0)
    assert high < 0.01
    estimate, low, high = distance_from_known(other, known, 0.9, rng)
    np.testing.assert_allclose((estimate, high), 1)
    assert low > 0.95


def test_uncertain_topics_of_tokens_are_noise_too():
    known, true = topics(0.1, seed=1)
    rng = np.random.default_rng(0)
    sure = np.tile(rng.multinomial(2000, true), (200, 1))
    # In each draw, half of the tokens are others, with the same shares of words.
    unsure = np.array([rng.multivariate_hypergeometric(r, 1000) + rng.multinomial(1000, r / 2000) for r in sure])
    widths = [np.subtract(*distance_from_known(each, known, 0.95, rng)[:0:-1]) for each in (sure, unsure)]
    assert widths[1] > 1.2 * widths[0]
    assert np.isnan(distance_from_known(np.zeros((50, V)), known, 0.9, rng)[0])


def test_few_tokens_say_that_the_distance_can_be_large():
    rng = np.random.default_rng(0)
    known = np.full(V, 1 / V)
    for _ in range(20):
        estimate, low, high = distance_from_known(np.tile(rng.multinomial(12, known), (50, 1)), known, 0.9, rng)
        assert 0 <= low <= high <= 1
        assert high > 0.5
        assert 0 <= estimate <= 1
