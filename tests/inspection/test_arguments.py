"""One order of arguments: documents that are needed come first, others are keywords; exchanged ones are refused."""

import inspect

import matplotlib
import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA, inspection, metrics
from sklda.inspection import (
    TopicWordsDisplay,
    top_words,
    topic_table,
)
from sklda.metrics import make_coherence_scorer, topic_coherence

matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
X = np.random.default_rng(0).poisson(1, (20, 12))
LDA = GibbsLDA(3, max_iter=5, random_state=0).fit(X)


PUBLIC = [getattr(each, name) for each in (inspection, metrics) for name in each.__all__ if "_scorer" not in name]


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: function.__name__)
def test_the_order_of_arguments(function):
    is_display = hasattr(function, "from_estimator")
    parameters = inspect.signature(function.from_estimator if is_display else function).parameters
    names = list(parameters)
    if is_display:
        # As the displays of scikit-learn.
        assert names[:2] == ["estimator", "X"] or (names[0] == "estimator" and "X" not in names)
        if hasattr(function, "plot"):
            assert list(inspect.signature(function.plot).parameters)[1] == "ax"
    elif "X" in parameters and parameters["X"].default is inspect.Parameter.empty:
        assert names[0] == "X"
    elif "X" in parameters:
        assert parameters["X"].kind is inspect.Parameter.KEYWORD_ONLY


def test_columns_of_a_hashing_vectorizer_have_no_words():
    hashing = HashingVectorizer(n_features=16, alternate_sign=False, norm=None)
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel"]
    pipeline = make_pipeline(hashing, GibbsLDA(2, max_iter=5, random_state=0)).fit(texts)
    with pytest.warns(UserWarning, match="columns of HashingVectorizer have no words"):
        top_words(pipeline)
    names = [f"w{v}" for v in range(16)]
    assert topic_table(pipeline, feature_names=names)["word"][0] in names


def test_coherence_of_gensim():
    assert topic_coherence(X, LDA, method="u_mass") == topic_coherence(X, LDA, method="umass")
    for call in (lambda: topic_coherence(X, LDA, method="c_v"), lambda: make_coherence_scorer(method="c_v")):
        with pytest.raises(ValueError, match="'c_v' needs the order of the words"):
            call()
    with pytest.raises(ValueError, match="method must be one of"):
        make_coherence_scorer(method="c_w")


def test_axes_for_every_topic():
    axes = plt.subplots(1, 3)[1]
    display = TopicWordsDisplay.from_estimator(LDA, ax=axes)
    assert list(display.axes_) == list(axes) and all(len(ax.patches) for ax in axes)
    with pytest.raises(ValueError, match="one Axes for each of the 3 topics; got 2"):
        display.plot(axes[:2])
    plt.close("all")
