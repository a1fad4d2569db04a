"""Shares of topics by period: documents with dates, names of periods, and intervals."""

import datetime

import numpy as np
import pytest
from scipy.stats import binom

from sklda.inspection import _period_shares
from sklda.inspection._period_shares import n_effective, period_shares, wilson
from sklda.inspection._view import view

FALSE_ALARM = 1e-4


def shares(dates, theta=None, X=None, **options):
    n = len(dates)
    theta = np.tile([[0.25, 0.75]], (n, 1)) if theta is None else theta
    return period_shares(view((np.full((theta.shape[1], 3), 1 / 3), theta), X, needs="proportions"), dates)


@pytest.mark.parametrize(
    "date, text",
    [
        (1998, "1998"),
        (1998.0, "1998"),
        ("1998", "1998"),
        ("1998-05", "1998-05"),
        ("1998-05-17T10:30:00Z", "1998-05-17"),
        (datetime.date(1998, 5, 17), "1998-05-17"),
        (datetime.datetime(1998, 5, 17, 23, 59), "1998-05-17"),
        (np.datetime64("1998-05-17T10:00:00.123456789"), "1998-05-17"),
    ],
)
def test_documents_have_their_dates(date, text):
    found = shares([date, None, date])
    assert found.dates == [text, "", text] and found.n_undated == 1 and found.n_documents.sum() == 2


@pytest.mark.parametrize(
    "date, error", [("17.5.1998", ValueError), (1998.5, ValueError), (True, TypeError), ("1998-02-30", ValueError)]
)
def test_what_is_no_date(date, error):
    with pytest.raises(error, match=r"dates\[1\]"):
        shares([1998, date])


@pytest.mark.parametrize(
    "dates, length, labels",
    [
        ([f"2020-02-{1 + d % 29:02}" for d in range(600)], "day", ["2020-02-01", "2020-02-02"]),
        ([f"2020-0{1 + d % 3}-{1 + d % 28:02}" for d in range(600)], "week", ["2019-12-30", "2020-01-06"]),
        ([f"2020-{1 + d % 12:02}-05" for d in range(600)], "month", ["2020-01", "2020-02"]),
        ([f"{2010 + d % 8}-{1 + d % 12:02}" for d in range(600)], "quarter", ["2010 Q1", "2010 Q2"]),
        ([2000 + d % 12 for d in range(600)], "year", ["2000", "2001"]),
        ([1901 + d % 120 for d in range(600)], "period of 5 years", ["1900–1904", "1905–1909"]),
    ],
)
def test_periods_have_names(dates, length, labels):
    found = shares(dates)
    assert found.length == length and found.labels[:2] == labels
    assert found.n_documents.sum() == len(dates) and len(found.labels) <= 40


def test_shares_count_tokens_and_gaps_stay():
    rng = np.random.default_rng(0)
    X = rng.poisson(3, (90, 3))
    X[7] = 0
    theta = rng.dirichlet([0.3, 0.3, 0.3], 90)
    years = np.where(np.arange(90) % 3 == 0, 1990, np.where(np.arange(90) % 3 == 1, 1991, 1993))
    found = shares(years, theta, X)
    assert found.labels == ["1990", "1991", "1992", "1993"]
    assert found.n_documents.tolist() == [30, 29, 0, 30] and found.n_undated == 0
    n = X.sum(axis=1)
    for period, year in ((0, 1990), (1, 1991), (3, 1993)):
        own = years == year
        np.testing.assert_allclose(found.mean[period], n[own] @ theta[own] / n[own].sum())
    assert np.isnan(found.mean[2]).all() and np.isnan(found.low[2]).all()
    assert (found.low[0] < found.mean[0]).all() and (found.mean[0] < found.high[0]).all()


def test_the_interval_is_wilsons():
    low, high = wilson(np.array([0.0, 0.25, 1.0]), np.array([10.0, 40.0, 10.0]))
    # Newcombe (1998), Statistics in Medicine 17, and the closed form z^2 / (n + z^2) for none and for all.
    z = 1.959964**2
    np.testing.assert_allclose(low, [0, 0.1419, 10 / (10 + z)], atol=1e-4)
    np.testing.assert_allclose(high, [z / (10 + z), 0.4019, 1], atol=1e-4)


def test_documents_of_one_topic_each_count_as_documents():
    """If each document has one topic, and all are equally long, the effective number is that of documents."""
    theta = np.eye(2)[np.arange(100) % 4 // 3]
    place = np.arange(100) % 5
    np.testing.assert_allclose(n_effective(theta, np.full(100, 30.0), place, 5), 20)
    # Proportions that are half as spread count four times.
    np.testing.assert_allclose(n_effective(0.5 * theta + 0.5 * theta.mean(axis=0), np.ones(100), place, 5), 80)
    assert np.isnan(n_effective(np.full((4, 2), 0.5), np.ones(4), np.zeros(4, int), 1)).all()


def own_spread(theta, weights, place, n_periods):
    """The effective numbers by the spread within each period."""
    found = np.empty((n_periods, theta.shape[1]))
    for i in range(n_periods):
        found[i] = n_effective(theta[place == i], weights[place == i], np.zeros(np.sum(place == i), int), 1)
    # Periods in which no document has a topic are as certain as can be.
    return np.where(np.isnan(found), 1e9, found)


@pytest.mark.mutation("sklda.inspection._period_shares.n_effective", own_spread)
def test_nine_of_ten_intervals_of_ten_documents_have_the_share():
    """Nominally 95 of 100. Few documents have a topic, and lengths differ: the expected error is on the short side."""
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(1000), 10)
    theta = rng.dirichlet([0.02, 0.05, 0.1, 0.3], len(place))
    weights = rng.lognormal(4, 0.8, len(place)).round() + 1
    tokens = np.bincount(place, weights)
    mean = np.stack([np.bincount(place, weights * column) for column in theta.T], axis=1) / tokens[:, None]
    low, high = wilson(mean, _period_shares.n_effective(theta, weights, place, 1000))
    truth = np.array([0.02, 0.05, 0.1, 0.3]) / 0.47
    misses = np.count_nonzero((low > truth) | (truth > high), axis=0)
    assert binom.sf(misses - 1, 1000, 0.1).min() > FALSE_ALARM
