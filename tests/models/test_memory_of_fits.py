"""A fit that does not fit in memory is refused before its arrays are made."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from refusals import GOOD, make, refuse
from sklearn.decomposition import NMF

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
)
from sklda._sampling.chain import ChainState
from sklda.inspection import group_words
from sklda.papers.topic_count import log_evidence, log_evidence_by_sweeps, pmmh


@pytest.mark.parametrize(
    "estimator",
    [
        GibbsLDA(1_600_000),
        EmpiricalBayesLDA(1_600_000),
        CompoundLDA(1_600_000),
        CovariateLDA(1_600_000),
        TopicCountLDA(min_components=1_600_000, max_components=1_600_000),
    ],
)
def test_what_results_do_not_fit_in_memory_is_not_sampled(estimator, monkeypatch, same):
    """1.25e6 documents by 1.6e6 topics are 8 TB in single precision."""

    def never(*args, **kwargs):
        pytest.fail("a chain was made")

    monkeypatch.setattr(ChainState, "__init__", never)
    X = sp.csr_array(([1], [0], np.r_[0, np.ones(1_250_000, int)]), shape=(1_250_000, 1))
    refuse(estimator, X, MemoryError, r"^1600000 topics need at least \d+\d\d\d\.\d GB", same)


@pytest.mark.parametrize(
    "fit, n_bytes",
    [
        (lambda X: CompoundLDA(500, n_chains=2).fit(X), 2 * 4),
        (lambda X: CovariateLDA(500, n_chains=3).fit(X, covariates=np.arange(100_000) % 2), 3 * 4),
        (lambda X: CovariateLDA(500, n_chains=3).fit(X, covariates=np.arange(100_000)), 3 * 4 + 4 * 8),
    ],
)
def test_alpha_is_reserved_only_for_its_distinct_rows(fit, n_bytes, monkeypatch):
    """100,000 documents and 500 topics are 400 MB in double precision."""
    monkeypatch.setattr("os.sysconf", lambda name: 2**13, raising=False)
    X = sp.csr_array(np.ones((100_000, 1), int))
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=f"^500 topics need at least {n_bytes * 0.05:.1f} GB, and this computer"):
            fit(X)
        assert tracemalloc.get_traced_memory()[1] < 5e7
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: GibbsLDA(100, max_iter=4, n_chains=2).fit(X),
        lambda X, y: CollapsedVariationalLDA(100, max_iter=1).fit(X),
        lambda X, y: CovariateLDA(100, max_iter=3).fit(X, covariates=y * 0.1),
        lambda X, y: LabeledLDA(n_shared=100, max_iter=3, burn_in=1, n_chains=1).fit(X, y % 2),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_half_of_the_peak_is_too_little(fit, monkeypatch):
    """A computer with half of the memory that a fit takes refuses it, before it has taken a quarter."""
    X, y = np.ones((8_000, 1), int), np.arange(8_000)

    def peak():
        tracemalloc.start()
        try:
            fit(X, y)
        finally:
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()

    peaks = []
    peak()
    limits = {"SC_PHYS_PAGES": peaks[0] // 2, "SC_PAGE_SIZE": 1}
    monkeypatch.setattr("os.sysconf", limits.get, raising=False)
    with pytest.raises(MemoryError, match=r"need at least|stores a distribution"):
        peak()
    assert peaks[1] < peaks[0] / 4


def test_the_topics_that_chib_counts_for_each_token_are_reserved(monkeypatch):
    """10,000 tokens and 1,000 topics are 20 MB."""
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 1.9e7, "SC_PAGE_SIZE": 1}.get, raising=False)
    with pytest.raises(MemoryError, match=r"^1000 topics need at least 0\.0 GB"):
        log_evidence_by_sweeps([[10_000, 0]], 1000, method="chib")


@pytest.mark.parametrize(
    "call",
    [
        lambda X: pmmh(X, 700, 700, evidence="guided_ais"),
        lambda X: pmmh(X, 700, 700, evidence="ais"),
        lambda X: log_evidence(X, 700),
        lambda X: log_evidence(X, 700, method="ais"),
    ],
)
def test_guides_of_the_evidence_are_reserved(call, monkeypatch):
    """100,000 documents and 700 topics are 560 MB in double precision: for the guide, and along its path once more."""

    def never(*args, **kwargs):
        pytest.fail("a chain was made")

    monkeypatch.setattr(ChainState, "__init__", never)
    monkeypatch.setattr("os.sysconf", lambda name: 2**15, raising=False)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=r"^700 topics need at least 1\.1 GB, and this computer has 1\.1 GB"):
            call(np.ones((100_000, 1), int))
        # The topic proportions of two chains, in single precision, are reserved before.
        assert tracemalloc.get_traced_memory()[1] < 6e8
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "fitted",
    [
        lambda X: GibbsLDA(20, max_iter=2).fit(X),
        lambda X: CompoundLDA(20, max_iter=3).fit(X),
        lambda X: LabeledLDA(n_shared=18, max_iter=2, n_chains=1).fit(X, np.arange(len(X)) % 2),
        lambda X: LabeledLDA(n_shared=18, max_iter=2, n_chains=1, label_prior="dependency").fit(
            X, np.arange(len(X)) % 2
        ),
    ],
)
def test_the_result_of_transform_is_reserved(fitted, monkeypatch):
    """100,000 documents and 20 topics are 16 MB in double precision."""
    lda = fitted(np.ones((4, 3), int))
    monkeypatch.setattr("os.sysconf", lambda name: 2**11, raising=False)
    message = r"^20 topics need at least 0\.0 GB, and this computer has 0\.0 GB. Give fewer documents at a time\."
    with pytest.raises(MemoryError, match=message):
        lda.transform(sp.csr_array((100_000, 3), dtype=int))
    assert lda.transform(np.ones((4, 3), int)).shape == (4, 20)


def test_fits_of_a_consensus_share_their_corpus_and_are_refused_if_too_large(monkeypatch):
    X = np.full((5, 4), 50)
    lda = GibbsLDA(2, max_iter=4, n_draws=2)
    fits = ConsensusTopics(lda, n_fits=3, min_prevalence=0.3, n_splits=0, random_state=0).fit(X).estimators_
    assert fits[0]._results_.corpus is fits[1]._results_.corpus is fits[2]._results_.corpus
    monkeypatch.setattr("os.sysconf", lambda name: 2**6, raising=False)
    message = r"^5 fits of 1000 tokens in 5 documents keep at least 0\.0 GB, .* Use fewer fits"
    with pytest.raises(MemoryError, match=message):
        ConsensusTopics(lda, n_fits=5, n_splits=0).fit(X)
    # Proportions of 20,000 documents and 10 topics are 0.8 MB in single precision.
    monkeypatch.setattr("os.sysconf", lambda name: 2**11, raising=False)
    many = np.ones((20_000, 1), int)
    with pytest.raises(MemoryError, match=r"^6 fits of 20000 tokens in 20000 documents keep at least 0\.0 GB"):
        ConsensusTopics(NMF(10), n_fits=6, n_splits=0).fit(many)
    # What is not a count gets the message of the fits.
    with pytest.raises(ValueError, match="too large: no word and no document"):
        ConsensusTopics(lda, n_fits=2).fit(np.array([[1, 2], [1e300, 2], [1, 1], [2, 1]]))


@pytest.mark.parametrize("K", [10**9, 2**31 - 17])
@pytest.mark.parametrize(
    "call",
    [
        lambda K: GibbsLDA(K).fit(GOOD),
        lambda K: GibbsLDA(K, seed_words={0: [1]}).fit(GOOD),
        lambda K: GibbsLDA.from_assignments(GOOD, np.zeros(GOOD.sum(), int), n_components=K),
        lambda K: CollapsedVariationalLDA(K).fit(GOOD),
        lambda K: CollapsedVariationalLDA(K).partial_fit(GOOD),
        lambda K: CompoundLDA(K).fit(GOOD),
        lambda K: CovariateLDA(K).fit(GOOD),
        lambda K: EmpiricalBayesLDA(K).fit(GOOD),
        lambda K: TopicCountLDA(min_components=K, max_components=K).fit(GOOD),
        lambda K: LabeledLDA(n_shared=K).fit(GOOD, np.arange(len(GOOD)) % 2),
        lambda K: LabeledLDA(n_label_topics=K, label_prior="dependency").fit(GOOD, np.arange(len(GOOD)) % 2),
        lambda K: log_evidence(GOOD, K),
    ],
)
def test_too_many_topics_for_any_memory_are_refused_before_an_array_is_made(call, K, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 2**17, raising=False)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=rf"^{K} topics need at least \d+\.\d GB, and this computer has 17\.2 GB"):
            call(K)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def test_scores_check_parameters():
    lda = make(n_components=2).fit(GOOD).set_params(fold_in_iter=0)
    for score in (lda.score, lda.score_samples, lda.perplexity):
        with pytest.raises(ValueError, match=r"'fold_in_iter' .*int in the range"):
            score(GOOD)


def _fitted(kind, X, **parameters):
    return kind(3, max_iter=4, random_state=0, **parameters).fit(X)


def _of_groups(X):
    lda = _fitted(GibbsLDA, X)
    return lambda n: group_words(lda, X, np.arange(len(X)) % (n // 10))


ARRAYS = {
    "draws of GibbsLDA": lambda X: _fitted(GibbsLDA, X).sample_posterior,
    "draws of EmpiricalBayesLDA": lambda X: _fitted(EmpiricalBayesLDA, X).sample_posterior,
    "draws of CollapsedVariationalLDA": lambda X: _fitted(CollapsedVariationalLDA, X).sample_posterior,
    "draws of CompoundLDA": lambda X: _fitted(CompoundLDA, X).sample_posterior,
    "draws of CovariateLDA": lambda X: (
        CovariateLDA(3, max_iter=4).fit(X, covariates=np.arange(len(X))).sample_posterior
    ),
    "draws of LabeledLDA": lambda X: LabeledLDA(max_iter=2, n_chains=1).fit(X, np.arange(len(X)) % 2).sample_posterior,
    "draws of TopicCountLDA": lambda X: TopicCountLDA(max_components=2, max_iter=40).fit(X).sample_posterior,
    "draws of ConsensusTopics": lambda X: (
        ConsensusTopics(GibbsLDA(2, max_iter=4), n_fits=2, min_prevalence=0.1, random_state=0).fit(X).sample_posterior
    ),
    "groups": lambda X: _of_groups(np.ones((24_000, 3), int)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_whose_size_the_caller_sets_are_compared_with_the_memory(name, monkeypatch):
    call = ARRAYS[name](np.full((4, 3), 9))
    # One megabyte. A limit of the process counts as well as the memory of the computer.
    limit = 1000**2
    for whose in ("this computer has", "this process may have"):
        with monkeypatch.context() as patch:
            if whose == "this computer has":
                patch.setattr("os.sysconf", lambda name: 1000, raising=False)
            else:
                resource = pytest.importorskip("resource")
                patch.setattr(resource, "getrlimit", lambda kind: (limit, limit))
            tracemalloc.start()
            try:
                with pytest.raises(MemoryError, match=rf"need at least \d+\.\d GB, and {whose} 0\.0 GB\. Give"):
                    call(60_000)
                assert tracemalloc.get_traced_memory()[1] < 2e7
            finally:
                tracemalloc.stop()


def test_identifiers_are_no_groups():
    X = np.ones((40, 3), int)
    with pytest.raises(ValueError, match="groups has 40 labels for 40 documents"):
        group_words(GibbsLDA(2, max_iter=2).fit(X), X, [f"id{d}" for d in range(40)])
