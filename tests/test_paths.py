"""Paths: ~ is the home folder wherever a path is taken."""

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.callbacks import Checkpoint
from sklda.datasets import load_counts, read_mallet_state, read_texts, save_counts
from sklda.inspection import TopicExplorer, export_results

TEXTS = ["apple banana", "banana cherry", "engine wheel", "wheel road"] * 3


@pytest.fixture
def home(tmp_path, monkeypatch):
    # Nothing may be written to a folder of the name ~ in the present one.
    present, home = tmp_path / "present", tmp_path / "home"
    present.mkdir()
    home.mkdir()
    monkeypatch.chdir(present)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    yield home
    assert not list(present.iterdir())


def test_the_home_folder(home):
    model = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=10, random_state=0)).fit(TEXTS)
    X = model[0].transform(TEXTS)
    export_results(model, TEXTS, folder="~/results")
    assert (home / "results" / "model.json").exists()
    TopicExplorer.from_estimator(model, TEXTS).to_html("~/page.html")
    assert (home / "page.html").exists()
    save_counts("~/counts", X)
    assert (load_counts("~/counts").data != X).nnz == 0
    (home / "texts").mkdir()
    (home / "texts" / "a.txt").write_text("one", encoding="utf-8")
    assert read_texts("~/texts")["text"].tolist() == ["one"]
    (home / "state").write_text("#doc source pos typeindex type topic\n#alpha : 1\n#beta : 0.1\n0 NA 0 0 apple 0\n")
    assert read_mallet_state("~/state").feature_names.tolist() == ["apple"]
    lda = GibbsLDA(2, max_iter=10, random_state=0).set_callbacks(Checkpoint("~/fit")).fit(X)
    assert (home / "fit").is_dir()
    assert (GibbsLDA.resume("~/fit", X).components_ == lda.components_).all()
