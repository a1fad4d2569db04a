"""The distance of a topic from a known one, where the topics of all tokens are known."""

import numpy as np
import pytest

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.known_topic_priors import KnownTopics
from sklda._core.priors import Priors
from sklda._sampling.chain import ChainState, Draw, KeptDraws
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.draws import topic_word_std_by_documents
from sklda._sampling.known_drift import distance_from_known, draw_drift

V = 150


def topics(moved, seed):
    """A known topic, and one of which a part has moved to other words."""
    rng = np.random.default_rng(seed)
    law = np.arange(1, V + 1) ** -0.7
    known, other = rng.dirichlet(30 * law / law.sum(), 2)
    return known, (1 - moved) * known + moved * other


def chord(a, b):
    return np.linalg.norm(a / np.linalg.norm(a) - b / np.linalg.norm(b)) / np.sqrt(2)


def with_noise(counts, rng):
    """Shares of words, and their noise if every token is a document."""
    totals = counts.sum(axis=1, keepdims=True)
    signed = 2 * rng.binomial(counts, 0.5) - counts
    noise = (signed - signed.sum(axis=1, keepdims=True) * counts / totals) / np.sqrt(totals * (totals - 1))
    return counts / totals, noise


def intervals(moved, n_tokens, n=200, level=0.9, n_known=None, with_std=True):
    """The true distance, and estimates and ends for samples of so many tokens, (n, 3).

    With `n_known`, the known topic is estimated from so many tokens.
    """
    known, true = topics(moved, seed=1)
    rng, found = np.random.default_rng(2), []
    for _ in range(n):
        given, std = known, np.zeros(V)
        if n_known is not None:
            given = rng.multinomial(n_known, known) / n_known
            std = with_std * np.sqrt(given * (1 - given) / n_known)
        counts = np.tile(rng.multinomial(n_tokens, true), (100, 1))
        found.append(distance_from_known(with_noise(counts, rng), given, std, level, rng))
    return chord(known, true), np.array(found)


@pytest.mark.parametrize("n_tokens", [100, 2000])
@pytest.mark.parametrize("moved", [0, 0.3, 0.7])
def test_intervals_cover_and_noise_is_no_drift(moved, n_tokens):
    truth, found = intervals(moved, n_tokens)
    inside = (found[:, 1] <= truth) & (truth <= found[:, 2])
    # A binomial count of 200 with a probability of .9 is outside with a probability of 1e-5.
    assert 158 <= inside.sum()
    if n_tokens == 2000:
        assert inside.sum() <= 198
    # Squares are unbiased before they are cut at 0.
    squares = found[:, 0] ** 2
    if moved >= 0.3 and n_tokens == 2000:
        assert abs(squares.mean() - truth**2) < 5 * squares.std() / np.sqrt(len(squares)) + 0.002
    if moved == 0:
        assert (found[:, 1] == 0).sum() >= 158


@pytest.mark.parametrize("moved", [0, 0.3, 0.7])
def test_errors_of_the_known_topic_are_no_drift(moved):
    truth, found = intervals(moved, 2000, n_known=1000)
    inside = (found[:, 1] <= truth) & (truth <= found[:, 2])
    assert 158 <= inside.sum()
    if moved >= 0.3:
        assert inside.sum() <= 198
        squares = found[:, 0] ** 2
        assert abs(squares.mean() - truth**2) < 5 * squares.std() / np.sqrt(len(squares)) + 0.002
    if moved == 0:
        # A known topic that counts as exact seems to have moved.
        assert (intervals(0, 2000, n_known=1000, with_std=False)[1][:, 1] == 0).sum() < 100


def test_noise_is_that_of_documents_whose_words_repeat():
    rng, copies = np.random.default_rng(0), 20
    X = copies * rng.multinomial(1, [0.5, 0.3, 0.2], 40)
    corpus, priors = Corpus.from_counts(X), Priors.make(0.1, 0.01, 1, 3)
    topics = np.zeros(corpus.n_tokens, np.int32)
    p = X.sum(axis=0) / X.sum()
    # Documents are the sample, whatever their number of tokens.
    expected = np.sqrt(p * (1 - p) / 39)
    draws = KeptDraws(priors, [Draw(0, topics, {})])
    np.testing.assert_allclose(topic_word_std_by_documents(corpus, draws)[0], expected, rtol=0.001)
    chain = GibbsChain(corpus, priors, ChainState(topics, random.stream(random.seed_sequence(0))))
    known = p[None]
    weights = np.array([100.0])
    chain.priors = KnownTopics(known, weights, np.ones(1, bool)).with_priors(priors, 0.01, None, weights)
    shares, noise = draw_drift(chain, known, 0.01, 2000, rng).of(0)
    np.testing.assert_array_equal(shares, np.tile(p, (2000, 1)))
    np.testing.assert_allclose(noise.std(axis=0), expected, rtol=0.08)


def test_a_topic_of_one_document_has_the_errors_of_its_words():
    X = np.array([[30, 10, 0], [0, 0, 0]])
    corpus, priors = Corpus.from_counts(X), Priors.make(0.1, 0.5, 1, 3)
    draws = KeptDraws(priors, [Draw(0, np.zeros(40, np.int32), {})])
    phi = (X.sum(axis=0) + 0.5) / 41.5
    found = topic_word_std_by_documents(corpus, draws)[0]
    np.testing.assert_allclose(found, np.sqrt(phi * (1 - phi) / 42.5), rtol=1e-6)


def test_equal_topics_and_topics_without_a_common_word():
    rng = np.random.default_rng(0)
    known = np.repeat([1 / 20, 0], 20)
    same, other = np.tile(1000 * np.repeat([1, 0], 20), (50, 1)), np.tile(1000 * np.repeat([0, 1], 20), (50, 1))
    exact = np.zeros(40)
    estimate, low, high = distance_from_known(with_noise(same, rng), known, exact, 0.9, rng)
    assert (estimate, low) == (0, 0)
    assert high < 0.01
    estimate, low, high = distance_from_known(with_noise(other, rng), known, exact, 0.9, rng)
    np.testing.assert_allclose((estimate, high), 1)
    assert low > 0.95


def test_uncertain_topics_of_tokens_are_noise_too():
    known, true = topics(0.1, seed=1)
    rng = np.random.default_rng(0)
    sure = np.tile(rng.multinomial(2000, true), (200, 1))
    # In each draw, half of the tokens are others, with the same shares of words.
    unsure = np.array([rng.multivariate_hypergeometric(r, 1000) + rng.multinomial(1000, r / 2000) for r in sure])
    draws = [with_noise(each, rng) for each in (sure, unsure)]
    widths = [np.subtract(*distance_from_known(each, known, np.zeros(V), 0.95, rng)[:0:-1]) for each in draws]
    assert widths[1] > 1.2 * widths[0]
    assert np.isnan(distance_from_known(None, known, np.zeros(V), 0.9, rng)[0])


def test_few_tokens_say_that_the_distance_can_be_large():
    rng = np.random.default_rng(0)
    known = np.full(V, 1 / V)
    for _ in range(20):
        draws = with_noise(np.tile(rng.multinomial(12, known), (50, 1)), rng)
        estimate, low, high = distance_from_known(draws, known, np.zeros(V), 0.9, rng)
        assert 0 <= low <= high <= 1
        assert high > 0.5
        assert 0 <= estimate <= 1
