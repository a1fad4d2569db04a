"""Mixing of the samplers of `GibbsLDA`, and the speed of one chain on two cores.

    python benchmarks/bench_mixing.py                          all parts, about half an hour on two idle cores
    python benchmarks/bench_mixing.py --parts threads joint --topics 100 500
    python benchmarks/bench_mixing.py --parts threads --samplers collapsed partitioned --corpus 100000 100000 --settle 1
    python benchmarks/bench_mixing.py --parts threads --samplers collapsed partitioned --topics 100 1000 --busy 1
    python benchmarks/bench_mixing.py --parts mixing --sweeps 4000

The parts are

- `threads`: seconds of a sweep with one and with two threads, and relative to one thread of the collapsed sampler; with
  `--busy`, beside as many other programs that want a core each;
- `joint`: the joint log-likelihood as a function of wall seconds on two cores, compared with tomotopy with two workers;
- `mixing`: effective draws of functionals that do not depend on the order of topics.

`bench_cluster.py` measures one chain on a Dask cluster. Wall seconds are comparable on an idle machine only. The script
needs the extra `benchmark`.
"""

import argparse
import json
import platform
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import numpy as np
from joint_curves import time_of
from peers import ALPHA, ETA, Tomotopy, describe, log_joint, stopwatch, synthetic
from report import say, table

from sklda._core.corpus import Corpus
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._models.empirical_bayes.convergence import draws_by_batch_means
from sklda._sampling.choice import SAMPLERS, chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda.datasets import load_docstrings

PARTS = ("threads", "joint", "mixing")
IN_BLOCKS = [name for name in SAMPLERS if name != "collapsed"]


def start(X, n_topics, seed, n_sweeps=0):
    """Corpus, priors, and the state after some collapsed sweeps from random assignments."""
    corpus = Corpus.from_counts(X)
    chain = GibbsChain.initialise_randomly(
        corpus, Priors.make(ALPHA, ETA, n_topics, X.shape[1]), np.random.SeedSequence(seed)
    )
    for _ in range(n_sweeps):
        chain.sweep()
    return corpus, chain.priors, chain.state()


def chain_of(sampler, begin):
    corpus, priors, state = begin
    return chain_class(sampler, corpus, priors)(corpus, priors, state)


def sweeps(chain, n_sweeps, stop):
    for _ in range(n_sweeps):
        chain.sweep(stop)


# --- one thread and two threads ---------------------------------------------------------------------------------------


def together(chains, stop):
    """One sweep of every chain at the same time, each in a thread of its own: what the cores are worth."""
    threads = [Thread(target=chain.sweep, args=(stop,)) for chain in chains]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def busy():
    """Another program that wants a core."""
    program = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        program.kill()
        program.wait()


def threads(X, n_topics, options):
    """Seconds of a sweep of every sampler with one and two threads, and of two collapsed chains at the same time."""
    begin = start(X, n_topics, options.seed, options.settle)
    cases, chains = {}, {name: chain_of(name, begin) for name in options.samplers}
    for name, chain in chains.items():
        for n in (1,) if name == "collapsed" else (1, 2):
            cases[f"{name}, {n}"] = lambda chain=chain, n=n: chain.with_workers(n, chain.sweep)
    pair = [chain_of("collapsed", begin) for _ in range(2)]
    cases["collapsed, two chains"] = lambda: together(pair, NEVER_STOP)
    taken = {name: {"wall": [], "cpu": []} for name in cases}
    for repeat in range(options.repeats + 1):
        for name, sweep in cases.items():
            with ExitStack() as others:
                for _ in range(options.busy):
                    others.enter_context(busy())
                with stopwatch() as clock:
                    for _ in range(options.turn):
                        sweep()
            for kind, seconds in clock.items() if repeat else ():
                taken[name][kind].append(seconds / options.turn)
    rows, one = [], np.array(taken["collapsed, 1"]["wall"]) if "collapsed, 1" in taken else np.nan
    for name, clocks in taken.items():
        n_chains = 2 if name.endswith("chains") else 1
        wall, cpu = np.median(clocks["wall"]), np.median(clocks["cpu"])
        alone = np.median(taken.get(name[:-1] + "1", clocks)["wall"])
        worth = np.median(n_chains * one / np.array(clocks["wall"]))
        cells = f"{wall:.3f}", f"{cpu:.3f}", f"{n_chains * begin[0].n_tokens / wall / 1e6:.1f}", f"{alone / wall:.2f}"
        accepted = getattr(chains.get(name.split(",")[0]), "acceptance_rate", np.nan)
        rows.append([name, *cells, f"{worth:.2f}", f"{accepted:.3f}"])
    table(
        f"K = {n_topics}, V = {X.shape[1]}: one sweep, after {options.settle} collapsed sweeps, beside {options.busy}",
        ["sampler, threads", "wall s", "CPU s", "M tokens / s", "to one thread", "to collapsed", "accepted"],
        rows,
    )
    return taken


# --- joint log-likelihood and wall seconds, two cores -----------------------------------------------------------------


class TwoWorkers(Tomotopy):
    name = "tomotopy, 2 workers"

    def sweep(self, n=1):
        self.model.train(n, workers=2)


class InBlocks:
    """A chain of sklda on `n_jobs` cores, with the interface of the classes in `peers`."""

    def __init__(self, sampler, X, n_topics, seed, n_jobs):
        begin = start(X, n_topics, seed)
        self.chain, self.n_jobs = chain_of(sampler, begin), n_jobs
        self.tokens = begin[0].words, begin[0].token_documents

    def sweep(self, n=1):
        self.chain.with_workers(self.n_jobs, lambda stop: sweeps(self.chain, n, stop))

    def topics(self):
        return self.chain.topics


def joint(X, n_topics, options):
    """Curves of log p(w, z) per token over the wall and CPU seconds of the sweeps; samplers take turns."""
    samplers = {TwoWorkers.name: TwoWorkers(X, n_topics, options.seed)}
    for sampler in IN_BLOCKS:
        samplers[f"{sampler}, 2 threads"] = InBlocks(sampler, X, n_topics, options.seed, 2)
    samplers["collapsed, 1 thread"] = InBlocks("collapsed", X, n_topics, options.seed, 1)
    n_tokens = int(X.sum())
    spent = {name: {"wall": 0.0, "cpu": 0.0} for name in samplers}
    curves = {name: {"wall": [], "cpu": []} for name in samplers}
    # Turns are short, so that other load on the machine affects all samplers.
    while behind := [name for name in samplers if spent[name]["wall"] < options.seconds]:
        for name in behind:
            with stopwatch() as clock:
                samplers[name].sweep(options.turn)
            level = log_joint(samplers[name].tokens, samplers[name].topics(), n_topics) / n_tokens
            for kind, seconds in clock.items():
                spent[name][kind] += seconds
                curves[name][kind].append((spent[name][kind], level))
    # The time of every sampler to the last value of tomotopy.
    goal = curves[TwoWorkers.name]["wall"][-1][1]
    rows = []
    for name, points in curves.items():
        sweeps, last = len(points["wall"]) * options.turn, points["wall"][-1]
        times = [f"{time_of(points[kind], goal):.1f}" for kind in ("wall", "cpu")]
        rows.append([name, str(sweeps), f"{last[0]:.1f}", f"{last[1]:.4f}", *times])
    table(
        f"K = {n_topics}: joint log-likelihood per token, two cores",
        ["sampler", "sweeps", "wall s", "value", f"wall s to {goal:.4f}", f"CPU s to {goal:.4f}"],
        rows,
    )
    return curves


# --- mixing -----------------------------------------------------------------------------------------------------------


def functionals(chain):
    """Quantities that do not depend on the order of topics."""
    n_dk, m_k = chain.doc_topic_counts(), chain.topic_totals
    lengths = np.maximum(chain.corpus.lengths, 1)[:, None]
    return chain.log_joint(), ((m_k / m_k.sum()) ** 2).sum(), ((n_dk / lengths) ** 2).sum(axis=1).mean()


NAMES = ("log joint", "squared shares of topics", "squared shares in documents")


def mixing(X, n_topics, options):
    """Effective draws per sweep and per CPU second, by batch means, from one state of a long collapsed chain."""
    begin = start(X, n_topics, options.seed, options.burn_in)
    found, rows = {}, []
    for sampler in SAMPLERS:
        chain, series, seconds = chain_of(sampler, begin), [], 0.0
        for _ in range(options.sweeps):
            with stopwatch() as clock:
                chain.sweep()
            seconds += clock["cpu"]
            series.append(functionals(chain))
        # The first fifth is burn-in of this sampler.
        kept = np.array(series[options.sweeps // 5 :])
        effective = draws_by_batch_means([kept])
        seconds *= len(kept) / len(series)
        found[sampler] = {"effective": effective.tolist(), "cpu": seconds, "kept": len(kept)}
        found[sampler]["means"] = kept.mean(axis=0).tolist()
        for name, n in zip(NAMES, effective, strict=True):
            rows.append([f"{sampler}: {name}", f"{len(kept) / n:.0f}", f"{n / seconds:.2f}"])
    table(
        f"K = {n_topics}: {options.sweeps} sweeps after {options.burn_in} collapsed ones",
        ["sampler: functional", "sweeps per draw", "draws per CPU s"],
        rows,
    )
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--topics", nargs="+", type=int, default=[100, 500], help="K of all parts but `mixing`")
    parser.add_argument("--mixing-topics", nargs="+", type=int, default=[10, 50], help="K of `mixing`")
    parser.add_argument("--documents", type=int, help="number of docstrings in `mixing` (default: all)")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each sampler in `threads`")
    parser.add_argument("--turn", type=int, default=3, help="sweeps of a turn, or between two points of a curve")
    parser.add_argument("--settle", type=int, default=60, help="collapsed sweeps before `threads`")
    parser.add_argument("--samplers", nargs="+", choices=SAMPLERS, default=list(SAMPLERS), help="of `threads`")
    parser.add_argument("--busy", type=int, default=0, help="other programs beside `threads`, each with a core's work")
    parser.add_argument("--corpus", type=int, nargs=2, default=[20_000, 19_084], help="documents and words, simulated")
    parser.add_argument("--seconds", type=float, default=40.0, help="wall seconds of each curve in `joint`")
    parser.add_argument("--burn-in", type=int, default=2000, help="collapsed sweeps before `mixing`")
    parser.add_argument("--sweeps", type=int, default=4000, help="sweeps of each sampler in `mixing`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args()
    say(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    figures = {}
    if set(options.parts) - {"mixing"}:
        X = synthetic(*options.corpus)
        say(f"synthetic corpus: {describe(X)}")
        for part in options.parts:
            for n_topics in options.topics if part != "mixing" else []:
                figures[f"{part}, K = {n_topics}"] = globals()[part](X, n_topics, options)
    if "mixing" in options.parts:
        X = load_docstrings().data[: options.documents]
        say(f"docstrings: {describe(X)}")
        for n_topics in options.mixing_topics:
            figures[f"mixing, K = {n_topics}"] = mixing(X, n_topics, options)
    if options.json:
        options.json.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
