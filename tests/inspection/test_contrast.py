"""Two sides next to each other, the quality of topics, and passages: tables and displays have the right numbers."""

import numpy as np
import pandas as pd
import pytest
from inspection_pages import HOSTILE
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda._core.distances import jensen_shannon
from sklda.datasets import make_lda_corpus
from sklda.inspection import DocumentTopicsDisplay, contrast_topics, describe
from sklda.inspection._document_topics import _lines

pytest.importorskip("matplotlib.pyplot")
TEXTS = ["Apple banana, apple!", "banana cherry apple", "car engine $wheel$", "engine wheel wheel"]


@pytest.fixture(scope="module")
def corpus():
    return make_lda_corpus(60, 30, 3, doc_length=40, random_state=0)


@pytest.fixture(scope="module")
def lda(corpus):
    return GibbsLDA(3, max_iter=30, n_chains=2, random_state=0).fit(corpus.data)


@pytest.fixture(scope="module")
def pipeline():
    model = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    return make_pipeline(CountVectorizer(), model).fit(TEXTS)


def test_all_words_together_have_the_divergence(corpus):
    table = contrast_topics((corpus.topic_word, corpus.doc_topic), topic=0, other_topic=2, n_words=30)
    assert table["divergence"].sum() == pytest.approx(jensen_shannon(corpus.topic_word)[0, 2] ** 2)
    assert len(table) == 30
    v = table["word"].astype(int)
    np.testing.assert_allclose(table["probability"], corpus.topic_word[0, v])
    np.testing.assert_allclose(table["log_ratio"], np.log(corpus.topic_word[0, v] / corpus.topic_word[2, v]))
    first = table["log_ratio"] > 0
    assert table["side"][first].nunique() == table["side"][~first].nunique() == 1
    assert (np.diff(table["divergence"][first]) <= 0).all()


def test_two_models(corpus, lda):
    arrays = corpus.topic_word, corpus.doc_topic
    table = contrast_topics(arrays, topic=0, other_topic=1, other_estimator=lda, n_words=3)
    np.testing.assert_allclose(table["probability_in_other"], lda.topic_word_[1, table["word"].astype(int)], rtol=1e-6)
    assert table["side"].str.contains(r"\(model\)").any() and table["side"].str.contains(r"\(other model\)").any()
    with pytest.raises(ValueError, match="30 features and other_estimator 2"):
        contrast_topics(arrays, topic=0, other_topic=0, other_estimator=([[0.5, 0.5]], [[1.0]]))
    named = GibbsLDA(2, max_iter=5, random_state=0)
    other = [make_pipeline(CountVectorizer(), named).fit([text]) for text in ("a1 b1 b1", "a1 c1 c1")]
    with pytest.raises(ValueError, match="other names"):
        contrast_topics(other[0], topic=0, other_topic=0, other_estimator=other[1])
    assert len(contrast_topics(lda, topic=1, other_topic=1)) == 0


def test_a_passage_is_the_text(pipeline):
    display = DocumentTopicsDisplay.from_estimator(pipeline, TEXTS, document=2, text=TEXTS[2])
    assert "".join(piece for piece, _ in display.parts) == TEXTS[2]
    coloured = [piece for piece, topic in display.parts if topic >= 0]
    assert coloured == ["car", "engine", "wheel"]
    display.figure_.canvas.draw()
    assert "$wheel$".replace("wheel", "") not in {each.get_text() for each in display.ax_.texts}
    short = DocumentTopicsDisplay.from_estimator(pipeline, TEXTS, document=0, text=TEXTS[0], n_characters=7)
    assert "".join(piece for piece, _ in short.parts) == "Apple b…"
    long = " ".join([TEXTS[0]] * 700)
    whole = DocumentTopicsDisplay.from_estimator(pipeline, TEXTS, document=0, text=long, n_characters=9000)
    shown = "".join(part for part, _ in whole.parts)
    assert len(long) > 9001 == len(shown) and shown == f"{long[:9000]}…"
    # A row of X, whatever the labels of its index.
    for texts in (TEXTS, pd.Series(TEXTS, [2, 0, 3, 1]), pd.Series(TEXTS, list("abcd"))):
        assert DocumentTopicsDisplay.from_estimator(pipeline, texts, document=2).parts == display.parts
    words = DocumentTopicsDisplay.from_estimator(
        describe(pipeline[-1], pipeline[0].transform(TEXTS), vocabulary=pipeline[0].get_feature_names_out()), document=3
    )
    assert "".join(piece for piece, _ in words.parts).split() == ["wheel×2", "engine"]
    assert len(words.topics) == 1


def test_lines_have_all_words_and_a_width():
    rng = np.random.default_rng(0)
    parts = [("x" * n + " ", int(n) % 3 - 1) for n in rng.integers(1, 20, 80)] + [("y" * 200, 0)]
    lines = _lines(parts)
    assert max(sum(len(piece) for piece, _ in line) for line in lines) <= 80
    joined = "".join("".join(piece for piece, _ in line) for line in lines)
    assert joined.replace(" ", "") == "".join(piece for piece, _ in parts).replace(" ", "")
    assert {topic for line in lines for piece, topic in line if "y" in piece} == {0}


# Fonts differ between computers.
@pytest.mark.filterwarnings("ignore:The fonts of plots lack")
def test_hostile_names_are_drawn():
    for names in (HOSTILE[:7], HOSTILE[7:]):
        tokens = [(f"{name} ", k) for k, name in enumerate(names)]
        display = DocumentTopicsDisplay([*tokens, ("$x", 0)], names, " ".join(names)).plot()
        display.figure_.canvas.draw()


def test_what_a_passage_refuses(pipeline):
    with pytest.raises(TypeError, match="text must be a str"):
        DocumentTopicsDisplay.from_estimator(pipeline, TEXTS, document=0, text=["a"])
    with pytest.raises(ValueError, match="no words to show"):
        DocumentTopicsDisplay.from_estimator(pipeline, [*TEXTS, "zebra"], document=4)
    with pytest.raises(ValueError, match="n_topics must lie between 1 and 7"):
        DocumentTopicsDisplay.from_estimator(pipeline, TEXTS, document=0, n_topics=8)
