"""The hyperparameters of compound LDA: alpha by slice sampling, the M-step for gamma and eta, what may be given."""

import numpy as np
import pytest
from compound_cases import chain_with_mixtures
from scipy.special import gammaln
from scipy.stats import kstest

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._models.compound.alpha import draw_alpha
from sklda._models.compound.gamma import GammaMStep
from sklda._models.compound.model import CompoundModel
from sklda._sampling.prior_learning import DefaultPrior
from sklda._sampling.steps import advance
from sklda.datasets import make_compound_lda_corpus

ALARM = 1e-5


@pytest.fixture(scope="module")
def corpus():
    return make_compound_lda_corpus([20, 0, 15], 30, 3, doc_length=25, random_state=0)


def make_chain(corpus, learn_gamma=True, learn_eta=True, n_sweeps=5):
    model = CompoundModel(corpus.collections, 3, learn_gamma=learn_gamma, learn_eta=learn_eta)
    chain = chain_with_mixtures(
        Corpus.from_counts(corpus.data), Priors.make(1.0, 0.1, 3, 30), np.random.SeedSequence(0), model, 1.0, 2.0
    )
    chain.n_burn_in = 40
    for step in chain.steps:
        step.begin(chain)
    for _ in range(n_sweeps):
        advance(chain, chain.steps)
    return chain


@pytest.mark.mutation
def test_alpha_is_drawn_from_its_posterior():
    """alpha from its prior, pi from alpha, and alpha given pi in turn: alpha keeps its Gamma(2, 1.5) distribution."""
    rng = np.random.default_rng(0)
    alpha, draws = 1.0, []
    for _ in range(20_000):
        log_pi = random.log_dirichlet(rng, np.full((2, 3), alpha))
        alpha = draw_alpha(rng, alpha, log_pi, 2.0, 1.5)
        draws.append(alpha)
    # Far enough apart to be independent.
    assert kstest(draws[::40], "gamma", args=(2, 0, 1 / 1.5)).pvalue > ALARM
    assert kstest(draws[::40], "gamma", args=(2.5, 0, 1 / 1.5)).pvalue < ALARM


def log_p(chain, gamma):
    """log p(z | pi, gamma), document by document."""
    a = gamma * chain.steps[0].pi[chain.steps[0].collections]
    n = chain.doc_topic_counts()
    rising = (gammaln(a + n) - gammaln(a)).sum(axis=1)
    return (rising + gammaln(gamma) - gammaln(gamma + chain.corpus.lengths)).sum()


def test_the_statistics_give_log_p_and_its_slopes(corpus):
    chain = make_chain(corpus)
    draw = GammaMStep().statistics(chain)
    for gamma in (0.3, 2.0, 40.0):
        h = np.array([gamma])
        found = draw.log_topics(h) - draw.log_topics(np.ones(1))
        np.testing.assert_allclose(found, log_p(chain, gamma) - log_p(chain, 1.0), rtol=1e-9)
        for order in (1, 2):
            up, down = (draw.log_topics(h * np.exp(s * 1e-5), order - 1) for s in (1, -1))
            np.testing.assert_allclose(draw.log_topics(h, order), (up - down) / 2e-5, rtol=1e-5, atol=1e-5)


def test_the_m_step_is_the_maximum(corpus):
    """Of the mean over draws, on a fine grid."""
    chain, m_step, draws, values = make_chain(corpus), GammaMStep(), [], 0
    grid = np.exp(np.linspace(-3, 5, 2001))
    for _ in range(4):
        advance(chain, chain.steps)
        draws.append(m_step.statistics(chain))
        values = values + np.array([log_p(chain, gamma) for gamma in grid])
    (found,) = m_step.maximum(draws, np.zeros(1))
    assert abs(found - np.log(grid[values.argmax()])) <= 0.004


@pytest.mark.parametrize(("learn_gamma", "learn_eta"), [(True, True), (True, False), (False, True)])
def test_what_is_not_learnt_stays(corpus, learn_gamma, learn_eta):
    chain = make_chain(corpus, learn_gamma, learn_eta, n_sweeps=50)
    step = chain.steps[0]
    assert (step.gamma != 2.0) == learn_gamma
    assert (chain.priors.word[0] != 0.1) == learn_eta
    assert len(step.prior_trace) == 50


def test_a_chain_copied_within_its_burn_in_goes_on_alike(corpus, same):
    """The state has the draws for the last M-step of Gibbs-EM."""
    chain = make_chain(corpus, n_sweeps=17)
    copied = type(chain)(chain.corpus, chain.priors, chain.state())
    for each in (chain, copied):
        for _ in range(30):
            advance(each, each.steps)
    assert same(chain.state(), copied.state())


def test_hyperparameters_that_are_given_stay_fixed():
    def model(alpha, gamma, learn_priors, n_tokens):
        default = DefaultPrior.of(learn_priors, n_tokens, 4)
        return CompoundModel.make(np.zeros(1, int), 1, 4, alpha=alpha, gamma=gamma, default=default, learn_eta=False)

    both = model(1.0, None, True, 5000)
    assert (both.gamma, both.learn_gamma) == (1.0, True)
    one = model((3.0, 2.0), 5.0, True, 5000)
    assert (one.alpha, one.gamma, one.learn_gamma) == (1.5, 5.0, False)
    none = model(1.0, None, False, 5000)
    assert (none.gamma, none.learn_gamma) == (1.0, False)
    small = model(1.0, None, True, 999)
    assert (small.gamma, small.learn_gamma) == (0.4, False)
