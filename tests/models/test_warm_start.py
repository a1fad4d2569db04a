"""Going on where a fit ended."""

import copy
import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from stub_callbacks import EndAfter

from sklda import HDPLDA, CollapsedVariationalLDA, CompoundLDA, CovariateLDA, EmpiricalBayesLDA, GibbsLDA, TopicCountLDA
from sklda._sampling.choice import SAMPLERS


def make(**parameters):
    # The length of an annealed start depends on max_iter, so two fits would not be one longer fit.
    first = {"n_components": 4, "init": "random", "learn_priors": False, "max_iter": 5, "random_state": 0}
    return GibbsLDA(**{**first, **parameters})


BURN_IN = {"burn_in": 10, "random_state": 0}
COLLECTIONS = {"collections": np.array(list("abc"))[np.arange(150) % 3]}
# Models whose first state or burn-in does not depend on max_iter, and what else their documents have.
CONTINUED = {
    "one chain": (make(), {}),
    "chains": (make(n_chains=3), {}),
    "alpha per topic": (make(doc_topic_prior=[0.1, 1, 0.5, 2]), {}),
    "eta per topic and word": (make(topic_word_prior=np.full((4, 60), 0.1), n_chains=3), {}),
    **{
        f"{sampler}, {init}": (make(n_components=6, sampler=sampler, init=init), {})
        for sampler in SAMPLERS[1:]
        for init in ("random", "sequential", "prune")
    },
    "collections": (
        CompoundLDA(3, learn_priors=True, collection_topic_prior=(2.0, 2.0), n_chains=2, draw_every=3, **BURN_IN),
        COLLECTIONS,
    ),
    "collections, eta": (CompoundLDA(3, learn_priors=True, topic_word_prior=0.1, **BURN_IN), COLLECTIONS),
    "number": (CovariateLDA(3, n_chains=2, **BURN_IN), {"covariates": np.arange(150) ** 2 % 7}),
    "category": (CovariateLDA(3, topic_word_prior=0.1, **BURN_IN), {"covariates": COLLECTIONS["collections"]}),
    "HDP": (HDPLDA(max_components=30, n_chains=1, draw_every=3, **BURN_IN), {}),
    "HDP of collections": (HDPLDA(max_components=30, n_chains=2, **BURN_IN), COLLECTIONS),
    **{
        f"number of topics, {prior}": (
            TopicCountLDA(max_components=9, doc_topic_prior=prior, topic_word_prior=prior, **BURN_IN | {"burn_in": 20}),
            {},
        )
        for prior in (None, "1/T")
    },
}


@pytest.mark.filterwarnings("ignore:The draws use up to")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CONTINUED)
def test_two_fits_are_one_longer_fit(counts, same_fit, same, name, monkeypatch):
    # The evidence of modes is most of the time of a short fit.
    monkeypatch.setattr("sklda._models.topic_count.count_modes._TEMPERATURES", 10)
    model, documents = CONTINUED[name]
    first = model.burn_in * 2 if isinstance(model.burn_in, int) else 5
    whole = clone(model).set_params(max_iter=first + 7).fit(counts, **documents)
    lda = clone(model).set_params(max_iter=first).fit(counts, **documents)
    lda = pickle.loads(pickle.dumps(lda))
    # Another random_state has no say any more: the chains go on with their own streams. Equal counts and labels may
    # come in another form.
    documents = {key: values.tolist() for key, values in documents.items()}
    lda.set_params(warm_start=True, max_iter=7, random_state=9, n_jobs=2).fit(
        counts.toarray().astype(float), **documents
    )
    assert same_fit(lda, whole)
    assert lda.n_iter_ == first + 7 == lda.log_joint_trace_.shape[1]
    assert same(lda.transform(counts), whole.transform(counts))


def test_without_warm_start_every_fit_begins_anew(counts, same_fit):
    lda = make().fit(counts)
    assert same_fit(clone(lda).fit(counts).fit(counts), lda)


def test_nothing_of_an_earlier_fit_stays(counts, same_fit):
    lda = make(n_chains=2).fit(counts)
    assert lda.topic_stability_.shape == (4,)
    assert same_fit(lda.set_params(n_chains=1).fit(counts), make().fit(counts))


EB = EmpiricalBayesLDA(2, max_iter=8, n_chains=1, random_state=0)
COUNT = TopicCountLDA(min_components=1, max_components=2, max_iter=40, random_state=0)
COMPOUND = CompoundLDA(3, max_iter=6, random_state=0)
WAYS = {
    "GibbsLDA": (GibbsLDA(3, max_iter=3, random_state=0), [{"n_chains": 2}, {"warm_start": True}]),
    "EmpiricalBayesLDA": (EB, [{"error_ratio": 0.0}, {"n_chains": 2}]),
    "TopicCountLDA": (COUNT, [{"topic_word_prior": 0.2}, {"draw_every": 1, "warm_start": True}]),
    "CollapsedVariationalLDA": (
        CollapsedVariationalLDA(3, max_iter=3, random_state=0),
        [{"learning_method": "online"}, {"evaluate_every": 1}, {"learn_priors": False}],
    ),
    "CompoundLDA": (
        COMPOUND,
        [{"draw_every": 1, "warm_start": True}, {"learn_priors": True}, {"collection_topic_prior": (1.0, 1.0)}],
    ),
    "CovariateLDA": (
        CovariateLDA(3, max_iter=6, random_state=0),
        [{"draw_every": 1, "warm_start": True}, {"n_chains": 2}, {"coef_scale": 1.0}],
    ),
}


@pytest.mark.filterwarnings("ignore:The words of the topics depend:UserWarning")
@pytest.mark.filterwarnings("ignore:CovariateLDA has no covariates:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", WAYS)
def test_nothing_of_an_earlier_fit_stays_after_any_other(counts, same_fit, name):
    """All pairs: what a fit leaves is what it leaves in a fresh clone, on another corpus."""
    estimator, ways = WAYS[name]
    X, Y = counts[5:12], counts[30:36].toarray()
    ways = [clone(estimator).set_params(**way) for way in ways]
    earlier, fresh = ([clone(way).fit(data) for way in ways] for data in (X, Y))
    for (first, left), (second, expected) in itertools.product(
        zip(ways, earlier, strict=True), zip(ways, fresh, strict=True)
    ):
        names = vars(expected).keys() - second.get_params().keys()
        assert all(name.endswith("_") for name in names)
        if not getattr(second, "warm_start", False):
            again = copy.deepcopy(left).set_params(**second.get_params()).fit(Y)
            assert same_fit(again, expected), (first, second)


def test_priors_may_change(counts):
    lda = make(warm_start=True).fit(counts)
    trace = lda.log_joint_trace_[0]
    lda.set_params(doc_topic_prior=5.0, topic_word_prior=[0.3] * 60).fit(counts)
    assert lda.doc_topic_prior_ == 5
    np.testing.assert_array_equal(lda.topic_word_prior_, 0.3)
    np.testing.assert_array_equal(lda.log_joint_trace_[0, :5], trace)
    assert lda.n_iter_ == 10
    np.testing.assert_allclose(lda.components_.sum(), counts.sum() + 0.3 * 4 * 60)


def test_a_learnt_prior_may_be_given_but_a_given_one_cannot_be_learnt(tokens):
    lda = GibbsLDA(4, max_iter=30, warm_start=True, random_state=0).fit(tokens)
    eta = lda.topic_word_prior_
    lda.set_params(doc_topic_prior=0.5).fit(tokens)
    assert (lda.doc_topic_prior_, lda.topic_word_prior_) == (0.5, eta)
    before = dict(vars(lda.set_params(doc_topic_prior=None)))
    with pytest.raises(
        ValueError, match="a given doc_topic_prior, but doc_topic_prior is now None, and priors are lea"
    ):
        lda.fit(tokens)
    assert vars(lda) == before
    assert lda.set_params(warm_start=False).fit(tokens).doc_topic_prior_.shape == (4,)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("doc_topic_prior", [0.1, 1, 5, 2]),
        ("topic_word_prior", np.full((4, 60), 0.1)),
        ("topic_word_prior", [0.1] * 60),
    ],
)
@pytest.mark.parametrize("learn_priors", [True, "symmetric", False])
def test_an_array_that_becomes_none(tokens, name, given, learn_priors):
    lda = GibbsLDA(4, learn_priors=learn_priors, max_iter=2, warm_start=True, random_state=0, **{name: given})
    lda.fit(tokens).set_params(**{name: None})
    if learn_priors:
        with pytest.raises(ValueError, match=f"a given {name}, but {name} is now None"):
            lda.fit(tokens)
    else:
        # No prior is learnt: None is 1 / n_components, as in a first fit.
        assert getattr(lda.fit(tokens), f"{name}_") == 0.25


@pytest.fixture(scope="module")
def tokens(counts):
    """Enough of them for priors to be learnt."""
    tokens = sp.vstack([counts, counts])
    assert tokens.sum() >= 1000
    return tokens


@pytest.mark.parametrize(
    ("change", "value", "message"),
    [
        ("X", lambda X: X[::-1], "continues the previous fit, but this X is different"),
        ("X", lambda X: X[:-1], "continues the previous fit, but this X is different"),
        ("X", lambda X: X[:, :-1], "continues the previous fit, but this X is different"),
        ("n_components", 5, "continues a fit with n_components=4, but n_components is now 5. Fit with warm_start"),
        ("n_chains", 3, "continues a fit with n_chains=2, but n_chains is now 3. Fit with warm_start=False"),
        ("n_chains", 1, "continues a fit with n_chains=2, but n_chains is now 1"),
    ],
)
def test_what_may_not_change(counts, same, change, value, message):
    lda = make(warm_start=True, n_chains=2).fit(counts)
    expected = pickle.loads(pickle.dumps(lda)).fit(counts)
    X = value(counts) if change == "X" else counts
    if change != "X":
        lda.set_params(**{change: value})
    before = pickle.loads(pickle.dumps(vars(lda)))
    with pytest.raises(ValueError, match=f"warm_start=True {message}"):
        lda.fit(X)
    assert same(vars(lda), before)
    lda.set_params(n_components=4, n_chains=2).fit(counts)
    assert same(vars(lda), vars(expected))


@pytest.mark.parametrize("changed", [{"burn_in": 70}, {"tol": 1e-9}, {"tol": 10.0}])
def test_learnt_priors_stay(tokens, changed):
    """Also with a longer burn-in than that of the first fit, and if `tol` has ended or will end it."""
    for first in ({}, {"tol": 10.0}):
        lda = GibbsLDA(3, max_iter=90, warm_start=True, random_state=0, **first).fit(tokens)
        alpha, eta, n_burn_in = lda.doc_topic_prior_.copy(), lda.topic_word_prior_, lda.n_burn_in_
        assert len(set(alpha)) == 3
        lda.set_params(max_iter=60, **changed).fit(tokens)
        np.testing.assert_array_equal(lda.doc_topic_prior_, alpha)
        assert (lda.topic_word_prior_, lda.n_burn_in_) == (eta, n_burn_in)


def test_the_burn_in_ends_before_the_last_sweep_of_the_shortest_chain(counts):
    pytest.importorskip("sklearn.callback")
    lda = make(n_chains=2, warm_start=True).set_callbacks(EndAfter(2)).fit(counts)
    lda.set_callbacks()
    assert [len(trace[~np.isnan(trace)]) for trace in lda.log_joint_trace_] == [2, 5]
    with pytest.raises(ValueError, match="burn_in=5 leaves none of 5 sweeps"):
        lda.set_params(max_iter=3, burn_in=5).fit(counts)
    lda.set_params(burn_in=4).fit(counts)
