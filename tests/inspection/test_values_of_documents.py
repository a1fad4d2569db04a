"""Values of documents beside any index of pandas, in formulas without a constant, and of models that were merged."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from sklda import CollapsedVariationalLDA, CompoundLDA, ConsensusTopics, CovariateLDA, GibbsLDA, merge_topics
from sklda._description import models
from sklda._input import document_values
from sklda.datasets import make_lda_corpus
from sklda.inspection import (
    TopicEffectsDisplay,
    describe,
    document_table,
    outcome_effects,
    top_documents,
    topic_effects,
    topics_by_group,
    topics_over_time,
)

X = pd.DataFrame(np.asarray(make_lda_corpus(40, 20, 3, random_state=0).data.toarray())).add_prefix("w")
NUMBERS = np.random.default_rng(1).normal(size=40)
COLUMN = pd.DataFrame({"x": NUMBERS})


@pytest.fixture(scope="module")
def lda():
    return GibbsLDA(3, max_iter=20, random_state=0).fit(X)


def test_indexes_that_have_nothing_in_common_or_equal_labels_of_other_types(lda):
    expected = topic_effects(lda, X, COLUMN, random_state=0)
    pairs = pd.MultiIndex.from_product([list("ab"), range(20)])
    assert topic_effects(lda, X, COLUMN.set_index(pairs), random_state=0).equals(expected)
    nullable = X.set_index(pd.Index(range(40), dtype="Int64"))
    assert topic_effects(lda, nullable, COLUMN, random_state=0).equals(expected)
    missing = X.set_index(pd.Index([pd.NA, *range(1, 40)], dtype="Int64"))
    with pytest.raises(ValueError, match="row 0 is 0 in covariates and None in X"):
        topic_effects(lda, missing, COLUMN)


@pytest.mark.filterwarnings("ignore:'x' goes together with the topics")
def test_outcomes_with_a_formula_without_a_constant_do_not_depend_on_their_origin(lda):
    y = 2 * lda.doc_topic_[:, 0] + 0.3 * NUMBERS
    moved = [outcome_effects(lda, X, y + c, COLUMN, formula="0+x", random_state=0)["estimate"] for c in (0, 100)]
    np.testing.assert_allclose(moved[0][:3], moved[1][:3], atol=1e-6)


@pytest.mark.filterwarnings("ignore:X is not the X of the fit")
def test_merged_topics_of_covariates_need_them_for_new_documents():
    merged = merge_topics(CovariateLDA(3, max_iter=20, random_state=0).fit(X, covariates=COLUMN), [[0, 1]])
    with pytest.raises(TypeError, match="depends on its covariates"):
        topic_effects(merged, X[::-1].reset_index(drop=True), NUMBERS)
    prior = merged.document_prior(COLUMN)
    assert prior.shape == (40, 2)
    np.testing.assert_allclose(prior.sum(axis=1), merged.model.document_prior(COLUMN).sum(axis=1))
    for model in (merged.model, merged):
        assert (topic_effects(model, X[:30], COLUMN[:30], n_draws=5, random_state=0)["attenuation"] == 1).all()


def test_a_consensus_has_the_covariates_and_collections_of_its_fits():
    groups = np.arange(40) % 2
    for fit, of_fit, of_new in (
        (CovariateLDA(3, max_iter=20), {"covariates": COLUMN}, {"covariates": COLUMN[:30]}),
        (CompoundLDA(3, max_iter=20), {"collections": groups}, {"collections": groups[:30]}),
    ):
        model = ConsensusTopics(fit, n_fits=2, min_prevalence=0.5, random_state=0).fit(X, **of_fit)
        with pytest.warns(UserWarning, match=f"With describe.model, X, {next(iter(of_fit))}=...."):
            document_table(model, X[:30])
        described = describe(model, X[:30], **of_new)
        own = document_table(described)[["topic_0", "topic_1"]].to_numpy()
        np.testing.assert_allclose(own, model.transform(X[:30], **of_new)[:, :2], rtol=1e-6)
        # They are the groups that the prior knows.
        values = COLUMN[:30] if "covariates" in of_new else pd.DataFrame({"g": groups[:30].astype(str)})
        assert (topic_effects(described, covariates=values, n_draws=4, random_state=0)["attenuation"] == 1).all()
    with pytest.raises(TypeError, match="ConsensusTopics has no covariates"):
        document_table(describe(model, X[:30], covariates=COLUMN[:30]))


def test_topics_that_are_merged_twice_are_sums_of_one_model():
    model = GibbsLDA(4, max_iter=60, n_chains=2, random_state=0).fit(X)
    twice, once = merge_topics(merge_topics(model, [[0, 1]]), [[0, 1]]), merge_topics(model, [[0, 1, 2]])
    np.testing.assert_allclose(twice.doc_topic_std_, once.doc_topic_std_)
    np.testing.assert_allclose(twice.topic_share_std_, once.topic_share_std_)
    assert twice.topics == once.topics == [[0, 1, 2]]


def test_described_collections_are_kept_beside_groups():
    sources = ["a"] * 20 + ["b"] * 20
    model = CompoundLDA(3, max_iter=40, random_state=0).fit(X, collections=sources)
    new = describe(model, (X > 0).astype(int), collections=sources)
    same, others = (
        TopicEffectsDisplay.from_groups(new, groups=groups, random_state=0).estimate
        for groups in (sources, ["x"] * 20 + ["y"] * 20)
    )
    np.testing.assert_allclose(same, others)


def test_missing_covariates_are_left_out_before_a_transformer(lda):
    holes = np.r_[np.nan, NUMBERS[1:]][:, None]
    with pytest.warns(UserWarning, match="is missing in document 0"):
        assert len(topic_effects(lda, X, holes, transformer=SplineTransformer(include_bias=False), missing="drop"))


def test_words_of_eta_are_checked_in_partial_fit():
    eta = pd.Series(np.linspace(0.01, 0.2, 20), index=X.columns[::-1])
    with pytest.raises(ValueError, match="in another order"):
        CollapsedVariationalLDA(3, topic_word_prior=eta).partial_fit(X)


def test_groups_that_are_huge_numbers(lda):
    for size in (30, 400):
        groups = [10**size * (1 + i % 4) for i in range(40)]
        assert TopicEffectsDisplay.from_groups(lda, X, groups).estimate.shape == (4, 3)


@pytest.mark.parametrize("lacks", [np.nan, None, pd.NA])
def test_missing_texts_are_named_or_left_out(lacks):
    texts = ["apple banana", "banana cherry", "engine wheel", "wheel road"] * 3
    groups = ["a", "b"] * 6
    model = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=10, random_state=0)).fit(texts)
    right = topics_by_group(model, texts, groups, random_state=0)
    texts[3] = ""
    with pytest.warns(UserWarning, match="1 of 12 documents have no words"):
        without = topics_by_group(model, texts, groups, random_state=0)
    texts[3] = lacks
    masked = np.ma.array(np.array(texts, dtype=object), mask=np.arange(12) == 3)
    for X in (texts, pd.Series(texts), np.array(texts, dtype=object), masked):
        with pytest.raises(ValueError, match="text is missing in documents 3:"):
            topics_by_group(model, X, groups, random_state=0)
        with pytest.warns(UserWarning, match="1 of 12 documents have no words"):
            pd.testing.assert_frame_equal(topics_by_group(model, X, groups, missing="drop", random_state=0), without)
    scalars = pytest.importorskip("pyarrow").array(["apple banana", "banana cherry", "engine wheel", "wheel road"] * 3)
    pd.testing.assert_frame_equal(topics_by_group(model, scalars, groups, random_state=0), right)


def test_counts_in_place_of_texts_are_said():
    texts = ["apple banana", "banana cherry", "engine wheel", "wheel road"] * 3
    model = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=10, random_state=0)).fit(texts)
    for counts in (model[:-1].transform(texts), model[:-1].transform(texts).toarray()):
        with pytest.raises(TypeError, match="CountVectorizer takes texts"):
            topics_by_group(model, counts, ["a", "b"] * 6)


def test_masked_values_are_missing():
    X = np.random.default_rng(0).poisson(2, (20, 5)) + 1
    lda = GibbsLDA(2, max_iter=10, random_state=0).fit(X)
    values = np.arange(20.0) % 7
    masked = np.ma.array(values, mask=np.arange(20) == 19)
    known = np.where(masked.mask, np.nan, values)
    calls = [
        lambda values: topics_by_group(lda, X, values, missing="drop", random_state=0),
        lambda values: outcome_effects(lda, X, values, missing="drop", random_state=0),
        lambda values: topic_effects(lda, X, {"x": values}, missing="drop", random_state=0),
        lambda values: topic_effects(lda, X, values, missing="drop", random_state=0),
    ]
    for call in calls:
        with pytest.warns(UserWarning, match=r"missing in document 19 \(1 of 20\)"):
            found = call(masked)
        with pytest.warns(UserWarning, match=r"missing in document 19 \(1 of 20\)"):
            pd.testing.assert_frame_equal(found, call(known))
    fields = np.ma.array(np.array([(each,) for each in values], [("x", float)]), mask=masked.mask)
    with pytest.warns(UserWarning, match=r"'x' is missing in document 19 \(1 of 20\)"):
        pd.testing.assert_frame_equal(calls[2](masked), calls[3](fields))


class Lazy:
    """A series of Dask, whose length and index are not computed."""

    __dask_graph__ = None

    def __init__(self, values):
        self.values, self.shape, self.index = values, (object(),), self

    def equals(self, other):
        raise AssertionError("the index has not been computed")

    def compute(self):
        return self.values


def test_values_of_dask_are_computed_before_they_are_compared(lda):
    groups = pd.Series(list("ab") * 20)
    calls = [
        (lambda values: outcome_effects(lda, X, values, random_state=0), pd.Series(NUMBERS)),
        (lambda values: topics_by_group(lda, X, values, clusters=values, random_state=0), groups),
        (lambda values: topic_effects(lda, X, {"g": values}, random_state=0), groups),
        (
            lambda values: topics_by_group(describe(lda, X, document_names=values), None, groups, random_state=0),
            pd.Series(range(40)),
        ),
    ]
    for call, values in calls:
        pd.testing.assert_frame_equal(call(Lazy(values)), call(values))
    with pytest.raises(ValueError, match="row 0 is 39 in y and 0 in X"):
        outcome_effects(lda, X, Lazy(pd.Series(NUMBERS)[::-1]))


class Table:
    """A table of pyarrow, of which pandas makes no data frame by itself."""

    column_names = ("x",)

    def to_pandas(self):
        return pd.DataFrame({"x": [np.nan, *NUMBERS[1:]]})


@pytest.mark.parametrize("covariates", [Table(), Table().to_pandas(), {"x": [None, *NUMBERS[1:]]}])
def test_the_advice_on_missing_covariates_of_a_fit_can_be_followed(covariates):
    with pytest.raises(ValueError, match="'x' is missing in document 0") as raised:
        CovariateLDA(2, max_iter=2).fit(X, covariates=covariates)
    advised = str(raised.value).partition("X[")[2].removesuffix("].")
    assert eval(advised, {"pandas": pd, "covariates": covariates}).tolist() == [False] + [True] * 39


def test_x_in_place_of_values_is_said():
    X = np.random.default_rng(0).poisson(2, (20, 5)) + 1
    lda = GibbsLDA(2, max_iter=10, random_state=0).fit(X)
    for call, name in ((outcome_effects, "y"), (topics_over_time, "dates"), (topics_by_group, "groups")):
        with pytest.raises(TypeError, match=f"{name} is X itself"):
            call(lda, X, X)


@pytest.mark.filterwarnings("ignore:.*without names of columns:UserWarning")
def test_documents_and_their_values_are_read_once(monkeypatch, lda):
    calls = {"hash_of_documents": 0, "read_covariates": 0}

    def counted(module, name):
        own = getattr(module, name)

        def function(*args):
            calls[name] += 1
            return own(*args)

        monkeypatch.setattr(module, name, function)

    counted(models, "hash_of_documents")
    counted(document_values, "read_covariates")
    CovariateLDA(2, max_iter=5, random_state=0).fit_transform(X, covariates=COLUMN)
    assert calls["read_covariates"] == 1
    # Those of the function and those of the description are compared once.
    top_documents(describe(lda, X), X.copy())
    assert calls["hash_of_documents"] == 2
