"""Displays of topics draw the numbers of the model, for pipelines and for every kind of model."""

import warnings
from datetime import date
from unittest.mock import patch

import numpy as np
import pytest
from inspection_pages import HOSTILE
from matplotlib.dates import AutoDateLocator, num2date
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import CompoundLDA, GibbsLDA
from sklda._core.linear_models import share_interval
from sklda.datasets import make_compound_lda_corpus, make_lda_corpus
from sklda.inspection import TopicEffectsDisplay, TopicWordsDisplay, describe, topic_table
from sklda.inspection._groups import GroupShares

plt = pytest.importorskip("matplotlib.pyplot")
TEXTS = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]


@pytest.fixture(scope="module")
def corpus():
    return make_lda_corpus(30, 20, 4, doc_length=30, random_state=0)


@pytest.fixture(scope="module")
def arrays(corpus):
    return corpus.topic_word, corpus.doc_topic


@pytest.fixture(scope="module")
def pipeline():
    lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    return make_pipeline(CountVectorizer(), lda).fit(TEXTS)


def widths(bars):
    return [bar.get_width() for bar in bars]


@pytest.mark.parametrize(("share", "expected"), [(0.09, "2.5%"), (0.9, "20%")])
def test_labels_of_an_axis_have_the_decimals_of_its_ticks(share, expected):
    (ax,) = TopicWordsDisplay([np.array(["a", "b"])], [np.array([share, share / 2])], ["0: a"]).plot().axes_
    ax.set_xticks(np.arange(5) * (0.025 if share < 0.5 else 0.2))
    assert [label.get_text() for label in ax.get_xticklabels()][1] == expected


def test_words_of_a_pipeline_have_names(pipeline):
    display = TopicWordsDisplay.from_estimator(pipeline, n_words=3)
    lda = pipeline[-1]
    names = pipeline[0].get_feature_names_out()
    for ax, title in zip(display.axes_, display.names, strict=True):
        phi = lda.topic_word_[int(title.removeprefix("topic "))]
        top = np.argsort(-phi, kind="stable")[:3]
        assert (
            [label.get_text() for label in ax.get_yticklabels()]
            == names[top].tolist()
            == list(display.words[display.names.index(title)])
        )
        np.testing.assert_allclose(widths(ax.patches), phi[top])
    assert display.figure_.get_supylabel() == ""


def test_words_without_names_are_columns(arrays):
    display = TopicWordsDisplay.from_estimator(arrays, n_words=3, topics=[2])
    assert display.figure_.get_supylabel() == "column of X" and display.names == ["topic 2"]
    assert display.words[0].tolist() == [str(v) for v in np.argsort(-arrays[0][2], kind="stable")[:3]]


def test_each_topic_has_its_own_scale_of_words():
    phi = np.array([[0.9, 0.05, 0.03, 0.02], [0.3, 0.25, 0.25, 0.2]])
    display = TopicWordsDisplay.from_estimator((phi, np.full((1, 2), 0.5)), n_words=2, topics=[0, 1])
    assert [ax.get_xlim()[1] for ax in display.axes_] == pytest.approx([0.945, 0.315])


def test_words_by_relevance_with_corpus_frequencies(arrays, corpus):
    display = TopicWordsDisplay.from_estimator(arrays, corpus.data, rank_by="relevance", n_words=5, topics=[1])
    own = topic_table(arrays, corpus.data, columns=["words", "word_shares"], rank_by="relevance", n_words=5).loc[1]
    assert display.words[0].tolist() == own["words"]
    lines = display.axes_[0].collections[0].get_segments()
    np.testing.assert_allclose([line[0, 0] for line in lines], own["word_shares"])


def test_groups_of_any_model(arrays, corpus):
    years = np.repeat([2001, 2002, 2003], 10)
    display = TopicEffectsDisplay.from_groups(arrays, corpus.data, years, topics=[3, 0], ordered=True)
    for j, year in enumerate((2001, 2002, 2003)):
        np.testing.assert_allclose(display.estimate[j], corpus.doc_topic[years == year].mean(axis=0)[[3, 0]])
    with pytest.raises(TypeError, match=r"no collection_topic_.*CompoundLDA"):
        TopicEffectsDisplay.from_groups(arrays, corpus.data)
    with pytest.raises(ValueError, match=r"groups has 30 .* 5"):
        TopicEffectsDisplay.from_groups((arrays[0], arrays[1][:5]), groups=years)


@pytest.mark.parametrize("ordered", [True, False])
def test_groups_of_any_name(arrays, corpus, ordered):
    names = ["$\\frac{$", "\ud800", "a\nb", "x" * 300, b"x", ("$^$", 1), "_hidden"]
    groups = np.empty(30, object)
    groups[:] = [names[d % 7] for d in range(30)]
    display = TopicEffectsDisplay.from_groups(arrays, corpus.data, groups, ordered=ordered)
    display.figure_.canvas.draw()
    ax = display.axes_[-1 if ordered else 0]
    shown = [label.get_text() for label in (ax.get_xticklabels() if ordered else ax.get_yticklabels())]
    assert len(shown) == 7 and all(0 < len(name) <= 45 for name in shown)


def collections(labels, mean=(0.1, 0.5, 0.98), std=(0.1, 0.05, 0.02), **options):
    """The Axes of one topic with these shares of groups, and the entries of the legend."""
    mean, std = np.array(mean)[:, None], np.array(std)[:, None]
    low, high = np.maximum(mean - 2 * std, 0), np.minimum(mean + 2 * std, 1)
    shares = GroupShares(list(labels), mean, low, high, attenuation=np.ones(1), kind="sample")
    with patch("sklda.inspection._topic_effects_display.group_shares", lambda *given, **options: shares):
        arrays = np.full((1, 3), 1 / 3), np.ones((3, 1))
        display = TopicEffectsDisplay.from_groups(arrays, None, list("abc"), **options)
    entries = [text.get_text() for text in display.legend_.get_texts()] if display.legend_ else []
    return display.axes_[0], entries


def segments(ax):
    return np.concatenate([each.get_segments() for each in ax.collections if each.get_segments()])


@pytest.mark.parametrize(
    "years",
    [
        (1987, 1990, 2001),
        ("1987", "1990", "2001"),
        tuple(date(year, 1, 1) for year in (1987, 1990, 2001)),
        tuple(np.datetime64(f"{year}-01-01") for year in (1987, 1990, 2001)),
        (2001, 1987, 1990),
    ],
)
def test_years_of_collections_are_on_an_axis_of_dates(years):
    ax, entries = collections(years)
    assert isinstance(ax.xaxis.get_major_locator(), AutoDateLocator)
    places = [num2date(x).year for x in ax.lines[0].get_xdata(orig=False)]
    assert places == [1987, 1990, 2001] and entries == ["95 % intervals"]
    # Also of the line that joins them, whose points follow each other in time.
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), [0.5, 0.98, 0.1] if years[0] == 2001 else [0.1, 0.5, 0.98])


def test_numbers_of_collections_are_on_an_axis_of_numbers():
    ax, _ = collections((1, 2, 7))
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 7] and all(tick == int(tick) for tick in ax.get_xticks())


@pytest.mark.parametrize("labels", [("a", "b", "c"), (True, False, "c"), ("1987", "1990", "unknown"), (1, 2, None)])
def test_other_collections_are_rows(labels):
    ax, _ = collections(labels)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(map(str, labels))
    ax, _ = collections(labels, ordered=True)
    assert [label.get_text() for label in ax.get_xticklabels()] == list(map(str, labels))


@pytest.mark.parametrize("ordered", [True, False])
def test_shares_of_collections_lie_within_0_and_100_percent(ordered):
    ax, _ = collections((1987, 1990, 2001), ordered=ordered)
    axis = int(ordered)
    np.testing.assert_allclose(segments(ax)[:, :, axis], [[0, 0.3], [0.4, 0.6], [0.94, 1]])
    assert (ax.get_ylim() if ordered else ax.get_xlim()) == (0, 1)


def test_a_share_of_unknown_error_is_open():
    ax, entries = collections("abc", std=(0.1, np.nan, 0.02))
    (point,) = (line for line in ax.lines if line.get_markerfacecolor() == ax.get_facecolor())
    np.testing.assert_allclose(point.get_xydata(), [[0.5, 1]])
    assert entries == ["error unknown", "95 % intervals"]
    assert collections("abc", std=(np.nan,) * 3)[1] == ["error unknown"]


def test_collections_of_a_pipeline():
    corpus = make_compound_lda_corpus([15, 15], 20, 3, random_state=0)
    lda = CompoundLDA(3, max_iter=20, random_state=0).fit(corpus.data, collections=corpus.collections)
    pipeline = make_pipeline("passthrough", lda)
    display = TopicEffectsDisplay.from_groups(pipeline)
    order = np.argsort(-lda.topic_share_, kind="stable")
    np.testing.assert_array_equal(display.estimate, lda.collection_topic_[:, order])
    low, high = share_interval(display.estimate, lda.collection_topic_std_[:, order], np.inf, 0.95)
    np.testing.assert_allclose([display.low, display.high], [low, high])


def test_models_of_scikit_learn(corpus):
    nmf = NMF(3, random_state=0, max_iter=400).fit(corpus.data)
    display = TopicWordsDisplay.from_estimator(nmf, n_words=20)
    assert [sum(widths(ax.patches)) for ax in display.axes_] == pytest.approx([1, 1, 1])


@pytest.mark.filterwarnings("ignore:The fonts of plots lack", "ignore:Matplotlib currently does not support")
def test_hostile_names_are_drawn():
    V = len(HOSTILE)
    arrays = np.random.default_rng(0).dirichlet(np.ones(V), 3), np.full((V, 3), 1 / 3)
    names = [*HOSTILE[:-1], "$x$ $"]
    display = TopicWordsDisplay.from_estimator(describe(arrays, vocabulary=names), n_words=V)
    display.figure_.canvas.draw()
    texts = [label.get_text() for label in display.axes_[0].get_yticklabels()]
    assert max(map(len, texts)) <= 44 and all(c.isprintable() for text in texts for c in text)


def test_characters_that_no_font_has_give_one_warning_with_advice():
    # Cuneiform.
    names = [chr(0x12000 + i) for i in range(33)]
    arrays = np.random.default_rng(0).dirichlet(np.ones(33), 3), np.full((33, 3), 1 / 3)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        TopicWordsDisplay.from_estimator(describe(arrays, vocabulary=names), n_words=33).figure_.canvas.draw()
    (only,) = found
    assert "33 characters" in str(only.message) and "font.family" in str(only.message)
    assert only.filename == __file__


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda a: TopicWordsDisplay.from_estimator(a, n_words=0), ValueError, "n_words must be at least 1"),
        (lambda a: TopicWordsDisplay.from_estimator(a, topics=[0.5]), ValueError, "topics must be numbers"),
    ],
)
def test_bad_input(arrays, call, error, message):
    with pytest.raises(error, match=message):
        call(arrays)
