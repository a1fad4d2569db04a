"""The chain of an unknown number of topics: exact posteriors of T, and draws of the model that the chain must keep.

Alarms are set at 1e-5 for each test, after the number of statistics compared.
"""

import numpy as np
import pytest
from enumeration import CASES, EXACT, make_corpus
from scipy.special import gammaln, softmax
from scipy.stats import chi2_contingency, ks_2samp
from scipy.stats import t as t_distribution

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._models.topic_count import finite_mixtures, topic_moves, word_prior
from sklda._models.topic_count.count_modes import CountMode
from sklda._models.topic_count.count_prior import CountPrior
from sklda._models.topic_count.finite_prior import EQUAL, ETA_PRIOR, G_BOUNDS, G_PRIOR, GAMMA_PRIOR, FinitePrior
from sklda._models.topic_count.prior import NumberOfTopics
from sklda._models.topic_count.topic_moves import remove_topics
from sklda._models.topic_count.word_prior import WordPrior
from sklda._sampling.some_topics import SomeTopicsChain
from sklda._sampling.steps import advance

ALARM = 1e-5
# Less likely numbers of topics are not compared one by one.
RARE = 0.02


def make_chain(corpus, prior, eta, seed):
    K = int(prior.counts[-1])
    documents = NumberOfTopics(corpus.n_documents, CountPrior(None, 1, K, corpus.n_tokens), prior)
    own = random.child(random.seed_sequence(0), seed)
    priors = Priors.make(1.0, eta, K, corpus.n_features)
    chain = SomeTopicsChain.initialise_randomly(corpus, priors, random.child(own, 0))
    chain.steps, chain.n_burn_in = documents.steps(random.child(own, 1)), 0
    chain.steps[0].begin(chain)
    return chain


def posterior_p(case, n_chains=10, n_sweeps=120, n_first=20, counts=(1, 2, 3, 4)):
    """The smallest p of means over chains, by Student's t, against the exact posterior at one alpha for all topics."""
    docs, n_features, alpha, eta, log_p = EXACT[case]
    corpus, counts, n = make_corpus(docs, n_features), np.array(counts), len(counts)
    prior = FinitePrior(
        counts, np.zeros(n), corpus.distinct_lengths, n_features, g=EQUAL, gammas=alpha * counts, draws_eta=False
    )
    found = []
    for c in range(n_chains):
        chain = make_chain(corpus, prior, eta, c)
        for i in range(n_sweeps):
            advance(chain, chain.steps)
            if i < n_first:
                chain.steps[0].posterior = np.zeros(n)
        found.append(chain.steps[0].posterior / chain.steps[0].posterior.sum())
    # A number that chains hardly visit has no normal mean. The last probability follows from the others.
    exact = softmax(np.array(log_p)[counts - 1])
    errors = (np.array(found) - exact)[:, exact > RARE][:, :-1]
    z = errors.mean(axis=0) / np.maximum(errors.std(axis=0, ddof=1) / np.sqrt(n_chains), 1e-9)
    return 2 * t_distribution.sf(np.abs(z), n_chains - 1).min() * 3


@pytest.mark.mutation(
    "sklda._models.topic_count.finite_prior.FinitePrior._log_choices",
    lambda self, n: np.where(self.counts < n, -np.inf, self.log_p),
    cases="two words, 0",
)
@pytest.mark.parametrize("case", CASES)
def test_equal_shares_have_the_exact_posterior(case):
    assert posterior_p(case) > ALARM


def stay(self, chain, rng, tables):
    """T as it is, in place of a draw given the tables."""
    return np.where(self.prior.counts == self.n_topics, 1.0, 0.0)


@pytest.mark.mutation(
    "sklda._models.topic_count.topic_moves._annealed",
    lambda *args, own=topic_moves._annealed: (own(*args)[0], 0.0),
)
@pytest.mark.parametrize("counts", [(1, 2, 3, 4), (1, 2, 4)], ids=["each", "with a gap"])
def test_moves_alone_have_the_exact_posterior(monkeypatch, counts):
    monkeypatch.setattr(finite_mixtures, "_MOVE_EVERY", 1)
    monkeypatch.setattr(finite_mixtures.FiniteMixtures, "_draw_count_and_priors", stay)
    assert posterior_p("mixed, 0.5, 0.25", n_chains=20, n_sweeps=400, counts=counts) > ALARM


def of_model(rng, counts):
    """A draw of T, g, gamma, eta of the words, and of the topics and words of a corpus."""
    T = int(rng.choice(counts))
    while True:
        g = np.exp(np.log(G_PRIOR[0]) + G_PRIOR[1] * rng.standard_normal())
        if G_BOUNDS[0] < g < G_BOUNDS[1]:
            break
    gamma, eta = (np.exp(np.log(c) + s * rng.standard_normal()) for c, s in (GAMMA_PRIOR, ETA_PRIOR))
    p = np.exp(word_prior._LOG_P[rng.integers(len(word_prior._LOG_P))])
    eta = WordPrior(eta, rng.choice(len(p), 3, p=p))
    pi = rng.dirichlet(np.full(T, g))
    theta = np.array([dirichlet(rng, gamma * pi) for _ in range(4)])
    phi = np.array([dirichlet(rng, eta.of_words()) for _ in range(T)])
    topics = np.array([rng.choice(T, p=each) for each in np.repeat(theta, 5, axis=0)], np.int32)
    words = np.array([rng.choice(3, p=phi[k]) for k in topics], np.int32)
    return T, g, gamma, eta, pi, topics, words


def dirichlet(rng, alpha):
    return np.exp(random.log_dirichlet(rng, np.maximum(alpha, 1e-12)[None])[0])


def kept_p(monkeypatch, n_corpora=300, n_sweeps=3):
    """Quantities of a draw of the model, and after sweeps given its words: both have the same distribution."""
    monkeypatch.setattr(finite_mixtures, "_ETA_WAITS", 0)
    monkeypatch.setattr(finite_mixtures, "_ETA_EVERY", 1)
    monkeypatch.setattr(finite_mixtures, "_MOVE_EVERY", 1)
    rng, counts = np.random.default_rng(0), np.arange(1, 5)
    # Four documents of five tokens.
    prior = FinitePrior(counts, np.zeros(4), (np.array([5]), np.array([4])), 3)
    before, after = [], []
    for i in range(n_corpora):
        T, g, gamma, eta, pi, topics, words = of_model(rng, counts)
        corpus = Corpus(words, np.arange(0, 21, 5), 3)
        chain = make_chain(corpus, prior, 1.0, i)
        step = chain.steps[0]
        step.n_topics, step.g, step.gamma = T, g, gamma
        step.log_base = np.full(4, -np.inf)
        step.log_base[:T] = np.log(np.maximum(pi, 1e-300))
        step.log_pi = step.log_base[None].copy()
        chain.topics[:] = topics
        chain.recount()
        step._set_eta(chain, eta)
        step.set_alpha(chain)
        before.append(quantities(chain, step))
        for _ in range(n_sweeps):
            advance(chain, chain.steps)
        after.append(quantities(chain, step))
    p = []
    for a, b in zip(np.transpose(before), np.transpose(after), strict=True):
        values = np.unique([a, b])
        if len(values) < 10:
            p.append(chi2_contingency([[np.sum(x == v) for v in values] for x in (a, b)]).pvalue)
        else:
            p.append(ks_2samp(a, b).pvalue)
    return min(p) * len(p)


def quantities(chain, step):
    used = np.count_nonzero(chain.topic_totals)
    return step.n_topics, used, step.g, step.gamma, *chain.priors.word[:2], chain.topic_totals.max()


@pytest.mark.mutation("sklda._models.topic_count.finite_prior._log_normal", lambda x, prior: 0.0)
@pytest.mark.mutation(
    "sklda._models.topic_count.word_prior.WordCounts.probabilities",
    lambda self, eta, shape, rate, own=word_prior.WordCounts.probabilities: own(self, eta, shape, 0.0),
)
def test_draws_of_the_model_are_kept(monkeypatch):
    assert kept_p(monkeypatch) > ALARM


@pytest.mark.mutation(
    "sklda._models.topic_count.finite_prior.FinitePrior.gamma_terms", lambda self, n_tables, gamma: 0.0
)
def test_gains_of_merges_know_that_gamma_depends_on_the_number_of_topics():
    """Two topics of equal shares with 6 and 9 tables become one, where gamma is .5 T."""
    counts, g, lengths, numbers = np.arange(1, 5), 2.0, np.array([5, 8]), np.array([3, 2])
    prior = FinitePrior(counts, np.zeros(4), (lengths, numbers), 3, g=g, gammas=0.5 * counts)
    documents = NumberOfTopics(5, CountPrior(None, 1, 4, 31), prior)
    (step,) = documents.steps(random.seed_sequence(0))
    step.log_base = np.log([0.5, 0.5])
    gain = step.gains_of_shares(np.array([0]), np.array([1]), 2, np.array([6, 9]))

    def log_v(n):
        T = counts[counts >= n]
        terms = gammaln(T + 1) - gammaln(T - n + 1) + gammaln(g * T) - gammaln(g * T + 15) + 15 * np.log(0.5 * T)
        for length, number in zip(lengths, numbers, strict=True):
            terms += number * (gammaln(0.5 * T) - gammaln(0.5 * T + length))
        return np.logaddexp.reduce(terms)

    of_tables = gammaln(g + 15) + gammaln(g) - gammaln(g + 6) - gammaln(g + 9) - 15 * np.log(2)
    np.testing.assert_allclose(gain, log_v(1) - log_v(2) + of_tables)


def with_a_topic_of_scraps(seed, n_topics=10, n_features=200):
    """A chain in its burn-in, at the true topics, which have most words in common, and at one of tokens of them all."""
    rng = np.random.default_rng(seed)
    theta, phi = rng.dirichlet(np.full(n_topics, 0.3), 200), rng.dirichlet(np.full(n_features, 0.5), n_topics)
    topics = np.array([rng.choice(n_topics, 40, p=each) for each in theta], np.int32).ravel()
    words = np.array([rng.choice(n_features, p=phi[k]) for k in topics], np.int32)
    corpus, counts = Corpus(words, np.arange(0, len(words) + 1, 40), n_features), np.arange(1, 21)
    prior = FinitePrior(counts, np.zeros(20), corpus.distinct_lengths, n_features)
    chain = make_chain(corpus, prior, ETA_PRIOR[0], seed)
    topics[rng.random(len(topics)) < 0.02] = n_topics
    chain.topics[:] = topics
    chain.recount()
    chain.n_burn_in = 1000
    return chain


def topics_after_removals(seed, n_rounds=4):
    chain = with_a_topic_of_scraps(seed)
    step = chain.steps[0]
    tables = step.draw_tables(chain)[0]
    for i in range(n_rounds):
        step.n_topics = int(np.count_nonzero(tables))
        step.log_base = step._drawn_shares(np.random.default_rng(i), tables)
        step.log_pi = step.log_base[None].copy()
        step.set_alpha(chain)
        rng = np.random.default_rng([seed, i])
        tables = remove_topics(step, chain, rng, tables, random.child(random.seed_sequence(seed), i))
    return np.flatnonzero(chain.topic_totals).tolist()


@pytest.mark.mutation("sklda._models.topic_count.topic_moves._SMALL_LOSS", 1e9)
@pytest.mark.mutation("sklda._models.topic_count.topic_moves._LARGEST_REMOVED", 0.0)
def test_scraps_are_removed_and_topics_stay(monkeypatch):
    if topic_moves._LARGEST_REMOVED:
        monkeypatch.setattr(topic_moves, "_LARGEST_REMOVED", 1.0)
    assert [topics_after_removals(seed) for seed in range(3)] == [list(range(10))] * 3


def weighed_and_chosen(monkeypatch, evidence):
    """The numbers of topics of the modes that get an evidence, and of that in which the chain goes on.

    `evidence` has (log p(w), its standard error) of modes with 1, 2, ... topics.
    """
    corpus = make_corpus([[0] * 300] * 4, 2)
    prior = FinitePrior(np.arange(1, 21), np.zeros(20), corpus.distinct_lengths, 2)
    chain = make_chain(corpus, prior, ETA_PRIOR[0], 0)
    step = chain.steps[0]
    step._states = {
        n: finite_mixtures._State(
            topics=np.arange(corpus.n_tokens, dtype=np.int32) % n,
            priors=chain.priors,
            log_pi=step.log_pi,
            log_base=step.log_base,
            g=step.g,
            gamma=step.gamma,
            eta=step.eta,
            samples=[None],
        )
        for n in reversed(range(1, len(evidence) + 1))
    }

    def mode_of(prior, chain, samples, seed, stop):
        n = np.count_nonzero(chain.topic_totals)
        log_evidence, std = evidence[n - 1]
        return CountMode(n, log_evidence, std, np.ones(20), annealing_std=std)

    monkeypatch.setattr(finite_mixtures, "mode_of", mode_of)
    step._go_on_in_a_likely_mode(chain, NEVER_STOP)
    return sorted(mode.n_topics for mode in step.modes), np.count_nonzero(chain.topic_totals)


def test_a_chain_goes_on_in_the_largest_mode_that_may_be_the_best(monkeypatch):
    values = [
        (-900, 5),
        (-500, 5),
        (-300, 5),
        (-20, 5),
        (0, 5),
        (-8, 10),
        (-60, 10),
        (-500, 20),
        (-600, 20),
        (-700, 20),
    ]
    assert weighed_and_chosen(monkeypatch, values) == ([3, 4, 5, 6, 7, 8], 6)


def test_modes_with_large_errors_are_all_weighed(monkeypatch):
    assert weighed_and_chosen(monkeypatch, [(-10.0 * n, 1000) for n in range(8)]) == ([*range(1, 9)], 8)
