"""The estimators of papers against exact values: p-hat is unbiased; what they refuse and do not depend on."""

import numpy as np
import pytest
from held_out_cases import EXACT, PHI, THREE, counts, exact
from scipy.stats import norm

from sklda.datasets import make_lda_corpus
from sklda.papers.held_out import ais, chib, left_to_right, particle_filter

ALARM = 1e-6
# Short paths on purpose: with few temperatures a wrong weight shows.
SHORT = {
    "ais, quadratic": (ais, {"n_temperatures": 8, "schedule": "quadratic"}),
    "left_to_right": (left_to_right, {}),
    "particle_filter": (particle_filter, {"n_particles": 4}),
    "chib": (chib, {"n_states": 8}),
}
LONG = {
    "ais": (ais, {"n_temperatures": 60}),
    "left_to_right": (left_to_right, {}),
    "particle_filter": (particle_filter, {"n_particles": 20}),
    "chib": (chib, {"n_states": 60}),
}


def p_value(case, words, alpha, log_p, *, wrong_alpha=None):
    """Two-sided p of the mean of p-hat over 1,000 runs, with its own standard error."""
    estimate, options = case
    model = PHI[: len(alpha)], alpha if wrong_alpha is None else wrong_alpha
    value, std = estimate(model, counts([words]), n_runs=1000, random_state=0, **options)
    # topics are in single precision: relative errors of 1e-6 are its own
    return 2 * norm.sf(abs(value[0] - log_p) / (std[0] + 1e-6))


@pytest.mark.mutation("test_a_wrong_prior_is_found")
@pytest.mark.slow
@pytest.mark.parametrize("case", SHORT)
@pytest.mark.parametrize("document", [name for name in EXACT if not name.startswith(("fifty", "thirty"))])
def test_p_hat_is_unbiased(case, document):
    assert p_value(SHORT[case], *EXACT[document]) > ALARM


@pytest.mark.mutation("test_a_wrong_prior_is_found")
@pytest.mark.parametrize("case", LONG)
@pytest.mark.parametrize("document", ["fifty", "thirty, asymmetric"])
def test_p_hat_is_unbiased_on_longer_documents(case, document):
    assert p_value(LONG[case], *EXACT[document]) > ALARM


@pytest.mark.mutation("test_a_wrong_prior_is_found")
@pytest.mark.parametrize("case", SHORT)
def test_a_repeated_word(case):
    words = [3] * 6
    assert p_value(SHORT[case], words, THREE, exact(PHI, THREE, [words])[0]) > ALARM


@pytest.mark.parametrize("case", SHORT)
def test_a_wrong_prior_is_found(case):
    wrong = np.array([2.0, 0.2, 0.1])
    assert p_value(SHORT[case], *EXACT["eight, asymmetric"], wrong_alpha=wrong) < ALARM


@pytest.mark.parametrize("case", SHORT)
def test_topics_with_very_small_probabilities(case):
    """The weight of a run is positive, although single precision cannot represent the ratio of the probabilities."""
    estimate, options = SHORT[case]
    phi = np.array([[1 - 1e-60, 1e-60], [1e-60, 1 - 1e-60]])
    found, _ = estimate((phi, 0.1), np.array([[3, 3]] * 20), random_state=0, **options)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("case", SHORT)
def test_empty_documents_and_impossible_words(case):
    estimate, options = SHORT[case]
    phi = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.6, 0.4, 0.0]])
    X = np.array([[0, 0, 0, 0], [1, 2, 0, 0], [0, 1, 0, 2], [1, 0, 1, 0]])
    found, std = estimate((phi, 0.3), X, random_state=0, **options)
    assert found[0] == 0
    assert np.isneginf(found[2])
    assert np.isnan(std).all()
    # Annealing from the prior may end in what is impossible.
    if estimate is not ais:
        assert np.isfinite(found[[1, 3]]).all()


@pytest.mark.parametrize("case", SHORT)
def test_order_batches_and_jobs_change_nothing(case):
    estimate, options = SHORT[case]
    data = make_lda_corpus(150, 30, 3, doc_length=(0, 30), random_state=0)
    phi, X = data.topic_word, data.data

    def values(X, alpha=0.1, **more):
        return estimate((phi, alpha), X, random_state=0, **options, **more)[0]

    whole = values(X)
    np.testing.assert_array_equal(whole, values(X, n_jobs=2))
    order = np.random.default_rng(0).permutation(150)
    np.testing.assert_array_equal(whole[order], values(X[order]))
    np.testing.assert_array_equal(whole[70:75], values(X[70:75].toarray()))
    np.testing.assert_array_equal(whole, values(X, np.full((150, 3), 0.1)))


@pytest.mark.parametrize(
    ("estimate", "options", "message"),
    [
        (ais, {"schedule": "cubic"}, "schedule must be one of"),
        (ais, {"n_temperatures": 0}, "n_temperatures must be at least 1, got 0"),
        (particle_filter, {"n_particles": 0}, "n_particles must be at least 1, got 0"),
        (chib, {"n_states": 0}, "n_states must be at least 1, got 0"),
        (left_to_right, {"n_runs": 0}, "n_runs must be at least 1, got 0"),
    ],
)
def test_bad_options(estimate, options, message):
    with pytest.raises(ValueError, match=message):
        estimate((PHI, THREE), counts([[0, 1]]), **options)
