"""All functions that take names or labels read them in one way, from all kinds of columns.

The functions are found by the names of their arguments, so a new one is among them.
"""

import inspect
import warnings
from dataclasses import fields, is_dataclass
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sklda
from sklda import (
    HDPLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    GibbsLDA,
    LabeledLDA,
    datasets,
    inspection,
    metrics,
)
from sklda._input.document_values import DocumentValues, check_documents
from sklda._input.names import (
    find_words,
    in_order,
    is_missing,
    read_column,
    read_document_names,
    read_labels,
    read_vocabulary,
    read_words,
)
from sklda.datasets import make_lda_corpus
from sklda.inspection import TopicEffectsDisplay, TopicExplorer, outcome_effects, topic_effects, topics_by_group
from sklda.inspection._axes import Display, PanelsDisplay

pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("few_further_draws")
D, V, K = 24, 12, 3
X = np.random.default_rng(0).poisson(1, (D, V)) + np.eye(D, V, dtype=int)
# Not in the order of the alphabet, in which a vocabulary would be sorted.
WORDS = [f"w{(7 * v) % V:02}" for v in range(V)]
SOURCES = ["b", "a", "c"] * (D // 3)
GIBBS = GibbsLDA(K, max_iter=6, n_chains=2, random_state=0).fit(X)
KNOWN = GibbsLDA(3, known_topics=np.eye(2, V) + 1, max_iter=2, random_state=0).fit(X)
COMPOUND = CompoundLDA(K, max_iter=6, random_state=0).fit(X, collections=SOURCES)
with warnings.catch_warnings():
    # So few topics are too few.
    warnings.simplefilter("ignore", UserWarning)
    HDP = HDPLDA(max_components=K, n_chains=1, max_iter=6, random_state=0).fit(X, collections=SOURCES)
COVARIATE = CovariateLDA(K, max_iter=6, random_state=0).fit(X, covariates=SOURCES)
LABELED = LabeledLDA(max_iter=6, random_state=0).fit(X, SOURCES)

# What each argument can hold: labels and names of documents, of topics and of words.
GOOD = {
    "collections": SOURCES,
    "covariates": SOURCES,
    "groups": SOURCES,
    "clusters": ["t", "s"] * (D // 2),
    "dates": [str(1990 + d) for d in range(D)],
    "document_names": [f"document {d}" for d in range(D)],
    "texts": [f"{WORDS[d % V]} {WORDS[0]}" for d in range(D)],
    "topic_names": ["x", "z", "y"],
    "names": ["x", "z", "y"],
    "labels": ["c", "a"],
    "topics": [2, 0],
    "cue": ["w01", "w00"],
    "vocabulary": WORDS,
}
OF_WORDS = ("vocabulary",)
# What `describe` says of a model, for all functions that read its topics.
DESCRIBED = tuple(name for name in inspect.signature(inspection.describe).parameters if name in GOOD)
# They read chains, evidence or fits of their own.
WITHOUT_TOPICS = (
    *("ConvergenceDisplay", "MarginalLikelihoodDisplay", "TopicCountDisplay"),
    *("compare_topic_counts", "to_arviz", "describe"),
)
# Functions in which arguments of these names hold other things: requests of scikit-learn, groups of topics, tokens.
OTHERS = ("set_fit_request", "set_score_request", "set_transform_request", "merge_topics", "count_tokens")

TAKES = {"CompoundLDA": "collections", "HDPLDA": "collections", "CovariateLDA": "covariates"}


def functions():
    """Every public function and method with an argument that has names or labels: its id, itself, and the argument."""
    for module in (sklda, inspection, metrics, datasets):
        for name in module.__all__:
            public = getattr(module, name)
            methods = [each for each in dir(public) if not each.startswith("_")] if inspect.isclass(public) else [None]
            for method in methods:
                function = public if method is None else inspect.getattr_static(public, method)
                function = getattr(function, "__func__", function)
                if not callable(function) or (method or name) in OTHERS or isinstance(function, type):
                    continue
                parameters = inspect.signature(function).parameters
                own = set(parameters) & set(GOOD)
                if name == "describe":
                    # Words and topics are read with the model.
                    own -= {"vocabulary", "topic_names", "covariates"}
                elif module is inspection and name not in WITHOUT_TOPICS and {"estimator", "models"} & set(parameters):
                    own |= set(DESCRIBED)
                if name == "topic_drift":
                    # Models of collections have no known topics.
                    own.discard("collections")
                elif name in ("word_association", "match_topics"):
                    own.add("vocabulary")
                # Models of collections and of covariates have both arguments and refuse the other one.
                own -= {"collections", "covariates"} - {TAKES[name]} if name in TAKES else set()
                for argument in own:
                    yield pytest.param(public, method, argument, id=f"{name}.{method}-{argument}")


FUNCTIONS = sorted(functions(), key=lambda each: each.id)


def call(public, method, argument, value, folder, X=X, **options):
    """The function with this value of the argument, and with what else it needs."""
    name = public.__name__
    if hasattr(public, "get_params"):
        function = getattr(ESTIMATORS[name](), method)
    elif method == "to_html":
        function = inspection.TopicExplorer.from_estimator(GIBBS, X).to_html
    else:
        function = public if method is None else getattr(public, method)
    parameters = inspect.signature(function).parameters
    of_labels = argument == "labels"
    # Other functions of inspection have covariates of their own.
    of_covariates = argument == "covariates" and (
        argument not in parameters or function.__module__.startswith("sklda.metrics")
    )
    model = LABELED if of_labels else COVARIATE if of_covariates else COMPOUND if argument == "collections" else GIBBS
    model = KNOWN if name == "topic_drift" else model
    given = {argument: value}
    if argument not in parameters:
        model, given = inspection.describe(model, X, **given), {}
    elif argument == "cue":
        model = inspection.describe(model, vocabulary=WORDS)
    needed = {
        "estimator": model,
        "models": [model, COMPOUND],
        "a": model,
        "b": GIBBS,
        "X": X,
        "X_seen": X,
        "X_hidden": X,
        "covariates": np.arange(D),
        "y": np.arange(D) ** 2 % 7,
        "dates": np.arange(D) % 3 + 2000,
        "groups": SOURCES,
        "document": 0,
        "topic": 0,
        "other_topic": 1,
        "cue": [0],
        "n_components": [2, 3],
        "path": folder / "saved",
        "folder": folder / "saved",
        "kind": "coding",
        "texts": GOOD["texts"],
    }
    given |= {
        key: needed[key]
        for key, each in parameters.items()
        if key in needed and key not in given and (each.default is each.empty or (public, key) in NEEDED)
    }
    # Fewer draws and sweeps, and the same ones.
    fast = {
        "n_temperatures": 2,
        "n_permutations": 3,
        "n_draws": 39 if name in ("topic_drift", "topic_correlation") else 10,
        "n_sweeps": 6,
        "least_tokens": 1,
        "random_state": 0,
    }
    given |= {key: each for key, each in (fast | {"X": X} | options).items() if key in parameters}
    if name == "export_results":
        function(**given)
        return [path.read_text(encoding="utf-8-sig") for path in sorted((folder / "saved").glob("*.csv"))]
    return function(**given)


# Functions with an argument that has a default only because X before it may come from `describe`.
NEEDED = {
    (inspection.CodingTask, "texts"),
    (inspection.group_words, "groups"),
    (inspection.outcome_effects, "y"),
    (inspection.topic_effects, "covariates"),
    (inspection.permutation_test, "covariates"),
    (inspection.TopicEffectsDisplay, "covariates"),
    (inspection.topic_check, "groups"),
    (inspection.topics_by_group, "groups"),
    (inspection.topics_over_time, "dates"),
    (inspection.TopicEffectsDisplay, "dates"),
    (inspection.TopicEffectsDisplay, "groups"),
}
ESTIMATORS = {
    "CompoundLDA": lambda: COMPOUND,
    "HDPLDA": lambda: HDP,
    "CovariateLDA": lambda: COVARIATE,
    **dict.fromkeys(
        (
            "GibbsLDA",
            "DaskGibbsLDA",
            "CollapsedVariationalLDA",
            "EmpiricalBayesLDA",
            "TopicCountLDA",
            "LabeledLDA",
            "ConsensusTopics",
        ),
        lambda: GIBBS,
    ),
}


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    """Displays have their values before they are drawn, which takes most of the time. Few documents are simulated."""
    monkeypatch.setattr("sklda.inspection._theta._SIMULATED", 50)
    for each in (Display, PanelsDisplay):
        monkeypatch.setattr(each, "_plot_on", lambda self, *args, **options: self)


def plain(result):
    """A result as a text of its values."""
    if isinstance(result, inspection.TopicExplorer):
        return result.to_html()
    if isinstance(result, pd.DataFrame):
        return repr([list(result.columns), result.to_numpy().tolist()])
    if is_dataclass(result):
        return repr([plain(getattr(result, each.name)) for each in fields(result)])
    if hasattr(result, "components_"):
        return repr([result.components_.tolist(), getattr(result, "topic_names_", None)])
    if isinstance(result, dict):
        return repr([(key, plain(value)) for key, value in result.items()])
    return repr(result.tolist() if hasattr(result, "tolist") else result)


def unordered(argument, values):
    """Values from which the place of each cannot be known."""
    found = [set(values), frozenset(values), dict.fromkeys(values, 0).keys()]
    if argument != "covariates":
        mapping = {f"key {i}": value for i, value in enumerate(values)}
        found += [
            mapping,
            dict(enumerate(values)) if argument not in OF_WORDS else mapping,
            pd.DataFrame([values] * 2).T,
        ]
    return [*found, values[0] if argument not in ("topics", "labels", "cue") else object()]


@pytest.mark.parametrize(("public", "method", "argument"), FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_what_has_no_order_is_refused(public, method, argument, tmp_path):
    for value in unordered(argument, GOOD[argument]):
        if argument == "names" and isinstance(value, dict):
            # Topics by their numbers
            continue
        with pytest.raises((TypeError, ValueError), match=argument):
            call(public, method, argument, value, tmp_path)


def has_own(public, method, argument):
    """Whether a function reads the argument itself, and not by the description of the model."""
    function = public if method is None else getattr(public, method)
    return argument in inspect.signature(function).parameters


# `describe` reads the names and collections of all functions; two of them show that they have them.
SHOWN = inspection.document_table, inspection.topic_table


@pytest.mark.parametrize(
    ("public", "method", "argument"), [each for each in FUNCTIONS if has_own(*each.values) or each.values[0] in SHOWN]
)
@pytest.mark.filterwarnings("ignore")
def test_all_kinds_of_columns_are_the_same(public, method, argument, tmp_path):
    good = GOOD[argument]
    forms = [pd.Series(good)]
    # Covariates in a frame have names, which those of the fit do not have.
    forms += [iter(good), np.array(good)[:, None] if argument == "covariates" else pd.DataFrame({"a": good})]
    if argument in OF_WORDS:
        columns = {word: np.int64(v) for v, word in enumerate(good)}
        forms += [dict(sorted(columns.items())), {v: word for word, v in columns.items()}]
    expected = plain(call(public, method, argument, good, tmp_path / "0"))
    for i, form in enumerate(forms):
        assert plain(call(public, method, argument, form, tmp_path / f"{i + 1}")) == expected, type(form)


def test_scalars_of_all_libraries_are_those_of_python():
    day = datetime(2020, 1, 2)
    same = [day, pd.Timestamp(day), np.datetime64(day), np.datetime64(day, "ns"), np.array(day, "M8[us]")]
    assert read_labels(same, "labels") == [day] * 5
    assert read_labels([np.datetime64("2020-01-02")], "labels") == [date(2020, 1, 2)]
    exact = np.datetime64("2020-01-02T00:00:00.000000001")
    assert read_labels([exact], "labels") == [exact]
    found = read_labels([np.int8(1), np.str_("a"), np.bool_(True), np.array(2.5), (np.int64(1), "b")], "labels")
    assert found == [1, "a", True, 2.5, (1, "b")] and [type(each) for each in found[:3]] == [int, str, bool]
    assert read_labels(pd.Categorical(["b", "a"]), "labels") == ["b", "a"]
    assert read_labels(np.array([(1, "a")], dtype=[("n", int), ("t", "U1")]), "labels") == [(1, "a")]


@pytest.mark.parametrize(
    "gap", [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT", "s"), (2020, np.nan), ("a", (None,))]
)
def test_missing_labels(gap):
    labels = np.empty(3, dtype=object)
    labels[:] = ["a", gap, "b"]
    assert is_missing(gap)
    with pytest.raises(ValueError, match=r"labels\[1\] is missing"):
        read_labels(labels, "labels")
    assert read_labels(labels, "labels", may_be_missing=True) == ["a", None, "b"]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_columns_of_other_libraries(library):
    module = pytest.importorskip(library)
    make = module.Series if library == "polars" else module.array
    frame = module.DataFrame if library == "polars" else module.table
    for values in (["b", None, "a"], [2, None, 1], [datetime(2020, 1, 2), None, datetime(2020, 1, 1)]):
        for form in (make(values), frame({"a": values}), list(make(values)), np.array([*make(values), 0], object)[:3]):
            assert read_labels(form, "labels", may_be_missing=True) == values
    words = make(WORDS)
    assert read_words(words, "vocabulary", V) == read_words(frame({"w": words}), "vocabulary", V) == WORDS


def test_the_order_of_labels_is_their_own():
    assert in_order([3, 1, 2.5]) == [1, 2.5, 3]
    assert in_order([10, None, 9, "b", "a"]) == [None, 9, 10, "a", "b"]
    tags = [frozenset({f"tag{i}", f"tag{i + 1}"}) for i in range(9)]
    rng = np.random.default_rng(0)
    for _ in range(5):
        assert in_order([tags[i] for i in rng.permutation(9)]) == tags
    assert in_order([frozenset("ab"), frozenset("a")]) == [frozenset("a"), frozenset("ab")]


def test_categories_keep_their_order():
    """In tables, pictures, the page, and the model itself; an outcome is advised to have it, too."""
    X = np.asarray(make_lda_corpus(60, 20, 3, random_state=0).data.toarray())
    order = ["low", "medium", "high"]
    groups = pd.Series(np.tile(order, 20)).astype(pd.CategoricalDtype([*order, "never"], ordered=True))
    lda = CompoundLDA(3, max_iter=10, random_state=0).fit(X, collections=groups)
    assert lda.collections_.tolist() == order
    assert topics_by_group(lda, X, groups, topics=[0])["group"].tolist() == order
    for documents in ((), (X, groups)):
        assert TopicEffectsDisplay.from_groups(lda, *documents, ordered=True).values == order
    assert TopicExplorer.from_estimator(lda, X, groups=groups).data["groups"]["name"] == order
    assert topic_effects(lda, X, {"g": groups}, topics=[0])["base"].tolist()[1:] == ["low", "low"]
    with pytest.raises(TypeError, match=r"map\({'low': 0, 'medium': 1, 'high': 2, 'never': 3}\)"):
        outcome_effects(lda, X, groups)


def test_words_and_their_columns():
    columns = {word: v for v, word in enumerate(WORDS)}
    assert read_words(columns, "vocabulary", V) == WORDS
    assert read_vocabulary({"w00": np.int64(4), "alias": 4}, "vocabulary", V) == {"w00": 4, "alias": 4}
    for wrong, error, message in [
        ({"a": 0, "b": 0}, ValueError, "column 0 for 'a' and for 'b'"),
        ({"a": 0}, ValueError, "1 words and none for column 1; there are 2 columns"),
        ({0: "a", 1: "a"}, ValueError, "'a' for columns 0 and 1"),
        ({"a": 0, "b": 2}, ValueError, "column 2 for 'b'; there are 2 columns"),
        ({"a": 0, "b": 1.0}, TypeError, "1.0 for 'b'"),
        ({0: 1, 1: 0}, TypeError, "give the words in the order"),
        ({"a": True, "b": 0}, TypeError, "True for 'a'"),
        (columns.keys(), TypeError, "dict_keys, which has no order"),
        (pd.Series({"a": 1, "b": 0}), TypeError, r"vocabulary\[0\] is 1: a word of a column is a str"),
        ([b"a", b"b"], TypeError, "is a str"),
        (["a", np.nan], TypeError, r"vocabulary\[1\] is nan"),
    ]:
        with pytest.raises(error, match=message):
            read_words(wrong, "vocabulary", 2)


@pytest.mark.filterwarnings("ignore:X has feature names, but")
def test_columns_of_new_documents_are_not_read_as_other_words():
    frame = pd.DataFrame(X, columns=WORDS)
    lda = GibbsLDA(K, vocabulary=WORDS, max_iter=6, random_state=0).fit(X)
    calls = [
        lda.transform,
        lda.score,
        lambda X: inspection.topic_table(lda, X),
        lambda X: inspection.topic_table(inspection.describe(GIBBS, vocabulary=WORDS), X),
        lambda X: metrics.topic_coherence(lda, X),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="column 0 is 'w11', and 'w00' in the model"):
            call(frame[sorted(WORDS, reverse=True)])
        call(frame)


def test_names_that_are_known_are_not_given_in_another_order():
    for wrong in (WORDS[::-1], dict(zip(WORDS[::-1], range(V), strict=True)), ["new", *WORDS[:-1]]):
        with pytest.raises(ValueError, match="of X has this name"):
            read_words(wrong, "vocabulary", V, WORDS)
    # Stems that are completed, one of which is another stem.
    assert read_words([WORDS[1], *WORDS[1:]], "vocabulary", V, WORDS)[0] == WORDS[1]
    frame = pd.DataFrame(X, columns=WORDS, index=[f"row {d}" for d in range(D)])
    lda = GibbsLDA(K, max_iter=2, random_state=0).fit(frame)
    assert plain(inspection.topic_table(inspection.describe(lda, vocabulary=WORDS))) == plain(
        inspection.topic_table(lda)
    )
    with pytest.raises(ValueError, match="of X has this name"):
        inspection.topic_table(inspection.describe(lda, vocabulary=WORDS[::-1]))
    lda.set_topic_names(["x", "y", "z"])
    with pytest.raises(ValueError, match="another order: topic 0 is 'x'"):
        inspection.topic_table(inspection.describe(lda, topic_names=["y", "x", "z"]))
    with pytest.raises(ValueError, match=r"document_names .*another order"):
        inspection.document_table(inspection.describe(lda, frame, document_names=frame.index[::-1].tolist()))
    assert read_document_names(frame.index, "document_names", D, frame) == frame.index.tolist()


# Arguments with a value for each document, and a value that they may have.
OF_DOCUMENTS = {name: GOOD[name] for name in ("collections", "covariates", "groups", "clusters", "dates")} | {
    "document_names": GOOD["document_names"],
    "texts": GOOD["texts"],
    "y": [float(d % 5) for d in range(D)],
    "weights": [1.0 + d % 2 for d in range(D)],
    "sample_weight": [1.0 + d % 2 for d in range(D)],
    "X_hidden": X,
}


def functions_of_documents():
    """Every public function and method with such an argument, except of `y` where it is not used."""
    for each in FUNCTIONS:
        if each.values[2] in OF_DOCUMENTS:
            yield each
    for module in (sklda, inspection, metrics):
        for name in module.__all__:
            public = getattr(module, name)
            methods = [each for each in dir(public) if not each.startswith("_")] if inspect.isclass(public) else [None]
            for method in methods:
                function = public if method is None else getattr(public, method)
                if not callable(function) or (method or name) in OTHERS or isinstance(function, type):
                    continue
                for argument in sorted(set(inspect.signature(function).parameters) & set(OF_DOCUMENTS) - set(GOOD)):
                    if argument != "y" or name == "outcome_effects":
                        yield pytest.param(public, method, argument, id=f"{name}.{method}-{argument}")


@pytest.mark.parametrize(("public", "method", "argument"), list(functions_of_documents()))
@pytest.mark.filterwarnings("ignore")
def test_values_of_other_documents_are_refused(public, method, argument, tmp_path):
    names = [f"row {d}" for d in range(D)]
    documents = pd.DataFrame(X, index=names)
    column = pd.DataFrame if argument == "X_hidden" else pd.Series
    good, takes_X = OF_DOCUMENTS[argument], method != "document_prior"
    if takes_X:
        for index in (names[::-1], [*names[1:], "another"]):
            with pytest.raises(ValueError, match=f"the index of {argument} has .*row 0 is {index[0]!r} in {argument}"):
                call(public, method, argument, column(good, index=index), tmp_path / "0", documents)
        with pytest.raises(ValueError, match="X_seen has shape" if argument == "X_hidden" else argument):
            call(public, method, argument, good[:-1], tmp_path / "1", documents)
    function = public if method is None else getattr(public, method)
    parameters = inspect.signature(function).parameters
    # A document that lacks a covariate of `describe` has the prior of which nothing is known.
    of_model = argument == "covariates" and argument not in parameters
    if "missing" in parameters and argument not in ("texts", "document_names", "collections") and not of_model:
        lacking = [*good[:3], None, *good[4:]]
        message = rf"{argument[:9]}.* is missing in document 3 \(1 of 24\)\. .*missing='drop'"
        with pytest.raises(ValueError, match=message):
            call(public, method, argument, lacking, tmp_path / "2", X, missing="raise")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(public, method, argument, lacking, tmp_path / "3", X, missing="drop")
        said = [str(each.message) for each in caught]
        assert any("is missing in document 3 (1 of 24). These documents are left out." in each for each in said)


def test_values_that_belong_to_the_documents():
    frame = pd.DataFrame(X, index=[f"row {d}" for d in range(D)])
    check_documents(X, groups=pd.Series(SOURCES, index=frame.index[::-1]))
    check_documents(frame, groups=SOURCES, covariates={"a": np.arange(D), "b": pd.Series(SOURCES, index=frame.index)})
    # Labels that have nothing in common are no labels of these documents.
    check_documents(frame, groups=pd.Series(SOURCES))
    with pytest.raises(ValueError, match=r"clusters .* y in another order"):
        check_documents(X, y=pd.Series(range(D)), clusters=pd.Series(SOURCES)[::-1])
    with pytest.raises(ValueError, match=r"covariates has 23 values.* 24"):
        check_documents(X, covariates={"a": SOURCES, "b": SOURCES[1:]})


def test_documents_of_weight_zero_leave_before_values_are_missing():
    values = DocumentValues.read(y=[1, None, 3.5, True], weights=[1, 0, 1, 1], clusters=["a", "b", "c", "c"])
    assert values.used(np.arange(4), 4).tolist() == [0, 2, 3]
    np.testing.assert_array_equal(values["y"], [1, np.nan, 3.5, 1])
    for wrong in (["1", "2"], pd.to_datetime(["2020-01-01", "2020-01-02"])):
        with pytest.raises(TypeError, match=r"y\[0\] = .* is not a number"):
            DocumentValues.read(y=wrong)


def test_an_outcome_that_is_a_text_is_answered_with_what_to_write():
    answers = pd.Series(["yes", None, "no", "yes"])
    with pytest.raises(TypeError, match=r"y\[0\] = 'yes' .*\.map\(") as raised:
        DocumentValues.read(y=answers)
    advised = str(raised.value).split("give ")[1].split(", and")[0]
    assert advised == "pandas.Series(y).map({'no': 0, 'yes': 1})"
    # A missing answer stays missing.
    np.testing.assert_array_equal(DocumentValues.read(y=answers.map({"no": 0, "yes": 1}))["y"], [1, np.nan, 0, 1])
    with pytest.raises(TypeError, match=r"These texts are numbers: give pandas.to_numeric\(y\)\."):
        DocumentValues.read(y=["1.5", None, "2"])
    with pytest.raises(TypeError, match=r"must hold real numbers\.$"):
        DocumentValues.read(y=[f"answer {i}" for i in range(20)])


def test_unknown_words_are_named_together_with_those_like_them():
    columns = {"apple": 0, "pears": 1, "car": 2, "cart": 3}
    assert find_words(["car", "apple"], columns, "seed_words") == [2, 0]
    message = r"3 of its words.*: 'Apple' \(there is 'apple'\), 'car\*' \(there is 'car', 'cart'\), 'zzz'\. Leave"
    with pytest.raises(ValueError, match=message):
        find_words(["Apple", "car", "car*", "zzz", "zzz"], columns, "seed_words")
    with pytest.raises(ValueError, match=r"'pear' \(there is 'pears'\)"):
        find_words(["pear"], columns, "seed_words")


@pytest.mark.filterwarnings("ignore:(seed_words|Most tokens of the seed words)")
def test_seed_words_that_a_second_fit_would_not_see_are_refused():
    with pytest.raises(TypeError, match="a second fit would find empty"):
        GibbsLDA(K, seed_words={0: iter([0])}).fit(X)
    same = [GibbsLDA(K, max_iter=2, seed_words={0: words}, random_state=0).fit(X) for words in ([3, 1], {1, 3})]
    np.testing.assert_array_equal(same[0].components_, same[1].components_)


def test_each_argument_of_a_fit_is_read_once():
    fits = {
        "collections": CompoundLDA(K, max_iter=2, random_state=0),
        "covariates": CovariateLDA(K, max_iter=2, random_state=0),
    }
    for name, lda in fits.items():
        for model in (lda, ConsensusTopics(lda, n_fits=2, min_prevalence=0.5, n_splits=0, random_state=0)):
            first, second = (model.fit(X, **{name: given}).components_ for given in (SOURCES, iter(SOURCES)))
            np.testing.assert_array_equal(first, second)
        theta = lda.fit_transform(X, **{name: iter(SOURCES)})
        np.testing.assert_array_equal(theta, lda.transform(X, **{name: SOURCES}))


def test_the_y_of_labels():
    for wrong in (dict(enumerate(SOURCES)), set(SOURCES)):
        with pytest.raises(TypeError, match=r"y is a .*list"):
            LabeledLDA().fit(X, wrong)
    one = LabeledLDA(max_iter=2, n_draws=1, random_state=0).fit(X, iter(SOURCES))
    assert one.classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(TypeError, match="2 columns"):
        read_column(np.ones((3, 2)), "labels", "labels")
    with pytest.raises(TypeError, match="9 columns"):
        read_column(sp.csr_array(np.eye(9)), "labels", "labels")
