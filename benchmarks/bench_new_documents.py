"""Errors of the topic proportions of new documents: coverage of `doc_topic_posterior` by length, and its cost.

    python benchmarks/bench_new_documents.py
    python benchmarks/bench_new_documents.py --parts coverage --corpora 40
    python benchmarks/bench_new_documents.py --parts figure --figure doc/_static/new_documents.svg

coverage   intervals of 95 % of the proportions of new documents of 10, 50 and 150 words. The topics are those of the
           truth, of fits, and draws of the posterior of fits. New documents have mixes of three kinds: of the prior;
           half of a topic and half of another one; all topics alike. The prior hardly has the last two. Fits begin at
           the true topics: whether a fit finds these is another question. Their prior does not know that the words of
           the corpora have the frequencies of Zipf's law.
cost       CPU seconds of `doc_topic_posterior`, by those of `transform`.
figure     errors against length: the distance of posterior means from the truth, and two standard deviations.
"""

import argparse
from pathlib import Path

import numpy as np
from report import say, table, timed
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix

from sklda import GibbsLDA
from sklda.datasets import make_lda_corpus

PARTS = ("coverage", "cost", "figure")
LENGTHS = 10, 50, 150
K, V = 8, 600
# Neither these nor the sizes are defaults of a fit.
ALPHA = np.array([0.9, 0.6, 0.4, 0.3, 0.2, 0.15, 0.1, 0.08])


def training(rng, n_documents=1000):
    return make_lda_corpus(
        n_documents,
        V,
        K,
        doc_length=(30, 200),
        doc_topic_prior=ALPHA,
        topic_word_prior=0.08,
        zipf_exponent=0.9,
        random_state=int(rng.integers(2**31)),
    )


def fit(X, phi, rng):
    return GibbsLDA(K, max_iter=300, init=known_topics(phi), random_state=int(rng.integers(2**31))).fit(X)


def mixes(rng, kind, n_documents):
    if kind == "of the prior":
        return rng.dirichlet(ALPHA, n_documents)
    if kind == "all topics alike":
        return np.full((n_documents, K), 1 / K)
    theta = np.zeros((n_documents, K))
    for row in theta:
        row[rng.choice(K, 2, replace=False)] = 0.5
    return theta


def words(rng, theta, phi, length):
    return csr_matrix([rng.multinomial(length, p / p.sum()) for p in theta @ phi])


def known_topics(phi):
    """A fitted estimator whose topics and prior are those of the truth."""
    lda = GibbsLDA(K, max_iter=1, random_state=0).fit(np.ones((2, V), int))
    lda.components_, lda.doc_topic_prior_ = phi, ALPHA
    return lda


def coverage(options):
    found = {}
    for seed in range(options.corpora):
        rng = np.random.default_rng([seed, 1])
        corpus = training(rng)
        phi = corpus.topic_word
        lda = fit(corpus.data, phi, rng)
        order = linear_sum_assignment(-np.sqrt(phi) @ np.sqrt(lda.topic_word_).T)[1]
        models = {
            "of the truth": (known_topics(phi), np.arange(K), {}),
            "of a fit": (lda, order, {}),
            "draws of a fit": (lda, order, {"topic_uncertainty": True}),
        }
        for kind in ("of the prior", "two topics, half each", "all topics alike"):
            for length in LENGTHS:
                theta = mixes(rng, kind, options.documents)
                X = words(rng, theta, phi, length)
                for name, (model, place, given) in models.items():
                    posterior = model.doc_topic_posterior(X, n_draws=options.samples, **given)
                    low, high = (each[:, place] for each in posterior.interval(0.95))
                    # A proportion of exactly zero is below every draw, however near to zero these are.
                    inside = (low <= np.maximum(theta, 1e-3 * (theta == 0))) & (theta <= high)
                    error = posterior.mean[:, place] - theta
                    rmse, std = np.sqrt((error**2).mean()), np.sqrt((posterior.std**2).mean())
                    found.setdefault((kind, length, name), []).append((inside.mean(), rmse, std))
    rows = []
    for (kind, length, name), each in found.items():
        inside, rmse, std = np.array(each).T
        error = inside.std(ddof=1) / np.sqrt(len(inside)) if len(inside) > 1 else np.nan
        rows.append(
            [kind, str(length), name, f"{inside.mean():.3f} ± {error:.3f}", f"{rmse.mean():.3f}", f"{std.mean():.3f}"]
        )
    table("", ["mixes", "words", "topics", "coverage", "error", "standard deviation"], rows)


def cost(options):
    rows = []
    for n_topics, length in ((20, 100), (20, 20), (100, 100)):
        X = make_lda_corpus(2000, 2000, n_topics, doc_length=length, random_state=0).data
        lda = GibbsLDA(n_topics, max_iter=20, random_state=0).fit(X)
        lda.transform(X)
        plain = min(timed(lda.transform, X)[1] for _ in range(3))
        for uncertain in (False, True):
            own = timed(lda.doc_topic_posterior, X, n_draws=100, topic_uncertainty=uncertain)[1]
            rows.append(
                [str(n_topics), str(length), str(uncertain), f"{plain:.2f}", f"{own:.2f}", f"{own / (10 * plain):.1f}"]
            )
    table(
        "", ["topics", "words", "topic_uncertainty", "transform, s", "100 draws, s", "by transform x draws / 10"], rows
    )


def figure(options):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "sklda"
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    corpus = training(rng)
    phi = corpus.topic_word
    lda = fit(corpus.data, phi, rng)
    order = linear_sum_assignment(-np.sqrt(phi) @ np.sqrt(lda.topic_word_).T)[1]
    lengths = np.round(np.exp(rng.uniform(np.log(3), np.log(300), 400))).astype(int)
    theta = mixes(rng, "of the prior", len(lengths))
    X = csr_matrix([rng.multinomial(n, p / p.sum()) for n, p in zip(lengths, theta @ phi, strict=True)])
    posterior = lda.doc_topic_posterior(X, n_draws=200, topic_uncertainty=True)
    error = (posterior.mean[:, order] - theta)[:, 0]
    std = posterior.std[:, order][:, 0]
    fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
    inside = np.abs(error) < 2 * std
    ax.vlines(lengths, -2 * std, 2 * std, color="0.85", linewidth=1, zorder=1)
    ax.scatter(lengths[inside], error[inside], s=9, color="#1f77b4", label="error of the posterior mean", zorder=2)
    ax.scatter(lengths[~inside], error[~inside], s=9, color="#d62728", label="beyond two standard deviations", zorder=2)
    ax.set_xscale("log")
    ax.set_xticks([3, 10, 30, 100, 300], ["3", "10", "30", "100", "300"])
    ax.minorticks_off()
    ax.set_xlabel("words of the document")
    ax.set_ylabel("proportion of a topic,\nposterior mean less truth")
    ax.legend(frameon=False, fontsize=8)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    fig.savefig(options.figure, metadata={"Date": None})
    say(f"{(~inside).mean():.3f} of the errors are beyond two standard deviations")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--corpora", type=int, default=20)
    parser.add_argument("--documents", type=int, default=200, help="new documents of each length and kind")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--figure", type=Path, default=Path("new_documents.svg"))
    options = parser.parse_args()
    for part in options.parts:
        say(part)
        globals()[part](options)


if __name__ == "__main__":
    main()
