"""Covariates: coverage of intervals, cost, and held-out likelihood compared with tomotopy's DMRModel and CompoundLDA.

    python benchmarks/bench_covariates.py                    all parts
    python benchmarks/bench_covariates.py --parts coverage --corpora 100 --json figures.json

coverage   95 % intervals of the effects of a number on simulated corpora of 15 and 50 words a document: the
           coefficients of CovariateLDA, and the linear effects on proportions by the method of composition after
           GibbsLDA, CompoundLDA (the number cut into five groups) and CovariateLDA.
levels     95 % intervals of a category of 2, 10 and 50 levels, whose effects have a standard deviation of 0 to 1, and
           of a number beside it. Documents have 15 to 60 words on average, and proportions are Dirichlet or logistic
           normal.
held_out   one simulated corpus with a category of three levels: seconds, and held-out log-likelihood of new documents
           given their covariates. All by the same guided annealed importance sampling.
groups     the mixtures of three groups by CompoundLDA and by CovariateLDA on a simulated corpus, and the truth.
sweeps     CPU seconds of a sweep with its draws of coefficients, divided by those of a sweep of LDA, with categories of
           many levels that have effects. Medians; the two models take turns.
cost       CPU seconds of a fit with ten covariates that differ between all documents, and of fits with a category of 3,
           300 and 600 levels, divided by those of GibbsLDA.

Costs are CPU seconds of the process.
"""

import argparse
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from report import say, table, timed
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.special import softmax

from sklda import CompoundLDA, CovariateLDA, GibbsLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._models.covariates.coefficients import Coefficients, CovariateModel
from sklda._models.covariates.prior import CovariateColumns
from sklda._sampling.choice import chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.steps import advance
from sklda.datasets import make_lda_corpus
from sklda.inspection import topic_effects
from sklda.metrics import held_out_log_likelihood

PARTS = ("coverage", "levels", "held_out", "groups", "sweeps", "cost")


def draw_corpus(rng, design, coefficients, phi, length):
    """Counts of documents, and their alpha."""
    alpha = np.exp(design @ coefficients.T)
    theta = np.array([rng.dirichlet(each) for each in alpha])
    return csr_matrix([rng.multinomial(length, each) for each in theta @ phi]), alpha


def matched(topic_word, phi):
    """The order of the topics that belong to those of the truth."""
    return linear_sum_assignment(-np.sqrt(phi) @ np.sqrt(topic_word).T)[1]


def show(header, rows):
    table("", header, [[each if isinstance(each, str) else f"{each:.4g}" for each in row] for row in rows])


# --- coverage ---------------------------------------------------------------------------------------------------------


def effects(X, lda, x, order, rng):
    """Slopes of the proportions on x, and their intervals."""
    rows = topic_effects(lda, X, x, random_state=int(rng.integers(2**31)))
    found = np.array([rows[name] for name in ("estimate", "low", "high")])[:, 1::2]
    return found[:, order]


def coverage(options, K=5, V=200, D=300):
    found = []
    for length in (15, 50):
        inside, ratios = {}, {}
        for seed in range(options.corpora):
            rng = np.random.default_rng([length, seed])
            phi, x = rng.dirichlet(np.full(V, 0.05), size=K), rng.standard_normal(D)
            coefficients = np.column_stack([np.log(0.4) + 0.3 * rng.standard_normal(K), 0.5 * rng.standard_normal(K)])
            design = np.column_stack([np.ones(D), x])
            X, alpha = draw_corpus(rng, design, coefficients, phi, length)
            # The linear effect on the expected proportions.
            slope = np.linalg.lstsq(design, alpha / alpha.sum(axis=1, keepdims=True), rcond=None)[0][1]
            groups = np.digitize(x, np.quantile(x, [0.2, 0.4, 0.6, 0.8]))
            fits = {
                "CovariateLDA": (CovariateLDA, {"covariates": x}),
                "GibbsLDA": (GibbsLDA, {}),
                "CompoundLDA": (CompoundLDA, {"collections": groups}),
            }
            for name, (kind, known) in fits.items():
                lda = kind(K, max_iter=options.sweeps, random_state=seed).fit(X, **known)
                order = matched(lda.topic_word_, phi)
                estimate, low, high = effects(X, lda, x, order, rng)
                inside.setdefault(f"composition after {name}", []).append((low <= slope) & (slope <= high))
                ratios.setdefault(f"composition after {name}", []).append((estimate @ slope, slope @ slope))
                if kind is CovariateLDA:
                    truth, own, std = coefficients[:, 1], lda.coef_[order, 0], lda.coef_std_[order, 0]
                    inside.setdefault("coef_ ± 1.96 coef_std_", []).append(np.abs(own - truth) < 1.96 * std)
                    ratios.setdefault("coef_ ± 1.96 coef_std_", []).append((own @ truth, truth @ truth))
        for name, each in inside.items():
            top, bottom = np.sum(ratios[name], axis=0)
            by_corpus = np.mean(each, axis=1)
            error = by_corpus.std(ddof=1) / np.sqrt(len(by_corpus))
            found.append([length, name, float(by_corpus.mean()), float(error), float(top / bottom)])
    show(["words", "intervals", "coverage", "its error", "estimate / truth"], found)
    return found


# --- levels of a category ---------------------------------------------------------------------------------------------

# Standard deviations of the effects of levels, in turn, and of log proportions if these are logistic normal.
SPREADS, SPREAD_OF_DOCUMENTS = (0.0, 0.2, 0.5, 1.0), 1.0


@dataclass
class LevelCorpus:
    """A simulated corpus with a category and a number."""

    X: csr_matrix
    covariates: dict[str, np.ndarray]
    names: np.ndarray  # of the levels
    phi: np.ndarray
    effects: np.ndarray | None  # of levels on log alpha, (n_levels, K), and `slopes`, (K,); None if there is no alpha
    slopes: np.ndarray | None
    shares: np.ndarray  # mean proportions at each level where the number is zero, (n_levels, K)
    expected: np.ndarray  # mean proportions of each document, (D, K)


def level_corpus(n_levels, seed, D=600, V=300):
    rng = np.random.default_rng([n_levels, seed])
    spread, K, is_dirichlet = SPREADS[seed % 4], 3 + seed // 4 % 4, seed // 16 % 2 == 0
    phi = rng.dirichlet(np.full(V, rng.uniform(0.03, 0.15)), size=K)
    # Levels have different numbers of documents, and each has one.
    level = np.r_[np.arange(n_levels), rng.choice(n_levels, D - n_levels, p=rng.dirichlet(np.full(n_levels, 3.0)))]
    rng.shuffle(level)
    x, mean_length = rng.standard_normal(D), rng.uniform(15, 60)
    lengths = np.maximum(rng.negative_binomial(3, 3 / (3 + mean_length), size=D), 2)
    effects, slopes = spread * rng.standard_normal((n_levels, K)), 0.3 * rng.standard_normal(K)
    intercepts = 0.4 * rng.standard_normal(K) + (np.log(rng.uniform(0.15, 0.9)) if is_dirichlet else 0)

    def mean(predictors):
        if is_dirichlet:
            return np.exp(predictors) / np.exp(predictors).sum(axis=1, keepdims=True)
        return softmax(predictors[:, None] + SPREAD_OF_DOCUMENTS * noise, axis=2).mean(axis=1)

    noise = rng.standard_normal((2000, K))
    predictors = intercepts + np.outer(x, slopes) + effects[level]
    if is_dirichlet:
        theta = np.array([rng.dirichlet(np.exp(each)) for each in predictors])
    else:
        theta = softmax(predictors + SPREAD_OF_DOCUMENTS * rng.standard_normal((D, K)), axis=1)
    X = csr_matrix([rng.multinomial(n, each) for n, each in zip(lengths, theta @ phi, strict=True)])
    names = np.array([f"level {j:02d}" for j in range(n_levels)])
    known = (effects, slopes) if is_dirichlet else (None, None)
    return LevelCorpus(
        X, {"group": names[level], "x": x}, names, phi, *known, mean(intercepts + effects), mean(predictors)
    )


def inside(draws, truth):
    """The part of true values in the middle 95 % of draws."""
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    return float(((low <= truth) & (truth <= high)).mean())


def of_levels(n_levels, seed, sweeps):
    """The part of true values that intervals contain, and the learnt spread of the levels, for one corpus."""
    corpus = level_corpus(n_levels, seed)
    K = len(corpus.phi)
    lda = CovariateLDA(K, max_iter=sweeps, random_state=seed).fit(corpus.X, covariates=corpus.covariates)
    order = matched(lda.topic_word_, corpus.phi)
    # The levels come first, in order.
    levels = lda.coef_draws_[:, order, :n_levels].transpose(0, 2, 1)
    shares = softmax(lda.intercept_draws_[:, None, order] + levels, axis=2)
    found = {"learnt spread": float(lda.coef_scale_[0]), "share of a level": inside(shares, corpus.shares)}
    differences = corpus.shares - np.roll(corpus.shares, 1, axis=0)
    found["difference of shares"] = inside(shares - np.roll(shares, 1, axis=1), differences)
    if corpus.effects is not None:
        differences = corpus.effects - np.roll(corpus.effects, 1, axis=0)
        found["difference of coefficients"] = inside(levels - np.roll(levels, 1, axis=1), differences)
        found["coefficient of the number"] = inside(lda.coef_draws_[:, order, -1], corpus.slopes)
    rows = topic_effects(lda, corpus.X, corpus.covariates, random_state=seed)
    low, high = (rows[name].to_numpy().reshape(K, -1)[order] for name in ("low", "high"))
    design = np.column_stack([corpus.covariates["group"][:, None] == corpus.names, corpus.covariates["x"]])
    design[:, 0] = 1
    truth = np.linalg.lstsq(design, corpus.expected, rcond=None)[0].T
    contains = (low <= truth) & (truth <= high)
    return found | {
        "topic_effects, levels": float(contains[:, 1:-1].mean()),
        "topic_effects, number": float(contains[:, -1].mean()),
    }


def levels(options):
    found = []
    for n_levels in (2, 10, 50):
        each = [of_levels(n_levels, seed, options.sweeps) for seed in range(options.corpora)]
        for i, spread in enumerate(SPREADS):
            own = each[i::4]
            for name in dict.fromkeys(name for one in own for name in one):
                values = np.array([one[name] for one in own if name in one])
                error = values.std(ddof=1) / np.sqrt(len(values))
                found.append([str(n_levels), str(spread), name, float(values.mean()), float(error)])
    show(["levels", "spread", "", "mean", "its error"], found)
    return found


# --- held-out likelihood ----------------------------------------------------------------------------------------------


def held_out(options, K=20, V=500, D=4000, length=30):
    import tomotopy

    rng = np.random.default_rng(0)
    phi, group = rng.dirichlet(np.full(V, 0.05), size=K), rng.integers(3, size=D)
    design = np.column_stack([np.ones(D), group == 1, group == 2])
    coefficients = np.column_stack([np.log(0.1) + 0.5 * rng.standard_normal(K), rng.standard_normal((K, 2))])
    X, alpha = draw_corpus(rng, design, coefficients, phi, length)
    names = np.array(["a", "b", "c"])[group]
    train, test = slice(0, D // 2), slice(D // 2, D)

    def tomotopy_dmr():
        model = tomotopy.DMRModel(k=K, sigma=1.0, alpha=0.1, eta=0.05, seed=0)
        for d in range(D // 2):
            words = np.repeat(X[d].indices, X[d].data)
            model.add_doc([str(v) for v in words], metadata=str(names[d]))
        model.optim_interval, model.burn_in = 10, 50
        model.train(options.sweeps, workers=1)
        own = np.zeros((K, V))
        places = [int(word) for word in model.used_vocabs]
        for k in range(K):
            own[k, places] = model.get_topic_word_dist(k)
        own = np.maximum(own, 1e-9)
        prior = {name: np.array(model.get_topic_prior(str(name))) for name in "abc"}
        return own / own.sum(axis=1, keepdims=True), np.array([prior[name] for name in names[test]])

    def fitted(kind, **known):
        lda = kind(K, max_iter=options.sweeps, random_state=0).fit(X[train], **{k: v[train] for k, v in known.items()})
        if not known:
            return lda.topic_word_, lda.doc_topic_prior_
        return lda.topic_word_, lda.document_prior(next(iter(known.values()))[test])

    ways = {
        "truth": lambda: (phi, alpha[test]),
        "CovariateLDA": lambda: fitted(CovariateLDA, covariates=names),
        "CompoundLDA": lambda: fitted(CompoundLDA, collections=names),
        "GibbsLDA": lambda: fitted(GibbsLDA),
        "tomotopy DMRModel": tomotopy_dmr,
    }
    found = []
    for name, way in ways.items():
        model, cost = timed(way)
        total = held_out_log_likelihood(model, X[test], random_state=0).sum()
        found.append([name, cost, float(total / X[test].sum())])
    show(["model", "CPU s", "nats a token"], found)
    return found


# --- categories -------------------------------------------------------------------------------------------------------


def groups(options, K=6, V=300, D=900, length=30):
    rng = np.random.default_rng(0)
    phi, group = rng.dirichlet(np.full(V, 0.05), size=K), rng.integers(3, size=D)
    design = np.column_stack([np.ones(D), group == 1, group == 2])
    coefficients = np.column_stack([np.full(K, np.log(0.3)), rng.standard_normal((K, 2))])
    X, alpha = draw_corpus(rng, design, coefficients, phi, length)
    truth = np.array([alpha[np.argmax(group == j)] for j in range(3)])
    truth /= truth.sum(axis=1, keepdims=True)
    compound = CompoundLDA(K, max_iter=options.sweeps, random_state=0).fit(X, collections=group)
    lda = CovariateLDA(K, max_iter=options.sweeps, random_state=0).fit(X, covariates=group.astype(str))
    # Each group is a term.
    log_alpha = lda.intercept_draws_[:, None, :] + lda.coef_draws_.transpose(0, 2, 1)
    shares = np.exp(log_alpha) / np.exp(log_alpha).sum(axis=2, keepdims=True)
    order, other = matched(lda.topic_word_, phi), matched(compound.topic_word_, phi)
    mean, std = shares.mean(axis=0)[:, order], shares.std(axis=0)[:, order]
    theirs, their_std = compound.collection_topic_[:, other], compound.collection_topic_std_[:, other]
    found = []
    for name, a, b, spread in (
        ("CovariateLDA, CompoundLDA", mean, theirs, np.hypot(std, their_std)),
        ("CovariateLDA, truth", mean, truth, std),
        ("CompoundLDA, truth", theirs, truth, their_std),
    ):
        apart = np.abs(a - b)
        found.append([name, float(apart.mean()), float((apart / spread).mean()), float((apart / spread).max())])
    show(["shares", "mean difference", "in standard deviations", "largest"], found)
    return found


# --- sweeps with many levels ------------------------------------------------------------------------------------------

# Documents, their words, topics.
CORPORA = {"large": (10_000, 100, 50), "small": (2000, 60, 5)}
# How documents have levels of two categories: any two, each of the first with one of the second, or with three of it
# that are neighbours.
CATEGORIES = {
    "3": (3,),
    "30": (30,),
    "300": (300,),
    "600": (600,),
    "600 and 30": (600, 30),
    "300 and 300": (300, 300),
    "600 and 300": (600, 300),
    "600 in 200": (600, 200),
    "600, each in 3 of 200": (600, 200),
}


def levels_of_documents(rng, name, n_documents):
    """The level of each document of each category."""
    n, *others = CATEGORIES[name]
    first = rng.integers(n, size=n_documents)
    if " in " not in name:
        return [first, *(rng.integers(each, size=n_documents) for each in others)]
    (other,) = others
    near = rng.integers(3, size=n_documents) if "each" in name else 0
    return [first, (first * other // n + near) % other]


def advance_by(chain, n_sweeps):
    for _ in range(n_sweeps):
        advance(chain, chain.steps)


def with_coefficients(corpus, priors, seed, model):
    """A chain with random topics that draws its coefficients."""
    chain = GibbsChain.initialise_randomly(corpus, priors, random.child(seed, 0))
    chain.steps = [Coefficients(model, random.child(seed, 1))]
    chain.steps[0].begin(chain)
    return chain


def sweeps(options, V=2000):
    found = []
    for size in options.corpus:
        D, length, K = CORPORA[size]
        for name in options.categories:
            rng = np.random.default_rng(0)
            levels = levels_of_documents(rng, name, D)
            columns = np.hstack([np.eye(n)[each] for each, n in zip(levels, CATEGORIES[name], strict=True)])
            groups = np.repeat(np.arange(len(levels)), CATEGORIES[name]) + 1
            # Some levels have no document.
            used = columns.any(axis=0)
            columns, groups = columns[:, used], groups[used]
            design = np.column_stack([np.ones(D), columns])
            coefficients = rng.standard_normal((K, design.shape[1]))
            coefficients[:, 0] = np.log(0.1)
            X, _ = draw_corpus(rng, design, coefficients, rng.dirichlet(np.full(V, 0.02), size=K), length)
            corpus, priors = Corpus.from_counts(X), Priors.make(0.1, 0.02, K, V)
            rows, index = CovariateColumns.of(columns, [str(j) for j in range(columns.shape[1])], groups).distinct
            model = CovariateModel(rows, index, np.full(K, np.log(0.1)), sigma=None, groups=groups)
            seed = random.seed_sequence(0)
            chains = {
                "LDA": chain_class("collapsed", corpus, priors).initialise_randomly(corpus, priors, seed),
                "covariates": with_coefficients(corpus, priors, seed, model),
            }
            every = model.sweeps_between
            # As many sweeps as a whole number of draws needs.
            n = every * -(-options.sweeps_each // every)
            costs = {each: [] for each in chains}
            for repeat in range(options.cost_repeats + 1):
                for each, chain in chains.items():
                    cost = timed(partial(advance_by, chain, n))[1] / n
                    # The first ones are a warm-up.
                    if repeat:
                        costs[each].append(cost)
            plain, own = (float(np.median(each)) for each in costs.values())
            found.append([size, name, len(rows), every, plain, own, own / plain])
            say(found[-1])
    show(["corpus", "levels", "rows", "draw every", "LDA, s", "covariates, s", "ratio"], found)
    return found


# --- cost -------------------------------------------------------------------------------------------------------------


def cost(options, K=50, V=10_000, D=10_000, length=100):
    X = make_lda_corpus(
        D, V, K, doc_length=length, doc_topic_prior=0.1, topic_word_prior=0.01, zipf_exponent=1.0, random_state=0
    ).data
    covariates = {"ten numbers": np.random.default_rng(0).standard_normal((D, 10))}
    covariates |= {f"{n} levels": [f"level {d % n}" for d in range(D)] for n in (3, 300, 600)}
    found = []
    for _ in range(options.repeats):
        plain = timed(GibbsLDA(K, max_iter=options.cost_sweeps, random_state=0).fit, X)[1]
        for name, given in covariates.items():
            lda = CovariateLDA(K, max_iter=options.cost_sweeps, random_state=0)
            own = timed(lda.fit, X, covariates=given)[1]
            found.append([name, plain, own, own / plain])
    show(["covariates", "GibbsLDA, s", "CovariateLDA, s", "ratio"], found)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--corpora", type=int, default=100, help="simulated corpora of each length")
    parser.add_argument("--sweeps", type=int, default=500, help="sweeps of a fit")
    parser.add_argument("--cost-sweeps", type=int, default=200, help="sweeps of a fit in the part cost")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--corpus", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--categories", nargs="+", choices=CATEGORIES, default=list(CATEGORIES))
    parser.add_argument("--sweeps-each", type=int, default=14, help="sweeps of a repeat in the part sweeps, at least")
    parser.add_argument("--cost-repeats", type=int, default=5, help="repeats of the part sweeps")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {}
    for part in options.parts:
        say(part)
        found[part] = globals()[part](options)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
