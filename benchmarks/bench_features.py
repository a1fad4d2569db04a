"""Topics as features of a classifier: kinds of topics and of features, against words.

    python benchmarks/bench_features.py
    python benchmarks/bench_features.py --ldac corpus.ldac.gz --classes labels.csv.gz --topics 100 300 --splits 1
    python benchmarks/bench_features.py --part labels

Part "kinds": accuracy on test documents of five stratified splits, a quarter of the documents each; all training
documents have labels. Part "labels": topics of all training documents, labels for few of them. The classifier is
logistic regression, and its penalty is chosen by cross-validation on the training documents, for topics and for words.
Errors are standard deviations over splits divided by the root of their number.
"""

import argparse
import csv
import gzip
import time
import warnings

import numpy as np
import scipy.sparse as sp
from peers import read_ldac
from report import say, table
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from sklda import GibbsLDA
from sklda.datasets import load_docstrings

PENALTIES = np.logspace(-1, 4, 6)


def load(ldac, classes):
    """Counts and labels: of the docstrings, or of two files."""
    if ldac is None:
        return load_docstrings(return_X_y=True)
    with gzip.open(classes, "rt", encoding="utf-8") as file:
        names = [row["category"] for row in csv.DictReader(file)]
    return read_ldac(ldac), np.unique(names, return_inverse=True)[1]


def classifier(n_labels):
    """Logistic regression, with its penalty from a cross-validation of the labelled documents."""
    folds = StratifiedKFold(min(5, max(2, n_labels)), shuffle=True, random_state=0)
    return GridSearchCV(LogisticRegression(max_iter=1000), {"C": PENALTIES}, cv=folds)


def topic_features(X, train, K, n_chains=1, **priors):
    """Proportions of all documents, (n_documents, n_chains * K), by topics of the training documents."""
    theta = []
    for seed in range(n_chains):
        lda = GibbsLDA(K, random_state=seed, **priors).fit(X[train])
        theta.append(lda.transform(X))
    return np.hstack(theta)


def kinds(topics):
    for K in topics:
        for name, priors in (("learnt", {}), ("0.1", {"doc_topic_prior": 0.1, "topic_word_prior": 0.1})):
            yield K, name, 1, priors
    yield topics[-1], "learnt", 4, {}


def accuracies(F, y, train, test, n_labels=5):
    fitted = classifier(n_labels).fit(F[train], y[train])
    return np.mean(fitted.predict(F[test]) == y[test])


def summary(values):
    if len(values) == 1:
        return f"{values[0]:.3f}"
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def compare_kinds(X, y, topics, splits):
    rows, start = [], time.process_time()
    words = []
    for train, test in splits:
        tfidf = make_pipeline(TfidfTransformer(sublinear_tf=True)).fit(X[train])
        words.append(accuracies(tfidf.transform(X), y, train, test))
    rows.append(["words, tf-idf", "", "", "", summary(words), f"{time.process_time() - start:.0f}"])
    for K, name, n_chains, priors in kinds(topics):
        start, plain, roots = time.process_time(), [], []
        for train, test in splits:
            theta = topic_features(X, train, K, n_chains, **priors)
            plain.append(accuracies(theta, y, train, test))
            roots.append(accuracies(np.sqrt(theta), y, train, test))
        seconds = f"{time.process_time() - start:.0f}"
        rows.append([f"{K} topics", name, str(n_chains), summary(plain), summary(roots), seconds])
        say(*rows[-1])
    table("all labels", ["features", "priors", "chains", "theta", "sqrt(theta)", "CPU s"], rows)


def compare_labels(X, y, topics, splits):
    numbers, found = (2, 5, 10, 20, 40), {}
    for s, (train, test) in enumerate(splits):
        rng = np.random.default_rng(s)
        orders = [rng.permutation(train[y[train] == c]) for c in np.unique(y)]
        kinds = {f"{K} topics": np.sqrt(topic_features(X, train, K)) for K in topics}
        words = TfidfTransformer(sublinear_tf=True).fit(X[train]).transform(X)
        kinds["words"], kinds["both"] = words, sp.hstack([words, kinds[f"{topics[-1]} topics"]], format="csr")
        for n in numbers:
            few = np.concatenate([order[:n] for order in orders])
            for name, F in kinds.items():
                found.setdefault((n, name), []).append(accuracies(F, y, few, test, n))
    rows = [[str(n), *(summary(found[n, name]) for name in kinds)] for n in numbers]
    table("few labels, roots of proportions", ["labels a class", *kinds], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ldac", help="a corpus, .ldac or .ldac.gz, instead of the docstrings")
    parser.add_argument("--classes", help="its classes, .csv.gz with a column category")
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 100, 300])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--part", choices=["kinds", "labels"], action="append")
    options = parser.parse_args()
    X, y = load(options.ldac, options.classes)
    splits = list(StratifiedShuffleSplit(options.splits, test_size=0.25, random_state=0).split(X, y))
    say(f"{X.shape[0]} documents, {X.shape[1]} words, {X.sum()} tokens, {len(np.unique(y))} classes")
    for part in options.part or ["kinds", "labels"]:
        {"kinds": compare_kinds, "labels": compare_labels}[part](X, y, options.topics, splits)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        main()
