"""The parts of annealed importance sampling: independent tokens and the guide."""

import numpy as np
import pytest
from enumeration import DOCS, Enumeration, K, V, make_chain, make_corpus

from sklda._core import random
from sklda._likelihood.evidence.annealing import Guide, _draw_independent


def independent_draws(theta, phi):
    """Topics of many copies of two words in two documents, and their log probability."""
    corpus = make_corpus([[0] * 20_000 + [1] * 10_000, [1] * 20_000], 2)
    return corpus, *_draw_independent(corpus, theta, phi, random.stream(random.seed_sequence(0)))


def test_independent_tokens():
    theta, phi = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]), np.array([[0.5, 0.1, 2.0], [0.2, 0.9, 0.1]])
    weights = theta[[0, 0, 1]] * phi[[0, 1, 1]]
    p = weights / weights.sum(axis=1, keepdims=True)

    def distance(topics):
        """Chi-square of 6 degrees of freedom."""
        parts = np.split(topics, [20_000, 30_000])
        return sum(
            ((np.bincount(z, minlength=3) - len(z) * each) ** 2 / (len(z) * each)).sum()
            for z, each in zip(parts, p, strict=True)
        )

    _, topics, log_probability = independent_draws(theta, phi)
    assert distance(topics) < 29  # 6e-5
    of_draws = np.log(p[np.repeat([0, 1, 2], [20_000, 10_000, 20_000]), topics]).sum()
    assert log_probability == pytest.approx(of_draws, rel=1e-12)
    assert distance(independent_draws(theta, np.roll(phi, 1, axis=1))[1]) > 1000


def test_the_guide_is_the_mean_of_the_counts():
    exact = Enumeration(DOCS, V, K, 0.4, 0.3)
    guide = Guide.from_chain(make_chain(exact.corpus, exact.priors, exact.states[0]), n_sweeps=7)
    chain = make_chain(exact.corpus, exact.priors, exact.states[0])
    doc, word = 0, 0
    for _ in range(7):
        chain.sweep()
        doc, word = doc + chain.doc_topic_counts() / 7, word + chain.word_topic_counts[:, :K] / 7
    np.testing.assert_allclose(guide.doc, doc + 0.4)
    np.testing.assert_allclose(guide.word, word + 0.3)
    tilted = guide.path(np.array([5.0, 2.0])).priors_at(2.0)
    np.testing.assert_allclose(tilted.doc, 0.4 + 2 * guide.doc)
    np.testing.assert_allclose(tilted.topic_word(), 0.3 + 2 * guide.word.T, rtol=1e-6)
    np.testing.assert_allclose(tilted.totals, tilted.topic_word().sum(axis=1), rtol=1e-6)
