"""Places of known topics: which topics exchange them, and the names that fits give to topics that have moved far."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sklda import GibbsLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.known_topic_priors import KnownTopics
from sklda._core.priors import Priors
from sklda._sampling import known_places
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.known_places import best_exchange

V, ETA = 200, 0.1
ALPHA = np.array([0.4, 0.2, 0.2, 0.3, 0.1])


def simulate(seed, moved=(0.7, 0.7, 0.0), n_new=2, alpha=ALPHA, near_law=30):
    """Known topics around a Zipf law, the true ones, counts of documents, and the topics of their tokens."""
    rng = np.random.default_rng(seed)
    law = np.arange(1, V + 1) ** -0.7
    topics = rng.dirichlet(near_law * law / law.sum(), 2 * len(moved) + n_new)
    known, others, new = np.split(topics, [len(moved), 2 * len(moved)])
    parts = np.array(moved)[:, None]
    true = np.vstack([(1 - parts) * known + parts * others, new])
    X, z = np.zeros((300, V), int), []
    for d, theta in enumerate(rng.dirichlet(np.resize(alpha, len(true)), len(X))):
        of_topics = np.array([rng.multinomial(n, row) for n, row in zip(rng.multinomial(40, theta), true, strict=True)])
        X[d] = of_topics.sum(axis=0)
        z.append(np.repeat(np.tile(np.arange(len(true), dtype=np.int32), V), of_topics.T.reshape(-1)))
    return known, true, X, np.concatenate(z)


def priors_of(known, n_new, weights=30.0, alpha=0.1, pseudo_counts=None):
    """Priors of known topics and new ones."""
    weights, K = np.broadcast_to(weights, len(known)), len(known) + n_new
    given = KnownTopics(known, weights, np.ones(len(known), bool))
    return given.with_priors(Priors.make(alpha, ETA, K, V), ETA, pseudo_counts, weights)


def renamed(z, *names):
    """z with other names of topics."""
    return np.array(names, np.int32)[z]


def names(topic_word, true):
    """The true topic that is nearest to each one."""
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (topic_word, true)]
    return (unit[0] @ unit[1].T).argmax(axis=1)


@pytest.mark.parametrize(
    "places", [(0, 4, 2, 3, 1), (3, 1, 2, 0, 4), (3, 4, 2, 0, 1), (1, 3, 2, 0, 4), (1, 0, 2, 3, 4), (1, 2, 0, 3, 4)]
)
def test_an_exchange_gives_back_the_names(places):
    known, _, X, z = simulate(0)
    corpus = Corpus.from_counts(X)
    exchange = best_exchange(corpus, priors_of(known, 2), renamed(z, *places), known, True)
    after = exchange.of_topics(renamed(z, *places))
    assert after.dtype == np.int32
    # New topics have no names.
    np.testing.assert_array_equal(np.where(after > 2, 3, after), np.where(z > 2, 3, z))


def test_gains_are_changes_of_the_log_joint():
    """At weights that are all alike."""
    known, _, X, z = simulate(1)
    corpus, K = Corpus.from_counts(X), 5
    weight = known_places._SHARE * corpus.n_tokens / K
    priors = priors_of(known, 2, weights=weight)
    found = known_places._gains(corpus, priors, renamed(z, 0, 4, 2, 3, 1), known, np.arange(K))
    np.testing.assert_array_equal(np.isfinite(found).sum(axis=1), 1 + known_places._MOST_OTHERS)

    def log_joint(*names):
        state = ChainState(renamed(z, *names), random.stream(np.random.SeedSequence(0)))
        return GibbsChain(corpus, priors, state).log_joint()

    change = log_joint(0, 1, 2, 3, 4) - log_joint(0, 4, 2, 3, 1)
    assert found[1, 4] - found[1, 1] == pytest.approx(change, abs=1e-2)
    # The best topics are looked at.
    np.testing.assert_array_equal(found.argmax(axis=1), [0, 4, 2])


@pytest.mark.parametrize("alpha", [ALPHA, [0.1, 0.1, 0.1, 2.0, 2.0]], ids=["alike", "large new topics"])
def test_topics_in_their_places_stay(alpha):
    for seed in range(4):
        known, _, X, z = simulate(seed, alpha=alpha)
        assert best_exchange(Corpus.from_counts(X), priors_of(known, 2), z, known, True) is None


@pytest.mark.mutation("sklda._sampling.known_places._LEAST_SIZE", 0.0)
def test_a_known_topic_that_is_in_no_document_takes_no_place():
    for seed in range(6):
        known, _, X, z = simulate(seed, moved=(0.0, 0.3), near_law=300)
        absent = np.vstack([known, simulate(100 + seed, near_law=300)[0][:1]])
        topics = renamed(z, 0, 1, 3, 4)
        assert best_exchange(Corpus.from_counts(X), priors_of(absent, 2), topics, absent, True) is None


def test_who_takes_part():
    known, _, X, z = simulate(0)
    corpus, topics = Corpus.from_counts(X), renamed(z, 0, 4, 2, 3, 1)
    # A fixed topic keeps its place, and so does the topic of a given alpha.
    fixed = priors_of(known, 2, weights=[30.0, np.inf, 30.0])
    assert best_exchange(corpus, fixed, topics, known, True) is None
    given = priors_of(known, 2, alpha=[0.1, 0.2, 0.1, 0.1, 0.1])
    assert best_exchange(corpus, given, topics, known, False) is None
    assert best_exchange(corpus, given, topics, known, True) is not None
    assert best_exchange(corpus, priors_of(known, 2, alpha=0.2), topics, known, False) is not None
    # So does a topic with seed words, and without new topics there is none to take.
    seeds = np.zeros((5, V))
    seeds[4, 7] = 3.0
    seeded = priors_of(known, 2, pseudo_counts=csr_array(seeds))
    assert best_exchange(corpus, priors_of(known, 2), topics, known, True) is not None
    assert best_exchange(corpus, seeded, topics, known, True) is None
    for learns_alpha in (True, False):
        assert best_exchange(corpus, priors_of(known, 0), np.minimum(topics, 2), known, learns_alpha) is None


def test_alpha_goes_with_topics():
    known, _, X, z = simulate(0)
    corpus, topics = Corpus.from_counts(X), renamed(z, 3, 1, 2, 0, 4)
    priors = priors_of(known, 2, weights=1e-2, alpha=ALPHA[[3, 1, 2, 0, 4]])
    chain = GibbsChain(corpus, priors, ChainState(topics, random.stream(np.random.SeedSequence(0))))
    before = chain.log_topics()
    exchange = best_exchange(corpus, priors, topics, known, True)
    chain.move(exchange.of_topics(topics), [exchange])
    np.testing.assert_allclose(chain.priors.doc, [ALPHA])
    np.testing.assert_array_equal(chain.topics, z)
    assert chain.log_topics() == pytest.approx(before)


def no_exchange(*_):
    return None


@pytest.mark.mutation("sklda._sampling.known_places.best_exchange", no_exchange)
def test_fits_find_known_topics_that_have_moved_far():
    for seed in range(2):
        known, true, X, _ = simulate(seed)
        lda = GibbsLDA(5, known_topics=known, random_state=seed).fit(X)
        np.testing.assert_array_equal(names(lda.topic_word_, true)[:3], [0, 1, 2])


def test_exchanges_are_in_the_burn_in(monkeypatch):
    sweeps = []
    known, _, X, z = simulate(0)

    def watched(chain, topics, moves):
        sweeps.append((chain.n_sweeps, chain.n_annealed, chain.n_burn_in))
        move(chain, topics, moves)

    move = GibbsChain.move
    monkeypatch.setattr(GibbsChain, "move", watched)
    monkeypatch.setattr(known_places, "_LEAST_GAIN", -1.0)
    lda = GibbsLDA(5, known_topics=known, max_iter=200, random_state=0).fit(X)
    assert sweeps == [(n, 80, lda.n_burn_in_) for n in range(90, lda.n_burn_in_, 10)]
    sweeps.clear()
    GibbsLDA(5, known_topics=known, max_iter=200, init=z, random_state=0).fit(X)
    assert sweeps == []
