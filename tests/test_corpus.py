"""Corpus: counts to tokens and back, keys, fingerprints, blocks."""

import itertools
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sklda._core import corpus as corpus_module
from sklda._core.corpus import Corpus

matrices = arrays(np.int64, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8), elements=st.integers(0, 4))


@given(matrices, st.sampled_from(["int8", "uint16", "int64", "uint64", "float32", "float64"]), st.booleans())
def test_round_trip(X, dtype, sparse):
    given = X.astype(dtype)
    corpus = Corpus.from_counts(sp.csr_array(given) if sparse else given)
    back = corpus.to_counts()
    assert back.dtype == np.int64
    assert back.has_canonical_format
    np.testing.assert_array_equal(back.toarray(), X)
    assert Corpus.from_counts(back).fingerprint == corpus.fingerprint
    np.testing.assert_array_equal(corpus.to_counts().toarray(), X)


@given(matrices)
def test_tokens(X):
    corpus = Corpus.from_counts(X)
    assert corpus.words.dtype == np.int32
    assert corpus.offsets.dtype == np.int64
    assert corpus.words.flags.c_contiguous
    assert corpus.offsets.flags.c_contiguous
    assert (corpus.n_documents, corpus.n_features) == X.shape
    assert corpus.n_tokens == X.sum() == corpus.offsets[-1]
    np.testing.assert_array_equal(corpus.lengths, X.sum(axis=1))
    for counts, (begin, end) in zip(X, itertools.pairwise(corpus.offsets), strict=True):
        assert corpus.words[begin:end].tolist() == [v for v, count in enumerate(counts) for _ in range(count)]


def test_offsets_are_64_bit_whatever_the_matrix_has():
    for index in (np.int32, np.int64):
        X = sp.csr_array((np.ones(3), np.array([0, 2, 1], index), np.array([0, 2, 3], index)), shape=(2, 3))
        corpus = Corpus.from_counts(X)
        assert corpus.offsets.dtype == np.int64
        assert corpus.words.dtype == np.int32


@pytest.mark.parametrize(
    ("dtype", "parts"),
    [
        ("bool", [1, 1]),
        ("int8", [100, 100]),
        ("uint8", [200, 100]),
        ("int16", [20_000, 20_000]),
        ("uint16", [40_000, 40_000]),
        ("float32", [2**24, 1]),
        ("float64", [2**24, 1]),
        ("int64", [2, 3]),
    ],
)
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr"])
def test_duplicates_are_summed_in_64_bits(dtype, parts, format):
    data = np.array(parts, dtype)
    X = {
        "coo": lambda: sp.coo_array((data, ([0, 0], [1, 1])), shape=(1, 2)),
        "csr": lambda: sp.csr_array((data, [1, 1], [0, 2]), shape=(1, 2)),
        "csc": lambda: sp.csc_array((data, [0, 0], [0, 0, 2]), shape=(1, 2)),
        "bsr": lambda: sp.bsr_array((data[:, None, None], [1, 1], [0, 2]), shape=(1, 2)),
    }[format]()
    corpus = Corpus.from_counts(X)
    assert corpus.n_tokens == sum(parts)
    assert (corpus.words == 1).all()


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
def test_sums_of_duplicates_do_not_wrap(dtype):
    half = np.array([2**62, 2**62] if dtype == "int64" else [2**63, 2**63], dtype)
    with pytest.raises(ValueError, match=r"X\[0, 1\] = .* is too large"):
        Corpus.from_counts(sp.coo_array((half, ([0, 0], [1, 1])), shape=(1, 2)))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32"])
def test_large_columns_are_read_in_blocks_of_rows(dtype, monkeypatch):
    counts = np.random.default_rng(0).integers(0, 2, (30, 20)).astype(dtype)
    expected = Corpus.from_counts(counts)
    monkeypatch.setattr(corpus_module, "_LARGE", 40)
    for form in (sp.csr_array, sp.csc_array, sp.csc_matrix):
        assert Corpus.from_counts(form(counts)).fingerprint == expected.fingerprint
    # Two entries of the same place, whose sum does not fit into eight bits.
    one = np.full(60, 200, np.uint8)
    X = sp.csc_array((one, np.repeat(np.arange(30), 2), [0, 60]), shape=(30, 1))
    assert Corpus.from_counts(X).lengths.tolist() == 30 * [400]
    counts = counts.astype(float)
    counts[17, 3] = 0.5
    with pytest.raises(ValueError, match=r"X\[17, 3\] = 0.5 is not a whole number"):
        Corpus.from_counts(sp.csc_array(counts))
    X.indices[7] = 30
    with pytest.raises(ValueError, match="X is a malformed csc_array"):
        Corpus.from_counts(X)


def test_memory_of_large_columns(monkeypatch):
    """The tokens take four bytes each, twice while the parts are joined, and the rows of booleans five."""
    monkeypatch.setattr(corpus_module, "_LARGE", 2**14)
    X = sp.random_array((2000, 3000), density=0.1, rng=0, format="csc") > 0
    tracemalloc.start()
    try:
        Corpus.from_counts(X)
        assert tracemalloc.get_traced_memory()[1] < 16 * X.nnz
    finally:
        tracemalloc.stop()


def test_half_precision():
    X = np.array([[1, 0, 2048], [0, 3, 0]], np.float16)
    np.testing.assert_array_equal(Corpus.from_counts(X).to_counts().toarray(), X)


def test_word_ids_beyond_32_bits_are_refused():
    one = np.ones(1, np.int64)
    for format in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        if format is sp.csc_matrix:
            # Its index pointer would not fit in memory.
            X = sp.csc_matrix((2, 3))
            X._shape = (2, 2**31)
        else:
            X = sp.coo_array((one, (one, one * 2**31)), shape=(2, 2**31 + 1)).asformat(format((1, 1)).format)
        with pytest.raises(ValueError, match=r"X has 214748364\d features, more than 2147483647"):
            Corpus.from_counts(X)


def test_the_matrix_is_not_changed():
    X = sp.csr_array((np.array([1, 2, 3, 0]), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    before = [array.copy() for array in (X.data, X.indices, X.indptr)]
    corpus = Corpus.from_counts(X)
    assert corpus.words.tolist() == [0, 0, 0, 0, 0, 2]
    for array, expected in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_writing_to_the_matrix_of_a_corpus_does_not_change_it():
    corpus = Corpus.from_counts([[2, 1, 0, 3], [0, 2, 0, 1]])
    before = corpus.words.copy()
    X = corpus.to_counts()
    X.data[:], X.indices[:] = 7, 0
    np.testing.assert_array_equal(corpus.words, before)


@given(matrices, matrices)
def test_fingerprint_is_equal_only_for_equal_content(X, Y):
    first, second = Corpus.from_counts(X), Corpus.from_counts(sp.csc_array(Y))
    assert (first.fingerprint == second.fingerprint) == np.array_equal(X, Y)
    assert Corpus.from_counts(X.astype(float)).fingerprint == first.fingerprint


@pytest.mark.parametrize(
    "Y",
    [
        [[1, 0, 2, 0], [0, 1, 0, 0]],
        [[1, 0, 2], [0, 1, 0], [0, 0, 0]],
        [[0, 1, 0], [1, 0, 2]],
        [[1, 1, 2], [0, 0, 0]],
        [[1, 0, 1], [0, 1, 0]],
    ],
    ids=["one more word", "one more document", "another order", "a token moved", "a token less"],
)
def test_fingerprint(Y):
    assert Corpus.from_counts([[1, 0, 2], [0, 1, 0]]).fingerprint != Corpus.from_counts(Y).fingerprint


def keys(X, seed=0):
    found = Corpus.from_counts(X).document_keys(seed)
    assert found.dtype == np.uint64
    return found.tolist()


@given(matrices, st.integers(0, 2**64 - 1))
def test_document_keys_depend_on_seed_and_words_alone(X, seed):
    found = keys(X, seed)
    assert found == [key for row in X for key in keys(row[None], seed)]
    # Words that the vocabulary has besides do not matter.
    assert found == keys(np.hstack([X, np.zeros((len(X), 3), int)]), seed)
    for (row, key), (other, other_key) in itertools.combinations(zip(X, found, strict=True), 2):
        assert np.array_equal(row, other) == (key == other_key)
    assert not set(found) & set(keys(X, seed ^ 1))


def test_document_keys_of_like_documents_differ():
    """One word more or less, an empty document, the same words elsewhere: 4,096 documents, 4,096 keys."""
    X = np.array(list(itertools.product(range(4), repeat=6)))
    assert len(set(keys(X))) == len(X)


@given(matrices, st.integers(1, 20))
def test_blocks_cover_every_document_once_in_order(X, size):
    corpus = Corpus.from_counts(X)
    for blocks in (corpus.blocks(n_tokens=size), corpus.blocks(n_documents=size)):
        assert [d for first, last in blocks for d in range(first, last)] == list(range(len(X)))
        assert all(first < last for first, last in blocks)
    for first, last in corpus.blocks(n_tokens=size):
        assert corpus.offsets[last] - corpus.offsets[first] < size + corpus.lengths.max(initial=0)
    assert [last - first for first, last in corpus.blocks(n_documents=size)][:-1] == [size] * ((len(X) - 1) // size)


def test_blocks_of_no_documents():
    corpus = Corpus(np.empty(0, np.int32), np.zeros(1, np.int64), 3)
    assert corpus.blocks(n_tokens=5) == corpus.blocks(n_documents=5) == []


def test_equal_documents_are_counted_and_have_keys_of_their_own():
    corpus = Corpus.from_counts(np.array([[1, 2], [0, 0], [1, 2], [2, 1], [0, 0], [1, 2]]))
    copies = corpus.copies()
    assert copies.tolist() == [0, 0, 1, 0, 1, 2]
    keys = corpus.document_keys(3)
    assert keys[0] == keys[2] == keys[5] and keys[1] == keys[4]
    own = corpus.document_keys(3, copies)
    assert len(np.unique(own)) == 6
    assert own[[0, 1, 3]].tolist() == keys[[0, 1, 3]].tolist()
