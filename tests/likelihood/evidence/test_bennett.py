"""Annealing runs in both directions: backward runs are not below the evidence, and forward runs not above it."""

import numpy as np
import pytest

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._likelihood.evidence import bennett
from sklda._likelihood.evidence.annealing import Guide
from sklda._sampling.annealed_start import annealed_chain
from sklda.datasets import make_lda_corpus

# Standard errors of the mean distance of the two directions. It is at 10 to 15 of these, and at -2 with short guides.
LIMIT = 5


def distance_score():
    """Standard score of the mean distance from forward runs up to backward ones: 500 tokens, 8 topics, 60 chains."""
    X = make_lda_corpus(50, 30, 3, doc_length=10, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data
    corpus, priors, found = Corpus.from_counts(X), Priors.make(0.1, 0.1, 8, 30), []
    for c in range(60):
        seed = random.seed_sequence(c)
        chain = annealed_chain(corpus, priors, random.child(seed, 0), NEVER_STOP)
        runs = bennett.run_both_ways(corpus, priors, chain, 300, 1, seed, NEVER_STOP)
        found.append((runs.backward - runs.forward).item())
    return np.mean(found) / (np.std(found, ddof=1) / np.sqrt(len(found)))


def of_few_sweeps(chain, n_sweeps, stop, from_chain=Guide.from_chain):
    """A guide that follows the state at which backward runs begin: they come out too low."""
    return from_chain(chain, 20, stop)


@pytest.mark.mutation("sklda._likelihood.evidence.annealing.Guide.from_chain", of_few_sweeps)
def test_backward_runs_are_above_forward_ones():
    assert distance_score() > LIMIT
