"""Intervals of the shares of topics in groups of documents."""

import numpy as np
import pytest
from scipy.stats import binom

from sklda.inspection._share_intervals import n_effective, share_intervals, wilson

FALSE_ALARM = 1e-4


def test_the_interval_is_wilsons():
    low, high = wilson(np.array([0.0, 0.25, 1.0]), np.array([10.0, 40.0, 10.0]))
    # Newcombe (1998), Statistics in Medicine 17, and the closed form z^2 / (n + z^2) for none and for all.
    z = 1.959964**2
    np.testing.assert_allclose(low, [0, 0.1419, 10 / (10 + z)], atol=1e-4)
    np.testing.assert_allclose(high, [z / (10 + z), 0.4019, 1], atol=1e-4)


def test_documents_of_one_topic_each_count_as_documents():
    """If each document has one topic, and all are equally long, the effective number is that of documents."""
    theta, place = np.eye(2)[np.arange(10_000) % 4 // 3], np.arange(10_000) % 5
    mean = np.full((5, 2), [0.75, 0.25])
    np.testing.assert_allclose(n_effective(theta, np.full(10_000, 30.0), place, mean), 2000, rtol=1e-3)
    # Proportions that are half as spread count four times.
    near = 0.5 * theta + 0.5 * theta.mean(axis=0)
    np.testing.assert_allclose(n_effective(near, np.ones(10_000), place, mean), 8000, rtol=1e-3)
    assert np.isnan(n_effective(np.full((4, 2), 0.5), np.ones(4), np.zeros(4, int), np.full((1, 2), 0.5))).all()


def test_a_large_group_has_its_own_spread():
    """All documents of one group have the same proportions, those of the other have one topic each."""
    theta = np.concatenate([np.full((3000, 2), 0.5), np.eye(2)[np.arange(3000) % 2]])
    mean, low, high = share_intervals(theta, np.ones(6000), np.repeat([0, 1], 3000), 3)
    width = (high - low)[:, 0]
    assert width[0] < 0.2 * width[1]
    assert width[1] == pytest.approx(4 * 0.5 / 3000**0.5, rel=0.05)
    assert np.isnan(mean[2]).all() and np.isnan(low[2]).all() and np.isnan(high[2]).all()


def test_groups_of_one_document_and_without_a_topic_have_the_spread_of_all():
    theta = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    _, low, high = share_intervals(theta, np.ones(4), np.array([0, 0, 0, 1]), 2)
    assert (high - low > 0.2).all()


def own_spread(theta, weights, place, mean):
    """The effective numbers by the spread within each group alone."""
    spread = np.stack([np.bincount(place, c) for c in ((weights[:, None] * (theta - mean[place])) ** 2).T], axis=1)
    tokens = np.bincount(place, weights)[:, None]
    return mean * (1 - mean) * tokens**2 / np.maximum(spread, 1e-9)


@pytest.mark.mutation("sklda.inspection._share_intervals.n_effective", own_spread)
def test_nine_of_ten_intervals_of_ten_documents_have_the_share():
    """Nominally 95 of 100. Few documents have a topic, and lengths differ: the expected error is on the short side."""
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(1000), 10)
    theta = rng.dirichlet([0.02, 0.05, 0.1, 0.3], len(place))
    weights = rng.lognormal(4, 0.8, len(place)).round() + 1
    _, low, high = share_intervals(theta, weights, place, 1000)
    truth = np.array([0.02, 0.05, 0.1, 0.3]) / 0.47
    misses = np.count_nonzero((low > truth) | (truth > high), axis=0)
    assert binom.sf(misses - 1, 1000, 0.1).min() > FALSE_ALARM
