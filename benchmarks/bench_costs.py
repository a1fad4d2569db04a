"""CPU seconds of EmpiricalBayesLDA and TopicCountLDA with default parameters, on corpora from 100 tokens upwards.

    python benchmarks/bench_costs.py
    python benchmarks/bench_costs.py --corpora "10 x 10" docstrings --estimators TopicCountLDA
    python benchmarks/bench_costs.py --ldac 50:news16/corpus.ldac.gz --estimators EmpiricalBayesLDA GibbsLDA

One line for each fit, then medians over the seeds. With GibbsLDA, fits of 500 sweeps stand beside them for comparison.
"""

import argparse
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
from peers import read_ldac
from report import say, table
from threadpoolctl import threadpool_limits

from sklda import EmpiricalBayesLDA, GibbsLDA, TopicCountLDA
from sklda.datasets import load_docstrings, make_lda_corpus

ESTIMATORS = {
    "EmpiricalBayesLDA": lambda K, seed: EmpiricalBayesLDA(K, random_state=seed),
    "TopicCountLDA": lambda K, seed: TopicCountLDA(random_state=seed),
    "GibbsLDA": lambda K, seed: GibbsLDA(K, max_iter=500, random_state=seed),
}


def simulated(n_documents, n_features, K, doc_length):
    options = {"doc_length": doc_length, "doc_topic_prior": 0.1, "topic_word_prior": 0.1, "random_state": 0}
    return lambda: (make_lda_corpus(n_documents, n_features, K, **options).data, K)


# By name: X and the number of topics of EmpiricalBayesLDA.
CORPORA = {
    "10 x 10": lambda: (np.random.default_rng(0).poisson(1.2, (10, 10)), 10),
    "50 x 30": lambda: (np.random.default_rng(0).poisson(1, (50, 30)), 10),
    "noise, 300 x 200": lambda: (np.random.default_rng(0).poisson(1, (300, 200)), 10),
    "docstrings": lambda: (load_docstrings().data, 40),
    "200,000 tokens": simulated(2_000, 3_000, 20, 100),
    "650,000 tokens": simulated(6_500, 9_000, 50, 100),
    "8,000,000 tokens": simulated(100_000, 500, 50, 80),
}


def fit(name, X, K, seed):
    """CPU seconds, what was found, and the warnings of one fit."""
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ESTIMATORS[name](K, seed).fit(X)
    seconds = time.process_time() - begin
    if name == "TopicCountLDA":
        found = f"{model.n_components_} topics"
    else:
        found = f"alpha {np.mean(model.doc_topic_prior_):.4g}, eta {model.topic_word_prior_:.4g}"
    return seconds, found, [str(each.message).partition(".")[0] for each in caught]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--corpora", nargs="+", choices=CORPORA, default=None, help="default: all but the last")
    add("--estimators", nargs="+", choices=ESTIMATORS, default=["EmpiricalBayesLDA", "TopicCountLDA"])
    add("--ldac", nargs="+", default=[], metavar="K:PATH", help="corpora, .ldac or .ldac.gz, instead of --corpora")
    add("--seeds", type=int, default=3, help="fits of each (default: 3)")
    options = parser.parse_args()
    names = options.corpora or ([] if options.ldac else list(CORPORA)[:-1])
    given = {name: CORPORA[name] for name in names}
    for each in options.ldac:
        K, _, path = each.partition(":")
        given[f"{Path(path).parent.name}, K = {K}"] = lambda K=K, path=path: (read_ldac(path), int(K))
    rows = []
    for title, make in given.items():
        X, K = make()
        for name in options.estimators:
            seconds = []
            for seed in range(options.seeds):
                took, found, warned = fit(name, X, K, seed)
                say(f"  {title}, {name}, seed {seed}: {took:.2f} s, {found} {warned or ''}")
                seconds.append(took)
            rows.append([title, f"{X.sum():,}", name, f"{statistics.median(seconds):.2f}"])
    table("CPU seconds, medians over seeds", ("corpus", "tokens", "estimator", "CPU s"), rows)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
