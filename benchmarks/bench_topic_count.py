"""TopicCountLDA: corpora with a known number of topics, a diffuse posterior, real corpora, and its constants.

    python benchmarks/bench_topic_count.py --part small
    python benchmarks/bench_topic_count.py --part diffuse --seeds 10
    python benchmarks/bench_topic_count.py --part real --seeds 2 --data whales.ldac.gz rec.ldac.gz
    python benchmarks/bench_topic_count.py --part held_out --data whales.ldac.gz
    python benchmarks/bench_topic_count.py --part constants
    python benchmarks/bench_topic_count.py --part rule

Log evidence is in nats, times are CPU seconds. Long runs have other chains than the fits that they are compared with.
"""

import argparse
import json
import warnings
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
from peers import describe, read_ldac, stopwatch
from report import say, scaled, table
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklda import GibbsLDA, TopicCountLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import NEVER_STOP
from sklda._likelihood.evidence import combining
from sklda._likelihood.evidence.bennett import Runs
from sklda._likelihood.evidence.combining import CountEvidence, EvidenceTable
from sklda._likelihood.evidence.estimates import EvidenceSettings
from sklda._models.topic_count import count_prior, curve, runs, scan
from sklda._models.topic_count.count_prior import CountPrior
from sklda._models.topic_count.runs import PriorRule, run_chain
from sklda._sampling.chain import ChainState
from sklda.datasets import load_docstrings, make_lda_corpus
from sklda.papers.held_out import leave_one_out_score
from sklda.papers.topic_count import log_evidence, pmmh

MODULES = combining, count_prior, curve, runs, scan
CONSTANTS = [
    (scan, "_FIRST_SHARE"),
    (scan, "_LARGEST_ERROR"),
    (scan, "_NARROWER"),
    (scan, "_FIRST"),
    (scan, "_STEP"),
    (scan, "_NOTHING"),
    (scan, "_MOST_ROUNDS"),
    (scan, "_DRAWS"),
    (runs, "_START_SHARE"),
    (combining, "LITTLE"),
    (combining, "_MIDDLE_ERROR"),
    (combining, "_FREEDOM_OF_NEIGHBOURS"),
    (combining, "MUCH_WORSE"),
    (runs, "_MOST_SWEEPS"),
    (runs, "_AT_TOKENS"),
    (runs, "_LEAST_SWEEPS"),
    (count_prior, "LARGEST"),
]


def fitted(name, X, *arguments, **options):
    """A fitted estimator; its warnings are printed."""
    with warnings.catch_warnings(record=True) as said, stopwatch() as taken:
        warnings.simplefilter("always")
        lda = TopicCountLDA(*arguments, **options).fit(X)
    low, high = lda.topic_count_interval_
    seconds = f"{taken['cpu']:.1f} CPU s"
    say(f"{name}: mode {lda.n_components_}, interval {low} to {high}; {lda.n_iter_:,} sweeps, {seconds}")
    for each in said:
        if not issubclass(each.category, ConvergenceWarning | UserWarning):
            raise each.message
        say(f"  Warning: {each.message}")
    return lda, taken


def long_runs(X, given, counts, n_sweeps, options, *, method="guided_ais"):
    """`EvidenceTable` by long runs of new chains."""
    corpus, rule = Corpus.from_counts(X), PriorRule(**given, n_features=X.shape[1])
    settings, by_count = EvidenceSettings(method, n_sweeps, 1), {}
    for T in counts:
        by_count[T] = CountEvidence()
        for c in range(options.chains):
            seed = random.child(random.seed_sequence(options.seed + 1000), T, c)
            by_count[T].add(run_chain(corpus, rule, rule.at(T), settings, n_sweeps, c, seed, NEVER_STOP), n_sweeps)
    return EvidenceTable.of(by_count)


def nats(value):
    return f"{value:,.1f}"


# --- T = 6 ------------------------------------------------------------------------------------------------------------


def small(options):
    """Six topics, 60,000 tokens: the mode, and the log evidence compared with long runs."""
    given = {"doc_topic_prior": 0.1, "topic_word_prior": 0.5}
    X = make_lda_corpus(300, 100, 6, doc_length=(100, 300), **given, random_state=options.seed).data
    say(describe(X))
    lda, taken = fitted("scan", X, **given, n_jobs=options.jobs, random_state=options.seed)
    has_runs = np.flatnonzero(np.isfinite(lda.log_evidence_))
    near = [i for i in has_runs if abs(lda.topic_counts_[i] - 6) < 3]
    long = long_runs(X, given, lda.topic_counts_[near].tolist(), 1500, options)
    rows = []
    for j, i in enumerate(near):
        own, reference = (lda.log_evidence_[i], lda.log_evidence_std_[i]), (long.value[j], long.std[j])
        rows.append([str(lda.topic_counts_[i]), *map(nats, (*own, *reference, own[0] - reference[0]))])
    table("log evidence", ["T", "scan", "error", "long runs", "error", "difference"], rows)
    return {"seconds": taken, "mode": lda.n_components_, "rows": rows}


# --- a diffuse posterior ----------------------------------------------------------------------------------------------


def diffuse(options):
    """Twenty documents of 25 tokens: the posterior is broad, and the estimator of the paper favours few topics."""
    given, counts = {"doc_topic_prior": 0.2, "topic_word_prior": 0.2}, list(range(2, 13))
    X = make_lda_corpus(20, 15, 6, doc_length=25, **given, random_state=0).data
    say(describe(X))
    common = given | {"n_jobs": options.jobs}
    seeds = range(options.seed, options.seed + options.seeds)
    fits = [fitted(f"scan, seed {seed}", X, 2, 12, random_state=seed, **common)[0] for seed in seeds]
    paper = pmmh(X, 2, 12, n_runs=1, random_state=0, **common)
    long = long_runs(X, given, counts, 20_000, options, method="ais")
    truth = softmax(long.value)
    own = softmax(long.value + long.std * np.random.default_rng(0).standard_normal((4000, len(counts))), axis=1).std(
        axis=0
    )
    posterior, stated = (
        np.array([getattr(lda, name) for lda in fits])
        for name in ("topic_count_posterior_", "topic_count_posterior_std_")
    )
    inside, likely = np.abs(posterior - truth) < 2 * np.hypot(stated, own), truth > 0.01
    columns = [truth, own, posterior.mean(axis=0), stated.mean(axis=0), inside.mean(axis=0)]
    columns.append(paper.posterior)
    rows = [[str(T), *(f"{column[i]:.3f}" for column in columns)] for i, T in enumerate(counts)]
    header = ["T", "long runs", "error", "mean of scans", "mean error", "within two errors", "PMMH"]
    table(f"{len(fits)} scans; for likely T {inside[:, likely].mean():.3f} within two errors", header, rows)
    return rows


# --- real corpora -----------------------------------------------------------------------------------------------------


def real(options):
    """Several seeds of each corpus with default parameters: modes, intervals and costs."""
    rows = []
    for name, X in corpora(options.data):
        say(f"\n{name}: {describe(X)}")
        for seed in range(options.seed, options.seed + options.seeds):
            lda, taken = fitted(f"seed {seed}", X, n_jobs=options.jobs, random_state=seed)
            interval = "{} to {}".format(*lda.topic_count_interval_)
            rows.append([name, str(seed), str(lda.n_components_), interval, f"{taken['cpu']:.0f}"])
    table("default parameters", ["corpus", "seed", "mode", "interval", "CPU s"], rows)
    return rows


def corpora(paths):
    yield "docstrings", load_docstrings().data
    for path in paths:
        yield path.parent.name, read_ldac(path)


def held_out(options):
    """Held-out likelihood and leave-one-out score of a fifth of the documents, with given priors."""
    X = read_ldac(options.data[0])
    test, train = np.split(np.random.default_rng(options.seed).permutation(X.shape[0]), [X.shape[0] // 5])
    rows = []
    for T in options.counts:
        given = {"doc_topic_prior": options.alpha, "topic_word_prior": options.eta, "random_state": options.seed}
        evidence, std = log_evidence(X, T, **given, n_jobs=options.jobs)
        lda = GibbsLDA(T, **given, init="prune", max_iter=200)
        score = lda.fit(X[train]).score_samples(X[test]).sum()
        left_out = leave_one_out_score(lda.fit(X), X, documents=test, n_draws=50, random_state=options.seed)
        rows.append([str(T), *map(nats, (evidence, std, score, left_out.score, left_out.std))])
    title = f"{len(test)} documents: sum of held-out log-likelihoods, and leave-one-out score"
    table(title, ["T", "log evidence", "error", "held out", "leave one out", "error"], rows)
    return rows


# --- constants --------------------------------------------------------------------------------------------------------


def constants(options):
    """The answer and its cost with half and twice each constant, on two small corpora."""
    given, broad = ({"doc_topic_prior": p, "topic_word_prior": p} for p in (0.1, 0.2))
    cases = {
        "four topics": (make_lda_corpus(120, 40, 4, doc_length=60, **given, random_state=0).data, given),
        "diffuse": (make_lda_corpus(20, 15, 6, doc_length=25, **broad, random_state=0).data, broad),
    }
    rows = []
    for module, name in [(None, "as they are"), *CONSTANTS]:
        for factor in (0.5, 2) if module else (1,):
            row = [name.strip("_").lower(), f"{factor:g}"]
            for X, priors in cases.values():
                changed = scaled(MODULES, module, name, factor) if module else nullcontext()
                with changed, warnings.catch_warnings(), stopwatch() as taken:
                    warnings.simplefilter("ignore")
                    fits = [TopicCountLDA(**priors, random_state=seed).fit(X) for seed in range(options.seeds)]
                low, high = np.mean([lda.topic_count_interval_ for lda in fits], axis=0)
                mode = np.mean([lda.n_components_ for lda in fits])
                row += [f"{mode:.3g} ({low:.3g} to {high:.3g})", f"{taken['cpu'] / len(fits):.1f}"]
            rows.append(row)
            say("  ".join(row))
    header = ["constant", "factor", *(text for name in cases for text in (f"{name}: mode (interval)", "CPU s"))]
    table(f"means over {options.seeds} seeds", header, rows)
    return rows


# The constants of the rule that says where runs are made.
RULE = [(module, name) for module, name in CONSTANTS if module is scan or name == "MUCH_WORSE"]


def rule(options):
    """The rule with half and twice each constant, where the log evidence is known: no chain is swept.

    It is steep before the true number of topics and flat after it. Chains find it with normal errors of 5 and 200 nats,
    and one chain of ten is 2,000 nats lower.
    """
    corpus = Corpus.from_counts(np.ones((100, 100), dtype=int))
    rows = []
    for module, name in [(None, "as they are"), *RULE]:
        for factor in (0.5, 2) if module else (1,):
            row = [name.strip("_").lower(), f"{factor:g}"]
            for noise in (5.0, 200.0):
                with scaled(MODULES, module, name, factor) if module else nullcontext():
                    found = [_known_scan(corpus, true, noise) for true in range(3, 121, 3)]
                inside, width, n_counts, n_sweeps = np.mean(found, axis=0)
                row += [f"{inside:.2f}", f"{width:.1f}", f"{n_counts:.1f}", f"{n_sweeps / 1000:.1f}"]
            rows.append(row)
            say("  ".join(row))
    columns = "inside", "width", "T with runs", "1,000 sweeps"
    header = ["constant", "factor", *(f"{column}, {noise}" for noise in (5, 200) for column in columns)]
    table("a known log evidence with a kink at 3 to 120", header, rows)
    return rows


def _known_scan(corpus, true, noise):
    def run_chain(corpus, rule, priors, settings, n_sweeps, kind, seed, stop):
        rng, T = np.random.default_rng(seed), priors.n_components
        mean = 9000 * np.log((T + 1) / (true + 1)) if T < true else -700 * np.log(T / true)
        value, half = mean - 2000 * (rng.random() < 0.1) + noise * rng.standard_normal(), noise / 2
        return Runs(np.array([value - half]), np.array([value + half]), ChainState(np.zeros(0, np.int32), None), priors)

    given = {"n_chains": 2, "max_sweeps": None, "seed": random.seed_sequence(true)}
    settings, rule = EvidenceSettings("guided_ais", 300, 1), PriorRule("1/T", "1/T", corpus.n_features)
    with patch.object(scan, "run_chain", run_chain):
        own = scan.Scan(corpus, rule, CountPrior(None, 2, None), settings, **given)
        low, high = own.estimate().interval
    return low <= true <= high, high - low, len(own.by_count), own.budget.n_sweeps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ("small", "diffuse", "real", "held_out", "constants", "rule")
    parser.add_argument("--part", choices=parts, default="small")
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="corpora with one document per line")
    parser.add_argument("--alpha", type=float, default=0.11, help="alpha for --part held_out")
    parser.add_argument("--eta", type=float, default=0.41, help="eta for --part held_out")
    parser.add_argument("--counts", nargs="+", type=int, default=[5, 7, 28, 50], help="T for --part held_out")
    parser.add_argument("--chains", type=int, default=4, help="chains of the long runs at each T")
    parser.add_argument("--seeds", type=int, default=1, help="fits of each corpus")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.part == "held_out" and not options.data:
        parser.error("--part held_out needs --data")
    with threadpool_limits(1):
        found = globals()[options.part](options)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
