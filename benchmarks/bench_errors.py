"""Coverage of the standard deviations of proportions, shares and mixtures, on corpora simulated from the model.

    python benchmarks/bench_errors.py
    python benchmarks/bench_errors.py --corpora 100 --estimators CompoundLDA

For each corpus the parameters are known. A row has the share of the true values that lie within 1.96 standard
deviations of the estimate (.95 if the errors are right), and the root mean square of the z-scores (1). The topics of a
fit are matched to the true ones; corpora in which a matched topic has a Jensen-Shannon distance above .3 have other
modes, and are counted apart.
"""

import argparse
import time
import warnings

import numpy as np
from report import say, table
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import sklda
from sklda._inference.sampling.matching import match_topics
from sklda.datasets import make_compound_lda_corpus, make_lda_corpus

K, V = 4, 120
FAR = 0.3


def corpus(estimator, seed):
    if estimator == "CompoundLDA":
        sizes = {"doc_length": 60, "doc_concentration": 1.0, "topic_word_prior": 0.05}
        return make_compound_lda_corpus([60, 40, 20], V, K, random_state=seed, **sizes)
    return make_lda_corpus(120, V, K, doc_length=60, doc_topic_prior=0.25, topic_word_prior=0.05, random_state=seed)


def scores(estimator, seed, n_chains):
    """z-scores by quantity, whether the topics are those that were simulated, and CPU seconds."""
    truth = corpus(estimator, seed)
    given = {"collections": truth.collections} if estimator == "CompoundLDA" else {}
    begin = time.process_time()
    lda = getattr(sklda, estimator)(K, n_chains=n_chains, random_state=seed).fit(truth.data, **given)
    seconds = time.process_time() - begin
    order, distances = match_topics(truth.topic_word, lda.topic_word_)
    theta, std = lda.doc_topic_[:, order], lda.doc_topic_std_[:, order]
    found = {"theta": (theta - truth.doc_topic) / std}
    if given:
        pi, std = lda.collection_topic_[:, order], lda.collection_topic_std_[:, order]
        found["pi"] = (pi - truth.collection_topic) / std
    return found, distances.max() < FAR, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=int, default=40)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--estimators", nargs="+", default=["GibbsLDA", "CompoundLDA", "EmpiricalBayesLDA"])
    options = parser.parse_args()
    rows = []
    for estimator in options.estimators:
        runs = [scores(estimator, seed, options.chains) for seed in range(options.corpora)]
        seconds = np.mean([each[2] for each in runs])
        for same in (True, False):
            own = [found for found, close, _ in runs if close == same]
            for name in own[0] if own else ():
                z = np.concatenate([np.ravel(found[name]) for found in own])
                figures = f"{(np.abs(z) < 1.96).mean():.3f}", f"{np.sqrt((z**2).mean()):.2f}", f"{seconds:.2f}"
                rows.append([estimator, "the true mode" if same else "another mode", str(len(own)), name, *figures])
                say("  ", *rows[-1])
    header = ("estimator", "topics", "corpora", "quantity", "coverage", "z", "CPU s")
    table(f"Coverage of 95 % intervals, {options.chains} chains", header, rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        main()
