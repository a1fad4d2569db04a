"""Which folders are accepted, what a damaged file and a full disk do, and what is refused."""

import contextlib
import errno
import importlib.util
import pickle
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from checkpoint_cases import gibbs
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from stub_callbacks import EndAfter
from workers import run_program

from sklda import CollapsedVariationalLDA, CompoundLDA, ConsensusTopics, GibbsLDA
from sklda._checkpoints import files as checkpoint_files
from sklda._checkpoints import saver
from sklda._models import checkpoints as _checkpoints
from sklda._sampling.collapsed import GibbsChain
from sklda.callbacks import Checkpoint


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "deep" / "fit"


@pytest.fixture(scope="module")
def whole(corpus):
    return gibbs()().fit(corpus)


def saved_in(folder, make=None):
    return (make or gibbs())().set_callbacks(Checkpoint(folder, every=0))


@pytest.fixture
def interrupted(saves, folder, corpus):
    """A folder with a fit that was interrupted in sweep 24."""
    saves.interrupt(26, lambda: saved_in(folder).fit(corpus))
    return folder


def files(folder):
    """The files in a folder and in those below, but the lock."""
    paths = (file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    return sorted(path for path in paths if path != "lock")


def of_fit(number, *names):
    return [f"fit-{number}/{name}" for name in names]


def ended_fit(number):
    return of_fit(number, "estimator", "fitted", "header")


def contents(folder):
    return {name: (folder / name).read_bytes() for name in files(folder)}


def copied(folder, name, X):
    other = folder.with_name(name)
    shutil.copytree(folder, other)
    return GibbsLDA.resume(other, X).set_callbacks()


# Folders


def test_files(interrupted, corpus):
    assert files(interrupted) == of_fit(1, "estimator", "header", "stage-1", "stage-2.chain-0")
    GibbsLDA.resume(interrupted, corpus)
    assert files(interrupted) == ended_fit(1)


def test_files_do_not_have_the_corpus(interrupted, corpus):
    words = np.repeat(corpus.indices, corpus.data).astype(np.int32)
    for data in contents(interrupted).values():
        assert words[:50].tobytes() not in data


def test_an_unfinished_fit_is_not_replaced(interrupted, corpus, whole, same_fit):
    with pytest.raises(ValueError, match=r"has not ended.*GibbsLDA\.resume\('.*fit', X\), or delete .*fit-1 to begin"):
        saved_in(interrupted).fit(corpus)
    assert same_fit(GibbsLDA.resume(interrupted, corpus).set_callbacks(), whole)


def test_a_fit_that_has_ended_is_replaced(folder, corpus, same_fit):
    saved_in(folder).fit(corpus)
    other = saved_in(folder, gibbs(random_state=1)).fit(corpus)
    assert same_fit(GibbsLDA.resume(folder, corpus).set_callbacks(), pickle.loads(pickle.dumps(other.set_callbacks())))


def test_a_fit_that_is_killed_before_its_header(folder, corpus, whole, same_fit):
    (folder / "fit-1.new").mkdir(parents=True)
    (folder / "fit-1.new" / "estimator").touch()
    with pytest.raises(ValueError, match="has no checkpoint"):
        GibbsLDA.resume(folder, corpus)
    assert same_fit(saved_in(folder).fit(corpus).set_callbacks(), whole)
    assert files(folder) == ended_fit(1)


def test_other_files_are_left_alone(folder, corpus):
    folder.mkdir(parents=True)
    (folder / "thesis.tex").write_text("theorem")
    with pytest.raises(ValueError, match=r"no checkpoint, such as thesis\.tex"):
        saved_in(folder).fit(corpus)
    assert files(folder) == ["thesis.tex"]


@pytest.mark.parametrize("is_folder", [False, True], ids=["file", "folder"])
@pytest.mark.parametrize("ended", [False, True], ids=["alone", "beside a checkpoint"])
@pytest.mark.parametrize("name", ["fit", "fit-one", "fit-7", "fit-7.txt", "fitted", "header", "stage-1", "notes.1.new"])
def test_others_with_similar_names_are_left_alone(folder, corpus, name, ended, is_folder):
    folder.mkdir(parents=True)
    if ended:
        saved_in(folder, gibbs(max_iter=2)).fit(corpus)
    if is_folder:
        (folder / name).mkdir()
        (folder / name / "thesis.tex").write_text("theorem")
    else:
        (folder / name).write_text("theorem")
    before = contents(folder)
    with pytest.raises(ValueError, match=f"no checkpoint, such as {re.escape(name)}"):
        saved_in(folder, gibbs(max_iter=2)).fit(corpus)
    assert contents(folder) == before


def test_a_file_that_comes_during_the_fit_stays(folder, corpus, after_sweep):
    after_sweep(5, lambda: (folder / "thoughts").write_text("theorem"))
    saved_in(folder, gibbs(max_iter=10)).fit(corpus)
    assert files(folder) == [*ended_fit(1), "thoughts"]


def test_a_folder_that_goes_during_the_fit(saves, folder, corpus, whole, same_fit, after_sweep):
    after_sweep(15, lambda: shutil.rmtree(folder))
    lda = saved_in(folder)
    with pytest.warns(UserWarning, match="could not be saved"):
        lda.fit(corpus)
    assert same_fit(lda.set_callbacks(), whole)


def test_what_cannot_be_removed_does_not_end_the_fit(folder, corpus, whole, same_fit, after_sweep):
    """As files that network file systems keep while another process has them open."""
    after_sweep(15, lambda: (folder / "fit-1" / "stage-1.chain-0.kept").mkdir())
    lda = saved_in(folder).fit(corpus)
    assert same_fit(lda.set_callbacks(), whole) and files(folder) == ended_fit(1)
    assert same_fit(GibbsLDA.resume(folder, corpus).set_callbacks(), pickle.loads(pickle.dumps(whole)))


# A new fit in the folder of one that has ended


@pytest.fixture
def ended(folder, corpus):
    """A folder with a fit that has ended, and a function that makes another one."""
    saved_in(folder, gibbs(max_iter=8)).fit(corpus)
    return folder


def test_a_new_fit_that_fails_at_once(ended, corpus):
    before = contents(ended)
    for bad in (gibbs(burn_in=100), gibbs(random_state=None, burn_in=100)):
        with pytest.raises(ValueError, match="burn_in"):
            saved_in(ended, bad).fit(corpus)
        assert contents(ended) == before


@pytest.mark.parametrize("at", [1, 2])
def test_a_new_fit_that_fails_before_its_first_save(ended, saves, corpus, at):
    """As with a full disk. The fit that has ended is there as before."""
    before = contents(ended)
    # Save 1 is that of the estimator, and save 2 the first of a stage.
    saves.interrupt(at, lambda: saved_in(ended).fit(corpus), MemoryError if at == 2 else OSError)
    assert contents(ended) == before
    assert GibbsLDA.resume(ended, corpus).n_iter_ == 8


def test_a_new_fit_that_cannot_be_pickled(ended, corpus):
    before = contents(ended)
    with pytest.raises(TypeError, match="cannot be pickled"):
        saved_in(ended, gibbs(init=Local(corpus))).fit(corpus)
    assert contents(ended) == before
    assert GibbsLDA.resume(ended, corpus).n_iter_ == 8


def test_a_new_fit_that_is_ended_before_its_first_save(ended, saves, corpus, whole, same_fit):
    saves.interrupt(2, lambda: saved_in(ended).fit(corpus), KeyboardInterrupt)
    assert files(ended) == [*ended_fit(1), *of_fit(2, "estimator", "header")]
    assert same_fit(GibbsLDA.resume(ended, corpus).set_callbacks(), whole)


@pytest.mark.parametrize("seed", [0, None])
def test_a_new_fit_that_is_ended_later(ended, saves, corpus, whole, same_fit, seed):
    saves.interrupt(12, lambda: saved_in(ended, gibbs(random_state=seed)).fit(corpus), KeyboardInterrupt)
    assert files(ended) == [*ended_fit(1), *of_fit(2, "estimator", "header", "stage-1", "stage-2.chain-0")]
    resumed = GibbsLDA.resume(ended, corpus).set_callbacks()
    assert files(ended) == ended_fit(2)
    assert resumed.n_iter_ == 40 and (seed is None or same_fit(resumed, whole))


@pytest.mark.skipif(checkpoint_files.fcntl is None, reason="Windows has no such locks")
def test_two_threads(interrupted, corpus, tmp_path):
    """Both are refused, the thread and a process after it."""
    held = checkpoint_files.Lock(interrupted)
    with pytest.raises(ValueError, match="is in use"):
        GibbsLDA.resume(interrupted, corpus)
    ended = run_program(
        """
        import pathlib, sys
        from sklda._checkpoints.files import Lock
        Lock(pathlib.Path(sys.argv[1]))
        """,
        tmp_path,
        interrupted,
    )
    assert ended[0] == 1 and "is in use: another process or thread" in ended[2]
    held.close()
    GibbsLDA.resume(interrupted, corpus)


@pytest.mark.parametrize("again", [False, True])
def test_a_fit_that_another_process_ends_meanwhile(interrupted, corpus, again, monkeypatch):
    """It ends while X is read, and perhaps another one follows: the fit that was read is not resumed."""
    fit = GibbsLDA.fit

    def fit_after_another(self, X, y=None):
        monkeypatch.setattr(GibbsLDA, "fit", fit)
        GibbsLDA.resume(interrupted, X)
        if again:
            saved_in(interrupted, gibbs(max_iter=8)).fit(X)
        return self.fit(X, y)

    monkeypatch.setattr(GibbsLDA, "fit", fit_after_another)
    with pytest.raises(ValueError, match=r"another process has ended the fit .* resume it again for its result"):
        GibbsLDA.resume(interrupted, corpus)
    assert files(interrupted) == ended_fit(1 + again)
    assert GibbsLDA.resume(interrupted, corpus).n_iter_ == (8 if again else 40)


def test_a_file_in_place_of_the_folder(tmp_path, corpus):
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        saved_in(tmp_path / "file").fit(corpus)


def test_an_error_at_the_beginning_leaves_nothing(folder, corpus):
    with pytest.raises(ValueError, match="burn_in"):
        saved_in(folder, gibbs(burn_in=100)).fit(corpus)
    assert not folder.exists()


def test_a_fit_that_cannot_be_pickled(folder, corpus):
    lda = saved_in(folder, gibbs(init=Local(corpus)))
    with pytest.raises(TypeError, match=r"GibbsLDA .*cannot be pickled"):
        lda.fit(corpus)
    assert not folder.exists()


class Local:
    """A model that cannot be pickled."""

    def __init__(self, X):
        self.components_, self.made = np.ones((3, X.shape[1])), lambda: None

    def transform(self, X):
        return np.full((X.shape[0], 3), 1 / 3)


# Resume


def test_another_corpus(interrupted, corpus):
    other = corpus.toarray()
    other[5, :2] = other[5, 1::-1] + 1
    for X, words in ((other, "another X"), (other[:20], r"\(40, 30\); this X has shape \(20, 30\)")):
        with pytest.raises(ValueError, match=words):
            GibbsLDA.resume(interrupted, X)


@pytest.mark.parametrize(
    "kind", [np.asarray, lambda X: X.tocoo(), lambda X: X.astype(float)], ids=["dense", "coo", "float"]
)
def test_the_same_corpus_in_another_form(interrupted, corpus, whole, same_fit, kind):
    X = kind(corpus.toarray() if kind is np.asarray else corpus)
    assert same_fit(GibbsLDA.resume(interrupted, X).set_callbacks(), whole)


def test_names_of_words(saves, folder, corpus):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(corpus.toarray(), columns=[f"word {v}" for v in range(corpus.shape[1])])
    saves.interrupt(20, lambda: saved_in(folder).fit(X))
    with pytest.raises(ValueError, match="feature names"):
        GibbsLDA.resume(folder, X.rename(columns=str.upper))
    assert GibbsLDA.resume(folder, X).feature_names_in_[2] == "word 2"


def test_another_class(interrupted, corpus):
    with pytest.raises(ValueError, match=r"GibbsLDA\.resume"):
        CompoundLDA.resume(interrupted, corpus)


def test_no_checkpoint(tmp_path, corpus):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(ValueError, match="has no checkpoint"):
            GibbsLDA.resume(path, corpus)


@pytest.mark.parametrize("library", ["numpy", "scipy"])
def test_other_versions_of_libraries(interrupted, corpus, monkeypatch, library):
    own = _checkpoints._versions()
    monkeypatch.setattr(_checkpoints, "_versions", lambda: own | {library: "9.9"})
    with pytest.warns(UserWarning, match=rf"{library} {own[library]}.*{library} 9\.9"):
        GibbsLDA.resume(interrupted, corpus)
    # A fit that has ended has no draws to come.
    GibbsLDA.resume(interrupted, corpus)


def changed_facts(folder, **facts):
    fit = folder / "fit-1"
    checkpoint_files.write_header(fit, checkpoint_files.read_header(fit) | facts)


def test_another_release(interrupted, corpus):
    """It can have other stages."""
    changed_facts(interrupted, sklda="0.0.1")
    with pytest.raises(ValueError, match=r"sklda 0\.0\.1"):
        GibbsLDA.resume(interrupted, corpus)


def test_another_release_has_the_result_of_an_ended_fit(interrupted, corpus, whole, same_fit, monkeypatch):
    GibbsLDA.resume(interrupted, corpus)
    monkeypatch.setattr(_checkpoints, "version", lambda name: "9.9")
    assert same_fit(GibbsLDA.resume(interrupted, corpus).set_callbacks(), whole)


def test_verbose(interrupted, saves, folder, corpus, capsys):
    shutil.rmtree(folder)
    saves.interrupt(26, lambda: saved_in(folder, gibbs(verbose=1)).fit(corpus))
    capsys.readouterr()
    GibbsLDA.resume(folder, corpus)
    first, second, third, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("[GibbsLDA] continues the fit of 20")
    assert second.startswith("[GibbsLDA] chain 1 of 1 continues after sweep 23 of 40, ")
    assert "sweep 24 of 40" in third


def test_ctrl_c(saves, folder, corpus, whole, same_fit):
    lda = saved_in(folder)
    saves.interrupt(12, lambda: lda.fit(corpus), KeyboardInterrupt)
    assert not hasattr(lda, "components_")
    assert same_fit(GibbsLDA.resume(folder, corpus).set_callbacks(), whole)


def test_a_callback_that_ends_a_chain(saves, folder, corpus, same_fit):
    """The callback is not there when the fit continues, but the chain has ended."""
    pytest.importorskip("sklearn.callback")
    make = gibbs(n_chains=2)
    ended = make().set_callbacks(EndAfter(9)).fit(corpus)
    begun = make().set_callbacks(Checkpoint(folder, every=0), EndAfter(9))
    saves.interrupt(20, lambda: begun.fit(corpus))
    assert same_fit(GibbsLDA.resume(folder, corpus).set_callbacks(), ended.set_callbacks())


def test_parts_of_a_chain(saves, folder, corpus, monkeypatch, whole, same_fit):
    """A chain whose state is elsewhere saves it beside the file of the chain, and those of the state before stay."""

    def save_parts(chain, folder, name):
        (folder / f"part of {name}").write_text(str(chain.n_sweeps))

    monkeypatch.setattr(GibbsChain, "saves_parts", True)
    monkeypatch.setattr(GibbsChain, "save_parts", save_parts, raising=False)
    monkeypatch.setattr(GibbsChain, "load_parts", lambda chain, folder: None, raising=False)
    saves.interrupt(20, lambda: saved_in(folder).fit(corpus))
    parts = {file.name: int(file.read_text()) for file in folder.glob("fit-1/part of *")}
    assert sorted(parts) == ["part of stage-2.chain-0.0", "part of stage-2.chain-0.1"]
    assert abs(np.subtract(*parts.values())) == 1
    assert same_fit(GibbsLDA.resume(folder, corpus).set_callbacks(), whole)


# Damage


DAMAGE = [
    lambda data: data[: len(data) // 2],
    lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:],
    lambda data: bytes([data[0] ^ 1]) + data[1:],
    lambda data: data + b"more",
    lambda data: b"",
]
DAMAGES = ["half", "last bit", "a bit", "first bit", "longer", "empty"]


@pytest.mark.parametrize("damage", DAMAGE, ids=DAMAGES)
@pytest.mark.parametrize("name", ["stage-1", "stage-2.chain-0"])
def test_a_damaged_state_is_computed_again(interrupted, corpus, whole, same_fit, name, damage):
    file = interrupted / "fit-1" / name
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(UserWarning, match=rf"{name}.* is damaged"):
        assert same_fit(GibbsLDA.resume(interrupted, corpus).set_callbacks(), whole)


@pytest.mark.parametrize("damage", DAMAGE, ids=DAMAGES)
@pytest.mark.parametrize("name", ["estimator", "header", "fitted"])
def test_other_damaged_files(folder, corpus, name, damage):
    saved_in(folder, gibbs(max_iter=2)).fit(corpus)
    path = folder / "fit-1" / name
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=rf"{name} is damaged: delete .*fit-1, and fit again"):
        GibbsLDA.resume(folder, corpus)


def test_flipped_bits_of_a_header(folder, corpus):
    saved_in(folder, gibbs(max_iter=2)).fit(corpus)
    path = folder / "fit-1" / "header"
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        with pytest.raises(ValueError, match="header is damaged"):
            GibbsLDA.resume(folder, corpus)


@contextlib.contextmanager
def full_disk(monkeypatch, n_bytes):
    """No file can grow beyond a size."""
    if sys.platform == "win32":
        monkeypatch.setattr(checkpoint_files, "dump", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        yield
        return
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("from_sweep", [1, 15])
def test_a_full_disk(monkeypatch, folder, corpus, whole, same_fit, from_sweep, after_sweep):
    monkeypatch.setattr(saver, "SHARE", np.inf)
    disk = contextlib.ExitStack()
    after_sweep(from_sweep, lambda: disk.enter_context(full_disk(monkeypatch, 3000)))
    lda = saved_in(folder)
    with disk, pytest.warns(UserWarning, match="could not be saved"):
        lda.fit(corpus)
    assert same_fit(lda.set_callbacks(), whole)
    assert "fit-1/fitted" not in files(folder)
    assert not [name for name in files(folder) if name.endswith("new")]
    assert same_fit(GibbsLDA.resume(folder, corpus).set_callbacks(), whole)


# Refused


def test_estimators_without_chains(corpus, folder):
    estimator = CollapsedVariationalLDA(3)
    with pytest.raises(TypeError, match=rf"this {type(estimator).__name__} has none"):
        estimator.set_callbacks(Checkpoint(folder)).fit(corpus)
    assert not folder.exists()


def test_estimators_of_others(folder):
    pytest.importorskip("sklearn.callback")
    with pytest.raises(TypeError, match="this LogisticRegression has none"):
        Checkpoint(folder).setup(LogisticRegression(), None)


def test_copies_are_refused(corpus, folder):
    pytest.importorskip("sklearn.callback")
    lda = saved_in(folder)
    search = GridSearchCV(lda, {"n_components": [2, 3]}, cv=2, error_score="raise")
    for fit in (
        lambda: search.fit(corpus),
        lambda: ConsensusTopics(lda, n_fits=2).fit(corpus),
        lambda: cross_val_score(lda, corpus, cv=2, error_score="raise"),
        lambda: cross_val_score(make_pipeline(lda), corpus, cv=2, error_score="raise"),
        lambda: clone(lda).fit(corpus),
    ):
        with pytest.raises(ValueError, match=r"copy .*Checkpoint"):
            fit()
    assert not folder.exists()
    # A copy may have one of its own.
    clone(lda).set_callbacks(Checkpoint(folder)).fit(corpus)
    assert folder.exists()


def test_pipelines(saves, folder, same_fit):
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"] * 5
    whole = make_pipeline(CountVectorizer(), gibbs()()).fit(texts)
    pipeline = make_pipeline(CountVectorizer(), saved_in(folder))
    saves.interrupt(20, lambda: pipeline.fit(texts))
    resumed = GibbsLDA.resume(folder, whole[0].transform(texts))
    assert same_fit(resumed.set_callbacks(), whole[-1])


def test_two_checkpoints(corpus, folder):
    with pytest.raises(ValueError, match="one Checkpoint, not 2"):
        gibbs()().set_callbacks(Checkpoint(folder), Checkpoint(folder)).fit(corpus)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"path": 3}, TypeError),
        ({"path": "a", "every": -1}, ValueError),
        ({"path": "a", "every": float("nan")}, ValueError),
        ({"path": "a", "every": "1"}, TypeError),
    ],
)
def test_arguments(arguments, error):
    with pytest.raises(error):
        Checkpoint(**arguments)


def test_clones_and_pickles_keep_the_checkpoint(folder):
    lda = saved_in(folder)
    assert str(folder) in repr(pickle.loads(pickle.dumps(lda))._skl_callbacks)
    clone(lda)


def test_older_versions_of_scikit_learn(monkeypatch):
    """Without `sklearn.callback`, estimators accept a Checkpoint and nothing else."""
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    path = Path(sys.modules["sklda._models.progress"].__file__)
    spec = importlib.util.spec_from_file_location("sklda._callbacks_of_older_versions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    estimator = module.CallbackSupportMixin().set_callbacks(Checkpoint("folder"))
    assert estimator._skl_callbacks[0].path == "folder"
    assert not vars(estimator.set_callbacks())
    with pytest.raises(TypeError, match=r"EndAfter.* is not a Checkpoint.*scikit-learn 1\.9"):
        estimator.set_callbacks(EndAfter(1))
