"""Starts of GibbsLDA: the held-out score by start and by the constants of annealing, and how well chains agree.

    python benchmarks/bench_starts.py --part chains
    python benchmarks/bench_starts.py --part chains --search
    python benchmarks/bench_starts.py --part constants --topics 10 100 300 --seeds 3 --ldac corpus.ldac.gz other.npz
    python benchmarks/bench_starts.py --part constants --quick --pieces 35 --ldac corpus.ldac.gz

A fifth of the documents, at most 2,000, is held out. Scores are nats per token.

Part ``chains``: four chains on the bundled corpus. Every line has CPU seconds, the largest R-hat of a chain by itself
and of all chains (see `diagnostics_`), the mean stability of the topics, and the scores of the worst and the best
chain. Part ``constants``: random, sequential and annealed starts, and half and twice each constant of annealing, with
``max_iter`` sweeps; means over seeds. The last columns are the difference from the random start with the same seeds,
and its standard error. With ``--pieces``, documents are also cut into random pieces of about this number of tokens. A
file has a sparse matrix (.npz) or lines of LDA-C.
"""

import argparse
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from peers import read_ldac
from report import say, scaled, table, timed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklda import GibbsLDA
from sklda._sampling import annealed_start
from sklda.datasets import load_docstrings
from sklda.metrics import held_out_log_likelihood

MOST_HELD_OUT = 2000
CHAINS = [(12, {}), (12, {"max_iter": 2000}), (12, {"init": "random"}), (12, {"init": "prune"}), (6, {})]
CONSTANTS = ("_SHARE", "_FACTOR", "_MOST")


def kinds(quick):
    """The parameters of each kind of fit, and a constant with its factor."""
    yield "random", {"init": "random"}, None
    yield "sequential", {"init": "sequential"}, None
    yield "anneal (default)", {}, None
    for name in () if quick else CONSTANTS:
        yield from ((f"{word} {name}", {}, (name, factor)) for word, factor in (("half", 0.5), ("twice", 2)))


def split(X):
    order = np.random.default_rng(0).permutation(X.shape[0])
    n_held_out = X.shape[0] // 5
    return X[order[n_held_out:]], X[order[: min(n_held_out, MOST_HELD_OUT)]]


# --- agreement of chains ----------------------------------------------------------------------------------------------


def agreement(train, test, K, parameters):
    lda, seconds = timed(GibbsLDA(K, n_chains=4, random_state=0, **parameters).fit, train)
    scores = []
    for chain in lda.chains_:
        topics = chain.topic_word / chain.topic_word.sum(axis=1, keepdims=True)
        values = held_out_log_likelihood((topics, chain.doc_topic_prior), test, random_state=0)
        scores.append(values.sum() / test.sum())
    found = lda.diagnostics_.values()
    alone, together = max(each.r_hat_by_chain.max() for each in found), max(each.r_hat for each in found)
    stability = lda.topic_stability_.mean()
    return f"{seconds:.1f} {alone:.2f} {together:.2f} {stability:.2f} {min(scores):.3f} {max(scores):.3f}".split()


def chains(options):
    train, test = split(load_docstrings().data)
    rows = []
    for K, parameters in [(12, {"init": "search"})] if options.search else CHAINS[: 1 if options.quick else None]:
        name = ", ".join(f"{key}={value}" for key, value in parameters.items()) or "default"
        rows.append([f"{K} topics, {name}", *agreement(train, test, K, parameters)])
        say("  ", *rows[-1])
    table("Four chains", ("fit", "CPU s", "R-hat of a chain", "of all", "stability", "worst", "best"), rows)


# --- constants of annealing -------------------------------------------------------------------------------------------


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


def measure(train, test, K, parameters, constant):
    """Held-out score, and CPU seconds of the fit."""
    with scaled([annealed_start], annealed_start, *constant) if constant else nullcontext():
        lda, seconds = timed(GibbsLDA(K, **parameters).fit, train)
    return lda.score(test), seconds


def constants(options):
    rows = []
    for name, X in corpora(options):
        train, test = split(X)
        for K in options.topics:
            reference = None
            for kind, own, constant in kinds(options.quick):
                given = [own | {"max_iter": options.max_iter, "random_state": seed} for seed in range(options.seeds)]
                scores, seconds = np.array([measure(train, test, K, each, constant) for each in given]).T
                reference = scores if reference is None else reference
                gain = scores - reference
                error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
                figures = f"{scores.mean():.4f} {seconds.mean():.1f} {gain.mean():+.4f} {error:.4f}".split()
                rows.append([name, f"{train.sum():,}", str(K), kind, *figures])
                say("  ", *rows[-1])
    header = ("corpus", "tokens", "topics", "start", "score", "CPU s", "gain", "error")
    table(f"Held-out score after {options.max_iter} sweeps, {options.seeds} seeds", header, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["chains", "constants"], default="chains")
    parser.add_argument("--search", action="store_true", help="chains: only init='search', which takes minutes")
    parser.add_argument("--ldac", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument("--pieces", type=int, metavar="TOKENS")
    parser.add_argument("--topics", nargs="+", type=int, default=[10, 40])
    parser.add_argument("--max-iter", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only the first fit, or starts without other constants")
    options = parser.parse_args()
    globals()[options.part](options)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        main()
