"""Dask arrays as X: fits on a cluster, fits without one, and lazy results."""

import gc
import os
import pickle
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.pipeline import make_pipeline
from workers import client_of

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    CovariateLDA,
    DaskGibbsLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    merge_topics,
)
from sklda._core import corpus
from sklda._models.dask.cluster_corpus import ClusterCorpus
from sklda._models.dask.estimator import present_client
from sklda.callbacks import Checkpoint
from sklda.datasets import load_docstrings, make_lda_corpus
from sklda.inspection import describe, outcome_effects, topic_table
from sklda.metrics import neg_ais_perplexity_scorer

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


def gibbs(**parameters):
    return DaskGibbsLDA(4, max_iter=20, random_state=0, **parameters)


def in_memory(**parameters):
    return GibbsLDA(4, max_iter=20, random_state=0, **parameters)


@pytest.fixture(scope="module")
def fitted(processes, counts, blocks):
    return gibbs().fit(blocks(counts, 5))


def test_a_fit_on_a_cluster(fitted, counts, processes):
    assert fitted.n_features_in_ == counts.shape[1]
    n_tokens = counts.sum()
    for name, shape in (("doc_topic_", (150, 4)), ("doc_topic_std_", (150, 4)), ("topic_assignments_", (n_tokens,))):
        assert isinstance(getattr(fitted, name), da.Array)
        assert getattr(fitted, name).compute().shape == shape
    theta = fitted.doc_topic_.compute()
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-5)
    assert len(fitted.topic_share_) == len(fitted.doc_topic_prior_) == 4
    assert fitted.diagnostics_["log_joint"].n_effective > 0
    last = np.bincount(fitted.topic_assignments_.compute(), minlength=4) / n_tokens
    np.testing.assert_allclose(last, fitted.topic_share_, atol=0.1)


def test_a_fit_on_a_cluster_is_that_of_its_sampler(fitted, counts):
    """The topics and priors are the same ones; means over draws are sums in another order."""
    local = in_memory(sampler="partially_collapsed").fit(counts)
    np.testing.assert_array_equal(fitted.topic_assignments_.compute(), local.topic_assignments_)
    np.testing.assert_array_equal(fitted.doc_topic_prior_, local.doc_topic_prior_)
    assert fitted.topic_word_prior_ == local.topic_word_prior_
    assert fitted.n_draws_ == local.n_draws_
    for name in ("components_", "doc_topic_", "topic_share_"):
        np.testing.assert_allclose(getattr(fitted, name), getattr(local, name), rtol=1e-5)


def test_as_many_draws_as_elsewhere(counts, blocks, processes):
    """Of a short fit with many topics, few draws are averaged."""
    few = {"n_components": 60, "max_iter": 10, "draw_every": 1, "random_state": 0}
    assert DaskGibbsLDA(**few).fit(blocks(counts, 3)).n_draws_ == 2
    assert GibbsLDA(**few, sampler="partially_collapsed").fit(counts).n_draws_ == 2


def test_dask_confuses_no_tasks(fitted, counts, blocks, processes, caplog):
    """It warns of tasks of the same name whose dependencies are different."""
    caplog.set_level("WARNING", logger="distributed.scheduler")
    X = blocks(counts, 3)
    lda = gibbs().fit(X)
    theta = lda.transform(X).persist()
    dask.compute(*X.to_delayed().ravel())
    assert theta.compute().shape == (150, 4)
    assert "Detected different `run_spec`" not in caplog.text


def test_learnt_priors_are_those_of_the_same_chain_in_memory(fitted, counts, processes, blocks):
    """Priors that are given change the draws; those that are learnt come from the counts of all documents."""
    again = gibbs().fit(blocks(counts, 2))
    np.testing.assert_array_equal(fitted.doc_topic_prior_, again.doc_topic_prior_)
    assert fitted.topic_word_prior_ == again.topic_word_prior_
    np.testing.assert_allclose(fitted.components_, again.components_, rtol=1e-6)
    assert not np.allclose(fitted.doc_topic_prior_, 0.25)


def test_transform_and_scores_are_lazy_and_equal(fitted, counts, blocks, processes):
    X = blocks(counts, 4)
    theta, scores = fitted.transform(X), fitted.score_samples(X)
    assert isinstance(theta, da.Array)
    assert isinstance(scores, da.Array)
    np.testing.assert_array_equal(theta.compute(), fitted.transform(counts))
    np.testing.assert_array_equal(scores.compute(), fitted.score_samples(counts))
    assert fitted.transform(X, normalize=False).compute()[0].sum() == pytest.approx(fitted.doc_topic_prior_.sum())
    assert fitted.score(X) == fitted.score(counts)
    assert fitted.perplexity(X) == fitted.perplexity(counts)
    assert neg_ais_perplexity_scorer(fitted, X) == neg_ais_perplexity_scorer(fitted, counts)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "metadata"),
    [
        (CollapsedVariationalLDA(2, max_iter=3), {}),
        (EmpiricalBayesLDA(2, max_iter=100), {}),
        (CompoundLDA(2, max_iter=3), {"collections": np.arange(150) % 2}),
        (CovariateLDA(2, max_iter=3), {"covariates": np.arange(150.0)}),
        (LabeledLDA(max_iter=3), {"y": np.arange(150) % 2}),
    ],
)
def test_estimators_transform_lazily(counts, blocks, processes, estimator, metadata):
    lda = estimator.set_params(random_state=0).fit(counts, **metadata)
    theta = lda.transform(blocks(counts, 3))
    assert isinstance(theta, da.Array)
    np.testing.assert_array_equal(np.asarray(theta), lda.transform(counts))


def test_blocks_of_unknown_length_and_empty_blocks(counts, blocks, processes):
    X = da.concatenate([blocks(counts, 3, known=False), blocks(counts[:0], 1, known=False)])
    lda = gibbs().fit(X)
    np.testing.assert_array_equal(lda.components_, gibbs().fit(blocks(counts, 3)).components_)
    assert lda.transform(X).compute().shape == (150, 4)
    assert lda.doc_topic_.shape == (150, 4)


def test_blocks_of_columns(counts, processes):
    X = da.from_array(np.asarray(counts.todense()), chunks=(50, 20))
    np.testing.assert_array_equal(gibbs().fit(X).components_, gibbs().fit(X.rechunk((50, 60))).components_)


def test_a_saved_estimator_has_no_arrays_of_the_cluster(fitted, counts):
    for lda in (fitted, merge_topics(fitted, [[0, 2]])):
        loaded = pickle.loads(pickle.dumps(lda))
        np.testing.assert_array_equal(loaded.transform(counts), lda.transform(counts))
        assert hasattr(lda, "doc_topic_") and not hasattr(loaded, "doc_topic_")


def test_merged_topics_stay_on_the_workers(fitted):
    merged = merge_topics(fitted, [[0, 2]])
    expected = np.array([0, 1, 0, 2])[fitted.topic_assignments_.compute()]
    assert merged.topic_assignments_.chunks == fitted.topic_assignments_.chunks
    np.testing.assert_array_equal(merged.topic_assignments_.compute(), expected)
    np.testing.assert_allclose(merged.doc_topic_[:, 0].compute(), fitted.doc_topic_[:, [0, 2]].sum(axis=1).compute())


@pytest.mark.parametrize("sampler", ["collapsed", "grouped"])
def test_gibbs_lda_reads_blocks_into_memory(counts, blocks, sampler):
    lda = in_memory(sampler=sampler).fit(blocks(counts, 4, known=False))
    same = in_memory(sampler=sampler).fit(counts)
    np.testing.assert_array_equal(lda.components_, same.components_)
    np.testing.assert_array_equal(lda.doc_topic_, same.doc_topic_)


def test_other_estimators_read_a_dask_array(counts, blocks):
    groups = np.arange(150) % 2
    lda = CompoundLDA(3, max_iter=10, random_state=0)
    np.testing.assert_array_equal(
        lda.fit(blocks(counts, 4), collections=groups).components_, lda.fit(counts, collections=groups).components_
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"init": "prune"}, "'init' parameter of DaskGibbsLDA must be a str among .*'anneal'"),
        ({"burn_in": 20}, "burn_in=20 leaves none of 20 sweeps"),
    ],
)
def test_parameters_that_a_cluster_does_not_have(counts, blocks, processes, parameters, message):
    with pytest.raises(ValueError, match=message):
        gibbs(**parameters).fit(blocks(counts, 2))


@pytest.mark.parametrize("make", [gibbs, in_memory])
def test_bad_counts_name_their_block(counts, blocks, processes, make):
    bad = counts.astype(float).tolil()
    bad[80, 7] = -1
    with pytest.raises(ValueError, match=r"block 1 of X: X\[5, 7\] = -1.0 is negative"):
        make().fit(blocks(bad, 2))
    with pytest.raises(ValueError, match="no token at all"):
        make().fit(blocks(counts * 0, 2))
    wrong = {(3, 6): "5 columns, and the Dask array says 6", (4, 5): "3 rows, and the Dask array says 4"}
    for said, message in wrong.items():
        other = da.from_delayed(dask.delayed(sp.csr_matrix(np.ones((3, 5), int))), said, int)
        with pytest.raises(ValueError, match=f"block 0 of X has {message}"):
            make().fit(other)


def test_words_with_too_many_tokens_on_all_workers_together(counts, blocks, processes, monkeypatch):
    """Counts have 32 bits. The workers, in other processes, have the true limit."""
    most = int(counts.sum(axis=0).max())
    monkeypatch.setattr(corpus, "LARGEST_COUNT", most)
    assert gibbs().fit(blocks(counts, 4)).n_iter_ == 20
    monkeypatch.setattr(corpus, "LARGEST_COUNT", most - 1)
    with pytest.raises(ValueError, match=f"X has {most} tokens of word .*, more than {most - 1}"):
        gibbs().fit(blocks(counts, 4))


def test_a_block_that_ends_its_workers_ends_the_fit(counts):
    def read(i):
        if i == 3:
            # As the system does if the block is too large for the memory.
            os._exit(1)
        return counts[i * 30 : (i + 1) * 30]

    parts = [da.from_delayed(dask.delayed(read, pure=False)(i), (30, counts.shape[1]), counts.dtype) for i in range(5)]
    with client_of(2, 1), pytest.raises(RuntimeError, match=r"4 workers were lost .*block 3"):
        gibbs().fit(da.concatenate(parts))


def test_arrays_of_a_wrong_shape(counts, processes):
    with pytest.raises(ValueError, match="two dimensions"):
        gibbs().fit(da.ones(5, chunks=2))
    unknown = da.from_delayed(dask.delayed(counts), (150, np.nan), int)
    with pytest.raises(ValueError, match="unknown number of columns"):
        gibbs().fit(unknown)


def test_an_array_in_memory_is_refused(counts):
    with pytest.raises(TypeError, match=r"DaskGibbsLDA .*csr_matrix: GibbsLDA"):
        gibbs().fit(sp.csr_matrix(counts))


def test_the_client_is_that_of_the_caller(processes):
    assert present_client() is processes


def test_without_a_cluster_there_is_no_fit(counts, blocks, monkeypatch):
    def none():
        raise ValueError("no global client found")

    monkeypatch.setattr("distributed.get_client", none)
    with pytest.raises(ValueError, match="no client"):
        gibbs().fit(blocks(counts, 2))


def test_seed_words_are_at_columns_or_in_the_vocabulary(counts, blocks, processes):
    by_column = gibbs(seed_words={1: [3]}).fit(blocks(counts, 2))
    words = [f"w{v}" for v in range(counts.shape[1])]
    by_word = gibbs(seed_words={1: ["w3"]}, vocabulary=words).fit(blocks(counts, 3))
    local = in_memory(seed_words={1: [3]}, sampler="partially_collapsed").fit(counts)
    np.testing.assert_array_equal(by_column.topic_word_prior_, by_word.topic_word_prior_)
    np.testing.assert_array_equal(by_column.topic_assignments_.compute(), local.topic_assignments_)


def test_the_corpus_is_checked_as_elsewhere(counts, blocks, processes):
    single = np.eye(6, dtype=int)
    with pytest.warns(UserWarning, match="No document of X has two words"):
        gibbs().fit(blocks(single, 2))
    with pytest.raises(ValueError, match=r"vocabulary has .* words, as many as X has rows"):
        gibbs(vocabulary=[f"w{d}" for d in range(counts.shape[0])]).fit(blocks(counts, 2))


def test_draws_are_on_the_workers(fitted, counts):
    with pytest.raises(ValueError, match=r"draws of a DaskGibbsLDA .*workers"):
        fitted.sample_posterior()
    assert fitted.doc_topic_posterior(counts[:3]).mean.shape == (3, 4)
    documents = counts[np.flatnonzero(counts.sum(axis=1))]
    outcome = np.arange(documents.shape[0]) % 7
    with pytest.raises(ValueError, match="outcome_effects also takes the pair"):
        outcome_effects(fitted, documents, outcome)
    known = outcome_effects((fitted.topic_word_, fitted.doc_topic_prior_), documents, outcome, random_state=0)
    assert known["topic"].tolist()[:4] == [0, 1, 2, 3]


def test_a_chain_of_too_few_sweeps(processes):
    truth = {"doc_topic_prior": 0.5, "topic_word_prior": 0.05, "random_state": 0}
    X = make_lda_corpus(400, 800, 20, doc_length=70, **truth).data.toarray()
    with pytest.warns(ConvergenceWarning, match="too few sweeps. The log joint still rises"):
        DaskGibbsLDA(20, max_iter=100, random_state=0).fit(da.from_array(X, chunks=(200, 800)))


def test_an_interrupt_ends_the_work_of_the_workers(counts, blocks, processes, after_sweep):
    def interrupt():
        raise KeyboardInterrupt

    after_sweep(5, interrupt)
    lda = gibbs()
    with pytest.raises(KeyboardInterrupt):
        lda.fit(blocks(counts, 2))
    assert not hasattr(lda, "components_")
    # The workers are free for another fit.
    assert gibbs().fit(blocks(counts, 2)).n_iter_ == 20


def test_an_interrupt_in_a_lock_of_python_is_one(counts, blocks, processes, monkeypatch):
    def interrupted(corpus, *arguments, **options):
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    monkeypatch.setattr(ClusterCorpus, "call", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gibbs().fit(blocks(counts, 2))


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("method", ["describe", "facts_of_all", "begin", "sweep", "means"])
def test_an_error_at_any_call_leaves_nothing_on_the_workers(counts, blocks, processes, method, error, monkeypatch):
    """Without garbage collection: calls of actors leave cycles of references to them."""
    call = ClusterCorpus.call

    def fails(corpus, called, *arguments, **options):
        found = call(corpus, called, *arguments, **options)
        if called == method:
            raise error
        return found

    monkeypatch.setattr(ClusterCorpus, "call", fails)
    tasks, X = processes.cluster.scheduler.tasks, blocks(counts, 2)
    # Those of other fits.
    before, limit = set(tasks), time.monotonic() + 60
    gc.disable()
    try:
        with pytest.raises(error):
            gibbs().fit(X)
        while left := set(tasks) - before:
            assert time.monotonic() < limit, left
            time.sleep(0.01)
    finally:
        gc.enable()


@pytest.mark.parametrize("hashing", [False, True])
def test_from_texts_to_a_table_of_topics(processes, hashing):
    bag = pytest.importorskip("dask.bag")
    texts = _texts()
    if hashing:
        vectorizer = HashingVectorizer(n_features=500, alternate_sign=False, norm=None)
        names = None
    else:
        vectorizer = CountVectorizer(max_features=400).fit(texts)
        names = vectorizer.get_feature_names_out()
    n_columns = len(names) if names is not None else 500
    partitions = bag.from_sequence(texts, npartitions=4).to_delayed()
    X = da.concatenate(
        [da.from_delayed(dask.delayed(vectorizer.transform)(part), (np.nan, n_columns), float) for part in partitions]
    )
    lda = gibbs().fit(X)
    assert len(topic_table(describe(lda, vocabulary=names), n_words=5)) == 4
    theta = lda.transform(X).compute()
    assert theta.shape == (len(texts), 4)
    assert make_pipeline(vectorizer, lda).transform(texts[:3]).shape == (3, 4)


def _texts():
    data = load_docstrings()
    names, X = np.asarray(data.feature_names), data.data.tocsr()[:120]
    return [" ".join(np.repeat(names[row.indices], row.data.astype(int))) for row in X]


class _Killed(Exception):
    pass


@pytest.mark.parametrize(("n_sweeps", "is_damaged"), [(3, True), (19, False)])
def test_a_fit_on_a_cluster_continues_from_its_checkpoint(
    fitted, counts, blocks, processes, n_sweeps, is_damaged, tmp_path, monkeypatch, after_sweep
):
    def kill():
        raise _Killed

    # A save after every sweep.
    monkeypatch.setattr("sklda._checkpoints.saver.SHARE", np.inf)
    X, folder = blocks(counts, 5), tmp_path / "checkpoint"
    lda = gibbs().set_callbacks(Checkpoint(folder, every=0))
    after_sweep(n_sweeps, kill)
    with pytest.raises(_Killed):
        lda.fit(X)
    with pytest.raises(ValueError, match="another X"):
        DaskGibbsLDA.resume(folder, blocks(counts[:, ::-1], 5))
    with pytest.raises(ValueError, match="its blocks are others"):
        DaskGibbsLDA.resume(folder, blocks(counts, 4))
    folder = folder.rename(tmp_path / "moved")
    if is_damaged:
        last = max(folder.glob("fit-1/stage-1.chain-0.?-2.npz"), key=lambda file: file.stat().st_mtime_ns)
        last.write_bytes(b"damaged")
        with pytest.warns(UserWarning, match=f"{last.name} in .* the chain begins again"):
            again = DaskGibbsLDA.resume(folder, X)
    else:
        again = DaskGibbsLDA.resume(folder, X)
    np.testing.assert_array_equal(again.topic_assignments_.compute(), fitted.topic_assignments_.compute())
    np.testing.assert_array_equal(again.components_, fitted.components_)
    np.testing.assert_array_equal(again.log_joint_trace_, fitted.log_joint_trace_)
    # The fit has ended, and its folder has what can be saved.
    finished = DaskGibbsLDA.resume(folder, X)
    np.testing.assert_array_equal(finished.components_, fitted.components_)
    assert not hasattr(finished, "doc_topic_")
