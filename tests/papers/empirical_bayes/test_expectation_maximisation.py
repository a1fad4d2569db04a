"""EM for the priors: both E-steps against enumeration, and starts and corpora at the edge."""

import pickle

import numpy as np
import pytest
from enumeration import DOCS, Enumeration, make_chain, make_corpus
from interrupts import StopAtLook
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import t as student

from sklda._core.corpus import Corpus
from sklda._core.gibbs_em import MStep
from sklda._core.parallel import Stopped
from sklda._core.priors import Priors
from sklda._models.empirical_bayes import chain_pool
from sklda._models.empirical_bayes.prior_steps import with_step
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.run_chains import Run
from sklda._sampling.steps import advance
from sklda.datasets import make_lda_corpus
from sklda.papers.empirical_bayes import _variational_em as variational
from sklda.papers.empirical_bayes._variational_em import ascend

# Many draws of the same shapes.
pytestmark = pytest.mark.slow

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
    return GibbsChain.initialise_randomly(corpus, priors, np.random.SeedSequence(seed))


@pytest.fixture(scope="module")
def burnt():
    X = make_lda_corpus(60, 30, 4, doc_length=(0, 60), doc_topic_prior=0.3, topic_word_prior=0.4, random_state=0).data
    chain = chain_on(X, 0.4, 0.3, 4)
    for _ in range(50):
        chain.sweep()
    return chain


# --- Gibbs-EM ---------------------------------------------------------------------------------------------------------


def exact_m_step(h):
    """The h' that maximises sum_z p(z | w, h) log p(w, z | h')."""
    e = Enumeration(TINY, V, K, *h)

    def negative(x):
        return -e.posterior @ Enumeration(TINY, V, K, *np.exp(x)).log_joint

    return minimize(negative, np.log(h), method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-10}).x


START = (0.5, 0.6)


def learning(chain, n_sweeps, **options):
    chain = type(chain)(chain.corpus, chain.priors, chain.state())
    return chain_pool.learning(chain, n_sweeps, every=1, **options)


def first_m_steps(n_seeds=10, n_draws=400):
    e = Enumeration(TINY, V, K, *START)
    rng = np.random.default_rng(3)
    chains = [
        learning(
            make_chain(e.corpus, e.priors, e.states[rng.choice(len(e.states), p=e.posterior)], seed),
            n_draws,
            n_draws=n_draws,
            m_step=MStep(BOX),
        )
        for seed in range(n_seeds)
    ]
    return np.array([chain.steps[0].log_h for chain in Run().sweep(chains, n_draws)])


@pytest.mark.mutation("test_draws_at_another_prior_are_found")
def test_gibbs_em_takes_the_exact_m_step():
    assert p_value(first_m_steps(), exact_m_step(START)) > LEVEL


@pytest.mark.parametrize("wrong", [(50.0, START[1]), (START[0], 0.05)], ids=["alpha", "eta"])
def test_draws_at_another_prior_are_found(monkeypatch, wrong):
    sweep = GibbsChain.sweep

    def broken(self, *args):
        kept, self.priors = self.priors, Priors.make(*wrong, K, V)
        sweep(self, *args)
        self.priors = kept

    monkeypatch.setattr(GibbsChain, "sweep", broken)
    assert p_value(first_m_steps(), exact_m_step(START)) < LEVEL


def test_gibbs_em_finds_the_priors_of_a_corpus():
    """Over ten corpora log h had standard deviations .055 and .15; the tolerance is five of them."""
    X = make_lda_corpus(400, 40, 4, doc_length=100, doc_topic_prior=0.3, topic_word_prior=0.5, random_state=1).data
    chain = learning(chain_on(X, 5.0, 5.0, 4), 800, n_draws=10, n_last=400, m_step=MStep(BOX))
    chain = Run().sweep([chain], 800)[0]
    assert (np.abs(chain.steps[0].log_h - np.log([0.3, 0.5])) < [0.28, 0.75]).all()


@pytest.mark.parametrize("per_topic", [False, True])
def test_chains_pickle_and_go_on(burnt, same, per_topic):
    chain = learning(burnt, 17, n_draws=3, m_step=MStep(BOX, per_topic))
    chain = Run().sweep([chain], 8)[0]
    copy = pickle.loads(pickle.dumps(chain))
    a, b = Run().sweep([chain, copy], 9, n_jobs=2)
    (one, trace), (other, same_trace) = a.steps, b.steps
    assert same(one.log_h, other.log_h) and len(np.unique(trace.path, axis=0)) == 1 + 16 // 3
    assert same(a.topics, b.topics) and trace.path == same_trace.path
    assert not one.learns and one.log_h.shape == ((5,) if per_topic else (2,))


def test_the_prior_path_has_the_priors_of_every_sweep(burnt):
    chain, expected = learning(burnt, 10, n_draws=3, m_step=MStep(BOX, per_topic=True)), []
    for _ in range(7):
        expected.append((chain.priors.doc[0].mean(), chain.priors.word[0]))
        chain = Run().sweep([chain], 1)[0]
    np.testing.assert_allclose(chain.steps[1].path, expected)
    assert len(np.unique(expected, axis=0)) == 3
    fixed = with_step(chain)
    MStep().set(fixed, np.log([0.7, 0.2]))
    fixed = Run().sweep([fixed], 2)[0]
    np.testing.assert_allclose(fixed.steps[0].path, [*expected, (0.7, 0.2), (0.7, 0.2)])


def test_an_interrupted_sweep_counts_for_nothing(burnt):
    chain = learning(burnt, 5, m_step=MStep(BOX))
    with pytest.raises(Stopped):
        advance(chain, chain.steps, StopAtLook(1))
    step, trace = chain.steps
    assert step.draws == [] and trace.path == []


# --- variational EM ---------------------------------------------------------------------------------------------------


@pytest.mark.mutation("test_a_bound_without_a_divergence_is_found")
@pytest.mark.parametrize("eta, alpha", [(0.3, 0.4), (2.0, 0.1), (0.05, 5.0)])
def test_the_bound_lies_below_the_evidence_and_rises(eta, alpha):
    e = Enumeration([*DOCS, []], 4, 2, np.full((4, 2), alpha), eta)
    chain = make_chain(e.corpus, e.priors, e.states[5])
    fixed = ((alpha, alpha), (eta, eta))
    bounds = [ascend(chain, fixed, n_iter=1, n_inner=n, tol=0).bound[0] for n in (1, 2, 5, 50)]
    assert (np.diff(bounds) >= -1e-9).all()
    assert bounds[-1] < logsumexp(e.log_joint)


def test_the_bound_is_the_evidence_where_there_is_one_topic():
    e = Enumeration(DOCS, 4, 1, 0.4, 0.3)
    fit = ascend(make_chain(e.corpus, e.priors, e.states[0]), ((0.4, 0.4), (0.3, 0.3)), n_iter=1)
    assert fit.bound[0] == pytest.approx(logsumexp(e.log_joint), abs=1e-9)


def test_a_bound_without_a_divergence_is_found(monkeypatch):
    monkeypatch.setattr(variational, "divergence", lambda parameters, prior: np.zeros(1))
    with pytest.raises(AssertionError):
        test_the_bound_lies_below_the_evidence_and_rises(0.3, 0.4)


def test_variational_em_rises_and_ends_at_a_stationary_point(burnt):
    fit = ascend(burnt, BOX, n_iter=200, n_inner=500, tol=1e-10)
    assert (np.diff(fit.bound) > -1e-6).all()
    lengths = burnt.corpus.lengths
    alpha, eta = np.exp(fit.path[-2])
    np.testing.assert_allclose(fit.doc_topic.sum(axis=1) - 4 * alpha, lengths, atol=1e-8)
    np.testing.assert_allclose(
        fit.topic_word.sum(axis=0) - 4 * eta, np.bincount(burnt.corpus.words, minlength=30), atol=1e-8
    )
    # No other h has a greater bound with this posterior.
    says = lengths > 0
    for shift in ((0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01)):
        near = np.exp(fit.log_h() + shift)
        less, least = (
            variational.divergence(fit.doc_topic[says], h[0]).sum() + variational.divergence(fit.topic_word, h[1]).sum()
            for h in (near, np.exp(fit.log_h()))
        )
        assert least < less


def test_slices_of_the_corpus_change_nothing(burnt, monkeypatch):
    whole = ascend(burnt, BOX, n_iter=1)
    monkeypatch.setattr(variational, "AT_A_TIME", 500)
    np.testing.assert_allclose(ascend(burnt, BOX, n_iter=1).path, whole.path, rtol=1e-9)


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
@pytest.mark.parametrize("factor", [(0.01, 100), (1e9, 1e-9)])
def test_bad_starts_and_odd_corpora_end_within_the_box(name, factor):
    corpus, n_components = ODD[name]
    chain = chain_on(corpus, 0.3 * factor[0], 0.3 * factor[1], n_components)
    edges = np.log(BOX).T
    ended = [ascend(chain, BOX, n_iter=20).log_h()]
    for per_topic in (False, True):
        em = learning(chain, 30, n_draws=2, m_step=MStep(BOX, per_topic))
        ended.append(Run().sweep([em], 30)[0].steps[0].log_h)
    for log_h in ended:
        wide = np.concatenate([np.repeat(edges[:, :1], len(log_h) - 1, axis=1), edges[:, 1:]], axis=1)
        assert (wide[0] <= log_h).all() and (log_h <= wide[1]).all()
