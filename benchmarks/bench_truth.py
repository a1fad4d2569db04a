"""Known answers: default parameters on simulated corpora whose truth is known, and the coverage of each interval.

    python benchmarks/bench_truth.py --part topic_count --corpora 100 --jobs 2

Each part is a function of a seed that simulates a corpus, fits it and returns a dict of figures, and one that makes the
table of all seeds. Errors are in the unit of their quantity, times are CPU seconds.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from report import say, table
from threadpoolctl import threadpool_limits

from sklda import ConsensusTopics, GibbsLDA, TopicCountLDA
from sklda.datasets import load_docstrings, make_lda_corpus
from sklda.metrics import compare_topic_counts, match_topics

# --- TopicCountLDA ----------------------------------------------------------------------------------------------------

# Documents, words, tokens of a document, range of T, and alpha = eta (None: 1 / T).
SHAPES = (
    (300, 400, 80, (9, 20), None),
    (100, 200, 40, (3, 10), None),
    (500, 1000, 50, (10, 30), None),
    (1000, 500, 20, (3, 12), 0.1),
    (200, 300, 200, (10, 40), 0.1),
    (1000, 800, 100, (20, 40), None),
    (400, 300, 60, (5, 25), 0.1),
    (150, 600, 150, (3, 15), 0.1),
    (600, 200, 30, (3, 20), None),
    (250, 1500, 100, (15, 40), 0.1),
)


def topic_count(seed, options):
    """A corpus of the shape with number `seed` modulo ten, and the interval of T by defaults."""
    rng, shape = np.random.default_rng([2024, seed]), seed % len(SHAPES)
    n_documents, n_features, length, (low, high), prior = SHAPES[shape]
    T = int(rng.integers(low, high + 1))
    h = prior or 1 / T
    sizes = {"doc_length": length, "doc_topic_prior": h, "topic_word_prior": h}
    X = make_lda_corpus(n_documents, n_features, T, **sizes, random_state=seed).data
    lda, seconds = fitted(TopicCountLDA(**options.parameters, random_state=seed), X)
    low, high = lda.topic_count_interval_
    p = float(lda.topic_count_posterior_[lda.topic_counts_ == T].sum())
    return {
        "shape": shape,
        "tokens": int(X.sum()),
        "true": T,
        "mode": int(lda.n_components_),
        "low": low,
        "high": high,
        "p": p,
        "seconds": seconds,
        "sweeps": int(lda.n_sweeps_),
    }


def topic_count_table(found):
    rows = []
    for shape, sizes in [*enumerate(SHAPES), (None, None)]:
        own = [each for each in found if shape in (None, each["shape"])]
        if own:
            inside = [each["low"] <= each["true"] <= each["high"] for each in own]
            seconds = [each["seconds"] for each in own]
            misses = [
                "{} in {low}-{high}".format(each["true"], **each)
                for each, good in zip(own, inside, strict=True)
                if not good
            ]
            words = "all" if sizes is None else "{} x {} x {}, T {}, {}".format(*sizes[:4], sizes[4] or "1 / T")
            width = np.median([each["high"] - each["low"] for each in own])
            costs = f"{np.median(seconds):.1f}", f"{max(seconds):.0f}"
            missed = "; ".join(misses if sizes else ())
            rows.append([words, str(len(own)), str(sum(inside)), f"{width:.0f}", *costs, missed])
    header = ["shape", "corpora", "inside", "median width", "median CPU s", "most", "missed"]
    table("intervals of 95 % for the number of topics", header, rows)


# --- topics that are none ---------------------------------------------------------------------------------------------


def empty_topics(seed, options):
    """Thirty topics for twenty, in four chains and in eight fits, and ten topics of one Zipf distribution."""
    sizes = {"doc_length": 80, "doc_topic_prior": 0.05, "topic_word_prior": 0.05}
    truth = make_lda_corpus(500, 1000, 20, **sizes, random_state=seed)
    found = {}
    for name, given in (("learnt", {}), ("given", {"learn_priors": False, **dict(list(sizes.items())[1:])})):
        lda, _ = fitted(GibbsLDA(30, n_chains=4, random_state=seed, **given), truth.data)
        true, stability = _are_true(truth.topic_word, lda.topic_word_), lda.topic_stability_
        # A comparison with NaN is False.
        found |= {f"{name} empty, .5": int((stability[~true] >= 0.5).sum()), f"{name} empty": int((~true).sum())}
        found |= {f"{name} empty, .7": int((stability[~true] >= 0.7).sum())}
        found |= {f"{name} true, .7": int((stability[true] >= 0.7).sum()), f"{name} true": int(true.sum())}
        model, _ = fitted(ConsensusTopics(GibbsLDA(30, max_iter=200, **given), random_state=seed), truth.data)
        true = _are_true(truth.topic_word, model.topic_word_)
        found |= {f"{name} consensus, empty": int((~true).sum()), f"{name} consensus, true": int(true.sum())}
    for n_features in (300, 1000, 3000):
        p = 1 / np.arange(1, n_features + 1)
        X = np.random.default_rng(seed).multinomial(60, p / p.sum(), size=300)
        model, _ = fitted(ConsensusTopics(GibbsLDA(10), random_state=seed), X)
        found[f"one distribution, {n_features} words"] = int(model.n_topics_)
    return found


def _are_true(truth, topics):
    """Which topics are at a distance of at most 0.5 from a true one."""
    return match_topics(topics, truth).distances.min(axis=1) <= 0.5 if len(topics) else np.zeros(0, bool)


def empty_topics_table(found):
    rows = [[name, f"{np.mean([each[name] for each in found]):.1f}"] for name in found[0]]
    table(f"topics of {len(found)} corpora, means", ["topics", "number"], rows)


# --- errors over folds ------------------------------------------------------------------------------------------------

# Documents, words, true topics, tokens of a document, alpha, eta, topics of a fit.
FOLDS = {
    "6 topics, fitted 8": (200, 200, 6, 40, 0.2, 0.1, 8),
    "12 topics": (200, 300, 12, 30, 0.2, 0.15, 12),
    "docstrings, 400 of 1,638 documents": None,
}
MEASURES = "coherence", "exclusivity", "found_again", "found_share"


def found_again(seed, options):
    """`compare_topic_counts` of corpora from the same topics, or of documents of the same corpus."""
    found = {}
    for name, shape in FOLDS.items():
        rng, K = np.random.default_rng(seed), 15
        if shape is None:
            X = load_docstrings().data
            X = X[rng.permutation(X.shape[0])[:400]]
        else:
            n_documents, n_features, T, length, alpha, eta, K = shape
            topics = np.random.default_rng(0).dirichlet(np.full(n_features, eta), T)
            theta = rng.dirichlet(np.full(T, alpha), n_documents)
            X = np.array([rng.multinomial(length, each @ topics) for each in theta])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = compare_topic_counts(X, GibbsLDA(max_iter=80), [K], random_state=seed)[0]
        found[name] = {key: row[key] for each in MEASURES for key in (each, f"{each}_std")}
    return found


def found_again_table(found):
    rows = []
    for name in FOLDS:
        for measure in MEASURES:
            values, errors = (np.array([each[name][key] for each in found]) for key in (measure, f"{measure}_std"))
            spread, stated = values.std(ddof=1), np.sqrt(np.mean(errors**2))
            numbers = f"{values.mean():.3f}", f"{spread:.4f}", f"{stated:.4f}", f"{stated / spread:.2f}"
            rows.append([f"{name}, {measure}", *numbers])
    table(
        f"errors over four folds, {len(found)} corpora", ["corpus, measure", "mean", "spread", "stated", "ratio"], rows
    )


# --- all parts --------------------------------------------------------------------------------------------------------

PARTS = {
    "topic_count": (topic_count, topic_count_table),
    "empty_topics": (empty_topics, empty_topics_table),
    "found_again": (found_again, found_again_table),
}


def fitted(estimator, X, **data):
    """The estimator fitted without its warnings, and CPU seconds."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, **data)
    return estimator, time.process_time() - begin


def one(part, seed, options):
    with threadpool_limits(1):
        found = PARTS[part][0](seed, options)
    say(part, seed, found)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=list(PARTS), default="topic_count")
    parser.add_argument("--corpora", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--parameters", type=json.loads, default={}, help="of the estimator, as JSON; none: defaults")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.corpora)
    found = Parallel(options.jobs)(delayed(one)(options.part, seed, options) for seed in seeds)
    PARTS[options.part][1](found)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
