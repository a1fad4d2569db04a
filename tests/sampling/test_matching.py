"""Matching of topics: distances against SciPy, orders that are known, and names that have switched."""

import itertools
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from sklda import GibbsLDA
from sklda._core import distances as module
from sklda._core.corpus import Corpus
from sklda._core.distances import jensen_shannon
from sklda._input.memory import check_memory_of_results
from sklda._sampling import matching
from sklda._sampling.matching import match_and_nearest, match_distributions, same_names
from sklda.datasets import make_lda_corpus


def topics(rng, K, V, concentration=0.1):
    return rng.dirichlet(np.full(V, concentration), K)


def distances(a, b):
    """Jensen-Shannon distances in bits, by SciPy."""
    return cdist(a, b, "jensenshannon") / np.sqrt(np.log(2))


# The last two: many blocks of words, and one.
@pytest.mark.parametrize(("K", "V"), [(1, 1), (1, 30), (2, 3), (20, 300), (5, 60_000), (400, 20)])
def test_distances_are_those_of_scipy(K, V):
    rng = np.random.default_rng(0)
    a, b = topics(rng, K, V), topics(rng, K, V)
    expected = distances(a, b)
    np.testing.assert_allclose(jensen_shannon(a, b, dtype=np.float32), expected, atol=2e-6)
    np.testing.assert_allclose(jensen_shannon(a, b[:1]), expected[:, :1], atol=1e-7)
    among = jensen_shannon(a)
    np.testing.assert_allclose(among, distances(a, a), atol=1e-7)
    assert (among == among.T).all() and not np.diag(among).any()
    order, found = match_distributions(a, b)
    assert sorted(order) == list(range(K))
    np.testing.assert_allclose(found, expected[np.arange(K), order], atol=1e-12)
    best = expected[linear_sum_assignment(expected)].sum()
    assert found.sum() == pytest.approx(best, abs=4e-6 * K)


def test_several_blocks_of_words(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = topics(rng, 7, 100), topics(rng, 7, 100)
    expected = distances(a, b)
    for size in (1, 30, 700, 701):
        monkeypatch.setattr(module, "_BLOCK", size)
        np.testing.assert_allclose(jensen_shannon(a, b, dtype=np.float32), expected, atol=2e-6)


def test_a_permutation_is_found():
    rng = np.random.default_rng(0)
    a = topics(rng, 30, 200)
    p = rng.permutation(30)
    order, found = match_distributions(a, a[p])
    np.testing.assert_array_equal(p[order], np.arange(30))
    assert (found == 0).all()
    near = 0.7 * a[p] + 0.3 * topics(rng, 30, 200)
    order, found = match_distributions(a, near)
    np.testing.assert_array_equal(p[order], np.arange(30))
    assert ((0 < found) & (found < 0.6)).all()


def test_topics_without_a_common_word():
    a, b = np.eye(6)[:3], np.eye(6)[3:]
    np.testing.assert_array_equal(match_distributions(a, b)[1], 1)


def test_topics_that_do_not_count_are_not_the_nearest():
    a = np.eye(3)
    near = match_and_nearest(a, a, np.array([True, True, False]))[1]
    np.testing.assert_array_equal(near, [0, 0, 1])
    np.testing.assert_array_equal(match_and_nearest(a, a, np.zeros(3, bool))[1], 1)


# Noise does not converge.
@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
def test_stability_of_chains():
    """Topics that are far apart are found by both chains; most of those of a corpus of pure noise are not."""
    clear = make_lda_corpus(200, 100, 5, doc_length=100, topic_word_prior=0.05, random_state=0).data
    noise = np.random.default_rng(0).poisson(0.3, (200, 100))
    found = []
    for X in (clear, noise):
        options = {"doc_topic_prior": 0.1, "topic_word_prior": 0.05, "max_iter": 100, "n_draws": 1}
        a, b = (GibbsLDA(5, **options, init="sequential", random_state=s).fit(X).topic_word_ for s in (0, 1))
        found.append(1 - match_distributions(a, b)[1])
    assert found[0].min() > 0.8
    assert np.median(found[1]) < 0.5


@pytest.fixture(scope="module")
def chain():
    """Word-topic counts of a chain on a corpus with clear topics after 100, 105, ... sweeps, (n_draws, V, K)."""
    X = make_lda_corpus(300, 200, 6, doc_length=80, topic_word_prior=0.05, random_state=0).data
    words = np.repeat(X.indices, X.data.astype(int))
    lda = GibbsLDA(6, max_iter=100, warm_start=True, random_state=0)
    draws = []
    for _ in range(10):
        counts = np.zeros((200, 6), np.int32)
        np.add.at(counts, (words, lda.fit(X).topic_assignments_), 1)
        draws.append(counts)
        lda.set_params(max_iter=5)
    return draws


def test_names_stay_the_same(chain):
    assert all(same_names(a, b) for a, b in itertools.pairwise(chain))
    assert same_names(chain[0], chain[-1])


@pytest.mark.parametrize("names", [[1, 0, 2, 3, 4, 5], [0, 1, 2, 3, 5, 4], [1, 2, 3, 4, 5, 0]])
def test_a_switch_is_found(chain, names):
    assert not same_names(chain[0], chain[-1][:, names])
    # As the kernels have them: with columns that pad, of which the caller takes a view.
    padded = np.zeros((200, 8), np.int32)
    padded[:, :6] = chain[-1]
    assert same_names(chain[0], padded[:, :6])
    assert not same_names(chain[0], padded[:, names])


def test_tiny_topics_do_not_count(chain):
    """Two topics of one word each change places. Of 0.05 of the mean size they do not count, of 1 they do."""
    for size, same in ((0.05, True), (1.0, False)):
        before = np.concatenate([chain[0], np.zeros((200, 2), np.int32)], axis=1)
        before[[0, 1], [6, 7]] = int(size * chain[0].sum() / 6)
        assert same_names(before, before[:, [0, 1, 2, 3, 4, 5, 7, 6]]) == same


def test_empty_topics_and_one_topic():
    counts = np.zeros((4, 3), np.int32)
    counts[:, 0] = 5
    assert same_names(counts, counts)
    assert not same_names(counts, counts[:, [1, 0, 2]])
    assert same_names(counts[:, :1], counts[:, :1])


def moved(rng, K, V, n_tokens):
    """Word-topic counts of random draws: a share of the tokens has another topic in the second, some topics change
    places.
    """
    joint = rng.dirichlet(np.full(K, rng.choice([0.1, 1, 10])))[:, None] * rng.dirichlet(np.full(V, 0.2), K)
    before = rng.multinomial(n_tokens, joint.ravel()).reshape(K, V)
    after = rng.binomial(before, rng.choice([0.0, 0.5, 0.9, 0.99]))
    for v, rest in enumerate((before - after).sum(axis=0)):
        after[:, v] += rng.multinomial(rest, joint[:, v] / joint[:, v].sum())
    names = np.arange(K)
    some = rng.choice(K, rng.integers(min(K, 3) + 1), replace=False)
    names[some] = np.roll(some, 1)
    return before.T, after[names].T


@pytest.mark.parametrize("products", [matching._PRODUCTS, 50])
def test_names_are_those_of_the_best_assignment_of_all_topics(products, monkeypatch):
    monkeypatch.setattr(matching, "_PRODUCTS", products)
    rng, found, assigned = np.random.default_rng(0), Counter(), []
    monkeypatch.setattr(matching, "linear_sum_assignment", lambda x: assigned.append(x) or linear_sum_assignment(x))
    for _ in range(300):
        before, after = moved(rng, rng.integers(1, 30), 40, 5000)
        overlap = np.sqrt(before.T) @ np.sqrt(after) / before.sum()
        sigma = linear_sum_assignment(overlap, maximize=True)[1]
        gain = (overlap[np.arange(len(sigma)), sigma] - np.diag(overlap)).max()
        assert same_names(before, after) == (gain <= 0.1 / len(sigma))
        found[gain <= 0.1 / len(sigma)] += 1
    # Both answers, with and without an assignment.
    assert min(found.values()) > 50 and 50 < len(assigned) < 250


def test_too_many_topics_in_doubt(monkeypatch):
    before, after = np.eye(6, dtype=int)[:, [0, 1, 2, 3, 4, 5]] * 9, np.eye(6, dtype=int) * 9
    after[:, :2] += 1
    assert same_names(before, after)
    after = after[:, [1, 0, 2, 3, 4, 5]]
    after[0] += 5
    assert not same_names(before, after)
    monkeypatch.setattr(matching, "MOST_DOUBTFUL", 1)
    monkeypatch.setattr(matching, "linear_sum_assignment", None)
    assert not same_names(before, after)


def test_many_topics_take_no_matrix_of_their_pairs():
    X = np.random.default_rng(0).poisson(0.5, (6, 30))
    tracemalloc.start()
    lda = GibbsLDA(50_000, max_iter=4, n_draws=3, draw_every=1, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lda.components_.shape == (50_000, 30)
    # A matrix would take 20 GB.
    assert peak < 100e6


def test_the_memory_of_matches_is_checked(monkeypatch):
    """Those of 10,000 topics of two chains take 800 MB, those of successive draws of 6,000 tokens less."""
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 5e8, "SC_PAGE_SIZE": 1}.get, raising=False)
    corpus = Corpus.from_counts(np.full((3, 4), 500))
    check_memory_of_results(corpus, 10_000, n_chains=1, n_draws=2)
    with pytest.raises(MemoryError, match=r"^10000 topics need at least 0\.8 GB"):
        check_memory_of_results(corpus, 10_000, n_chains=2)
