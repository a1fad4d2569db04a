"""Held-out log-likelihood of GibbsLDA with learnt and with given priors, on the bundled corpus.

    python benchmarks/bench_priors.py
    python benchmarks/bench_priors.py --topics 20 --seeds 5

Five-fold cross-validation: every document is held out once for each seed. The table has the difference of each kind of
priors from the default (learnt, asymmetric), in nats per token. Differences are paired by document. Their standard
errors contain the spread between documents; with several seeds a document counts by its mean.
"""

import argparse
import warnings

import numpy as np
from report import say, table
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from sklda import GibbsLDA
from sklda.datasets import load_docstrings

DEFAULT = "learnt, asymmetric"


def kinds(K):
    def given(alpha, eta):
        return {"doc_topic_prior": alpha, "topic_word_prior": eta}

    return {
        DEFAULT: {},
        "learnt, symmetric": {"learn_priors": "symmetric"},
        "0.1, 0.1": given(0.1, 0.1),
        "0.1, 0.01": given(0.1, 0.01),
        "1/K, 1/K": given(1 / K, 1 / K),
        "50/K, 0.01": given(50 / K, 0.01),
    }


def log_likelihoods(X, K, parameters, seed):
    """Of every document, by five-fold cross-validation; and the priors of the last fold."""
    values = np.empty(X.shape[0])
    for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
        lda = GibbsLDA(K, random_state=seed, **parameters).fit(X[train])
        values[test] = lda.score_samples(X[test])
    return values, (np.mean(lda.doc_topic_prior_), lda.topic_word_prior_)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", nargs="+", type=int, default=[10, 20, 40])
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    X = load_docstrings().data
    lengths = np.asarray(X.sum(axis=1)).ravel()
    rows = []
    for K in options.topics:
        found = {}
        for name, parameters in kinds(K).items():
            runs = [log_likelihoods(X, K, parameters, seed) for seed in range(options.seeds)]
            found[name] = np.mean([values for values, _ in runs], axis=0)
            alpha, eta = runs[0][1]
            score = found[name].sum() / lengths.sum()
            difference = found[name] - found[DEFAULT]
            mean = difference.sum() / lengths.sum()
            error = np.sqrt(((difference - mean * lengths) ** 2).sum()) / lengths.sum()
            rows.append([str(K), name, f"{alpha:.3g}, {eta:.3g}", f"{score:.3f}", f"{mean:+.4f}", f"{error:.4f}"])
            say("  ", *rows[-1])
    header = ("topics", "priors", "mean alpha, eta", "score", "minus default", "error")
    table("Held-out score, nats per token", header, rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        main()
