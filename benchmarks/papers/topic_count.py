"""Chen & Doss (2018), Inference for the number of topics in the LDA model via Bayesian mixture modelling.

    python benchmarks/papers/topic_count.py --data FOLDER --quick
    python benchmarks/papers/topic_count.py --quick --parts synthetic

Parts, by the tables and figures of the paper:

- ``synthetic``: Figure 2 and Table 3, log p(w | T) of a corpus with known T by all estimators, and their times.
- ``chain``: Figure 1, pseudo-marginal Metropolis-Hastings (PMMH) on that corpus.
- ``whales``: Tables 1 and 2, Figure 3 and Table 3, PMMH on the articles about whales.
- ``evidence``: the same corpus, log p(w | T) by the estimator of the paper and by annealing.
- ``predictive``: Figure 4, the score S(T) on the same corpus.

The quick form has six topics and 300 documents, as in the supplement, of 100 tokens; the full form has the twenty
topics and 2,000 documents of the paper.
"""

import warnings

import _record
import numpy as np
from _record import Part, corpus
from peers import stopwatch
from scipy.special import logsumexp

from sklda import GibbsLDA
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling.collapsed import GibbsChain
from sklda.datasets import make_lda_corpus
from sklda.papers.held_out import leave_one_out_score
from sklda.papers.topic_count import log_evidence, log_evidence_by_sweeps
from sklda.papers.topic_count import pmmh as sampler
from sklda.papers.topic_count._estimators import cgs_transition

GIVEN = {"doc_topic_prior": 0.1, "topic_word_prior": 0.5}
WHALES = {"doc_topic_prior": 0.11, "topic_word_prior": 0.41}
METHODS = ("harmonic_mean_z", "harmonic_mean_psi", "chib", "cgs_transition", "guided_ais")
NAMES = dict(zip(METHODS, ("HME-z", "HME-ψ", "Chib", "transition (4.9)", "guided AIS"), strict=True))


def simulated(options):
    """The corpus, and its number of topics."""
    D, T, length = (300, 6, 100) if options.quick else (2000, 20, 300)
    return make_lda_corpus(D, 100, T, doc_length=length, **GIVEN, random_state=options.seed).data, T


def quiet(function, *arguments, **given):
    """The result and CPU seconds, without warnings that an estimator is unreliable."""
    with warnings.catch_warnings(), stopwatch() as taken:
        warnings.simplefilter("ignore")
        result = function(*arguments, **given)
    return result, taken["cpu"]


def evidences(X, counts, methods, given, options):
    """log p(w | T) with its error and CPU seconds, by method and T."""
    common = {"n_chains": 2, "n_runs": 1, "random_state": options.seed, **given}
    found = {}
    for method in methods:
        function, plan = log_evidence_by_sweeps, {"method": method, "n_inner": 50}
        if method == "guided_ais":
            function, plan = log_evidence, {"n_temperatures": 150 if options.quick else 1000}
        for T in counts:
            (value, std), seconds = quiet(function, X, T, **common, **plan)
            found.setdefault(method, {})[T] = {"value": value, "std": std, "seconds": seconds}
    return found


def evidence_rows(found, best):
    """Header and rows: log p(w | T) less that of a T, by method."""
    methods = list(found)
    header = ["T", *(NAMES[method] for method in methods)]
    base = {method: found[method][best]["value"] for method in methods}
    return header, [
        [T, *(f"{found[method][T]['value'] - base[method]:+,.0f}" for method in methods)] for T in found[methods[0]]
    ]


# --- Figures 1 and 2, Table 3 -----------------------------------------------------------------------------------------


def measure_synthetic(options):
    X, T = simulated(options)
    counts = (3, 4, 5, 6, 7, 8, 12) if options.quick else (3, 5, 10, 15, 18, 19, 20, 21, 25, 40, 60)
    return {"T": T, "tokens": int(X.sum()), "curves": evidences(X, counts, METHODS, GIVEN, options)}


def synthetic_table(found):
    return evidence_rows(found["curves"], str(found["T"]))


def synthetic_values(found):
    texts = {"T": found["T"], "tokens": f"{found['tokens']:,}"}
    for method, own in found["curves"].items():
        texts[f"best_{method}"] = max(own, key=lambda T: own[T]["value"])
        texts[f"seconds_{method}"] = f"{np.median([each['seconds'] for each in own.values()]):.2g}"
    return texts


def pmmh(X, given, options, n_proposals, largest, m=50):
    """Share of T, acceptance, running means and autocorrelation of PMMH with the estimator of the paper."""
    common = {"n_proposals": n_proposals, "n_runs": 1, "n_inner": m, "random_state": options.seed, **given}
    found, seconds = quiet(sampler, X, 2, largest, **common)
    trace = np.asarray(found.trace, float)
    running = np.cumsum(trace) / np.arange(1, len(trace) + 1)
    late = trace[len(trace) // 4 :] - trace[len(trace) // 4 :].mean()
    lag = float(late[1:] @ late[:-1] / max(late @ late, 1e-12))
    counts, shares = np.unique(trace[len(trace) // 4 :], return_counts=True)
    moments = np.linspace(0, len(trace) - 1, 41).astype(int)
    return {
        "posterior": {int(T): float(n / shares.sum()) for T, n in zip(counts, shares, strict=True)},
        "acceptance": found.acceptance_rate,
        "lag_1": lag,
        "running": [moments, running[moments]],
        "start": int(trace[0]),
        "reached": int(np.argmax(trace == counts[np.argmax(shares)])),
        "seconds": seconds,
        "n": n_proposals,
    }


def measure_chain(options):
    X, T = simulated(options)
    n, largest = (100, 20) if options.quick else (10_000, 100)
    return {"T": T, "chains": {m: pmmh(X, GIVEN, options, n, largest, m) for m in (50, 100)}}


def chain_texts(own):
    likely = sorted(own["posterior"].items(), key=lambda item: -item[1])[:4]
    return {
        "posterior": ", ".join(f"{T}: {p:.2f}" for T, p in sorted(likely, key=lambda item: int(item[0]))),
        "acceptance": f"{own['acceptance']:.2f}",
        "lag": f"{own['lag_1']:.2f}" if len(own["posterior"]) > 1 else "1 (T is constant)",
        "start": own["start"],
        "reached": own["reached"],
        "seconds": f"{own['seconds']:.0f}",
        "n": f"{own['n']:,}",
    }


def chain_values(found):
    texts = {f"{name}_{m}": text for m, own in found["chains"].items() for name, text in chain_texts(own).items()}
    return texts | {"T": found["T"]}


# --- whales -----------------------------------------------------------------------------------------------------------


def measure_whales(options):
    X = corpus(options, "whales")
    n, largest = (100, 30) if options.quick else (10_000, 100)
    return {"D": X.shape[0], "N": int(X.sum()), "chains": {50: pmmh(X, WHALES, options, n, largest)}}


def whales_values(found):
    return chain_texts(found["chains"]["50"]) | {"D": found["D"], "N": f"{found['N']:,}"}


def measure_evidence(options):
    X = corpus(options, "whales")
    counts = (3, 5, 10, 20, 40) if options.quick else (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 28, 40, 50, 70)
    found = evidences(X, counts, ("cgs_transition", "guided_ais"), WHALES, options)
    return found | {"from_random": {T: from_random(X, T, options) for T in counts}}


def from_random(X, T, options, m=50):
    """The estimate of the paper from m sweeps after random topics, as a new chain at T would give it."""
    corpus_of, values = Corpus.from_counts(X), []
    priors = Priors.make(WHALES["doc_topic_prior"], WHALES["topic_word_prior"], T, X.shape[1])
    for c in range(3):
        chain = GibbsChain.initialise_randomly(corpus_of, priors, np.random.SeedSequence([options.seed, c]))
        values.append(logsumexp(cgs_transition(chain, m)) - np.log(m))
    return {"value": np.mean(values), "std": np.std(values, ddof=1)}


def evidence_table(found):
    header, rows = evidence_rows({method: found[method] for method in ("cgs_transition", "guided_ais")}, "5")
    base = found["from_random"]["5"]["value"]
    new = {T: f"{own['value'] - base:+,.0f} ± {own['std']:.0f}" for T, own in found["from_random"].items()}
    pairs = {T: [found[method][T] for method in ("cgs_transition", "guided_ais")] for T in found["guided_ais"]}
    low = {T: f"{paper['value'] - ours['value']:+,.0f}" for T, (paper, ours) in pairs.items()}
    errors = {T: f"{ours['std']:.0f}" for T, (_, ours) in pairs.items()}
    header = [*header, "error of guided AIS", "transition less guided AIS", "transition, 50 sweeps from random topics"]
    return header, [[*row, errors[row[0]], low[row[0]], new[row[0]]] for row in rows]


def evidence_values(found):
    best = {method: max(own, key=lambda T: own[T]["value"]) for method, own in found.items()}
    texts = {"best_transition": best["cgs_transition"], "best_guided": best["guided_ais"]}
    spread = np.median([own["std"] for own in found["from_random"].values()])
    return texts | {"best_random": best["from_random"], "spread": f"{spread:.0f}"}


def measure_predictive(options):
    """S(T) of every fifth document, by fits to all documents with that document left out of the weights."""
    X, found = corpus(options, "whales"), {}
    documents = np.arange(0, X.shape[0], 10 if options.quick else 1)
    for T in (2, 5, 10, 20, 30) if options.quick else range(2, 31):
        lda = GibbsLDA(T, **WHALES, max_iter=200, random_state=options.seed).fit(X)
        score = leave_one_out_score(lda, X, rows=documents, n_draws=20, random_state=options.seed)
        found[T] = {"score": score.score, "std": score.std}
    return found


def predictive_values(found):
    base = found["5"]["score"]
    texts = {"all": ", ".join(f"{own['score'] - base:+.1f} ({T})" for T, own in found.items())}
    return texts | {"best": max(found, key=lambda T: found[T]["score"]), "error": f"{found['5']['std']:.1f}"}


PARTS = {
    "synthetic": Part(measure_synthetic, synthetic_values, synthetic_table),
    "chain": Part(measure_chain, chain_values),
    "whales": Part(measure_whales, whales_values),
    "evidence": Part(measure_evidence, evidence_values, evidence_table),
    "predictive": Part(measure_predictive, predictive_values),
}

if __name__ == "__main__":
    _record.main(__file__, __doc__, PARTS)
