"""Held-out likelihood against exact values: p-hat is unbiased, and what its standard error says holds."""

import numpy as np
import pytest
from enumeration import make_corpus
from held_out_cases import EXACT, PHI, THREE, counts
from scipy.special import logsumexp
from scipy.stats import norm

from sklda._likelihood.held_out.log_likelihoods import log_likelihoods
from sklda.metrics import held_out_log_likelihood

ALARM = 1e-6


def exact_by_sum(words, phi, alpha):
    """The definition, over all K ** n assignments."""
    from enumeration import rising

    K, n = len(alpha), len(words)
    states = np.indices((K,) * n).reshape(n, -1).T
    n_k = (states[:, :, None] == np.arange(K)).sum(axis=1)
    with np.errstate(divide="ignore"):
        return logsumexp(np.log(phi[states, words]).sum(axis=1) + rising(alpha, n_k[:, None, :]))


@pytest.mark.parametrize("words, alpha, log_p", EXACT.values(), ids=EXACT)
def test_exact_is_exact(words, alpha, log_p):
    found = held_out_log_likelihood((PHI[: len(alpha)], alpha), counts([words]), method="exact")
    np.testing.assert_allclose(found, [log_p], rtol=1e-13)


def test_exact_with_many_topics():
    """More topics than an array has dimensions, and more sums than a float can count."""
    X = np.zeros((2, 3), int)
    model = np.full((300, 3), 1 / 3), 0.1
    np.testing.assert_array_equal(held_out_log_likelihood(model, X, method="exact"), [0, 0])
    X[0] = 1
    np.testing.assert_allclose(
        held_out_log_likelihood((np.full((11, 2), 0.5), 0.1), X[:, :2], method="exact"), [2 * np.log(0.5), 0]
    )
    X[1, 0] = 320
    with pytest.raises(ValueError, match=r"document 0 has 3 tokens: method='exact' .*10\^180"):
        held_out_log_likelihood(model, X, method="exact")
    with pytest.raises(ValueError, match=r"document 0 has 320 tokens: .*10\^749"):
        held_out_log_likelihood(model, X[1:], method="exact")


def test_exact_by_enumeration():
    rng = np.random.default_rng(0)
    for n_topics, n_words in [(1, 4), (2, 7), (4, 5), (5, 4)]:
        phi = rng.dirichlet(np.ones(4), size=n_topics)
        phi[0] = [0, 0, 0.5, 0.5]
        alpha = rng.gamma(1, size=n_topics) + 0.1
        words = np.sort(rng.integers(2, 4, size=n_words))
        found = held_out_log_likelihood((phi, alpha), counts([words]), method="exact")
        np.testing.assert_allclose(found, [exact_by_sum(words, phi, alpha)], rtol=1e-12)


def p_value(words, alpha, log_p, *, n_runs=1000, wrong_alpha=None, **options):
    """Two-sided p of the mean of p-hat over independent runs, with its own standard error."""
    phi = PHI[: len(alpha)]
    used = (alpha if wrong_alpha is None else wrong_alpha)[None]
    corpus = make_corpus([words], 4)
    runs = log_likelihoods(corpus, phi, used, seed=np.random.SeedSequence(0), n_runs=n_runs, **options)[:, 0]
    relative = np.exp(runs - log_p)
    # topics are in single precision: relative errors of 1e-6 are its own
    error = relative.std(ddof=1) / np.sqrt(n_runs) + 1e-6
    return 2 * norm.sf(abs(relative.mean() - 1) / error)


@pytest.mark.mutation("test_a_wrong_prior_is_found")
@pytest.mark.slow
@pytest.mark.parametrize("words, alpha, log_p", [EXACT[k] for k in EXACT if not k.startswith(("fifty", "thirty"))])
def test_p_hat_is_unbiased(words, alpha, log_p):
    # short paths on purpose: with few temperatures a wrong weight shows
    assert p_value(words, alpha, log_p, n_temperatures=8) > ALARM


@pytest.mark.mutation("test_a_wrong_prior_is_found")
@pytest.mark.parametrize("case", ["fifty", "thirty, asymmetric"])
def test_p_hat_is_unbiased_on_longer_documents(case):
    assert p_value(*EXACT[case], n_temperatures=60) > ALARM


@pytest.mark.mutation("test_a_wrong_prior_is_found")
def test_a_repeated_word():
    words, alpha = [3] * 6, THREE
    log_p = exact_by_sum(np.array(words), PHI, alpha)
    assert p_value(words, alpha, log_p, n_temperatures=8) > ALARM


def test_a_wrong_prior_is_found():
    words, alpha, log_p = EXACT["eight, asymmetric"]
    wrong = np.array([2.0, 0.2, 0.1])
    assert p_value(words, alpha, log_p, n_temperatures=8, wrong_alpha=wrong) < ALARM


def test_topics_with_very_small_probabilities():
    """The weight of a run is positive, although single precision cannot represent the ratio of the probabilities."""
    phi = np.array([[1 - 1e-60, 1e-60], [1e-60, 1 - 1e-60]])
    X = np.array([[3, 3]] * 20)
    found = held_out_log_likelihood((phi, 0.1), X, n_temperatures=2, random_state=0)
    assert np.isfinite(found).all()
