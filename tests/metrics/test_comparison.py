"""Comparison of two models against exact ratios, and the choice of the path."""

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


@pytest.mark.parametrize("path", ["convex", "geometric", "difference", "auto"])
def test_comparison_finds_the_ratio(path):
    # distinct documents, for equal ones share their stream and so their error
    rng = np.random.default_rng(0)
    docs = [rng.choice(4, size=n, p=[0.4, 0.2, 0.1, 0.3]) for n in range(30)]
    found = compare_topic_models(
        (A, ALPHA_A),
        (B[[2, 0, 1]], ALPHA_B[[2, 0, 1]]),
        make_corpus(docs, 4).to_counts(),
        path=path,
        n_runs=10,
        random_state=0,
    )
    truth = exact(A, ALPHA_A, docs) - exact(B, ALPHA_B, docs)
    z = (found.log_ratio - truth) / (found.std + 1e-6)
    assert np.abs(z).max() < 6
    assert (found.path == path) or path == "auto"
    if path == "difference":
        assert found.converged is None
    if path in ("convex", "geometric"):
        assert found.alignment.tolist() == [1, 2, 0]
        assert found.converged
        np.testing.assert_allclose(found.log_ratio, (found.forward + found.reverse) / 2)


def test_too_few_temperatures_do_not_converge_and_say_so():
    data = make_lda_corpus(80, 60, 4, doc_length=80, topic_word_prior=0.05, random_state=0)
    rng = np.random.default_rng(0)
    other = rng.dirichlet(np.full(60, 0.05), size=4) + 1e-6
    other /= other.sum(axis=1, keepdims=True)
    mine = data.topic_word + 1e-6
    mine /= mine.sum(axis=1, keepdims=True)
    found = compare_topic_models((mine, 0.1), (other, 0.1), data.data, path="convex", n_temperatures=2, random_state=0)
    assert not found.converged
    assert (
        compare_topic_models((mine, 0.1), (other, 0.1), data.data, n_temperatures=20, random_state=0).path
        == "difference"
    )


def test_auto_anneals_between_models_that_are_nearly_the_same():
    data = make_lda_corpus(80, 60, 4, doc_length=80, random_state=0)
    near = data.topic_word * np.random.default_rng(0).uniform(0.97, 1.03, size=(4, 60))
    near /= near.sum(axis=1, keepdims=True)
    found = compare_topic_models((data.topic_word + 0.0, 0.1), (near, 0.1), data.data, random_state=0)
    assert found.path == "convex"


def test_models_of_different_size_and_zeros():
    X = make_corpus(DOCS, 4).to_counts()
    found = compare_topic_models((A, ALPHA_A), (B[:2], 0.5), X, random_state=0)
    assert found.path == "difference"
    with pytest.raises(ValueError, match="the models have 3 and 2 topics"):
        compare_topic_models((A, ALPHA_A), (B[:2], 0.5), X, path="convex")
    hollow = np.array([[0.5, 0.5, 0, 0], [0.5, 0, 0, 0.5], [1, 0, 0, 0]])
    with pytest.raises(ValueError, match="probability zero in a topic"):
        compare_topic_models((A, ALPHA_A), (hollow, 0.5), X, path="geometric")
    found = compare_topic_models((hollow, 0.5), (A, 0.5), X, random_state=0)
    assert np.isneginf(found.log_ratio[2])
    both = compare_topic_models((hollow, 0.5), (hollow, 0.5), X, random_state=0)
    assert np.isnan(both.log_ratio[2])
    with pytest.raises(ValueError, match="path must be"):
        compare_topic_models((A, 0.5), (B, 0.5), X, path="straight")


def test_jobs_change_nothing():
    data = make_lda_corpus(150, 30, 3, doc_length=(0, 30), random_state=0)
    near = (data.topic_word + 0.01) / (1 + 0.01 * 30)
    two = [
        compare_topic_models(
            (data.topic_word, 0.1),
            (near, 0.2),
            data.data,
            path="convex",
            n_temperatures=10,
            random_state=0,
            n_jobs=n_jobs,
        )
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(two[0].log_ratio, two[1].log_ratio)
