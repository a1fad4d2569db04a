"""The search between modes of topic assignments: log evidence before and after it, and its cost.

    python benchmarks/bench_modes.py --ldac 4:0.443:0.082:rec.ldac.gz 2:1.426:0.226:autos.ldac.gz
    python benchmarks/bench_modes.py --ldac 5:0.449:0.129:whales.ldac.gz --seeds 8 --starts 1

A corpus is given as number of topics, eta, alpha and file. The starts of a seed are random states after 100 sweeps.
They are searched together. Afterwards all states make 100 sweeps and are weighed by long runs of guided annealing; the
tables have the best and the worst state of each seed. Without ``--ldac`` the corpus is simulated.
"""

import argparse

import numpy as np
from peers import read_ldac, stopwatch
from report import say, table

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._mode_search.mode_evidence import mode_evidence
from sklda._mode_search.search import improve_modes
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda.datasets import make_lda_corpus

# Sweeps of a start, and of every state before it is weighed.
SWEEPS = 100


def corpora(options):
    """Name, corpus and priors of every corpus."""
    for each in options.ldac or []:
        n_components, eta, alpha, path = each.split(":", 3)
        corpus = Corpus.from_counts(read_ldac(path))
        yield path, corpus, Priors.make(float(alpha), float(eta), int(n_components), corpus.n_features)
    if not options.ldac:
        corpus = Corpus.from_counts(make_lda_corpus(150, 500, 6, doc_length=80, random_state=0).data)
        yield "simulated, K = 6", corpus, Priors.make(0.2, 0.3, 6, corpus.n_features)


def settled(chain):
    for _ in range(SWEEPS):
        chain.sweep()
    return chain


def weighed(corpus, priors, topics, options, seed):
    """log p(w) of the modes of states, by long runs."""
    states = [ChainState(z, random.stream(random.child(seed, c))) for c, z in enumerate(topics)]
    chains = [settled(GibbsChain(corpus, priors, state)) for state in states]
    return mode_evidence(chains, priors, options.temperatures, options.runs, random.child(seed, 9), options.jobs)


def measure(name, corpus, priors, options):
    rows, found, cost = [], [], []
    for number in range(options.seeds):
        seed = np.random.SeedSequence(options.seed + number)
        starts = [random.child(seed, 0, c) for c in range(options.starts)]
        starts = [settled(GibbsChain.initialise_randomly(corpus, priors, each)).topics for each in starts]
        with stopwatch() as clock:
            modes, _ = improve_modes(
                corpus, priors, starts, seed=random.child(seed, 1), n_jobs=options.jobs, max_sweeps=options.max_sweeps
            )
        before = weighed(corpus, priors, starts, options, random.child(seed, 2))
        after = weighed(corpus, priors, [mode.topics for mode in modes], options, random.child(seed, 3))
        values = [before.value.max(), before.value.min(), after.value.max(), after.value.min()]
        rows.append([str(number), *(f"{value:,.1f}" for value in values), f"{after.std:.1f}", f"{clock['cpu']:.1f}"])
        found.append(after.value)
        cost.append(clock["cpu"])
    header = ["seed", "starts: best", "worst", "found: best", "worst", "sd of a run", "CPU s"]
    table(f"{name}: {corpus.n_tokens} tokens", header, rows)
    best = [values.max() for values in found]
    say(f"  spread of the best {np.ptp(best):.1f} nats, of all {np.ptp(found):.1f}; median CPU s {np.median(cost):.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ldac", nargs="+", metavar="K:ETA:ALPHA:PATH")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--starts", type=int, default=4, help="starts of every seed, which are searched together")
    parser.add_argument("--max-sweeps", type=int)
    parser.add_argument("--temperatures", type=int, default=1000, help="of the runs that weigh the states")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for each in corpora(options):
        measure(*each, options)


if __name__ == "__main__":
    main()
