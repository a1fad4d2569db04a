"""The table of topics: its columns, their numbers, and every kind of model."""

import numpy as np
import pytest
from inspection_pages import HOSTILE
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
)
from sklda.inspection import describe, top_documents, topic_table
from sklda.metrics import topic_coherence, topic_exclusivity

# Three topics with four words each.
X = np.random.default_rng(0).poisson(0.3 + 5 * (np.arange(20)[:, None] % 3 == np.arange(12) // 4))
LABELS = ["sport" if d % 2 else "money" for d in range(20)]


def all_columns(model, X=None, **options):
    """The table with all columns."""
    return topic_table(model, X, columns="all", **options)


@pytest.fixture(scope="module")
def chains():
    return GibbsLDA(3, max_iter=120, n_chains=3, random_state=0).fit(X)


def test_columns_are_those_of_other_tables_and_metrics(chains):
    report = all_columns(chains, X, n_words=4)
    assert report["words"].tolist() == topic_table(chains, n_words=4)["words"].tolist()
    exclusive = topic_table(chains, n_words=4, X=X, rank_by="frex")
    assert report["exclusive_words"].tolist() == exclusive["words"].tolist()
    columns = {name: column.to_numpy() for name, column in report.items()}
    np.testing.assert_array_equal(columns["share"], chains.topic_share_)
    np.testing.assert_array_equal(columns["share_std"], chains.topic_share_std_)
    np.testing.assert_array_equal(columns["stability"], chains.topic_stability_)
    np.testing.assert_array_equal(columns["prevalence"], chains.topic_prevalence_)
    assert columns["found_in"][0] == f"{round(3 * chains.topic_prevalence_[0])} of 3 chains"
    np.testing.assert_array_equal(columns["coherence"], topic_coherence(chains, X, n_words=4, per_topic=True))
    exclusivity = topic_exclusivity(chains, n_words=4, per_topic=True)
    np.testing.assert_allclose(columns["exclusivity"], exclusivity, rtol=1e-14)
    weights = X.sum(axis=1)[:, None] * chains.doc_topic_
    np.testing.assert_allclose(columns["effective_documents"], np.exp(entropy(weights)), rtol=1e-5)
    closest = top_documents(chains, n_documents=1, X=X)
    assert columns["document"].tolist() == [rows[0] for rows in closest["rows"]]
    assert columns["proportion"].tolist() == [values[0] for values in closest["proportions"]]


def test_documents_that_were_not_in_the_fit(chains):
    new = X[:5] + 1
    report = all_columns(chains, new)
    assert "share_std" not in report and "stability" in report
    theta, lengths = chains.transform(new), new.sum(axis=1)
    np.testing.assert_allclose(report["share"].tolist(), lengths @ theta / lengths.sum())
    assert report["coherence"].tolist() == topic_coherence(chains, new, per_topic=True).tolist()


def test_the_names_that_are_given(chains):
    names = ["sport", "money", "x" * 200]
    documents = [f"text {d}" for d in range(20)]
    report = all_columns(describe(chains, X, topic_names=names, document_names=documents))
    assert report["name"].tolist() == names and report.shape == (3, 18) and set(report["document"]) <= set(documents)


@pytest.mark.parametrize(
    "model",
    [
        GibbsLDA(2, max_iter=5, random_state=0),
        EmpiricalBayesLDA(2, max_iter=40, random_state=0),
        TopicCountLDA(min_components=2, max_components=3, max_iter=40, random_state=0),
        CompoundLDA(2, max_iter=5, random_state=0),
        CollapsedVariationalLDA(2, max_iter=5, random_state=0),
        ConsensusTopics(NMF(2, init="random", max_iter=500), n_fits=2, n_splits=0, random_state=0),
        LatentDirichletAllocation(2, max_iter=3, random_state=0),
        NMF(2, max_iter=500, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_every_model(model):
    report = all_columns(model.fit(X), X)
    assert len(report) == len(model.components_) and {"name", "words", "coherence", "document", "nearest"} <= set(
        report
    )
    # Without words of its own, a topic has no stability.
    known = report.select_dtypes("number").drop(columns=["stability", "prevalence"], errors="ignore")
    assert np.isfinite(known).all(axis=None) and (report["effective_documents"] <= 20).all()


def test_topics_without_tokens_have_no_stability(chains, monkeypatch):
    monkeypatch.setattr(chains, "topic_stability_", np.array([0.5, np.nan, 0.7]))
    monkeypatch.setattr(chains, "topic_prevalence_", np.array([1, np.nan, 1 / 3]))
    report = all_columns(chains, X)
    assert report["found_in"].tolist() == ["3 of 3 chains", "", "1 of 3 chains"]
    assert report["stability"].isna().tolist() == [False, True, False]


def test_labels_and_collections():
    labelled = LabeledLDA(n_shared=1, max_iter=5, random_state=0).fit(X, LABELS)
    assert all_columns(labelled, X)["name"].tolist() == ["money", "sport", "shared 0"]
    compound = CompoundLDA(2, max_iter=5, random_state=0).fit(X, collections=LABELS)
    known = all_columns(describe(compound, X[:6], collections=LABELS[:6]))["share"].tolist()
    theta = compound.transform(X[:6], collections=LABELS[:6])
    np.testing.assert_allclose(known, X[:6].sum(axis=1) @ theta / X[:6].sum())


def test_a_pipeline_of_texts():
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel", ""]
    lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    pipeline = make_pipeline(CountVectorizer(), lda).fit(texts)
    report = all_columns(pipeline, texts, n_words=2)
    assert sorted(words[0] for words in report["words"]) == ["apple", "wheel"]
    assert (report["coherence"] > 0.5).all() and report["effective_documents"].between(1, 2.5).all()


def test_odd_models():
    one = all_columns(([[1.0]], [[1.0], [1.0]]), [[3], [1]])
    assert np.isnan(one["coherence"][0]) and one["words"][0] == ["0"]
    arrays = np.eye(2, 3), [[1.0, 0.0], [1.0, 0.0]]
    assert all_columns(arrays, [[1, 0, 1], [2, 0, 1]])["effective_documents"][1] == 0
    V = len(HOSTILE)
    hostile = np.full((1, V), 1 / V), np.ones((2, 1))
    report = all_columns(
        describe(hostile, np.ones((2, V), int), vocabulary=HOSTILE, document_names=HOSTILE[:2]), n_words=V
    )
    assert report["words"][0] == HOSTILE and report["document"][0] == HOSTILE[0]
    assert "<script" not in report._repr_html_()


def test_columns_that_are_asked_for(chains):
    named = describe(chains, vocabulary=[f"w{v}" for v in range(12)])
    assert topic_table(named).columns.tolist() == ["topic", "share", "words"]
    assert topic_table(named, columns=["found_in", "share"]).columns.tolist() == ["topic", "found_in", "share"]
    assert topic_table(named, columns="share").columns.tolist() == ["topic", "share"]
    assert "coherence" not in topic_table(named, columns="all") and "stability" in topic_table(named, columns="all")
    assert topic_table(describe(chains, topic_names=list("abc"))).columns.tolist() == [
        "topic",
        "name",
        "share",
        "words",
    ]
    # A row for each word.
    long = topic_table(named, X, columns=["words", "probabilities", "word_shares"], n_words=4)
    long = long.explode(["words", "probabilities", "word_shares"])
    v = long["words"].str[1:].astype(int)
    np.testing.assert_array_equal(long["probabilities"].astype(float), chains.topic_word_[long["topic"], v])
    np.testing.assert_allclose(long["word_shares"].astype(float), X.sum(axis=0)[v] / X.sum())


def test_the_nearest_topic_has_the_most_similar_words():
    phi = np.random.default_rng(0).dirichlet(np.full(30, 0.3), 4)
    similarity = 1 - np.array([[jensenshannon(a, b, base=2) for a in phi] for b in phi])
    np.fill_diagonal(similarity, -1)
    table = topic_table((phi, np.full((1, 4), 0.25)), columns=["nearest", "similarity"])
    assert table["nearest"].tolist() == similarity.argmax(axis=1).tolist()
    np.testing.assert_allclose(table["similarity"], similarity.max(axis=1), atol=1e-7)
    one = topic_table(([[0.5, 0.5]], [[1.0]]), columns=["nearest", "similarity"])
    assert one["nearest"].tolist() == [-1] and one["similarity"].isna().all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda lda: all_columns(X, lda), TypeError, "the two arguments are exchanged"),
        (lambda lda: topic_table(lda, columns=["coherence"]), ValueError, "'coherence', which needs the documents"),
        (lambda lda: topic_table(lda, columns="document"), ValueError, "'document', which needs the documents"),
        (
            lambda lda: topic_table(lda, X[:4], columns=["share_std"]),
            ValueError,
            "no other documents than those of the",
        ),
        (
            lambda lda: topic_table((lda.topic_word_, lda.doc_topic_), columns=["stability"]),
            ValueError,
            "several chains",
        ),
        (lambda lda: topic_table(lda, columns=["word"]), ValueError, "columns has 'word'; it may have"),
        (lambda lda: topic_table(lda, columns=3), TypeError, "columns must hold names of columns"),
        (lambda lda: all_columns(lda, X, n_words=0), ValueError, "n_words must be at least 1"),
        (lambda lda: all_columns(lda, X * 0), ValueError, "X has no words"),
        (lambda lda: all_columns(lda, X[:, :3]), ValueError, "X has 3 features"),
        (lambda lda: all_columns(describe(lda, topic_names=["a"]), X), ValueError, "topic_names has 1 names"),
    ],
)
def test_refusals(chains, call, error, message):
    with pytest.raises(error, match=message):
        call(chains)
