"""doc_topic_prior that follows the number of topics: a text or a function."""

import pickle
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklda import CollapsedVariationalLDA, CovariateLDA, GibbsLDA, LabeledLDA, TopicCountLDA
from sklda.callbacks import Checkpoint
from sklda.datasets import make_lda_corpus
from sklda.inspection import compare_topic_counts

X = make_lda_corpus(40, 30, 3, doc_length=30, random_state=0).data
LABELS = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 10)


def half(n_components):
    return 0.5 / n_components


def over(total, n_components):
    return total / n_components


def by_rank(n_components):
    return 1 / np.arange(1, n_components + 1)


# An estimator, y of its fit, and the number of topics that alpha is for.
CASES = [
    (GibbsLDA(4, max_iter=5, random_state=0), None, 4),
    (GibbsLDA(4, max_iter=5, learn_priors=False, init="random", random_state=0), None, 4),
    (CollapsedVariationalLDA(4, max_iter=5, random_state=0), None, 4),
    (CollapsedVariationalLDA(4, learning_method="online", max_iter=2, random_state=0), None, 4),
    (CovariateLDA(4, max_iter=10, random_state=0), None, 4),
    (LabeledLDA(n_shared=2, max_iter=5, random_state=0), LABELS, 5),
]
IDS = [f"{type(lda).__name__} {i}" for i, (lda, *_) in enumerate(CASES)]


def fit(lda, y, prior):
    options = {"covariates": np.arange(40)} if isinstance(lda, CovariateLDA) else {}
    return clone(lda).set_params(doc_topic_prior=prior).fit(X, y, **options)


@pytest.mark.parametrize("lda, y, n_topics", CASES, ids=IDS)
def test_a_text_and_a_function_are_the_number_at_the_number_of_topics(lda, y, n_topics):
    fits = [fit(lda, y, prior) for prior in ("0.5/K", half, 0.5 / n_topics)]
    for found in fits[:2]:
        assert_array_equal(found.components_, fits[2].components_)
        assert_array_equal(found.doc_topic_prior_, fits[2].doc_topic_prior_)
    assert fits[0].get_params()["doc_topic_prior"] == "0.5/K"
    again = pickle.loads(pickle.dumps(fits[1]))
    assert again.doc_topic_prior is half
    assert_array_equal(again.transform(X[:3]), fits[1].transform(X[:3]))


@pytest.mark.parametrize("lda, y, n_topics", [CASES[0], CASES[2], CASES[-1]], ids=["gibbs", "cvb", "labels"])
def test_a_function_can_give_one_alpha_for_each_topic(lda, y, n_topics):
    a, b = (fit(lda, y, prior) for prior in (by_rank, by_rank(n_topics)))
    assert_array_equal(a.components_, b.components_)


def test_searches_follow_the_number_of_topics():
    lda = GibbsLDA(max_iter=5, doc_topic_prior=" 6 / K", random_state=0)
    search = GridSearchCV(lda, {"n_components": [2, 3], "doc_topic_prior": ["6/K", half]}, cv=2, error_score="raise")
    search.fit(X)
    assert_allclose(clone(lda).set_params(n_components=2).fit(X).doc_topic_prior_, 3.0)
    expected = search.best_params_["doc_topic_prior"]
    K = search.best_params_["n_components"]
    assert_allclose(search.best_estimator_.doc_topic_prior_, half(K) if callable(expected) else 6 / K)
    assert len(compare_topic_counts(lda, X, [2, 4], cv=3, random_state=0).counts) == 2


@pytest.mark.filterwarnings("ignore:p.T . w. is:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("prior", ["1/K", lambda T: 1 / T], ids=["text", "function"])
def test_the_posterior_of_the_number_of_topics(prior):
    given = {"max_components": 3, "share_concentration": "equal", "random_state": 0, "max_iter": 40}
    a, b = (TopicCountLDA(doc_topic_prior=each, **given).fit(X[:10]) for each in (prior, "1/T"))
    assert_array_equal(a.topic_count_posterior_, b.topic_count_posterior_)
    assert a.doc_topic_prior_ == pytest.approx(np.full(a.n_components_, 1 / a.n_components_), rel=0.01)


def test_fits_continue(tmp_path):
    # A deep copy of a partial is not equal to it.
    for name, prior in {"text": "2/K", "function": half, "partial": partial(over, 2)}.items():
        whole = GibbsLDA(4, max_iter=8, burn_in=2, doc_topic_prior=prior, init="random", random_state=0).fit(X)
        parts = clone(whole).set_params(max_iter=4, warm_start=True).fit(X).fit(X)
        assert_array_equal(parts.components_, whole.components_)
        stream = CollapsedVariationalLDA(4, doc_topic_prior=prior, random_state=0).partial_fit(X).partial_fit(X)
        assert stream.doc_topic_prior_ == (0.125 if prior is half else 0.5)
        known = CovariateLDA(4, max_iter=4, doc_topic_prior=prior, warm_start=True, random_state=0)
        for _ in range(2):
            known.fit(X, covariates=np.arange(X.shape[0]))
        with pytest.raises(ValueError, match=r"warm_start=True continues a fit with doc_topic_prior=0\.\d+, but"):
            known.set_params(doc_topic_prior=0.1).fit(X, covariates=np.arange(X.shape[0]))
        with pytest.raises(ValueError, match=r"doc_topic_prior is now 0\.1"):
            stream.set_params(doc_topic_prior=0.1).partial_fit(X)
        folder = tmp_path / name
        saved = clone(whole).set_callbacks(Checkpoint(folder, every=0)).fit(X)
        assert callable(saved.doc_topic_prior) == callable(prior)
        assert_array_equal(GibbsLDA.resume(folder, X).components_, whole.components_)


@pytest.mark.parametrize(
    "prior, error, message",
    [
        ("50", ValueError, r"doc_topic_prior = '50': a text must be a number over K or T, such as '50/K'"),
        ("K/50", ValueError, "a number over K"),
        ("50/N", ValueError, "a number over K or T"),
        ("50/K/K", ValueError, "a number over K"),
        ("/K", ValueError, "a number over K"),
        ("a/K", ValueError, "a number over K"),
        ("nan/K", ValueError, "doc_topic_prior = nan"),
        ("-1/K", ValueError, "doc_topic_prior = -"),
        ("0/K", ValueError, "doc_topic_prior = 0"),
        (lambda K: None, TypeError, "a function that returned None for"),
        (lambda K: -1.0, ValueError, "doc_topic_prior = -1"),
        (lambda K: "x", TypeError, "doc_topic_prior must hold real numbers"),
        (lambda K: np.ones(K + 1), ValueError, "doc_topic_prior has shape"),
    ],
)
@pytest.mark.parametrize("lda, y, n_topics", CASES, ids=IDS)
def test_what_is_refused(lda, y, n_topics, prior, error, message):
    lda = clone(lda).set_params(doc_topic_prior=prior)
    before = dict(vars(lda))
    with pytest.raises(error, match=message):
        lda.fit(X, y, **({"covariates": np.arange(40)} if isinstance(lda, CovariateLDA) else {}))
    assert vars(lda) == before


def test_numbers_of_topics_have_one_alpha_for_all():
    with pytest.raises(ValueError, match="doc_topic_prior must give one number"):
        TopicCountLDA(doc_topic_prior=by_rank, min_components=2, max_components=3).fit(X)
