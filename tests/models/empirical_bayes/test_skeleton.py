"""The skeleton: reverse logistic regression against exact constants, its errors, modes of chains, and rounds."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.count_histograms import CountHistograms
from sklda._core.gibbs_em import MStep
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._core.progress import Progress
from sklda._mode_search.search import Mode
from sklda._models.empirical_bayes import modes
from sklda._models.empirical_bayes.batch_means import Batches, at_most
from sklda._models.empirical_bayes.chain_pool import ChainPool
from sklda._models.empirical_bayes.estimate import estimate
from sklda._models.empirical_bayes.marginal_likelihood import Curve
from sklda._models.empirical_bayes.modes import Beginning, begin, differing, probabilities, resolve
from sklda._models.empirical_bayes.reverse_logistic_regression import ReverseLogisticRegression
from sklda._models.empirical_bayes.settings import Settings
from sklda._models.empirical_bayes.skeleton import Visits, find_maximum
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.run_chains import Run

SEED = np.random.SeedSequence(0)
MEANS, SCALES = np.array([0.0, 0.7, 1.5]), np.array([1.0, 0.8, 1.3])


def normal_draws(seed, n=(300, 200, 400)):
    """Draws of three normal distributions, log densities without their constants, and the constants' logarithms."""
    rng, at = np.random.default_rng(seed), np.repeat(np.arange(3), n)
    x = MEANS[at] + SCALES[at] * rng.standard_normal(len(at))
    return -0.5 * ((x[:, None] - MEANS) / SCALES) ** 2, at, np.log(SCALES)


def log_ratios(regression, log_p):
    """log zeta of each point minus that of the first, from the denominators."""
    log_zeta = np.log(np.exp(log_p - regression.log_denominators[:, None]).sum(axis=0))
    return log_zeta - log_zeta[0]


def z_values(n_seeds=200, break_it=False):
    """Errors of a log ratio in units of its standard error by the influences of the draws."""
    found = []
    for seed in range(n_seeds):
        log_p, at, exact = normal_draws(seed)
        regression = ReverseLogisticRegression.of(log_p, at)
        terms = np.exp(log_p[:, [2, 0]] - regression.log_denominators[:, None])
        terms = (terms / terms.sum(axis=0)) @ np.array([[1.0], [-1.0]])
        influences = terms if break_it else regression.influences(terms)
        within = [influences[at == j] - influences[at == j].mean() for j in range(3)]
        std = np.sqrt(sum((each**2).sum() for each in within))
        found.append((log_ratios(regression, log_p)[2] - exact[2]) / std)
    return np.array(found)


@pytest.mark.mutation("test_errors_without_the_influence_of_zeta_are_found")
def test_the_constants_solve_their_equation_and_have_their_errors():
    log_p, at, _ = normal_draws(0)
    regression = ReverseLogisticRegression.of(log_p, at)
    np.testing.assert_allclose(regression.members.sum(axis=0), np.bincount(at), rtol=1e-6)
    z = z_values()
    # 200 normal values: the sum of squares has a chi-square distribution, with these quantiles at 1e-5.
    assert 127 < (z**2).sum() < 294


def test_errors_without_the_influence_of_zeta_are_found():
    assert not 127 < (z_values(break_it=True) ** 2).sum() < 294


def three_kinds():
    """Documents of three kinds for two topics: which two kinds share one makes a mode that sweeps do not leave."""
    rng = np.random.default_rng(0)
    words = np.zeros((3, 12))
    words[0, :2], words[1, 2:4], words[2, 4:] = 1 / 2, 1 / 2, 1 / 8
    kinds = np.repeat([0, 1, 2], [40, 40, 15])
    X = np.array([rng.multinomial(40, 0.95 * words[kind] + 0.05 / 12) for kind in kinds])
    return Corpus.from_counts(X), kinds


def in_mode(alone, seed):
    """A chain in which one kind of documents has a topic for itself."""
    corpus, kinds = three_kinds()
    topics = (kinds == alone).astype(np.int32)[corpus.token_documents]
    return GibbsChain(corpus, Priors.make(0.1, 0.5, 2, 12), ChainState(topics, random.stream(random.child(SEED, seed))))


def alone_in(chain):
    """The kind that has a topic for itself."""
    _, kinds = three_kinds()
    main = chain.doc_topic_counts().argmax(axis=1)
    share = [main[kinds == kind].mean() for kind in range(3)]
    return int(np.argmax(np.abs(np.array(share) - np.median(share))))


def make_pool(max_iter, error_ratio=0.2, n_chains=4):
    corpus, _ = three_kinds()
    settings = Settings(n_last=20, max_iter=max_iter, error_ratio=error_ratio)
    return ChainPool(corpus, Priors.make(0.5, 0.5, 2, 12), settings, SEED, n_chains=n_chains)


def found_in(alone):
    """The skeleton of chains in given modes, and what becomes of it, given their shares or not."""
    pool = make_pool(4000)
    pool.chains = [in_mode(kind, c) for c, kind in enumerate(alone)]
    found = find_maximum(pool, np.log([0.1, 0.5]), reserved=20, error_ratio=0.2)
    return found, lambda shares: resolve(pool, found, reserved=20, shares=shares, seed=SEED)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_chains_in_modes_of_little_evidence_do_not_count():
    """The third kind alone is a mode hundreds of nats down. Searches may have found the shares of modes before."""
    found, resolved = found_in([0, 0, 2, 2])
    assert not found.agree
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(resolved(shares).maximum.log_h, found.averaged(shares).maximum.log_h, rtol=1e-5)
    after = resolved(None)
    # The evidence of both good modes is an estimate, so that their shares are nearly equal.
    np.testing.assert_allclose(after.curve.shares, [0.5, 0.5], atol=0.3)
    good = found.averaged([*after.curve.shares, 0, 0])
    np.testing.assert_allclose(after.maximum.log_h, good.maximum.log_h, rtol=1e-5)
    assert (np.abs(after.maximum.log_h - found.maximum.log_h) > 0.05).any()


def test_chains_in_one_mode_agree():
    found, resolved = found_in([0, 0, 0, 0])
    assert found.agree and resolved(None) is found


def in_few_draws(alone, monkeypatch):
    """An estimate from chains in given modes, one round of five points: the warnings of it as well."""
    monkeypatch.setattr("sklda._models.empirical_bayes.skeleton.MOST_SEARCHED", 0)
    monkeypatch.setattr(
        "sklda._models.empirical_bayes.estimate.begin", lambda pool, seed: Beginning(log_h=np.log([0.1, 0.4]))
    )
    pool = make_pool(500)
    pool.chains = [in_mode(kind, c) for c, kind in enumerate(alone)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = estimate(pool)
    return found, [str(each.message) for each in caught]


@pytest.mark.mutation("sklda._models.empirical_bayes.skeleton.LARGEST_R_HAT", np.inf)
@pytest.mark.mutation("sklda._models.empirical_bayes.convergence.LARGEST_R_HAT", np.inf)
def test_errors_contain_the_modes_of_chains_after_few_draws(monkeypatch):
    """Deviations at five points cannot show that chains differ. eta: alpha is at an edge."""
    (both, warned), *own = (in_few_draws(alone, monkeypatch) for alone in ([0, 0, 2, 2], [0] * 4, [2] * 4))
    log_eta = [found.maximum.log_h[1] for found, _ in own]
    half = np.abs(np.diff(log_eta))[0] / 2
    error, *errors = (np.sqrt(found.maximum.monte_carlo[1, 1]) for found in (both, *(found for found, _ in own)))
    assert half > 0.05 > 10 * max(errors)
    assert 0.9 * half < error < 1.2 * half
    # Draws within a mode are nearly constant, and a rare one may raise R-hat a little above the limit.
    assert both.r_hat[1] > 10 > 5 * max(found.r_hat.max() for found, _ in own)
    for found, messages in ((both, warned), *own):
        assert any("R-hat" in message for message in messages) == (found.r_hat.max() > 1.1)


def test_searches_find_the_best_modes():
    pool = make_pool(20_000)
    beginning = begin(pool, SEED)
    assert 1 <= len(beginning.log_evidence) <= 4
    assert {alone_in(chain) for chain in pool.chains} <= {0, 1}
    assert beginning.shares.sum() == pytest.approx(1)


def searches_that_find(found, monkeypatch):
    """Searches that find the given modes, one list for each of them, all of which are made."""
    kinds = iter(found)

    def improve_modes(*args, **options):
        return [Mode(in_mode(alone, 0).topics, 0.0) for alone in next(kinds)], 500

    monkeypatch.setattr("sklda._models.empirical_bayes.modes.improve_modes", improve_modes)
    pool = make_pool(20_000)
    beginning = begin(pool, SEED)
    assert next(kinds, None) is None
    return beginning, pool


def test_a_mode_that_one_search_found_is_named(monkeypatch):
    with pytest.warns(ConvergenceWarning, match="Only one of 4 searches"):
        searches_that_find([[0], [2], [2], [2]], monkeypatch)


def test_two_searches_that_find_one_mode_are_enough(monkeypatch):
    beginning, _ = searches_that_find([[1], [1]], monkeypatch)
    assert len(beginning.log_evidence) == 1
    np.testing.assert_allclose(beginning.shares, 1 / 4)


def test_two_searches_that_agree_are_not_enough_if_there_are_worse_modes(monkeypatch):
    """Both may have missed the best one."""
    beginning, pool = searches_that_find([[2], [2, 0], [0, 2], [0]], monkeypatch)
    assert {alone_in(chain) for chain in pool.chains} <= {0, 1}
    assert (np.diff(beginning.log_evidence) <= 0).all()
    # The last mode is the third kind alone.
    assert np.ptp(beginning.log_evidence) > 100


def test_draws_are_compared_without_the_names_of_topics():
    a = np.array([0, 0, 1, 1, 2, 2, 2, 2])
    assert differing(a, (a + 1) % 3, 3) == 0
    assert differing(a, np.array([2, 0, 1, 1, 0, 0, 0, 2]), 3) == 1 / 4
    assert differing(a, np.zeros(8, int), 3) == 1 / 2


def test_visits_are_as_long_as_they_should_be():
    points = np.log([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    visits = Visits(points, np.array([2, 0, 1]), n_draws=2, n_left_out=1)
    chain, alphas = in_mode(0, 0), []
    visits.begin(chain)
    for _ in range(21):
        alphas.append(chain.priors.doc[0, 0])
        visits.after(chain, NEVER_STOP)
    assert visits.at == [2, 2, 0, 0, 1, 1]
    np.testing.assert_allclose(alphas, np.repeat([0.5, 0.1, 0.3], 7))


def test_every_second_chain_goes_in_the_opposite_direction():
    """So a point is reached from either side, and what is left of the last visit cancels."""
    pool = make_pool(450)
    pool.chains = [in_mode(0, c) for c in range(4)]
    find_maximum(pool, np.log([0.1, 0.5]), reserved=0, error_ratio=np.inf)
    steps = [set(zip(step.order[:-1], step.order[1:], strict=True)) for step in pool.steps]
    assert len(steps[0]) == 8
    for c in range(3):
        assert not steps[c] & steps[c + 1]


def test_a_maximum_far_from_the_first_points_is_found():
    """The chains begin at an h a thousand times too large and too small."""
    h = []
    for start in ([0.1, 0.5], [0.001, 50.0]):
        pool = make_pool(3000)
        pool.chains = [in_mode(0, c) for c in range(4)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = find_maximum(pool, np.log(start), reserved=20, error_ratio=0.2)
        h.append(found.maximum)
    covariance = h[0].monte_carlo + h[1].monte_carlo
    away = h[0].log_h - h[1].log_h
    # A chi-square of two degrees at 1e-4, with 27 degrees of freedom in the covariances.
    assert away @ np.linalg.solve(covariance, away) < 25


def test_the_error_of_a_maximum_away_from_the_points_contains_the_distance():
    """Also if every chain has a curve of its own. With more sweeps, eta lies between the points; alpha has no error."""
    for max_iter in (250, 8000):
        pool = make_pool(max_iter)
        pool.chains = [in_mode(0, c) for c in range(4)]
        found = find_maximum(pool, np.log([0.1, 1.0]), reserved=20, error_ratio=0.2)
        assert found.outside == (max_iter == 250)
        for each in (found, found.averaged(np.ones(4))):
            away, error = np.abs(each.maximum.log_h - found.centre)[1], np.sqrt(each.maximum.monte_carlo[1, 1])
            assert each.maximum.extrapolated == found.outside
            assert away <= error < np.inf if found.outside else error < 0.1


def beginning_of(monkeypatch, *, most_searched, fine_enough=0.0):
    """The beginning of a fit of 400 sweeps without a search, and its pool."""
    monkeypatch.setattr(modes, "LEAST_TOKENS", 1)
    monkeypatch.setattr(modes, "MOST_SEARCHED", most_searched)
    monkeypatch.setattr(modes, "FINE_ENOUGH", fine_enough)
    monkeypatch.setattr(modes, "_has_modes", lambda pool, log_h: False)
    pool = make_pool(400)
    return begin(pool, SEED), pool


def test_half_of_the_sweeps_learn_on_a_corpus_that_is_too_large_for_searches(monkeypatch):
    """Otherwise a quarter, at most 100."""
    for most_searched, n_annealed, n_learning in ((60_000, 100, 100), (0, 50, 200)):
        beginning, pool = beginning_of(monkeypatch, most_searched=most_searched)
        assert pool.left == 400 - n_annealed - n_learning
        assert not beginning.settled


def test_learning_on_a_large_corpus_ends_when_the_priors_have_settled(monkeypatch):
    """The test is after a quarter and a half of the sweeps that may learn."""
    beginning, pool = beginning_of(monkeypatch, most_searched=0, fine_enough=np.inf)
    assert beginning.settled
    assert pool.left == 400 - 50 - 100


def test_the_distance_that_priors_moved_is_that_since_half_of_the_sweeps(monkeypatch):
    learnt, right = [], ChainPool.learn

    def learn(pool, n_sweeps):
        learnt.append((n_sweeps, right(pool, n_sweeps)))
        return learnt[-1][1]

    monkeypatch.setattr(ChainPool, "learn", learn)
    beginning, _ = beginning_of(monkeypatch, most_searched=0)
    assert [n_sweeps for n_sweeps, _ in learnt] == [50, 50, 100]
    np.testing.assert_array_equal(beginning.moved, learnt[2][1] - learnt[1][1])
    assert (beginning.moved != 0).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_errors_contain_the_distance_that_priors_still_move(monkeypatch):
    found = {}
    for name, moved in (("settled", np.zeros(2)), ("moving", np.array([-0.3, 0.2]))):
        pool = make_pool(1500)
        pool.chains = [in_mode(0, c) for c in range(4)]
        beginning = Beginning(log_h=np.log([0.1, 0.5]), moved=moved)
        monkeypatch.setattr("sklda._models.empirical_bayes.estimate.begin", lambda pool, seed, own=beginning: own)
        found[name] = estimate(pool).maximum
    inside = found["settled"].interior
    added = np.where(inside, [-0.3, 0.2], 0)
    assert inside.any()
    np.testing.assert_array_equal(found["moving"].log_h, found["settled"].log_h)
    np.testing.assert_allclose(
        found["moving"].monte_carlo, found["settled"].monte_carlo + np.outer(added, added), rtol=1e-12
    )


def test_one_round_is_enough_for_chains_that_have_settled():
    """Otherwise the first round only places the points, and the next one is three times as long."""
    for settled, n_draws in ((False, 24), (True, 8)):
        pool = make_pool(20_000)
        pool.chains = [in_mode(0, c) for c in range(4)]
        found = find_maximum(pool, np.log([0.1, 0.5]), reserved=20, error_ratio=1.0, settled=settled)
        assert found.maximum.excess_error(1.0) <= 1
        np.testing.assert_array_equal(found.n_at, [4 * n_draws] * 9)


@pytest.mark.parametrize(("most_searched", "n_points"), [(60_000, 9), (0, 5)])
def test_large_corpora_have_the_inner_points(monkeypatch, most_searched, n_points):
    monkeypatch.setattr("sklda._models.empirical_bayes.skeleton.MOST_SEARCHED", most_searched)
    pool = make_pool(450)
    pool.chains = [in_mode(0, c) for c in range(4)]
    found = find_maximum(pool, np.log([0.1, 0.5]), reserved=0, error_ratio=np.inf)
    assert len(found.points) == n_points


def test_a_covariance_is_at_most_another_one():
    """In the directions in which it is larger it becomes the other one, and in those across them it stays."""
    rng = np.random.default_rng(0)
    across = rng.standard_normal((2, 2))
    matrix, largest = (across @ np.diag(variances) @ across.T for variances in ([1e12, 0.2], [3.0, 0.5]))
    np.testing.assert_allclose(at_most(matrix, largest), across @ np.diag([3.0, 0.2]) @ across.T, rtol=1e-3)
    np.testing.assert_allclose(at_most(largest, matrix + largest), largest, rtol=1e-3)
    np.testing.assert_array_equal(at_most(np.zeros((2, 2)), np.zeros((2, 2))), 0)


def test_the_error_of_a_gradient_is_at_most_the_spread_of_those_of_the_draws(monkeypatch):
    """Influences are larger by any factor if the draws of two points hardly overlap."""
    points = np.log([[0.1, 0.5], [0.3, 0.5]])
    draws, at = [], []
    for c in range(4):
        visits = Visits(points, np.array([0, 1]), n_draws=4, n_left_out=10)
        chain = in_mode(0, c)
        chain.steps = [visits]
        Run().sweep([chain], 2 * visits.length)
        draws.append(CountHistograms.stack(visits.draws))
        at.append(np.array(visits.at))
    curve = Curve.at_points(CountHistograms.stack(draws), np.concatenate(at), points, Batches.of_visits(at, 1))
    log_h = points.mean(axis=0)
    terms = curve.score_terms(log_h)
    np.testing.assert_allclose(curve.score_covariance(log_h), curve.batches.covariance(terms), rtol=1e-6)
    monkeypatch.setattr(Curve, "score_terms", lambda self, log_h: 1e6 * terms)
    _, gradients = curve.derivatives(log_h)
    np.testing.assert_allclose(curve.score_covariance(log_h), np.cov(gradients.T, ddof=0), rtol=1e-6)


def test_learnt_priors_are_those_of_the_last_draws(monkeypatch):
    """An M-step after every fifth sweep; the last one uses the draws of the last sixteen together."""
    pool, seen, right = make_pool(400, n_chains=1), [], MStep.maximum

    def maximum(self, draws, log_h):
        seen.append((draws, right(self, draws, log_h)))
        return seen[-1][1]

    monkeypatch.setattr(MStep, "maximum", maximum)
    pool.initialise(SEED)
    learnt = pool.learn(200)
    *steps, (last, found) = seen
    assert [len(draws) for draws, _ in steps] == [1] * 40
    assert len(last) == 16
    assert all(draw is draws[0] for draw, (draws, _) in zip(last, steps[-16:], strict=True))
    np.testing.assert_array_equal(learnt, found)


def test_chains_in_different_modes_have_a_curve_each():
    """The mean of their log m; its error contains their spread."""
    pool = make_pool(8000, n_chains=2)
    pool.chains = [in_mode(0, 0), in_mode(2, 1)]
    found = find_maximum(pool, np.log([0.1, 0.5]), reserved=20, error_ratio=np.inf)
    priors = np.array([[0.05, 0.2], [0.3, 0.3]])
    both, *own = (found.averaged(weights) for weights in ([0.5, 0.5], [1.0, 0.0], [0.0, 1.0]))
    (value, std), *each = (x.curve.log_ratio(*priors, (0.1, 0.5)) for x in (both, *own))
    np.testing.assert_allclose(value, (each[0][0] + each[1][0]) / 2)
    half = np.abs(each[0][0] - each[1][0]) / 2
    np.testing.assert_allclose(std**2, half**2 + (each[0][1] ** 2 + each[1][1] ** 2) / 4)
    # alpha is at an edge. The gradients in log eta cancel at the maximum of the mean, and are its error.
    gradients = [x.curve.value_and_gradient(both.maximum.log_h)[1][1] for x in own]
    assert gradients[0] + gradients[1] == pytest.approx(0, abs=1e-2 * abs(gradients[0]))
    assert both.curve.score_covariance(both.maximum.log_h)[1, 1] > 0.99 * gradients[0] ** 2


def test_probabilities_of_modes():
    np.testing.assert_allclose(probabilities(np.array([-5.0, -6.0]), 1e-9), [1 / (1 + np.exp(-1)), 1 / (1 + np.e)])
    certain, unsure = (probabilities(np.array([0.0, -5.0, -30.0]), std) for std in (0.1, 5.0))
    assert certain[1] < 0.01 < 0.2 < unsure[1] and unsure[2] == 0
    assert certain.sum() == pytest.approx(1)


def test_batches_of_visits():
    """Two chains at two points in different orders, the second chain without its last draw."""
    batches = Batches.of_visits([np.array([0, 0, 1, 1]), np.array([1, 1, 0])], 1)
    assert batches.lengths.tolist() == [2, 2, 2, 1]
    assert batches.chains.tolist() == [0, 0, 1, 1]
    assert batches.kinds.tolist() == [0, 1, 1, 0]
    assert batches.of_chain.tolist() == [4, 3] and batches.freedom == 2
    terms = np.array([1.0, 2, 0, 0, 4, 4, -1])[:, None]
    # Deviations of the sums 3 and -1 at the first point, of 0 and 8 at the second.
    assert (batches.sums(terms) ** 2).sum() == pytest.approx(2 * (4 + 4 + 16 + 16))


class EndsAll(Progress):
    """Ends every chain after this many sweeps."""

    def __init__(self, n_sweeps):
        self.n_sweeps, self.made = n_sweeps, {}

    def after(self, index, chain):
        self.made[index] = self.made.get(index, 0) + 1
        return self.made[index] >= self.n_sweeps


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_sweeps", [1, 102, 507, 520])
def test_a_callback_may_end_the_chains_at_any_sweep(n_sweeps):
    """In learning, in the first visit, and at the beginning of the second round."""
    corpus, _ = three_kinds()
    progress = EndsAll(n_sweeps)
    settings = Settings(n_last=20, max_iter=3000, error_ratio=0.01)
    pool = ChainPool(corpus, Priors.make(0.5, 0.5, 2, 12), settings, SEED, n_chains=2, run=Run(progress))
    found = estimate(pool)
    assert np.isfinite(found.maximum.log_h).all()
    assert max(progress.made.values()) == n_sweeps
