"""Topics of two fits: distances by SciPy, splits that are known, and words that differ."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist, jensenshannon
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import ConsensusTopics, GibbsLDA
from sklda.datasets import make_lda_corpus
from sklda.inspection import describe, outcome_effects
from sklda.metrics import match_topics


@pytest.fixture(scope="module")
def topics():
    return np.random.default_rng(0).dirichlet(np.full(60, 0.1), 7)


@pytest.mark.parametrize(("n_a", "n_b"), [(3, 3), (3, 4), (4, 3), (1, 6)])
def test_matches_are_those_of_scipy(topics, n_a, n_b):
    a, b = topics[:n_a], topics[7 - n_b :]
    found = match_topics(3 * a, (b, 0.1))
    expected = cdist(a, b, lambda p, q: jensenshannon(p, q, base=2))
    np.testing.assert_allclose(found.distances, expected, atol=1e-7)
    np.testing.assert_array_equal(found.nearest_in_b, expected.argmin(axis=1))
    np.testing.assert_array_equal(found.nearest_in_a, expected.argmin(axis=0))
    np.testing.assert_allclose(found.distance_in_b, expected.min(axis=1), atol=1e-7)
    np.testing.assert_allclose(found.distance_in_a, expected.min(axis=0), atol=1e-7)
    rows, columns = linear_sum_assignment(expected)
    np.testing.assert_array_equal(found.one_to_one[rows], columns)
    np.testing.assert_allclose(found.one_to_one_distance[rows], expected[rows, columns], atol=1e-7)
    assert (found.one_to_one == -1).sum() == np.isnan(found.one_to_one_distance).sum() == max(n_a - n_b, 0)


def test_splits_and_merges(topics):
    a = np.stack([topics[0], 0.5 * topics[1] + 0.5 * topics[2], topics[3], topics[4]])
    b = np.stack([topics[1], topics[2], topics[0], 0.5 * topics[3] + 0.5 * topics[4]])
    found = match_topics(a, b)
    assert found.splits == [{"a": [1], "b": [0, 1], "distance": pytest.approx(0, abs=1e-6)}]
    assert found.merges == [{"a": [2, 3], "b": [3], "distance": pytest.approx(0, abs=1e-6)}]
    back = match_topics(b, a)
    assert [(row["a"], row["b"]) for row in back.splits] == [([3], [2, 3])]


def test_topics_without_words_of_their_own_match_nothing():
    X = make_lda_corpus(200, 1000, 5, doc_length=80, doc_topic_prior=0.05, topic_word_prior=0.05, random_state=0).data
    a, b = (GibbsLDA(8, max_iter=100, random_state=seed).fit(X) for seed in (0, 1))
    found = match_topics(a, b)
    for small, nearest, distance in (
        (a.topic_share_ < 0.03, found.nearest_in_b, found.distance_in_b),
        (a.topic_share_ < 0.03, found.one_to_one, found.one_to_one_distance),
        (b.topic_share_ < 0.03, found.nearest_in_a, found.distance_in_a),
    ):
        assert small.sum() == 3 and (nearest[small] == -1).all() and np.isnan(distance[small]).all()
        assert len(set(nearest[~small])) == 5 and (distance[~small] < 0.3).all()
    assert (found.distances[a.topic_share_ < 0.03] == 1).all()
    # Arrays have no prior.
    assert (match_topics(a.topic_word_, b.topic_word_).nearest_in_b >= 0).all()


def test_estimators_and_pipelines():
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]
    lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=30, random_state=0)
    a = make_pipeline(CountVectorizer(), lda).fit(texts)
    b = make_pipeline(CountVectorizer(), ConsensusTopics(lda, n_fits=3, n_splits=0, random_state=0)).fit(texts)
    found = match_topics(a, b)
    assert sorted(found.nearest_in_b) == [0, 1] and (found.distance_in_b < 0.3).all()
    np.testing.assert_allclose(match_topics(a[-1], b[-1].topic_word_).distances, found.distances)
    c = make_pipeline(CountVectorizer(), lda).fit([text.replace("car", "van") for text in texts])
    with pytest.raises(ValueError, match=r"column 2 .*'car' in a .*'cherry' in b"):
        match_topics(a, c)


@pytest.mark.filterwarnings("ignore:(seed_words|Most tokens of the seed words)")
@pytest.mark.parametrize("options", [{"known_weight": np.inf}, {}, {"known_weight": 1e4}, {"seeded": True}])
def test_known_and_seeded_topics_are_found_again(options):
    """Also if their prior is stronger than their tokens: in the same model, in other chains, and with their effects."""
    corpus = make_lda_corpus(150, 60, 4, doc_topic_prior=0.3, topic_word_prior=0.1, doc_length=30, random_state=0)
    known = {"known_topics": corpus.topic_word[:2]} | options
    if "seeded" in options:
        top = np.argsort(-corpus.topic_word, axis=1)[:2, :12].tolist()
        known = {"seed_words": {k: dict.fromkeys(words, 100.0) for k, words in enumerate(top)}}
    lda = GibbsLDA(4, **known, n_chains=2, max_iter=60, random_state=0).fit(corpus.data)
    found = match_topics(lda, lda)
    assert found.nearest_in_b.tolist() == [0, 1, 2, 3]
    assert np.isfinite(lda.topic_prevalence_).all()
    y = 3 * corpus.doc_topic[:, 0] + np.random.default_rng(0).normal(size=150)
    table = outcome_effects(describe(lda, vocabulary=[f"w{v}" for v in range(60)]), corpus.data, y, random_state=0)
    assert np.isfinite(table["estimate"]).all() and table["estimate"][0] > 2


@pytest.mark.parametrize(
    ("a", "b", "error", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 4)), ValueError, "a has 3 features and b has 4"),
        (np.zeros((2, 3)), np.ones((2, 3)), ValueError, r"a\[0\] holds only zeros"),
        (np.ones((2, 3)), -np.ones((2, 3)), ValueError, "b holds negative"),
        (
            np.ones((2, 3)),
            "topics",
            TypeError,
            "nothing says which columns of X these are|must be a list with a list of str",
        ),
        (np.ones((2, 3)), CountVectorizer(), TypeError, "no components_|not fitted"),
    ],
)
def test_refusals(a, b, error, message):
    with pytest.raises((error, ValueError), match=message):
        match_topics(a, b)
