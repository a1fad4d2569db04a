"""Draws of the coefficients given z have their posterior, which is known by sums over a grid."""

from functools import cache

import numpy as np
import pytest
from scipy.special import expit, gammaln, logsumexp
from scipy.stats import norm

from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._models.covariates import coefficients
from sklda._models.covariates import coefficients as step_module
from sklda._models.covariates.coefficients import (
    INTERCEPT_SCALE,
    Coefficients,
    CollapsedLikelihood,
    CovariateModel,
    PoissonRegressions,
    draw_sigma,
)
from sklda._models.covariates.prior import CovariateColumns, widened
from sklda._models.covariates.terms import Curvature, Terms
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain

# A fixed seed, and two-sided p-values times the number of statistics.
ALARM = 1e-6
SIGMA, CENTRE = 0.8, np.array([-0.5, -1.5])
# Two groups of documents, and the counts of two topics in each document. One group has no token of the second topic.
GROUPS = np.array([0, 0, 1, 1, 1])
COUNTS = np.array([[5, 0], [2, 0], [1, 3], [0, 4], [0, 0]])


def make_chain(sigma=SIGMA, seed=0, groups=None):
    lengths = COUNTS.sum(axis=1)
    topics = np.concatenate([np.repeat([0, 1], row) for row in COUNTS]).astype(np.int32)
    corpus = Corpus(np.zeros(len(topics), np.int32), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), 1)
    rows = np.array([[1.0, 0.0], [1.0, 1.0]])
    model = CovariateModel(rows, GROUPS, CENTRE, sigma, np.array([0]) if groups is None else groups)
    seed = np.random.SeedSequence(seed)
    stream, step = seed.generate_state(4, np.uint64), Coefficients(model, seed)
    chain = GibbsChain(corpus, Priors.make(1.0, 0.5, 2, 1), ChainState(topics, stream, steps=(step,)))
    chain.steps[0].begin(chain)
    return chain


def log_likelihood(log_alpha, counts):
    """log p(z | alpha) of the documents of one group; log_alpha has shape (..., 2)."""
    alpha = np.exp(log_alpha)[..., None, :]
    totals, lengths = alpha.sum(axis=-1), counts.sum(axis=1)
    each = (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=-1) + gammaln(totals) - gammaln(totals + lengths)
    return each.sum(axis=-1)


@cache
def exact_moments():
    """Means and mean squares of lambda, with the sum over a grid in four dimensions."""
    step = 0.4
    a = [np.arange(centre - 8, centre + 6, step) for centre in CENTRE]
    b = np.arange(-8, 8) * step
    first = log_likelihood(np.stack(np.meshgrid(*a, indexing="ij"), axis=-1), COUNTS[GROUPS == 0])
    # log alpha of the second group is a + b, on the same grid.
    wide = [np.arange(len(each) + len(b) - 1) * step + each[0] + b[0] for each in a]
    second = log_likelihood(np.stack(np.meshgrid(*wide, indexing="ij"), axis=-1), COUNTS[GROUPS == 1])
    sums = np.arange(len(a[0]))[:, None] + np.arange(len(b))
    log_p = first[:, :, None, None] + second[sums[:, None, :, None], sums[None, :, None, :]]
    for axis, values in enumerate(a):
        shape = [1] * 4
        shape[axis] = -1
        log_p = log_p - ((values - CENTRE[axis]) ** 2 / (2 * INTERCEPT_SCALE**2)).reshape(shape)
        shape = [1] * 4
        shape[axis + 2] = -1
        log_p = log_p - (b**2 / (2 * SIGMA**2)).reshape(shape)
    p = np.exp(log_p - logsumexp(log_p))
    marginals = [p.sum(axis=tuple(set(range(4)) - {axis})) for axis in range(4)]
    grids = [*a, b, b]
    means = [m @ g for m, g in zip(marginals, grids, strict=True)]
    squares = [m @ g**2 for m, g in zip(marginals, grids, strict=True)]
    products = [np.einsum("ijkl,i,j->", p, a[0], a[1]), np.einsum("ijkl,i,k->", p, a[0], b)]
    return np.array([*means, *squares, *products])


def stay(self, rng, coefficients, terms):
    return coefficients


def test_documents_of_some_rows_are_a_part_of_all():
    chain = make_chain()
    model, lengths = chain.steps[0].model, chain.corpus.lengths
    entries = step_module._entries(chain)
    likelihood = CollapsedLikelihood(entries, lengths, model, np.ones(1))
    alpha = np.random.default_rng(0).gamma(1, size=(len(model.rows), len(model.centre)))
    first = model.rows[:, 1] == 1
    parts = [likelihood.of_rows(each)(np.ascontiguousarray(alpha[each])) for each in (first, ~first)]
    rising = gammaln(alpha[model.index] + COUNTS) - gammaln(alpha[model.index])
    sums = alpha.sum(axis=1)[model.index]
    of_documents = rising.sum(axis=1) - gammaln(sums + lengths) + gammaln(sums)
    exact = [of_documents[each[model.index]].sum() for each in (first, ~first)]
    np.testing.assert_allclose(parts, exact)
    np.testing.assert_allclose(likelihood.of_rows(np.ones(2, bool))(alpha), sum(exact))


def smallest_p(n_draws=800, n_batches=40, groups=None):
    chain, drawn = make_chain(groups=groups), []
    rng = np.random.default_rng(1)
    for _ in range(n_draws):
        chain.steps[0].draw_coefficients(chain, rng)
        a, b = chain.steps[0].coefficients.T
        drawn.append([*a, *b, *a**2, *b**2, a[0] * a[1], a[0] * b[0]])
    batches = np.reshape(drawn, (n_batches, -1, len(drawn[0]))).mean(axis=1)
    z = (batches.mean(axis=0) - exact_moments()) / (batches.std(axis=0, ddof=1) / np.sqrt(n_batches))
    return 2 * norm.sf(np.abs(z)).min() * len(z)


@pytest.mark.mutation("test_wrong_counts_and_a_normal_approximation_are_found")
@pytest.mark.parametrize("shifts", ["number", "level", None])
def test_coefficients_given_the_topics_have_their_posterior(shifts, monkeypatch):
    if shifts is None:
        monkeypatch.setattr(CollapsedLikelihood, "shift", stay)
    assert smallest_p(groups=np.array([1]) if shifts == "level" else None) > ALARM


@pytest.mark.parametrize(
    "wrong",
    [
        "lengths",
        "documents",
        "ratio",
        *(pytest.param(each, marks=pytest.mark.exhaustive) for each in ("exposures", "tables")),
    ],
)
def test_wrong_counts_and_a_normal_approximation_are_found(wrong, monkeypatch):
    if wrong == "lengths":
        initialise = CollapsedLikelihood.__init__
        monkeypatch.setattr(
            CollapsedLikelihood, "__init__", lambda self, counts, n, *rest: initialise(self, counts, n + 1, *rest)
        )
        assert smallest_p() < ALARM
        return
    if wrong == "documents":
        # The shifts of a level see those of the other one.
        of_rows = CollapsedLikelihood.of_rows
        monkeypatch.setattr(
            CollapsedLikelihood, "of_rows", lambda self, rows: of_rows(self, rows if rows.all() else ~rows)
        )
        assert smallest_p(groups=np.array([1])) < ALARM
        return
    monkeypatch.setattr(CollapsedLikelihood, "shift", stay)
    if wrong == "exposures":
        right = coefficients.draw_exposures
        monkeypatch.setattr(step_module, "draw_exposures", lambda rng, totals, n: right(rng, totals, n + 1))
    elif wrong == "tables":
        right_tables = step_module.draw_document_tables
        monkeypatch.setattr(step_module, "draw_document_tables", lambda *arguments: right_tables(*arguments) + 1)
    else:
        monkeypatch.setattr(PoissonRegressions, "log_density", lambda self, own, *rest: np.zeros(len(own)))
        monkeypatch.setattr(PoissonRegressions, "draw", approximate_draw)
    assert smallest_p() < ALARM


def approximate_draw(self, rng, present):
    modes = self.modes(present)
    return modes + self.curvature(self.terms.predictors(modes)).draw(rng)


def test_the_mode_does_not_depend_on_the_start():
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(30), rng.standard_normal((30, 3))])
    tables, exposures = rng.poisson(3, (30, 4)), rng.gamma(2, size=30)
    tables[:, 0] = 0
    found = PoissonRegressions(Terms(rows), tables, exposures, np.zeros(4), np.array([0.25, 1, 1, 1]))
    modes = found.modes(np.zeros((4, 4)))
    for start in (np.full((4, 4), 5.0), np.full((4, 4), -20.0), rng.standard_normal((4, 4)) * 5):
        np.testing.assert_allclose(found.modes(start), modes, atol=1e-7)
    # The gradient is zero there, and the curvature is that of the second derivatives.
    step = 1e-5
    for k in range(4):
        moved = modes[k] + step * np.vstack([np.zeros(4), np.eye(4), -np.eye(4)])
        present, *values = [found.log_density(each[None], rows @ each[:, None], [k])[0] for each in moved]
        values = np.array(values)
        np.testing.assert_allclose((values[:4] - values[4:]) / (2 * step), 0, atol=1e-4)
        curvature = (values[:4] + values[4:] - 2 * present) / step**2
        of_units = [found.curvature(rows @ modes.T).norms(e[None], rows @ e[:, None], [k])[0] for e in np.eye(4)]
        np.testing.assert_allclose(of_units, -curvature, rtol=1e-3)


def designs():
    """A number and two categories, one of which has a level that all other rows have; and numbers alone."""
    rng = np.random.default_rng(0)
    first, second = np.eye(7)[rng.integers(7, size=40), 1:], np.eye(3)[rng.integers(3, size=40), 1:]
    number = rng.standard_normal((40, 2))
    yield 6, 2, np.hstack([number[:, :1], first, second])
    yield 6, 2, np.hstack([second, number, first * number[:, :1]])
    yield 2, 0, np.hstack([number, second])
    yield 0, 0, number
    third = np.eye(4)[rng.integers(4, size=40), 1:]
    yield 6, 5, np.hstack([number, third, first, second])


# With at least as many columns, another category is crossed with the largest one.
# After two steps, most equations are solved as a whole.
@pytest.mark.parametrize(("many", "steps"), [(2, 100), (2, 2), (3, 100), (20, 100)])
@pytest.mark.parametrize(("n_levels", "n_others", "columns"), [*designs()])
def test_levels_of_a_category_are_solved_as_all_other_terms(n_levels, n_others, columns, many, steps, monkeypatch):
    monkeypatch.setattr("sklda._models.covariates.terms._MANY", many)
    monkeypatch.setattr("sklda._models.covariates.terms._MOST_STEPS", steps)
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.ones(40), (columns - columns.mean(axis=0)) / columns.std(axis=0)])
    terms, n_terms = Terms(rows), rows.shape[1]
    assert terms.n_levels == n_levels
    assert terms.n_crossed == {2: n_others, 3: 3 * (n_others == 5), 20: 0}[many]
    weights, precision = rng.gamma(2, size=(40, 3)), rng.gamma(2, size=n_terms)
    coefficients = rng.standard_normal((3, n_terms))
    np.testing.assert_allclose(terms.predictors(coefficients), rows @ coefficients.T, atol=1e-12)
    np.testing.assert_allclose(terms.sums(weights), weights.T @ rows, atol=1e-12)
    found = Curvature(terms, weights, precision)
    np.testing.assert_allclose(terms.of_plain_sums(found.plain_sums), weights.T @ rows, atol=1e-12)
    # Many topics with the same weights are drawn at once.
    draws = Curvature(terms, np.tile(weights, 4000), precision).draw(rng).reshape(4000, 3, n_terms)
    for k in range(3):
        whole = rows.T @ (weights[:, k, None] * rows) + np.diag(precision)
        # Newton's method takes less exact solutions.
        assert np.abs(whole @ found.solve(coefficients)[k] - coefficients[k]).max() < 1e-4
        np.testing.assert_allclose(whole @ found.solve(coefficients, 1e-12)[k], coefficients[k], atol=1e-7)
        norm = found.norms(coefficients[[k]], rows @ coefficients[[k]].T, [k])
        np.testing.assert_allclose(norm, coefficients[k] @ whole @ coefficients[k])
        # Sums of squares of independent normal numbers: seven standard deviations.
        root = np.linalg.cholesky(whole)
        np.testing.assert_allclose((root.T @ draws[:, k].T) @ (draws[:, k] @ root) / 4000, np.eye(n_terms), atol=0.16)


def test_levels_of_which_few_occur_together_are_solved_as_all_other_terms(monkeypatch):
    """A source writes in two neighbouring months, documents have very different weights, and the prior is weak."""
    rng = np.random.default_rng(0)
    source = rng.integers(60, size=600)
    month = (source * 40 // 60 + rng.integers(2, size=600)) % 40
    columns = np.hstack([np.eye(60)[source, 1:], np.eye(40)[month, 1:]])
    rows = np.column_stack([np.ones(600), (columns - columns.mean(axis=0)) / columns.std(axis=0)])
    weights, precision = np.exp(rng.normal(0, 4, size=(600, 3))), np.full(rows.shape[1], 0.01)
    drawn = []
    # The part that is added for stability depends on which columns are sparse.
    monkeypatch.setattr("sklda._models.covariates.terms._STABLE", 0.0)
    for many in (20, 1000):
        monkeypatch.setattr("sklda._models.covariates.terms._MANY", many)
        drawn.append(Curvature(Terms(rows), weights, precision).draw(np.random.default_rng(1)))
    for k in range(3):
        root = np.linalg.cholesky(rows.T @ (weights[:, k, None] * rows) + np.diag(precision)).T
        # In standard deviations of the distribution.
        assert np.linalg.norm(root @ (drawn[0] - drawn[1])[k]) < 1e-6


def test_draws_with_crossed_categories_are_those_of_the_dense_equations(monkeypatch):
    rng = np.random.default_rng(0)
    columns = np.hstack(
        [np.eye(n)[rng.integers(n, size=200), 1:] for n in (30, 25, 8)] + [rng.standard_normal((200, 2))]
    )
    rows = np.column_stack([np.ones(200), (columns - columns.mean(axis=0)) / columns.std(axis=0)])
    tables, exposures = rng.poisson(1, (200, 4)), rng.gamma(1, size=200)
    precision, present = np.full(rows.shape[1], 0.5), rng.standard_normal((4, rows.shape[1])) / 2
    drawn = []
    for many in (5, 1000):
        monkeypatch.setattr("sklda._models.covariates.terms._MANY", many)
        terms = Terms(rows)
        assert terms.n_crossed == (31 if many == 5 else 0)
        regressions = PoissonRegressions(terms, tables, exposures, np.zeros(4), precision)
        drawn.append(regressions.draw(np.random.default_rng(1), present))
    assert np.abs(drawn[0] - present).max() > 0.1
    # The part that is added for stability differs.
    np.testing.assert_allclose(*drawn, atol=1e-4)


def test_combined_and_constant_covariates_have_their_prior():
    rows = np.column_stack([np.ones(4), np.zeros(4), np.arange(4.0), np.arange(4.0)])
    found = PoissonRegressions(
        Terms(rows), np.ones((4, 2)), np.ones(4), np.zeros(2), np.array([0.25, 1e-6, 1e-6, 1e-6])
    )
    rng, drawn, present = np.random.default_rng(0), [], np.zeros((2, 4))
    for _ in range(500):
        present = found.draw(rng, present)
        drawn.append(present)
    drawn = np.array(drawn)
    assert np.isfinite(drawn).all()
    np.testing.assert_allclose(drawn[:, :, 1].std(), 1e3, rtol=0.1)
    assert (drawn[:, :, 2] + drawn[:, :, 3]).std() < 3


def test_rare_categories_and_products_have_the_scale_of_frequent_ones():
    rare, often = np.arange(600) < 3, np.arange(600) < 300
    number = np.random.default_rng(0).standard_normal(600)
    rest = np.arange(600) % 100 > 0
    values = np.column_stack(
        [rare, often, 5 + 2.0 * (number > 0), number, rest, np.where(np.arange(600) < 99, number, 0)]
    )
    found = CovariateColumns.of(values, list("abcdef"))
    np.testing.assert_allclose(found.scale[:5], [0.5, 0.5, 1, number.std(), 0.5])
    # A product with a category has half of the size that it has in this category.
    np.testing.assert_allclose(found.scale[5], np.sqrt((number[:99] ** 2).mean()) / 2)
    np.testing.assert_allclose(found.standardised, (values - values.mean(axis=0)) / found.scale)
    np.testing.assert_allclose(found.std, values.std(axis=0))


def test_a_combination_of_numbers_gets_a_warning_and_levels_none():
    number = np.arange(9.0)
    with pytest.warns(UserWarning, match="the term 'c' is a combination"):
        CovariateColumns.of(np.column_stack([number, number % 2, 3 - number, number**2]), list("abcd"))
    levels = np.eye(3)[np.arange(9) % 3]
    columns, groups = np.column_stack([levels, number, levels * number[:, None]]), np.array([1, 1, 1, 0, 2, 2, 2])
    found = CovariateColumns.of(columns, list("abcdefg"), groups)
    # Levels stay as they are, and their products with a number have one scale.
    np.testing.assert_array_equal(found.standardised[:, :3], levels)
    size = np.sqrt((number[number > 0] ** 2).mean())
    np.testing.assert_allclose(found.scale, [1, 1, 1, number.std(), size, size, size])


@pytest.mark.mutation
def test_sigma_has_a_half_cauchy_prior():
    rng, drawn, sigma, auxiliary = np.random.default_rng(0), [], 1.0, 1.0
    for _ in range(20_000):
        # Coefficients given sigma, and sigma given these.
        sigma, auxiliary = draw_sigma(rng, sigma * rng.standard_normal((1, 2)), auxiliary)
        drawn.append(sigma)
    below = np.array(drawn)[:, None] < np.tan(np.pi / 2 * np.array([0.25, 0.5, 0.75]))
    batches = below.reshape(40, -1, 3).mean(axis=1)
    z = (batches.mean(axis=0) - [0.25, 0.5, 0.75]) / (batches.std(axis=0, ddof=1) / np.sqrt(40))
    assert (2 * norm.sf(np.abs(z)).min() * 3) > ALARM
    # A prior of another scale is found.
    wrong = np.array(drawn)[:, None] < 2 * np.tan(np.pi / 2 * np.array([0.25, 0.5, 0.75]))
    batches = wrong.reshape(40, -1, 3).mean(axis=1)
    z = (batches.mean(axis=0) - [0.25, 0.5, 0.75]) / (batches.std(axis=0, ddof=1) / np.sqrt(40))
    assert (2 * norm.sf(np.abs(z)).min() * 3) < ALARM


@pytest.mark.parametrize("prior", [[1e12, 1e-12], [1e3, 1e-12], [1.0, 0.2, 1e-9], [1e12, 1e5, 1e-3], [0.1, 0.1]])
def test_a_prior_that_hardly_widens_stays_as_it_is(prior):
    """Also where one topic has all of a document, up to rounding."""
    np.testing.assert_allclose(widened(np.array([prior]), np.array([1e-14])), [prior], rtol=1e-3)


def test_a_prior_that_is_widened_has_a_smaller_sum_and_the_means_of_its_draws():
    prior, variance = np.array([[1e12, 1e-12], [2.0, 6.0], [1e3, 1e-12]]), np.full(3, 0.25)
    found = widened(prior, variance)
    assert (found.sum(axis=1) < prior.sum(axis=1)).all() and (found[[0, 2], 0] > 100).all()
    share = norm.expect(lambda e: expit(e - np.log(3)), scale=np.sqrt(0.5))
    np.testing.assert_allclose(found[1, 0] / found[1].sum(), share, atol=0.02)
    # Rows have the order of the documents.
    np.testing.assert_array_equal(widened(prior[::-1], variance), found[::-1])
