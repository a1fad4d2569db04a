"""Arrays from messages that begin at any byte are aligned before kernels read them."""

import pickle

import numpy as np
import pytest

from sklda._inference.compound.model import Model
from sklda._inference.corpus import Corpus
from sklda._inference.parallel import _with_aligned_arrays, results_of
from sklda._inference.priors import Priors
from sklda._inference.sampling.choice import SAMPLERS, chain_class
from sklda.datasets import make_lda_corpus


def sent(value):
    """A copy of `value` as from a message in which all arrays begin at odd bytes, and are read-only."""
    buffers = []
    text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=[memoryview(b"x" + bytes(buffer.raw()))[1:] for buffer in buffers])


def arrays_of(value):
    return [each for each in vars(value).values() if isinstance(each, np.ndarray)]


@pytest.fixture(scope="module")
def corpus():
    return Corpus.from_counts(make_lda_corpus(20, 30, 3, random_state=0).data)


def test_such_messages_exist():
    assert not sent(np.arange(10)).flags.aligned


def test_attributes_are_aligned(corpus):
    for value in (corpus, Priors.make([0.1, 0.2, 0.3], np.ones((3, 30)), 3, 30), Model(np.arange(20), 20)):
        assert arrays_of(value)
        assert all(each.flags.aligned for each in arrays_of(sent(value)))


def test_arguments_are_aligned():
    assert _with_aligned_arrays(_flags, *sent((np.arange(3), np.ones(2), "x"))) == [True, True]


def test_results_are_aligned():
    assert [each.flags.aligned for each in results_of(sent, [np.arange(3), np.ones(2)])] == [True, True]


def _flags(*arguments):
    return [each.flags.aligned for each in arguments if isinstance(each, np.ndarray)]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_chains_make_the_same_draws(corpus, sampler):
    priors = Priors.make([0.1, 0.2, 0.3], 0.1, 3, 30)
    chain = chain_class(sampler, corpus, priors).initialise_randomly(corpus, priors, np.random.SeedSequence(0))
    other = sent(chain)
    for each in (chain, other):
        each.sweep()
    np.testing.assert_array_equal(chain.topics, other.topics)
