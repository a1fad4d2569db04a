"""The y of LabeledLDA: sparse matrices and columns of pandas that are legal, and labels that are missing."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import accuracy_score

from sklda import LabeledLDA

RNG = np.random.default_rng(0)
X = RNG.poisson(0.5, (40, 12)) + np.eye(40, 12, dtype=int)
Y = (RNG.random((40, 5)) < 0.4).astype(int)


def fit(y):
    return LabeledLDA(n_chains=1, burn_in=1, n_draws=1, random_state=0).fit(X, y)


def test_odd_but_legal_sparse_labels():
    expected = fit(Y)
    forms = [sp.csc_array, sp.bsr_array, sp.lil_matrix, sp.dok_array, sp.dia_array, sp.coo_array]
    unsorted = sp.csr_array(Y)
    assert unsorted.has_canonical_format
    for row in range(40):
        own = slice(*unsorted.indptr[row : row + 2])
        unsorted.indices[own] = unsorted.indices[own][::-1].copy()
    swapped = sp.csr_array(Y)
    swapped.data = swapped.data.astype(swapped.dtype.newbyteorder())
    half = sp.csr_array(Y)
    half.data = half.data.astype(np.float16)
    for y in (*(form(Y) for form in forms), unsorted, swapped, half, Y.astype(">i4"), Y.astype(np.float16)):
        np.testing.assert_array_equal(fit(y).components_, expected.components_)
    # 256 entries of one in the same place are not a label, although their sum in eight bits is 0.
    rows = np.zeros(256, int)
    with pytest.raises(ValueError, match=r"y\[0, 0\] = 256: Unknown label type"):
        fit(sp.coo_array((np.ones(256, np.int8), (rows, rows)), shape=(40, 5)))


def test_columns_of_pandas():
    pandas = pytest.importorskip("pandas")
    expected = fit(Y)
    for dtype in ("Int64", "boolean", "UInt8", "Float64", "Int8"):
        frame = pandas.DataFrame(Y, columns=list("abcde")).astype(dtype)
        lda = fit(frame)
        np.testing.assert_array_equal(lda.components_, expected.components_)
        assert lda.label_names_.tolist() == list("abcde")
        assert lda.score(X, frame) == expected.score(X, Y)
    one = Y[:, 0]
    for y in (pandas.Series(one, dtype="Int64"), one.astype(object), pandas.array(one, dtype="UInt8")):
        lda = fit(y)
        np.testing.assert_array_equal(lda.components_, fit(one).components_)
        assert lda.classes_.dtype.kind in "iu" and lda.score(X, y) == fit(one).score(X, one)


def test_missing_labels():
    pandas = pytest.importorskip("pandas")
    names = np.where(Y[:, 0] > 0, "a", "b").astype(object)
    dates = names == "a"
    gaps = {}
    for gap in (None, np.nan, pandas.NA, pandas.NaT):
        gaps[f"names with {gap}"] = np.where(np.arange(40) == 7, gap, names)
    gaps["dates"] = np.where(dates, "2020", "2021").astype("M8[s]")
    gaps["dates"][7] = "NaT"
    gaps["a nullable column"] = pandas.Series(np.where(np.arange(40) == 7, None, Y[:, 0]), dtype="Int64")
    gaps["numbers"] = np.where(np.arange(40) == 7, np.nan, Y[:, 0])
    gaps["a column of strings"] = pandas.Series(np.where(np.arange(40) == 7, None, names), dtype="string")
    for what, y in gaps.items():
        lda = fit(names if what != "dates" else np.where(dates, "2020", "2021").astype("M8[s]"))
        for call in (lda.fit, lda.score):
            with pytest.raises(ValueError, match=r"y\[7\] is .*Input y contains NaN or another missing value"):
                call(X, y)
    frame = pandas.DataFrame(Y).astype("Int64")
    frame.iloc[7, 2] = pandas.NA
    with pytest.raises(ValueError, match=re.escape("y[7, 2] is <NA>: Input y contains NaN")):
        fit(frame)


def test_scores_compare_the_names_of_labels():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(Y, columns=list("abcde"))
    lda = fit(frame)
    accuracy = accuracy_score(Y, lda.predict(X))
    for y in (frame, Y, sp.csr_array(Y), frame.set_axis(range(5), axis=1)):
        assert lda.score(X, y) == accuracy
    assert fit(Y).score(X, frame) == accuracy
    weights = np.arange(40)
    assert lda.score(X, frame, weights) == accuracy_score(Y, lda.predict(X), sample_weight=weights)
    with pytest.raises(ValueError, match=r"column 0 of y is 'e', .*'a'"):
        lda.score(X, frame[list("edcba")])
    with pytest.raises(ValueError, match=r"y has 5 .* 40"):
        lda.score(X, frame[:5])
    with pytest.raises(ValueError, match="the target y is None"):
        lda.score(X, None)
    one = sp.csr_array(Y[:, :1])
    assert fit(one).score(X, one) == accuracy_score(Y[:, 0], fit(one).predict(X).toarray().ravel())
