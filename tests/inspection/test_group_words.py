"""Words of groups within a topic: exact distributions, the strength of the prior, and intervals with the truth."""

import numpy as np
import pytest
from scipy.stats import beta, kstest, ttest_1samp

from sklda import GibbsLDA, LabeledLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._sampling import group_words as inner
from sklda._sampling.group_words import GroupPriors, TopicGroups, sample_group_counts
from sklda.datasets import make_lda_corpus
from sklda.inspection import describe, group_words

ALARM = 1e-5


def draw_groups(seed, strength=100.0, n_documents=300, n_features=60, K=3):
    """Counts, topics of the tokens, groups, and the topics of both groups."""
    rng = np.random.default_rng(seed)
    phi = np.maximum(rng.dirichlet(np.full(n_features, 0.3), K), 1e-9)
    own = rng.gamma(strength * np.stack([phi, phi])) + 1e-300
    own /= own.sum(axis=-1, keepdims=True)
    groups = np.arange(n_documents) % 2
    counts = np.zeros((n_documents, K, n_features), int)
    for d, g in enumerate(groups):
        n = rng.multinomial(60, rng.dirichlet(np.full(K, 0.3)))
        counts[d] = [rng.multinomial(each, row) for each, row in zip(n, own[g], strict=True)]
    by_word = counts.transpose(0, 2, 1).ravel()
    topics = np.repeat(np.tile(np.arange(K, dtype=np.int32), n_documents * n_features), by_word)
    return counts.sum(axis=1), topics, groups, own


def coverage(seeds):
    """How often intervals contain the truth, and for how many words, in chains that begin at the true topics."""
    inside = []
    for seed in seeds:
        X, topics, groups, phi = draw_groups(seed)
        lda = GibbsLDA.from_assignments(X, topics, doc_topic_prior=0.3, topic_word_prior=0.3)
        table = group_words(lda, X, groups, n_words=60, n_sweeps=24, random_state=seed)
        k, v = table["topic"], table["word"].astype(int)
        true = np.log(phi[0, k, v] / phi[1, k, v]) * np.where(table["group"] == 0, 1, -1)
        inside += ((table["low"] <= true) & (true <= table["high"])).tolist()
    return np.mean(inside), len(inside)


def misses(part, n):
    """Deviation of a coverage from 95 %, in standard errors of independent words."""
    return (0.95 - part) / np.sqrt(0.95 * 0.05 / n)


# In standard errors: exceeded with probability 1e-6.
LIMIT = 4.9


@pytest.mark.mutation("test_priors_of_equal_groups_miss_the_truth")
def test_intervals_contain_the_truth():
    assert abs(misses(*coverage(range(3)))) < LIMIT


def test_priors_of_equal_groups_miss_the_truth(monkeypatch):
    monkeypatch.setattr(inner, "_draw_strengths", lambda rng, strengths, *given: np.full_like(strengths, 1e5))
    assert misses(*coverage(range(3))) > LIMIT


def after_steps(n_topics=4000, n=60, n_features=12, eta=0.3, n_steps=4):
    """p-values of the weights and the probabilities of words after steps from a draw of the prior, given its counts."""
    rng = np.random.default_rng(0)
    # Of the bounds of the strength, only the lower one is in reach.
    weights = rng.uniform(0, (n + 1) / (n + 2), n_topics)
    strengths = (n + 1) * (1 / weights - 1)
    phi = np.maximum(rng.dirichlet(np.full(n_features, eta), n_topics), 1e-12)
    words = rng.standard_gamma(np.stack([strengths[:, None] * phi] * 2)) + 1e-300
    counts = rng.multinomial(n, words / words.sum(axis=2, keepdims=True))
    priors = GroupPriors(counts, eta, np.random.SeedSequence(0))
    priors.phi, priors.strengths = phi, strengths
    for _ in range(n_steps):
        priors.draw(counts)
    weights = (n + 2) / (n + 1 + priors.strengths)
    exact = beta(eta, eta * (n_features - 1)).cdf
    return kstest(weights, "uniform").pvalue, kstest(priors.phi[:, 0], exact).pvalue


@pytest.mark.mutation("test_other_steps_change_the_prior")
def test_steps_keep_the_priors():
    """Draws of the prior stay draws of it, if each step is exact given the counts."""
    assert min(after_steps()) > ALARM


@pytest.mark.parametrize("step", ["_draw_strengths", "_draw_tables"])
def test_other_steps_change_the_prior(step, monkeypatch):
    if step == "_draw_tables":
        monkeypatch.setattr(GroupPriors, step, lambda self, priors, n: n)
    else:
        exact = inner._draw_strengths
        monkeypatch.setattr(inner, step, lambda *given: exact(*given[:-1], given[-1] / 2))
    assert min(after_steps()) < ALARM


def weights_after_sweeps(n_corpora=200, n=8.0, n_sweeps=6):
    """p-values of the weights, and of a function of the counts, after sweeps from a draw of all that the model has."""
    weights, change = [], []
    K, n_features, length, eta, alpha = 2, 4, 8, 0.5, np.full((1, 2), 0.6)
    groups = np.arange(6) % 2
    offsets = np.arange(7, dtype=np.int64) * length
    for seed in range(n_corpora):
        rng = np.random.default_rng(seed)
        phi = np.maximum(rng.dirichlet(np.full(n_features, eta), K), 1e-12)
        strengths = n * (1 / rng.uniform(0, n / (n + 1), K) - 1)
        own = rng.gamma(np.stack([strengths[:, None] * phi] * 2)) + 1e-300
        own /= own.sum(axis=2, keepdims=True)
        theta = rng.dirichlet(alpha[0], 6)
        topics = [rng.choice(K, length, p=row) for row in theta]
        words = [[rng.choice(n_features, p=own[g, k]) for k in z] for g, z in zip(groups, topics, strict=True)]
        corpus = Corpus(np.concatenate(words).astype(np.int32), offsets, n_features)
        topics = np.concatenate(topics).astype(np.int32)
        parts = [inner._Group(corpus, topics, np.flatnonzero(groups == g), alpha) for g in (0, 1)]
        for g, each in enumerate(parts):
            each.stream = random.stream(random.child(np.random.SeedSequence(seed), g))
        counts = np.stack([each.counts for each in parts])
        before = (counts.astype(float) ** 2).sum()
        priors = GroupPriors(counts, eta, random.child(np.random.SeedSequence(seed), 2))
        priors.phi, priors.strengths, priors._size = phi, strengths, np.full(K, n)
        for _ in range(n_sweeps):
            given = priors()
            for g, each in enumerate(parts):
                counts[g] = each.sweep(given)
            priors.draw(counts)
        weights += ((n + 1) / (n + priors.strengths)).tolist()
        change.append((counts.astype(float) ** 2).sum() - before)
    return kstest(weights, "uniform").pvalue, ttest_1samp(change, 0).pvalue


@pytest.mark.mutation("test_sweeps_with_a_flat_prior_change_the_prior")
def test_sweeps_keep_the_prior():
    """Draws of everything that the model has stay such draws, also with the topics of the tokens."""
    assert min(weights_after_sweeps()) > ALARM


def test_sweeps_with_a_flat_prior_change_the_prior(monkeypatch):
    exact = inner._Group.sweep
    monkeypatch.setattr(inner._Group, "sweep", lambda self, given: exact(self, np.full_like(given, 5.0)))
    assert min(weights_after_sweeps()) < ALARM


def test_log_ratios_are_those_of_dirichlet_distributions():
    counts, rng = np.array([[[40, 3, 0, 200], [10, 8, 7, 500], [5, 0, 9, 30]]], np.int32), np.random.default_rng(0)
    priors, strengths = np.array([[10.0, 4.0, 1.0, 15.0]]), np.array([30.0])
    found = TopicGroups(counts, priors, strengths).log_ratios(np.arange(4), (0.025, 0.5, 0.975), 50_000, rng)
    p, sizes = [rng.dirichlet(own + priors[0], 50_000) for own in counts[0]], counts[0].sum(axis=1)
    for g in range(3):
        others = [h for h in range(3) if h != g]
        rest = np.average([p[h] for h in others], axis=0, weights=sizes[others])
        true = np.quantile(np.log(p[g]) - np.log(rest), (0.025, 0.5, 0.975), axis=0)
        np.testing.assert_allclose(found[g], true, atol=0.05, rtol=0.02)
    two = TopicGroups(counts[:, :2], priors, strengths).log_ratios(np.arange(4), (0.5,), 50_000, rng)
    np.testing.assert_allclose(two[0], -two[1])
    np.testing.assert_allclose(two[0, 0], np.median(np.log(p[0]) - np.log(p[1]), axis=0), atol=0.05, rtol=0.02)


def test_with_one_topic_the_counts_are_those_of_the_documents():
    X, _, groups, _ = draw_groups(0)
    corpus = Corpus.from_counts(X)
    topics = np.zeros(corpus.n_tokens, np.int32)
    found = sample_group_counts(corpus, topics, groups, np.ones((1, 1)), 0.1, 6, np.random.SeedSequence(0))
    assert len(found.counts) == 2
    for g in (0, 1):
        np.testing.assert_array_equal(found.of(0).counts[:, g], [X[groups == g].sum(axis=0)] * 2)
        np.testing.assert_array_equal(found.of(0).tokens()[g], X[groups == g].sum(axis=0))


def test_the_table():
    X, topics, groups, _ = draw_groups(1)
    lda = GibbsLDA.from_assignments(X, topics, doc_topic_prior=0.3, topic_word_prior=0.3)
    lda.set_topic_names(["a", "b", "c"])
    lda = describe(lda, feature_names=[f"w{v}" for v in range(60)])
    options = {"n_sweeps": 6, "random_state": 0}
    table = group_words(lda, X, groups, topics=["b"], n_words=60, **options)
    assert set(table["name"]) == {"b"} and set(table["group"]) == {0, 1}
    # A word has a row in the group that uses it more.
    assert not table["word"].duplicated().any() and (table["log_ratio"] > 0).all() and (table["tokens"] >= 20).all()
    assert (table["low"] < table["log_ratio"]).all() and (table["log_ratio"] < table["high"]).all()
    assert table.equals(group_words(lda, X, groups, topics=["b"], n_words=60, **options))
    wide = group_words(lda, X, groups, topics=["b"], n_words=3, least_tokens=1, level=0.5, **options)
    assert (wide.groupby("group").size() == 3).all()
    three = group_words(lda, X, np.arange(len(X)) % 3, topics=[0], n_words=2, **options)
    assert set(three["group"]) == {0, 1, 2}
    none = group_words(lda, X, groups, least_tokens=10**6, **options)
    assert list(none.columns) == list(table.columns) and len(none) == 0


def test_new_documents_an_empty_group_and_labels():
    X, _, groups, _ = draw_groups(2, n_documents=60)
    lda = GibbsLDA(3, max_iter=30, random_state=0).fit(X[:30])
    assert len(group_words(lda, X, groups, n_sweeps=6, least_tokens=2, random_state=0))
    X[:5] = 0
    empty = np.where(np.arange(60) < 5, 2, groups)
    options = {"n_sweeps": 6, "least_tokens": 2, "random_state": 0}
    with pytest.warns(UserWarning, match="5 of 60 documents have no words, and take no part"):
        table = group_words(lda, X, empty, **options)
    assert set(table["group"]) == {0, 1}
    assert np.isfinite(table[["log_ratio", "low", "high"]]).all(axis=None)
    labelled = LabeledLDA(max_iter=20, random_state=0).fit(X, [[1, 0], [1, 1], [0, 1], [0, 0]] * 15)
    with pytest.warns(UserWarning, match="19 of 60 documents have no words or no labels, and take no part"):
        assert len(group_words(labelled, X, groups, **options))
    with pytest.raises(ValueError, match=r"needs two groups\. 19 of 60 documents have no words or no labels"):
        group_words(labelled, X, ["a", "a", "a", "b"] * 15, **options)


def test_what_is_refused():
    corpus = make_lda_corpus(20, 10, 2, random_state=0)
    X, groups = corpus.data, np.arange(20) % 2
    lda = GibbsLDA(2, max_iter=5, random_state=0).fit(X)
    with pytest.raises(TypeError, match="no posterior draws"):
        group_words((corpus.topic_word, corpus.doc_topic), X, groups)
    with pytest.raises(ValueError, match="one label"):
        group_words(lda, X, [1] * 20)
    with pytest.raises(ValueError, match="n_sweeps must be at least 6"):
        group_words(lda, X, groups, n_sweeps=5)
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        group_words(lda, X, groups, level=95)


def test_topics_of_new_documents_are_those_of_the_model():
    """Eight topics with words of their own, and few new documents: their tokens stay in the topics of their words."""
    phi, rng = np.kron(np.eye(8), np.full(10, 0.1)), np.random.default_rng(0)
    draw = lambda n, length: np.array([rng.multinomial(length, row @ phi) for row in rng.dirichlet(np.full(8, 0.3), n)])  # noqa: E731
    lda = GibbsLDA(8, max_iter=100, random_state=0).fit(draw(300, 60))
    order = (lda.topic_word_ @ phi.T).argmax(axis=1)
    assert sorted(order) == list(range(8))
    table = group_words(lda, draw(60, 8), np.arange(60) % 2, n_words=80, n_sweeps=30, least_tokens=1, random_state=0)
    once = table.drop_duplicates(["topic", "word"])
    own = order[once["topic"]] == once["word"].astype(int) // 10
    assert once["tokens"][~own].sum() < 0.01 * once["tokens"].sum()
