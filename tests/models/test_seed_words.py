"""Seed words: the topics that have them are about them, and what is said of seeds that are doubtful."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV

from sklda import CompoundLDA, CovariateLDA, GibbsLDA
from sklda._sampling.seeded_state import SeedWords
from sklda.datasets import load_docstrings, make_lda_corpus, make_survey_answers
from sklda.inspection import topic_table

# Small corpora of a few sweeps, whose words say little.
DOUBTFUL = pytest.mark.filterwarnings("ignore:(seed_words|Most tokens of the seed words|The fit has too few sweeps)")


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(40, 20, 3, random_state=0).data


WORDS = [f"word{v}" for v in range(20)]


def fit(X, seed_words, **parameters):
    return GibbsLDA(3, seed_words=seed_words, random_state=0, **{"max_iter": 30} | parameters).fit(X)


def seeded_corpus(seed, n_topics):
    """A corpus with its true topics, and a topic with two of its frequent words that no other topic has more of."""
    corpus = make_lda_corpus(150, 500, n_topics, doc_length=50, topic_word_prior=0.05, random_state=seed)
    topic = seed % n_topics
    share = corpus.doc_topic.mean(axis=0)
    own = corpus.topic_word[topic] * share[topic] > 0.6 * (share @ corpus.topic_word)
    return corpus, topic, np.argsort(-corpus.topic_word[topic] * own)[:2].tolist()


def n_right(n_more, **parameters):
    """In how many of six corpora the other words of topic 0 are those of the true topic of its seeds."""
    found = 0
    for seed in range(6):
        corpus, topic, seeds = seeded_corpus(seed, 6 + seed)
        lda = GibbsLDA(6 + seed + n_more, seed_words={0: seeds}, random_state=seed, **parameters)
        row, true = lda.fit(corpus.data).topic_word_[0].copy(), corpus.topic_word.copy()
        row[seeds], true[:, seeds] = 0, 0
        cosines = true @ row / np.linalg.norm(true, axis=1) / np.linalg.norm(row)
        found += cosines.argmax() == topic and cosines[topic] > 0.8
    return found


def by_chance(seeds, words, offsets, first, priors, key):
    """Seeds that do not take part in the first state."""
    return np.random.default_rng(key % 2**32).integers(seeds.shape[0], size=len(words), dtype=np.int32)


# All of 180 fits of other corpora were right. If one in 100 is wrong, fewer than four of six are right once in 50,000
# times.
@DOUBTFUL
@pytest.mark.parametrize("n_more", [0, 4])
def test_the_topic_of_seeds_is_the_one_that_has_them(n_more):
    assert n_right(n_more, max_iter=200) >= 4


@DOUBTFUL
@pytest.mark.mutation("sklda._sampling.seeded_state.SeedWords.first_topics", by_chance)
def test_the_first_state_steers():
    """Without a burn-in there are no exchanges, merges and splits."""
    assert n_right(2, max_iter=100, burn_in=0, doc_topic_prior=0.1, topic_word_prior=0.05) >= 4


@DOUBTFUL
@pytest.mark.mutation("sklda._sampling.seed_places.SeedPlaces.exchange", lambda step, chain: None)
def test_topics_with_most_of_the_seeds_take_their_places(monkeypatch):
    monkeypatch.setattr(SeedWords, "first_topics", by_chance)
    assert n_right(0, max_iter=200) >= 4


@pytest.mark.parametrize("sampler", ["partitioned", "grouped", "partially_collapsed"])
def test_seeds_steer_every_sampler(sampler):
    corpus, topic, seeds = seeded_corpus(3, 6)
    lda = GibbsLDA(6, seed_words={5: seeds}, sampler=sampler, n_chains=2, max_iter=200, random_state=0).fit(corpus.data)
    for chain in lda.chains_:
        assert (chain.topic_word[5] @ corpus.topic_word.T).argmax() == topic


@DOUBTFUL
@pytest.mark.parametrize("first", [None, by_chance])
def test_seeds_steer_models_that_know_the_documents(first, monkeypatch):
    """Also if topics exchange their places, with their mixtures and coefficients."""
    if first is not None:
        monkeypatch.setattr(SeedWords, "first_topics", first)
    corpus, topic, seeds = seeded_corpus(3, 6)
    halves = np.arange(150) % 2
    compound = CompoundLDA(6, seed_words={"a": seeds}, max_iter=200, random_state=0)
    covariate = CovariateLDA(6, seed_words={"a": seeds}, max_iter=200, random_state=0)
    compound.fit(corpus.data, collections=halves)
    covariate.fit(corpus.data, covariates=halves.astype(float))
    for lda in (compound, covariate):
        assert (lda.topic_word_[0] @ corpus.topic_word.T).argmax() == topic
        assert lda.topic_names_[0] == "a"


@pytest.mark.parametrize("random_state", range(3))
def test_costs_of_the_survey(random_state):
    survey = make_survey_answers(random_state=0)
    vectorizer = CountVectorizer(stop_words="english", min_df=3, max_df=0.5, token_pattern=r"(?u)\b[^\W\d_]{3,}\b")
    counts = vectorizer.fit_transform(survey["answer"])
    words = vectorizer.get_feature_names_out()
    lda = GibbsLDA(3, seed_words={0: ["taxes", "budget"]}, vocabulary=words, random_state=random_state).fit(counts)
    assert np.corrcoef(lda.doc_topic_[:, 0], survey["cost"])[0, 1] > 0.7
    worried = survey["worried"] == 1
    effect = lda.doc_topic_[worried, 0].mean() - lda.doc_topic_[~worried, 0].mean()
    assert 0.2 < effect < 0.35


@DOUBTFUL
def test_names_and_patterns():
    corpus = load_docstrings()
    words = list(corpus.feature_names)
    seeds = {"splines": ["spline*", "knots"], "clusters": ["cluster", "cluster?"], "systems": ["poles"]}
    lda = GibbsLDA(12, seed_words=seeds, vocabulary=words, max_iter=100, random_state=0).fit(corpus.data)
    assert lda.seed_words_[0] == [word for word in words if word.startswith("spline") or word == "knots"]
    assert lda.seed_words_[1] == [word for word in words if word in ("cluster", "clusters")]
    assert lda.topic_names_[:3].tolist() == list(seeds)
    for k in range(3, 12):
        assert lda.topic_names_[k].split() == [words[v] for v in np.argsort(-lda.topic_word_[k], kind="stable")[:3]]
    table = topic_table(lda, corpus.data, columns=["seed_share", "seeds_here"])
    assert table["name"].tolist() == lda.topic_names_.tolist()
    topics, tokens = lda.topic_assignments_, np.repeat(*_tokens(corpus.data))
    for k in range(3):
        own = np.isin(tokens, [words.index(word) for word in lda.seed_words_[k]])
        assert abs(table["seed_share"][k] - own[topics == k].mean()) < 0.05
        assert abs(table["seeds_here"][k] - (topics[own] == k).mean()) < 0.05
    assert table[["seed_share", "seeds_here"]][3:].isna().all(axis=None)
    assert table["seeds_here"].min() > 0.5


def _tokens(counts):
    counts = counts.tocsr()
    counts.sort_indices()
    return counts.indices, counts.data


def test_tables_of_fits_without_seeds_have_no_columns_of_them(X):
    lda = GibbsLDA(3, max_iter=5, random_state=0).fit(X)
    assert "seed_share" not in topic_table(lda, columns="all")
    with pytest.raises(ValueError, match=r"seed_share.*seed_words"):
        topic_table(lda, columns="seed_share")


@DOUBTFUL
def test_doubtful_seeds_are_named_in_one_warning(X):
    counts = X.toarray()
    counts[:, 7] = 0
    counts[:, 8] = 1
    counts[20:, [2, 4]] = 0
    seeds = {"a": ["word4", "word2", "wordy"], "b": ["word2", "word7", "word8"]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(counts, seeds, vocabulary=WORDS)
    (message,) = [str(each.message) for each in caught if str(each.message).startswith("seed_words:")]
    unknown, gone, shared, common = message.split(": ", 1)[1].split(".")[:4]
    assert unknown.startswith("X does not have 'wordy' (there is ")
    assert "No document has 'word7'" in gone
    assert "Several topics have 'word2'" in shared
    assert "'word8'" in common
    assert "'word4'" not in message


def test_topics_without_their_seeds_are_named(X):
    halves = np.zeros((100, 8), int)
    halves[:50, :4], halves[50:, 4:] = 5, 5
    with pytest.warns(UserWarning, match="'mixed' has .+ % of the tokens of 0, 4"):
        # Two topics cannot have one half each and both seeds.
        GibbsLDA(3, seed_words={"mixed": [0, 4]}, random_state=1, max_iter=200).fit(halves)


@DOUBTFUL
def test_strengths_are_tokens_that_are_added_to_eta(X):
    lda = fit(X, {0: {2: 50, 7: 0}, 2: [2]}, learn_priors=False)
    expected = np.full((3, 20), 1 / 3)
    expected[0, 2] += 50
    np.testing.assert_allclose(lda.topic_word_prior_, expected, rtol=1e-6)
    assert lda.seed_words_ == {0: [2, 7], 2: [2]}
    matrix = np.linspace(0.1, 0.2, 60).reshape(3, 20)
    given = fit(X, {1: {3: 5}}, topic_word_prior=matrix)
    np.testing.assert_allclose(given.topic_word_prior_ - matrix, 5 * np.eye(3)[:, [1]] * np.eye(20)[3], atol=1e-6)
    assert isinstance(fit(X, {0: [2]}).topic_word_prior_, float)


@DOUBTFUL
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_learnt_eta_gets_the_strengths(X):
    lda = fit(X, {0: {2: 40, 5: 3}, 2: {4: 7}}, n_chains=2)
    base = lda.topic_word_prior_[1, 0]
    assert base != 1 / 3
    expected = np.full((3, 20), base)
    expected[[0, 0, 2], [2, 5, 4]] += 40, 3, 7
    np.testing.assert_allclose(lda.topic_word_prior_, expected, rtol=1e-6)


@DOUBTFUL
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
    # `vocabulary` comes before the names of columns.
    other = fit(frame, {0: ["a"]}, vocabulary=["a", *WORDS[1:]])
    assert other.seed_words_ == {0: ["a"]}


@DOUBTFUL
@pytest.mark.parametrize("seed_words", [None, {}, {0: []}, {1: (), 2: []}])
def test_no_seed_words(X, seed_words, same):
    assert same(fit(X, seed_words).components_, fit(X, None).components_)
    assert isinstance(fit(X, seed_words).topic_word_prior_, float)


BAD = [
    ({"seed_words": "apple"}, ValueError, "'seed_words' parameter"),
    ({"seed_words": [[1]]}, ValueError, "'seed_words' parameter"),
    ({"seed_words": {"a": [1], 1: [2]}}, TypeError, r"must all be names or all be numbers, got 'a' and 1"),
    ({"seed_words": {"a": [1], "b": [2], "c": [3], "d": [4]}}, ValueError, "has 4 topics, but n_components=3"),
    ({"seed_words": {"a": []}}, ValueError, "needs a word that X has.*'a' has no word"),
    ({"seed_words": {" ": [1]}}, ValueError, "empty name"),
    ({"seed_words": {True: [1]}}, TypeError, r"keys of seed_words must be names or numbers of topics, got True"),
    ({"seed_words": {0.0: [1]}}, TypeError, r"keys of seed_words must be names or numbers of topics, got 0.0"),
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
        {"seed_words": {0: ["Word1", "x"], 1: [3], 2: ["y"]}, "vocabulary": WORDS},
        ValueError,
        r"0 has 'Word1' \(there is 'word1'.*\), 'x'; 2 has 'y'\.",
    ),
    ({"seed_words": {0: ["x"]}, "vocabulary": {}}, ValueError, "needs a word that X has.*0 has 'x'"),
    ({"seed_words": {0: ["x"]}, "vocabulary": WORDS[1:]}, ValueError, r"vocabulary has 19 words; there are 20 columns"),
    ({"seed_words": {0: [1]}, "vocabulary": WORDS[1:]}, ValueError, r"vocabulary has 19 words"),
    ({"seed_words": {0: ["x"]}, "vocabulary": {"x": 20}}, ValueError, r"vocabulary has column 20 for 'x'"),
    ({"seed_words": {0: ["x"]}, "vocabulary": {"x": -1}}, ValueError, r"vocabulary has column -1 for 'x'"),
    ({"seed_words": {0: ["x"]}, "vocabulary": {"x": 1.5}}, TypeError, r"vocabulary has 1.5 for 'x'"),
    ({"seed_words": {0: ["x"]}, "vocabulary": {"x": None}}, TypeError, r"vocabulary has None for 'x'"),
    ({"seed_words": {0: ["x"]}, "vocabulary": np.array("x")}, (TypeError, ValueError), "vocabulary"),
    ({"seed_words": {0: ["x"]}, "vocabulary": [["x"]] * 20}, TypeError, "vocabulary"),
    ({"seed_words": {0: ["x"]}, "vocabulary": ["x", "x", *WORDS[2:]]}, ValueError, "vocabulary has 'x' twice"),
    ({"seed_words": {0: {3: 1e13}}}, ValueError, "topic_word_prior"),
    ({"seed_words": {0: {1: -1}}}, ValueError, r"seed_words\[0\]\[1\] is -1: a strength is a number of tokens"),
    ({"seed_words": {0: {1: np.nan}}}, ValueError, "a strength is a number of tokens"),
    ({"seed_words": {0: {1: np.inf}}}, ValueError, "a strength is a number of tokens"),
    ({"seed_words": {0: {1: "much"}}}, TypeError, r"strengths of seed_words\[0\] must hold real numbers"),
    ({"seed_words": {0: {"x": 1, 1: 2}}, "vocabulary": ["w", "x", *WORDS[2:]]}, ValueError, "two strengths"),
    ({"seed_words": {0: [1]}, "init": "prune"}, ValueError, "init='prune' is another first state"),
    ({"seed_words": {0: [1]}, "init": "search"}, ValueError, "init='search' is another first state"),
    ({"seed_words": {0: [1]}, "init": "sequential"}, ValueError, "init='sequential' is another first state"),
    ({"seed_words": {0: [1]}, "init": np.zeros(1000, int)}, ValueError, "an array or a model, is another first state"),
    ({"seed_words": {0: [1]}, "n_components": 2**62}, ValueError, "topics are 32-bit numbers"),
]


@DOUBTFUL
@pytest.mark.parametrize("parameters, error, message", BAD)
def test_bad_seed_words(X, parameters, error, message):
    lda = GibbsLDA(**{"n_components": 3, "max_iter": 2} | parameters)
    before = dict(vars(lda))
    with pytest.raises(error, match=message):
        lda.fit(X)
    assert vars(lda).keys() == before.keys()


@DOUBTFUL
def test_a_warm_start_has_the_same_seeds(X, same):
    whole = fit(X, {1: [4]}, max_iter=40, burn_in=10, doc_topic_prior=0.2, topic_word_prior=0.1)
    lda = fit(X, {1: [4]}, max_iter=20, burn_in=10, doc_topic_prior=0.2, topic_word_prior=0.1, warm_start=True)
    assert same(lda.fit(X).topic_assignments_, whole.topic_assignments_)
    for other in (None, {1: [5]}, {0: [4]}, {1: {4: 2}}):
        with pytest.raises(ValueError, match="other seed_words"):
            lda.set_params(seed_words=other).fit(X)


@DOUBTFUL
def test_clones_and_searches(X, same):
    lda = GibbsLDA(3, seed_words={"a": ["word2", "word5"]}, vocabulary=WORDS, max_iter=30, random_state=0)
    assert same(clone(lda).fit(X).components_, lda.fit(X).components_)
    grid = {"seed_words": [{0: {"word2": strength, "word5": strength}} for strength in (0, 10.0, 100.0)]}
    search = GridSearchCV(clone(lda), grid, cv=2, error_score="raise").fit(X)
    assert len(np.unique(search.cv_results_["mean_test_score"])) == 3


@pytest.mark.filterwarnings("ignore:CompoundLDA has no collections", "ignore:CovariateLDA has no covariates")
@DOUBTFUL
@pytest.mark.parametrize("model", [GibbsLDA, CompoundLDA, CovariateLDA])
def test_a_warm_start_compares_seeds_and_not_their_form(X, model):
    lda = model(3, vocabulary=WORDS, warm_start=True, max_iter=20, random_state=0)
    lda.set_params(seed_words={"a": np.array(["word3", "word2"])}).fit(X)
    assert lda.set_params(seed_words={"a": ["word2", "word3"]}).fit(X).n_iter_ == 40
    with pytest.raises(ValueError, match="seed_words"):
        lda.set_params(seed_words={"a": ["word2", "word5"]}).fit(X)
