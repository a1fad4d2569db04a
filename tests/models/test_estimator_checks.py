"""scikit-learn's own checks, and code written for LatentDirichletAllocation."""

import inspect

import numpy as np
import pytest
from old_versions import FAILED_CHECKS
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

from sklda import (
    HDPLDA,
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
)

ESTIMATORS = [
    GibbsLDA(max_iter=5),
    CollapsedVariationalLDA(max_iter=5),
    CollapsedVariationalLDA(3, learning_method="online", max_iter=2, batch_size=7, learn_priors=False, n_jobs=2),
    CompoundLDA(max_iter=5),
    HDPLDA(max_components=10, max_iter=5, n_chains=1),
    CovariateLDA(max_iter=5),
    ConsensusTopics(GibbsLDA(2, max_iter=5), n_fits=2, n_splits=0),
    TopicCountLDA(min_components=1, max_components=2, max_iter=6, n_chains=1),
    LabeledLDA(n_chains=1, max_iter=10, n_draws=2, fold_in_iter=5),
]
# Other parameters of estimators that are above.
MORE = [
    GibbsLDA(2, max_iter=5, n_chains=2, n_jobs=2, point_estimate="cgs"),
    GibbsLDA(3, max_iter=5, doc_topic_prior=0.1, topic_word_prior=2),
    CompoundLDA(2, max_iter=5, learn_priors=True, collection_topic_prior=(1, 1)),
    CovariateLDA(2, max_iter=5, n_chains=2, n_jobs=2, coef_scale=1.0, learn_priors=False),
    ConsensusTopics(GibbsLDA(2, max_iter=5), n_fits=3, resample="bootstrap", min_prevalence=0.3),
    LabeledLDA(
        n_shared=1, n_chains=2, max_iter=5, fold_in_iter=5, draw_every=1, n_draws=2, label_prior="dependency",
        ranking_score="shares", label_count=1,
    ),
]  # fmt: skip


def checks(estimators, *marks):
    """scikit-learn's checks of all estimators."""
    for estimator in estimators:
        for pair in estimator_checks_generator(estimator, expected_failed_checks=FAILED_CHECKS, mark="xfail"):
            parameters = pair if hasattr(pair, "values") else pytest.param(*pair)
            yield pytest.param(*parameters.values, marks=[*parameters.marks, *marks])


# Some checks give a y, which no estimator uses. None give covariates.
@pytest.mark.filterwarnings("ignore:CovariateLDA has no covariates:UserWarning")
@pytest.mark.filterwarnings("ignore:(Langevin|Variational)?(CompoundLDA|HDPLDA) does not use y:UserWarning")
@pytest.mark.filterwarnings("ignore:The draws use up to:UserWarning")
@pytest.mark.filterwarnings("ignore:The number of topics in use has not settled")
# The documents of the checks are noise, without topics.
@pytest.mark.filterwarnings("ignore:No topic is found:sklearn.exceptions.ConvergenceWarning")
# Runs of two temperatures say that they are too short.
@pytest.mark.filterwarnings("ignore:p.T . w.:sklearn.exceptions.ConvergenceWarning")
# Some checks draw seeds of their own, and two short fits need not have a topic in common.
@pytest.mark.filterwarnings("ignore:n_components_ is 0:sklearn.exceptions.ConvergenceWarning")
# A check has a class whose documents are empty.
@pytest.mark.filterwarnings("ignore:1 of 2 labels have no document with words")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [*checks(ESTIMATORS), *checks(MORE, pytest.mark.exhaustive)],
    ids=lambda value: getattr(value, "func", value).__name__ if callable(value) else repr(value),
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "name", ["n_components", "doc_topic_prior", "topic_word_prior", "max_iter", "n_jobs", "verbose", "random_state"]
)
def test_shared_parameters(name):
    ours, theirs = (inspect.signature(each).parameters[name] for each in (GibbsLDA, LatentDirichletAllocation))
    assert ours.kind == theirs.kind
    assert ours.default == theirs.default or name == "max_iter"


@pytest.mark.parametrize("name", ["fit", "transform", "fit_transform", "get_feature_names_out", "set_output"])
def test_shared_methods(name):
    def parameters(cls):
        signature = inspect.signature(getattr(cls, name))
        return [(each.name, each.kind, each.default) for each in signature.parameters.values()]

    assert parameters(GibbsLDA) == parameters(LatentDirichletAllocation)


@pytest.mark.parametrize("cls", [LatentDirichletAllocation, GibbsLDA])
def test_swapping_the_class_name_works(cls, counts):
    lda = cls(
        n_components=4, doc_topic_prior=0.2, topic_word_prior=0.3, max_iter=5, n_jobs=1, verbose=0, random_state=0
    )
    theta = lda.fit_transform(counts)
    assert theta.shape == (150, 4)
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    assert lda.components_.shape == (4, 60)
    assert (lda.components_ > 0).all()
    assert lda.doc_topic_prior_ == 0.2
    assert lda.topic_word_prior_ == 0.3
    assert lda.n_iter_ == 5
    assert lda.n_features_in_ == 60
    assert lda.get_feature_names_out().tolist() == [f"{cls.__name__.lower()}{k}" for k in range(4)]
    np.testing.assert_allclose(lda.transform(counts, normalize=True), theta)
    raw = lda.transform(counts, normalize=False)
    np.testing.assert_allclose(raw / raw.sum(axis=1, keepdims=True), theta)
    np.testing.assert_allclose(raw[0], 0.2)
    with pytest.raises(NotFittedError):
        clone(lda).transform(counts)


def test_default_priors(counts):
    lda = GibbsLDA(4, learn_priors=False, max_iter=1).fit(counts)
    assert lda.doc_topic_prior_ == lda.topic_word_prior_ == 0.25
    assert type(lda.doc_topic_prior_) is float
    # One sweep learns nothing.
    lda = GibbsLDA(4, max_iter=1).fit(counts)
    assert lda.doc_topic_prior_.tolist() == [0.25] * 4


def test_repr():
    assert repr(GibbsLDA(n_components=3, max_iter=7)) == "GibbsLDA(max_iter=7, n_components=3)"
