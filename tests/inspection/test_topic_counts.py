"""Numbers of topics compared: topics that split and stay, folds, seeds, measures, the picture, what is refused."""

import warnings

import numpy as np
import pandas
import pytest
from joblib import parallel_config
from scipy.special import stdtrit as t_quantile
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
)
from sklda._core.distances import jensen_shannon
from sklda.callbacks import Checkpoint
from sklda.datasets import make_lda_corpus
from sklda.inspection import TopicCountComparison, describe, token_topics
from sklda.inspection import compare_topic_counts as compare
from sklda.inspection._topic_flows import orders, origins, shared_tokens
from sklda.metrics._topic_counts import _found_again, _jackknife

plt = pytest.importorskip("matplotlib.pyplot")
X = make_lda_corpus(90, 40, 4, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0).data
LDA = GibbsLDA(max_iter=30)


class Recorder(TransformerMixin, BaseEstimator):
    """A topic model that keeps its documents and seeds in a list; its topics are draws from its seed."""

    fits: list = []

    def __init__(self, n_components=2, random_state=None):
        self.n_components, self.random_state = n_components, random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        self.components_ = rng.dirichlet(np.full(X.shape[1], 0.1), self.n_components)
        self.fits.append((self.n_components, X, self.random_state, self.components_))
        return self

    def transform(self, X):
        return np.full((X.shape[0], self.n_components), 1 / self.n_components)


def compare_topic_counts(*args, **options):
    """The table of the numbers of topics."""
    return compare(*args, **options).counts


@pytest.fixture
def fits():
    Recorder.fits.clear()
    return Recorder.fits


def test_folds_seeds_and_measures(fits):
    folds = list(KFold(3).split(X))
    found = compare(Recorder(), X, [3, 2], cv=KFold(3), random_state=0)
    rows = found.counts
    assert rows["n_components"].tolist() == [2, 3] and [K for K, *_ in fits] == [2] * 3 + [3] * 3 + [2, 3]
    for i, (_, documents, _, _) in enumerate(fits):
        assert documents.shape == X.shape if i >= 6 else (documents != X[folds[i % 3][0]]).nnz == 0
    assert len({seed for _, _, seed, _ in fits}) == 8
    assert "score" not in rows and "gain" not in rows
    phi = [[each[3] for each in own] for own in (fits[:3], fits[3:6])]
    for row, own in zip(rows.to_dict("records"), phi, strict=True):
        pairs = [[(jensen_shannon(a, b).min(axis=1) <= 0.5).sum() for b in own if b is not a] for a in own]
        assert row["found_again"] == pytest.approx(np.mean(pairs)) and row["n_fits"] == 3
    for K, own, (*_, whole) in zip((2, 3), phi, fits[6:], strict=True):
        again = np.mean([jensen_shannon(whole, each).min(axis=1) <= 0.5 for each in own], axis=0)
        np.testing.assert_allclose(found.topics.loc[found.topics["n_components"] == K, "found_in"], again)


@pytest.mark.mutation("test_errors_of_pairs_as_if_independent_are_too_small")
def test_errors_of_pairs_are_those_of_the_jackknife():
    """A mean over pairs of a_i + a_j is twice the mean of a, so its jackknife variance is four times the usual one."""
    a = np.random.default_rng(0).normal(size=6)
    pairs = a[:, None] + a
    np.fill_diagonal(pairs, np.nan)
    assert _jackknife(pairs) == pytest.approx(4 * a.var(ddof=1) / 6)
    assert np.isnan(_jackknife(pairs[:2, :2]))


def test_errors_of_pairs_as_if_independent_are_too_small():
    """The mean over the pairs of one fit has four fifths of its own a: two fifths of the error are left."""
    a = np.random.default_rng(0).normal(size=6)
    pairs = a[:, None] + a
    np.fill_diagonal(pairs, np.nan)
    assert np.nanmean(pairs, axis=1).var(ddof=1) / 6 == pytest.approx(0.16 * _jackknife(pairs))


def fits_that_may_lack_a_topic(seed, n_topics=5):
    """Four fits with equal topics; in one of twenty, two topics are merged."""
    rng = np.random.default_rng(seed)
    topics = np.kron(np.eye(n_topics), np.ones(4)) / 4
    fits = []
    for _ in range(4):
        own = np.vstack([topics[:-2], topics[-2:].mean(axis=0)]) if rng.random() < 0.05 else topics
        fits.append({"topics": own, "share": np.full(len(own), 1 / len(own))})
    return fits


@pytest.mark.mutation("sklda.metrics._topic_counts._FREEDOM_OF_USUAL", 0)
def test_errors_of_topics_found_again_contain_what_four_fits_do_not_show():
    """Most corpora have four equal fits, and the mean over corpora is less than all topics."""
    found = [_found_again(fits_that_may_lack_a_topic(seed)) for seed in range(150)]
    for name in ("found_again", "found_share"):
        values, errors = (np.array([each[key] for each in found]) for key in (name, f"{name}_std"))
        covers = np.abs(values - values.mean()) <= t_quantile(3, 0.975) * errors
        # With a coverage of .95, fewer than .85 have a probability below 1e-5.
        assert covers.mean() >= 0.85
        assert 0.5 < np.sqrt((errors**2).mean()) / values.std() < 2


# Eight topics for five: with twelve seeds, the others had at most 28 tokens, and 48 as their prior.
FIVE = make_lda_corpus(200, 1000, 5, doc_length=80, doc_topic_prior=0.05, topic_word_prior=0.05, random_state=0).data


@pytest.mark.mutation("sklda.metrics._topic_counts.topics_with_words", lambda model, weights: weights.any(axis=1))
def test_topics_without_words_of_their_own_are_not_counted():
    row = compare_topic_counts(GibbsLDA(max_iter=100), FIVE, [8], cv=3, random_state=0).loc[0]
    assert row["found_again"] == pytest.approx(5) and row["found_share"] <= 1


def test_documents_are_shuffled_and_seeds_are_all_that_counts(fits):
    compare_topic_counts(Recorder(), X, [2], cv=2, random_state=0)
    first = fits[0][1].toarray()
    assert len(first) == 45 and not np.array_equal(first, X[45:].toarray())
    rows = compare_topic_counts(LDA, X, [2, 4], cv=2, random_state=0)
    with parallel_config(backend="threading"):
        assert compare_topic_counts(LDA, X, [2, 4], cv=2, random_state=0, n_jobs=2).equals(rows)
    assert not compare_topic_counts(LDA, X, [2, 4], cv=2, random_state=1).equals(rows)
    # A number of topics has the same fits whatever the others are.
    alone = compare_topic_counts(LDA, X, [4], cv=2, random_state=0)
    assert alone["score"][0] == rows["score"][1] and alone["found_again"][0] == rows["found_again"][1]


def test_the_true_number_is_seen():
    rows = compare_topic_counts(GibbsLDA(max_iter=60), X, [2, 4], cv=3, random_state=0)
    two, four = rows.to_dict("records")
    assert np.isnan(two["gain"]) and four["gain"] > 5 * four["gain_std"] > 0
    assert four["gain"] == pytest.approx(four["score"] - two["score"])
    assert four["gain_std"] < four["score_std"]
    assert four["found_again"] > 3.5 and 0.9 < four["found_share"] <= 1 + 1e-9


def test_every_column_has_its_errors():
    rows = compare_topic_counts(LDA, X, [2, 4], cv=3, random_state=0)
    measures = ["score", "gain", "found_again", "found_share"]
    errors = [f"{name}_std" for name in measures]
    pairs = [name for pair in zip(measures, errors, strict=True) for name in pair]
    assert rows.columns.tolist() == ["n_components", *pairs, "n_fits", "stays", "part", "joined", "new"]
    assert (rows[errors] > 0).sum(axis=None) == 7 and np.isnan(rows["gain_std"][0])
    # Of two fits no error is known.
    assert compare_topic_counts(LDA, X, [2], cv=2, random_state=0)[errors].isna().all(axis=None)


@pytest.mark.parametrize(
    "model",
    [
        CollapsedVariationalLDA(max_iter=5),
        LatentDirichletAllocation(max_iter=3),
        NMF(init="random", max_iter=500),
        ConsensusTopics(GibbsLDA(max_iter=60), n_fits=2, min_prevalence=0.5, n_splits=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_other_models(model):
    rows = compare_topic_counts(model, X.astype(float), [2, 3], cv=2, random_state=0)
    assert ("score" in rows) == (not isinstance(model, (NMF, ConsensusTopics)))
    assert rows["found_share"].between(0, 1 + 1e-9).all()


@pytest.mark.parametrize("n_fits", [0, 1])
def test_a_consensus_without_topics(n_fits, monkeypatch):
    """Some of the fits of a comparison have no topic, or all of them."""

    class Sometimes(ConsensusTopics):
        n_done = 0

        def fit(self, X, y=None):
            super().fit(X, y)
            Sometimes.n_done += 1
            # The fits to folds come before the fit to all documents.
            if n_fits < Sometimes.n_done <= 3:
                self.components_ = self.components_[:0]
                self.topic_share_ = self.topic_share_[:0]
            return self

    model = Sometimes(GibbsLDA(max_iter=60), n_fits=2, min_prevalence=0.5, n_splits=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = compare_topic_counts(model, X, [2], cv=3, random_state=0).loc[0]
    assert row["found_again"] == row["found_share"] == 0


def test_a_consensus_that_finds_no_topic():
    noise = np.random.default_rng(0).poisson(1, (40, 20))
    model = ConsensusTopics(GibbsLDA(max_iter=10), n_fits=3, min_prevalence=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="ConsensusTopics has no topics"):
            compare_topic_counts(model, noise, [3], cv=2, random_state=0)


def test_copies_of_a_checkpoint_are_refused(tmp_path):
    # Earlier versions of scikit-learn do not copy callbacks.
    pytest.importorskip("sklearn.callback")
    lda = GibbsLDA(max_iter=2).set_callbacks(Checkpoint(tmp_path / "fit"))
    for model in (lda, make_pipeline(lda), ConsensusTopics(lda, n_fits=2)):
        with pytest.raises(ValueError, match=r"copy .*Checkpoint"):
            compare_topic_counts(model, X, [2], cv=2, random_state=0)
    assert not (tmp_path / "fit").exists()


def test_a_pipeline_of_texts():
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"] * 5
    lda = GibbsLDA(doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=20)
    rows = compare_topic_counts(make_pipeline(CountVectorizer(), lda), texts, [1, 2], cv=2, random_state=0)
    assert rows["gain"][1] > 0 and rows["found_again"][1] == 2
    frame = pandas.DataFrame(X.toarray(), columns=[f"w{v}" for v in range(40)])
    assert len(compare_topic_counts(LDA, frame, [2], cv=2)) == 1


# --- Topics that split and stay -------------------------------------------------------------------------------------


def hierarchy(seed, n_kept=2, n_documents=300):
    """Counts of documents with one subject each, of four. Those from `n_kept` on have two parts with own words."""
    rng = np.random.default_rng(seed)
    subjects = np.concatenate([np.arange(n_kept), np.repeat(np.arange(n_kept, 4), 2)])
    phi = np.zeros((len(subjects), 15 * 4 + 10 * len(subjects)))
    for part, subject in enumerate(subjects):
        phi[part, 15 * subject : 15 * subject + 15] = rng.dirichlet(np.full(15, 2.0)) * 0.4
        phi[part, 60 + 10 * part : 70 + 10 * part] = rng.dirichlet(np.full(10, 2.0)) * 0.6
    theta = np.zeros((n_documents, len(subjects)))
    for row in theta:
        own = np.flatnonzero(subjects == rng.integers(4))
        row[own] = rng.dirichlet(np.full(len(own), 0.4))
    return np.array([rng.multinomial(60, row @ phi) for row in theta])


FIT = GibbsLDA(3, max_iter=20, random_state=0).fit(X)


def halves_that_are_exchanged(a, b, n_a, n_b):
    """Tokens of the second fit in another order."""
    return shared_tokens(a, np.roll(b, len(b) // 2), n_a, n_b)


@pytest.mark.mutation("sklda.inspection._topic_counts.shared_tokens", halves_that_are_exchanged)
@pytest.mark.parametrize("seed", range(2))
def test_subjects_with_two_parts_split_and_the_others_stay(seed):
    found = compare(GibbsLDA(max_iter=150, n_chains=3), hierarchy(seed), [4, 6], cv=0, random_state=seed)
    numbers = found.counts.set_index("n_components").loc[6]
    # A part may have most of the tokens of its subject.
    assert numbers["stays"] + numbers["part"] == 6 and numbers["stays"] >= 2
    six = found.topics[found.topics["n_components"] == 6]
    assert (six["from_parent"] > 0.9).all()
    assert sorted(six["parent"].value_counts()) == [1, 1, 2, 2]
    alone = six.groupby("parent").filter(lambda own: len(own) == 1)
    assert (alone["of_parent"] > 0.9).all() and (alone["change"] == "stays").all()
    # A subject that is divided stands beside its parts, and no band crosses another.
    order = orders(found.shared, found.topics.loc[found.topics["n_components"] == 4, "share"].to_numpy())
    parents = six["parent"].to_numpy()[order[1]]
    assert list(dict.fromkeys(parents)) == order[0].tolist()


def test_how_a_topic_came_about_is_counted():
    a, b = np.repeat([0, 0, 1, 1, 2, -1], 10), np.repeat([0, 1, 2, 3, 3, 0], 10)
    shared = shared_tokens(a, b, 3, 5)
    assert shared.tolist() == [[10, 10, 0, 0, 0], [0, 0, 10, 10, 0], [0, 0, 0, 10, 0]]
    found = origins(shared)
    assert found["change"] == ["part", "part", "part", "joined", ""]
    assert found["parent"] == [0, 0, 1, 1, None]
    assert found["from_parent"][:4] == [1, 1, 1, 0.5] and found["of_parent"][:4] == [0.5] * 4
    assert np.isnan(found["from_parent"][4]) and np.isnan(found["of_parent"][4])
    found = origins(np.array([[6, 4], [4, 6], [4, 4]]))
    assert found["change"] == ["joined", "joined"] and found["parent"] == [0, 1]
    assert origins(np.array([[7, 3, 3], [1, 9, 2]]))["change"] == ["stays", "stays", "part"]
    assert origins(np.array([[6, 2, 2], [2, 6, 2], [2, 2, 2]]))["change"][2] == "new"


def test_tables_are_those_of_the_tokens():
    fits = [GibbsLDA(K, max_iter=20, random_state=0).fit(X) for K in (4, 2)]
    found = compare([describe(each, vocabulary=[f"w{v}" for v in range(40)]) for each in fits], X)
    assert found.counts["n_components"].tolist() == [2, 4] and repr(found).startswith("TopicCountComparison of 2, 4")
    two, four = (token_topics(each, X)["topic"] for each in fits[::-1])
    np.testing.assert_array_equal(found.shared[0], pandas.crosstab(two, four))
    own = found.topics[found.topics["n_components"] == 4]
    np.testing.assert_allclose(own["share"], four.value_counts(normalize=True, sort=False).sort_index())
    assert own["words"].iloc[0] == [f"w{v}" for v in np.argsort(-fits[0].topic_word_[0], kind="stable")[:3]]
    assert own["found_in"].isna().all()
    numbers = own["change"].value_counts()
    assert all(found.counts[name][1] == numbers.get(name, 0) for name in ("stays", "part", "joined", "new"))
    fits = [GibbsLDA(K, n_chains=2, max_iter=20, random_state=0).fit(X) for K in (2, 4)]
    own = compare(fits, X).topics
    np.testing.assert_array_equal(own["found_in"], np.concatenate([each.topic_prevalence_ for each in fits]))


def test_flows_that_need_not_cross_do_not():
    rng = np.random.default_rng(0)
    # A tree: each topic has two children, and theirs are two of the 40.
    shared = [np.kron(np.eye(n), np.ones((1, 2))) * 7 for n in (10, 20)]
    mixed = [rng.permutation(n) for n in (10, 20, 40)]
    shared = [own[np.ix_(a, b)] for own, a, b in zip(shared, mixed[:-1], mixed[1:], strict=True)]
    found = orders(shared, np.ones(10))
    for own, a, b in zip(shared, found[:-1], found[1:], strict=True):
        places = np.argwhere(own[np.ix_(a, b)])
        assert (np.diff(places[:, 1]) > 0).all()
    assert all(sorted(each) == list(range(len(each))) for each in found)


def test_words_of_pipelines_are_labels():
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"] * 5
    lda = GibbsLDA(doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=20)
    found = compare(make_pipeline(CountVectorizer(), lda), texts, [1, 2], cv=0, random_state=0)
    assert {words[0] for words in found.topics["words"][1:]} == {"apple", "wheel"}
    display = found.plot()
    assert sorted(text.get_text()[:2] for text in display.labels_[1]) == ["0:", "1:"]
    with pytest.raises(ValueError, match="make different counts of X"):
        one, two = (make_pipeline(CountVectorizer(max_features=n), GibbsLDA(n, max_iter=2)) for n in (3, 4))
        compare([one.fit(texts), two.fit(texts)], texts)


# --- The picture ----------------------------------------------------------------------------------------------------


def test_the_picture():
    found = compare(LDA, X, [4, 2], cv=3, random_state=0, interval=(3, 9))
    display = found.plot()
    flows, gain, again = display.axes_
    assert [label.get_text() for label in again.get_xticklabels()] == ["2 topics", "4 topics"]
    heights = [bar.get_height() for bar in flows.patches]
    assert heights[0] / heights[1] == pytest.approx(found.topics["share"][0] / found.topics["share"][1])
    ((x, low), (_, high)) = gain.collections[0].get_segments()[0]
    assert x == 0.5 and high - low == pytest.approx(2 * found.counts["gain_std"][1] * 4.30265)
    assert len(again.collections[0].get_segments()) == 2
    assert any("3 to 9 topics" in text.get_text() for text in display.legend_.get_texts())
    axes = plt.subplots(3, 1)[1]
    assert list(found.plot(ax=axes).axes_) == list(axes)
    with pytest.raises(ValueError, match=r"Axes .*2 measures; got 2"):
        found.plot(ax=axes[:2])
    assert len(compare(LDA, X, [4, 2], cv=0, random_state=0).plot().axes_) == 1
    assert len(compare(LDA, X, [3], cv=2, random_state=0).plot().axes_) == 1
    plt.close("all")


@pytest.mark.parametrize("place", [0.0, 0.02, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("n_fits", [3, 4, 10])
def test_intervals_of_shares_are_shares(place, n_fits):
    for error in (0.1, 0.35, 5.0):
        rows = {"n_components": [20], "found_share": [place], "found_share_std": [error], "n_fits": [n_fits]}
        low, high = TopicCountComparison(pandas.DataFrame(rows), None, [])._interval_of("found_share")
        assert 0 <= low[0] <= place <= high[0] <= 1 and low[0] < high[0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: compare_topic_counts(X, LDA, [2]), TypeError, "the two arguments are exchanged"),
        (lambda: compare_topic_counts(LDA, X, 3), TypeError, "must hold numbers of topics"),
        (lambda: compare_topic_counts(LDA, X, []), TypeError, "must hold numbers of topics"),
        (lambda: compare_topic_counts(LDA, X, [2, 0]), ValueError, r"n_components\[1\] must be at least 1"),
        (lambda: compare_topic_counts(LDA, X, [2.5]), TypeError, r"n_components\[0\] must be an int"),
        (lambda: compare_topic_counts(LDA, X, [2, 2]), ValueError, "the same number twice"),
        (lambda: compare_topic_counts(LDA, X, [2], cv=1), ValueError, "cv must be at least 2"),
        (lambda: compare_topic_counts(LDA, X[:3], [2]), ValueError, "X has 3 documents, too few for cv = 4"),
        (lambda: compare_topic_counts(LDA, X, [2], cv=[(np.arange(9), np.arange(9))]), ValueError, "cv has 1 folds"),
        (lambda: compare_topic_counts(LDA, X, [2], n_words=0), ValueError, "n_words must be at least 1"),
        (lambda: compare_topic_counts(LDA, X, [2], interval=5), TypeError, "a pair of numbers of topics"),
        (lambda: compare_topic_counts(LDA, X, [2], interval=(5, 3)), ValueError, "the smaller number first"),
        (lambda: compare_topic_counts([], X), ValueError, "an empty list"),
        (lambda: compare_topic_counts([FIT], X, [3]), ValueError, "do not give them with fitted models"),
        (lambda: compare_topic_counts([FIT, FIT], X), ValueError, "with different numbers"),
        (lambda: compare_topic_counts([FIT]), ValueError, "X is None"),
        (lambda: compare_topic_counts([FIT, GibbsLDA(2)], X), NotFittedError, "not fitted"),
        (lambda: compare_topic_counts(TopicCountLDA(), X, [2]), TypeError, "has no parameter n_components"),
        (lambda: compare_topic_counts(LabeledLDA(), X, [2]), TypeError, "LabeledLDA needs labels"),
        (lambda: compare_topic_counts(GibbsLDA, X, [2]), TypeError, "give a topic model"),
        (lambda: compare_topic_counts("lda", X, [2]), TypeError, "give a topic model"),
        (lambda: compare_topic_counts(LDA, -X, [2]), ValueError, "Negative values"),
        (lambda: compare_topic_counts(LDA, ["a b"] * 9, [2]), ValueError, "X holds texts"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_metadata_reach_fits_and_scores():
    labels, year = np.array(["a", "b"])[np.arange(90) % 2], np.arange(90.0) % 7
    frame = pandas.DataFrame({"year": year, "source": labels})
    options = {"cv": 2, "random_state": 0}
    lda = CovariateLDA(max_iter=10)
    found = [
        compare_topic_counts(lda, X, [2], params={"covariates": each}, **options)["score"][0]
        for each in (frame, {"year": year, "source": labels.tolist()})
    ]
    assert found[0] == found[1]
    with pytest.warns(UserWarning, match="CovariateLDA has no covariates"):
        assert compare_topic_counts(lda, X, [2], **options)["score"][0] != found[0]
    found = [
        compare_topic_counts(CompoundLDA(max_iter=10), X, [2], params=params, **options)["score"][0]
        for params in (None, {"collections": labels})
    ]
    assert found[0] != found[1]


def test_metadata_of_texts_have_the_index_of_the_texts():
    texts = pandas.Series(["apple banana", "car wheel"] * 10, index=[f"d{d}" for d in range(20)])
    frame = pandas.DataFrame({"year": np.arange(20.0)}, index=texts.index)
    model = make_pipeline(CountVectorizer(), CovariateLDA(max_iter=4, random_state=0))
    for cv in (0, 2):
        with pytest.raises(ValueError, match="row 0 is 'd19' in covariates and 'd0' in X"):
            compare_topic_counts(model, texts, [2], cv=cv, params={"covariates": frame[::-1]})
    with pytest.raises(TypeError, match="X has rows and columns, and CountVectorizer takes texts"):
        compare_topic_counts(model, X, [2])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (np.arange(90), TypeError, "params must be a dict"),
        ({"covariates": np.arange(5)}, ValueError, "covariates has 5 values; there are 90 documents"),
        ({"covariates": {"year": np.arange(5)}}, ValueError, "covariates has 5 values; there are 90 documents"),
        ({"covariates": "year"}, ValueError, "covariates = 'year': give a value for each document"),
        ({"covariates": {"year": 1990}}, ValueError, "covariates = {'year': 1990}: give a value for each"),
    ],
)
def test_metadata_that_are_refused(params, error, message):
    with pytest.raises(error, match=message):
        compare_topic_counts(CovariateLDA(max_iter=2), X, [2], params=params)
