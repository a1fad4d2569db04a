"""One table of what functions and estimators refuse: the call, the error, and the parts of its message.

Tables of one function's own options are beside its other tests; counts that are not counts are in `test_bad_counts.py`.
"""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from refusals import FITTED, GOOD, make, refuse
from refusals import PHI as THREE
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
    metrics,
)
from sklda.datasets import make_compound_lda_corpus, make_lda_corpus
from sklda.inspection import TopicWordsDisplay, document_table, to_pyldavis, token_topics, top_documents, topic_table
from sklda.metrics import compare_topic_models, held_out_log_likelihood, topic_coherence
from sklda.papers.held_out import held_out_curve, leave_one_out_score, predictive_perplexity, ratio_ais

try:
    import pandas
except ImportError:
    GAPS = ()
else:
    GAPS = pandas.NA, pandas.NaT

X, PHI = np.array([[1, 2], [3, 0]]), np.array([[0.5, 0.5]])


class Flat:
    components_, doc_topic_prior_ = np.ones(3), 1.0


REFUSED = [
    (
        lambda: GibbsLDA(2).fit(X).score(X, sample_weight="x"),
        TypeError,
        "sample_weight must hold one number for each document, got 'x'",
    ),
    *(
        (lambda call=call: call(np.ma.masked_array), ValueError, f"{name} has masked entries, which would be used")
        for name, call in (
            ("sample_weight", lambda masked: GibbsLDA(2).fit(X).score(X, sample_weight=masked([1, 2], [0, 1]))),
            ("doc_topic_prior", lambda masked: GibbsLDA(2, doc_topic_prior=masked([1, 2], [0, 1])).fit(X)),
            ("topic_word_prior", lambda masked: GibbsLDA(2, topic_word_prior=masked([1, 2], [0, 1])).fit(X)),
            ("collections", lambda masked: CompoundLDA(2).fit(X, collections=masked(["a", "b"], [0, 1]))),
            (
                "topic_assignments",
                lambda masked: GibbsLDA.from_assignments(X, masked([0, 1, 1, 0, 0, 1], [0, 0, 0, 0, 0, 1])),
            ),
            ("topic_word", lambda masked: held_out_log_likelihood((masked(PHI, [[0, 1]]), 0.1), X)),
        )
    ),
    (lambda: GibbsLDA(2**62).fit(X), ValueError, "n_components=4611686018427387904 is more than"),
    (lambda: ratio_ais((PHI, 1), (PHI, 1), X, path=PHI), ValueError, "path must be one of ('convex', 'geometric')"),
    (lambda: held_out_log_likelihood((PHI, 0.1), X, n_jobs=1.5), TypeError, "n_jobs must be an int or None, got 1.5"),
    (lambda: held_out_log_likelihood((PHI, 0.1), X, n_jobs="2"), TypeError, "n_jobs must be an int or None, got '2'"),
    (lambda: held_out_curve((PHI, 0.1), X), TypeError, "models must be a list of fitted models"),
    (lambda: predictive_perplexity(Flat(), X, X), ValueError, "components_ of the Flat has shape (3,)"),
    *(
        (lambda a=a: GibbsLDA.from_assignments(X, a), TypeError, "must hold a topic for every token, got")
        for a in (None, 3, "x")
    ),
    (lambda: GibbsLDA(2).fit(SimpleNamespace(X=X, obs=None, var=None)), TypeError, "no matrix of counts", "adata.X"),
    (lambda: GibbsLDA(2).fit([[1, 2], [3]]), ValueError, "X is not a matrix: its rows differ in length"),
    (lambda: GibbsLDA(2, doc_topic_prior=10**400).fit(X), TypeError, "doc_topic_prior must hold real numbers"),
    (lambda: make_lda_corpus(2, 3, 2, doc_topic_prior=10**400), TypeError, "doc_topic_prior must hold real numbers"),
    (lambda: make_compound_lda_corpus([2], 3, 2, collection_topic="x"), TypeError, "collection_topic must hold real"),
    *(
        (
            lambda n=n: predictive_perplexity(FITTED, GOOD, GOOD, n_sweeps=n),
            ValueError,
            f"n_sweeps must be at least 1, got {n}",
        )
        for n in (0, -3)
    ),
    *(
        (lambda n=n: predictive_perplexity(FITTED, GOOD, GOOD, n_sweeps=n), TypeError, "n_sweeps must be an int")
        for n in (1.5, True, "10")
    ),
    *(
        (call, TypeError, "the two arguments are exchanged")
        for call in (
            lambda: token_topics(GOOD, FITTED),
            lambda: to_pyldavis(GOOD, FITTED),
            lambda: document_table(GOOD, X=FITTED),
            lambda: TopicWordsDisplay.from_estimator(GOOD, FITTED),
            lambda: held_out_log_likelihood(GOOD, FITTED),
            lambda: topic_coherence(GOOD, FITTED),
            lambda: topic_coherence(GOOD, make_pipeline(FITTED)),
            lambda: leave_one_out_score(GOOD, FITTED),
            lambda: predictive_perplexity(GOOD, FITTED, GOOD),
        )
    ),
    *(
        (lambda n=n: topic_table(FITTED, n_words=n), TypeError, "n_words must be an int, got")
        for n in (list("abc"), np.array(["a"]), GOOD, sp.csr_matrix(GOOD))
    ),
    (lambda: top_documents(FITTED, n_documents=list("ab")), TypeError, "n_documents must be an int, got ['a', 'b']"),
    (lambda: topic_table(FITTED, n_words=2.5), TypeError, "n_words must be an int, got 2.5"),
    *(
        (lambda y=y: LabeledLDA().fit(X, y), ValueError, *messages)
        for y, *messages in (
            (np.ma.masked_array(X, X == 0), "y has masked entries"),
            (np.ma.masked_array([0, 1], [0, 1]), "y has masked entries"),
            (sp.coo_array(X[:, 0]), "y must have two dimensions, got a coo_array of shape (2,)"),
            (sp.csr_matrix((2, 2**40), dtype=int), "y has 1099511627776 labels, more than 2147483647"),
            (np.zeros(2, [("a", int)]), "y must have one or two dimensions, ", " dtype"),
            (np.fromiter((np.ones(2) for _ in range(2)), object, 2), "y has lists of labels"),
        )
    ),
    (lambda: LabeledLDA().fit(np.ma.masked_array(X, X == 0), X > 1), ValueError, "X has masked entries"),
    *(
        (
            lambda gap=gap: CompoundLDA(2, max_iter=2).fit(X, collections=["a", gap]),
            ValueError,
            "document 1 (1 of 2). Each document needs one: leave these out of X and collections, as in "
            "X[pandas.Series(collections).notna().to_numpy()].",
        )
        for gap in (None, np.nan, np.datetime64("NaT", "s"), *GAPS)
    ),
    (
        lambda: CovariateLDA(2, max_iter=2).fit(X, covariates={"a": [1, np.nan]}),
        ValueError,
        "leave these out of X and covariates, as in X[pandas.DataFrame(covariates).notna().all(axis=1).to_numpy()].",
    ),
    *(
        (lambda call=call, topics=topics: call(topics), error, message)
        for topics, error, message in (
            (np.zeros((0, 3)), ValueError, "topic_word has no topic: it needs at least one row"),
            ([["a", "b", "c"]], TypeError, "topic_word must hold real numbers, got"),
            ([[0.5, 0.5], [1]], TypeError, "topic_word must hold real numbers, got"),
        )
        for call in (
            lambda topics: held_out_log_likelihood((topics, 0.5), GOOD),
            lambda topics: compare_topic_models((topics, 0.5), (THREE, 0.5), GOOD),
            lambda topics: held_out_curve([(topics, 0.5)], GOOD),
        )
    ),
]


@pytest.mark.parametrize("row", REFUSED)
def test_refused(row):
    """With a message of its own, not with one from inside NumPy or joblib."""
    call, error, *parts = row
    with pytest.raises(error, match=".*".join(map(re.escape, parts))):
        call()


BAD_PARAMETERS = [
    ("n_components", 0, "'n_components' parameter of GibbsLDA must be an int in the range .1, inf"),
    ("n_components", -2, "'n_components' parameter of GibbsLDA must be an int"),
    ("n_components", 3.0, "'n_components' parameter of GibbsLDA must be an int"),
    ("n_components", "3", "'n_components' parameter of GibbsLDA must be an int"),
    ("n_components", None, "'n_components' parameter of GibbsLDA must be an int"),
    *(
        (name, value, rf"'{name}' parameter of GibbsLDA must be None, a float in the range \(0.0, inf\)")
        for name in ("doc_topic_prior", "topic_word_prior")
        for value in (0, -0.1, np.nan, np.inf, 1j)
    ),
    ("doc_topic_prior", "auto", "doc_topic_prior = 'auto': a text must be a number over K or T, such as '50/K'"),
    ("topic_word_prior", "auto", r"topic_word_prior' parameter of GibbsLDA must be None, .* or an array-like"),
    *(
        (
            name,
            value,
            rf"{name} = {re.escape(format(value, 'g'))}: a Dirichlet parameter must lie between 1e-12 and 1e\+12",
        )
        for name in ("doc_topic_prior", "topic_word_prior")
        for value in (1e-13, 1e13)
    ),
    ("doc_topic_prior", [1, 1], r"doc_topic_prior has shape \(2,\); it must be a float, or an array of shape \(3,\)"),
    ("doc_topic_prior", np.ones((3, 1)), r"doc_topic_prior has shape \(3, 1\)"),
    ("doc_topic_prior", np.ones((2, 3)), r"doc_topic_prior has shape \(2, 3\)"),
    ("doc_topic_prior", [1, 0, 1], r"doc_topic_prior\[1\] = 0: a Dirichlet parameter must lie between"),
    ("doc_topic_prior", [1, 1, np.nan], r"doc_topic_prior\[2\] = nan: a Dirichlet parameter must lie between"),
    ("doc_topic_prior", ["a", "b", "c"], "doc_topic_prior must hold real numbers"),
    ("doc_topic_prior", [1, 1, 1j], "doc_topic_prior must hold real numbers"),
    ("topic_word_prior", [1, 1, 1], r"topic_word_prior has shape \(3,\); .* \(4,\) \(one per word\) or \(3, 4\)"),
    ("topic_word_prior", np.ones((4, 3)), r"topic_word_prior has shape \(4, 3\)"),
    ("topic_word_prior", [1, 1, -1, 1], r"topic_word_prior\[2\] = -1: a Dirichlet parameter must lie between"),
    ("topic_word_prior", np.eye(3, 4), r"topic_word_prior\[0, 1\] = 0: a Dirichlet parameter must lie between"),
    ("topic_word_prior", [[1, 2], [1]], "topic_word_prior must hold real numbers"),
    ("sampler", "variational", "'sampler' parameter of GibbsLDA must be a str among"),
    ("point_estimate", "map", "'point_estimate' parameter of GibbsLDA must be a str among"),
    ("max_iter", 0, r"'max_iter' parameter of GibbsLDA must be an int in the range \[1, inf\)"),
    ("max_iter", 5.0, "'max_iter' parameter of GibbsLDA must be an int"),
    ("n_chains", 0, r"'n_chains' parameter of GibbsLDA must be an int in the range \[1, inf\)"),
    ("fold_in_iter", 0, r"'fold_in_iter' parameter of GibbsLDA must be an int in the range \[1, inf\)"),
    ("warm_start", "yes", "'warm_start' parameter of GibbsLDA must be"),
    ("n_jobs", 1.5, "'n_jobs' parameter of GibbsLDA must be None or an instance of 'int'"),
    ("n_jobs", 0, "n_jobs == 0 in Parallel has no meaning"),
    ("verbose", -1, "'verbose' parameter of GibbsLDA must be"),
    ("random_state", -1, "'random_state' parameter of GibbsLDA must be"),
    ("random_state", "seed", "'random_state' parameter of GibbsLDA must be"),
    *(
        (name, value, f"'{name}' parameter of GibbsLDA must be")
        for name, values in {
            "learn_priors": (None, "x", "asymmetric", 1),
            "tol": (-1.0, np.nan, np.inf, "x"),
            "n_draws": (0, None, 1.5),
            "draw_every": (0, np.nan, None),
            "vocabulary": (3,),
            "init": (None, "x", 3.5),
        }.items()
        for value in values
    ),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD_PARAMETERS)
def test_parameters(name, value, message, same):
    X = [[1, 0, 2, 1], [0, 3, 1, 1]]
    refuse(make(**{name: value}), X, (ValueError, TypeError), message, same)
    refuse(make().fit(X).set_params(**{name: value}), X, (ValueError, TypeError), message, same)


@pytest.mark.parametrize("name", ["doc_topic_prior", "topic_word_prior"])
@pytest.mark.parametrize("value", [["a", "b", "c"], [1, 1, 1j]])
def test_priors_of_no_numbers_are_type_errors(name, value, same):
    refuse(make(**{name: value}), [[1, 2, 3]], TypeError, f"{name} must hold real numbers", same)


@pytest.mark.parametrize("weight", [-1, -1e-300, np.inf, -np.inf, np.nan])
def test_weights(weight):
    for model in (FITTED, CompoundLDA(2, max_iter=2).fit(GOOD)):
        with pytest.raises(ValueError, match=r"sample_weight\[1\] = "):
            model.score(GOOD, sample_weight=[1, weight])


class Topics:
    """Three words, of which the last has no topic."""

    components_, doc_topic_prior_ = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), 0.5


def test_impossible_words_bring_no_warning():
    X = np.array([[3, 2, 4], [2, 2, 0], [0, 0, 4]])
    value, std = metrics.held_out_log_likelihood(
        Topics, X, method="document_completion", n_runs=3, return_std=True, random_state=0
    )
    assert np.isneginf(value[[0, 2]]).all()
    assert (std[[0, 2]] == 0).all()
    assert np.isfinite([value[1], std[1]]).all()
    assert predictive_perplexity(Topics, X, X) == np.inf
    for metric in ("perplexity", "log_likelihood"):
        found = metrics.make_held_out_scorer(metric=metric, return_std=True)(Topics, X)
        assert not np.isnan(list(found.values())).any()


@pytest.mark.parametrize("components", [[[1, 1, 1], [0, 0, 0]], [[1, 1, 1], [np.nan, 1, 1]], [[np.inf, 1, 1]]])
def test_components_that_are_no_topics(components):
    model = Topics()
    model.components_ = np.array(components, float)
    for call in (
        lambda: predictive_perplexity(model, GOOD, GOOD),
        lambda: metrics.compare_topic_models(model, model, GOOD),
        lambda: metrics.neg_ais_perplexity_scorer(model, GOOD),
    ):
        with pytest.raises(ValueError, match=r"components_ of the Topics.* (zeros|NaN or infinite)"):
            call()


@pytest.mark.parametrize(
    "cls", [GibbsLDA, EmpiricalBayesLDA, TopicCountLDA, CompoundLDA, LabeledLDA, CollapsedVariationalLDA]
)
def test_models_that_are_not_fitted(cls):
    for call in (
        lambda model: predictive_perplexity(model, GOOD, GOOD),
        lambda model: metrics.compare_topic_models(model, FITTED, GOOD),
        lambda model: metrics.compare_topic_models(FITTED, model, GOOD),
        lambda model: held_out_curve([model], GOOD),
        lambda model: leave_one_out_score(model, GOOD),
        lambda model: metrics.neg_ais_perplexity_scorer(model, GOOD),
    ):
        with pytest.raises(NotFittedError, match=f"This {cls.__name__} instance is not fitted yet"):
            call(cls())
