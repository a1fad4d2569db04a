"""Effects of covariates by the method of composition."""

import sys
from types import ModuleType, SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from sklda import CollapsedVariationalLDA, CompoundLDA, ConsensusTopics, GibbsLDA, LabeledLDA
from sklda.inspection import TopicEffectsDisplay, topic_effects

matplotlib.use("agg")

D, V = 80, 12
X_NUMBER = np.linspace(-1, 1, D)
GROUPS = np.array(["b", "a", "c", "a"] * (D // 4))
# Two topics of separate words, whose proportions depend on the number.
rng = np.random.default_rng(0)
THETA = np.clip(0.5 + 0.45 * X_NUMBER + 0.05 * rng.standard_normal(D), 0.01, 0.99)
FIRST = rng.binomial(60, THETA)
COUNTS = np.array(
    [np.r_[rng.multinomial(n, np.full(6, 1 / 6)), rng.multinomial(60 - n, np.full(6, 1 / 6))] for n in FIRST]
)
LDA = GibbsLDA(2, max_iter=200, n_chains=3, random_state=0, doc_topic_prior=0.5, topic_word_prior=0.1).fit(COUNTS)
# The topic of the first six words.
TOPIC = int(LDA.topic_word_[:, 0].argmax())


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def column(table, name):
    return list(table[name]) if hasattr(table, "columns") else [row[name] for row in table]


def test_the_effect_of_a_number_is_found_and_all_chains_have_it():
    table = topic_effects(COUNTS, LDA, X_NUMBER, topics=[TOPIC], random_state=0)
    intercept, slope = column(table, "estimate")
    low, high = column(table, "low"), column(table, "high")
    error = column(table, "standard_error")[1]
    assert abs(intercept - 0.5) < 0.03 and abs(slope - 0.45 * 60 / 61) < 4 * error < 0.2
    assert low[1] < slope < high[1]
    assert_allclose(column(table, "attenuation"), 60 / 61)
    assert column(table, "term") == ["intercept", "x0"] and column(table, "topic") == [TOPIC, TOPIC]
    # Chains whose topics were not matched would have the opposite effects.
    one = GibbsLDA(2, max_iter=200, random_state=0, doc_topic_prior=0.5, topic_word_prior=0.1).fit(COUNTS)
    assert error < 2 * column(topic_effects(COUNTS, one, X_NUMBER, random_state=0), "standard_error")[1]


def test_categories_are_compared_with_their_base():
    table = topic_effects(COUNTS, LDA, GROUPS, random_state=0)
    assert column(table, "term")[:3] == ["intercept", "x0[b]", "x0[c]"]
    assert column(table, "base")[:3] == ["", "a", "a"]
    one_hot = np.column_stack([GROUPS == "b", GROUPS == "c"])
    assert_allclose(column(topic_effects(COUNTS, LDA, one_hot, random_state=0), "estimate"), column(table, "estimate"))
    assert column(table, "estimate") == column(topic_effects(COUNTS, LDA, GROUPS.tolist(), random_state=0), "estimate")


def test_data_frames_dicts_and_sparse_matrices_are_the_same():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"number": X_NUMBER, "group": pandas.Categorical(GROUPS, categories=["c", "b", "a"])})
    table = topic_effects(COUNTS, LDA, frame, random_state=0)
    assert table["term"][:4].tolist() == ["intercept", "number", "group[b]", "group[a]"]
    assert table["base"][:4].tolist() == ["", "", "c", "c"]
    as_dict = {"number": X_NUMBER, "group": frame["group"]}
    assert topic_effects(COUNTS, LDA, as_dict, random_state=0)["estimate"].equals(table["estimate"])
    wide = np.column_stack([X_NUMBER, GROUPS == "b", GROUPS == "a"]).astype(float)
    sparse = topic_effects(COUNTS, LDA, sp.csr_matrix(wide), random_state=0)
    assert_allclose(sparse["estimate"], table["estimate"])
    named = topic_effects(COUNTS, LDA, frame["number"], random_state=0)
    assert named["term"].tolist() == ["intercept", "number"] * 2


def test_columns_of_splines_and_a_transformer_are_the_same():
    spline = SplineTransformer(n_knots=3, include_bias=False)
    columns = spline.fit_transform(X_NUMBER[:, None])
    by_hand = topic_effects(COUNTS, LDA, columns, random_state=0)
    table = topic_effects(COUNTS, LDA, X_NUMBER, transformer=spline, random_state=0)
    assert_allclose(column(table, "estimate"), column(by_hand, "estimate"))
    assert column(table, "term")[:2] == ["intercept", "x0_sp_0"]


def stub_of_formulaic(monkeypatch):
    """formulaic, as far as it is used: the formula has names of columns."""

    class Matrix(np.ndarray):
        columns = ["Intercept", "number"]
        model_spec = SimpleNamespace(
            get_model_matrix=lambda data: make(data),
            encoder_state={"number": (SimpleNamespace(value="numerical"), {})},
            factor_variables={"number": {"number"}},
        )

    def make(data):
        return np.column_stack([np.ones(D), np.asarray(data["number"], dtype=float)]).view(Matrix)

    stub = ModuleType("formulaic")
    stub.model_matrix, stub.ModelMatrix = lambda formula, data: make(data), Matrix
    monkeypatch.setitem(sys.modules, "formulaic", stub)
    errors = ModuleType("formulaic.errors")
    errors.FormulaicError = type("FormulaicError", (Exception,), {})
    monkeypatch.setitem(sys.modules, "formulaic.errors", errors)


def test_a_formula(monkeypatch):
    # It is a dependency of formulaic.
    pandas = pytest.importorskip("pandas")
    stub_of_formulaic(monkeypatch)
    data = pandas.DataFrame({"number": X_NUMBER, "unused": GROUPS})
    from_dict = topic_effects(COUNTS, LDA, {"number": X_NUMBER}, formula="number", random_state=0)
    table = topic_effects(COUNTS, LDA, data, formula="number", random_state=0)
    plain = topic_effects(COUNTS, LDA, X_NUMBER, random_state=0)
    assert_allclose(column(table, "estimate"), column(plain, "estimate"))
    assert column(table, "term")[:2] == ["intercept", "number"]
    assert column(from_dict, "estimate") == column(table, "estimate")
    shown = TopicEffectsDisplay.from_estimator(LDA, COUNTS, data, formula="number", random_state=0)
    assert shown.ax_.get_xlabel() == "number"


DOSE = np.arange(D) % 3


@pytest.mark.parametrize("formula", ["C(dose)", "C(dose, contr.sum)", "x + C(dose):x", "C(`a dose`)"])
def test_a_number_that_a_formula_makes_a_category_has_points(formula):
    """Between the categories all columns would be zero, as at the base."""
    pytest.importorskip("formulaic")
    data = {"dose": DOSE, "x": X_NUMBER, "a dose": DOSE}
    name = "a dose" if "`" in formula else "dose"
    shown = TopicEffectsDisplay.from_estimator(LDA, COUNTS, data, covariate=name, formula=formula, random_state=0)
    assert shown.values.tolist() == [0, 1, 2]
    # Points with intervals, and no curve.
    assert len(shown.ax_.containers) == 2
    assert [text.get_text() for text in shown.ax_.get_xticklabels()] == ["0", "1", "2"]


def test_a_number_beside_a_category_of_a_formula_has_a_curve():
    pytest.importorskip("formulaic")
    data = {"dose": DOSE, "x": X_NUMBER}
    for name, formula in (("x", "x + C(dose)"), ("dose", "x + dose")):
        shown = TopicEffectsDisplay.from_estimator(LDA, COUNTS, data, covariate=name, formula=formula, n_draws=2)
        assert len(shown.values) == 41


@pytest.mark.parametrize(
    "transformer", [OneHotEncoder(drop="first"), OneHotEncoder(drop="first", handle_unknown="ignore")]
)
def test_a_number_that_a_transformer_makes_a_category_has_points(transformer):
    shown = TopicEffectsDisplay.from_estimator(LDA, COUNTS, DOSE, transformer=transformer, random_state=0)
    assert shown.values.tolist() == [0, 1, 2]
    by_hand = TopicEffectsDisplay.from_estimator(LDA, COUNTS, DOSE.astype(str), random_state=0)
    assert_allclose(shown.estimate, by_hand.estimate)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ y", "several parts"),
        ("y | y", "several parts"),
        ("0", "no term"),
        ("y +", "cannot be used"),
        ("((", "cannot be used"),
        ("unknown", "cannot be used: .*unknown"),
        ("foo(y)", "cannot be used"),
    ],
)
def test_bad_formulas(formula, message):
    pytest.importorskip("formulaic")
    with pytest.raises(ValueError, match=message):
        topic_effects(COUNTS, LDA, {"y": X_NUMBER}, formula=formula, n_draws=2)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_displays_of_all_kinds_of_frames(library):
    library = pytest.importorskip(library)
    data = {"n": X_NUMBER, "g": GROUPS, "x": np.arange(D) % 7}
    frame = library.DataFrame(data)
    rows = [list(row) for row in zip(*(each.tolist() for each in data.values()), strict=True)]
    for name, place in (("n", "x0"), ("g", "x1")):
        of_dict = TopicEffectsDisplay.from_estimator(LDA, COUNTS, data, covariate=name, random_state=0)
        options = [{"covariates": frame, "covariate": name}, {"covariates": rows, "covariate": place}]
        for each in options:
            shown = TopicEffectsDisplay.from_estimator(LDA, COUNTS, **each, random_state=0)
            assert list(shown.values) == list(of_dict.values)
            assert_allclose(shown.estimate, of_dict.estimate)
    for column in (library.Series("n", X_NUMBER) if library.__name__ == "polars" else frame["n"], frame["g"]):
        assert TopicEffectsDisplay.from_estimator(LDA, COUNTS, column, n_draws=2).name == column.name
    spline = make_column_transformer((SplineTransformer(n_knots=3, include_bias=False), ["n"]))
    TopicEffectsDisplay.from_estimator(LDA, COUNTS, frame, transformer=spline, n_draws=2)


def test_levels_that_are_tuples():
    """NumPy and pandas would take them as several values."""
    levels = np.empty(D, dtype=object)
    levels[:] = [("a", 1) if d % 2 else ("b", 2) for d in range(D)]
    for covariates in (levels, {"g": levels}):
        assert TopicEffectsDisplay.from_estimator(LDA, COUNTS, covariates, n_draws=2).values == [("a", 1), ("b", 2)]


def test_many_collinear_categories_are_named():
    """The first of the second copy."""
    labels = [f"c{d % 30:02d}" for d in range(D)]
    with pytest.raises(ValueError, match=r"the term 'b\[c01\]' is a combination"):
        topic_effects(COUNTS, LDA, {"a": labels, "b": labels}, n_draws=2)


def test_a_formula_needs_formulaic(monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(ImportError, match="pip install formulaic"):
        topic_effects(COUNTS, LDA, X_NUMBER, formula="number")


@pytest.mark.parametrize(
    "model",
    [
        CollapsedVariationalLDA(2, random_state=0),
        CompoundLDA(2, max_iter=30, random_state=0),
        LatentDirichletAllocation(2, max_iter=20, random_state=0),
        ConsensusTopics(GibbsLDA(2, max_iter=30), n_fits=3, random_state=0),
        ConsensusTopics(GibbsLDA(2, max_iter=30), n_fits=3, resample=0.5, random_state=0),
    ],
)
def test_other_models(model):
    table = topic_effects(COUNTS, model.fit(COUNTS), X_NUMBER, random_state=0, n_draws=9)
    slopes = np.array(column(table, "estimate"))[1::2]
    assert_allclose(slopes.max(), 0.45, atol=0.12)
    assert_allclose(slopes.sum(), 0, atol=0.02)


def test_a_variational_approximation_has_draws():
    lda = CompoundLDA(2, max_iter=30, method="variational", random_state=0).fit(COUNTS)
    slopes = np.array(column(topic_effects(COUNTS, lda, X_NUMBER, n_draws=5), "estimate"))[1::2]
    assert_allclose(slopes.sum(), 0, atol=1e-6)


def test_a_pipeline_arrays_labels_and_new_documents():
    texts = [" ".join(f"w{v:02}" for v in np.repeat(np.arange(V), row)) for row in COUNTS]
    pipeline = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=30, random_state=0)).fit(texts)
    assert "w0" in column(topic_effects(texts, pipeline, X_NUMBER, n_draws=3), "name")[0]
    arrays = topic_effects(COUNTS, (LDA.topic_word_, 0.5), X_NUMBER, topics=[TOPIC], random_state=0)
    new = topic_effects(COUNTS[::2], LDA, X_NUMBER[::2], topics=[TOPIC], random_state=0)
    for table in (arrays, new):
        assert_allclose(column(table, "estimate")[1], 0.45, atol=0.09)
    labeled = LabeledLDA(max_iter=20, random_state=0).fit(COUNTS, GROUPS)
    table = topic_effects(COUNTS, labeled, GROUPS, n_draws=3)
    assert_allclose(column(table, "estimate")[:3], [1, -1, -1], atol=0.05)


def test_the_prior_of_compound_lda_knows_its_collections():
    lda = CompoundLDA(2, max_iter=30, random_state=0).fit(COUNTS, collections=GROUPS)
    assert column(topic_effects(COUNTS, lda, GROUPS, n_draws=3), "attenuation")[0] == 1
    assert column(topic_effects(COUNTS, lda, GROUPS == "a", n_draws=3), "attenuation")[0] == 1
    assert column(topic_effects(COUNTS, lda, X_NUMBER, n_draws=3), "attenuation")[0] < 1


def test_effects_are_attenuated_by_the_figure_if_words_tell_topics_apart():
    rng = np.random.default_rng(0)
    theta = rng.beta(1, 1, 2000)
    first = rng.binomial(15, theta)
    X = np.column_stack([first, 15 - first])
    # The covariate is the proportion itself, so its effect is 1.
    table = topic_effects(X, (np.eye(2), 3.0), theta, topics=[0], random_state=0)
    assert_allclose(column(table, "attenuation"), 15 / 21)
    assert_allclose(column(table, "estimate")[1], 15 / 21, atol=4 * column(table, "standard_error")[1])
    assert column(table, "standard_error")[1] < 0.02


def test_displays_show_points_and_curves():
    points = TopicEffectsDisplay.from_estimator(LDA, COUNTS, GROUPS, random_state=0)
    assert points.values == ["a", "b", "c"] and points.estimate.shape == (3, 2)
    means = [LDA.doc_topic_[level == GROUPS].mean(axis=0) for level in points.values]
    order = [int(name.split(":")[0]) for name in points.topics]
    assert_allclose(points.estimate, np.array(means)[:, order], atol=0.02)
    table = topic_effects(COUNTS, LDA, np.column_stack([X_NUMBER, GROUPS == "a"]), random_state=0)
    curve = TopicEffectsDisplay.from_estimator(
        LDA, COUNTS, np.column_stack([X_NUMBER, GROUPS == "a"]), topics=[0], random_state=0
    )
    assert_allclose(np.ptp(curve.estimate[:, 0]), 2 * abs(column(table, "estimate")[1]))
    assert (curve.low < curve.estimate).all() and "shrunk to about 98%" in curve.ax_.get_ylabel()
    assert curve.plot(points.ax_).figure_ is points.figure_
    named = TopicEffectsDisplay.from_estimator(
        LDA, COUNTS, {"n": np.arange(D), "g": GROUPS}, covariate="g", random_state=0
    )
    assert named.ax_.get_xlabel() == "g"
    whole = TopicEffectsDisplay.from_estimator(
        LDA, COUNTS, np.arange(D), transformer=SplineTransformer(n_knots=3, include_bias=False)
    )
    assert whole.values[1] % 1


def test_the_same_seed_gives_the_same_table():
    a, b, c = (column(topic_effects(COUNTS, LDA, X_NUMBER, random_state=s), "estimate") for s in (0, 0, 1))
    assert a == b and a != c


MISSING = np.where(np.arange(D) == 7, np.nan, X_NUMBER)


@pytest.mark.parametrize(
    ("covariates", "options", "error", "message"),
    [
        (X_NUMBER[:5], {}, ValueError, "5 rows; X has 80 documents"),
        (None, {}, TypeError, "array or a data frame"),
        ("text", {}, TypeError, "array or a data frame"),
        (np.zeros((D, 0)), {}, ValueError, "no column"),
        (np.zeros((D, 2, 2)), {}, ValueError, "3 dimensions"),
        (MISSING, {}, ValueError, "document 7 is nan"),
        (np.where(np.arange(D) == 7, None, GROUPS), {}, ValueError, "document 7 is missing"),
        (X_NUMBER * 1j, {}, TypeError, "complex"),
        (X_NUMBER * 1e200, {}, ValueError, "'x0' has values too large or too small"),
        (X_NUMBER * 1e-300, {}, ValueError, "'x0' has values too large or too small"),
        (X_NUMBER, {"level": float("nan")}, ValueError, "level must lie between 0 and 1"),
        (X_NUMBER, {"level": -0.5}, ValueError, "level must lie between 0 and 1"),
        (np.ma.masked_array(X_NUMBER, X_NUMBER > 0), {}, ValueError, "covariate.* has masked entries"),
        (np.ma.masked_array(X_NUMBER, X_NUMBER > 0), {"transformer": SplineTransformer()}, ValueError, "masked"),
        ([[{}]] * D, {}, TypeError, "hashable"),
        (np.ones(D), {}, ValueError, "'x0' is a combination"),
        (np.eye(D), {}, ValueError, "80 documents do not determine 81"),
        ({"a": X_NUMBER, "b": X_NUMBER[:3]}, {}, ValueError, "3 rows"),
        (X_NUMBER, {"n_draws": 0}, ValueError, "n_draws"),
        (X_NUMBER, {"level": 1.0}, ValueError, "level"),
        (X_NUMBER, {"topics": [2]}, ValueError, "topics must be numbers from 0 to 1"),
        (X_NUMBER, {"transformer": "spline"}, TypeError, "transformer"),
        (X_NUMBER, {"transformer": SplineTransformer(), "formula": "x"}, ValueError, "not both"),
    ],
)
def test_bad_arguments(covariates, options, error, message):
    with pytest.raises(error, match=message):
        topic_effects(COUNTS, LDA, covariates, **options)


def test_bad_models():
    with pytest.raises(ValueError, match="give X"):
        topic_effects(None, LDA, X_NUMBER)
    with pytest.raises(TypeError, match="exchanged"):
        topic_effects(LDA, COUNTS, X_NUMBER)
    with pytest.raises(TypeError, match="doc_topic_prior_"):
        topic_effects(COUNTS, NMF(2, max_iter=500).fit(COUNTS), X_NUMBER)
    with pytest.raises(ValueError, match="covariate must be one of 'x0'"):
        TopicEffectsDisplay.from_estimator(LDA, COUNTS, X_NUMBER, covariate="year")


def test_texts_that_may_be_numbers_get_a_warning():
    with pytest.warns(UserWarning, match="give them as numbers"):
        topic_effects(COUNTS, LDA, [f"{d // 1.7}" for d in range(D)], n_draws=2)
