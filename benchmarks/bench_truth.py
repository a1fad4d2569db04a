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

from sklda import TopicCountLDA
from sklda.datasets import make_lda_corpus

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


# --- all parts --------------------------------------------------------------------------------------------------------

PARTS = {"topic_count": (topic_count, topic_count_table)}


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
