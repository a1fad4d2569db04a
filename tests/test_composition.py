"""The method of composition: linear models pooled over draws."""

import numpy as np
from scipy.stats import t

from sklda._inference.composition import LinearModels, collinear

RNG = np.random.default_rng(0)
MATRIX = np.column_stack([np.ones(12), RNG.standard_normal((12, 2))])
THETA = RNG.dirichlet([1, 2, 3], size=(4, 12))


def test_one_draw_gives_the_intervals_of_least_squares():
    estimate, error, low, high = LinearModels.fit(MATRIX, THETA[:1]).summary(np.eye(3), 0.9)
    b, rss, *_ = np.linalg.lstsq(MATRIX, THETA[0], rcond=None)
    scale = np.sqrt(np.diag(np.linalg.inv(MATRIX.T @ MATRIX))[:, None] * rss / 9)
    np.testing.assert_allclose(estimate, b, atol=1e-12)
    np.testing.assert_allclose(error, scale * np.sqrt(9 / 7))
    np.testing.assert_allclose(low, b + scale * t.ppf(0.05, 9))
    np.testing.assert_allclose(high, b + scale * t.ppf(0.95, 9))


def test_several_draws_are_the_mixture_of_their_posteriors():
    models, combination = LinearModels.fit(MATRIX, THETA), np.array([[1.0, 0.5, -2.0]])
    estimate, error, low, high = models.summary(combination, 0.8)
    # Many coefficients drawn from the sampling distribution of each draw.
    rng, drawn = np.random.default_rng(1), []
    for theta in THETA:
        b, rss, *_ = np.linalg.lstsq(MATRIX, theta, rcond=None)
        length = np.sqrt(combination[0] @ np.linalg.inv(MATRIX.T @ MATRIX) @ combination[0])
        drawn.append(combination @ b + length * np.sqrt(rss / 9) * rng.standard_t(9, (200_000, 3)))
    drawn = np.concatenate(drawn)
    np.testing.assert_allclose(estimate[0], drawn.mean(axis=0), atol=0.005)
    np.testing.assert_allclose(error[0], drawn.std(axis=0), rtol=0.02)
    np.testing.assert_allclose(np.vstack([low, high]), np.quantile(drawn, [0.1, 0.9], axis=0), atol=0.005)


def test_a_topic_that_draws_do_not_have_is_left_out_of_them():
    theta = THETA.copy()
    theta[1:, :, 2] = np.nan
    alone, mixed = (LinearModels.fit(MATRIX, each).summary(np.eye(3), 0.95) for each in (THETA[:1], theta))
    for a, b in zip(alone, mixed, strict=True):
        np.testing.assert_allclose(b[:, 2], a[:, 2], rtol=1e-6)


def test_proportions_without_residuals_have_intervals_of_no_length():
    estimate, error, low, high = LinearModels.fit(MATRIX, [np.full((12, 1), 0.25)]).summary(np.eye(3), 0.95)
    np.testing.assert_allclose([estimate, low, high], np.broadcast_to([[0.25], [0], [0]], (3, 3, 1)), atol=1e-9)
    assert (error < 1e-9).all()


def test_the_first_combined_column_is_found():
    assert collinear(MATRIX) is None
    assert collinear(np.column_stack([MATRIX, MATRIX[:, 1] - 3])) == 3
    assert collinear(MATRIX * [1e-80, 1e80, 1]) is None
