"""Held-out score and CPU seconds of GibbsLDA by its start: random, sequential and annealed, and by its constants.

    python benchmarks/bench_start.py --quick
    python benchmarks/bench_start.py --topics 10 100 300 --seeds 3 --ldac corpus.ldac.gz other.npz
    python benchmarks/bench_start.py --pieces 35 --ldac corpus.ldac.gz

A fifth of the documents, at most 2,000, is held out. All fits make `max_iter` sweeps. With `--pieces`, documents are
also cut into random pieces of about this number of tokens. A file has a sparse matrix (.npz) or lines of LDA-C. Scores
are nats per token, means over seeds. The last columns are the difference from the random start with the same seeds, and
its standard error.
"""

import argparse
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from peers import read_ldac
from report import say, table
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklda import GibbsLDA
from sklda._inference.sampling import annealed_start
from sklda.datasets import load_docstrings

MOST_HELD_OUT = 2000
CONSTANTS = {"share": "_SHARE", "factor": "_FACTOR", "most": "_MOST"}


def kinds(quick):
    """The parameters and the changed constants of each kind of fit."""
    found = {
        "random": ({"init": "random"}, {}),
        "sequential": ({"init": "sequential"}, {}),
        "anneal (default)": ({}, {}),
    }
    if quick:
        return found
    for name, constant in CONSTANTS.items():
        value = getattr(annealed_start, constant)
        for word, times in (("half", 0.5), ("twice", 2)):
            changed = type(value)(value * times)
            if name == "share":
                changed = min(changed, 0.9)
            found[f"{word} the {name}: {changed:g}"] = ({}, {constant: changed})
    return found


def pieces(X, length, rng):
    """Documents cut into pieces of about `length` tokens, drawn without replacement."""
    documents, words, n = [], [], 0
    for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        tokens = rng.permutation(np.repeat(X.indices[first:last], X.data[first:last]))
        n_pieces = max(round(len(tokens) / length), 1)
        documents.append(n + np.arange(len(tokens)) * n_pieces // max(len(tokens), 1))
        words.append(tokens)
        n += n_pieces
    documents, words = np.concatenate(documents), np.concatenate(words)
    return sp.csr_array((np.ones(len(words), np.int64), (documents, words)), shape=(n, X.shape[1]))


def corpora(options):
    """Counts by name, without words that do not occur."""
    read = {"docstrings": load_docstrings().data}
    for path in options.ldac:
        read[path.parent.name if path.name.startswith("corpus") else path.stem] = (
            sp.load_npz(path) if path.suffix == ".npz" else read_ldac(path)
        )
    rng = np.random.default_rng(0)
    for name, X in read.items():
        X = sp.csr_array(X).astype(np.int64)
        X = X[:, X.sum(axis=0) > 0]
        yield name, X
        if options.pieces:
            yield f"{name}, pieces", pieces(X, options.pieces, rng)


def measure(train, test, K, kind, max_iter, seed):
    """Held-out score, and CPU seconds of the fit."""
    parameters, constants = kind
    with ExitStack() as stack:
        for name, value in constants.items():
            stack.enter_context(patch.object(annealed_start, name, value))
        begin = time.process_time()
        lda = GibbsLDA(K, max_iter=max_iter, random_state=seed, **parameters).fit(train)
        seconds = time.process_time() - begin
    return lda.score(test), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ldac", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument("--pieces", type=int, metavar="TOKENS")
    parser.add_argument("--topics", nargs="+", type=int, default=[10, 40])
    parser.add_argument("--max-iter", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only the kinds of starts, without other constants")
    options = parser.parse_args()
    rows = []
    for name, X in corpora(options):
        order = np.random.default_rng(0).permutation(X.shape[0])
        n_held_out = X.shape[0] // 5
        train, test = X[order[n_held_out:]], X[order[: min(n_held_out, MOST_HELD_OUT)]]
        for K in options.topics:
            reference = None
            for kind, how in kinds(options.quick).items():
                runs = [measure(train, test, K, how, options.max_iter, seed) for seed in range(options.seeds)]
                scores, seconds = np.array(runs).T
                reference = scores if reference is None else reference
                gain = scores - reference
                error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
                figures = f"{scores.mean():.4f} {seconds.mean():.1f} {gain.mean():+.4f} {error:.4f}".split()
                rows.append([name, f"{train.sum():,}", str(K), kind, *figures])
                say("  ", *rows[-1])
    header = ("corpus", "tokens", "topics", "start", "score", "CPU s", "gain", "error")
    table(f"Held-out score after {options.max_iter} sweeps, {options.seeds} seeds", header, rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        main()
