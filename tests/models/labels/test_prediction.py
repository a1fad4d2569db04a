"""The test samplers with phi fixed against enumeration, and sets of labels from scores.

Errors come from runs with different seeds: means over runs are compared with exact values at a level of 1e-5.
"""

import itertools

import numpy as np
import pytest
from enumeration import make_copies, make_corpus
from scipy.special import gammaln
from scipy.stats import norm

from sklda._likelihood.held_out.fold_in import fold_in
from sklda._models.labels.classifier import top_labels
from sklda._models.labels.dependency import fold_in_with_dependency

ALARM = 1e-5
WORDS = [0, 1, 1]
PHI = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
# Two labels and a shared topic.
BASE, STRENGTH, M = np.array([0.3, 0.5, 0.4]), 2.0, 2
LABEL_TOPICS, GAMMA = np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([0.4, 0.8])
COPIES, SWEEPS = 400, 300


def rising(a, n):
    return gammaln(a + n) - gammaln(a)


def log_words(z, alpha):
    """log p(z, w | alpha), without what depends on the sum of alpha only."""
    counts = np.bincount(z, minlength=3)
    return np.log(PHI[z, WORDS]).sum() + rising(alpha, counts).sum()


def exact_dependency():
    """Means of n_dk and of alpha, summed over all z, c and z'."""
    total, counts, priors = 0.0, np.zeros(3), np.zeros(3)
    for z in itertools.product(range(3), repeat=len(WORDS)):
        for c in itertools.product(range(2), repeat=M):
            alpha = BASE + np.append(STRENGTH / M * np.bincount(c, minlength=2), 0)
            words = log_words(np.array(z), alpha)
            for topics in itertools.product(range(2), repeat=M):
                own = rising(GAMMA, np.bincount(topics, minlength=2)).sum()
                p = np.exp(words + own + np.log(LABEL_TOPICS[topics, c]).sum())
                total += p
                counts += p * np.bincount(z, minlength=3)
                priors += p * alpha
    return counts / total, priors / total


def exact_fixed(alpha):
    """Means of n_dk, and of the sum over tokens of phi_kw (n_dk + alpha_k) with counts without the token."""
    total, counts, weights = 0.0, np.zeros(3), np.zeros(3)
    for z in itertools.product(range(3), repeat=len(WORDS)):
        p = np.exp(log_words(np.array(z), alpha))
        n = np.bincount(z, minlength=3)
        total += p
        counts += p * n
        weights += p * sum(PHI[:, w] * (n - np.eye(3)[k] + alpha) for w, k in zip(WORDS, z, strict=True))
    return counts / total, weights / total


def smallest_p(found, exact):
    """Two-sided p-value of means over copies, the smallest over entries times their number."""
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return 2 * norm.sf(np.abs((found.mean(axis=0) - exact) / error)).min() * len(exact)


def many(sampler):
    """Results of many copies of a document, each with its own stream."""
    return sampler(make_copies(WORDS, COPIES, 3), 0)


def dependency(corpus, seed, n_label_tokens=M, strength=STRENGTH, label_topics=(LABEL_TOPICS, GAMMA)):
    options = {"n_sweeps": SWEEPS, "seed": seed, "n_label_tokens": n_label_tokens}
    return fold_in_with_dependency(corpus, PHI, BASE[None], label_topics, strength, **options)


@pytest.mark.mutation("test_another_prior_of_label_tokens_is_found")
def test_the_sampler_of_label_tokens_is_exact():
    (counts, priors), (exact_counts, exact_priors) = many(dependency), exact_dependency()
    assert smallest_p(counts, exact_counts) > ALARM
    # alpha of the shared topic is constant.
    assert smallest_p(priors[:, :2], exact_priors[:2]) > ALARM


@pytest.mark.parametrize(
    "wrong", [{"strength": 1.0}, {"label_topics": (LABEL_TOPICS, GAMMA[::-1].copy())}, {"n_label_tokens": 0}]
)
def test_another_prior_of_label_tokens_is_found(wrong):
    found, _ = many(lambda corpus, seed: dependency(corpus, seed, **wrong))
    assert smallest_p(found, exact_dependency()[0]) < ALARM


@pytest.mark.mutation
@pytest.mark.parametrize(
    ("estimate", "through_labels"), [("cgs_p", False), ("cgs", False), ("unnormalized", False), ("cgs_p", True)]
)
def test_estimates_with_a_fixed_prior_are_exact(estimate, through_labels):
    """With one topic of labels the prior of all documents is the same, and the approximation is exact."""
    shares = np.array([[0.25, 0.75]])
    alpha = BASE + np.append(STRENGTH * shares[0], 0)

    def sampler(corpus, seed):
        options = {"seed": seed, "n_sweeps": SWEEPS}
        if not through_labels:
            return (fold_in(corpus, PHI, alpha[None], estimate=estimate, **options),)
        topics = shares, np.array([0.7])
        return fold_in_with_dependency(corpus, PHI, BASE[None], topics, STRENGTH, n_label_tokens=0, **options)

    found = many(sampler)
    exact = exact_fixed(alpha)[estimate == "unnormalized"]
    assert smallest_p(found[0], exact) > ALARM
    assert smallest_p(found[0], exact_fixed(alpha[[1, 0, 2]])[estimate == "unnormalized"]) < ALARM
    if through_labels:
        np.testing.assert_allclose(found[1], np.tile(alpha, (COPIES, 1)))


def test_a_document_without_words_has_its_prior():
    counts, prior = dependency(make_corpus([[], [0]], 3), 0)
    shares = GAMMA @ LABEL_TOPICS / GAMMA.sum()
    np.testing.assert_allclose(prior[0], BASE + np.append(STRENGTH * shares, 0))
    assert counts[0].tolist() == [0, 0, 0]


def test_a_document_does_not_depend_on_the_others():
    docs = [list(np.random.default_rng(d).integers(3, size=d % 7)) for d in range(150)]
    whole = dependency(make_corpus(docs, 3), 0)
    half = dependency(make_corpus(docs[100:], 3), 0)
    for a, b in zip(whole, half, strict=True):
        np.testing.assert_array_equal(a[100:], b)


def test_sets_of_labels():
    scores = np.array([[0.1, 0.5, 0.4], [0.3, 0.3, 0.2], [0.0, 0.0, 0.0]])
    assert top_labels(scores, np.array([2, 1, 0])).tolist() == [[False, True, True], [True, False, False], [False] * 3]
