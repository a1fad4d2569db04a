"""Words of groups within a topic: exact distributions, the strength of the prior, and intervals with the truth."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import beta, kstest, ttest_1samp, ttest_ind

from sklda import GibbsLDA, LabeledLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._sampling import group_words as inner
from sklda._sampling.group_words import GroupPriors, TopicByGroup, sample_group_counts
from sklda.datasets import make_lda_corpus
from sklda.inspection import describe, group_words
from sklda.inspection._group_words import TopicRatios, _Parts

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
    found = TopicByGroup(counts, priors, strengths).log_ratios(np.arange(4), (0.025, 0.5, 0.975), 50_000, rng)
    p, sizes = [rng.dirichlet(own + priors[0], 50_000) for own in counts[0]], counts[0].sum(axis=1)
    for g in range(3):
        others = [h for h in range(3) if h != g]
        rest = np.average([p[h] for h in others], axis=0, weights=sizes[others])
        true = np.quantile(np.log(p[g]) - np.log(rest), (0.025, 0.5, 0.975), axis=0)
        np.testing.assert_allclose(found[g], true, atol=0.05, rtol=0.02)
    two = TopicByGroup(counts[:, :2], priors, strengths).log_ratios(np.arange(4), (0.5,), 50_000, rng)
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
    lda = describe(lda, vocabulary=[f"w{v}" for v in range(60)])
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
    with pytest.warns(UserWarning, match="5 of 60 documents have no words"):
        table = group_words(lda, X, empty, **options)
    assert set(table["group"]) == {0, 1}
    assert np.isfinite(table[["log_ratio", "low", "high"]]).all(axis=None)
    labelled = LabeledLDA(max_iter=20, random_state=0).fit(X, [[1, 0], [1, 1], [0, 1], [0, 0]] * 15)
    with pytest.warns(UserWarning, match="19 of 60 documents have no words or no labels"):
        assert len(group_words(labelled, X, groups, **options))
    with pytest.raises(ValueError, match=r"two groups\. 19 of 60"):
        group_words(labelled, X, ["a", "a", "a", "b"] * 15, **options)


def of_authors(seed, difference=None, n_authors=16):
    """Two groups of authors with words of their own: counts, topics of tokens, authors and groups."""
    rng, K, V = np.random.default_rng(seed), 3, 60
    phi = np.maximum(rng.dirichlet(np.full(V, 0.3), K), 1e-9)
    groups = np.stack([phi, phi if difference is None else rng.gamma(difference * phi) + 1e-9])
    authors = np.arange(10 * n_authors) % n_authors
    own = groups[np.arange(n_authors) % 2] * np.exp(rng.standard_normal((n_authors, K, V)))
    own /= own.sum(axis=2, keepdims=True)
    n = np.array([rng.multinomial(60, each) for each in rng.dirichlet(np.full(K, 0.3), len(authors))])
    counts = np.array(
        [[rng.multinomial(m, p) for m, p in zip(n[d], own[a], strict=True)] for d, a in enumerate(authors)]
    )
    by_word = counts.transpose(0, 2, 1).ravel()
    topics = np.repeat(np.tile(np.arange(K, dtype=np.int32), len(authors) * V), by_word)
    return counts.sum(axis=1), topics, authors, authors % 2


def above_zero(seeds, by_author=True, **given):
    """The part of words whose interval of the log ratio is above zero; each has a row in one of the two groups."""
    found = []
    for seed in seeds:
        X, topics, authors, groups = of_authors(seed, **given)
        lda = GibbsLDA.from_assignments(X, topics, doc_topic_prior=0.3, topic_word_prior=0.3)
        options = {"clusters": authors if by_author else None, "n_words": 60, "n_sweeps": 24, "random_state": seed}
        found.append((group_words(lda, X, groups, **options)["low"] > 0).mean())
    return np.mean(found)


@pytest.mark.mutation("test_without_their_names_authors_make_words_of_groups")
def test_words_of_authors_are_no_words_of_groups():
    assert above_zero(range(8)) < 0.05


def test_without_their_names_authors_make_words_of_groups():
    assert above_zero(range(8), by_author=False) > 0.15


def test_words_beyond_those_of_authors_are_found():
    assert above_zero(range(4), difference=5) > 0.2


def test_errors_of_clusters_are_those_of_the_means_of_two_samples():
    """Clusters of one size: the test of Welch, whose degrees of freedom are those of equal variances here."""
    rng = np.random.default_rng(0)
    counts, groups = rng.multinomial(50, [0.2, 0.3, 0.5], 9), np.repeat([0, 1], [4, 5])
    parts = _Parts(groups.copy(), groups, np.arange(9))
    error, freedom = parts.errors([csr_array(counts)] * 3, np.array([0, 2]))
    for i, v in enumerate((0, 2)):
        first, second = (counts[groups == g, v] / 50 for g in (0, 1))
        welch = ttest_ind(first, second, equal_var=False).statistic
        np.testing.assert_allclose(error[:, i], abs(first.mean() - second.mean()) / abs(welch))
    # Satterthwaite, if all clusters have one variance.
    expected = (1 / 4 + 1 / 5) ** 2 / (1 / 4**2 / 3 + 1 / 5**2 / 4)
    np.testing.assert_allclose(freedom, expected)
    # Draws that differ add their variance.
    moved = csr_array(counts[[4, 1, 2, 3, 0, 5, 6, 7, 8]])
    assert (parts.errors([csr_array(counts), moved], np.array([0, 2]))[0] != error).all()


def test_clusters_in_both_groups_are_pairs():
    """What a cluster has alike in both groups is not in their difference."""
    rng = np.random.default_rng(1)
    share = rng.uniform(0.1, 0.9, 6)
    counts = rng.binomial(100, np.repeat(share, 2))
    parts = _Parts(np.arange(12), np.tile([0, 1], 6), np.repeat(np.arange(6), 2))
    error, freedom = parts.errors([csr_array(np.column_stack([counts, 100 - counts]))], np.array([0]))
    difference = (counts[::2] - counts[1::2]) / 100
    np.testing.assert_allclose(error[:, 0], difference.std(ddof=1) / np.sqrt(6))
    np.testing.assert_allclose(freedom, 5)


def test_a_log_ratio_has_as_many_errors_as_its_difference():
    tokens = np.array([[30.0, 70.0], [10.0, 90.0]])
    ratio = np.log(tokens / tokens[::-1])
    found = TopicRatios(np.arange(2), tokens, ratio, np.zeros((2, 2)), ratio, ratio)
    found.widen(np.full((2, 2), 0.05), np.full(2, 7.0), 0.95)
    np.testing.assert_allclose(np.abs(ratio / found.std), 0.2 / 0.05)
    for end in (found.low, found.high):
        np.testing.assert_allclose(np.abs(end - ratio), 2.364624 * found.std, rtol=1e-6)
    # Without an error nothing is known.
    found.widen(np.full((2, 2), np.nan), np.full(2, np.nan), 0.95)
    assert (found.low == -np.inf).all() and (found.high == np.inf).all() and not len(found.words_of(0, 5)["word"])


def test_clusters_in_the_table(monkeypatch):
    X, topics, authors, groups = of_authors(0)
    lda = GibbsLDA.from_assignments(X, topics, doc_topic_prior=0.3, topic_word_prior=0.3)
    options = {"n_sweeps": 6, "n_words": 60, "least_tokens": 1, "random_state": 0}
    alone, together = (
        group_words(lda, X, groups, clusters=each, **options).sort_values(["topic", "group", "word"], ignore_index=True)
        for each in (None, authors)
    )
    assert "df" not in alone and (together["df"] < 15).all()
    same = ["topic", "group", "word", "log_ratio", "share", "share_of_others", "tokens"]
    assert together[same].equals(alone[same])
    assert (together["std"] >= alone["std"]).all() and (together["std"] > alone["std"]).any()
    assert (together["low"] <= alone["low"]).all() and (together["high"] >= alone["high"]).all()
    none = group_words(lda, X, groups, clusters=authors, **options | {"least_tokens": 10**6})
    assert list(none.columns) == list(together.columns) and len(none) == 0
    # Results do not depend on the blocks of words.
    monkeypatch.setattr("sklda.inspection._group_words._BLOCK", 100)
    blocks = group_words(lda, X, groups, clusters=authors, **options)
    np.testing.assert_allclose(blocks["std"].sort_values(), together["std"].sort_values())
    with pytest.warns(UserWarning, match="groups with a single cluster: True"):
        assert len(group_words(lda, X, authors == 3, clusters=authors, **options))
    with pytest.raises(ValueError, match="each group has a single cluster"):
        group_words(lda, X, groups, clusters=groups)
    with pytest.raises(ValueError, match="clusters has one label"):
        group_words(lda, X, groups, clusters=[0] * len(groups))


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


@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
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
