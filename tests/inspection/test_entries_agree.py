"""A share and a difference have one number, whatever function or display is asked."""

import json
import pickle
import re
from functools import cache

import numpy as np
import pandas
import pytest
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from workers import client_of

from sklda import CompoundLDA, ConsensusTopics, CovariateLDA, DaskGibbsLDA, GibbsLDA, merge_topics
from sklda.datasets import make_lda_corpus
from sklda.inspection import (
    TopicEffectsDisplay,
    TopicExplorer,
    _effects,
    describe,
    document_table,
    export_results,
    topic_effects,
    topic_table,
    topics_by_group,
    topics_over_time,
)
from sklda.inspection._theta import theta_draws

pytestmark = pytest.mark.usefixtures("without_pictures")
CORPUS = make_lda_corpus(60, 40, 3, doc_length=np.tile([20, 90], 30), doc_topic_prior=0.3, random_state=0)
X, WORDS = CORPUS.data, [f"w{v}" for v in range(40)]
YEARS = np.repeat([1999, 2000, 2001], [30, 20, 10])
NAMES = np.where(YEARS == 1999, "a", np.where(YEARS == 2000, "b", "c"))
OF_OTHERS = {"collections": NAMES}, {"covariates": {"x": YEARS}}


def gibbs(n_components=3, **options):
    return GibbsLDA(n_components, max_iter=30, random_state=0, **options)


# Each entry: a model, and what else its documents have. Fitted where it is asked for the first time.
MODELS = {
    "one chain": lambda: (gibbs().fit(X),),
    "chains": lambda: (gibbs(n_chains=2).fit(X),),
    "collections": lambda: (CompoundLDA(3, max_iter=30, random_state=0).fit(X, collections=NAMES),),
    "fits": lambda: (ConsensusTopics(GibbsLDA(3, max_iter=30), n_fits=3, random_state=0).fit(X),),
    "other documents": lambda: (gibbs().fit(X[::2]),),
    "scikit-learn": lambda: (LatentDirichletAllocation(3, random_state=0).fit(X),),
    "collections of other documents": lambda: (
        CompoundLDA(3, max_iter=30, random_state=0).fit(X[::2], collections=NAMES[::2]),
        OF_OTHERS[0],
    ),
    "covariates of other documents": lambda: (
        CovariateLDA(3, max_iter=30, random_state=0).fit(X[::2], covariates={"x": YEARS[::2]}),
        OF_OTHERS[1],
    ),
    "pickled": lambda: (pickle.loads(pickle.dumps(fitted("chains"))),),
    "merged": lambda: (merge_topics(gibbs(4).fit(X), [[0, 1]]),),
    "in a pipeline": lambda: (make_pipeline(FunctionTransformer(), gibbs()).fit(X),),
    "on a cluster": lambda: (
        DaskGibbsLDA(3, max_iter=30, random_state=0).fit(
            pytest.importorskip("dask.array").from_array(X.toarray(), chunks=(20, 40))
        ),
    ),
}
ALL = pytest.mark.parametrize("name", MODELS)
entry = cache(lambda name: MODELS[name]())


def fitted(name):
    return entry(name)[0]


@pytest.fixture(scope="module")
def on_a_cluster():
    pytest.importorskip("dask.array")
    with client_of(1, 1):
        yield


@pytest.fixture(autouse=True)
def cluster_where_one_is_needed(request):
    if "on a cluster" in request.node.name:
        request.getfixturevalue("on_a_cluster")


@pytest.fixture
def few_draws(request, monkeypatch):
    """Ten draws of theta, whatever is asked for. The first model has as many as each entry has by default."""
    if "one chain" not in request.node.name:
        monkeypatch.setattr(_effects, "theta_draws", lambda found, used, seed, _: theta_draws(found, used, seed, 10))


def named(name):
    model, *of_documents = entry(name)
    return describe(model, X, vocabulary=WORDS, **(of_documents[0] if of_documents else {}))


def n_topics(name):
    model = fitted(name)
    return len((model[-1] if name == "in a pipeline" else model).components_)


def ends(table, columns=("estimate", "low", "high")):
    return np.array([np.asarray(table[c], float) for c in columns])


def page(model, **options):
    html = TopicExplorer.from_estimator(model, **options).to_html()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S).group(1))


@ALL
def test_topics_and_proportions_are_the_same_everywhere(name, tmp_path):
    model, n = named(name), n_topics(name)
    export_results(model, folder=tmp_path)
    report, words, proportions = (
        pandas.read_csv(tmp_path / f"{each}.csv") for each in ("report", "words", "proportions")
    )
    table, data = topic_table(model, n_words=5, columns=["share", "words"]), page(model)
    np.testing.assert_allclose(report["share"], table["share"], rtol=1e-5)
    np.testing.assert_allclose(data["topics"]["share"], table["share"], rtol=1e-4)
    of_topics = [f"topic_{k}" for k in range(n)]
    for k, own in enumerate(table["words"]):
        assert words.nlargest(5, of_topics[k])["word"].tolist() == own
    theta = document_table(model)[of_topics].to_numpy()
    np.testing.assert_allclose(proportions[of_topics], theta, rtol=1e-5)
    for document, shown in zip(theta, data["documents"]["topics"], strict=True):
        for k, share in np.reshape(shown, (-1, 2)):
            assert share == pytest.approx(document[int(k)], abs=6e-4)


@ALL
@pytest.mark.usefixtures("few_draws")
def test_a_share_is_the_same_everywhere(name):
    """The share of each topic in each year, with its interval, (3, n_topics, n_years)."""
    model, n = named(name), n_topics(name)
    table = topics_over_time(model, dates=YEARS, period="year", random_state=0)
    expected = ends(table).reshape(3, n, 3)
    assert np.isfinite(expected).all() and (expected[1] < expected[0]).all() and (expected[0] < expected[2]).all()

    display = TopicEffectsDisplay.from_dates(model, dates=YEARS, period="year", topics=range(n), random_state=0)
    found = {"over time": [each.T for each in (display.estimate, display.low, display.high)]}
    display = TopicEffectsDisplay.from_groups(model, groups=NAMES, topics=range(n), random_state=0)
    found["groups"] = [each.T for each in (display.estimate, display.low, display.high)]
    found["groups in a table"] = ends(topics_by_group(model, groups=NAMES, random_state=0)).reshape(3, n, 3)
    display = TopicEffectsDisplay.from_estimator(model, covariates=NAMES, topics=range(n), random_state=0)
    found["effects"] = [each.T for each in (display.estimate, display.low, display.high)]
    data = page(model, groups=NAMES, dates=YEARS)
    for kind in ("groups", "periods"):
        found[f"explorer, {kind}"] = [np.transpose(data[kind][end]) for end in ("mean", "low", "high")]
    for asked, values in found.items():
        np.testing.assert_allclose(values, expected, rtol=2e-5, err_msg=asked)

    # The intercept is the share of the base of a category.
    levels = pandas.DataFrame({"level": np.where(NAMES == "b", "0", NAMES)})
    rows = topic_effects(model, covariates=levels, random_state=0)
    base = rows[rows["term"] == "intercept"]
    np.testing.assert_allclose(ends(base), expected[:, :, 1], rtol=1e-6)
    errors = table["standard_error"].to_numpy().reshape(n, 3)[:, 1]
    np.testing.assert_allclose(base["standard_error"], errors, rtol=1e-6)


@ALL
@pytest.mark.usefixtures("few_draws")
def test_a_difference_is_the_same_everywhere(name):
    model, n = named(name), n_topics(name)
    frame = pandas.DataFrame({"level": NAMES})
    rows = topic_effects(model, covariates=frame, random_state=0)
    expected = ends(rows[rows["term"] == "level[c]"])
    display = TopicEffectsDisplay.from_estimator(
        model, covariates=frame, difference=("c", "a"), topics=range(n), random_state=0
    )
    np.testing.assert_allclose([each[0] for each in (display.estimate, display.low, display.high)], expected)
    numbers = pandas.DataFrame({"is_c": (NAMES == "c") * 1.0, "is_b": (NAMES == "b") * 1.0})
    other = topic_effects(model, covariates=numbers, random_state=0)
    np.testing.assert_allclose(ends(other[other["term"] == "is_c"]), expected)
    shares = topics_over_time(model, dates=YEARS, period="year", random_state=0)["estimate"].to_numpy().reshape(n, 3)
    np.testing.assert_allclose(expected[0], shares[:, 2] - shares[:, 0], atol=1e-12)


def test_clusters_and_weights_of_one_category_are_those_of_its_shares():
    model, clusters = named("one chain"), np.arange(60) % 8
    table = topics_over_time(model, dates=YEARS, period="year", clusters=clusters, random_state=0)
    display = TopicEffectsDisplay.from_estimator(
        model, covariates=NAMES, topics=range(3), clusters=clusters, random_state=0
    )
    found = [each.T for each in (display.estimate, display.low, display.high)]
    np.testing.assert_allclose(found, ends(table).reshape(3, 3, 3), rtol=1e-6)


def test_pictures_have_the_clusters_weights_and_level_of_the_tables():
    model = named("one chain")
    options = {"clusters": np.arange(60) % 8, "weights": 1.0 + np.arange(60) % 3, "level": 0.8, "n_draws": 9}
    expected = ends(topics_by_group(model, groups=NAMES, random_state=0, **options)).reshape(3, 3, 3)
    plain = ends(topics_by_group(model, groups=NAMES, random_state=0)).reshape(3, 3, 3)
    assert (np.abs(expected - plain) > 1e-4).all()
    periods = topics_over_time(model, dates=YEARS, period="year", random_state=0, **options)
    np.testing.assert_allclose(ends(periods).reshape(3, 3, 3), expected, rtol=1e-6)
    for show, asked in (
        (TopicEffectsDisplay.from_groups, {"groups": NAMES}),
        (TopicEffectsDisplay.from_dates, {"dates": YEARS}),
    ):
        shown = show(model, topics=range(3), random_state=0, **asked, **options)
        np.testing.assert_allclose([each.T for each in (shown.estimate, shown.low, shown.high)], expected, rtol=1e-6)


def test_groups_are_not_taken_for_the_collections_of_new_documents():
    """Whose labels may be the same: only `describe` says so, and all entries know the same."""
    model = fitted("collections of other documents")
    with pytest.warns(UserWarning, match="in no collection of the CompoundLDA"):
        table = topics_by_group(model, X, NAMES, random_state=0)
    with pytest.warns(UserWarning, match="in no collection of the CompoundLDA"):
        rows = topic_effects(model, X, {"level": NAMES}, random_state=0)
    expected = ends(table).reshape(3, 3, 3)[:, :, 0]
    np.testing.assert_allclose(ends(rows[rows["term"] == "intercept"]), expected, rtol=1e-6)


def test_mixtures_of_collections_do_not_depend_on_the_documents():
    model = fitted("collections")
    alone, beside = (TopicEffectsDisplay.from_groups(*given) for given in ((model,), (model, X)))
    np.testing.assert_array_equal(alone.estimate, beside.estimate)
    np.testing.assert_array_equal(alone.low, beside.low)


def test_a_model_without_a_prior_of_proportions_has_their_spread_only():
    nmf = describe(NMF(3, random_state=0, max_iter=500).fit(X), X, vocabulary=WORDS)
    display = TopicEffectsDisplay.from_groups(nmf, groups=NAMES)
    assert (display.low < display.estimate).all() and (display.estimate < display.high).all()
    found = page(nmf, groups=NAMES)["groups"]
    for end, shown in (("mean", display.estimate), ("low", display.low), ("high", display.high)):
        np.testing.assert_allclose(np.sort(found[end]), np.sort(shown), rtol=2e-5)


@pytest.mark.parametrize("rows", [slice(None), slice(0, 60, 2)])
@pytest.mark.parametrize("model", ["fits", "scikit-learn"])
def test_fits_to_data_frames_know_the_names_of_their_columns(model, rows):
    """No warning of scikit-learn, which is an error here, and the same shares."""
    frame = pandas.DataFrame(X.toarray(), columns=WORDS)
    if model == "fits":
        fitted = ConsensusTopics(GibbsLDA(3, max_iter=30), n_fits=3, random_state=0).fit(frame)
    else:
        fitted = LatentDirichletAllocation(3, random_state=0).fit(frame)
    documents, groups = frame.iloc[rows], NAMES[rows]
    display = TopicEffectsDisplay.from_groups(fitted, documents, groups, topics=range(3), random_state=0)
    table = topics_by_group(fitted, documents, groups, random_state=0)
    np.testing.assert_allclose(display.estimate.T.ravel(), table["estimate"])


def test_merged_topics_have_the_collections_of_new_documents():
    model, rows, labels = fitted("collections of other documents"), X[1::2], NAMES[1::2]

    def table(model):
        return topics_by_group(describe(model, rows, collections=labels), groups=labels, random_state=0)

    expected, merged = table(model), table(merge_topics(model, [[0, 1]]))
    parts = expected["estimate"].to_numpy().reshape(3, -1)
    # Means over 100 draws for five documents or more, whose standard deviations are below 0.2: five standard errors.
    sums = np.concatenate([parts[:2].sum(axis=0), parts[2]])
    np.testing.assert_allclose(merged["estimate"], sums, atol=5 * 0.2 * np.sqrt(2 / 500))
    assert (expected["attenuation"] == 1).all() and (merged["attenuation"] == 1).all()
