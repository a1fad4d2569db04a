"""Ratio-AIS of two models against exact ratios; when it says that it has not converged."""

import numpy as np
import pytest
from held_out_cases import ALPHA_A, ALPHA_B, DOCS, A, B, counts, different_documents, exact

from sklda.datasets import make_lda_corpus
from sklda.papers.held_out import ratio_ais


@pytest.mark.parametrize("path", ["convex", "geometric"])
def test_it_finds_the_ratio(path):
    docs, X = different_documents()
    permuted = B[[2, 0, 1]], ALPHA_B[[2, 0, 1]]
    found = ratio_ais((A, ALPHA_A), permuted, X, path=path, n_runs=10, random_state=0)
    truth = exact(A, ALPHA_A, docs) - exact(B, ALPHA_B, docs)
    z = (found.log_ratio - truth) / (found.std + 1e-6)
    assert np.abs(z).max() < 6
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
    assert not ratio_ais((mine, 0.1), (other, 0.1), data.data, n_temperatures=2, random_state=0).converged


def test_models_without_a_path():
    X = counts(DOCS)
    with pytest.raises(ValueError, match="the models have 3 and 2 topics"):
        ratio_ais((A, ALPHA_A), (B[:2], 0.5), X)
    hollow = np.array([[0.5, 0.5, 0, 0], [0.5, 0, 0, 0.5], [1, 0, 0, 0]])
    with pytest.raises(ValueError, match="probability zero in a topic"):
        ratio_ais((A, ALPHA_A), (hollow, 0.5), X, path="geometric")
    with pytest.raises(ValueError, match="path must be"):
        ratio_ais((A, 0.5), (B, 0.5), X, path="straight")
    with pytest.raises(ValueError, match="n_runs must be at least 2, got 1"):
        ratio_ais((A, 0.5), (B, 0.5), X, n_runs=1)
