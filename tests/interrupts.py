"""Ctrl-C at random moments of fits and scores: `make interrupts`, or ``python tests/interrupts.py -h``.

For every case: KeyboardInterrupt comes out, the estimator is as it was before, no thread is left, nothing is printed,
and the interpreter ends. A case is a
process of its own, which sends itself one SIGINT in every call; the logarithm of the moment is uniform, from a
millisecond on. Fits on a cluster have two processes as workers, which must be free for the next fit.

Python drops what is raised in a finaliser or in the callback of a weak reference. The interrupts that it drops are
counted, and sent again, as a user would.

The interrupt must come out within half a second, which only this script asks for, and not the suite. If other work uses
the cores, wall seconds mean little: the script takes the smaller of the wall and of the CPU seconds of all threads.
"""

import argparse
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from contextlib import ExitStack
from importlib.util import find_spec

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklda import (
    HDPLDA,
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    DaskGibbsLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
    metrics,
)
from sklda._core.parallel import Stop
from sklda._sampling.choice import SAMPLERS
from sklda._sampling.initialisation import INITS
from sklda.datasets import load_docstrings
from sklda.papers.held_out import ais, chib, leave_one_out_score, left_to_right, particle_filter, ratio_ais
from sklda.papers.topic_count import log_evidence

# Seconds in which an interrupt must be heard; and those after which threads that still run will not end.
HEARD, ENDED = 0.5, 60.0
# The earliest moment, in seconds.
FIRST = 1e-3
# What ends with the process, such as clusters.
OPEN = ExitStack()
# What is checked after each interrupt, beside the estimator and the threads.
AFTERWARDS = []
# The interrupts that have arrived, and those of them that Python dropped.
ARRIVED, DROPPED = [], []


class StopAtLook(Stop):
    """Whose flag goes up when it is called for the n-th time."""

    def __init__(self, n):
        super().__init__()
        self.left = n

    def __call__(self):
        self.left -= 1
        self.flag[0] = self.left <= 0
        super().__call__()


def corpus():
    """The bundled documents, and the collection that each belongs to."""
    found = load_docstrings()
    return found.data, found.target


def fit(make):
    """A case: an estimator that is fitted to the corpus, for longer than anybody waits."""

    def case(n_jobs):
        X, labels = corpus()
        lda = make(n_jobs)
        if isinstance(lda, LabeledLDA):
            return lda, lambda: lda.fit(X, several_labels(labels))
        call = (lambda: lda.fit(X, collections=labels)) if isinstance(lda, CompoundLDA) else lambda: lda.fit(X)
        return lda, call

    return case


def fitted(n_jobs):
    """A case: an estimator with results, which goes on for longer than anybody waits."""
    X, _ = corpus()
    lda = GibbsLDA(20, max_iter=1, n_chains=2, sampler="grouped", n_jobs=n_jobs, warm_start=True).fit(X)
    lda.set_params(max_iter=10**6)
    return lda, lambda: lda.fit(X)


def several_labels(labels):
    """An indicator matrix in which every document has its label and the next."""
    Y = np.eye(labels.max() + 1, dtype=int)
    return (Y + np.roll(Y, 1, axis=1))[labels]


def labelled(work, **parameters):
    """A case: predictions of labels, given a short fit."""

    def case(n_jobs):
        X, labels = corpus()
        parameters_of_fit = {"n_chains": 2, "max_iter": 4, "n_draws": 1, "n_jobs": n_jobs, "random_state": 0}
        lda = LabeledLDA(**parameters_of_fit, **parameters).fit(X, several_labels(labels))
        return lda, lambda: work(lda, X)

    return case


def gibbs(**parameters):
    return fit(lambda n_jobs: GibbsLDA(20, max_iter=10**6, n_jobs=n_jobs, **parameters))


def scored(score, **parameters):
    """A case: a score of the documents, given a short fit."""

    def case(n_jobs):
        X, _ = corpus()
        lda = GibbsLDA(20, max_iter=5, n_jobs=n_jobs, random_state=0, **parameters).fit(X)
        return lda, lambda: score(lda, X, n_jobs)

    return case


def on_cluster(n_jobs):
    """A case: a fit of a Dask array on two workers of `n_jobs` threads."""
    import dask.array

    sys.path.append(os.path.dirname(__file__))
    from workers import client_of

    client = OPEN.enter_context(client_of(2, n_jobs))
    AFTERWARDS.append(lambda: require_free(client))
    X, _ = corpus()
    blocks = [dask.array.from_array(X[d : d + 60], asarray=False) for d in range(0, X.shape[0], 60)]
    blocks = dask.array.concatenate(blocks)
    # The threads of the client start with the first fit. Its results are dropped.
    lda = clone(DaskGibbsLDA(20, max_iter=2).fit(blocks)).set_params(max_iter=10**6)
    gc.collect()
    return lda, lambda: lda.fit(blocks)


def require_free(client):
    """Wait until the work of the previous fit on a cluster has ended."""
    deadline = time.monotonic() + ENDED
    while tasks := list(client.cluster.scheduler.tasks):
        if time.monotonic() > deadline:
            raise Unlike(f"the cluster still has {len(tasks)} tasks, such as {tasks[:3]}")
        time.sleep(0.001)


def one_long_document(score):
    """A case: 20,000 tokens and 500 topics."""

    def case(n_jobs):
        rng = np.random.default_rng(0)
        lda = GibbsLDA(500, max_iter=1, n_jobs=n_jobs, fold_in_iter=1000, random_state=0)
        lda.fit(rng.poisson(0.1, (20, 2000)))
        X = rng.multinomial(20_000, np.full(2000, 1 / 2000), size=1)
        return lda, lambda: score(lda, X, n_jobs)

    return case


CASES = {
    **{f"GibbsLDA {sampler}": gibbs(sampler=sampler) for sampler in SAMPLERS},
    **{f"GibbsLDA {sampler}, 2 chains": gibbs(sampler=sampler, n_chains=2) for sampler in SAMPLERS},
    "GibbsLDA that goes on": fitted,
    "GibbsLDA sparse": fit(lambda n_jobs: GibbsLDA(300, max_iter=10**6, n_chains=2, n_jobs=n_jobs)),
    **{f"GibbsLDA {init}": gibbs(init=init, n_chains=2) for init in (*INITS, "search") if init != "random"},
    "GibbsLDA fits of three sweeps": fit(lambda n_jobs: _Often(GibbsLDA(20, max_iter=3, n_chains=2, n_jobs=n_jobs))),
    "GibbsLDA partitioned fits of three sweeps": fit(
        lambda n_jobs: _Often(GibbsLDA(20, max_iter=3, sampler="partitioned", n_jobs=n_jobs))
    ),
    "EmpiricalBayesLDA": fit(lambda n_jobs: EmpiricalBayesLDA(20, n_chains=2, max_iter=10**5, n_jobs=n_jobs)),
    **{
        f"CollapsedVariationalLDA {method}": fit(
            lambda n_jobs, method=method: CollapsedVariationalLDA(
                20, learning_method=method, max_iter=10**6, n_jobs=n_jobs
            )
        )
        for method in ("batch", "online")
    },
    "CollapsedVariationalLDA, chunks": fit(
        lambda n_jobs: _Stream(CollapsedVariationalLDA(20, batch_size=20, n_jobs=n_jobs))
    ),
    "TopicCountLDA": fit(lambda n_jobs: TopicCountLDA(max_components=30, max_iter=10**5, n_jobs=n_jobs)),
    # In one process: joblib prints an error of its own when it ends processes that have hardly begun.
    "ConsensusTopics": fit(
        lambda n_jobs: ConsensusTopics(GibbsLDA(20, max_iter=10**6, n_chains=2, n_jobs=n_jobs), n_fits=2)
    ),
    "CompoundLDA": fit(lambda n_jobs: CompoundLDA(20, n_chains=2, max_iter=10**5, n_jobs=n_jobs)),
    "HDPLDA": fit(lambda n_jobs: HDPLDA(max_components=20, n_chains=2, max_iter=10**5, n_jobs=n_jobs)),
    "CovariateLDA": fit(lambda n_jobs: CovariateLDA(20, n_chains=2, max_iter=10**5, n_jobs=n_jobs)),
    "LabeledLDA": fit(lambda n_jobs: LabeledLDA(n_shared=2, max_iter=10**6, n_jobs=n_jobs)),
    "LabeledLDA transform": labelled(lambda lda, X: lda.transform(X), fold_in_iter=10_000),
    **{
        f"LabeledLDA dependency {sampler}": labelled(
            lambda lda, X: lda.decision_function(X),
            fold_in_iter=10_000,
            label_prior="dependency",
            dependency_sampler=sampler,
        )
        for sampler in ("fast", "gibbs")
    },
    "transform": scored(lambda lda, X, n_jobs: lda.transform(X), fold_in_iter=10_000),
    "short transforms": scored(lambda lda, X, n_jobs: [lda.transform(X[:100]) for _ in range(1000)]),
    "score": scored(lambda lda, X, n_jobs: [lda.score(X) for _ in range(100)]),
    "held_out ais": scored(
        lambda lda, X, n_jobs: ais((lda.topic_word_, 0.1), X, n_temperatures=1000, n_runs=20, n_jobs=n_jobs)
    ),
    **{
        estimate.__name__: scored(
            lambda lda, X, n_jobs, estimate=estimate, options=options: estimate(
                (lda.topic_word_, 0.1), X, n_runs=20, n_jobs=n_jobs, **options
            )
        )
        for estimate, options in ((left_to_right, {}), (particle_filter, {}), (chib, {"n_states": 1000}))
    },
    "compare_topic_models": scored(
        lambda lda, X, n_jobs: metrics.compare_topic_models(
            lda, (lda.topic_word_[::-1].copy(), 0.1), X, n_temperatures=1000, n_jobs=n_jobs
        )
    ),
    "ratio_ais": scored(
        lambda lda, X, n_jobs: ratio_ais(
            lda, (lda.topic_word_[::-1].copy(), 0.1), X, n_temperatures=1000, n_jobs=n_jobs
        )
    ),
    "leave_one_out_score": scored(lambda lda, X, n_jobs: leave_one_out_score(lda, X, n_jobs=n_jobs)),
    "log_evidence": scored(lambda lda, X, n_jobs: log_evidence(X, 20, n_temperatures=1000, n_jobs=n_jobs)),
    "one long document, transform": one_long_document(lambda lda, X, n_jobs: lda.transform(X)),
    "one long document, score": one_long_document(lambda lda, X, n_jobs: [lda.score(X) for _ in range(20)]),
}


if find_spec("distributed"):
    # The last case: its client has threads of its own, which may come and go.
    CASES["cluster"] = on_cluster


class _Often:
    """Fits again and again, for interrupts at the beginning and at the end of fits."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X):
        while True:
            self.estimator.fit(X)


class _Stream(_Often):
    """Gets the same chunk again and again."""

    def fit(self, X):
        self.estimator.partial_fit(X)
        while True:
            self.estimator.partial_fit(X)


class Unlike(AssertionError):
    """A failure."""


def arrived(number, frame):
    ARRIVED.append(number)
    raise KeyboardInterrupt


def dropped(unraisable):
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        DROPPED.append(str(unraisable.object))
    else:
        sys.__unraisablehook__(unraisable)


def interrupt(case, n_jobs, n_interrupts, seconds, seed):
    """Seconds from SIGINT to KeyboardInterrupt, (wall, CPU) for every interrupt."""
    signal.signal(signal.SIGINT, arrived)
    sys.unraisablehook = dropped
    rng, latencies = np.random.default_rng(seed), []
    estimator, call = CASES[case](n_jobs)
    while len(latencies) < n_interrupts:
        held = vars(getattr(estimator, "estimator", estimator))
        before, threads, sent = dict(held), set(threading.enumerate()), []
        # Made before the call: how it is started is not what is to be tested.
        go, over = threading.Event(), threading.Event()
        wait = float(np.exp(rng.uniform(np.log(FIRST), np.log(seconds))))
        sender = threading.Thread(target=send, args=(go, wait, sent, over), daemon=True)
        sender.start()
        try:
            try:
                go.set()
                call()
                raise Unlike(f"the call ended after less than {seconds} s; nothing to interrupt")
            finally:
                # Results of `_SoFar` are checked after the fit.
                ended = getattr(estimator, "ended", None)
                heard = clocks() if ended is None else ended
        except KeyboardInterrupt:
            pass
        over.set()
        sender.join()
        latencies.append((heard - sent[-1]).tolist())
        check(estimator, before, threads)
    return latencies


def clocks():
    """Seconds, on the wall and of the CPU."""
    return np.array([time.perf_counter(), time.process_time()])


def send(go, wait, sent, over):
    go.wait()
    time.sleep(wait)
    n_dropped = len(DROPPED)
    while True:
        sent.append(clocks())
        os.kill(os.getpid(), signal.SIGINT)
        while len(DROPPED) == n_dropped:
            if over.wait(0.01):
                return
        n_dropped = len(DROPPED)


def check(estimator, before, threads):
    after = vars(getattr(estimator, "estimator", estimator))
    # A fit of three sweeps may have ended before: what it left is whole.
    if not isinstance(estimator, _Often):
        require_unchanged(before, after)
    deadline = time.monotonic() + ENDED
    while left := set(threading.enumerate()) - threads:
        if time.monotonic() > deadline:
            raise Unlike(f"threads are left: {left}")
        time.sleep(0.001)
    for each in AFTERWARDS:
        each()


def require_unchanged(before, after):
    if after.keys() != before.keys() or not all(after[name] is before[name] for name in before):
        raise Unlike("the estimator has changed")


def child(cases, n_jobs, n_interrupts, seconds, seed):
    """The work of a process; its last line has the results."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "CovariateLDA has no covariates", UserWarning)
    warnings.filterwarnings("ignore", r"\w*CompoundLDA has no collections", UserWarning)
    warnings.filterwarnings("ignore", "The fit has too few sweeps", ConvergenceWarning)
    warnings.filterwarnings("ignore", r"\d+ of \d+ labels may be missing", UserWarning)
    latencies, error = [], ""
    with OPEN:
        try:
            for case in cases:
                latencies += interrupt(case, n_jobs, n_interrupts, seconds, seed)
        except BaseException:
            error = f"{case}: {traceback.format_exc()}"
    print(json.dumps([latencies, error, len(DROPPED)]), flush=True)


def run(cases, n_jobs, n_interrupts, seconds, seed=0):
    """Latencies of cases in a process, what was wrong, if anything was, and how many interrupts Python dropped."""
    command = [sys.executable, "-P", __file__, "--child", "--cases", *cases, "--n-jobs", str(n_jobs)]
    command += ["--interrupts", str(n_interrupts), "--seconds", str(seconds), "--seed", str(seed)]
    limit = 120 + len(cases) * n_interrupts * (seconds + 10)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired as late:
        return [], f"did not end: {(late.stderr or b'').decode()}", 0
    if done.returncode or done.stderr:
        return [], f"exit status {done.returncode}: {done.stdout}{done.stderr}", 0
    *printed, results = done.stdout.splitlines()
    if printed or not results.startswith("["):
        return [], f"printed: {printed}, {results}", 0
    return json.loads(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--interrupts", type=int, default=150, help="of each case and n_jobs")
    parser.add_argument("--seconds", type=float, default=1.0, help="the latest moment")
    parser.add_argument("--n-jobs", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", nargs="+", default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.cases, options.n_jobs[0], options.interrupts, options.seconds, options.seed)
        return
    print(f"{'case':44} n_jobs  interrupts  median ms  longest  CPU: median  longest  over 0.5 s")
    wrong, total, n_dropped = 0, 0, 0
    for case in options.cases:
        for n_jobs in options.n_jobs:
            latencies, error, n_dropped_here = run([case], n_jobs, options.interrupts, options.seconds, options.seed)
            wall, cpu = 1000 * np.array(latencies or [[np.nan] * 2]).T
            if not error and np.minimum(wall, cpu).max() > 1000 * HEARD:
                error = f"heard after {np.minimum(wall, cpu).max():.0f} ms"
            print(
                f"{case:44} {n_jobs:6}  {len(latencies):10}  {np.median(wall):9.1f}  {wall.max():7.0f}"
                f"  {np.median(cpu):11.1f}  {cpu.max():7.0f}  {(wall > 1000 * HEARD).sum():10}  {error}",
                flush=True,
            )
            wrong, total = wrong + bool(error), total + len(latencies)
            n_dropped += n_dropped_here
    print(f"{total} interrupts, {wrong} cases of {len(options.cases) * len(options.n_jobs)} not as they should be")
    print(f"{n_dropped} more were dropped in finalisers, and sent again")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
