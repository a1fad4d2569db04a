"""The parts of `bench_truth` on words of topics: the check of topics, and log ratios of words in groups."""

import warnings

import numpy as np
import scipy.sparse as sp
from report import table
from scipy.stats import entropy

from sklda import GibbsLDA
from sklda._core.random import log_dirichlet
from sklda._core.same_topics import SAME_TOPIC
from sklda._sampling.matching import match_distributions as matching
from sklda.datasets import make_lda_corpus
from sklda.inspection import group_words, topic_check


def fitted(X, K, seed, options):
    lda = GibbsLDA(K, max_iter=300, random_state=seed).set_params(**options.parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lda.fit(X)


def check_of_the_model(seed, options):
    """z of corpora drawn from the model, with two groups of documents and with documents as groups."""
    K, n_documents = 8, 400
    sizes = {"doc_length": 80, "doc_topic_prior": 0.2, "topic_word_prior": 0.05}
    X = make_lda_corpus(n_documents, 500, K, **sizes, random_state=seed).data
    lda, rng, found = fitted(X, K, seed, options), np.random.default_rng(seed), {}
    for name, share in (("halves", 0.5), ("a tenth", 0.1), ("documents", None)):
        groups = None if share is None else rng.random(n_documents) < share
        for n_draws in (1, 15):
            check = topic_check(lda, X, groups=groups, n_draws=n_draws, random_state=seed)
            for column in ("z", "z_documents"):
                if column in check:
                    found[f"{name}, {column}, {n_draws} draws"] = check[column].tolist()
    return found


def check_of_the_model_table(found):
    rows = []
    for name in found[0]:
        z = np.concatenate([each[name] for each in found])
        rows.append([name, f"{z.mean():.2f}", f"{z.std():.2f}", f"{(np.abs(z) > 1.96).mean():.3f}", f"{z.max():.1f}"])
    table("z of topics that the model made", ["groups", "mean", "sd", "above 1.96", "largest"], rows)


def planted_topics(seed, options):
    """Rank and z of a topic with two subjects, from a fit with one topic too few, and of one that groups differ in."""
    K, sizes = 8, {"doc_length": 80, "doc_topic_prior": 0.2, "topic_word_prior": 0.05}
    corpus = make_lda_corpus(400, 500, K, **sizes, random_state=seed)
    lda, found = fitted(corpus.data, K - 1, seed, options), {}
    # The planted topic is the one whose tokens have the most different true topics.
    pairs = np.zeros((K - 1, K))
    np.add.at(pairs, (lda.topic_assignments_, corpus.topic_assignments), 1)
    check = topic_check(lda, corpus.data, random_state=seed)
    found["two subjects"] = standing(check, entropy(pairs, axis=1).argmax(), "z", "excess")
    X, groups, phi = draw_groups(seed, K, strengths=[100.0] + [np.inf] * (K - 1))
    lda = fitted(X, K, seed, options)
    topic = matching(np.exp(phi[0]), lda.topic_word_)[0][0]
    check = topic_check(lda, X, groups=groups, random_state=seed)
    found["groups differ"] = standing(check, topic, "z", "z_documents")
    return found


def standing(check, topic, *columns):
    """For each column the rank of a topic, from 1, and its z."""
    own = check[check["topic"] == topic].iloc[0]
    return {name: (int((check[name] > own[name]).sum()) + 1, float(own[name])) for name in columns}


def planted_topics_table(found):
    rows = []
    for kind in found[0]:
        for column in found[0][kind]:
            ranks, values = np.array([each[kind][column] for each in found]).T
            first = f"{(ranks == 1).sum()} of {len(found)}"
            rows.append([kind, column, first, f"{np.median(values):.2f}", f"{values.min():.2f}"])
    table("planted topics", ["topic", "by", "ranked first", "median", "least"], rows)


def draw_groups(seed, K, n_features=500, n_documents=600, length=80, share=0.5, strengths=300.0):
    """Counts, groups and the logarithms of the topics of both groups, from the distribution ``Dir(strength * phi)``.

    Logarithms, because a word that one group hardly has can have a probability below the smallest number.
    """
    rng = np.random.default_rng([48, seed])
    phi = np.maximum(rng.dirichlet(np.full(n_features, 0.05), K), 1e-12)
    phi /= phi.sum(axis=1, keepdims=True)
    strengths = np.broadcast_to(strengths, K)[:, None]
    # Equal groups have no noise.
    equal = np.isinf(strengths)
    own = [np.where(equal, np.log(phi), log_dirichlet(rng, np.where(equal, 1, strengths) * phi)) for _ in range(2)]
    groups = (rng.random(n_documents) < share).astype(int)
    theta = rng.dirichlet(np.full(K, 0.2), n_documents)
    X = [rng.multinomial(length, mixture @ np.exp(own[g])) for mixture, g in zip(theta, groups, strict=True)]
    return sp.csr_array(np.array(X)), groups, np.array(own)


# Strength of the distribution of the groups' words, and the share of the first group.
GROUPED = {
    "groups differ": (300.0, 0.5),
    "much": (100.0, 0.5),
    "little": (3000.0, 0.5),
    "a group of a tenth": (300.0, 0.1),
}


def log_ratios(seed, options):
    """How often intervals of log ratios contain the truth, by the number of tokens of the word."""
    found = {}
    for kind, (strength, share) in GROUPED.items():
        X, groups, phi = draw_groups(seed, 8, share=share, strengths=strength)
        lda = fitted(X, 8, seed, options)
        order, distances = matching(np.exp(phi).mean(axis=0), lda.topic_word_)
        fit = "" if distances.max() <= SAME_TOPIC else ", a fit without one of the topics"
        topic_of = dict(zip(order.tolist(), range(8), strict=True))
        rows = group_words(lda, X, groups, n_words=500, random_state=seed)
        k, v = rows["topic"].map(topic_of), rows["word"].astype(int)
        sign = np.where(rows["group"] == 0, 1, -1)
        true = sign * (phi[0, k, v] - phi[1, k, v])
        inside = (rows["low"] <= true) & (true <= rows["high"])
        for size, taken in (("20 to 100", rows["tokens"] < 100), ("100 or more", rows["tokens"] >= 100)):
            found[f"{kind}, {size} tokens{fit}"] = int(inside[taken].sum()), int(taken.sum())
    return found


def log_ratios_table(found):
    rows = []
    for name in sorted({name for each in found for name in each}):
        inside, n = np.array([each[name] for each in found if name in each]).T
        part = inside.sum() / n.sum()
        error = np.std((inside - part * n) / n.mean()) / np.sqrt(len(n))
        rows.append([name, str(len(n)), str(n.sum()), f"{part:.3f} +- {error:.3f}"])
    table("95 % intervals of log ratios of words in groups", ["groups", "corpora", "words", "coverage"], rows)


def few_words(seed, options, K=8, n_planted=4):
    """Estimates and intervals of words with log ratio 1, four of the 40 most frequent of each topic; all others are 0.

    Also the part of these words that have the four largest |z| of their topic.
    """
    rng = np.random.default_rng([49, seed])
    phi = np.maximum(rng.dirichlet(np.full(500, 0.05), K), 1e-12)
    own, planted = np.stack([phi, phi]), []
    for k in range(K):
        planted.append(rng.choice(np.argsort(-phi[k])[:40], n_planted, replace=False))
        own[:, k, planted[k]] *= np.exp([[0.5], [-0.5]])
    own /= own.sum(axis=2, keepdims=True)
    groups, theta = np.arange(600) % 2, rng.dirichlet(np.full(K, 0.2), 600)
    X = sp.csr_array(np.array([rng.multinomial(80, each @ own[g]) for each, g in zip(theta, groups, strict=True)]))
    lda, found = fitted(X, K, seed, options), {"estimate": [], "inside": [], "first": []}
    rows = group_words(lda, X, groups, n_words=500, random_state=seed)
    for k, topic in enumerate(matching(phi, lda.topic_word_)[0]):
        table = rows[rows["topic"] == topic]
        table = table.assign(word=table["word"].astype(int), place=(-table["z"].abs()).rank())
        true = np.log(own[0, k] / own[1, k])
        for row in table[table["word"].isin(planted[k])].itertuples():
            sign = 1 if row.group == 0 else -1
            found["estimate"].append(sign * row.log_ratio)
            found["inside"].append(bool(row.low <= sign * true[row.word] <= row.high))
            found["first"].append(bool(row.place <= n_planted))
    return found


def few_words_table(found):
    rows = []
    for name in found[0]:
        means = np.array([np.mean(each[name]) for each in found])
        rows.append([name, f"{means.mean():.2f} +- {means.std() / np.sqrt(len(means)):.2f}"])
    table("words with log ratio 1 among others with 0", ["", "mean"], rows)


def group_lengths(seed, options):
    """z of groups of documents whose words repeat within documents, by the lengths of the groups' documents.

    Topic 0 of the second group is planted: its words are drawn around those of the first. The others do not differ.
    """
    K, found = 5, {}
    for name, (share, lengths) in GROUP_LENGTHS.items():
        rng = np.random.default_rng([50, seed])
        second = np.arange(300) < 300 * share
        n_words = lengths(rng, second)
        phi = rng.dirichlet(np.full(300, 0.1), K)
        other = np.vstack([np.exp(log_dirichlet(rng, 350 * np.maximum(phi[:1], 1e-12))), phi[1:]])
        X = np.zeros((300, 300), int)
        for d, by_topic in enumerate(map(rng.multinomial, n_words, rng.dirichlet(np.full(K, 0.2), 300))):
            for k in np.flatnonzero(by_topic):
                topic = (other if second[d] else phi)[k : k + 1]
                own = np.exp(log_dirichlet(rng, 50 * np.maximum(topic, 1e-12)))
                X[d] += rng.multinomial(by_topic[k], own[0])
        lda = fitted(sp.csr_array(X), K, seed, options)
        planted = matching(phi, lda.topic_word_)[0][0]
        check = topic_check(lda, X, groups=second, random_state=seed).set_index("topic")["z_documents"]
        found[name] = {"planted": float(check[planted]), "others": check.drop(planted).tolist()}
    return found


# Share of the second group, and numbers of words of all documents.
GROUP_LENGTHS = {
    "82 words": (0.5, lambda rng, second: np.full(len(second), 82)),
    "27 words": (0.5, lambda rng, second: np.full(len(second), 27)),
    "15 and 150 words": (0.5, lambda rng, second: np.where(second, 15, 150)),
    "log-normal, medians 25 and 90": (
        0.5,
        lambda rng, second: np.exp(np.log(np.where(second, 25, 90)) + 0.7 * rng.standard_normal(300)).astype(int) + 2,
    ),
    "a tenth with 15 words, others with 100": (0.1, lambda rng, second: np.where(second, 15, 100)),
    "a tenth with 200 words, others with 50": (0.1, lambda rng, second: np.where(second, 200, 50)),
    "six documents of 15 words, others of 100": (0.02, lambda rng, second: np.where(second, 15, 100)),
    "six documents of 400 words, others of 60": (0.02, lambda rng, second: np.where(second, 400, 60)),
}


def group_lengths_table(found):
    rows = []
    for name in found[0]:
        z = np.concatenate([each[name]["others"] for each in found])
        planted = np.array([each[name]["planted"] for each in found])
        numbers = f"{z.mean():.2f}", f"{z.std(ddof=1):.2f}", f"{(z > 3).mean():.3f}"
        rows.append([name, *numbers, f"{planted.mean():.1f}", f"{(planted > 3).mean():.2f}"])
    header = ["lengths", "mean", "sd", "above 3", "planted, mean", "found"]
    table("z_documents of topics whose words repeat within documents", header, rows)


def authors(seed, options):
    """z of two groups of authors, and the part of their words with an interval above zero, without and with clusters.

    Each author has words of his own; see `AUTHORS`.
    """
    found = {}
    for name, (own_words, sizes, differ) in AUTHORS.items():
        X, author, groups, _ = draw_authors(seed, own_words, *sizes, differ)
        lda = fitted(X, 5, seed, options)
        for clusters in (None, author):
            check = topic_check(lda, X, groups=groups, clusters=clusters, random_state=seed)
            words = group_words(lda, X, groups, clusters=clusters, n_words=300, random_state=seed)
            label = f"{name}, {'documents' if clusters is None else 'clusters'}"
            found[label] = {"z": check["z_documents"].tolist(), "words": float((words["low"] > 0).mean())}
    return found


def draw_authors(seed, own_words, n_authors, spread, differ, K=5, n_features=300):
    """Counts, authors, groups and the topics of both groups.

    `spread` is the standard deviation of the logarithm of the number of documents of an author.
    """
    rng = np.random.default_rng([51, seed])
    author_groups = np.repeat([0, 1], n_authors)
    n_documents = np.exp(rng.normal(np.log(288 / sum(n_authors)) - spread**2 / 2, spread, sum(n_authors)))
    author = np.repeat(np.arange(sum(n_authors)), np.maximum(n_documents.round().astype(int), 1))
    phi = np.maximum(rng.dirichlet(np.full(n_features, 0.1), K), 1e-12)
    of_groups = [phi, np.exp(log_dirichlet(rng, 100 * phi)) if differ else phi]
    X = []
    for a, g in enumerate(author_groups):
        own = of_groups[g] * own_words(rng, phi)
        own /= own.sum(axis=1, keepdims=True)
        theta = rng.dirichlet(rng.dirichlet(np.ones(K)) + 0.05, (author == a).sum())
        X += [rng.multinomial(60, each @ own) for each in theta]
    return sp.csr_array(np.array(X)), author, author_groups[author], np.array(of_groups)


def _all_words(rng, phi):
    return np.exp(log_dirichlet(rng, 150 * phi)) / phi


def _some_words(rng, phi):
    return np.where(rng.random(phi.shape) < 0.1, np.exp(1.5 * rng.standard_normal(phi.shape)), 1)


def _rare_words(rng, phi):
    return np.where(rng.random(phi.shape) < 0.05, 20, 1)


# How an author's words differ from those of the topic, (numbers of authors, spread of their documents), and whether the
# groups differ.
AUTHORS = {
    "all words": (_all_words, ((12, 12), 0), False),
    "a tenth of the words": (_some_words, ((12, 12), 0), False),
    "words 20 times as frequent": (_rare_words, ((12, 12), 0), False),
    "the same, unequal authors": (_rare_words, ((12, 12), 0.8), False),
    "four authors in each group": (_all_words, ((4, 4), 0), False),
    "four and 20 authors": (_some_words, ((4, 20), 0), False),
    "groups differ": (_some_words, ((12, 12), 0), True),
    "groups of four differ": (_some_words, ((4, 4), 0), True),
}


def author_ratios(seed, options):
    """How often intervals contain the log ratio of groups of authors, if the groups differ too."""
    found = {}
    for name, n_authors in (("12 and 12 authors", (12, 12)), ("four and four", (4, 4))):
        X, author, groups, phi = draw_authors(seed, _all_words, n_authors, 0, differ=True)
        lda = fitted(X, 5, seed, options)
        topic_of = dict(zip(matching(phi.mean(axis=0), lda.topic_word_)[0].tolist(), range(5), strict=True))
        for clusters in (None, author):
            rows = group_words(lda, X, groups, clusters=clusters, n_words=300, random_state=seed)
            k, v = rows["topic"].map(topic_of), rows["word"].astype(int)
            true = np.where(rows["group"] == 0, 1, -1) * np.log(phi[0, k, v] / phi[1, k, v])
            inside = (rows["low"] <= true) & (true <= rows["high"])
            label = f"{name}, {'documents' if clusters is None else 'clusters'}"
            found[label] = int(inside.sum()), len(rows)
    return found


def authors_table(found):
    rows = []
    for name in found[0]:
        z = np.concatenate([each[name]["z"] for each in found])
        words = np.array([each[name]["words"] for each in found])
        numbers = [f"{z.mean():.2f}", f"{z.std():.2f}", f"{(z > 1.96).mean():.2f}", f"{(z > 3).mean():.3f}"]
        rows.append([name, *numbers, f"{words.mean():.3f} +- {words.std() / np.sqrt(len(words)):.3f}"])
    header = ["authors", "mean", "sd", "above 1.96", "above 3", "words above 0"]
    table("z_documents, and intervals of log ratios, of groups of authors with words of their own", header, rows)
