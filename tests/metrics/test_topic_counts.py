"""Numbers of topics compared: folds, seeds, measures, and what is refused."""

import warnings

import numpy as np
import pandas
import pytest
from joblib import parallel_config
from scipy.special import stdtrit as t_quantile
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import NMF, LatentDirichletAllocation
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
from sklda.inspection import TopicCountComparisonDisplay
from sklda.metrics import compare_topic_counts, topic_coherence, topic_exclusivity
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


@pytest.fixture
def fits():
    Recorder.fits.clear()
    return Recorder.fits


def test_folds_seeds_and_measures(fits):
    folds = list(KFold(3).split(X))
    rows = compare_topic_counts(Recorder(), X, [3, 2], cv=KFold(3), n_words=5, random_state=0)
    assert rows["n_components"].tolist() == [3, 2] and [K for K, *_ in fits] == [3] * 3 + [2] * 3
    for i, (_, documents, _, _) in enumerate(fits):
        assert (documents != X[folds[i % 3][0]]).nnz == 0
    assert len({seed for _, _, seed, _ in fits}) == 6
    assert "score" not in rows and "gain" not in rows
    phi = [[each[3] for each in own] for own in (fits[:3], fits[3:])]
    values = {
        "coherence": np.array(
            [[topic_coherence(p, X[test], n_words=5) for p, (_, test) in zip(own, folds, strict=True)] for own in phi]
        ),
        "exclusivity": np.array([[topic_exclusivity(p, n_words=5) for p in own] for own in phi]),
    }
    # Each fit has 60 documents, of which the left-out ones are the half.
    for (name, own), factor in zip(values.items(), (1 / 3, 1 / 3 + 1 / 2), strict=True):
        variances = own.var(axis=1, ddof=1)
        # Two degrees of freedom are those of the folds, and one that of both rows.
        errors = np.sqrt(factor * (2 * variances + variances.mean()) / 3)
        assert rows[name].tolist() == pytest.approx(own.mean(axis=1).tolist())
        assert rows[f"{name}_std"].tolist() == pytest.approx(errors.tolist())
    for row, own in zip(rows.to_dict("records"), phi, strict=True):
        pairs = [[(jensen_shannon(a, b).min(axis=1) <= 0.5).sum() for b in own if b is not a] for a in own]
        assert row["found_again"] == pytest.approx(np.mean(pairs)) and row["n_fits"] == 3


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
    measures = ["score", "gain", "coherence", "exclusivity", "found_again", "found_share"]
    errors = [f"{name}_std" for name in measures]
    pairs = [name for pair in zip(measures, errors, strict=True) for name in pair]
    assert rows.columns.tolist() == ["n_components", *pairs, "n_fits"]
    assert (rows[errors] > 0).sum(axis=None) == 11 and np.isnan(rows["gain_std"][0])
    # Of two fits no error is known.
    assert compare_topic_counts(LDA, X, [2], cv=2, random_state=0)[errors].isna().all(axis=None)


@pytest.mark.parametrize(
    "model",
    [
        CollapsedVariationalLDA(max_iter=5),
        LatentDirichletAllocation(max_iter=3),
        NMF(init="random", max_iter=500),
        ConsensusTopics(GibbsLDA(max_iter=10), n_fits=2, min_prevalence=0.5),
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
            if Sometimes.n_done > n_fits:
                self.components_ = self.components_[:0]
                self.topic_share_ = self.topic_share_[:0]
            return self

    model = Sometimes(GibbsLDA(max_iter=10), n_fits=2, min_prevalence=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = compare_topic_counts(model, X, [2], cv=3, random_state=0).loc[0]
    assert row["found_again"] == row["found_share"] == 0 and np.isnan(row["coherence"])


def test_a_consensus_that_finds_no_topic():
    noise = np.random.default_rng(0).poisson(1, (40, 20))
    model = ConsensusTopics(GibbsLDA(max_iter=10), n_fits=3, min_prevalence=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(noise).n_components_ == 0
        rows = compare_topic_counts(model, noise, [3], cv=2, random_state=0)
    assert rows["found_again"][0] == 0


def test_copies_of_a_checkpoint_are_refused(tmp_path):
    # Earlier versions of scikit-learn do not copy callbacks.
    pytest.importorskip("sklearn.callback")
    lda = GibbsLDA(max_iter=2).set_callbacks(Checkpoint(tmp_path / "fit"))
    for model in (lda, make_pipeline(lda), ConsensusTopics(lda, n_fits=2)):
        with pytest.raises(ValueError, match="is a copy of an estimator with a Checkpoint"):
            compare_topic_counts(model, X, [2], cv=2, random_state=0)
    assert not (tmp_path / "fit").exists()


def test_a_pipeline_of_texts():
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"] * 5
    lda = GibbsLDA(doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=20)
    rows = compare_topic_counts(make_pipeline(CountVectorizer(), lda), texts, [1, 2], cv=2, n_words=3, random_state=0)
    assert rows["gain"][1] > 0 and rows["found_again"][1] == 2
    frame = pandas.DataFrame(X.toarray(), columns=[f"w{v}" for v in range(40)])
    assert len(compare_topic_counts(LDA, frame, [2], cv=2)) == 1


def test_the_display():
    rows = compare_topic_counts(LDA, X, [4, 2], cv=2, random_state=0)
    display = TopicCountComparisonDisplay(rows).plot()
    assert len(display.axes_) == 5 and "nats" in display.axes_[0].get_title()
    np.testing.assert_allclose(display.axes_[0].lines[0].get_ydata(orig=False), [rows["score"][1], rows["score"][0]])
    axes = plt.subplots(1, 5)[1]
    assert list(display.plot(ax=axes).axes_) == list(axes)
    with pytest.raises(ValueError, match="one Axes for each of the 5 measures; got 2"):
        display.plot(ax=axes[:2])
    display.figure_.canvas.draw()


def test_error_bars_of_three_folds_are_by_student():
    row = pandas.DataFrame({"n_components": [2], "coherence": 0.5, "coherence_std": 0.01, "n_fits": 3})
    ((_, low), (_, high)) = TopicCountComparisonDisplay(row).plot().axes_[0].collections[0].get_segments()[0]
    assert high - low == pytest.approx(2 * 0.01 * 4.30265)


ENDS = {
    "score": (-np.inf, 0),
    "coherence": (-1, 1),
    "exclusivity": (0, 1),
    "found_again": (0, 20),
    "found_share": (0, 1),
}


@pytest.mark.parametrize("measure", ENDS)
@pytest.mark.parametrize("place", [0.0, 0.02, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("n_fits", [3, 4, 10])
def test_intervals_of_measures_end_where_the_measures_end(measure, place, n_fits):
    low, high = ENDS[measure]
    value = -0.5 * place if measure == "score" else low + place * (high - low)
    for error in (0.1, 0.35, 5.0):
        row = pandas.DataFrame({"n_components": [20], measure: value, f"{measure}_std": error, "n_fits": n_fits})
        ax = TopicCountComparisonDisplay(row).plot().axes_[0]
        ((_, bottom), (_, top)) = ax.collections[0].get_segments()[0]
        assert low <= bottom <= value <= top <= high and bottom < top
        plt.close(ax.figure)


def test_points_of_two_folds_are_open_and_explained():
    row = pandas.DataFrame({"n_components": [2, 4], "found_share": [0.5, 0.6], "found_share_std": np.nan, "n_fits": 2})
    display = TopicCountComparisonDisplay(row).plot()
    assert not display.axes_[0].collections
    display.figure_.canvas.draw()
    assert [text.get_text() for text in display.legend_.get_texts()] == ["error unknown"]


def test_an_error_of_zero_is_a_point():
    row = pandas.DataFrame({"n_components": [2], "found_share": [1.0], "found_share_std": [0.0], "n_fits": [4]})
    display = TopicCountComparisonDisplay(row).plot()
    assert display.axes_[0].collections[0].get_segments()[0].tolist() == [[2, 1], [2, 1]] and display.legend_ is None


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: compare_topic_counts(X, LDA, [2]), TypeError, "the two arguments are exchanged"),
        (lambda: compare_topic_counts(LDA, X, 3), TypeError, "must hold numbers of topics"),
        (lambda: compare_topic_counts(LDA, X, []), TypeError, "must hold numbers of topics"),
        (lambda: compare_topic_counts(LDA, X, [2, 0]), ValueError, r"n_components\[1\] must be at least 1"),
        (lambda: compare_topic_counts(LDA, X, [2.5]), TypeError, r"n_components\[0\] must be an int"),
        (lambda: compare_topic_counts(LDA, X, [2, 2]), ValueError, "the same number twice"),
        (lambda: compare_topic_counts(LDA, X, [2], cv=1), ValueError, "k-fold"),
        (lambda: compare_topic_counts(LDA, X, [2], cv=[(np.arange(9), np.arange(9))]), ValueError, "cv has 1 folds"),
        (lambda: compare_topic_counts(LDA, X, [2], n_words=1), ValueError, "n_words must be at least 2"),
        (lambda: compare_topic_counts(TopicCountLDA(), X, [2]), TypeError, "has no parameter n_components"),
        (lambda: compare_topic_counts(LabeledLDA(), X, [2]), TypeError, "LabeledLDA needs labels"),
        (lambda: compare_topic_counts(GibbsLDA, X, [2]), TypeError, "give a topic model"),
        (lambda: compare_topic_counts("lda", X, [2]), TypeError, "give a topic model"),
        (lambda: compare_topic_counts(LDA, -X, [2]), ValueError, "Negative values"),
        (
            lambda: compare_topic_counts(LDA, ["a b"] * 9, [2]),
            ValueError,
            "X holds texts",
        ),
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
