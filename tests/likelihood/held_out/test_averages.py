"""Averages over runs."""

import numpy as np
import pytest
from scipy.special import logsumexp

from sklda._likelihood.held_out.averages import log_mean_exp


@pytest.mark.parametrize("shape", [(2, 3), (10, 4), (7,)])
def test_errors_are_those_of_the_jackknife(shape):
    log_weights = 3 * np.random.default_rng(0).standard_normal(shape)
    n = len(log_weights)
    left = np.array([logsumexp(np.delete(log_weights, i, axis=0), axis=0) for i in range(n)])
    value, std = log_mean_exp(log_weights)
    np.testing.assert_allclose(value, logsumexp(log_weights, axis=0) - np.log(n))
    np.testing.assert_allclose(std, np.sqrt((n - 1) * left.var(axis=0)))


def test_errors_of_weights_that_differ_by_factors_are_right():
    """10,000 means of ten: a relative error of the spread below .01. The delta method gives .72 of it."""
    value, std = log_mean_exp(1.5 * np.random.default_rng(0).standard_normal((10, 10_000)))
    assert abs(np.sqrt((std**2).mean()) / value.std() - 1) < 0.05


def test_runs_of_probability_zero():
    value, std = log_mean_exp(np.array([[0.0, -np.inf, -np.inf, 0.0], [-100.0, -np.inf, -3.0, 0.0]]))
    np.testing.assert_allclose(value, [-np.log(2), -np.inf, -3 - np.log(2), 0.0])
    np.testing.assert_allclose(std, [50.0, 0.0, np.inf, 0.0], atol=1e-12)


def test_one_run_has_no_error():
    assert np.isnan(log_mean_exp(np.zeros((1, 2)))[1]).all()
