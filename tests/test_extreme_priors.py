"""Priors at the ends of their range: log Gamma, log joint, likelihoods and merges are as exact as elsewhere."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import gammaln, polygamma

from sklda._core.corpus import Corpus
from sklda._core.count_histograms import Histograms
from sklda._core.priors import Priors
from sklda._core.rising import log_gamma_ratio, sum_of_log_gamma_ratios
from sklda._likelihood.held_out.log_likelihoods import METHODS, log_likelihoods
from sklda._sampling.choice import SAMPLERS, chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.merge_gains import merge_gains
from sklda._sampling.word_major import WordMajorChain
from sklda.papers.compound._ascent import log_gamma_divergence
from sklda.papers.held_out import chib, held_out_curve, left_to_right, particle_filter
from sklda.papers.topic_count import log_evidence


def log_rising_by_factors(a, n):
    return math.fsum(math.log(a + i) for i in range(n))


@pytest.mark.parametrize("a", [1e-12, 1e-6, 0.1, 1.0, 15.5, 16.0, 17.0, 1e3, 1e6, 1e8, 1e12, 1e15, 1e20])
def test_differences_of_log_gammas(a):
    counts = [0, 1, 2, 3, 15, 16, 17, 18, 100, 1000, 50_000]
    exact = [log_rising_by_factors(a, n) for n in counts]
    np.testing.assert_allclose(log_gamma_ratio(a, counts), exact, rtol=1e-14, atol=2e-13)
    times = np.arange(len(counts))
    assert sum_of_log_gamma_ratios(a, counts, times) == pytest.approx(np.dot(exact, times), rel=1e-14, abs=1e-11)
    # any n >= 0: two steps make one step
    for n in (1e-6, 0.5, 3.25, 40.5, 1e9):
        two = log_gamma_ratio(a, n) + log_gamma_ratio(a + n, 7)
        np.testing.assert_allclose(log_gamma_ratio(a, n + 7), two, rtol=1e-14, atol=2e-13)
    np.testing.assert_allclose(log_gamma_ratio(a, 0.5) + log_gamma_ratio(a + 0.5, 0.5), math.log(a), atol=2e-13)


@pytest.mark.parametrize("a", [1e-3, 0.3, 2.0, 30.0, 500.0])
def test_differences_of_log_gammas_at_large_counts(a):
    for n in (1e5, 1e7, 1e9, 1e12):
        exact = math.lgamma(a + n) - math.lgamma(a)
        assert log_gamma_ratio(a, n) == pytest.approx(exact, rel=3e-15)


@pytest.mark.parametrize("x", [0.01, 3.0, 60.0, 70.0, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("r", [-0.5, -1e-4, 1e-6, 1e-3, 0.2, 1.0])
def test_divergence_of_log_gamma(x, r):
    y = x * (1 + r)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    u = (x + y) / 2 + (y - x) / 2 * nodes
    integral = (y - x) / 2 * (weights * (y - u) * polygamma(1, u)).sum()
    # (y - x) / x has a relative error of rounding / |r|.
    assert log_gamma_divergence(y, x) == pytest.approx(integral, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("kind", [GibbsChain, WordMajorChain])
@pytest.mark.parametrize("eta", [1e13, 1e26])
def test_log_words_of_the_first_priors_of_a_path(kind, eta):
    """Annealing begins with larger priors than those of any model. A product of six of them could overflow."""
    counts = np.arange(1, 13).repeat(20)
    corpus, K = Corpus.from_counts(counts[None]), 2
    chain = kind.initialise_randomly(corpus, Priors.make(1.0, 1.0, K, len(counts)), np.random.SeedSequence(0))
    word = eta * np.linspace(1, 2, len(counts))
    chain.priors = dataclasses.replace(chain.priors, word=word, totals=np.full(K, word.sum()))
    rows = zip(word, chain.word_topic_counts[:, :K], strict=True)
    cells = sum(log_rising_by_factors(a, n) for a, row in rows for n in row)
    totals = sum(log_rising_by_factors(word.sum(), n) for n in chain.topic_totals)
    assert chain.log_words() == pytest.approx(cells - totals, rel=1e-12)


@pytest.mark.parametrize("eta", [np.geomspace(1e-12, 8e11, 5), np.geomspace(1e-12, 8e11, 10).reshape(2, 5)[:, ::-1]])
@pytest.mark.parametrize("method", ["guided_ais", "ais"])
def test_the_evidence_of_extreme_priors_is_finite(eta, method):
    X = np.random.default_rng(0).integers(0, 7, (6, 5))
    found = log_evidence(X, 2, topic_word_prior=eta, method=method, n_temperatures=3, n_chains=4, random_state=0)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("kind", [GibbsChain, WordMajorChain])
@pytest.mark.parametrize(("alpha", "eta"), [(1e12, 1.0), (1e8, 1e12), (1e-12, 1e-12)])
def test_log_joint_of_extreme_priors(kind, alpha, eta):
    K, V = 1000, 3
    corpus = Corpus.from_counts(np.array([[1, 0, 0], [3, 40, 2]]))
    chain = kind.initialise_randomly(corpus, Priors.make(alpha, eta, K, V, 2), np.random.SeedSequence(0))

    def dirichlet_multinomial(counts, prior):
        """Factor by factor."""
        factors = [(prior + i) for n in counts for i in range(n)]
        totals = [(prior * len(counts) + i) for i in range(sum(counts))]
        return math.fsum(math.log(f / t) for f, t in zip(factors, totals, strict=True))

    docs = [np.bincount(t, minlength=K).tolist() for t in np.split(chain.topics, corpus.offsets[1:-1])]
    words = chain.word_topic_counts[:, :K].T.tolist()
    expected = sum(dirichlet_multinomial(n, alpha) for n in docs) + sum(dirichlet_multinomial(n, eta) for n in words)
    assert chain.log_joint() == pytest.approx(expected, rel=1e-13, abs=1e-11)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_log_joint_of_topics_whose_priors_are_equal_in_single_precision(sampler):
    """Those of sixteen topics, which fill the rows of single precision, as with a tiny strength of seed words."""
    K, V = 16, 60
    corpus = Corpus.from_counts(np.random.default_rng(0).poisson(0.3, (40, V)))
    priors = Priors.make(0.3, 0.7 + 1e-12 * np.eye(K, V), K, V)
    chain = chain_class(sampler, corpus, priors).initialise_randomly(corpus, priors, np.random.SeedSequence(0))
    words = csr_array((np.ones(corpus.n_tokens), (chain.topics, corpus.words)), shape=(K, V)).toarray()
    expected = (gammaln(words + 0.7) - gammaln(0.7)).sum()
    expected += (gammaln(V * 0.7) - gammaln(V * 0.7 + words.sum(axis=1))).sum()
    assert len(priors.topic)
    assert chain.log_words() == pytest.approx(expected, rel=1e-8)


def test_one_token_at_a_large_alpha():
    # nearly the same in all topics, so that every estimate is nearly exact
    phi = np.full((1000, 3), 1 / 3)
    phi[0] += [-1e-6, 1e-6, 0]
    exact = math.log(phi[:, 1].mean())
    corpus, seed = Corpus.from_counts(np.array([[0, 1, 0]])), np.random.SeedSequence(0)
    for alpha in (1e8, 1e12):
        for method in METHODS:
            if method not in ("exact", "document_completion"):
                value = log_likelihoods(corpus, phi, np.full((1, 1000), alpha), seed=seed, method=method)
                assert value[0, 0] == pytest.approx(exact, abs=3e-6), method
        for estimate in (left_to_right, particle_filter, chib):
            value, _ = estimate((phi / phi.sum(axis=1, keepdims=True), alpha), corpus.to_counts(), random_state=0)
            assert value[0] == pytest.approx(exact, abs=3e-6), estimate.__name__
        value = log_likelihoods(corpus, phi[:3], np.full((1, 3), alpha), seed=seed, method="exact")
        assert value[0, 0] == pytest.approx(math.log(phi[:3, 1].mean()), abs=1e-12)


def test_gain_of_a_merge_at_a_large_alpha():
    corpus = Corpus.from_counts(np.array([[4, 3], [1, 5]]))
    for alpha in (0.1, 1e10):
        chain = GibbsChain.initialise_randomly(corpus, Priors.make(alpha, 1e9, 2, 2, 2), np.random.SeedSequence(0))
        gain = merge_gains(chain.corpus, chain.topics, chain.priors)[0, 1]
        before = chain.log_joint()
        merged = GibbsChain.initialise_randomly(corpus, Priors.make(alpha, 1e9, 2, 2, 2), np.random.SeedSequence(0))
        merged.topics[:] = 0
        merged.recount()
        assert gain == pytest.approx(merged.log_joint() - before, abs=1e-10)


@pytest.mark.parametrize("estimate", [left_to_right, particle_filter, chib])
def test_a_vocabulary_of_one_word_is_certain_by_the_estimators_of_papers(estimate):
    value, _ = estimate((np.ones((3, 1)), 1e-12), np.array([[12], [3], [0]]), random_state=0)
    np.testing.assert_allclose(value, np.zeros(3), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_vocabulary_of_one_word_is_certain(method):
    """Of +3.8 and less at the smallest alpha, where tokens without information on their topics only add noise."""
    corpus, seed = Corpus.from_counts(np.array([[12], [3], [0]])), np.random.SeedSequence(0)
    value = log_likelihoods(corpus, np.ones((3, 1)), np.full((1, 3), 1e-12), seed=seed, method=method)
    np.testing.assert_allclose(value, np.zeros((1, 3)), atol=1e-12)


def test_words_that_all_topics_have_alike_factor_out():
    phi = np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2]])
    X = np.array([[2, 1, 30], [0, 2, 3]])
    prior, seed = np.full((1, 2), 0.3), np.random.SeedSequence(0)
    exact = log_likelihoods(Corpus.from_counts(X), phi, prior, seed=seed, method="exact")[0]
    runs = log_likelihoods(Corpus.from_counts(X), phi, prior, seed=seed, n_runs=2000)
    weights = np.exp(runs - exact)
    # five standard errors, twice: a false alarm in 10^6
    assert (abs(weights.mean(axis=0) - 1) < 5 * weights.std(axis=0) / 2000**0.5 + 1e-6).all()


def test_an_impossible_word_has_no_curve():
    phi = np.array([[0.5, 0.5, 0], [0.25, 0.75, 0]])
    curve = held_out_curve(
        [(topics, 0.1) for topics in (phi, np.full((2, 3), 1 / 3), phi)],
        np.array([[3, 2, 1], [1, 1, 0]]),
        random_state=0,
    )
    assert np.isneginf(curve.log_likelihood[[0, 2], 0]).all()
    assert np.isneginf(curve.score[[0, 2]]).all()
    assert np.isfinite(curve.log_likelihood[1]).all()
    np.testing.assert_allclose(curve.log_likelihood[1], [6 * math.log(1 / 3), 2 * math.log(1 / 3)], atol=0.5)
    assert np.isfinite(curve.log_likelihood[:, 1]).all()


def test_histograms_of_many_pairs():
    histogram = np.array([0, 2**31 + 5, 3])
    assert Histograms.from_dense(histogram).counts.tolist() == [2**31 + 5, 3]
    assert Histograms.from_dense(histogram).sum_of_log_rising([1.0])[0, 0] == pytest.approx(3 * math.log(2))
    both = Histograms.stack([Histograms.from_dense(histogram), Histograms.from_dense(histogram)])
    assert both.counts.tolist() == 2 * [2**31 + 5, 3]
    assert Histograms.from_dense(histogram[[0, 2]]).counts.dtype == np.int32
