"""Words, tokens and documents of labels: tables and displays of `LabeledLDA`."""

import numpy as np
import pytest

from sklda import LabeledLDA
from sklda.inspection import ConvergenceDisplay, describe, document_table, to_arviz, token_topics, topic_table

WORDS = ["apple", "banana", "engine", "the", "wheel"]
X = np.array([[4, 2, 0, 3, 0], [0, 0, 3, 2, 3], [2, 2, 1, 2, 2], [0, 0, 0, 5, 0]])
Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])


@pytest.fixture(scope="module")
def fitted():
    import pandas as pd

    lda = LabeledLDA(doc_topic_prior=0.5, topic_word_prior=0.1, random_state=0)
    return lda.fit(X, pd.DataFrame(Y, columns=["fruit", "car"]))


def test_words_of_labels(fitted):
    table = topic_table(describe(fitted, vocabulary=WORDS), rank_by="relevance", n_words=2)
    assert table["name"].tolist() == ["fruit", "car"]
    assert [set(words) for words in table["words"]] == [{"apple", "banana"}, {"engine", "wheel"}]


def test_tokens_have_labels_of_their_document(fitted):
    table = token_topics(describe(fitted, vocabulary=WORDS), X)
    assert set(table["name"][table["document"] == 0]) == {"fruit"}
    assert set(table["name"][table["document"] == 1]) == {"car"}
    assert set(table["name"][table["document"] == 3]) == {""}
    one = token_topics(fitted, X, document=0)
    assert (one["fruit"] == 1).all()
    both = token_topics(fitted, X, document=2)
    np.testing.assert_allclose(both["fruit"] + both["car"], 1)
    # The full conditional of the first token, by its formula.
    z, words = fitted.topic_assignments_, np.repeat(np.tile(np.arange(5), 4), X.ravel())
    documents = np.repeat(np.repeat(np.arange(4), 5), X.ravel())
    first = int(np.flatnonzero(documents == 2)[0])
    rest = np.arange(len(z)) != first
    n = np.array([(rest & (documents == 2) & (z == k)).sum() for k in range(2)])
    m = np.array([(rest & (words == words[first]) & (z == k)).sum() for k in range(2)])
    totals = np.array([(rest & (z == k)).sum() for k in range(2)])
    weights = (n + 0.5) * (m + 0.1) / (totals + 0.5)
    assert both["fruit"][0] == pytest.approx(weights[0] / weights.sum())
    assert (token_topics(fitted, X, document=3)[["fruit", "car"]] == 0).all(axis=None)


def test_tokens_of_new_documents_may_have_any_label(fitted):
    table = token_topics(describe(fitted, vocabulary=WORDS), X[2:] + 1)
    assert set(table["name"]) == {"fruit", "car"}


def test_other_tables_and_plots(fitted):
    table, expected = document_table(fitted, X=X), fitted.doc_topic_.copy()
    # The fit has left out the last document, which has no label.
    expected[-1] = np.nan
    np.testing.assert_array_equal(table[["fruit", "car"]], expected)
    assert table["main_topic"].isna().tolist() == [False, False, False, True]
    display = ConvergenceDisplay.from_estimator(fitted)
    assert len(display.lines_) == 5


def test_traces_for_arviz(fitted):
    pytest.importorskip("arviz_base")
    assert to_arviz(fitted) is not None
