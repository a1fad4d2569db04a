"""One value from runs of several chains: its standard error and its bias, by simulation."""

import numpy as np
import pytest

from sklda._inference.evidence.combining import combine_chains


def agree(errors, stds):
    """Whether errors are within two of the stated ones as often as they should, and these not three times too large.

    The limit is five standard errors of a share of 500 below the least of the shares that were found, 0.93; a median of
    0.67 is that of normal scores.
    """
    scores = np.abs(errors) / stds
    return (scores < 2).mean() > 0.88 and np.median(scores) > 0.67 / 3


@pytest.mark.parametrize("shape, sigma", [((2, 40), 0.3), ((2, 40), 1.0), ((3, 60), 4.0), ((2, 200), 10.0)])
def test_the_standard_error_is_calibrated(shape, sigma):
    """Value plus bias over 500 sets of normal log weights."""
    rng = np.random.default_rng(0)
    made = [combine_chains(sigma * rng.standard_normal(shape) - 1000) for _ in range(500)]
    value, std, bias = np.array(made).T
    low = value - (sigma**2 / 2 - 1000)
    assert agree(low + bias, std)
    assert not agree(low + bias, std / 2)
    assert (bias.max() < 1e-9) == (sigma <= 1)
    # Without the correction wide weights are found too low.
    assert agree(low, std) == (sigma <= 1)


@pytest.mark.parametrize(
    ("n_chains", "sigma"),
    [(4, 200.0), (8, 3.0), *(pytest.param(*case, marks=pytest.mark.exhaustive) for case in ((4, 3.0), (8, 200.0)))],
)
def test_chains_in_different_modes_show_how_far_others_would_be(n_chains, sigma):
    """500 pairs of sets of chains whose modes are normal with this deviation: each set tells how far off the other is.

    The errors are those of the largest of a few, and made wider for they know its deviation from as few.
    """
    rng = np.random.default_rng(0)
    modes = sigma * rng.standard_normal((500, 2, n_chains, 1)) + 0.3 * rng.standard_normal((500, 2, n_chains, 2))
    made = np.array([[combine_chains(each)[:2] for each in pair] for pair in modes])
    value, std = made[..., 0], made[..., 1]
    assert agree(value[:, 0] - value[:, 1], np.hypot(*std.T))
    # The error of a mean would not do, nor would two chains do whose deviation is taken as known.
    means = modes.mean(axis=3)
    assert not agree(value[:, 0] - value[:, 1], means.std(axis=2, ddof=1).mean(axis=1) * (2 / n_chains) ** 0.5)


def test_the_bias_does_not_contain_the_variance_between_modes():
    """Half the variance of runs is, 648 nats; of modes 45 nats apart the best of four counts, 35 to 46 above the mean.

    Means of 1,000 sets have an error of 1.2. If all variance were corrected for, they would be 245.
    """
    rng = np.random.default_rng(0)
    log_weights = 45 * rng.standard_normal((1000, 4, 1)) + 36 * rng.standard_normal((1000, 4, 2))
    value, std, bias = np.array([combine_chains(each, 36.0**2) for each in log_weights]).T
    found = value + bias - 648
    assert 25 < found.mean() < 46
    assert agree(found[::2] - found[1::2], np.hypot(std[::2], std[1::2]))


def test_failed_chains_leave_the_error_of_the_best_mode_alone():
    rng = np.random.default_rng(0)
    log_weights = 0.3 * rng.standard_normal((8, 4)) + np.repeat([0, -2000], 4)[:, None]
    value, std, _ = combine_chains(log_weights)
    assert value == pytest.approx(-np.log(2), abs=0.6)
    assert std < 1
    # Its runs do not say how much those of the others vary.
    normal = 30 * rng.standard_normal((4, 2))
    normal[0] = -3000, -3600
    value, std, bias = combine_chains(normal, 900.0)
    assert value + bias == pytest.approx(450 + np.log(3 / 4), abs=4.5 * std)
    assert std < 80
    assert combine_chains(normal)[2] < 2000
    # One that is alone in its mode is another matter.
    assert combine_chains(log_weights - np.arange(8)[:, None] * 100)[1] > 30


def test_chains_of_other_models_tell_how_far_chains_differ():
    rng = np.random.default_rng(0)
    noise = 0.1 * rng.standard_normal((2, 4))
    assert combine_chains(noise)[1] < 0.1
    others = [np.array([0.0, 100.0]), np.array([50.0, -50.0])]
    assert 30 < combine_chains(noise, other_chains=others)[1] < 200


def test_one_estimate_has_no_error():
    value, std, bias = combine_chains(np.array([[-3.0]]))
    assert (value, bias) == (-3.0, 0.0)
    assert np.isnan(std)
