"""Fold-in against the exact posterior mean of theta, and the promises of `transform`."""

import numpy as np
import pytest
from enumeration import make_corpus
from scipy.stats import norm

from sklda._inference.held_out.fold_in import fold_in

PHI = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.25, 0.25, 0.25, 0.25]])
TWO, THREE = np.array([0.5, 0.5]), np.array([0.2, 0.5, 1.0])
ALARM = 1e-6

# Exact E(theta | w, phi, alpha) by dynamic programming over topic counts.
EXACT = [
    ([0], TWO, [0.6666666666666666, 0.3333333333333333]),
    ([0, 1, 3], TWO, [0.5912698412698413, 0.4087301587301587]),
    ([3, 3, 3, 0, 0, 1, 2, 3], TWO, [0.3030951896244237, 0.6969048103755763]),
    ([0, 3] * 10, TWO, [0.4709403544324289, 0.5290596455675711]),
    ([0, 1, 2, 3, 3, 0, 0, 3, 3, 3] * 5, TWO, [0.3273758590101451, 0.6726241409898549]),
    ([0], THREE, [0.1666666666666667, 0.2314814814814815, 0.6018518518518519]),
    ([0, 1, 3], THREE, [0.1411830202500117, 0.2498731246331782, 0.6089438551168102]),
    ([3, 3, 3, 0, 0, 1, 2, 3], THREE, [0.0806223919402749, 0.3938224272088029, 0.5255551808509221]),
    ([0, 3] * 10, THREE, [0.2541275112846308, 0.4144572259555223, 0.3314152627598468]),
]


def smallest_p(words, alpha, exact, phi=None, wrong_alpha=None):
    """p-value of the mean of 400 folds with independent seeds; the last 200 of 300 sweeps leave no start behind."""
    phi = PHI[: len(alpha)] if phi is None else phi
    prior = (alpha if wrong_alpha is None else wrong_alpha)[None, :]
    corpus = make_corpus([words], phi.shape[1])
    counts = np.array([fold_in(corpus, phi, prior, n_sweeps=300, seed=seed)[0] for seed in range(400)])
    theta = (counts + alpha) / (len(words) + alpha.sum())
    error = theta.std(axis=0, ddof=1) / np.sqrt(len(theta)) + 1e-7
    return 2 * norm.sf(np.abs(theta.mean(axis=0) - exact) / error).min() * len(alpha)


@pytest.mark.parametrize("words, alpha, exact", EXACT)
def test_the_mean_is_the_posterior_mean(words, alpha, exact):
    assert smallest_p(words, alpha, exact) > ALARM


def test_a_dropped_prior_and_a_wrong_topic_are_found():
    words, alpha, exact = EXACT[7]
    assert smallest_p(words, alpha, exact, wrong_alpha=np.ones(3)) < ALARM
    assert smallest_p(words, alpha, exact, phi=PHI * [[1.1], [1], [1]]) < ALARM


def test_a_factor_for_each_word_changes_nothing():
    corpus = make_corpus([[0, 1, 2, 3, 3]], 4)
    scale = np.array([1e-40, 3.0, 1e20, 0.5])
    same = [fold_in(corpus, phi, np.full((1, 3), 0.1), n_sweeps=20, seed=3) for phi in (PHI, PHI * scale)]
    np.testing.assert_allclose(*same, rtol=1e-5)


def test_a_prior_per_document_is_used():
    docs = [[0, 1, 3], [0, 1, 3], [3, 3]] * 50
    alphas = np.random.default_rng(0).gamma(1, size=(150, 3)) + 0.1
    together = fold_in(make_corpus(docs, 4), PHI, alphas, n_sweeps=30, seed=1)
    alone = [
        fold_in(make_corpus([d], 4), PHI, a[None], n_sweeps=30, seed=1)[0] for d, a in zip(docs, alphas, strict=True)
    ]
    np.testing.assert_array_equal(together, alone)


def test_expected_counts_sum_to_the_length():
    docs = [[], [0], [1, 2, 3] * 7]
    counts = fold_in(make_corpus(docs, 4), PHI, np.full((1, 3), 0.1), n_sweeps=10, seed=0)
    np.testing.assert_allclose(counts.sum(axis=1), [0, 1, 21], rtol=1e-6)
    # Sums over many tokens in single precision would be off by 1e-4.
    many = fold_in(make_corpus([[1] * 65_600], 4), PHI, np.full((1, 3), 0.1), n_sweeps=3, seed=0)
    np.testing.assert_allclose(many.sum(), 65_600, rtol=1e-6)


def test_a_word_that_no_topic_has_tells_nothing():
    phi = np.hstack([PHI, np.zeros((3, 1))])
    counts = fold_in(make_corpus([[4, 4], [0, 4]], 5), phi, np.full((1, 3), 0.1), n_sweeps=10, seed=0)
    np.testing.assert_allclose(counts.sum(axis=1), [0, 1], rtol=1e-6)
