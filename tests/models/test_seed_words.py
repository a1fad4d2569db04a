"""Seed words: pseudo-counts that put words among the top words of their topics."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklda import GibbsLDA
from sklda.datasets import load_docstrings, make_lda_corpus

SEEDS = {0: ["spline", "knots"], 3: ["cluster", "clustering"], 7: ["eigenvalues", "singular"], 19: ["filter", "poles"]}


@pytest.fixture(scope="module")
def docstrings():
    return load_docstrings()


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(40, 20, 3, random_state=0).data


WORDS = [f"word{v}" for v in range(20)]


def fit(X, seed_words, **parameters):
    return GibbsLDA(3, seed_words=seed_words, random_state=0, **{"max_iter": 30} | parameters).fit(X)


@pytest.mark.parametrize("learn", ["asymmetric", False])
def test_seed_words_end_among_the_top_words_of_their_topics(docstrings, learn):
    names = np.array(docstrings.feature_names)
    lda = GibbsLDA(20, seed_words=SEEDS, vocabulary=names, learn_priors=learn, max_iter=60, random_state=0)
    phi = lda.fit(docstrings.data).topic_word_
    for topic, words in SEEDS.items():
        top = names[np.argsort(-phi[topic])[:10]]
        assert set(words) <= set(top)
        columns = np.isin(names, words)
        assert (phi[:, columns].argmax(axis=0) == topic).all()
    # Without seeds, these numbers of topics have other words.
    plain = clone(lda).set_params(seed_words=None).fit(docstrings.data).topic_word_
    assert not all(set(words) <= set(names[np.argsort(-plain[topic])[:10]]) for topic, words in SEEDS.items())


def test_pseudo_counts_are_relative_to_the_counts_of_the_words(X):
    counts = np.asarray(X.sum(axis=0)).ravel()
    X = X.tolil()
    X[:, 7] = 0
    X = X.tocsr()
    lda = fit(X, {0: {2: 0.5, 7: 0.5}, 2: {2: 0.5}}, learn_priors=False)
    expected = np.full((3, 20), 1 / 3)
    expected[0, 2] += counts[2] / 2
    expected[2, 2] += counts[2] / 2
    # A word that does not occur has the weight of one token.
    expected[0, 7] += 0.5
    np.testing.assert_allclose(lda.topic_word_prior_, expected, rtol=1e-6)
    given = fit(X, {0: [2]}, topic_word_prior=np.linspace(0.1, 0.2, 20), doc_topic_prior=0.2)
    expected = np.tile(np.linspace(0.1, 0.2, 20), (3, 1))
    expected[0, 2] += counts[2]
    np.testing.assert_allclose(given.topic_word_prior_, expected, rtol=1e-6)
    matrix = np.linspace(0.1, 0.2, 60).reshape(3, 20)
    given = fit(X, {1: [3]}, topic_word_prior=matrix)
    expected = matrix + counts[3] * ((np.arange(3) == 1)[:, None] & (np.arange(20) == 3))
    np.testing.assert_allclose(given.topic_word_prior_, expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_learnt_eta_gets_the_pseudo_counts(X):
    counts = np.maximum(np.asarray(X.sum(axis=0)).ravel(), 1)
    for sampler in ("collapsed", "partitioned", "grouped", "partially_collapsed"):
        lda = fit(X, {0: [2, 5], 2: [4]}, sampler=sampler, n_chains=2)
        eta = lda.topic_word_prior_
        base = eta[1, 0]
        assert base != 1 / 3
        expected = np.full((3, 20), base)
        expected[[0, 0, 2], [2, 5, 4]] += counts[[2, 5, 4]]
        np.testing.assert_allclose(eta, expected, rtol=1e-6)
        assert lda.doc_topic_prior_.shape == (3,)


def test_words_have_names_in_many_ways(X, same):
    pandas = pytest.importorskip("pandas")
    seeds = {0: ["word2", "word5"], 2: ["word4"]}
    frame = pandas.DataFrame(X.toarray(), columns=WORDS)
    ways = [
        fit(X, {0: [2, 5], 2: [4]}),
        fit(X, {np.int64(0): (np.int32(5), 2), 2: {4}}),
        fit(X, {0: np.array([2, 5]), 2: np.array([4, 4])}),
        fit(X, seeds, vocabulary=WORDS),
        fit(X, seeds, vocabulary=np.array(WORDS)),
        fit(X, seeds, vocabulary=np.array(WORDS, object)),
        fit(X, {0: np.array(["word5", "word2"]), 2: ["word4"]}, vocabulary=pandas.Series(WORDS, index=range(20, 40))),
        fit(X, seeds, vocabulary={word: np.int64(v) for v, word in enumerate(WORDS)}),
        fit(X, {0: ["word2", 5], 2: ["word4"]}, vocabulary={"word4": 4, "word2": 2}),
        fit(frame, seeds),
        fit(frame, {0: [2, 5], 2: [4]}),
    ]
    for each in ways[1:]:
        assert same(each.components_, ways[0].components_)
        assert same(each.topic_word_prior_, ways[0].topic_word_prior_)
    # `vocabulary` comes before the names of columns.
    other = fit(frame, {0: ["a"]}, vocabulary=["a", *WORDS[1:]])
    assert other.topic_word_prior_[0].argmax() == 0


@pytest.mark.parametrize("seed_words", [None, {}, {0: []}, {1: (), 2: []}])
def test_no_seed_words(X, seed_words, same):
    assert same(fit(X, seed_words).components_, fit(X, None).components_)
    assert isinstance(fit(X, seed_words).topic_word_prior_, float)


BAD = [
    ({"seed_words": "apple"}, ValueError, "'seed_words' parameter"),
    ({"seed_words": [[1]]}, ValueError, "'seed_words' parameter"),
    ({"seed_words": {"a": [1]}}, TypeError, r"keys of seed_words must be numbers of topics, got 'a'"),
    ({"seed_words": {True: [1]}}, TypeError, r"keys of seed_words must be numbers of topics, got True"),
    ({"seed_words": {0.0: [1]}}, TypeError, r"keys of seed_words must be numbers of topics, got 0.0"),
    ({"seed_words": {None: [1]}}, TypeError, r"keys of seed_words"),
    ({"seed_words": {3: [1]}}, ValueError, r"seed_words has topic 3; topics are numbered from 0 to 2"),
    ({"seed_words": {-1: [1]}}, ValueError, r"seed_words has topic -1"),
    ({"seed_words": {0: "word1"}}, TypeError, r"seed_words\[0\] must hold a list of words, got 'word1'"),
    ({"seed_words": {0: b"word1"}}, TypeError, r"seed_words\[0\] must hold a list"),
    ({"seed_words": {0: 3}}, TypeError, r"seed_words\[0\] must hold a list of words, got 3"),
    ({"seed_words": {0: None}}, TypeError, r"seed_words\[0\] must hold a list of words, got None"),
    ({"seed_words": {0: np.array(3)}}, TypeError, r"seed_words\[0\] must hold a list of words"),
    ({"seed_words": {0: [1.5]}}, TypeError, r"seed_words\[0\] must have words or numbers of columns, got 1.5"),
    ({"seed_words": {0: [np.nan]}}, TypeError, r"words or numbers of columns, got nan"),
    ({"seed_words": {0: [None]}}, TypeError, r"words or numbers of columns, got None"),
    ({"seed_words": {0: [True]}}, TypeError, r"words or numbers of columns, got True"),
    ({"seed_words": {0: [[1]]}}, TypeError, r"words or numbers of columns, got \[1\]"),
    ({"seed_words": {0: [20]}}, ValueError, r"seed_words\[0\] has column 20; X has 20 columns"),
    ({"seed_words": {0: [-1]}}, ValueError, r"seed_words\[0\] has column -1"),
    ({"seed_words": {0: ["word1"]}}, ValueError, r"'word1', but the words of the columns of X are not known"),
    (
        {"seed_words": {0: ["x"]}, "vocabulary": WORDS},
        ValueError,
        "not in the vocabulary: 'x'",
    ),
    (
        {"seed_words": {0: ["x"]}, "vocabulary": {}},
        ValueError,
        "not in the vocabulary: 'x'",
    ),
    ({"seed_words": {0: ["x"]}, "vocabulary": WORDS[1:]}, ValueError, r"vocabulary has 19 words; there are 20 columns"),
    ({"seed_words": {0: [1]}, "vocabulary": WORDS[1:]}, ValueError, r"vocabulary has 19 words"),
    ({"seed_words": {0: ["x"]}, "vocabulary": {"x": 20}}, ValueError, r"vocabulary has column 20 for 'x'"),
    ({"seed_words": {0: ["x"]}, "vocabulary": {"x": -1}}, ValueError, r"vocabulary has column -1 for 'x'"),
    ({"seed_words": {0: ["x"]}, "vocabulary": {"x": 1.5}}, TypeError, r"vocabulary has 1.5 for 'x'"),
    ({"seed_words": {0: ["x"]}, "vocabulary": {"x": None}}, TypeError, r"vocabulary has None for 'x'"),
    ({"seed_words": {0: ["x"]}, "vocabulary": np.array("x")}, (TypeError, ValueError), "vocabulary"),
    ({"seed_words": {0: ["x"]}, "vocabulary": [["x"]] * 20}, TypeError, "vocabulary"),
    ({"seed_words": {0: ["x"]}, "vocabulary": ["x", "x", *WORDS[2:]]}, ValueError, "vocabulary has 'x' twice"),
    ({"seed_words": {0: {1: 1e12}}}, ValueError, "topic_word_prior"),
    ({"seed_words": {0: {1: 0}}}, ValueError, r"seed_words\[0\]\[1\] is 0: a strength must be positive"),
    ({"seed_words": {0: {1: np.nan}}}, ValueError, "a strength must be positive"),
    ({"seed_words": {0: {1: np.inf}}}, ValueError, "a strength must be positive"),
    ({"seed_words": {0: {1: "much"}}}, TypeError, r"strengths of seed_words\[0\] must hold real numbers"),
    ({"seed_words": {0: {"x": 1, 1: 2}}, "vocabulary": ["w", "x", *WORDS[2:]]}, ValueError, "two strengths"),
    ({"seed_words": {0: [1]}, "init": "prune"}, ValueError, "seed_words"),
    ({"seed_words": {0: [1]}, "init": "search"}, ValueError, "init='search' redraws.*seed_words"),
    ({"seed_words": {0: [1]}, "n_components": 2**62}, ValueError, "topics are 32-bit numbers"),
]


@pytest.mark.parametrize("parameters, error, message", BAD)
def test_bad_seed_words(X, parameters, error, message):
    lda = GibbsLDA(**{"n_components": 3, "max_iter": 2} | parameters)
    before = dict(vars(lda))
    with pytest.raises(error, match=message):
        lda.fit(X)
    assert vars(lda).keys() == before.keys()


@pytest.mark.parametrize("before", [None, {0: [2]}, {0: range(20), 1: range(20), 2: range(20)}])
@pytest.mark.parametrize("after", [None, {1: [9]}, {0: [2], 1: [9, 3]}])
@pytest.mark.parametrize("eta", [None, 0.2])
def test_a_warm_start_with_other_seed_words_keeps_the_learnt_eta(X, before, after, eta):
    lda = GibbsLDA(3, seed_words=before, topic_word_prior=eta, max_iter=30, warm_start=True, random_state=0).fit(X)
    counts = np.maximum(np.asarray(X.sum(axis=0)).ravel(), 1)
    without, alpha = np.broadcast_to(lda.topic_word_prior_, (3, 20)).copy(), lda.doc_topic_prior_
    for topic, words in (before or {}).items():
        without[topic, list(words)] -= counts[list(words)]
    lda.set_params(seed_words=after).fit(X)
    # A sum of eta and a count of some hundreds is rounded to single precision.
    np.testing.assert_allclose(without, without.mean(), atol=1e-4)
    expected = np.full((3, 20), without.mean())
    for topic, words in (after or {}).items():
        expected[topic, words] += counts[words]
    np.testing.assert_allclose(np.broadcast_to(lda.topic_word_prior_, (3, 20)), expected, atol=1e-4)
    np.testing.assert_array_equal(lda.doc_topic_prior_, alpha)


def test_clones_warm_starts_and_grids(X, same):
    seeds = {0: ["word2", "word5"], 2: ["word4"]}
    lda = GibbsLDA(3, seed_words=seeds, vocabulary=WORDS, max_iter=30, warm_start=True, random_state=0)
    copy = clone(lda)
    assert same(lda.fit(X).components_, copy.fit(X).components_)
    eta = lda.topic_word_prior_
    np.testing.assert_array_equal(lda.fit(X).topic_word_prior_, eta)
    # Other seeds in a warm start change eta only there.
    counts = np.maximum(np.asarray(X.sum(axis=0)).ravel(), 1)
    lda.set_params(seed_words={1: ["word9"]}).fit(X)
    expected = np.full((3, 20), eta[1, 0])
    expected[1, 9] += counts[9]
    np.testing.assert_allclose(lda.topic_word_prior_, expected, rtol=1e-6)
    search = GridSearchCV(
        clone(copy),
        {"seed_words": [{0: {"word2": strength, "word5": strength}} for strength in (0.1, 1.0, 10.0)]},
        cv=2,
        error_score="raise",
    ).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(np.unique(search.cv_results_["mean_test_score"])) == 3
