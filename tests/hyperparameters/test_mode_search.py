"""Where the chains of EmpiricalBayesLDA begin: they climb until they agree, or keep the best of many modes."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.hyperparameters.convergence import warn_of
from sklda._inference.hyperparameters.maximum import Maximum
from sklda._inference.hyperparameters.mode_search import Pilots, _climb, _settle, find_pilots, mode_evidence, weigh
from sklda._inference.priors import Priors
from sklda._inference.sampling.collapsed import ChainState, GibbsChain
from sklda.datasets import make_lda_corpus

WITHIN = ((1e-3, 1e2), (1e-3, 1e2))
SEED = np.random.SeedSequence(0)


def three_kinds():
    """Documents of three kinds for two topics: which two kinds share one makes a mode that sweeps do not leave."""
    rng = np.random.default_rng(0)
    words = np.zeros((3, 12))
    words[0, :2], words[1, 2:4], words[2, 4:] = 1 / 2, 1 / 2, 1 / 8
    kinds = np.repeat([0, 1, 2], [40, 40, 15])
    X = np.array([rng.multinomial(40, 0.95 * words[kind] + 0.05 / 12) for kind in kinds])
    return Corpus.from_counts(X), kinds


def in_mode(alone, seed):
    """A chain in which one kind of documents has a topic for itself."""
    corpus, kinds = three_kinds()
    topics = (kinds == alone).astype(np.int32)[corpus.token_documents]
    return GibbsChain(corpus, Priors.make(0.1, 0.5, 2, 12), ChainState(topics, random.stream(random.child(SEED, seed))))


def alone_in(chain):
    """The kind that has a topic for itself, and whether it still has."""
    _, kinds = three_kinds()
    main = chain.doc_topic_counts().argmax(axis=1)
    share = [main[kinds == kind].mean() for kind in range(3)]
    first = np.argmax(np.abs(np.array(share) - np.median(share)))
    return int(first)


def climb(alone):
    found = [
        _settle(in_mode(kind, c), WITHIN, 60, random.child(SEED, 9, c), lambda: False) for c, kind in enumerate(alone)
    ]
    return _climb(found, WITHIN, 100, SEED, None)


@pytest.mark.parametrize(("n_within", "warned"), [(1, True), (4, True), (5, False)])
def test_few_starts_within_reach_are_worth_a_warning(n_within, warned):
    nothing = SimpleNamespace(edges={})
    pilots = Pilots([None] * 4, False, None, None, None, np.zeros(52), 1.0, 8, n_within, np.zeros((2, 2)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of("full_bayes", nothing, WITHIN, False, np.ones(2), np.ones((2, 2)) / 4, None, pilots)
    assert [f"only {n_within} came within reach" in str(each.message) for each in caught] == [True] * warned


def test_modes_that_may_have_been_missed_are_in_the_error():
    errors, doubt = np.diag([0.01, np.inf]), np.array([[0.04, 0.01], [0.01, 0.09]])
    maximum = Maximum(np.zeros(2), errors, errors, np.eye(2), -np.eye(2), {1: "lower"}).in_doubt(doubt)
    np.testing.assert_allclose(maximum.monte_carlo, np.diag([0.05, np.inf]))


def test_chains_that_agree_need_no_evidence():
    truth = {"topic_word_prior": 0.5, "doc_topic_prior": 0.3}
    corpus = Corpus.from_counts(make_lda_corpus(80, 20, 2, doc_length=50, **truth, random_state=0).data)
    pilots = find_pilots(corpus, Priors.make(5.0, 5.0, 2, 20), WITHIN, n_chains=4, n_sweeps=100, seed=SEED)
    assert pilots.agree
    assert pilots.log_evidence.size == 0
    (eta_low, eta_high), (alpha_low, alpha_high) = pilots.region
    assert eta_low < 0.5 < eta_high
    assert alpha_low < 0.3 < alpha_high


def test_chains_in_modes_of_their_own_do_not_agree():
    found, _, agree = climb([0, 0, 2, 2])
    assert [alone_in(each.chain) for each in found] == [0, 0, 2, 2]
    assert not agree
    found, curve, agree = climb([0, 0, 0, 0])
    assert agree
    assert curve.lengths == [len(found[0].chain.observations)] * 4


def test_the_best_modes_are_kept():
    """The third kind alone is a mode hundreds of nats down."""
    chains = [in_mode(kind, 20 + kind) for kind in range(3)]
    priors = Priors.make(0.1, 0.5, 2, 12)
    value, std, ends = mode_evidence(chains, priors, 100, 2, random.child(SEED, 1))
    assert value[:2].min() > value[2] + 100
    assert std < 10
    assert [len(own) for own in ends] == [2, 2, 2]
    log_weights = weigh(value, std)
    assert (log_weights[:2] > -20).all()
    assert log_weights[2] < -50
    corpus, _ = three_kinds()
    pilots = find_pilots(corpus, priors, WITHIN, n_chains=4, n_sweeps=60, seed=SEED)
    assert {alone_in(chain) for chain in pilots.chains} <= {0, 1}


@pytest.mark.parametrize("n_chains", [1, 2])
def test_few_sweeps_and_chains(n_chains):
    corpus, _ = three_kinds()
    pilots = find_pilots(corpus, Priors.make(1.0, 1.0, 2, 12), WITHIN, n_chains=n_chains, n_sweeps=1, seed=SEED)
    assert len(pilots.chains) == n_chains
    assert np.isfinite(pilots.region).all()
