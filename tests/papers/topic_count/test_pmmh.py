"""PMMHTopicCountLDA: the chain over the number of topics against exact posteriors, and its ends before the end."""

import pickle

import numpy as np
import pytest
from enumeration import CASES, EXACT, make_corpus
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from stub_callbacks import Stop

from sklda._likelihood.evidence import annealing
from sklda.datasets import make_lda_corpus
from sklda.papers.topic_count import PMMHTopicCountLDA
from sklda.papers.topic_count._pmmh import PMMH, propose_neighbour

FLAT = "three words, 1, 1"
QUICK = {"evidence": "guided_ais", "n_temperatures": 8, "random_state": 0}
ignore = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def tiny():
    return make_corpus(*EXACT[FLAT][:2]).to_counts()


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(60, 30, 3, doc_length=40, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data


def exact(case):
    """Counts, options that name the priors, and log p(w | T) for T = 1..4."""
    docs, n_features, alpha, eta, log_p = EXACT[case]
    options = {"doc_topic_prior": alpha, "topic_word_prior": eta, "random_state": 0}
    return make_corpus(docs, n_features).to_counts(), options, np.array(log_p)


@pytest.mark.mutation("test_pmmh_needs_the_proposals_back")
@ignore
@pytest.mark.parametrize(
    "case, evidence, options",
    [
        (FLAT, "cgs_transition", {"n_inner": 5}),
        (FLAT, "ais", {"n_temperatures": 6}),
        *(
            pytest.param(
                *case.values,
                "guided_ais",
                {"n_temperatures": 6},
                marks=pytest.mark.exhaustive if FLAT in case.values else case.marks,
            )
            for case in CASES
        ),
    ],
)
def test_pmmh_finds_the_exact_posterior(case, evidence, options):
    """By batch means of 22 degrees of freedom, of which 5.5 errors are 2e-5."""
    X, given, log_p = exact(case)
    lda = PMMHTopicCountLDA(1, 4, evidence=evidence, n_runs=1, n_proposals=500, **options, **given).fit(X)
    expected = softmax(log_p)
    assert (np.abs(lda.topic_count_posterior_ - expected) < 5.5 * lda.topic_count_posterior_std_).all()
    assert (lda.topic_count_posterior_std_ < 0.1).all()
    np.testing.assert_allclose(lda.topic_count_posterior_recycled_, expected, atol=0.15)
    assert lda.topic_count_trace_.shape == (501,)
    assert (np.abs(np.diff(lda.topic_count_trace_)) <= 1).all()
    assert lda.acceptance_rate_ == (np.diff(lda.topic_count_trace_) != 0).mean()
    assert 0 < lda.longest_stay_ < 500


@ignore
def test_pmmh_needs_the_proposals_back(monkeypatch):
    """The ends of the range have one neighbour, the rest two: without that ratio the ends are half as likely."""
    X, given, log_p = exact(FLAT)
    monkeypatch.setattr(
        "sklda.papers.topic_count._pmmh.propose_neighbour", lambda *args: (propose_neighbour(*args)[0], 0.0)
    )
    lda = PMMHTopicCountLDA(1, 4, n_inner=5, n_runs=1, n_proposals=1000, **given).fit(X)
    errors = np.abs(lda.topic_count_posterior_ - softmax(log_p)) / lda.topic_count_posterior_std_
    assert errors.max() > 5.5


@ignore
@pytest.mark.parametrize(
    "X, low, high",
    [
        (np.array([[1, 1, 0], [0, 1, 1]]), 1, 8),
        (np.array([[0, 0, 0], [3, 2, 4], [0, 0, 0], [1, 0, 5]]), 1, 3),
        (np.array([[3, 2, 4], [1, 1, 5]]), 1, 1),
    ],
    ids=["fewer tokens than topics", "empty documents", "one topic"],
)
def test_small_corpora(X, low, high):
    lda = PMMHTopicCountLDA(low, high, **QUICK, n_proposals=20).fit(X)
    assert lda.topic_counts_.tolist() == list(range(low, high + 1))
    assert lda.topic_count_posterior_.sum() == pytest.approx(1)
    assert lda.transform(X).shape == (len(X), lda.n_components_)


@ignore
def test_nothing_depends_on_n_jobs_or_the_format(X, same_fit):
    first = PMMHTopicCountLDA(2, 4, **QUICK, n_proposals=5).fit(X)
    assert same_fit(first, PMMHTopicCountLDA(2, 4, n_jobs=2, **QUICK, n_proposals=5).fit(X))
    copy = pickle.loads(pickle.dumps(first))
    assert (copy.transform(X) == first.transform(X)).all()
    assert (copy.sample_posterior(2, 0).doc_topic[1] == first.sample_posterior(2, 0).doc_topic[1]).all()


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"evidence": "chib"}, "'evidence' parameter of PMMHTopicCountLDA must be a str among"),
        ({"doc_topic_prior": None}, "'doc_topic_prior' parameter"),
        ({"n_proposals": 0}, "'n_proposals' parameter"),
        ({"topic_word_prior": "K/2"}, "topic_word_prior = 'K/2': a text must be a number over K or T"),
    ],
)
def test_bad_parameters(X, parameters, message):
    lda = PMMHTopicCountLDA(2, 4).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        lda.fit(X)
    assert not [name for name in vars(lda) if name.endswith("_")]


@ignore
@pytest.mark.parametrize("n_estimates", [0, 1, 2, 9])
def test_pmmh_keeps_its_estimates_after_ctrl_c(tiny, monkeypatch, n_estimates):
    estimate, made = PMMH._estimate, []

    def interrupted(self, T, i):
        if len(made) == n_estimates:
            raise KeyboardInterrupt
        made.append(T)
        return estimate(self, T, i)

    monkeypatch.setattr(PMMH, "_estimate", interrupted)
    lda = PMMHTopicCountLDA(1, 3, **QUICK, n_proposals=30)
    if not n_estimates:
        with pytest.raises(KeyboardInterrupt):
            lda.fit(tiny)
        assert not [name for name in vars(lda) if name.endswith("_")]
        return
    message = f"the first {n_estimates} estimates?, because the fit was interrupted"
    with pytest.warns(ConvergenceWarning, match=message):
        lda.fit(tiny)
    assert lda.evidence_trace_["n_components"].tolist() == made
    assert len(lda.topic_count_trace_) == n_estimates
    assert lda.topic_count_posterior_.sum() == pytest.approx(1)
    assert lda.transform(tiny).shape == (tiny.shape[0], lda.n_components_)
    assert set(lda.sample_posterior(3, random_state=0).n_components) <= {*made}
    # One estimate tells nothing of its error.
    assert n_estimates > 1 or (lda.topic_count_posterior_std_ == 0.5).all()


@ignore
def test_pmmh_that_a_callback_ends_says_so(tiny):
    pytest.importorskip("sklearn.callback")
    lda = PMMHTopicCountLDA(1, 3, **QUICK, n_proposals=20).set_callbacks(Stop())
    with pytest.warns(ConvergenceWarning, match="the first 3 estimates, because a callback stopped the fit"):
        lda.fit(tiny)


@ignore
@pytest.mark.parametrize("evidence", ["guided_ais", "ais", "cgs_transition"])
def test_pmmh_counts_all_its_sweeps(X, sweeps_made, evidence):
    options = {"n_temperatures": 8, "n_runs": 2, "n_inner": 4, "n_proposals": 3, "random_state": 0}
    lda = PMMHTopicCountLDA(2, 3, evidence=evidence, **options)
    assert lda.fit(X).n_iter_ == sweeps_made()


@pytest.mark.filterwarnings("ignore:p.T . w.:sklearn.exceptions.ConvergenceWarning")
def test_pmmh_that_sticks_says_so(tiny, monkeypatch):
    monkeypatch.setattr("sklda.papers.topic_count._pmmh.Trace.longest_stay", 60)
    with pytest.warns(ConvergenceWarning, match="rejected 60 of 70 proposals in a row"):
        PMMHTopicCountLDA(1, 3, **QUICK, n_proposals=70).fit(tiny)


@ignore
def test_guides_that_do_not_fit_in_memory_leave_the_best_answer_so_far(X, monkeypatch):
    """A check before the first estimate and for each."""

    def limited(K, row_bytes):
        # The guide and the priors along its path, and the changes of labels, in double precision.
        assert row_bytes == 8 * (2 * sum(X.shape) + K)
        if len(calls) == most:
            raise MemoryError(f"{K} topics need at least 9.0 GB. Use fewer topics.")
        calls.append(K)

    monkeypatch.setattr(annealing, "check_memory_of_topics", limited)
    lda = PMMHTopicCountLDA(2, 6, **QUICK, n_proposals=30)
    calls, most = [], 0
    with pytest.raises(MemoryError, match="topics need at least"):
        lda.fit(X)
    calls, most = [], 16
    message = r"p\(T \| w\) is that of the first .* topics need at least 9.0 GB. Use fewer topics. Its standard errors"
    with pytest.warns(ConvergenceWarning, match=message):
        lda.fit(X)
    assert len(lda.topic_count_trace_) == 15
    assert lda.transform(X).shape == (60, lda.n_components_)
