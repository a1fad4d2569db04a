"""One chain of the partitioned sampler on one and two cores, beside a chain of the collapsed sampler on one core.

    python benchmarks/bench_partitioned.py
    python benchmarks/bench_partitioned.py --topics 100 --words 100000 --documents 100000 --settle 5

All chains begin with the same topics: random ones, or those after some sweeps. The samplers take turns, times are wall
seconds, and figures are medians over repeats. The column "two cores" has two independent chains of the collapsed
sampler at the same time: what two cores are worth on this machine. The machine must have no other work.
"""

import argparse
import time
from threading import Thread

import numpy as np
from peers import ALPHA, ETA, synthetic
from report import table

from sklda._inference.corpus import Corpus
from sklda._inference.parallel import NEVER_STOP
from sklda._inference.priors import Priors
from sklda._inference.sampling.choice import chain_class


def seconds_of(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def together(chains):
    """Sweep chains at the same time, each in a thread of its own."""
    threads = [Thread(target=chain.sweep, args=(NEVER_STOP,)) for chain in chains]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def times(corpus, n_topics, settle, repeats):
    """Seconds of sweeps, by case, and the share of steps that were accepted."""
    priors = Priors.make(ALPHA, ETA, n_topics, corpus.n_features)
    kinds = {name: chain_class(name, corpus, priors) for name in ("collapsed", "partitioned")}
    chain = kinds["collapsed"].initialise_randomly(corpus, priors, np.random.SeedSequence(0))
    for _ in range(settle):
        chain.sweep()
    state = chain.state()
    first, second = (kinds["collapsed"](corpus, priors, state) for _ in range(2))
    parted = kinds["partitioned"](corpus, priors, state)
    cases = {
        "collapsed": first.sweep,
        "one worker": parted.sweep,
        "two workers": lambda: parted.with_workers(2, parted.sweep),
        "two cores": lambda: together([first, second]),
    }
    taken = {name: [] for name in cases}
    for _ in range(repeats):
        for name, work in cases.items():
            taken[name].append(seconds_of(work))
    return taken, parted.acceptance_rate


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, nargs="+", default=[20, 100, 500, 1000])
    parser.add_argument("--words", type=int, nargs="+", default=[19_000])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--settle", type=int, nargs="+", default=[1, 20])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for n_words in options.words:
        corpus = Corpus.from_counts(synthetic(options.documents, n_words))
        for n_topics in options.topics:
            for settle in options.settle:
                taken, accepted = times(corpus, n_topics, settle, options.repeats)
                base = np.array(taken["collapsed"])
                ratios = [np.median(base / taken[name]) for name in ("one worker", "two workers")]
                ratios.append(np.median(2 * base / taken["two cores"]))
                rate = corpus.n_tokens / np.median(base) / 1e6
                row = [f"{corpus.n_features}", f"{n_topics}", f"{settle}", f"{rate:.1f}"]
                rows.append([*row, *(f"{value:.2f}" for value in ratios), f"{accepted:.3f}"])
                print(" ".join(rows[-1]), flush=True)
    header = [
        "words",
        "K",
        "sweeps before",
        "collapsed, M tokens/s",
        "one worker",
        "two workers",
        "two cores",
        "accepted",
    ]
    table("Rates relative to one thread of the collapsed sampler", header, rows)
