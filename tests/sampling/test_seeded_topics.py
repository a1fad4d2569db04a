"""A prior per topic and word steers its topic."""

import numpy as np
import pytest

from sklda import GibbsLDA
from sklda.datasets import load_docstrings

SEEDS = {0: ["spline", "knots"], 1: ["cluster", "clustering"], 2: ["eigenvalues", "singular"], 3: ["filter", "poles"]}


@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
@pytest.mark.parametrize("random_state", range(4))
def test_a_few_prior_occurrences_hold_a_topic(random_state):
    corpus = load_docstrings()
    eta = np.full((20, len(corpus.feature_names)), 0.05)
    for k, words in SEEDS.items():
        eta[k, np.isin(corpus.feature_names, words)] = 5
    lda = GibbsLDA(20, doc_topic_prior=0.1, topic_word_prior=eta, max_iter=100, random_state=random_state)
    phi = lda.fit(corpus.data).topic_word_
    for k, words in SEEDS.items():
        assert (phi[:, np.isin(corpus.feature_names, words[:1])].argmax(axis=0) == k).all()


def test_the_start_follows_the_prior():
    rng = np.random.default_rng(0)
    X = rng.integers(1000, 2000, size=(2, 3))
    eta = np.array([[1.0, 2.0, 1.0], [1.0, 1.0, 6.0]])
    lda = GibbsLDA(2, doc_topic_prior=1e12, topic_word_prior=1e6 * eta, max_iter=1, random_state=0).fit(X)
    # priors so large that one sweep draws each token by its word's prior again
    words = np.concatenate([np.repeat(np.arange(3), row) for row in X])
    share = eta / eta.sum(axis=1, keepdims=True)
    share = share[1] / share.sum(axis=0)
    for v in range(3):
        drawn = lda.topic_assignments_[words == v]
        assert abs(drawn.mean() - share[v]) < 5 * np.sqrt(0.25 / len(drawn))
