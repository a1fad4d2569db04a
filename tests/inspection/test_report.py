"""The report of all topics: its numbers, its printed form, and every kind of model."""

import csv
import io

import numpy as np
import pandas
import pytest
from inspection_pages import HOSTILE
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
from sklda._core.records import Table
from sklda.inspection import top_documents, top_words, topic_report
from sklda.metrics import topic_coherence, topic_exclusivity

# Three topics with four words each.
X = np.random.default_rng(0).poisson(0.3 + 5 * (np.arange(20)[:, None] % 3 == np.arange(12) // 4))
LABELS = ["sport" if d % 2 else "money" for d in range(20)]
ESSENTIAL = ["topic", "name", "words", "exclusive_words", "share"]


@pytest.fixture(scope="module")
def chains():
    return GibbsLDA(3, max_iter=20, n_chains=3, random_state=0).fit(X)


def test_columns_are_those_of_other_tables_and_metrics(chains):
    report = topic_report(X, chains, n_words=4)
    assert [row["words"] for row in report] == [row["words"] for row in top_words(chains, 4)]
    exclusive = top_words(chains, 4, X=X, by="frex")
    assert [row["exclusive_words"] for row in report] == [row["words"] for row in exclusive]
    columns = {name: np.array([row[name] for row in report]) for name in report[0] if "words" not in name}
    np.testing.assert_array_equal(columns["share"], chains.topic_share_)
    np.testing.assert_array_equal(columns["share_std"], chains.topic_share_std_)
    np.testing.assert_array_equal(columns["stability"], chains.topic_stability_)
    np.testing.assert_array_equal(columns["prevalence"], chains.topic_prevalence_)
    assert columns["found_in"][0] == f"{round(3 * chains.topic_prevalence_[0])} of 3 chains"
    np.testing.assert_array_equal(columns["coherence"], topic_coherence(X, chains, n_words=4, per_topic=True))
    exclusivity = topic_exclusivity(chains, n_words=4, per_topic=True)
    np.testing.assert_allclose(columns["exclusivity"], exclusivity, rtol=1e-14)
    weights = X.sum(axis=1)[:, None] * chains.doc_topic_
    np.testing.assert_allclose(columns["effective_documents"], np.exp(entropy(weights)), rtol=1e-5)
    closest = top_documents(chains, 1, X=X)
    assert columns["document"].tolist() == [row["rows"][0] for row in closest]
    assert columns["proportion"].tolist() == [row["proportions"][0] for row in closest]


def test_documents_that_were_not_in_the_fit(chains):
    new = X[:5] + 1
    report = topic_report(new, chains)
    assert "share_std" not in report[0] and "stability" in report[0]
    theta, lengths = chains.transform(new), new.sum(axis=1)
    np.testing.assert_allclose([row["share"] for row in report], lengths @ theta / lengths.sum())
    assert [row["coherence"] for row in report] == topic_coherence(new, chains, per_topic=True).tolist()


def test_the_report_prints_and_can_be_stored(chains, tmp_path):
    names = ["sport", "money", "x" * 200]
    documents = [f"text {d}" for d in range(20)]
    report = topic_report(X, chains, topic_names=names, document_names=documents)
    lines = repr(report).splitlines()
    assert max(map(len, lines)) <= 76 and lines[0].startswith("0  sport ") and "%" in lines[0]
    for part in ("stability", "of 3 chains", "coherence", "exclusivity", "such as text"):
        assert part in repr(report[:1])
    assert type(report[:1]) is type(report) and repr(report[:0]) == "TopicReport([])"
    assert report._repr_html_().count("<tr>") == 4
    frame = pandas.DataFrame(report)
    assert frame["name"].tolist() == names and frame.shape == (3, 14)
    text = report.to_csv(tmp_path / "report.csv")
    assert (tmp_path / "report.csv").read_text(encoding="utf-8") == text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in rows] == names and rows[0]["words"] == ", ".join(report[0]["words"])
    assert float(rows[1]["share"]) == report[1]["share"] and report[:0].to_csv() == "\n"


def test_no_cell_of_a_file_is_a_formula():
    cells = ["=1+1", "+cmd", "-x", "@SUM(A1)", " =1", "\t=1", "-5", "+1e3", "a=b", "", None, "'=1", -0.5, float("-inf")]
    table = Table({"=name": cell, "words": [cell, "b"]} for cell in cells)
    rows = list(csv.reader(io.StringIO(table.to_csv())))
    assert rows[0] == ["'=name", "words"]
    expected = [
        "'=1+1",
        "'+cmd",
        "'-x",
        "'@SUM(A1)",
        "' =1",
        "'\t=1",
        "-5",
        "+1e3",
        "a=b",
        "",
        "",
        "'=1",
        "-0.5",
        "-inf",
    ]
    assert [row[0] for row in rows[1:]] == expected
    assert rows[1][1] == "'=1+1, b" and rows[9][1] == "a=b, b"
    assert not any(cell.lstrip()[:1] in ("=", "@") for row in rows for cell in row)


@pytest.mark.parametrize(
    "model",
    [
        GibbsLDA(2, max_iter=5, random_state=0),
        EmpiricalBayesLDA(2, max_iter=40, random_state=0),
        TopicCountLDA(min_components=2, max_components=3, max_sweeps=2000, random_state=0),
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
    report = topic_report(X, model.fit(X))
    assert len(report) == len(model.components_) and list(report[0])[:5] == ESSENTIAL
    frame = pandas.DataFrame(report)
    # Without words of its own, a topic has no stability.
    known = frame.select_dtypes("number").drop(columns=["stability", "prevalence"], errors="ignore")
    assert np.isfinite(known).all(axis=None) and (frame["effective_documents"] <= 20).all()
    assert repr(report)


def test_topics_without_tokens_have_no_stability(chains, monkeypatch):
    monkeypatch.setattr(chains, "topic_stability_", np.array([0.5, np.nan, 0.7]))
    monkeypatch.setattr(chains, "topic_prevalence_", np.array([1, np.nan, 1 / 3]))
    report = topic_report(X, chains)
    assert [row["found_in"] for row in report] == ["3 of 3 chains", "", "1 of 3 chains"]
    assert "no words of its own" in repr(report[1:2]) and "stability" not in repr(report[1:2])
    assert "stability 0.70, in 1 of 3 chains" in repr(report[2:]).replace("\n", " ")
    assert list(csv.DictReader(io.StringIO(report.to_csv())))[1]["stability"] == "nan"


def test_labels_and_collections():
    labelled = LabeledLDA(n_shared=1, max_iter=5, random_state=0).fit(X, LABELS)
    assert [row["name"] for row in topic_report(X, labelled)] == ["money", "sport", "shared 0"]
    compound = CompoundLDA(2, max_iter=5, random_state=0).fit(X, collections=LABELS)
    known = [row["share"] for row in topic_report(X[:6], compound, collections=LABELS[:6])]
    theta = compound.transform(X[:6], collections=LABELS[:6])
    np.testing.assert_allclose(known, X[:6].sum(axis=1) @ theta / X[:6].sum())


def test_a_pipeline_of_texts():
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel", ""]
    lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    pipeline = make_pipeline(CountVectorizer(), lda).fit(texts)
    report = topic_report(texts, pipeline, n_words=2)
    assert sorted(row["words"][0] for row in report) == ["apple", "wheel"]
    assert all(row["coherence"] > 0.5 and 1 <= row["effective_documents"] <= 2.5 for row in report)


def test_odd_models():
    one = topic_report([[3], [1]], ([[1.0]], [[1.0], [1.0]]))
    assert np.isnan(one[0]["coherence"]) and one[0]["words"] == ["0"] and "coherence nan" in repr(one)
    arrays = np.eye(2, 3), [[1.0, 0.0], [1.0, 0.0]]
    assert topic_report([[1, 0, 1], [2, 0, 1]], arrays)[1]["effective_documents"] == 0
    V = len(HOSTILE)
    hostile = np.full((1, V), 1 / V), np.ones((2, 1))
    report = topic_report(np.ones((2, V), int), hostile, feature_names=HOSTILE, document_names=HOSTILE[:2], n_words=V)
    assert all(c.isprintable() or c == "\n" for c in repr(report))
    assert "<script" not in report._repr_html_() and report.to_csv()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda lda: topic_report(lda, X), TypeError, "the two arguments are exchanged"),
        (lambda lda: topic_report(None, lda), ValueError, "X is None: give the documents"),
        (lambda lda: topic_report(X, lda, n_words=0), ValueError, "n_words must be at least 1"),
        (lambda lda: topic_report(X * 0, lda), ValueError, "X has no words"),
        (lambda lda: topic_report(X[:, :3], lda), ValueError, "X has 3 features"),
        (lambda lda: topic_report(X, lda, topic_names=["a"]), ValueError, "topic_names has 1 names"),
    ],
)
def test_refusals(chains, call, error, message):
    with pytest.raises(error, match=message):
        call(chains)
