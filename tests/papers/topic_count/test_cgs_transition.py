"""The transition probability of a sweep, against enumeration."""

import numpy as np
import pytest
from enumeration import DOCS, PRIORS, Enumeration, K, V, make_chain

from sklda.papers.topic_count._estimators import log_transition


@pytest.mark.parametrize("name", PRIORS)
def test_transition_is_the_probability_of_a_sweep(name):
    exact = Enumeration(DOCS, V, K, *PRIORS[name])
    starts = np.random.default_rng(0).choice(len(exact.states), 5)
    for start in starts:
        expected = exact.transition(exact.states[start])
        found = [
            log_transition(make_chain(exact.corpus, exact.priors, end), exact.states[start].astype(np.int32))
            for end in exact.states
        ]
        np.testing.assert_allclose(np.exp(found), expected, rtol=2e-5)
