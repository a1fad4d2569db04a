"""Names of topics: where they come from, what shows them, and what survives."""

import copy
import pickle
import re

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.decomposition import NMF
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import CollapsedVariationalLDA, CompoundLDA, ConsensusTopics, GibbsLDA, LabeledLDA, TopicCountLDA
from sklda.inspection import (
    TopicEffectsDisplay,
    TopicExplorer,
    TopicWordsDisplay,
    describe,
    document_table,
    token_topics,
    top_documents,
    topic_table,
)

pytest.importorskip("matplotlib.pyplot")
X = np.random.default_rng(0).poisson(1, (20, 12))
NAMES = ["sport", "tokens", "états"]
SHOWN = [f"{k}: {name}" for k, name in enumerate(NAMES)]


@pytest.fixture
def lda():
    return GibbsLDA(3, max_iter=5, random_state=0).fit(X).set_topic_names(NAMES)


def test_names_are_an_attribute_of_the_fit(lda):
    assert lda.topic_names_.tolist() == lda.get_feature_names_out().tolist() == NAMES
    for same in (pickle.loads(pickle.dumps(lda)), copy.deepcopy(lda)):
        assert same.topic_names_.tolist() == NAMES
    assert not hasattr(clone(lda), "topic_names_")
    table = lda.set_output(transform="pandas").transform(X)
    assert list(table.columns) == NAMES
    assert lda.set_topic_names(None).get_feature_names_out()[0] == "gibbslda0"
    lda.set_topic_names(np.array(NAMES)).fit(X)
    assert not hasattr(lda, "topic_names_")


def test_a_dict_names_some_topics(lda):
    assert lda.set_topic_names({1: "words"}).topic_names_.tolist() == ["sport", "words", "états"]
    lda.set_topic_names(None).set_topic_names({np.int64(0): "first"})
    assert lda.topic_names_.tolist() == ["first", "gibbslda1", "gibbslda2"] == lda.get_feature_names_out().tolist()
    for names, error, message in [
        ({3: "x"}, ValueError, "names has topic 3; topics have the numbers 0 to 2"),
        ({-1: "x"}, ValueError, "a topic in names must be at least 0, got -1"),
        ({"first": "x"}, TypeError, "a topic in names must be an int, got 'first'"),
        ({0: 1}, TypeError, r"names\[0\] is 1: a name of a topic is a str"),
        ({1: "first"}, ValueError, r"names\[0\] and names\[1\] are both 'first'"),
    ]:
        with pytest.raises(error, match=message):
            lda.set_topic_names(names)
        assert lda.topic_names_.tolist() == ["first", "gibbslda1", "gibbslda2"]


def test_topics_without_a_name_show_their_words():
    frame = pandas.DataFrame(X, columns=[f"w{v:02}" for v in range(12)])
    lda = GibbsLDA(3, max_iter=5, random_state=0).fit(frame).set_topic_names({1: "sport"})
    own = [" ".join(words) for words in topic_table(lda, n_words=3)["words"]]
    assert topic_table(lda)["name"].tolist() == [own[0], "sport", own[2]]
    assert set(TopicWordsDisplay.from_estimator(lda).names) == {f"0: {own[0]}", "1: sport", f"2: {own[2]}"}
    assert list(document_table(lda, frame).columns[3:6]) == [own[0], "sport", own[2]]
    assert lda.get_feature_names_out().tolist() == ["gibbslda0", "sport", "gibbslda2"]
    # Without words, numbers.
    plain = GibbsLDA(3, max_iter=5, random_state=0).fit(X).set_topic_names({1: "sport"})
    assert topic_table(plain)["name"].tolist() == ["gibbslda0", "sport", "gibbslda2"]
    assert topic_table(describe(plain, vocabulary=frame.columns))["name"][1:].tolist() == ["sport", own[2]]


def test_skops_keeps_names(lda):
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(lda)
    assert skops.loads(data, trusted=skops.get_untrusted_types(data=data)).topic_names_.tolist() == NAMES


@pytest.mark.parametrize(
    "model",
    [
        CollapsedVariationalLDA(3, random_state=0),
        CompoundLDA(3, max_iter=5, random_state=0),
        ConsensusTopics(GibbsLDA(3, max_iter=5), n_fits=2, min_prevalence=0.5, n_splits=0, random_state=0),
        TopicCountLDA(min_components=2, max_components=3, max_iter=40, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_all_estimators_have_names(model):
    names = [f"n{k}" for k in range(model.fit(X)._n_features_out)]
    assert model.set_topic_names(names).get_feature_names_out().tolist() == names
    assert topic_table(model)["name"].tolist() == names
    if hasattr(model, "partial_fit"):
        assert model.partial_fit(X).topic_names_.tolist() == names
    assert not hasattr(model.fit(X), "topic_names_")


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["a", "b"], ValueError, "has 2 names; there are 3 topics"),
        (["a", "b", "a"], ValueError, re.escape("[0] and") + ".* are both 'a'"),
        (["a", " ", "b"], ValueError, re.escape("[1] is empty")),
        (["a", None, "b"], TypeError, re.escape("[1] is None: a name of a topic is a str")),
        ([1, 2, 3], TypeError, re.escape("[0] is 1")),
        ("abc", TypeError, "must hold one name for each topic, got 'abc'"),
        ({"a", "b", "c"}, TypeError, "must hold one name"),
        (np.array([["a", "b", "c"]]), TypeError, "must hold one name"),
        (3, TypeError, "must hold one name"),
    ],
)
def test_bad_names(lda, names, error, message):
    with pytest.raises(error, match=message):
        lda.set_topic_names(names)
    assert lda.topic_names_.tolist() == NAMES
    with pytest.raises(error, match=r"^topic_names"):
        topic_table(describe(lda, topic_names=names))


def test_names_that_were_replaced_are_checked(lda):
    lda.topic_names_ = ["a"]
    for call in (lda.get_feature_names_out, lambda: topic_table(lda)):
        with pytest.raises(ValueError, match=r"topic_names_ has 1 .* 3 topics"):
            call()
    with pytest.raises(NotFittedError):
        GibbsLDA().set_topic_names(NAMES)


def test_tables_show_names(lda):
    assert topic_table(lda)["name"].tolist() == NAMES
    assert top_documents(lda)["name"].tolist() == NAMES
    table = document_table(lda, X=X)
    # A topic must not take the place of another column.
    assert {"sport", "tokens (2)", "états", "sport_std", "tokens (2)_std"} <= set(table.columns)
    np.testing.assert_array_equal(table["tokens"], X.sum(axis=1))
    np.testing.assert_array_equal(table["tokens (2)"], lda.doc_topic_[:, 1])
    main = [["sport", "tokens (2)", "états"][k] for k in lda.doc_topic_.argmax(axis=1)]
    assert table["main_topic"].tolist() == main
    tokens = token_topics(lda, X, document=0)
    assert tokens["name"].tolist() == [NAMES[k] for k in tokens["topic"]]
    np.testing.assert_allclose(tokens[NAMES].sum(axis=1), 1)


def test_given_names_come_first(lda):
    other = ["x", "y", "topic"]
    assert topic_table(describe(lda, topic_names=other))["name"].tolist() == other
    assert "x" in document_table(describe(lda, topic_names=other))
    nmf = NMF(3, random_state=0, max_iter=400).fit(X)
    assert topic_table(describe(nmf, topic_names=other))["name"].tolist() == other
    arrays = lda.topic_word_, lda.doc_topic_
    assert topic_table(describe(arrays, topic_names=other))["name"].tolist() == other
    assert "name" not in topic_table(arrays)


def test_plots_show_names(lda):
    by_share = [SHOWN[k] for k in np.argsort(-lda.topic_share_)]
    assert TopicWordsDisplay.from_estimator(lda).names == by_share
    groups = np.arange(20) % 2
    shown = TopicEffectsDisplay.from_groups(lda, X, groups, topics=["états", 0])
    assert shown.topics == [SHOWN[2], SHOWN[0]]
    given = TopicEffectsDisplay.from_groups(describe(lda, topic_names=["a", "b", "c"]), X, groups, topics="b")
    assert given.topics == ["1: b"]
    with pytest.raises(ValueError, match="numbers from 0 to 2, or their names; got \\['no such'\\]"):
        TopicWordsDisplay.from_estimator(lda, topics=["no such"])


def test_the_explorer_has_names(lda):
    explorer = TopicExplorer.from_estimator(lda, X)
    assert explorer.data["topics"]["name"] == NAMES
    assert '"name":["a","b","c"]' in explorer.to_html(topic_names=["a", "b", "c"])
    assert explorer.data["topics"]["name"] == NAMES
    with pytest.raises(ValueError, match="topic_names has 2 names"):
        explorer.to_html(topic_names=["a", "b"])


def test_labels_are_names():
    labels = np.array(["sport", "money", "shared 0"])[np.arange(20) % 3]
    lda = LabeledLDA(n_shared=2, max_iter=5, n_draws=1, random_state=0).fit(X, labels)
    names = ["money", "shared 0", "sport", "shared 0 (2)", "shared 1"]
    assert lda.topic_names_.tolist() == lda.get_feature_names_out().tolist() == names
    assert topic_table(lda)["name"].tolist() == names
    assert set(names) <= set(document_table(lda, X=X))
    assert TopicExplorer.from_estimator(lda, X).data["topics"]["name"] == names
    assert topic_table(describe(lda, topic_names=list("abcde")))["name"].tolist() == list("abcde")


def test_columns_of_a_matrix_without_names_are_no_names():
    Y = np.eye(3, dtype=int)[np.arange(20) % 3]
    lda = LabeledLDA(n_shared=1, max_iter=5, n_draws=1, random_state=0).fit(X, Y)
    assert not hasattr(lda, "topic_names_") and lda.get_feature_names_out()[0] == "labeledlda0"
    numbers = LabeledLDA(max_iter=5, n_draws=1, random_state=0).fit(X, np.arange(20) % 3)
    assert not hasattr(numbers, "topic_names_")
    assert numbers.fit(X, 5 + np.arange(20) % 3).topic_names_.tolist() == ["5", "6", "7"]
    named = pandas.DataFrame(Y, columns=["a", "", "a"])
    assert lda.fit(X, named).topic_names_.tolist() == ["a", "(empty)", "a (2)", "shared 0"]


def test_suggested_names_are_distinguishing_words():
    texts = ["the cat sleeps the cat", "the bank pays the bank", "the cat the bank"] * 5
    lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=30, random_state=0)
    pipeline = make_pipeline(CountVectorizer(), lda).fit(texts)
    names = topic_table(pipeline, texts, columns=["name"])["name"]
    # The terms, by their formula.
    phi, share = lda.topic_word_, np.ravel(CountVectorizer().fit_transform(texts).sum(axis=0))
    terms = phi * np.log(phi / (share / share.sum()))
    words = pipeline[0].get_feature_names_out()
    assert names.tolist() == [", ".join(words[np.argsort(-row)[:3]]) for row in terms]
    pipeline[-1].set_topic_names(names)
    assert pipeline.get_feature_names_out().tolist() == names.tolist()
    assert topic_table(pipeline, columns=["name"])["name"].tolist() == names.tolist()


def test_suggested_names_are_distinct():
    phi = np.array([[0.4, 0.2, 0.3, 0.1, 0.0], [0.4, 0.2, 0.3, 0.0, 0.1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]])
    named = describe((phi, [[0.25] * 4]), vocabulary=list("abcde"))
    assert topic_table(named, columns="name")["name"].tolist() == ["a, c, b, d", "a, c, b, e", "e", "e (2)"]
    equal = np.full((3, 2), 0.5)
    assert topic_table((equal, [[0.2, 0.3, 0.5]]), columns="name")["name"].nunique() == 3
