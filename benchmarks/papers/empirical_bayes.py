"""George & Doss (2018), Principled selection of hyperparameters in the latent Dirichlet allocation model.

    python benchmarks/papers/empirical_bayes.py --data FOLDER --quick
    python benchmarks/papers/empirical_bayes.py --quick --parts em recovery

Parts, by the tables and figures of the paper:

- ``em``: Table 1 and Figure 8, estimates of h by three methods on six corpora, and their times.
- ``rate``: Figure 8, the distance of Gibbs-EM from the maximum by the number of its iterations.
- ``scores``: Tables 2, 3 and 4, scores of estimated and of ad-hoc priors on corpora of news and of articles.
- ``growth``: Figures 2 and 3, estimates from more and more documents.
- ``functionals``: Figures 4, 5 and 6, posterior expectations as functions of h.
- ``recovery``: Figure 7, recovery of known h.

Pairs are (eta, alpha) in pages, as in the paper, and (alpha, eta) in the results.
"""

from types import SimpleNamespace

import _record
import numpy as np
from _priors import (
    EM_BOUNDS,
    PAPER_GRID,
    PAPER_SWEEPS,
    PAPER_TUNING,
    SECTION_3,
    SECTION_5,
    em,
    errors,
    fit,
    found,
    gibbs_em,
    initial_chain,
    recovery,
    timed,
    variational_estimates,
)
from _priors import scores as fit_scores
from _record import Part, corpus
from peers import stopwatch
from scipy.special import psi

from sklda._core.corpus import Corpus
from sklda._core.gibbs_em import MStep
from sklda._core.priors import Priors
from sklda._models.empirical_bayes.chain_pool import learning
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.run_chains import Run
from sklda.datasets import make_lda_corpus
from sklda.papers.empirical_bayes import serial_tempering

# Share of the sweeps of the paper's chains that is run; times are those of all sweeps.
QUICK_SHARE, PAPER_EM_SWEEPS = 0.01, 11_000
REAL = {
    "C-1": ("med-christian-baseball", 3),
    "C-2": ("rec", 4),
    "C-3": ("sci", 4),
    "C-4": ("autos-motorcycles", 2),
    "C-5": ("ibm-mac", 2),
    "whales": ("whales", 5),
}


def settings(options, **own):
    """Options of the functions of `_priors`."""
    share = QUICK_SHARE if options.quick else 1
    common = {"seed": options.seed, "initialisations": 4 if options.quick else 10}
    return SimpleNamespace(**common | {"em_sweeps": round(share * PAPER_EM_SWEEPS), "share": share} | own)


def swapped(h, digits=3):
    """(eta, alpha) of (alpha, eta)."""
    return f"({h[1]:.{digits}g}, {h[0]:.{digits}g})"


def brief(number):
    """Two digits, and no exponent."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


# --- Table 1, Figure 8 ------------------------------------------------------------------------------------------------

MINUTES = {(4, 20): (0.04, 2.23, 16.72), (4, 40): (0.08, 4.88, 25.71), (4, 100): (0.19, 10.73, 49.75)}
MINUTES |= {(8, 20): (0.04, 2.96, 31.35), (8, 40): (0.12, 6.08, 45.87), (8, 100): (0.34, 11.64, 90.55)}


def measure_em(options):
    given = settings(options)
    figures = em(given)
    share = min(1.0, 2 * given.share)
    paper = {"n_chains": 1, **PAPER_GRID}
    paper |= {"n_tuning": round(share * PAPER_TUNING), "max_iter": round(share * PAPER_SWEEPS)}
    for (K, D), own in zip(MINUTES, figures.values(), strict=True):
        X = make_lda_corpus(D, 20, K, doc_length=80, **SECTION_5, random_state=options.seed).data
        tempered, seconds, warned = timed(serial_tempering, X, K, random_state=options.seed, **paper)
        h = tempered.doc_topic_prior, tempered.topic_word_prior
        own["tempering"] = {"h": h, "errors": errors(tempered, "monte_carlo"), "warnings": warned}
        own["seconds"] |= {"tempering": seconds / share}
        own["seconds"]["gibbs_em, paper"] /= given.share
        own["monte_carlo"] = np.sqrt(np.diag(own.pop("covariance")["monte_carlo"]))
    return figures


def em_table(figures):
    header = "K, D", "maximum, errors of log h", "Gibbs-EM", "variational EM", "paper: VEM, GEM, ST, s", "here, s"
    header += ("skeleton, s",)
    rows = []
    for ((K, D), minutes), own in zip(MINUTES.items(), figures.values(), strict=True):
        stated, spent = own["monte_carlo"], own["seconds"]
        cells = [f"{K}, {D}", f"{swapped(own['h'])}, {stated[1]:.2g} and {stated[0]:.2g}"]
        for name in ("gibbs_em, paper", "variational_em"):
            low, high = np.min(own[name], axis=0), np.max(own[name], axis=0)
            cells.append(f"{swapped(low)} to {swapped(high)}")
        ours = (spent[name] for name in ("variational_em", "gibbs_em, paper", "tempering"))
        cells += [", ".join(brief(60 * m) for m in minutes), ", ".join(map(brief, ours))]
        rows.append([*cells, brief(spent["m(h)"])])
    return header, rows


def em_values(figures):
    away = {name: [] for name in ("gibbs_em", "gibbs_em, paper", "variational_em")}
    for own in figures.values():
        for name, each in away.items():
            each.append(np.abs(np.log(own[name]) - np.log(own["h"])).mean(axis=0))
    stated = np.median([own["monte_carlo"] for own in figures.values()], axis=0)
    medians = {name: np.median(each, axis=0) for name, each in away.items()}
    spent = [own["seconds"] for own in figures.values()]
    short = name = "gibbs_em"
    gem, vem = "gibbs_em, paper", "variational_em"

    def ratio(one, other):
        return brief(np.median([each[one] / each[other] for each in spent]))

    texts = {"st_gem": ratio("tempering", gem), "gem_vem": ratio(gem, vem), "skeleton_gem": ratio(gem, "m(h)")}
    for key, name in (("short", short), ("gem", gem), ("vem", vem)):
        texts[f"{key}_away"] = f"{medians[name][1]:.2g} and {medians[name][0]:.2g}"
    return texts | {"error": f"{stated[1]:.2g} and {stated[0]:.2g}"}


def slope(chain):
    """Derivatives of log p(w, z | h) with respect to log alpha and log eta."""
    K, V = chain.priors.shape
    alpha, eta = (np.ravel(prior)[0] for prior in (chain.priors.doc, chain.priors.topic_word()))
    doc, words = chain.doc_topic_counts(), chain.word_topic_counts[:, :K]

    def of(counts, prior, n):
        totals = np.asarray(counts).sum(axis=1)
        own = (psi(counts + prior) - psi(prior)).sum() - n * (psi(totals + n * prior) - psi(n * prior)).sum()
        return prior * own

    return of(doc, alpha, K), of(words.T, eta, V)


def newton(corpus, h, covariance, n_sweeps, seed):
    """The Newton step of log h from E(slope) at h, which is zero at a maximum of m(h), and its error over chains."""
    steps = []
    for c in range(4):
        priors = Priors.make(h[0], h[1], 8, corpus.n_features)
        chain, own = GibbsChain.initialise_randomly(corpus, priors, np.random.SeedSequence([seed, c])), []
        for sweep in range(n_sweeps):
            chain.sweep()
            if sweep >= n_sweeps // 10 and sweep % 10 == 0:
                own.append(slope(chain))
        steps.append(covariance @ np.mean(own, axis=0))
    return np.mean(steps, axis=0), np.std(steps, axis=0, ddof=1) / 2


def measure_rate(options):
    """Gibbs-EM by the number of its iterations, and whether its limit is a maximum of m(h): K = 8, D = 40."""
    corpus = Corpus.from_counts(make_lda_corpus(40, 20, 8, doc_length=80, **SECTION_5, random_state=options.seed).data)
    X = corpus.to_counts()
    # The errors of a default fit are too large to judge Gibbs-EM by it.
    precise, default = fit(X, 8, options.seed, error_ratio=0.03, max_iter=20_000)[0], fit(X, 8, options.seed)[0]
    h, covariance = np.log(found(precise)), precise.confidence_region(0.95, "statistical").covariance
    em = {"every": 1, "n_draws": 110}
    chains = [initial_chain(corpus, 8, options.seed + 1 + i) for i in range(4)]
    chains = [learning(chain, 100 * 110, MStep(EM_BOUNDS), **em) for chain in chains]
    before, distance = 0, {}
    for n in (10, 25, 50, 100):
        chains = Run().sweep(chains, (n - before) * 110)
        before, own = n, np.array([chain.steps[0].log_h for chain in chains])
        distance[n] = (own - h).mean(axis=0), own.std(axis=0, ddof=1) / 2
    n_sweeps = 8000 if options.quick else 100_000
    points = {"maximum": h, "limit": own.mean(axis=0)}
    steps = {name: newton(corpus, np.exp(at), covariance, n_sweeps, options.seed) for name, at in points.items()}
    distance["default"] = np.log(found(default)) - h, errors(default, "monte_carlo")
    own = {kind: errors(precise, kind) for kind in ("monte_carlo", "statistical")}
    return {"h": np.exp(h), "distance": distance, "steps": steps} | own


def rate_values(figures):
    texts = {name: "{1:.3f} and {0:.3f}".format(*figures[name]) for name in ("statistical", "monte_carlo")}
    for key in ("distance", "steps"):
        for name, (value, std) in figures[key].items():
            texts |= {name: f"{value[1]:+.2f} and {value[0]:+.2f}", f"error_{name}": f"{std[1]:.2f} and {std[0]:.2f}"}
    return texts


# --- Tables 2, 3 and 4 ------------------------------------------------------------------------------------------------

# Ratios of Table 3 to the score at the maximum: Gibbs-EM, variational EM, 1/K, .1 and .1, .1 and 50/K.
TABLE_3 = {
    "C-1": (0.678, 0.483, 0.354, 1.11, 8.24e-4),
    "C-2": (0.511, 0.819, 0.523, 0.0252, 7.21e-5),
    "C-3": (0.986, 0.558, 0.298, 0.141, 0.0133),
    "C-4": (0.821, 0.771, 0.348, 0.122, 0.0666),
    "C-5": (0.998, 1.62, 0.458, 0.161, 0.0936),
}
CHOICES = ("gibbs_em", "variational_em", "1/K, 1/K", ".1, .1", "50/K, .1")


def measure_scores(options):
    quick = {"draws": 10, "fits": 1, "fit_sweeps": 300, "score_tokens": 200_000, "initialisations": 1, "em_sweeps": 60}
    full = {"draws": 100, "fits": 2, "fit_sweeps": 1000, "score_tokens": 20_000_000, "em_sweeps": 220}
    given = settings(options, **quick if options.quick else full)
    figures = {}
    for name, (folder, K) in _record.chosen(options, REAL).items():
        X = corpus(options, folder)
        own = figures[name] = {"V": X.shape[1], "N": int(X.sum()), "D": X.shape[0]} | fit_scores(X, K, given)
        chains = [initial_chain(Corpus.from_counts(X), K, options.seed)]
        with stopwatch() as taken:
            gibbs_em(chains, given, paper=True)
        own["gibbs_em_seconds"] = taken["cpu"] * PAPER_EM_SWEEPS / given.em_sweeps
        with stopwatch() as taken:
            variational_estimates(chains)
        own["variational_seconds"] = taken["cpu"]
    return figures


def differences(own):
    """log S(h) less log S at the maximum, with its error, for every choice."""
    best = own["scores"]["maximum of m"]
    rows = [own["scores"][name] for name in CHOICES]
    return [(row["score"] - best["score"], np.hypot(row["std"], best["std"])) for row in rows]


def scores_table(figures):
    header = ["corpus", "D, V, N", "maximum", "", "GEM", "VEM", "1/K, 1/K", ".1, .1", ".1, 50/K"]
    rows = []
    for name, own in ((name, figures[name]) for name in REAL if name in figures):
        first = [name, f"{own['D']}, {own['V']}, {own['N']:,}", swapped(own["h"])]
        ours = [f"{value:+.2f} ± {std:.2f}" for value, std in differences(own)]
        if name in TABLE_3:
            rows.append([*first, "paper", *(f"{np.log(value):+.2f}" for value in TABLE_3[name])])
            first = ["", "", ""]
        rows.append([*first, "here", *ours])
    return header, rows


def scores_values(figures):
    below = sum(value < -2 * std for own in figures.values() for value, std in differences(own)[2:])
    above = [name for name, own in figures.items() if any(value > 2 * std for value, std in differences(own)[2:])]
    em_away = max(abs(value) for own in figures.values() for value, _ in differences(own)[:2])
    texts = {"below": f"{below} of {3 * len(figures)}", "above": ", ".join(above) or "none", "em": f"{em_away:.2g}"}
    for name, own in figures.items():
        spent = own["variational_seconds"], own["gibbs_em_seconds"], own["seconds"]
        texts[f"seconds_{name}"] = ", ".join(map(brief, spent))
    return texts


# --- Figures 2 and 3 --------------------------------------------------------------------------------------------------


def measure_growth(options):
    """Estimates from the first documents of a corpus with K = 20, V = 100 and n_d = 100."""
    sizes = (25, 50, 100) if options.quick else (25, 50, 100, 200, 400)
    X = make_lda_corpus(max(sizes), 100, 20, doc_length=100, **SECTION_5, random_state=options.seed).data
    figures = {}
    for D in _record.chosen(options, {str(D): D for D in sizes}).values():
        model, seconds, warned = fit(X[:D], 20, options.seed)
        own = {kind: errors(model, kind) for kind in ("monte_carlo", "statistical")}
        figures[D] = {"h": found(model), "seconds": seconds, "warnings": warned} | own
    return figures


def growth_table(figures):
    header = "documents", "(η, α)", "Monte Carlo errors of log h", "statistical errors", "CPU s"
    rows = [
        [D, swapped(own["h"]), swapped(own["monte_carlo"], 2), swapped(own["statistical"], 2), f"{own['seconds']:.0f}"]
        for D, own in figures.items()
    ]
    return header, rows


# --- Figures 4, 5 and 6 -----------------------------------------------------------------------------------------------

GROUPS, NEAR = ("Baleen whales", "Dolphins", "Whale products"), 0.07


def close(theta, phi):
    """Documents 7 and 8 have nearly the same topics."""
    return float(np.linalg.norm(theta[6] - theta[7]) <= NEAR)


def distance(theta, phi):
    """Mean distance between topics, which does not depend on their order."""
    return float(np.mean([np.linalg.norm(phi[i] - phi[j]) for i in range(3) for j in range(i)]))


def measure_functionals(options):
    labels, X = _record.column(options, "whales", "category"), corpus(options, "whales")
    order = np.argsort(X.sum(axis=1).A1 if hasattr(X.sum(axis=1), "A1") else X.sum(axis=1), kind="stable")
    rows = np.concatenate([[i for i in order if group in labels[i].split("|")][:8] for group in GROUPS])
    X = X[rows][:, X[rows].getnnz(axis=0) > 0]
    centre = found(fit(X, 3, options.seed, max_iter=2000)[0])
    region = [[h / 2, 2 * h] for h in centre]
    grid = np.exp(np.linspace(np.log(np.array(region)[:, 0]), np.log(np.array(region)[:, 1]), 9))
    alpha, eta = np.meshgrid(grid[:, 0], grid[:, 1], indexing="ij")
    given = {"region": region, "functionals": {"close": close, "distance": distance}}
    given |= {"n_chains": 2, "max_iter": 3000 if options.quick else 30_000}
    curves = {}
    for estimator in ("mixture", "component"):
        for seed in range(2):
            run = {"random_state": options.seed + seed, "tempering": {"estimator": estimator}}
            tempered, _, _ = timed(serial_tempering, X, 3, **given, **run)
            for name in ("close", "distance"):
                own = curves.setdefault(name, {}).setdefault(estimator, [])
                own.append([each.tolist() for each in tempered.posterior_expectation(name, alpha, eta)])
    size = {"D": X.shape[0], "V": X.shape[1], "N": int(X.sum())}
    return {"size": size, "centre": centre, "alpha": grid[:, 0], "eta": grid[:, 1], "curves": curves}


def functionals_values(figures):
    texts = {
        "h": swapped(figures["centre"]),
        "size": "{D} documents, {V} words, {N:,} tokens".format(**figures["size"]),
    }
    for name, own in figures["curves"].items():
        one, two = np.array(own["mixture"])
        texts[f"{name}_range"] = f"{one[0].min():.2g} to {one[0].max():.2g}"
        for estimator, (one, two) in own.items():
            apart = np.array(one[0]) - two[0]
            texts[f"{name}_{estimator}"] = f"{np.sqrt(np.mean(apart**2)):.2g}"
    return texts


# --- Figure 7 ---------------------------------------------------------------------------------------------------------


def measure_recovery(options):
    truths = _record.chosen(options, {f"{alpha}, {eta}": (alpha, eta) for alpha, eta in SECTION_3})
    return recovery(settings(options, repeats=1 if options.quick else 3), truths.values())


def recovery_table(figures):
    header = "true (η, α)", "estimates", "statistical errors of log h", "true h inside the 95 % region", "CPU s"
    rows = []
    for truth, own in figures.items():
        cells = [swapped([float(each) for each in truth.split(", ")]), ", ".join(swapped(row["h"]) for row in own)]
        cells.append(", ".join(swapped(row["statistical"], 2) for row in own))
        rows.append([*cells, f"{sum(r['inside'] for r in own)} of {len(own)}", f"{own[-1]['seconds']:.0f}"])
    return header, rows


PARTS = {
    "em": Part(measure_em, em_values, em_table),
    "rate": Part(measure_rate, rate_values),
    "scores": Part(measure_scores, scores_values, scores_table),
    "growth": Part(measure_growth, None, growth_table),
    "functionals": Part(measure_functionals, functionals_values),
    "recovery": Part(measure_recovery, None, recovery_table),
}

if __name__ == "__main__":
    _record.main(__file__, __doc__, PARTS)
