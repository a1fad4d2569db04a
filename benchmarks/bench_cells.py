"""Cells and regions: fits of long documents of words that occur once, with seconds and memory, by several libraries.

    python benchmarks/bench_cells.py
    python benchmarks/bench_cells.py --cells 10000 --regions 100000 --ones 5000 --libraries sklda --sweeps 150

A binary matrix of cells by regions is simulated: every region is open in a cell with a probability that comes from the
topics of the cell. Fits have the priors that are usual there, alpha = 50 / K and eta = 0.1. Each fit has its own
process on one core. "Load" are the CPU seconds until the first sweep: of the matrix, or for tomotopy and lda of its
rows as they take them. "The rest" is what a fit does beside loading and sweeping. "Tables" are the words and shares of
all topics, and the table of all cells. MB is the peak memory beyond a process that holds the matrix, of the fit and of
all that follows. The form "disk" is a folder of `save_counts`, which the fit reads by `load_counts`. scikit-learn is
not among the libraries, because its passes take ten times as long.
"""

import argparse
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from peers import peak_memory
from report import in_child, one_core, say, table
from threadpoolctl import threadpool_limits

from sklda import GibbsLDA
from sklda._sampling.collapsed import GibbsChain
from sklda.datasets import load_counts, save_counts
from sklda.inspection import document_table, topic_table

ETA, TRANSFORMED = 0.1, 500
FORMS = {
    "bool": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csc": lambda X: X.tocsc(),
    "csc, float32": lambda X: X.astype(np.float32).tocsc(),
    "disk": lambda X: X,
}


def simulated(n_cells, n_regions, n_ones, seed=0, n_topics=20):
    """A csr_matrix of bool with about `n_ones` open regions in each cell."""
    rng = np.random.default_rng(seed)
    # Regions differ in how often they are open, and a topic opens a third of them more than others.
    topics = rng.lognormal(0, 1, n_regions) * rng.gamma(0.3, size=(n_topics, n_regions))
    topics = (topics / topics.sum(axis=1, keepdims=True)).astype(np.float32)
    blocks = []
    for first in range(0, n_cells, 250):
        theta = rng.dirichlet(np.full(n_topics, 0.2), min(250, n_cells - first)).astype(np.float32)
        depth = rng.lognormal(0, 0.3, (len(theta), 1)).astype(np.float32) * np.float32(n_ones)
        # With so many regions few rates are above one, so this share of the ones is lost.
        rates = theta @ topics * depth
        blocks.append(sp.csr_matrix(rng.random(rates.shape, np.float32) < -np.expm1(-rates * 1.25)))
    return sp.vstack(blocks, "csr")


# --- libraries: CPU seconds of loading, of the sweeps and of the rest, and a function that transforms cells -----------


def ours(X, n_topics, n_sweeps):
    spent, sweep = [0.0], GibbsChain.sweep

    def timed(chain, *arguments):
        before = time.process_time()
        sweep(chain, *arguments)
        spent[0] += time.process_time() - before

    GibbsChain.sweep = timed
    lda = GibbsLDA(n_topics, doc_topic_prior=50 / n_topics, topic_word_prior=ETA, max_iter=n_sweeps, random_state=0)
    begin = time.process_time()
    lda._read(X)
    load = time.process_time() - begin
    begin = time.process_time()
    lda.fit(X)
    whole = time.process_time() - begin
    return load, spent[0], whole - load - spent[0], lda.transform, lda


def tomotopy(X, n_topics, n_sweeps):
    import tomotopy

    begin = time.process_time()
    names, X = [str(j) for j in range(X.shape[1])], X.tocsr()
    model = tomotopy.LDAModel(k=n_topics, alpha=50 / n_topics, eta=ETA, seed=0)
    model.optim_interval = 0
    for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        model.add_doc([names[j] for j in X.indices[first:last]])
    model.train(0, workers=1)
    loaded = time.process_time()
    model.train(n_sweeps, workers=1)
    swept = time.process_time()
    np.array([model.get_topic_word_dist(k) for k in range(n_topics)])
    np.array([document.get_topic_dist() for document in model.docs])

    def transform(cells):
        rows = [[names[j] for j in cells.indices[a:b]] for a, b in zip(cells.indptr, cells.indptr[1:], strict=False)]
        return model.infer([model.make_doc(row) for row in rows], workers=1)

    return loaded - begin, swept - loaded, time.process_time() - swept, transform, model


def lda(X, n_topics, n_sweeps):
    import lda

    begin = time.process_time()
    counts = X.astype(np.int64)
    lda.LDA(n_topics, n_iter=0, alpha=50 / n_topics, eta=ETA, random_state=0, refresh=10**9).fit(counts)
    loaded = time.process_time()
    model = lda.LDA(n_topics, n_iter=n_sweeps, alpha=50 / n_topics, eta=ETA, random_state=0, refresh=10**9).fit(counts)
    load = loaded - begin
    return load, time.process_time() - loaded - load, 0.0, model.transform, model


LIBRARIES = {"sklda": ours, "tomotopy": tomotopy, "lda": lda}


def measure(library, file, n_topics, n_sweeps):
    """CPU seconds of the parts of a fit and its peak MB; those of `transform` and of tables, and the peak MB of all."""
    one_core()
    X = load_counts(file).data if file.is_dir() else sp.load_npz(file)
    if find_spec(library) and library != "sklda":
        __import__(library)
    before = peak_memory()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        *seconds, transform, model = LIBRARIES[library](X, n_topics, n_sweeps)
        peak = (peak_memory() - before) / 1e6
        begin, cells = time.process_time(), X[:TRANSFORMED].tocsr()
        transform(cells if library != "lda" else cells.astype(np.int64))
        transformed = time.process_time()
        if library == "sklda":
            topic_table(model, columns="all"), document_table(model)
        tables = time.process_time() - transformed
    return *seconds, peak, transformed - begin, tables, (peak_memory() - before) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--cells", type=int, default=2000)
    add("--regions", type=int, default=60_000)
    add("--ones", type=int, default=3000, help="open regions of a cell, on average")
    add("--topics", nargs="+", type=int, default=[20, 40])
    add("--sweeps", type=int, default=30)
    add("--forms", nargs="+", choices=FORMS, default=["bool"], help="of the matrix; other libraries take the first")
    add("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    options = parser.parse_args()
    X = simulated(options.cells, options.regions, options.ones)
    say(f"{X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} ones")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for i, form in enumerate(options.forms):
            file = Path(folder) / (f"{i}" if form == "disk" else f"{i}.npz")
            if form == "disk":
                save_counts(file, X)
            else:
                sp.save_npz(file, FORMS[form](X), compressed=False)
            for library in options.libraries if i == 0 else ["sklda"]:
                if find_spec(library) is None:
                    say(f"{library} is not installed and is left out")
                    continue
                for n_topics in options.topics:
                    load, sweeps, rest, peak, transform, tables, peak_of_all = in_child(
                        measure, library, file, n_topics, options.sweeps
                    )
                    figures = f"{load:.1f} {sweeps / options.sweeps:.3f} {rest:.1f} {peak:,.0f} {transform:.2f}"
                    figures += f" {tables:.1f} {peak_of_all:,.0f} {load + sweeps + rest:.0f}"
                    rows.append([library, form, str(n_topics), *figures.split()])
                    say("  ", *rows[-1])
    header = ["library", "X", "K", "load, s", "a sweep, s", "the rest, s", "MB", f"{TRANSFORMED} cells, s", "tables, s"]
    header += ["MB of all", "fit, s"]
    table(f"Fits of {options.sweeps} sweeps", header, rows)


if __name__ == "__main__":
    main()
