"""Documents without words, and those that a fit left out, change no result for the others."""

import inspect
import warnings
from dataclasses import fields, is_dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
from inspection_pages import documents_of
from sklearn.decomposition import LatentDirichletAllocation

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    GibbsLDA,
    LabeledLDA,
    inspection,
    metrics,
)
from sklda.datasets import make_lda_corpus
from sklda.inspection import (
    TopicEffectsDisplay,
    TopicExplorer,
    document_table,
    group_words,
    top_documents,
    topic_correlation,
    topic_effects,
)

plt = pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("without_pictures", "few_further_draws")
N, ADDED = 60, 100
X = make_lda_corpus(N, 40, 3, doc_length=30, random_state=0).data.toarray()
EMPTY = np.zeros((ADDED, 40), int)
D, ALL = np.arange(N), np.arange(N + ADDED)
LABELS = np.zeros((N + ADDED, 3), int)
LABELS[D, D % 3] = LABELS[D, D // 3 % 3] = 1
FEW = {"max_iter": 20, "random_state": 0}


def fits_of(counts):
    """Models that are fitted to counts, with the same chains whatever documents take no part."""
    n = len(counts)
    return {
        "Gibbs": GibbsLDA(3, n_chains=2, **FEW).fit(counts),
        "labels": LabeledLDA(**FEW).fit(counts, LABELS[:n]),
        "collections": CompoundLDA(3, **FEW).fit(counts, collections=ALL[:n] % 2),
        "covariates": CovariateLDA(3, **FEW).fit(counts, covariates=ALL[:n] % 2),
        "consensus": ConsensusTopics(GibbsLDA(3, max_iter=10), n_fits=3, random_state=0).fit(counts),
    }


@cache
def cases():
    """Pairs of a model and its documents, without and with those that take no part."""
    empty, words = (np.vstack([X, each]) for each in (EMPTY, np.tile(X, (2, 1))[:ADDED] + 1))
    short, long = fits_of(X), fits_of(empty)
    found = {f"{name}, no words": ((short[name], X), (long[name], empty)) for name in short}
    labels = LabeledLDA(**FEW).fit(words, LABELS)
    found["labels, no labels"] = (short["labels"], X), (labels, words)
    for model in (CollapsedVariationalLDA(3, random_state=0), LatentDirichletAllocation(3, random_state=0)):
        model.fit(X[::2])
        found[f"{type(model).__name__}, other documents"] = (model, X), (model, empty)
    return found


CASES = [f"{name}, no words" for name in ("Gibbs", "labels", "collections", "covariates", "consensus")]
CASES += ["labels, no labels", "CollapsedVariationalLDA, other documents", "LatentDirichletAllocation, other documents"]
# Each of them is much like another one: chains of Gibbs sampling, alpha by rows, a model of other documents.
LIKE_OTHERS = "labels, no words", "collections, no words", "CollapsedVariationalLDA, other documents"


def functions():
    """The public functions of a fitted model and documents, by name: what they need, by their signatures."""
    found = {}
    for module in (inspection, metrics):
        for name in module.__all__:
            each = getattr(module, name)
            for method in ("from_estimator", "from_models", None):
                call = each if method is None else getattr(each, method, None)
                if not inspect.isroutine(call):
                    continue
                parameters = inspect.signature(call).parameters
                fits_anew = (
                    "n_components" in parameters and parameters["n_components"].default is inspect.Parameter.empty
                )
                if (
                    "X" in parameters
                    and {"models", "estimator"} & set(parameters)
                    and name != "describe"
                    and not fits_anew
                ):
                    found[name if method is None else f"{name}.{method}"] = call
    return found


FUNCTIONS = functions()


def arguments(call, model, counts, with_documents):
    """Values of the arguments of a function that it needs, or that concern documents."""
    n = len(counts)
    values = {
        "X": counts if with_documents else None,
        "estimator": model,
        "models": [model, model],
        # Effects do not need that of documents that take no part.
        "covariates": np.where((ALL[:n] < N) | (call is metrics.held_out_log_likelihood), ALL[:n] % 7, np.nan),
        "clusters": [f"source {d % 10}" if d < N else None for d in range(n)],
        "groups": ALL[:n] % 4,
        "group": 0,
        "document": 5,
        "texts": [" ".join(f"{v} " * c for v, c in enumerate(row)) for row in counts],
        "topic": 0,
        "of": "documents",
        "n_draws": 20,
        "n_sweeps": 6,
        "least_tokens": 1,
        "random_state": 0,
    }
    parameters = inspect.signature(call).parameters
    return {name: values[name] for name in parameters if name in values}


def outcome(call, *given):
    """The result of a function, or what it refuses, with the messages about documents that take no part."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call(**arguments(call, *given))
        except (TypeError, ValueError) as error:
            found = type(error)
    plt.close("all")
    return found, [str(each.message) for each in caught if "no part" in str(each.message)]


def check_same(found, expected, atol=1e-7):
    """Require that a result is the expected one, apart from more documents after those that are in both."""
    if isinstance(expected, pd.DataFrame):
        assert list(found) == list(expected) and (len(found) == len(expected) or "document" in found)
        for name in expected:
            check_same(found[name].tolist()[: len(expected)], expected[name].tolist(), atol)
    elif isinstance(expected, TopicExplorer):
        assert any("no part" in note for note in found.data["notes"])
        # The words of documents are packed.
        check_same(documents_of(found.data), documents_of(expected.data), atol)
        documents = found.data["documents"] | {"blocks": expected.data["documents"]["blocks"]}
        others = {"notes": expected.data["notes"], "n_documents": N, "documents": documents}
        check_same({**found.data, **others}, expected.data, atol)
    elif is_dataclass(expected):
        for each in fields(expected):
            check_same(getattr(found, each.name), getattr(expected, each.name), atol)
    elif isinstance(expected, dict):
        assert set(found) >= set(expected)
        for name in expected:
            check_same(found[name], expected[name], atol)
    elif isinstance(expected, np.ndarray) and expected.dtype.kind in "fiu":
        assert found.ndim == expected.ndim and found.size >= expected.size
        both = tuple(slice(n) for n in expected.shape)
        np.testing.assert_allclose(found[both], expected, rtol=1e-5, atol=atol)
        np.testing.assert_array_equal(np.nan_to_num(found[N:]) if len(found) == N + ADDED and found.ndim == 1 else 0, 0)
    elif isinstance(expected, (list, tuple)):
        # Lists of documents are longer.
        assert len(found) == len(expected) or (len(expected), len(found)) == (N, N + ADDED)
        for a, b in zip(found, expected, strict=False):
            check_same(a, b, atol)
    elif isinstance(expected, (float, np.floating)):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=atol)
    elif not callable(expected) or isinstance(expected, type):
        assert np.all(found == expected)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "case", [pytest.param(each, marks=pytest.mark.exhaustive if each in LIKE_OTHERS else ()) for each in CASES]
)
def test_documents_that_take_no_part_change_nothing(case, name):
    call, (short, long) = FUNCTIONS[name], cases()[case]
    # The random numbers of `sample_posterior` of fits depend on all documents.
    atol = 0.05 if "consensus" in case and "orrelation" in name else 1e-7
    labels = " or no labels" if "labels" in case else ""
    for with_documents in (True, False):
        expected, none = outcome(call, *short, with_documents)
        found, said = outcome(call, *long, with_documents)
        # Held-out likelihoods are those of all documents that are given; the model does not say which it left out.
        if "no labels" not in case or call.__module__.startswith("sklda.inspection"):
            check_same(found, expected, atol)
        assert not none
        assert said in ([], [f"100 of 160 documents have no words{labels}, and take no part."])


def test_functions_are_found():
    assert set(CASES) == set(cases())
    names = {"topic_effects", "topic_coherence", "TopicExplorer.from_estimator", "document_table"}
    assert names <= set(FUNCTIONS) and len(FUNCTIONS) > 20
    assert not any("Comparison" in name for name in FUNCTIONS)


def test_what_is_left_out_is_said():
    model, counts = cases()["Gibbs, no words"][1]
    with pytest.warns(UserWarning, match="100 of 160 documents have no words"):
        topic_effects(model, counts, ALL, n_draws=2, random_state=0)
    for call in (lambda: topic_correlation(model, X=EMPTY), lambda: topic_effects(model, EMPTY, ALL[:ADDED])):
        with pytest.raises(ValueError, match="words"):
            call()


@pytest.mark.parametrize("case", ["Gibbs, no words", "labels, no labels"])
def test_their_rows_have_no_main_topic(case):
    model, counts = cases()[case][1]
    table = document_table(model, X=counts)
    assert table["main_topic"].isna().tolist() == [False] * N + [True] * ADDED
    assert table.loc[N:, "topic_0"].isna().all() and table.loc[: N - 1, "topic_0"].notna().all()
    assert all(rows and max(rows) < N for rows in top_documents(model, n_documents=100, X=counts)["rows"])


def test_a_group_of_such_documents_is_unknown():
    model, counts = cases()["labels, no labels"][1]
    groups = np.where(ALL < N, ALL % 2, 2)
    with pytest.warns(UserWarning, match="no part"):
        shares = TopicEffectsDisplay.from_groups(model, counts, groups)
    assert (
        np.isnan(shares.estimate).any(axis=1).tolist()
        == [False, False, True]
        == np.isnan(shares.low).any(axis=1).tolist()
    )
    with pytest.warns(UserWarning, match="no part"):
        table = group_words(model, counts, groups, n_sweeps=6, least_tokens=1, random_state=0)
    assert set(table["group"]) == {0, 1}
    with pytest.raises(ValueError, match="groups has one label"):
        group_words(model, counts, ALL < N, n_sweeps=6)


def test_attributes_and_draws_of_documents_without_labels_are_those_of_the_prior():
    model = cases()["labels, no labels"][1][0]
    left_out = ALL >= N
    alpha = model.doc_topic_prior_
    mean, total = alpha / alpha.sum(), alpha.sum()
    np.testing.assert_allclose(model.doc_topic_[left_out], np.tile(mean, (ADDED, 1)))
    std = np.sqrt(mean * (1 - mean) / (total + 1))
    np.testing.assert_allclose(model.doc_topic_std_[left_out], np.tile(std, (ADDED, 1)))
    draws = model.sample_posterior(200, random_state=0).doc_topic[:, left_out].reshape(-1, 3)
    # 20,000 draws: 5 standard errors of a mean, false-alarm rate below 1e-5.
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * std / np.sqrt(len(draws))).all()
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.03)


def test_a_description_warns_once():
    counts = np.vstack([X, EMPTY])
    lda = GibbsLDA(3, **FEW).fit(counts)
    lda = lda.set_topic_names(["a", "b", "c"])
    named, groups = inspection.describe(lda, counts), ALL % 2
    calls = [
        lambda model, X: inspection.topics_by_group(model, X, groups, random_state=0),
        lambda model, X: topic_effects(model, X, groups, random_state=0),
        lambda model, X: inspection.outcome_effects(model, X, groups, random_state=0),
        lambda model, X: topic_correlation(model, X, n_draws=20, random_state=0),
        lambda model, X: inspection.topics_over_time(model, X, groups + 2000, random_state=0),
    ]
    message = "100 of 160 documents have no words, and take no part."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in calls:
            call(named, None)
            call(named, counts.copy())
    assert [str(each.message) for each in caught] == [message]
    for call in calls:
        with pytest.warns(UserWarning, match=message):
            call(lda, counts)
    # Other documents, and another description, are other cases.
    with pytest.warns(UserWarning, match=r"100 of 161 documents"):
        calls[3](named, np.vstack([counts, X[:1]]))
    with pytest.warns(UserWarning, match=message):
        calls[3](inspection.describe(named, topic_names=["x", "y", "z"]), None)


def test_effects_of_a_covariate_model_without_covariates():
    with pytest.warns(UserWarning, match="CovariateLDA has no covariates"):
        lda = CovariateLDA(3, **FEW).fit(X)
    table = topic_effects(lda, X, D % 2, random_state=0)
    assert (table["attenuation"] < 1).all()
