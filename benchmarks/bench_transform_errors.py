"""Distance of `GibbsLDA.transform` from the exact posterior mean of theta, and that of its parts and of scikit-learn.

    python benchmarks/bench_transform_errors.py
    python benchmarks/bench_transform_errors.py --ldac newsgroups.ldac.gz --topics 20 100

The documents are halves of held-out documents. The reference is the mean over four chains of 1,500 sweeps, without
the first 100. Figures are root mean squares over documents of the Euclidean distance of theta.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from bench_sampler import halves
from peers import ALPHA, gibbs, read_ldac, variational
from report import table
from scipy.special import psi
from sklearn.exceptions import ConvergenceWarning

from sklda._core.corpus import Corpus
from sklda._likelihood.held_out.fold_in import fold_in
from sklda.datasets import load_docstrings

ESTIMATES = {
    "30 sweeps alone": {"n_sweeps": 30, "cvb0_sweeps": 0},
    "CVB0 alone": {"n_sweeps": 1, "cvb0_sweeps": 1e9},
    "CVB0, 6 sweeps": {"n_sweeps": 6},
    "CVB0, 30 sweeps": {"n_sweeps": 30},
    "CVB0, 100 sweeps": {"n_sweeps": 100},
    "CVB0, 1,000 sweeps": {"n_sweeps": 1000},
}


def errors(X, n_topics, options):
    """The error of every estimate, a dict by name."""
    rng = np.random.default_rng(options.seed)
    order = rng.permutation(X.shape[0])
    n_test = X.shape[0] // 5
    lda = gibbs(n_topics, max_iter=options.fit_iter, random_state=options.seed).fit(X[order[n_test:]])
    documents = halves(X[order[: min(n_test, options.documents)]], options.seed)[0]
    peer = variational(n_topics, max_iter=1, random_state=options.seed).fit(documents[:10])
    peer.components_ = lda.components_
    peer.exp_dirichlet_component_ = np.exp(psi(lda.components_) - psi(lda.components_.sum(axis=1, keepdims=True)))
    corpus, alpha = Corpus.from_counts(documents), np.full((1, n_topics), ALPHA)

    def theta(**how):
        expected = fold_in(corpus, lda.topic_word_, alpha, **how) + alpha
        return expected / expected.sum(axis=1, keepdims=True)

    long = {"n_sweeps": 1500, "n_burn_in": 100, "cvb0_sweeps": 0}
    reference = np.mean([theta(seed=seed, **long) for seed in range(4)], axis=0)
    found = {}
    for name, how in ESTIMATES.items():
        draws = [theta(seed=1000 + seed, **how) for seed in range(options.repeats)]
        found[name] = np.sqrt(np.mean([((each - reference) ** 2).sum(axis=1).mean() for each in draws]))
    found["scikit-learn"] = np.sqrt(((peer.transform(documents) - reference) ** 2).sum(axis=1).mean())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--ldac", nargs="+", type=Path, default=[], metavar="PATH", help="more corpora, .ldac or .ldac.gz")
    add("--topics", nargs="+", type=int, default=[20, 100], help="K (default: 20 100)")
    add("--documents", type=int, default=300, help="largest number of held-out documents (default: 300)")
    add("--fit-iter", type=int, default=200, help="sweeps of GibbsLDA (default: 200)")
    add("--repeats", type=int, default=5, help="seeds of every estimate (default: 5)")
    add("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    corpora = {"docstrings": load_docstrings().data}
    corpora |= {path.name.split(".")[0]: read_ldac(path) for path in options.ldac}
    rows = []
    for name, X in corpora.items():
        for n_topics in options.topics:
            rows.append([name, str(n_topics), *(f"{value:.3f}" for value in errors(X, n_topics, options).values())])
    table("Distance of theta from its exact posterior mean", ["corpus", "K", *ESTIMATES, "scikit-learn"], rows)


if __name__ == "__main__":
    main()
