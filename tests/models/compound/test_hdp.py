"""The chain of the hierarchical Dirichlet process: against quadrature, and draws of the model that it must keep.

Alarms are set at 1e-5 for each test, after the number of statistics compared.
"""

import numpy as np
import pytest
from compound_cases import chain_with_mixtures
from enumeration import DOCS, Enumeration, chi_square_p
from scipy.special import gammaln, logsumexp, roots_jacobi
from scipy.stats import gamma as gamma_distribution
from scipy.stats import ks_2samp, kstest

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._models.compound import hdp
from sklda._models.compound.concentrations import Concentration, Concentrations
from sklda._models.compound.hdp import HDPMixtures
from sklda._models.compound.model import CompoundModel
from sklda._sampling import topics_in_use
from sklda._sampling.steps import advance

ALARM = 1e-5
ONE, TWO = np.zeros(3, np.int64), np.array([0, 1, 1])


def make_chain(corpus, labels, K, concentrations, eta, seed=0, burn_in=0):
    model, given = CompoundModel(labels, int(labels.max()) + 1), Concentrations(*concentrations)
    priors = Priors.make(1.0, eta, K, corpus.n_features)
    own = random.child(random.seed_sequence(seed))
    chain = chain_with_mixtures(corpus, priors, own, model, concentrations=given)
    chain.n_burn_in = burn_in
    return chain


def fixed(*values):
    return [Concentration(value) for value in values]


class Exact:
    """K = 2: p(z | w) of all z with fixed concentrations, by Gauss-Jacobi quadrature over pi_0 and the pi_j."""

    def __init__(self, a, b, gamma, eta, labels, docs=DOCS, n_nodes=24):
        base = Enumeration(docs, 4, 2, gamma / 2, eta)
        self.corpus, self.states, self.index, self.gamma = base.corpus, base.states, base.index, gamma
        words = base.log_joint - self.log_documents(base.n_dk, np.full(2, gamma / 2)).sum(axis=1)
        shares, log_weights = nodes(a / 2, a / 2, n_nodes)
        log_p = []
        for share in shares:
            total = np.zeros(len(self.states))
            for j in set(labels.tolist()):
                own = base.n_dk[:, labels == j]
                pi, log_w = (np.array([share]), np.zeros(1)) if labels.max() == 0 else nodes(
                    b * share, b * (1 - share), n_nodes
                )  # fmt: skip
                alpha = gamma * np.stack([pi, 1 - pi], axis=1)
                total += logsumexp(self.log_documents(own[:, :, None, :], alpha).sum(axis=1) + log_w, axis=1)
            log_p.append(total)
        log_joint = words + logsumexp(np.array(log_p) + log_weights[:, None], axis=0)
        posterior = np.exp(log_joint - logsumexp(log_joint))
        # Topics can be exchanged: a state and its mirror image are the same.
        self.partitions = posterior[: len(posterior) // 2] * 2

    @staticmethod
    def log_documents(n, a):
        rising = (gammaln(a + n) - gammaln(a)).sum(axis=-1)
        return rising + gammaln(a.sum(axis=-1)) - gammaln(a.sum(axis=-1) + n.sum(axis=-1))


def nodes(p, q, n):
    """Nodes and log weights of Beta(p, q)."""
    x, weight = roots_jacobi(n, q - 1, p - 1)
    return np.clip((1 + x) / 2, 1e-12, 1 - 1e-12), np.log(weight / weight.sum())


# Documents whose tokens open few tables.
LONGER = [[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 2]]


def states_p(setting, labels, docs=DOCS, eta=0.4, n_chains=400, n_sweeps=10):
    """Independent chains from random starts against the distribution of the partition of the tokens."""
    truth = Exact(*setting, eta, labels, docs)
    seen = np.zeros(len(truth.partitions))
    for seed in range(n_chains):
        chain = make_chain(truth.corpus, labels, 2, fixed(*setting), eta, seed, burn_in=8)
        for _ in range(n_sweeps):
            advance(chain, chain.steps)
        topics = chain.topics ^ chain.topics[0]
        seen[truth.index(topics)] += 1
    return chi_square_p(seen, truth.partitions)


def parts_of_the_topics(monkeypatch, left_out=1.2):
    """Sweeps over some topics only, which such a small K would not have."""
    monkeypatch.setattr(topics_in_use, "_WHOLE", 1)
    monkeypatch.setattr(topics_in_use, "_LEFT_OUT", left_out)


@pytest.mark.mutation("test_a_wrong_step_changes_the_states")
@pytest.mark.slow
@pytest.mark.parametrize(
    "labels, parts",
    [
        pytest.param(ONE, True, id="one, parts"),
        pytest.param(TWO, False, id="two, all"),
        pytest.param(ONE, False, id="one, all", marks=pytest.mark.exhaustive),
        pytest.param(TWO, True, id="two, parts", marks=pytest.mark.exhaustive),
    ],
)
def test_all_states_have_their_probabilities(labels, parts, monkeypatch):
    if parts:
        parts_of_the_topics(monkeypatch)
    assert states_p((1.4, 3.0, 1.5), labels) > ALARM


PI = np.array([0.6, 0.3, 0.1])


def swept_p(monkeypatch, n_draws=1500, gamma=2.0, eta=0.4):
    """Draws of z given the mixture, after one sweep of the topics with large shares, against the distribution of z."""
    parts_of_the_topics(monkeypatch, left_out=0.5)
    # Comparisons of states need topics that keep their numbers.
    monkeypatch.setattr(HDPMixtures, "_renumber", lambda self, chain, before: None)
    truth = Enumeration(DOCS, 4, 3, gamma * PI, eta)
    chain = make_chain(truth.corpus, ONE, 3, fixed(1.0, 1.0, gamma), eta)
    (step,) = chain.steps
    step.log_pi = np.log(PI[None])
    step.begin(chain)
    rng, seen = np.random.default_rng(0), np.zeros(len(truth.states))
    for i in rng.choice(len(truth.states), size=n_draws, p=truth.posterior):
        chain.topics[:] = truth.states[i]
        chain.recount()
        step.before(chain)
        chain.sweep()
        seen[truth.index(chain.topics)] += 1
    return chi_square_p(seen, truth.posterior)


@pytest.mark.mutation("test_a_choice_of_topics_that_depends_on_z_is_found")
def test_a_sweep_of_some_topics_keeps_the_distribution(monkeypatch):
    assert swept_p(monkeypatch) > ALARM


def topics_with_tokens_too(monkeypatch):
    """Sweeps over the topics with large shares and those with tokens: the choice depends on z."""
    right = HDPMixtures.before

    def wrong(self, chain):
        right(self, chain)
        chain.swept = np.union1d(chain.swept, np.flatnonzero(chain.topic_totals)).astype(np.int32)

    monkeypatch.setattr(HDPMixtures, "before", wrong)


def all_customers(monkeypatch):
    """Every customer of the upper level opens a table."""
    monkeypatch.setattr(hdp, "draw_upper_tables", lambda rng, concentration, counts: counts)


def all_tokens(monkeypatch):
    """Every token opens a table."""

    def wrong(self, chain):
        counts = np.zeros(self.log_pi.shape, np.int64)
        np.add.at(counts, (self.collections[chain.corpus.token_documents], chain.topics), 1)
        return counts

    monkeypatch.setattr(HDPMixtures, "draw_tables", wrong)


def test_a_choice_of_topics_that_depends_on_z_is_found(monkeypatch):
    topics_with_tokens_too(monkeypatch)
    assert swept_p(monkeypatch) < ALARM


@pytest.mark.slow
def test_a_wrong_step_changes_the_states(monkeypatch):
    all_tokens(monkeypatch)
    assert states_p((0.6, 3.0, 0.5), TWO, docs=LONGER) < ALARM


LENGTHS = np.array([6, 0, 9, 4, 7])
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
PRIORS = [(2.0, 1.0), (2.0, 0.5), (3.0, 1.0)]


def draw_model(rng, labels, K, V, eta):
    """Concentrations, mixtures, topics and words from their joint distribution."""
    a, b, gamma = (rng.gamma(shape) / rate for shape, rate in PRIORS)
    J = labels.max() + 1
    log_base = random.log_dirichlet(rng, np.full((1, K), a / K))
    log_pi = log_base
    if J > 1:
        log_pi = random.log_dirichlet(rng, np.maximum(b * np.exp(log_base), 1e-12).repeat(J, axis=0))
    theta = np.exp(random.log_dirichlet(rng, np.maximum(gamma * np.exp(log_pi), 1e-12)[labels]))
    phi = rng.dirichlet(np.full(V, eta), size=K)
    z = np.concatenate([rng.choice(K, size=n, p=p / p.sum()) for n, p in zip(LENGTHS, theta, strict=True)])
    w = (rng.random((len(z), 1)) > phi[z].cumsum(axis=1)[:, :-1]).sum(axis=1)
    return a, b, gamma, log_base[0], log_pi, z.astype(np.int32), w.astype(np.int32)


def statistics(a, b, gamma, log_base, log_pi, z, w):
    """Numbers that do not depend on the names of topics."""
    return [
        a,
        b,
        gamma,
        np.exp(2 * log_base).sum(),
        np.exp(log_pi[0] + log_pi[-1]).sum(),
        len(set(z.tolist())),
        (np.bincount(z) ** 2).sum(),
    ]


def kept_p(labels, n_models=250, n_sweeps=4, K=20, V=5, eta=0.5):
    """Smallest p-value of statistics of draws of the model after sweeps, against other draws of the model."""
    rng, after, fresh = np.random.default_rng(0), [], []
    for seed in range(n_models):
        a, b, gamma, log_base, log_pi, z, w = draw_model(rng, labels, K, V, eta)
        corpus = Corpus(np.array(w), OFFSETS, V)
        given = [Concentration(1.0, prior) for prior in PRIORS]
        chain = make_chain(corpus, labels, K, given, eta, seed)
        chain.topics[:] = z
        chain.recount()
        (step,) = chain.steps
        step.alpha, step.b, step.gamma = a / K, b, gamma
        step.log_base, step.log_pi = log_base, np.ascontiguousarray(log_pi)
        step.begin(chain)
        for _ in range(n_sweeps):
            advance(chain, chain.steps)
        after.append(statistics(step.alpha * K, step.b, step.gamma, step.log_base, step.log_pi, chain.topics, w))
        fresh.append(statistics(*draw_model(rng, labels, K, V, eta)))
    after, fresh = np.array(after).T, np.array(fresh).T
    p = [ks_2samp(x, y).pvalue for x, y in zip(after, fresh, strict=True)]
    for x, (shape, rate) in zip(after[:3], PRIORS, strict=True):
        p.append(kstest(x, gamma_distribution(shape, scale=1 / rate).cdf).pvalue)
    return min(p) * len(p)


LABELS = {"one": np.zeros(5, np.int64), "two": np.array([0, 0, 1, 1, 1])}


@pytest.mark.mutation("test_a_wrong_step_moves_draws_of_the_model")
@pytest.mark.slow
@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(LABELS["one"], id="one", marks=pytest.mark.exhaustive),
        pytest.param(LABELS["two"], id="two"),
    ],
)
def test_sweeps_keep_draws_of_the_model(labels, monkeypatch):
    parts_of_the_topics(monkeypatch, left_out=0.5)
    assert kept_p(labels) > ALARM


def too_many_tables(monkeypatch):
    """gamma as if each document had opened one more table."""
    right = hdp.draw_doc_concentration

    def wrong(rng, gamma, prior, n_tables, lengths, numbers):
        return right(rng, gamma, prior, n_tables + numbers.sum(), lengths, numbers)

    monkeypatch.setattr(hdp, "draw_doc_concentration", wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels, mutation",
    [
        pytest.param("one", all_tokens, marks=pytest.mark.exhaustive),
        ("two", all_customers),
        pytest.param("one", too_many_tables, marks=pytest.mark.exhaustive),
    ],
)
def test_a_wrong_step_moves_draws_of_the_model(labels, mutation, monkeypatch):
    mutation(monkeypatch)
    assert kept_p(LABELS[labels]) < ALARM
