"""One order of arguments: documents that are needed come first, others are keywords; exchanged ones are refused."""

import inspect

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline

from sklda import CompoundLDA, GibbsLDA, inspection, metrics
from sklda.inspection import (
    ConvergenceDisplay,
    TopicCountDisplay,
    TopicWordsDisplay,
    describe,
    document_table,
    name_topics,
    top_documents,
    top_words,
    topic_table,
)
from sklda.inspection._parameters import described
from sklda.metrics import make_coherence_scorer, topic_coherence

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


COMMON = ["feature_names", "topic_names", "document_names", "collections", "random_state", "ax"]


@pytest.mark.parametrize("name", inspection.__all__)
def test_common_keywords_come_last_in_one_order(name):
    function = getattr(inspection, name)
    parameters = inspect.signature(getattr(function, "from_estimator", function)).parameters
    shared = [each for each in COMMON if each in parameters]
    assert list(parameters)[len(parameters) - len(shared) :] == shared
    assert all(parameters[each].default is None for each in shared)
    assert all(parameters[each].kind is inspect.Parameter.KEYWORD_ONLY for each in shared)
    assert (
        "feature_names" not in shared
        or "topic_names" in shared
        or name in ("name_topics", "to_pyldavis", "TopicFlowDisplay")
    )
    if "X" in parameters and "feature_names" in shared:
        # Proportions of new documents depend on their collections, except where all draws are made anew.
        others = ("groups", "document", "covariates", "n_components")
        assert "collections" in shared or any(each in parameters for each in others)


@pytest.mark.parametrize("name", inspection.__all__)
def test_every_argument_is_described_once_in_the_order_of_the_signature(name):
    function = getattr(inspection, name)
    function = getattr(function, "from_estimator", function)
    section = inspect.getdoc(function).split("Parameters\n----------\n")[1].split("\n\n")[0]
    titles = [line.partition(" : ")[0] for line in section.splitlines() if not line.startswith(" ")]
    assert ", ".join(titles).split(", ") == list(inspect.signature(function).parameters)


def test_a_docstring_is_completed():
    @described
    def shown(model, depth=1, *, topic_names=None):
        """Show.

        Parameters
        ----------
        depth : int, default=1
            How deep.

        Notes
        -----
        None.
        """

    lines = shown.__doc__.splitlines()
    assert [line for line in lines if " : " in line] == [
        "model : estimator, pipeline, or pair (topic_word, doc_topic)",
        "depth : int, default=1",
        "topic_names : sequence of str of length n_components, default=None",
    ]
    underlined = [lines[i - 1] for i, line in enumerate(lines) if line.startswith("---")]
    assert underlined == ["Parameters", "Returns", "Raises", "Notes"]
    shown.__doc__ = "Show."
    with pytest.raises(KeyError, match="depth"):
        described(shown)


def test_columns_of_a_hashing_vectorizer_have_no_words():
    hashing = HashingVectorizer(n_features=16, alternate_sign=False, norm=None)
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel"]
    pipeline = make_pipeline(hashing, GibbsLDA(2, max_iter=5, random_state=0)).fit(texts)
    with pytest.warns(UserWarning, match="columns of HashingVectorizer have no words"):
        top_words(pipeline)
    names = [f"w{v}" for v in range(16)]
    assert topic_table(describe(pipeline, feature_names=names))["word"][0] in names


def test_coherence_of_gensim():
    assert topic_coherence(LDA, X, method="u_mass") == topic_coherence(LDA, X, method="umass")
    for call in (lambda: topic_coherence(LDA, X, method="c_v"), lambda: make_coherence_scorer(method="c_v")):
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


def test_collections_belong_to_documents():
    labels = np.arange(20) % 2
    lda = CompoundLDA(3, max_iter=5, random_state=0).fit(X, collections=labels)
    for function in (top_words, topic_table, name_topics, document_table, top_documents):
        with pytest.raises(ValueError, match="collections are those of the documents of X: give X, too"):
            function(lda, collections=labels)
    # Of new documents they change the proportions, and so the shares.
    other = X[::-1]
    alpha = lda.transform(other, collections=labels)
    shares = top_words(describe(lda, other, collections=labels))["share"].tolist()
    np.testing.assert_allclose(shares, other.sum(axis=1) @ alpha / X.sum())


def test_plots_of_chains_take_pipelines():
    shown = ConvergenceDisplay.from_estimator(make_pipeline("passthrough", LDA))
    np.testing.assert_array_equal(shown.trace, LDA.log_joint_trace_)
    with pytest.raises(TypeError, match="GibbsLDA has no topic_counts_: give a fitted TopicCountLDA"):
        TopicCountDisplay.from_estimator(make_pipeline("passthrough", LDA))
