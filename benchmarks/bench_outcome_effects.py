"""Effects of topics on an outcome: bias, coverage and cost of `outcome_effects`, beside least squares on `transform`.

    python benchmarks/bench_outcome_effects.py
    python benchmarks/bench_outcome_effects.py --parts linear --corpora 100

linear       documents of 10 to 200 words; outcomes of which the topics explain nothing, a tenth, half, and 0.8. Also
             least squares on `transform` with its usual errors, and on draws of theta.
covariates   a covariate that goes together with the topics, and has an effect of its own, for GibbsLDA, which does not
             know it, and CovariateLDA, which does.
logistic     outcomes of 0 and 1, for means of theta and for draws of it.
new          topics of 100 documents, used on 600 others whose lengths differ and whose alpha is another one.
limits       a wrong number of topics; similar topics, of which fits of random starts miss some, for one chain and the
             topics of several fits; a prior of another form.
figure       estimates by true effects against length, with topics that are known.
cost         CPU seconds for 5,000 documents with 20 topics.

Neither the priors of the corpora nor their sizes are defaults of the fits. Words have the frequencies of Zipf's law,
which the prior of the fits does not know. Chains begin at the true topics, so that they are in the right mode; in the
part limits they do not. Ratios are slopes of the estimates on the true contrasts of all topics.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from report import say, table
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix

from sklda import ConsensusTopics, CovariateLDA, GibbsLDA
from sklda.datasets import make_lda_corpus
from sklda.inspection import outcome_effects

PARTS = ("linear", "covariates", "logistic", "new", "limits", "figure", "cost")
K, V, D = 5, 400, 1000
ALPHA = np.array([0.8, 0.5, 0.35, 0.25, 0.2])
B = np.array([0.5, 1.0, -1.0, -0.4, 1.5])


def draw_corpus(rng, length, n_documents=D, alpha=ALPHA, eta=0.08):
    """Counts, topics and shares. alpha may have a row for each document."""
    topics = make_lda_corpus(
        1, V, K, doc_length=1, topic_word_prior=eta, zipf_exponent=0.9, random_state=int(rng.integers(2**31))
    ).topic_word
    theta = np.array([rng.dirichlet(each) for each in np.broadcast_to(alpha, (n_documents, K))])
    return words(rng, theta @ topics, np.full(n_documents, length)), topics, theta


def words(rng, distributions, lengths):
    """Counts of documents of these lengths."""
    return csr_matrix([rng.multinomial(n, p / p.sum()) for n, p in zip(lengths, distributions, strict=True)])


def places(lda, topics):
    """The topic of the fit that belongs to each of the truth."""
    return linear_sum_assignment(-np.sqrt(topics) @ np.sqrt(lda.topic_word_).T)[1]


def finds_all(lda, topics):
    """Whether each true topic is near one of the fit."""
    nearest = lda.topic_word_[places(lda, topics)]
    return bool((np.sqrt(topics * nearest).sum(axis=1) > 0.85).all())


def noise_for(signal, explained):
    """The standard deviation of noise with which a signal explains this part of the variance."""
    return signal.std() * np.sqrt((1 - explained) / explained)


def others(theta):
    """(K, K): the contrasts of `outcome_effects`, each topic less the others by their mean shares."""
    shares = theta.mean(axis=0)
    found = np.eye(K)
    for k in range(K):
        rest = np.delete(np.arange(K), k)
        found[k, rest] = -shares[rest] / shares[rest].sum()
    return found


def plug_in(theta, y, contrasts, extra=None):
    """Least squares with its usual errors: estimates and standard errors of the contrasts."""
    columns = theta if extra is None else np.column_stack([theta, extra])
    inverse = np.linalg.inv(columns.T @ columns)
    coefficients = inverse @ columns.T @ y
    residuals = y - columns @ coefficients
    variance = residuals @ residuals / (len(y) - columns.shape[1])
    wide = contrasts if extra is None else np.column_stack([contrasts, np.zeros(len(contrasts))])
    return wide @ coefficients, np.sqrt(variance * np.einsum("ck,kl,cl->c", wide, inverse, wide))


class Records:
    """Estimates, errors and true values by the names of rows."""

    def __init__(self):
        self.found = {}

    def add(self, name, estimate, low, high, truth):
        inside = (low <= truth) & (truth <= high)
        self.found.setdefault(name, []).append((estimate, truth, inside))

    def show(self, header):
        rows = []
        for name, each in self.found.items():
            estimate, truth, inside = (np.array(values, float) for values in zip(*each, strict=True))
            known = ~np.isnan(estimate)
            inside = np.array([own[ok].mean() for own, ok in zip(inside, known, strict=True) if ok.any()])
            error = inside.std(ddof=1) / np.sqrt(len(inside)) if len(inside) > 1 else np.nan
            e, t = estimate[known], truth[known]
            ratio = f"{(e @ t) / (t @ t):.2f}" if np.abs(t).max() > 1e-9 else "-"
            bias = np.abs(np.nanmean(estimate - truth, axis=0)).max()
            rows.append([*name, ratio, f"{bias:.3f}", f"{inside.mean():.3f} ± {error:.3f}"])
        table("", [*header, "estimate / truth", "largest bias", "coverage"], rows)


def of_truth(topics):
    """A model with the true topics, at which chains begin."""
    lda = GibbsLDA(K, max_iter=1, random_state=0).fit(np.ones((2, V), int))
    lda.components_, lda.doc_topic_prior_ = topics, ALPHA
    return lda


def fitted(X, topics, rng):
    return GibbsLDA(K, max_iter=300, init=of_truth(topics), random_state=int(rng.integers(2**31))).fit(X)


def linear(options):
    records = Records()
    for length in options.lengths:
        for seed in range(options.corpora):
            rng = np.random.default_rng([seed, length, 1])
            X, topics, theta = draw_corpus(rng, length)
            lda = fitted(X, topics, rng)
            place = places(lda, topics)
            signal, contrasts = theta @ B, others(theta)
            transformed = lda.transform(X)[:, place]
            for explained in (0.0, 0.1, 0.5, 0.8):
                b = B if explained else np.zeros(K)
                sd = noise_for(signal, explained) if explained else 1.0
                y = theta @ b + sd * rng.standard_normal(len(theta))
                rows = outcome_effects(lda, X, y, random_state=0).iloc[:K].iloc[place]
                truth = contrasts @ b
                key = str(length), f"{explained:g}"
                records.add(
                    (*key, "outcome_effects"), *(rows[c].to_numpy() for c in ("estimate", "low", "high")), truth
                )
                estimate, error = plug_in(transformed, y, contrasts)
                records.add((*key, "on transform"), estimate, estimate - 1.96 * error, estimate + 1.96 * error, truth)
                # Their errors are those of the draws of topics that do not know the outcome.
                drawn, half = rows["from_draws"].to_numpy(), ((rows["high"] - rows["low"]) / 2).to_numpy()
                records.add((*key, "on draws"), drawn, drawn - half, drawn + half, truth)
    records.show(["words", "explained", "method"])


def covariates(options):
    records = Records()
    slope = np.array([0.6, -0.6, 0.3, 0.0, -0.3])
    for length in (10, 12, 30, 100):
        for seed in range(options.corpora):
            rng = np.random.default_rng([seed, length, 2])
            x = rng.standard_normal(D)
            X, topics, theta = draw_corpus(rng, length, alpha=ALPHA * np.exp(x[:, None] * slope))
            signal, contrasts = theta @ B, others(theta)
            y = signal + 0.3 * x + noise_for(signal, 0.5) * rng.standard_normal(D)
            seed_of_fit = int(rng.integers(2**31))
            gibbs = fitted(X, topics, rng)
            known = CovariateLDA(K, max_iter=300, random_state=seed_of_fit).fit(X, covariates=x)
            # It cannot begin at the truth, and its random starts may miss topics.
            if not finds_all(known, topics):
                continue
            for name, model in (("GibbsLDA", gibbs), ("CovariateLDA", known)):
                place = places(model, topics)
                rows = outcome_effects(model, X, y, x, random_state=0)
                own, last = rows.iloc[:K].iloc[place], rows.iloc[-1:]
                columns = ("estimate", "low", "high")
                records.add((str(length), name, "topics"), *(own[c].to_numpy() for c in columns), contrasts @ B)
                records.add((str(length), name, "covariate"), *(last[c].to_numpy() for c in columns), np.array([0.3]))
            place = places(gibbs, topics)
            estimate, error = plug_in(gibbs.transform(X)[:, place], y, contrasts, x)
            records.add(
                (str(length), "on transform", "topics"),
                estimate,
                estimate - 1.96 * error,
                estimate + 1.96 * error,
                contrasts @ B,
            )
    records.show(["words", "model", "effects"])


def logistic(options):
    records = Records()
    for length in (10, 20, 100):
        for seed in range(options.corpora):
            rng = np.random.default_rng([seed, length, 3])
            X, topics, theta = draw_corpus(rng, length)
            lda = fitted(X, topics, rng)
            place, contrasts = places(lda, topics), others(theta)
            for size in (0.0, 1.0, 3.0):
                y = rng.random(len(theta)) < 1 / (1 + np.exp(-(size * theta @ B - 0.3)))
                rows = outcome_effects(lda, X, y, family="logistic", random_state=0).iloc[:K].iloc[place]
                key = str(length), f"{size:g}"
                columns = (rows[c].to_numpy() for c in ("estimate", "low", "high"))
                records.add((*key, "outcome_effects"), *columns, size * contrasts @ B)
                drawn, half = rows["from_draws"].to_numpy(), ((rows["high"] - rows["low"]) / 2).to_numpy()
                records.add((*key, "on draws"), drawn, drawn - half, drawn + half, size * contrasts @ B)
    records.show(["words", "size of effects", "method"])


def new(options):
    records = Records()
    for seed in range(options.corpora):
        rng = np.random.default_rng([seed, 6])
        X, topics, _ = draw_corpus(rng, 40, n_documents=100)
        lda = fitted(X, topics, rng)
        place = places(lda, topics)
        theta = rng.dirichlet(ALPHA[[0, 1, 4, 3, 2]], 600)
        lengths = np.maximum(rng.poisson(40 * np.exp(0.5 * rng.standard_normal(600))), 2)
        X = words(rng, theta @ topics, lengths)
        signal, contrasts = theta @ B, others(theta)
        for explained in (0.0, 0.1, 0.5, 0.8):
            b = B if explained else np.zeros(K)
            sd = noise_for(signal, explained) if explained else 1.0
            y = theta @ b + sd * rng.standard_normal(len(theta))
            rows = outcome_effects(lda, X, y, random_state=0).iloc[:K].iloc[place]
            records.add((f"{explained:g}",), *(rows[c].to_numpy() for c in ("estimate", "low", "high")), contrasts @ b)
    records.show(["explained"])


def limits(options):
    records = Records()
    columns = ("estimate", "low", "high")
    for seed in range(options.corpora):
        rng = np.random.default_rng([seed, 4])
        X, topics, theta = draw_corpus(rng, 30)
        signal, contrasts = theta @ B, others(theta)
        y = signal + noise_for(signal, 0.5) * rng.standard_normal(D)
        for n in (3, 5, 8):
            lda = GibbsLDA(n, max_iter=400, random_state=seed).fit(X)
            if n >= K:
                place = places(lda, topics)
            else:
                # The nearest topic of the fit; several true topics may have the same.
                place = (np.sqrt(topics) @ np.sqrt(lda.topic_word_).T).argmax(axis=1)
            own = outcome_effects(lda, X, y, random_state=0).iloc[:n].iloc[place]
            records.add((f"{n} topics for 5",), *(own[c].to_numpy() for c in columns), contrasts @ B)
        # Logistic normal shares with correlated topics.
        root = np.array([[1, 0, 0, 0, 0], [0.9, 0.5, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, -0.8, 0.6, 0], [0, 0, 0, 0, 1]])
        logits = 1.5 * rng.standard_normal((D, K)) @ root.T + np.log(ALPHA)
        theta = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        X = words(rng, theta @ topics, np.full(D, 30))
        signal, contrasts = theta @ B, others(theta)
        y = signal + noise_for(signal, 0.5) * rng.standard_normal(D)
        lda = fitted(X, topics, rng)
        own = outcome_effects(lda, X, y, random_state=0).iloc[:K].iloc[places(lda, topics)]
        records.add(("correlated shares",), *(own[c].to_numpy() for c in columns), contrasts @ B)
        # Random starts, of which some end where topics are mixed.
        X, topics, theta = draw_corpus(rng, 15, eta=0.15)
        signal, contrasts = theta @ B, others(theta)
        y = signal + noise_for(signal, 0.5) * rng.standard_normal(D)
        one = GibbsLDA(K, max_iter=150, init="random", random_state=seed).fit(X)
        own = outcome_effects(one, X, y, random_state=0).iloc[:K].iloc[places(one, topics)]
        records.add(("topics mixed, one chain",), *(own[c].to_numpy() for c in columns), contrasts @ B)
        one = GibbsLDA(K, max_iter=150, init="random", n_chains=4, random_state=seed).fit(X)
        own = outcome_effects(one, X, y, random_state=0).iloc[:K].iloc[places(one, topics)]
        records.add(("topics mixed, four chains",), *(own[c].to_numpy() for c in columns), contrasts @ B)
        fits = ConsensusTopics(GibbsLDA(K, max_iter=150, init="random"), n_fits=5, random_state=seed).fit(X)
        if fits.n_components_ < 2:
            continue
        rows = outcome_effects(fits, X, y, random_state=0)
        near = np.sqrt(topics) @ np.sqrt(fits.components_ / fits.components_.sum(axis=1, keepdims=True)).T
        true, own = linear_sum_assignment(-near)
        estimate, low, high = np.full((3, K), np.nan)
        for values, c in zip((estimate, low, high), columns, strict=True):
            values[true] = rows[c].to_numpy()[own]
        records.add(("topics mixed, topics of five fits",), estimate, low, high, contrasts @ B)
    records.show(["what is wrong"])


def figure(options):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "sklda"
    import matplotlib.pyplot as plt

    lengths, found = np.array([3, 6, 12, 25, 50, 100, 200]), []
    for length in lengths:
        for seed in range(options.corpora):
            rng = np.random.default_rng([seed, length, 5])
            X, topics, theta = draw_corpus(rng, length)
            signal, contrasts = theta @ B, others(theta)
            y = signal + noise_for(signal, 0.5) * rng.standard_normal(D)
            rows = outcome_effects((topics, ALPHA), X, y, random_state=0).iloc[:K]
            truth = contrasts @ B
            found.append([rows[c].to_numpy() @ truth / (truth @ truth) for c in ("estimate", "from_draws")])
    found = np.array(found).reshape(len(lengths), options.corpora, 2)
    fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
    ax.axhline(1, color="0.6", linewidth=0.8)
    for column, color, label in (
        (0, "#1f77b4", "posterior means"),
        (1, "#d62728", "draws that do not know the outcome"),
    ):
        middle, spread = found[:, :, column].mean(axis=1), found[:, :, column].std(axis=1)
        ax.errorbar(lengths, middle, 2 * spread, color=color, fmt="o-", capsize=3, markersize=4, label=label)
    ax.set_xscale("log")
    ax.set_xticks(lengths, map(str, lengths))
    ax.minorticks_off()
    ax.set_ylim(0, 1.6)
    ax.set_xlabel("words of a document")
    ax.set_ylabel("estimate by true effect")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    fig.savefig(options.figure, metadata={"Date": None})


def cost(options):
    corpus = make_lda_corpus(5000, 2000, 20, doc_length=100, random_state=0)
    rng = np.random.default_rng(0)
    y = corpus.doc_topic @ rng.standard_normal(20) + rng.standard_normal(5000)
    lda = GibbsLDA(20, max_iter=100, random_state=0).fit(corpus.data)
    rows = []
    for name, X, outcome, given in (
        ("documents of the fit", corpus.data, y, {}),
        ("with clusters", corpus.data, y, {"clusters": np.arange(5000) % 300}),
        ("logistic", corpus.data, y > 0, {"family": "logistic"}),
        ("new documents", corpus.data[::-1], y[::-1], {}),
    ):
        start = time.process_time()
        outcome_effects(lda, X, outcome, random_state=0, **given)
        rows.append([name, f"{time.process_time() - start:.2f}"])
    table("", ["5,000 documents, 20 topics", "CPU seconds"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--corpora", type=int, default=100)
    parser.add_argument("--lengths", nargs="+", type=int, default=[10, 30, 100, 200], help="of the part linear")
    parser.add_argument("--figure", type=Path, default=Path("outcome_effects.svg"))
    options = parser.parse_args()
    # Words have no names here, and some fits are too short on purpose.
    warnings.simplefilter("ignore")
    for part in options.parts:
        say(part)
        globals()[part](options)


if __name__ == "__main__":
    main()
