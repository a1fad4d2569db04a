"""A fit or a score may end at any moment: all threads end, and nothing half-fitted is left."""

import contextlib
import io
import json
import pickle
import sys
import threading
import time
from functools import partial

import interrupts
import numpy as np
import pytest
from estimates import estimate_counts
from sklearn import config_context, get_config
from workers import run_program

from sklda import GibbsLDA
from sklda._core import parallel
from sklda._core.corpus import Corpus
from sklda._core.parallel import Stop, Stopped, in_parallel, with_team
from sklda._core.priors import Priors
from sklda._kernels import _partitioned
from sklda._sampling import collapsed, initialisation, merge_gains, partitioned, point_estimates
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.partitioned import PartitionedChain
from sklda._sampling.word_major import WordMajorChain

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send to one process")


@pytest.fixture(scope="module")
def problem(counts):
    return Corpus.from_counts(counts), Priors.make(0.1, 0.1, 5, 60)


@pytest.fixture
def in_a_process(tmp_path):
    """The output of a program, as JSON; it must end by itself and write no error."""

    def in_a_process(code):
        exit_code, out, err = run_program(code, tmp_path, limit=60)
        assert (exit_code, err) == (0, ""), err
        return json.loads(out)

    return in_a_process


# Interrupts of everything


@POSIX
@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.exhaustive), 2])
def test_a_few_interrupts_of_every_estimator_and_score(n_jobs):
    latencies, error, _ = interrupts.run(list(interrupts.CASES), n_jobs, 1, 0.03)
    assert not error
    assert len(latencies) == len(interrupts.CASES)


@POSIX
def test_what_an_interrupt_must_not_do_is_found(monkeypatch):
    lda = GibbsLDA(2)
    with pytest.raises(interrupts.Unlike, match="changed"):
        interrupts.check(lda, vars(GibbsLDA(3)), set(threading.enumerate()))
    monkeypatch.setattr(interrupts, "ENDED", 0.01)
    with pytest.raises(interrupts.Unlike, match="threads are left"):
        interrupts.check(lda, dict(vars(lda)), set())


# Errors and interrupts in a sweep


class Tripwire(io.StringIO):
    """Standard output on which the line of one sweep raises."""

    def __init__(self, sweep, error):
        super().__init__()
        self.sweep, self.error = f"sweep {sweep} of", error

    def write(self, text):
        if self.sweep in text:
            raise self.error
        return super().write(text)


def threads_end(before):
    """Whether the threads that were not there before end."""
    deadline = time.monotonic() + 60
    while (alive := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive


@pytest.mark.parametrize(
    "sampler, n_chains, n_jobs",
    [
        ("collapsed", 1, None),
        ("collapsed", 2, 2),
        ("collapsed", 3, 2),
        ("grouped", 1, 2),
        ("partitioned", 1, 2),
        ("partially_collapsed", 2, 2),
    ],
)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, SystemExit])
@pytest.mark.parametrize("fitted", ["unfitted", "fitted", "warm start"])
def test_an_interrupted_fit_changes_nothing(counts, same, sampler, n_chains, n_jobs, error, fitted):
    make = partial(GibbsLDA, 4, init="random", learn_priors=False, random_state=0)
    lda = make(max_iter=5, sampler=sampler, n_chains=n_chains, n_jobs=n_jobs, warm_start=fitted == "warm start")
    if fitted != "unfitted":
        lda.fit(counts)
    lda.set_params(verbose=2, max_iter=10**6)
    before = pickle.loads(pickle.dumps(vars(lda)))
    threads = set(threading.enumerate())
    with contextlib.redirect_stdout(Tripwire(4, error)), pytest.raises(error):
        lda.fit(counts)
    assert same(vars(lda), before)
    assert threads_end(threads)
    # It can still do all that it was fitted for.
    lda.set_params(max_iter=5, verbose=0).fit(counts)
    expected = make(sampler=sampler, max_iter=10 if fitted == "warm start" else 5, n_chains=n_chains).fit(counts)
    assert same(lda.log_joint_trace_, expected.log_joint_trace_)


# A start that is stopped builds nothing


@pytest.mark.parametrize("init", ["sequential", "prune"])
def test_a_stopped_start_is_no_start(problem, init, monkeypatch):
    monkeypatch.setattr(initialisation, "_PRUNE_FIRST", 3)
    monkeypatch.setattr(initialisation, "_PRUNE_BETWEEN", 1)
    corpus, priors = problem
    for looks in (1, 2, 5, 9):
        stop = interrupts.StopAtLook(looks)
        # Pruning looks more often.
        if init == "sequential" and looks > 1:
            continue
        with pytest.raises(Stopped):
            initialisation.initialise_chain(init, corpus, priors, np.random.SeedSequence(0), GibbsChain, stop)


def test_an_error_in_one_chain_that_prunes(in_a_process):
    found = in_a_process(
        """
        import json, threading
        import numpy as np
        from sklda import GibbsLDA
        from sklda._sampling import initialisation

        merge, there, found = initialisation.merge, threading.Barrier(2), []

        def one_fails(chain, *args):
            # Both have more topics than they will have: 100 and down from there.
            if chain.priors.n_components == 100 and there.wait() == 0:
                raise MemoryError("no memory")
            return merge(chain, *args)

        initialisation.merge, initialisation._PRUNE_FIRST = one_fails, 2
        X = np.random.default_rng(0).poisson(0.5, (100, 200))
        for _ in range(2):
            try:
                GibbsLDA(50, init="prune", n_chains=2, n_jobs=2, max_iter=1).fit(X)
            except MemoryError as error:
                found.append(str(error))
        print(json.dumps(found))
        """
    )
    assert found == ["no memory"] * 2


@POSIX
@pytest.mark.parametrize(
    "call",
    [
        "GibbsLDA(50, init='prune', n_chains=2, n_jobs=2).fit(X)",
        pytest.param("log_evidence(X, 50, n_jobs=2)", marks=pytest.mark.exhaustive),
    ],
)
def test_ctrl_c_while_chains_prune(in_a_process, call):
    found = in_a_process(
        f"""
            import json, os, signal, threading
            import numpy as np
            from sklda import GibbsLDA
            from sklda._sampling import initialisation
            from sklda.papers.topic_count import log_evidence

            signal.signal(signal.SIGINT, signal.default_int_handler)
            initialisation._PRUNE_FIRST, heard = 2, 0
            X = np.random.default_rng(0).poisson(0.5, (300, 200))
            for _ in range(2):
                threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
                try:
                    {call}
                except KeyboardInterrupt:
                    heard += 1
            print(json.dumps(heard))
        """
    )
    assert found == 2


@pytest.mark.parametrize("kind", [GibbsChain, PartitionedChain, WordMajorChain])
@pytest.mark.parametrize("wrong", [5, 9, -2, 2**16, 2**32 + 1])
def test_topics_out_of_range_make_no_chain(problem, kind, wrong):
    corpus, priors = problem
    topics = np.zeros(corpus.n_tokens, np.int64)
    topics[7] = wrong
    with pytest.raises(ValueError, match=r"topics range from .* below 5"):
        kind(corpus, priors, ChainState(topics, np.ones(4, np.uint64)))
    with pytest.raises(ValueError, match="topics have shape"):
        kind(corpus, priors, ChainState(topics[1:], np.ones(4, np.uint64)))


# Threads


def test_threads_that_wait_for_others_end_by_the_flag(problem, monkeypatch):
    """A task of the first step, which a thread has taken, is not done: another waits until the flag is set."""
    corpus, priors = problem
    calls, kernel, stop = [], _partitioned.run, Stop()
    monkeypatch.setattr(partitioned, "run_tasks", lambda team, run, tasks: calls.extend(tasks))
    chain = PartitionedChain.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
    # It claims to have two threads.
    chain._team = type("Two", (), {"n_threads": 2, "stop": stop})()
    chain.sweep()
    (progress,) = (a for a in calls[0] if np.size(a) == _partitioned.PROGRESS_SIZE + chain._n_workers)
    progress[_partitioned.PROGRESS_SIZE] = 1
    waiting = threading.Thread(target=kernel, args=calls[0], daemon=True)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    stop.flag[0] = 1
    waiting.join(10)
    assert not waiting.is_alive()


def test_an_error_in_one_of_the_threads_of_a_turn(in_a_process):
    assert in_a_process(
        """
        import json, threading
        import numpy as np
        from sklda import GibbsLDA
        from sklda._kernels import _partitioned

        sweeps, kernel = [], _partitioned.run

        def run(*args):
            sweeps.append(args)
            if len(sweeps) == 30:
                raise MemoryError("no memory")
            return kernel(*args)

        _partitioned.run = run
        X = np.random.default_rng(0).poisson(0.5, (300, 200))
        try:
            GibbsLDA(5, sampler="partitioned", n_jobs=2).fit(X)
        except MemoryError as error:
            print(json.dumps([str(error), threading.active_count()]))
        """
    ) == ["no memory", 1]


@pytest.mark.parametrize("n_jobs", [1, 2, 5, 10**5])
def test_side_by_side(n_jobs):
    threads = set(threading.enumerate())
    found = in_parallel(lambda x, stop: (x**2, threading.get_ident()), [(x,) for x in range(40)], n_jobs)
    assert [square for square, _ in found] == [x**2 for x in range(40)]
    assert threading.get_ident() not in {ident for _, ident in found}
    assert set(threading.enumerate()) == threads


def test_the_first_error_comes_out_and_stops_the_others():
    began, ended = threading.Barrier(2), []

    def task(fails, stop):
        began.wait()
        if fails:
            raise RuntimeError("first")
        try:
            while True:
                stop()
        except Stopped:
            ended.append(True)
            raise

    with pytest.raises(RuntimeError, match="first"):
        in_parallel(task, [(False,), (True,), (False,)], 2)
    assert ended == [True]


def test_no_more_threads_than_can_be_had(monkeypatch):
    start, left, before = threading.Thread.start, [2], threading.enumerate()

    def two_at_most(thread):
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", two_at_most)
    assert with_team(8, lambda team: (team.n_threads, team.run(abs, [(-1,), (-2,)]))) == (2, [1, 2])
    with pytest.raises(RuntimeError, match="can't start"):
        with_team(8, lambda team: None)
    assert not [
        thread for thread in threading.enumerate() if "ThreadPoolExecutor" in thread.name and thread not in before
    ]


@POSIX
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_threads_at_once(in_a_process, n_jobs):
    late, still_there = in_a_process(
        f"""
        import json, os, random, signal, threading, time
        from sklda._core.parallel import in_parallel

        signal.signal(signal.SIGINT, signal.default_int_handler)
        late = []

        def interrupt():
            time.sleep(random.uniform(0.02, 0.2))
            late.append(-time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        def endless(stop):
            while True:
                stop()

        for _ in range(5):
            sender = threading.Thread(target=interrupt)
            sender.start()
            try:
                in_parallel(endless, [()] * 3, {n_jobs})
            except KeyboardInterrupt:
                late[-1] += time.perf_counter()
            sender.join()
        print(json.dumps([late, threading.active_count() - 1]))
        """
    )
    assert len(late) == 5
    assert 0 < min(late) <= max(late) < 0.4
    assert still_there == 0


def test_threads_end_after_a_second_interrupt(monkeypatch):
    """The first ends the work, the second comes before its threads are waited for."""

    def interrupted(pool):
        raise KeyboardInterrupt("second")

    def work(team):
        raise KeyboardInterrupt("first")

    threads = set(threading.enumerate())
    monkeypatch.setattr(parallel.ThreadPoolExecutor, "shutdown", interrupted)
    with pytest.raises(KeyboardInterrupt, match="second"):
        with_team(2, work)
    assert threads_end(threads)


def test_an_interrupt_in_a_lock_of_the_pool_comes_out(monkeypatch):
    def submit(pool, work):
        try:
            raise KeyboardInterrupt
        finally:
            threading.Lock().release()

    monkeypatch.setattr(parallel.ThreadPoolExecutor, "submit", submit)
    with pytest.raises(KeyboardInterrupt):
        with_team(2, lambda team: None)


def test_threads_have_the_configuration_of_the_caller():
    with config_context(assume_finite=True, working_memory=7):
        found = in_parallel(lambda stop: get_config(), [()] * 2, 2)
        assert found == [get_config()] * 2


# Work that is cut so that Python may look in


def test_cuts_change_no_bit(problem, monkeypatch, same):
    corpus, priors = problem
    state = GibbsChain.initialise_randomly(corpus, priors, np.random.SeedSequence(0))

    def results():
        return [*estimate_counts(corpus, priors, state.topics), merge_gains.merge_gains(corpus, state.topics, priors)]

    whole = results()
    monkeypatch.setattr(point_estimates, "_BLOCK_WEIGHTS", 200)
    monkeypatch.setattr(merge_gains, "_BLOCK_PAIRS", 100)
    assert same(results(), whole)


def test_one_worker_has_a_thread_if_its_tasks_are_long(counts, monkeypatch, same):
    fit = lambda: GibbsLDA(4, sampler="partitioned", max_iter=3, random_state=0).fit(counts)  # noqa: E731
    expected, teams = fit(), []
    monkeypatch.setattr(partitioned, "BLOCK_WEIGHTS", 1)
    start = parallel.Team.start
    monkeypatch.setattr(parallel.Team, "start", lambda team, pool: (teams.append(team.n_threads), start(team, pool)))
    assert same(fit().log_joint_trace_, expected.log_joint_trace_)
    assert teams == [1]
    assert collapsed.BLOCK_WEIGHTS > 1
