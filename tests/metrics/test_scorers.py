"""Scorers in searches, cross-validation and pipelines, on models of this library and of scikit-learn."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import make_lda_corpus
from sklda.metrics import (
    held_out_log_likelihood,
    make_coherence_scorer,
    make_held_out_scorer,
    neg_ais_perplexity_scorer,
)


@pytest.fixture(scope="module")
def corpus():
    return make_lda_corpus(90, 40, 3, doc_length=40, topic_word_prior=0.05, random_state=0).data


@pytest.fixture(scope="module")
def texts(corpus):
    return [" ".join(f"w{v:02d}" for v in np.repeat(np.arange(40), row)) for row in corpus.toarray()]


def lda(**options):
    return GibbsLDA(3, **{"doc_topic_prior": 0.1, "max_iter": 30, "random_state": 0} | options)


def test_the_score_is_that_of_the_arrays(corpus):
    model = lda().fit(corpus[:60])
    X = corpus[60:]
    value = held_out_log_likelihood((model.topic_word_, 0.1), X, random_state=0).sum() / X.sum()
    assert make_held_out_scorer(metric="log_likelihood")(model, X) == pytest.approx(value, rel=1e-12)
    assert neg_ais_perplexity_scorer(model, X) == pytest.approx(-np.exp(-value), rel=1e-12)


def test_any_model_with_components_and_prior(corpus):
    theirs = LatentDirichletAllocation(3, doc_topic_prior=0.1, random_state=0).fit(corpus[:60])
    plain = SimpleNamespace(components_=theirs.components_, doc_topic_prior_=0.1)
    assert neg_ais_perplexity_scorer(theirs, corpus[60:]) == neg_ais_perplexity_scorer(plain, corpus[60:])


def test_searches(corpus, texts):
    pipeline = make_pipeline(CountVectorizer(vocabulary=[f"w{v:02d}" for v in range(40)]), lda())
    search = GridSearchCV(pipeline, {"gibbslda__n_components": [1, 3]}, scoring=neg_ais_perplexity_scorer, cv=3)
    assert search.fit(texts).best_params_ == {"gibbslda__n_components": 3}
    search = RandomizedSearchCV(
        lda(), {"doc_topic_prior": [0.1, 50.0]}, n_iter=2, scoring=neg_ais_perplexity_scorer, cv=2, random_state=0
    ).fit(corpus)
    assert search.best_params_ == {"doc_topic_prior": 0.1}


@pytest.mark.parametrize("routing", [False, True])
def test_several_scorers_at_once(corpus, routing):
    scoring = {
        "perplexity": neg_ais_perplexity_scorer,
        "completion": make_held_out_scorer(method="document_completion", metric="log_likelihood", n_temperatures=20),
        "coherence": make_coherence_scorer(n_words=5),
    }
    # The pool of processes of the other tests.
    with config_context(enable_metadata_routing=routing), parallel_config("loky", max_nbytes=1):
        scores = cross_validate(lda(), corpus, scoring=scoring, cv=3, error_score="raise")
        again = cross_validate(lda(), corpus, scoring=scoring, cv=3, n_jobs=2, error_score="raise")
        search = GridSearchCV(lda(), {"n_components": [2, 3]}, scoring=scoring, refit="perplexity", cv=2).fit(corpus)
    assert search.best_params_ == {"n_components": 3}
    for name in scoring:
        assert np.isfinite(scores[f"test_{name}"]).all()
        np.testing.assert_array_equal(scores[f"test_{name}"], again[f"test_{name}"])


def test_score_of_a_pipeline_with_routing_on(texts):
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(CountVectorizer(), lda()).fit(texts)
        assert np.isfinite(pipeline.score(texts))


def test_the_form_with_a_standard_error(corpus):
    scorer = make_held_out_scorer(return_std=True, n_runs=10, n_temperatures=20)
    scores = cross_validate(lda(), corpus, scoring=scorer, cv=3, error_score="raise")
    assert (scores["test_neg_perplexity"] < 0).all()
    assert (scores["test_neg_perplexity_std"] > 0).all()
    model = lda().fit(corpus[:60])
    found = [
        make_held_out_scorer(return_std=True, n_runs=10, n_temperatures=5, random_state=seed)(model, corpus[60:])
        for seed in range(40)
    ]
    # the stated error against the spread of 40 seeds: their ratio squared is chi-square / 39
    ratio = np.std([f["neg_perplexity"] for f in found], ddof=1) / np.mean([f["neg_perplexity_std"] for f in found])
    assert 0.5 < ratio < 1.7
    logs = make_held_out_scorer(metric="log_likelihood", return_std=True)(model, corpus[60:])
    assert set(logs) == {"log_likelihood", "log_likelihood_std"}


def test_jobs_batches_and_pickles(corpus):
    model = lda().fit(corpus[:60])
    scorer = make_held_out_scorer(random_state=3)
    score = scorer(model, corpus[60:])
    copy = pickle.loads(pickle.dumps(scorer))
    assert copy == scorer
    assert hash(copy) == hash(scorer)
    assert copy != neg_ais_perplexity_scorer
    assert copy(model, corpus[60:]) == score
    assert make_held_out_scorer(random_state=3, n_jobs=2)(model, corpus[60:]) == score
    assert scorer(model, corpus[60:][::-1]) == score
    assert "method='guided_ais'" in repr(scorer)


def test_bad_input():
    with pytest.raises(ValueError, match="metric must be"):
        make_held_out_scorer(metric="bits")
    with pytest.raises(ValueError, match="needs n_runs=2"):
        make_held_out_scorer(return_std=True, n_runs=1)
