"""The parts of `bench_truth` on effects of covariates: clusters, rare categories, periods, and modes.

`cluster_effects` and `group_effects` test the linear models alone: theta is drawn, words are topics, and the posterior
of theta given the words is known. The others fit models.
"""

import warnings

import numpy as np
from report import table
from scipy.sparse import csr_matrix
from scipy.special import stdtrit

from sklda import ConsensusTopics, CovariateLDA, GibbsLDA
from sklda._core.linear_models import LinearModels
from sklda._core.same_topics import SAME_TOPIC
from sklda.datasets import load_docstrings
from sklda.inspection import topic_effects, topics_over_time
from sklda.metrics import match_topics

N_DRAWS = 20
# Sources, and whether they have equally many documents.
SOURCES = {"6 equal": (6, True), "6 unequal": (6, False), "20 equal": (20, True), "20 unequal": (20, False)}
# Documents of a group among 400, and the sum of the Dirichlet parameters of its proportions. That of the others is 20.
GROUPS = {"3, same spread": (3, 20), "20, twice the spread": (20, 4), "20, half of the spread": (20, 80)}
# Documents of a period and their tokens, and the sum of the Dirichlet parameters of their proportions. With 0.5, most
# documents have one topic.
PERIODS = {
    "50 documents of 80 words": (50, 80, 2.0),
    "10 documents of 80 words": (10, 80, 2.0),
    "10 documents of 80 words, with one topic": (10, 80, 0.5),
    "50 documents of 15 words": (50, 15, 2.0),
}


def drawn(rng, means, totals, length):
    """Posterior draws of proportions from Dirichlet distributions, given documents whose words are their topics."""
    theta = rng.standard_gamma(means * totals[:, None])
    theta /= theta.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(length, each) for each in theta])
    alpha = means.mean(axis=0) * totals.mean()
    draws = rng.standard_gamma(counts + alpha, (N_DRAWS, *counts.shape))
    return draws / draws.sum(axis=2, keepdims=True)


def with_zero(matrix, draws, clusters):
    """The part of the topics whose interval of the second term contains zero."""
    second = np.eye(matrix.shape[1])[1:2]
    low, high = LinearModels.fit(matrix, list(draws), second, clusters).summary(0.95)[2:4]
    return float(((low <= 0) & (high >= 0)).mean())


def cluster_effects(seed, options, D=600, K=5):
    """Intervals of a property of sources that has no effect; topics differ between the sources."""
    found = {}
    for name, (n, equal) in SOURCES.items():
        rng = np.random.default_rng([46, seed])
        share = np.full(n, 1 / n) if equal else rng.dirichlet(np.full(n, 2.0))
        sources = np.r_[np.arange(n), rng.choice(n, D - n, p=share)]
        own = rng.permutation(np.arange(n) % 2)[sources]
        means = np.exp(0.5 * rng.standard_normal((n, K)))
        draws = drawn(rng, (means / means.sum(axis=1, keepdims=True))[sources], np.full(D, 20.0), 60)
        matrix = np.column_stack([np.ones(D), own, rng.standard_normal(D)])
        found |= {f"{name}, clusters": with_zero(matrix, draws, sources), name: with_zero(matrix, draws, None)}
    return found


def group_effects(seed, options, D=400, K=5):
    """Intervals of the difference of a group that has the same means and another spread, in documents of 1,000 words.

    "before" is one spread for all documents, as by least squares.
    """
    found = {}
    for name, (n, total) in GROUPS.items():
        rng, group = np.random.default_rng([47, seed]), np.arange(D) < n
        draws = drawn(rng, np.full((D, K), 1 / K), np.where(group, total, 20.0), 1000)
        matrix = np.column_stack([np.ones(D), group])
        found[name] = with_zero(matrix, draws, None)
        means = np.array([[each[part].mean(axis=0) for part in (group, ~group)] for each in draws])
        rest = draws - np.where(group[:, None], means[:, :1], means[:, 1:])
        variance = (rest**2).sum(axis=1) / (D - 2) * (1 / n + 1 / (D - n))
        difference = np.subtract(*means.transpose(1, 0, 2))
        error = np.sqrt(variance.mean(axis=0) + difference.var(axis=0))
        found[f"{name}, before"] = float((np.abs(difference.mean(axis=0)) < 1.966 * error).mean())
    return found


def simulated(rng, matrix, coefficients, V, length):
    """A corpus whose alpha depends on covariates, its topics, and the linear effects on mean proportions."""
    phi = rng.dirichlet(np.full(V, 0.05), size=len(coefficients))
    alpha = np.exp(matrix @ coefficients.T)
    theta = np.array([rng.dirichlet(each) for each in alpha])
    X = csr_matrix([rng.multinomial(length, each) for each in theta @ phi])
    mean = alpha / alpha.sum(axis=1, keepdims=True)
    return X, phi, np.linalg.lstsq(matrix, mean, rcond=None)[0]


def rare_category(seed, options, D=600, K=5):
    """Coefficients of a category that three of 600 documents have, and of a frequent one."""
    found = {}
    for name, n in (("3 of 600", 3), ("300 of 600", 300)):
        rng, group = np.random.default_rng([48, seed]), np.arange(D) < n
        coefficients = np.column_stack([np.full(K, np.log(0.4)), 0.5 * rng.standard_normal((K, 2))])
        number = rng.standard_normal(D)
        X, phi, _ = simulated(rng, np.column_stack([np.ones(D), group, number]), coefficients, 200, 50)
        lda = CovariateLDA(K, random_state=seed, **options.parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lda.fit(X, covariates={"group": np.where(group, "b", "a"), "number": number})
        order = match_topics(phi, lda.topic_word_).one_to_one
        # Those of both levels sum to zero.
        error, std = 2 * lda.coef_[order, 1] - coefficients[:, 1], 2 * lda.coef_std_[order, 1]
        found[name] = float((np.abs(error) < 1.96 * std).mean())
        found[f"{name}, RMS error"] = float(np.sqrt((error**2).mean()))
        found[f"{name}, mean error bar"] = float(std.mean())
    return found


def periods(seed, options, n_periods=8, K=5):
    """Intervals of mean proportions of topics that grow and shrink over eight years."""
    found = {}
    for name, (n, length, total) in PERIODS.items():
        rng, year = np.random.default_rng([50, seed]), np.repeat(np.arange(n_periods), n)
        means = np.exp(0.5 * rng.standard_normal(K) + np.linspace(-1, 1, n_periods)[:, None] * rng.standard_normal(K))
        means /= means.sum(axis=1, keepdims=True)
        phi = rng.dirichlet(np.full(200, 0.1), size=K)
        theta = np.array([rng.dirichlet(total * means[t]) for t in year])
        X = csr_matrix([rng.multinomial(max(rng.poisson(length), 1), each) for each in theta @ phi])
        lda = GibbsLDA(K, random_state=seed).set_params(**options.parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = topics_over_time(lda.fit(X), X, 2000 + year, period="year", random_state=seed)
        order = match_topics(phi, lda.topic_word_).one_to_one
        columns = "estimate", "standard_error", "df", "low", "high"
        estimate, error, df, low, high = (rows[key].to_numpy().reshape(K, n_periods)[order] for key in columns)
        reach = stdtrit(df, 0.975) * error
        sample = np.array([theta[year == t].mean(axis=0) for t in range(n_periods)])
        found[name] = float(((low <= means.T) & (means.T <= high)).mean())
        found[f"{name}, symmetric"] = float((np.abs(estimate - means.T) <= reach).mean())
        found[f"{name}, mean of these documents"] = float(((low <= sample.T) & (sample.T <= high)).mean())
        found[f"{name}, attenuation"] = float(rows["attenuation"].mean())
    return found


def mode_effects(seed, options, D=400, K=15):
    """Effects of a number on topics of which each fit misses some: one chain, four chains, and topics of ten fits."""
    rng = np.random.default_rng([49, seed])
    matrix = np.column_stack([np.ones(D), rng.standard_normal(D)])
    coefficients = np.column_stack([np.full(K, np.log(0.08)), 0.4 * rng.standard_normal(K)])
    X, phi, slopes = simulated(rng, matrix, coefficients, 300, 100)
    plain = {"init": "random", "max_iter": 100, "doc_topic_prior": 0.08, "topic_word_prior": 0.05}
    models = {
        "one chain": GibbsLDA(K, random_state=seed, **plain),
        "four chains": GibbsLDA(K, n_chains=4, random_state=seed, **plain),
        "topics of ten fits": ConsensusTopics(GibbsLDA(K, **plain), n_fits=10, n_splits=0, random_state=seed),
    }
    found = {}
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = topic_effects(model.fit(X), X, matrix[:, 1], random_state=seed)
        nearest = match_topics(model.topic_word_, phi).distances
        true = nearest.argmin(axis=1)
        low, high, n = (np.array(rows[key])[1::2] for key in ("low", "high", "found_in"))
        kept = nearest.min(axis=1) <= 0.5
        inside = (low <= slopes[1][true]) & (slopes[1][true] <= high)
        found[name] = float(inside.mean())
        found[f"{name}, of a true topic"] = float(inside[kept].mean())
        found[f"{name}, topics"] = float(len(kept))
        found[f"{name}, found in"] = float(n.mean())
    return found


def fits_and_common_topics(seed, options):
    """Errors of effects in the docstrings: those of topics that five fits have, by those of each of five other fits."""
    docstrings, K = load_docstrings(), 20
    X, length = docstrings.data, np.log2(np.ravel(docstrings.data.sum(axis=1)))
    covariates = {"package": docstrings.collection, "length": length}

    def effects(model):
        """Estimates and their errors without the intercept, (2, n_topics, n_terms)."""
        rows = topic_effects(model, X, covariates, random_state=seed)
        values = np.array([rows[name] for name in ("estimate", "standard_error")])
        return values.reshape(2, len(model.topic_word_), -1)[:, :, 1:]

    lda = GibbsLDA(K).set_params(**options.parameters)
    common = ConsensusTopics(lda, n_fits=5, n_splits=0, random_state=seed).fit(X)
    estimate, error = effects(common)
    ratios, far = [], []
    for f in range(5):
        fit = GibbsLDA(K, random_state=100 * seed + f).set_params(**options.parameters).fit(X)
        distances = match_topics(common.topic_word_, fit.topic_word_).distances
        has = distances.min(axis=1) <= SAME_TOPIC
        own, errors = effects(fit)[:, distances.argmin(axis=1)][:, has]
        ratios.append((error[has] / errors).ravel())
        far.append((np.abs(own - estimate[has]) > 1.96 * errors).ravel())
    ratios = np.concatenate(ratios)
    return {
        "median ratio of errors": float(np.median(ratios)),
        "90 % quantile": float(np.quantile(ratios, 0.9)),
        "effects more than 1.96 errors away": float(np.concatenate(far).mean()),
    }


def effects_table(title):
    """Means of all figures, with their errors over corpora."""

    def show(found):
        rows = []
        for name in found[0]:
            values = np.array([each[name] for each in found])
            rows.append([name, f"{np.nanmean(values):.3f} +- {np.nanstd(values) / np.sqrt(len(values)):.3f}"])
        table(f"{title}, {len(found)} corpora", ["", "mean"], rows)

    return show
