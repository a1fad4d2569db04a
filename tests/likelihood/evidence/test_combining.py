"""The log evidence by the runs of several chains: its standard error, by simulation.

Weights of a path without modes are normal: forward ones at half their variance below log p, backward ones above it.
"""

import numpy as np
import pytest

from sklda._likelihood.evidence.bennett import Runs
from sklda._likelihood.evidence.combining import CountEvidence, EvidenceTable


def combined(chains):
    """log p and its error by chains, each an array of forward weights and one of backward weights."""
    known = CountEvidence(100, [Runs(*both, None, None) for both in chains])
    table = EvidenceTable.of({2: known})
    return table.value[0], np.hypot(table.std, table.common)[0]


def simulated(rng, n_chains, n_runs, variance, between=0.0):
    """Runs where log p is 0."""
    directions = variance / 2 * np.array([-1, 1])[:, None]
    modes = between * rng.standard_normal((n_chains, 1, 1))
    return modes + directions + np.sqrt(variance) * rng.standard_normal((n_chains, 2, n_runs))


def scores(n_chains, n_runs, variance):
    """Errors of 400 estimates by their stated ones."""
    rng = np.random.default_rng(0)
    found = np.array([combined(simulated(rng, n_chains, n_runs, variance)) for _ in range(400)])
    return np.abs(found[:, 0]) / found[:, 1]


def calibrated(scores):
    """Whether errors are within two of the stated ones as often as they should, and these not three times too large.

    Five standard errors of a share of 400 are .055; a median of .67 is that of normal scores.
    """
    return (scores < 2).mean() > 0.895 and np.median(scores) > 0.67 / 3


LONG = pytest.mark.exhaustive


@pytest.mark.parametrize(
    ("n_chains", "n_runs", "variance"),
    [(8, 2, 10.0), *(pytest.param(*case, marks=LONG) for case in ((8, 2, 0.1), (4, 1, 10.0), (8, 2, 200.0)))],
)
def test_the_standard_error_is_calibrated(n_chains, n_runs, variance):
    found = scores(n_chains, n_runs, variance)
    assert calibrated(found)
    assert not calibrated(2 * found) or variance != 10


def test_errors_of_little_variance_are_not_too_small():
    """They are up to ten times too large: a distance of two runs tells little of a small variance."""
    assert (scores(4, 1, 0.1) < 2).mean() > 0.895


def test_one_direction_is_too_low():
    """Backward runs that say the same as forward ones leave half their variance out."""
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        runs = simulated(rng, 8, 2, 10.0)
        runs[:, 1] = runs[:, 0]
        value, std = combined(runs)
        found.append(abs(value) / std)
    assert not calibrated(np.array(found))


def test_chains_in_different_modes_have_a_larger_error():
    rng = np.random.default_rng(0)
    alike, apart = (np.mean([combined(simulated(rng, 8, 2, 1.0, b))[1] for _ in range(20)]) for b in (0, 50))
    assert 10 < apart < 100
    assert alike < 1


def test_chains_in_much_worse_modes_leave_the_best_alone():
    runs = simulated(np.random.default_rng(0), 8, 4, 0.1)
    runs[:4] -= 2000
    assert abs(combined(runs)[0]) < 1


def test_one_chain_tells_nothing_of_modes():
    runs = simulated(np.random.default_rng(0), 1, 4, 0.1)
    assert combined(runs)[1] == np.inf
