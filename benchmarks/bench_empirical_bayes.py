"""EmpiricalBayesLDA: recovery of known priors, comparison with EM, scores of estimated and ad-hoc priors, cost.

    python benchmarks/bench_empirical_bayes.py                               all parts without files, in minutes
    python benchmarks/bench_empirical_bayes.py --parts recovery --repeats 20
    python benchmarks/bench_empirical_bayes.py --parts em --plot em.png
    python benchmarks/bench_empirical_bayes.py --parts scores --ldac 3:med.ldac.gz 2:autos.ldac.gz
    python benchmarks/bench_empirical_bayes.py --parts cost --ldac 8:synth_K8_D100.ldac

The parts repeat experiments of George & Doss (2018): Section 3 and Figure 7; Section 5.1 and Figure 8; Section 5.2 and
Table 3; Table 1. Corpora are given as K:PATH. Pairs are (alpha, eta). Costs are CPU seconds of the process, on one
thread.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from em_estimates import EMS, gibbs_em, initial_chain, plot_em, variational_estimates
from peers import read_ldac, stopwatch
from report import say, table
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklda import EmpiricalBayesLDA, GibbsLDA
from sklda._inference.corpus import Corpus
from sklda.datasets import load_docstrings, make_lda_corpus
from sklda.metrics import leave_one_out_score

PARTS = ("recovery", "em", "seeds", "scores", "cost")
SECTION_3 = [(0.25, 0.25), (4.0, 0.25), (0.25, 4.0), (4.0, 4.0)]
SECTION_5 = {"doc_topic_prior": 0.2, "topic_word_prior": 0.8}
# The single chain of the paper: sweeps of each tuning run and of the last run, and its grid of 63 points.
PAPER_TUNING, PAPER_SWEEPS = 51_000, 101_000
PAPER_GRID = {"region": ((0.1, 0.3), (0.6, 0.9)), "grid_shape": (9, 7)}


def pair(h, digits=3):
    return f"({h[0]:.{digits}g}, {h[1]:.{digits}g})"


def fit(X, n_components, seed, **parameters):
    """A fitted EmpiricalBayesLDA, CPU seconds, and the beginnings of its warnings."""
    with warnings.catch_warnings(record=True) as caught, stopwatch() as taken:
        warnings.simplefilter("always", ConvergenceWarning)
        model = EmpiricalBayesLDA(n_components, random_state=seed, **parameters).fit(X)
    return model, taken["cpu"], [str(each.message)[:100] for each in caught]


def found(model):
    return float(model.doc_topic_prior_), float(model.topic_word_prior_)


def errors(model, kind):
    """Standard errors of log alpha and log eta."""
    return model.confidence_region(0.95, kind).standard_errors


# --- Section 3: recovery of known priors ------------------------------------------------------------------------------


def recovery(options, truths=SECTION_3):
    """Estimates on repeated corpora with V = 40, D = 400, n_d = 80, K = 8."""
    figures = {}
    for alpha, eta in truths:
        own = figures[f"{alpha}, {eta}"] = []
        for repeat in range(options.repeats):
            X = make_lda_corpus(
                400,
                40,
                8,
                doc_length=80,
                doc_topic_prior=alpha,
                topic_word_prior=eta,
                random_state=options.seed + repeat,
            ).data
            model, seconds, warned = fit(X, 8, options.seed + repeat, method=options.method)
            region = model.confidence_region(0.95, "statistical")
            row = {
                "h": found(model),
                "monte_carlo": errors(model, "monte_carlo").tolist(),
                "statistical": errors(model, "statistical").tolist(),
                "inside": bool(region.contains(alpha, eta)),
                "seconds": seconds,
                "warnings": warned,
            }
            own.append(row)
            say(f"  {alpha}, {eta}: {pair(row['h'])}{'' if row['inside'] else ' outside'} {warned or ''}")
    return figures


def show_recovery(figures):
    rows = []
    for truth, own in figures.items():
        h = np.log([row["h"] for row in own])
        monte_carlo, statistical = (
            np.mean([row[kind] for row in own], axis=0) for kind in ("monte_carlo", "statistical")
        )
        rows.append(
            [
                truth,
                pair(np.exp(h.mean(axis=0))),
                pair(monte_carlo, 2),
                pair(statistical, 2),
                f"{sum(row['inside'] for row in own)}/{len(own)}",
                f"{np.mean([row['seconds'] for row in own]):.1f}",
            ]
        )
    header = "true (alpha, eta)", "estimate", "MC error of log h", "statistical error", "true h in region", "CPU s"
    table("Section 3: V = 40, D = 400, n_d = 80, K = 8", header, rows)


# --- Section 5.1: Gibbs-EM and variational EM -------------------------------------------------------------------------


def em(options):
    """V = 20, n_d = 80, (alpha, eta) = (.2, .8), K = 4 and 8, D = 20, 40 and 100."""
    figures = {}
    for K in (4, 8):
        for D in (20, 40, 100):
            X = make_lda_corpus(D, 20, K, doc_length=80, **SECTION_5, random_state=options.seed).data
            corpus, seconds = Corpus.from_counts(X), {}
            model, seconds["m(h)"], warned = fit(X, K, options.seed, method=options.method)
            chains = [initial_chain(corpus, K, options.seed + 1 + i) for i in range(options.initialisations)]
            with stopwatch() as taken:
                short = gibbs_em(chains, options)
            seconds["gibbs_em"] = taken["cpu"] / len(chains)
            with stopwatch() as taken:
                paper = gibbs_em(chains, options, paper=True)
            seconds["gibbs_em, paper"] = taken["cpu"] / len(chains)
            with stopwatch() as taken:
                variational, _ = variational_estimates(chains)
            seconds["variational_em"] = taken["cpu"] / len(chains)
            regions = {kind: model.confidence_region(0.95, kind) for kind in ("monte_carlo", "statistical")}
            figures[f"K = {K}, D = {D}"] = {
                "h": found(model),
                "warnings": warned,
                "gibbs_em": short,
                "gibbs_em, paper": paper,
                "variational_em": variational,
                "seconds": seconds,
                "covariance": {kind: region.covariance.tolist() for kind, region in regions.items()},
                "boundary": {kind: region.boundary().tolist() for kind, region in regions.items()},
            }
            say(f"  K = {K}, D = {D}: {pair(found(model))} {warned or ''}")
    return figures


def show_em(figures):
    rows = []
    for corpus, own in figures.items():
        row = [corpus, pair(own["h"])]
        precision = np.linalg.pinv(np.array(own["covariance"]["statistical"]))
        for name in EMS:
            away = np.log(np.array(own[name]) / own["h"])
            inside = np.einsum("ni,ij,nj->n", away, precision, away) <= chi2.ppf(0.95, 2)
            row += [pair(np.exp(np.median(np.log(own[name]), axis=0))), f"{inside.sum()}/{len(away)}"]
        rows.append([*row, " / ".join(f"{s:.1f}" for s in own["seconds"].values())])
    header = ("corpus", "maximum of m(h)")
    for name in ("Gibbs-EM", "paper's Gibbs-EM", "variational"):
        header += (name, "in region")
    table(
        "Section 5.1: medians over initial states, and how many lie in the 95% statistical region",
        (*header, "CPU s each"),
        rows,
    )


# --- seeds ------------------------------------------------------------------------------------------------------------


def seeds(X, K, options):
    """Estimates from several seeds with their stated errors."""
    figures = []
    for seed in range(options.seed, options.seed + options.seeds):
        model, seconds, warned = fit(X, K, seed, method=options.method)
        row = {"h": found(model), "seconds": seconds, "warnings": warned}
        figures.append(row | {kind: errors(model, kind).tolist() for kind in ("monte_carlo", "statistical")})
        say(f"  seed {seed}: {pair(row['h'], 4)} in {seconds:.0f} s {warned or ''}")
    return figures


def show_seeds(title, figures):
    """The chi-square compares the spread around the mean, weighted by precision, with the stated errors."""
    rows = []
    h, stated = np.log([row["h"] for row in figures]), np.array([row["monte_carlo"] for row in figures])
    away = (h - (h / stated**2).sum(axis=0) / (1 / stated**2).sum(axis=0)) / stated
    for row, away_of in zip(figures, away, strict=True):
        cells = [pair(row["h"]), pair(row["monte_carlo"], 2), f"{away_of[0]:+.1f}, {away_of[1]:+.1f}"]
        rows.append([*cells, pair(row["statistical"], 2), f"{row['seconds']:.0f}", "; ".join(row["warnings"])])
    header = "estimate", "MC error of log h", "errors from the mean", "statistical error", "CPU s", "warnings"
    freedom = len(figures) - 1
    spread = "; ".join(f"{q:.1f} on {freedom}, p = {chi2.sf(q, freedom):.2f}" for q in (away**2).sum(axis=0))
    table(f"{title}: one row per seed; chi-square {spread}", header, rows)


# --- Section 5.2: scores of estimated and of ad-hoc priors ------------------------------------------------------------


def ad_hoc(K):
    """(alpha, eta) of Gensim, of Asuncion et al. (2009), and of Griffiths & Steyvers (2004)."""
    return {"1/K, 1/K": (1 / K, 1 / K), ".1, .1": (0.1, 0.1), "50/K, .1": (50 / K, 0.1)}


def scores(X, K, options):
    """The leave-one-out scores of estimated priors and of ad-hoc priors."""
    model, seconds, warned = fit(X, K, options.seed, method=options.method)
    corpus = Corpus.from_counts(X)
    chains = [initial_chain(corpus, K, options.seed + 1 + i) for i in range(options.initialisations)]
    variational, bounds = variational_estimates(chains)
    candidates = {
        "gibbs_em": np.exp(np.median(np.log(gibbs_em(chains, options)), axis=0)),
        "variational_em": variational[np.argmax(bounds)],
    } | ad_hoc(K)
    own = {
        "h": found(model),
        "monte_carlo": errors(model, "monte_carlo").tolist(),
        "statistical": errors(model, "statistical").tolist(),
        "seconds": seconds,
        "warnings": warned,
        "scores": {},
    }
    lengths = np.asarray(X.sum(axis=1)).ravel()
    step = max(1, X.shape[0] * int(lengths.sum()) // options.score_tokens)
    common = {"documents": np.arange(0, X.shape[0], step), "n_draws": options.draws, "random_state": options.seed}
    for name, h in {"maximum of m": own["h"], **candidates}.items():
        # Fits end in different modes, which is part of the error. So there are two fits, each the best of four chains.
        parameters = {"doc_topic_prior": float(h[0]), "topic_word_prior": float(h[1]), "n_chains": 4}
        parameters["max_iter"] = options.fit_sweeps
        found_scores = []
        with stopwatch() as taken:
            for fit_seed in range(options.seed, options.seed + options.fits):
                lda = GibbsLDA(K, **parameters, random_state=fit_seed).fit(X)
                found_scores.append(leave_one_out_score(X, lda, **common))
        values = np.array([score.score for score in found_scores])
        within = np.sqrt(np.sum([score.std**2 for score in found_scores])) / len(values)
        between = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        own["scores"][name] = {
            "h": [float(x) for x in h],
            "score": float(values.mean()),
            "std": float(max(within, between)),
            "sides": [float(np.mean([getattr(score, side) for score in found_scores])) for side in ("lower", "upper")],
            "seconds": taken["cpu"],
        }
    return own


def show_scores(title, own):
    best = own["scores"]["maximum of m"]
    rows = []
    for name, row in own["scores"].items():
        difference = row["score"] - best["score"]
        std = 0 if row is best else np.hypot(row["std"], best["std"])
        low, high = row["sides"]
        rows.append(
            [
                name,
                pair(row["h"]),
                f"{row['score']:.2f} ± {row['std']:.2f}",
                f"{low:.1f} … {high:.1f}",
                f"{difference:+.2f} ± {std:.2f}",
                f"{np.exp(difference):.3g}",
                f"{row['seconds']:.0f}",
            ]
        )
    header = "priors", "(alpha, eta)", "log S", "lower, upper", "difference", "S ratio", "CPU s"
    regions = f"log h errors: Monte Carlo {pair(own['monte_carlo'], 2)}, statistical {pair(own['statistical'], 2)}"
    table(f"{title}: {pair(own['h'])} in {own['seconds']:.0f} s; {regions}", header, rows)
    for message in own["warnings"]:
        say(f"  {message}")


# --- cost -------------------------------------------------------------------------------------------------------------


def cost(X, K, options):
    """CPU seconds, stated Monte Carlo errors, and the spread of the estimates over seeds.

    The options of the paper run for a share of its sweeps. Errors are converted to all of its sweeps: they are
    inversely proportional to the root of the number of sweeps.
    """
    share = options.paper_share
    paper = {"method": "serial_tempering", "tempering": "paper", "n_chains": 1, **PAPER_GRID}
    paper |= {"n_tuning": round(share * PAPER_TUNING), "max_iter": round(share * PAPER_SWEEPS)}
    figures = {}
    for name, parameters in {"default": {"method": options.method}, "paper": paper}.items():
        runs = [fit(X, K, options.seed + i, **parameters) for i in range(options.cost_repeats)]
        h = np.log([found(model) for model, _, _ in runs])
        length = 1 / share if name == "paper" else 1
        stated = np.mean([errors(model, "monte_carlo") for model, _, _ in runs], axis=0)
        spread = h.std(axis=0, ddof=1) if len(h) > 1 else np.full(2, np.nan)
        figures[name] = {
            "h": np.exp(h).tolist(),
            "stated": (stated / np.sqrt(length)).tolist(),
            "spread": (spread / np.sqrt(length)).tolist(),
            "seconds": length * float(np.mean([seconds for _, seconds, _ in runs])),
            "warnings": [warned for _, _, warned in runs],
        }
    for own in figures.values():
        # Seconds to the spread of the paper's options with all sweeps.
        ratio = np.mean((np.array(own["spread"]) / figures["paper"]["spread"]) ** 2)
        own["seconds at equal error"] = own["seconds"] * float(ratio)
    return figures


def show_cost(title, figures):
    rows = []
    for name, own in figures.items():
        h = np.exp(np.log(own["h"]).mean(axis=0))
        cells = [name, pair(h), pair(own["stated"], 2), pair(own["spread"], 2), f"{own['seconds']:.1f}"]
        rows.append([*cells, f"{own['seconds at equal error']:.1f}"])
    header = "options", "estimate", "stated MC error of log h", "spread over seeds", "CPU s", "CPU s at equal error"
    table(title, header, rows)
    for own in figures.values():
        for message in sorted({message for warned in own["warnings"] for message in warned}):
            say(f"  {message}")


# --- command line -----------------------------------------------------------------------------------------------------


def corpora(options):
    """Name, X and K of the corpora that are given."""
    for given in options.ldac:
        K, _, path = given.partition(":")
        yield f"{Path(path).parent.name}/{Path(path).name}", read_ldac(path), int(K)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--parts", nargs="+", choices=PARTS, default=PARTS, help="parts to run (default: all)")
    add("--ldac", nargs="+", default=[], metavar="K:PATH", help="corpora for scores and cost, .ldac or .ldac.gz")
    add("--method", default="skeleton", help="method of EmpiricalBayesLDA (default: skeleton)")
    add("--repeats", type=int, default=1, help="corpora for each true h of Section 3 (default: 1)")
    add("--initialisations", type=int, default=4, help="initial states of EM (default: 4; the paper has 10)")
    add("--em-sweeps", type=int, default=220, help="sweeps of each of 50 E-steps (default: 220; the paper has 11,000)")
    add("--seeds", type=int, default=8, help="seeds whose estimates are compared (default: 8)")
    add("--fits", type=int, default=2, help="fits for each pair of priors (default: 2)")
    add("--fit-sweeps", type=int, default=1000, help="sweeps of these fits (default: 1000)")
    add("--draws", type=int, default=100, help="draws of the leave-one-out score (default: 100)")
    add(
        "--score-tokens",
        type=int,
        default=20_000_000,
        help="documents times tokens above which only some documents are scored",
    )
    add("--cost-repeats", type=int, default=4, help="seeds for the cost, at least 2 (default: 4)")
    add("--paper-share", type=float, default=0.02, help="share of the paper's sweeps to run (default: .02)")
    add("--plot", type=Path, metavar="FILE", help="write the plot of Section 5.1 to FILE")
    add("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    add("--seed", type=int, default=0, help="seed of all random numbers (default: 0)")
    return parser.parse_args()


def main():
    options = parse()
    given = list(corpora(options))
    record = {}
    if "recovery" in options.parts:
        record["recovery"] = recovery(options)
        show_recovery(record["recovery"])
    if "em" in options.parts:
        record["em"] = em(options)
        show_em(record["em"])
        if options.plot:
            plot_em(record["em"], options.plot)
    bundled = [("docstrings, every fourth", load_docstrings().data[::4], 8)]
    if "seeds" in options.parts:
        for title, X, K in given or bundled:
            own = record.setdefault("seeds", {})[title] = seeds(X, K, options)
            show_seeds(title, own)
    if "scores" in options.parts:
        for title, X, K in given or bundled:
            own = record.setdefault("scores", {})[title] = scores(X, K, options)
            show_scores(title, own)
    if "cost" in options.parts:
        stand_in = make_lda_corpus(100, 20, 8, doc_length=80, **SECTION_5, random_state=options.seed).data
        for title, X, K in given or [("V = 20, D = 100, n_d = 80, K = 8", stand_in, 8)]:
            own = record.setdefault("cost", {})[title] = cost(X, K, options)
            show_cost(title, own)
    if options.json:
        options.json.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
