"""Ratios of two models and curves along a fit, against exact likelihoods."""

import numpy as np
import pytest
from enumeration import make_corpus
from held_out_cases import ALPHA_A, ALPHA_B, DOCS, A, B, exact
from scipy.stats import norm

from sklda.papers.held_out._between_models import curve_runs, log_ratios

ALARM = 1e-6


def smallest_p(log_estimates, log_truth):
    """p-value of the mean of exp(estimates) over runs, the smallest over documents times their number."""
    relative = np.exp(log_estimates - log_truth)
    error = relative.std(axis=0, ddof=1) / np.sqrt(len(relative)) + 1e-6
    z = (relative.mean(axis=0) - 1) / error
    return 2 * norm.sf(np.abs(z)).min() * z.shape[-1]


@pytest.mark.mutation
@pytest.mark.parametrize("path", ["convex", "geometric"])
@pytest.mark.parametrize("alphas", [(ALPHA_A, ALPHA_A), (ALPHA_A, ALPHA_B)], ids=["one alpha", "two alphas"])
def test_ratios_are_unbiased(path, alphas):
    # with the 30 sweeps of burn-in the start is the first model's posterior
    a, b = (A, alphas[0][None]), (B, alphas[1][None])
    options = {"path": path, "n_temperatures": 5, "n_runs": 4000}
    runs = log_ratios(make_corpus(DOCS, 4), a, b, seed=np.random.SeedSequence(0), **options)
    truth = exact(B, alphas[1]) - exact(A, alphas[0])
    assert smallest_p(runs, truth) > ALARM
    assert smallest_p(runs, exact(B, alphas[1]) - exact(A, 2 * alphas[0])) < ALARM


@pytest.mark.mutation
def test_curves_are_unbiased_at_every_snapshot():
    snapshots = [A, (A + B) / 2, B]
    runs = curve_runs(
        make_corpus(DOCS, 4), snapshots, ALPHA_A[None], n_temperatures=4, n_runs=4000, seed=np.random.SeedSequence(0)
    )
    for s, phi in enumerate(snapshots):
        assert smallest_p(runs[:, s], exact(phi, ALPHA_A)) > ALARM
    assert smallest_p(runs[:, 1], exact(A, ALPHA_A)) < ALARM
