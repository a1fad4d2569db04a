"""LabeledLDA: scores of label predictions, compared with published output and with logistic regression, and speed.

    python benchmarks/bench_labels.py                                               with the bundled corpus
    python benchmarks/bench_labels.py --parts models --train yahoo_train --test yahoo_test --eta 0.01
    python benchmarks/bench_labels.py --parts models logistic speed --train bibtex --peers

``--train`` and ``--test`` are folders with ``corpus.ldac.gz`` (a document a line: ``n_distinct id:count ...``) and
``labels.csv.gz`` (a column ``category`` with labels joined by ``|``). Without ``--test`` a fifth of the training
documents is held out.
"""

import argparse
import csv
import gzip
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from peers import stopwatch
from report import say, table
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, label_ranking_average_precision_score, label_ranking_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from sklda import LabeledLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._models.labels.classifier import top_labels
from sklda._models.labels.label_chain import LabelChain
from sklda._models.labels.open_topics import LabelPriors, OpenTopics
from sklda.datasets import load_docstrings

PARTS = ("models", "logistic", "speed")
MODELS = {
    "Labeled LDA": {"label_prior": "uniform"},
    "Prior-LDA": {"label_prior": "frequency"},
    "Dependency-LDA, fast": {"label_prior": "dependency"},
    "Dependency-LDA, gibbs": {"label_prior": "dependency", "dependency_sampler": "gibbs"},
}


# --- documents --------------------------------------------------------------------------------------------------------


def read_folder(folder):
    with gzip.open(folder / "corpus.ldac.gz", "rt") as lines:
        documents = [[pair.split(":") for pair in line.split()[1:]] for line in lines]
    with gzip.open(folder / "labels.csv.gz", "rt", encoding="utf-8") as file:
        labels = [row["category"].split("|") if row["category"] else [] for row in csv.DictReader(file)]
    pairs = np.array([pair for document in documents for pair in document], np.int64).reshape(-1, 2)
    indptr = np.cumsum([0, *map(len, documents)])
    return pairs, indptr, labels


def read_corpora(options):
    """X and Y to train and to test with, and the number of words."""
    if options.train is None:
        docstrings = load_docstrings()
        names = np.concatenate([docstrings.target_names, np.unique(docstrings.collection)])
        Y = np.column_stack([docstrings.target == k for k in range(len(docstrings.target_names))])
        Y = np.column_stack([Y, *(docstrings.collection == name for name in np.unique(docstrings.collection))])
        X, Y = docstrings.data, Y.astype(int)
    else:
        found = [read_folder(folder) for folder in (options.train, options.test) if folder is not None]
        n_words = max(int(pairs[:, 0].max()) + 1 for pairs, _, _ in found)
        names = np.array(sorted({label for *_, labels in found for row in labels for label in row}))
        Xs = [sp.csr_matrix((p[:, 1], p[:, 0], indptr), shape=(len(indptr) - 1, n_words)) for p, indptr, _ in found]
        Ys = [np.array([np.isin(names, row) for row in labels]).astype(int) for *_, labels in found]
        if options.test is not None:
            return Xs[0], Ys[0], Xs[1], Ys[1]
        X, Y = Xs[0], Ys[0]
    X, Xt, Y, Yt = train_test_split(X, Y, test_size=0.2, random_state=0)
    return X, Y, Xt, Yt


# --- scores -----------------------------------------------------------------------------------------------------------


def best_cuts(scores, Y):
    """Predictions with the cut of each label that has the highest F1 on the test documents: an upper bound."""
    chosen = np.zeros(Y.shape, int)
    for k in range(Y.shape[1]):
        order = np.argsort(-scores[:, k], kind="stable")
        hits = np.cumsum(Y[order, k])
        f1 = 2 * hits / (np.arange(1, len(order) + 1) + max(hits[-1], 1))
        chosen[order[: f1.argmax() + 1], k] = 1
    return chosen


def pivoted(scores, numbers):
    """Predictions with a number of documents for each label."""
    return top_labels(np.ascontiguousarray(scores.T), numbers).T.astype(int)


def ranking_measures(scores, Y, Y_train):
    """The measures of the table of Rubin et al.: pivoted on labels, and on documents."""
    cuts = {
        "best cut": best_cuts(scores, Y),
        "true number": pivoted(scores, Y.sum(axis=0)),
        "calibrated": pivoted(scores, np.rint(Y_train.mean(axis=0) * len(Y)).astype(int)),
    }
    found = {
        f"{name}, {average}": f1_score(Y, chosen, average=average, zero_division=0)
        for name, chosen in cuts.items()
        for average in ("micro", "macro")
    }
    seen = Y.any(axis=0) & ~Y.all(axis=0)
    found["AUC"] = roc_auc_score(Y[:, seen], scores[:, seen], average="macro")
    found["average precision"] = label_ranking_average_precision_score(Y, scores)
    found["one-error"] = 1 - Y[np.arange(len(Y)), scores.argmax(axis=1)].mean()
    found["rank loss"] = label_ranking_loss(Y, scores)
    return found


def set_measures(chosen, Y):
    """micro-, macro- and example-based F1 of sets of labels."""
    return [f1_score(Y, chosen, average=average, zero_division=0) for average in ("micro", "macro", "samples")]


class Counter:
    """A ridge regression of the number of labels on tf-idf, as label_count="meta" has."""

    def __init__(self, X, Y):
        numbers = Y.sum(axis=1)
        self.lowest, self.highest = max(numbers.min(), 1), numbers.max()
        self.model = make_pipeline(TfidfTransformer(sublinear_tf=True), Ridge()).fit(X.astype(float), numbers)

    def __call__(self, X):
        return np.clip(np.rint(self.model.predict(X.astype(float))), self.lowest, self.highest).astype(int)


def shown(values):
    return [f"{value:.3f}" for value in values]


# --- parts ------------------------------------------------------------------------------------------------------------


def models(corpora, options):
    X, Y, Xt, Yt = corpora
    found, ranks, sets = [], [], []
    for name in options.models:
        parameters = MODELS[name]
        weights = options.dependency if "Dependency" in name else options.weights
        lda = LabeledLDA(
            topic_word_prior=options.eta,
            n_chains=options.chains,
            label_weight=weights[0],
            even_weight=weights[1],
            fold_in_iter=options.fold_in,
            random_state=0,
            **parameters,
        ).fit(X, Y)
        for score in options.scores:
            lda.set_params(ranking_score=score)
            with stopwatch() as taken:
                scores = lda.decision_function(Xt)
            measures = ranking_measures(scores, Yt, Y)
            f1 = set_measures(top_labels(scores, lda._label_counts(Xt, Xt.shape[0])), Yt)
            ranks.append([name, score, *shown(measures.values()), f"{taken['cpu']:.1f}"])
            sets.append([name, score, *shown(f1)])
            found.append({"model": name, "score": score, **measures, "f1": f1, "seconds": taken["cpu"]})
    table("ranking scores", ["model", "ranking_score", *measures, "CPU s"], ranks)
    table("sets of labels, label_count='meta'", ["model", "ranking_score", "micro-F1", "macro-F1", "example-F1"], sets)
    return found


def logistic(corpora, options):
    X, Y, Xt, Yt = corpora
    counter = Counter(X, Y)
    tfidf = TfidfTransformer(sublinear_tf=True).fit(X)
    lda = LabeledLDA(topic_word_prior=options.eta, random_state=0).fit(X, Y)
    words = [tfidf.transform(each) for each in (X, Xt)]
    theta = [sp.csr_matrix(lda.transform(each)) for each in (X, Xt)]
    both = [sp.hstack(each).tocsr() for each in zip(words, theta, strict=True)]
    found, rows = [], []
    for name, (train, test) in {"words": words, "words and theta": both}.items():
        with stopwatch() as taken:
            model = OneVsRestClassifier(LogisticRegression(C=options.C, max_iter=1000)).fit(train, Y)
            probability = model.predict_proba(test)
        for rule, chosen in (
            ("above one half", probability > 0.5),
            ("ridge regression", top_labels(probability, counter(Xt))),
        ):
            f1 = set_measures(chosen.astype(int), Yt)
            found.append({"features": name, "labels": rule, "f1": f1, "seconds": taken["cpu"]})
            rows.append([name, rule, *shown(f1), f"{taken['cpu']:.0f}"])
    table(
        "logistic regression, one label against the rest",
        ["features", "number of labels", "micro-F1", "macro-F1", "example-F1", "CPU s"],
        rows,
    )
    return found


def speed(corpora, options):
    """Training: tokens per CPU second of a sweep, and of an iteration of tomotopy's PLDA."""
    X, Y = corpora[:2]
    corpus = Corpus.from_counts(X)
    opened = OpenTopics.make(corpus, sp.csr_array(Y.astype(bool)), 0)
    priors = LabelPriors.make(50 / Y.shape[1], options.eta, opened)
    chain = LabelChain.initialise(corpus, priors, random.seed_sequence(0))
    runs = {"sklda": chain.sweep}
    if options.peers:
        import tomotopy

        peer = tomotopy.PLDAModel(alpha=50 / Y.shape[1], eta=options.eta, latent_topics=0, topics_per_label=1, seed=1)
        for d in range(X.shape[0]):
            own = slice(X.indptr[d], X.indptr[d + 1])
            words = np.repeat(X.indices[own], X.data[own]).astype(str).tolist()
            peer.add_doc(words, labels=np.flatnonzero(Y[d]).astype(str).tolist())
        peer.burn_in = peer.optim_interval = 0
        peer.train(0, workers=1)
        runs["tomotopy PLDA"] = lambda: peer.train(1, workers=1)
    seconds = {name: [] for name in runs}
    for _ in range(5):
        for run in runs.values():
            run()
    for _ in range(options.repeats):
        for name, run in runs.items():
            with stopwatch() as taken:
                run()
            seconds[name].append(taken["cpu"])
    found = {name: corpus.n_tokens / np.median(each) for name, each in seconds.items()}
    several = np.repeat(opened.numbers, corpus.lengths) > 1
    say(f"\n{corpus.n_tokens:,} tokens, {Y.sum(axis=1).mean():.2f} labels a document")
    say(f"{several.mean():.0%} of the tokens are in documents with several labels")
    table("training", ["", "million tokens a CPU second"], [[k, f"{v / 1e6:.1f}"] for k, v in found.items()])
    return {"tokens_per_second": found, "share_with_several_labels": float(several.mean())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--train", type=Path, help="a folder; without it, the bundled corpus")
    parser.add_argument("--test", type=Path)
    parser.add_argument("--eta", type=float, default=0.1)
    parser.add_argument("--chains", type=int, default=5)
    parser.add_argument("--fold-in", type=int, default=60, help="sweeps over a test document")
    parser.add_argument("--weights", type=float, nargs=2, default=(50, 30), help="label_weight and even_weight")
    parser.add_argument("--dependency", type=float, nargs=2, default=(50, 30), help="the same for Dependency-LDA")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--scores", nargs="+", default=["proportions", "shares"])
    parser.add_argument("--C", type=float, default=1.0, help="of the logistic regression")
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--peers", action="store_true", help="measure tomotopy too")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    corpora = read_corpora(options)
    X, Y, Xt, _ = corpora
    say(f"{X.shape[0]:,} training and {Xt.shape[0]:,} test documents, {Y.shape[1]} labels")
    with threadpool_limits(1):
        found = {part: globals()[part](corpora, options) for part in options.parts}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1, default=float))


if __name__ == "__main__":
    main()
