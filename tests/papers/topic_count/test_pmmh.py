"""The chain over the number of topics against exact posteriors, and what it refuses."""

import numpy as np
import pytest
from enumeration import CASES, EXACT, make_corpus
from scipy.special import softmax
from scipy.stats import randint
from sklearn.exceptions import ConvergenceWarning

from sklda.datasets import make_lda_corpus
from sklda.papers.topic_count import pmmh
from sklda.papers.topic_count._pmmh import propose_neighbour

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
    found = pmmh(X, 1, 4, evidence=evidence, n_runs=1, n_proposals=500, **options, **given)
    expected = softmax(log_p)
    assert (np.abs(found.posterior - expected) < 5.5 * found.posterior_std).all()
    assert (found.posterior_std < 0.1).all()
    np.testing.assert_allclose(found.posterior_recycled, expected, atol=0.15)
    assert found.trace.shape == (501,)
    assert (np.abs(np.diff(found.trace)) <= 1).all()
    assert found.acceptance_rate == (np.diff(found.trace) != 0).mean()
    assert 0 < found.longest_stay < 500


@ignore
def test_pmmh_needs_the_proposals_back(monkeypatch):
    """The ends of the range have one neighbour, the rest two: without that ratio the ends are half as likely."""
    X, given, log_p = exact(FLAT)
    monkeypatch.setattr(
        "sklda.papers.topic_count._pmmh.propose_neighbour", lambda *args: (propose_neighbour(*args)[0], 0.0)
    )
    found = pmmh(X, 1, 4, n_inner=5, n_runs=1, n_proposals=1000, **given)
    errors = np.abs(found.posterior - softmax(log_p)) / found.posterior_std
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
    found = pmmh(X, low, high, **QUICK, n_proposals=20)
    assert found.topic_counts.tolist() == list(range(low, high + 1))
    assert found.posterior.sum() == pytest.approx(1)
    n_components = found.topic_counts[found.posterior.argmax()]
    assert found.model.transform(X).shape == (len(X), n_components)


@ignore
def test_the_prior_of_the_number_of_topics(tiny):
    """A uniform prior is the default, and numbers without prior probability are not visited."""
    options = {**QUICK, "n_proposals": 30}
    plain, uniform, scipy_uniform = (
        pmmh(tiny, 1, 3, topic_count_prior=prior, **options) for prior in (None, [2.0] * 3, randint(1, 4))
    )
    assert plain.trace.tolist() == uniform.trace.tolist() == scipy_uniform.trace.tolist()
    found = pmmh(tiny, 1, 3, topic_count_prior=[1.0, 0.0, 1.0], **options)
    assert found.topic_counts.tolist() == [1, 3]


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"evidence": "chib"}, "evidence must be one of"),
        ({"doc_topic_prior": [0.1, 0.2]}, "all topics have the same prior"),
        ({"n_proposals": 0}, "n_proposals must be at least 1"),
        ({"topic_word_prior": "K/2"}, "topic_word_prior = 'K/2': a text must be a number over K or T"),
        ({"topic_count_prior": [1.0, -1.0, 1.0]}, "topic_count_prior must be"),
        ({"topic_count_prior": [1.0]}, "topic_count_prior must be"),
    ],
)
def test_bad_parameters(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        pmmh(X, 2, 4, **parameters)


def test_a_chain_that_sticks_says_so(tiny, monkeypatch):
    monkeypatch.setattr("sklda.papers.topic_count._pmmh.TopicCountTrace.longest_stay", 60)
    with pytest.warns(ConvergenceWarning, match="60 of 70 proposals"):
        pmmh(tiny, 1, 3, **QUICK, n_proposals=70)
