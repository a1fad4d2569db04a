"""Matrices that hold no counts are refused with a message; odd but legal ones are accepted."""

import tempfile
import traceback
import warnings
from functools import cache

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from refusals import ALPHA, FITTED, GOOD, PHI, TEXTS, make, refuse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

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
from sklda._core import corpus as corpus_module
from sklda._core.corpus import Corpus
from sklda.datasets import _counts as counts_module
from sklda.datasets import save_counts
from sklda.inspection import describe
from sklda.papers.held_out import chib, held_out_curve, leave_one_out_score, predictive_perplexity, ratio_ais
from sklda.papers.topic_count import log_evidence

pytestmark = pytest.mark.filterwarnings("ignore:CovariateLDA has no covariates:UserWarning")

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
    "complex array": (np.ones((400, 3), complex), "^X has complex numbers: Complex data not supported.{0,40}$"),
    "dicts of counts": ([{"apple": 2}, {"pear": 1}], "has dicts: DictVectorizer"),
    "pairs": ([[(0, 1), (1, 2)], [(1, 1), (0, 5)]], r"has pairs: gensim\.matutils\.corpus2csc"),
    "pairs of different numbers": ([[(0, 1), (1, 2)], [], [(0, 5)]], r"has pairs: gensim\.matutils\.corpus2csc"),
    "signed hashes": (
        HashingVectorizer(n_features=8).transform(["a1 b1", "c1 d1 e1"]),
        "is negative.* HashingVectorizer gives them with alternate_sign=False, norm=None",
    ),
    "a sparse frame": (
        pandas.DataFrame([[1, np.nan]]).astype(pandas.SparseDtype(float)),
        r"entries that are not stored is nan, not 0: give X\.fillna\(0\)\.astype",
    ),
}
NO_MATRIX = {
    "None": None,
    "a generator": (text for text in TEXTS),
    "a dict": {"apple": 1},
    "a set": set(TEXTS),
    "a number": 3,
    "a function": len,
}


@pytest.mark.parametrize("kind", NO_MATRIX)
def test_what_is_no_matrix(kind, same):
    message = "it must be a matrix of word counts .* CountVectorizer .* DictVectorizer .* gensim"
    refuse(make(), NO_MATRIX[kind], TypeError, message, same)


def test_the_advice_for_sparse_frames_works():
    zeros = pandas.SparseDtype(int, 0)
    frame = pandas.DataFrame(GOOD).replace(0, np.nan).astype(pandas.SparseDtype(float))
    np.testing.assert_array_equal(make().fit(frame.fillna(0).astype(zeros)).components_, make().fit(GOOD).components_)


@pytest.mark.parametrize("name", BAD_X)
def test_counts(name, same):
    X, message = BAD_X[name]
    lda = make()
    refuse(lda, X, ValueError, message, same)
    with pytest.raises(NotFittedError):
        lda.transform([[1]])
    refuse(lda.fit([[1, 0, 2], [0, 3, 1]]), X, ValueError, message, same)
    assert lda.transform([[1, 1, 1]]).shape == (1, 3)


LABELS = [[1, 0], [1, 1]]


@cache
def fitted(cls):
    """One short fit for all calls: no call changes it."""
    if cls is LabeledLDA:
        return LabeledLDA(n_chains=1, max_iter=2, n_draws=1, fold_in_iter=2).fit(GOOD, LABELS)
    return cls(2, max_iter=2).fit(GOOD)


# Every public function and method that takes counts.
ENTRIES = {
    "GibbsLDA.fit": lambda X: GibbsLDA(2, max_iter=2).fit(X),
    "GibbsLDA.fit_transform": lambda X: GibbsLDA(2, max_iter=2).fit_transform(X),
    "EmpiricalBayesLDA.fit": lambda X: EmpiricalBayesLDA(2, max_iter=4).fit(X),
    "TopicCountLDA.fit": lambda X: TopicCountLDA(min_components=1, max_components=1, max_iter=4).fit(X),
    "CollapsedVariationalLDA.fit": lambda X: CollapsedVariationalLDA(2, max_iter=2).fit(X),
    "CollapsedVariationalLDA.transform": lambda X: fitted(CollapsedVariationalLDA).transform(X),
    "CompoundLDA.fit": lambda X: CompoundLDA(2, max_iter=2).fit(X),
    "CovariateLDA.fit": lambda X: CovariateLDA(2, max_iter=2).fit(X),
    "LabeledLDA.fit": lambda X: LabeledLDA(n_chains=1, max_iter=2, n_draws=1).fit(X, LABELS),
    **{
        f"GibbsLDA.{name}": lambda X, name=name: getattr(fitted(GibbsLDA), name)(X)
        for name in ("transform", "score", "score_samples", "perplexity")
    },
    **{
        f"CompoundLDA.{name}": lambda X, name=name: getattr(fitted(CompoundLDA), name)(X)
        for name in ("transform", "score", "score_samples", "perplexity")
    },
    **{
        f"CovariateLDA.{name}": lambda X, name=name: getattr(fitted(CovariateLDA), name)(X)
        for name in ("transform", "score", "score_samples", "perplexity")
    },
    **{
        f"LabeledLDA.{name}": lambda X, name=name: getattr(fitted(LabeledLDA), name)(X)
        for name in ("transform", "predict", "decision_function", "score_samples", "perplexity")
    },
    "from_assignments": lambda X: GibbsLDA.from_assignments(X, np.zeros(7, int)),
    "compare_topic_models": lambda X: metrics.compare_topic_models((PHI, ALPHA), (PHI[::-1], ALPHA), X),
    "ratio_ais": lambda X: ratio_ais((PHI, ALPHA), (PHI[::-1], ALPHA), X),
    "chib": lambda X: chib((PHI, ALPHA), X),
    "held_out_curve": lambda X: held_out_curve([(PHI, ALPHA), (PHI[::-1], ALPHA)], X),
    "held_out_log_likelihood": lambda X: metrics.held_out_log_likelihood((PHI, ALPHA), X),
    "leave_one_out_score": lambda X: leave_one_out_score((np.zeros(7, int), 1.0, 1.0), X, n_draws=10),
    "log_evidence": lambda X: log_evidence(X, 2, n_temperatures=2, n_chains=1),
    "predictive_perplexity, seen": lambda X: predictive_perplexity(FITTED, X, GOOD),
    "predictive_perplexity, hidden": lambda X: predictive_perplexity(FITTED, GOOD, X),
    "neg_ais_perplexity_scorer": lambda X: metrics.neg_ais_perplexity_scorer(FITTED, X),
    "topic_coherence": lambda X: metrics.topic_coherence(PHI, X, n_words=2),
    "make_coherence_scorer": lambda X: metrics.make_coherence_scorer(n_words=2)(FITTED, X),
}


class AnnotatedData:
    """As the AnnData of anndata: a matrix with tables of its rows and columns."""

    def __init__(self, X):
        self.X, self.obs, self.var = np.asarray(X), {}, {}
        self.shape, self.dtype = self.X.shape, self.X.dtype

    def __len__(self):
        return len(self.X)

    def __getitem__(self, rows):
        return AnnotatedData(self.X[rows])


def test_a_description_takes_no_such_object():
    for X, advice in ((AnnotatedData(GOOD), "give the matrix in it"), (OnDisk(), r"give X.to_memory\(\)")):
        with pytest.raises(TypeError, match=advice):
            describe(FITTED, X)


class OnDisk:
    """As the matrix of an AnnData that is on disk."""

    shape = 3, 4

    def to_memory(self):
        return GOOD


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_object_that_contains_the_matrix_or_has_it_on_disk(entry):
    for X, message in ((AnnotatedData(GOOD), r"AnnotatedData.*adata.X"), (OnDisk(), r"give X.to_memory\(\)")):
        with pytest.raises(TypeError, match=message):
            ENTRIES[entry](X)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_names(library):
    frame = pandas.DataFrame({"w0": [1, 2, 3], "doc_id": ["a", "b", "c"], "w1": [2, 1, 0]})
    if library == "polars":
        frame = pytest.importorskip("polars").DataFrame(frame.to_dict("list"))
    for estimator in (GibbsLDA(2), CollapsedVariationalLDA(2)):
        with pytest.raises(ValueError, match=r"texts in the column 'doc_id'.* X.set_index\('doc_id'\)") as caught:
            estimator.fit(frame)
        assert "CountVectorizer" not in str(caught.value)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("form", [lambda frame: frame, sp.csr_array, np.asarray])
def test_a_column_of_row_numbers(form, first):
    counts = np.random.default_rng(0).poisson(1, (30, 4))
    frame = pandas.DataFrame(counts, columns=list("abcd"))
    frame.insert(1, "Unnamed: 0", range(first, first + 30))
    name = "'Unnamed: 0'" if form(frame) is frame else "1"
    with pytest.warns(UserWarning, match=f"the column {name} of X numbers the rows"):
        GibbsLDA(2, max_iter=2).fit(form(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Corpus.from_counts(form(frame.assign(**{"Unnamed: 0": [*range(29), 40]})))
        Corpus.from_counts(form(frame[:9]))


def test_words_by_documents():
    for words in (["a", "b", "c"], np.array(["a", "b", "c"])):
        with pytest.raises(ValueError, match=r"as many as X has rows.*X\.T"):
            GibbsLDA(2, vocabulary=words).fit(np.ones((3, 5), int))


def test_columns_may_be_called_as_parts_of_such_an_object():
    frame = pytest.importorskip("pandas").DataFrame([[1, 2, 0], [0, 1, 3]], columns=["X", "obs", "var"])
    assert GibbsLDA(2, max_iter=2).fit(frame).feature_names_in_.tolist() == ["X", "obs", "var"]


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
    "indptr too short": lambda: spoil("csr_array", indptr=np.array([0, 2])),
    "csc, indptr too short": lambda: spoil("csc_array", indptr=np.array([0, 1, 2])),
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
    "coo, an index too large": lambda: spoil("coo_array", col=np.array([0, 2, 1, 10**6])),
    "coo, a negative row": lambda: spoil("coo_array", row=np.array([0, 0, 1, -9])),
    "coo, fewer data": lambda: spoil("coo_array", data=np.array([1, 2])),
    "lil, a row too long": lambda: spoil("lil_array", rows=np.array([[0, 1, 2] * 1000, [0]], object)),
    "lil, fewer rows": lambda: spoil("lil_array", rows=np.array([[0, 2]], object), data=np.array([[1, 2]], object)),
    "lil, an index too large": lambda: spoil("lil_array", rows=np.array([[0, 10**6], [1, 2]], object)),
    "dia, fewer offsets": lambda: spoil("dia_array", offsets=np.array([0])),
    "dia, data of one dimension": lambda: spoil("dia_array", data=np.ones(4)),
    "dia, offsets of 64 bits": lambda: spoil("dia_array", offsets=spoil("dia_array").offsets + np.int64(2**32)),
    "dia, negative offsets of 64 bits": lambda: spoil(
        "dia_array", offsets=spoil("dia_array").offsets - np.int64(2**40)
    ),
    "dia, float offsets": lambda: spoil("dia_array", offsets=spoil("dia_array").offsets + 0.5),
    "dia, offsets twice": lambda: spoil("dia_array", offsets=spoil("dia_array").offsets * 0),
    "bsr, blocks of another shape": lambda: spoil("bsr_array", data=np.ones((len(spoil("bsr_array").data), 2, 2))),
    "bsr, empty blocks": lambda: spoil("bsr_array", data=np.ones((len(spoil("bsr_array").data), 0, 0))),
}


def _saved(X):
    with tempfile.TemporaryDirectory() as folder:
        save_counts(folder, X)


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize("entry", [*ENTRIES, "save_counts"])
def test_malformed_sparse_matrices(entry, in_blocks, monkeypatch):
    """They are read nowhere: scipy and the kernels would go beyond their arrays, and blocks would lack documents."""
    if in_blocks:
        monkeypatch.setattr(corpus_module, "_LARGE", 0)
        monkeypatch.setattr(counts_module, "_CHUNK", 1)
    for make_one in MALFORMED.values():
        with pytest.raises(ValueError, match=r"X is a malformed"):
            (ENTRIES | {"save_counts": _saved})[entry](make_one())


@pytest.mark.parametrize("name", ["fit", "score"])
def test_malformed_sparse_labels(name, same):
    lda = LabeledLDA(n_chains=1, max_iter=2, n_draws=1, fold_in_iter=2).fit(GOOD, LABELS)
    before = dict(vars(lda))
    for make_one in MALFORMED.values():
        with pytest.raises(ValueError, match=r"^y is a malformed"):
            getattr(lda, name)(GOOD, make_one())
    assert same(vars(lda), before)


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
    forms = ("csr_array", "coo_array", "bsr_array", "dia_array", "csr_array")
    for form, dtype in zip(forms, (">i2", ">u8", ">f4", ">f2", np.float16), strict=True):
        ENTRIES[entry](spoil(form, data=spoil(form).data.astype(dtype)))
    for dtype in (">u8", ">f2"):
        ENTRIES[entry](GOOD.astype(dtype))
        ENTRIES[entry](frame.astype(dtype))


def test_what_a_matrix_remembers_of_its_indices_does_not_count():
    X = sp.csr_array([[1, 2, 3, 0], [0, 1, 0, 1]])
    assert X.has_canonical_format
    X.indices[:3] = [2, 0, 0]
    X.data[:3] = [3, 1, 2]
    given = X.copy()
    lda = GibbsLDA(2, max_iter=2, random_state=0).fit(X)
    counts = np.array([[3, 0, 3, 0], [0, 1, 0, 1]])
    np.testing.assert_array_equal(lda.components_, GibbsLDA(2, max_iter=2, random_state=0).fit(counts).components_)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, name), getattr(given, name))


def test_diagonals_outside_the_matrix_hold_nothing():
    X = sp.dia_array(GOOD)
    wide = sp.dia_array((np.vstack([X.data, np.full((2, X.data.shape[1]), 7)]), [*X.offsets, 2**31 - 1, -50]), X.shape)
    assert same_fit(wide, GOOD)


def same_fit(a, b):
    first, second = (GibbsLDA(2, max_iter=2, random_state=0).fit(X).components_ for X in (a, b))
    return np.array_equal(first, second)


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
    with pytest.raises(ValueError, match=r"'fold_in_iter' .*int in the range"):
        lda.set_params(fold_in_iter=0).transform([[1, 2, 3]])


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
