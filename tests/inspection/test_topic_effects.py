"""Effects of covariates by the method of composition."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from matplotlib.collections import LineCollection
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    GibbsLDA,
    LabeledLDA,
    merge_topics,
)
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


def effects(covariates, **options):
    return topic_effects(LDA, COUNTS, covariates, **{"random_state": 0} | options)


def display(covariates, **options):
    return TopicEffectsDisplay.from_estimator(LDA, COUNTS, covariates, **{"random_state": 0} | options)


def column(table, name):
    return table[name].tolist()


def test_the_effect_of_a_number_is_attenuated_and_all_chains_have_it():
    table = effects(X_NUMBER, topics=[TOPIC])
    intercept, slope = column(table, "estimate")
    low, high = column(table, "low"), column(table, "high")
    error = column(table, "standard_error")[1]
    assert abs(intercept - 0.5) < 0.03 and abs(slope - 0.45 * 60 / 61) < 4 * error < 0.2
    assert low[1] < slope < high[1]
    assert_allclose(column(table, "attenuation"), 60 / 61, atol=0.02)
    assert column(table, "term") == ["intercept", "x0"] and column(table, "topic") == [TOPIC, TOPIC]
    # Chains whose topics were not matched would have the opposite effects.
    one = GibbsLDA(2, max_iter=500, random_state=0, doc_topic_prior=0.5, topic_word_prior=0.1).fit(COUNTS)
    assert error < 2 * column(topic_effects(one, COUNTS, X_NUMBER, random_state=0), "standard_error")[1]


def test_a_category_with_one_level_is_left_out_with_a_warning():
    frame = pandas.DataFrame({"x": X_NUMBER, "country": "Chile"})
    with pytest.warns(UserWarning, match="covariate 'country' is 'Chile'"):
        table = effects(frame)
    assert table["term"].unique().tolist() == ["intercept", "x"]
    alone = effects(frame[["x"]])
    assert table["estimate"].tolist() == alone["estimate"].tolist()


def test_categories_are_compared_with_their_base():
    table = effects(GROUPS)
    assert column(table, "term")[:3] == ["intercept", "x0[b]", "x0[c]"]
    assert column(table, "base")[:3] == ["", "a", "a"]
    one_hot = np.column_stack([GROUPS == "b", GROUPS == "c"])
    assert_allclose(column(effects(one_hot), "estimate"), column(table, "estimate"))
    assert column(table, "estimate") == column(effects(GROUPS.tolist()), "estimate")


def test_data_frames_dicts_and_sparse_matrices_are_the_same():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"number": X_NUMBER, "group": pandas.Categorical(GROUPS, categories=["c", "b", "a"])})
    table = effects(frame)
    assert table["term"][:4].tolist() == ["intercept", "number", "group[b]", "group[a]"]
    assert table["base"][:4].tolist() == ["", "", "c", "c"]
    as_dict = {"number": X_NUMBER, "group": frame["group"]}
    assert effects(as_dict)["estimate"].equals(table["estimate"])
    wide = np.column_stack([X_NUMBER, GROUPS == "b", GROUPS == "a"]).astype(float)
    sparse = effects(sp.csr_matrix(wide))
    assert_allclose(sparse["estimate"], table["estimate"])
    named = effects(frame["number"])
    assert named["term"].tolist() == ["intercept", "number"] * 2


def test_columns_of_splines_and_a_transformer_are_the_same():
    spline = SplineTransformer(n_knots=3, include_bias=False)
    columns = spline.fit_transform(X_NUMBER[:, None])
    by_hand = effects(columns)
    table = effects(X_NUMBER, transformer=spline)
    assert_allclose(column(table, "estimate"), column(by_hand, "estimate"))
    assert column(table, "term")[:2] == ["intercept", "x0_sp_0"]


def test_a_formula():
    pandas = pytest.importorskip("pandas")
    data = pandas.DataFrame({"number": X_NUMBER, "group": GROUPS})
    from_dict = effects(dict(data), formula="number")
    table = effects(data, formula="number")
    plain = effects(X_NUMBER)
    assert_allclose(column(table, "estimate"), column(plain, "estimate"))
    assert column(table, "term")[:2] == ["intercept", "number"]
    assert column(from_dict, "estimate") == column(table, "estimate")
    shown = display(data, formula="number")
    assert shown.axes_[0].get_xlabel() == "number"


@pytest.mark.parametrize(("dtype", "step"), [("int8", 1), ("uint8", 3), ("int16", 400), ("int64", 4 * 10**10)])
def test_formulas_do_not_overflow_types_of_whole_numbers(dtype, step):
    number = np.arange(D) * step
    tables = [
        effects({"x": x}, formula="I(9 - x) + I(x**2)", n_draws=3) for x in (number.astype(dtype), number.astype(float))
    ]
    assert column(tables[0], "term") == ["intercept", "I(9 - x)", "I(x ** 2)"] * 2
    assert_allclose(*(column(each, "estimate") for each in tables))
    # A category shows them as they are.
    years = {"year": (np.arange(D) % 2 + 100).astype(dtype)}
    assert column(effects(years, formula="C(year)", n_draws=3), "term")[1] == "C(year)[101]"


def test_terms_and_bases_of_a_formula_are_those_of_columns():
    data = {"group": GROUPS, "number": X_NUMBER}
    plain = effects(data)
    table = effects(data, formula="group + number")
    for name in ("term", "base"):
        assert column(table, name) == column(plain, name)
    assert_allclose(column(table, "estimate"), column(plain, "estimate"))
    product = effects(data, formula="C(group, contr.treatment(base='c')) * number", n_draws=2)
    assert column(product, "base")[:6] == ["", "c", "c", "", "c", "c"]
    assert column(product, "term")[4] == "C(group, contr.treatment(base='c'))[a]:number"
    # The level that these leave out has an effect as well: minus the sum of the others.
    sums = effects(data, formula="C(group, contr.sum)", n_draws=2)
    assert set(column(sums, "base")) == {""}


DOSE = np.arange(D) % 3


@pytest.mark.parametrize("formula", ["C(dose)", "C(dose, contr.sum)", "x + C(dose):x", "C(`a dose`)"])
def test_a_number_that_a_formula_makes_a_category_has_points(formula):
    """Between the categories all columns would be zero, as at the base."""
    data = {"dose": DOSE, "x": X_NUMBER, "a dose": DOSE}
    name = "a dose" if "`" in formula else "dose"
    shown = display(data, covariate=name, formula=formula)
    assert shown.values.tolist() == [0, 1, 2]
    # Points with intervals, and no curve.
    assert all(len(intervals(ax)) == 3 for ax in shown.axes_)


@pytest.mark.usefixtures("without_pictures")
def test_a_number_beside_a_category_of_a_formula_has_a_curve():
    data = {"dose": DOSE, "x": X_NUMBER}
    for name, formula in (("x", "x + C(dose)"), ("dose", "x + dose")):
        shown = display(data, covariate=name, formula=formula, n_draws=2)
        assert len(shown.values) == 41


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(
    "transformer", [OneHotEncoder(drop="first"), OneHotEncoder(drop="first", handle_unknown="ignore")]
)
def test_a_number_that_a_transformer_makes_a_category_has_points(transformer):
    shown = display(DOSE, transformer=transformer)
    assert shown.values.tolist() == [0, 1, 2]
    by_hand = display(DOSE.astype(str))
    assert_allclose(shown.estimate, by_hand.estimate)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ y", "several parts"),
        ("y | y", "several parts"),
        ("0", "no term"),
        ("y +", "cannot be used"),
        (".", "has a dot for all covariates: write their names"),
        ("((", "cannot be used"),
        ("unknown", "cannot be used: .*unknown"),
        ("foo(y)", "cannot be used"),
        ("s(y)", r"name 's' is not defined.*a spline bs\(x, df=4\)"),
        ("1:5 ~ y", "several parts"),
        ("y + I(y^2)", r"has 'I\(y \^ 2\)', in which \^ is not a power .*: write \*\*"),
        ("y + {y^2}", r"write \*\*"),
        ("np.exp(`a b`^2)", r"write \*\*"),
        ("as.factor(y)", r"A category is C\(g\)"),
        ("y + (1 | g)", "several parts|clusters="),
        ("a b", "between backticks"),
        ("gap", "covariate 'gap' is missing in document 3"),
        ("bs(gap, df=4)", "covariate 'gap' is missing in document 3"),
        ("log(y - 1)", "gives nan for document"),
        ("lag(y)", "gives nan for document 0"),
        ("y + intercept", "a covariate .* has the name 'intercept'"),
        ("y + Intercept", "two columns with one name"),
        ("y**2", r"multiplies y by itself.*I\(y\*\*2\)"),
        ("g + y + y**2", r"I\(y\*\*2\)"),
        ("y * y", r"I\(y\*\*2\)"),
        ("g + y:y", r"I\(y\*\*2\)"),
        ("C(`class`)", "cannot be used.*a word of Python, such as class"),
        ("C(class)", "a word of Python, such as class"),
        ("I(y - y.mean())", r"computed from all documents together.*center\(x\)"),
        ("I(y > y.median())", "computed from all documents together"),
        ("g + I(y.rank())", r"'I\(y.rank\(\)\)', which is computed"),
        ("I(y / y.max())", "computed from all documents together"),
        ("cr(y, df=4)", "constraints='center'"),
    ],
)
def test_bad_formulas(formula, message):
    others = dict.fromkeys(("a b", "intercept", "Intercept", "class"), np.arange(D))
    frame = {"y": X_NUMBER, "g": GROUPS, "gap": np.where(np.arange(D) == 3, np.nan, X_NUMBER), **others}
    with pytest.raises(ValueError, match=message) as found, np.errstate(all="ignore"):
        effects(frame, formula=formula, n_draws=2)
    assert type(found.value) is ValueError and "\x1b" not in str(found.value)


@pytest.mark.parametrize("formula", ["day", "y + day", "C(day)", "bs(day, df=4)", "month", "kind", "span"])
def test_dates_in_a_formula_are_refused(formula):
    days = pandas.date_range("2020-01-01", periods=D)
    months = pandas.period_range("2000-01", periods=D, freq="M")
    frame = pandas.DataFrame(
        {"y": X_NUMBER, "day": days, "month": months, "kind": pandas.Categorical(days[np.arange(D) % 5])}
    )
    frame["span"] = pandas.to_timedelta(np.arange(D), unit="D")
    with pytest.raises(TypeError, match=r"has values of type .*: give a real number"):
        effects(frame, formula=formula, n_draws=2)
    assert "day.dt.month" in list(effects(frame, formula="{day.dt.month}", n_draws=2)["term"])


@pytest.mark.parametrize(
    "formula", ["(y + g)**2", "y * g", "y + I(y**2)", "center(y)", "g + scale(y)", "poly(y, 2) * g"]
)
def test_products_and_functions_that_a_formula_keeps(formula):
    """Rows alone have the columns that they have among others."""
    frame = pandas.DataFrame({"y": X_NUMBER, "g": GROUPS})
    lda = CovariateLDA(2, formula=formula, max_iter=5, random_state=0).fit(COUNTS, covariates=frame)
    assert_allclose(lda.document_prior(frame)[7:9], lda.document_prior(frame[7:9]), rtol=1e-12)


def test_names_of_covariates_do_not_matter():
    """Numbers as names of columns, which formulas take for constants."""
    values = rng.standard_normal((D, 3))
    right = column(effects(pandas.DataFrame(values, columns=list("pqr"))), "estimate")
    for frame in (pandas.DataFrame(values), pandas.DataFrame(values, columns=list("012"))):
        table = effects(frame)
        assert column(table, "estimate") == right and column(table, "term")[:4] == ["intercept", "0", "1", "2"]
    lda = CovariateLDA(2, max_iter=5, random_state=0).fit(COUNTS, covariates=pandas.DataFrame(values))
    assert lda.covariate_names_.tolist() == ["0", "1", "2"]


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("difference", [(1, 1.5), (2, 0)])
def test_a_spline_beyond_the_documents_says_what_to_write(difference):
    frame = {"year": X_NUMBER}
    with pytest.raises(ValueError, match=r"'year' .* is \S+, and .* -1 to 1.*extrapolation='extend'"):
        display(frame, formula="bs(year, df=4)", difference=difference, n_draws=2)
    formula = "bs(year, df=4, extrapolation='extend')"
    display(frame, formula=formula, difference=difference, n_draws=2)


@pytest.mark.usefixtures("without_pictures")
def test_columns_that_are_not_used_may_hold_anything():
    frame = pandas.DataFrame({"words": [["a", "b"]] * D, "y": X_NUMBER, "g": GROUPS})
    for covariates in (frame, {name: frame[name].tolist() for name in frame}):
        table = effects(covariates, formula="bs(y, df=3) + g", n_draws=2)
        assert len(table) == 2 * 6
        shown = display(covariates, formula="bs(y, df=3) + g", by="g", n_draws=2)
        assert shown.name == "y"
    some = COUNTS.copy()
    some[0] = 0
    with pytest.warns(UserWarning, match="1 of 80 documents have no words"):
        topic_effects(LDA, some, {name: frame[name].tolist() for name in frame}, formula="y", n_draws=2)
    with pytest.raises(ValueError, match="there is nothing to show"):
        display(frame, formula="1", n_draws=2)
    with pytest.raises(ValueError, match="two columns with the name 'y'"):
        effects(frame.set_axis(["words", "y", "y"], axis=1), formula="y", n_draws=2)


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_displays_of_all_kinds_of_frames(library):
    library = pytest.importorskip(library)
    data = {"n": X_NUMBER, "g": GROUPS, "x": np.arange(D) % 7}
    frame = library.DataFrame(data)
    rows = [list(row) for row in zip(*(each.tolist() for each in data.values()), strict=True)]
    for name, place in (("n", "x0"), ("g", "x1")):
        of_dict = display(data, covariate=name, n_draws=2)
        options = [{"covariates": frame, "covariate": name}, {"covariates": rows, "covariate": place}]
        for each in options:
            shown = display(**each, n_draws=2)
            assert list(shown.values) == list(of_dict.values)
            assert_allclose(shown.estimate, of_dict.estimate)
    for column in (library.Series("n", X_NUMBER) if library.__name__ == "polars" else frame["n"], frame["g"]):
        assert display(column, n_draws=2).name == column.name
    spline = make_column_transformer((SplineTransformer(n_knots=3, include_bias=False), ["n"]))
    display(frame, transformer=spline, n_draws=2)


@pytest.mark.usefixtures("without_pictures")
def test_levels_that_are_tuples():
    """NumPy and pandas would take them as several values."""
    levels = np.empty(D, dtype=object)
    levels[:] = [("a", 1) if d % 2 else ("b", 2) for d in range(D)]
    for covariates in (levels, {"g": levels}):
        assert display(covariates, n_draws=2).values == [("a", 1), ("b", 2)]


def test_many_collinear_categories_are_named():
    """The first of the second copy."""
    labels = [f"c{d % 30:02d}" for d in range(D)]
    with pytest.raises(ValueError, match=r"the term 'b\[c01\]' is a combination"):
        effects({"a": labels, "b": labels}, n_draws=2)


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
    table = topic_effects(model.fit(COUNTS), COUNTS, X_NUMBER, random_state=0, n_draws=9)
    slopes = np.array(column(table, "estimate"))[1::2]
    assert_allclose(slopes.max(), 0.45, atol=0.12)
    assert_allclose(slopes.sum(), 0, atol=0.02)


def test_a_pipeline_arrays_labels_and_new_documents():
    texts = [" ".join(f"w{v:02}" for v in np.repeat(np.arange(V), row)) for row in COUNTS]
    pipeline = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=30, random_state=0)).fit(texts)
    assert "w0" in column(topic_effects(pipeline, texts, X_NUMBER, n_draws=3), "name")[0]
    arrays = topic_effects((LDA.topic_word_, 0.5), COUNTS, X_NUMBER, topics=[TOPIC], random_state=0)
    new = topic_effects(LDA, COUNTS[::2], X_NUMBER[::2], topics=[TOPIC], random_state=0)
    for table in (arrays, new):
        assert_allclose(column(table, "estimate")[1], 0.45, atol=0.09)
    labeled = LabeledLDA(max_iter=20, random_state=0).fit(COUNTS, GROUPS)
    table = topic_effects(labeled, COUNTS, GROUPS, n_draws=3)
    assert_allclose(column(table, "estimate")[:3], [1, -1, -1], atol=0.05)
    # The covariate is the label: there is no variation from which errors could be known.
    assert np.isnan(table[["standard_error", "low", "high", "t", "p_value"]]).all(axis=None)


def test_documents_without_words_and_labels():
    counts, labels = COUNTS.copy(), (GROUPS[:, None] == np.unique(GROUPS)).astype(int)
    counts[:3], labels[:3] = 0, 0
    lda = LabeledLDA(max_iter=4, n_draws=1, random_state=0).fit(counts, labels)
    with pytest.warns(UserWarning, match="3 of 80 documents have no words or no labels"):
        table = topic_effects(lda, counts, X_NUMBER, n_draws=3)
    assert (np.isfinite(column(table, "attenuation")) & np.isfinite(column(table, "estimate"))).all()


@pytest.mark.parametrize("several", [False, True])
def test_the_prior_of_compound_lda_knows_its_collections(several):
    lda = CompoundLDA(2, max_iter=30, random_state=0)
    lda = ConsensusTopics(lda, n_fits=3, random_state=0) if several else lda
    lda.fit(COUNTS, collections=GROUPS)
    assert column(topic_effects(lda, COUNTS, GROUPS, n_draws=3, random_state=0), "attenuation")[0] == 1
    assert column(topic_effects(lda, COUNTS, GROUPS == "a", n_draws=3, random_state=0), "attenuation")[0] == 1
    assert column(topic_effects(lda, COUNTS, X_NUMBER, n_draws=3, random_state=0), "attenuation")[0] < 1


@pytest.mark.parametrize(("unit", "origin"), [(1, 0), (3e10, 1.6e12)])
def test_the_prior_of_covariate_lda_knows_its_covariates_in_any_unit(unit, origin):
    number = origin + unit * X_NUMBER
    lda = CovariateLDA(2, max_iter=20, random_state=0).fit(COUNTS, covariates=number)
    assert column(topic_effects(lda, COUNTS, number, n_draws=3), "attenuation")[0] == 1


def test_effects_are_attenuated_by_the_figure_if_words_tell_topics_apart():
    rng = np.random.default_rng(0)
    theta = rng.beta(1, 1, 2000)
    first = rng.binomial(15, theta)
    X = np.column_stack([first, 15 - first])
    # The covariate is the proportion itself, so its effect is 1.
    table = topic_effects((np.eye(2), 3.0), X, theta, topics=[0], random_state=0)
    assert_allclose(column(table, "attenuation"), 15 / 21, atol=0.02)
    assert_allclose(column(table, "estimate")[1], 15 / 21, atol=4 * column(table, "standard_error")[1])
    assert column(table, "standard_error")[1] < 0.02


def test_the_attenuation_of_a_topic_that_all_documents_have_alike():
    table = topic_effects((np.full((1, V), 1 / V), 3.0), COUNTS, X_NUMBER, n_draws=1)
    # Its proportion is known.
    assert_allclose(column(table, "attenuation"), 1)


def test_effects_of_words_that_do_not_tell_topics_apart_are_attenuated_more():
    """Half of the words say nothing, so documents have half as many tokens."""
    rng = np.random.default_rng(0)
    theta = rng.beta(1, 1, 2000)
    first = rng.binomial(15, theta)
    X = np.column_stack([first, 15 - first, np.full(2000, 15)])
    phi = np.array([[0.5, 0, 0.5], [0, 0.5, 0.5]])
    table = topic_effects((phi, 3.0), X, theta, topics=[0], n_draws=30, random_state=0)
    slope, error = column(table, "estimate")[1], column(table, "standard_error")[1]
    assert_allclose(slope, column(table, "attenuation")[1], atol=4 * error)
    assert column(table, "attenuation")[1] < 15 / 21 + 0.02 < 30 / 36


def test_displays_show_points_and_curves():
    points = display(GROUPS)
    assert points.values == ["a", "b", "c"] and points.estimate.shape == (3, 2)
    means = [LDA.doc_topic_[level == GROUPS].mean(axis=0) for level in points.values]
    order = [int(name.split(":")[0]) for name in points.topics]
    assert_allclose(points.estimate, np.array(means)[:, order], atol=0.02)
    table = effects(np.column_stack([X_NUMBER, GROUPS == "a"]))
    curve = display(np.column_stack([X_NUMBER, GROUPS == "a"]), topics=[0])
    assert_allclose(np.ptp(curve.estimate[:, 0]), 2 * abs(column(table, "estimate")[1]))
    assert (curve.low < curve.estimate).all() and (curve.attenuation > 0.9).all()
    figure, ax = plt.subplots()
    assert curve.plot(ax).figure_ is figure
    named = display({"n": np.arange(D), "g": GROUPS}, covariate="g")
    assert named.axes_[-1].get_xlabel() == "mean topic proportion by g"
    whole = display(np.arange(D), transformer=SplineTransformer(n_knots=3, include_bias=False))
    assert whole.values[1] % 1
    series = pytest.importorskip("pandas").Series(np.arange(D), name="n")
    spline = SplineTransformer(n_knots=3, include_bias=False)
    shown = display(series, transformer=spline)
    assert shown.axes_[0].get_xlabel() == "n"


def intervals(ax):
    """The ends of the lines of intervals, by their places."""
    found = [
        each.get_segments() for each in ax.collections if isinstance(each, LineCollection) and each not in rugs(ax)
    ]
    return np.concatenate([each for each in found if each])


def rugs(ax):
    """The lines at documents, whose heights are parts of the axes."""
    return [each for each in ax.collections if each.get_transform() != ax.transData]


def marks(ax, marker, face=None):
    """The x and y of all markers of a kind."""
    chosen = [line for line in ax.lines if line.get_marker() == marker and face in (None, line.get_markerfacecolor())]
    return np.concatenate([np.empty((0, 2)), *(line.get_xydata() for line in chosen)])


def entries(display):
    return [] if display.legend_ is None else [text.get_text() for text in display.legend_.get_texts()]


def shares(low, estimate, high, values=("a", "b", "c"), **options):
    """A display of one topic."""
    rows = {"low": low, "estimate": estimate, "high": high}
    columns = {name: np.array(each, float)[:, None] for name, each in rows.items()}
    return TopicEffectsDisplay(name="x", values=values, topics=["0: a topic"], **columns, **options).plot()


def test_a_category_has_a_labelled_row_for_each_level():
    shown = display(GROUPS)
    for k, ax in enumerate(shown.axes_):
        assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
        lines = intervals(ax)
        assert_allclose(lines[:, 0], np.column_stack([shown.low[:, k], range(3)]))
        assert_allclose(lines[:, 1], np.column_stack([shown.high[:, k], range(3)]))
        assert_allclose(marks(ax, "o"), np.column_stack([shown.estimate[:, k], range(3)]))
        assert ax.get_title(loc="left") == shown.topics[k] and ax.get_xlim()[0] == 0
    assert entries(shown) == ["95 % intervals"]


@pytest.mark.parametrize(
    ("treatment", "values"), [(GROUPS == "a", (False, True)), ((GROUPS == "a").astype(int), (0, 1))]
)
def test_a_treatment_is_no_line(treatment, values):
    shown = display({"treatment": treatment})
    labels = [label.get_text() for label in shown.axes_[0].get_yticklabels()]
    assert labels == [f"treatment = {value}" for value in values]
    assert not any(len(line.get_xdata()) == 41 for line in shown.axes_[0].lines)
    assert_allclose(marks(shown.axes_[0], "o")[:, 1], [0, 1])


def test_an_unknown_error_is_an_open_point_without_a_line():
    shown = shares([0.1, np.nan, 0.2], [0.2, 0.5, 0.3], [0.3, np.nan, 0.4])
    (ax,) = shown.axes_
    assert_allclose(marks(ax, "o", ax.get_facecolor()), [[0.5, 1]])
    assert_allclose(intervals(ax)[:, 0, 1], [0, 2])
    assert entries(shown) == ["error unknown"]
    # A group of one cluster is such a group.
    clusters = np.where(GROUPS == "c", "all", np.arange(D).astype(str))
    with pytest.warns(UserWarning, match="depend on one cluster alone"):
        shown = display(GROUPS, clusters=clusters)
    assert_allclose(marks(shown.axes_[0], "o", shown.axes_[0].get_facecolor()), [[shown.estimate[2, 0], 2]])
    curve = shares([0.1, np.nan, np.nan], [0.2, 0.5, 0.3], [0.3, np.nan, np.nan], np.array([1.0, 2, 3]))
    dashed = [line for line in curve.axes_[0].lines if line.get_linestyle() == "--"]
    assert_allclose(dashed[0].get_ydata(), [np.nan, 0.5, 0.3])
    assert entries(curve) == ["error unknown"]


@pytest.mark.parametrize("values", [("a", "b", "c"), np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3], dtype=object)])
def test_nothing_lies_below_0_or_above_100_percent(values):
    shown = shares([-0.4, 0.2, 0.5], [-0.1, 0.5, 1.2], [0.3, 0.8, 1.6], values, documents=(np.array([1.0, 2, 3]),))
    (ax,) = shown.axes_
    is_row = isinstance(values, tuple)
    low, high = ax.get_xlim() if is_row else ax.get_ylim()
    assert low == 0 and high == 1
    axis = 0 if is_row else 1
    paths = [path.vertices for each in ax.collections if each not in rugs(ax) for path in each.get_paths()]
    drawn = np.concatenate([*(line.get_xydata() for line in ax.lines), *paths])[:, axis]
    assert np.nanmin(drawn) == 0 and np.nanmax(drawn) == 1
    assert "the interval goes on" in entries(shown)
    if is_row:
        assert_allclose(marks(ax, "<"), [[0, 0]])
        assert_allclose(marks(ax, ">"), [[1, 2]])
    # Nothing is cut of what is inside.
    assert entries(shares([0.0, 0.1, 0.2], [0.2, 0.3, 0.3], [0.3, 0.8, 1.0], values)) == []


def test_a_few_far_documents_do_not_set_the_range_of_a_curve():
    x = np.linspace(0, 10, 41)
    low, high = np.full(41, 0.1), np.where(x > 9, 0.9, 0.2)
    near = np.append(np.linspace(0, 5, 300), 10.0)
    far = shares(low, np.full(41, 0.15), high, x, documents=(near,))
    assert far.axes_[0].get_ylim()[1] < 0.25 and "the interval goes on" in entries(far)
    even = shares(low, np.full(41, 0.15), high, x, documents=(np.linspace(0, 10, 300),))
    assert even.axes_[0].get_ylim()[1] > 0.9


def test_a_rug_has_the_documents():
    shown = display(np.round(X_NUMBER, 1))
    ax = shown.axes_[0]
    (rug,) = rugs(ax)
    lines = np.array(rug.get_segments())
    distinct, counts = np.unique(np.round(X_NUMBER, 1), return_counts=True)
    assert_allclose(lines[:, 0, 0], distinct)
    assert (lines[:, :, 1] < 0).all()
    lengths = np.ptp(lines[:, :, 1], axis=1)
    assert (lengths[counts == counts.max()] > 1.2 * lengths[counts == counts.min()].max()).all()
    assert "documents" in entries(shown)


def test_differences_of_a_category_have_a_row_for_each_topic():
    shown = display({"g": GROUPS}, covariate="g", difference=("b", "a"))
    (ax,) = shown.axes_
    assert [label.get_text() for label in ax.get_yticklabels()] == shown.topics
    assert ax.get_xlabel().endswith("g: b − a") and "percentage points" in ax.get_xlabel()
    assert_allclose(marks(ax, "o")[:, 0], shown.estimate[0])
    low, high = ax.get_xlim()
    assert -1 <= low < 0 < high <= 1 and len(ax.get_xticks()) > 3
    format_tick = ax.xaxis.get_major_formatter()
    assert [format_tick(x) for x in (-0.025, 0.0, 0.1)] == ["−2.5", "0", "+10"]


def test_short_documents_have_a_note():
    attenuations = [(0.95, []), (0.7, ["short documents: 70 % of the effects are left"])]
    for attenuation, expected in attenuations:
        assert entries(shares([0.1] * 3, [0.2] * 3, [0.3] * 3, attenuation=attenuation)) == expected


def test_the_same_seed_gives_the_same_table():
    a, b, c = (column(effects(X_NUMBER, random_state=s), "estimate") for s in (0, 0, 1))
    assert a == b and a != c


@pytest.mark.usefixtures("without_pictures")
def test_effects_with_weights_are_those_of_weighted_means():
    weights = np.random.default_rng(0).gamma(1, size=D)
    given = {"topics": [0], "n_draws": 200, "random_state": 0}
    model = np.kron(np.eye(2), np.full(6, 1 / 6)), np.array([0.5, 0.5])
    table = topic_effects(model, COUNTS, GROUPS, weights=weights, **given)
    theta = (FIRST + 0.5) / 61
    means = [np.average(theta[level == GROUPS], weights=weights[level == GROUPS]) for level in "abc"]
    assert_allclose(table["estimate"], [means[0], means[1] - means[0], means[2] - means[0]], atol=0.01)
    assert np.abs(table["estimate"][1] - topic_effects(model, COUNTS, GROUPS, **given)["estimate"][1]) > 0.02
    # Their unit does not matter.
    pandas.testing.assert_frame_equal(topic_effects(model, COUNTS, GROUPS, weights=1e6 * weights, **given), table)
    shown = TopicEffectsDisplay.from_estimator(model, COUNTS, GROUPS, weights=weights, **given)
    assert_allclose(shown.estimate[:, 0], means, atol=0.01)


def test_documents_of_weight_zero_take_no_part():
    model, weights = (LDA.topic_word_, np.array([0.5, 0.5])), np.where(GROUPS == "b", 0, 2)
    kept = weights > 0
    given = {"n_draws": 5, "random_state": 0}
    table = topic_effects(model, COUNTS, GROUPS, weights=weights, clusters=np.arange(D) // 4, **given)
    own = topic_effects(model, COUNTS[kept], GROUPS[kept], clusters=(np.arange(D) // 4)[kept], **given)
    assert table["term"].tolist() == ["intercept", "x0[c]"] * 2
    pandas.testing.assert_frame_equal(table, own)


def test_the_attenuation_is_that_of_the_weighted_documents():
    """Half of the documents have 10 words, the others 200."""
    first = np.random.default_rng(0).binomial(np.where(np.arange(D) % 2, 10, 200), THETA)
    X = np.column_stack([first, np.where(np.arange(D) % 2, 10, 200) - first])
    weights = np.where(np.arange(D) % 2, 1, 1e-3)
    table = topic_effects((np.eye(2), 3.0), X, X_NUMBER, weights=weights, topics=[0], random_state=0)
    assert_allclose(column(table, "attenuation"), 10 / 16, atol=0.05)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (np.ones(5), ValueError, "weights has 5 values; there are 80 documents"),
        (np.r_[-1, np.ones(D - 1)], ValueError, r"weights\[0\] = -1: a weight must be finite and not negative"),
        (np.r_[np.ones(D - 1), np.nan], ValueError, "weights is missing in document 79"),
        (np.zeros(D), ValueError, "all weights of documents with words are 0"),
        (["heavy"] * D, TypeError, r"weights\[0\] = 'heavy' is not a number"),
        (np.arange(D) < 2, ValueError, "2 documents do not determine 2 coefficients"),
    ],
)
def test_bad_weights(weights, error, message):
    with pytest.raises(error, match=message):
        effects(X_NUMBER, weights=weights)


def test_the_sum_of_several_topics_is_a_merged_topic():
    given = {"random_state": 0, "n_draws": 10}
    table = topic_effects(merge_topics(LDA, {"all": [1, 0]}), COUNTS, X_NUMBER, **given)
    assert table["name"].tolist() == ["0: all"] * 2
    assert_allclose(table["estimate"], [1, 0], atol=1e-12)


MISSING = np.where(np.arange(D) == 7, np.nan, X_NUMBER)


@pytest.mark.parametrize(
    ("covariates", "options", "error", "message"),
    [
        (X_NUMBER[:5], {}, ValueError, "5 values; there are 80 documents"),
        (None, {}, ValueError, "covariates is None: give what the proportions depend on"),
        ("text", {}, TypeError, "array or a data frame"),
        (np.zeros((D, 0)), {}, ValueError, "no column"),
        (np.zeros((D, 2, 2)), {}, ValueError, "3 dimensions"),
        (MISSING, {}, ValueError, "covariate 'x0' is missing in document 7"),
        (np.where(np.arange(D) == 7, None, GROUPS), {}, ValueError, "covariate 'x0' is missing in document 7"),
        (X_NUMBER * 1j, {}, TypeError, "complex"),
        (X_NUMBER * 1e200, {}, ValueError, "'x0' has values too large or too small"),
        (X_NUMBER * 1e-300, {}, ValueError, "'x0' has values too large or too small"),
        (X_NUMBER, {"level": float("nan")}, ValueError, "level must lie between 0 and 1"),
        (X_NUMBER, {"level": -0.5}, ValueError, "level must lie between 0 and 1"),
        (np.ma.masked_array(X_NUMBER, X_NUMBER > 0), {}, ValueError, "covariate.* has masked entries"),
        (np.ma.masked_array(X_NUMBER, X_NUMBER > 0), {"transformer": SplineTransformer()}, ValueError, "masked"),
        ([[{}]] * D, {}, TypeError, "hashable"),
        (np.ones(D), {}, ValueError, "'x0' is 1 for all documents"),
        (np.eye(D), {}, ValueError, "80 documents do not determine 81"),
        ({"a": X_NUMBER, "b": X_NUMBER[:3]}, {}, ValueError, "3 values"),
        (X_NUMBER, {"n_draws": 0}, ValueError, "n_draws"),
        (X_NUMBER, {"level": 1.0}, ValueError, "level"),
        (X_NUMBER, {"topics": [2]}, ValueError, "topics must be numbers from 0 to 1"),
        (X_NUMBER, {"transformer": "spline"}, TypeError, "transformer"),
        (X_NUMBER, {"transformer": SplineTransformer(), "formula": "x"}, ValueError, "not both"),
    ],
)
def test_bad_arguments(covariates, options, error, message):
    with pytest.raises(error, match=message):
        effects(covariates, **options)


def test_bad_models():
    with pytest.raises(ValueError, match="give the documents"):
        topic_effects(LDA, None, X_NUMBER)
    with pytest.raises(TypeError, match="exchanged"):
        topic_effects(COUNTS, LDA, X_NUMBER)
    with pytest.raises(ValueError, match="covariate must be one of 'x0'"):
        display(X_NUMBER, covariate="year")


def test_a_model_without_a_prior_has_the_slopes_of_its_proportions():
    nmf = NMF(2, random_state=0, max_iter=500).fit(COUNTS)
    table = topic_effects(nmf, COUNTS, X_NUMBER, random_state=0)
    # Proportions of words: each weight times the sum of its topic.
    theta = nmf.transform(COUNTS) * nmf.components_.sum(axis=1)
    shares = theta / theta.sum(axis=1, keepdims=True)
    slopes = [found["estimate"].iloc[-1] for _, found in table.groupby("topic")]
    assert_allclose(slopes, np.polyfit(X_NUMBER, shares, 1)[0], rtol=1e-6)
    assert (table["attenuation"].dropna() == 1).all()


SOURCES = np.arange(D) // 10
RATING = np.where(SOURCES % 2, "b", "a")


@pytest.mark.usefixtures("without_pictures")
def test_errors_of_clusters_are_those_of_so_many_sources():
    """Without an effect of the rating, but with the number that differs between the sources."""
    one, many = (effects(RATING, clusters=each) for each in (SOURCES.astype(str), None))
    assert column(one, "estimate") == column(many, "estimate")
    assert column(one, "standard_error")[1] > 2 * column(many, "standard_error")[1]
    assert_allclose(column(one, "df")[1], 6)
    assert_allclose(np.divide(column(one, "estimate"), column(one, "standard_error")), column(one, "t"))
    p_value, low, high = (np.array(column(many, name)) for name in ("p_value", "low", "high"))
    assert ((p_value < 0.05) == (np.sign(low) == np.sign(high))).all()
    shown = display(RATING, clusters=SOURCES)
    narrow = display(RATING)
    assert (shown.high - shown.low > 2 * (narrow.high - narrow.low)).all()


@pytest.mark.parametrize(
    ("clusters", "error", "message"),
    [
        (SOURCES[:5], ValueError, "clusters has 5 values; there are 80 documents"),
        (np.zeros(D), ValueError, "one label for all documents"),
        ([None, *SOURCES[1:]], ValueError, "clusters is missing in document 0"),
        ("source", TypeError, "one label for each document"),
        ([[]] * D, TypeError, "hashable"),
    ],
)
def test_bad_clusters(clusters, error, message):
    with pytest.raises(error, match=message):
        effects(RATING, clusters=clusters)


@pytest.mark.parametrize("source", [SOURCES, SOURCES.astype(str)])
def test_a_covariate_of_the_sources_gets_a_warning(source):
    data = {"rating": RATING, "source": source, "number": X_NUMBER}
    with pytest.warns(UserWarning, match=r"'rating' is the same .* 'source'.*clusters=covariates\['source'\]"):
        effects(data, formula="rating + number", n_draws=2)
    effects(data, formula="rating + number", clusters=source, n_draws=2)
    # It is not used, or the other column is a number of the document or another name of the covariate.
    effects(data, formula="number", n_draws=2)
    data = {"rating": RATING, "code": RATING == "a", "x": X_NUMBER, "id": np.arange(D), "s": SOURCES + 0.5}
    effects(data, formula="rating", n_draws=2)


def test_a_category_of_one_document_gets_a_warning():
    with pytest.warns(UserWarning, match="1 of 3 effects .*one document"):
        table = effects(["a", "b"] * (D // 2 - 1) + ["a", "c"], n_draws=2)
    assert np.isfinite(column(table, "p_value")).all()


def test_chains_without_a_topic_have_no_effect_of_it():
    """A chain whose topics are replaced by others gives no draws of them."""
    # Enough draws for errors, so that the chains do not go on.
    given = {"draw_every": 2, "doc_topic_prior": 0.5, "topic_word_prior": 0.1}
    lda = GibbsLDA(2, max_iter=30, n_chains=3, random_state=0, **given).fit(COUNTS)
    table = topic_effects(lda, COUNTS, X_NUMBER, random_state=0)
    assert column(table, "found_in") == [3] * 4
    other = (lda.best_chain_ + 1) % 3
    rng = np.random.default_rng(0)
    results = lda._results_
    results.means[other].components[:] = rng.dirichlet(np.ones(V) * 0.1, 2)
    for draw in results.draws[other].topics:
        rng.shuffle(draw)
    table = topic_effects(lda, COUNTS, X_NUMBER, n_draws=90, random_state=0)
    assert column(table, "found_in") == [2] * 4
    assert_allclose(np.abs(column(table, "estimate"))[1::2], 0.45, atol=0.05)
    # If its topics were those of the other chains, its draws would count.
    results.means[other].components[results.orders[other]] = lda.topic_word_
    assert np.abs(column(topic_effects(lda, COUNTS, X_NUMBER, n_draws=90, random_state=0), "estimate")[1]) < 0.35


def test_a_topic_of_one_chain_has_its_draws_even_if_there_are_few():
    lda = GibbsLDA(2, max_iter=30, n_chains=3, random_state=0, doc_topic_prior=0.5, topic_word_prior=0.1).fit(COUNTS)
    table = topic_effects(lda, COUNTS, X_NUMBER, n_draws=1, random_state=0)
    assert np.isfinite(column(table, "estimate")).all()


def test_curves_of_groups_their_differences_and_given_values(request):
    data = {"n": X_NUMBER, "g": np.where(GROUPS == "a", "a", "b"), "x": np.arange(D) % 7}
    given = {"covariates": data, "formula": "g * n + x", "n_draws": 2, "random_state": 0}
    groups = display(covariate="n", by="g", topics=[0, 1], **given)
    assert groups.estimate.shape == (41, 4)
    assert groups.groups == ["g = a", "g = b"] and entries(groups)[:2] == groups.groups
    both = display(covariate="n", by="g", difference=("b", "a"), topics=[0, 1], **given)
    assert_allclose(both.estimate, groups.estimate[:, 1::2] - groups.estimate[:, ::2])
    assert "g: b − a" in both.axes_[0].get_ylabel() and both.topics == groups.topics
    table = effects(data, formula="g * n + x", n_draws=2)
    one = display(covariate="g", difference=("b", "a"), at={"n": 0}, topics=[0, 1], **given)
    place = column(table, "term").index("g[b]")
    for name in ("estimate", "low", "high"):
        assert_allclose(getattr(one, name)[0], column(table, name)[place :: len(column(table, "term")) // 2])
    assert one.difference == "g: b − a" and len(one.axes_) == 1
    request.getfixturevalue("without_pictures")
    # At other values of x the curves are higher by its effect.
    low, high = (display(covariate="n", topics=[0], at={"x": x}, **given) for x in (0, 3))
    assert_allclose(high.estimate - low.estimate, 3 * column(table, "estimate")[column(table, "term").index("x")])
    largest = display(covariate="n", by="g", **given)
    assert len(largest.topics) == 2 and largest.estimate.shape == (41, 4)


@pytest.mark.usefixtures("without_pictures")
def test_curves_end_where_their_group_has_no_documents():
    data = {"n": X_NUMBER, "g": np.where(X_NUMBER > 0, "high", "low"), "h": GROUPS}
    show, given = TopicEffectsDisplay.from_estimator, {"covariate": "n", "topics": [0], "n_draws": 2}
    high, low = np.isfinite(show(LDA, COUNTS, data, by="g", **given).estimate).T
    at = show(LDA, COUNTS, data, at={"g": "low"}, **given)
    grid = np.linspace(-1, 1, 41)
    np.testing.assert_array_equal(high, grid > X_NUMBER[X_NUMBER > 0].min())
    np.testing.assert_array_equal(low, grid < X_NUMBER[X_NUMBER <= 0].max())
    np.testing.assert_array_equal(np.isfinite(at.high[:, 0]), low)
    # No document has both values: curves over all values.
    both = show(LDA, COUNTS, {**data, "h": np.where(X_NUMBER > 0, "a", GROUPS)}, by="g", at={"h": "b"}, **given)
    assert np.isfinite(both.estimate).all(axis=0)[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "h"}, "by must be one of 'n', 'g', got 'h'"),
        ({"by": "n"}, "by = 'n' is the covariate of the axis"),
        ({"by": "g", "at": {"g": "a"}}, "by = 'g' is the covariate of the axis or in at"),
        ({"covariate": "g", "by": "n"}, "by = 'n' is a number"),
        ({"at": {"h": 0}}, "a key of at must be one of"),
        ({"difference": "abc"}, "pair of values"),
        ({"covariate": "g", "difference": ("a", "z")}, "'z', which no document of the fit had"),
    ],
)
def test_bad_displays(options, message):
    with pytest.raises(ValueError, match=message):
        display({"n": X_NUMBER, "g": GROUPS}, n_draws=2, **options)


def test_texts_that_may_be_numbers_get_a_warning():
    with pytest.warns(UserWarning, match="one document alone"), pytest.warns(UserWarning, match="give them as numbers"):
        effects([f"{d // 1.7}" for d in range(D)], n_draws=2)


@pytest.mark.parametrize("clusters", [None, np.arange(D) // 8], ids=["documents", "clusters"])
def test_no_variation_has_no_p_value(clusters):
    """A label that no document has, and one that the covariate gives."""
    y = np.zeros((D, 3), int)
    y[np.arange(D), np.arange(D) % 2] = 1
    with pytest.warns(UserWarning, match="no document with words: '2'"):
        labelled = LabeledLDA(max_iter=4, n_draws=1, random_state=0).fit(COUNTS, y)
    for covariate in (X_NUMBER, np.arange(D) % 2):
        table = topic_effects(labelled, COUNTS, covariate, clusters=clusters, n_draws=2, random_state=0)
        unknown = (table["topic"] == 2) | (covariate is not X_NUMBER)
        assert table["p_value"].isna().tolist() == table["low"].isna().tolist() == unknown.tolist()
        assert not (table["p_value"] == 0).any()


def test_the_covariate_of_the_axis_is_not_given():
    with pytest.raises(ValueError, match=r"at .*axis, 'x0'"):
        display(X_NUMBER, at={"x0": 0.5}, n_draws=2)


def test_equal_documents_have_draws_of_their_own():
    """Documents of five words of three kinds, and the same with words that tell most documents apart.

    The mean of draws that equal documents have in common has an error that does not shrink with their number.
    """
    rng, n, names = np.random.default_rng(0), 1000, 40
    phi, alpha = np.array([[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]]), np.array([0.7, 0.5])
    equal = np.array([rng.multinomial(5, p) for p in rng.dirichlet(alpha, n) @ phi])
    apart = np.zeros((n, 3 * names), int)
    for d in range(n):
        apart[d, np.arange(3) * names + d % names] = equal[d]
    assert len(np.unique(equal, axis=0)) < 22 and len(np.unique(apart, axis=0)) > 400
    # The covariate has a mean of zero, so the intercept is the mean share.
    x = np.tile([-1.0, 1.0], n // 2)
    errors = [
        topic_effects((topics, alpha), X, x, random_state=0)["standard_error"][0]
        for topics, X in ((phi, equal), (np.repeat(phi, names, axis=1) / names, apart))
    ]
    assert_allclose(errors[0], errors[1], rtol=0.15)


@pytest.mark.usefixtures("without_pictures")
def test_true_and_false_are_two_groups():
    logical = {"n": X_NUMBER, "treated": GROUPS == "a"}
    found = display(logical, by="treated", topics=[0], n_draws=2)
    assert list(found.groups) == ["treated = False", "treated = True"]
    # A curve ends where its group has no documents.
    numbers = {**logical, "treated": np.where(GROUPS == "a", "yes", "no")}
    same = display(numbers, by="treated", topics=[0], n_draws=2)
    np.testing.assert_allclose(found.estimate, same.estimate)
    with pytest.raises(ValueError, match="'treated' are True and False"):
        display(logical, covariate="treated", difference=("yes", "no"))
