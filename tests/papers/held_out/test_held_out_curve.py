"""The held-out likelihood of models that follow each other, from estimators and arrays."""

import copy

import numpy as np
import pytest

from sklda import GibbsLDA
from sklda.datasets import make_lda_corpus
from sklda.metrics import held_out_log_likelihood
from sklda.papers.held_out import held_out_curve


def test_the_curve_of_a_fit():
    data = make_lda_corpus(120, 60, 4, doc_length=60, topic_word_prior=0.05, random_state=0).data
    lda = GibbsLDA(4, doc_topic_prior=0.1, max_iter=10, warm_start=True, random_state=0)
    models = [copy.copy(lda.fit(data[:80])) for _ in range(4)]
    curve = held_out_curve(models, data[80:], n_runs=8, random_state=0)
    assert curve.log_likelihood.shape == (4, 40)
    for s, model in enumerate(models):
        value, std = held_out_log_likelihood(model, data[80:], n_runs=8, return_std=True, random_state=1)
        error = np.hypot(curve.std[s], np.sqrt((std**2).sum()) / data[80:].sum())
        assert abs(curve.score[s] - value.sum() / data[80:].sum()) < 5 * error
    pairs = [(model.topic_word_, 0.1) for model in models]
    plain = held_out_curve(pairs, data[80:], n_runs=8, random_state=0)
    np.testing.assert_allclose(plain.score, curve.score, rtol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda pair: pair, TypeError, "must be a list"),
        (lambda pair: [], ValueError, "empty list"),
        (lambda pair: [pair, np.ones((2, 40)) / 40], TypeError, "has no components_"),
        (lambda pair: [pair, (pair[0], 0.2)], ValueError, r"models\[1\] has another doc_topic_prior"),
        (lambda pair: [pair, (pair[0][:2], 0.1)], ValueError, r"shape \(2, 40\)"),
        (lambda pair: [(*pair, 0.1)], ValueError, "a tuple of 3"),
    ],
)
def test_bad_models(wrong, error, message):
    data = make_lda_corpus(30, 40, 3, random_state=0).data
    with pytest.raises(error, match=message):
        held_out_curve(wrong((np.ones((3, 40)) / 40, 0.1)), data)
