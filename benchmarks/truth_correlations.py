"""The part of `bench_truth` on correlations of topics: their errors, before and after the correction."""

import time
import warnings
from functools import cache

import numpy as np
from report import table
from scipy.special import softmax

from sklda import GibbsLDA
from sklda._sampling.matching import match_distributions as matching
from sklda.inspection import topic_correlation

# Documents, words, topics, and what theta is drawn from: pairs of topics with a correlation of .65 in a logistic normal
# distribution, or the alpha of a Dirichlet distribution. One is fitted with a single alpha of 0.3. In the
# last, each word is in one topic.
CORRELATED = {
    "a pair": (300, 300, 7, 1),
    "three pairs": (600, 1000, 10, 3),
    "Dirichlet": (300, 300, 7, (0.3,) * 7),
    "wrong alpha given": (300, 300, 7, (1.0, 0.6, 0.3, 0.3, 0.2, 0.15, 0.1)),
    "ten words a topic": (1000, 70, 7, 1),
}
LENGTHS = 20, 50, 150


def draw_proportions(rng, kind, size):
    _, _, K, source = CORRELATED[kind]
    if not isinstance(source, int):
        return rng.dirichlet(source, size)
    covariance = np.eye(K)
    for k in range(0, 2 * source, 2):
        covariance[k, k + 1] = covariance[k + 1, k] = 0.65
    return softmax(1.5 * rng.multivariate_normal(np.zeros(K), covariance, size), axis=1)


@cache
def true_correlation(kind):
    return np.corrcoef(draw_proportions(np.random.default_rng(0), kind, 1_000_000).T)


def topic_correlations(seed, options):
    """Errors of correlations over the population of documents, by 15 draws (before) and corrected (after)."""
    found = {}
    for kind, (n_documents, n_features, K, source) in CORRELATED.items():
        given = {"doc_topic_prior": 0.3} if kind.startswith("wrong") else {}
        pairs = {(2 * i, 2 * i + 1) for i in range(source)} if isinstance(source, int) else {(0, 1)}
        for length in LENGTHS:
            rng = np.random.default_rng([45, seed, length])
            phi = rng.dirichlet(np.full(n_features, 0.1), K)
            if kind.startswith("ten"):
                phi = np.kron(np.eye(K), np.full(n_features // K, K / n_features))
            theta = draw_proportions(rng, kind, n_documents)
            X = np.array([rng.multinomial(length, each @ phi) for each in theta])
            lda, begin = GibbsLDA(K, random_state=seed, **given | options.parameters), time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lda.fit(X)
            order = matching(phi, lda.topic_word_)[0]
            fit, begin = time.process_time() - begin, time.process_time()
            draws = lda.sample_posterior(15, random_state=seed).doc_topic
            each = [topic_correlation((lda.topic_word_, one)) for one in draws]
            values = np.array([one.correlation for one in each])
            std = np.sqrt(np.mean([one.std**2 for one in each], axis=0) + 16 / 15 * values.var(axis=0, ddof=1))
            middle = time.process_time()
            after = topic_correlation(lda, random_state=seed)
            seconds = fit, middle - begin, time.process_time() - middle
            rows = {"seconds": seconds}
            upper = [(k, j) for k in range(K) for j in range(k + 1, K)]
            for when, r, error in (("before", values.mean(axis=0), std), ("after", after.correlation, after.std)):
                own = [(r[order[k], order[j]], error[order[k], order[j]]) for k, j in upper]
                rows[when] = np.transpose(own).tolist()
            rows["true"] = [true_correlation(kind)[pair] for pair in upper]
            rows["information"] = [after.information[order[k], order[j]] for k, j in upper]
            rows["pairs"] = [pair in pairs for pair in upper]
            found[f"{kind}, {length}"] = rows
    return found


def topic_correlations_table(found):
    rows = []
    for name in found[0]:
        own = [each[name] for each in found]
        pairs, true = np.array(own[0]["pairs"]), np.array(own[0]["true"])
        cells = [f"{true[pairs].mean():.2f}"]
        for when in ("before", "after"):
            r, std = np.array([each[when] for each in own]).transpose(1, 0, 2)
            inside = np.abs(r - true) <= 1.96 * std
            cells += [f"{r[:, pairs].mean():.2f}", f"{np.median(std[:, pairs]):.2f}"]
            cells += [f"{inside[:, which].mean():.2f}" for which in (pairs, ~pairs)]
            cells += [f"{np.sqrt(np.mean((r - true)[:, ~pairs] ** 2)):.3f}"]
        cells += [f"{np.mean([np.array(each['information'])[pairs] for each in own]):.2f}"]
        cells += [f"{seconds:.2f}" for seconds in np.mean([each["seconds"] for each in own], axis=0)]
        rows.append([name, *cells])
    both = [f"{name}, {when}" for when in ("before", "after") for name in ("mean", "std", "covered", "others", "rms")]
    header = ["corpus, words", "true", *both, "information", "CPU s, fit", "before", "after"]
    table(f"correlations, {len(found)} corpora; others: pairs that are not in `pairs`", header, rows)
