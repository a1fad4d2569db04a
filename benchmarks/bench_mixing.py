"""Mixing of the samplers of `GibbsLDA`, and the speed of one chain on two cores.

    python benchmarks/bench_mixing.py                          all parts, about half an hour on two idle cores
    python benchmarks/bench_mixing.py --parts threads joint --topics 100 500
    python benchmarks/bench_mixing.py --parts mixing --sweeps 4000

The parts are

- `threads`: seconds per sweep with one and with two threads;
- `joint`: the joint log-likelihood as a function of wall seconds on two cores, compared with tomotopy with two workers;
- `mixing`: effective draws of functionals that do not depend on the order of topics;
- `cluster`: two worker processes of a Dask cluster compared with two threads.

Wall seconds are comparable on an idle machine only. The script needs the extra `benchmark`, and `distributed` for
`cluster`.
"""

import argparse
import json
import platform
from pathlib import Path

import joblib
import numpy as np
from joint_curves import time_of
from peers import ALPHA, ETA, Tomotopy, describe, log_joint, stopwatch, synthetic
from report import say, table

from sklda._inference.corpus import Corpus
from sklda._inference.hyperparameters.convergence import effective_draws
from sklda._inference.priors import Priors
from sklda._inference.sampling.choice import SAMPLERS, chain_class
from sklda._inference.sampling.collapsed import GibbsChain
from sklda.datasets import load_docstrings

PARTS = ("threads", "joint", "mixing", "cluster")
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


def sweeps(chain, n_sweeps, stop, after_each=lambda: None):
    for _ in range(n_sweeps):
        chain.sweep(stop)
        after_each()


def timed(chain, n_sweeps, stop):
    """CPU and wall seconds of the sweeps after the first one."""
    chain.sweep(stop)
    with stopwatch() as clock:
        sweeps(chain, n_sweeps, stop)
    return clock


# --- one thread and two threads ---------------------------------------------------------------------------------------


def threads(X, n_topics, options):
    """Seconds per sweep and log joint of every sampler; numbers of threads take turns."""
    begin = start(X, n_topics, options.seed, options.settle)
    taken = {}
    for sampler in SAMPLERS:
        chains = {n: chain_of(sampler, begin) for n in ((1,) if sampler == "collapsed" else (1, 2))}
        for n, chain in chains.items():
            chain.sweep()
            taken[f"{sampler}, {n}"] = {"wall": [], "cpu": []}
        for _ in range(options.repeats):
            for n, chain in chains.items():
                with stopwatch() as clock:
                    chain.with_workers(n, lambda stop, chain=chain: sweeps(chain, options.turn, stop, chain.log_joint))
                for kind, seconds in clock.items():
                    taken[f"{sampler}, {n}"][kind].append(seconds / options.turn)
    rows = []
    for name, clocks in taken.items():
        wall, cpu = np.median(clocks["wall"]), np.median(clocks["cpu"])
        alone = np.median(taken[name[:-1] + "1"]["wall"])
        rows.append([name, f"{wall:.3f}", f"{cpu:.3f}", f"{begin[0].n_tokens / wall / 1e6:.1f}", f"{alone / wall:.2f}"])
    table(
        f"K = {n_topics}: one sweep and its log joint, after {options.settle} collapsed sweeps",
        ["sampler, threads", "wall s", "CPU s", "M tokens / s", "ratio to one thread"],
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
        effective = effective_draws([kept])
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


# --- a cluster --------------------------------------------------------------------------------------------------------


def cluster(X, n_topics, options):
    """Seconds per sweep with two worker processes of a Dask cluster on this machine, and with two threads."""
    import distributed

    begin = start(X, n_topics, options.seed, options.settle)
    corpus, width = begin[0], begin[1].topic.shape[1]
    moved = {"tokens": 12 * corpus.n_tokens + 8 * corpus.n_documents, "phi, to each": (4 * width + 8) * X.shape[1]}
    taken, rows = {}, []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers),
    ):
        for sampler in IN_BLOCKS:
            for backend in ("threading", "dask"):
                chain = chain_of(sampler, begin)
                with joblib.parallel_config(backend=backend):
                    clock = chain.with_workers(2, lambda stop, chain=chain: timed(chain, options.turn, stop))
                taken[f"{sampler}, {backend}"] = clock["wall"] / options.turn
                rows.append([f"{sampler}, {backend}", f"{clock['wall'] / options.turn:.2f}"])
    sizes = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in moved.items())
    table(f"K = {n_topics}: seconds per sweep; each transfers {sizes}", ["sampler, backend", "wall s"], rows)
    return taken | moved


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--topics", nargs="+", type=int, default=[100, 500], help="K of all parts but `mixing`")
    parser.add_argument("--mixing-topics", nargs="+", type=int, default=[10, 50], help="K of `mixing`")
    parser.add_argument("--documents", type=int, help="number of docstrings in `mixing` (default: all)")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each sampler in `threads`")
    parser.add_argument("--turn", type=int, default=3, help="sweeps of a turn, or between two points of a curve")
    parser.add_argument("--settle", type=int, default=60, help="collapsed sweeps before `threads` and `cluster`")
    parser.add_argument("--seconds", type=float, default=40.0, help="wall seconds of each curve in `joint`")
    parser.add_argument("--burn-in", type=int, default=2000, help="collapsed sweeps before `mixing`")
    parser.add_argument("--sweeps", type=int, default=4000, help="sweeps of each sampler in `mixing`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args()
    say(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    figures = {}
    if set(options.parts) - {"mixing"}:
        X = synthetic()
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
