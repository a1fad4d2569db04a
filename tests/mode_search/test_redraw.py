"""Tokens of a group of topics: what is taken out comes back, and it has the posterior given all other tokens."""

import numpy as np
import pytest

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._mode_search.groups import Group, choose_group, overlaps
from sklda._mode_search.redraw import extract, put_back, redraw
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain

K = 6
PRIORS = {
    "numbers": (0.3, 0.2),
    "eta per word": (0.3, np.linspace(0.1, 1, 60)),
    "alpha per document": (np.linspace(0.1, 2, 150)[:, None] * np.ones(K), 0.2),
}


@pytest.fixture
def corpus(counts):
    return Corpus.from_counts(counts)


@pytest.fixture
def topics(corpus):
    return np.random.default_rng(0).integers(K, size=corpus.n_tokens, dtype=np.int32)


@pytest.mark.parametrize("group", [(4, 1), (0, 5, 2), (5,), tuple(range(K))])
def test_what_is_taken_out_comes_back(corpus, topics, group):
    part, own, inside = extract(corpus, topics, group)
    assert (inside == np.isin(topics, group)).all()
    assert (np.asarray(group)[own] == topics[inside]).all()
    assert (part.words == corpus.words[inside]).all()
    assert part.n_features == corpus.n_features
    assert (part.token_documents == corpus.token_documents[inside]).all()
    back = put_back(topics.astype(np.uint8), own, inside, group)
    assert back.dtype == np.int32 and (back == topics).all()


def test_a_group_without_tokens_is_an_empty_corpus(corpus, topics):
    part, own, inside = extract(corpus, topics % 3, (4, 5))
    assert part.n_tokens == len(own) == inside.sum() == 0
    assert part.n_documents == corpus.n_documents
    priors = Priors.make(0.3, 0.2, K, corpus.n_features)
    again = redraw(corpus, priors, topics % 3, Group((4, 5)), random.seed_sequence(0))
    assert (again == topics % 3).all()


@pytest.mark.parametrize("name", PRIORS)
def test_log_joints_of_the_part_and_of_the_whole_differ_by_a_constant(corpus, topics, name):
    """Given the other tokens, the group has the posterior of a model for its part."""
    priors, group, rng = Priors.make(*PRIORS[name], K, 60, 150), (4, 0, 1), np.random.default_rng(1)
    part, own, inside = extract(corpus, topics, group)

    def log_joints(own):
        pairs = (part, priors.resized(3), own), (corpus, priors, put_back(topics, own, inside, group))
        stream = random.stream(random.seed_sequence(0))
        return [GibbsChain(c, p, ChainState(z, stream)).log_joint() for c, p, z in pairs]

    found = np.array([log_joints(own), *(log_joints(rng.integers(3, size=len(own))) for _ in range(5))])
    changes = found - found[0]
    np.testing.assert_allclose(changes[:, 0], changes[:, 1], rtol=1e-9, atol=1e-7)
    assert np.ptp(changes[:, 0]) > 1


@pytest.mark.parametrize("group", [Group((2, 5)), Group((1, 3, 4), True)])
def test_only_the_group_is_redrawn(corpus, topics, group):
    priors, seed = Priors.make(0.3, 0.2, K, corpus.n_features), random.seed_sequence(0)
    before = topics.copy()
    again = redraw(corpus, priors, topics, group, seed)
    inside = np.isin(topics, group.topics)
    assert (topics == before).all()
    assert (again[~inside] == topics[~inside]).all()
    assert (np.isin(again, group.topics) == inside).all()
    assert (again != topics).any()
    assert (again == redraw(corpus, priors, topics, group, seed)).all()


def test_overlaps_are_large_for_topics_that_share_words(corpus, topics):
    """Topics 0 and 1 have the same words, topics 2 and 3 other ones."""
    topics = np.where(corpus.words < 20, topics % 2, 2 + (corpus.words >= 40))
    state = ChainState(topics, random.stream(random.seed_sequence(0)))
    shared = overlaps(GibbsChain(corpus, Priors.make(0.1, 0.01, 4, 60), state))
    assert (np.diag(shared) == 0).all()
    np.testing.assert_allclose(shared, shared.T)
    assert shared[0, 1] > 10 * shared[2:, :].max()


@pytest.mark.parametrize("n_components", [2, 3, 4, 9])
def test_groups_have_different_topics(n_components):
    rng = np.random.default_rng(0)
    shared = rng.random((n_components, n_components))
    groups = [choose_group(shared, np.arange(n_components), rng) for _ in range(300)]
    assert all(len(set(group.topics)) == len(group.topics) for group in groups)
    assert {topic for group in groups for topic in group.topics} == set(range(n_components))
    assert {len(group.topics) for group in groups} == {size for size in (2, 3, 4) if size <= n_components}
    merged = [group for group in groups if group.merges_and_splits]
    assert bool(merged) == (n_components > 2) and all(len(group.topics) == 3 for group in merged)


def test_groups_are_likely_to_be_those_that_overlap():
    shared = np.zeros((10, 10))
    shared[2, 7] = shared[7, 2] = 1.0
    rng = np.random.default_rng(0)
    groups = [choose_group(shared, np.ones(10), rng).topics for _ in range(300)]
    with_two = [group for group in groups if 2 in group]
    assert np.mean([7 in group for group in with_two]) > 0.6
    assert np.mean([8 in group for group in with_two]) < 0.4


def test_topics_without_overlaps_or_tokens_can_be_chosen():
    group = choose_group(np.zeros((3, 3)), np.zeros(3), np.random.default_rng(0))
    assert set(group.topics) <= {0, 1, 2}
