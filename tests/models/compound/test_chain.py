"""Chains of compound LDA against exact values, quadrature over pi, and Geweke's test; each with its mutation.

Alarms are set at 1e-5 for each test, after the number of statistics compared.
"""

import numpy as np
import pytest
from compound_cases import CASES, EXACT, SETTINGS, chain_with_mixtures, corpus_of
from enumeration import DOCS, Enumeration, chi_square_p
from scipy.special import beta, gammaln, logsumexp, roots_jacobi
from scipy.stats import norm

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._models.compound.mixtures import Mixtures
from sklda._models.compound.model import CompoundModel
from sklda._sampling import mixture_step
from sklda._sampling.blocked import GroupedChain
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.partially_collapsed import PartiallyCollapsedChain
from sklda._sampling.partitioned import PartitionedChain
from sklda._sampling.steps import advance
from sklda.papers.compound._langevin import LangevinMixtures, LangevinPoint

ALARM = 1e-5
SAMPLERS = {"augmented": Mixtures, "langevin": LangevinMixtures}


def make_chain(corpus, labels, K, setting, method, seed=0, burn_in=0, n_collections=None, kind=GibbsChain, **options):
    alpha, gamma, eta = setting
    priors = Priors.make(1.0, eta, K, corpus.n_features)
    model = CompoundModel(labels, n_collections or int(labels.max()) + 1, **options)
    first = random.child(random.seed_sequence(seed))
    chain = chain_with_mixtures(corpus, priors, first, model, alpha, gamma, SAMPLERS[method], kind)
    chain.n_burn_in = burn_in
    return chain


def scores(case, method, n_chains=2, n_sweeps=1500):
    """How many standard errors the two posterior means lie from the exact ones; errors by batches of 100 sweeps."""
    collections, V, K, setting, values = case
    corpus, labels = corpus_of(collections, V)
    found = []
    for seed in range(n_chains):
        chain = make_chain(corpus, labels, K, setting, method, seed, burn_in=200)
        for _ in range(200):
            advance(chain, chain.steps)
        for _ in range(n_sweeps):
            advance(chain, chain.steps)
            found.append((chain.topics[0] == chain.topics[-1], (chain.steps[0].pi[0] ** 2).sum()))
    batches = np.reshape(found, (-1, 100, 2)).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    return (batches.mean(axis=0) - values[:2]) / error


def p_value(z, n):
    return 2 * norm.sf(np.abs(z)).min() * n


# The suite takes every corpus once, and every setting once; and the slower sampler, with the same sweeps, once.
MEANS = [
    pytest.param(case, method, marks=() if i in own else pytest.mark.exhaustive, id=f"{i}-{method}")
    for method, own in zip(SAMPLERS, ((0, 4, 8), (4,)), strict=True)
    for i, case in enumerate(CASES)
]


@pytest.mark.mutation("test_a_wrong_target_is_found")
@pytest.mark.slow
@pytest.mark.parametrize(("case", "method"), MEANS)
def test_posterior_means_are_exact(case, method):
    assert p_value(scores(case, method), 2 * 2 * len(CASES)) > ALARM


def no_normalisers(monkeypatch):
    """The Langevin target of the authors' code: without log Gamma(gamma pi_k), once for each document."""
    right = LangevinPoint.log_likelihood

    def wrong(tails, a):
        first = tails.steps == 0
        dropped = np.zeros(np.prod(tails.shape))
        dropped[tails.cells[first]] = gammaln(a[first]) * tails.documents[first]
        return right(tails, a) + dropped.reshape(tails.shape)

    monkeypatch.setattr(LangevinPoint, "log_likelihood", staticmethod(wrong))


def all_tables(monkeypatch):
    """Every token counts, as if pi were drawn from topic counts and not from auxiliary ones."""

    def wrong(self, chain):
        counts = np.zeros(self.log_pi.shape, np.int64)
        np.add.at(counts, (self.collections[chain.corpus.token_documents], chain.topics), 1)
        return counts

    monkeypatch.setattr(Mixtures, "draw_tables", wrong)


MUTATIONS = {"augmented": all_tables, "langevin": no_normalisers}


@pytest.mark.parametrize("method", SAMPLERS)
def test_a_wrong_target_is_found(method, monkeypatch):
    MUTATIONS[method](monkeypatch)
    assert p_value(scores(CASES[0], method), 2 * 2 * len(CASES)) < ALARM


class Quadrature:
    """K = 2: p(z | w) of all z, integrals over pi_j1 by Gauss-Jacobi nodes, exact for polynomials."""

    def __init__(self, alpha, gamma, eta, docs=DOCS, labels=(0, 1, 1), n_features=4):
        base = Enumeration(docs, n_features, 2, gamma / 2, eta)
        self.corpus, self.states, self.n_dk, self.index = base.corpus, base.states, base.n_dk, base.index
        self.labels = np.array(labels)
        x, weight = roots_jacobi(30, alpha - 1, alpha - 1)
        self.pi = np.clip((1 + x) / 2, 1e-300, None)
        self.log_weight = np.log(weight / weight.sum())
        words = base.log_joint - self.log_documents(base.n_dk, np.full(2, gamma / 2)).sum(axis=1)
        self.gamma = gamma
        self.log_joint = words.copy()
        for j in set(labels):
            self.log_joint += logsumexp(self.log_given_pi(self.n_dk[:, self.labels == j]) + self.log_weight, axis=1)
        self.posterior = np.exp(self.log_joint - logsumexp(self.log_joint))

    @staticmethod
    def log_documents(n, a):
        rising = (gammaln(a + n) - gammaln(a)).sum(axis=-1)
        return rising + gammaln(a.sum(axis=-1)) - gammaln(a.sum(axis=-1) + n.sum(axis=-1))

    def log_given_pi(self, n):
        """log p(z_j | pi) at the nodes, (n_states, n_nodes)."""
        a = self.gamma * np.stack([self.pi, 1 - self.pi], axis=1)
        return self.log_documents(n[:, :, None, :], a).sum(axis=1)


def test_quadrature_agrees_with_rational_arithmetic():
    collections, V, _, rows = EXACT[0]
    for (alpha, gamma, eta), (same, _, log_p) in zip(SETTINGS, rows, strict=True):
        truth = Quadrature(alpha, gamma, eta, [d for c in collections for d in c], [0, 0, 1, 1], V)
        np.testing.assert_allclose(logsumexp(truth.log_joint), log_p, rtol=1e-12)
        np.testing.assert_allclose(truth.posterior[truth.states[:, 0] == truth.states[:, -1]].sum(), same, rtol=1e-10)


@pytest.mark.mutation("test_a_wrong_target_is_found")
@pytest.mark.slow
@pytest.mark.parametrize(
    "method, setting, kind",
    [
        ("augmented", (0.7, 1.5, 0.4), GibbsChain),
        ("augmented", (0.7, 1.5, 0.4), GroupedChain),
        *(
            pytest.param(*case, GibbsChain, marks=pytest.mark.exhaustive)
            for case in (("langevin", (2.0, 8.0, 0.2)), ("augmented", (2.0, 8.0, 0.2)), ("langevin", (0.7, 1.5, 0.4)))
        ),
        *(
            pytest.param("augmented", (0.7, 1.5, 0.4), kind, marks=pytest.mark.exhaustive)
            for kind in (PartitionedChain, PartiallyCollapsedChain)
        ),
    ],
)
def test_all_states_have_their_probabilities(method, setting, kind):
    """Independent chains from random starts against the whole distribution of z."""
    truth = Quadrature(*setting)
    seen = np.zeros(len(truth.states))
    for seed in range(200):
        chain = make_chain(truth.corpus, truth.labels, 2, setting, method, seed, burn_in=15, kind=kind)
        for _ in range(20):
            advance(chain, chain.steps)
        seen[truth.index(chain.topics)] += 1
    assert chi_square_p(seen, truth.posterior) > ALARM


@pytest.mark.mutation
def test_a_symmetric_mixture_that_stays_is_plain_lda(monkeypatch):
    """J = 1 and pi = 1 / K: the posterior of LDA with alpha = gamma / K."""
    monkeypatch.setattr(Mixtures, "draw_mixtures", lambda self, chain, rng: None)
    truth = Enumeration(DOCS, 4, 2, 0.6, 0.3)
    seen, wrong = np.zeros(len(truth.states)), Enumeration(DOCS, 4, 2, 1.2, 0.3).posterior
    for seed in range(700):
        chain = make_chain(truth.corpus, np.zeros(3, np.int64), 2, (1.0, 1.2, 0.3), "augmented", seed)
        for _ in range(20):
            advance(chain, chain.steps)
        seen[truth.index(chain.topics)] += 1
    assert chi_square_p(seen, truth.posterior) > ALARM
    assert chi_square_p(seen, wrong) < ALARM


LENGTHS, LABELS = np.array([5, 0, 4, 6, 3]), np.array([0, 0, 1, 1, 1])
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])


def geweke_p(method, setting, n_draws=2400, n_batches=40, V=4, K=3):
    """Smallest p-value over statistics of (pi, z, w): drawn from the model, against sweeps and new words in turn."""
    alpha, gamma, eta = setting
    rng = np.random.default_rng(0)

    def draw_mixtures():
        return rng.dirichlet(np.full(K, alpha), size=2)

    def draw_topics(pi):
        theta = rng.dirichlet(np.full(K, 1.0), size=len(LENGTHS)) * 0
        for d, j in enumerate(LABELS):
            theta[d] = rng.dirichlet(np.maximum(gamma * pi[j], 1e-12))
        z = [rng.choice(K, size=n, p=p) for n, p in zip(LENGTHS, theta, strict=True)]
        return np.concatenate(z).astype(np.int32)

    def draw_words(z):
        phi = rng.dirichlet(np.full(V, eta), size=K)
        return (rng.random((len(z), 1)) > phi[z].cumsum(axis=1)[:, :-1]).sum(axis=1).astype(np.int32)

    def statistics(pi, z, w):
        n = np.array([np.bincount(part, minlength=K) for part in np.split(z, OFFSETS[1:-1])])
        m = np.bincount(z * V + w, minlength=K * V)
        return [
            *pi[:, 0],
            *(pi**2).sum(axis=1),
            (n**2).sum(),
            (m**2).sum(),
            n[2] @ n[4],
            n[0] @ pi[0],
            n[3] @ pi[1],
            z[0] == z[-1],
        ]

    direct, successive = [], []
    pi = draw_mixtures()
    z = draw_topics(pi)
    corpus = Corpus(draw_words(z), OFFSETS, V)
    chain = make_chain(corpus, LABELS, K, setting, method, burn_in=400)
    for s in range(n_draws):
        prior = draw_mixtures()
        topics = draw_topics(prior)
        direct.append(statistics(prior, topics, draw_words(topics)))
        advance(chain, chain.steps)
        # The mixtures and topics stay, the words under them are new.
        corpus.words[:] = draw_words(chain.topics)
        replace(chain, chain.topics.copy())
        if s >= 400:
            successive.append(statistics(chain.steps[0].pi, chain.topics, corpus.words))
    direct, successive = np.array(direct, float), np.array(successive, float)
    batches = successive.reshape(n_batches, -1, successive.shape[1]).mean(axis=1)
    error = np.sqrt(direct.var(axis=0) / n_draws + batches.var(axis=0, ddof=1) / n_batches)
    return p_value((direct.mean(axis=0) - successive.mean(axis=0)) / error, direct.shape[1])


def replace(chain, topics):
    """Put a chain into another state z."""
    chain.topics[:] = topics
    chain.recount()


# All states and the means of the mixtures have exact tests above.
@pytest.mark.mutation("test_geweke_finds_a_wrong_target")
@pytest.mark.exhaustive
@pytest.mark.parametrize("method", SAMPLERS)
def test_sweeps_and_new_words_keep_the_joint_distribution(method):
    assert geweke_p(method, (1.0, 2.0, 0.4)) > ALARM


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", SAMPLERS)
def test_geweke_finds_a_wrong_target(method, monkeypatch):
    MUTATIONS[method](monkeypatch)
    assert geweke_p(method, (1.0, 2.0, 0.4)) < ALARM


@pytest.mark.parametrize("alpha", [1e-3, 1e-6])
def test_mixtures_that_underflow(alpha):
    """log pi stays finite where pi does not; the kernels have the bound."""
    corpus, labels = corpus_of(EXACT[0][0], 3)
    for method in SAMPLERS:
        chain = make_chain(corpus, labels, 3, (alpha, 1.0, 0.3), method)
        for _ in range(50):
            advance(chain, chain.steps)
        assert np.isfinite(chain.steps[0].log_pi).all()
        assert (chain.priors.doc >= 1e-12).all()
        assert np.isfinite(chain.log_joint())


@pytest.mark.mutation
def test_the_bound_on_the_prior_is_not_felt(monkeypatch):
    """With a bound a thousand times as high, posterior means at alpha = 0.1 are still exact."""
    monkeypatch.setattr(mixture_step, "SMALLEST", 1e-9)
    assert p_value(scores(CASES[2], "augmented"), 2) > ALARM
    monkeypatch.setattr(mixture_step, "SMALLEST", 0.3)
    assert p_value(scores(CASES[2], "augmented"), 2) < ALARM


def rise_of_the_evidence(truth, alpha, smallest):
    """p(w) with gamma pi bounded below, over p(w), minus one; exact where the integrand is a polynomial in t.

    The bounded density is nowhere the smaller one, so this is no less than the distance in total variation. They differ
    where gamma pi_k < smallest only; there pi_k = edge t^(1 / alpha) takes up the singularity of the prior.
    """
    t, weight = np.polynomial.legendre.leggauss(60)
    t, weight = (1 + t) / 2, weight / 2
    edge = smallest / truth.gamma
    pi = np.maximum(edge * t ** (1 / alpha), 1e-200)
    weight = weight * edge**alpha / alpha * (1 - pi) ** (alpha - 1) / beta(alpha, alpha)
    log_rise = 0.0
    for j in set(truth.labels):
        n = truth.n_dk[:, truth.labels == j]
        log_p = logsumexp(truth.log_given_pi(n) + truth.log_weight, axis=1)
        rise = 0.0
        for own, other in ((n[..., :1], n[..., 1:]), (n[..., 1:], n[..., :1])):
            bounded, unbounded, rest = (
                np.exp((gammaln(a + count) - gammaln(a)).sum(axis=1))
                for a, count in ((smallest, own), (truth.gamma * pi, own), (truth.gamma * (1 - pi), other))
            )
            rise += ((bounded - unbounded) * rest) @ weight
        lengths = n.sum(axis=2)
        log_total = (gammaln(truth.gamma) - gammaln(truth.gamma + lengths)).sum(axis=1)
        log_rise = log_rise + np.log1p(rise * np.exp(log_total - log_p))
    return truth.posterior @ np.expm1(log_rise)


def test_what_the_bound_on_the_prior_changes():
    """About the (1 + alpha)-th power of the bound: a topic with a token seldom has so small a share."""
    # Against p(w) summed up on a grid, for a bound that is felt.
    truth = Quadrature(1.0, 1.5, 0.4)
    felt = rise_of_the_evidence(truth, 1.0, 0.3)
    pi = (np.arange(4000) + 0.5) / 4000
    total = truth.log_joint * 0
    for j in (0, 1):
        n = truth.n_dk[:, truth.labels == j]
        a = 1.5 * np.stack([pi, 1 - pi], axis=1)
        with_bound = (
            np.exp(
                (gammaln(np.maximum(a, 0.3) + n[:, :, None]) - gammaln(np.maximum(a, 0.3))).sum(axis=(1, 3))
                + (gammaln(1.5) - gammaln(1.5 + n.sum(axis=2))).sum(axis=1)[:, None]
            )
        ).mean(axis=1)
        total += np.log(with_bound) - logsumexp(truth.log_given_pi(n) + truth.log_weight, axis=1)
    np.testing.assert_allclose(felt, truth.posterior @ np.expm1(total), rtol=1e-5)
    for alpha, gamma, most in [(1.0, 1.0, 1e-22), (0.1, 5.0, 1e-12), (0.1, 1.0, 1e-12), (0.01, 1.0, 1e-9)]:
        rise = rise_of_the_evidence(Quadrature(alpha, gamma, 0.4), alpha, 1e-12)
        assert 0 < rise < most
