"""Compound LDA by Langevin steps and by variational EM: the mixtures that they find, and what they return."""

import numpy as np
import pytest
from compound_cases import TOLD_APART

from sklda.papers.compound import langevin, variational_em

KINDS = [langevin, variational_em]
FEW = {"topic_word_prior": 0.1, "max_iter": 60, "random_state": 0}


@pytest.fixture
def corpus():
    return TOLD_APART


@pytest.fixture
def labels(corpus):
    return np.array(["arts", "laws", "news"])[corpus.collections]


@pytest.mark.parametrize("kind", KINDS)
def test_collections_are_told_apart(corpus, labels, kind):
    found = kind(corpus.data, labels, 3, **FEW)
    assert found.collection_topic.shape == found.collection_topic_std.shape == (3, 3)
    np.testing.assert_allclose(found.collection_topic.sum(axis=1), 1)
    assert sorted(found.collection_topic.argmax(axis=1)) == [0, 1, 2]
    assert (found.collection_topic.max(axis=1) > 0.6).all()
    assert (found.collection_topic_std > 0).all()
    np.testing.assert_allclose(found.doc_topic.sum(axis=1), 1)
    np.testing.assert_allclose(found.topic_word.sum(axis=1), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_prior_that_is_given_stays_fixed(corpus, labels, kind):
    learnt = kind(corpus.data, labels, 3, max_iter=20, random_state=0)
    assert learnt.doc_concentration != 1.0
    assert learnt.topic_word_prior != 1 / 3
    for eta in (0.1, np.linspace(0.05, 0.15, 40)):
        given = kind(corpus.data, labels, 3, topic_word_prior=eta, doc_concentration=2.5, max_iter=20, random_state=0)
        assert given.doc_concentration == 2.5
        np.testing.assert_array_equal(given.topic_word_prior, eta)
    with pytest.raises(ValueError, match="doc_concentration"):
        kind(corpus.data, labels, 3, doc_concentration=-1.0)


def test_the_share_of_langevin_steps(corpus, labels):
    assert 0.4 < langevin(corpus.data, labels, 3, **FEW | {"max_iter": 200}).acceptance_rate < 0.75


def test_the_bound_rises_until_the_ascents_have_converged():
    X = np.array([[3, 1, 0], [0, 2, 2], [1, 1, 1]])
    found = variational_em(X, [0, 0, 1], 2, max_iter=5000, n_chains=2, random_state=0)
    assert found.bound.shape[1] < 5000
    assert (np.diff(found.bound[~np.isnan(found.bound).any(axis=1)], axis=1) > -1e-9).all()
    with pytest.raises(ValueError, match="no token at all"):
        variational_em(np.zeros((2, 3), int), [0, 1], 2)
