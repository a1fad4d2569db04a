"""Where the chains of EmpiricalBayesLDA begin: burnt in until they agree, or in the best of many modes."""

import numpy as np
import pytest

from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.hyperparameters.burn_in import burn_in, settle
from sklda._inference.hyperparameters.chain_pool import ChainPool
from sklda._inference.hyperparameters.mode_search import search_modes
from sklda._inference.hyperparameters.settings import Settings
from sklda._inference.modes.mode_evidence import log_mode_weights, mode_evidence
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


def burnt_in(alone):
    settled = [settle(in_mode(kind, c), WITHIN, 60, random.child(SEED, 9, c)) for c, kind in enumerate(alone)]
    return burn_in(settled, WITHIN, 100, SEED)


def search(corpus, priors, n_chains, n_sweeps):
    settings = Settings(n_tuning=n_sweeps, max_iter=1, region=WITHIN)
    return search_modes(ChainPool(corpus, priors, settings, SEED, n_chains=n_chains), SEED)


@pytest.mark.parametrize(("doc_length", "searched"), [(20, False), (50, True)])
def test_modes_are_searched_on_corpora_that_are_not_too_small(doc_length, searched):
    truth = {"topic_word_prior": 0.5, "doc_topic_prior": 0.3}
    corpus = Corpus.from_counts(make_lda_corpus(80, 20, 2, doc_length=doc_length, **truth, random_state=0).data)
    modes = search(corpus, Priors.make(5.0, 5.0, 2, 20), n_chains=4, n_sweeps=100)
    assert modes.agree
    assert modes.log_evidence.size == (4 if searched else 0)
    (eta_low, eta_high), (alpha_low, alpha_high) = modes.region
    assert eta_low < 0.5 < eta_high
    assert alpha_low < 0.3 < alpha_high


def test_chains_in_modes_of_their_own_do_not_agree():
    apart = burnt_in([0, 0, 2, 2])
    assert [alone_in(each.chain) for each in apart.settled] == [0, 0, 2, 2]
    assert not apart.agree
    together = burnt_in([0, 0, 0, 0])
    assert together.agree
    assert together.curve.lengths == [together.settled[0].chain.n_observations] * 4


def test_the_best_modes_are_kept():
    """The third kind alone is a mode hundreds of nats down."""
    chains = [in_mode(kind, 20 + kind) for kind in range(3)]
    priors = Priors.make(0.1, 0.5, 2, 12)
    found = mode_evidence(chains, priors, 100, 2, random.child(SEED, 1))
    assert found.value[:2].min() > found.value[2] + 100
    assert found.std < 10
    assert [len(own) for own in found.ends] == [2, 2, 2]
    log_weights = log_mode_weights(found.value, found.std)
    assert (log_weights[:2] > -20).all()
    assert log_weights[2] < -50
    corpus, _ = three_kinds()
    modes = search(corpus, priors, n_chains=4, n_sweeps=60)
    assert {alone_in(chain) for chain in modes.chains} <= {0, 1}


@pytest.mark.parametrize("n_chains", [1, 2])
def test_few_sweeps_and_chains(n_chains):
    corpus, _ = three_kinds()
    modes = search(corpus, Priors.make(1.0, 1.0, 2, 12), n_chains=n_chains, n_sweeps=1)
    assert len(modes.chains) == n_chains
    assert np.isfinite(modes.region).all()
