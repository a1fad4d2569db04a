"""How well four chains of GibbsLDA agree on the bundled corpus, by initial state, number of sweeps and of topics.

    python benchmarks/bench_starts.py
    python benchmarks/bench_starts.py --search

Every line has CPU seconds, the largest R-hat of a chain by itself and of all chains (see `diagnostics_`), and the mean
stability of the topics. The held-out scores are those of the worst and of the best chain, in nats per token.
"""

import argparse
import time
import warnings

import numpy as np
from report import say, table
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.metrics import held_out_log_likelihood

FITS = [
    (12, {}),
    (12, {"max_iter": 2000}),
    (12, {"init": "random"}),
    (12, {"init": "prune"}),
    (6, {}),
]


def measure(train, test, K, parameters):
    begin = time.process_time()
    lda = GibbsLDA(K, n_chains=4, random_state=0, **parameters).fit(train)
    seconds = time.process_time() - begin
    scores = []
    for chain in lda.chains_:
        topics = chain.topic_word / chain.topic_word.sum(axis=1, keepdims=True)
        values = held_out_log_likelihood(test, (topics, chain.doc_topic_prior), random_state=0)
        scores.append(values.sum() / test.sum())
    found = lda.diagnostics_.values()
    alone, together = max(each.r_hat_by_chain.max() for each in found), max(each.r_hat for each in found)
    stability = lda.topic_stability_.mean()
    return f"{seconds:.1f} {alone:.2f} {together:.2f} {stability:.2f} {min(scores):.3f} {max(scores):.3f}".split()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--search", action="store_true", help="only init='search', which takes minutes")
    X = load_docstrings().data
    order = np.random.default_rng(0).permutation(X.shape[0])
    train, test = X[order[:1300]], X[order[1300:]]
    rows = []
    for K, parameters in [(12, {"init": "search"})] if parser.parse_args().search else FITS:
        name = ", ".join(f"{key}={value}" for key, value in parameters.items()) or "default"
        rows.append([f"{K} topics, {name}", *measure(train, test, K, parameters)])
        say("  ", *rows[-1])
    table("Four chains", ("fit", "CPU s", "R-hat of a chain", "of all", "stability", "worst", "best"), rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        main()
