"""EM for the priors: the maximiser, both E-steps against enumeration, and starts and corpora at the edge."""

import pickle

import numpy as np
import pytest
from enumeration import DOCS, Enumeration, make_chain, make_corpus, rising
from interrupts import StopAtLook
from scipy.optimize import check_grad, minimize
from scipy.special import logsumexp
from scipy.stats import t as student

from sklda.datasets import make_lda_corpus
from sklda.inference import expectation
from sklda.inference.chain import GibbsChain, run_chains
from sklda.inference.corpus import Corpus
from sklda.inference.expectation import EMChain, fixed_point_step, newton, newton_step, topic_alphas, variational_em
from sklda.inference.parallel import Stopped
from sklda.inference.priors import CountHistograms, Priors, doc_histogram

# Of every statistical assert; there are fewer than 20.
LEVEL = 1e-6
BOX = ((1e-3, 1e3), (1e-3, 1e3))
TINY, V, K = [[0, 0, 0, 1], [1, 1, 1, 2], [0, 1, 2]], 3, 2


def p_value(sample, mean):
    sample = np.asarray(sample)
    z = (sample.mean(axis=0) - mean) / (sample.std(axis=0, ddof=1) / np.sqrt(len(sample)))
    return 2 * student.sf(np.abs(z), len(sample) - 1).min()


def chain_on(X, eta, alpha, n_components, seed=0):
    corpus = X if isinstance(X, Corpus) else Corpus.from_counts(X)
    priors = Priors.make(alpha, eta, n_components, corpus.n_features)
    return GibbsChain.start(corpus, priors, np.random.SeedSequence(seed))


@pytest.fixture(scope="module")
def burnt():
    X = make_lda_corpus(60, 30, 4, doc_length=(0, 60), doc_topic_prior=0.3, topic_word_prior=0.4, random_state=0).data
    chain = chain_on(X, 0.4, 0.3, 4)
    for _ in range(50):
        chain.sweep()
    return chain


# --- Newton's method --------------------------------------------------------------------------------------------------


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


# --- M-steps ----------------------------------------------------------------------------------------------------------


def draws_of(chain, n=5):
    parts = []
    for _ in range(n):
        chain.sweep()
        parts.append(CountHistograms.of(chain))
    return CountHistograms.stack(parts)


@pytest.mark.parametrize("start", [(0.4, 0.3), (40, 30), (0.004, 0.003), (900, 0.002)])
def test_the_m_steps_find_the_maximum_of_the_mean_log_joint(burnt, start):
    draws = draws_of(burnt)
    found = newton_step((draws.word_part, draws.doc_part), np.log(start), BOX)
    objective = minimize(lambda x: -draws.log_joint(*np.exp(x)[:, None]).mean(), np.log([0.4, 0.3]), tol=1e-10)
    np.testing.assert_allclose(found, objective.x, atol=1e-4)
    gradient, curvature = draws.derivatives(*np.exp(found)[:, None])
    assert (np.abs(gradient.mean(axis=0)) < 1e-6).all() and (curvature.mean(axis=0) < 0).all()
    np.testing.assert_allclose(fixed_point_step(draws, np.log(start), BOX, 10000, 1e-10), found, atol=1e-5)


def test_few_steps_of_newton(burnt):
    draws = draws_of(burnt)
    for part in (draws.word_part, draws.doc_part):
        for start in (0.003, 0.3, 30):
            assert newton(expectation._mean_of(part), np.log([start]), *np.log([[1e-3], [1e3]]))[1] <= 12


def test_alpha_per_topic(burnt):
    lengths, histogram = np.bincount(burnt.corpus.lengths), doc_histogram(burnt, by_topic=True)
    n_dk = burnt.doc_topic_counts().astype(int)
    for k in range(4):
        np.testing.assert_array_equal(histogram[k, 1:], np.bincount(n_dk[:, k], minlength=histogram.shape[1])[1:])

    def negative(x):
        return -rising(np.broadcast_to(np.exp(x), n_dk.shape), n_dk)

    best = minimize(negative, np.zeros(4), tol=1e-10)
    for start in (-6.0, 0.0, 6.0):
        found = topic_alphas(histogram, lengths, np.full(4, start), (1e-3, 1e3))
        np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_derivatives_of_alpha_per_topic(burnt, monkeypatch):
    functions = []
    monkeypatch.setattr(expectation, "newton", lambda function, start, *_: functions.append(function) or (start, 0))
    topic_alphas(doc_histogram(burnt, by_topic=True), np.bincount(burnt.corpus.lengths), np.zeros(4), (1e-3, 1e3))
    for x in (np.array([0.1, -2, 1, 0.5]), np.array([3.0, 4, 5, 6])):
        _, gradient, curvature = functions[0](x)
        assert check_grad(lambda x: functions[0](x)[0], lambda x: functions[0](x)[1], x) < 1e-3 * abs(gradient).max()
        for k in range(4):
            step = np.eye(4)[k] * 1e-5
            numeric = (functions[0](x + step)[1] - functions[0](x - step)[1]) / 2e-5
            np.testing.assert_allclose(curvature[k], numeric, atol=1e-5 * abs(curvature).max())


def test_an_unused_topic_goes_to_the_edge(burnt):
    histogram = doc_histogram(burnt, by_topic=True)
    histogram[2] = 0
    found = topic_alphas(
        histogram, np.bincount(burnt.doc_topic_counts().astype(int)[:, [0, 1, 3]].sum(axis=1)), np.zeros(4), BOX[1]
    )
    assert found[2] == np.log(1e-3)
    assert (np.delete(found, 2) > np.log(1e-2)).all()


# --- Gibbs-EM ---------------------------------------------------------------------------------------------------------


def exact_m_step(h):
    """The h' that maximises sum_z p(z | w, h) log p(w, z | h')."""
    e = Enumeration(TINY, V, K, h[1], h[0])

    def negative(x):
        return -e.posterior @ Enumeration(TINY, V, K, *np.exp(x[::-1])).log_joint

    return minimize(negative, np.log(h), method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-10}).x


START = (0.6, 0.5)


def first_m_steps(n_seeds=16, n_draws=1500, **options):
    e = Enumeration(TINY, V, K, START[1], START[0])
    rng = np.random.default_rng(3)
    chains = [
        EMChain(
            make_chain(e.corpus, e.priors, e.states[rng.choice(len(e.states), p=e.posterior)], seed),
            BOX,
            n_draws=n_draws,
            n_burn_in=0,
            **options,
        )
        for seed in range(n_seeds)
    ]
    return np.array([chain.path[1] for chain in run_chains(chains, n_draws)])


@pytest.mark.parametrize("m_step", expectation.M_STEPS)
def test_gibbs_em_takes_the_exact_m_step(m_step):
    assert p_value(first_m_steps(m_step=m_step), exact_m_step(START)) > LEVEL


@pytest.mark.parametrize("wrong", [(50.0, START[0]), (START[1], 0.05)], ids=["alpha", "eta"])
def test_draws_at_another_prior_are_found(monkeypatch, wrong):
    sweep = GibbsChain.sweep

    def broken(self, *args):
        kept, self.priors = self.priors, Priors.make(*wrong, K, V)
        sweep(self, *args)
        self.priors = kept

    monkeypatch.setattr(GibbsChain, "sweep", broken)
    assert p_value(first_m_steps(), exact_m_step(START)) < LEVEL


def test_gibbs_em_finds_the_priors_of_a_corpus():
    """Over ten corpora log h had standard deviations .15 and .055; the tolerance is five of them."""
    X = make_lda_corpus(400, 40, 4, doc_length=100, doc_topic_prior=0.3, topic_word_prior=0.5, random_state=1).data
    chain = EMChain(chain_on(X, 5.0, 5.0, 4), BOX, n_draws=10, n_burn_in=0)
    chain = run_chains([chain], 800)[0]
    assert (np.abs(chain.log_h() - np.log([0.5, 0.3])) < [0.75, 0.28]).all()


@pytest.mark.parametrize("per_topic", [False, True])
def test_chains_pickle_and_go_on(burnt, same, per_topic):
    chain = EMChain(burnt, BOX, n_draws=3, n_burn_in=2, per_topic=per_topic)
    chain = run_chains([chain], 8)[0]
    copy = pickle.loads(pickle.dumps(chain))
    a, b = run_chains([chain, copy], 9, n_jobs=2)
    assert same(a.path, b.path) and len(a.path) == 1 + 17 // 5
    assert same(a.topics, b.topics)
    assert a.path[0].shape == ((5,) if per_topic else (2,))


def test_an_interrupted_sweep_counts_for_nothing(burnt):
    chain = EMChain(burnt, BOX, n_draws=1, n_burn_in=0)
    with pytest.raises(Stopped):
        chain.sweep(StopAtLook(1))
    assert len(chain.path) == 1


def test_the_fixed_point_is_for_symmetric_priors(burnt):
    with pytest.raises(ValueError, match="m_step='fixed_point' is for a symmetric alpha"):
        EMChain(burnt, BOX, n_draws=1, n_burn_in=0, per_topic=True, m_step="fixed_point")


# --- variational EM ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta, alpha", [(0.3, 0.4), (2.0, 0.1), (0.05, 5.0)])
def test_the_bound_lies_below_the_evidence_and_rises(eta, alpha):
    e = Enumeration([*DOCS, []], 4, 2, np.full((4, 2), alpha), eta)
    chain = make_chain(e.corpus, e.priors, e.states[5])
    fixed = ((eta, eta), (alpha, alpha))
    bounds = [variational_em(chain, fixed, n_iter=1, n_inner=n, tol=0).bound[0] for n in (1, 2, 5, 50)]
    assert (np.diff(bounds) >= -1e-9).all()
    assert bounds[-1] < logsumexp(e.log_joint)


def test_the_bound_is_the_evidence_where_there_is_one_topic():
    e = Enumeration(DOCS, 4, 1, 0.4, 0.3)
    fit = variational_em(make_chain(e.corpus, e.priors, e.states[0]), ((0.3, 0.3), (0.4, 0.4)), n_iter=1)
    assert fit.bound[0] == pytest.approx(logsumexp(e.log_joint), abs=1e-9)


def test_a_bound_without_a_divergence_is_found(monkeypatch):
    monkeypatch.setattr(expectation, "divergence", lambda parameters, prior: np.zeros(1))
    with pytest.raises(AssertionError):
        test_the_bound_lies_below_the_evidence_and_rises(0.3, 0.4)


def test_variational_em_rises_and_ends_at_a_stationary_point(burnt):
    fit = variational_em(burnt, BOX, n_iter=200, n_inner=500, tol=1e-10)
    assert (np.diff(fit.bound) > -1e-6).all()
    lengths = burnt.corpus.lengths
    eta, alpha = np.exp(fit.path[-2])
    np.testing.assert_allclose(fit.doc_topic.sum(axis=1) - 4 * alpha, lengths, atol=1e-8)
    np.testing.assert_allclose(
        fit.topic_word.sum(axis=0) - 4 * eta, np.bincount(burnt.corpus.words, minlength=30), atol=1e-8
    )
    # No other h has a greater bound with this posterior.
    says = lengths > 0
    for shift in ((0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01)):
        near = np.exp(fit.log_h() + shift)
        less, least = (
            expectation.divergence(fit.topic_word, h[0]).sum() + expectation.divergence(fit.doc_topic[says], h[1]).sum()
            for h in (near, np.exp(fit.log_h()))
        )
        assert least < less


def test_slices_of_the_corpus_change_nothing(burnt, monkeypatch):
    whole = variational_em(burnt, BOX, n_iter=3)
    monkeypatch.setattr(expectation, "_AT_A_TIME", 50)
    np.testing.assert_allclose(variational_em(burnt, BOX, n_iter=3).path, whole.path, rtol=1e-9)


# --- edges ------------------------------------------------------------------------------------------------------------

ODD = {
    "one document": (make_corpus([[0, 0, 1, 2, 2]], 3), 2),
    "one token": (make_corpus([[], [1], []], 3), 2),
    "one word": (make_corpus([[0] * 9, [0] * 5], 1), 2),
    "one topic": (make_corpus(DOCS, 4), 1),
    "more topics than tokens": (make_corpus(DOCS, 4), 30),
    "one document for each word": (make_corpus([[v] * 20 for v in range(5)], 5), 5),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("factor", [(0.01, 0.01), (100, 100), (0.01, 100), (1e9, 1e-9)])
def test_bad_starts_and_odd_corpora_end_within_the_box(name, factor):
    corpus, n_components = ODD[name]
    chain = chain_on(corpus, 0.3 * factor[0], 0.3 * factor[1], n_components)
    edges = np.log(BOX).T
    ended = [variational_em(chain, BOX, n_iter=20).log_h()]
    for per_topic in (False, True):
        em = EMChain(chain, BOX, n_draws=2, n_burn_in=1, per_topic=per_topic)
        log_h = run_chains([em], 30)[0].log_h()
        ended.append(np.array([log_h[0], *log_h[1:]]))
    for log_h in ended:
        wide = np.concatenate([edges[:, :1], np.repeat(edges[:, 1:], len(log_h) - 1, axis=1)], axis=1)
        assert (wide[0] <= log_h).all() and (log_h <= wide[1]).all()
