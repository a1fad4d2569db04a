"""The prior of documents of Dirichlet-multinomial regression: alpha depends on their covariates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sklda._core.least_squares import collinear
from sklda._core.priors import LARGEST, SMALLEST, check_prior
from sklda._input.memory import check_memory, check_memory_of_topics
from sklda._input.warn import warn
from sklda._models.covariates.coefficients import Coefficients, CovariateModel, alpha_at
from sklda._models.results import normalised, total_variance
from sklda._sampling.draws import variance_of_draws
from sklda._sampling.prior_of_documents import PriorOfDocuments, all_shown

# Bounds of sigma, in units of log alpha. The smaller one has no effect of a covariate, and the larger one no shrinkage.
_SIGMA = (1e-6, 1e3)
# Draws of a level that the fit did not have. Its moments have errors of about two per cent.
_DRAWN = 2000
# The largest value of a covariate, and one over its smallest standard deviation.
_LARGEST_VALUE = 1e100
# With a thousand terms that are not levels of categories, a sweep of three topics takes about seven seconds.
MOST_TERMS = 1000


class CovariateRegression(PriorOfDocuments):
    """The Dirichlet parameter of topic k in a document with the terms x is exp(x . lambda_k).

    Parameters
    ----------
    design : VaryingDesign or None
        None: there are no covariates.
    columns : ndarray of shape (n_documents, n_terms)
        The terms of the documents.
    alpha : float or ndarray of shape (n_components,)
        The prior median at the mean covariates.
    n_components : int
    sigma : float or None
        See `CovariateModel`.
    """

    def __init__(self, design, columns, alpha, n_components, sigma):
        if sigma is not None and not _SIGMA[0] <= sigma <= _SIGMA[1]:
            raise ValueError(f"coef_scale = {sigma:g}: it must lie between {_SIGMA[0]:g} and {_SIGMA[1]:g}.")
        check_memory_of_topics(n_components)
        none = np.zeros(0, int)
        self.n_components = n_components
        self.design, self.columns = design, columns
        self.terms, self.groups, self.around = (
            ([], none, none) if design is None else (design.terms, design.groups, design.around)
        )
        self.scaled = CovariateColumns.of(columns, self.terms, self.groups)
        alpha = check_prior(alpha, "doc_topic_prior", {"one per topic": (n_components,)}) * np.ones(n_components)
        rows, index = self.scaled.distinct
        self.model = CovariateModel(rows=rows, index=index, centre=np.log(alpha), sigma=sigma, groups=self.groups)
        self.alpha, self.n_rows = alpha, len(rows)
        # Intercepts do not go with topics whose prior medians differ.
        self.alpha_moves = bool((alpha == alpha[0]).all())

    def steps(self, seed):
        return [Coefficients(self.model, seed)]

    def check_memory(self):
        check_memory_of_regressions(self.model)

    def check_continues(self, before):
        if self.terms != before.terms or not np.array_equal(self.columns, before.columns):
            raise ValueError(
                "warm_start=True continues the previous fit, but these covariates are different from those of that "
                "fit. Fit with warm_start=False to begin again."
            )

    def facts(self):
        return {
            "covariate_names_": np.array(self.terms, dtype=object),
            "covariate_mean_": self.scaled.mean,
            "covariate_std_": self.scaled.std,
        }

    def shown(self, chains):
        # alpha is made from lambda when it is needed: it may have a row for each document.
        found = all_shown(chains)
        return found._replace(draws=[replace(each, priors=self._with_one_row(each.priors)) for each in found.draws])

    def _with_one_row(self, priors):
        return replace(priors, doc=priors.doc[:1].copy(), row_of=self.model.row_of[:0])

    def chain_attributes(self, chain, draws, topics):
        kept, scaled = chain.parameter_draws(), self.scaled
        path = np.array([draw.values["coefficients"] for draw in kept])
        # The intercept at the mean covariates, and in the units of the covariates.
        middle = path[:, :, 0] + path[:, :, 1:] @ ((scaled.mean - scaled.centre) / scaled.scale)
        path[:, :, 1:] /= scaled.scale
        path[:, :, 0] -= path[:, :, 1:] @ scaled.centre
        path = summed_to_zero(path, self.groups, self.around)
        coef, intercept = path[:, :, 1:], path[:, :, 0]
        return {
            "doc_topic_prior_": alpha_at(middle.mean(axis=0)),
            "coef_": coef.mean(axis=0),
            "intercept_": intercept.mean(axis=0),
            "coef_draws_": coef,
            "intercept_draws_": intercept,
            "coef_scale_": np.mean([draw.values["sigma"] for draw in kept], axis=0)[self.groups],
        }

    def attributes(self, results):
        has_topics = results.has_topics(normalised(results.means[results.best].components))
        return _over_chains(results, "coef_", has_topics) | _over_chains(results, "intercept_", has_topics)

    def of(self, covariates, intercept, coef, scale):
        """alpha of documents with these covariates; a level that no document of the fit had is a draw of its own."""
        columns = self.design.matrix(covariates)
        prior = prior_of(columns, intercept, coef)
        variance = variance_at_new_levels(columns, self.groups, self.around, scale / self.scaled.scale)
        new = np.flatnonzero(variance)
        if len(new):
            prior[new] = widened(prior[new], variance[new])
            warn(
                f"{len(new)} of {len(prior)} documents, of which document {new[0]} is the first, have a level of a "
                "category, or a combination of levels, that no document of the fit had. Their prior is that of the "
                "mean level, as wide as levels differ."
            )
        return prior


def _over_chains(results, name, has_topics):
    """The mean of the kept chain, standard deviations and draws of all chains, of an entry of their records."""
    draws = results.in_order(f"{name}draws_", (slice(None),))
    # A chain that lacks a topic says nothing about it.
    for own, has in zip(draws, has_topics, strict=True):
        own[:, ~has] = np.nan
    means, variances = [each.mean(axis=0) for each in draws], [variance_of_draws(each) for each in draws]
    std = np.sqrt(total_variance(means, variances))
    return {name: means[results.best], f"{name}std_": std, f"{name}draws_": np.concatenate(draws)}


# --- The columns of documents, and alpha of other documents by them ---------------------------------------------------


def distinct_rows(columns):
    """A column of ones and `columns`: the distinct rows in the order of documents, and the row of every document."""
    # A zero has no sign after the addition.
    rows = np.ascontiguousarray(np.column_stack([np.ones(len(columns)), columns]) + 0.0)
    # Rows as bytes are compared many times faster than number by number. Their order would depend on rounding.
    whole = rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel()
    _, first, index = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return rows[first[order]], np.argsort(order)[index.reshape(-1)].astype(np.int64)


def prior_of(columns, intercept, coef):
    """alpha of documents with these columns, which are not standardised; (n_documents, n_components)."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = intercept + columns @ coef.T
    if np.isnan(found).any():
        raise ValueError("covariates has values so large that the prior of a document is not a number.")
    return alpha_at(found)


@dataclass(frozen=True, eq=False)
class CovariateColumns:
    """The columns of the documents and what makes them comparable.

    Attributes
    ----------
    standardised : ndarray of shape (n_documents, n_terms)
        Their values less `centre`, divided by `scale`.
    mean, std, centre, scale : ndarray of shape (n_terms,)
        Means, standard deviations, and what a coefficient of the prior belongs to. The centre of levels is zero.
    """

    standardised: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, values, terms, groups=None):
        """ValueError if values are too large or too small, and a warning if a number is a combination of others.

        No column is constant. `groups` are those of `CovariateModel`.
        """
        none = np.zeros(0)
        if not values.shape[1]:
            return cls(values, none, none, none, none)
        groups = np.zeros(values.shape[1], int) if groups is None else groups
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            mean, std = values.mean(axis=0), values.std(axis=0)
        # Squares of the values and of their coefficients are summed.
        bad = (np.abs(values).max(axis=0) > _LARGEST_VALUE) | ~(std >= 1 / _LARGEST_VALUE)
        if bad.any():
            raise ValueError(
                f"the term {terms[int(np.argmax(bad))]!r} has values too large or too small: change its unit. No "
                f"value must exceed {_LARGEST_VALUE:g}, nor their standard deviation be below {1 / _LARGEST_VALUE:g}."
            )
        centre = np.where(groups == 0, mean, 0)
        scale = _scales(values, std, groups)
        found = cls((values - centre) / scale, mean, std, centre, scale)
        rows, index = found.distinct
        numbers = np.flatnonzero(groups == 0)
        weighted = np.sqrt(np.bincount(index))[:, None] * rows[:, np.concatenate([[0], 1 + numbers])]
        # The triangular factor has the same combinations.
        j = collinear(np.linalg.qr(weighted, mode="r"))
        if j is not None:
            warn(
                f"the term {terms[numbers[j - 1]]!r} is a combination of other terms and the "
                "intercept. Only sums of their coefficients are known, and the prior splits these: leave it out."
            )
        return found

    @cached_property
    def distinct(self):
        """See `distinct_rows`."""
        return distinct_rows(self.standardised)


def _scales(values, std, groups):
    """What columns are divided by, so that all of them have the same prior.

    The levels of a category have one scale: one for the levels themselves, and for their products with a number the
    root mean square of this number. Of a number with two values it is half of their distance, the standard deviation if
    half of the documents have each. If most values are zero, as in a product with contrasts of a category, it is half
    of the root mean square of the others. Otherwise it is the standard deviation.
    """
    low, high, filled = values.min(axis=0), values.max(axis=0), values != 0
    two = ((values == low) | (values == high)).all(axis=0)
    sizes = np.abs(values).max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sparse = sizes * np.sqrt(((values / sizes) ** 2).sum(axis=0) / filled.sum(axis=0)) / 2
    found = np.where(two, high / 2 - low / 2, np.where(filled.mean(axis=0) < 0.5, sparse, std))
    for g in range(1, 1 + groups.max()):
        own = values[:, groups == g]
        size = np.abs(own).max()
        found[groups == g] = size * np.sqrt(((own / size) ** 2).sum() / np.count_nonzero(own))
    return found


def summed_to_zero(coefficients, groups, around):
    """The same alpha by coefficients (..., n_terms) whose levels have a mean of zero.

    The mean of the levels is moved to the column around which they vary; see `design_of` for `groups` and `around`.
    Under the prior of the model, in which levels are independent, this changes nothing but how widely the intercept
    varies: n levels of standard deviation sigma are n levels that sum to zero, and a mean of sigma / sqrt(n).
    """
    found = coefficients.copy()
    for g, base in sorted(set(zip(groups.tolist(), around.tolist(), strict=True))):
        if g:
            own = 1 + np.flatnonzero((groups == g) & (around == base))
            mean = found[..., own].mean(axis=-1)
            found[..., own] -= mean[..., None]
            found[..., base] += mean
    return found


def variance_at_new_levels(columns, groups, around, sigma):
    """Variances of log alpha of documents because of levels that the fit did not have, (n_documents,).

    The columns of levels sum up to that around which they vary. What is left belongs to a level that is drawn as those
    of the fit, and is compared with their mean. `sigma` is that of each column.
    """
    with_ones, found = np.column_stack([np.ones(len(columns)), columns]), np.zeros(len(columns))
    for g, base in sorted(set(zip(groups.tolist(), around.tolist(), strict=True))):
        if g:
            own = (groups == g) & (around == base)
            rest = with_ones[:, base] - columns[:, own].sum(axis=1)
            found += rest**2 * sigma[own][0] ** 2 * (1 + 1 / np.count_nonzero(own))
    return found


def widened(prior, variance):
    """Dirichlet parameters with the means and the total variance of theta if log alpha has these variances.

    Parameters
    ----------
    prior : ndarray of shape (n_documents, n_components)
        exp of the means of log alpha.
    variance : ndarray of shape (n_documents,)
    """
    if prior.shape[1] == 1:
        return prior
    drawn = np.random.default_rng(0).standard_normal((_DRAWN // 2, prior.shape[1]))
    drawn = np.concatenate([drawn, -drawn])
    distinct, index = np.unique(np.column_stack([prior, variance]), axis=0, return_inverse=True)
    found = np.empty_like(distinct[:, :-1])
    for i, (*own, spread) in enumerate(distinct):
        alpha = alpha_at(np.log(own) + np.sqrt(spread) * drawn)
        total = alpha.sum(axis=1)
        theta = alpha / total[:, None]
        mean = theta.mean(axis=0)
        # What is left of one is lost in the rounding of the largest: it is the sum of the others.
        largest = mean.argmax()
        others, rest = np.delete(theta, largest, axis=1), 1 - theta
        rest[:, largest] = others.sum(axis=1)
        between = others.var(axis=0).sum() + others.sum(axis=1).var()
        # Of a Dirichlet distribution with the sum A, the variances sum to (1 - sum of mean^2) / (A + 1).
        products = (theta * rest).sum(axis=1)
        found[i] = mean * (products * total / (total + 1)).mean() / ((products / (total + 1)).mean() + between)
    return np.clip(found, SMALLEST, LARGEST)[index.reshape(-1)]


def check_memory_of_regressions(model):
    """Refuse regressions whose equations do not fit into memory."""
    terms, n_components = model.terms, len(model.centre)
    n_dense = len(terms.order) - terms.n_sparse
    n_pairs = len(terms.crossings.first) if terms.n_crossed else 0
    check_memory(
        # The second derivatives of each topic and copies, those with a category, and those of crossed categories.
        8 * n_components * (4 * n_dense**2 + 2 * terms.n_sparse * n_dense + 3 * n_pairs),
        f"the regressions of {n_components} topics on {len(terms.order) - 1} terms of the covariates need at least",
        "Give fewer topics, or categories with fewer levels.",
    )
