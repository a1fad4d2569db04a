"""The variational bound: below the evidence, rising, with the right constants and slopes; where the ascent stops."""

import numpy as np
import pytest
from compound_cases import CASES, corpus_of
from enumeration import Enumeration

from sklda._core.priors import Priors
from sklda._models.compound.model import CompoundModel
from sklda.papers.compound._ascent import MixtureBound, VariationalAscent, maximise_bounds

DOCS_0 = [doc for docs in CASES[0][0] for doc in docs]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_the_bound_rises_and_stays_below_the_evidence(case):
    collections, V, K, (alpha, gamma, eta), (_, _, log_p) = case
    corpus, labels = corpus_of(collections, V)
    model = CompoundModel(labels, len(collections))
    priors = Priors.make(1.0, eta, K, V)
    fit = VariationalAscent(corpus, priors, np.random.SeedSequence(0), model, alpha, gamma)
    bounds = []
    for _ in range(60):
        fit.sweep()
        bounds.append(fit.log_joint())
    assert np.diff(bounds).min() > -1e-9
    assert bounds[-1] < log_p


def test_the_bound_is_the_evidence_where_nothing_is_hidden():
    """With one topic q is the posterior, and the bound is log p(w); each constant counts."""
    corpus, labels = corpus_of(CASES[0][0], 3)
    fit = VariationalAscent(
        corpus, Priors.make(1.0, 0.3, 1, 3), np.random.SeedSequence(0), CompoundModel(labels, 2), 0.7, 1.9
    )
    fit.sweep()
    np.testing.assert_allclose(fit.log_joint(), Enumeration(DOCS_0, 3, 1, 1.9, 0.3).log_joint[0], rtol=1e-10)


def test_the_bound_with_a_large_prior():
    """With one word log p(w) is zero; the terms of the priors are 10^15 times larger than their sum."""
    corpus, labels = corpus_of([[[0], [0]], [[0, 0]]], 1)
    model = CompoundModel(labels, 2)
    fit = VariationalAscent(corpus, Priors.make(1.0, 1.0, 100, 1), np.random.SeedSequence(0), model, 1e12, 1e6)
    for _ in range(3):
        fit.sweep()
        assert -1e-3 < fit.log_joint() < 1e-4


def test_the_slopes_of_the_bound():
    rng = np.random.default_rng(0)
    a, omega, n = rng.gamma(3, size=(2, 1)), rng.dirichlet(np.ones(3), size=2), np.array([4, 0])
    mixtures = MixtureBound(0.7, 1.8, n, -rng.gamma(2, size=(2, 3)) * n[:, None])
    h = 1e-5
    slope, curvature = mixtures.omega_slopes(a, omega)
    for k in range(3):
        move = np.eye(3)[k] * h
        # Along the simplex: topic k up, topic k + 1 down.
        along = move - np.roll(move, 1)
        up, down = (mixtures.bound(a, omega + s * along) for s in (1, -1))
        np.testing.assert_allclose((up - down) / (2 * h), slope[:, k] - slope[:, (k + 1) % 3], rtol=1e-4, atol=1e-6)
        up, down = (mixtures.omega_slopes(a, omega + s * move)[0][:, k] for s in (1, -1))
        np.testing.assert_allclose((up - down) / (2 * h), curvature[:, k], rtol=1e-4, atol=1e-6)
    slope, curvature = mixtures.a_slopes(a, omega)
    up, down = (mixtures.bound(a + s * h, omega) for s in (1, -1))
    np.testing.assert_allclose((up - down) / (2 * h), slope[:, 0], rtol=1e-4, atol=1e-6)
    up, down = (mixtures.a_slopes(a + s * h, omega)[0] for s in (1, -1))
    np.testing.assert_allclose((up - down) / (2 * h), curvature, rtol=1e-4, atol=1e-6)


def test_an_ascent_stops_where_it_gains_nothing():
    """The last iteration is the first that gains less than the tolerance; more iterations allowed change nothing."""
    corpus, labels = corpus_of(CASES[0][0], 3)
    model, priors = CompoundModel(labels, 2), Priors.make(1.0, 0.3, 2, 3)
    traces = []
    for most in (500, 5000):
        starts = [VariationalAscent(corpus, priors, np.random.SeedSequence(s), model, 0.7, 1.9) for s in (0, 1)]
        ascents = maximise_bounds(starts, most, n_jobs=2)
        traces.append([ascent.trace for ascent in ascents])
        for ascent in ascents:
            gains = np.diff(ascent.trace)
            assert len(ascent.trace) < most
            assert gains[-1] < 1e-7 * corpus.n_tokens <= gains[:-1].min()
    assert traces[0] == traces[1]
    start = VariationalAscent(corpus, priors, np.random.SeedSequence(0), model, 0.7, 1.9)
    assert len(maximise_bounds([start], 3)[0].trace) == 3
