"""The cost of the dense and of the word-major sweep on simulated corpora, and the model of `choice.py` fitted to it.

    python benchmarks/bench_choice.py                        measure, fit, and judge the fit on corpora kept out of it
    python benchmarks/bench_choice.py --json costs.json      also keep the measurements
    python benchmarks/bench_choice.py --read costs.json      fit again without measuring

Corpora differ in vocabulary, number and length of documents, frequencies of words and number of topics. Both kernels
take turns on each corpus. Times are CPU nanoseconds per token, medians over repeats, after some sweeps. Every third
corpus is kept out of the fit. The last table says how often the model chooses the faster kernel, or one within 10 % of
it, beside the figures of the constants that are in use.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from peers import ALPHA, ETA, stopwatch
from report import say, table
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling import choice
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.word_major import WordMajorChain
from sklda.datasets import make_lda_corpus

KINDS = {"dense": GibbsChain, "sparse": WordMajorChain}


def simulate(rng, n_tokens):
    """A corpus and a number of topics, log-uniform in their ranges."""

    def between(low, high):
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    n_features, length, n_topics = (round(between(*ends)) for ends in ((500, 120_000), (15, 2_000), (20, 1_500)))
    n_tokens = round(between(n_tokens / 3, 3 * n_tokens))
    X = make_lda_corpus(
        max(n_tokens // length, 10),
        n_features,
        100,
        doc_length=(max(length // 2, 1), length * 3 // 2),
        doc_topic_prior=0.1,
        topic_word_prior=0.05,
        zipf_exponent=rng.uniform(0.5, 1.1),
        random_state=int(rng.integers(2**31)),
    ).data
    return Corpus.from_counts(X[:, X.getnnz(axis=0) > 0]), n_topics


def measure(corpus, n_topics, options):
    """Nanoseconds per token of both kernels."""
    priors = Priors.make(ALPHA, ETA, n_topics, corpus.n_features)
    chains = {name: kind.initialise_randomly(corpus, priors, np.random.SeedSequence(0)) for name, kind in KINDS.items()}
    times = {name: [] for name in chains}
    for chain in chains.values():
        for _ in range(options.settle):
            chain.sweep()
    for _ in range(options.repeats):
        for name, chain in chains.items():
            with stopwatch() as taken:
                chain.sweep()
            times[name].append(taken["cpu"] / corpus.n_tokens * 1e9)
    return {name: float(np.median(each)) for name, each in times.items()}


def judge(predicted, measured):
    """Shares of corpora for which the predicted kernel is the faster one, and is within 10 % of the faster one."""
    chosen = measured[np.arange(len(measured)), predicted.argmin(axis=1)]
    loss = chosen / measured.min(axis=1)
    return float((loss == 1).mean()), float((loss <= 1.1).mean()), float(loss.max())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=int, default=60, help="number of corpora (default: 60)")
    parser.add_argument("--tokens", type=int, default=400_000, help="tokens of a typical corpus (default: 400,000)")
    parser.add_argument("--settle", type=int, default=12, help="sweeps before the measurement (default: 12)")
    parser.add_argument("--repeats", type=int, default=5, help="measured sweeps (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the corpora (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements to FILE")
    parser.add_argument("--read", type=Path, metavar="FILE", help="read the measurements from FILE")
    options = parser.parse_args()
    if options.read:
        records = json.loads(options.read.read_text())
    else:
        rng, records = np.random.default_rng(options.seed), []
        for _ in range(options.corpora):
            corpus, n_topics = simulate(rng, options.tokens)
            features = {name: list(each) for name, each in choice.cost_features(corpus, n_topics).items()}
            times = measure(corpus, n_topics, options)
            records.append({"features": features, "ns": times, "n_topics": n_topics})
            records[-1] |= {"tokens": corpus.n_tokens, "documents": corpus.n_documents, "words": corpus.n_features}
            say(
                f"{corpus.n_tokens:,} tokens, {corpus.n_documents:,} documents, {corpus.n_features:,} words, "
                f"K = {n_topics}: dense {times['dense']:.0f} ns, sparse {times['sparse']:.0f} ns"
            )
            if options.json:
                options.json.write_text(json.dumps(records))
    measured = np.array([[each["ns"][name] for name in KINDS] for each in records])
    kept_out = np.arange(len(records)) % 3 == 2
    fitted, used = np.empty_like(measured), np.empty_like(measured)
    for column, name in enumerate(KINDS):
        features, ns = np.array([each["features"][name] for each in records]), measured[:, column]
        # Relative errors matter.
        weights, _ = nnls((features / ns[:, None])[~kept_out], np.ones((~kept_out).sum()))
        fitted[:, column], used[:, column] = features @ weights, features @ choice.COSTS[name]
        say(f"{name}: {', '.join(f'{w:.3g}' for w in weights)}")
    rows = []
    for what, predicted in (("fitted now", fitted), ("in use", used)):
        for which, part in (("in the fit", ~kept_out), ("kept out", kept_out)):
            faster, near, worst = judge(predicted[part], measured[part])
            rows.append([what, which, f"{part.sum()}", f"{faster:.0%}", f"{near:.0%}", f"{worst:.2f}"])
    table("Choice of the kernel", ["model", "corpora", "number", "faster one", "within 10 %", "largest loss"], rows)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
