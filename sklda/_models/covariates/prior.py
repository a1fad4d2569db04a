"""The prior of documents of Dirichlet-multinomial regression: alpha depends on their covariates."""

from __future__ import annotations

import numpy as np

from sklda._core.priors import check_prior
from sklda._input.warn import warn
from sklda._models.covariates.coefficients import (
    Coefficients,
    CovariateColumns,
    CovariateModel,
    alpha_at,
    check_memory_of_regressions,
    prior_of,
    summed_to_zero,
    variance_at_new_levels,
    widened,
)
from sklda._models.results import normalised, total_variance
from sklda._sampling.draws import variance_of_draws
from sklda._sampling.prior_of_documents import PriorOfDocuments

# Bounds of sigma, in units of log alpha. The smaller one has no effect of a covariate, and the larger one no shrinkage.
_SIGMA = (1e-6, 1e3)


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
        none = np.zeros(0, int)
        self.design, self.columns = design, columns
        self.terms, self.groups, self.around = (
            ([], none, none) if design is None else (design.terms, design.groups, design.around)
        )
        scaled = CovariateColumns.of(columns, self.terms, self.groups)
        self.mean, self.std, self.centre, self.scale = scaled.mean, scaled.std, scaled.centre, scaled.scale
        alpha = check_prior(alpha, "doc_topic_prior", {"one per topic": (n_components,)}) * np.ones(n_components)
        rows, index = scaled.distinct
        self.model = CovariateModel(rows=rows, index=index, centre=np.log(alpha), sigma=sigma, groups=self.groups)
        self.alpha, self.n_rows = alpha, len(rows)
        # Intercepts do not go with topics whose prior medians differ.
        self.alpha_moves = bool((alpha == alpha[0]).all())

    def steps(self, seed):
        return [Coefficients(self.model, seed)]

    @property
    def changes(self):
        return True

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
            "covariate_mean_": self.mean,
            "covariate_std_": self.std,
        }

    def record(self, chain, draws):
        step = chain.step(Coefficients)
        path = step.draws()
        # The intercept at the mean covariates, and in the units of the covariates.
        middle = path[:, :, 0] + path[:, :, 1:] @ ((self.mean - self.centre) / self.scale)
        path[:, :, 1:] /= self.scale
        path[:, :, 0] -= path[:, :, 1:] @ self.centre
        path = summed_to_zero(path, self.groups, self.around)
        coef, intercept = path[:, :, 1:], path[:, :, 0]
        return {
            "doc_topic_prior_": alpha_at(middle.mean(axis=0)),
            "coef_": coef.mean(axis=0),
            "intercept_": intercept.mean(axis=0),
            "coef_draws_": coef,
            "intercept_draws_": intercept,
            "coef_scale_": step.sigma_means(),
        }

    def attributes(self, results):
        has_topics = results.has_topics(normalised(results.means[results.best].components))
        return _over_chains(results, "coef_", has_topics) | _over_chains(results, "intercept_", has_topics)

    def of(self, covariates, intercept, coef, scale):
        """alpha of documents with these covariates; a level that no document of the fit had is a draw of its own."""
        columns = self.design.matrix(covariates)
        prior = prior_of(columns, intercept, coef)
        variance = variance_at_new_levels(columns, self.groups, self.around, scale / self.scale)
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
