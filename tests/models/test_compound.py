"""CompoundLDA as an estimator: labels, edge cases, pipelines, metadata routing, displays."""

import pickle

import numpy as np
import pytest
from compound_cases import TOLD_APART
from sklearn import config_context
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

from sklda import CompoundLDA, GibbsLDA
from sklda._models.results import total_variance
from sklda._sampling import steps
from sklda.datasets import make_compound_lda_corpus
from sklda.inspection import TopicEffectsDisplay, describe
from sklda.metrics import held_out_log_likelihood, make_held_out_scorer


@pytest.fixture
def corpus():
    return TOLD_APART


@pytest.fixture
def labels(corpus):
    return np.array(["arts", "laws", "news"])[corpus.collections]


def make(**options):
    return CompoundLDA(3, **{"topic_word_prior": 0.1, "max_iter": 60, "random_state": 0} | options)


def test_collections_are_told_apart(corpus, labels):
    lda = make().fit(corpus.data, collections=labels)
    assert lda.collections_.tolist() == ["arts", "laws", "news"]
    assert lda.collection_topic_.shape == lda.collection_topic_std_.shape == (3, 3)
    np.testing.assert_allclose(lda.collection_topic_.sum(axis=1), 1)
    assert sorted(lda.collection_topic_.argmax(axis=1)) == [0, 1, 2]
    assert (lda.collection_topic_.max(axis=1) > 0.6).all()
    assert (lda.collection_topic_std_ > 0).all()
    np.testing.assert_allclose(lda.corpus_topic_, np.array([4, 3, 2]) / 9 @ lda.collection_topic_)
    np.testing.assert_allclose(lda.doc_topic_.sum(axis=1), 1)
    assert lda.score(corpus.data, collections=labels) > lda.score(corpus.data)
    assert lda.perplexity(corpus.data, collections=labels) < lda.perplexity(corpus.data)
    theta = lda.transform(corpus.data, collections=labels)
    np.testing.assert_array_equal(lda.transform(corpus.data[50:], collections=labels[50:]), theta[50:])


def test_a_warm_start_has_no_burn_in_of_its_own(corpus, labels, same_fit):
    """By default 14 of the 20 sweeps of the first fit are burn-in, 8 of them annealed; the second fit is averaged."""
    lda = make(max_iter=20).fit(corpus.data, collections=labels)
    lda.set_params(warm_start=True, max_iter=30, draw_every=1).fit(corpus.data, collections=labels)
    whole = make(max_iter=50, burn_in=14).fit(corpus.data, collections=labels)
    np.testing.assert_array_equal(lda.collection_topic_, whole.collection_topic_)
    np.testing.assert_array_equal(lda.collection_topic_std_, whole.collection_topic_std_)
    # The draws of sweeps 15 to 20 were kept by the first fit.
    np.testing.assert_array_equal(lda.collection_topic_draws_, whole.collection_topic_draws_)
    assert lda.collection_topic_draws_.shape == (36, 3, 3)


def test_what_a_warm_start_may_not_change(corpus, labels, same):
    lda = make(max_iter=10, warm_start=True, n_chains=2).fit(corpus.data, collections=labels)
    before = pickle.loads(pickle.dumps(vars(lda)))
    moved = labels.copy()
    moved[7] = "laws"
    for X, own, message in [
        (corpus.data[::-1], labels, "continues the previous fit, but this X is different"),
        (corpus.data, moved, r"collections\[7\] was 'arts', but now it is 'laws'"),
        (corpus.data, np.char.upper(labels), r"collections\[0\] was 'arts', but now it is 'ARTS'"),
        (corpus.data, None, r"collections\[0\] was 'arts', but now it is 'all'"),
    ]:
        with pytest.raises(ValueError, match=message):
            lda.fit(X, collections=own)
        assert same(vars(lda), before)
    for name, value in [
        ("burn_in", 3),
        ("learn_priors", False),
        ("doc_concentration", 2.0),
        ("collection_topic_prior", (1.0, 1.0)),
        ("topic_word_prior", np.full(40, 0.1)),
    ]:
        old = getattr(lda, name)
        lda.set_params(**{name: value})
        with pytest.raises(ValueError, match=f"warm_start=True continues a fit with {name}={old!r}, but {name} is now"):
            lda.fit(corpus.data, collections=labels)
        lda.set_params(**{name: old})
        assert same(vars(lda), before)
    assert lda.fit(corpus.data, collections=labels).n_iter_ == 20


def test_draws_of_the_mixtures(monkeypatch, corpus, labels):
    dense = make(n_draws=1, burn_in=10).fit(corpus.data, collections=labels)
    assert dense.collection_topic_draws_.shape == (50, 3, 3)
    np.testing.assert_allclose(dense.collection_topic_draws_.mean(axis=0), dense.collection_topic_, rtol=1e-10)
    np.testing.assert_allclose(
        dense.collection_topic_draws_.std(axis=0, ddof=1), dense.collection_topic_std_, rtol=1e-6
    )
    # Of many sweeps there are some: here 16 at most, four sweeps apart, also after a warm start.
    monkeypatch.setattr(steps, "_MOST", 16)
    for lengths in ([60], [30, 30]):
        lda = make(burn_in=10, warm_start=True)
        for n in lengths:
            lda.set_params(max_iter=n).fit(corpus.data, collections=labels)
        np.testing.assert_array_equal(lda.collection_topic_draws_, dense.collection_topic_draws_[1::4])
    np.testing.assert_array_equal(dense.chains_[0].collection_topic_draws, dense.collection_topic_draws_)


def test_results_of_all_chains(corpus, labels):
    """Chains have their topics in different orders; errors contain the differences between matched topics."""
    lda = make(n_chains=3, burn_in=30).fit(corpus.data, collections=labels)
    assert lda.n_draws_ == 3 and [each.n_draws for each in lda.chains_] == [3, 3, 3]
    assert lda.collection_topic_draws_.shape == (90, 3, 3)
    # The draws of each chain are close to the mean: the orders of topics agree.
    for own in lda.collection_topic_draws_.reshape(3, 30, 3, 3).mean(axis=1):
        np.testing.assert_allclose(own, lda.collection_topic_, atol=0.25)
    own = [make(n_chains=n, random_state=0).fit(corpus.data, collections=labels) for n in (1, 2)]
    assert [hasattr(each, "topic_stability_") for each in own] == [False, True]
    np.testing.assert_allclose(lda.topic_share_.sum(), 1)
    assert lda.doc_topic_std_.shape == lda.doc_topic_.shape
    assert set(lda.traces_) == set(lda.diagnostics_) == {"log_joint", "log_topics", "squared_shares"}
    draws = lda.sample_posterior(4, random_state=0)
    assert draws.doc_topic.shape == (4, 90, 3)
    np.testing.assert_allclose(draws.doc_topic.mean(axis=0), lda.doc_topic_, atol=0.5)


def test_the_spread_of_chains_is_in_the_errors(corpus, labels):
    lda = make(n_chains=2).fit(corpus.data, collections=labels)
    one = [make(random_state=s).fit(corpus.data, collections=labels) for s in range(2)]
    means, stds = (
        np.array([getattr(each, name) for each in one]) for name in ("collection_topic_", "collection_topic_std_")
    )
    total = total_variance(means, stds**2)
    np.testing.assert_allclose(total, (stds**2).mean(axis=0) + (means[0] - means[1]) ** 2 / 2)
    assert lda.collection_topic_std_.shape == total.shape


def test_numbers_as_collections(corpus):
    """A covariate that is a real number is not a collection."""
    values = np.repeat(np.arange(45) / 7, 2)
    with pytest.warns(UserWarning, match="45 different values.*fractional"):
        make(max_iter=2).fit(corpus.data, collections=values)


@pytest.mark.parametrize(
    "names", [[1, 2, 3], [1.5, 2.5, -1.0], [("a", 1), ("b", 2), ("a", 3)], ["", "x", 7], [True, False, "?"]]
)
def test_labels_of_any_kind(corpus, names):
    labels = [names[j] for j in corpus.collections]
    lda = make(max_iter=10).fit(corpus.data, collections=labels)
    assert set(lda.collections_.tolist()) == set(names)
    theta = lda.transform(corpus.data[:3], collections=[names[0], None, names[2]])
    np.testing.assert_array_equal(theta[1], lda.transform(corpus.data[1:2])[0])
    with pytest.raises(ValueError, match=r"collections\[1\] = 'elsewhere' is not a collection"):
        lda.transform(corpus.data[:2], collections=[names[0], "elsewhere"])


def test_no_labels_is_one_collection(corpus):
    lda = make().fit(corpus.data)
    assert lda.collections_.tolist() == ["all"]
    named = make().fit(corpus.data, collections=["x"] * 90)
    np.testing.assert_array_equal(lda.components_, named.components_)
    np.testing.assert_allclose(lda.corpus_topic_, lda.collection_topic_[0])
    theta = lda.transform(corpus.data)
    np.testing.assert_allclose(theta, lda.transform(corpus.data, collections=["all"] * 90), rtol=1e-5)


def test_bad_input(corpus, labels):
    X = corpus.data
    for wrong, error, match in [
        (labels[:5], ValueError, "5 values; there are 90 documents"),
        ("arts", TypeError, "one label for each document"),
        ([[1]] * 90, TypeError, "not hashable"),
        ([None] * 90, ValueError, "collections is missing in documents 0, 1, .* Each document needs one"),
        ([np.nan] * 90, ValueError, "collections is missing in documents 0, 1, .* Each document needs one"),
    ]:
        with pytest.raises(error, match=match):
            make().fit(X, collections=wrong)
    for options, match in [
        ({"doc_concentration": 1e-9}, "doc_concentration"),
        ({"burn_in": 60}, "leaves none"),
        ({"learn_priors": "symmetric"}, "has a mixture that differs between topics"),
        ({"collection_topic_prior": (1, 0)}, "a pair"),
        ({"collection_topic_prior": -1.0}, "collection_topic_prior"),
    ]:
        lda = make(**options)
        with pytest.raises(ValueError, match=match):
            lda.fit(X)
        assert not hasattr(lda, "components_")
    lda = make(max_iter=5).fit(X, collections=labels)
    with pytest.raises(ValueError, match="2 values; there are 90"):
        lda.transform(X, collections=["arts", "arts"])


def test_edges():
    """Collections of one document, of empty documents only, and an empty label."""
    X = np.array([[3, 1, 0], [0, 2, 2], [0, 0, 0], [0, 0, 0], [1, 1, 1]])
    lda = CompoundLDA(2, max_iter=400, random_state=0)
    lda.fit(X, collections=["a", "", "empty", "empty", "a"])
    assert lda.collections_.tolist() == ["", "a", "empty"]
    assert np.isfinite(lda.collection_topic_).all()
    # Nothing is known of the collection without words: its mixture has the prior, uniform on the segment.
    tolerance = 5 / np.sqrt(12 * 40)
    np.testing.assert_allclose(lda.collection_topic_[2], 0.5, atol=tolerance)
    assert lda.collection_topic_std_[2, 0] > 0.2
    theta = lda.transform(X, collections=["a", "", "empty", None, "a"])
    np.testing.assert_allclose(theta[2], lda.collection_topic_[2])
    np.testing.assert_allclose(theta[3], lda.corpus_topic_)
    one = CompoundLDA(1, max_iter=4, random_state=0).fit(X)
    np.testing.assert_allclose(one.collection_topic_, 1)


def test_thousands_of_collections():
    n = 2000
    X = make_compound_lda_corpus([1] * n, 30, 4, doc_length=5, random_state=0).data
    lda = CompoundLDA(4, max_iter=4, random_state=0)
    with pytest.warns(UserWarning, match=f"{n} different values.*one document"):
        lda.fit(X, collections=range(n))
    assert lda.collection_topic_.shape == (n, 4)
    assert np.isfinite(lda.collection_topic_).all()
    theta = lda.transform(X[:5], collections=[n - 1, 0, 5, None, 7])
    np.testing.assert_allclose(theta.sum(axis=1), 1)


@pytest.mark.parametrize("prior, gamma", [(1e-9, 1e-6), (1e-3, 1e6), (1e6, 1e-3), (1e11, 1e11)])
def test_extreme_priors_give_numbers(corpus, labels, prior, gamma):
    lda = make(collection_topic_prior=prior, doc_concentration=gamma, max_iter=10)
    lda.fit(corpus.data, collections=labels)
    assert np.isfinite(lda.collection_topic_).all()
    assert np.isfinite(lda.log_joint_trace_).all()
    assert np.isfinite(lda.transform(corpus.data, collections=labels)).all()


def test_gibbs_em_finds_the_priors():
    """gamma and eta of the corpus, from (1, 1 / 3); the spread over corpora is in the benchmark."""
    corpus = make_compound_lda_corpus([60, 60], 40, 3, doc_concentration=0.8, topic_word_prior=0.5, random_state=1)
    truth = [0.8, 0.5]
    lda = CompoundLDA(3, learn_priors=True, max_iter=1000, random_state=0)
    lda.fit(corpus.data, collections=corpus.collections)
    np.testing.assert_allclose([lda.doc_concentration_, lda.topic_word_prior_], truth, rtol=0.35)
    assert lda.prior_trace_.shape == (1, 1000, 2)
    assert type(lda.topic_word_prior_) is float
    # From the defaults, in steps of ten sweeps, to what the sweeps after the burn-in use.
    np.testing.assert_array_equal(lda.prior_trace_[0, :10], [[1.0, 1 / 3]] * 10)
    changes = (np.diff(lda.prior_trace_[0, :700], axis=0) != 0).any(axis=1)
    # From the last of the 400 annealed sweeps on.
    assert changes.nonzero()[0].tolist() == list(range(399, 699, 10))
    np.testing.assert_array_equal(lda.prior_trace_[0, 700:], [[lda.doc_concentration_, lda.topic_word_prior_]] * 300)


def test_a_prior_that_is_given_stays_fixed(corpus, labels):
    options = {"learn_priors": True, "max_iter": 30, "n_chains": 2}
    both = make(topic_word_prior=None, **options).fit(corpus.data, collections=labels)
    assert both.doc_concentration_ != 1.0
    assert both.topic_word_prior_ != 1 / 3
    assert both.prior_trace_.shape == (2, both.n_iter_, 2)
    assert both.prior_trace_[:, 0].tolist() == [[1.0, 1 / 3]] * 2
    for eta in (0.1, np.linspace(0.05, 0.15, 40), np.full((3, 40), 0.125)):
        one = make(topic_word_prior=eta, **options).fit(corpus.data, collections=labels)
        assert one.doc_concentration_ != 1.0
        np.testing.assert_array_equal(one.topic_word_prior_, eta)
        np.testing.assert_allclose(one.prior_trace_[..., 1], np.mean(eta), rtol=1e-7)
    other = make(doc_concentration=2.5, topic_word_prior=None, **options).fit(corpus.data, collections=labels)
    assert other.doc_concentration_ == 2.5
    assert (other.prior_trace_[..., 0] == 2.5).all()
    assert other.topic_word_prior_ != 1 / 3
    fixed = make(max_iter=3, learn_priors=False).fit(corpus.data, collections=labels)
    assert not hasattr(fixed, "prior_trace_")


def test_pipeline_without_routing(corpus, labels):
    texts = [" ".join(f"w{v:02d}" for v in np.repeat(np.arange(40), row)) for row in corpus.data.toarray()]
    pipeline = make_pipeline(CountVectorizer(), make()).fit(texts, compoundlda__collections=labels)
    assert pipeline[-1].collections_.tolist() == ["arts", "laws", "news"]
    assert pipeline.transform(texts).shape == (90, 3)
    assert np.isfinite(pipeline.score(texts))


def test_metadata_routing(corpus, labels):
    texts = [" ".join(f"w{v:02d}" for v in np.repeat(np.arange(40), row)) for row in corpus.data.toarray()]
    mixed = np.random.default_rng(0).permutation(90)
    texts, labels = [texts[i] for i in mixed], labels[mixed]
    scorer = make_held_out_scorer(metric="log_likelihood", n_temperatures=20)
    with config_context(enable_metadata_routing=True):
        lda = make(max_iter=40).set_fit_request(collections=True)
        lda.set_transform_request(collections=True).set_score_request(collections=True)
        vectorizer = CountVectorizer(vocabulary=[f"w{v:02d}" for v in range(40)])
        pipeline = make_pipeline(vectorizer, lda)
        theta = pipeline.fit_transform(texts, collections=labels)
        np.testing.assert_array_equal(theta, pipeline.transform(texts, collections=labels))
        assert pipeline[-1].collections_.tolist() == ["arts", "laws", "news"]
        plain = cross_validate(pipeline, texts, cv=3, params={"collections": labels}, error_score="raise")
        assert np.isfinite(plain["test_score"]).all()
        asked = scorer.set_score_request(collections=True)
        assert asked != scorer
        found = cross_validate(
            pipeline, texts, cv=3, params={"collections": labels}, scoring=asked, return_estimator=True,
            return_indices=True, error_score="raise",
        )  # fmt: skip
        # Collections were cut with the folds: the scores are those of each fold's own labels.
        for fit, test, score in zip(found["estimator"], found["indices"]["test"], found["test_score"], strict=True):
            X = vectorizer.transform([texts[i] for i in test])
            prior = fit[-1].document_prior(labels[test])
            value = held_out_log_likelihood((fit[-1].topic_word_, prior), X, n_temperatures=20, random_state=0)
            np.testing.assert_allclose(score, value.sum() / X.sum(), rtol=1e-12)
        search = GridSearchCV(pipeline, {"compoundlda__n_components": [1, 3]}, scoring=asked, cv=3)
        search.fit(texts, collections=labels)
        assert search.best_params_ == {"compoundlda__n_components": 3}
        both = cross_validate(
            pipeline, texts, cv=3, params={"collections": labels}, scoring={"with": asked, "without": scorer},
            error_score="raise",
        )  # fmt: skip
        assert both["test_with"].mean() > both["test_without"].mean()
    bare = scorer(pipeline, texts)
    assert scorer(pipeline, texts, collections=labels) > bare
    with pytest.raises(TypeError, match="has no collections"):
        scorer(GibbsLDA(2, max_iter=2).fit(corpus.data), corpus.data, collections=labels)


def test_displays(corpus, labels):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    lda = make().fit(corpus.data, collections=labels)
    rows = TopicEffectsDisplay.from_groups(describe(lda, topic_names=list("abc")), topics=[2, 0])
    for ax, k in zip(rows.axes_, (2, 0), strict=True):
        assert [text.get_text() for text in ax.get_yticklabels()] == ["arts", "laws", "news"]
        np.testing.assert_allclose(ax.lines[0].get_xdata(), lda.collection_topic_[:, k])
    assert [text.get_text() for text in rows.legend_.get_texts()] == ["95 % intervals within one chain"]
    lines = TopicEffectsDisplay.from_groups(lda, ordered=True)
    assert len(lines.axes_) == 3 and len(lines.axes_[0].lines) == 2


def test_make_compound_lda_corpus():
    corpus = make_compound_lda_corpus([300, 0, 200], 30, 3, doc_length=(1, 9), doc_concentration=5, random_state=0)
    assert corpus.data.shape == (500, 30)
    assert np.bincount(corpus.collections).tolist() == [300, 0, 200]
    np.testing.assert_array_equal(np.asarray(corpus.data.sum(axis=1)).ravel(), corpus.doc_length)
    for j in (0, 2):
        own = corpus.doc_topic[corpus.collections == j]
        pi = corpus.collection_topic[j]
        error = np.sqrt(pi * (1 - pi) / 6 / len(own))
        # 5 standard errors, 6 comparisons: 4e-6
        assert (np.abs(own.mean(axis=0) - pi) < 5 * error).all()
    for options, match in [
        ({"n_documents": [0, 0]}, "n_documents"),
        ({"n_documents": [1.5]}, "n_documents"),
        ({"n_components": 2, "n_documents": [2], "collection_topic": [[0.5, 0.6]]}, "collection_topic must"),
        ({"doc_concentration": -1}, "doc_concentration"),
    ]:
        with pytest.raises(ValueError, match=match):
            make_compound_lda_corpus(**options)


def test_small_parameters_have_few_draws_if_tol_ends_the_burn_in():
    lda = CompoundLDA(3, max_iter=1000, tol=0.1, n_draws=100, init="random", random_state=0)
    lda.fit(TOLD_APART.data, collections=TOLD_APART.collections)
    assert lda.n_burn_in_ < 500 and 100 < len(lda.collection_topic_draws_) <= 256
