"""Differences of log Gamma in the acceptance ratio of the partitioned samplers."""

import math

import numpy as np
import pytest
from scipy.special import gammaln

from sklda._kernels import _rising

PRIORS = (1e-6, 0.01, 1.0, 15.5, 31.0, 100.0, 1e4)
COUNTS = (0, 1, 2, 7, 30, 31, 32, 33, 63, 64, 65, 200, 1000, 10_000, 1_000_000)


def steps():
    """Every a, count before and count after: all combinations."""
    return np.array([(a, i, j) for a in PRIORS for i in COUNTS for j in COUNTS]).T


def kernel(a, before, after):
    result = np.empty(len(a))
    _rising.log_gamma_steps(*np.ascontiguousarray([a, before, after]), result)
    return result


def exact(a, before, after):
    """The sum of logarithms, correctly rounded; its sign is that of the step."""
    low, n = a + min(before, after), int(abs(after - before))
    return math.copysign(math.fsum(math.log(low + i) for i in range(n)), after - before)


def few_terms(a, before, after):
    """The series at the middle without its last term."""
    n = np.abs(after - before)
    middle = a + np.minimum(before, after) + (n - 1) / 2
    return np.sign(after - before) * n * (np.log(middle) - (n**2 - 1) / 24 / middle**2)


def assert_is_difference_of_gammaln(step):
    a, before, after = steps()
    larger, smaller = gammaln(a + before), gammaln(a + after)
    # Rounding of the two values, and of their arguments, times the derivative, which is less than the logarithm.
    rounding = np.abs(larger) + np.abs(smaller) + (a + before + after) * np.log1p(a + before + after)
    error = np.abs(step(a, before, after) - (smaller - larger))
    assert (error <= 1e-15 * rounding + 1e-13 + 4e-13 * np.abs(after - before)).all()


def far_steps():
    """Steps by n from counts just above 32 n on, where the series is used and its error is largest."""
    rows = [(a, 32 * n + more, 32 * n + more + n) for a in (0.01, 15.5, 1e4) for n in (1, 2, 5, 50) for more in (0, 9)]
    return np.array(rows + [(a, after, before) for a, before, after in rows]).T


def assert_series_is_exact(step):
    a, before, after = far_steps()
    expected = [exact(*row) for row in far_steps().T]
    error = np.abs(step(a, before, after) - expected)
    assert (error <= 4e-13 * np.abs(after - before) + 4e-16 * np.abs(expected)).all()


def test_a_step_is_a_difference_of_gammaln():
    assert_is_difference_of_gammaln(kernel)


def test_the_series_at_the_middle_is_exact():
    assert_series_is_exact(kernel)


def test_steps_forth_and_back_cancel():
    a, before, after = steps()
    np.testing.assert_array_equal(kernel(a, before, after), -kernel(a, after, before))
    assert (kernel(a, before, before) == 0).all()


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        (assert_series_is_exact, few_terms),
        (assert_series_is_exact, lambda a, before, after: kernel(a + 1e-9, before, after)),
        (assert_is_difference_of_gammaln, lambda a, before, after: kernel(a, before, after + 1)),
    ],
)
def test_a_wrong_step_is_found(check, wrong):
    with pytest.raises(AssertionError):
        check(wrong)
