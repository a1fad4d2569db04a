"""The check of topics: exact replicates, z of the model, planted topics, and what it refuses."""

import itertools
from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2, chi2_contingency, norm
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.metrics import mutual_info_score

from sklda import CollapsedVariationalLDA, GibbsLDA, LabeledLDA
from sklda._core.word_information import TopicDocuments, TopicTokens, deviations
from sklda.datasets import make_lda_corpus
from sklda.inspection import topic_check

ALARM = 1e-5
SIZES = {"doc_length": 40, "doc_topic_prior": 0.2, "topic_word_prior": 0.1}


def model_of(corpus, topics=None):
    """A model whose only draw has the true topics, which are those of a perfect sampler."""
    topics = corpus.topic_assignments if topics is None else topics
    return GibbsLDA.from_assignments(corpus.data, topics, doc_topic_prior=0.2, topic_word_prior=0.1)


@pytest.mark.parametrize("n_words", [3, 400])
def test_the_information_is_that_of_scikit_learn(n_words):
    rng = np.random.default_rng(0)
    words, groups = rng.integers(n_words, size=200), rng.integers(5, size=200)
    found = TopicTokens(words, groups).information()
    assert found == pytest.approx(mutual_info_score(words, groups) / np.log(2))


def test_the_information_of_documents_is_the_chi_square_of_scipy():
    rng = np.random.default_rng(0)
    words, documents = rng.integers(30, size=400), rng.integers(20, size=400)
    table = np.zeros((30, 3))
    np.add.at(table, (words, documents % 3), 1)
    found = TopicDocuments(words, documents, documents % 3).information()
    assert found == pytest.approx(chi2_contingency(table).statistic / (2 * np.log(2) * 400))
    # A topic of one document, or of one word.
    none = np.zeros(400, int)
    for one in (TopicDocuments(words, none, none), TopicDocuments(none, documents, documents % 3)):
        assert one.information() == pytest.approx(0) and one.with_random_signs(rng) == pytest.approx(0)


def of_signs(words, units, groups, signs):
    """The information if deviations of units have these signs, from dense tables; NaN if its mean is zero."""
    parts, at = np.unique(np.stack([units, groups]), axis=1, return_inverse=True)
    counts = np.zeros((parts.shape[1], words.max() + 1))
    np.add.at(counts, (at, words), 1)
    n, lengths, share = len(words), counts.sum(axis=1), counts.sum(axis=0) / len(words)
    deviations = (counts - np.outer(lengths, share)) / np.sqrt(share)
    centred = np.eye(len(lengths)) - lengths[:, None] / n
    statistic, means = 0, []
    for g in np.unique(groups):
        own = (parts[1] == g) - lengths[parts[1] == g].sum() / n
        size = lengths[parts[1] == g].sum()
        statistic += (((own * np.array(signs)[parts[0]]) @ deviations) ** 2).sum() / size
        mean = [0.0, 0.0]
        for i, given in enumerate((np.ones(len(lengths)), np.array(signs)[parts[0]])):
            for u in np.unique(units):
                inside = parts[0] == u
                whole = (((own * given) @ centred)[inside] @ deviations[inside]) ** 2
                mean[i] += whole.sum() / (1 - lengths[inside].sum() / n) / size
        means.append(mean)
    before, after = np.sum(means, axis=0)
    return statistic * before / after / (2 * np.log(2) * n) if after > 1e-9 else np.nan


# The third unit has tokens in both groups.
@pytest.mark.parametrize("units", [[0, 0, 1, 2, 2, 3], [0, 0, 1, 2, 3, 2]])
@pytest.mark.mutation
def test_replicates_have_their_exact_means(units):
    words, units, groups = np.array([0, 0, 1, 2, 2, 1]), np.array(units), np.array([0, 0, 1, 1, 1, 0])
    tokens, of_units = TopicTokens(words, groups), TopicDocuments(words, units, groups)
    rng, n = np.random.default_rng(0), 2000
    of_all_signs = [of_signs(words, units, groups, signs) for signs in itertools.product([-1, 1], repeat=4)]
    exact = [
        [TopicTokens(words[list(p)], groups).information() for p in itertools.permutations(range(6))],
        [each for each in of_all_signs if not np.isnan(each)],
    ]
    drawn = [
        [replicate(rng) for _ in range(n)] for replicate in (tokens.with_words_permuted, of_units.with_random_signs)
    ]
    p = np.array([[chi2.sf((np.mean(a) - np.mean(b)) ** 2 / (np.var(b) / n), 1) for b in exact] for a in drawn])
    # Each kind of replicates has its own mean, and not that of the other.
    assert np.diag(p).min() > ALARM
    assert p[0, 1] < ALARM and p[1, 0] < ALARM


def test_the_deviations_of_a_few_numbers():
    observed, replicates = np.array([[3.0, 5.0]]), np.array([[[0.0, 2.0], [1.0, 3.0]]])
    excess, z, z_std = deviations(observed, replicates)
    # Centres are 1 and 2, and the variance of replicates is 2. That between draws is 1/2, of which 1/2 is that of the
    # centres in units of the variance: no part is left.
    assert excess[0] == 2.5 and z[0] == pytest.approx(2.5 / np.sqrt(2))
    assert z_std[0] == pytest.approx(np.sqrt(0.5 / 2 / 2 + 3.125 / 4))
    assert np.isnan(deviations(np.ones((1, 1)), np.ones((1, 1, 5)))[1])
    # A topic that deviates clearly says nothing about the variance between draws of the others.
    two = deviations(np.array([[3.0, 5.0], [300.0, 500.0]]), np.repeat(replicates, 2, axis=0))[1]
    np.testing.assert_allclose(two, [2.5 / np.sqrt(2), 398.5 / np.sqrt(2)])


def of_correlated_draws(n_topics=4000, n_draws=15, correlation=0.6):
    """Sum of the squares of z, if differences from replicates have correlated normal distributions over draws."""
    rng = np.random.default_rng(0)
    common, own = rng.standard_normal((n_topics, 1)), rng.standard_normal((n_topics, n_draws))
    observed = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    z = deviations(observed, rng.standard_normal((n_topics, n_draws, 10)))[1]
    return (z**2).sum(), n_topics


@pytest.mark.mutation("sklda._core.word_information._MOST_WITHIN", 0.0)
def test_z_of_the_mean_over_draws_is_standard_normal():
    total, n = of_correlated_draws()
    # The errors of the standard deviations of replicates, and topics beyond 3, are a hundredth.
    assert chi2.sf(total / 1.02, n) > ALARM and chi2.cdf(total / 0.98, n) > ALARM


def sum_of_squares(n_corpora, groups, change=None):
    """Sum of the squares of z of all topics, and the number of topics."""
    z = []
    for seed in range(n_corpora):
        corpus = make_lda_corpus(60, 40, 4, **SIZES, random_state=seed)
        topics = corpus.topic_assignments if change is None else change(corpus.topic_assignments, corpus)
        given = None if groups is None else np.arange(60) % 5 < groups
        z.append(topic_check(model_of(corpus, topics), corpus.data, groups=given, random_state=seed)["z"])
    return float((np.concatenate(z) ** 2).sum()), 4 * n_corpora


@pytest.mark.parametrize("groups", [None, 1])
@pytest.mark.mutation("test_topics_that_depend_on_documents_are_found")
def test_z_is_standard_normal_for_topics_of_the_model(groups):
    total, n = sum_of_squares(10, groups)
    assert chi2.sf(total, n) > ALARM and chi2.cdf(total, n) > ALARM


@pytest.mark.parametrize("groups", [None, 1])
def test_topics_that_depend_on_documents_are_found(groups):
    def shuffled(topics, corpus):
        """Topics of some tokens of a half of the documents are those of other words."""
        documents = np.repeat(np.arange(60), corpus.doc_length)
        return np.where(documents % 5 < 2, (topics + 1) % 4, topics).astype(np.int32)

    total, n = sum_of_squares(10, groups, shuffled)
    assert chi2.sf(total, n) < ALARM


def test_two_subjects_in_a_topic_come_first():
    corpus = make_lda_corpus(100, 80, 5, **SIZES, random_state=0)
    merged = np.maximum(corpus.topic_assignments - 1, 0)
    table = topic_check(model_of(corpus, merged), corpus.data, random_state=0)
    assert table["topic"].iloc[0] == 0 and table["z"].iloc[0] > 5
    assert (table["z"].iloc[1:] < 5).all()


def test_a_topic_whose_words_differ_between_groups_comes_first():
    corpus, groups = make_lda_corpus(100, 80, 5, **SIZES, random_state=1), np.arange(100) % 2
    documents = np.repeat(np.arange(100), corpus.doc_length)
    # Topic 4 of the second group has the name 3.
    moved = np.where((corpus.topic_assignments == 4) & (groups[documents] == 1), 3, corpus.topic_assignments)
    moved = np.where((moved == 3) & (corpus.topic_assignments == 3) & (groups[documents] == 1), 4, moved)
    table = topic_check(model_of(corpus, moved.astype(np.int32)), corpus.data, groups=groups, random_state=0)
    assert set(table["topic"].iloc[:2]) == {3, 4}
    assert (table[["z", "z_documents"]].iloc[:2] > 5).all(axis=None)
    assert (table["z"].iloc[2:] < 5).all()


def test_repeated_words_are_no_difference_of_groups():
    corpus, groups = make_lda_corpus(100, 80, 3, **SIZES, random_state=2), np.arange(100) % 2
    X, topics = 4 * corpus.data, np.repeat(corpus.topic_assignments, 4)
    lda = GibbsLDA.from_assignments(X, topics, doc_topic_prior=0.2, topic_word_prior=0.1)
    table = topic_check(lda, X, groups=groups, random_state=0)
    assert table["z"].mean() > 5
    assert table["z_documents"].abs().max() < 5


def of_bursty_words(seed, lengths, difference=None):
    """z of groups of documents, every second one, in a topic whose words repeat within documents."""
    rng, groups = np.random.default_rng(seed), np.arange(len(lengths)) % 2
    phi = rng.dirichlet(np.full(40, 0.5))
    other = phi if difference is None else rng.dirichlet(difference * phi + 0.01)
    own = [rng.dirichlet(20 * (other if g else phi) + 0.01) for g in groups]
    X = np.array([rng.multinomial(length, each) for length, each in zip(lengths, own, strict=True)])
    documents, words = (np.repeat(each.ravel(), X.ravel()) for each in np.indices(X.shape))
    topic = TopicDocuments(words, documents, groups[documents])
    replicates = [topic.with_random_signs(rng) for _ in range(50)]
    return deviations(np.array([[topic.information()]]), np.array([[replicates]]))[1][0]


UNEQUAL = np.where(np.arange(60) % 2, 90, 15)


def with_groups_permuted(self, rng):
    """Replicates whose documents are exchanged between groups, whatever their lengths."""
    groups = rng.permutation(self.members.T.tocsr().indices)
    other = copy(self)
    other.members = sp.csr_array((np.ones(len(groups)), (groups, np.arange(len(groups)))))
    other.sizes = other.members @ other.lengths
    return other.information()


@pytest.mark.mutation("sklda._core.word_information.TopicDocuments.with_random_signs", with_groups_permuted)
def test_groups_of_long_and_of_short_documents_do_not_differ_by_their_lengths():
    z = np.array([of_bursty_words(seed, UNEQUAL) for seed in range(40)])
    assert 2 * norm.sf(abs(z.mean()) * np.sqrt(len(z))) > ALARM
    assert chi2.sf((z**2).sum(), len(z)) > ALARM and chi2.cdf((z**2).sum(), len(z)) > ALARM


def test_a_difference_between_long_and_short_documents_is_found():
    z = np.array([of_bursty_words(seed, UNEQUAL, difference=10) for seed in range(10)])
    assert (z > 5).all()


def of_authors(seed, by_author, difference=None):
    """z of two groups of authors, in a topic of which each author has words of his own."""
    rng, authors = np.random.default_rng(seed), np.arange(72) % 12
    groups, phi = authors % 2, rng.dirichlet(np.full(40, 0.5))
    other = phi if difference is None else rng.dirichlet(difference * phi + 0.01)
    own = [rng.dirichlet(30 * (other if a % 2 else phi) + 0.01) for a in range(12)]
    X = np.array([rng.multinomial(length, own[a]) for a, length in zip(authors, rng.integers(5, 60, 72), strict=True)])
    documents, words = (np.repeat(each.ravel(), X.ravel()) for each in np.indices(X.shape))
    topic = TopicDocuments(words, authors[documents] if by_author else documents, groups[documents])
    replicates = [topic.with_random_signs(rng) for _ in range(50)]
    return deviations(np.array([[topic.information()]]), np.array([[replicates]]))[1][0]


def with_free_signs(self, rng):
    """Replicates whose words of the whole topic are others."""
    return self._bits(rng.choice([-1.0, 1.0], len(self.of_units))[self.unit_of])


@pytest.mark.mutation("sklda._core.word_information.TopicDocuments.with_random_signs", with_free_signs)
def test_words_of_authors_are_no_difference_of_groups():
    z = np.array([of_authors(seed, by_author=True) for seed in range(100)])
    assert 2 * norm.sf(abs(z.mean()) * np.sqrt(len(z))) > ALARM
    assert chi2.sf((z**2).sum(), len(z)) > ALARM and chi2.cdf((z**2).sum(), len(z)) > ALARM


def test_without_their_names_authors_make_groups_differ():
    assert np.mean([of_authors(seed, by_author=False) for seed in range(20)]) > 3


def test_a_difference_beyond_that_of_authors_is_found():
    assert np.mean([of_authors(seed, by_author=True, difference=3) for seed in range(20)]) > 3


def test_clusters_in_the_table():
    corpus = make_lda_corpus(60, 40, 3, **SIZES, random_state=0)
    lda, groups, authors = model_of(corpus), np.arange(60) % 2, np.arange(60) % 12
    check = lambda clusters: topic_check(lda, corpus.data, groups=groups, clusters=clusters, random_state=0)  # noqa: E731
    alone, together = check([f"document {d:02}" for d in range(60)]), check(authors)
    # Each document is a cluster.
    assert alone.sort_values("topic").equals(check(None).sort_values("topic"))
    columns = ["topic", "tokens", "information", "z"]
    assert together[columns].sort_values("topic").equals(alone[columns].sort_values("topic"))
    assert not together["z_documents"].equals(alone["z_documents"])
    # Clusters may have documents in both groups.
    assert np.isfinite(check(np.arange(60) // 12)["z_documents"]).all()
    # Two clusters, one in each group, say nothing.
    assert check(groups)["z_documents"].isna().all()


def test_documents_without_a_group_or_a_cluster_are_left_out():
    corpus = make_lda_corpus(60, 40, 3, **SIZES, random_state=0)
    groups, authors = [d % 2 for d in range(60)], [d % 12 for d in range(60)]
    lda, rows = model_of(corpus), np.arange(60)
    groups[3] = authors[5] = None
    with pytest.warns(UserWarning, match="missing in document"):
        found = topic_check(lda, corpus.data, groups=groups, clusters=authors, missing="drop", random_state=0)
    kept = (rows != 3) & (rows != 5)
    tokens = np.bincount(corpus.topic_assignments[np.repeat(kept, corpus.doc_length)], minlength=3)
    assert found.sort_values("topic")["tokens"].tolist() == tokens.tolist()


def test_the_table():
    corpus = make_lda_corpus(40, 30, 3, **SIZES, random_state=0)
    lda = (
        GibbsLDA(3, max_iter=100, n_draws=5, draw_every=5, random_state=0)
        .fit(corpus.data)
        .set_topic_names(["a", "b", "c"])
    )
    groups = ["x", "other", "y", "other"] * 10
    table = topic_check(lda, corpus.data, groups=groups, topics=["b"], n_draws=3, random_state=0)
    assert table["topic"].tolist() == [1] and table["name"].tolist() == ["1: b"]
    assert np.isfinite(table.drop(columns="name").to_numpy(float)).all()
    again = topic_check(lda, corpus.data, groups=groups, topics=["b"], n_draws=3, random_state=0)
    assert table.equals(again)
    one = topic_check(lda, corpus.data, n_draws=1, random_state=0)
    assert one["z_std"].isna().all() and "z_documents" not in one
    assert (np.diff(one["excess"]) <= 0).all()


def test_new_documents_and_other_models():
    corpus = make_lda_corpus(40, 30, 3, **SIZES, random_state=0)
    lda = GibbsLDA(3, max_iter=30, random_state=0).fit(corpus.data[:20])
    variational = CollapsedVariationalLDA(3, random_state=0).fit(corpus.data)
    labels = [[1, 0], [1, 1], [0, 1], [0, 0]] * 10
    labelled = LabeledLDA(max_iter=20, random_state=0).fit(corpus.data, labels)
    for model in (lda, variational, labelled):
        table = topic_check(model, corpus.data, n_draws=2, random_state=0)
        assert np.isfinite(table["z"]).all()


def test_what_is_refused():
    corpus = make_lda_corpus(20, 10, 2, **SIZES, random_state=0)
    X, lda = corpus.data, model_of(corpus)
    with pytest.raises(TypeError, match="pair of arrays has no posterior draws"):
        topic_check((corpus.topic_word, corpus.doc_topic), X)
    with pytest.raises(TypeError, match=r"LatentDirichletAllocation has no posterior draws .*from_assignments"):
        topic_check(LatentDirichletAllocation(2).fit(X), X)
    with pytest.raises(ValueError, match=r"groups has 3 .* 20"):
        topic_check(lda, X, groups=[0, 1, 2])
    with pytest.raises(ValueError, match="one label"):
        topic_check(lda, X, groups=[0] * 20)
    with pytest.raises(ValueError, match=r"clusters .*give groups"):
        topic_check(lda, X, clusters=np.arange(20) % 3)
    with pytest.raises(ValueError, match="clusters has one label"):
        topic_check(lda, X, groups=np.arange(20) % 2, clusters=[0] * 20)
    with pytest.raises(ValueError, match="n_draws"):
        topic_check(lda, X, n_draws=0)


def test_the_check_of_a_topic_does_not_depend_on_the_others():
    corpus = make_lda_corpus(40, 20, 3, random_state=0)
    lda = GibbsLDA(3, max_iter=20, random_state=0).fit(corpus.data)
    of = lambda topics: topic_check(lda, corpus.data, topics=topics, random_state=0).set_index("topic")["excess"][1]  # noqa: E731
    assert of([1]) == of([2, 1, 0]) == of(None)
