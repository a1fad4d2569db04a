"""Comparison of two models against exact ratios."""

import numpy as np
import pytest
from held_out_cases import ALPHA_A, ALPHA_B, DOCS, A, B, counts, different_documents, exact

from sklda.metrics import compare_topic_models


def test_comparison_finds_the_ratio():
    docs, X = different_documents()
    found = compare_topic_models((A, ALPHA_A), (B, ALPHA_B), X, n_runs=10, random_state=0)
    truth = exact(A, ALPHA_A, docs) - exact(B, ALPHA_B, docs)
    z = (found.log_ratio - truth) / (found.std + 1e-6)
    assert np.abs(z).max() < 6


def test_models_of_different_size_and_zeros():
    X = counts(DOCS)
    assert np.isfinite(compare_topic_models((A, ALPHA_A), (B[:2], 0.5), X, random_state=0).log_ratio).all()
    hollow = np.array([[0.5, 0.5, 0, 0], [0.5, 0, 0, 0.5], [1, 0, 0, 0]])
    found = compare_topic_models((hollow, 0.5), (A, 0.5), X, random_state=0)
    assert np.isneginf(found.log_ratio[2])
    both = compare_topic_models((hollow, 0.5), (hollow, 0.5), X, random_state=0)
    assert np.isnan(both.log_ratio[2])
    with pytest.raises(ValueError, match="needs n_runs=2"):
        compare_topic_models((A, 0.5), (B, 0.5), X, n_runs=1)
