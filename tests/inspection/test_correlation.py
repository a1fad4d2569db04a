"""Correlations of the proportions of topics: their formula and their errors."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm
from sklearn.decomposition import NMF

from sklda import CollapsedVariationalLDA, CompoundLDA, CovariateLDA, GibbsLDA, LabeledLDA, TopicCountLDA, merge_topics
from sklda.datasets import make_lda_corpus
from sklda.inspection import _correlation, describe, topic_correlation
from sklda.inspection._correlation import _prior_correlation

ALARM = 1e-5


def arrays(theta):
    return np.eye(theta.shape[1]), theta


def test_without_draws_it_is_the_correlation_of_proportions():
    theta = np.random.default_rng(0).dirichlet([0.3, 1, 2], 200)
    found = topic_correlation(arrays(theta))
    np.testing.assert_allclose(found.correlation, np.corrcoef(theta.T))
    assert found.n_draws == 0 and (np.diag(found.std) == 0).all()


@pytest.mark.mutation
def test_correlations_of_a_dirichlet_are_neutral():
    """False-alarm rate 1e-5. Two topics that rise together are found at the same level."""
    alpha = np.array([0.3, 1, 2, 4])
    theta = np.random.default_rng(0).dirichlet(alpha, 30_000)
    found = topic_correlation(arrays(theta))
    covariance = np.diag(alpha / alpha.sum()) - np.outer(alpha, alpha) / alpha.sum() ** 2
    exact = covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    np.testing.assert_allclose(found.neutral, exact, atol=0.01)
    assert p_value(found, exact) > ALARM
    together = theta.copy()
    together[:, 0] = 0.9 * theta[:, 0] + 0.1 * theta[:, 1]
    together /= together.sum(axis=1, keepdims=True)
    broken = topic_correlation(arrays(together))
    assert p_value(broken, broken.neutral) < ALARM


def p_value(found, expected):
    """Of the largest of the six deviations."""
    pairs = np.triu_indices(4, 1)
    z = np.abs(found.correlation - expected)[pairs] / found.std[pairs]
    return min(6 * 2 * norm.sf(z.max()), 1.0)


@pytest.mark.parametrize("kind", ["normal", "dirichlet"])
def test_errors_are_those_of_samples_of_documents(kind):
    """Against the spread over 2,000 corpora, which is known within 5 % (3 standard errors)."""
    rng, n = np.random.default_rng(0), 300
    if kind == "normal":
        both = np.clip(rng.multivariate_normal([0.3, 0.3], [[0.004, 0.002], [0.002, 0.004]], (2000, n)), 0, 0.5)
        draws = np.concatenate([both, 1 - both.sum(axis=2, keepdims=True)], axis=2)
    else:
        draws = rng.dirichlet([0.1, 0.2, 0.4], (2000, n))
    values = np.array([topic_correlation(arrays(theta)).correlation for theta in draws])
    stds = np.array([topic_correlation(arrays(theta)).std for theta in draws[:200]])
    for k, j in ((0, 1), (0, 2), (1, 2)):
        assert stds[:, k, j].mean() == pytest.approx(values[:, k, j].std(), rel=0.08)


def test_draws_without_a_chain_are_combined_by_the_rules_of_rubin():
    X = make_lda_corpus(50, 30, 3, doc_length=20, random_state=0).data
    lda = CollapsedVariationalLDA(3, random_state=0).fit(X)
    found = topic_correlation(lda, n_draws=20, random_state=0)
    thetas = lda.sample_posterior(20, random_state=0).doc_topic
    each = [topic_correlation((lda.topic_word_, theta)) for theta in thetas]
    values = np.array([one.correlation for one in each])
    np.testing.assert_allclose(found.correlation, values.mean(axis=0))
    np.testing.assert_array_equal(found.uncorrected, found.correlation)
    within = np.mean([one.std**2 for one in each], axis=0)
    np.testing.assert_allclose(found.std**2, within + 1.05 * values.var(axis=0, ddof=1))
    assert found.n_draws == 20 and np.isnan(found.information).all()


def test_draws_of_a_chain():
    X = make_lda_corpus(50, 30, 3, doc_length=20, random_state=0).data
    lda = GibbsLDA(3, max_iter=60, random_state=0).fit(X)
    before = lda.topic_assignments_.copy()
    found = topic_correlation(lda, n_draws=20, random_state=0)
    again = topic_correlation(lda, X=X, n_draws=20, random_state=0)
    other = topic_correlation(lda, n_draws=20, random_state=1)
    np.testing.assert_array_equal(found.correlation, again.correlation)
    assert found.n_draws == 20 and (other.uncorrected != found.uncorrected)[0, 1:].all()
    # Seen from the prior, the estimate lies at the posterior mean or beyond it.
    step, beyond = found.uncorrected - found.neutral, found.correlation - found.uncorrected
    assert (step * beyond >= -1e-12).all()
    assert (found.information >= 0.05).all() and (found.information <= 1).all()
    np.testing.assert_array_equal(lda.topic_assignments_, before)
    assert topic_correlation(lda).n_draws == 400
    # Documents that were not in the fit have no draws.
    new = topic_correlation(lda, X=X[:20])
    np.testing.assert_allclose(new.correlation, np.corrcoef(lda.transform(X[:20]).T), atol=1e-6)
    assert new.n_draws == 0 and (new.std[0, 1:] > 0).all()
    with pytest.raises(ValueError, match="n_draws must be at least 20, got 19"):
        topic_correlation(lda, n_draws=19)


@pytest.mark.mutation
def test_the_pull_of_the_prior_is_undone():
    """False-alarm rate 1e-5. The posterior mean with its error, without the correction, is found at the same level.

    Words tell topics exactly, and documents have ten of them. In the prior, topics do not depend on each other.
    """
    rng, n, K = np.random.default_rng(0), 2000, 4
    covariance = np.eye(K)
    covariance[0, 1] = covariance[1, 0] = 0.7
    theta = softmax(1.5 * rng.multivariate_normal(np.zeros(K), covariance, 200_000), axis=1)
    true, X = np.corrcoef(theta.T)[0, 1], rng.multinomial(10, theta[:n])
    topics = np.repeat(np.tile(np.arange(K), n), X.ravel())
    lda = GibbsLDA.from_assignments(X, topics, n_components=K, doc_topic_prior=0.5, topic_word_prior=1e-4)
    found = topic_correlation(lda, random_state=0)
    assert p_of_pair(found.correlation, found.std, true) > ALARM
    # U, and B from its ratio to U.
    theta = lda.sample_posterior(random_state=0).doc_topic[0]
    std = topic_correlation((lda.topic_word_, theta)).std * np.sqrt(2 - found.information)
    assert p_of_pair(found.uncorrected, std, true) < ALARM


def p_of_pair(values, std, true):
    return 2 * norm.sf(np.abs(values - true) / np.maximum(std, 1e-12))[0, 1]


def test_correlations_of_the_prior():
    """Within 0.01: three standard errors of the means over 200,000 documents are 0.007."""
    rng, kinds = np.random.default_rng(0), np.array([[0.3, 1, 2], [2, 0.5, 0.5], [1, 1, 0.1]])
    alpha = kinds[rng.integers(3, size=200_000)]
    theta = rng.standard_gamma(alpha)
    theta /= theta.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(_prior_correlation(alpha), np.corrcoef(theta.T), atol=0.01)
    theta = rng.dirichlet(kinds[0], 200_000)
    np.testing.assert_allclose(_prior_correlation(kinds[:1]), np.corrcoef(theta.T), atol=0.01)


def test_one_and_two_topics_and_documents_without_words():
    X = make_lda_corpus(30, 30, 3, doc_length=20, random_state=0).data
    X = np.concatenate([X.toarray(), np.zeros((20, 30), int), np.eye(30, dtype=int)[:3]])
    for K in (1, 2, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lda = GibbsLDA(K, max_iter=20, random_state=0).fit(X)
        with pytest.warns(UserWarning, match="20 of 53 documents have no words"):
            found = topic_correlation(lda, n_draws=20, random_state=0)
        assert found.correlation.shape == (K, K)
        if K == 1:
            assert np.isnan(found.correlation).all()
        if K == 2:
            np.testing.assert_allclose(found.correlation, [[1, -1], [-1, 1]])
            np.testing.assert_allclose(found.std, 0, atol=1e-6)
    few = GibbsLDA.from_assignments(X[30:52], [0, 1], n_components=2)
    with pytest.raises(ValueError, match=r"three documents .*there are 2"):
        topic_correlation(few)


def test_the_posterior_covers_the_correlation_of_known_proportions():
    """False-alarm rate below 1e-4: at 5 standard errors, for three correlations."""
    rng = np.random.default_rng(1)
    theta, phi = rng.dirichlet([0.5, 0.5, 0.5], 300), np.kron(np.eye(3), np.full(10, 0.1))
    X = np.array([rng.multinomial(15, row @ phi) for row in theta])
    lda = GibbsLDA(3, max_iter=100, random_state=0).fit(X)
    order = (lda.topic_word_ @ phi.T).argmax(axis=0)
    assert sorted(order) == [0, 1, 2]
    found = topic_correlation(lda, random_state=0)
    true = np.corrcoef(theta.T)
    gap = np.abs(found.correlation[np.ix_(order, order)] - true)
    assert (gap <= 5 * found.std[np.ix_(order, order)] + 1e-12).all()


def test_documents_without_words_are_left_out():
    X = np.random.default_rng(0).poisson(1, (20, 12))
    lda = NMF(3, random_state=0, max_iter=500).fit(X)
    longer = np.concatenate([X, np.zeros((30, 12), int)])
    with pytest.warns(UserWarning, match="30 of 50 documents have no words"):
        found = topic_correlation(lda, X=longer)
    np.testing.assert_allclose(found.correlation, topic_correlation(lda, X=X).correlation)
    with pytest.raises(ValueError, match=r"three documents .*there are 2"):
        topic_correlation(lda, X=longer[18:])


def test_a_topic_that_does_not_vary():
    theta = np.array([[0.2, 0.5, 0.3], [0.2, 0.1, 0.7], [0.2, 0.3, 0.5], [0.2, 0.0, 0.8]])
    found = topic_correlation(arrays(theta))
    assert np.isnan(found.correlation[0]).all() and found.correlation[1, 2] == pytest.approx(-1)


@pytest.mark.filterwarnings("ignore")
def test_other_models():
    X = np.random.default_rng(0).poisson(1, (20, 12))
    counted = TopicCountLDA(min_components=2, max_components=3, max_iter=40, random_state=0).fit(X)
    K = counted.n_components_
    assert topic_correlation(counted, n_draws=20).correlation.shape == (K, K)
    labels = ["a"] * 10 + ["b"] * 10
    compound = CompoundLDA(2, max_iter=10, random_state=0).fit(X, collections=labels)
    found = topic_correlation(compound, n_draws=20)
    assert found.n_draws == 20 and np.isfinite(found.information).all()
    merged = topic_correlation(merge_topics(counted, {"all": [0, 1]}))
    assert np.isnan(merged.information).all()
    labelled = topic_correlation(LabeledLDA(max_iter=20, random_state=0).fit(X, [[label] for label in labels]))
    assert labelled.n_draws == 20 and labelled.correlation[0, 1] == pytest.approx(-1)
    covariate = CovariateLDA(3, max_iter=20, random_state=0).fit(X, covariates=np.arange(20.0)[:, None])
    found = topic_correlation(covariate, n_draws=20)
    assert np.isfinite(found.correlation).all() and (np.abs(found.correlation) <= 1).all()
    known = topic_correlation(describe(compound, X[5:15], collections=labels[5:15]))
    theta = compound.transform(X[5:15], collections=labels[5:15])
    np.testing.assert_allclose(known.correlation, np.corrcoef(theta.T), atol=1e-6)


def test_rounding_is_no_variation():
    """A topic whose proportions differ by rounding errors of single precision; two topics have only one correlation."""
    rng = np.random.default_rng(0)
    theta = rng.dirichlet([1, 1, 1], 50) * 2 / 3
    theta = np.hstack([theta, 1 / 3 + rng.integers(-1, 2, (50, 1)) * 2.0**-25]).astype(np.float32)
    found = topic_correlation(arrays(theta))
    assert np.isnan(found.correlation[3]).all() and np.isnan(found.std[3]).all()
    assert np.isfinite(found.correlation[:3, :3]).all()
    two = topic_correlation(arrays(rng.dirichlet([1, 1], 50)))
    assert two.correlation[0, 1] == pytest.approx(-1) and two.std[0, 1] < 1e-6


def test_draws_without_a_variance_of_documents():
    """As if one document alone had a topic in the draws whose variance is known, and in others not."""
    draws = np.random.default_rng(0).uniform(0.8, 1, (_correlation._BLOCKS, 5, 2, 2))
    draws[..., [0, 1], [0, 1]] = 1
    sizes, one = np.full((_correlation._BLOCKS, 1, 1), 5.0), np.eye(2)
    found = _correlation._corrected(draws.sum(axis=1), (draws**2).sum(axis=1), sizes, np.zeros((2, 2)), one, one)
    assert all(np.isfinite(each).all() for each in found.values())
    assert found["information"][0, 1] == _correlation._LEAST_INFORMATION
