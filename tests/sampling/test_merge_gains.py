"""Gains of merges: their closed form is the change of the log joint, in blocks of rows."""

import tracemalloc

import numpy as np
import pytest

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling import merge_gains as gains_of_merges
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.merge_gains import merge_gains

# Documents of 0 to 39 words; priors that topics share.
SHARED = {
    "numbers": (0.3, 0.2),
    "eta per word": (0.3, np.linspace(0.1, 1, 60)),
    "alpha per document": (np.linspace(0.1, 2, 150)[:, None] * np.ones(5), 0.2),
}


@pytest.fixture
def corpus(counts):
    return Corpus.from_counts(counts)


@pytest.mark.parametrize("name", SHARED)
def test_merge_gains_are_those_of_the_log_joint(corpus, name):
    chain = GibbsChain.initialise_randomly(corpus, Priors.make(*SHARED[name], 5, 60, 150), random.seed_sequence(0))
    for _ in range(5):
        chain.sweep()
    before, gains = chain.log_joint(), merge_gains(chain.corpus, chain.topics, chain.priors)
    found, expected = [], []
    for i in range(5):
        for j in range(i + 1, 5):
            # All five topics stay, one of them without words.
            topics = np.where(chain.topics == j, i, chain.topics)
            expected.append(GibbsChain(corpus, chain.priors, ChainState(topics, chain.stream)).log_joint() - before)
            found.append(gains[i, j])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-4)
    assert np.ptp(expected) > 1


@pytest.mark.parametrize("name", SHARED)
def test_merge_gains_are_sums_over_blocks(corpus, name, monkeypatch):
    priors = Priors.make(*SHARED[name], 5, 60, 150)
    chain = GibbsChain.initialise_randomly(corpus, priors, random.seed_sequence(0))
    whole = merge_gains(chain.corpus, chain.topics, chain.priors)
    monkeypatch.setattr(gains_of_merges, "_BLOCK_PAIRS", 7 * 5**2)
    np.testing.assert_allclose(merge_gains(chain.corpus, chain.topics, chain.priors), whole, rtol=1e-12)


def test_merge_gains_do_not_count_all_documents_at_once():
    """Those of 20,000 documents and 200 topics are 32 MB in double precision."""
    corpus, priors = Corpus.from_counts(np.ones((20_000, 1), int)), Priors.make(0.3, 0.2, 200, 1)
    chain = GibbsChain.initialise_randomly(corpus, priors, random.seed_sequence(0))
    tracemalloc.start()
    try:
        merge_gains(chain.corpus, chain.topics, chain.priors)
        assert tracemalloc.get_traced_memory()[1] < 3e6
    finally:
        tracemalloc.stop()
