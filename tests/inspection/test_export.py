"""export_results: files that other programs read, all of them or none, and nothing of others is touched."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklda import ConsensusTopics, GibbsLDA
from sklda.inspection import describe, document_table, export_results, top_documents, topic_table, topics_by_group

TEXTS = pd.Series(
    ["Katzen jagen Mäuse", "Mäuse fürchten Katzen", "Zinsen, Zinsen und Kredite", "Banken geben Kredite"] * 5,
    index=[f"d, {i}" for i in range(20)],
)
FILES = ["documents.csv", "keys.csv", "model.json", "proportions.csv", "report.csv", "words.csv"]


@pytest.fixture(scope="module")
def model():
    return make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=30, random_state=0)).fit(TEXTS)


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_files_have_what_the_tables_have(model, tmp_path):
    folder = tmp_path / "new" / "results"
    export_results(model, TEXTS, folder=folder, n_words=3)
    assert names(folder) == FILES
    tables = [name for name in FILES if name.endswith(".csv")]
    for name in tables:
        # Spreadsheets take other encodings without the mark.
        assert (folder / name).read_bytes().startswith(b"\xef\xbb\xbf")
    documents, keys, proportions, report, words = (pd.read_csv(folder / name) for name in tables)
    expected = top_documents(model, TEXTS, n_documents=5)
    assert documents.columns.tolist() == ["topic", "rank", "document", "proportion", "passage"]
    assert documents["rank"].tolist() == [1, 2, 3, 4, 5] * 2
    assert documents["document"].tolist() == expected["documents"].sum()
    assert documents["passage"].tolist() == expected["passages"].sum() == TEXTS[documents["document"]].tolist()
    np.testing.assert_allclose(documents["proportion"], expected["proportions"].sum(), rtol=1e-5)
    assert keys.columns.tolist() == ["topic", "name", "prior", "words"]
    assert keys["words"].str.split(", ").tolist() == topic_table(model, n_words=3)["words"].tolist()
    np.testing.assert_allclose(keys["prior"], model[-1].doc_topic_prior_, rtol=1e-5)
    expected = document_table(model, TEXTS)
    assert proportions["document"].tolist() == TEXTS.index.tolist()
    assert proportions.columns.tolist() == expected.columns.tolist()
    np.testing.assert_allclose(proportions["topic_1_std"], expected["topic_1_std"], rtol=1e-5)
    expected = topic_table(model, TEXTS, columns="all")
    # The probabilities of all words have a file of their own.
    assert report.columns.tolist() == expected.columns.drop(["probabilities", "word_shares"]).tolist()
    assert report["exclusive_words"].str.split(", ").tolist() == expected["exclusive_words"].tolist()
    np.testing.assert_allclose(report["coherence"], expected["coherence"], rtol=1e-5)
    assert words["word"].tolist() == model[0].get_feature_names_out().tolist()
    assert "mäuse" in words["word"].tolist()
    assert words.set_index("word").loc["zinsen", "count"] == 10
    np.testing.assert_allclose(words[["topic_0", "topic_1"]].sum(), 1, rtol=1e-4)


def test_groups_have_the_shares_of_their_table(model, tmp_path):
    groups = np.array(["b", "a"])[np.arange(len(TEXTS)) % 2]
    export_results(model, TEXTS, groups=groups, folder=tmp_path)
    found = pd.read_csv(tmp_path / "groups.csv")
    expected = topics_by_group(model, TEXTS, groups, random_state=0)
    assert found.columns.tolist() == ["group", "topic_0", "topic_1"] and found["group"].tolist() == ["a", "b"]
    np.testing.assert_allclose(found[["topic_0", "topic_1"]].to_numpy().T.ravel(), expected["estimate"], rtol=1e-5)
    assert "groups.csv" in json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))["files"]
    # Another call has other files.
    export_results(model, TEXTS, folder=tmp_path)
    assert names(tmp_path) == FILES


def test_the_description_of_the_model(model, tmp_path):
    named = describe(model, TEXTS, topic_names=["Tiere", "Geld"])
    export_results(named, folder=tmp_path)
    facts = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert facts["model"]["class"] == "sklda.GibbsLDA"
    assert facts["model"]["parameters"]["max_iter"] == 30
    assert [(step["name"], step["class"]) for step in facts["steps_before"]] == [
        ("countvectorizer", "sklearn.CountVectorizer")
    ]
    assert facts["steps_before"][0]["parameters"]["dtype"] == "numpy.int64"
    assert facts["topic_names"] == ["Tiere", "Geld"]
    assert facts["topics_have_names"]
    assert facts["fitted"]["n_iter_"] == 30
    assert facts["fitted"]["topic_word_prior_"] == model[-1].topic_word_prior_
    assert facts["documents"] == {"number": 20, "tokens": 65, "words": 9, "are_those_of_the_fit": True}
    assert {"sklda", "numpy", "python"} <= set(facts["versions"])
    assert sorted(facts["files"]) == FILES
    assert pd.read_csv(tmp_path / "proportions.csv").columns[2:5].tolist() == ["main_topic", "Tiere", "Geld"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_models(tmp_path):
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(TEXTS)
    words = vectorizer.get_feature_names_out()
    models = {
        "arrays": (np.full((2, 9), 1 / 9), np.full((20, 2), 0.5)),
        "nmf": NMF(2, init="random", random_state=0).fit(X),
        "consensus": ConsensusTopics(GibbsLDA(2, max_iter=20), n_fits=3, random_state=0).fit(X),
        "classifier": make_pipeline(GibbsLDA(2, max_iter=10, random_state=0), LogisticRegression()).fit(
            X, np.arange(20) % 2
        ),
    }
    for name, each in models.items():
        export_results(describe(each, X, vocabulary=words), folder=tmp_path / name)
        assert names(tmp_path / name) == FILES
    facts = json.loads((tmp_path / "consensus" / "model.json").read_text(encoding="utf-8"))
    assert facts["model"]["parameters"]["estimator"]["parameters"]["n_components"] == 2
    assert json.loads((tmp_path / "arrays" / "model.json").read_text(encoding="utf-8"))["model"] is None
    assert "prior" not in pd.read_csv(tmp_path / "nmf" / "keys.csv")


def test_what_the_folder_has_already(model, tmp_path):
    folder = tmp_path / "results"
    export_results(model, TEXTS, folder=folder)
    first = contents(folder)
    export_results(model, TEXTS, folder=folder)
    assert contents(folder) == first
    (folder / "my notes.txt").write_text("mine")
    export_results(model, TEXTS[:8], folder=folder)
    assert len(pd.read_csv(folder / "proportions.csv")) == 8
    assert (folder / "my notes.txt").read_text() == "mine"
    for own in ("words.csv", "model.json"):
        other = tmp_path / own.partition(".")[0]
        other.mkdir()
        (other / own).write_text('{"mine": 1}')
        with pytest.raises(ValueError, match=f"has '{own}'"):
            export_results(model, TEXTS, folder=other)
        assert contents(other) == {own: b'{"mine": 1}'}
    with pytest.raises(ValueError, match="is a file"):
        export_results(model, TEXTS, folder=folder / "my notes.txt")


@pytest.mark.parametrize("has_results", [False, True])
def test_a_full_disk_leaves_what_was_there(model, tmp_path, monkeypatch, has_results):
    if has_results:
        export_results(model, TEXTS, folder=tmp_path)
    before, move, calls = contents(tmp_path), os.replace, []

    def fails_once(source, target):
        calls.append(target)
        if len(calls) == (8 if has_results else 3):
            raise OSError("no space left on device")
        move(source, target)

    monkeypatch.setattr(os, "replace", fails_once)
    with pytest.raises(OSError, match="no space left"):
        export_results(model, TEXTS[:8], folder=tmp_path)
    assert contents(tmp_path) == before


def test_bad_arguments_leave_nothing(model, tmp_path):
    for arguments, error in (({"n_words": 0}, ValueError), ({"X": None}, ValueError), ({"X": ["unknown"]}, ValueError)):
        with pytest.raises(error):
            export_results(model, **({"X": TEXTS} | arguments), folder=tmp_path / "new")
    with pytest.raises(TypeError):
        export_results(model[0], TEXTS, folder=tmp_path / "new")
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("when", ["written", "moved"])
def test_after_an_error_the_folder_is_as_before(model, tmp_path, monkeypatch, error, when):
    old, new = tmp_path / "old", tmp_path / "new"
    export_results(model, TEXTS, folder=old)
    before = contents(old)
    if when == "written":
        write = Path.write_text

        def fail(path, *args, **kwargs):
            write(path, *args, **kwargs)
            raise error

        monkeypatch.setattr(Path, "write_text", fail)
    else:
        replace = os.replace

        def fail_at(source, target):
            # Old files are moved away and back.
            if Path(source).name == "report.csv" and Path(source).parent.name == ".sklda-new":
                raise error
            replace(source, target)

        monkeypatch.setattr(os, "replace", fail_at)
    for folder in (old, new):
        with pytest.raises(type(error)):
            export_results(model, TEXTS[:8], folder=folder)
    assert contents(old) == before
    assert not new.exists()


def test_half_an_emoji_becomes_a_question_mark(tmp_path):
    cut = json.loads('"\\ud83d"')
    texts = [f"{cut} rain wind", "vote law party", f"rain storm {cut}", "law court vote"] * 5
    model = make_pipeline(CountVectorizer(token_pattern=r"\S+"), GibbsLDA(2, max_iter=20, random_state=0)).fit(texts)
    model[-1].set_topic_names([f"weather {cut}", "law"])
    export_results(model, texts, folder=tmp_path)
    words = model[0].get_feature_names_out().tolist()
    found = pd.read_csv(tmp_path / "words.csv")
    assert found["word"].tolist() == ["?" if word == cut else word for word in words]
    assert pd.read_csv(tmp_path / "keys.csv")["name"].tolist() == ["weather ?", "law"]
    assert json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))["topic_names"] == ["weather ?", "law"]


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_names_and_texts_with_line_ends_are_read_back_as_they_are(tmp_path, end):
    words = sorted(set(" ".join(TEXTS).split()))
    X = CountVectorizer(vocabulary=words).transform(TEXTS)
    words[1] += end
    names = [f"answer {d}{end}second line" for d in range(len(TEXTS))]
    model = GibbsLDA(2, max_iter=20, random_state=0).fit(X)
    named = describe(model, X, vocabulary=words, document_names=names, topic_names=["a", f"b{end}b"])
    export_results(named, texts=[f"{end}{text}" for text in TEXTS], folder=tmp_path)
    titles = {"keys.csv": 2, "report.csv": 2, "words.csv": len(words), "proportions.csv": len(TEXTS)}
    for file, n in titles.items():
        with open(tmp_path / file, encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.reader(lines))
        found = pd.read_csv(tmp_path / file, keep_default_na=False, na_values=[""])
        assert len(rows) - 1 == len(found) == n
        assert rows[0] == found.columns.tolist()
    assert pd.read_csv(tmp_path / "words.csv")["word"].tolist() == words
    assert pd.read_csv(tmp_path / "keys.csv")["name"].tolist() == ["a", f"b{end}b"]
    assert pd.read_csv(tmp_path / "proportions.csv")["document"].tolist() == names


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is killed")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("n_moved", [0, 3, 6, 8, 11])
def test_a_killed_call_is_finished_by_the_next(model, tmp_path, n_moved):
    """Also by one that is refused: in no case the results are lost."""
    export_results(model, TEXTS, folder=tmp_path)
    if not (process := os.fork()):
        replace, calls = os.replace, []

        def killed(source, target):
            calls.append(source)
            if len(calls) > n_moved:
                os._exit(9)
            replace(source, target)

        os.replace = killed
        export_results(model, TEXTS[:8], folder=tmp_path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9
    with pytest.raises(ValueError):
        export_results(model, ["unknown"], folder=tmp_path)
    assert names(tmp_path) == FILES and len(pd.read_csv(tmp_path / "proportions.csv")) == 8


def test_files_that_a_killed_call_had_not_all_written(model, tmp_path):
    (tmp_path / ".sklda-new").mkdir()
    (tmp_path / ".sklda-new" / "keys.csv").write_text("")
    export_results(model, TEXTS, folder=tmp_path)
    assert names(tmp_path) == FILES
