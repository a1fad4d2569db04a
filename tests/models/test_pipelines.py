"""With the rest of scikit-learn: raw text, cross-validation, search, metadata routing, named columns."""

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklda import GibbsLDA

FRUIT = "apple banana cherry grape lemon melon peach plum".split()
CARS = "brake car engine motor road tyre wheel window".split()


@pytest.fixture(scope="module")
def texts():
    """Sixty texts of two subjects that share no word, and their subjects."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return [" ".join(rng.choice(CARS if label else FRUIT, size=12)) for label in y], y


@pytest.fixture(params=[False, True], ids=["routing off", "routing on"], autouse=True)
def metadata_routing(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


def make(**parameters):
    parameters = {"n_components": 2, "doc_topic_prior": 0.1, "topic_word_prior": 0.1, "max_iter": 40, **parameters}
    return GibbsLDA(random_state=0, **parameters)


def pipeline():
    return Pipeline([("words", CountVectorizer()), ("lda", make()), ("classify", LogisticRegression())])


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_validate(texts, n_jobs):
    # The pool of processes of the other tests.
    with parallel_config("loky", max_nbytes=1):
        found = cross_validate(pipeline(), *texts, cv=3, n_jobs=n_jobs, return_estimator=True, error_score="raise")
    np.testing.assert_array_equal(found["test_score"], 1)
    assert {len(each["lda"].components_) for each in found["estimator"]} == {2}


def test_grid_search(texts):
    X, y = texts
    search = GridSearchCV(pipeline(), {"lda__n_components": [1, 2, 3]}, cv=3, error_score="raise").fit(X, y)
    scores = dict(zip([1, 2, 3], search.cv_results_["mean_test_score"], strict=True))
    assert scores[1] < scores[2] == 1
    assert search.best_params_ == {"lda__n_components": 2}
    assert search.predict(["banana plum apple", "motor wheel road"]).tolist() == [0, 1]
    assert search.score(X, y) == 1


def test_topics_of_text(texts):
    X, y = texts
    topics = make_pipeline(CountVectorizer(), make())
    theta = topics.fit_transform(X)
    assert np.array_equal(theta, topics.transform(X))
    assert len(set(zip(theta.argmax(axis=1), y, strict=True))) == 2
    words = topics[0].get_feature_names_out()
    top = [set(words[row.argsort()[-8:]]) for row in topics[1].components_]
    assert sorted(top, key=min) == [set(FRUIT), set(CARS)]
    assert topics.get_feature_names_out().tolist() == ["gibbslda0", "gibbslda1"]
    assert topics[1].get_feature_names_out(words).tolist() == ["gibbslda0", "gibbslda1"]


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output(texts, container):
    library = pytest.importorskip(container)
    X, _ = texts
    lda = make().set_output(transform=container)
    counts = CountVectorizer().fit_transform(X)
    for theta in (lda.fit_transform(counts), lda.transform(counts), lda.transform(counts, normalize=False)):
        assert isinstance(theta, library.DataFrame)
        assert list(theta.columns) == ["gibbslda0", "gibbslda1"]
    np.testing.assert_array_equal(lda.transform(counts).to_numpy(), make().fit(counts).transform(counts))


def test_column_names_go_in_and_out(texts):
    pandas = pytest.importorskip("pandas")
    X, _ = texts
    vectorizer = CountVectorizer()
    frame = pandas.DataFrame(vectorizer.fit_transform(X).toarray(), columns=vectorizer.get_feature_names_out())
    frame.index = [f"text {i}" for i in range(60)]
    lda = make().set_output(transform="pandas").fit(frame)
    assert lda.feature_names_in_.tolist() == sorted(FRUIT + CARS)
    assert lda.transform(frame).index.tolist() == frame.index.tolist()


def test_feature_union(texts):
    X, y = texts
    union = make_pipeline(CountVectorizer(), FeatureUnion([("two", make()), ("three", make(n_components=3))]))
    theta = union.fit_transform(X, y)
    assert theta.shape == (60, 5)
    np.testing.assert_allclose(theta.sum(axis=1), 2)
    assert union.get_feature_names_out().tolist() == [f"two__gibbslda{k}" for k in range(2)] + [
        f"three__gibbslda{k}" for k in range(3)
    ]


def test_column_transformer(texts):
    pandas = pytest.importorskip("pandas")
    X, y = texts
    frame = pandas.DataFrame({"text": X, "source": ["a", "b", "c"] * 20})
    columns = ColumnTransformer(
        [("topics", make_pipeline(CountVectorizer(), make()), "text"), ("source", OneHotEncoder(), ["source"])]
    )
    model = make_pipeline(columns, LogisticRegression())
    assert cross_validate(model, frame, y, cv=3, error_score="raise")["test_score"].tolist() == [1, 1, 1]
    assert columns.fit(frame).get_feature_names_out().tolist() == [
        "topics__gibbslda0",
        "topics__gibbslda1",
        "source__source_a",
        "source__source_b",
        "source__source_c",
    ]


def test_requests_of_metadata(texts, metadata_routing):
    """With routing on, `normalize` may be asked for through a pipeline."""
    if not metadata_routing:
        pytest.skip("routing is off")
    X, _ = texts
    topics = make_pipeline(CountVectorizer(), make().set_transform_request(normalize=True)).fit(X)
    lengths = topics[0].transform(X).sum(axis=1).A1
    # Topic counts of documents are added up in single precision.
    np.testing.assert_allclose(topics.transform(X, normalize=False).sum(axis=1), lengths + 2 * 0.1, rtol=1e-6)
