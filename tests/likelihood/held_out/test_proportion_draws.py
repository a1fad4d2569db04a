"""Draws of the topic proportions of new documents against their exact distribution."""

import itertools

import numpy as np
import pytest
from enumeration import make_copies, make_corpus
from scipy.special import gammaln
from scipy.stats import beta, kstest, norm

from sklda._likelihood.held_out.proportion_draws import draw_proportions

PHI = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.25, 0.25, 0.25, 0.25]])
ALARM = 1e-6
# The prior hardly has the proportions of the last document: its words are those of a topic of small alpha.
CASES = {
    "one word": ([0], np.array([0.2, 0.5, 1.0])),
    "eight words": ([0, 0, 1, 2, 3, 3, 3, 3], np.array([0.2, 0.5, 1.0])),
    "repeats": ([0] * 4 + [3] * 4, np.array([0.5, 0.5])),
    "no words": ([], np.array([0.2, 0.5, 1.0])),
    "against the prior": ([0] * 5 + [1] * 3, np.array([0.05, 3.0, 0.3])),
}
each_case = pytest.mark.parametrize("case", CASES)


class Exact:
    """p(theta | w, phi, alpha) as a mixture of Dirichlet distributions, one for each z."""

    def __init__(self, words, phi, alpha):
        states = list(itertools.product(range(len(alpha)), repeat=len(words)))
        counts = np.array([np.bincount(np.array(z, int), minlength=len(alpha)) for z in states])
        log_p = gammaln(counts + alpha).sum(axis=1)
        log_p += np.array([np.log(phi[list(z), words]).sum() if words else 0.0 for z in states])
        rows, place = np.unique(counts, axis=0, return_inverse=True)
        weights = np.bincount(place.ravel(), np.exp(log_p - log_p.max()))
        self.weights, self.parameters = weights / weights.sum(), rows + alpha
        self.total = len(words) + alpha.sum()
        means = self.parameters / self.total
        self.mean = self.weights @ means
        squares = means**2 + means * (1 - means) / (self.total + 1)
        self.std = np.sqrt(self.weights @ squares - self.mean**2)

    def below(self, theta, k):
        a = self.parameters[:, k]
        return beta.cdf(theta[:, None], a, self.total - a) @ self.weights


def drawn(words, alpha, n_copies, n_draws, phi=PHI):
    phi = phi[: len(alpha)]
    draws = np.empty((n_draws, n_copies, len(alpha)), np.float32)
    moments = draw_proportions(make_copies(words, n_copies, 4), phi, alpha[None], draws, seed=1)
    return draws, moments


def smallest_p(case, phi=PHI, factor=1.0):
    """The smallest p-value of the distribution of each proportion in the last of 40 draws of 2,000 copies."""
    words, alpha = CASES[case]
    draws, _ = drawn(words, factor * alpha, 2000, 40, phi)
    exact = Exact(words, PHI[: len(alpha)], alpha)
    return min(kstest(exact.below(draws[-1, :, k].astype(float), k), "uniform").pvalue for k in range(len(alpha)))


@pytest.mark.mutation("test_another_prior_and_other_topics_are_found")
@each_case
def test_draws_have_the_exact_distribution(case):
    assert smallest_p(case) > ALARM


@each_case
def test_another_prior_and_other_topics_are_found(case):
    assert smallest_p(case, factor=3.0) < ALARM
    if case != "no words":
        assert smallest_p(case, phi=PHI[::-1].copy()) < ALARM


@each_case
def test_means_and_standard_deviations_are_exact(case):
    words, alpha = CASES[case]
    _, moments = drawn(words, alpha, 400, 200)
    exact = Exact(words, PHI[: len(alpha)], alpha)
    for found, value in ((moments.mean(), exact.mean), (moments.std() ** 2, exact.std**2)):
        error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
        # A chain of 200 draws does not know the variance of its mean.
        bias = 0.02 * value if found is not moments.mean() else 0
        assert (np.abs(found.mean(axis=0) - value) < norm.isf(ALARM) * error + bias + 1e-6).all()


def test_the_moments_of_two_topics_add_up():
    words, alpha = CASES["eight words"]
    draws, first = drawn(words, alpha, 300, 20)
    others, second = drawn(words, alpha, 300, 20, PHI[::-1].copy())
    first.add(second)
    both = np.concatenate([draws, others])
    np.testing.assert_allclose(first.mean().mean(axis=0), both.mean(axis=(0, 1)), atol=0.01)
    np.testing.assert_allclose(first.std().mean(axis=0), both.std(axis=0).mean(axis=0), rtol=0.05)


def test_documents_without_words_have_the_prior():
    corpus = make_corpus([[], [0, 1], []], 4)
    alpha = np.array([[0.2, 0.5, 1.0]])
    draws = np.empty((3, 3, 3), np.float32)
    moments = draw_proportions(corpus, PHI, alpha, draws, seed=0)
    np.testing.assert_allclose(moments.mean()[0], alpha[0] / 1.7)
    np.testing.assert_allclose(moments.std()[0], np.sqrt(alpha[0] / 1.7 * (1 - alpha[0] / 1.7) / 2.7))
    np.testing.assert_allclose(draws.sum(axis=2), 1, rtol=1e-6)
    draw_proportions(make_corpus([[], []], 4), PHI, alpha, draws[:, :2], seed=0)


def test_a_very_small_prior_gives_one_topic_everything():
    draws = np.empty((50, 200, 3), np.float32)
    draw_proportions(make_copies([], 200, 4), PHI, np.array([[1e-12, 1e-12, 2e-12]]), draws, seed=0)
    assert np.isin(draws, (0, 1)).all()
    assert (draws.sum(axis=2) == 1).all()
    np.testing.assert_allclose(draws.mean(axis=(0, 1)), [0.25, 0.25, 0.5], atol=0.03)


def test_a_word_that_no_topic_has_does_not_count():
    phi = np.column_stack([PHI[:, :3], np.zeros(3)])
    alpha = np.array([[0.2, 0.5, 1.0]])
    draws = np.empty((5, 1, 3), np.float32)
    moments = draw_proportions(make_corpus([[3, 3, 3]], 4), phi, alpha, draws, seed=0)
    np.testing.assert_allclose(moments.mean()[0], alpha[0] / 1.7)
    np.testing.assert_allclose(moments.std()[0], np.sqrt(alpha[0] / 1.7 * (1 - alpha[0] / 1.7) / 2.7))
