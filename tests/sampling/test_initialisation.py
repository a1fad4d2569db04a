"""Where chains begin: starts keep every promise of a fit."""

import itertools

import numpy as np
import pytest
from enumeration import chi_square_p, make_corpus

from sklda import GibbsLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.initialisation import initialise_chains, merge
from sklda._sampling.merge_gains import merge_gains
from sklda._sampling.word_major import WordMajorChain

ALARM = 1e-5


@pytest.fixture
def corpus(counts):
    return Corpus.from_counts(counts)


def test_merge_joins_the_best_pair_and_nothing_else(corpus):
    priors = Priors.make(0.3, 0.2, 5, 60)
    chain = GibbsChain.initialise_randomly(corpus, priors, random.seed_sequence(0))
    for _ in range(20):
        chain.sweep()
    merged = merge(chain, priors.resized(4), 0, lambda: False)
    gains = np.where(np.triu(np.ones((5, 5)), 1), merge_gains(chain.corpus, chain.topics, chain.priors), -np.inf)
    i, j = np.unravel_index(np.argmax(gains), gains.shape)
    assert merged.priors.n_components == 4
    assert sorted(merged.topic_totals) == sorted(
        [chain.topic_totals[i] + chain.topic_totals[j], *np.delete(chain.topic_totals, [i, j])]
    )
    pairs = np.unique(np.stack([chain.topics, merged.topics]), axis=1)
    assert pairs.shape == (2, 5)
    new = dict(pairs.T.tolist())
    assert new[i] == new[j]
    assert merged.topic_totals.sum() == corpus.n_tokens


@pytest.mark.parametrize("init", ["random", "sequential", "prune"])
def test_initialise_chains(corpus, init):
    priors = Priors.make(0.3, 0.2, 3, 60)
    seeds = [random.child(random.seed_sequence(0), c) for c in range(2)]
    chains = initialise_chains(corpus, priors, seeds, init)
    for chain in chains:
        assert chain.priors is priors
        assert chain.n_sweeps == 0
        assert chain.topic_totals.sum() == corpus.n_tokens
        assert len(chain.topic_totals) == 3
    assert (chains[0].topics != chains[1].topics).any()
    if init != "random":
        at_random = initialise_chains(corpus, priors, seeds, "random")
        assert min(c.log_joint() for c in chains) > max(c.log_joint() for c in at_random)


def in_turn(corpus, alpha, eta, n_components):
    """Probabilities of all z when tokens are drawn in turn, over the orders of the documents."""
    states = list(itertools.product(range(n_components), repeat=corpus.n_tokens))
    p, orders = np.zeros(len(states)), list(itertools.permutations(range(corpus.n_documents)))
    eta = np.broadcast_to(eta, (n_components, corpus.n_features))
    for order in orders:
        tokens = [(d, i) for d in order for i in range(*corpus.offsets[d : d + 2])]
        for s, z in enumerate(states):
            n, m, product = np.zeros((corpus.n_documents, n_components)), np.zeros(eta.shape), 1.0
            for d, i in tokens:
                weights = (n[d] + alpha) * ((m + eta) / (m + eta).sum(axis=1, keepdims=True))[:, corpus.words[i]]
                product *= weights[z[i]] / weights.sum()
                n[d, z[i]] += 1
                m[z[i], corpus.words[i]] += 1
            p[s] += product / len(orders)
    return np.array(states), p


@pytest.mark.mutation
@pytest.mark.slow
@pytest.mark.parametrize("eta", [0.3, np.array([[0.1, 0.5, 0.2], [1.0, 0.2, 0.7]])], ids=["shared", "by topic"])
@pytest.mark.parametrize("kind", [GibbsChain, pytest.param(WordMajorChain, marks=pytest.mark.exhaustive)])
def test_a_sequential_start_draws_tokens_in_turn(eta, kind):
    """The mutation has the topics' alphas exchanged."""
    corpus, alpha, n = make_corpus([[0, 1], [0], [2, 2]], 3), np.array([0.2, 0.6]), 2500
    states, p = in_turn(corpus, alpha, eta, 2)
    priors = Priors.make(alpha, eta, 2, 3)
    if kind is WordMajorChain and len(priors.topic):
        pytest.skip("not for these priors")
    place = 2 ** np.arange(corpus.n_tokens)
    seen = np.zeros(2**corpus.n_tokens)
    seeds = [np.random.SeedSequence(seed) for seed in range(n)]
    for chain in initialise_chains(corpus, priors, seeds, "sequential", kind=kind):
        seen[chain.topics @ place] += 1
    assert chi_square_p(seen[states @ place], p) > ALARM
    assert chi_square_p(seen[states @ place], in_turn(corpus, alpha[::-1], eta, 2)[1]) < ALARM


@pytest.mark.parametrize("init", ["sequential", "anneal", "prune"])
def test_fits_from_starts_are_reproducible(counts, init, same_fit):
    options = {"init": init, "max_iter": 5, "n_chains": 2, "random_state": 0}
    fitted = GibbsLDA(3, **options).fit(counts)
    assert fitted.log_joint_trace_.shape == (2, 5)
    assert same_fit(fitted, GibbsLDA(3, n_jobs=2, **options).fit(counts))
    assert not same_fit(fitted, GibbsLDA(3, **(options | {"init": "random"})).fit(counts))


def test_prune_needs_equal_topics(counts):
    eta = np.full((3, 60), 0.1)
    eta[0, :5] = 5
    for priors in ({"topic_word_prior": eta}, {"doc_topic_prior": [0.1, 0.2, 0.3]}):
        with pytest.raises(ValueError, match=r"init='prune' .*share"):
            GibbsLDA(3, init="prune", **priors).fit(counts)
    fitted = GibbsLDA(3, init="anneal", topic_word_prior=eta, max_iter=5, random_state=0).fit(counts)
    assert fitted.components_.shape == (3, 60)
    assert np.isfinite(fitted.log_joint_trace_).all()
