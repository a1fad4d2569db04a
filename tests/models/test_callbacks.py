"""Progress of a fit: printed lines, and scikit-learn's callbacks."""

import os
import pickle
import re
import subprocess
import sys
import textwrap
from contextlib import suppress
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklda import EmpiricalBayesLDA, GibbsLDA
from sklda._models import chain_lda
from sklda._sampling.annealed_start import Annealing


def make(**parameters):
    return GibbsLDA(**{"n_components": 4, "max_iter": 5, "random_state": 0, **parameters})


# Printed lines

LINE = re.compile(
    r"\[GibbsLDA\] chain (\d) of (\d), sweep (\d+) of (\d+)(?: \(annealed\))?: "
    r"log joint (-[\d.]+) nats \((-[\d.]+) a token\), [\d.]+ s"
)


def read(out):
    """Chain, chains, sweep, sweeps, log joint and log joint a token of every line; each line must be one."""
    matches = [LINE.fullmatch(line) for line in out.splitlines()]
    assert all(matches), out
    return [tuple(map(float, match.groups())) for match in matches]


def test_silence(counts, capsys):
    lda = make().fit(counts)
    lda.transform(counts)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("verbose", "max_iter", "sweeps"),
    [(1, 5, [1, 2, 3, 4, 5]), (1, 25, [*range(2, 25, 2), 25]), (2, 12, list(range(1, 13))), (True, 1, [1])],
)
def test_verbose(counts, capsys, verbose, max_iter, sweeps):
    lda = make(verbose=verbose, max_iter=max_iter).fit(counts)
    lines = read(capsys.readouterr().out)
    assert [line[:4] for line in lines] == [(1, 1, sweep, max_iter) for sweep in sweeps]
    trace = lda.log_joint_trace_[0, np.array(sweeps) - 1]
    np.testing.assert_allclose([line[4] for line in lines], trace, rtol=1e-5)
    np.testing.assert_allclose([line[5] for line in lines], trace / counts.sum(), atol=1e-4)


def test_verbose_says_which_sweeps_are_annealed(counts, capsys):
    found = {}
    for init in ("anneal", "random"):
        make(verbose=2, max_iter=20, init=init).fit(counts)
        found[init] = ["(annealed)" in line for line in capsys.readouterr().out.splitlines()]
    n = Annealing.within(20).n_sweeps
    assert found == {"anneal": n * [True] + (20 - n) * [False], "random": 20 * [False]}


def test_verbose_of_several_chains(counts, capsys):
    make(verbose=2, max_iter=3, n_chains=2, n_jobs=2).fit(counts)
    lines = read(capsys.readouterr().out)
    assert sorted(line[:4] for line in lines) == [(c, 2, s, 3) for c in (1, 2) for s in (1, 2, 3)]


def test_verbose_has_ten_lines_for_all_chains(counts, capsys):
    make(verbose=1, max_iter=25, n_chains=4).fit(counts)
    lines = read(capsys.readouterr().out)
    assert [(line[0] - 1) * 25 + line[2] for line in lines] == list(range(10, 101, 10))


TERMINALS = [(1, 80), (1, 40), (2, 80)]


@pytest.fixture(scope="module")
def in_terminals():
    """What fits show in a terminal, by their `verbose` and its width: one process, because an import takes seconds."""
    pty = pytest.importorskip("pty", reason="Windows has no terminals of this kind")
    main, terminal = pty.openpty()
    program = f"""
        import os
        import numpy as np
        from sklda import EmpiricalBayesLDA, GibbsLDA

        X = np.random.default_rng(0).poisson(1, (30, 12))
        for verbose, columns in {TERMINALS}:
            os.environ["COLUMNS"] = str(columns)
            lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, n_chains=2, max_iter=30, verbose=verbose)
            lda.fit(X)
            print("the end")
        """
    command = [sys.executable, "-P", "-W", "ignore", "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=terminal) as process:
        os.close(terminal)
        shown = b""
        with suppress(OSError):
            while part := os.read(main, 10_000):
                shown += part
        assert process.wait() == 0
    os.close(main)
    *found, after = shown.decode().split("the end\r\n")
    assert after == ""
    return dict(zip(TERMINALS, found, strict=True))


@pytest.mark.parametrize(("verbose", "columns"), TERMINALS)
def test_verbose_in_a_terminal(verbose, columns, in_terminals):
    *rows, after = in_terminals[verbose, columns].split("\r\n")
    assert after == ""
    if verbose == 2:
        assert len(rows) == 60 and not any("\r" in row for row in rows)
    else:
        # One row, of which the last state stays.
        (row,) = rows
        states = row.split("\r")[1:]
        assert len(states) > 1 and all(len(state) < columns for state in states)
        assert "chain 2/2, sweep 30/30"[: columns - len("[GibbsLDA] ") - 1] in states[-1]


@pytest.mark.parametrize("stream", [None, SimpleNamespace(write=len, flush=lambda: None)], ids=["none", "simple"])
def test_verbose_without_a_terminal(counts, monkeypatch, stream):
    monkeypatch.setattr(sys, "stdout", stream)
    make(verbose=1).fit(counts)


def test_verbose_of_a_warm_start_counts_its_own_sweeps(counts, capsys):
    lda = make(verbose=2, max_iter=2, warm_start=True).fit(counts)
    capsys.readouterr()
    lda.fit(counts)
    assert [line[2:4] for line in read(capsys.readouterr().out)] == [(1, 2), (2, 2)]


# scikit-learn's callbacks


@pytest.fixture
def callback():
    """The module, where scikit-learn has it."""
    return pytest.importorskip("sklearn.callback")


class Recorder:
    """Notes every hook, and stops the chains named in `stop` after their given number of sweeps."""

    def __init__(self, stop=None, error_at=None):
        self.events, self.stop, self.error_at = [], stop or {}, error_at

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, self.path(context)))

    def on_fit_task_end(self, estimator, context):
        path = self.path(context)
        self.events.append(("end", context.task_name, path))
        if path == self.error_at:
            raise ZeroDivisionError
        return context.task_name == "sweep" and path[2] + 1 == self.stop.get(path[1])

    @staticmethod
    def path(context):
        ids = []
        while context is not None:
            ids.append(context.task_id)
            context = context.parent
        return tuple(reversed(ids))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_tasks(callback, counts, same_fit, n_jobs):
    recorder = Recorder()
    lda = make(n_chains=2, max_iter=3, n_jobs=n_jobs).set_callbacks(recorder).fit(counts)
    events = recorder.events
    assert events[0] == "setup"
    assert events[-1] == "teardown"
    tasks = [("fit", (0,))] + [("chain", (0, c)) for c in range(2)]
    tasks += [("sweep", (0, c, s)) for c in range(2) for s in range(3)]
    for hook in ("begin", "end"):
        assert sorted(event[1:] for event in events[1:-1] if event[0] == hook) == sorted(tasks)
    for task in tasks:
        assert events.index(("begin", *task)) < events.index(("end", *task))
    # Watching changes nothing.
    lda.set_callbacks()
    assert same_fit(lda, make(n_chains=2, max_iter=3).fit(counts))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_stop(callback, counts, same, n_jobs):
    whole = make(n_chains=3).fit(counts)
    lda = make(n_chains=3, n_jobs=n_jobs).set_callbacks(Recorder(stop={0: 2, 2: 4})).fit(counts)
    assert lda.n_iter_ == 5
    expected = whole.log_joint_trace_.copy()
    expected[0, 2:] = expected[2, 4:] = np.nan
    np.testing.assert_array_equal(lda.log_joint_trace_, expected)
    means = [expected[0, 1:2].mean(), expected[1, 2:].mean(), expected[2, 2:4].mean()]
    assert lda.best_chain_ == np.argmax(means)
    # Each chain goes on from where it stopped.
    lda.set_callbacks().set_params(warm_start=True, max_iter=1).fit(counts)
    assert lda.n_iter_ == 6
    assert np.isnan(lda.log_joint_trace_).sum(axis=1).tolist() == [3, 0, 1]
    assert same(lda.log_joint_trace_[0, :3].copy(), whole.log_joint_trace_[0, :3].copy())


def test_stop_of_all_chains_shortens_the_trace(callback, counts, same):
    # Annealed starts would be different, because their length depends on max_iter.
    lda = make(n_chains=2, max_iter=100, init="random").set_callbacks(Recorder(stop={0: 3, 1: 3})).fit(counts)
    assert lda.n_iter_ == 3
    whole = make(n_chains=2, max_iter=3, init="random").fit(counts)
    for name in ("log_joint_trace_", "topic_assignments_"):
        assert same(getattr(lda, name), getattr(whole, name))


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("error_at", [(0, 1, 2), (0, 1), (0,)])
def test_an_error_in_a_callback_changes_nothing(callback, counts, same, n_jobs, error_at):
    recorder = Recorder(error_at=error_at)
    lda = make(n_chains=2, n_jobs=n_jobs).set_callbacks(recorder)
    before = dict(vars(lda))
    with pytest.raises(ZeroDivisionError):
        lda.fit(counts)
    assert same(vars(lda), before)
    assert recorder.events[-1] == "teardown"


class Watcher(Recorder):
    """Keeps the fitted estimators, the X and the y that it is given."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.seen.append((context.task_name, self.path(context), X, y, fitted_estimator))


def test_fitted_estimators(callback, counts, same, same_fit):
    watcher = Watcher()
    y = np.arange(150)
    lda = make(max_iter=4, init="random").set_callbacks(watcher).fit(counts, y)
    assert [event[1] for event in watcher.seen] == [(0, 0, s) for s in range(4)] + [(0, 0), (0,)]
    for task, path, X, labels, fitted in watcher.seen:
        assert X is counts
        assert labels is y
        n_sweeps = path[2] + 1 if task == "sweep" else 4
        expected = make(max_iter=n_sweeps, init="random").fit(counts)
        assert same(fitted.components_, expected.components_)
        assert same(fitted.log_joint_trace_, expected.log_joint_trace_)
        assert same(fitted.transform(X), expected.transform(counts))
    assert same(lda.transform(counts), watcher.seen[-1][4].transform(counts))


def test_fitted_estimators_of_several_chains(callback, counts, same):
    watcher = Watcher()
    lda = make(n_chains=2, max_iter=4).set_callbacks(watcher).fit(counts)
    fitted = {event[1]: event[4] for event in watcher.seen}
    for c in range(2):
        assert same(fitted[0, c].log_joint_trace_, lda.log_joint_trace_[[c]])
        assert fitted[0, c].best_chain_ == 0
    assert same(fitted[0, lda.best_chain_].components_, lda.components_)
    assert same(fitted[0,].log_joint_trace_, lda.log_joint_trace_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_marginal_likelihood_is_there_when_all_chains_have_ended(callback, counts):
    watcher = Watcher()
    EmpiricalBayesLDA(3, max_iter=60, random_state=0).set_callbacks(watcher).fit(counts)
    fitted = {task: each for task, *_, each in watcher.seen}
    assert fitted["sweep"].transform(counts).shape == (150, 3)
    for call in (fitted["sweep"].summary, fitted["sweep"].confidence_region):
        with pytest.raises(NotFittedError, match="when all of its chains have ended"):
            call()
    for task in ("chain", "fit"):
        assert fitted[task].summary().startswith("doc_topic_prior ")


def test_fitted_estimators_know_the_feature_names(callback, counts):
    """The X that callbacks get has the names that it was fitted with: no warning."""
    pandas = pytest.importorskip("pandas")
    watcher = Watcher()
    make().set_callbacks(watcher).fit(pandas.DataFrame(counts.toarray(), columns=[f"word{v}" for v in range(60)]))
    *_, X, _, fitted = watcher.seen[-1]
    assert fitted.transform(X).shape == (150, 4)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_bar(callback, counts, capsys, same_fit, n_jobs):
    pytest.importorskip("rich")
    lda = make(n_chains=2, n_jobs=n_jobs).set_callbacks(callback.ProgressBar()).fit(counts)
    out, err = capsys.readouterr()
    assert "GibbsLDA - fit" in out
    assert "GibbsLDA - chain #0" in out
    assert "GibbsLDA - chain #1" in out
    assert "100%" in out
    assert not err
    lda.set_callbacks()
    assert same_fit(lda, make(n_chains=2).fit(counts))


def test_progress_bar_across_processes(callback, counts, capsys):
    pytest.importorskip("rich")
    with joblib.parallel_config(backend="loky", n_jobs=2, max_nbytes=1):
        make(n_chains=2).set_callbacks(callback.ProgressBar()).fit(counts)
    out, err = capsys.readouterr()
    assert "GibbsLDA - chain #1" in out
    assert not err


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scoring_monitor(callback, counts, n_jobs):
    def mean_largest_share(estimator, X, y=None):
        return {"largest": estimator.transform(X).max(axis=1).mean()}

    monitor = callback.ScoringMonitor(scoring=mean_largest_share)
    lda = make(n_chains=2, max_iter=3, n_jobs=n_jobs).set_callbacks(monitor)
    # scikit-learn 1.9 scores where there is a y; for a topic model any will do.
    lda.fit(counts, np.zeros(150))
    rows = {row["task_id_path"]: row["largest"] for row in monitor.get_logs().data}
    assert sorted(rows) == sorted([(0,), *((0, c) for c in range(2)), *((0, c, s) for c in range(2) for s in range(3))])
    assert rows[0,] == lda.transform(counts).max(axis=1).mean()
    assert rows[0, 1, 2] == rows[0, 1]
    lda.fit(counts)
    assert len(monitor.get_logs().data) == 9


def test_callbacks_follow_clones_and_pickles(callback, counts, same_fit):
    lda = make().set_callbacks(Recorder())
    for copy in (clone(lda), pickle.loads(pickle.dumps(lda))):
        assert isinstance(copy._skl_callbacks[0], Recorder)
        assert same_fit(copy.fit(counts).set_callbacks(), make().fit(counts))


def test_callbacks_of_a_meta_estimator(callback, counts):
    """Tasks hang below those of the estimator that fits this one."""
    pytest.importorskip("rich")
    from sklearn.model_selection import GridSearchCV

    if not hasattr(GridSearchCV, "set_callbacks"):
        pytest.skip("no callbacks in GridSearchCV")
    recorder = Recorder()
    recorder.max_propagation_depth = None
    search = GridSearchCV(
        make(max_iter=2), {"n_components": [2, 3]}, scoring=lambda est, X, y=None: est.n_iter_, cv=2, refit=False
    )
    search.set_callbacks(recorder).fit(counts)
    assert sum(event[1] == "sweep" for event in recorder.events if event[0] == "end") == 8


def test_verbose_says_that_one_chain_of_a_large_corpus_uses_one_core(counts, capsys, monkeypatch):
    monkeypatch.setattr(chain_lda, "TOKENS_PER_WORKER", int(counts.sum()) // 2)

    def says(**parameters):
        make(**{"verbose": 1, "max_iter": 2, "n_jobs": 2} | parameters).fit(counts)
        return 'sampler="partitioned"' in capsys.readouterr().out

    assert says()
    for other in ({"n_jobs": 1}, {"n_chains": 2}, {"sampler": "partitioned"}, {"verbose": 0}):
        assert not says(**other)
