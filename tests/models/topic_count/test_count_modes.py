"""The evidence of modes of a chain whose number of topics changes, against integrals over the shares."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._models.topic_count import word_prior
from sklda._models.topic_count.count_modes import CountMode, mode_of, weights_of
from sklda._models.topic_count.count_prior import CountPrior
from sklda._models.topic_count.finite_prior import ETA_PRIOR, FinitePrior
from sklda._models.topic_count.prior import NumberOfTopics
from sklda._models.topic_count.word_prior import WordPrior
from sklda._sampling.some_topics import SomeTopicsChain
from sklda._sampling.steps import advance

G, GAMMA, ETA = 2.0, 1.5, 0.02
# Two groups of documents without common words, of 20 and 12 documents of 25 tokens.
SIZES, LENGTH, WORDS = np.array([20, 12]), 25, 5


def two_groups():
    rng = np.random.default_rng(0)
    X = np.zeros((SIZES.sum(), 2 * WORDS), int)
    X[: SIZES[0], :WORDS] = rng.multinomial(LENGTH, np.full(WORDS, 1 / WORDS), SIZES[0])
    X[SIZES[0] :, WORDS:] = rng.multinomial(LENGTH, np.full(WORDS, 1 / WORDS), SIZES[1])
    return X


def exact_log_evidence(X, largest, eta):
    """log p(w) of the mode with a topic for each group, by means over draws of pi, and of eta of the words."""
    words = X.sum(axis=0)
    of_words = (gammaln(words + eta) - gammaln(eta)).sum(axis=1)
    for own in (words[:WORDS], words[WORDS:]):
        total = eta.sum(axis=1)
        of_words += gammaln(total) - gammaln(total + own.sum())
    log_p = SIZES.sum() * (gammaln(GAMMA) - gammaln(GAMMA + LENGTH)) + logsumexp(of_words) - np.log(len(eta))
    rng, of_counts = np.random.default_rng(1), []
    for T in range(2, largest + 1):
        a = GAMMA * rng.dirichlet(np.full(T, G), 1_000_000)[:, :2]
        of_topics = (SIZES * (gammaln(a + LENGTH) - gammaln(a))).sum(axis=1)
        # The ways in which the two topics can be some of T.
        of_counts.append(logsumexp(of_topics) - np.log(len(a)) + np.log(T * (T - 1)))
    return log_p + logsumexp(of_counts)


def mode(X, seed, largest, draws_eta):
    corpus = Corpus.from_counts(X)
    prior = FinitePrior(
        np.arange(1, largest + 1),
        np.zeros(largest),
        corpus.distinct_lengths,
        corpus.n_features,
        g=G,
        gammas=np.full(largest, GAMMA),
        draws_eta=draws_eta,
    )
    documents = NumberOfTopics(len(X), CountPrior(None, 1, largest, corpus.n_tokens), prior)
    own = random.child(random.seed_sequence(0), seed)
    priors = Priors.make(1.0, ETA, largest, corpus.n_features)
    chain = SomeTopicsChain.initialise_randomly(corpus, priors, random.child(own, 0))
    chain.steps, chain.n_burn_in = documents.steps(random.child(own, 1)), 1000
    chain.topics[:] = corpus.words >= WORDS
    chain.recount()
    step = chain.steps[0]
    step.begin(chain)
    # Before the first merge.
    for _ in range(40):
        advance(chain, chain.steps)
    return mode_of(prior, chain, step.samples, random.child(own, 2), NEVER_STOP)


def eta_of_words(n_draws=200_000):
    """Draws of eta of the words from its prior."""
    rng = np.random.default_rng(2)
    eta = np.exp(np.log(ETA_PRIOR[0]) + ETA_PRIOR[1] * rng.standard_normal(n_draws))
    shapes = np.cumsum(np.exp(word_prior._LOG_P), axis=1)[rng.integers(len(word_prior._LOG_P), size=n_draws)]
    levels = (shapes[:, None] < rng.random((n_draws, 2 * WORDS, 1))).sum(axis=2)
    return eta[:, None] * word_prior.FACTORS[np.minimum(levels, len(word_prior.FACTORS) - 1)]


def largest_error(largest, eta=None, n_fits=12):
    X = two_groups()
    # A chain may open a third topic.
    modes = (mode(X, seed, largest, draws_eta=eta is not None) for seed in range(n_fits))
    found = [each.log_evidence for each in modes if each.n_topics == 2]
    assert len(found) > 2
    eta = np.full((1, 2 * WORDS), ETA) if eta is None else eta
    return np.abs(np.array(found) - exact_log_evidence(X, largest, eta)).max()


# The evidence has an error of .25 nats here.
@pytest.mark.mutation("sklda._models.topic_count.count_modes._log_dirichlet", lambda parameters, shares: 0.0)
@pytest.mark.mutation(
    "sklda._models.topic_count.finite_prior.FinitePrior.log_p_given_tables",
    lambda self, tables, g, gamma: np.full(3, 3.0),
)
def test_evidence_of_a_mode_is_exact_where_its_topics_have_words_of_their_own():
    assert largest_error(3) < 1.2


# The error is 1.5 nats.
@pytest.mark.mutation(
    "sklda._models.topic_count.count_modes.mode_of_levels",
    lambda eta, priors, counts: (WordPrior.equal(eta, 2 * WORDS), 0.0),
)
def test_evidence_of_a_mode_knows_that_eta_of_the_words_is_unknown():
    assert largest_error(2, eta_of_words()) < 2.2


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
