"""merge_topics: sums of Dirichlet parameters, every estimator, names, and what is refused."""

import pickle
import re

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.decomposition import NMF
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
    merge_topics,
)
from sklda.inspection import TopicExplorer, describe, document_table, token_topics, topic_table
from sklda.metrics import held_out_log_likelihood, topic_coherence

X = np.random.default_rng(0).poisson(1, (30, 12))
LABELS = ["a", "b"] * 15
ALARM = 1e-5
MODELS = {
    "gibbs": GibbsLDA(5, max_iter=30, n_chains=3, random_state=0),
    "eta": GibbsLDA(5, topic_word_prior=np.linspace(0.1, 0.5, 60).reshape(5, 12), max_iter=20, random_state=0),
    "seeds": GibbsLDA(5, seed_words={0: [3]}, max_iter=20, init="random", random_state=0),
    "empirical": EmpiricalBayesLDA(5, max_iter=60, random_state=0),
    "count": TopicCountLDA(min_components=5, max_components=6, max_iter=40, random_state=0),
    "compound": CompoundLDA(5, max_iter=30, n_chains=2, random_state=0),
    "covariate": CovariateLDA(5, max_iter=20, random_state=0),
    "labeled": LabeledLDA(max_iter=5, random_state=0),
    "variational": CollapsedVariationalLDA(5, max_iter=5, random_state=0),
    "consensus": ConsensusTopics(GibbsLDA(6, max_iter=30), n_fits=3, min_prevalence=0.3, n_splits=0, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each = clone(MODELS[request.param])
        if isinstance(each, CompoundLDA):
            return each.fit(X, collections=LABELS)
        if isinstance(each, CovariateLDA):
            return each.fit(X, covariates=np.arange(30.0))
        return each.fit(X, list("abcde") * 6) if isinstance(each, LabeledLDA) else each.fit(X)


@pytest.fixture(scope="module")
def lda():
    return GibbsLDA(5, max_iter=30, random_state=0).fit(X)


def summed(values, K):
    """Columns 1 and 3 together, in the place of 1."""
    rest = [k for k in range(K) if k not in (1, 3)]
    out = np.insert(values[..., rest], 1, values[..., 1] + values[..., 3], axis=-1)
    return out


def test_proportions_and_counts_are_sums(model):
    K = model._n_features_out
    before = {name: vars(model)[name] for name in vars(model) if name != "_tags"}
    merged = merge_topics(model, [[3, 1]])
    assert {name: vars(model)[name] for name in before}.keys() == before.keys()
    np.testing.assert_allclose(merged.doc_topic_, summed(model.doc_topic_, K), rtol=1e-6)
    np.testing.assert_allclose(merged.topic_share_, summed(model.topic_share_, K), rtol=1e-6)
    np.testing.assert_allclose(merged.topic_word_.sum(axis=1), 1)
    if isinstance(model, ConsensusTopics):
        np.testing.assert_allclose(merged.transform(X[:9]), summed(model.transform(X[:9]), K))
        return
    np.testing.assert_allclose(merged.components_, summed(model.components_.T, K).T, rtol=1e-6)
    weights = model.components_[[1, 3]].sum(axis=1, dtype=float)
    np.testing.assert_allclose(merged.topic_word_[1], weights @ model.topic_word_[[1, 3]] / weights.sum(), rtol=1e-6)
    alpha = np.broadcast_to(model.doc_topic_prior_, K)
    np.testing.assert_allclose(merged.doc_topic_prior_, summed(alpha, K))
    eta = np.broadcast_to(model.topic_word_prior_, (K, 12))
    np.testing.assert_allclose(merged.topic_word_prior_, summed(eta.T, K).T)


@pytest.mark.filterwarnings("ignore:X is not the X of the fit")
def test_the_result_works_as_an_estimator(model):
    merged = merge_topics(model, [[1, 3], [0, 2]])
    K = model._n_features_out - 2
    again = pickle.loads(pickle.dumps(merged))
    theta = merged.transform(X)
    assert theta.shape == (30, K) and np.isfinite(merged.score(X))
    np.testing.assert_array_equal(again.transform(X), theta)
    assert merged.set_output(transform="pandas").transform(X).shape == (30, K)
    topic_coherence(merged, X)
    for report in (topic_table(merged, each, columns="all") for each in (X, X[:4] + 1)):
        assert len(report) == K
    assert document_table(merged, X=X).shape[0] == 30 and len(token_topics(merged, X, document=2))
    assert TopicExplorer.from_estimator(merged, X).to_html()
    if not isinstance(merged, ConsensusTopics):
        if getattr(merged, "covariate_names_", ()):
            with pytest.raises(TypeError, match="depends on its covariates"):
                held_out_log_likelihood(merged, X[:3], random_state=0)
        else:
            held_out_log_likelihood(merged, X[:3], random_state=0)
        draws = merged.sample_posterior(3, random_state=0)
        assert draws.doc_topic.shape == (3, 30, K) and draws.topic_word.shape == (3, K, 12)


def test_a_merged_group_can_be_merged_again(model):
    once = merge_topics(merge_topics(model, [[1, 3]]), [[0, 1]])
    at_once = merge_topics(model, [[0, 1, 3]])
    np.testing.assert_allclose(once.doc_topic_, at_once.doc_topic_, rtol=1e-5)
    np.testing.assert_allclose(once.components_, at_once.components_, rtol=1e-5)
    if hasattr(once, "topic_share_std_"):
        np.testing.assert_allclose(once.topic_share_std_, at_once.topic_share_std_)


def test_documents_without_topics_have_none():
    labels = [[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]] * 6
    labelled = LabeledLDA(max_iter=5, random_state=0).fit(X, labels)
    merged = merge_topics(labelled, [[0, 1]])
    expected = np.array([-1, 0, 0, 1])[labelled.topic_assignments_ + 1]
    assert (expected == -1).any() and merged.topic_assignments_.tolist() == expected.tolist()


@pytest.mark.mutation
def test_theta_has_the_aggregated_dirichlet_distribution():
    """False-alarm rate 1e-5. A merged topic with the alpha of one of its parts is found at the same level."""
    lda = GibbsLDA(
        5, doc_topic_prior=0.5, topic_word_prior=0.1, max_iter=300, n_draws=50, draw_every=2, random_state=0
    ).fit(X)
    merged = merge_topics(lda, [[1, 3]])
    draws = [m.sample_posterior(4000, random_state=i).doc_topic for i, m in enumerate((lda, merged))]
    d = int(np.argmin(np.abs(merged.doc_topic_[:, 1] - 0.4)))
    assert kstest(draws[0][:, d, 1] + draws[0][:, d, 3], draws[1][:, d, 1]).pvalue > ALARM
    np.testing.assert_allclose(merged.doc_topic_std_[d], draws[1][:, d].std(axis=0), rtol=0.1)
    given = {"doc_topic_prior": 0.5, "topic_word_prior": 0.1, "n_components": 4}
    wrong = GibbsLDA.from_assignments(X, merged.topic_assignments_, **given)
    assert kstest(wrong.sample_posterior(4000, random_state=3).doc_topic[:, d, 1], draws[1][:, d, 1]).pvalue < ALARM


def test_topics_that_a_draw_does_not_use_are_distributions():
    lda = GibbsLDA(10, doc_topic_prior=1e-6, max_iter=20, random_state=0).fit(X[:6])
    unused = np.flatnonzero(lda.topic_share_ == 0)[:2].tolist()
    drawn = merge_topics(lda, [unused]).sample_posterior(5, random_state=1)
    # Their shares are zero in all documents, so they count equally.
    assert drawn.doc_topic[..., min(unused)].max() == 0
    parts = lda.sample_posterior(5, random_state=1).topic_word[:, unused]
    np.testing.assert_allclose(drawn.topic_word[:, min(unused)], parts.mean(axis=1), rtol=1e-5)


def test_shares_have_the_errors_of_all_chains():
    lda = GibbsLDA(5, max_iter=30, n_chains=3, random_state=0).fit(X)
    merged = merge_topics(lda, [[1, 3]])
    # The other topics are as they were.
    np.testing.assert_allclose(merged.topic_share_std_[[0, 2, 3]], lda.topic_share_std_[[0, 2, 4]])
    assert merged.topic_share_std_[1] != pytest.approx(np.hypot(*lda.topic_share_std_[[1, 3]]))


@pytest.mark.parametrize("again", ["fit", "partial_fit"])
def test_another_fit_of_the_model_does_not_change_merged_topics(again):
    kind = GibbsLDA if again == "fit" else CollapsedVariationalLDA
    model = kind(5, max_iter=20, random_state=0).fit(X)
    merged = merge_topics(model, [[1, 3]])
    before = merged.transform(X), merged.components_.copy(), merged.sample_posterior(2, random_state=0).topic_word
    getattr(model, again)(np.roll(X, 3, axis=1))
    after = merged.transform(X), merged.components_, merged.sample_posterior(2, random_state=0).topic_word
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


def test_merged_topics_are_not_fitted(lda):
    with pytest.raises(TypeError, match="merged topics belong to one fit"):
        merge_topics(lda, [[1, 3]]).fit(X)


def test_collections_and_covariates_are_those_of_the_model():
    lda = CompoundLDA(5, max_iter=20, random_state=0).fit(X, collections=LABELS)
    merged = merge_topics(lda, [[1, 3]])
    expected = summed(lda.transform(X[:4], collections=LABELS[:4]), 5)
    np.testing.assert_allclose(merged.transform(X[:4], collections=LABELS[:4]), expected)


def test_consensus_topics_are_those_of_the_members_together():
    model = clone(MODELS["consensus"]).fit(X)
    merged = merge_topics(model, {"both": [1, 3]})
    assert merged.n_components_ == model.n_components_ - 1 and merged.topic_names_[1] == "both"
    pairs = {tuple(pair) for k in (1, 3) for pair in model.members_[k].tolist()}
    assert {tuple(pair) for pair in merged.members_[1].tolist()} == pairs
    assert merged.topic_prevalence_[1] == len({f for f, _ in pairs}) / 3
    np.testing.assert_allclose(merged.topic_word_[0], model.topic_word_[0])
    assert not hasattr(merged, "doc_topic_std_")


def test_names(lda):
    assert not hasattr(merge_topics(lda, [[1, 3]]), "topic_names_")
    named = merge_topics(lda, {"fruit": (1, 3)})
    assert named.topic_names_.tolist() == ["topic 0", "fruit", "topic 2", "topic 4"]
    lda = pickle.loads(pickle.dumps(lda)).set_topic_names(list("abcde"))
    assert merge_topics(lda, [["d", "b"], [0, "e"]]).topic_names_.tolist() == ["a + e", "b + d", "c"]
    assert merge_topics(lda, {"x": ["d", 1]}).get_feature_names_out().tolist() == ["a", "x", "c", "e"]
    with pytest.raises(ValueError, match="both 'a'"):
        merge_topics(lda, {"a": ["d", "b"]})


def test_the_topics_of_a_description_keep_what_it_says():
    lda = GibbsLDA(4, max_iter=10, random_state=0).fit(X)
    words, names = [f"w{v}" for v in range(12)], ["sport", "football", "law", "art"]
    given = describe(lda, X, vocabulary=words, topic_names=names, document_names=[f"d{d}" for d in range(30)])
    merged = merge_topics(given, [["sport", "football"]])
    table = topic_table(merged)
    assert table["name"].tolist() == ["sport + football", "law", "art"] and set(table["words"][0]) <= set(words)
    assert document_table(merged)["document"].iloc[0] == "d0"


def test_pipelines_and_searches():
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"] * 2
    pipeline = make_pipeline(CountVectorizer(), GibbsLDA(4, max_iter=10, random_state=0)).fit(texts)
    merged = merge_topics(pipeline, [[0, 1]])
    assert merged.transform(texts).shape == (8, 3) and pipeline.transform(texts).shape == (8, 4)
    assert merged[0] is pipeline[0] and len(topic_table(merged, texts, columns="all")) == 3
    classifier = make_pipeline(*pipeline, LogisticRegression()).fit(texts, [0, 1] * 4)
    without = merge_topics(FrozenEstimator(classifier), [[0, 1]])
    assert len(without) == 2 and without.transform(texts).shape == (8, 3) and len(classifier) == 3
    search = GridSearchCV(pipeline, {"gibbslda__n_components": [3]}, cv=2).fit(texts)
    assert merge_topics(search, [[0, 1]]).transform(texts).shape == (8, 2)


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        ([], ValueError, "at least one group"),
        ("ab", ValueError, "at least one group"),
        ([0, 1], TypeError, "topics[0] is 0: a group is a list of topics"),
        ([[0]], ValueError, "topics[0] has 1 topics: a group has at least two"),
        ([[0, 0]], ValueError, "topic 0 is twice in topics"),
        ([[0, 1], [1, 2]], ValueError, "topic 1 is twice in topics"),
        ([[0, 5]], ValueError, "topics[0] has 5: topics are numbers from 0 to 4"),
        ([[0, -1]], ValueError, "topics[0] has -1"),
        ([[0, True]], ValueError, "topics[0] has True"),
        ([["a", 1]], ValueError, "topics[0] has 'a'"),
        ({3: [0, 1]}, TypeError, "is 3: a name of a topic is a str"),
    ],
)
def test_groups_that_are_refused(lda, groups, error, message):
    with pytest.raises(error, match=re.escape(message)):
        merge_topics(lda, groups)


def test_topics_that_were_replaced(lda):
    changed = pickle.loads(pickle.dumps(lda))
    changed.components_ = changed.components_[:3]
    with pytest.raises(ValueError, match=r"components_ has 3 .*doc_topic_ has 5"):
        merge_topics(changed, [[0, 1]])


def test_models_that_are_refused():
    with pytest.raises(NotFittedError):
        merge_topics(GibbsLDA(3), [[0, 1]])
    with pytest.raises(TypeError, match="the topics of NMF cannot be merged"):
        merge_topics(NMF(3, max_iter=500).fit(X), [[0, 1]])
