"""One order of arguments: the model, its documents, and keywords. Names are said once, by `describe`."""

import inspect
import re
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

from sklda import CompoundLDA, GibbsLDA, inspection, metrics
from sklda._description.models import hash_of_documents
from sklda._description.view import view as inspection_view
from sklda.inspection import (
    ConvergenceDisplay,
    TopicCountDisplay,
    TopicEffectsDisplay,
    TopicExplorer,
    TopicWordsDisplay,
    contrast_topics,
    describe,
    document_table,
    token_topics,
    top_documents,
    topic_correlation,
    topic_effects,
    topic_table,
)
from sklda.metrics import make_coherence_scorer, match_topics, topic_coherence, word_association
from sklda.papers import held_out

plt = pytest.importorskip("matplotlib.pyplot")
X = np.random.default_rng(0).poisson(1, (20, 12)) + np.eye(20, 12, dtype=int)
WORDS = [f"w{v:02}" for v in range(12)]
LDA = GibbsLDA(3, max_iter=5, random_state=0).fit(X)
NO_WORDS = "fitted to a matrix without names of columns, so words are column numbers"

CONSTRUCTORS = "from_estimator", "from_models", "from_dates", "from_groups"
PUBLIC = {
    f"{name}{'.' * bool(method)}{method}": getattr(getattr(module, name), method) if method else getattr(module, name)
    for module in (inspection, metrics, held_out)
    for name in module.__all__
    for method in (CONSTRUCTORS if inspect.isclass(getattr(module, name)) else ("",))
    if (not method or hasattr(getattr(module, name), method)) and "_scorer" not in name
}
# The first arguments where they are not one model and X, and those after model and X that need no keyword.
FIRST = {
    "compare_topic_models": ["a", "b", "X"],
    "log_evidence": ["X", "n_components"],
    "match_topics": ["a", "b"],
    "predictive_perplexity": ["estimator", "X_seen", "X_hidden"],
    "held_out_curve": ["models", "X"],
    "ratio_ais": ["a", "b", "X"],
}
MORE = {
    "compare_topic_counts": ["n_components"],
    "group_words": ["groups"],
    "outcome_effects": ["y", "covariates"],
    "topic_effects": ["covariates"],
    "permutation_test": ["covariates"],
    "TopicEffectsDisplay.from_estimator": ["covariates"],
    "topics_by_group": ["groups"],
    "topics_over_time": ["dates"],
    "TopicEffectsDisplay.from_dates": ["dates"],
    "TopicEffectsDisplay.from_groups": ["groups"],
    "word_association": ["cue"],
}
# Documents that are needed even if a description has some: a fit, a likelihood or a coherence of others is of use.
NEEDED = {"to_pyldavis"}
NAMES = ["vocabulary", "topic_names", "document_names", "collections"]


@pytest.mark.parametrize("name", PUBLIC)
def test_the_model_comes_first_then_documents_then_keywords(name):
    parameters = inspect.signature(PUBLIC[name]).parameters
    positional = [each for each, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert positional == FIRST.get(name, ["estimator"] + ["X"] * ("X" in parameters)) + MORE.get(name, [])
    assert all(each.kind is each.KEYWORD_ONLY for each in parameters.values() if each.name not in positional)
    if "X" in parameters:
        is_needed = parameters["X"].default is inspect.Parameter.empty
        assert is_needed == (name in NEEDED or PUBLIC[name].__module__.startswith(("sklda.metrics", "sklda.papers")))


@pytest.mark.parametrize("name", [name for name in PUBLIC if hasattr(inspection, name.partition(".")[0])])
def test_values_of_documents_may_be_missing(name):
    """What `missing` does is tested for all of them in tests/test_names_and_labels.py."""
    parameters = inspect.signature(PUBLIC[name]).parameters
    # A description has no documents to leave out.
    described = {"covariates"} if name == "describe" else set()
    of_documents = {"groups", "dates", "y", "covariates", "clusters", "weights"} & set(parameters) - described
    assert ("missing" in parameters) == bool(of_documents)
    if of_documents:
        assert parameters["missing"].default == "raise"
        assert parameters["missing"].annotation == "Literal['raise', 'drop']"


@pytest.mark.parametrize("name", inspection.__all__)
def test_a_display_is_drawn_on_axes(name):
    display = getattr(inspection, name)
    if hasattr(display, "plot"):
        assert list(inspect.signature(display.plot).parameters)[1] == "ax"


@pytest.mark.parametrize("name", [name for name in PUBLIC if hasattr(inspection, name.partition(".")[0])])
def test_names_are_said_once_and_common_keywords_come_last(name):
    parameters = inspect.signature(PUBLIC[name]).parameters
    assert [each for each in NAMES if each in parameters] == (NAMES if name == "describe" else [])
    described = [*NAMES, "covariates"] if name == "describe" else NAMES
    shared = [each for each in [*described, "random_state", "ax"] if each in parameters]
    assert list(parameters)[len(parameters) - len(shared) :] == shared
    assert all(parameters[each].default is None for each in shared)


@pytest.mark.parametrize("name", inspection.__all__)
def test_every_argument_is_described_once_in_the_order_of_the_signature(name):
    function = getattr(inspection, name)
    function = getattr(function, "from_estimator", function)
    section = re.split(r"\n\n\w[\w ]*\n---", inspect.getdoc(function).split("Parameters\n----------\n")[1])[0]
    titles = [line.partition(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")]
    assert ", ".join(titles).split(", ") == list(inspect.signature(function).parameters)


def test_columns_of_a_hashing_vectorizer_have_no_words():
    hashing = HashingVectorizer(n_features=16, alternate_sign=False, norm=None)
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel"]
    pipeline = make_pipeline(hashing, GibbsLDA(2, max_iter=5, random_state=0)).fit(texts)
    with pytest.warns(UserWarning, match="columns of HashingVectorizer have no words"):
        topic_table(pipeline)
    names = [f"w{v}" for v in range(16)]
    assert topic_table(describe(pipeline, vocabulary=names))["words"][0][0] in names


def test_a_description_is_one_line():
    assert repr(describe(LDA)) == "<description of a GibbsLDA>"
    assert repr(describe(LDA, X, vocabulary=WORDS)) == "<description of a GibbsLDA, 20 documents, vocabulary>"
    texts = ["apple banana apple", "car engine wheel"]
    pipeline = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=2, random_state=0)).fit(texts)
    assert repr(describe(pipeline, texts)) == "<description of a Pipeline with a GibbsLDA, 2 documents>"
    assert repr(describe((LDA.topic_word_, LDA.doc_topic_), X)) == "<description of a pair of arrays, 20 documents>"


def test_coherence_of_gensim():
    for call in (lambda: topic_coherence(LDA, X, method="c_v"), lambda: make_coherence_scorer(method="c_v")):
        with pytest.raises(ValueError, match=r"'c_v' .*order"):
            call()
    with pytest.raises(ValueError, match="method must be one of"):
        make_coherence_scorer(method="c_w")


def test_axes_for_every_topic():
    axes = plt.subplots(1, 3)[1]
    display = TopicWordsDisplay.from_estimator(LDA, ax=axes)
    assert list(display.axes_) == list(axes) and all(len(ax.patches) for ax in axes)
    with pytest.raises(ValueError, match=r"Axes .* 3 topics; got 2"):
        display.plot(axes[:2])


@pytest.mark.filterwarnings("ignore:X is not the X of the fit:UserWarning")
def test_documents_of_a_description():
    labels, other = np.arange(20) % 2, X[::-1]
    lda = CompoundLDA(3, max_iter=5, random_state=0).fit(X, collections=labels)
    for names in ({"collections": labels}, {"document_names": list(map(str, range(20)))}):
        with pytest.raises(ValueError, match=f"{next(iter(names))} .*give X"):
            describe(lda, **names)
    # Of new documents collections change the proportions, and so the shares.
    alpha = lda.transform(other, collections=labels)
    named = describe(lda, other, collections=labels, document_names=[f"d{d}" for d in range(20)])
    shares = topic_table(named)["share"].tolist()
    np.testing.assert_allclose(shares, other.sum(axis=1) @ alpha / X.sum())
    assert document_table(named)["document"][3] == "d3"
    # Another X has other documents.
    assert document_table(named, other[:5]).equals(document_table(lda, other[:5]))
    with pytest.raises(TypeError, match="GibbsLDA has no collections"):
        topic_table(describe(LDA, X, collections=labels))


def test_a_description_of_a_description_keeps_what_is_not_given():
    named = describe(describe(LDA, X, vocabulary=WORDS), topic_names=["a", "b", "c"])
    assert named.X is X and named.vocabulary == WORDS and named.topic_names == ["a", "b", "c"]
    again = describe(named, X[:2], document_names=["x", "y"], topic_names=["c", "b", "a"])
    assert again.topic_names == ["c", "b", "a"] and again.vocabulary == WORDS
    assert top_documents(again)["documents"][0] and set(document_table(again)["document"]) == {"x", "y"}


def test_documents_have_the_names_of_the_index():
    rows = [f"row {d}" for d in range(20)]
    frame = pd.DataFrame(X, index=rows, columns=WORDS)
    lda = GibbsLDA(3, max_iter=5, random_state=0).fit(frame)
    assert document_table(lda, frame)["document"].tolist() == rows
    assert set(top_documents(lda, frame)["documents"][0]) <= set(rows)
    assert TopicExplorer.from_estimator(lda, frame).data["documents"]["name"] == rows
    named = describe(lda, frame, document_names=list("abcdefghijklmnopqrst"))
    assert document_table(named)["document"].tolist() == list("abcdefghijklmnopqrst")
    # Numbers stay numbers; without all names, there are row numbers.
    numbers = document_table(lda, frame.set_axis(np.arange(20) + 7))["document"].tolist()
    assert numbers == list(range(7, 27)) and type(numbers[0]) is int
    assert document_table(lda, frame.set_axis([None, *rows[1:]]))["document"].tolist() == list(range(20))
    texts = pd.Series(["apple banana", "wheel engine"], index=["x", "y"])
    pipeline = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=5, random_state=0)).fit(texts)
    assert document_table(pipeline, texts)["document"].tolist() == ["x", "y"]


# --- Words --------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:(seed_words|Most tokens of the seed words)")
def test_words_are_known_in_four_ways():
    options = {"max_iter": 5, "random_state": 0}
    expected = topic_table(describe(LDA, vocabulary=WORDS))["words"].tolist()
    assert set(expected[0]) <= set(WORDS)
    frame = GibbsLDA(3, **options).fit(pd.DataFrame(X, columns=WORDS))
    vectorizer = CountVectorizer(vocabulary=WORDS)
    texts = [" ".join(np.repeat(WORDS, row)) for row in X]
    models = [frame, make_pipeline(vectorizer, GibbsLDA(3, **options)).fit(texts)]
    models += [
        GibbsLDA(3, vocabulary=words, **options).fit(X)
        for words in (WORDS, np.array(WORDS), {word: v for v, word in enumerate(WORDS)})
    ]
    for model in models:
        assert topic_table(model)["words"].tolist() == expected
        assert word_association(model, cue="w03").tolist() == word_association(LDA, cue=3).tolist()
    # A vocabulary of the seed words alone does not name the others.
    seeded = GibbsLDA(3, seed_words={0: ["w03"]}, vocabulary={"w03": 3}, **options).fit(X)
    with pytest.warns(UserWarning, match=NO_WORDS):
        topic_table(seeded)


@pytest.mark.filterwarnings("ignore:(seed_words|Most tokens of the seed words)")
def test_vocabulary_goes_before_the_names_of_columns():
    frame = pd.DataFrame(X, columns=[f"c{v}" for v in range(len(WORDS))])
    options = {"max_iter": 5, "random_state": 0, "seed_words": {"fruit": ["w03"]}}
    lda = GibbsLDA(3, vocabulary=WORDS, **options).fit(frame)
    table = topic_table(lda, n_words=3)
    assert {word for words in table["words"] for word in words} <= set(WORDS)
    assert lda.topic_names_[1:].tolist() == [" ".join(words) for words in table["words"][1:]]
    # One that has some words leaves the others their names.
    lda = GibbsLDA(3, vocabulary={"w03": 3}, **options).fit(frame)
    assert inspection_view(lda).words == ["w03" if v == 3 else f"c{v}" for v in range(len(WORDS))]


@pytest.mark.filterwarnings("error")
def test_column_numbers_say_how_to_give_words():
    shows = [
        lambda model: topic_table(model),
        lambda model: token_topics(model, X),
        lambda model: topic_table(model, columns=["name"]),
        lambda model: TopicWordsDisplay.from_estimator(model),
        lambda model: TopicExplorer.from_estimator(model, X),
        lambda model: contrast_topics(model, topic=0, other_topic=1),
        lambda model: topic_effects(model, X, np.arange(20), n_draws=2),
    ]
    named = describe(LDA, vocabulary=WORDS)
    for show in shows:
        with pytest.raises(UserWarning, match=f"GibbsLDA was {NO_WORDS}.*describe"):
            show(LDA)
        show(named)
    # Nothing that shows no words says so; neither do topics that have names, and arrays.
    for show in (document_table, top_documents, topic_correlation):
        show(LDA)
    TopicEffectsDisplay.from_groups(describe(LDA, topic_names=list("abc")), X, np.arange(20) % 2)
    topic_table((LDA.topic_word_, LDA.doc_topic_))
    plt.close("all")


def test_words_of_two_models():
    named = describe(LDA, vocabulary=WORDS)
    for a, b in ((named, LDA), (LDA, named), (named, named)):
        table = contrast_topics(a, topic=0, other_topic=1, other_estimator=b)
        assert set(table["word"]) <= set(WORDS) and table.equals(
            contrast_topics(named, topic=0, other_topic=1, other_estimator=named)
        )
    others = describe(LDA, vocabulary=WORDS[::-1])
    with pytest.raises(ValueError, match="features with other names"):
        contrast_topics(named, topic=0, other_topic=1, other_estimator=others)
    with pytest.raises(ValueError, match=r"column 0 .*'w00' in a .*'w11' in b"):
        match_topics(named, others)


# --- The topic model is found ---------------------------------------------------------------------------------------


TEXTS = [" ".join(np.repeat(WORDS, row)) for row in X]
Y = np.arange(20) % 2


def in_pipelines():
    """The model with the words of a vectorizer, at all places where it can be."""
    vectorizer = CountVectorizer(vocabulary=WORDS).fit(TEXTS)
    classifier = LogisticRegression().fit(LDA.transform(X), Y)
    pipeline = Pipeline([("words", vectorizer), ("topics", LDA), ("classes", classifier)])
    frozen = Pipeline([("words", vectorizer), ("topics", FrozenEstimator(LDA)), ("classes", classifier)])
    nested = Pipeline([("topics", make_pipeline(vectorizer, LDA)), ("classes", classifier)])
    search = SimpleNamespace(best_estimator_=pipeline)
    return {
        "a classifier behind": pipeline,
        "a frozen topic model": frozen,
        "a frozen pipeline": FrozenEstimator(pipeline),
        "a pipeline in a pipeline": nested,
        "a search": search,
        "a frozen search in a pipeline": make_pipeline(FrozenEstimator(search)),
        "a description": describe(pipeline, TEXTS),
    }


FOUND = {
    "topic_table": lambda model, X: topic_table(model, X),
    "topic_report": lambda model, X: topic_table(model, X, columns="all"),
    "document_table": lambda model, X: document_table(model, X),
    "token_topics": lambda model, X: token_topics(model, X, document=2),
    "topic_effects": lambda model, X: topic_effects(model, X, Y, n_draws=2, random_state=0),
    "topic_correlation": lambda model, X: topic_correlation(model, X, n_draws=20, random_state=0),
    "TopicWordsDisplay": lambda model, X: TopicWordsDisplay.from_estimator(model, X),
    "TopicEffectsDisplay": lambda model, X: TopicEffectsDisplay.from_groups(model, X, Y, random_state=0),
    "ConvergenceDisplay": lambda model, X: ConvergenceDisplay.from_estimator(model),
    "TopicExplorer": lambda model, X: TopicExplorer.from_estimator(model, X, texts=TEXTS).to_html(),
    "topic_coherence": lambda model, X: topic_coherence(model, X, n_words=3),
    "held_out": lambda model, X: metrics.held_out_log_likelihood(model, X, n_temperatures=3, random_state=0),
    "scorer": lambda model, X: metrics.make_held_out_scorer(n_temperatures=3)(model, X),
    "word_association": lambda model, X: word_association(model, cue="w03"),
}


def plain(result):
    if isinstance(result, pd.DataFrame):
        return repr([list(result.columns), result.to_numpy().tolist()])
    if hasattr(result, "__dataclass_fields__"):
        return repr([plain(getattr(result, each.name)) for each in fields(result)])
    if isinstance(result, (list, tuple)):
        return repr([plain(each) for each in result])
    if isinstance(result, dict):
        return repr({name: plain(each) for name, each in result.items()})
    return repr(result.tolist() if hasattr(result, "tolist") else result)


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("question", FOUND)
def test_the_topic_model_is_found(question):
    ask = FOUND[question]
    expected = plain(ask(describe(LDA, vocabulary=WORDS), X))
    for where, model in in_pipelines().items():
        assert plain(ask(model, TEXTS)) == expected, where
        plt.close("all")


def test_a_search_over_a_classifier_of_topics():
    steps = [("words", CountVectorizer()), ("topics", GibbsLDA(max_iter=5, random_state=0))]
    pipeline = Pipeline([*steps, ("classes", LogisticRegression())])
    search = GridSearchCV(pipeline, {"topics__n_components": [2, 3]}, cv=2).fit(TEXTS, Y)
    lda = search.best_estimator_["topics"]
    expected = topic_table(describe(lda, vocabulary=WORDS))
    assert topic_table(search).equals(expected) and topic_table(FrozenEstimator(search)).equals(expected)
    assert topic_coherence(search, TEXTS) == topic_coherence(lda, X)
    assert len(document_table(search, TEXTS)) == 20
    with pytest.raises(TypeError, match="LogisticRegression has no components_"):
        topic_table(make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, Y))


def test_plots_of_chains_take_pipelines():
    shown = ConvergenceDisplay.from_estimator(make_pipeline("passthrough", LDA))
    np.testing.assert_array_equal(shown.trace, LDA.log_joint_trace_)
    with pytest.raises(TypeError, match=r"GibbsLDA has no topic_counts_.*TopicCountLDA"):
        TopicCountDisplay.from_estimator(make_pipeline("passthrough", LDA))


@pytest.mark.filterwarnings("ignore:X is not the X of the fit:UserWarning")
def test_a_copy_of_the_documents_has_their_names_and_collections():
    rng = np.random.default_rng(0)
    X, other = rng.poisson(1, (2, 20, 8))
    labels = ["a", "b"] * 10
    lda = CompoundLDA(2, max_iter=5, random_state=0).fit(X, collections=labels)
    named = describe(lda, other, collections=labels, document_names=[f"d{d}" for d in range(20)])
    expected = document_table(named)
    assert expected["document"][0] == "d0"
    for copy in (other.copy(), sp.coo_array(other), other.tolist(), pd.DataFrame(other)):
        assert document_table(named, copy).equals(expected)
    assert "d0" not in document_table(named, other[::-1]).astype(str).to_numpy()
    texts = ["one two", "three"]
    assert hash_of_documents(texts) == hash_of_documents(np.array(texts)) != hash_of_documents(texts[::-1])
    # What can be read once is not compared.
    assert hash_of_documents(iter(texts)) != hash_of_documents(iter(texts))
