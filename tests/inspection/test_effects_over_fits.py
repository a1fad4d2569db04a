"""effects_over_fits and effect_sentences: fits that can be repeated, topics that are found, what is said of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import CollapsedVariationalLDA, CovariateLDA, GibbsLDA, LabeledLDA, merge_topics
from sklda.datasets import make_lda_corpus
from sklda.inspection import effect_sentences, effects_over_fits, permutation_test, topic_effects
from sklda.metrics import match_topics

D = 80
CORPUS = make_lda_corpus(D, 40, 3, doc_length=80, topic_word_prior=0.05, random_state=0)
X = CORPUS.data
FRAME = pd.DataFrame({"year": np.arange(D) / 10, "side": ["north", "south"] * (D // 2)})
LDA = GibbsLDA(3, max_iter=60, random_state=0).fit(X).set_topic_names(["a", "b", "c"])


@pytest.fixture(scope="module")
def over_fits():
    return effects_over_fits(LDA, X, FRAME, n_components=[2, 3], n_fits=2, random_state=0)


def test_fit_zero_is_the_model_itself(over_fits):
    own = over_fits[over_fits["fit"] == 0].reset_index(drop=True)
    expected = topic_effects(LDA, X, FRAME, random_state=0)
    columns = [name for name in expected if name in own]
    pd.testing.assert_frame_equal(own[columns], expected[columns], check_dtype=False)
    assert own["found"].all() and (own["distance"] == 0).all() and (own["matched"] == own["topic"]).all()
    assert (own["seed"] == 0).all()


def test_fits_can_be_repeated(over_fits):
    assert over_fits.groupby(["topic", "term"])["fit"].apply(list).tolist() == [[0, 1, 2, 3, 4]] * 9
    assert over_fits["n_components"].tolist() == [3, 2, 2, 3, 3] * 9
    row = over_fits[(over_fits["topic"] == 1) & (over_fits["term"] == "year") & (over_fits["fit"] == 4)].iloc[0]
    again = clone(LDA).set_params(n_components=3, random_state=int(row["seed"])).fit(X)
    found = match_topics(LDA, again)
    assert row["matched"] == found.nearest_in_b[1] and row["distance"] == found.distance_in_b[1]
    again.set_topic_names(["x", "y", "z"])
    effects = topic_effects(again, X, FRAME, topics=[row["matched"]], random_state=0).set_index("term")
    assert row["found"] and row["estimate"] == pytest.approx(effects.loc["year", "estimate"])
    assert row["high"] == pytest.approx(effects.loc["year", "high"])


def test_topics_that_are_not_found_have_no_effects():
    # A fit of one topic has the mean of all, which is none of them.
    table = effects_over_fits(LDA, X, FRAME, n_components=[1], n_fits=1, topics={"two": [0, 1]}, random_state=0)
    again = table[table["fit"] == 1]
    assert (again["distance"] > 0.5).all() and not again["found"].any() and again["estimate"].isna().all()
    assert table["matched"].tolist() == [(0, 1), (0,)] * 3 and (table["topic"] == (0, 1)).all()
    said = effect_sentences(topic_effects(LDA, X, FRAME, topics={"two": [0, 1]}, random_state=0), over_fits=table)
    assert "Of 1 further fits with 1 topics, 0 found this topic." in said[0]


def test_pipelines_and_models_with_covariates():
    texts = [" ".join(f"w{v:02}" for v in np.repeat(np.arange(40), row)) for row in X.toarray()]
    words = [f"w{v:02}" for v in range(40)]
    pipeline = make_pipeline(CountVectorizer(vocabulary=words), clone(LDA)).fit(texts)
    table = effects_over_fits(pipeline, texts, FRAME, n_fits=1, topics=[0], random_state=0)
    assert table["n_components"].tolist() == [3, 3] * 3
    knows = CovariateLDA(3, max_iter=20, random_state=0).fit(X, covariates=FRAME).set_topic_names(["a", "b", "c"])
    table = effects_over_fits(knows, X, FRAME, params={"covariates": FRAME}, n_fits=1, random_state=0)
    assert (table.loc[table["found"], "attenuation"] == 1).all()


def test_variational_fits():
    model = CollapsedVariationalLDA(3, max_iter=20, random_state=0).fit(X).set_topic_names(["a", "b", "c"])
    table = effects_over_fits(model, X, FRAME, n_fits=1, random_state=0)
    assert table["found"].all() and table["fit"].tolist() == [0, 1] * 9
    with pytest.raises(ValueError, match="X is not the X of the fit"):
        effects_over_fits(model, X[::-1], FRAME)
    with pytest.raises(TypeError, match="the model is fitted again: give an estimator of this package, after a call"):
        effects_over_fits(clone(model).partial_fit(X), X, FRAME)


def test_what_is_refused():
    with pytest.raises(ValueError, match="X is not the X of the fit"):
        effects_over_fits(LDA, X[::-1], FRAME)
    with pytest.raises(TypeError, match="the model is fitted again: give an estimator of this package"):
        effects_over_fits((LDA.topic_word_, 0.1), X, FRAME)
    merged = merge_topics(LDA, [[0, 1]])
    with pytest.raises(TypeError, match=r"give the model that they were merged of, and sums of its topics, as in top"):
        effects_over_fits(merged, X, FRAME)
    with pytest.raises(ValueError, match="n_fits"):
        effects_over_fits(LDA, X, FRAME, n_fits=0)
    with pytest.raises(ValueError, match="n_components has the same number twice"):
        effects_over_fits(LDA, X, FRAME, n_components=[3, 3])
    labeled = LabeledLDA(max_iter=10, random_state=0).fit(X, FRAME["side"])
    with pytest.raises(TypeError, match="LabeledLDA has no parameter n_components"):
        effects_over_fits(labeled, X, FRAME)


# --- Sentences ------------------------------------------------------------------------------------------------------


def of_row(**values):
    """A table of one effect."""
    row = {"topic": 0, "name": "0: war", "term": "side[south]", "base": "north", "estimate": -0.123, "low": -0.2}
    row |= {"high": -0.046, "p_value": 0.00071, "found_in": 3, "attenuation": 0.914}
    table = pd.DataFrame([row | values])
    table.attrs = {
        **{"level": 0.9, "n_documents": 1234, "n_clusters": 20, "has_weights": False, "n_chains": 4},
        **{"model": "GibbsLDA", "n_topics": 20},
    }
    return table


def test_sentences():
    first, method = effect_sentences(of_row())
    assert first == (
        "The mean proportion of topic 0 (war) is 12 percentage points smaller for side south than for north (90 % "
        "interval \N{MINUS SIGN}20 to \N{MINUS SIGN}4.6, p < 0.001)."
    )
    assert "GibbsLDA with 20 topics (sklda " in method and "1,234 documents" in method
    assert "CR2 errors for 20 clusters. The prior of the proportions shrinks effects: by simulation, 91 % of" in method
    assert method.endswith("Each of these topics was found by at least 3 of 4 chains or fits.")
    assert effect_sentences(of_row(found_in=4))[1].endswith("was found by all 4 chains or fits.")
    first, _ = effect_sentences(
        of_row(term="year", base="", estimate=0.00052, low=-1.0, high=1, p_value=0.4, name="x: y")
    )
    assert first == (
        "The mean proportion of topic x: y changes by +0.052 percentage points when year grows by one (90 % interval "
        "\N{MINUS SIGN}100 to +100, p = 0.40), so it may have either sign."
    )
    first, _ = effect_sentences(of_row(low=np.nan, high=np.nan, p_value=np.nan))
    assert first.endswith("for side south than for north; its error is not known.")
    assert len(effect_sentences(of_row(term="intercept"))) == 1
    with pytest.raises(ValueError, match="effects has no row"):
        effect_sentences(of_row()[:0])


def test_sentences_on_products():
    """A product is no level that is compared with another, and its parts have their effects where it is zero."""
    frame = FRAME.assign(age=np.arange(D) % 5)
    effects = topic_effects(LDA, X, frame, formula="year * side + C(age)", topics=[1], random_state=0)
    said = dict(zip(effects["term"][1:], effect_sentences(effects), strict=False))
    assert " with year:side[south], compared with north (" in said["year:side[south]"]
    assert " for side south than for north, where its products with other terms are zero (" in said["side[south]"]
    assert " when year grows by one, where its products with other terms are zero (" in said["year"]
    assert " for age 1 than for 0 (" in said["C(age)[1]"]
    product, _ = effect_sentences(of_row(term="age[2]:side[south]", base="1:north"))
    assert " percentage points with age[2]:side[south], compared with 1:north (" in product


def test_sentences_have_the_checks(over_fits):
    effects = topic_effects(LDA, X, FRAME, topics=[1], random_state=0)
    test = permutation_test(LDA, X, FRAME, topics=[0, 1], n_permutations=19, random_state=0)
    said = effect_sentences(effects[effects["term"] == "year"], permutations=test, over_fits=over_fits)
    p = test[(test["topic"] == 1) & (test["term"] == "year")]["p_value"].item()
    shown = f"{p:.2f}" if p >= 0.1 else f"{p:.2g}"
    assert f"A permutation test (19 exchanges between 80 documents) has p = {shown}." in said[0]
    assert "Of 4 further fits with 2 or 3 topics, " in said[0] and len(said) == 2
    # Tables of other effects add nothing.
    assert effect_sentences(effects, permutations=test[:0], over_fits=over_fits[:0]) == effect_sentences(effects)


def test_tables_without_what_was_done_are_refused(over_fits, tmp_path):
    effects = topic_effects(LDA, X, FRAME, topics=[1], random_state=0)
    effects.to_csv(tmp_path / "effects.csv")
    for wrong in (pd.read_csv(tmp_path / "effects.csv"), over_fits):
        with pytest.raises(ValueError, match="effects must be a table of topic_effects, as it was returned"):
            effect_sentences(wrong)
