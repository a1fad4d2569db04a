"""CompoundLDA: seconds per sweep, recovery of mixtures and priors, and perplexity compared with LDA.

    python benchmarks/bench_compound.py                      with the bundled corpus
    python benchmarks/bench_compound.py --ldac corpus.ldac.gz --collections labels.txt.gz --json figures.json
    python benchmarks/bench_compound.py --parts sweep --topics 30 64

``--collections`` is a text file with one label per line, or a table (.csv) with a column ``collection``. Samplers take
turns within every repeat, so that other load affects all of them. Costs are CPU seconds of the process, as medians over
repeats.
"""

import argparse
import csv
import gzip
import json
from pathlib import Path

import numpy as np
from peers import describe, read_ldac, stopwatch
from report import say, table
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from sklda import CompoundLDA, GibbsLDA
from sklda._inference import random
from sklda._inference.compound.driver import chain_with_mixtures
from sklda._inference.compound.model import Model
from sklda._inference.compound.variational import VariationalAscent
from sklda._inference.corpus import Corpus
from sklda._inference.held_out.document_completion import split_tokens
from sklda._inference.priors import Priors
from sklda._inference.sampling.collapsed import GibbsChain
from sklda._inference.sampling.steps import advance
from sklda.datasets import load_docstrings, make_compound_lda_corpus
from sklda.metrics import predictive_perplexity, topic_coherence

PARTS = ("sweep", "recovery", "priors", "perplexity")
PAPER_RATE = 11e6  # tokens per second of the authors' sweep of LDA at K = 30


def read_labels(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        if ".csv" in path.suffixes:
            return [row["collection"] for row in csv.DictReader(file)]
        return file.read().splitlines()


# --- seconds per sweep ------------------------------------------------------------------------------------------------


def _sweep(chain):
    """One sweep of a chain with its steps, or of an ascent."""
    if isinstance(chain, VariationalAscent):
        chain.sweep()
    else:
        advance(chain, chain.steps)


def sweep(X, labels, options):
    corpus = Corpus.from_counts(X)
    names, collections = np.unique(labels, return_inverse=True)
    found = []
    for K in options.topics:
        seed = random.seed_sequence(0)
        plain = GibbsChain.initialise_randomly(corpus, Priors.make(1 / K, 0.05, K, corpus.n_features), seed)
        priors = Priors.make(1.0, 0.05, K, corpus.n_features)
        chains = {"plain": plain}
        for method in ("augmented", "langevin"):
            model = Model(collections, len(names), method)
            chains[method] = chain_with_mixtures(corpus, priors, seed, model, 1.0, 1.0)
            chains[method].n_burn_in = 10**9
        model = Model(collections, len(names), "variational")
        chains["variational"] = VariationalAscent.initialise(corpus, priors, seed, model, 1.0, 1.0)
        for name, chain in chains.items():
            for _ in range(1 if name == "variational" else options.warm_up):
                _sweep(chain)
        seconds = {name: [] for name in chains}
        for repeat in range(options.repeats):
            for name, chain in chains.items():
                if name == "variational" and repeat >= 3:
                    continue
                with stopwatch() as taken:
                    _sweep(chain)
                seconds[name].append(taken["cpu"])
        medians = {name: float(np.median(values)) for name, values in seconds.items()}
        ratio = float(np.median(np.array(seconds["augmented"]) / np.array(seconds["plain"])))
        rate = corpus.n_tokens / medians["plain"]
        found.append({"K": K, "seconds": medians, "augmented_to_plain": ratio, "plain_tokens_per_second": rate})
    table(
        "CPU seconds per sweep",
        ["K", "plain", "augmented", "langevin", "variational", "augmented / plain", "plain, M tokens/s"],
        [
            [
                str(f["K"]),
                *(f"{f['seconds'][name]:.4f}" for name in ("plain", "augmented", "langevin", "variational")),
                f"{f['augmented_to_plain']:.3f}",
                f"{f['plain_tokens_per_second'] / 1e6:.1f} ({f['plain_tokens_per_second'] / PAPER_RATE:.2f} x paper)",
            ]
            for f in found
        ],
    )
    return found


# --- Section 3.2 ------------------------------------------------------------------------------------------------------

TRUTH = np.array([[0.0025, 0.0005, 0.997], [0.584, 0.386, 0.030]])


def recovery(options):
    """Mixtures of the paper's corpus, with L1 distances from the true ones after topics are matched."""
    rows, found = [], []
    for seed in range(options.runs):
        corpus = make_compound_lda_corpus(
            [100, 100], 40, 3, doc_length=200, topic_word_prior=0.25, collection_topic=TRUTH, random_state=seed
        )
        for method in ("augmented", "langevin", "variational"):
            lda = CompoundLDA(
                3,
                collection_topic_prior=0.1,
                topic_word_prior=0.25,
                method=method,
                max_iter=2000,
                burn_in=500,
                draw_every=1,
                random_state=seed,
            ).fit(corpus.data, collections=corpus.collections)
            order = match(lda.topic_word_, corpus.topic_word)
            mixtures = lda.collection_topic_[:, order]
            entry = {"seed": seed, "method": method, "mixtures": mixtures.tolist()}
            entry["distance"] = np.abs(mixtures - TRUTH).sum(axis=1).tolist()
            if method != "variational":
                draws = lda.collection_topic_draws_[:, :, order]
                entry["autocorrelation_time"] = [autocorrelation_time(draws[:, j, 0]) for j in range(2)]
            found.append(entry)
    for method in ("augmented", "langevin", "variational"):
        own = [entry for entry in found if entry["method"] == method]
        distances = np.median([entry["distance"] for entry in own], axis=0)
        times = [entry["autocorrelation_time"] for entry in own if "autocorrelation_time" in entry]
        times = np.median(times, axis=0).round(1).tolist() if times else ["", ""]
        rows.append([method, *(f"{d:.3f}" for d in distances), *map(str, times)])
    table(
        f"section 3.2, medians over {options.runs} corpora",
        ["", "L1, pi_1", "L1, pi_2", "sweeps, pi_11", "sweeps, pi_21"],
        rows,
    )
    return found


def match(topic_word, truth):
    return linear_sum_assignment(cdist(truth, topic_word, "cityblock"))[1]


def autocorrelation_time(x):
    """Number of sweeps that are worth one independent draw, by Geyer's initial positive sequence."""
    x = x - x.mean()
    n = len(x)
    power = np.abs(np.fft.rfft(x, 2 * n)) ** 2
    rho = np.fft.irfft(power)[:n]
    rho /= rho[0]
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = np.argmax(pairs < 0) if (pairs < 0).any() else len(pairs)
    return float(2 * pairs[:stop].sum() - 1)


# --- Section 3.3 ------------------------------------------------------------------------------------------------------


def priors(options):
    """Gibbs-EM on the corpus of Figure 4: gamma = 0.8, eta = 0.5, from the initial values 1 and 1 / 3."""
    found = []
    for seed in range(options.runs):
        corpus = make_compound_lda_corpus(
            [100, 100], 40, 3, doc_length=200, doc_concentration=0.8, topic_word_prior=0.5, random_state=seed
        )
        lda = CompoundLDA(3, max_iter=1000, burn_in=900, random_state=seed)
        lda.fit(corpus.data, collections=corpus.collections)
        found.append((lda.doc_concentration_, lda.topic_word_prior_))
    quantiles = np.quantile(found, [0, 0.25, 0.5, 0.75, 1], axis=0)
    table(
        f"section 3.3, {options.runs} corpora: learnt priors",
        ["", "minimum", "25 %", "median", "75 %", "maximum", "true"],
        [
            [name, *(f"{q:.3f}" for q in quantiles[:, i]), truth]
            for i, (name, truth) in enumerate([("gamma", "0.8"), ("eta", "0.5")])
        ],
    )
    return found


# --- Figure 5 ---------------------------------------------------------------------------------------------------------


def perplexity(X, labels, options):
    """Perplexity on a fifth of the documents, which is held out: half of their tokens are seen, half are predicted."""
    rng = np.random.default_rng(0)
    test = rng.permutation(X.shape[0])[: X.shape[0] // 5]
    train = np.setdiff1d(np.arange(X.shape[0]), test)
    seen, hidden = (part.to_counts() for part in split_tokens(Corpus.from_counts(X[test]), 0))
    labels = np.asarray(labels)
    rows, found = [], []
    for K in options.curve:
        common = {"max_iter": options.sweeps, "random_state": 0}
        models = {
            "collections": CompoundLDA(K, topic_word_prior=0.05, **common).fit(X[train], collections=labels[train]),
            "one collection": CompoundLDA(K, topic_word_prior=0.05, **common).fit(X[train]),
            "LDA, learnt alpha": GibbsLDA(K, topic_word_prior=0.05, **common).fit(X[train]),
            "LDA, alpha = 1 / K": GibbsLDA(K, doc_topic_prior=1 / K, topic_word_prior=0.05, **common).fit(X[train]),
            "LDA, alpha = 1": GibbsLDA(K, doc_topic_prior=1.0, topic_word_prior=0.05, **common).fit(X[train]),
        }
        entry = {"K": K, "perplexity": {}, "coherence": {}, "topic_sizes": {}}
        for name, model in models.items():
            given = labels[test] if name == "collections" else None
            entry["perplexity"][name] = predictive_perplexity(seen, hidden, model, collections=given, random_state=0)
            entry["coherence"][name] = float(topic_coherence(X[train], model, method="umass"))
            entry["topic_sizes"][name] = np.bincount(model.topic_assignments_, minlength=K).tolist()
        found.append(entry)
        rows.append([str(K), *(f"{p:.0f}" for p in entry["perplexity"].values())])
        say(*rows[-1])
    table("per-word perplexity of hidden words", ["K", *models], rows)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ldac", type=Path)
    parser.add_argument("--collections", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--topics", nargs="+", type=int, default=[30, 64])
    parser.add_argument("--curve", nargs="+", type=int, default=[10, 20, 30, 40, 60, 90])
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--warm-up", type=int, default=100)
    options = parser.parse_args()
    if (options.ldac is None) != (options.collections is None):
        parser.error("--ldac and --collections must be given together")
    if options.ldac is None:
        docstrings = load_docstrings()
        X, labels = docstrings.data, docstrings.collection
    else:
        X, labels = read_ldac(options.ldac), read_labels(options.collections)
    found = {"corpus": describe(X)}
    say(found["corpus"])
    with threadpool_limits(1):
        for part in options.parts:
            run = globals()[part]
            found[part] = run(options) if part in ("recovery", "priors") else run(X, labels, options)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
