"""permutation_test: estimates, p-values by exchanges of documents, within clusters and of clusters; what it refuses."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer

from sklda import CompoundLDA, CovariateLDA, GibbsLDA
from sklda.datasets import make_lda_corpus
from sklda.inspection import describe, permutation_test, topic_effects
from sklda.inspection._effects import Effects
from sklda.inspection._permutation_test import _exchanges, _matrix

D = 60
X = make_lda_corpus(D, 30, 3, random_state=0).data
LDA = GibbsLDA(3, max_iter=40, n_chains=2, random_state=0).fit(X).set_topic_names(["a", "b", "c"])
TREATED = np.arange(D) % 2
AGE = np.arange(D) * 7 % 13
FRAME = pd.DataFrame({"treated": TREATED, "age": AGE, "site": [f"s{d // 10}" for d in range(D)]})


def test_estimates_are_those_of_topic_effects():
    given = {"weights": 1 + TREATED, "topics": [1], "random_state": 0}
    table = permutation_test(LDA, X, FRAME, permuted=["treated", "site"], n_permutations=5, **given)
    effects = topic_effects(LDA, X, FRAME, **given)
    expected = effects[~effects["term"].isin(["intercept", "age"])].reset_index(drop=True)
    columns = ["topic", "name", "term", "base"]
    pd.testing.assert_frame_equal(table[columns], expected[columns])
    np.testing.assert_allclose(table["estimate"], expected["estimate"], rtol=1e-8)
    assert (table["exchanged"] == "documents").all() and (table["units"] == D).all()
    assert (table["permutations"] == 5).all()


def shifts(effects, names):
    """Exchanges of a smaller group."""
    n = len(effects.frame)
    return "documents", n, lambda rng: np.roll(np.arange(n), rng.integers(n))


@pytest.mark.mutation("sklda.inspection._permutation_test._exchanges", shifts)
def test_p_values_are_those_of_all_exchanges():
    """Four documents have 24 exchanges. Of 4,000 random ones, a part is wrong by 5 standard errors in one of 10^6."""
    values, documents = np.array([0.0, 1.0, 3.0, 7.0]), X[:4]
    table = permutation_test(LDA, documents, values, topics=[0], n_permutations=4000, random_state=1)
    proportions = np.mean(list(Effects.of(documents, LDA, values, random_state=1).draws.theta), axis=0)[:, 0]
    slopes = np.array([abs(np.polyfit(values[list(order)], proportions, 1)[0]) for order in permutations(range(4))])
    exact = (slopes >= slopes[0] * (1 - 1e-9)).mean()
    assert 0 < exact < 1
    assert table["p_value"][0] == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 4000) + 1 / 4000)


def test_an_effect_is_found_and_the_smallest_p_value_is_not_zero():
    share = LDA.doc_topic_[:, 0]
    table = permutation_test(LDA, X, {"x": share}, n_permutations=99, random_state=0).set_index("topic")
    assert table.loc[0, "p_value"] == 0.01


@pytest.mark.parametrize("of_sites", [True, False])
def test_values_of_clusters_are_exchanged_within_them_or_whole(of_sites):
    effects = Effects.of(X, LDA, FRAME, clusters=FRAME["site"] if of_sites else np.arange(D) % 7)
    rng, own = np.random.default_rng(0), np.asarray(effects.clusters)
    exchanged, units, orders = _exchanges(effects, ["treated", "age"])
    assert (exchanged, units) == ("documents within clusters", D)
    for _ in range(5):
        order = orders(rng)
        assert sorted(order) == list(range(D)) and (own[order] == own).all() and (order != np.arange(D)).any()
    exchanged, units, orders = _exchanges(effects, ["site"])
    if not of_sites:
        assert exchanged == "documents within clusters"
        return
    assert (exchanged, units) == ("clusters", 6)
    for _ in range(5):
        new = FRAME["site"].to_numpy()[orders(rng)]
        # Every cluster has the value of one, and each value is that of one cluster.
        assert len(set(zip(FRAME["site"], new, strict=True))) == 6 == len(set(new))


def test_columns_of_covariates_that_stay():
    """Columns of covariates that are exchanged are exchanged, others stay; products are computed again."""
    order = np.random.default_rng(0).permutation(D)
    effects = Effects.of(X, LDA, FRAME, formula="treated + age")
    matrix = _matrix(effects, ["treated"], order)
    np.testing.assert_array_equal(matrix[:, 1], TREATED[order])
    np.testing.assert_array_equal(matrix[:, [0, 2]], effects.matrix[:, [0, 2]])
    effects = Effects.of(X, LDA, FRAME, formula="treated * age")
    matrix = _matrix(effects, ["treated"], order)
    np.testing.assert_array_equal(matrix[:, 3], TREATED[order] * AGE)
    given = {"n_permutations": 5, "topics": [0], "permuted": "treated", "random_state": 0}
    assert permutation_test(LDA, X, FRAME, formula="treated + age", **given)["term"].tolist() == ["treated"]
    both = permutation_test(LDA, X, FRAME, formula="treated * age", **given)["term"].tolist()
    assert both == ["treated", "treated:age"]


def test_what_is_refused():
    for permuted in ("color", []):
        with pytest.raises(ValueError, match=r"permuted .*names of covariates"):
            permutation_test(LDA, X, FRAME, permuted=permuted)
    without = ColumnTransformer([("age", "passthrough", ["age"])])
    with pytest.raises(ValueError, match="no exchange of 'treated'"):
        permutation_test(LDA, X, FRAME, permuted="treated", transformer=without)
    with pytest.raises(ValueError, match="n_permutations"):
        permutation_test(LDA, X, FRAME, n_permutations=0)
    knows = CovariateLDA(3, max_iter=20, random_state=0).fit(X, covariates=FRAME[["treated"]])
    with pytest.raises(ValueError, match="CovariateLDA has 'treated'"):
        permutation_test(knows, X, FRAME[["treated"]])
    # Beside one that the fit did not know, in a product with it, and where the words are those of other documents.
    new = describe(knows, X[::-1], covariates=FRAME[::-1])
    for given, formula in ((knows, None), (knows, "treated:age"), (new, None)):
        with pytest.raises(ValueError, match="the prior of the CovariateLDA has 'treated', 'age', or one of them"):
            documents, frame = (None, FRAME[::-1]) if given is new else (X, FRAME)
            permutation_test(given, documents, frame[["treated", "age"]], formula=formula)
    assert len(permutation_test(knows, X, FRAME, formula="treated + age", permuted="age", n_permutations=3)) == 3
    compound = CompoundLDA(3, max_iter=20, random_state=0).fit(X, collections=FRAME["site"])
    named = describe(compound, X, topic_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="the prior of the CompoundLDA has 'site'"):
        permutation_test(named, covariates=FRAME[["site"]], n_permutations=3)
    # It does not have the treatment.
    assert len(permutation_test(named, covariates=FRAME, permuted="treated", n_permutations=3)) == 3


def test_half_of_all_tests_of_no_effect_have_p_values_up_to_a_half():
    """Of 80 such tests, fewer than 22 or more than 58 have them with a probability of 4e-5."""
    rng = np.random.default_rng(0)
    phi = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    counts = np.array([rng.multinomial(30, row) for row in rng.dirichlet([0.3, 0.3], 12) @ phi])
    model = describe((phi, 0.3), topic_names=["a", "b"])
    given = {"n_permutations": 19, "n_draws": 1, "topics": [0]}
    small = [
        permutation_test(model, counts, {"x": rng.permutation(12)}, random_state=i, **given)["p_value"][0] <= 0.5
        for i in range(80)
    ]
    assert 22 <= sum(small) <= 58
