"""Exclusivity of topics."""

import numpy as np
import pytest

from sklda.metrics import topic_diversity, topic_exclusivity


def test_its_formula():
    phi = np.random.default_rng(0).dirichlet(np.full(20, 0.1), 4)
    expected = []
    for row in phi:
        top = np.argsort(-row)[:5]
        expected.append(np.mean([row[v] / phi[:, v].sum() for v in top]))
    np.testing.assert_allclose(topic_exclusivity(phi, n_words=5, per_topic=True), expected)
    assert topic_exclusivity(phi, n_words=5) == pytest.approx(np.mean(expected))
    # Weights of topics need not have equal sums.
    np.testing.assert_allclose(topic_exclusivity(phi * [[1], [2], [3], [4]], n_words=5), np.mean(expected))


def test_its_bounds():
    assert topic_exclusivity(np.eye(3), n_words=1) == 1
    assert topic_exclusivity(np.full((4, 5), 0.2), n_words=5) == pytest.approx(0.25)
    # A word that no topic has belongs to none.
    assert topic_exclusivity([[1.0, 0.0]], n_words=2, per_topic=True).tolist() == [0.5]
    with pytest.raises(ValueError, match=r"topic_word\[0\] holds only zeros"):
        topic_exclusivity([[0.0, 0.0]], n_words=1)


@pytest.mark.parametrize(
    ("topics", "n_words", "error", "message"),
    [
        ([[0.5, 0.5]], 0, ValueError, "n_words must lie between 1 and the 2 features, got 0"),
        ([[0.5, 0.5]], 3, ValueError, "n_words must lie between 1 and the 2 features, got 3"),
        ([[0.5, 0.5]], True, TypeError, "n_words must be an integer"),
        ([[-1.0, 2.0]], 1, ValueError, "Negative values"),
        ([[np.nan, 1.0]], 1, ValueError, "NaN"),
        ([0.5, 0.5], 1, ValueError, "Expected 2D array"),
    ],
)
@pytest.mark.parametrize("score", [topic_exclusivity, topic_diversity])
def test_refusals(score, topics, n_words, error, message):
    with pytest.raises(error, match=message):
        score(topics, n_words=n_words)
