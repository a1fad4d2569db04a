"""Folders of counts: what is written is read again, in bounded memory, and a changed folder is found."""

import json
import sys
import tracemalloc

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from workers import run_program

import sklda._core.corpus as corpus_module
from sklda import CollapsedVariationalLDA, GibbsLDA
from sklda._core.corpus import Corpus
from sklda.datasets import _counts, load_counts, save_counts

TEXTS = ["apple banana apple", "", "banana cherry", "cherry cherry apple"] * 5


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(_counts, "_CHUNK", 50)
    monkeypatch.setattr(corpus_module, "_LARGE", 40)


KINDS = [sp.csr_matrix, sp.csr_array, sp.csc_matrix, lambda X: X.toarray(), lambda X: X.astype(float)]


@pytest.mark.parametrize("kind", KINDS)
def test_written_counts_are_read_again(counts, tmp_path, kind, small_chunks):
    save_counts(tmp_path / "new", kind(counts))
    found = load_counts(tmp_path / "new")
    assert (found.data != counts).nnz == 0
    assert found.data.shape == counts.shape
    assert found.feature_names is None
    # The matrix is on disk.
    assert not found.data.indices.flags.owndata
    assert isinstance(found.data.data.base.base, np.memmap)


def test_estimators_read_it_in_blocks(counts, tmp_path, small_chunks):
    save_counts(tmp_path, counts)
    X = load_counts(tmp_path).data
    np.testing.assert_array_equal(Corpus.from_counts(X).words, Corpus.from_counts(counts.toarray()).words)
    lda = GibbsLDA(3, max_iter=5, random_state=0).fit(X)
    same = GibbsLDA(3, max_iter=5, random_state=0).fit(counts.toarray())
    np.testing.assert_array_equal(lda.components_, same.components_)
    np.testing.assert_array_equal(lda.transform(X), lda.transform(counts.toarray()))
    CollapsedVariationalLDA(3, max_iter=3, random_state=0).fit(X)


def test_a_bad_count_of_a_large_matrix_is_named(counts, small_chunks):
    bad = counts.astype(float).tolil()
    bad[140, 7] = 0.5
    with pytest.raises(ValueError, match=r"X\[140, 7\] = 0.5 is not a whole number"):
        Corpus.from_counts(bad.tocsr())
    bad = counts.copy().astype(np.int64)
    bad.indptr = bad.indptr.copy()
    bad.indptr[5] = bad.nnz + 7
    with pytest.raises(ValueError, match="malformed"):
        Corpus.from_counts(bad)


@pytest.mark.parametrize("batch_size", [3, 100])
def test_texts(tmp_path, batch_size):
    vectorizer = CountVectorizer().fit(TEXTS)
    save_counts(tmp_path, iter(TEXTS), vectorizer=vectorizer, batch_size=batch_size)
    found = load_counts(tmp_path)
    assert (found.data != vectorizer.transform(TEXTS)).nnz == 0
    assert found.feature_names.tolist() == ["apple", "banana", "cherry"]


def test_hashed_texts(tmp_path):
    hashing = HashingVectorizer(n_features=16, alternate_sign=False, norm=None)
    save_counts(tmp_path, TEXTS, vectorizer=hashing, vocabulary=[f"column {v}" for v in range(16)])
    assert load_counts(tmp_path).feature_names[3] == "column 3"
    assert (load_counts(tmp_path).data != hashing.transform(TEXTS)).nnz == 0


def test_names_of_columns(tmp_path):
    frame = pandas.DataFrame([[1, 0], [2, 3]], columns=["pear", "apple"])
    for i, names in enumerate([None, ["pear", "apple"], {"apple": 1, "pear": 0}]):
        save_counts(tmp_path / str(i), frame, vocabulary=names)
        assert load_counts(tmp_path / str(i)).feature_names.tolist() == ["pear", "apple"]
    vectorizer = CountVectorizer().fit(TEXTS)
    for X, options in ((frame, {}), (TEXTS, {"vectorizer": vectorizer})):
        names = ["apple", "pear"] if X is frame else vectorizer.get_feature_names_out()[::-1]
        with pytest.raises(ValueError, match="of X has this name"):
            save_counts(tmp_path / "wrong", X, vocabulary=names, **options)
    save_counts(tmp_path / "numbers", frame.set_axis([0, 1], axis=1))
    assert load_counts(tmp_path / "numbers").feature_names is None


def test_dask_arrays(counts, tmp_path, small_chunks):
    da = pytest.importorskip("dask.array")
    save_counts(tmp_path / "a", da.from_array(counts.toarray(), chunks=(40, 60)))
    X = load_counts(tmp_path / "a", as_dask=True).data
    assert X.numblocks == (4, 1)
    assert (sp.vstack([block.compute() for block in X.to_delayed()[:, 0]]) != counts).nnz == 0


def test_memory_does_not_grow_with_the_number_of_texts(tmp_path):
    vectorizer, peaks = CountVectorizer().fit(TEXTS), []
    for n in (2_000, 8_000):
        tracemalloc.start()
        save_counts(tmp_path / str(n), (TEXTS[i % 4] for i in range(n)), vectorizer=vectorizer, batch_size=500)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_progress(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(_counts.time, "perf_counter", iter(range(0, 10_000, 11)).__next__)
    save_counts(tmp_path, TEXTS, vectorizer=CountVectorizer().fit(TEXTS), batch_size=8, verbose=1)
    assert "[save_counts] 16 documents" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["indptr", "indices", "data"])
def test_a_damaged_file_is_found(counts, tmp_path, name):
    save_counts(tmp_path, counts)
    path = tmp_path / f"{name}.npy"
    content = path.read_bytes()
    for damaged in (content[:-4], content[:100], content[:3], b"", b"x" + content[1:], b"PK" + content[2:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"{name}\.npy is missing or damaged"):
            load_counts(tmp_path)
    path.unlink()
    with pytest.raises(ValueError, match=rf"{name}\.npy is missing or damaged"):
        load_counts(tmp_path)


@pytest.mark.parametrize("name", ["indptr", "indices", "data"])
def test_an_array_of_another_folder_is_found(counts, tmp_path, name):
    save_counts(tmp_path, counts)
    path = tmp_path / f"{name}.npy"
    array = np.load(path)
    for other in (array[:-1], np.append(array, array[-1:]), array.astype(float), array[None]):
        np.save(path, other)
        with pytest.raises(ValueError, match=rf"{name}\.npy has the type .* are needed"):
            load_counts(tmp_path)


def test_numbers_of_entries_that_do_not_rise(counts, tmp_path):
    save_counts(tmp_path, counts)
    indptr = np.load(tmp_path / "indptr.npy")
    for place, value in ((0, 1), (3, -1), (3, 10**9)):
        changed = indptr.copy()
        changed[place] = value
        np.save(tmp_path / "indptr.npy", changed)
        with pytest.raises(ValueError, match="do not rise from 0"):
            load_counts(tmp_path)


def test_columns_that_are_damaged_are_refused_by_estimators(counts, tmp_path, small_chunks):
    save_counts(tmp_path, counts)
    indices = np.load(tmp_path / "indices.npy")
    indices[100] = 10**6
    np.save(tmp_path / "indices.npy", indices)
    with pytest.raises(ValueError, match="malformed"):
        GibbsLDA(2, max_iter=1).fit(load_counts(tmp_path).data)


def test_numpy_reads_the_arrays(counts, tmp_path):
    save_counts(tmp_path, counts)
    data, indices, indptr = (np.load(tmp_path / f"{name}.npy") for name in ("data", "indices", "indptr"))
    assert (sp.csr_array((data, indices, indptr), shape=counts.shape) != counts).nnz == 0


def test_documents_without_words(tmp_path):
    save_counts(tmp_path, np.zeros((3, 2), int))
    assert load_counts(tmp_path).data.shape == (3, 2) and load_counts(tmp_path).data.nnz == 0


def test_bad_folders(counts, tmp_path):
    with pytest.raises(ValueError, match=r"has no counts\.json"):
        load_counts(tmp_path)
    save_counts(tmp_path, counts)
    with pytest.raises(ValueError, match="is not empty"):
        save_counts(tmp_path, counts)
    described = json.loads((tmp_path / "counts.json").read_text())
    (tmp_path / "counts.json").write_text(json.dumps(described | {"format": 7}))
    with pytest.raises(ValueError, match="has format 7; this version reads 1"):
        load_counts(tmp_path)


@pytest.mark.parametrize(
    ("X", "options", "error", "message"),
    [
        ([[1, -1]], {}, ValueError, r"X\[0, 1\] = -1 is negative"),
        (iter(["a"]), {}, TypeError, "give a vectorizer"),
        ([], {"vectorizer": CountVectorizer().fit(TEXTS)}, ValueError, "no document"),
        ([[1, 1]], {"vocabulary": ["a"]}, ValueError, "1 words; there are 2 columns"),
        ([[1, 1]], {"vocabulary": "ab"}, TypeError, "vocabulary must hold one word for each column, got 'ab'"),
        (TEXTS, {"vectorizer": CountVectorizer().fit(TEXTS), "batch_size": 0}, ValueError, "batch_size must be at"),
        (TEXTS, {"vectorizer": CountVectorizer()}, NotFittedError, "not fitted"),
        ([*TEXTS, 7], {"vectorizer": CountVectorizer().fit(TEXTS), "batch_size": 3}, AttributeError, "int"),
    ],
)
def test_what_cannot_be_saved(tmp_path, X, options, error, message):
    """Nothing is left, so that the next call needs no other folder."""
    new = tmp_path / "new"
    for folder in (tmp_path, new):
        with pytest.raises(error, match=message):
            save_counts(folder, X, **options)
        assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "X",
    [
        "apple banana",
        b"apple",
        {"apple": 1},
        pandas.DataFrame({"text": TEXTS}),
        np.array([["apple"], ["banana"]]),
        sp.csr_matrix([[1]]),
    ],
    ids=lambda X: type(X).__name__,
)
def test_what_are_no_texts(tmp_path, X):
    """Characters, keys and names of columns would be counted as texts."""
    with pytest.raises(TypeError, match=f"X is a {type(X).__name__}, .*list of str"):
        save_counts(tmp_path / "new", X, vectorizer=CountVectorizer().fit(TEXTS))
    assert not [*tmp_path.iterdir()]
    save_counts(tmp_path, pandas.Series(TEXTS), vectorizer=CountVectorizer().fit(TEXTS))


def test_wrong_names_are_found_with_the_first_texts(tmp_path):
    read = []
    texts = (read.append(text) or text for text in TEXTS)
    with pytest.raises(ValueError, match="vocabulary has 1 words; there are 3 columns"):
        save_counts(tmp_path, texts, vectorizer=CountVectorizer().fit(TEXTS), vocabulary=["a"], batch_size=2)
    assert len(read) == 2


def test_ctrl_c_leaves_nothing(tmp_path):
    def texts():
        yield from TEXTS
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_counts(tmp_path / "new", texts(), vectorizer=CountVectorizer().fit(TEXTS), batch_size=2)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "names", ["abc", ["a", "b", None], ["a", "b", 3], {"a": 0, "b": 1, "c": 2}, ["a", "b"], 3, [["a"], ["b"], ["c"]]]
)
def test_a_changed_description_of_the_names(tmp_path, names):
    save_counts(tmp_path, TEXTS, vectorizer=CountVectorizer().fit(TEXTS))
    described = json.loads((tmp_path / "counts.json").read_text())
    (tmp_path / "counts.json").write_text(json.dumps(described | {"feature_names": names}))
    with pytest.raises(ValueError, match=r"counts\.json is damaged"):
        load_counts(tmp_path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "null", "[1]", "", "{", "9" * 5_000])
def test_a_damaged_description(tmp_path, text):
    save_counts(tmp_path, TEXTS, vectorizer=CountVectorizer().fit(TEXTS))
    (tmp_path / "counts.json").write_text(text)
    with pytest.raises(ValueError, match=r"counts\.json is damaged"):
        load_counts(tmp_path)


CUT_OFF = """
import os, sys
import numpy as np
import pandas
import scipy.sparse as sp
from sklda import GibbsLDA
from sklda._core import corpus
from sklda.datasets import load_counts, save_counts

folder, corpus._LARGE = sys.argv[1], int(sys.argv[2])
lda = GibbsLDA(2, max_iter=1, random_state=0).fit(np.ones((2, 30), int))
X = np.random.default_rng(0).poisson(1, (3000, 30))
save_counts(folder + "/c", X)
on_disk = load_counts(folder + "/c").data
np.save(folder + "/X.npy", X)
dense = np.load(folder + "/X.npy", mmap_mode="r")
indptr = np.memmap(folder + "/indptr", on_disk.indptr.dtype, "w+", shape=on_disk.indptr.shape)
indptr[:] = on_disk.indptr
by_hand = sp.csr_array((np.array(on_disk.data), np.array(on_disk.indices), indptr), shape=X.shape)
whole = lda.score_samples(X[:50])
assert (lda.score_samples(dense[:50]) == whole).all() and (lda.score_samples(on_disk[:50]) == whole).all()
for name in ("c/data.npy", "X.npy", "indptr"):
    os.truncate(folder + "/" + name, 4096)
for each in (on_disk, dense, by_hand):
    for call in (lda.fit, lda.transform, lambda X: save_counts(folder + "/d", X)):
        try:
            call(each)
            print("read")
        except ValueError as error:
            print("refused" if "was cut off after it was opened" in str(error) else error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not cut off a file that is in use")
@pytest.mark.parametrize("large", [2**22, 100])
def test_a_file_that_was_cut_off_does_not_end_python(tmp_path, large):
    """Read as a whole and in blocks. Without the check the process ends with SIGBUS."""
    code, out, err = run_program(CUT_OFF, tmp_path, tmp_path, large)
    assert (code, out.split("\n")) == (0, ["refused"] * 9 + [""]), err


def test_dask_is_needed_for_a_dask_array_only(counts, tmp_path, monkeypatch):
    save_counts(tmp_path, counts)
    monkeypatch.setitem(sys.modules, "dask", None)
    assert load_counts(tmp_path).data.sum() == counts.sum()
    with pytest.raises(ImportError, match=r'as_dask=True needs Dask: pip install "sklda\[cluster\]"'):
        load_counts(tmp_path, as_dask=True)


def test_a_block_that_was_cut_off(counts, tmp_path, small_chunks):
    pytest.importorskip("dask.array")
    save_counts(tmp_path, counts)
    X = load_counts(tmp_path, as_dask=True).data
    (tmp_path / "indices.npy").write_bytes((tmp_path / "indices.npy").read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"indices\.npy is missing or damaged"):
        X.compute()
