"""What is refused and with which words; that a refusal leaves no trace; and what is legal though odd."""

import re
import traceback

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sklda import CompoundLDA, EmpiricalBayesLDA, GibbsLDA, TopicCountLDA, metrics, point_estimates
from sklda._base import BaseLDA
from sklda._inference.corpus import Corpus
from sklda._inference.sampling.collapsed import ChainState

TEXTS = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]


def make(**parameters):
    return GibbsLDA(**{"n_components": 3, "max_iter": 5, "random_state": 0, **parameters})


def refuse(estimator, X, error, message, same):
    """The fit fails with the message, and leaves the estimator as it was."""
    before = dict(vars(estimator))
    with pytest.raises(error, match=message):
        estimator.fit(X)
    assert same(vars(estimator), before)


TFIDF = TfidfVectorizer().fit_transform(TEXTS).sorted_indices()
BAD_X = {
    "tf-idf": (TFIDF, r"X\[0, 0\] = 0\.8.* is not a whole number.* Use CountVectorizer rather than TfidfVectorizer"),
    "fraction": ([[1, 0], [2, 0.5]], r"X\[1, 1\] = 0\.5 is not a whole number"),
    "fraction, sparse": (sp.csc_array([[1, 0], [0, 0.5], [2.5, 0]]), r"X\[1, 1\] = 0\.5 is not a whole number"),
    "float32": (np.array([[1, 1.5]], np.float32), r"X\[0, 1\] = 1\.5 is not a whole number"),
    "negative": ([[1, 0], [0, -3]], r"X\[1, 1\] = -3 is negative. Negative values in data"),
    "negative float": ([[1, -0.5]], r"X\[0, 1\] = -0\.5 is negative"),
    "NaN": ([[1, 0], [np.nan, 1]], r"X\[1, 0\] = nan is not a count\. Replace"),
    "NaN, sparse": (sp.csr_matrix([[1, np.nan]]), r"X\[0, 1\] = nan is not a count"),
    "inf": ([[1, np.inf]], r"X\[0, 1\] = inf is not a count"),
    "-inf": ([[1, -np.inf]], r"X\[0, 1\] = -inf is not a count"),
    "None": (np.array([[1, None]], object), r"X\[0, 1\] = nan is not a count"),
    "no token": (np.zeros((3, 2)), "X has 3 documents and no token at all: there is nothing to fit. Check the vocab"),
    "no token, sparse": (sp.csr_array((2, 4)), "X has 2 documents and no token at all"),
    "no document": (np.zeros((0, 3)), r"0 sample\(s\) .* while a minimum of 1 is required by GibbsLDA"),
    "no word": (np.zeros((3, 0)), r"0 feature\(s\) .* while a minimum of 1 is required by GibbsLDA"),
    "too large": ([[1, 2**31]], r"X\[0, 1\] = 2147483648 is too large: no word and no document may have more than"),
    "too large, float": ([[1e300, 1]], r"X\[0, 0\] = 1e\+300 is too large"),
    "too large, uint64": (np.array([[2**63]], np.uint64), r"X\[0, 0\] = 9223372036854775808 is too large"),
    "too long a document": ([[1, 0], [2**30, 2**30]], "X has 2147483648 tokens of document 1, more than 2147483647"),
    "too frequent a word": ([[0, 2**30], [0, 2**30]], "X has 2147483648 tokens of word 1, more than 2147483647"),
    "complex": ([[1, 2j]], "Complex data not supported"),
    "one row": ([1, 2], "Expected 2D array, got 1D array instead"),
    "three dimensions": (np.ones((2, 2, 2)), "Found array with dim 3"),
}


@pytest.mark.parametrize("name", BAD_X)
def test_counts(name, same):
    X, message = BAD_X[name]
    lda = make()
    refuse(lda, X, ValueError, message, same)
    with pytest.raises(NotFittedError):
        lda.transform([[1]])
    refuse(lda.fit([[1, 0, 2], [0, 3, 1]]), X, ValueError, message, same)
    assert lda.transform([[1, 1, 1]]).shape == (1, 3)


@pytest.mark.parametrize("X", [7, None])
def test_no_matrix(X, same):
    refuse(make(), X, ValueError, "Expected 2D array, got scalar array instead", same)


# Every public function and method that takes counts; phi and alpha are of two topics.
PHI, ALPHA = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]), 0.5
GOOD = np.array([[1, 0, 2], [0, 3, 1]])
ENTRIES = {
    "GibbsLDA.fit": lambda X: GibbsLDA(2, max_iter=2).fit(X),
    "GibbsLDA.fit_transform": lambda X: GibbsLDA(2, max_iter=2).fit_transform(X),
    "EmpiricalBayesLDA.fit": lambda X: EmpiricalBayesLDA(2, method="gibbs_em", n_tuning=2, max_iter=2).fit(X),
    "TopicCountLDA.fit": lambda X: TopicCountLDA(1, 2, n_temperatures=2, max_iter=2).fit(X),
    "CompoundLDA.fit": lambda X: CompoundLDA(2, max_iter=2).fit(X),
    **{
        f"GibbsLDA.{name}": lambda X, name=name: getattr(GibbsLDA(2, max_iter=2).fit(GOOD), name)(X)
        for name in ("transform", "score", "score_samples", "perplexity")
    },
    **{
        f"CompoundLDA.{name}": lambda X, name=name: getattr(CompoundLDA(2, max_iter=2).fit(GOOD), name)(X)
        for name in ("transform", "score", "score_samples", "perplexity")
    },
    "point_estimates": lambda X: point_estimates(X, np.zeros(7, int)),
    "compare_topic_models": lambda X: metrics.compare_topic_models(X, (PHI, ALPHA), (PHI[::-1], ALPHA)),
    "held_out_curve": lambda X: metrics.held_out_curve(X, ([PHI, PHI[::-1]], ALPHA)),
    "held_out_log_likelihood": lambda X: metrics.held_out_log_likelihood(X, (PHI, ALPHA)),
    "leave_one_out_score": lambda X: metrics.leave_one_out_score(X, (np.zeros(7, int), 1.0, 1.0), n_draws=10),
    "log_evidence": lambda X: metrics.log_evidence(X, 2, n_temperatures=2, n_chains=1),
    "predictive_perplexity, seen": lambda X: metrics.predictive_perplexity(X, GOOD, FITTED),
    "predictive_perplexity, hidden": lambda X: metrics.predictive_perplexity(GOOD, X, FITTED),
    "neg_ais_perplexity_scorer": lambda X: metrics.neg_ais_perplexity_scorer(FITTED, X),
    "topic_coherence": lambda X: metrics.topic_coherence(X, PHI, n_words=2),
    "make_coherence_scorer": lambda X: metrics.make_coherence_scorer(n_words=2)(FITTED, X),
}
FITTED = make(n_components=2).fit(GOOD)


def spoil(format, **changed):
    """A sparse matrix with arrays that do not go together."""
    X = getattr(sp, format)(GOOD)
    for name, value in changed.items():
        setattr(X, name, value)
    return X


MALFORMED = {
    "an index too large": lambda: spoil("csr_array", indices=np.array([0, 10**6, 1, 2])),
    "an index too large, matrix": lambda: spoil("csr_matrix", indices=np.array([0, 3, 1, 2])),
    "a negative index": lambda: spoil("csr_array", indices=np.array([0, -(10**6), 1, 2])),
    "indptr falls": lambda: spoil("csr_array", indptr=np.array([0, 10**6, 4])),
    "indptr falls to nothing": lambda: spoil("csr_array", indptr=np.array([0, 10**6, 0])),
    "indptr too long": lambda: spoil("csr_array", indptr=np.array([0, 2, 4, 4])),
    "indptr beyond the data": lambda: spoil("csr_array", indptr=np.array([0, 2, 10**6])),
    "indptr begins late": lambda: spoil("csr_array", indptr=np.array([1, 2, 4])),
    "unsigned indptr": lambda: spoil("csr_array", indptr=np.array([0, 10**6, 4], np.uint64)),
    "float indices": lambda: spoil("csr_array", indices=np.array([0.0, 1e6, 1.0, 2.0])),
    "fewer indices": lambda: spoil("csr_array", indices=np.array([0, 1])),
    "fewer data": lambda: spoil("csr_array", data=np.array([1, 2])),
    "data of two dimensions": lambda: spoil("csr_array", data=np.ones((4, 1))),
    "csc, an index too large": lambda: spoil("csc_array", indices=np.array([0, 1, 10**6, 1])),
    "csc, indptr falls": lambda: spoil("csc_array", indptr=np.array([0, 10**6, 2, 4])),
    "csc, indptr falls to nothing": lambda: spoil("csc_array", indptr=np.array([0, 10**6, 0, 0])),
    "bsr, an index too large": lambda: spoil("bsr_array", indices=spoil("bsr_array").indices + 10**6),
    "bsr, indptr falls": lambda: spoil("bsr_array", indptr=np.array([0, 10**6, 0])[: len(spoil("bsr_array").indptr)]),
    "coo, an index too large": lambda: spoil("coo_array", coords=(np.array([0, 0, 1, 1]), np.array([0, 2, 1, 10**6]))),
    "coo, a negative row": lambda: spoil("coo_array", coords=(np.array([0, 0, 1, -9]), np.array([0, 2, 1, 2]))),
    "coo, fewer data": lambda: spoil("coo_array", data=np.array([1, 2])),
    "lil, a row too long": lambda: spoil("lil_array", rows=np.array([[0, 1, 2] * 1000, [0]], object)),
    "lil, fewer rows": lambda: spoil("lil_array", rows=np.array([[0, 2]], object), data=np.array([[1, 2]], object)),
    "lil, an index too large": lambda: spoil("lil_array", rows=np.array([[0, 10**6], [1, 2]], object)),
    "dia, fewer offsets": lambda: spoil("dia_array", offsets=np.array([0])),
    "dia, data of one dimension": lambda: spoil("dia_array", data=np.ones(4)),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_malformed_sparse_matrices(entry):
    """They are read nowhere: scipy and the kernels would go beyond their arrays."""
    for make_one in MALFORMED.values():
        with pytest.raises(ValueError, match=r"X is a malformed \w+: .* build it again"):
            ENTRIES[entry](make_one())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("entry", ENTRIES)
def test_odd_but_legal(entry):
    """Unsorted indices, duplicates, explicit zeros, and whatever else holds counts."""
    pandas = pytest.importorskip("pandas")
    odd = sp.csr_array(([1, 1, 1, 1, 2, 1, 0], [2, 0, 2, 1, 1, 2, 0], [0, 3, 7]), shape=(2, 3))
    np.testing.assert_array_equal(odd.toarray(), GOOD)
    frame = pandas.DataFrame(GOOD)
    for X in (odd, odd.tocoo(), GOOD.astype(np.float16), GOOD.astype(object), GOOD.tolist(), frame.astype("Int64")):
        ENTRIES[entry](X)


TEXT = "once upon a midnight dreary while I pondered weak and weary " * 50
HOLDS_TEXTS = {
    "one": TEXT,
    "list": [TEXT] * 3,
    "tuple": (TEXT,) * 3,
    "array": np.array([TEXT] * 3),
    "objects": np.array([TEXT] * 3, object),
    "column": np.array([[TEXT]] * 3),
    "column of objects": np.array([[TEXT, 1]] * 3, object),
    "bytes": [TEXT.encode()] * 3,
    "tokens": [TEXT.split(), TEXT.split()[:3]],
}


@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
@pytest.mark.parametrize("entry", ENTRIES)
def test_texts(entry):
    pandas = pytest.importorskip("pandas")
    for X in (*HOLDS_TEXTS.values(), pandas.Series([TEXT] * 3), pandas.DataFrame({"text": [TEXT] * 3})):
        with pytest.raises(ValueError, match=r"X holds texts, .* with CountVectorizer") as caught:
            ENTRIES[entry](X)
        assert "midnight" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1, 2, 3], "Expected 2D array, got 1D array instead"),
        (np.zeros((0, 3)), r"Found array with 0 sample\(s\)"),
        (sp.coo_array([1, 2, 3]), r"got a coo_array of shape \(3,\)"),
        ([[1, None, 2], [0, 1, 1]], "(is not a count|contains NaN)"),
        (np.array([[1, -1, 2], [0, 1, 1]], object), "(?i)negative"),
    ],
    ids=["one dimension", "no documents", "sparse, one dimension", "None", "negative objects"],
)
def test_no_matrix_of_counts(entry, X, message):
    with pytest.raises(ValueError, match=message):
        ENTRIES[entry](X)


BAD_PARAMETERS = [
    ("n_components", 0, "'n_components' parameter of GibbsLDA must be an int in the range .1, inf"),
    ("n_components", -2, "'n_components' parameter of GibbsLDA must be an int"),
    ("n_components", 3.0, "'n_components' parameter of GibbsLDA must be an int"),
    ("n_components", "3", "'n_components' parameter of GibbsLDA must be an int"),
    ("n_components", None, "'n_components' parameter of GibbsLDA must be an int"),
    *(
        (
            name,
            value,
            rf"'{name}' parameter of GibbsLDA must be None, a float in the range \(0.0, inf\) or an array-like",
        )
        for name in ("doc_topic_prior", "topic_word_prior")
        for value in (0, -0.1, np.nan, np.inf, "auto", 1j)
    ),
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


def test_transform(same):
    lda = make()
    with pytest.raises(NotFittedError, match="This GibbsLDA instance is not fitted yet"):
        lda.transform([[1, 2]])
    lda.fit([[1, 0, 2], [0, 3, 1]])
    before = dict(vars(lda))
    for X, message in [
        ([[1, 2]], "X has 2 features, but GibbsLDA is expecting 3 features as input"),
        ([[1, 0.5, 0]], r"X\[0, 1\] = 0\.5 is not a whole number.* Use CountVectorizer"),
        ([[1, -1, 0]], r"X\[0, 1\] = -1 is negative"),
        ([[1, np.nan, 0]], r"X\[0, 1\] = nan is not a count"),
        (np.zeros((0, 3)), r"0 sample\(s\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            lda.transform(X)
    assert same(vars(lda), before)
    with pytest.raises(ValueError, match="'fold_in_iter' parameter of GibbsLDA must be an int in the range"):
        lda.set_params(fold_in_iter=0).transform([[1, 2, 3]])


@pytest.mark.parametrize(
    "estimator",
    [
        GibbsLDA(4_000_000),
        EmpiricalBayesLDA(4_000_000),
        EmpiricalBayesLDA(4_000_000, method="gibbs_em"),
        CompoundLDA(4_000_000),
        CompoundLDA(4_000_000, method="variational"),
        TopicCountLDA(4_000_000, 4_000_000),
    ],
)
def test_what_results_do_not_fit_in_memory_is_not_sampled(estimator, monkeypatch, same):
    """5e6 documents by 4e6 topics are more than the 47 bits of an address."""

    def never(*args, **kwargs):
        pytest.fail("a chain was made")

    monkeypatch.setattr(ChainState, "__init__", never)
    X = sp.csr_array(([1], [0], np.r_[0, np.ones(5_000_000, int)]), shape=(5_000_000, 1))
    refuse(estimator, X, MemoryError, r"Unable to allocate .* shape \(5000000, 4000000\)", same)


def test_feature_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1, 0, 2], [0, 3, 1]], columns=["apple", "car", "wheel"])
    lda = make().fit(frame)
    assert lda.feature_names_in_.tolist() == ["apple", "car", "wheel"]
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*unseen at fit time:\n- engine"):
        lda.transform(frame.rename(columns={"car": "engine"}))
    with pytest.raises(ValueError, match="must be in the same order"):
        lda.transform(frame[["car", "apple", "wheel"]])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        lda.transform(frame.to_numpy())
    assert not hasattr(lda.fit(frame.to_numpy()), "feature_names_in_")


def test_the_first_bad_entry_is_named():
    X = sp.csr_array(([1.5, 2.5, 3.5], [2, 0, 1], [0, 0, 2, 3]), shape=(3, 3))
    with pytest.raises(ValueError, match=r"X\[1, 0\] = 2\.5 is not a whole number"):
        Corpus.from_counts(X)


# Legal, though odd.


def check(lda, X):
    """Everything finite, positive and of the right sum."""
    X = np.asarray(X)
    theta = lda.fit_transform(X)
    K, alpha = lda.n_components, np.broadcast_to(lda.doc_topic_prior_, lda.n_components)
    assert lda.topic_assignments_.shape == (X.sum(),)
    for rows in (theta, lda.doc_topic_):
        assert rows.shape == (len(X), K)
        assert (rows > 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1)
        for row in rows[X.sum(axis=1) == 0]:
            np.testing.assert_allclose(row, alpha / alpha.sum())
    assert (lda.components_ > 0).all()
    assert np.isfinite(lda.components_).all()
    assert np.isfinite(lda.log_joint_trace_).all()
    np.testing.assert_allclose(lda.topic_word_.sum(axis=1), 1)


@pytest.mark.parametrize("n_components", [1, 2, 16, 17, 40])
@pytest.mark.parametrize(
    "X",
    [
        [[1]],
        [[5]],
        [[1, 0, 0]],
        [[2, 1, 0, 3]],
        [[1], [2], [0]],
        [[0, 0], [1, 0], [0, 0]],
        [[0, 3], [0, 0], [2, 1], [0, 0]],
    ],
    ids=[
        "one token",
        "one word",
        "one document of one token",
        "one document",
        "V = 1",
        "empty around",
        "empty between",
    ],
)
def test_small_corpora(n_components, X):
    for point_estimate in ("cgs_p", "cgs"):
        check(make(n_components=n_components, point_estimate=point_estimate), X)
    check(make(n_components=n_components, doc_topic_prior=np.arange(1, n_components + 1), n_chains=2), X)
    check(make(n_components=n_components, topic_word_prior=np.ones((n_components, len(X[0])))), X)


def test_one_component_is_the_word_frequencies(counts):
    lda = make(n_components=1, topic_word_prior=0.5).fit(counts)
    np.testing.assert_allclose(lda.components_[0], counts.toarray().sum(axis=0) + 0.5)
    np.testing.assert_array_equal(lda.doc_topic_, 1)
    np.testing.assert_array_equal(lda.transform(counts), 1)


def test_empty_documents_get_the_prior_mean():
    alpha = [0.1, 0.3, 0.6]
    lda = make(doc_topic_prior=alpha).fit([[2, 1], [0, 0], [1, 3]])
    np.testing.assert_allclose(lda.doc_topic_[1], alpha)
    np.testing.assert_allclose(lda.transform(np.zeros((2, 2))), [alpha, alpha])
    np.testing.assert_allclose(lda.transform(np.zeros((1, 2)), normalize=False), [alpha])


def test_words_that_the_fit_never_saw():
    """A word without a token in the fit has the prior in every topic and moves proportions by it alone."""
    lda = make(max_iter=50).fit([[4, 0, 0], [0, 0, 5], [3, 0, 1]])
    assert np.isfinite(lda.transform([[0, 9, 0], [1, 9, 0]])).all()


def test_documents_without_a_known_word():
    """A vectorizer drops unknown words: what is left is an empty document."""
    pipeline = make_pipeline(CountVectorizer(), make(doc_topic_prior=[1, 2, 1])).fit(TEXTS)
    np.testing.assert_allclose(pipeline.transform(["zebra giraffe", ""]), [[0.25, 0.5, 0.25]] * 2)


def test_extreme_priors(counts):
    for alpha in (1e-12, 1e12):
        for eta in (1e-12, 1e12):
            check(make(doc_topic_prior=alpha, topic_word_prior=eta), counts.toarray())
            check(make(doc_topic_prior=alpha, topic_word_prior=np.full((3, 60), eta)), counts.toarray())


def test_more_topics_than_tokens():
    check(make(n_components=100), [[2, 1], [1, 0]])


# Scores.


def test_perplexity_of_hidden_words():
    for n_sweeps in (0, -3):
        with pytest.raises(ValueError, match=f"n_sweeps must be at least 1, got {n_sweeps}"):
            metrics.predictive_perplexity(GOOD, GOOD, FITTED, n_sweeps=n_sweeps)
    for n_sweeps in (1.5, True, "10"):
        with pytest.raises(TypeError, match="n_sweeps must be an int"):
            metrics.predictive_perplexity(GOOD, GOOD, FITTED, n_sweeps=n_sweeps)


@pytest.mark.parametrize("weight", [-1, -1e-300, np.inf, -np.inf, np.nan])
def test_weights(weight):
    for model in (FITTED, CompoundLDA(2, max_iter=2).fit(GOOD)):
        with pytest.raises(ValueError, match=r"sample_weight\[1\] = .*: a weight must be finite and not negative"):
            model.score(GOOD, sample_weight=[1, weight])


def test_scores_check_parameters():
    lda = make(n_components=2).fit(GOOD).set_params(fold_in_iter=0)
    for score in (lda.score, lda.score_samples, lda.perplexity):
        with pytest.raises(ValueError, match="'fold_in_iter' parameter of GibbsLDA must be an int in the range"):
            score(GOOD)


class Topics:
    """Three words, of which the last has no topic."""

    components_, doc_topic_prior_ = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), 0.5


def test_impossible_words_bring_no_warning():
    X = np.array([[3, 2, 4], [2, 2, 0], [0, 0, 4]])
    value, std = metrics.held_out_log_likelihood(
        X, Topics, method="document_completion", n_runs=3, return_std=True, random_state=0
    )
    assert np.isneginf(value[[0, 2]]).all()
    assert (std[[0, 2]] == 0).all()
    assert np.isfinite([value[1], std[1]]).all()
    assert metrics.predictive_perplexity(X, X, Topics) == np.inf
    for metric in ("perplexity", "log_likelihood"):
        found = metrics.make_held_out_scorer(metric=metric, return_std=True)(Topics, X)
        assert not np.isnan(list(found.values())).any()


@pytest.mark.parametrize("components", [[[1, 1, 1], [0, 0, 0]], [[1, 1, 1], [np.nan, 1, 1]], [[np.inf, 1, 1]]])
def test_components_that_are_no_topics(components):
    model = Topics()
    model.components_ = np.array(components, float)
    for call in (
        lambda: metrics.predictive_perplexity(GOOD, GOOD, model),
        lambda: metrics.compare_topic_models(GOOD, model, model),
        lambda: metrics.neg_ais_perplexity_scorer(model, GOOD),
    ):
        with pytest.raises(ValueError, match=r"components_\[\d\] of the Topics sums to (0|nan|inf): it is no dist"):
            call()


@pytest.mark.parametrize("cls", [GibbsLDA, EmpiricalBayesLDA, TopicCountLDA, CompoundLDA])
def test_models_that_are_not_fitted(cls):
    for call in (
        lambda model: metrics.predictive_perplexity(GOOD, GOOD, model),
        lambda model: metrics.compare_topic_models(GOOD, model, FITTED),
        lambda model: metrics.compare_topic_models(GOOD, FITTED, model),
        lambda model: metrics.held_out_curve(GOOD, model),
        lambda model: metrics.leave_one_out_score(GOOD, model),
        lambda model: metrics.neg_ais_perplexity_scorer(model, GOOD),
        lambda model: metrics.make_diversity_scorer(n_words=1)(model, GOOD),
    ):
        with pytest.raises(NotFittedError, match=f"This {cls.__name__} instance is not fitted yet"):
            call(cls())


@pytest.mark.parametrize(
    ("topic_word", "error", "message"),
    [
        (np.zeros((0, 3)), ValueError, "topic_word has no topic: it needs at least one row"),
        ([["a", "b", "c"]], TypeError, "topic_word must hold real numbers, got"),
        ([[0.5, 0.5], [1]], TypeError, "topic_word must hold real numbers, got"),
    ],
)
def test_topics(topic_word, error, message):
    for call in (
        lambda: metrics.held_out_log_likelihood(GOOD, (topic_word, 0.5)),
        lambda: metrics.compare_topic_models(GOOD, (topic_word, 0.5), (PHI, 0.5)),
        lambda: metrics.held_out_curve(GOOD, ([topic_word], 0.5)),
    ):
        with pytest.raises(error, match=message):
            call()


# Warnings.


@pytest.mark.parametrize("wrapped", [True, False])
def test_warnings_point_at_the_caller(wrapped, monkeypatch):
    """With the wrapper of scikit-learn's callbacks around `fit`, and without."""
    if not wrapped:
        for cls in (BaseLDA, CompoundLDA):
            monkeypatch.setattr(cls, "fit", lambda self, X, y=None, **options: self._find_topics(X, y, **options))
    count = TopicCountLDA(1, 2, n_temperatures=2, max_iter=2, evidence="chib")
    for fit in (
        lambda: count.fit(GOOD),
        lambda: make_pipeline(count).fit(GOOD),
        lambda: CompoundLDA(2, max_iter=2).fit(GOOD, [0, 1], **({} if wrapped else {"collections": None})),
        lambda: metrics.log_evidence(GOOD, 2, method="chib", n_temperatures=2, n_chains=1),
    ):
        with pytest.warns(UserWarning) as caught:
            fit()
        assert {warning.filename for warning in caught} == {__file__}


def test_labels_given_as_y():
    with pytest.warns(UserWarning, match=r"does not use y.* call fit\(X, collections=y\)"):
        CompoundLDA(2, max_iter=2).fit(GOOD, ["a", "b"])
    CompoundLDA(2, max_iter=2).fit(GOOD, [0, 1], collections=["a", "b"])


@pytest.mark.parametrize("labels", [["a\0", "b"], ["a", "a\0"], [-1, 2**63 + 1], [0, 2**70], [True, 2], [0.5, 1]])
def test_labels_are_kept_as_they_are(labels):
    lda = CompoundLDA(2, max_iter=2).fit(GOOD, collections=labels)
    assert lda.collections_.tolist() == sorted(labels)
    assert lda.transform(GOOD, collections=labels).shape == (2, 2)
