"""Estimates of the evidence from the sweeps of chains, against exact values; what the public function refuses."""

import numpy as np
import pytest
from enumeration import Enumeration, make_chain
from scipy.special import logsumexp

from sklda._core import random
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda.papers.topic_count import log_evidence_by_sweeps
from sklda.papers.topic_count._forward_runs import ForwardSettings, forward_runs


def log_weights_of(exact, priors, method):
    """Log weights of 40 runs of one chain under `priors`."""
    state = make_chain(exact.corpus, priors, exact.states[5]).state()
    settings = ForwardSettings(method, 0, 40, 100)
    return forward_runs(exact.corpus, priors, state, settings, random.seed_sequence(0), NEVER_STOP)[0]


@pytest.mark.mutation("test_comparators_of_other_priors_are_wrong")
def test_comparators_find_the_evidence_of_a_tiny_corpus():
    """Where their weights have a variance: eta exceeds the counts. Their errors over 40 chains are about 0.01."""
    exact = Enumeration([[0, 1], [2, 3], [0, 2]], 4, 2, 2.0, 3.0)
    log_p = logsumexp(exact.log_joint)
    for method in ("chib", "harmonic_mean_z", "harmonic_mean_psi"):
        found = log_weights_of(exact, exact.priors, method)
        # Of 1 / p, which is what they average.
        relative = np.exp(log_p - found)
        assert abs(relative.mean() - 1) < 8 * (relative.std(ddof=1) / np.sqrt(len(found)) + 1e-6), method
        assert abs(found.mean() - log_p) < 0.05, method


@pytest.mark.parametrize("method", ["chib", "harmonic_mean_z", "harmonic_mean_psi"])
def test_comparators_of_other_priors_are_wrong(method):
    exact = Enumeration([[0, 1], [2, 3], [0, 2]], 4, 2, 2.0, 3.0)
    other = Priors.make(2.0, 1.0, 2, 4)
    found = log_weights_of(exact, other, method)
    assert abs(found.mean() - logsumexp(exact.log_joint)) > 0.1


def test_one_chain_has_no_error():
    assert log_evidence_by_sweeps(np.array([[1, 2], [0, 1]]), 2, n_chains=1, random_state=0)[1] == np.inf
