"""One chain on a Dask cluster of this machine: its speed beside threads in one process, and what moves.

Run with ``python benchmarks/bench_cluster.py [--tokens 1e7] [--topics 100] [--sweeps 20]``. A block of simulated
documents is made where it is needed, so the caller never has the corpus.
"""

import argparse
import pickle
import time

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster
from report import say, table

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._models.dask.cluster_chain import ClusterChain
from sklda._models.dask.cluster_corpus import ClusterCorpus
from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.partially_collapsed import random_topics

N_FEATURES, LENGTH, TRUE_TOPICS = 20_000, 150, 100


def block(number, n_documents):
    """Word counts of simulated documents, each with five of a hundred topics."""
    phi = np.random.default_rng(0).dirichlet(np.full(N_FEATURES, 0.02), TRUE_TOPICS)
    rng = np.random.default_rng([1, number])
    own = rng.integers(TRUE_TOPICS, size=(n_documents, 5))
    topics = np.take_along_axis(own, rng.integers(5, size=(n_documents, LENGTH)), axis=1).ravel()
    words, running = np.empty(len(topics), np.int64), np.cumsum(phi, axis=1)
    for k in range(TRUE_TOPICS):
        (places,) = np.nonzero(topics == k)
        words[places] = np.minimum(running[k].searchsorted(rng.random(len(places))), N_FEATURES - 1)
    rows = np.repeat(np.arange(n_documents), LENGTH)
    return sp.csr_matrix((np.ones(len(words), np.int64), (rows, words)), shape=(n_documents, N_FEATURES))


def corpus_of(n_tokens, n_blocks=16):
    """The Dask array."""
    n = int(n_tokens / LENGTH / n_blocks)
    blocks = [da.from_delayed(dask.delayed(block)(i, n), (n, N_FEATURES), np.int64) for i in range(n_blocks)]
    return da.concatenate(blocks)


def in_threads(X, priors, seed, n_threads, n_sweeps):
    """Seconds a sweep of the same sampler in threads of this process, and its log joint."""
    corpus = Corpus.joined([Corpus.from_counts(part) for part in dask.compute(*X.to_delayed()[:, 0])])
    topics = random_topics(corpus.words, 0, priors, random.key(random.child(seed, 0)))
    state = ChainState(topics, random.stream(random.child(seed, 1)))
    chain = chain_class("partially_collapsed", corpus, priors)(corpus, priors, state)

    def run(stop):
        begin = time.perf_counter()
        for _ in range(n_sweeps):
            chain.sweep(stop)
            chain.record()
        return (time.perf_counter() - begin) / n_sweeps

    return chain.with_workers(n_threads, run), chain.trace[-1]


def on_cluster(X, priors, seed, n_processes, threads, n_sweeps):
    """Seconds a sweep on a cluster, its log joint, bytes through the caller and cells that changed in a sweep."""
    with (
        LocalCluster(
            n_workers=n_processes, threads_per_worker=threads, dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        begin = time.perf_counter()
        corpus = ClusterCorpus(X, client)
        read = time.perf_counter() - begin
        moved, answers = [], corpus._answers

        def counted(method, arguments):
            found = answers(method, arguments)
            moved.append(len(pickle.dumps(arguments)) + len(pickle.dumps(found)))
            return found

        corpus._answers = counted
        chain = ClusterChain(corpus, priors, seed)
        moved.clear()
        begin = time.perf_counter()
        for _ in range(n_sweeps):
            chain.sweep()
            chain.record()
        seconds = (time.perf_counter() - begin) / n_sweeps
        sent = max(corpus.call("sent"))
        return seconds, chain.trace[-1], sum(moved) / n_sweeps, sent, read


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=float, default=1e7)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=20)
    options = parser.parse_args()
    X, seed = corpus_of(options.tokens), np.random.SeedSequence(0)
    priors = Priors.make(0.1, 0.01, options.topics, N_FEATURES)
    rows = []
    for n in (1, 2):
        seconds, log_joint = in_threads(X, priors, seed, n, options.sweeps)
        rows.append([f"{n} threads", f"{seconds:.3f}", f"{log_joint:.1f}", "", "", ""])
        say(*rows[-1])
    for n, threads in ((1, 1), (1, 2), (2, 1), (4, 1)):
        seconds, log_joint, moved, sent, read = on_cluster(X, priors, seed, n, threads, options.sweeps)
        row = [f"{n} processes of {threads} threads", f"{seconds:.3f}", f"{log_joint:.1f}"]
        rows.append([*row, f"{moved / 1e3:.0f}", f"{sent / 1e6:.2f}", f"{read:.1f}"])
        say(*rows[-1])
    header = ["", "s a sweep", "log joint", "kB a sweep through the caller", "MB sent by a worker", "s of reading"]
    table("One chain: in threads, and on a cluster", header, rows)
