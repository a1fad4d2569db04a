"""Chains on (h, z): records, streams and the stop flag. Exactness is in test_surfaces.py."""

import pickle

import numpy as np
import pytest
from enumeration import DOCS, Enumeration, chi_square_p, make_chain, make_corpus
from scipy.special import logsumexp

from sklda._core.count_histograms import CountHistograms
from sklda._core.parallel import NEVER_STOP, Stop, Stopped
from sklda._core.priors import Priors
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.steps import advance
from sklda._sampling.word_major import WordMajorChain
from sklda.papers.empirical_bayes._grid import Grid, continue_on_grid

V, K = 9, 3
ALARM = 1e-5
# Chi-square of 19 degrees of freedom, level 1e-5.
LIMIT = 60.0
REGION = ((0.05, 10.0), (0.02, 5.0))


def tempered(log_zeta=None, gain=None, shape=(5, 4), kind=GibbsChain):
    rng = np.random.default_rng(0)
    corpus = make_corpus([rng.integers(V, size=n) for n in (0, 1, 5, 40, 7, 30)], V)
    grid = Grid.over(corpus, K, REGION, shape)
    if log_zeta is not None:
        grid = grid.with_log_zeta(log_zeta)
    chain = make_chain(corpus, Priors.make(1.0, 1.0, K, V), rng.integers(K, size=corpus.n_tokens), kind=kind)
    return continue_on_grid(chain, grid, np.random.default_rng(1), gain=gain)


def sweeps(chain, n_sweeps, stop=NEVER_STOP):
    for _ in range(n_sweeps):
        advance(chain, chain.steps, stop)
    return chain.steps


OPTIONS = {
    "full Bayes": {},
    "serial tempering": {"log_zeta": np.arange(20.0).reshape(5, 4)},
    "adapted": {"gain": 20.0},
    "word by word": {"kind": WordMajorChain},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_records_are_those_of_the_state(options):
    chain = tempered(**options)
    step, trace = sweeps(chain, 7)
    counts = CountHistograms.of(chain)
    kept, priors = step.observations[-1].counts, np.array([0.01, 3.0])
    np.testing.assert_allclose(kept.word_part(priors), counts.word_part(priors))
    np.testing.assert_allclose(kept.doc_part(priors), counts.doc_part(priors))
    np.testing.assert_array_equal(step.observations[-1].counts.totals[0], np.bincount(chain.topics, minlength=K))
    plain = GibbsChain(chain.corpus, chain.priors, chain.state())
    log_joint = step._parts[0][step.at[0]] + step._parts[1][step.at[1]]
    np.testing.assert_allclose([log_joint, chain.log_joint()], plain.log_joint(), rtol=1e-12)
    for ours, theirs in zip(step._parts, step.grid.parts(counts), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    at = np.array([each.at for each in step.observations])
    np.testing.assert_array_equal(trace.path, np.stack([step.grid.alphas[at[:, 0]], step.grid.etas[at[:, 1]]], 1))
    np.testing.assert_array_equal(plain.word_topic_counts, chain.word_topic_counts)


@pytest.mark.parametrize("kind", [GibbsChain, WordMajorChain])
def test_log_zeta_moves_by_the_conditional(kind):
    chain = tempered(gain=20.0, kind=kind)
    step, _ = sweeps(chain, 1)
    n = step.log_zeta.size
    before = np.zeros(step.grid.shape)
    log_p = step._parts[0][:, None] + step._parts[1] - before
    p = np.exp(log_p - log_p.max())
    np.testing.assert_allclose(step.log_zeta, (n * p / p.sum() - 1) / (20.0 + 1))


@pytest.mark.mutation
def test_grid_points_are_drawn_from_their_conditional():
    """Of a corpus of one token the conditional is known."""
    corpus = make_corpus([[0]], 2)
    start = make_chain(corpus, Priors.make(1.0, 1.0, 2, 2), [0])
    log_zeta = np.random.default_rng(0).normal(size=(5, 4))
    grid = Grid.over(corpus, 2, REGION, (5, 4)).with_log_zeta(log_zeta)
    step, _ = sweeps(continue_on_grid(start, grid, np.random.default_rng(2)), 2_000)
    seen = np.zeros((5, 4))
    np.add.at(seen, tuple(np.transpose([each.at for each in step.observations])), 1)
    # log p(w, z | h) = -log 4 for all h.
    expected = np.exp(-log_zeta) / np.exp(-log_zeta).sum() * 2_000
    assert ((seen - expected) ** 2 / expected).sum() < LIMIT
    assert ((seen - 100) ** 2 / 100).sum() > LIMIT


# Sweeps of both kinds are exact by their own tests, and the grid points are drawn by the same code.
each_kind = pytest.mark.parametrize("kind", [GibbsChain, pytest.param(WordMajorChain, marks=pytest.mark.exhaustive)])


def grid_points_p(kind, break_it=lambda step: None):
    """p-value of the visits of grid points against their exact probabilities, by enumeration."""
    h = np.array([0.1, 3.0]), np.array([0.1, 2.0])
    exact = [[Enumeration(DOCS, 4, 2, alpha, eta) for eta in h[1]] for alpha in h[0]]
    log_zeta = np.array([[0.0, 1.0], [0.5, -0.5]])
    p = np.exp(np.array([[logsumexp(each.log_joint) for each in row] for row in exact]) - log_zeta).ravel()
    corpus = exact[0][0].corpus
    start = make_chain(corpus, Priors.make(1.0, 1.0, 2, 4), np.zeros(corpus.n_tokens), kind=kind)
    chain = continue_on_grid(start, Grid(corpus, 2, *h).with_log_zeta(log_zeta), np.random.default_rng(3))
    break_it(chain.steps[0])
    step, _ = sweeps(chain, 3000)
    at = np.array([each.at for each in step.observations[4::5]])
    return chi_square_p(np.bincount(2 * at[:, 0] + at[:, 1], minlength=4), p / p.sum())


@pytest.mark.mutation("test_another_zeta_is_found")
@each_kind
def test_grid_points_are_visited_at_their_rates(kind):
    assert grid_points_p(kind) > ALARM


@each_kind
def test_another_zeta_is_found(kind):
    def break_it(step):
        step.log_zeta[1] -= 1.0

    assert grid_points_p(kind, break_it) < ALARM


@pytest.mark.parametrize("kind", [GibbsChain, WordMajorChain])
def test_a_chain_in_another_process(kind):
    chain = tempered(kind=kind)
    sweeps(chain, 3)
    other = pickle.loads(pickle.dumps(chain))
    assert isinstance(other, kind) and type(other) is type(chain)
    for each in (chain, other):
        sweeps(each, 3)
    assert (chain.topics == other.topics).all()
    assert chain.steps[1].path == other.steps[1].path


def test_a_flag_ends_the_call():
    stop, chain = Stop(), tempered()
    stop.flag[0] = 1
    with pytest.raises(Stopped):
        sweeps(chain, 10**6, stop)
