"""The partition of documents and words among workers, and the acceptance of steps."""

import numpy as np
import pytest
from interrupts import StopAtLook

from sklda._inference.corpus import Corpus
from sklda._inference.parallel import Stopped
from sklda._inference.priors import Priors
from sklda._inference.sampling import partitioned
from sklda._inference.sampling.collapsed import GibbsChain
from sklda._inference.sampling.partitioned import PartitionedChain


def test_workers_share_neither_documents_nor_words(counts, monkeypatch):
    """In its turns, a sweep draws every token once."""
    monkeypatch.setattr(partitioned, "_STEP", 0.2)
    corpus = Corpus.from_counts(counts)
    chain = PartitionedChain.initialise_randomly(corpus, Priors.make(0.1, 0.1, 5, 60), np.random.SeedSequence(0))
    n_workers, met = chain._n_workers, np.zeros(corpus.n_tokens, int)
    assert n_workers == 4
    for turn, edges in enumerate(chain._edges):
        assert edges.shape[1] > 5
        for step in zip(edges[:, :-1].T, edges[:, 1:].T, strict=True):
            words = []
            for worker, (first, last) in enumerate(zip(*step, strict=True)):
                part = (worker + turn) % n_workers
                own = [np.arange(*chain._cuts[d, part : part + 2]) for d in range(first, last)]
                own = np.concatenate([np.empty(0, int), *own])
                met[own] += 1
                words.append(set(corpus.words[own]))
            assert len(set.union(*words)) == sum(map(len, words))
            firsts, lasts = np.sort(step, axis=1)
            assert (firsts[1:] >= lasts[:-1]).all()
    assert (met == 1).all()


@pytest.mark.parametrize("n_components", [2, 40])
@pytest.mark.parametrize("step", [0.3, 1.0])
def test_most_steps_are_accepted_and_some_are_not(counts, monkeypatch, n_components, step):
    monkeypatch.setattr(partitioned, "_STEP", step)
    corpus = Corpus.from_counts(counts)
    chain = PartitionedChain.initialise_randomly(
        corpus, Priors.make(0.1, 0.1, n_components, 60), np.random.SeedSequence(0)
    )
    accepted = []
    for _ in range(30):
        chain.sweep()
        accepted.append(chain.acceptance_rate)
    assert 0.5 < np.mean(accepted) < 1


def test_a_partitioned_sweep_may_end_between_turns(counts):
    corpus, priors = Corpus.from_counts(counts), Priors.make(0.1, 0.1, 5, 60)
    chain = PartitionedChain.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
    with pytest.raises(Stopped):
        chain.sweep(StopAtLook(3))
    assert chain.n_sweeps == 0
    again = GibbsChain(corpus, priors, chain.state())
    np.testing.assert_array_equal(chain.word_topic_counts, again.word_topic_counts)
    np.testing.assert_array_equal(chain.topic_totals, again.topic_totals)
