"""The posterior of the proportions of new documents, of all estimators."""

import itertools
import pickle
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from sklda import (
    HDPLDA,
    CollapsedVariationalLDA,
    CompoundLDA,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
    merge_topics,
)
from sklda._core.corpus import Corpus
from sklda._models.doc_topic_posterior import doc_topic_posterior
from sklda.datasets import make_lda_corpus

# Documents are mixtures, and have the label of their largest topic only.
pytestmark = pytest.mark.filterwarnings("ignore:\\d of 3 labels may be missing:UserWarning")

CORPUS = make_lda_corpus(60, 40, 3, doc_length=30, doc_topic_prior=0.4, random_state=0)
X = CORPUS.data.toarray()
GROUPS = np.arange(60) % 2
Y = np.eye(3, dtype=int)[CORPUS.doc_topic.argmax(axis=1)]
LDA = GibbsLDA(3, max_iter=60, random_state=0).fit(X)
IN_GROUPS = {"collections": GROUPS}
# The fit of each model, and what else its documents have.
FITS = {
    "GibbsLDA": (lambda: LDA, {}),
    "CollapsedVariationalLDA": (lambda: CollapsedVariationalLDA(3, max_iter=20, random_state=0).fit(X), {}),
    "CompoundLDA": (lambda: CompoundLDA(3, max_iter=40, random_state=0).fit(X, **IN_GROUPS), IN_GROUPS),
    "HDPLDA": (lambda: HDPLDA(max_components=20, max_iter=40, random_state=0).fit(X, **IN_GROUPS), IN_GROUPS),
    "CovariateLDA": (
        lambda: CovariateLDA(3, max_iter=40, random_state=0).fit(X, covariates=GROUPS),
        {"covariates": GROUPS},
    ),
    "LabeledLDA": (lambda: LabeledLDA(max_iter=10, n_draws=3, random_state=0).fit(X, Y), {}),
    "EmpiricalBayesLDA": (lambda: EmpiricalBayesLDA(3, max_iter=60, random_state=0).fit(X), {}),
    "TopicCountLDA": (
        lambda: TopicCountLDA(min_components=2, max_components=4, max_iter=150, random_state=0).fit(X),
        {},
    ),
    "merged": (lambda: merge_topics(LDA, [[0, 1]]), {}),
}


@cache
def fitted(name):
    fit, known = FITS[name]
    return fit(), known


each_model = pytest.mark.parametrize("name", FITS)


def rows_of(known, rows):
    return {name: values[rows] for name, values in known.items()}


@each_model
@pytest.mark.parametrize("uncertain", [False, True])
def test_rows_depend_on_their_document_only(name, uncertain):
    model, known = fitted(name)
    given = {"n_draws": 12, "topic_uncertainty": uncertain}
    whole = model.doc_topic_posterior(X, **given, **known)
    rows = np.array([50, 3, 17, 3])
    part = model.doc_topic_posterior(sp.csr_array(X[rows]), **given, **rows_of(known, rows))
    for field in ("mean", "std"):
        assert_array_equal(getattr(part, field), getattr(whole, field)[rows])
    assert_array_equal(part.draws, whole.draws[:, rows])
    model.n_jobs = 2
    try:
        again = model.doc_topic_posterior(X, **given, **known)
    finally:
        model.n_jobs = None
    assert_array_equal(again.draws, whole.draws)
    assert_array_equal(pickle.loads(pickle.dumps(whole)).draws, whole.draws)


@each_model
def test_the_mean_is_near_that_of_transform(name):
    model, known = fitted(name)
    posterior = model.doc_topic_posterior(X, n_draws=200, **known)
    theta = model.transform(X, **known)
    assert posterior.mean.shape == posterior.std.shape == posterior.draws.shape[1:] == theta.shape
    assert_allclose(posterior.mean.sum(axis=1), 1)
    assert_allclose(posterior.draws.sum(axis=2), 1, rtol=1e-5)
    # The largest of about thousand differences.
    assert (np.abs(posterior.mean - theta) < 5 * posterior.std * 0.3 + 0.02).all()
    assert_allclose(posterior.draws.mean(axis=0), posterior.mean, atol=0.1)
    assert np.abs(posterior.draws.std(axis=0) - posterior.std).mean() < 0.01


@pytest.mark.parametrize("name", ["CompoundLDA", "HDPLDA", "CovariateLDA"])
def test_documents_whose_group_is_unknown_have_the_common_prior(name):
    model, _ = fitted(name)
    empty = np.zeros((1, 40), int)
    assert_allclose(model.doc_topic_posterior(empty, n_draws=5).mean, model.transform(empty))


def test_draws_of_topics_make_errors_larger():
    plain, uncertain = (LDA.doc_topic_posterior(X, n_draws=300, topic_uncertainty=each) for each in (False, True))
    assert 1.02 < (uncertain.std**2).mean() / (plain.std**2).mean() < 2
    # They are the same for all documents.
    half = LDA.doc_topic_posterior(X[:30], n_draws=300, topic_uncertainty=True)
    assert_array_equal(half.draws, uncertain.draws[:, :30])


def exact_moments(words, alpha, parameters):
    """Mean and standard deviation of theta given a document, whose words and topics have Dirichlet distributions."""
    weights, means, squares = [], [], []
    for z in itertools.product(range(len(alpha)), repeat=len(words)):
        n, counts = alpha.copy(), parameters.copy()
        weight = 1.0
        for k, v in zip(z, words, strict=True):
            weight *= n[k] * counts[k, v] / counts[k].sum()
            n[k] += 1
            counts[k, v] += 1
        total = n.sum()
        weights.append(weight)
        means.append(n / total)
        squares.append(n * (n + 1) / (total * (total + 1)))
    weights = np.array(weights) / np.sum(weights)
    mean = weights @ means
    return mean, np.sqrt(weights @ squares - mean**2)


def test_draws_of_topics_know_a_new_document():
    words, alpha = [0, 0, 0, 0, 1, 1, 1, 2], np.array([0.5, 0.7])
    parameters = np.array([[0.6, 0.3, 0.2, 0.1], [0.2, 0.3, 0.3, 0.5]])
    corpus, rng = Corpus(np.array(words, np.int32), np.array([0, 8]), 4), np.random.default_rng(0)

    def draws(is_new):
        def topics(n, seed):
            return (np.array([rng.dirichlet(row) for row in parameters]) for _ in range(n))

        return doc_topic_posterior(
            corpus,
            None,
            alpha[None],
            10000,
            topics,
            np.random.SeedSequence(0),
            None,
            lambda n, seed: itertools.repeat(parameters, n),
            np.array([is_new]),
        )

    mean, std = exact_moments(words, alpha, parameters)
    # Of 1,000 draws of the topics, whose means have a standard deviation of .2 at most: five standard errors.
    known, unknown = draws(True), draws(False)
    assert_allclose(known.mean[0], mean, atol=0.03)
    assert_allclose(known.std[0], std, atol=0.03)
    assert abs(unknown.mean[0] - mean).max() > 0.03


def test_fewer_draws_are_the_first_ones():
    many, few = (LDA.doc_topic_posterior(X, n_draws=n) for n in (40, 10))
    assert_array_equal(many.draws[:10], few.draws)


def test_an_interval_has_the_next_draw_with_its_probability():
    posterior = LDA.doc_topic_posterior(np.repeat(X[:1], 2, axis=0), n_draws=39)
    low, high = posterior.interval(0.95)
    assert_allclose(low[0], posterior.draws[:, 0].min(axis=0))
    assert_allclose(high[0], posterior.draws[:, 0].max(axis=0))
    inner = posterior.interval(0.5)
    assert ((low < inner[0]) & (inner[1] < high)).all()
    with pytest.raises(ValueError, match=r"39 draws have no interval of 0\.99: give n_draws=199 or more"):
        posterior.interval(0.99)
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        posterior.interval(1.0)


def test_the_interval_contains_the_truth():
    """New documents of topics that are known. The false-alarm rate is 1e-5; half of the standard deviation fails."""
    rng = np.random.default_rng(0)
    alpha = np.array([0.8, 0.3, 0.2])
    lda = GibbsLDA(3, max_iter=2, random_state=0).fit(X)
    lda.components_, lda.doc_topic_prior_ = CORPUS.topic_word, alpha
    theta = rng.dirichlet(alpha, 1000)
    documents = np.array([rng.multinomial(12, p / p.sum()) for p in theta @ CORPUS.topic_word])
    posterior = lda.doc_topic_posterior(documents, n_draws=199)
    low, high = posterior.interval(0.95)
    inside = ((low <= theta) & (theta <= high)).all(axis=1), (np.abs(posterior.mean - theta) < posterior.std).mean()
    assert abs(((low <= theta) & (theta <= high)).mean() - 0.95) < 4.4 * np.sqrt(0.95 * 0.05 / 1000)
    assert ((posterior.mean - theta) ** 2).mean() / (posterior.std**2).mean() == pytest.approx(1, abs=0.15)
    assert inside[1] > 0.6


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"n_draws": 0}, ValueError, "n_draws must be at least 1, got 0"),
        ({"n_draws": 2.5}, TypeError, "n_draws must be an int"),
        ({"topic_uncertainty": "yes"}, TypeError, "topic_uncertainty must be True or False"),
        ({"n_draws": 10**13}, MemoryError, "fewer documents at a time"),
    ],
)
def test_bad_arguments(given, error, message):
    with pytest.raises(error, match=message):
        LDA.doc_topic_posterior(X, **given)


def test_bad_documents_and_models():
    with pytest.raises(ValueError, match="features"):
        LDA.doc_topic_posterior(X[:, :5])
    with pytest.raises(NotFittedError):
        GibbsLDA().doc_topic_posterior(X)
    model, _ = fitted("CompoundLDA")
    with pytest.raises(ValueError, match="2 values; there are 60 documents"):
        model.doc_topic_posterior(X, collections=GROUPS[:2])
    dependent = LabeledLDA(label_prior="dependency", max_iter=5, n_draws=2, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="label_prior='dependency' has no fixed prior"):
        dependent.doc_topic_posterior(X)
