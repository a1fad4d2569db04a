"""All functions that take names or labels read them in one way, and so do all kinds of columns.

The functions are found by the names of their arguments, so a new one is among them.
"""

import inspect
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest

import sklda
from sklda import CompoundLDA, ConsensusTopics, CovariateLDA, GibbsLDA, LabeledLDA, datasets, inspection, metrics

pytest.importorskip("matplotlib.pyplot")
D, V, K = 24, 12, 3
X = np.random.default_rng(0).poisson(1, (D, V)) + np.eye(D, V, dtype=int)
# Not in the order of the alphabet, in which a vocabulary would be sorted.
WORDS = [f"w{(7 * v) % V:02}" for v in range(V)]
SOURCES = ["b", "a", "c"] * (D // 3)
GIBBS = GibbsLDA(K, max_iter=6, n_chains=2, random_state=0).fit(X)
COMPOUND = CompoundLDA(K, max_iter=6, random_state=0).fit(X, collections=SOURCES)
COVARIATE = CovariateLDA(K, max_iter=6, random_state=0).fit(X, covariates=SOURCES)
LABELED = LabeledLDA(max_iter=6, random_state=0).fit(X, SOURCES)
CONSENSUS = ConsensusTopics(GibbsLDA(K, max_iter=6), n_fits=2, min_prevalence=0.5, random_state=0)

# What each argument can hold: labels and names of documents, of topics and of words.
GOOD = {
    "collections": SOURCES,
    "covariates": SOURCES,
    "groups": SOURCES,
    "clusters": SOURCES,
    "document_names": [f"document {d}" for d in range(D)],
    "documents": [f"{WORDS[d % V]} {WORDS[0]}" for d in range(D)],
    "topic_names": ["x", "z", "y"],
    "names": ["x", "z", "y"],
    "labels": ["c", "a"],
    "topics": [2, 0],
    "cue": ["w01", "w00"],
    "feature_names": WORDS,
    "vocabulary": WORDS,
}
OF_WORDS = "feature_names", "vocabulary"
# Arguments of these names that hold other things: requests of scikit-learn, groups of topics, tokens, topics themselves.
OTHERS = ("set_fit_request", "set_score_request", "set_transform_request", "merge_topics", "count_tokens")


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
                for argument in set(inspect.signature(function).parameters) & set(GOOD):
                    yield pytest.param(public, method, argument, id=f"{name}.{method}-{argument}")


FUNCTIONS = sorted(functions(), key=lambda each: each.id)


def call(public, method, argument, value, folder):
    """The function with this value of the argument, and with what else it needs."""
    name = public.__name__
    if hasattr(public, "get_params"):
        function = getattr(ESTIMATORS[name](), method)
    elif method == "to_html":
        function = inspection.TopicExplorer.from_estimator(GIBBS, X).to_html
    else:
        function = public if method is None else getattr(public, method)
    of_labels = argument == "labels" or name == "DocumentLabelsDisplay"
    of_covariates = argument == "covariates" and function.__module__.startswith("sklda.metrics")
    model = LABELED if of_labels else COVARIATE if of_covariates else COMPOUND if argument == "collections" else GIBBS
    needed = {
        "model": model,
        "estimator": GibbsLDA(max_iter=2) if name == "TopicFlowDisplay" else model,
        "models": [GIBBS, COMPOUND],
        "X": X,
        "X_seen": X,
        "X_hidden": X,
        "covariates": np.arange(D),
        "groups": SOURCES,
        "document": 0,
        "topic": 0,
        "other_topic": 1,
        "cue": [0],
        "n_components": [2, 3],
        "path": folder / "saved",
    }
    parameters = inspect.signature(function).parameters
    given = {key: needed[key] for key, each in parameters.items() if key in needed and each.default is each.empty}
    # Fewer draws and sweeps, and the same ones.
    fast = {"n_temperatures": 2, "n_draws": 10, "n_sweeps": 4, "least_tokens": 1, "random_state": 0}
    given |= {key: each for key, each in (fast | {"X": X}).items() if key in parameters}
    if name == "TopicContrastDisplay" and argument != "groups":
        given |= {"other_topic": 1, "X": None if argument != "collections" else X}
    if argument == "cue":
        given["vocabulary"] = WORDS
    return function(**(given | {argument: value}))


ESTIMATORS = {
    "CompoundLDA": lambda: COMPOUND,
    "CovariateLDA": lambda: COVARIATE,
    **dict.fromkeys(
        ("GibbsLDA", "CollapsedVariationalLDA", "EmpiricalBayesLDA", "TopicCountLDA", "LabeledLDA", "ConsensusTopics"),
        lambda: GIBBS,
    ),
}


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


@pytest.mark.parametrize(("public", "method", "argument"), FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_all_kinds_of_columns_are_the_same(public, method, argument, tmp_path):
    good = [0, 2] if public is metrics.leave_one_out_score else GOOD[argument]
    forms = [tuple(good), np.array(good), pd.Series(good), pd.Series(good).array]
    if public is not metrics.leave_one_out_score:
        forms += [iter(good), pd.DataFrame({"a": good}), np.array(good)[:, None]]
    if argument in OF_WORDS:
        columns = {word: np.int64(v) for v, word in enumerate(good)}
        forms += [dict(sorted(columns.items())), {v: word for word, v in columns.items()}]
    expected = plain(call(public, method, argument, good, tmp_path / "0"))
    for i, form in enumerate(forms):
        assert plain(call(public, method, argument, form, tmp_path / f"{i + 1}")) == expected, type(form)
