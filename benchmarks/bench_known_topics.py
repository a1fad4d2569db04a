"""Known topics beside new ones, in simulated corpora: drift, new topics, intervals, evidence, cost.

    python benchmarks/bench_known_topics.py                       all parts
    python benchmarks/bench_known_topics.py --parts drift --corpora 20 --json figures.json

Two kinds of corpora. "dirichlet": 300 words, topics from a Dirichlet distribution with a parameter of 0.1, 400
documents of 60 words. "zipf": 2,000 words, topics around a common Zipf law, 800 documents of 80 words. Documents have a
Dirichlet parameter of 0.1 for each topic. A topic drifts if a part of its probability moves to another distribution.
The priors of the fits are learnt: they are not those of the simulation. Costs are CPU seconds of the process, with one
thread.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from report import fitted, say, table
from threadpoolctl import threadpool_limits

from sklda import GibbsLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.known_topic_priors import KnownTopics
from sklda._core.priors import Priors
from sklda._models import known_topics as reader
from sklda._sampling.choice import chain_class
from sklda.inspection import describe, topic_drift
from sklda.metrics import compare_new_topics

KINDS = {"dirichlet": (300, 400, 60), "zipf": (2000, 800, 80)}
PARTS = ("drift", "moved", "intervals", "first", "evidence", "cost")
# The part of each known topic that has moved; the last known topic is wrong: no document has it.
DRIFT = [0.0, 0.0, 0.1, 0.1, 0.3, 0.3]
WRONG = len(DRIFT)
# A topic is found if half the sum of the absolute differences from the truth is below this.
FOUND = 0.2


def draw_topic(kind, rng):
    V = KINDS[kind][0]
    if kind == "dirichlet":
        return rng.dirichlet(np.full(V, 0.1))
    law = np.arange(1, V + 1) ** -0.9
    return rng.dirichlet(np.maximum(100 * law / law.sum(), 1e-3))


def draw_documents(kind, topics, rng):
    _, n_documents, n_words = KINDS[kind]
    theta = rng.dirichlet(np.full(len(topics), 0.1), n_documents)
    return np.array([rng.multinomial(n_words, row @ topics) for row in theta])


def make(kind, seed, n_new, drift=DRIFT, n_wrong=1):
    """Known topics, the true ones (drifted and new), and counts."""
    rng = np.random.default_rng(seed)
    known = np.array([draw_topic(kind, rng) for _ in range(len(drift) + n_wrong)])
    true = [(1 - part) * known[k] + part * draw_topic(kind, rng) for k, part in enumerate(drift)]
    true = np.array(true + [draw_topic(kind, rng) for _ in range(n_new)])
    return known, true, draw_documents(kind, true, rng)


def drift_of(lda, **options):
    """The table of the topics, whose words are numbers."""
    return topic_drift(describe(lda, vocabulary=list(map(str, range(lda.n_features_in_)))), **options)


def distances(a, b):
    return np.abs(a[:, None] - b).sum(axis=2) / 2


def chords(known, true):
    """Chord distances of rows, as `topic_drift` has them. Equal rows have a distance of exactly 0."""
    cosines = (known * true).sum(axis=1) / np.sqrt((known**2).sum(axis=1) * (true**2).sum(axis=1))
    return np.where((known == true).all(axis=1), 0, np.sqrt(np.maximum(1 - cosines, 0)))


# --- drift, and new topics ------------------------------------------------------------------------------------------


def drift(options):
    """Weights, distances, and new topics, with as many new topics in the fit as in the truth."""
    rows, found = [], []
    for kind in options.kinds:
        for n_new in range(4):
            results, seconds = [], 0.0
            for seed in range(options.corpora):
                known, true, X = make(kind, seed, n_new)
                lda, taken = fitted(
                    GibbsLDA(len(known) + n_new, known_topics=known, max_iter=400, random_state=seed), X
                )
                seconds += taken
                drifted, n = drift_of(lda, random_state=seed), len(DRIFT)
                moved = chords(known[:n], true[:n])
                inside = (drifted["moved_low"][:n] <= moved) & (moved <= drifted["moved_high"][:n])
                apart = distances(lda.topic_word_, true)
                results.append({
                    "weights": drifted["weight"][:n].tolist(),
                    "ordered": bool(np.all(np.diff(np.reshape([*drifted["weight"][:n]], (3, 2)).min(axis=1)) < 0)
                                    and drifted["weight"][:2].min() > drifted["weight"][2:4].max()
                                    and drifted["weight"][2:4].min() > drifted["weight"][4:6].max()),
                    "moved": (drifted["moved"][:n] - moved).tolist(),
                    "inside": inside.tolist(),
                    "known": bool((np.diag(apart[:n, :n]) < FOUND).all()),
                    "new": int((apart[WRONG + 1 :, n:].min(axis=0, initial=1) < FOUND).sum()),
                    "wrong": float(lda.topic_share_[WRONG]),
                })  # fmt: skip
            weights = np.array([each["weights"] for each in results])
            inside = np.array([each["inside"] for each in results])
            rows.append([
                kind, str(n_new),
                *(f"{np.median(weights[:, i : i + 2]):,.0f}" for i in (0, 2, 4)),
                f"{sum(each['ordered'] for each in results)} of {len(results)}",
                *(f"{np.mean([each['moved'] for each in results], axis=0)[i : i + 2].mean():+.3f}" for i in (0, 2, 4)),
                f"{inside[:, 2:].mean():.2f}",
                f"{sum(each['known'] for each in results)} of {len(results)}",
                f"{sum(each['new'] for each in results)} of {n_new * len(results)}",
                f"{max(each['wrong'] for each in results):.4f}",
                f"{seconds / len(results):.1f}",
            ])  # fmt: skip
            say(*rows[-1])
            found.append({"kind": kind, "n_new": n_new, "corpora": results})
    header = ["corpus", "new", "weight: right", "10 %", "30 %", "in order", "moved - true: right", "10 %", "30 %",
              "covered", "known found", "new found", "share of wrong", "CPU s"]  # fmt: skip
    table("drift: median weights, errors of distances, topics found", header, rows)
    return found


# --- intervals of distances -----------------------------------------------------------------------------------------

# Parts of the known topics that have moved. Those of the second topic have moved to about ten words, others to a topic.
CASES = {
    "nothing moved": {"parts": [0, 0, 0]},
    "a tenth": {"parts": [0.1, 0.1, 0]},
    "three tenths": {"parts": [0.3, 0.3, 0]},
    "seven tenths": {"parts": [0.7, 0.7, 0]},
    "one of six topics": {"parts": [0.3, 0, 0, 0, 0, 0]},
    "documents of 12 words": {"parts": [0.3, 0.1, 0], "n_documents": 1000, "n_words": 12},
    "60 documents of 200 words": {"parts": [0.3, 0.1, 0], "n_documents": 60, "n_words": 200},
    "topics without a common law": {"parts": [0.3, 0.1, 0], "kind": "flat"},
    "few topics in a document": {"parts": [0.3, 0.1, 0], "alpha": 0.05},
    "all topics in a document": {"parts": [0.3, 0.1, 0], "alpha": 1.0},
}


def moved_corpus(seed, parts, kind="zipf", n_documents=300, n_words=40, alpha=None, V=200):
    """Known topics, the true ones of these, and counts of documents whose lengths differ; two topics are new."""
    rng = np.random.default_rng(seed)
    law = np.arange(1, V + 1) ** -0.7
    parameter = 30 * law / law.sum() if kind == "zipf" else np.full(V, 0.2)
    topics = rng.dirichlet(parameter, len(parts) + 2)
    known, true = topics[: len(parts)], topics.copy()
    for k, part in enumerate(parts):
        if part:
            other = rng.dirichlet(np.full(V, 0.05) if k == 1 else parameter)
            true[k] = (1 - part) * known[k] + part * other
    prior = np.resize([0.5, 0.2, 0.2, 0.3, 0.1], len(true)) if alpha is None else np.full(len(true), alpha)
    lengths = np.maximum(rng.poisson(n_words * np.exp(0.6 * rng.standard_normal(n_documents))), 2)
    X = np.array([rng.multinomial(n, rng.dirichlet(prior) @ true) for n in lengths])
    return known, true[: len(parts)], X


def moved(options):
    """How many intervals of distances contain the truth, for topics that have moved and for others."""
    rows, found = [], []
    for name, case in CASES.items():
        entries, seconds = [], np.zeros(2)
        for seed in range(options.corpora):
            known, true, X = moved_corpus(7000 + seed, **case)
            lda, taken = fitted(GibbsLDA(len(known) + 2, known_topics=known, max_iter=200, random_state=seed), X)
            begin = time.process_time()
            table_of_topics = drift_of(lda, random_state=seed)
            seconds += taken, time.process_time() - begin
            columns = table_of_topics[["moved", "moved_low", "moved_high"]].to_numpy().T
            entries.append(np.vstack([chords(known, true), columns]))
        truth, estimate, low, high = np.array(entries).transpose(1, 0, 2)
        row = [name]
        for own in (np.array(case["parts"]) == 0, np.array(case["parts"]) > 0):
            if not own.any():
                row += ["-"] * 4
                continue
            inside = (low <= truth) & (truth <= high)
            row += [f"{truth[:, own].mean():.3f}", f"{estimate[:, own].mean():.3f}",
                    f"{(high - low)[:, own].mean():.3f}", f"{inside[:, own].mean():.3f}"]  # fmt: skip
        has_moved = np.array(case["parts"]) > 0
        outside = [f"{each[:, has_moved].mean():.3f}" if has_moved.any() else "-"
                   for each in (low > truth, high < truth)]  # fmt: skip
        rows.append([*row, *outside, *(f"{each:.2f}" for each in seconds / options.corpora)])
        say(*rows[-1])
        found.append({"case": name, "values": np.array(entries).tolist()})
    header = ["corpora", "not moved", "estimate", "width", "covered", "moved", "estimate", "width", "covered",
              "above the truth", "below", "CPU s, fit", "drift"]  # fmt: skip
    table("distances of known topics, and intervals of 95 %", header, rows)
    return found


# --- intervals of weights -------------------------------------------------------------------------------------------


def intervals(options):
    """Topics drawn from the prior of a weight: how many intervals of 95 % have it."""
    rows, found = [], []
    for kind in options.kinds:
        for weight in (100.0, 1000.0, 10_000.0):
            inside, ratios, errors = [], [], []
            for seed in range(options.corpora):
                rng = np.random.default_rng(seed)
                known = np.array([draw_topic(kind, rng) for _ in range(4)])
                true = np.array([*(rng.dirichlet(np.maximum(weight * row, 1e-6)) for row in known),
                                 draw_topic(kind, rng)])  # fmt: skip
                lda, _ = fitted(GibbsLDA(5, known_topics=known, max_iter=400, random_state=seed),
                                draw_documents(kind, true, rng))  # fmt: skip
                drifted = drift_of(lda, n_draws=2, random_state=seed)
                inside += ((drifted["weight_low"] <= weight) & (weight <= drifted["weight_high"])).tolist()
                ratios += np.log(drifted["weight"] / weight).tolist()
                errors += lda.known_weight_log_std_.tolist()
            finite = np.isfinite(errors)
            rows.append([kind, f"{weight:,.0f}", f"{np.mean(inside):.3f} ± {np.std(inside) / len(inside) ** 0.5:.3f}",
                         f"{np.exp(np.median(ratios)):.2f}", f"{np.std(np.array(ratios)[finite]):.2f}",
                         f"{np.median(np.array(errors)[finite]):.2f}", f"{1 - finite.mean():.2f}"])  # fmt: skip
            say(*rows[-1])
            found.append({"kind": kind, "weight": weight, "inside": inside, "log_ratios": ratios, "errors": errors})
    header = ["corpus", "weight", "covered", "median / true", "sd of log", "median error", "infinite"]
    table("weights that are learnt, and intervals of 95 %", header, rows)
    return found


# --- the first value of a weight ------------------------------------------------------------------------------------


def first(options):
    """First values of the weights: known and new topics that are found, with the right number and one too many."""
    rows, found, before = [], [], reader._FIRST_SHARE
    moved = {"dirichlet": [0.0, 0.0, 0.1, 0.3], "zipf": [0.0] * 6 + [0.1] * 3 + [0.3] * 3}
    for kind in options.kinds:
        n = len(moved[kind])
        for share in (0.001, 0.01, 0.03, 0.1, 0.3):
            reader._FIRST_SHARE, results = share, []
            for seed in range(options.corpora):
                n_new = seed % 3
                known, true, X = make(kind, 1000 + seed, n_new, moved[kind], n_wrong=0)
                for n_more in (0, 1):
                    K = n + n_new + n_more
                    lda, _ = fitted(GibbsLDA(K, known_topics=known, max_iter=400, random_state=seed), X)
                    apart = distances(lda.topic_word_, true)
                    lost = int((np.diag(apart[:n, :n]) >= FOUND).sum())
                    missed = int((apart[n:, n:].min(axis=0, initial=1) >= FOUND).sum())
                    results.append((n_more, lost, missed, n_new))
            reader._FIRST_SHARE = before
            results = np.array(results)
            sums = [results[results[:, 0] == n_more].sum(axis=0) for n_more in (0, 1)]
            of = n * options.corpora
            rows.append([kind, f"{share:g}", *(f"{each[1]} of {of}, {each[2]} of {each[3]}" for each in sums)])
            say(*rows[-1])
            found.append({"kind": kind, "share": share, "results": results.tolist()})
    header = ["corpus", "first share", "known and new topics lost", "with one more"]
    table("first values of the weights", header, rows)
    return found


# --- the evidence of new topics -------------------------------------------------------------------------------------


def evidence(options):
    """How often a new topic is asked for where there is none, and where there is one."""
    rows, found = [], []
    for kind in options.kinds:
        for held in options.held:
            weight, moved = (np.inf, [0.0] * 4) if held == "fixed" else ("learn", [0.0, 0.0, 0.1, 0.3])
            for n_new in options.new:
                gains = []
                begin = time.process_time()
                for seed in range(options.corpora):
                    known, _, X = make(kind, 5000 + seed, n_new, moved, n_wrong=0)
                    lda = GibbsLDA(known_topics=known, known_weight=weight, max_iter=400)
                    result = compare_new_topics(lda, X, n_new=range(n_new + 2), n_temperatures=options.temperatures,
                                                n_chains=options.chains, random_state=seed)  # fmt: skip
                    gains.append([result["gain"][1:].tolist(), result["gain_std"][1:].tolist()])
                taken = (time.process_time() - begin) / options.corpora
                gains = np.array(gains)
                # The last one is one too many.
                gain, error = gains[:, 0, -1], gains[:, 1, -1]
                true = gains[:, 0, 0] > 3 * gains[:, 1, 0]
                rows.append([kind, str(weight), str(n_new), f"{true.sum()} of {len(gains)}" if n_new else "-",
                             f"{gains[:, 0, 0].min():,.0f}" if n_new else "-",
                             f"{(gain > 3 * error).sum()} of {len(gains)}",
                             f"{np.median(gain):,.1f} ± {np.median(error):.1f}", f"{gain.max():,.1f}",
                             f"{taken:.1f}"])  # fmt: skip
                say(*rows[-1])
                found.append({"kind": kind, "weight": str(weight), "n_new": n_new, "gains": gains.tolist()})
    header = [
        "corpus",
        "weight",
        "new",
        "found",
        "smallest gain",
        "one too many",
        "its median gain",
        "largest",
        "CPU s",
    ]
    table("evidence: new topics whose gain is above three errors", header, rows)
    return found


# --- cost -----------------------------------------------------------------------------------------------------------


def cost(options):
    """CPU seconds of a sweep without known topics, and with half of the topics known, and of fits of both kinds."""
    rows, found = [], []
    for K, V, D in ((20, 5000, 3000), (100, 20_000, 5000), (300, 20_000, 5000)):
        rng = np.random.default_rng(0)
        phi = rng.dirichlet(np.full(V, 0.05), K)
        X = np.array([rng.multinomial(100, rng.dirichlet(np.full(K, 0.1)) @ phi) for _ in range(D)])
        corpus = Corpus.from_counts(X)
        plain = Priors.make(0.1, 0.02, K, V)
        entry = {"K": K}
        for sampler in ("collapsed", "partially_collapsed", "grouped"):
            kind = chain_class(sampler, corpus, plain)
            state = kind.initialise_randomly(corpus, plain, random.seed_sequence(0))
            for _ in range(30):
                state.sweep()
            chains = {"none": kind(corpus, plain, state.state())}
            for name, weight in (("learnt", 1000.0), ("fixed", np.inf)):
                known = KnownTopics(phi[: K // 2], np.full(K // 2, weight), np.zeros(K // 2, bool))
                priors = known.with_priors(plain, 0.02, None, known.weights)
                chains[name] = kind(corpus, priors, state.state())
                # The state must be one of this prior.
                for _ in range(30):
                    chains[name].sweep()
            seconds = {name: [] for name in chains}
            for _ in range(options.repeats):
                for name, chain in chains.items():
                    begin = time.process_time()
                    chain.sweep()
                    seconds[name].append(time.process_time() - begin)
            best = {name: float(np.min(each)) for name, each in seconds.items()}
            entry[sampler] = best
            rows.append([f"{K} {sampler} ({kind.sampler})", f"{best['none'] * 1000:.1f}",
                         *(f"{best[name] / best['none']:.2f}" for name in ("learnt", "fixed"))])  # fmt: skip
            say(*rows[-1])
        fits = {}
        for name, given in (("none", {}), ("learnt", {"known_topics": phi[: K // 2]}),
                            ("fixed", {"known_topics": phi[: K // 2], "known_weight": np.inf})):  # fmt: skip
            fits[name] = fitted(GibbsLDA(K, max_iter=200, random_state=0, **given), X)[1]
        entry["fits"] = fits
        rows.append([f"{K} fit of 200 sweeps", f"{fits['none'] * 1000:.0f}",
                     *(f"{fits[name] / fits['none']:.2f}" for name in ("learnt", "fixed"))])  # fmt: skip
        say(*rows[-1])
        found.append(entry)
    table("CPU milliseconds without known topics, and times this with half of them known", ["topics, sampler", "none",
          "weights", "fixed"], rows)  # fmt: skip
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--corpora", type=int, default=25)
    parser.add_argument("--held", nargs="+", choices=["fixed", "learnt"], default=["fixed", "learnt"])
    parser.add_argument("--new", nargs="+", type=int, default=[0, 1], help="true new topics, for the evidence")
    parser.add_argument("--temperatures", type=int, default=100)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    found = {}
    with threadpool_limits(1):
        for part in options.parts:
            found[part] = globals()[part](options)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
