"""Papanikolaou et al. (2017), Dense distributions from sparse samples: improved Gibbs sampling estimators for LDA.

    python benchmarks/papers/point_estimates.py --data FOLDER --quick
    python benchmarks/papers/point_estimates.py --data FOLDER --quick --parts topics

Parts, by the tables and figures of the paper. The corpora are news16 and reuters395; for labels, bibtex:

- ``corpora``: Tables 3 and 5.
- ``samples``: Figures 1, 2 and 10 to 13, perplexity against the number of samples of theta.
- ``association``: Figure 3, ranks of the associates of words under phi, with norms of human associations.
- ``topics``: Figures 4 and 14, perplexity against the number of topics.
- ``iterations``: Figure 5, log-likelihood against iterations.
- ``other``: Table 4, estimates from the assignments of another library.
- ``time``: Figures 6 and 15 to 17, log-likelihood against time.
- ``counts``: Figures 7, 8 and 9, counts of draws and expected counts.
- ``labels``: Tables 6 to 8 and Figures 18 to 21, labels of new documents.
"""

import csv
import gzip
from types import SimpleNamespace

import _record
import numpy as np
from _labels import estimates as label_estimates
from _record import Part, corpus
from bench_labels import read_corpora
from draws import by_topics, cvb0, estimate_counts, estimates, gibbs, halves, iterations, normalised, samples
from peers import ALPHA, ETA, Tomotopy, stopwatch
from sklearn.decomposition import LatentDirichletAllocation

from sklda._core.corpus import Corpus
from sklda._models.variational.fixed_topics import perplexity
from sklda._models.variational.passes import topics as topics_of
from sklda.metrics import word_association

CORPORA = ("news16", "reuters395")
PAIRS = ("φ + θ", "φ^p + θ", "φ + θ^p", "φ^p + θ^p")


def cases(options, plan):
    """Name and K of the cases of a plan {name: numbers of topics}; ``--only "docstrings, 50"`` names any others."""
    if options.only:
        return {case: (case.split(", ")[0], int(case.split(", ")[1])) for case in options.only}
    return {f"{name}, {K}": (name, K) for name, counts in plan.items() for K in counts}


def variational(train, n_topics, seed, n_iter=20):
    """Variational Bayes of scikit-learn."""
    model = LatentDirichletAllocation(
        n_topics, doc_topic_prior=ALPHA, topic_word_prior=ETA, max_iter=n_iter, random_state=seed
    )
    return model.fit(train.to_counts())


# --- Tables 3 and 5 ---------------------------------------------------------------------------------------------------


def measure_corpora(options):
    found = {}
    for name in (*CORPORA, "bibtex_train"):
        X = corpus(options, name)
        found[name] = {"D": X.shape[0], "V": X.shape[1], "tokens": float(X.sum() / X.shape[0])}
    return found


def corpora_values(found):
    return {name: "{D:,} documents of {tokens:.1f} tokens, {V:,} words".format(**own) for name, own in found.items()}


# --- Figures 1, 2, 10 to 13 -------------------------------------------------------------------------------------------


def measure_samples(options):
    plan = {"reuters395": (20, 100, 500), "news16": (100,) if options.quick else (20, 50, 100, 500)}
    found = {}
    for case, (name, K) in cases(options, plan).items():
        parts = halves(corpus(options, name), options.seed)
        found[case] = samples(*parts, K, options.seed, 60 if options.quick else 200)
    return found


def samples_table(found):
    header = ["corpus, K", "estimates", *(f"{n} samples" for n in (1, 5, 20)), "5 chains, 20 samples"]
    rows = []
    for name, own in found.items():
        for i, pair in enumerate(PAIRS):
            cells = [own[f"1, {pair}, {n}"] for n in (1, 5, 20)] + [own[f"5, {pair}, 20"]]
            rows.append(["" if i else name, pair, *(f"{cell:.1f}" for cell in cells)])
    return header, rows


def samples_values(found):
    """Gains in percent: of theta^p with one sample and with a hundred, and of phi^p with a hundred."""

    def gain(one, other):
        shares = [100 * (1 - own[other] / own[one]) for own in found.values()]
        return f"{min(shares):.1f} to {max(shares):.1f} %"

    return {
        "theta_1": gain("1, φ + θ, 1", "1, φ + θ^p, 1"),
        "theta_100": gain("5, φ + θ, 20", "5, φ + θ^p, 20"),
        "phi_100": gain("5, φ + θ, 20", "5, φ^p + θ, 20"),
    }


# --- Figure 3 ---------------------------------------------------------------------------------------------------------


def norms(options, words):
    """Cues in the vocabulary with their five strongest associates there, as columns."""
    columns, strongest = {word: v for v, word in enumerate(words)}, {}
    with gzip.open(_record.path(options, "usf_norms", "pairs.csv.gz"), "rt", encoding="utf-8") as file:
        for row in sorted(csv.DictReader(file), key=lambda row: -float(row["forward_strength"])):
            if row["cue"] in columns:
                strongest.setdefault(columns[row["cue"]], []).append(columns.get(row["target"], -1))
    return {cue: targets[:5] for cue, targets in strongest.items() if min(targets[:5]) >= 0 and len(targets) >= 5}


def ranks(phi, cues):
    """For both measures, the rank of every cue's associates among all words: arrays (n_cues, 5)."""
    known = np.array(list(cues))
    shares = phi / np.maximum(phi.sum(axis=0), 1e-300)
    shares /= np.maximum(np.linalg.norm(shares, axis=0), 1e-300)
    found = {"conditional probability": [], "cosine": []}
    for block in np.array_split(known, max(1, len(known) // 300)):
        for name, scores in (
            ("conditional probability", word_association(phi, cue=block.tolist())),
            ("cosine", shares[:, block].T @ shares),
        ):
            scores[np.arange(len(block)), block] = -1
            own = np.take_along_axis(scores, np.array([cues[cue] for cue in block]), axis=1)
            found[name].append((scores[:, None] > own[:, :, None]).sum(axis=2) + 1)
    return {name: np.concatenate(each) for name, each in found.items()}


def measure_association(options):
    X = corpus(options, "news16")
    with gzip.open(_record.path(options, "news16", "vocab.txt.gz"), "rt", encoding="utf-8") as file:
        words = file.read().split("\n")[: X.shape[1]]
    cues, train = norms(options, words), Corpus.from_counts(X)
    if options.quick:
        cues = dict(list(cues.items())[::2])
    found = {}
    for K in _record.chosen(options, {str(K): K for K in (50, 100, 500)}).values():
        chain = gibbs(train, K, 60 if options.quick else 250, options.seed)
        models = {"φ": estimates(chain, "cgs")[1], "φ^p": estimates(chain, "cgs_p")[1]}
        if K < 500 or not options.quick:
            models["CVB0"] = topics_of(cvb0(train, K, 20 if options.quick else 250, options.seed))
        if K == 50 or not options.quick:
            models["VB"] = normalised(variational(train, K, options.seed, 5 if options.quick else 20).components_)
        own = {name: ranks(phi, cues) for name, phi in models.items()}
        found[K] = {"cues": len(cues), "ranks": {}}
        for measure in own["φ"]:
            found[K]["ranks"][measure] = {
                "gain": np.median(own["φ"][measure] - own["φ^p"][measure], axis=0),
                "median": {name: np.median(each[measure]) for name, each in own.items()},
            }
    return found


def association_table(found):
    header = ["K, measure", "1st", "2nd", "3rd", "4th", "5th", "φ", "φ^p", "CVB0", "VB"]
    rows = []
    for K, each in found.items():
        for measure, own in each["ranks"].items():
            medians = (f"{own['median'][name]:.0f}" if name in own["median"] else "" for name in header[6:])
            rows.append([f"{K}, {measure}", *(f"{gain:+g}" for gain in own["gain"]), *medians])
    return header, rows


def association_values(found):
    return {"cues": f"{next(iter(found.values()))['cues']:,}"}


# --- Figures 4 and 14 -------------------------------------------------------------------------------------------------


def measure_topics(options):
    counts = (20, 50, 100, 200, 500)
    plan = {"reuters395": counts, "news16": (20, 100, 500) if options.quick else counts}
    found = {}
    for case, (name, K) in cases(options, plan).items():
        train, seen, hidden = halves(corpus(options, name), options.seed)
        n_sweeps = 200 if not options.quick else 100 if name == "reuters395" else 30
        found[case] = row = by_topics(train, seen, hidden, K, options.seed, n_sweeps)
        if not options.quick or K <= (100 if name == "reuters395" else 20):
            model = variational(train, K, options.seed, 10 if options.quick else 20)
            theta, phi = normalised(model.transform(seen.to_counts())), normalised(model.components_)
            row["VB"] = perplexity(hidden, theta, phi)
    return found


def topics_table(found):
    header = ["corpus, K", "CGS", "CGS_p", "CVB0", "VB"]
    return header, [[name, *(f"{own[m]:.0f}" if m in own else "" for m in header[1:])] for name, own in found.items()]


def topics_values(found):
    gains = [100 * (1 - own["CGS_p"] / own["CGS"]) for own in found.values()]
    best = [name for name, own in found.items() if own["CVB0"] < own["CGS_p"]]
    worst = sum(own["VB"] > own["CGS_p"] for own in found.values() if "VB" in own)
    texts = {"gain": f"{min(gains):.1f} to {max(gains):.1f} %", "cvb0": f"{len(best)} of {len(found)}"}
    return texts | {"vb": f"{worst} of {sum('VB' in own for own in found.values())}"}


# --- Figure 5 ---------------------------------------------------------------------------------------------------------

MOMENTS = (1, 2, 5, 10, 20, 50, 100, 200, 400)


def measure_iterations(options):
    plan, found = dict.fromkeys(("reuters395",) if options.quick else CORPORA, (20, 100, 500)), {}
    for case, (name, K) in cases(options, plan).items():
        moments = MOMENTS[:-2] if options.quick and K == 500 else MOMENTS
        found[case] = iterations(halves(corpus(options, name), options.seed)[0], K, options.seed, moments)
    return found


def iterations_table(found):
    header = ["corpus, K", "", *map(str, MOMENTS)]
    rows = []
    for name, own in found.items():
        rows += [[name if m == "CGS" else "", m, *(f"{v:.3f}" for v in own[m])] for m in ("CGS", "CGS_p", "CVB0")]
    return header, rows


# --- Table 4 ----------------------------------------------------------------------------------------------------------


def four(chain_parts, priors):
    """Log-likelihood per token of the training corpus by the four pairs of estimates, from assignments."""
    train, topics = chain_parts
    counts = {name: estimate_counts(train, priors, topics, method) for name, method in (("", "cgs"), ("^p", "cgs_p"))}
    theta = {name: normalised(each[0] + ALPHA) for name, each in counts.items()}
    phi = {name: normalised(each[1] + ETA) for name, each in counts.items()}
    pairs = {pair: [part.strip()[1:] for part in pair.split("+")] for pair in PAIRS}
    return {pair: -float(np.log(perplexity(train, theta[t], phi[p]))) for pair, (p, t) in pairs.items()}


def measure_other(options):
    """tomotopy's assignments; its tokens are in the order of the counts, which the script checks."""
    found = {}
    for name in CORPORA:
        X = corpus(options, name)
        train, peer = Corpus.from_counts(X), Tomotopy(X, 100, options.seed + 1)
        peer.sweep(200)
        columns = np.array([int(word) for word in peer.model.used_vocabs])
        assert np.array_equal(columns[peer.tokens[0]], train.words)
        chain = gibbs(train, 100, 200 if not options.quick or name == "reuters395" else 100, options.seed)
        found[name] = {
            "tomotopy": four((train, peer.topics().astype(np.int32)), chain.priors),
            "sklda": four((train, chain.topics), chain.priors),
        }
    return found


def other_table(found):
    header = ["corpus", "sampler", *PAIRS]
    rows = [
        [name, sampler, *(f"{values[pair]:.4f}" for pair in PAIRS)]
        for name, own in found.items()
        for sampler, values in own.items()
    ]
    return header, rows


# --- Figures 6, 15 to 17 ----------------------------------------------------------------------------------------------


def measure_time(options):
    moments, found = (50, 100, 200, 500, 1000), {}
    for name in ("reuters395",) if options.quick else CORPORA:
        train = Corpus.from_counts(corpus(options, name))
        for K in (50, 100, 500):
            chain, spent, before, points = gibbs(train, K, 0, options.seed), 0.0, 0, {"CGS": [], "CGS_p": []}
            for n in moments:
                with stopwatch() as taken:
                    for _ in range(n - before):
                        chain.sweep()
                spent, before = spent + taken["cpu"], n
                for label, method in (("CGS", "cgs"), ("CGS_p", "cgs_p")):
                    with stopwatch() as taken:
                        parts = estimates(chain, method)
                    points[label].append((spent + taken["cpu"], -float(np.log(perplexity(train, *parts)))))
            found[f"{name}, {K}"] = points
    return found


def time_table(found):
    header = ["corpus, K", "", *(f"{n} sweeps: s, log p" for n in (50, 100, 200, 500, 1000))]
    rows = [
        [name if label == "CGS" else "", label, *(f"{s:.2f}, {v:.4f}" for s, v in own[label])]
        for name, own in found.items()
        for label in ("CGS", "CGS_p")
    ]
    return header, rows


# --- Figures 7, 8 and 9 -----------------------------------------------------------------------------------------------


def measure_counts(options):
    found = {"distance": {}, "largest": {}, "bound": {}}
    for name in CORPORA:
        X = corpus(options, name)
        train, lengths = Corpus.from_counts(X), X.sum(axis=1)
        chain, before = gibbs(train, 100, 0, options.seed), 0
        for n in (1, 2, 5, 10, 20, 50) + (() if options.quick else (100, 1000)):
            for _ in range(n - before):
                chain.sweep()
            before = n
            hard, soft = (estimate_counts(train, chain.priors, chain.topics, m)[0] for m in ("cgs", "cgs_p"))
            away = np.abs(hard - soft) / np.asarray(lengths).reshape(-1, 1)
            found["distance"].setdefault(name, {})[n] = float(away.sum(axis=1).mean())
            found["largest"].setdefault(name, {})[n] = float(away[0].max())
        documents = train.token_documents
        for D in (100, 300, 1000, 3000, 10_000):
            if train.n_documents >= D:
                totals = np.bincount(chain.topics[documents < D], minlength=100)
                own = 1 / np.maximum(totals + train.n_features * ETA - 1, 1e-9)
                found["bound"].setdefault(name, {})[D] = float(own.mean())
    return found


def counts_values(found):
    texts = {}
    for name, own in found["distance"].items():
        texts[f"{name}_first"], texts[f"{name}_last"] = f"{own['1']:.2f}", f"{own['50']:.2f}"
        texts[f"{name}_largest"] = f"{found['largest'][name]['50']:.2g}"
        bounds = list(found["bound"][name].items())
        texts[f"{name}_bound"] = ", ".join(f"{value:.2g} ({int(D):,})" for D, value in bounds)
    return texts


# --- Tables 6 to 8, Figures 18 to 21 ----------------------------------------------------------------------------------


def measure_labels(options):
    folder = _record.path(options, "bibtex_train", "corpus.ldac.gz").parent
    given = SimpleNamespace(train=folder, test=None, eta=0.1)
    runs = ((1, 1), (1, 5), (5, 30)) if options.quick else ((1, 1), (1, 2), (1, 5), (1, 10), (1, 30), (5, 30))
    return label_estimates(read_corpora(given), given, runs)


# Bibtex in Tables 6, 7 and 8: micro-F1, macro-F1 and example-based F1.
TABLES_6_TO_8 = {
    ("1 x 1", "cgs", "cgs"): (0.239, 0.158, 0.255),
    ("1 x 1", "cgs", "cgs_p"): (0.299, 0.202, 0.313),
    ("1 x 1", "cgs_p", "cgs"): (0.234, 0.155, 0.247),
    ("1 x 1", "cgs_p", "cgs_p"): (0.290, 0.195, 0.305),
    ("5 x 30", "cgs", "cgs"): (0.287, 0.214, 0.296),
    ("5 x 30", "cgs", "cgs_p"): (0.370, 0.269, 0.381),
    ("5 x 30", "cgs_p", "cgs"): (0.284, 0.209, 0.292),
    ("5 x 30", "cgs_p", "cgs_p"): (0.363, 0.258, 0.373),
}


def labels_table(found):
    header = ["chains × samples", "φ", "θ", "paper: micro, macro, example F1", "here"]
    rows = []
    for own in found:
        paper = TABLES_6_TO_8.get((own["runs"], own["phi"], own["theta"]), ())
        cells = (", ".join(f"{value:.3f}" for value in each) for each in (paper, own["f1"]))
        rows.append([own["runs"], own["phi"], own["theta"], *cells])
    return header, rows


def labels_values(found):
    f1 = {(own["runs"], own["phi"], own["theta"]): own["f1"][0] for own in found}
    return {theta: f"{f1['5 x 30', 'cgs', theta]:.3f}" for theta in ("cgs", "cgs_p", "unnormalized")} | {
        f"{theta}_1": f"{f1['1 x 1', 'cgs', theta]:.3f}" for theta in ("cgs", "cgs_p", "unnormalized")
    }


PARTS = {
    "corpora": Part(measure_corpora, corpora_values),
    "samples": Part(measure_samples, samples_values, samples_table),
    "association": Part(measure_association, association_values, association_table),
    "topics": Part(measure_topics, topics_values, topics_table),
    "iterations": Part(measure_iterations, None, iterations_table),
    "other": Part(measure_other, None, other_table),
    "time": Part(measure_time, None, time_table),
    "counts": Part(measure_counts, counts_values),
    "labels": Part(measure_labels, labels_values, labels_table),
}

if __name__ == "__main__":
    _record.main(__file__, __doc__, PARTS)
