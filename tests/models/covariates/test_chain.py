"""The chain of Dirichlet-multinomial regression: enumeration, Geweke's test and simulation-based calibration."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from enumeration import chi_square_p, make_corpus, rising
from scipy.special import logsumexp
from scipy.stats import chi2, norm

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._models.covariates import coefficients
from sklda._models.covariates import coefficients as step_module
from sklda._models.covariates.coefficients import INTERCEPT_SCALE, Coefficients, CovariateModel
from sklda._models.covariates.prior import distinct_rows
from sklda._sampling.annealed_start import Annealing
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.run_chains import Run, Schedule
from sklda._sampling.steps import advance

# Two-sided p-values, times the number of statistics.
ALARM = 1e-6


def make_chain(corpus, columns, eta, K, centre, sigma, seed=0, topics=None, groups=None):
    rows, index = distinct_rows(np.asarray(columns, dtype=float))
    groups = np.zeros(rows.shape[1] - 1, int) if groups is None else groups
    model = CovariateModel(rows, index, np.full(K, centre), sigma, groups)
    priors, seed = Priors.make(1.0, eta, K, corpus.n_features), np.random.SeedSequence(seed)
    if topics is None:
        chain = GibbsChain.initialise_randomly(corpus, priors, random.child(seed, 0))
        chain.steps = [Coefficients(model, random.child(seed, 1))]
    else:
        chain = GibbsChain(corpus, priors, ChainState(topics, seed.generate_state(4, np.uint64)))
        chain.steps = [Coefficients(model, seed)]
    chain.steps[0].begin(chain)
    return chain


def break_exposures(monkeypatch):
    right = coefficients.draw_exposures
    monkeypatch.setattr(step_module, "draw_exposures", lambda rng, totals, n: 4 * right(rng, totals, n))


def break_prior(monkeypatch):
    monkeypatch.setattr(CovariateModel, "prior_precision", lambda self, sigma: np.full(self.rows.shape[1], 4.0))


def break_prior_of_levels(monkeypatch):
    """The levels have a fifth of their sigma."""
    right = CovariateModel.prior_precision
    monkeypatch.setattr(CovariateModel, "prior_precision", lambda self, sigma: right(self, sigma / [1, 5]))


def break_stretch(monkeypatch):
    """Steps that multiply sigma and the levels favour larger ones."""
    right = coefficients.slice_step
    wrong = lambda rng, density: right(rng, lambda step: density(step) + 2 * step)  # noqa: E731
    monkeypatch.setattr(step_module, "slice_step", wrong)


def break_alpha(monkeypatch):
    """The tokens have ten times the alpha that lambda gives."""
    right = Coefficients._set_alpha

    def set_alpha(self, chain):
        right(self, chain)
        chain.priors = dataclasses.replace(chain.priors, doc=10 * chain.priors.doc)

    monkeypatch.setattr(Coefficients, "_set_alpha", set_alpha)


def exact_states():
    """The states of a corpus without covariates and p(z | w), with the sum over a grid of two intercepts."""
    corpus, centre, eta = make_corpus([[0, 0, 1], [1, 1]], 2), np.log(0.5), 0.4
    states = np.array(np.meshgrid(*[[0, 1]] * 5, indexing="ij")).reshape(5, -1).T
    one_hot = states[:, :, None] == np.arange(2)
    n_dk = np.stack([one_hot[:, :3].sum(axis=1), one_hot[:, 3:].sum(axis=1)], axis=1)
    m_kv = np.stack([one_hot[:, corpus.words == v].sum(axis=1) for v in range(2)], axis=2)
    grid = centre + np.linspace(-12, 12, 121)
    a, b = (each.ravel() for each in np.meshgrid(grid, grid))
    prior = -((a - centre) ** 2 + (b - centre) ** 2) / (2 * INTERCEPT_SCALE**2)
    alpha = np.exp(np.stack([a, b], axis=1))[:, None, :]
    log_p = [logsumexp(rising(alpha, n[None]) + prior) for n in n_dk]
    log_p = np.array(log_p) + rising(np.full((2, 2), eta), m_kv)
    return corpus, centre, eta, np.exp(log_p - logsumexp(log_p))


def state_p(n_chains=120, n_sweeps=12):
    corpus, centre, eta, posterior = exact_states()
    seen = np.zeros(len(posterior))
    for seed in range(n_chains):
        chain = make_chain(corpus, np.zeros((2, 0)), eta, 2, centre, 1.0, seed)
        for _ in range(n_sweeps):
            advance(chain, chain.steps)
        seen[int(np.ravel_multi_index(tuple(chain.topics), (2,) * 5))] += 1
    return chi_square_p(seen, posterior)


@pytest.mark.mutation("test_a_wrong_exposure_changes_the_states")
def test_all_states_have_their_probabilities():
    assert state_p() > ALARM


def test_a_wrong_exposure_changes_the_states(monkeypatch):
    break_exposures(monkeypatch)
    assert state_p() < ALARM


LENGTHS = np.array([5, 0, 4, 6, 3])
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
COLUMNS = np.array([[1.2, 0], [0.3, 1], [-0.4, 0], [-1.5, 1], [-0.4, 0]])
# A number, and a category of three levels whose effects have a sigma of their own.
LEVELS = np.column_stack([COLUMNS[:, 0], np.eye(3)[[0, 1, 0, 2, 1]]])
GROUPS = np.array([0, 1, 1, 1])


def draw_model(rng, sigma, K, centre, eta, columns=COLUMNS, offsets=OFFSETS, groups=None):
    """sigma, lambda, z and w from the model."""
    groups = np.zeros(columns.shape[1], int) if groups is None else groups
    n_groups, design = 1 + groups.max(), np.column_stack([np.ones(len(columns)), columns])
    sigma = np.abs(np.tan(np.pi * (rng.random(n_groups) - 0.5))) if sigma is None else np.full(n_groups, sigma)
    coefficients = np.append(1.0, sigma[groups]) * rng.standard_normal((K, design.shape[1]))
    coefficients[:, 0] = centre + INTERCEPT_SCALE * rng.standard_normal(K)
    alpha = np.exp(np.clip(design @ coefficients.T, *np.log([1e-12, 1e12])))
    topics = []
    for own, n in zip(alpha, np.diff(offsets), strict=True):
        # An urn, because proportions could underflow.
        counts = own.copy()
        for _ in range(n):
            topics.append(rng.choice(K, p=counts / counts.sum()))
            counts[topics[-1]] += 1
    topics = np.array(topics, np.int32)
    return sigma, coefficients, topics, draw_words(rng, topics, eta)


def draw_words(rng, topics, eta):
    phi = np.array([rng.dirichlet(row) for row in eta])
    return (rng.random((len(topics), 1)) > phi[topics].cumsum(axis=1)[:, :-1]).sum(axis=1).astype(np.int32)


def statistics(sigma, coefficients, z, w):
    K = len(coefficients)
    n = np.array([np.bincount(part, minlength=K) for part in np.split(z, OFFSETS[1:-1])])
    m = np.bincount(z * 4 + w, minlength=K * 4)
    low = np.tanh(coefficients)
    return [
        *low.ravel(),
        *(low**2).ravel(),
        *np.tanh(sigma),
        (n**2).sum(),
        (m**2).sum(),
        n[0] @ low[:, 1],
        n[3] @ low[:, 1],
        n[3] @ low[:, 2],
        n[2] @ low[:, 0],
        z[0] == z[-1],
    ]


def geweke_p(sigma, n_draws=2800, n_batches=40, K=2):
    """Smallest p-value over statistics: drawn from the model, against sweeps and new words in turn."""
    rng, eta, centre = np.random.default_rng(0), np.full((K, 4), 0.4), np.log(0.6)
    *_, z, w = draw_model(rng, sigma, K, centre, eta)
    corpus = Corpus(w, OFFSETS, 4)
    chain = make_chain(corpus, COLUMNS, 0.4, K, centre, sigma, topics=z)
    direct, successive = [], []
    for s in range(n_draws):
        direct.append(statistics(*draw_model(rng, sigma, K, centre, eta)))
        advance(chain, chain.steps)
        # Topics and coefficients stay, the words under them are new.
        corpus.words[:] = draw_words(rng, chain.topics, eta)
        chain.recount()
        if s >= 400:
            successive.append(statistics(chain.steps[0].sigma, chain.steps[0].coefficients, chain.topics, corpus.words))
    direct, successive = np.array(direct, float), np.array(successive, float)
    batches = successive.reshape(n_batches, -1, successive.shape[1]).mean(axis=1)
    error = np.sqrt(direct.var(axis=0) / n_draws + batches.var(axis=0, ddof=1) / n_batches)
    moves = error > 1e-12
    z = (direct.mean(axis=0) - successive.mean(axis=0))[moves] / error[moves]
    return 2 * norm.sf(np.abs(z)).min() * len(z)


# Draws of the model that stay draws of the model prove the same, with sigma drawn.
@pytest.mark.mutation("test_geweke_finds_a_wrong_target")
@pytest.mark.exhaustive
def test_sweeps_and_new_words_keep_the_joint_distribution():
    assert geweke_p(0.7) > ALARM


def stationary_p(columns=COLUMNS, groups=None, n_chains=250, n_sweeps=1, K=2):
    """Smallest p-value over the changes of the statistics by some sweeps from draws of the model, sigma drawn.

    sigma has heavy tails, so a chain visits large ones too rarely for the errors of a single long chain.
    """
    rng, eta, centre, changes = np.random.default_rng(0), np.full((K, 4), 0.4), np.log(0.6), []
    for seed in range(n_chains):
        sigma, coefficients, z, w = draw_model(rng, None, K, centre, eta, columns, groups=groups)
        corpus = Corpus(w, OFFSETS, 4)
        chain = make_chain(corpus, columns, 0.4, K, centre, None, seed, topics=z, groups=groups)
        (step,) = chain.steps
        step.coefficients, step.sigma = coefficients, sigma.copy()
        step.auxiliary = (1 + 1 / sigma**2) / rng.standard_exponential(len(sigma))
        step.begin(chain)
        before = statistics(sigma, coefficients, z, w)
        for _ in range(n_sweeps):
            advance(chain, chain.steps)
        changes.append(
            np.subtract(statistics(chain.steps[0].sigma, chain.steps[0].coefficients, chain.topics, w), before)
        )
    mean, error = np.mean(changes, axis=0), np.std(changes, axis=0) / np.sqrt(n_chains)
    moves = error > 1e-12
    return 2 * norm.sf(np.abs(mean[moves] / error[moves])).min() * moves.sum()


@pytest.mark.mutation("test_a_wrong_prior_moves_draws_of_the_model")
def test_sweeps_keep_draws_of_the_model():
    assert stationary_p() > ALARM


def test_a_wrong_prior_moves_draws_of_the_model(monkeypatch):
    break_prior(monkeypatch)
    assert stationary_p() < ALARM


@pytest.mark.mutation("test_a_wrong_prior_of_levels_moves_draws_of_the_model")
def test_sweeps_keep_draws_of_the_model_with_levels():
    assert stationary_p(LEVELS, GROUPS) > ALARM


@pytest.mark.parametrize("broken", [break_prior_of_levels, break_stretch])
def test_a_wrong_prior_of_levels_moves_draws_of_the_model(broken, monkeypatch):
    broken(monkeypatch)
    assert stationary_p(LEVELS, GROUPS) < ALARM


@pytest.mark.exhaustive
@pytest.mark.parametrize("broken", [break_alpha, break_exposures, break_prior])
def test_geweke_finds_a_wrong_target(broken, monkeypatch):
    broken(monkeypatch)
    assert geweke_p(0.7) < ALARM


# Words that tell the topics apart, so that topics keep their names in a fit.
ANCHORED = np.array([[2.0, 2.0, 2.0, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 2.0, 2.0, 2.0]])


def calibration_p(n_fits, n_draws=9, thin=6, n_burn_in=40, sigma=0.8, D=16, n=6):
    """Smallest p-value for the uniform distribution of the ranks of lambda drawn from the prior among its draws."""
    rng, ranks = np.random.default_rng(0), []
    columns = np.column_stack([np.linspace(-1.5, 1.5, D), np.arange(D) % 2])
    offsets = np.arange(0, n * D + 1, n)
    for seed in range(n_fits):
        _, truth, _, words = draw_model(rng, sigma, 2, np.log(0.5), ANCHORED, columns, offsets)
        order = np.argsort(np.repeat(np.arange(D), n) * 6 + words, kind="stable")
        corpus = Corpus(words[order], offsets, 6)
        chain, drawn = make_chain(corpus, columns, ANCHORED, 2, np.log(0.5), sigma, seed), []
        for s in range(n_burn_in + n_draws * thin):
            advance(chain, chain.steps)
            if s >= n_burn_in and s % thin == 0:
                drawn.append(chain.steps[0].coefficients)
        ranks.append((np.array(drawn) < truth).sum(axis=0).ravel())
    ranks = np.array(ranks)
    cells = 10 if n_fits >= 200 else 5
    seen = np.array([np.bincount(each * cells // (n_draws + 1), minlength=cells) for each in ranks.T])
    expected = n_fits / cells
    return chi2.sf(((seen - expected) ** 2 / expected).sum(axis=1), cells - 1).min() * ranks.shape[1]


LEVEL = 1e-4


@pytest.mark.mutation("test_calibration_finds_a_wrong_exposure")
@pytest.mark.exhaustive
def test_intervals_of_coefficients_are_calibrated():
    assert calibration_p(300, 9, 20, 150) > LEVEL


@pytest.mark.exhaustive
def test_calibration_finds_a_wrong_exposure(monkeypatch):
    break_exposures(monkeypatch)
    assert calibration_p(300, 9, 10, 60) < LEVEL


@pytest.mark.mutation
@pytest.mark.exhaustive
def test_one_topic_says_nothing_about_its_alpha():
    """With K = 1 the posterior of lambda is its prior."""
    corpus = make_corpus([[0, 1], [1, 1, 0], [0]], 2)
    chain, drawn = make_chain(corpus, [[1.0], [0.0], [-1.0]], 0.5, 1, 0.3, 0.6), []
    for _ in range(1000):
        advance(chain, chain.steps)
        own = chain.steps[0].coefficients[0]
        drawn.append([*own, *(own - [0.3, 0]) ** 2])
    batches = np.reshape(drawn, (40, -1, 4)).mean(axis=1)
    exact = np.array([0.3, 0, INTERCEPT_SCALE**2, 0.36])
    z = (batches.mean(axis=0) - exact) / (batches.std(axis=0, ddof=1) / np.sqrt(40))
    assert 2 * norm.sf(np.abs(z)).min() * 4 > ALARM
    z = (batches.mean(axis=0) - 1.5 * exact) / (batches.std(axis=0, ddof=1) / np.sqrt(40))
    assert 2 * norm.sf(np.abs(z)).min() * 4 < ALARM


def test_the_coefficients_stay_in_the_annealed_sweeps():
    corpus = make_corpus([[0, 1], [1, 1, 0], [0]], 2)
    chain = make_chain(corpus, [[1.0], [0.0], [-1.0]], 0.5, 2, 0.3, 0.6)
    chain.n_burn_in, schedule = 6, Schedule(annealing=Annealing(4))
    for _ in range(4):
        chain.n_annealed = 4
        (chain,) = Run().sweep([chain], 1, schedule=schedule)
        assert (chain.steps[0].coefficients == [[0.3, 0], [0.3, 0]]).all() and len(chain.priors.doc) == 1
    (chain,) = Run().sweep([chain], 5, schedule=schedule)
    assert len(chain.parameters) == 3 and len(chain.priors.doc) == 3


def test_a_state_continues_the_same_chain(monkeypatch):
    monkeypatch.setattr(CovariateModel, "sweeps_between", 2)
    corpus = make_corpus([[0, 1], [1, 1, 0], [0]], 2)
    whole, first = (make_chain(corpus, [[1.0], [0.0], [-1.0]], 0.5, 2, 0.3, None) for _ in range(2))
    for _ in range(3):
        advance(first, first.steps)
    kind, arguments = first.__reduce__()
    second = kind(*arguments)
    for _ in range(7):
        advance(whole, whole.steps)
    for _ in range(4):
        advance(second, second.steps)
    (one,), (other,) = whole.steps, second.steps
    np.testing.assert_array_equal(one.coefficients, other.coefficients)
    np.testing.assert_array_equal(whole.topics, second.topics)
    assert one.sigma == other.sigma
    np.testing.assert_allclose(whole.log_joint(), second.log_joint())


def test_alpha_follows_moves_of_topics_at_once(monkeypatch):
    monkeypatch.setattr(CovariateModel, "sweeps_between", 1000)
    corpus = make_corpus([[0, 1], [1, 1, 0], [0]], 2)
    chain = make_chain(corpus, [[1.0], [0.0], [-1.0]], 0.5, 2, 0.3, 0.6)
    (step,) = chain.steps
    step.coefficients = np.array([[0.1, 0.5], [0.7, -0.2]])
    exchange = SimpleNamespace(of_rows=lambda rows: rows[::-1].copy(), of_logs=lambda logs: logs[::-1].copy())
    chain.moves, chain.n_sweeps = [exchange], 1
    step.after(chain, None)
    np.testing.assert_allclose(
        chain.priors.doc, np.exp(np.add([0.7, 0.1], np.outer(step.model.rows[:, 1], [-0.2, 0.5])))
    )
