"""TopicCountLDA: corpora with a known number of topics, comparison of errors with long runs, and a real corpus.

    python benchmarks/bench_topic_count.py --part small
    python benchmarks/bench_topic_count.py --part paper --features 3000
    python benchmarks/bench_topic_count.py --part diffuse
    python benchmarks/bench_topic_count.py --part whales --data whales.ldac.gz

Log evidence is in nats; "bias" is `log_evidence_downward_bias_`. Long runs have other pruned chains and other random
numbers than the fits that they are compared with.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from peers import describe, read_ldac, stopwatch
from report import say, table
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklda import GibbsLDA, TopicCountLDA, metrics
from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.evidence.combining import combine_chains
from sklda._inference.evidence.estimates import Target, estimate
from sklda._inference.topic_count.evidence_by_count import CountEvidence, EvidenceTable, normalised
from sklda._inference.topic_count.prior_rules import PriorRule
from sklda._inference.topic_count.pruning import prune
from sklda.datasets import make_lda_corpus


def fitted(name, X, *arguments, **options):
    """A fitted TopicCountLDA; its warnings are printed."""
    with warnings.catch_warnings(record=True) as said, stopwatch() as taken:
        warnings.simplefilter("always")
        lda = TopicCountLDA(*arguments, **options).fit(X)
    low, high = lda.topic_count_interval_
    say(f"\n{name}: mode {lda.n_components_}, interval {low} to {high}; {lda.n_sweeps_:,} sweeps, {seconds(taken)}")
    for each in said:
        if not issubclass(each.category, ConvergenceWarning | UserWarning):
            raise each.message
        say(f"  Warning: {each.message}")
    return lda, taken


def seconds(taken):
    return f"{taken['wall']:.0f} s, {taken['cpu']:.0f} CPU s"


def log_evidence(corpus, rule, counts, options, n_temperatures, seed, evidence_method="guided_ais"):
    """For each number of topics: log evidence, standard error, downward bias, and priors."""
    root = random.seed_sequence(seed)
    seeds = [random.child(root, 0, c) for c in range(options.chains)]
    priors, states = prune(corpus, rule, counts, seeds, options.jobs)
    targets = [Target(priors[T], states[T], random.child(root, 1, T)) for T in counts]
    found = estimate(
        corpus,
        targets,
        method=evidence_method,
        temperatures=[n_temperatures] * options.runs,
        n_inner=n_temperatures,
        n_jobs=options.jobs,
    )
    return {T: (*combine_chains(each.log_weights), priors[T]) for T, each in zip(counts, found, strict=True)}


def by_count(lda, T):
    i = int(np.flatnonzero(lda.topic_counts_ == T)[0])
    return lda.log_evidence_[i], lda.log_evidence_std_[i]


def apart(lda):
    """Difference of the log evidence from the best, in independent errors, for T with runs of full length."""
    trace, known = lda.evidence_trace_, {}
    n_sweeps = trace["n_sweeps"].max()
    for T in np.unique(trace["n_components"][trace["n_sweeps"] == n_sweeps]).tolist():
        runs = trace[(trace["n_components"] == T) & (trace["n_sweeps"] == n_sweeps)]
        log_weights = runs["log_evidence"].reshape(len(np.unique(runs["chain"])), -1)
        known[T] = CountEvidence(None, [], n_sweeps, log_weights)
    found = EvidenceTable.of(known)
    best = np.argmax(found.corrected)
    errors = np.hypot(found.own_std, found.own_std[best])
    below = (found.corrected[best] - found.corrected) / errors
    return {T: value for T, value in zip(known, below, strict=True) if value > 0}


def nats(value):
    return f"{value:,.1f}"


# --- T = 6, and T = 20 of the paper -----------------------------------------------------------------------------------


def small(options):
    """Six topics, 60,000 tokens: the mode, and the log evidence compared with runs ten times as long."""
    given = {"doc_topic_prior": 0.1, "topic_word_prior": 0.5}
    X = make_lda_corpus(300, 100, 6, doc_length=(100, 300), **given, random_state=options.seed).data
    say(describe(X))
    lda, taken = fitted("scan", X, 2, 12, **given, n_jobs=options.jobs, random_state=options.seed)
    corpus, counts = Corpus.from_counts(X), [5, 6, 7, 8]
    with stopwatch() as long_taken:
        long = log_evidence(corpus, PriorRule(**given, n_features=100), counts, options, 3000, options.seed + 1000)
    rows = []
    for T in counts:
        own, reference = by_count(lda, T), long[T][:3]
        apart = own[0] + own[2] - reference[0] - reference[2]
        rows.append([str(T), *map(nats, (*own, *reference, apart))])
    header = ["T", "scan", "error", "bias", "long runs", "error", "bias", "difference"]
    table(f"log evidence; long runs took {seconds(long_taken)}", header, rows)
    posteriors("posterior of the scan", {"scan": lda})
    return {"seconds": taken, "mode": lda.n_components_, "rows": rows}


def paper(options):
    """Section 5 of the paper: twenty topics, 600,000 tokens, from 2 to 100."""
    given = {"doc_topic_prior": 0.1, "topic_word_prior": 0.5}
    X = make_lda_corpus(2000, options.features, 20, doc_length=300, **given, random_state=options.seed).data
    say(describe(X))
    lda, taken = fitted("scan", X, 2, 100, **given, n_jobs=options.jobs, random_state=options.seed, verbose=1)
    value = lda.log_evidence_
    best, rows, errors = np.nanmax(value), [], apart(lda)
    for T in (5, 10, 15, 16, 18, 19, 20, 21, 22, 24, 30, 51, 100):
        i = T - 2
        if np.isnan(value[i]):
            continue
        below = f"{errors[T]:.1f}" if T in errors else ""
        rows.append([str(T), *map(nats, by_count(lda, T)), nats(best - value[i]), below])
    header = ["T", "scan", "error", "bias", "difference", "in independent errors"]
    table("log evidence", header, rows)
    return {"seconds": taken, "mode": lda.n_components_, "rows": rows}


# --- a diffuse posterior ----------------------------------------------------------------------------------------------


def diffuse(options):
    """Twenty documents of 25 tokens: the posterior is broad, and the estimator of the paper favours few topics."""
    given = {"doc_topic_prior": 0.2, "topic_word_prior": 0.2}
    X = make_lda_corpus(20, 15, 6, doc_length=25, **given, random_state=options.seed).data
    say(describe(X))
    common = given | {"n_jobs": options.jobs, "random_state": options.seed, "max_sweeps": options.max_sweeps}
    found = {
        "scan": fitted("scan", X, 2, 12, **common)[0],
        "paper, scan": fitted("paper's estimator, scan", X, 2, 12, evidence="cgs_transition", **common)[0],
        "paper, pmmh": fitted(
            "paper's estimator, pmmh", X, 2, 12, evidence="cgs_transition", method="pmmh", n_runs=1, **common
        )[0],
    }
    with stopwatch() as taken:
        rule, counts = PriorRule(**given, n_features=15), list(range(2, 13))
        long = log_evidence(Corpus.from_counts(X), rule, counts, options, 60_000, options.seed + 1000, "ais")
    values, errors, *_ = np.array([long[T][:3] for T in counts]).T
    truth = normalised(values)
    posteriors("p(T | w)", found, {"long runs": truth})
    if options.repeats > 1:
        fits = [found["scan"]]
        for seed in range(1, options.repeats):
            fits.append(fitted(f"scan, seed {seed}", X, 2, 12, **common | {"random_state": options.seed + seed})[0])
        calibration(counts, truth, errors, fits)
    rows = []
    for T, value, error in zip(counts, values, errors, strict=True):
        away = [nats(by_count(lda, T)[0] - value) for lda in found.values()]
        rows.append([str(T), nats(value), f"{error:.2f}", *away])
    title = f"log evidence by long runs ({seconds(taken)}), and the differences of the fits from it"
    table(title, ["T", "long", "error", *found], rows)
    return {"posterior": {name: lda.topic_count_posterior_.tolist() for name, lda in found.items()}, "rows": rows}


def calibration(counts, truth, errors, fits):
    """How often p(T | w) of several fits is within two errors of the long runs; the errors of both are added."""
    own = np.random.default_rng(0).standard_normal((4000, len(counts))) * errors
    own = normalised(np.log(truth) + own).std(axis=0)
    found = np.array([lda.topic_count_posterior_ for lda in fits])
    stated = np.array([lda.topic_count_posterior_std_ for lda in fits])
    inside = np.abs(found - truth) < 2 * np.hypot(stated, own)
    likely = truth > 0.01
    columns = truth, own, found.mean(axis=0), stated.mean(axis=0), inside.mean(axis=0)
    rows = [[str(T), *(f"{column[i]:.3f}" for column in columns)] for i, T in enumerate(counts) if likely[i]]
    header = ["T", "long runs", "error", "mean of scans", "mean error", "within two errors"]
    table(f"{len(fits)} scans; for all T {inside[:, likely].mean():.3f} within two errors", header, rows)


def posteriors(title, found, others=()):
    first = next(iter(found.values()))
    header = ["T"]
    for name in found:
        header += [name, "error"]
    rows = []
    for i, T in enumerate(first.topic_counts_):
        row = [str(T)]
        for lda in found.values():
            row += [f"{lda.topic_count_posterior_[i]:.3f}", f"{lda.topic_count_posterior_std_[i]:.3f}"]
        rows.append(row + [f"{values[i]:.3f}" for values in dict(others).values()])
    table(title, [*header, *dict(others)], rows)


# --- a real corpus ----------------------------------------------------------------------------------------------------


def whales(options):
    """A real corpus with the priors of the paper, and with priors learnt for each number of topics."""
    X = read_ldac(options.data)
    say(describe(X))
    corpus, found = Corpus.from_counts(X), {}
    rules = {
        f"alpha = {options.alpha}, eta = {options.eta}": PriorRule(options.alpha, options.eta, X.shape[1]),
        "learnt priors": PriorRule.learning(None, None, X.shape[1]),
    }
    for name, rule in rules.items():
        rows = []
        with stopwatch() as taken:
            learning = [random.seed_sequence(options.seed + c) for c in range(options.chains)]
            priors, _ = prune(corpus, rule, options.counts, learning, options.jobs)
            for T in options.counts:
                alpha, eta = float(priors[T].doc[0, 0]), float(priors[T].word[0])
                given = {"doc_topic_prior": alpha, "topic_word_prior": eta, "n_jobs": options.jobs}
                (a, a_std), (b, b_std) = (
                    metrics.log_evidence(X, T, **given, random_state=options.seed + seed) for seed in range(2)
                )
                apart = f"{(a - b) / np.hypot(a_std, b_std):+.1f}"
                rows.append([str(T), *map(nats, (a, a_std, b, b_std)), apart, f"{alpha:.3f}, {eta:.3f}"])
                say("  ".join(rows[-1]))
        header = ["T", "seed 0", "error", "seed 1", "error", "diff., in errors", "alpha, eta"]
        table(f"log evidence, {name}; {seconds(taken)}", header, rows)
        found[name] = rows
    found["held out"] = scores(X, options)
    return found


def scores(X, options):
    """Held-out likelihood and leave-one-out score of a fifth of the documents, for fits with pruned initialisation."""
    order = np.random.default_rng(options.seed).permutation(X.shape[0])
    test, train = np.split(order, [X.shape[0] // 5])
    rows = []
    for T in options.counts:
        given = {"doc_topic_prior": options.alpha, "topic_word_prior": options.eta, "random_state": options.seed}
        lda = GibbsLDA(T, **given, init="prune", max_iter=200)
        held_out = lda.fit(X[train]).score_samples(X[test]).sum()
        left_out = metrics.leave_one_out_score(X, lda.fit(X), documents=test, n_draws=50, random_state=options.seed)
        rows.append([str(T), nats(held_out), nats(left_out.score), nats(left_out.std)])
        say("  ".join(rows[-1]))
    title = f"{len(test)} documents: sum of held-out log-likelihoods, and leave-one-out score"
    table(title, ["T", "held out", "leave one out", "error"], rows)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("small", "paper", "diffuse", "whales"), default="small")
    parser.add_argument("--data", type=Path, help="corpus of --part whales, with one document per line")
    parser.add_argument("--features", type=int, default=100, help="number of words for --part paper")
    parser.add_argument("--alpha", type=float, default=0.11, help="alpha for --part whales")
    parser.add_argument("--eta", type=float, default=0.41, help="eta for --part whales")
    parser.add_argument("--counts", nargs="+", type=int, default=[5, 7, 28, 50], help="T for --part whales")
    parser.add_argument("--runs", type=int, default=2, help="long runs from each pruned chain")
    parser.add_argument("--chains", type=int, default=2, help="pruned chains for the long runs")
    parser.add_argument("--max-sweeps", type=int, help="max_sweeps for --part diffuse")
    parser.add_argument("--repeats", type=int, default=1, help="scans for --part diffuse, with one seed each")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.part == "whales" and options.data is None:
        parser.error("--part whales needs --data")
    with threadpool_limits(1):
        found = globals()[options.part](options)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
