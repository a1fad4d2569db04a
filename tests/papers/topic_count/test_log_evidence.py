"""Estimates of the evidence from several chains: the public function, and what it and the one by sweeps refuse."""

import numpy as np
import pytest
from enumeration import EXACT, make_corpus

from sklda.papers.topic_count import log_evidence, log_evidence_by_sweeps


@pytest.mark.parametrize("method", ["guided_ais", "ais"])
def test_the_public_function_finds_exact_values(method):
    """With eight chains of two runs; 5.5 errors of 14 degrees of freedom are 8e-5."""
    docs, n_features, alpha, eta, exact = EXACT["two words, 0.1, 0.5"]
    X = make_corpus(docs, n_features).to_counts()
    given = {"doc_topic_prior": alpha, "topic_word_prior": eta, "random_state": 0}
    for T in (2, 4):
        value, std = log_evidence(X, T, method=method, n_temperatures=200, **given)
        assert abs(value - exact[T - 1]) < 5.5 * std
        assert std < 0.5


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"X": np.zeros((2, 3))}, ValueError, "no token at all"),
        ({"n_chains": 0}, ValueError, "n_chains must be at least 1, got 0"),
        ({"n_runs": 1.5}, TypeError, "n_runs must be an int, got 1.5"),
        ({"method": "bridge"}, ValueError, "method must be one of .*, got 'bridge'"),
        ({"init": "warm"}, ValueError, "init must be one of .*, got 'warm'"),
        ({"init": "prune", "doc_topic_prior": [0.1, 0.2]}, ValueError, "init='prune' merges topics"),
    ],
)
@pytest.mark.parametrize("estimate", [log_evidence, log_evidence_by_sweeps])
def test_bad_options(estimate, options, error, message):
    with pytest.raises(error, match=message):
        estimate(**{"X": np.array([[1, 2], [0, 1]]), "n_components": 2} | options)


def test_too_few_inner_sweeps():
    with pytest.raises(ValueError, match="n_inner must be at least 2, got 1"):
        log_evidence_by_sweeps(np.array([[1, 2], [0, 1]]), 2, n_inner=1)
