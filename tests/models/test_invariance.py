"""Changes that must not change results, to the last bit: n_jobs, order, format, dtype, blocks, processes, copies."""

import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from estimates import estimate_counts
from sklearn.base import clone

from sklda import ConsensusTopics, GibbsLDA
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._likelihood.held_out import document_block
from sklda._sampling import collapsed as chain
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain

PRIORS = {
    "symmetric": {},
    "vectors": {"doc_topic_prior": [0.1, 0.5, 1, 2], "topic_word_prior": np.linspace(0.1, 1, 60)},
    "matrix": {"topic_word_prior": np.random.default_rng(0).uniform(0.1, 1, (4, 60))},
}


def make(**parameters):
    return GibbsLDA(**{"n_components": 4, "max_iter": 8, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def fitted(counts):
    return make(n_chains=3).fit(counts)


@pytest.fixture(scope="module")
def theta(fitted, counts):
    return fitted.transform(counts)


@pytest.mark.parametrize("priors", PRIORS)
@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_n_jobs(counts, same_fit, same, n_jobs, priors):
    serial = make(n_chains=3, **PRIORS[priors]).fit(counts)
    parallel = make(n_chains=3, n_jobs=n_jobs, **PRIORS[priors]).fit(counts)
    assert same_fit(parallel, serial)
    assert same(parallel.transform(counts), serial.transform(counts))


@pytest.mark.parametrize(
    "config",
    [
        {"backend": "threading", "n_jobs": 2},
        # Arrays of more than one byte reach the processes as read-only memory maps, as in sampling/test_blocked.py.
        pytest.param({"backend": "loky", "n_jobs": 2, "max_nbytes": 1}, marks=pytest.mark.exhaustive),
        {"backend": "sequential"},
    ],
)
def test_joblib_backends(counts, fitted, theta, same_fit, same, config):
    with joblib.parallel_config(**config):
        lda = make(n_chains=3).fit(counts)
        assert same(lda.transform(counts), theta)
    assert same_fit(lda, fitted)


def test_a_chain_does_not_depend_on_how_many_there_are(counts, fitted, same):
    for n_chains in (1, 2):
        assert same(make(n_chains=n_chains).fit(counts).log_joint_trace_, fitted.log_joint_trace_[:n_chains])


def test_transform_of_permuted_documents(counts, fitted, theta, same):
    order = np.random.default_rng(0).permutation(150)
    assert same(fitted.transform(counts[order]), theta[order])


def test_transform_of_subsets(counts, fitted, theta, same):
    for rows in (slice(0, 1), slice(3, 4), slice(60, 70), slice(1, None, 2), slice(None, None, -1)):
        assert same(fitted.transform(counts[rows]), np.ascontiguousarray(theta[rows]))


def test_transform_of_repeated_documents(counts, fitted, theta, same):
    assert same(fitted.transform(sp.vstack([counts, counts, counts[39]])), np.vstack([theta, theta, theta[39]]))


def test_fit_transform_is_fit_then_transform(counts, fitted, theta, same, same_fit):
    lda = make(n_chains=3)
    assert same(lda.fit_transform(counts), theta)
    assert same_fit(lda, fitted)
    assert same(lda.fit_transform(counts, normalize=False), fitted.transform(counts, normalize=False))


FORMATS = {
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "csc_array": sp.csc_array,
    "coo_matrix": sp.coo_matrix,
    "coo_array": sp.coo_array,
    "lil_matrix": sp.lil_matrix,
    "lil_array": sp.lil_array,
    "dok_array": sp.dok_array,
    "bsr_array": sp.bsr_array,
    "dense": lambda X: X.toarray(),
    "fortran": lambda X: np.asfortranarray(X.toarray()),
    "strided": lambda X: np.repeat(X.toarray(), 2, axis=1)[:, ::2],
    "list": lambda X: X.toarray().tolist(),
    "object": lambda X: X.toarray().astype(object),
    "int64 indices": lambda X: sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape),
}


def unsorted(X):
    """Every row with its entries in reverse."""
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(X.indptr, X.indptr[1:], strict=False)])
    return sp.csr_matrix((X.data[order], X.indices[order], X.indptr), X.shape)


def duplicated(X):
    """Every count c as c entries of 1."""
    return sp.csr_matrix(
        (np.ones(X.sum(), np.int64), np.repeat(X.indices, X.data), Corpus.from_counts(X).offsets), X.shape
    )


def with_zeros(X):
    """Every entry stored, zeros too."""
    shape = X.shape
    return sp.csr_matrix(
        (X.toarray().ravel(), np.tile(np.arange(shape[1]), shape[0]), np.arange(shape[0] + 1) * shape[1])
    )


FORMATS |= {"unsorted": unsorted, "duplicated": duplicated, "explicit zeros": with_zeros}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(counts, same, same_fit, fitted, theta, name):
    X = FORMATS[name](counts)
    before = pickle.dumps(X)
    lda = make(n_chains=3).fit(X)
    assert same_fit(lda, fitted)
    assert same(fitted.transform(X), theta)
    assert pickle.dumps(X) == before, "X was changed"


@pytest.mark.filterwarnings("ignore")
def test_common_topics_leave_the_documents_as_they_are(counts):
    X = unsorted(counts)
    before = pickle.dumps(X)
    ConsensusTopics(make(), n_fits=2, random_state=0).fit(X)
    assert pickle.dumps(X) == before, "X was changed"


@pytest.mark.parametrize("dtype", "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split())
@pytest.mark.parametrize("form", ["csr", "csc", "dense"])
def test_dtypes(binary, same, same_fit, dtype, form):
    expected = make().fit(binary)
    X = binary.astype(dtype)
    X = X.toarray() if form == "dense" else X.asformat(form)
    before = pickle.dumps(X)
    lda = make().fit(X)
    assert same_fit(lda, expected)
    assert same(lda.transform(X), expected.transform(binary))
    assert pickle.dumps(X) == before, "X was changed"


@pytest.mark.parametrize("dense", [False, True])
def test_memory_maps_are_read_only_and_enough(counts, same, same_fit, fitted, theta, tmp_path, dense):
    path = tmp_path / "counts"
    joblib.dump(counts.toarray() if dense else counts, path)
    X = joblib.load(path, mmap_mode="r")
    assert isinstance(X if dense else X.data, np.memmap)
    assert same_fit(make(n_chains=3).fit(X), fitted)
    assert same(fitted.transform(X), theta)
    assert same(np.asarray(joblib.load(path).sum()), np.asarray(counts.sum()))


def test_pandas(counts, same, theta):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(counts.toarray(), columns=[f"word{v}" for v in range(60)])
    lda = make(n_chains=3).fit(frame)
    assert same(lda.transform(frame), theta)
    assert same(lda.transform(frame.astype("Int64")), theta)
    sparse = pandas.DataFrame.sparse.from_spmatrix(counts.copy(), columns=frame.columns)
    assert same(lda.transform(sparse), theta)


def test_copies(counts, same, same_fit, fitted, theta, tmp_path):
    joblib.dump(fitted, tmp_path / "lda")
    for copy in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "lda")):
        assert same(vars(copy), vars(fitted))
        assert same(copy.transform(counts), theta)
    # A model loaded as a memory map has read-only arrays.
    copy = joblib.load(tmp_path / "lda", mmap_mode="r")
    assert same(copy.transform(counts), theta)
    copy.set_params(warm_start=True).fit(counts)
    assert copy.n_iter_ == 16
    assert same_fit(clone(fitted).fit(counts), fitted)


@pytest.mark.parametrize("priors", PRIORS)
@pytest.mark.parametrize("weights", [1, 1000, 16 * 60 + 5])
def test_blocks_of_a_sweep(counts, same_fit, monkeypatch, priors, weights):
    expected = make(**PRIORS[priors]).fit(counts)
    monkeypatch.setattr(chain, "BLOCK_WEIGHTS", weights)
    assert same_fit(make(**PRIORS[priors]).fit(counts), expected)


@pytest.mark.parametrize("n_documents", [1, 7, 1000])
def test_blocks_of_the_fold_in(counts, same, monkeypatch, fitted, theta, n_documents):
    monkeypatch.setattr(document_block, "BLOCK_DOCUMENTS", n_documents)
    assert same(fitted.transform(counts), theta)


@pytest.mark.parametrize(
    "seed", [lambda: 7, lambda: np.int64(7), lambda: np.random.RandomState(7), lambda: np.random.default_rng(7)]
)
def test_same_seed_same_answer(counts, same, same_fit, seed):
    first, second = (make(random_state=seed()).fit(counts) for _ in range(2))
    assert same_fit(first, second)
    assert same(first.transform(counts), second.transform(counts))
    assert not same(first.log_joint_trace_, make().fit(counts).log_joint_trace_)


def test_other_seed_other_answer(counts):
    traces = {float(make(random_state=seed).fit(counts).log_joint_trace_[0, -1]) for seed in [None, None, *range(5)]}
    assert len(traces) == 7


def test_a_generator_moves_on(counts, same):
    for state in (np.random.RandomState(0), np.random.default_rng(0)):
        first, second = (make(random_state=state).fit(counts).log_joint_trace_ for _ in range(2))
        assert not same(first, second)


def test_transform_depends_on_the_seed_of_the_fit(counts, fitted, theta, same):
    other = clone(fitted).set_params(random_state=1).fit(counts)
    other.components_ = fitted.components_
    assert not same(other.transform(counts), theta)


@pytest.mark.parametrize("priors", PRIORS)
def test_relabelling(counts, priors):
    """Topics under other names: the same joint density, and the same estimates under those names."""
    alpha = np.broadcast_to(PRIORS[priors].get("doc_topic_prior", 0.3), 4)
    eta = np.broadcast_to(PRIORS[priors].get("topic_word_prior", 0.2), (4, 60))
    topics = make().fit(counts).topic_assignments_
    new_name = np.array([2, 0, 3, 1])
    old_name = np.argsort(new_name)
    corpus = Corpus.from_counts(counts)
    log_joints, estimates = [], []
    for z, a, e in ((topics, alpha, eta), (new_name[topics], alpha[old_name], eta[old_name])):
        state = ChainState(z, np.ones(4, np.uint64))
        log_joints.append(GibbsChain(corpus, Priors.make(a, e, 4, 60), state).log_joint())
        estimates.append(estimate_counts(corpus, Priors.make(a, e, 4, 60), z))
    np.testing.assert_allclose(*log_joints, rtol=1e-12)
    np.testing.assert_allclose(estimates[1][0], estimates[0][0][:, old_name], rtol=1e-12)
    np.testing.assert_allclose(estimates[1][1], estimates[0][1][old_name], rtol=1e-12)


def test_arrays_given_as_priors_are_copied(counts, same):
    alpha, eta = np.full(4, 0.5), np.full((4, 60), 0.5)
    lda = make(doc_topic_prior=alpha, topic_word_prior=eta).fit(counts)
    before = lda.transform(counts)
    alpha[:], eta[:] = 9, 9
    assert same(lda.transform(counts), before)
    assert (lda.doc_topic_prior_ == 0.5).all()
    assert (lda.topic_word_prior_ == 0.5).all()
