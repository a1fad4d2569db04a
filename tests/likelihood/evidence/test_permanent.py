"""Permanents of matrices given by logarithms, against the sum over all permutations."""

import itertools

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.special import gammaln, logsumexp

from sklda._likelihood.evidence.topic_labels import log_permanent


def by_definition(log_weights):
    n = len(log_weights)
    permutations = np.array(list(itertools.permutations(range(n))))
    return logsumexp(log_weights[np.arange(n), permutations].sum(axis=1))


@pytest.mark.parametrize("scale", [0, 1, 10, 100, 3000])
@pytest.mark.parametrize("n", range(1, 8))
def test_permanent(n, scale):
    rng = np.random.default_rng(n)
    for _ in range(3):
        log_weights = scale * rng.standard_normal((n, n)) - 10 * scale
        value, error = log_permanent(log_weights, rng)
        expected = by_definition(log_weights)
        assert abs(value - expected) <= error + 1e-9 + 1e-12 * abs(expected)
        assert error < 1e-6


@pytest.mark.parametrize("scale", [1, 50])
def test_rows_and_columns_scale_the_permanent(scale):
    rng = np.random.default_rng(0)
    log_weights = rng.standard_normal((6, 6))
    rows, columns = scale * rng.standard_normal((2, 6))
    value, error = log_permanent(log_weights + rows[:, None] + columns, rng)
    assert value == pytest.approx(by_definition(log_weights) + rows.sum() + columns.sum(), abs=error + 1e-9)


def test_rare_exchanges():
    """Two blocks between which places are exchanged with probability e^-2a: dropped where negligible, and bounded."""
    rng = np.random.default_rng(0)
    inside = rng.standard_normal((6, 6))
    for a in (2, 5, 9, 11, 15, 30):
        log_weights = inside - a * (1 - block_diag(np.ones((3, 3)), np.ones((3, 3))))
        value, error = log_permanent(log_weights, rng)
        expected = by_definition(log_weights)
        assert abs(value - expected) <= error + 1e-9
        assert error < 1e-6


def test_impossible_entries():
    rng = np.random.default_rng(0)
    log_weights = rng.standard_normal((6, 6))
    kinds = np.array([0, 1, 0, 2, 1, 0])
    log_weights[kinds[:, None] != kinds] = -np.inf
    parts = sum(by_definition(log_weights[np.ix_(kinds == kind, kinds == kind)]) for kind in range(3))
    value, error = log_permanent(log_weights, rng)
    assert value == pytest.approx(parts, abs=1e-9)
    assert error < 1e-6
    assert log_permanent(np.where(np.eye(5), 3.0, -np.inf), rng) == (15.0, 0.0)
    # A triangle has no permutation but the identity.
    triangle = np.where(np.tri(5), rng.standard_normal((5, 5)), -np.inf)
    assert abs(log_permanent(triangle, rng)[0] - np.trace(triangle)) < 0.05


@pytest.mark.parametrize("n", [14, 15, 20, 40])
def test_large_blocks_of_equal_entries(n):
    value, error = log_permanent(np.full((n, n), 2.5), np.random.default_rng(0))
    assert abs(value - gammaln(n + 1) - 2.5 * n) <= 4.5 * error + 1e-8
    assert error < 0.01


@pytest.mark.parametrize("scale", [0.1, 0.3, 1.0])
def test_large_blocks_are_sampled(scale, monkeypatch):
    """Blocks of 13, once by subsets and once by sampling, within 4.5 of the stated errors (1e-5)."""
    rng = np.random.default_rng(0)
    log_weights = scale * rng.standard_normal((13, 13))
    exact, _ = log_permanent(log_weights, rng)
    monkeypatch.setattr("sklda._likelihood.evidence.topic_labels._EXACT_ROWS", 5)
    value, error = log_permanent(log_weights, rng)
    assert abs(value - exact) < 4.5 * error
    assert 0 < error < 0.1
    # And it would show: the sum of squares is not the sum.
    assert abs(log_permanent(1.05 * log_weights + 0.05, rng)[0] - exact) > 4.5 * error


def test_two_large_blocks_and_their_errors_add():
    rng = np.random.default_rng(0)
    one = 0.3 * rng.standard_normal((15, 15))
    (first, error_1), (second, error_2) = (log_permanent(each, rng) for each in (one, one.T))
    both = np.where(block_diag(np.ones((15, 15)), np.ones((15, 15))), block_diag(one, one.T), -np.inf)
    value, error = log_permanent(both, rng)
    assert abs(value - first - second) < 4.5 * np.sqrt(error**2 + error_1**2 + error_2**2)
    assert error == pytest.approx(np.hypot(error_1, error_2), rel=0.3)


@pytest.mark.parametrize("rare", [1e-13, 1e-11])
def test_rare_exchanges_with_many_equal_topics(rare):
    """Twenty equal topics, and two that seldom exchange places with them: neither the sum nor its error notices.

    A product of row sums over the permanent would be 20^20 / 20! for the equal topics alone.
    """
    weights = np.full((22, 22), rare)
    weights[:20, :20] = 1
    weights[20, 20] = weights[21, 21] = 1
    value, error = log_permanent(np.log(weights), np.random.default_rng(0))
    assert abs(value - gammaln(21)) < 1e-6
    assert error < 1e-6
