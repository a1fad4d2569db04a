"""Foulds & Smyth (2014), Annealing paths for the evaluation of topic models.

    python benchmarks/papers/held_out.py --quick
    python benchmarks/papers/held_out.py --quick --parts curve
    python benchmarks/papers/held_out.py --parts perturbed --data FOLDER --only reuters395 --json figures.json

Parts, by the tables and figures of the paper. The corpus is the bundled one, or that of
``--only``, with held-out documents:

- ``perturbed``: Table 1 and Figure 1, learned topics against a copy with 5 % of the assignments drawn again.
- ``asymmetric``: Table 2, an alpha for each topic against one for all.
- ``curve``: Figure 2, held-out likelihood along a fit by iteration-AIS, and by single estimates.
"""

import _record
import numpy as np
from _record import Part, corpus
from peers import ALPHA, ETA, gibbs, split, stopwatch

from sklda import GibbsLDA
from sklda.metrics import compare_topic_models, held_out_log_likelihood
from sklda.papers.held_out import ais, held_out_curve, left_to_right, ratio_ais

# Figures of the paper on ACL by method, each in the cheap and in the expensive regime. Table 1: percent of documents in
# which the learned topics win. Table 2: correlation with long left-to-right runs, variance, ratio of the corpus.
PAPER = {
    "left_to_right": ((80.2, 90.7), (0.965, 0.995), (1.7e-4, 1.4e-5), (0.984, 0.987)),
    "ais": ((50.8, 75.2), (0.578, 0.892), (3.6e-3, 5.6e-4), (0.980, 0.989)),
    "ratio-AIS geometric": ((88.3, 90.3), (0.984, 0.989), (1.6e-5, 1.1e-6), (1.00, 0.994)),
    "ratio-AIS geometric, reverse": ((92.0, 90.3), (0.983, 0.989), (1.3e-5, 9.4e-7), (0.985, 0.992)),
    "ratio-AIS convex": ((88.3, 90.3), (0.987, 0.990), (7.7e-6, 7.4e-7), (1.00, 0.996)),
    "ratio-AIS convex, reverse": ((92.3, 90.3), (0.986, 0.989), (6.6e-6, 5.1e-7), (0.988, 0.992)),
}


def documents(options, n_quick=60):
    """Training documents and held-out ones; fewer of these in the quick form."""
    X = corpus(options, options.only[0] if options.only else "docstrings")
    train, test, _ = split(X, np.zeros(X.shape[0]), options.seed)
    lengths = np.asarray(test.sum(axis=1)).ravel()
    return train, test[lengths > 0][: n_quick if options.quick else None]


def pair_of_models(X, n_topics, options):
    """Topics of a fit, and of the same assignments with 5 % of them drawn uniformly; both from the counts."""
    learned = gibbs(n_topics, max_iter=300, random_state=options.seed).fit(X).topic_assignments_
    rng = np.random.default_rng(options.seed)
    perturbed = learned.copy()
    redrawn = rng.random(len(learned)) < 0.05
    perturbed[redrawn] = rng.integers(n_topics, size=redrawn.sum())
    priors = {"n_components": n_topics, "doc_topic_prior": ALPHA, "topic_word_prior": ETA, "point_estimate": "cgs"}
    return [(GibbsLDA.from_assignments(X, z, **priors).topic_word_, ALPHA) for z in (learned, perturbed)]


def log_ratios(X, pair, n_temperatures, n_runs, seed):
    """log p(w | learned) - log p(w | perturbed) by every method, and CPU seconds; all runs have as many sweeps."""
    mean_length = X.sum() / X.shape[0]
    sequential = max(1, round(2 * n_runs * n_temperatures / mean_length))
    single = {
        "left_to_right": (left_to_right, {"n_runs": sequential}),
        "ais": (ais, {"n_temperatures": n_temperatures, "n_runs": n_runs}),
    }
    ratios, seconds = {}, {}
    for name, (estimate, given) in single.items():
        with stopwatch() as taken:
            values = [estimate(m, X, **given, random_state=seed + i)[0] for i, m in enumerate(pair)]
        ratios[name], seconds[name] = values[0] - values[1], taken["cpu"]
    given = {"n_temperatures": n_temperatures, "n_runs": n_runs, "random_state": seed}
    for path in ("geometric", "convex"):
        with stopwatch() as taken:
            result = ratio_ais(*pair, X, path=path, **given)
        for name, values in ((path, result.forward), (f"{path}, reverse", result.reverse)):
            ratios[f"ratio-AIS {name}"], seconds[f"ratio-AIS {name}"] = values, taken["cpu"] / 2
    with stopwatch() as taken:
        ratios["guided difference"] = compare_topic_models(*pair, X, **given).log_ratio
    seconds["guided difference"] = taken["cpu"]
    return ratios, seconds


def both(X, pair, budgets, options):
    """For every budget and method: log ratios by two turns of two runs each, and CPU seconds of one turn.

    The quick form has fewer documents in the expensive regime: the first of the others.
    """
    found = {}
    for n in budgets:
        own = X[:16] if options.quick and n == 10_000 else X
        turns = [log_ratios(own, pair, n, 2, options.seed + 1000 * i) for i in range(2)]
        found[n] = {
            name: {"turns": [turn[0][name] for turn in turns], "seconds": turns[0][1][name]} for name in turns[0][0]
        }
    return found


# --- Table 1, Figure 1 ------------------------------------------------------------------------------------------------


def measure_perturbed(options):
    train, test = documents(options)
    pair = pair_of_models(train, 50, options)
    return {"budgets": both(test, pair, (100, 10_000), options)}


def perturbed_table(found):
    header = ["method", "paper, ACL: 100", "10,000", "here: 100", "10,000", "sd of a run, nats: 100", "10,000"]
    header += ["CPU s: 100", "10,000"]
    rows = []
    for name in found["budgets"]["100"]:
        own = [found["budgets"][n][name] for n in ("100", "10000")]
        shares = [f"{100 * np.mean(np.array(each['turns']) > 0):.1f} %" for each in own]
        deviations = [f"{np.sqrt(np.mean(np.diff(each['turns'], axis=0) ** 2) / 2):.2g}" for each in own]
        seconds = [f"{each['seconds']:.1f}" for each in own]
        paper = [f"{share} %" for share in PAPER[name][0]] if name in PAPER else ["", ""]
        rows.append([name.replace("_", " "), *paper, *shares, *deviations, *seconds])
    return header, rows


def perturbed_values(found):
    ratio, single = (np.array(found["budgets"]["100"][name]["turns"]) for name in ("ratio-AIS convex", "left_to_right"))
    spread = [np.sqrt(np.mean(np.diff(each, axis=0) ** 2)) for each in (single, ratio)]
    numbers = (len(methods["ais"]["turns"][0]) for methods in found["budgets"].values())
    return {"documents": " and ".join(map(str, numbers)), "gain": f"{spread[0] / spread[1]:.2g}"}


# --- Table 2 ----------------------------------------------------------------------------------------------------------


def measure_asymmetric(options):
    train, test = documents(options)
    pair = []
    for learn in (True, "symmetric"):
        lda = GibbsLDA(50, learn_priors=learn, max_iter=300, random_state=options.seed).fit(train)
        pair.append((lda.topic_word_, np.broadcast_to(lda.doc_topic_prior_, 50).copy()))
    found = both(test, pair, (1000, 10_000), options)
    return {"lengths": np.asarray(test.sum(axis=1)).ravel(), "budgets": found}


def asymmetric_table(found):
    header = ["method", "correlation: paper", "here", "variance: paper", "here", "corpus ratio: paper", "here"]
    lengths = np.array(found["lengths"])
    truth = np.array(found["budgets"]["10000"]["left_to_right"]["turns"])
    rows = []
    for n, budget in (("1000", 0), ("10000", 1)):
        for name, own in found["budgets"][n].items():
            runs, common = np.array(own["turns"]), lengths[: truth.shape[1]]
            ratios = np.exp(-runs / lengths[: runs.shape[1]])
            # Against the other turn, so that no run is compared with itself.
            pairs = [(runs[i, : len(common)] / common, truth[1 - i] / common) for i in (0, 1)]
            correlation = np.mean([np.corrcoef(*each)[0, 1] for each in pairs])
            variance = np.mean(np.diff(ratios, axis=0) ** 2 / 2)
            corpus = np.exp(-runs.sum(axis=1).mean() / lengths[: runs.shape[1]].sum())
            paper = [str(PAPER[name][i][budget]) for i in (1, 2, 3)] if name in PAPER else ["", "", ""]
            ours = (f"{correlation:.3f}", f"{variance:.1e}", f"{corpus:.4f}")
            cells = [cell for each in zip(paper, ours, strict=True) for cell in each]
            rows.append([f"{name.replace('_', ' ')}, {int(n):,}", *cells])
    return header, rows


def asymmetric_values(found):
    lengths, cheap = np.array(found["lengths"]), found["budgets"]["1000"]

    def ratio(name):
        return float(np.exp(-np.array(cheap[name]["turns"]).sum(axis=1).mean() / lengths.sum()))

    gap = np.log(ratio("ratio-AIS convex") / ratio("ratio-AIS convex, reverse"))
    # Weights that are log-normal have logarithms that are too low by half their variance, in either direction.
    variances = []
    for name in ("ratio-AIS convex", "ratio-AIS convex, reverse"):
        variances.append(np.diff(cheap[name]["turns"], axis=0).ravel() ** 2 / 2)
    expected = np.sum(variances) / 2 / lengths.sum()
    numbers = (len(methods["ais"]["turns"][0]) for methods in found["budgets"].values())
    texts = {"documents": " and ".join(map(str, numbers)), "length": f"{lengths.mean():.0f}"}
    return texts | {"gap": f"{gap:.4f}", "expected": f"{expected:.4f}"}


# --- Figure 2 ---------------------------------------------------------------------------------------------------------


def measure_curve(options):
    train, test = documents(options, 60)
    sweeps, budgets = (300, (100, 1000)) if options.quick else (1000, (1000, 10_000))
    priors = {"doc_topic_prior": ALPHA, "topic_word_prior": ETA}
    # The topics are those of the counts after every tenth sweep.
    each = {"max_iter": 10, "n_draws": 1, "point_estimate": "cgs", "init": "random", "warm_start": True}
    lda = GibbsLDA(50, **priors, **each, random_state=options.seed)
    phi, n_tokens = [lda.fit(train).topic_word_ for _ in range(sweeps // 10)], float(test.sum())
    found = {"sweeps": 10 * np.arange(1, len(phi) + 1), "curves": {}, "seconds": {}}
    for n in budgets:
        with stopwatch() as taken:
            curve = held_out_curve(
                [(each, ALPHA) for each in phi], test, n_temperatures=n, n_runs=2, random_state=options.seed
            )
        found["curves"][f"iteration-AIS, {n}"] = [curve.score, curve.std]
        found["seconds"][f"iteration-AIS, {n}"] = taken["cpu"] / 2
    chosen = range(len(phi)) if not options.quick else sorted({*range(0, len(phi), 5), len(phi) - 1})
    found["chosen"] = [10 * (i + 1) for i in chosen]
    estimators = {
        "ais": lambda model, n: ais(model, test, n_temperatures=n, n_runs=2, random_state=options.seed),
        "left_to_right": lambda model, n: left_to_right(
            model, test, n_runs=max(2, round(n / 35)), random_state=options.seed
        ),
        "guided_ais": lambda model, n: held_out_log_likelihood(
            model, test, n_temperatures=n, n_runs=2, return_std=True, random_state=options.seed
        ),
    }
    for method, estimate in estimators.items():
        for n in budgets:
            with stopwatch() as taken:
                pairs = [estimate((phi[i], ALPHA), n) for i in chosen]
            values = [value.sum() / n_tokens for value, _ in pairs]
            errors = [np.sqrt((std**2).sum()) / n_tokens for _, std in pairs]
            found["curves"][f"{method}, {n}"] = [values, errors]
            runs = 1 if method == "left_to_right" else 2
            found["seconds"][f"{method}, {n}"] = taken["cpu"] / runs / len(chosen) * len(phi)
    return found


def curve_table(found):
    moments = [found["chosen"][i] for i in (0, len(found["chosen"]) // 2, -1)]
    header = ["estimate, temperatures", *(f"after {n} sweeps" for n in moments), "error at the end", "CPU s"]
    rows = []
    for name, (values, errors) in found["curves"].items():
        at = found["sweeps"] if len(values) == len(found["sweeps"]) else found["chosen"]
        cells = [f"{values[at.index(n)]:.4f}" for n in moments]
        rows.append([name.replace("_", " "), *cells, f"{errors[-1]:.4f}", f"{found['seconds'][name]:.1f}"])
    return header, rows


def curve_values(found):
    texts = {}
    for name, (values, _) in found["curves"].items():
        best = int(np.argmax(values))
        texts[f"{name.split(', ')[0]}_{name.split(', ')[1]}"] = f"{values[-1] - values[best]:+.4f}"
    return texts


PARTS = {
    "perturbed": Part(measure_perturbed, perturbed_values, perturbed_table),
    "asymmetric": Part(measure_asymmetric, asymmetric_values, asymmetric_table),
    "curve": Part(measure_curve, curve_values, curve_table),
}

if __name__ == "__main__":
    _record.main(__file__, __doc__, PARTS)
