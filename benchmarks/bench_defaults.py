"""Held-out score and CPU seconds of every estimator with default parameters.

    python benchmarks/bench_defaults.py
    python benchmarks/bench_defaults.py --seeds 3 --estimators GibbsLDA CompoundLDA --ldac 50:news16/corpus.ldac.gz
    PYTHONPATH=other/version python benchmarks/bench_defaults.py

A fifth of the documents, at most 2,000, is held out. One line for each fit, then medians over the seeds. CompoundLDA
gets the labels beside a file (labels.csv.gz), or the packages of the docstrings, as collections, also of held-out
documents. Run it with two versions of the package to compare their defaults.
"""

import argparse
import csv
import gzip
import inspect
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from peers import read_ldac
from report import say, table
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import sklda
from sklda.datasets import load_docstrings

MOST_HELD_OUT = 2000
ESTIMATORS = ("GibbsLDA", "CollapsedVariationalLDA", "CompoundLDA", "EmpiricalBayesLDA", "TopicCountLDA")


def labels_beside(path, n_documents):
    """The first column of the labels of a corpus; None without a file."""
    path = path.parent / "labels.csv.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = [row[-1] for row in csv.reader(file)]
    _, sizes = np.unique(found[-n_documents:], return_counts=True)
    # Labels of single documents are no collections.
    return np.array(found[-n_documents:]) if np.median(sizes) > 5 else None


def corpora(files):
    """Name, counts, number of topics and collections."""
    docstrings = load_docstrings()
    yield "docstrings", docstrings.data, 20, np.asarray(docstrings.collection)
    for each in files:
        K, path = each.split(":", 1)
        X = sp.csr_array(read_ldac(Path(path))).astype(np.int64)
        X = X[:, X.sum(axis=0) > 0]
        yield Path(path).parent.name, X, int(K), labels_beside(Path(path), X.shape[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ldac", nargs="+", default=[], metavar="TOPICS:FILE")
    parser.add_argument("--estimators", nargs="+", default=ESTIMATORS)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for name, X, K, collections in corpora(options.ldac):
        order = np.random.default_rng(0).permutation(X.shape[0])
        n_held_out = X.shape[0] // 5
        new, known = order[: min(n_held_out, MOST_HELD_OUT)], order[n_held_out:]
        for estimator in options.estimators:
            cls, runs = getattr(sklda, estimator), []
            takes = {} if "n_components" not in inspect.signature(cls).parameters else {"n_components": K}
            own = estimator == "CompoundLDA" and collections is not None
            for seed in range(options.seeds):
                begin = time.process_time()
                lda = cls(**takes, random_state=seed)
                lda.fit(X[known], **({"collections": collections[known]} if own else {}))
                seconds = time.process_time() - begin
                score = lda.score(X[new], **({"collections": collections[new]} if own else {}))
                runs.append((score, seconds))
                say(f"  {name}, {estimator}, seed {seed}: {score:.4f} nats a token, {seconds:.1f} CPU s")
            middle = [statistics.median(column) for column in zip(*runs, strict=True)]
            tokens = f"{X[known].sum():,}"
            rows.append(
                [name, tokens, str(takes.get("n_components", "")), estimator, f"{middle[0]:.4f}", f"{middle[1]:.1f}"]
            )
    header = ("corpus", "tokens", "topics", "estimator", "score", "CPU s")
    table(f"Held-out score of defaults, {options.seeds} seeds, {sklda.__version__}", header, rows)


if __name__ == "__main__":
    for category in (ConvergenceWarning, UserWarning):
        warnings.simplefilter("ignore", category)
    with threadpool_limits(1):
        main()
