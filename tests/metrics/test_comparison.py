"""Comparison of two models against exact ratios."""

import numpy as np
import pytest
from enumeration import make_corpus

from sklda.datasets import make_lda_corpus
from sklda.metrics import compare_topic_models, held_out_log_likelihood

A = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.25, 0.25, 0.25, 0.25]])
B = np.array([[0.4, 0.4, 0.15, 0.05], [0.05, 0.15, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4]])
ALPHA_A, ALPHA_B = np.array([0.2, 0.5, 1.0]), np.array([0.6, 0.4, 0.3])
DOCS = [[0], [0, 1, 3], [3, 3, 3, 0, 0, 1, 2, 3], [0, 3] * 6, []]


def exact(phi, alpha, docs=DOCS):
    return held_out_log_likelihood((phi, alpha), make_corpus(docs, 4).to_counts(), method="exact")


def test_comparison_finds_the_ratio():
    # distinct documents, for equal ones share their stream and so their error
    rng = np.random.default_rng(0)
    docs = [rng.choice(4, size=n, p=[0.4, 0.2, 0.1, 0.3]) for n in range(30)]
    X = make_corpus(docs, 4).to_counts()
    found = compare_topic_models((A, ALPHA_A), (B, ALPHA_B), X, n_runs=10, random_state=0)
    truth = exact(A, ALPHA_A, docs) - exact(B, ALPHA_B, docs)
    z = (found.log_ratio - truth) / (found.std + 1e-6)
    assert np.abs(z).max() < 6


def test_models_of_different_size_and_zeros():
    X = make_corpus(DOCS, 4).to_counts()
    assert np.isfinite(compare_topic_models((A, ALPHA_A), (B[:2], 0.5), X, random_state=0).log_ratio).all()
    hollow = np.array([[0.5, 0.5, 0, 0], [0.5, 0, 0, 0.5], [1, 0, 0, 0]])
    found = compare_topic_models((hollow, 0.5), (A, 0.5), X, random_state=0)
    assert np.isneginf(found.log_ratio[2])
    both = compare_topic_models((hollow, 0.5), (hollow, 0.5), X, random_state=0)
    assert np.isnan(both.log_ratio[2])
    with pytest.raises(ValueError, match="needs n_runs=2"):
        compare_topic_models((A, 0.5), (B, 0.5), X, n_runs=1)


def test_jobs_change_nothing():
    data = make_lda_corpus(150, 30, 3, doc_length=(0, 30), random_state=0)
    near = (data.topic_word + 0.01) / (1 + 0.01 * 30)
    models = (data.topic_word, 0.1), (near, 0.2)
    two = [
        compare_topic_models(*models, data.data, n_temperatures=10, random_state=0, n_jobs=n_jobs) for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(two[0].log_ratio, two[1].log_ratio)
