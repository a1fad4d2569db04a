"""GibbsLDA with known topics: names of words and topics, weights, new topics, and what a fit keeps."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from sklda import ConsensusTopics, GibbsLDA, merge_topics
from sklda._sampling import known_drift
from sklda.inspection import describe, topic_drift, topic_table
from sklda.metrics import compare_new_topics

V, D, LENGTH = 60, 150, 50
WORDS = [f"w{v:02d}" for v in range(V)]


def simulate(seed, moved=(0.0, 0.3), n_new=1):
    """Known topics, the true ones, and documents. The part `moved` of each known topic is elsewhere."""
    rng = np.random.default_rng(seed)
    known = rng.dirichlet(np.full(V, 0.1), len(moved))
    others = rng.dirichlet(np.full(V, 0.1), len(moved))
    true = [(1 - part) * row + part * other for part, row, other in zip(moved, known, others, strict=True)]
    true = np.array([*true, *rng.dirichlet(np.full(V, 0.1), n_new)])
    X = np.array([rng.multinomial(LENGTH, rng.dirichlet(np.full(len(true), 0.1)) @ true) for _ in range(D)])
    return known, true, X


@pytest.fixture(scope="module")
def data():
    return simulate(0)


@pytest.fixture(scope="module")
def fitted(data):
    known, _, X = data
    table = pd.DataFrame(known, index=["apples", "pears"], columns=WORDS)
    return GibbsLDA(3, known_topics=table, max_iter=200, random_state=0).fit(pd.DataFrame(X, columns=WORDS))


def fit(X, known, n_components=3, **parameters):
    parameters = {"max_iter": 30, "random_state": 0} | parameters
    return GibbsLDA(n_components, known_topics=known, **parameters).fit(X)


def distance(a, b):
    return np.abs(a - b).sum(axis=-1) / 2


def cosines(a, b):
    return np.minimum((a * b).sum(axis=-1) / np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1)), 1)


def _tables_of(library, frame):
    module = pytest.importorskip(library)
    if library == "polars":
        return module.DataFrame(frame.to_dict("list"))
    if library == "pyarrow":
        return module.Table.from_pydict(frame.to_dict("list"))
    return module.DataArray(frame, dims=("topic", "word"))


@pytest.mark.parametrize("library", ["polars", "pyarrow", "xarray"])
def test_words_of_tables_of_other_libraries_are_matched_by_name(data, library):
    known, _, X = data
    moved = pd.DataFrame(known, columns=WORDS).sample(frac=1, axis=1, random_state=0)
    found = fit(X, _tables_of(library, moved), 2, known_weight=np.inf, vocabulary=WORDS)
    np.testing.assert_allclose(found.topic_word_, known, atol=1e-6)


def test_words_of_merged_and_of_common_topics_are_matched_by_name(data):
    _, _, X = data
    own = GibbsLDA(3, max_iter=30, vocabulary=WORDS, random_state=0)
    order = np.random.default_rng(0).permutation(V)
    common = ConsensusTopics(own, n_fits=2, random_state=0).fit(X)
    for model in (merge_topics(own.fit(X), [[0, 1]]), common, merge_topics(common, [[0, 1]])):
        phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
        found = fit(X[:, order], model, len(phi), known_weight=np.inf, vocabulary=np.array(WORDS)[order])
        np.testing.assert_allclose(found.topic_word_, phi[:, order], atol=1e-6)
        assert set(topic_table(model, n_words=3)["words"].sum()) <= set(WORDS)


@pytest.mark.parametrize("sampler", ["collapsed", "partitioned", "partially_collapsed", "grouped"])
def test_known_topics_stay_and_a_new_one_is_found(data, sampler):
    known, true, X = data
    lda = fit(X, known, sampler=sampler, max_iter=200)
    assert distance(lda.topic_word_, true).max() < 0.2
    right, drifted = lda.known_weight_
    assert right > 4 * drifted


def test_weights_order_the_drift():
    known, true, X = simulate(1, moved=(0.3, 0.0, 0.1), n_new=0)
    lda = fit(X, known, max_iter=300)
    assert np.argsort(lda.known_weight_).tolist() == [0, 2, 1]
    assert (lda.known_weight_log_std_[[0, 2]] < 0.5).all()
    table = topic_drift(lda, random_state=0)
    moved = np.sqrt(1 - cosines(known, true))
    assert (np.abs(table["moved"] - moved) < 0.04).all()
    assert (table["moved_low"] <= table["moved"]).all()
    assert (table["moved"] <= table["moved_high"]).all()
    assert (table["moved_low"] == 0).tolist() == [False, True, False]
    assert (table["moved_high"] < [0.35, 0.08, 0.15]).all()
    assert (table["weight_low"] <= table["weight"]).all()
    assert (table["weight"] <= table["weight_high"]).all()
    assert np.isinf(table["weight_high"][1])
    assert (table["weight_high"][[0, 2]] < 20 * table["weight_low"][[0, 2]]).all()


def test_a_fixed_topic_does_not_change(data):
    known, _, X = data
    for sampler in ("collapsed", "partitioned", "partially_collapsed", "grouped"):
        lda = fit(X, known, known_weight=[np.inf, 50], sampler=sampler)
        np.testing.assert_allclose(lda.topic_word_[0], known[0], atol=1e-6)
        assert distance(lda.topic_word_[1], known[1]) > 0.02
        assert lda.known_weight_.tolist() == [np.inf, 50]
        assert np.isnan(lda.known_weight_log_std_).all()
        # The sum of the row is the number of tokens.
        tokens = np.bincount(lda.topic_assignments_, minlength=3)
        assert abs(lda.components_[0].sum() - tokens[0]) < 0.2 * X.sum()
        phi = lda.sample_posterior(3, random_state=0).topic_word[:, 0]
        np.testing.assert_allclose(phi, np.broadcast_to(known[0], phi.shape), atol=1e-6)


def test_fixed_topics_alone_are_the_topics_of_transform(data):
    known, _, X = data
    lda = fit(X[:, :], known, n_components=2, known_weight=np.inf)
    assert lda.transform(X).shape == (D, 2)
    table = topic_drift(lda)
    assert (table[["moved", "moved_low", "moved_high"]].to_numpy() == 0).all()
    assert table["weight_low"].isna().all()
    assert table["gained"].tolist() == [[], []]


def test_names_of_known_topics_carry_over(fitted):
    assert fitted.get_feature_names_out().tolist() == ["apples", "pears", "new 0"]
    assert topic_drift(fitted, random_state=0)["name"].tolist() == ["apples", "pears"]
    fitted = pickle.loads(pickle.dumps(fitted))
    fitted.set_topic_names({2: "plums"})
    assert fitted.get_feature_names_out().tolist() == ["apples", "pears", "plums"]


def test_a_fitted_model_is_known_by_its_names(fitted, data):
    X = pd.DataFrame(data[2], columns=WORDS)
    later = fit(X, fitted, n_components=4)
    assert later.get_feature_names_out().tolist() == ["apples", "pears", "new 0", "new 0 (2)"]
    np.testing.assert_allclose(later.known_topic_word_, fitted.topic_word_, rtol=1e-6)
    by_frame = fit(X, pd.DataFrame(fitted.topic_word_, columns=WORDS), n_components=4)
    np.testing.assert_allclose(by_frame.topic_word_, later.topic_word_, rtol=1e-4)
    named = describe(fitted, topic_names=["a", "b", "c"])
    assert fit(X, named, n_components=3).get_feature_names_out().tolist() == ["a", "b", "c"]


def test_words_that_only_one_side_has():
    known = pd.DataFrame([[5.0, 3.0, 2.0], [1.0, 1.0, 8.0]], columns=["a", "b", "gone"], index=["x", "y"])
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(1, 20, (80, 3)), columns=["b", "late", "a"])
    said = "1 words of X, .* 'late'.*1 words of the known topics are not in X: 'gone'.*80.0 % .* topic 'y'"
    with pytest.warns(UserWarning, match=said):
        lda = GibbsLDA(3, known_topics=known, known_weight=[9, np.inf], max_iter=20, random_state=0).fit(X)
    # The rarest word of a fixed topic has a probability of 1 in 10.
    np.testing.assert_allclose(lda.known_topic_word_, [[3 / 8, 0, 5 / 8], [1 / 3, 1 / 3, 1 / 3]])
    eta = lda.topic_word_prior_
    np.testing.assert_allclose(eta[0] - eta[2], [9 * 3 / 8, 0, 9 * 5 / 8], rtol=1e-5)


def test_a_pipeline_is_known_by_its_words():
    texts = ["apple pear apple plum"] * 20 + ["car wheel engine car"] * 20
    old = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=20, random_state=0)).fit(texts)
    counts = CountVectorizer()
    new = ["apple pear plum apple"] * 20 + ["car wheel engine bus"] * 20
    X = counts.fit_transform(new)
    lda = GibbsLDA(2, known_topics=old, vocabulary=counts.get_feature_names_out(), max_iter=20, random_state=0)
    with pytest.warns(UserWarning, match="'bus'"):
        lda.fit(X)
    place = [list(old[0].get_feature_names_out()).index(word) for word in ("apple", "car")]
    before = old[-1].topic_word_[:, place]
    now = lda.topic_word_[:, [counts.vocabulary_["apple"], counts.vocabulary_["car"]]]
    assert (before.argmax(axis=0) == now.argmax(axis=0)).all()


def test_chains_keep_known_topics_in_their_places(data):
    known, _, X = data
    lda = fit(X, known, n_chains=3, max_iter=40)
    for chain in lda.chains_:
        assert chain.matched.tolist() == [0, 1, 2]
        assert chain.known_weight.shape == (2,)
    assert lda.topic_stability_.shape == (3,)


def test_a_warm_start_is_one_longer_fit(data):
    known, _, X = data
    parts = GibbsLDA(3, known_topics=known, max_iter=40, burn_in=20, random_state=0, init="random", warm_start=True)
    parts.fit(X)
    weights = parts.known_weight_
    parts.fit(X)
    whole = GibbsLDA(3, known_topics=known, max_iter=80, burn_in=20, random_state=0, init="random").fit(X)
    np.testing.assert_array_equal(weights, parts.known_weight_)
    np.testing.assert_array_equal(whole.topic_assignments_, parts.topic_assignments_)
    with pytest.raises(ValueError, match="other known_topics"):
        parts.set_params(known_topics=known[::-1]).fit(X)
    parts.set_params(known_topics=known, known_weight=20.0).fit(X)
    assert parts.known_weight_.tolist() == [20, 20]
    with pytest.raises(ValueError, match="given known_weight"):
        parts.set_params(known_weight="learn", doc_topic_prior=0.1, topic_word_prior=0.1).fit(X)


def test_copies(fitted, data):
    X = pd.DataFrame(data[2], columns=WORDS)
    same = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(same.transform(X), fitted.transform(X))
    np.testing.assert_array_equal(same.known_weight_log_std_, fitted.known_weight_log_std_)
    again = clone(fitted).fit(X)
    np.testing.assert_array_equal(again.topic_word_, fitted.topic_word_)
    assert fitted.get_params()["known_weight"] == "learn"
    model = clone(GibbsLDA(4, known_topics=FrozenEstimator(fitted), max_iter=5)).fit(X)
    assert len(model.known_weight_) == 3


def test_from_assignments(data):
    known, _, X = data
    first = fit(X, known, known_weight=30, topic_word_prior=0.1, doc_topic_prior=0.1)
    again = GibbsLDA.from_assignments(
        X, first.topic_assignments_, known_topics=known, known_weight=30, topic_word_prior=0.1, doc_topic_prior=0.1
    )
    assert again.known_weight_.tolist() == [30, 30]
    np.testing.assert_array_equal(again.topic_word_prior_, first.topic_word_prior_)


@pytest.mark.filterwarnings("ignore:(seed_words|Most tokens of the seed words)")
def test_seed_words_of_a_new_topic(data):
    known, _, X = data
    lda = fit(X, known, seed_words={2: {3: 500}}, max_iter=60)
    eta = lda.topic_word_prior_
    np.testing.assert_allclose(eta[2, 3] - eta[2, 4], 500, rtol=1e-5)
    with pytest.raises(ValueError, match=r"topic 1, .*known topic"):
        fit(X, known, seed_words={1: [3]})


def test_too_few_tokens_learn_nothing(data):
    known, _, X = data
    lda = fit(X[:10], known, n_components=2)
    np.testing.assert_allclose(lda.known_weight_, 0.03 * 500 / 2)
    assert np.isnan(lda.known_weight_log_std_).all()


def test_weights_by_name(data):
    known, _, X = data
    table = pd.DataFrame(known, index=["apples", "pears"])
    lda = fit(X, table, known_weight={"pears": np.inf, 0: 7})
    assert lda.known_weight_.tolist() == [7, np.inf]
    assert np.isinf(fit(X, table, known_weight={"pears": np.inf}).known_weight_).tolist() == [False, True]


BAD = [
    ({"known_topics": np.ones((4, V))}, ValueError, "has 4 topics, and n_components=3"),
    ({"known_topics": np.ones((1, V + 1))}, ValueError, "has 61 words without names, and X has 60 columns"),
    ({"known_topics": -np.ones((1, V))}, ValueError, "negative, NaN or infinite"),
    ({"known_topics": np.zeros((1, V))}, ValueError, r"known_topics\[0\] has only zeros"),
    ({"known_topics": np.ones(V)}, ValueError, "a row for each known topic"),
    ({"known_topics": [["a"] * V]}, TypeError, "must hold real numbers"),
    ({"known_topics": np.ones((V, 2))}, ValueError, r"as many as X has words.*give known_topics\.T"),
    (
        {"known_topics": pd.DataFrame(np.ones((V, 2)), index=WORDS, columns=["a", "b"]), "vocabulary": WORDS},
        ValueError,
        r"index of known_topics has words of X.*give known_topics\.T",
    ),
    (
        {"known_topics": pd.DataFrame({"type": WORDS, "a": 1.0})},
        ValueError,
        r"column 'type' of known_topics has texts.*known_topics\.set_index\('type'\)\.T",
    ),
    ({"known_topics": GibbsLDA(2)}, ValueError, "is not fitted.*FrozenEstimator"),
    ({"known_topics": CountVectorizer()}, (TypeError, ValueError), "known_topics has a CountVectorizer"),
    ({"known_topics": pd.DataFrame(np.ones((1, V)), columns=WORDS)}, ValueError, "the words of the columns of X"),
    (
        {"known_topics": pd.DataFrame([[1.0]], columns=["x"]), "vocabulary": WORDS},
        ValueError,
        "none of the words of known_topics, such as 'x'",
    ),
    (
        {"known_topics": pd.DataFrame([[1, 1], [0, 1]], columns=["w01", "x"]), "vocabulary": WORDS},
        ValueError,
        "no word of the known topic 1",
    ),
    ({"known_weight": 0}, ValueError, "known_weight"),
    ({"known_weight": "learnt"}, ValueError, "known_weight"),
    ({"known_weight": [1.0]}, ValueError, "has 1 weights; there are 2 known topics"),
    ({"known_weight": [1.0, -1]}, ValueError, "known_weight of topic 1 is -1"),
    ({"known_weight": [1.0, np.nan]}, ValueError, "known_weight of topic 1 is nan"),
    ({"known_weight": [1.0, None]}, TypeError, "known_weight of topic 1 is None"),
    ({"known_weight": {2: 1.0}}, ValueError, "known_weight has 2: its keys are numbers of known topics from 0 to 1"),
    ({"init": "prune"}, ValueError, "known_topics"),
    ({"init": "search"}, ValueError, "known_topics"),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD)
def test_bad_known_topics(data, parameters, error, message):
    known, _, X = data
    with pytest.raises(error, match=message):
        GibbsLDA(3, **{"known_topics": known, "max_iter": 2} | parameters).fit(X)


def test_a_word_that_no_topic_can_have_is_refused():
    X = np.array([[5, 3, 1]] * 4)
    known = [[0.5, 0.5, 0.0]]
    with pytest.raises(ValueError, match="no known topic has the words 2 of X"):
        GibbsLDA(1, known_topics=known, known_weight=np.inf).fit(X)
    GibbsLDA(2, known_topics=known, known_weight=np.inf, max_iter=5).fit(X)


# --- drift, and the evidence of new topics ---------------------------------------------------------------------------


def test_words_gained_and_lost():
    rng = np.random.default_rng(0)
    known = np.full((1, 6), [0.4, 0.3, 0.1, 0.1, 0.05, 0.05])
    X = rng.multinomial(100, [0.4, 0.05, 0.1, 0.1, 0.05, 0.3], 60)
    lda = GibbsLDA(1, known_topics=known, max_iter=50, random_state=0, vocabulary=list("abcdef")).fit(X)
    table = topic_drift(lda, n_words=1, random_state=0)
    assert table["gained"].tolist() == [["f"]]
    assert table["lost"].tolist() == [["b"]]
    shares = X.sum(axis=0) / X.sum()
    assert abs(table["moved"][0] - np.sqrt(1 - cosines(known[0], shares))) < 0.005
    with pytest.raises(ValueError, match=re.escape("38 draws have no interval of 0.95")):
        topic_drift(lda, n_draws=38)
    with pytest.raises(TypeError, match="no known topics"):
        topic_drift(GibbsLDA(1, max_iter=5).fit(X))


def drift_from_an_earlier_fit(as_array):
    """Tables of topics that have not moved, known from a fit of 60 documents: lower ends, (n_corpora, n_topics)."""
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        phi = rng.dirichlet(np.full(V, 0.1), 3)
        X = np.array([rng.multinomial(LENGTH, rng.dirichlet(np.full(3, 0.1)) @ phi) for _ in range(300)])
        before = GibbsLDA(3, max_iter=100, vocabulary=WORDS, random_state=seed).fit(X[:60])
        known = before.topic_word_ if as_array else before
        lda = GibbsLDA(3, known_topics=known, max_iter=100, vocabulary=WORDS, random_state=0).fit(X[60:])
        assert (lda.known_topic_word_std_.max() == 0) == as_array
        found.append(topic_drift(lda, n_draws=50, random_state=0)["moved_low"])
    return np.array(found)


def test_errors_of_an_earlier_fit_are_no_drift():
    # 7 of 9 or more have a probability of 3e-6 if that of each is .1.
    assert (drift_from_an_earlier_fit(as_array=False) > 0).sum() < 7
    assert (drift_from_an_earlier_fit(as_array=True) > 0).sum() >= 7


def test_errors_are_those_of_the_words_of_this_year(data):
    _, _, X = data
    before = GibbsLDA(2, max_iter=40, n_draws=1, vocabulary=WORDS, random_state=0).fit(X)
    fewer = WORDS[: V // 2]
    with pytest.warns(UserWarning, match="not in X"):
        lda = fit(X[:, : V // 2], before, vocabulary=fewer, max_iter=20)
    again = fit(X, before, vocabulary=WORDS, max_iter=20)
    left = before.topic_word_[:, : V // 2].sum(axis=1, keepdims=True)
    std = again.known_topic_word_std_
    assert std.shape == (2, V)
    assert (std > 0).all()
    np.testing.assert_allclose(lda.known_topic_word_std_, std[:, : V // 2] / left, rtol=1e-5)


def test_drift_has_the_prior_of_the_fit(data):
    known, _, X = data
    eta = np.full(V, 0.1)
    lda = fit(X, known, topic_word_prior=eta)
    table = topic_drift(lda, n_draws=39, random_state=0)
    eta[:] = 10
    for other in (eta, None, np.full(V, 10)):
        found = topic_drift(lda.set_params(topic_word_prior=other), n_draws=39, random_state=0)
        pd.testing.assert_frame_equal(found, table)


def inside_of_fits(n_corpora):
    """Whether intervals have the true distance, (n_corpora, n_topics), for topics that have many words in common."""
    law, parts, found = np.arange(1, V + 1) ** -0.7, np.array([0, 0.1, 0.3, 0]), []
    for seed in range(n_corpora):
        rng = np.random.default_rng(seed)
        known, others = rng.dirichlet(law / law.sum() * 20, 4), rng.dirichlet(law / law.sum() * 20, 4)
        true = (1 - parts[:, None]) * known + parts[:, None] * others
        X = np.array([rng.multinomial(LENGTH, rng.dirichlet(np.full(4, 0.1)) @ true) for _ in range(D)])
        lda = fit(X, known[:3], n_components=4, max_iter=100, vocabulary=WORDS)
        table = topic_drift(lda, n_draws=50, random_state=0)
        truth = np.sqrt(1 - cosines(known, true))[:3] * (parts[:3] > 0)
        found.append((table["moved_low"] <= truth) & (truth <= table["moved_high"]))
    return np.array(found)


def test_intervals_have_the_true_distance_because_the_weights_hold_no_topic(monkeypatch):
    # 9 of 15 or fewer have a probability of 6e-5 if that of each is .95.
    assert inside_of_fits(5).sum() > 9
    # Topics that are held stay too near what was known.
    monkeypatch.setattr(known_drift, "_HELD", 10.0)
    assert inside_of_fits(3)[:, 2].sum() <= 1


@pytest.mark.parametrize(
    "given",
    [
        {"topic_word_prior": np.full(V, 0.1)},
        {"known_weight": [1e9, 3], "doc_topic_prior": 0.1, "topic_word_prior": 0.1},
    ],
)
def test_drift_does_not_depend_on_weights_that_are_given(data, given):
    known, true, X = data
    table = topic_drift(fit(X, known, max_iter=100, **given), random_state=0)
    truth = np.sqrt(1 - cosines(known, true[:2]))
    assert (np.abs(table["moved"] - truth) < 0.05).all()
    assert (table["moved_low"] == 0).tolist() == [True, False]


def test_a_topic_without_tokens_can_be_anywhere(data):
    known, _, X = data
    nowhere = np.zeros((1, V))
    nowhere[0, V - 1] = 1
    X = X.copy()
    X[:, V - 1] = 0
    lda = fit(X, np.vstack([known, nowhere]), n_components=4, known_weight=[3, 3, 1e6], max_iter=20)
    table = topic_drift(lda, n_draws=39, random_state=0)
    assert np.isnan(table["moved"][2])
    assert (table["moved_low"][2], table["moved_high"][2]) == (0, 1)


@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
@pytest.mark.parametrize("weight", [np.inf, "learn"])
def test_a_new_topic_is_needed_where_there_is_one(weight):
    for n_new in (0, 1):
        known, _, X = simulate(n_new, moved=(0.0, 0.0), n_new=n_new)
        table = compare_new_topics(
            GibbsLDA(known_topics=known, known_weight=weight, max_iter=150),
            X,
            n_new=(0, 1),
            n_temperatures=50,
            n_chains=2,
            random_state=0,
        )
        assert bool(table["gain"][1] > 3 * table["gain_std"][1]) == bool(n_new)
        assert table["n_components"].tolist() == [2, 3]
        if n_new:
            assert table["new_share"][1] > 0.1


def test_evidence_needs_known_topics(data):
    with pytest.raises(TypeError, match="no known_topics"):
        compare_new_topics(GibbsLDA(), data[2])
    with pytest.raises(ValueError, match=re.escape("n_new[0] must be at least 0")):
        compare_new_topics(GibbsLDA(known_topics=data[0]), data[2], n_new=[-1])
    with pytest.raises(TypeError, match="0, 1, 2"):
        compare_new_topics(GibbsLDA(known_topics=data[0]), data[2], n_new=2)
    with pytest.raises(ValueError, match="The 'known_topics' parameter of GibbsLDA must be"):
        compare_new_topics(GibbsLDA(known_topics=1.0), data[2])


def test_the_evidence_takes_a_fitted_model_as_known_topics(data):
    known, _, X = data
    old = GibbsLDA(2, known_topics=known, known_weight=np.inf, max_iter=5).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = compare_new_topics(
            GibbsLDA(known_topics=old, max_iter=20), X, n_new=[0], n_temperatures=5, n_chains=2, random_state=0
        )
    assert np.isnan(table["gain"][0])
    assert table["n_components"].tolist() == [2]


def test_merged_topics(data):
    known, _, X = data
    lda = fit(X, known, n_components=4, known_weight=[np.inf, 20])
    merged = merge_topics(lda, [[1, 3]])
    np.testing.assert_allclose(merged.topic_word_[0], known[0], atol=1e-6)
    np.testing.assert_allclose(merged.doc_topic_[:, 1], lda.doc_topic_[:, [1, 3]].sum(axis=1))
    # Also with a topic that is fixed.
    fixed = merge_topics(lda, [[0, 3]])
    np.testing.assert_allclose(fixed.doc_topic_[:, 0], lda.doc_topic_[:, [0, 3]].sum(axis=1))
    weights = lda.topic_share_[[0, 3]]
    np.testing.assert_allclose(fixed.topic_word_[0], weights @ lda.topic_word_[[0, 3]] / weights.sum(), rtol=0.1)


def test_series_and_frames_are_read_by_their_labels(data):
    known, _, X = data
    frame = pd.DataFrame(known, columns=WORDS, index=["a", "b"])
    documents = pd.DataFrame(X, columns=WORDS)
    weights = pd.Series({"b": np.inf, "a": 5.0})
    assert GibbsLDA(3, known_topics=frame, known_weight=weights, max_iter=2).fit(documents).known_weight_.tolist() == [
        5,
        np.inf,
    ]
    with pytest.raises(ValueError, match="two weights for topic 'a'"):
        GibbsLDA(3, known_topics=frame, known_weight={0: 1.0, "a": np.inf}, max_iter=2).fit(documents)
    # Columns that are numbers.
    with pytest.raises(ValueError, match="in another order: 59 is in place 0, where 0 belongs"):
        GibbsLDA(3, known_topics=pd.DataFrame(known).iloc[:, ::-1], max_iter=2).fit(X)
    eta = pd.Series(np.linspace(0.1, 1, V), index=WORDS)
    assert GibbsLDA(3, topic_word_prior=eta, max_iter=2).fit(documents).topic_word_prior_[0] == 0.1
    with pytest.raises(ValueError, match=r"topic_word_prior has the labels .* in another order: 'w59' is in place 0"):
        GibbsLDA(3, topic_word_prior=eta[::-1], max_iter=2).fit(documents)
    with pytest.raises(ValueError, match="topic_word_prior has the labels"):
        GibbsLDA(3, topic_word_prior=eta[::-1], vocabulary=WORDS, max_iter=2).fit(X)


def test_words_with_one_column_have_the_sum_of_their_probabilities():
    X = np.random.default_rng(0).poisson(2, (30, 3))
    known = pd.DataFrame([[0.4, 0.4, 0.2, 0], [0.1, 0.1, 0.8, 0]], columns=["car", "cars", "dog", "owl"])
    vocabulary = {"car": 0, "cars": 0, "dog": 1, "owl": 2}
    lda = GibbsLDA(2, known_topics=known, known_weight=1e6, vocabulary=vocabulary, max_iter=2).fit(X)
    np.testing.assert_allclose(lda.known_topic_word_, [[0.8, 0.2, 0], [0.2, 0.8, 0]])
