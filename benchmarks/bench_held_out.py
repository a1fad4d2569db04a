"""Held-out likelihood: error and cost of every method, and tokens per second.

    python benchmarks/bench_held_out.py                      all parts, with the bundled corpus
    python benchmarks/bench_held_out.py --ldac corpus.ldac.gz --json figures.json
    python benchmarks/bench_held_out.py --parts rate --topics 20

Models are fits of GibbsLDA with alpha = 0.1 and eta = 0.01. A fifth of the documents is held out. Costs are CPU seconds
of the process, on one thread. Errors are standard deviations over independent repeats with the same model.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from peers import ALPHA, describe, gibbs, read_ldac, split, stopwatch
from report import say, table
from threadpoolctl import threadpool_limits

from sklda._likelihood.held_out.averages import log_mean_exp
from sklda.datasets import load_docstrings
from sklda.metrics import held_out_log_likelihood
from sklda.papers import held_out

PARTS = ("errors", "rate")
MALLET_RATE = 7e6  # token-updates per second of its left-to-right, from its documentation

# Options of each method for a budget of b updates per token, for documents of n tokens.
METHODS = {
    "guided_ais": lambda b, n: {"method": "guided_ais", "n_temperatures": b},
    "ais, linear": lambda b, n: {"method": "ais", "n_temperatures": b},
    "ais, quadratic": lambda b, n: {"method": "ais", "n_temperatures": b, "schedule": "quadratic"},
    "left_to_right": lambda b, n: {"method": "left_to_right", "n_runs": max(1, round(2 * b / (n + 1)))},
    "particle_filter": lambda b, n: {"method": "particle_filter", "n_particles": b},
    "chib": lambda b, n: {"method": "chib", "n_states": b},
}


def log_likelihood(model, X, method, **options):
    """The log-likelihood of every document by a method of `METHODS`."""
    if method == "guided_ais":
        return held_out_log_likelihood(model, X, **options)
    return getattr(held_out, method)(model, X, **options)[0]


def updates(options, n):
    """Number of draws of token topics for a document of n tokens; None if it depends on resampling."""
    if options["method"] == "left_to_right":
        return options["n_runs"] * n * (n + 1) // 2
    if options["method"] == "particle_filter":
        return None
    # The guided path draws its first state in addition; chib has a burn-in of 20 sweeps.
    if options["method"] == "chib":
        return n * (options["n_states"] + 20)
    return n * (options["n_temperatures"] + (options["method"] == "guided_ais"))


# --- documents --------------------------------------------------------------------------------------------------------


def tokens_of(X, rows):
    return np.concatenate([np.repeat(X[[i]].indices, X[[i]].data) for i in rows])


def documents_of(length, X, groups, n_documents, rng):
    """Documents of about `length` tokens: unchanged, samples of longer ones, or samples of joined ones of a group."""
    lengths = np.asarray(X.sum(axis=1)).ravel()
    near = np.flatnonzero(np.abs(lengths - length) <= 0.1 * length)
    if len(near) >= n_documents:
        return X[rng.choice(near, n_documents, replace=False)]
    long = np.flatnonzero(lengths >= length)
    if len(long) >= n_documents:
        parts = [tokens_of(X, [i]) for i in rng.choice(long, n_documents, replace=False)]
    else:
        parts = []
        for g in rng.permutation(np.unique(groups)):
            rows = rng.permutation(np.flatnonzero(groups == g))
            whole = np.split(rows, np.flatnonzero(np.diff(np.cumsum(lengths[rows]) // length)) + 1)
            parts += [tokens_of(X, part) for part in whole if lengths[part].sum() >= length]
    counts = [np.bincount(rng.choice(p, length, replace=False), minlength=X.shape[1]) for p in parts[:n_documents]]
    return sp.csr_matrix(np.array(counts))


# --- standard error and cost ------------------------------------------------------------------------------------------


def estimates(X, model, options, repeats, seed):
    """One estimate for each repeat and document, and CPU seconds per repeat and document."""
    runs, seconds = [], []
    for r in range(seed, seed + repeats):
        with stopwatch() as taken:
            runs.append(log_likelihood(model, X, **options, random_state=r))
        seconds.append(taken["cpu"])
    return np.array(runs), float(np.median(seconds)) / X.shape[0]


def errors(X, model, options):
    """For every method and budget: error per document, mean estimate, token-updates and milliseconds."""
    n = round(float(X.sum()) / X.shape[0])
    figures = []
    for name, arguments in METHODS.items():
        for given in {repr(g): g for g in (arguments(b, n) for b in options.budgets)}.values():
            runs, seconds = estimates(X, model, given, options.repeats, options.seed)
            sd = runs.std(axis=0, ddof=1)
            row = {"method": name, "options": given, "updates": updates(given, n), "milliseconds": 1000 * seconds}
            row |= {"error": float(np.sqrt(np.mean(sd**2))), "median_error": float(np.median(sd))}
            figures.append(row | {"mean": float(runs.mean()), "combined": total(runs)})
    long = METHODS["particle_filter"](options.particles, n)
    runs, _ = estimates(X, model, long, options.repeats, options.seed + options.repeats)
    return {"length": n, "documents": X.shape[0], "rows": figures, "long": total(runs)}


def total(runs):
    """Sum over documents of the log of the mean over repeats, and its standard error."""
    value, std = log_mean_exp(runs)
    return float(value.sum()), float(np.sqrt((std**2).sum()))


def at_cost(rows, method, other):
    """Error of a method at the cost of the row `other`, interpolated linearly in logarithms."""
    own = [row for row in rows if row["method"] == method]
    cost, error = (np.log([row[key] for row in own]) for key in ("milliseconds", "error"))
    return float(np.exp(np.interp(np.log(other["milliseconds"]), cost, error)))


def show_errors(title, figures):
    columns = {
        "method": lambda row: row["method"],
        "R, P or runs": lambda row: next(str(v) for key, v in row["options"].items() if key.startswith("n_")),
        "updates": lambda row: "more than P n" if row["updates"] is None else f"{row['updates']:,}",
        "CPU ms": lambda row: f"{row['milliseconds']:.2f}",
        "sd, rms": lambda row: f"{row['error']:.3f}",
        "median": lambda row: f"{row['median_error']:.3f}",
        "mean": lambda row: f"{row['mean']:.2f}",
    }
    title += f", {figures['documents']} documents of about {figures['length']} tokens: nats and cost per document"
    table(title, list(columns), [[show(row) for show in columns.values()] for row in figures["rows"]])
    guided = next((r for r in figures["rows"] if r["options"] == METHODS["guided_ais"](100, 0)), None)
    if guided:
        for name in ("ais, linear", "ais, quadratic"):
            share = figures[name] = guided["error"] / at_cost(figures["rows"], name, guided)
            say(f"  guided_ais at R = 100 has {share:.3f} of the error of {name} in the same CPU time")
        (ours, ours_std), (theirs, theirs_std) = guided["combined"], figures["long"]
        apart = (ours - theirs) / np.hypot(ours_std, theirs_std)
        say(f"  total: guided_ais {ours:,.2f} ± {ours_std:.2f}, long particle filter {theirs:,.2f} ± {theirs_std:.2f}")
        say(f"  difference: {apart:+.1f} standard errors")


# --- token-updates per second -----------------------------------------------------------------------------------------


def rates(X, model, options):
    """Token-updates per CPU second, with all other work of an estimate; methods take turns."""
    lengths = np.asarray(X.sum(axis=1)).ravel()
    figures = {name: [] for name in METHODS if name != "particle_filter"}
    for r in range(options.repeats):
        for name, own in figures.items():
            given = METHODS[name](100, lengths.mean())
            with stopwatch() as taken:
                log_likelihood(model, X, **given, random_state=options.seed + r)
            own.append(sum(updates(given, int(n)) for n in lengths) / taken["cpu"])
    return figures


def show_rates(title, figures):
    rows = []
    for name, rate in figures.items():
        million = np.array(rate) / 1e6
        rows.append([name, f"{np.median(million):.1f}", f"{million.min():.1f}–{million.max():.1f}"])
    rows.append(["MALLET's left_to_right, as documented", f"{MALLET_RATE / 1e6:.0f}", ""])
    table(f"{title}: token-updates per CPU second, one thread", ["method", "million", "range"], rows)


# --- command line -----------------------------------------------------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--parts", nargs="+", choices=PARTS, default=PARTS, help="parts to run (default: all)")
    add("--ldac", nargs="+", type=Path, default=[], metavar="PATH", help="more corpora, .ldac or .ldac.gz")
    add("--no-docstrings", action="store_true", help="without the bundled corpus")
    add("--topics", nargs="+", type=int, default=[20, 100], help="K of errors and rate (default: 20 100)")
    add("--lengths", nargs="+", type=int, default=[50, 500], help="tokens per document (default: 50 500)")
    add("--budgets", nargs="+", type=int, default=[10, 30, 100, 300], help="updates per token (default: 10 30 100 300)")
    add("--documents", type=int, default=24, help="documents of each length (default: 24)")
    add("--repeats", type=int, default=8, help="estimates per document and budget (default: 8)")
    add("--particles", type=int, default=1000, help="particles of the long particle filter (default: 1000)")
    add("--fit-iter", type=int, default=300, help="sweeps of each fit (default: 300)")
    add("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    add("--seed", type=int, default=0, help="seed of all random numbers (default: 0)")
    return parser.parse_args()


def main():
    options = parse()
    bundled = load_docstrings()
    corpora = {} if options.no_docstrings else {"docstrings": (bundled.data, bundled.target)}
    for path in options.ldac:
        X = read_ldac(path)
        corpora[f"{path.parent.name}/{path.name}"] = X, np.zeros(X.shape[0], int)
    record = {part: {} for part in options.parts}
    for corpus, (X, groups) in corpora.items():
        say(f"{corpus}: {describe(X)}")
        train, test, test_groups = split(X, groups, options.seed)
        for n_topics in options.topics:
            fitted = gibbs(n_topics, max_iter=options.fit_iter, random_state=options.seed).fit(train)
            model, title = (fitted.topic_word_, ALPHA), f"{corpus}, K = {n_topics}"
            if "errors" in options.parts:
                for length in options.lengths:
                    rng = np.random.default_rng(options.seed)
                    documents = documents_of(length, test, test_groups, options.documents, rng)
                    figures = record["errors"][f"{title}, n = {length}"] = errors(documents, model, options)
                    show_errors(title, figures)
            if "rate" in options.parts:
                figures = record["rate"][title] = rates(test, model, options)
                show_rates(title, figures)
        if options.json:
            options.json.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
