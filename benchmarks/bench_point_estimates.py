"""Word association under the counts of a draw and under its expected counts (CGS_p), without norms of associations.

    python benchmarks/bench_point_estimates.py
    python benchmarks/bench_point_estimates.py --norms cues_and_associates.csv --topics 50 100

As Figure 3 of Papanikolaou et al. (2017), whose other figures are in ``papers/point_estimates.py``. Half of the bundled
corpus is held out. The associates of a word are the five words that co-occur with it most there, or those of norms:
lines ``cue,associate``, best associate first. alpha = 0.1 and eta = 0.01.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from draws import estimates, gibbs
from report import table
from threadpoolctl import threadpool_limits

from sklda._core.corpus import Corpus
from sklda.datasets import load_docstrings
from sklda.metrics import word_association

# Groups of cues by their frequency, in equal numbers.
N_GROUPS = 5


def associates(X, names, norms, n_best=5):
    """Cues and their associates, as columns."""
    if norms is not None:
        columns, found = {word: v for v, word in enumerate(names)}, defaultdict(list)
        with open(norms, newline="") as file:
            for cue, associate, *_ in csv.reader(file):
                if cue in columns and associate in columns and len(found[columns[cue]]) < n_best:
                    found[columns[cue]].append(columns[associate])
        return {cue: words for cue, words in found.items() if words}
    occurs = (X > 0).astype(np.int64)
    frequency = np.asarray(occurs.sum(axis=0)).ravel()
    found = {}
    for cue in np.flatnonzero(frequency >= 3):
        together = np.asarray(occurs[:, [cue]].T @ occurs.todense()).ravel().astype(float)
        together[[cue, *np.flatnonzero(together < 3)]] = 0
        # Pointwise mutual information would prefer the rarest words; times the joint frequency it does not.
        lift = together * np.log(np.maximum(together * X.shape[0], 1) / np.maximum(frequency * frequency[cue], 1))
        best = [v for v in np.argsort(-lift, kind="stable")[:n_best] if lift[v] > 0]
        if best:
            found[int(cue)] = best
    return found


def association(train, cues, n_topics, seed, n_sweeps):
    """Median over cues of the rank under phi less the rank under phi^p, by frequency of the cue in the corpus."""
    chain = gibbs(train, n_topics, n_sweeps, seed)
    known = list(cues)
    ranks = {}
    for method in ("cgs", "cgs_p"):
        p = word_association(estimates(chain, method)[1], cue=known)
        p[np.arange(len(known)), known] = -1
        order = np.argsort(np.argsort(-p, axis=1, kind="stable"), axis=1)
        ranks[method] = [order[i, cues[cue]] for i, cue in enumerate(known)]
    frequency = np.bincount(train.words, minlength=train.n_features)[known]
    edges = np.quantile(frequency, np.linspace(0, 1, N_GROUPS + 1)[1:-1])
    groups, found = np.searchsorted(edges, frequency), {}
    for g in np.unique(groups):
        own = np.flatnonzero(groups == g)
        pairs = [np.concatenate([ranks[method][i] for i in own]) for method in ("cgs", "cgs_p")]
        label = f"{frequency[own].min()} to {frequency[own].max()}"
        medians = (float(np.median(each)) for each in pairs)
        found[label] = [float(np.median(pairs[0] - pairs[1])), *medians, float(np.mean(pairs[1] < pairs[0]))]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 50, 100, 200, 500])
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--norms", type=Path, help="lines cue,associate; the words are those of the bundled corpus")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    docstrings = load_docstrings()
    X, names = docstrings.data, docstrings.feature_names
    test, train = np.array_split(np.random.default_rng(options.seed).permutation(X.shape[0]), 2)
    known = X[train].getnnz(axis=0) > 0
    cues = associates(X[test][:, known], names[known], options.norms)
    for K in options.topics:
        found = association(Corpus.from_counts(X[train][:, known]), cues, K, options.seed, options.sweeps)
        rows = [[g, *(f"{v:.1f}" for v in values[:3]), f"{values[3]:.2f}"] for g, values in found.items()]
        header = ["tokens of the cue", "φ less φ^p", "rank by φ", "rank by φ^p", "share better by φ^p"]
        table(f"K = {K}: median ranks of {len(cues)} cues' associates", header, rows)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
