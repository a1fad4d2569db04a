"""Folders of counts: what is written is read again, in bounded memory, and a changed folder is found."""

import json
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

import sklda._inference.corpus as corpus_module
from sklda import CollapsedVariationalLDA, GibbsLDA
from sklda._inference.corpus import Corpus
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
    save_counts(tmp_path, TEXTS, vectorizer=hashing, feature_names=np.arange(16))
    assert load_counts(tmp_path).feature_names[3] == "3"
    assert (load_counts(tmp_path).data != hashing.transform(TEXTS)).nnz == 0


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


@pytest.mark.parametrize("name", ["lengths", "words", "counts"])
def test_a_changed_file_is_found(counts, tmp_path, name, small_chunks):
    save_counts(tmp_path, counts)
    path = tmp_path / f"{name}.i4"
    content = bytearray(path.read_bytes())
    content[-4] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{name}.i4 was changed: chunk"):
        load_counts(tmp_path)
    path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match=r"bytes; .* are needed"):
        load_counts(tmp_path, check=False)


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
        ([[1, 1]], {"feature_names": ["a"]}, ValueError, "1 names, and the documents have 2 columns"),
    ],
)
def test_what_cannot_be_saved(tmp_path, X, options, error, message):
    with pytest.raises(error, match=message):
        save_counts(tmp_path, X, **options)
    assert not (tmp_path / "counts.json").exists()
