"""The evidence of modes of a chain whose number of topics changes, against integrals over the shares."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._models.topic_count.count_modes import CountMode, mode_of, weights_of
from sklda._models.topic_count.count_prior import CountPrior
from sklda._models.topic_count.finite_prior import FinitePrior
from sklda._models.topic_count.prior import NumberOfTopics
from sklda._sampling.some_topics import SomeTopicsChain
from sklda._sampling.steps import advance

G, GAMMA, ETA, COUNTS = 2.0, 1.5, 0.02, np.arange(1, 4)
# Two groups of documents without common words, of 20 and 12 documents of 25 tokens.
SIZES, LENGTH, WORDS = np.array([20, 12]), 25, 5


def two_groups():
    rng = np.random.default_rng(0)
    X = np.zeros((SIZES.sum(), 2 * WORDS), int)
    X[: SIZES[0], :WORDS] = rng.multinomial(LENGTH, np.full(WORDS, 1 / WORDS), SIZES[0])
    X[SIZES[0] :, WORDS:] = rng.multinomial(LENGTH, np.full(WORDS, 1 / WORDS), SIZES[1])
    return X


def exact_log_evidence(X):
    """log p(w) of the mode with a topic for each group, by a mean over draws of pi."""
    words = X.sum(axis=0)
    log_p = SIZES.sum() * (gammaln(GAMMA) - gammaln(GAMMA + LENGTH))
    for own in (words[:WORDS], words[WORDS:]):
        total = 2 * WORDS * ETA
        log_p += gammaln(own + ETA).sum() - len(own) * gammaln(ETA) + gammaln(total) - gammaln(total + own.sum())
    rng, of_counts = np.random.default_rng(1), []
    for T in COUNTS[1:]:
        a = GAMMA * rng.dirichlet(np.full(T, G), 1_000_000)[:, :2]
        of_topics = (SIZES * (gammaln(a + LENGTH) - gammaln(a))).sum(axis=1)
        # The ways in which the two topics can be some of T.
        of_counts.append(logsumexp(of_topics) - np.log(len(a)) + np.log(T * (T - 1)))
    return log_p + logsumexp(of_counts)


def mode(X, seed):
    corpus = Corpus.from_counts(X)
    prior = FinitePrior(
        COUNTS,
        np.zeros(3),
        corpus.distinct_lengths,
        corpus.n_features,
        g=G,
        gammas=np.full(3, GAMMA),
        draws_eta=False,
    )
    documents = NumberOfTopics(len(X), CountPrior(None, 1, 3, corpus.n_tokens), prior)
    own = random.child(random.seed_sequence(0), seed)
    priors = Priors.make(1.0, ETA, 3, corpus.n_features)
    chain = SomeTopicsChain.initialise_randomly(corpus, priors, random.child(own, 0))
    chain.steps, chain.n_burn_in = documents.steps(random.child(own, 1), seed), 1000
    chain.topics[:] = corpus.words >= WORDS
    chain.recount()
    step = chain.steps[0]
    step.begin(chain)
    # Before the first merge.
    for _ in range(40):
        advance(chain, chain.steps)
    return mode_of(prior, chain, step.samples, random.child(own, 2), NEVER_STOP)


def largest_error(n_fits=12):
    X = two_groups()
    # A chain may open a third topic.
    found = [each.log_evidence for each in (mode(X, seed) for seed in range(n_fits)) if each.n_topics == 2]
    assert len(found) > 2
    return np.abs(np.array(found) - exact_log_evidence(X)).max()


# The evidence has an error of .25 nats here.
@pytest.mark.mutation("sklda._models.topic_count.count_modes._log_dirichlet", lambda parameters, shares: 0.0)
@pytest.mark.mutation(
    "sklda._models.topic_count.finite_prior.FinitePrior.log_p_given_tables",
    lambda self, tables, g, gamma: np.full(3, 3.0),
)
def test_evidence_of_a_mode_is_exact_where_its_topics_have_words_of_their_own():
    assert largest_error() < 1.2


def test_weights_follow_the_evidence_within_its_error():
    def weights(*pairs):
        return weights_of([CountMode(2, value, std, np.ones(1)) for value, std in pairs])

    sure = weights((-10.0, 0.0), (-10.0 - np.log(3), 0.0))
    np.testing.assert_allclose(sure, [0.75, 0.25])
    unsure = weights((-10.0, 4.0), (-10.0 - np.log(3), 4.0))
    assert 0.5 < unsure[0] < sure[0]


def test_a_number_of_topics_counts_once():
    """A mode that two chains have met is not twice as likely as another one of the same evidence."""
    once, twice = (CountMode(n, -100.0, 0.0, np.ones(3) / 3) for n in (4, 5))
    np.testing.assert_allclose(weights_of([once, twice, twice]), [0.5, 0.25, 0.25])
