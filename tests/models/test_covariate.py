"""CovariateLDA as an estimator: coefficients in the user's units, prediction, pipelines, metadata routing."""

import pickle
import warnings
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from sklda import CompoundLDA, ConsensusTopics, CovariateLDA, GibbsLDA, merge_topics, metrics
from sklda._description.view import view
from sklda._input.design import design_of
from sklda.inspection import describe, document_table, outcome_effects, token_topics, topic_effects
from sklda.metrics import held_out_log_likelihood
from sklda.papers.held_out import leave_one_out_score, predictive_perplexity

D, V, K = 150, 40, 3
RNG = np.random.default_rng(0)
YEAR = np.round(2000 + 10 * RNG.random(D), 1)
SOURCE = np.array(["press", "radio"])[RNG.integers(2, size=D)]
PHI = RNG.dirichlet(np.full(V, 0.05), size=K)
# Coefficients of the standardised year and of the radio.
SLOPES, RADIO = np.array([1.0, 0.0, -1.0]), np.array([0.0, 1.5, 0.0])
LOG_ALPHA = -1 + np.outer((YEAR - YEAR.mean()) / YEAR.std(), SLOPES) + np.outer(SOURCE == "radio", RADIO)
THETA = np.array([RNG.dirichlet(np.exp(each)) for each in LOG_ALPHA])
X = csr_matrix([RNG.multinomial(40, each) for each in THETA @ PHI])
Z = {"year": YEAR, "source": SOURCE}


def make(**options):
    return CovariateLDA(K, **{"topic_word_prior": 0.1, "max_iter": 200, "random_state": 0} | options)


@pytest.fixture(scope="module")
def fitted():
    return make(n_chains=2).fit(X, covariates=Z)


def order(lda):
    return np.argmax(PHI @ np.sqrt(lda.topic_word_).T, axis=1)


def test_coefficients_are_found_in_the_units_of_the_covariates(fitted):
    topics = order(fitted)
    assert sorted(topics) == [0, 1, 2]
    assert fitted.covariate_names_.tolist() == ["year", "source[press]", "source[radio]"]
    assert_allclose(fitted.covariate_mean_, [YEAR.mean(), (SOURCE == "press").mean(), (SOURCE == "radio").mean()])
    # The effects of the two levels are differences from their mean.
    truth = np.column_stack([SLOPES / YEAR.std(), -RADIO / 2, RADIO / 2])
    # A fixed seed; eight standard deviations are missed by a wrong unit or a wrong order.
    assert (np.abs(fitted.coef_[topics] - truth) < 8 * fitted.coef_std_[topics]).all()
    assert_allclose(fitted.coef_draws_[:, :, 1], -fitted.coef_draws_[:, :, 2])
    assert (fitted.coef_std_ < 0.5).all() and (fitted.coef_scale_ > 0).all()
    # Numbers have one scale, and the levels of a category.
    assert fitted.coef_scale_[1] == fitted.coef_scale_[2] != fitted.coef_scale_[0]
    n = len(fitted.coef_draws_)
    assert fitted.coef_draws_.shape == (n, K, 3) and fitted.intercept_draws_.shape == (n, K)
    mean = (fitted.coef_draws_[: n // 2].mean(axis=0), fitted.coef_draws_[n // 2 :].mean(axis=0))
    assert_allclose(fitted.coef_, mean[fitted.best_chain_], atol=1e-12)
    assert_allclose(fitted.chains_[fitted.best_chain_].coef, fitted.coef_, atol=1e-12)


@pytest.mark.mutation("sklda._models.results.SAME_TOPIC", 1.0)
def test_chains_without_a_topic_do_not_speak_for_it():
    lda = CovariateLDA(8, max_iter=40, n_chains=3, random_state=0).fit(X, covariates=Z)
    has, draws = lda._has_topics(), np.split(lda.coef_draws_, 3)
    assert not has.all() and has[lda.best_chain_].all()
    for c, own in enumerate(draws):
        assert_array_equal(np.isnan(own), np.broadcast_to(~has[c][:, None], own.shape))
        assert_array_equal(np.isnan(lda.intercept_draws_[c * len(own)]), ~has[c])
        assert np.isfinite(lda.chains_[c].coef_draws).all()
    for k in range(8):
        own = np.array([each[:, k] for each, with_k in zip(draws, has[:, k], strict=True) if with_k])
        between = own.mean(axis=1).var(axis=0, ddof=1) if len(own) > 1 else 0
        assert_allclose(lda.coef_std_[k] ** 2, own.var(axis=1, ddof=1).mean(axis=0) + between)


def test_the_prior_of_documents(fitted):
    columns = np.column_stack([YEAR, SOURCE == "press", SOURCE == "radio"])
    prior = fitted.document_prior(Z)
    assert_allclose(prior, np.exp(fitted.intercept_ + columns @ fitted.coef_.T))
    at_mean = np.exp(fitted.intercept_ + fitted.covariate_mean_ @ fitted.coef_.T)
    assert_allclose(fitted.doc_topic_prior_, at_mean)
    empty = np.zeros((2, V), int)
    theta = fitted.transform(empty, covariates={"year": [2000.0, 2010.0], "source": ["press"] * 2})
    prior = fitted.document_prior({"year": [2000.0, 2010.0], "source": ["press"] * 2})
    assert_allclose(theta, prior / prior.sum(axis=1, keepdims=True))
    assert_allclose(fitted.transform(empty), np.broadcast_to(at_mean / at_mean.sum(), (2, K)))


def test_covariates_help_to_predict_words(fitted):
    assert fitted.score(X, covariates=Z) > fitted.score(X)
    by_function = held_out_log_likelihood((fitted.topic_word_, fitted.document_prior(Z)), X, random_state=0)
    assert_allclose(fitted.score_samples(X, covariates=Z).mean(), by_function.mean(), rtol=0.01)
    assert_allclose(fitted.perplexity(X, covariates=Z), np.exp(-fitted.score(X, covariates=Z)))


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e6, 1e-90, 1e90])
def test_results_do_not_depend_on_the_unit(unit):
    one, other = (make(max_iter=30).fit(X, covariates=YEAR * factor) for factor in (1.0, unit))
    assert_allclose(other.coef_ * unit, one.coef_, rtol=1e-5)
    assert_allclose(other.intercept_, one.intercept_, rtol=1e-5, atol=1e-5)
    assert_array_equal(other.components_, one.components_)


def test_frames_dicts_and_columns_are_the_same():
    pandas = pytest.importorskip("pandas")
    first = make(max_iter=20).fit(X, covariates=Z)
    frame = pandas.DataFrame(Z)
    assert_allclose(make(max_iter=20).fit(X, covariates=frame).coef_, first.coef_)
    columns = np.column_stack([YEAR, SOURCE == "radio"]).astype(float)
    one, other = (make(max_iter=20).fit(X, covariates=each) for each in (columns, csr_matrix(columns)))
    assert_allclose(one.coef_, other.coef_)
    # The columns of a data frame are found by their names.
    other = frame.assign(more=1)[["source", "more", "year"]]
    assert_array_equal(first.document_prior(other), first.document_prior(Z))


@pytest.mark.filterwarnings("ignore:CovariateLDA has no covariates:UserWarning")
def test_without_covariates_alpha_is_that_of_lda():
    lda = make(max_iter=300).fit(X)
    assert lda.coef_.shape == (K, 0) and lda.coef_draws_.shape[1:] == (K, 0)
    assert_allclose(lda.doc_topic_prior_, np.exp(lda.intercept_))
    plain = GibbsLDA(K, topic_word_prior=0.1, max_iter=300, random_state=0).fit(X)
    own, other = (np.sort(each.doc_topic_prior_) for each in (lda, plain))
    assert_allclose(own, other, rtol=0.35)
    with pytest.raises(ValueError, match="the fit had no covariates"):
        lda.transform(X, covariates=Z)


def test_categories_have_the_mixtures_of_compound_lda():
    lda = make(max_iter=400).fit(X, covariates=SOURCE)
    compound = CompoundLDA(K, topic_word_prior=0.1, max_iter=400, random_state=0).fit(X, collections=SOURCE)
    prior = lda.document_prior(["press", "radio"])[:, order(lda)]
    mixtures = compound.collection_topic_[:, order(compound)]
    assert_allclose(prior / prior.sum(axis=1, keepdims=True), mixtures, atol=0.06)


def test_effects_on_proportions_are_not_attenuated(fitted):
    table = topic_effects(fitted, X, Z, random_state=0)
    assert table["attenuation"][0] == 1
    # It is a mean over the documents, each with its own alpha.
    lengths, alpha = X.sum(axis=1), fitted.document_prior(Z).sum(axis=1)
    found = topic_effects(fitted, X, np.sqrt(YEAR), random_state=0)["attenuation"][0]
    assert_allclose(found, (lengths / (lengths + alpha)).mean(), atol=0.02)


def test_the_learnt_eta_and_given_priors():
    big = csr_matrix(np.vstack([X.toarray()] * 2))
    lda = CovariateLDA(K, max_iter=300, random_state=0).fit(big, covariates=np.tile(YEAR, 2))
    assert 0.02 < lda.topic_word_prior_ < 0.15
    small = CovariateLDA(K, max_iter=5).fit(X[:5], covariates=YEAR[:5])
    assert small.topic_word_prior_ == 0.1
    given = make(coef_scale=1e-6, doc_topic_prior=[0.5, 0.2, 0.1], max_iter=20).fit(X, covariates=YEAR)
    assert given.coef_scale_.tolist() == [1e-6] and (np.abs(given.coef_ * YEAR.std()) < 1e-4).all()
    assert (
        np.ndim(CovariateLDA(K, topic_word_prior=np.full(V, 0.1), max_iter=5).fit(X, covariates=YEAR).topic_word_prior_)
        == 1
    )


def test_what_a_warm_start_may_not_change():
    parts = make(max_iter=5, warm_start=True).fit(X, covariates=Z)
    with pytest.raises(ValueError, match="these covariates are different"):
        parts.fit(X, covariates=YEAR)
    with pytest.raises(ValueError, match="coef_scale"):
        parts.set_params(coef_scale=1.0).fit(X, covariates=Z)


TEXTS = [" ".join(f"w{v:02d}" for v in np.repeat(np.arange(V), row)) for row in X.toarray()]


def test_pipeline_without_routing():
    pipeline = make_pipeline(CountVectorizer(), make(max_iter=20)).fit(TEXTS, covariatelda__covariates=YEAR)
    assert pipeline.transform(TEXTS).shape == (D, K) and np.isfinite(pipeline.score(TEXTS))


def test_metadata_routing():
    with config_context(enable_metadata_routing=True):
        lda = make(max_iter=20).set_fit_request(covariates=True)
        lda.set_transform_request(covariates=True).set_score_request(covariates=True)
        pipeline = make_pipeline(CountVectorizer(vocabulary=[f"w{v:02d}" for v in range(V)]), lda)
        theta = pipeline.fit_transform(TEXTS, covariates=YEAR)
        assert_array_equal(theta, pipeline.transform(TEXTS, covariates=YEAR))
        found = cross_validate(pipeline, TEXTS, cv=3, params={"covariates": YEAR}, error_score="raise")
        assert np.isfinite(found["test_score"]).all()
        search = GridSearchCV(pipeline, {"covariatelda__n_components": [1, 3]}, cv=3)
        assert search.fit(TEXTS, covariates=YEAR).best_params_ == {"covariatelda__n_components": 3}


def test_no_covariates_are_named():
    for y, message in ((None, r"Give them with fit\(X, covariates=...\)"), (YEAR, r"call fit\(X, covariates=y\)")):
        with pytest.warns(UserWarning, match=f"CovariateLDA has no covariates, .*{message}"):
            make(max_iter=2).fit(X, y)


@pytest.mark.parametrize(
    ("covariates", "error", "message"),
    [
        (YEAR[:5], ValueError, "5 values; there are 150 documents"),
        ("year", TypeError, "array or a data frame"),
        (np.where(np.arange(D) == 7, np.nan, YEAR), ValueError, "covariate 'x0' is missing in document 7"),
        (np.zeros((D, 0)), ValueError, "no column"),
        *((YEAR * unit, ValueError, "'x0' has values too large or too small") for unit in (1e300, 1e151, 1e98, 1e-101)),
        (np.where(YEAR > 2005, 1e308, -1e308), ValueError, "'x0' has values too large or too small"),
        (np.where(YEAR > 2005, 1e-300, 0), ValueError, "'x0' has values too large or too small"),
        ({"a": YEAR, "b": [None] * D}, ValueError, "covariate 'b' is missing in documents 0, 1"),
        (YEAR.astype(int).astype("M8[Y]"), TypeError, "datetime64"),
        ([date(2000 + d, 1, 1) for d in range(D)], TypeError, "type date"),
        ([timedelta(d) for d in range(D)], TypeError, "type timedelta"),
        ({"a": [datetime(2000 + d, 1, 1, tzinfo=UTC) for d in range(D)]}, TypeError, "type datetime"),
        (np.ma.masked_array(YEAR, YEAR > 2005), ValueError, "covariates has masked entries"),
        (np.ma.masked_array(np.column_stack([YEAR, YEAR]), np.eye(D, 2)), ValueError, "masked entries"),
        ({"a": YEAR, "b": np.ma.masked_array(YEAR, YEAR > 2005)}, ValueError, "'b' has masked entries"),
        ({"a": [[1], [1, 2]] * (D // 2)}, TypeError, r"'a'\[0\] = \[1\] is not hashable"),
        ({"a": YEAR, "b": sp.csr_array(np.eye(D))}, ValueError, "'b' must have one value for each document"),
        (sp.coo_array(YEAR[:5]), ValueError, "5 values; there are 150 documents"),
        (YEAR * 1e-300, ValueError, "'x0' has values too large or too small"),
    ],
)
def test_bad_covariates(covariates, error, message):
    lda = make(max_iter=5)
    with pytest.raises(error, match=message):
        lda.fit(X, covariates=covariates)
    assert not hasattr(lda, "coef_")


def test_formulas_and_transformers_have_the_columns_of_topic_effects():
    """The same numbers, and all levels; and the basis of the splines is that of the fit in new documents."""
    data = {"year": YEAR, "source": SOURCE}
    lda = make(formula="source * bs(year, df=4)", max_iter=5).fit(X, covariates=data)
    table = topic_effects(lda, X, data, formula="source * bs(year, df=4)", n_draws=2)
    terms = [row["term"] for row in table] if isinstance(table, list) else table["term"].tolist()
    # The table compares levels with the first one.
    names = [name for name in lda.covariate_names_ if "press" not in name]
    assert names == terms[1 : len(terms) // lda.n_components]
    some = {"year": YEAR[5:9], "source": SOURCE[5:9]}
    assert_array_equal(lda.document_prior(some), lda.document_prior(data)[5:9])
    assert_array_equal(pickle.loads(pickle.dumps(lda)).document_prior(some), lda.document_prior(some))
    with pytest.raises(ValueError, match="extrapolation"):
        lda.document_prior(some | {"year": YEAR[5:9] + 99})
    spline = make(transformer=SplineTransformer(include_bias=False), max_iter=5).fit(X, covariates=YEAR)
    assert spline.covariate_names_.tolist() == [f"x0_sp_{j}" for j in range(6)]
    assert_array_equal(spline.document_prior(YEAR[5:9]), spline.document_prior(YEAR)[5:9])
    by_hand = make(max_iter=5).fit(X, covariates=SplineTransformer(include_bias=False).fit_transform(YEAR[:, None]))
    assert_allclose(spline.coef_, by_hand.coef_, rtol=1e-9)
    plain = make(max_iter=5).fit(X, covariates=data)
    formula = make(formula="year + source", max_iter=5).fit(X, covariates=data)
    assert_allclose(plain.coef_, formula.coef_, rtol=1e-9)
    assert plain.covariate_names_.tolist() == formula.covariate_names_.tolist()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"formula": "s(year)"}, ValueError, r"a spline bs\(x, df=4\)"),
        ({"formula": "1:5 ~ year"}, ValueError, "several parts"),
        ({"formula": "year + I(year^2)"}, ValueError, r"write \*\*"),
        ({"formula": "1"}, ValueError, "no term but the intercept"),
        ({"formula": "year", "transformer": SplineTransformer()}, ValueError, "not both"),
        ({"formula": 3}, ValueError, "'formula' parameter"),
        ({"transformer": "splines"}, ValueError, "'transformer' parameter"),
    ],
)
def test_bad_formulas(given, error, message):
    with pytest.raises(error, match=message):
        make(**given).fit(X, covariates={"year": YEAR})
    if "formula" in given:
        with pytest.raises(ValueError):
            make(**given).fit(X)


def test_a_formula_without_covariates_is_refused():
    with pytest.raises(ValueError, match="the formula needs covariates"):
        make(formula="year").fit(X)


def test_dates_of_pandas_and_polars_are_refused():
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame({"day": pandas.date_range("2020", periods=D, tz=tz)}) for tz in (None, "UTC")]
    frames += [frame["day"] for frame in frames] + [frames[0]["day"].astype(object)]
    with suppress(ImportError):
        import polars

        frames += [polars.DataFrame({"day": frame["day"].to_list()}) for frame in frames[:2]]
    for frame in frames:
        with pytest.raises(TypeError, match=r"covariate 'day' has values of type .*: give a real number"):
            make(max_iter=2).fit(X, covariates=frame)


def test_other_values_on_a_scale_are_refused():
    pandas = pytest.importorskip("pandas")
    periods = pandas.period_range("2000-01", periods=D, freq="M")
    days = pandas.Categorical(pandas.date_range("2020", periods=5)[np.arange(D) % 5])
    for values in (periods, pandas.Series(periods), days, pandas.DataFrame({"x0": days})):
        with pytest.raises(TypeError, match=r"covariate 'x0' has values of type .*: give a real number"):
            make(max_iter=2).fit(X, covariates=values)


def test_a_covariate_may_have_the_name_intercept():
    lda = make(max_iter=2).fit(X, covariates={"intercept": YEAR, "year": SOURCE})
    assert lda.covariate_names_.tolist() == ["intercept", "year[press]", "year[radio]"]
    with pytest.raises(ValueError, match="rename"):
        make(max_iter=2, formula="Intercept + year").fit(X, covariates={"Intercept": YEAR % 7, "year": YEAR})


def test_all_forms_of_one_number_are_the_same():
    lda = make(max_iter=4)
    expected = lda.fit(X, covariates=YEAR).coef_
    forms = [sp.coo_array(YEAR), {"a": sp.coo_array(YEAR)}, [Decimal(str(y)) for y in YEAR], np.ma.array(YEAR)]
    for library in ("pandas", "polars"):
        with suppress(ImportError):
            forms.append(import_module(library).Series(YEAR))
    for form in forms:
        assert_array_equal(clone(lda).fit(X, covariates=form).coef_, expected)


def test_categories_of_polars_and_of_pandas():
    for library, kinds in (("polars", ["Categorical", "Enum"]), ("pandas", ["CategoricalDtype"])):
        with suppress(ImportError):
            module = import_module(library)
            for kind in kinds:
                dtype = getattr(module, kind)(*([["radio", "press"]] if kind != "Categorical" else []))
                values = module.Series(SOURCE, dtype=dtype)
                lda = make(max_iter=2).fit(X, covariates=values)
                order = "press", "radio"
                order = order if kind == "Categorical" else order[::-1]
                assert lda.covariate_names_.tolist() == [f"x0[{each}]" for each in order]


def test_a_series_of_another_name(fitted):
    pandas = pytest.importorskip("pandas")
    year = pandas.Series(YEAR, name="year")
    named, unnamed = make(max_iter=2).fit(X, covariates=year), make(max_iter=2).fit(X, covariates=YEAR)
    for ask in (named.document_prior, lambda covariates: named.transform(X, covariates=covariates)):
        with pytest.raises(ValueError, match="no column 'year'"):
            ask(year.rename("month"))
    for own in (year, YEAR, year.rename(None)):
        assert_array_equal(named.document_prior(own), unnamed.document_prior(own))


def test_too_many_terms_are_refused(monkeypatch):
    """An identifier as a category: a sweep would take minutes."""
    X = np.ones((1002, 2), int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(ValueError, match=r"1002 terms, 1001 .*'id'"):
            CovariateLDA(2, max_iter=2).fit(
                X, covariates={"y": np.arange(1002), "id": [f"{d % 1001}" for d in range(1002)]}
            )
    monkeypatch.setattr("os.sysconf", lambda name: 1024)
    numbers = np.random.default_rng(0).standard_normal((250, 200))
    with pytest.raises(MemoryError, match="3 topics on 200 terms"):
        make(max_iter=2).fit(X[:250], covariates=numbers)
    monkeypatch.setattr("os.sysconf", lambda name: 512)
    with pytest.raises(MemoryError, match=r"200 terms .*250 documents"):
        design_of(np.eye(250, 200))


def test_one_value_for_all_documents_is_refused():
    X = np.ones((6, 4), int)
    lda = CovariateLDA(2, max_iter=2, random_state=0).fit(X, covariates={"a": np.arange(6.0)})
    for call in (lda.transform, lda.score):
        with pytest.raises(ValueError, match=r"covariate 'a' .*each document"):
            call(X, covariates={"a": 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coef_scale": 0.0}, "coef_scale"),
        ({"coef_scale": 1e-7}, "between 1e-06 and 1000"),
        ({"learn_priors": "symmetric"}, "not possible"),
        ({"doc_topic_prior": [1.0, 1.0]}, "doc_topic_prior has shape"),
        ({"burn_in": 200}, "leaves none"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options).fit(X, covariates=YEAR)


def test_new_documents_need_the_covariates_of_the_fit(fitted):
    for covariates, message in [
        ({"year": YEAR}, "no column 'source'"),
        (YEAR, "has 1 columns; the fit had 2: year, source"),
        ({"year": YEAR[:3], "source": SOURCE[:3]}, "3 values; there are 150"),
        ({"year": YEAR, "source": SOURCE[:3]}, "3 values; there are 150"),
        ({"year": [1e308] * D, "source": SOURCE}, None),
    ]:
        if message is None:
            assert np.isfinite(fitted.transform(X, covariates=covariates)).all()
            continue
        with pytest.raises(ValueError, match=message):
            fitted.transform(X, covariates=covariates)


def test_a_number_of_the_fit_is_no_date_of_new_documents():
    lda = make(max_iter=2).fit(X, covariates={"year": YEAR})
    for values in (YEAR.astype(int).astype("M8[Y]"), [date(2000 + d, 1, 1) for d in range(D)], YEAR * 1j):
        with pytest.raises(TypeError, match=r"covariate 'year' has values of type .*: give a real number"):
            lda.document_prior({"year": values})


def test_an_array_for_the_covariates_of_a_frame_has_them_in_their_order(fitted):
    rows = [[year, source] for year, source in zip(YEAR.tolist(), SOURCE.tolist(), strict=True)]
    assert_array_equal(fitted.document_prior(rows), fitted.document_prior(Z))
    unnamed = make(max_iter=2).fit(X, covariates=rows)
    assert unnamed.covariate_names_.tolist() == ["x0", "x1[press]", "x1[radio]"]
    with pytest.raises(ValueError, match="no column 'x0'"):
        unnamed.document_prior(Z)


def test_transformers_take_dicts_of_columns():
    lda = make(transformer=SplineTransformer(include_bias=False), max_iter=5).fit(X, covariates={"year": YEAR})
    assert lda.covariate_names_.tolist() == [f"year_sp_{j}" for j in range(6)]
    some = {"other": ["a"] * 4, "year": YEAR[5:9]}
    assert_array_equal(lda.document_prior(some), lda.document_prior({"year": YEAR})[5:9])


def test_functions_that_take_collections_refuse_them(fitted):
    for ask in (
        lambda: document_table(describe(fitted, X[:3], collections=[1, 1, 2])),
        lambda: held_out_log_likelihood(fitted, X, collections=SOURCE),
        lambda: token_topics(describe(fitted, X[:2], collections=["a", "b"]), document=0),
    ):
        with pytest.raises(TypeError, match="CovariateLDA has no collections"):
            ask()
    assert len(token_topics(fitted, X, document=0))
    with pytest.warns(UserWarning, match="mean covariates of the CovariateLDA"):
        assert len(token_topics(fitted, X[:2], document=0))


def test_the_mean_covariates_in_a_consensus_are_named():
    lda = ConsensusTopics(make(max_iter=20), n_fits=2, min_prevalence=0.5, random_state=0)
    lda.fit(X, covariates=SOURCE)
    with pytest.warns(UserWarning, match="mean covariates of the ConsensusTopics"):
        document_table(lda, X=X[:3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        document_table(lda, X=X)


@pytest.mark.filterwarnings("ignore:X is not the X of the fit")
@pytest.mark.parametrize("effects", [topic_effects, outcome_effects])
def test_the_advice_for_fits_to_samples_of_documents_is_possible(effects):
    lda = ConsensusTopics(make(max_iter=20), n_fits=2, min_prevalence=0.5, resample=0.8, random_state=0)
    lda.fit(X, covariates=SOURCE)
    said = r"give describe\(lda, X, covariates=\.\.\.\).* or a ConsensusTopics of such fits"
    with pytest.raises(TypeError, match=said):
        effects(lda, X, YEAR)
    one = lda.estimators_[0]
    assert effects((one.topic_word_, one.document_prior(SOURCE)), X, YEAR, random_state=0)["estimate"].notna().all()


def test_scores_take_the_covariates_or_refuse(fitted):
    arrays = fitted.topic_word_, fitted.document_prior(Z)
    for score, options in [
        (metrics.held_out_log_likelihood, {"n_temperatures": 5, "random_state": 0}),
        (lambda *args, **known: predictive_perplexity(*args, X, **known), {"n_sweeps": 3, "random_state": 0}),
    ]:
        assert_array_equal(score(fitted, X, covariates=Z, **options), score(arrays, X, **options))
        with pytest.raises(TypeError, match="arrays have no covariates"):
            score(arrays, X, covariates=Z)
        with pytest.raises(TypeError, match="GibbsLDA has no covariates"):
            score(GibbsLDA(2, max_iter=2).fit(X), X, covariates=Z)
    scorer = metrics.make_held_out_scorer(n_temperatures=5)
    assert scorer(fitted, X, covariates=Z) == scorer(arrays, X)
    for call in (
        lambda: metrics.held_out_log_likelihood(fitted, X),
        lambda: predictive_perplexity(fitted, X, X),
        lambda: metrics.compare_topic_models(fitted, arrays, X),
        lambda: scorer(fitted, X),
    ):
        with pytest.raises(TypeError, match=r"alpha of a document depends on its covariates: give describe"):
            call()
    with pytest.raises(TypeError, match="CovariateLDA has covariates of documents"):
        leave_one_out_score(fitted, X, n_draws=10)


@pytest.mark.filterwarnings("ignore:the term .* is a combination of other terms")
@pytest.mark.parametrize("covariates", [np.column_stack([YEAR, YEAR]), np.eye(D), [str(d % 40) for d in range(D)]])
def test_odd_covariates(covariates):
    lda = make(max_iter=12).fit(X, covariates=covariates)
    for values in (lda.coef_, lda.coef_std_, lda.intercept_, lda.doc_topic_prior_):
        assert np.isfinite(values).all()
    assert np.isfinite(lda.transform(X, covariates=covariates)).all()


@pytest.mark.parametrize("counts", [[[0, 1]], [[0, 0], [3, 1]], [[5]]])
def test_tiny_corpora(counts):
    with warnings.catch_warnings():
        # One document has the same value as all.
        warnings.simplefilter("ignore", UserWarning)
        lda = CovariateLDA(2, max_iter=10, random_state=0).fit(counts, covariates=np.arange(len(counts)))
    assert np.isfinite(lda.coef_).all() and np.isfinite(lda.log_joint_trace_).all()


def test_the_prior_at_the_mean_covariates_is_within_the_range_of_the_kernels():
    # Effects of this scale put alpha of a document, and the mean of its logarithm, beyond any number.
    X = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 1]])
    table = {"a": [-0.19, -0.46, -0.28], "b": ["x", "x", "y"]}
    for seed in range(10):
        lda = CovariateLDA(65, coef_scale=1000.0, max_iter=1, random_state=seed).fit(X, covariates=table)
        alpha = np.r_[lda.doc_topic_prior_, lda.document_prior(table).ravel()]
        assert np.isfinite(alpha).all()
        assert (alpha > 0).all()


@pytest.mark.parametrize("constant", [np.ones(D), np.array(["press"] * D)])
def test_a_constant_has_no_effect_and_is_named(constant):
    """Its coefficient would be a draw from the prior, and change the prior of new documents."""
    with pytest.warns(UserWarning, match="the term 'same.*' is the same"):
        lda = make(max_iter=20).fit(X, covariates={"year": YEAR, "same": constant})
    assert lda.covariate_names_.tolist() == ["year"]
    plain = make(max_iter=20).fit(X, covariates={"year": YEAR})
    assert_array_equal(lda.coef_draws_, plain.coef_draws_)
    # New documents with other values have the same prior.
    other = np.arange(D) if constant.dtype == float else ["press", "film"] * (D // 2)
    assert_array_equal(lda.document_prior({"year": YEAR, "same": other}), plain.document_prior({"year": YEAR}))
    with pytest.warns(UserWarning, match="the same in all documents"):
        lda = make(max_iter=20).fit(X, covariates=constant)
    assert lda.coef_.shape == (K, 0) and lda.document_prior(constant).shape == (D, K)


def test_a_new_level_has_the_mean_level_and_the_spread_of_levels(fitted):
    new = {"year": YEAR[:4], "source": ["press", "film", "radio", "film"]}
    with pytest.warns(UserWarning, match="2 of 4 documents, .*document 1"):
        prior = fitted.document_prior(new)
    with pytest.warns(UserWarning, match="no document of the fit had"):
        assert_allclose(fitted.transform(np.zeros((4, V), int), covariates=new), prior / prior.sum(axis=1)[:, None])
    known = fitted.document_prior({"year": YEAR[:4], "source": ["press", "press", "radio", "radio"]})
    assert_array_equal(prior[[0, 2]], known[[0, 2]])
    # Moments of theta under a level that is drawn as the two of the fit, compared with their mean.
    rng, sigma = np.random.default_rng(7), fitted.coef_scale_[1]
    levels = sigma * np.sqrt(1.5) * rng.standard_normal((200_000, K))
    alpha = np.exp(fitted.intercept_ + YEAR[1] * fitted.coef_[:, 0] + levels)
    theta = rng.standard_gamma(alpha)
    theta /= theta.sum(axis=1, keepdims=True)
    found = prior[1]
    mean, total = found / found.sum(), found.sum()
    # Of 2,000 draws with standard deviations of about 0.3, five errors.
    assert_allclose(mean, theta.mean(axis=0), atol=0.035)
    assert_allclose((1 - (mean**2).sum()) / (total + 1), theta.var(axis=0).sum(), rtol=0.1)
    at_mean = np.exp(fitted.intercept_ + YEAR[1] * fitted.coef_[:, 0])
    assert total < 0.8 * at_mean.sum()


def test_levels_of_products_vary_around_the_number(fitted):
    lda = make(formula="source * year", max_iter=20).fit(X, covariates=Z)
    assert lda.covariate_names_.tolist() == [
        *("source[press]", "source[radio]", "year", "source[press]:year", "source[radio]:year")
    ]
    for press, radio in ((0, 1), (3, 4)):
        assert_allclose(lda.coef_[:, press], -lda.coef_[:, radio])
    assert len(set(lda.coef_scale_.tolist())) == 3
    # Sums of zero change no prior.
    columns = lda._prior_of_documents_.design.matrix(Z)
    draws = [draw.values["coefficients"] for draw in lda._results_.states[0].parameters]
    model = lda._prior_of_documents_.model
    of_chain = model.terms.predictors(draws[-1])[model.index]
    assert_allclose(lda.intercept_draws_[-1] + columns @ lda.coef_draws_[-1].T, of_chain, atol=1e-9)
    with pytest.warns(UserWarning, match="1 of 2 documents, .*document 1"):
        prior = lda.document_prior({"year": [2005.0, 2005.0], "source": ["press", "film"]})
    assert np.isfinite(prior).all()
    # Without the number itself, products have nothing to vary around.
    lda = make(formula="source:year", max_iter=5).fit(X, covariates=Z)
    with pytest.raises(ValueError, match=r"is 'film', .*no document of the fit"):
        lda.document_prior({"year": [2005.0], "source": ["film"]})


def test_combinations_of_levels_that_no_document_has_are_new():
    group = np.where(SOURCE == "press", "a", np.array(["a", "b"])[np.arange(D) % 2])
    lda = make(formula="source * group", max_iter=20).fit(X, covariates={"source": SOURCE, "group": group})
    assert "source[press]:group[b]" not in lda.covariate_names_ and len(lda.covariate_names_) == 7
    with pytest.warns(UserWarning, match="1 of 2 documents, .*document 1"):
        prior = lda.document_prior({"source": ["press", "press"], "group": ["a", "b"]})
    assert np.isfinite(prior).all()


def test_levels_of_products_with_several_numbers_vary_around_their_product():
    data = Z | {"length": np.arange(D) % 7}
    with warnings.catch_warnings():
        # No term is a combination of others that are numbers.
        warnings.simplefilter("error", UserWarning)
        lda = make(formula="year * length * source", max_iter=5).fit(X, covariates=data)
    press, radio = (lda.covariate_names_.tolist().index(f"year:length:source[{each}]") for each in ("press", "radio"))
    assert_allclose(lda.coef_[:, press], -lda.coef_[:, radio], atol=1e-12)
    with pytest.warns(UserWarning, match="no document of the fit had"):
        lda.document_prior({"year": [2005.0], "length": [3], "source": ["film"]})


def test_numbers_as_levels_that_are_new_have_one_warning():
    lda = make(formula="C(year)", max_iter=5).fit(X, covariates={"year": YEAR})
    with pytest.warns(UserWarning) as said:
        lda.document_prior({"year": [1900.0]})
    assert len(said) == 1 and "no document of the fit had" in str(said[0].message)


@pytest.mark.parametrize("contrasts", ["poly", "helmert", "diff"])
def test_contrasts_that_levels_do_not_have_are_refused(contrasts):
    with pytest.raises(ValueError, match="effect of each level"):
        make(formula=f"C(source, contr.{contrasts})", max_iter=5).fit(X, covariates=Z)


@pytest.mark.filterwarnings("ignore:.*without names of columns:UserWarning")
def test_other_documents_have_their_own_covariates(fitted):
    """By a description, or as those of effects that have the columns of the model; where one is missing, the mean."""
    new, known = X[:20], {name: values[:20] for name, values in Z.items()}
    described = describe(fitted, new, covariates=known)
    assert_allclose(view(described).doc_topic, fitted.transform(new, covariates=known), rtol=1e-6)
    effects = [
        topic_effects(model, new, known, formula="source", random_state=0)["estimate"]
        for model in (fitted, described, (fitted.topic_word_, fitted.document_prior(known)))
    ]
    for each in effects[:2]:
        assert_allclose(each, effects[2])
    gap = {"year": np.where(np.arange(20) == 3, np.nan, known["year"]), "source": known["source"]}
    alpha = view(describe(fitted, new, covariates=gap)).alpha
    assert_array_equal(alpha[3], fitted.doc_topic_prior_)
    assert_array_equal(np.delete(alpha, 3, axis=0), np.delete(fitted.document_prior(known), 3, axis=0))
    # A column that the model does not have may lack values.
    noted = known | {"note": [None, *range(19)]}
    assert_array_equal(view(describe(fitted, new, covariates=noted)).alpha, fitted.document_prior(known))
    merged = merge_topics(fitted, [[0, 1]])
    found = view(describe(merged, new, covariates=known))
    assert_allclose(found.doc_topic.max(axis=1), np.maximum(*np.sort(found.doc_topic)[:, -2:].T))
    assert_allclose(found.alpha, merged.document_prior(known))
    with pytest.raises(TypeError, match="GibbsLDA has no covariates"):
        view(describe(GibbsLDA(2, max_iter=2).fit(X), new, covariates=known))


def test_proportions_are_means_over_draws_with_an_alpha_each():
    lda = make(max_iter=60, n_draws=5, point_estimate="cgs").fit(X, covariates=Z)
    results, thetas = lda._results_, []
    draws, documents = results.kept_draws(), results.corpus.token_documents
    for i, topics in enumerate(draws.topics):
        theta = draws.priors_at(i).doc_of().copy()
        np.add.at(theta, (documents, topics), 1)
        thetas.append(theta / theta.sum(axis=1, keepdims=True))
    assert len(thetas) > 1
    assert_allclose(lda.doc_topic_, np.mean(thetas, axis=0), rtol=1e-5)
