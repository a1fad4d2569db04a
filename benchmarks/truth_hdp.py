"""The parts of `bench_truth` on the hierarchical Dirichlet process: intervals of the number of topics in use."""

import numpy as np
from report import fitted, table
from truth_topic_count import KINDS

from sklda import HDPLDA
from sklda._core import random
from sklda.datasets import make_compound_lda_corpus, make_lda_corpus

# Documents, words, tokens of a document, eta.
HDP_SHAPES = (
    (60, 50, 50, 0.1),
    (100, 200, 40, 0.05),
    (150, 100, 30, 0.2),
    (200, 400, 20, 0.05),
    (80, 300, 80, 0.1),
    (300, 150, 25, 0.3),
    (400, 100, 20, 0.1),
    (60, 400, 100, 0.05),
    (120, 250, 60, 0.2),
    (250, 200, 30, 0.1),
)


# Drawn at random after the defaults were chosen.
NEW_HDP_SHAPES = ((147, 482, 29, 0.4), (291, 106, 82, 0.07), (348, 308, 31, 0.25), (113, 407, 40, 0.15))


def draw_hdp(rng, a, gamma, eta, n_documents, n_features, length, K=2000):
    """Counts and topics of an HDP, with the weak limit at a large K."""
    pi = np.exp(random.log_dirichlet(rng, np.full((1, K), a / K)))[0]
    theta = np.exp(random.log_dirichlet(rng, np.maximum(gamma * pi, 1e-12)[None].repeat(n_documents, axis=0)))
    X, used = np.zeros((n_documents, n_features), np.int64), np.zeros(K, np.int64)
    phi = {}
    for d, row in enumerate(theta):
        n = rng.multinomial(length, row / row.sum())
        used += n
        for k in np.flatnonzero(n):
            if k not in phi:
                phi[k] = rng.dirichlet(np.full(n_features, eta))
            X[d] += rng.multinomial(n[k], phi[k])
    return X, used


def hdp(seed, options, entropy=43, shapes=HDP_SHAPES):
    """A corpus of the model, with a and gamma from their default priors, and the intervals by defaults."""
    rng, shape = np.random.default_rng([entropy, seed]), shapes[seed % len(shapes)]
    n_documents, n_features, length, eta = shape
    a, gamma = rng.gamma(1.0) / 0.1, rng.gamma(1.0)
    X, used = draw_hdp(rng, a, gamma, eta, n_documents, n_features, length)
    found = _hdp_found(X, np.sort(used)[::-1], seed, options)
    return {"shape": str(shape), "eta": eta, "a": a, "gamma": gamma, **found}


def new_hdp(seed, options):
    """As `hdp`, with shapes that had no part in the choice of defaults."""
    return hdp(seed, options, 45, NEW_HDP_SHAPES)


def hdp_one_topic(seed, options):
    """A corpus with one topic, of 60 to 400 documents."""
    rng = np.random.default_rng([44, seed])
    n_documents, n_features, length = (int(rng.integers(*ends)) for ends in ((60, 401), (50, 401), (20, 61)))
    eta = float(rng.choice([0.1, 0.3, 1.0]))
    sizes = {"doc_length": length, "topic_word_prior": eta}
    X = make_lda_corpus(n_documents, n_features, 1, **sizes, random_state=seed).data
    return {"shape": "one topic", "eta": eta, **_hdp_found(X, np.array([X.sum()]), seed, options)}


def hdp_of_others(seed, options):
    """A corpus with a fixed number of topics that the HDP did not make: of LDA, with bursts, of one distribution."""
    kind = KINDS[seed % len(KINDS)]
    X, sizes = kind(np.random.default_rng([2028, seed]))
    return {"shape": kind.__doc__.rstrip("."), **_hdp_found(X, np.sort(sizes)[::-1], seed, options)}


def hdp_of_collections(seed, options):
    """A corpus of compound LDA, of two to four collections that have 3 to 20 topics with independent mixtures."""
    rng = np.random.default_rng([2029, seed])
    J, T, V = (int(rng.integers(*ends)) for ends in ((2, 5), (3, 21), (200, 1001)))
    corpus = make_compound_lda_corpus(
        rng.integers(50, 151, J),
        V,
        T,
        doc_length=int(rng.integers(30, 91)),
        collection_topic_prior=0.5,
        doc_concentration=float(np.exp(rng.uniform(np.log(0.5), np.log(5)))),
        topic_word_prior=float(np.exp(rng.uniform(np.log(0.02), np.log(0.2)))),
        random_state=seed,
    )
    sizes = np.sort(np.bincount(corpus.topic_assignments, minlength=T))[::-1]
    found = _hdp_found(corpus.data, sizes, seed, options, collections=corpus.collections)
    return {"shape": "compound LDA", **found}


def _hdp_found(X, sizes, seed, options, **data):
    lda, seconds = fitted(HDPLDA(**options.parameters, random_state=seed), X, **data)
    large = int(np.searchsorted(np.cumsum(sizes.ravel()), 0.99 * sizes.sum())) + 1
    return {
        "tokens": int(X.sum()),
        "true": int((sizes > 0).sum()),
        "interval": lda.topic_count_interval_,
        "mean": lda.topic_count_mean_,
        "large": large,
        "large_interval": lda.large_topic_count_interval_,
        "large_mean": lda.large_topic_count_mean_,
        "eta_found": float(lda.topic_word_prior_),
        "n_components": lda.max_components,
        "chain_means": [float(each.mean()) for each in np.split(lda.large_topic_count_draws_, lda.n_chains)],
        "common": common_share(lda),
        "r_hat": lda.diagnostics_["topic_count"].r_hat,
        "concentrations": {
            name: np.quantile(each, [0.025, 0.975]).tolist() for name, each in lda.concentration_draws_.items()
        },
        "seconds": seconds,
    }


def common_share(lda, prevalence=0.75):
    """The share of the tokens that are in topics which most of the chains have."""
    return float(lda.topic_share_[lda.topic_prevalence_ >= prevalence].sum())


def hdp_table(found):
    def inside_share(name, own):
        inside = [low <= each[name] <= high for each in own for low, high in [each[_INTERVALS[name]]]]
        return f"{np.mean(inside):.2f}"

    def concentrations(own):
        """How often the intervals of a and of gamma contain them."""
        names = {"topic_concentration": "a", "doc_concentration": "gamma"}
        known = [each for each in own if "a" in each]
        shares = [
            np.mean([low <= each[short] <= high for each in known for low, high in [each["concentrations"][name]]])
            for name, short in names.items()
        ]
        return ", ".join(f"{share:.2f}" for share in shares) if known else ""

    def error(mean, name, own):
        return f"{np.mean([each[mean] - each[name] for each in own]):+.1f}"

    rows = []
    for shape in [*sorted({each["shape"] for each in found}), None]:
        own = [each for each in found if shape in (None, each["shape"])]
        ratio = np.exp(np.mean([np.log(each["eta_found"] / each["eta"]) for each in own]))
        words = "all" if shape is None else shape
        median = f"{np.median([each['true'] for each in own]):.0f}"
        rows.append([words, str(len(own)), median, inside_share("true", own), error("mean", "true", own),
                     inside_share("large", own), error("large_mean", "large", own), concentrations(own), f"{ratio:.2f}",
                     f"{np.median([each['seconds'] for each in own]):.1f}"])  # fmt: skip
    header = [
        "shape",
        "corpora",
        "topics",
        "inside",
        "error",
        "99 %",
        "error",
        "a, gamma",
        "eta : true",
        "median CPU s",
    ]
    table("intervals of 95 % for the number of topics in use", header, rows)


_INTERVALS = {"true": "interval", "large": "large_interval"}


def hdp_of_others_table(found):
    """How the numbers compare with a number of topics that the model does not have."""
    rows = []
    for shape in [*dict.fromkeys(each["shape"] for each in found), None]:
        own = [each for each in found if shape in (None, each["shape"])]
        inside = [
            sum(low <= each[name] <= high for each in own for low, high in [each[_INTERVALS[name]]])
            for name in ("true", "large")
        ]
        above = sum(each["interval"][0] > each["true"] for each in own)
        ratio = np.exp(np.mean([np.log(each["large_mean"] / each["large"]) for each in own]))
        cut = sum(each["interval"][1] > each["n_components"] / 2 for each in own)
        rows.append(
            [
                "all" if shape is None else shape,
                str(len(own)),
                f"{np.median([each['true'] for each in own]):.0f}",
                f"{np.median([each['mean'] for each in own]):.0f}",
                str(inside[0]),
                str(above),
                str(inside[1]),
                f"{ratio:.2f}",
                f"{np.median([each['eta_found'] for each in own]):.3f}",
                str(sum(each["r_hat"] > 1.5 for each in own)),
                str(cut),
                f"{np.median([each['seconds'] for each in own]):.1f}",
            ]
        )
    header = [
        "corpora",
        "number",
        "topics",
        "found",
        "inside",
        "above",
        "99 % inside",
        "99 % : true",
        "eta",
        "R-hat > 1.5",
        "cut",
        "median CPU s",
    ]
    table("intervals of 95 % for a number of topics that is fixed", header, rows)
