"""The variance of the number of topics between chains that end in different modes."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from sklda import TopicCountLDA
from sklda._models.topic_count import finite_mixtures, prior
from sklda.datasets import make_lda_corpus

# Each topic has ten words of its own. A seventh column of counts is a topic without tokens.
COUNTS = np.kron(np.eye(6, 7, dtype=np.int32), np.full((10, 1), 20, np.int32))


def chain_of(topics):
    counts = np.where(np.isin(np.arange(7), topics), COUNTS, 0)
    return SimpleNamespace(
        word_topic_counts=counts, topic_totals=counts.sum(axis=0), priors=SimpleNamespace(word=np.full(60, 0.1))
    )


@pytest.mark.mutation("sklda._models.topic_count.prior.SAME_TOPIC", 1.0)
def test_half_of_the_topics_that_one_of_two_chains_has_alone():
    a, b, c = chain_of([0, 1, 2]), chain_of([2, 0, 3, 4]), chain_of([0, 1, 2])
    assert prior._variance_between([a]) == prior._variance_between([a, c]) == 0
    assert prior._variance_between([a, b]) == 1.5
    assert [prior._variance_between(chains) for chains in permutations([a, b, c])] == [1.0] * 6


def test_the_posterior_gets_this_variance_and_stays_in_its_range():
    counts, posterior = np.arange(1, 41), np.zeros(40)
    posterior[[18, 20]] = 0.5
    spread = prior._spread(counts, posterior, 4.0)
    assert spread.sum() == pytest.approx(1)
    assert counts @ spread == pytest.approx(20)
    assert (counts - 20) ** 2 @ spread == pytest.approx(1 + 4, rel=1e-6)
    assert prior._spread(counts[:22], posterior[:22], 4.0).sum() == pytest.approx(1)
    np.testing.assert_allclose(prior._spread(counts, posterior, 0.0), posterior, atol=1e-12)


def test_what_is_at_an_end_of_the_range_stays_there():
    """Otherwise the fit would not warn of a range that is too small."""
    for at_end in (0, 19):
        np.testing.assert_allclose(prior._spread(np.arange(1, 21), np.eye(20)[at_end], 9.0), np.eye(20)[at_end])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("small", "weighed", "is_spread"), [(1e9, 0, False), (0, 1e9, False), (0, 0, True)])
def test_only_chains_that_merge_without_evidence_are_in_different_modes(monkeypatch, small, weighed, is_spread):
    """Bounds of corpora, in tokens: with exact moves, and with evidences."""
    monkeypatch.setattr(finite_mixtures, "_SMALL", small)
    monkeypatch.setattr(finite_mixtures, "_WEIGHED", weighed)
    called = []
    monkeypatch.setattr(prior, "_variance_between", lambda chains: called.append(True) or 4.0)
    X = make_lda_corpus(100, 30, 6, doc_topic_prior=0.05, topic_word_prior=0.05, random_state=1).data
    lda = TopicCountLDA(max_components=20, max_iter=60, random_state=0).fit(X)
    counts, p = lda.topic_counts_, lda.topic_count_posterior_
    assert bool(called) == is_spread
    if is_spread:
        assert (counts - counts @ p) ** 2 @ p > 3
