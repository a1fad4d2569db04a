"""Calibration: the short form of `make calibrate`, its arithmetic, and the page with its results."""

import json
from itertools import product

import numpy as np
import pytest
from calibrate import LEVEL, PAGE, RESULTS, complaints
from calibration.cases import CASES, N_DRAWS
from calibration.errors import ERRORS, estimates, ratio
from calibration.page import with_tables
from calibration.ranks import bands, chi_square_p, counts_below, ecdf_p, rank

# Other samplers have tests of their exact transitions, so the suite takes one case.
short = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=() if case.name == "GibbsLDA" else pytest.mark.exhaustive)
        for case in CASES
        if case.short
    ],
)


def smallest_p(case, mutated):
    """Smallest p-value of the case's quantities and of both tests, times their number."""
    runs = [case.run(seed, mutated)[0] for seed in range(case.short)]
    p = [test([run[name] for run in runs], N_DRAWS) for name in runs[0] for test in (chi_square_p, ecdf_p)]
    return min(p) * len(p)


@pytest.mark.mutation("test_mutations_are_found")
@short
def test_ranks_are_uniform(case):
    assert smallest_p(case, mutated=False) > LEVEL


@short
def test_mutations_are_found(case):
    assert smallest_p(case, mutated=True) < LEVEL


def test_ecdf_p_is_exact():
    """All outcomes of four ranks among two draws: P(p <= value) is the value, for every value that p takes."""
    p = np.array([ecdf_p(list(ranks), 2) for ranks in product(range(3), repeat=4)])
    np.testing.assert_allclose([(p <= value + 1e-12).mean() for value in p], p, atol=1e-12)


def test_bands_hold_at_their_level():
    lower, upper = bands(4, 2, 0.2)
    below = np.array([counts_below(ranks, 2) for ranks in product(range(3), repeat=4)])
    left = ((below < lower) | (below > upper)).any(axis=1).mean()
    assert 0 < left <= 0.2


def test_ties_are_broken_at_random():
    ranks = [rank(1, [0, 1, 1, 2], np.random.default_rng(seed)) for seed in range(100)]
    assert set(ranks) == {1, 2, 3}


def test_the_ratio_of_errors_is_one_for_right_errors():
    values = np.random.default_rng(0).standard_normal((200, 5))
    found, low, high = ratio(np.array([values, np.ones((200, 5))]))
    assert low < 1 < high and abs(found - 1) < 0.1
    assert ratio(np.array([values, np.full((200, 5), 0.5)]))[2] < 0.7


@pytest.mark.parametrize("name", ["left_to_right", "log_evidence, ais"])
def test_estimates_have_errors(name):
    value, std = estimates(name, range(2))
    assert value.shape == std.shape and np.isfinite(value).all() and (std > 0).all()


RECORDED = json.loads(RESULTS.read_text(encoding="utf-8"))
# Cases that have not been run since their estimator changed: run them with `calibrate.py --cases`, and take them out.
NOT_RUN = {"TopicCountLDA, T to 30", "TopicCountLDA, unknown priors"}


def test_the_results_are_calibrated():
    assert RECORDED["cases"].keys() == {case.name for case in CASES} - NOT_RUN
    assert RECORDED["errors"].keys() == set(ERRORS)
    assert not list(complaints(RECORDED))


def test_the_page_has_the_results():
    text = PAGE.read_text(encoding="utf-8")
    assert with_tables(text, RECORDED) == text
    assert all(f'"{name}", ' in text for name in [*RECORDED["cases"], *RECORDED["errors"]])
