"""Models, topics and weights that scores refuse, and impossible words, whose scores are infinite."""

import numpy as np
import pytest
from refusals import FITTED, GOOD, PHI
from sklearn.exceptions import NotFittedError

from sklda import CollapsedVariationalLDA, CompoundLDA, EmpiricalBayesLDA, GibbsLDA, LabeledLDA, TopicCountLDA, metrics


def test_perplexity_of_hidden_words():
    for n_sweeps in (0, -3):
        with pytest.raises(ValueError, match=f"n_sweeps must be at least 1, got {n_sweeps}"):
            metrics.predictive_perplexity(GOOD, GOOD, FITTED, n_sweeps=n_sweeps)
    for n_sweeps in (1.5, True, "10"):
        with pytest.raises(TypeError, match="n_sweeps must be an int"):
            metrics.predictive_perplexity(GOOD, GOOD, FITTED, n_sweeps=n_sweeps)


@pytest.mark.parametrize("weight", [-1, -1e-300, np.inf, -np.inf, np.nan])
def test_weights(weight):
    for model in (FITTED, CompoundLDA(2, max_iter=2).fit(GOOD)):
        with pytest.raises(ValueError, match=r"sample_weight\[1\] = .*: a weight must be finite and not negative"):
            model.score(GOOD, sample_weight=[1, weight])


class Topics:
    """Three words, of which the last has no topic."""

    components_, doc_topic_prior_ = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), 0.5


def test_impossible_words_bring_no_warning():
    X = np.array([[3, 2, 4], [2, 2, 0], [0, 0, 4]])
    value, std = metrics.held_out_log_likelihood(
        X, Topics, method="document_completion", n_runs=3, return_std=True, random_state=0
    )
    assert np.isneginf(value[[0, 2]]).all()
    assert (std[[0, 2]] == 0).all()
    assert np.isfinite([value[1], std[1]]).all()
    assert metrics.predictive_perplexity(X, X, Topics) == np.inf
    for metric in ("perplexity", "log_likelihood"):
        found = metrics.make_held_out_scorer(metric=metric, return_std=True)(Topics, X)
        assert not np.isnan(list(found.values())).any()


@pytest.mark.parametrize("components", [[[1, 1, 1], [0, 0, 0]], [[1, 1, 1], [np.nan, 1, 1]], [[np.inf, 1, 1]]])
def test_components_that_are_no_topics(components):
    model = Topics()
    model.components_ = np.array(components, float)
    for call in (
        lambda: metrics.predictive_perplexity(GOOD, GOOD, model),
        lambda: metrics.compare_topic_models(GOOD, model, model),
        lambda: metrics.neg_ais_perplexity_scorer(model, GOOD),
    ):
        with pytest.raises(ValueError, match=r"components_\[\d\] of the Topics sums to (0|nan|inf): it is not a dist"):
            call()


@pytest.mark.parametrize(
    "cls", [GibbsLDA, EmpiricalBayesLDA, TopicCountLDA, CompoundLDA, LabeledLDA, CollapsedVariationalLDA]
)
def test_models_that_are_not_fitted(cls):
    for call in (
        lambda model: metrics.predictive_perplexity(GOOD, GOOD, model),
        lambda model: metrics.compare_topic_models(GOOD, model, FITTED),
        lambda model: metrics.compare_topic_models(GOOD, FITTED, model),
        lambda model: metrics.held_out_curve(GOOD, model),
        lambda model: metrics.leave_one_out_score(GOOD, model),
        lambda model: metrics.neg_ais_perplexity_scorer(model, GOOD),
        lambda model: metrics.make_diversity_scorer(n_words=1)(model, GOOD),
    ):
        with pytest.raises(NotFittedError, match=f"This {cls.__name__} instance is not fitted yet"):
            call(cls())


@pytest.mark.parametrize(
    ("topic_word", "error", "message"),
    [
        (np.zeros((0, 3)), ValueError, "topic_word has no topic: it needs at least one row"),
        ([["a", "b", "c"]], TypeError, "topic_word must hold real numbers, got"),
        ([[0.5, 0.5], [1]], TypeError, "topic_word must hold real numbers, got"),
    ],
)
def test_topics(topic_word, error, message):
    for call in (
        lambda: metrics.held_out_log_likelihood(GOOD, (topic_word, 0.5)),
        lambda: metrics.compare_topic_models(GOOD, (topic_word, 0.5), (PHI, 0.5)),
        lambda: metrics.held_out_curve(GOOD, ([topic_word], 0.5)),
    ):
        with pytest.raises(error, match=message):
            call()
