"""The method of composition: linear models pooled over draws, and their errors CR2."""

import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power
from scipy.special import expit
from scipy.stats import binomtest, t

from sklda._core import linear_models
from sklda._core.least_squares import Columns, checked_columns, collinear, spans
from sklda._core.linear_models import LinearModels, share_interval

ALARM = 1e-5
RNG = np.random.default_rng(0)
MATRIX = np.column_stack([np.ones(12), RNG.standard_normal((12, 2))])
THETA = RNG.dirichlet([1, 2, 3], size=(4, 12))
ONE = np.eye(3)


def by_definition(matrix, y, combination, clusters, weights):
    """Variance and degrees of freedom with all matrices (Pustejovsky & Tipton 2018, equations 5, 7 and 10)."""
    weighted = weights[:, None] * matrix
    bread = np.linalg.inv(matrix.T @ weighted)
    rest = np.eye(len(matrix)) - matrix @ bread @ weighted.T
    variance, forms = 0.0, []
    for g in np.unique(clusters):
        own = clusters == g
        adjusted = fractional_matrix_power(rest[own] @ rest[own].T, -0.5)
        loading = adjusted @ weighted[own] @ bread @ combination
        variance += (loading @ rest[own] @ y) ** 2
        forms.append(rest[own].T @ loading)
    covariance = np.array(forms) @ np.array(forms).T
    return variance, np.trace(covariance) ** 2 / (covariance**2).sum()


@pytest.mark.parametrize("weights", [None, "random"])
@pytest.mark.parametrize("n_clusters", [4, None])
def test_errors_and_degrees_of_freedom_are_those_of_the_definition(n_clusters, weights):
    rng = np.random.default_rng(1)
    matrix = np.column_stack([np.ones(30), rng.standard_normal(30), rng.random(30) < 0.2])
    theta = rng.dirichlet([1, 2], 30)
    weights = None if weights is None else 10 * rng.gamma(0.5, size=30)
    clusters = None if n_clusters is None else np.arange(30) ** 2 % n_clusters
    combinations = np.vstack([ONE, [1.0, -0.5, 2.0]])
    found = LinearModels.fit(matrix, [theta], combinations, clusters, weights)
    labels = np.arange(30) if clusters is None else clusters
    weights = np.ones(30) if weights is None else weights
    coefficients = np.linalg.lstsq(np.sqrt(weights)[:, None] * matrix, np.sqrt(weights)[:, None] * theta)[0]
    np.testing.assert_allclose(found.centres[0], combinations @ coefficients)
    for c, combination in enumerate(combinations):
        for k in range(2):
            variance, freedom = by_definition(matrix, theta[:, k], combination, labels, weights)
            np.testing.assert_allclose(found.scales[0, c, k] ** 2, variance)
            np.testing.assert_allclose(found.freedom[c], freedom)
    np.testing.assert_allclose(found.determined, 1)


@pytest.mark.parametrize("clusters", [None, np.arange(12) // 2])
def test_equal_weights_are_no_weights(clusters):
    with_, without = (LinearModels.fit(MATRIX, THETA, ONE, clusters, each) for each in (np.full(12, 7.0), None))
    for name in ("centres", "scales", "freedom", "determined"):
        np.testing.assert_allclose(getattr(with_, name), getattr(without, name))


def test_a_small_weight_is_nearly_a_document_that_is_not_there():
    weights = np.r_[1e-9, np.ones(11)]
    with_ = LinearModels.fit(MATRIX, THETA, ONE, weights=weights)
    without = LinearModels.fit(MATRIX[1:], THETA[:, 1:], ONE)
    for name in ("centres", "scales", "freedom", "determined"):
        np.testing.assert_allclose(getattr(with_, name), getattr(without, name), rtol=1e-6)


def test_clusters_of_one_document_are_no_clusters():
    with_, without = (LinearModels.fit(MATRIX, THETA, ONE, each) for each in (np.arange(12), None))
    for name in ("centres", "scales", "freedom", "determined"):
        np.testing.assert_allclose(getattr(with_, name), getattr(without, name))


def test_two_groups_are_those_of_welch_with_the_freedom_of_bell_and_mccaffrey():
    """Imbens & Kolesár (2016): variance and degrees of freedom of a difference of two means."""
    group = np.repeat([0.0, 1.0], [9, 3])
    found = LinearModels.fit(np.column_stack([np.ones(12), group]), THETA[:1], np.array([[0.0, 1.0]]))
    variance = sum(THETA[0][group == g].var(axis=0, ddof=1) / n for g, n in ((0, 9), (1, 3)))
    np.testing.assert_allclose(found.scales[0, 0], np.sqrt(variance))
    np.testing.assert_allclose(found.freedom, (1 / 3 + 1 / 9) ** 2 / (1 / (3**2 * 2) + 1 / (9**2 * 8)))


def test_a_property_of_equal_clusters_has_the_t_test_of_their_means():
    clusters = np.repeat(np.arange(6), 2)
    group = (clusters % 2).astype(float)
    found = LinearModels.fit(np.column_stack([np.ones(12), group]), THETA[:1], np.array([[0.0, 1.0]]), clusters)
    means = THETA[0].reshape(6, 2, 3).mean(axis=1)
    variance = sum(means[g::2].var(axis=0, ddof=1) / 3 for g in (0, 1))
    np.testing.assert_allclose(found.scales[0, 0], np.sqrt(variance))
    np.testing.assert_allclose(found.freedom, 4)


def test_errors_are_those_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    found = LinearModels.fit(MATRIX, THETA[:1], ONE)
    for k in range(3):
        fit = sm.OLS(THETA[0][:, k], MATRIX).fit(cov_type="HC2")
        np.testing.assert_allclose(found.centres[0, :, k], fit.params)
        np.testing.assert_allclose(found.scales[0, :, k], fit.bse)


def test_one_cluster_that_determines_a_coefficient_takes_the_spread_of_the_others():
    """One of six clusters has the property: the variance of a difference between one mean and five."""
    clusters = np.repeat(np.arange(6), 2)
    matrix = np.column_stack([np.ones(12), clusters == 0])
    found = LinearModels.fit(matrix, THETA[:1], np.eye(2), clusters)
    means = THETA[0].reshape(6, 2, 3).mean(axis=1)[1:]
    np.testing.assert_allclose(found.scales[0, 1] ** 2, means.var(axis=0, ddof=1) * (1 + 1 / 5))
    np.testing.assert_allclose(found.freedom, 4)
    np.testing.assert_allclose(found.determined, [1, 1 / 6])


def test_an_error_without_information_is_unknown():
    clusters = np.repeat(np.arange(2), 6)
    models = LinearModels.fit(np.column_stack([np.ones(12), clusters == 1]), THETA, np.eye(2), clusters)
    estimate, error, low, high, p_value, _ = models.summary(0.95)
    assert np.isfinite(estimate).all() and np.isnan([error, low, high, p_value]).all()


def test_one_draw_gives_the_intervals_of_its_t_distribution():
    models = LinearModels.fit(MATRIX, THETA[:1], ONE)
    estimate, error, low, high, p_value, _ = models.summary(0.9)
    np.testing.assert_allclose(estimate, np.linalg.lstsq(MATRIX, THETA[0])[0], atol=1e-12)
    freedom = models.freedom[:, None]
    np.testing.assert_allclose(error, models.scales[0])
    np.testing.assert_allclose(low, estimate + error * t.ppf(0.05, freedom))
    np.testing.assert_allclose(high, estimate + error * t.ppf(0.95, freedom))
    np.testing.assert_allclose(p_value, 2 * t.sf(np.abs(estimate / error), freedom))


def test_several_draws_are_the_mixture_of_their_posteriors():
    combination = np.array([[1.0, 0.5, -2.0]])
    models = LinearModels.fit(MATRIX, THETA, combination)
    estimate, error, low, high, p_value, _ = models.summary(0.8)
    # Many values of the t-distribution of each draw.
    noise = np.random.default_rng(1).standard_t(models.freedom[0], (4, 400_000, 3))
    drawn = (models.centres + models.scales * noise).reshape(-1, 3)
    np.testing.assert_allclose(estimate[0], models.centres.mean(axis=(0, 1)))
    np.testing.assert_allclose(error[0] ** 2, (models.scales**2).mean(axis=(0, 1)) + models.centres.var(axis=(0, 1)))
    np.testing.assert_allclose(np.vstack([low, high]), np.quantile(drawn, [0.1, 0.9], axis=0), atol=0.01)
    below = (drawn < 0).mean(axis=0)
    np.testing.assert_allclose(p_value[0], 2 * np.minimum(below, 1 - below), atol=0.01)


def test_a_topic_that_draws_do_not_have_is_left_out_of_them():
    theta = THETA.copy()
    theta[1:, :, 2] = np.nan
    alone, mixed = (LinearModels.fit(MATRIX, each, ONE).summary(0.95) for each in (THETA[:1], theta))
    for a, b in zip(alone, mixed, strict=True):
        np.testing.assert_allclose(b[:, 2], a[:, 2], rtol=1e-6)
    theta[0, :, 2] = np.nan
    assert np.isnan([each[:, 2] for each in LinearModels.fit(MATRIX, theta, ONE).summary(0.95)]).all()


@pytest.mark.parametrize("clusters", [None, np.arange(12) // 2], ids=["documents", "clusters"])
@pytest.mark.parametrize(
    "theta",
    [np.full((12, 1), 0.25), np.zeros((12, 1)), MATRIX @ [[0.5], [0.1], [-0.1]], (MATRIX[:, 1:2] < 0) * 0.0 + 1 / 3],
    ids=["equal", "zero", "terms", "thirds"],
)
def test_errors_without_residuals_are_unknown(theta, clusters):
    expected = np.linalg.lstsq(MATRIX, theta[:, 0])[0]
    estimate, *others, _ = LinearModels.fit(MATRIX, [theta, theta], ONE, clusters).summary(0.95)
    np.testing.assert_allclose(estimate[:, 0], expected, atol=1e-12)
    assert np.isnan(others).all()


def test_residuals_that_cancel_within_clusters_have_no_error():
    """Both groups have two clusters with the same mean: there is no spread of clusters."""
    theta = np.array([[0.1, 0.7, 0.3, 0.5, 0.2, 0.9, 0.4, 0.7]]).T
    matrix = np.column_stack([np.ones(8), np.repeat([0.0, 1.0], 4)])
    estimate, *others, _ = LinearModels.fit(matrix, [theta], np.eye(2), np.arange(8) // 2).summary(0.95)
    np.testing.assert_allclose(estimate[:, 0], [0.4, 0.15])
    assert np.isnan(others).all()


def test_a_draw_without_residuals_is_a_point_of_the_mixture():
    draws = [np.zeros((12, 1)), THETA[0][:, :1]]
    alone = LinearModels.fit(MATRIX, draws[1:], ONE).summary(0.95)
    found = LinearModels.fit(MATRIX, draws, ONE).summary(0.95)
    # An effect of zero is as far from positive as from negative ones.
    np.testing.assert_allclose(found[4], np.minimum(1 + alone[4] / 2, 1))


def test_tails_of_a_large_effect_do_not_vanish_on_one_side_only():
    y = np.column_stack([MATRIX[:, 1], -MATRIX[:, 1]]) + 0.01 * THETA[0][:, :1] * [[1, -1]]
    p_value = LinearModels.fit(MATRIX, [y], ONE).summary(0.95)[4][1]
    assert 0 < p_value[0] < 1e-9
    np.testing.assert_allclose(p_value[0], p_value[1])


def test_the_first_combined_column_is_found():
    assert collinear(MATRIX) is None
    assert collinear(np.column_stack([MATRIX, MATRIX[:, 1] - 3])) == 3
    assert collinear(MATRIX * [1e-80, 1e80, 1]) is None
    year = np.arange(1990.0, 2002)
    assert collinear(np.column_stack([np.ones(12), year, year**2, year**3])) is None
    assert collinear(np.column_stack([np.ones(12), year, year**2, 3 * year - year**2])) == 3
    assert collinear(np.column_stack([np.ones(12), np.full(12, 0.3) + np.arange(12) % 2 * 5e-17])) == 1


def test_origins_and_units_of_columns_do_not_matter():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal(200), rng.standard_normal(200)
    ones, yes, slopes = np.ones(200), (x + y > 0).astype(float), []
    for unit, origin in ((1, 0), (3e10, 1.6e12), (3e16, 1.6e18), (1e-9, 0)):
        given = origin + unit * x
        columns = Columns.of(np.column_stack([ones, given]))
        slope = np.polyfit(x, y, 1)[0]
        np.testing.assert_allclose(columns.least_squares(y)[1] * unit, slope, rtol=1e-6)
        slopes.append(columns.coefficients(columns.logistic(yes, ones))[1] * unit)
        assert spans(given[:, None], np.column_stack([ones, 2 * x - 1, x**2])).tolist() == [True, True, False]
    # At the maximum the residuals have no product with the columns.
    intercept = columns.coefficients(columns.logistic(yes, ones))[0]
    rest = yes - expit(intercept + slopes[0] * x)
    np.testing.assert_allclose([rest.sum(), rest @ x], 0, atol=1e-6)
    np.testing.assert_allclose(slopes, slopes[0], rtol=1e-6)


def test_separation_is_found_with_its_documents():
    x, yes = np.r_[np.ones(5), np.zeros(35)], np.r_[np.ones(5), np.arange(35) % 2]
    columns = Columns.of(np.column_stack([np.ones(40), x, np.sin(np.arange(40))]))
    assert columns.logistic(yes, np.ones(40)) is None
    coefficients, apart = columns.separation(yes)
    np.testing.assert_allclose(coefficients / coefficients[1], [0, 1, 0], atol=1e-6)
    np.testing.assert_array_equal(apart, x == 1)
    assert Columns.of(np.column_stack([np.ones(40), np.sin(np.arange(40))])).separation(yes) is None


def test_levels_without_documents_are_named():
    with pytest.raises(ValueError, match=r"'party\[b\]' is zero for all documents"):
        checked_columns(np.column_stack([np.ones(4), np.zeros(4), np.arange(4)]), ["intercept", "party[b]", "x"], "")


@pytest.mark.parametrize("value", [5, 0.1, 20200512])
def test_a_constant_term_is_called_so(value):
    same = np.full(4, value) * (1 + 1e-16 * np.arange(4))
    with pytest.raises(ValueError, match=rf"the term 'same' is {value}"):
        checked_columns(np.column_stack([np.ones(4), same, np.arange(4)]), ["intercept", "same", "x"], "")


def of_sources(rng, n_sources, n_topics=30):
    """A property of sources without an effect, beside a number; proportions that differ between the sources."""
    clusters = np.r_[np.arange(n_sources), rng.integers(0, n_sources, 120 - n_sources)]
    own = rng.permutation(np.arange(n_sources) % 2)[clusters]
    theta = rng.beta(3, 3, (n_sources, n_topics))[clusters] + 0.2 * rng.beta(2, 2, (120, n_topics))
    return np.column_stack([np.ones(120), own, rng.standard_normal(120)]), theta, clusters


def of_groups(rng, n_rare, spread, n_topics=30):
    """A group of some of 400 documents, with a spread of its own and the same mean."""
    rare = np.arange(400) < n_rare
    theta = np.where(rare, spread, 1)[:, None] * (rng.beta(3, 3, (400, n_topics)) - 0.5)
    return np.column_stack([np.ones(400), rare]), theta, None


def of_survey(rng, largest, n_topics=30):
    """Documents with weights, as in a survey; every seventh has the largest."""
    matrix = np.column_stack([np.ones(120), rng.standard_normal(120)])
    return matrix, rng.beta(3, 3, (120, n_topics)) - 0.5, None, np.where(np.arange(120) % 7, 1.0, largest)


SIMULATED = [
    (of_sources, (6,)),
    (of_sources, (20,)),
    (of_groups, (3, 1.0)),
    (of_groups, (20, 3.0)),
    (of_survey, (10.0,)),
]


def probability(simulate, sizes, n_corpora=20):
    """Probability of as many or few intervals with zero, if each has it with probability .95."""
    inside = []
    for seed in range(n_corpora):
        matrix, theta, *rest = simulate(np.random.default_rng([seed, *map(int, sizes)]), *sizes)
        low, high = LinearModels.fit(matrix, [theta], np.eye(matrix.shape[1])[1:2], *rest).summary(0.95)[2:4]
        inside.extend((low[0] <= 0) & (high[0] >= 0))
    return binomtest(sum(inside), len(inside), 0.95).pvalue


@pytest.mark.mutation("test_other_errors_miss_the_truth")
@pytest.mark.parametrize(("simulate", "sizes"), SIMULATED)
def test_intervals_of_effects_contain_the_truth(simulate, sizes):
    """Rare categories, groups of another spread, properties of few sources, and weights."""
    assert probability(simulate, sizes) > ALARM


def of_equal_spread(errors, residuals):
    return (errors.loadings**2).sum(axis=0)[:, None] * (residuals**2).mean(axis=0)


def of_counted_documents(errors, residuals):
    """As if a document of weight w were w documents."""
    weights = errors.basis.weighted[:, :1] / errors.basis.columns[:, :1]
    return (errors.basis.wanted**2).sum(axis=0)[:, None] * np.average(residuals**2, axis=0, weights=weights[:, 0])


@pytest.mark.parametrize(("simulate", "sizes"), SIMULATED)
def test_other_errors_miss_the_truth(simulate, sizes, monkeypatch):
    """Sources that are not known, the normal distribution for three documents, one spread, and weights as counts."""
    without = linear_models._Documents
    if simulate is of_sources:
        monkeypatch.setattr(linear_models, "_Clusters", lambda basis, clusters: without(basis))
    elif simulate is of_survey:
        monkeypatch.setattr(without, "variances", of_counted_documents)
        monkeypatch.setattr(without, "moments", lambda self: (self.basis.true_variance(), np.array([1e9])))
    elif sizes[0] == 3:
        moments = without.moments
        monkeypatch.setattr(without, "moments", lambda self: (moments(self)[0], np.array([1e9])))
    else:
        monkeypatch.setattr(without, "variances", of_equal_spread)
    assert probability(simulate, sizes) < ALARM


def test_intervals_of_shares_lie_within_0_and_1_and_follow_the_share():
    share = np.linspace(-0.1, 1.1, 121)
    low, high = share_interval(share, np.full(121, 0.03), 30, 0.95)
    assert (low >= 0).all() and (high <= 1).all()
    inside = (share > 0) & (share < 1)
    assert (low < share)[inside].all() and (share < high)[inside].all()
    np.testing.assert_allclose(low, 1 - high[::-1], atol=1e-12)
    # Far from the bounds it is that of Student's t.
    np.testing.assert_allclose(high[60] - low[60], 2 * t(30).ppf(0.975) * 0.03, rtol=0.01)
    assert np.isnan(share_interval(0.3, 0.0, 30, 0.95)).all()


@pytest.mark.parametrize("clusters", [None, np.arange(120) // 2])
def test_few_documents_without_a_topic_have_the_spread_of_all(clusters):
    """One document of ten in the large group has the topic; those of the small group have hardly any."""
    small = np.arange(120) < 10
    theta = np.where(small, 0.01 + 0.001 * np.arange(120), np.where(np.arange(120) % 10 == 0, 0.9, 0.01))[:, None]
    models = LinearModels.means(np.where(small, 0, 1), [theta], clusters)
    error, of_shares = models.summary(0.95)[1], models.summary(0.95, is_share=True)
    p = theta[small].mean()
    large = theta[~small, 0]
    phi = (theta[small].var() * 10 + large.var() * 110) / (p * (1 - p) * 9 + large.mean() * (1 - large.mean()) * 109)
    both = (9 * error[0] ** 2 + 20 * phi * p * (1 - p) / 10) / 29
    expected = error if clusters is not None else [np.sqrt(both), error[1]]
    np.testing.assert_allclose(of_shares[1], expected)
    if clusters is None:
        np.testing.assert_allclose(of_shares[5].ravel(), [29, 109])
        # The p-value has the same error and degrees of freedom.
        np.testing.assert_allclose(of_shares[4][0], 2 * t(29).sf(of_shares[0][0] / of_shares[1][0]))
    one = LinearModels.fit(np.column_stack([small, ~small]), [theta], np.eye(2), clusters)
    np.testing.assert_allclose(one.summary(0.95, is_share=True), of_shares, rtol=1e-6)


@pytest.mark.parametrize("clusters", [None, np.arange(12) // 2])
@pytest.mark.parametrize("size", [1e-94, 1e94, 1e140])
def test_units_of_a_term_change_the_units_of_its_effect_only(size, clusters):
    one, other = (
        LinearModels.fit(MATRIX * [1, unit, 1], THETA, np.array([[0.0, 1.0, 0.0]]), clusters) for unit in (1, size)
    )
    np.testing.assert_allclose(other.freedom, one.freedom)
    for unit, a, b in zip((size,) * 4 + (1, 1), one.summary(0.95), other.summary(0.95), strict=True):
        np.testing.assert_allclose(b * unit, a, rtol=1e-6)
