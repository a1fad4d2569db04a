"""Shares of topics by period: documents with dates, and names of periods."""

import datetime

import numpy as np
import pytest

from sklda._description.view import view
from sklda.inspection._period_shares import period_shares


def shares(dates, theta=None, X=None, **options):
    n = len(dates)
    theta = np.tile([[0.25, 0.75]], (n, 1)) if theta is None else theta
    model = np.full((theta.shape[1], 3), 1 / 3), theta
    return period_shares(view(model, X, needs="proportions", missing="drop", dates=dates))


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
@pytest.mark.filterwarnings("ignore:dates is missing in document")
def test_documents_have_their_dates(date, text):
    found = shares([date, None, date])
    assert found.dates == [text, "", text] and found.n_undated == 1 and found.means.documents.sum() == 2


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
    assert found.means.documents.sum() == len(dates) and len(found.labels) <= 40


def test_shares_are_means_of_documents_and_gaps_stay():
    rng = np.random.default_rng(0)
    X = rng.poisson(3, (90, 3))
    X[7] = 0
    theta = rng.dirichlet([0.3, 0.3, 0.3], 90)
    years = np.where(np.arange(90) % 3 == 0, 1990, np.where(np.arange(90) % 3 == 1, 1991, 1993))
    found = shares(years, theta, X)
    assert found.labels == ["1990", "1991", "1992", "1993"]
    assert found.means.documents.tolist() == [30, 29, 0, 30] and found.n_undated == 0
    used = X.sum(axis=1) > 0
    for period, year in ((0, 1990), (1, 1991), (3, 1993)):
        np.testing.assert_allclose(found.means.estimate[period], theta[used & (years == year)].mean(axis=0))
    assert np.isnan(found.means.estimate[2]).all() and np.isnan(found.means.low[2]).all()
    assert (found.means.low[0] < found.means.estimate[0]).all() and (
        found.means.estimate[0] < found.means.high[0]
    ).all()
