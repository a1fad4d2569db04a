"""Gibbs-EM: the M-step maximises the mean log joint of the draws, and priors that are given stay as they are."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from enumeration import rising
from scipy.optimize import check_grad, minimize

from sklda._core import gibbs_em
from sklda._core.corpus import Corpus
from sklda._core.count_histograms import CountHistograms, Histograms
from sklda._core.gibbs_em import MStep, topic_alphas
from sklda._core.newton import newton
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.prior_learning import Learner
from sklda.datasets import make_lda_corpus

BOX = ((1e-3, 1e3), (1e-3, 1e3))


@pytest.fixture(scope="module")
def burnt():
    truth = {"doc_topic_prior": 0.3, "topic_word_prior": 0.4}
    corpus = Corpus.from_counts(make_lda_corpus(60, 30, 4, doc_length=(0, 60), **truth, random_state=0).data)
    chain = GibbsChain.initialise_randomly(corpus, Priors.make(0.3, 0.4, 4, 30), np.random.SeedSequence(0))
    for _ in range(50):
        chain.sweep()
    return chain


def draws_of(chain, m_step, n=5):
    parts = []
    for _ in range(n):
        chain.sweep()
        parts.append(m_step.statistics(chain))
    return parts


def lengths_of(n_d):
    return Histograms.from_dense(np.bincount(n_d))


@pytest.mark.parametrize("start", [(0.3, 0.4), (30, 40), (0.003, 0.004), (0.002, 900)])
def test_the_m_step_finds_the_maximum_of_the_mean_log_joint(burnt, start):
    m_step = MStep(BOX)
    draws = draws_of(burnt, m_step)
    found = m_step.maximum(draws, np.log(start))
    together = CountHistograms.stack([each.counts for each in draws])

    def log_joint(x):
        return -(together.doc_part(np.exp(x[:1])) + together.word_part(np.exp(x[1:]))).mean()

    np.testing.assert_allclose(found, minimize(log_joint, np.log([0.3, 0.4]), tol=1e-10).x, atol=1e-4)
    for part, log_prior in (together.doc_part, found[:1]), (together.word_part, found[1:]):
        assert np.abs(part(np.exp(log_prior), 1).mean()) < 1e-6
        assert part(np.exp(log_prior), 2).mean() < 0


@pytest.mark.parametrize("per_topic", [False, True])
@pytest.mark.parametrize("fixed", [0, 1])
def test_a_prior_that_is_given_stays(burnt, fixed, per_topic):
    start = np.log([*[0.456] * (4 if per_topic else 1), 0.123])
    both = MStep(BOX, per_topic)
    one = MStep((None, BOX[1]) if fixed == 0 else (BOX[0], None), per_topic)
    draws = draws_of(burnt, both)
    everything, found = (each.maximum(draws, start) for each in (both, one))
    own = slice(0, -1) if fixed == 0 else slice(-1, None)
    np.testing.assert_array_equal(found[own], start[own])
    changed = np.ones(len(start), bool)
    changed[own] = False
    np.testing.assert_array_equal(found[changed], everything[changed])
    assert (everything != start).all()


def test_an_alpha_per_topic(burnt):
    lengths, histogram = lengths_of(burnt.corpus.lengths), burnt.doc_histogram_by_topic().toarray()
    n_dk = burnt.doc_topic_counts().astype(int)
    for k in range(4):
        np.testing.assert_array_equal(histogram[k, 1:], np.bincount(n_dk[:, k], minlength=histogram.shape[1])[1:])

    def negative(x):
        return -rising(np.broadcast_to(np.exp(x), n_dk.shape), n_dk)

    best = minimize(negative, np.zeros(4), tol=1e-10)
    for start in (-6.0, 0.0, 6.0):
        found = topic_alphas(histogram, lengths, np.full(4, start), (1e-3, 1e3))
        np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_the_m_step_with_an_alpha_per_topic_uses_the_mean_histogram(burnt):
    m_step = MStep(BOX, per_topic=True)
    draws = draws_of(burnt, m_step)
    histogram = np.mean([each.doc_by_topic.toarray() for each in draws], axis=0)
    expected = topic_alphas(histogram, draws[0].counts.lengths, np.zeros(4), BOX[1])
    np.testing.assert_allclose(m_step.maximum(draws, np.zeros(5))[:-1], expected, atol=1e-9)


def test_derivatives_of_alpha_per_topic(burnt, monkeypatch):
    functions = []
    monkeypatch.setattr(gibbs_em, "newton", lambda function, start, *_: functions.append(function) or (start, 0))
    topic_alphas(burnt.doc_histogram_by_topic().toarray(), lengths_of(burnt.corpus.lengths), np.zeros(4), (1e-3, 1e3))
    for x in (np.array([0.1, -2, 1, 0.5]), np.array([3.0, 4, 5, 6])):
        _, gradient, curvature = functions[0](x)
        assert check_grad(lambda x: functions[0](x)[0], lambda x: functions[0](x)[1], x) < 1e-3 * abs(gradient).max()
        matrix = np.diag(curvature.diagonal) + curvature.factor * np.outer(curvature.vector, curvature.vector)
        for k in range(4):
            step = np.eye(4)[k] * 1e-5
            numeric = (functions[0](x + step)[1] - functions[0](x - step)[1]) / 2e-5
            np.testing.assert_allclose(matrix[k], numeric, atol=1e-5 * abs(matrix).max())


def test_an_unused_topic_goes_to_the_bound(burnt):
    histogram = burnt.doc_histogram_by_topic().toarray()
    histogram[2] = 0
    rest = burnt.doc_topic_counts().astype(int)[:, [0, 1, 3]].sum(axis=1)
    found = topic_alphas(histogram, lengths_of(rest), np.zeros(4), BOX[1])
    assert found[2] == np.log(1e-3)
    assert (np.delete(found, 2) > np.log(1e-2)).all()


def test_few_steps_of_newton(burnt):
    draws = CountHistograms.stack([each.counts for each in draws_of(burnt, MStep(BOX))])
    for part in (draws.word_part, draws.doc_part):

        def function(x, part=part):
            value, first, second = (part(np.exp(x), order).mean() for order in range(3))
            return value, np.array([first]), np.array([[second]])

        for start in (0.003, 0.3, 30):
            assert newton(function, np.log([start]), *np.log([[1e-3], [1e3]]))[1] <= 12


class Recorder:
    """An M-step that counts: the draw of a chain is the number of its sweeps."""

    def present(self, chain):
        return np.array([0.0])

    def set(self, chain, log_h):
        chain.h = log_h.tolist()

    def statistics(self, chain):
        return chain.n_sweeps

    def maximum(self, draws, log_h):
        return log_h + np.sum(draws)


def test_m_steps_use_the_last_draws_and_the_last_one_more_of_them():
    chain = SimpleNamespace(n_sweeps=0, n_burn_in=13, n_annealed=0, moves=())
    learner, seen = Learner(Recorder(), every=2, n_draws=2, n_last=3, first_sweep=3), []
    learner.begin(chain)
    for chain.n_sweeps in range(1, 17):
        learner.after(chain, NEVER_STOP)
        seen.append(getattr(chain, "h", [0])[0])
        if chain.n_sweeps == 9:
            learner = pickle.loads(pickle.dumps(learner.state()))
    # Draws are after sweeps 4, 6, 8, 10 and 12. M-steps are after sweeps 6 and 10, and the last one after sweep 13.
    assert seen == [0] * 5 + [4 + 6] * 4 + [10 + 8 + 10] * 3 + [28 + 8 + 10 + 12] * 4
    assert not learner.learns and learner.log_h == chain.h
