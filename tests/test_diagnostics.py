"""R-hat and effective draws: against ArviZ, at the ends, and on chains whose answer is known."""

import warnings

import numpy as np
import pytest

from sklda._core.diagnostics import clear_rise, diagnose, draws_after, effective_draws, r_hat, variance_ratio
from sklda._models.empirical_bayes.convergence import unranked_r_hat


def autoregression(rng, n_chains, n_draws, phi):
    """Stationary chains with autocorrelations phi^t."""
    noise = rng.standard_normal((n_chains, n_draws))
    draws = noise / np.sqrt(1 - phi**2)
    for t in range(1, n_draws):
        draws[:, t] = phi * draws[:, t - 1] + noise[:, t]
    return draws


def samples():
    """Chains of all lengths from 4 on, positive and negative correlations, ties, offsets and scales."""
    rng = np.random.default_rng(0)
    for i in range(300):
        draws = autoregression(
            rng, rng.integers(1, 6), rng.integers(4, 150), rng.choice([-0.9, -0.5, 0, 0.5, 0.9, 0.99])
        )
        draws = np.round(draws) if i % 3 == 0 else draws
        draws = draws + (i % 5 == 0) * np.arange(len(draws))[:, None]
        draws = draws * 1e6 - 1e9 if i % 7 == 0 else draws
        yield draws


def test_equal_to_arviz():
    array_stats = pytest.importorskip("arviz_stats.base").array_stats
    n_compared = 0
    for draws in samples():
        with warnings.catch_warnings():
            # ArviZ divides by zero where all draws are equal.
            warnings.simplefilter("ignore", RuntimeWarning)
            ess = float(array_stats.ess(draws, method="bulk"))
            expected = float(array_stats.rhat(draws, method="rank")) if len(draws) > 1 else np.nan
        assert effective_draws(draws) == pytest.approx(ess, rel=1e-10)
        if np.isfinite(expected):
            assert r_hat(draws) == pytest.approx(expected, rel=1e-10)
            n_compared += 1
    assert n_compared > 200


def test_r_hat_of_one_chain_compares_its_halves():
    draws = np.random.default_rng(0).standard_normal((1, 100))
    assert r_hat(draws) == pytest.approx(1, abs=0.1)
    draws[:, 50:] += 3
    assert r_hat(draws) > 1.5
    # A wider second half has the same mean: the distances from the median tell.
    assert r_hat(np.concatenate([draws[:, :50], 10 * draws[:, :50]], axis=1)) > 1.2


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        (np.full((3, 7), 0.1), 1.0),
        (np.full((1, 4), -5.0), 1.0),
        (np.repeat([[0.1], [0.3], [0.7]], 7, axis=1), np.inf),
        (np.repeat([[-1.0], [1.0]], 6, axis=1), np.inf),
        (np.array([[0.0] * 11 + [1.0] * 11]), np.inf),
        (np.array([[-1.0, 1.0] * 3, [-3.0, 3.0] * 3]), np.inf),
    ],
)
def test_constant_chains(draws, expected):
    assert r_hat(draws) == expected
    assert np.isfinite(effective_draws(draws)) == (np.ptp(draws) > 0)


def test_effective_draws_of_constant_chains():
    # Draws that never change tell nothing of how they depend on each other, and neither do rounding errors.
    values = 0.1 + np.random.default_rng(0).integers(-2, 3, (3, 200)) * 2.0**-56
    assert np.isnan(effective_draws(values)) and r_hat(values) == 1
    # Two values are all that two chains that never move have said.
    assert effective_draws(np.repeat([[1.0], [2.0]], 200, axis=1)) < 4


def test_two_values_that_are_equally_frequent():
    """Their distances from the median are equal, and only the draws themselves count."""
    draws = np.array([[0.0, 1.0, 1.0, 0.0] * 25, [1.0, 0.0, 0.0, 1.0] * 25])
    assert r_hat(draws) == pytest.approx(np.sqrt(49 / 50))


@pytest.mark.parametrize(
    "draws", [np.zeros((2, 0)), np.zeros((2, 3)), np.full((1, 9), np.nan), np.full((2, 9), np.inf)]
)
def test_unknown(draws):
    assert np.isnan(r_hat(draws)) and np.isnan(effective_draws(draws))


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_effective_draws_of_an_autoregression(phi):
    """The mean over 20 repetitions is within 15 % of n (1 - phi) / (1 + phi); its error is about 2 %."""
    rng = np.random.default_rng(0)
    found = [effective_draws(autoregression(rng, 4, 2000, phi)) for _ in range(20)]
    assert np.mean(found) == pytest.approx(8000 * (1 - phi) / (1 + phi), rel=0.15)


def test_r_hat_tells_chains_apart():
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4, 500))
    assert r_hat(draws) < 1.01
    draws[3] += 2
    assert r_hat(draws) > 1.2
    # The ranks of a few huge draws are no larger than those of others.
    heavy = rng.standard_cauchy((4, 1000))
    assert r_hat(heavy) < 1.01


def test_diagnose():
    rng = np.random.default_rng(0)
    trace = rng.standard_normal((3, 120))
    trace[:, :20] -= 100
    trace[1, 100:] = np.nan
    found = diagnose({"a": trace, "b": trace[:1]}, 20)
    assert list(found) == ["a", "b"]
    draws = trace[:, 20:100]
    assert found["a"].r_hat == r_hat(draws) < 1.1
    assert found["a"].n_effective == effective_draws(draws)
    np.testing.assert_array_equal(found["a"].r_hat_by_chain, [r_hat(draws[c : c + 1]) for c in range(3)])
    np.testing.assert_array_equal(
        found["a"].n_effective_by_chain, [effective_draws(draws[c : c + 1]) for c in range(3)]
    )
    assert found["b"].r_hat == found["b"].r_hat_by_chain == r_hat(trace[:1, 20:])
    # No draw is left after the end of the second chain.
    assert np.isnan(diagnose({"a": trace}, 100)["a"].r_hat)


def test_draws_after():
    trace = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, np.nan]])
    np.testing.assert_array_equal(draws_after(1, trace), [[2.0], [5.0]])
    assert draws_after(2, trace).shape == (2, 0)
    assert draws_after(0, np.full((2, 3), np.nan)).shape == (2, 0)


def test_the_variance_ratio_is_that_of_both_r_hats():
    """R-hat of draws, without ranks, is that of the search for priors."""
    draws = np.random.default_rng(0).standard_normal((3, 50, 2))
    halves = [half for each in draws for half in np.split(each, 2)]
    np.testing.assert_array_equal(unranked_r_hat(list(draws)), variance_ratio(halves))
    within = np.var(halves, axis=1, ddof=1).mean(axis=0)
    between = 25 * np.var(np.mean(halves, axis=1), axis=0, ddof=1)
    # Sequences of no variance: those that differ never meet, those that are equal agree.
    assert variance_ratio([np.zeros(5), np.ones(5)]) == np.inf
    assert variance_ratio([np.ones(5), np.ones(5)]) == pytest.approx(np.sqrt(4 / 5))
    np.testing.assert_allclose(variance_ratio(halves), np.sqrt((24 / 25 * within + between / 25) / within), rtol=1e-12)


def test_a_rise_and_the_sweeps_until_it_ends():
    """What is left falls with the power 1.5, and is ten times the noise at the end: 4.6 times as many sweeps."""
    sweeps = np.arange(1, 501)
    trace = -10 * (sweeps / 500) ** -1.5 + np.random.default_rng(0).standard_normal(500)
    rise, wanted = clear_rise(trace, 350)
    assert rise == pytest.approx(10 * (0.7**-1.5 - 1), rel=0.25)
    assert wanted == pytest.approx(500 * 10 ** (2 / 3), rel=0.25)
    # The first half of all sweeps never counts; a fall, and too few sweeps, say nothing.
    assert clear_rise(trace, 0) == clear_rise(trace, 250)
    assert clear_rise(-trace, 350) is None
    assert clear_rise(trace, 471) is None
    assert clear_rise(trace[:99], 50) is None
    # Many sweeps see a rise that is nothing beside the noise.
    rng = np.random.default_rng(1)
    assert clear_rise(0.3 * np.arange(20000) / 20000 + rng.standard_normal(20000), 0) is None


# Of 10,000 other chains, 2 rise, and 98 with the mutation: more than 5 of 2,000 with probability 4e-6.
@pytest.mark.mutation("sklda._core.diagnostics._LEAST_REST", 0.0)
def test_stationary_chains_do_not_rise():
    chains = autoregression(np.random.default_rng(0), 2000, 500, 1 / 3)
    assert sum(clear_rise(each, 350) is not None for each in chains) <= 5
