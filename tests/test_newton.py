"""Newton's method: exact on quadratic functions, within its box, and never down."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sklda._core.newton import newton, newton_on_log


@pytest.mark.parametrize("n", [1, 2, 5])
def test_newton_needs_one_step_on_a_quadratic_function(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n))
    A, top = A @ A.T + np.eye(n), rng.normal(size=n) / 10
    x, n_steps = newton(lambda x: (-(x - top) @ A @ (x - top) / 2, -A @ (x - top), -A), np.zeros(n), [-5] * n, [5] * n)
    np.testing.assert_allclose(x, top, atol=1e-7)
    assert n_steps <= 2


def test_newton_stays_in_the_box_and_on_its_edges():
    x, _ = newton(lambda x: (x.sum(), np.ones(2), np.zeros((2, 2))), [0, 0], [-1, -2], [3, 40])
    np.testing.assert_array_equal(x, [3, 40])
    # The maximum without the box is at (2, 2); on the edge x_0 <= 1 it is at x_1 = 1.5.
    A = np.array([[2.0, -1], [-1, 2]])
    x, _ = newton(lambda x: (-(x - 2) @ A @ (x - 2) / 2, -A @ (x - 2), -A), [-3, -3], [-5, -5], [1, 5])
    np.testing.assert_allclose(x, [1, 1.5], atol=1e-6)


@pytest.mark.parametrize("start", [-6, -0.9, -1e-3, 0.3, 4])
def test_newton_goes_up_where_the_function_bends_upwards(start):
    def function(x):  # maxima at -1 and 1, between them a minimum
        value = -((x[0] ** 2 - 1) ** 2)
        return value, np.array([-4 * x[0] * (x[0] ** 2 - 1)]), np.array([[4 - 12 * x[0] ** 2]])

    x, _ = newton(function, [start], [-10], [10])
    assert abs(x[0]) == pytest.approx(1, abs=1e-6)


def concave_in_log(h, order):
    """Two draws of a function of h whose mean is 3 log h - 1.5 h, with its derivatives by log h."""
    return np.array([(3 * np.log(h) - h, 3 - h, -h)[order], (3 * np.log(h) - 2 * h, 3 - 2 * h, -2 * h)[order]])


@pytest.mark.parametrize("start", [1e-3, 0.5, 2.0, 900.0])
def test_newton_on_a_logarithm(start):
    best = minimize_scalar(lambda x: -concave_in_log(np.exp(x), 0).mean(), bounds=(-7, 7), method="bounded").x
    assert newton_on_log(concave_in_log, np.log(start), (1e-3, 1e3)) == pytest.approx(best, abs=1e-5)
    assert np.exp(newton_on_log(concave_in_log, np.log(start), (1e-3, 1e3))) == pytest.approx(2, abs=1e-7)
    assert newton_on_log(concave_in_log, np.log(start), (1e-3, 1.5)) == np.log(1.5)
    assert newton_on_log(concave_in_log, np.log(start), (2.5, 1e3)) == np.log(2.5)


def test_a_wrong_sign_of_the_gradient_is_found():
    def wrong(h, order):
        return concave_in_log(h, order) * (-1 if order == 1 else 1)

    assert abs(np.exp(newton_on_log(wrong, np.log(0.5), (1e-3, 1e3))) - 2) > 0.1
