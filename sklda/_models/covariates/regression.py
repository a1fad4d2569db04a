"""Draws of the coefficients lambda given z, by auxiliary counts with which each topic is a Poisson regression.

p(z | alpha) has for each document the factors Gamma(A) / Gamma(A + n), A the sum of alpha, and Gamma(alpha_k + n_k) /
Gamma(alpha_k) for each topic. With u ~ Beta(A, n), the first is the mean of exp(-q A), q = -log u. With t_k, the number
of occupied tables of a Chinese restaurant process with n_k guests, the second is a sum of powers alpha_k^t_k. Given all
q and t, the topics are independent, and lambda_k has the likelihood of a Poisson regression: counts t with means
q exp(x . lambda_k). Its posterior is log-concave, so it is close to the normal distribution at its mode.
"""

import numpy as np

from sklda._core import random
from sklda._core.rising import log_gamma_ratio
from sklda._models.covariates.model import HIGHEST, LOWEST
from sklda._models.covariates.terms import Curvature

# The largest step of Newton's method, and the one after which it ends, in units of log alpha. Far from the mode, longer
# steps would leave the range in which the quadratic approximation holds. After a step of 1e-6 the error is about 1e-12.
_LONGEST, _SHORTEST = 3.0, 1e-6
_MOST_STEPS = 200
# Width of the first interval of a slice step, in units of log alpha for one standard deviation of a covariate, and the
# largest number of widths that the interval grows to. They affect the time of a step, not the distribution.
_WIDTH, _MOST_WIDTHS = 0.5, 8


def draw_exposures(rng, totals, lengths):
    """q = -log u with u ~ Beta(A, n), for documents with totals A and lengths n > 0."""
    return np.logaddexp(0, random.log_gamma(rng, lengths.astype(np.float64)) - random.log_gamma(rng, totals))


def draw_sigma(rng, coefficients, auxiliary):
    """sigma and an auxiliary variable given the coefficients without intercepts, under a half-Cauchy prior of scale 1.

    The prior is a mixture of inverse Gamma distributions of sigma^2 (Makalic & Schmidt 2016).
    """
    shape = (1 + coefficients.size) / 2
    variance = (1 / auxiliary + (coefficients**2).sum() / 2) / rng.standard_gamma(shape)
    return float(np.sqrt(variance)), float((1 + 1 / variance) / rng.standard_exponential())


class CollapsedLikelihood:
    """log p(z | lambda) with theta integrated out, and the prior of lambda.

    Parameters
    ----------
    entries : (ndarray, ndarray, ndarray)
        The documents, topics and values of the n_dk that are not zero.
    lengths : ndarray of shape (n_documents,)
    model : Model
    sigma : float
    """

    def __init__(self, entries, lengths, model, sigma):
        documents, self.topics, self.counts = entries
        self.rows = model.index[documents]
        self.lengths, self.model, self.precision = lengths, model, model.prior_precision(sigma)

    def __call__(self, coefficients):
        """The log density, up to a constant."""
        model, alpha = self.model, self.model.alpha(coefficients)
        likelihood = log_gamma_ratio(alpha[self.rows, self.topics], self.counts).sum()
        likelihood -= log_gamma_ratio(alpha.sum(axis=1)[model.index], self.lengths).sum()
        deviations = coefficients - model.first_coefficients()
        return likelihood - (deviations**2 @ self.precision).sum() / 2

    def shift(self, rng, coefficients, term):
        """Add one number to the coefficients of a term in all topics, by a slice step (Neal 2003).

        This changes the sum of alpha, but no mean proportion. The auxiliary counts change it slowly if it is large.
        """

        def at(step):
            moved = coefficients.copy()
            moved[:, term] += step
            return moved, self(moved)

        level = self(coefficients) - rng.standard_exponential()
        low = -rng.random() * _WIDTH
        high = low + _WIDTH
        to_left = int(rng.integers(_MOST_WIDTHS))
        to_right = _MOST_WIDTHS - 1 - to_left
        while to_left and at(low)[1] > level:
            low, to_left = low - _WIDTH, to_left - 1
        while to_right and at(high)[1] > level:
            high, to_right = high + _WIDTH, to_right - 1
        while True:
            step = rng.uniform(low, high)
            moved, value = at(step)
            if value >= level:
                return moved
            low, high = (step, high) if step < 0 else (low, step)


class PoissonRegressions:
    """The posteriors of lambda_k given the auxiliary counts.

    Parameters
    ----------
    terms : Terms
    tables : ndarray of shape (n_rows, n_components)
        Sums of t over the documents of a row.
    exposures : ndarray of shape (n_rows,)
        Sums of q.
    centre : ndarray of shape (n_components,)
        Prior means of the intercepts; the other prior means are zero.
    precision : ndarray of shape (n_terms,)
        Prior precisions.
    """

    def __init__(self, terms, tables, exposures, centre, precision):
        self.terms, self.tables, self.exposures, self.precision = terms, tables, exposures, precision
        self.centre = np.zeros((len(centre), len(precision)))
        self.centre[:, 0] = centre

    def log_density(self, coefficients, topics=slice(None)):
        """Log densities of the coefficients of some topics, up to a constant; (n_topics,)."""
        log_alpha = np.clip(self.terms.predictors(coefficients), LOWEST, HIGHEST)
        likelihood = (self.tables[:, topics] * log_alpha).sum(axis=0) - self.exposures @ np.exp(log_alpha)
        return likelihood - ((coefficients - self.centre[topics]) ** 2 @ self.precision) / 2

    def modes(self, start):
        """The modes by Newton's method. They do not depend on `start`, but for rounding."""
        modes, moving = start.copy(), np.arange(len(start))
        for _ in range(_MOST_STEPS):
            mean = self._means(modes[moving])
            gradient = self.terms.sums(self.tables[:, moving] - mean)
            gradient -= (modes[moving] - self.centre[moving]) * self.precision
            steps = Curvature(self.terms, mean, self.precision).solve(gradient)
            longest = np.abs(self.terms.predictors(steps)).max(axis=0)
            modes[moving] += steps * np.minimum(1, _LONGEST / np.maximum(longest, _LONGEST))[:, None]
            moving = moving[longest > _SHORTEST]
            if not len(moving):
                break
        return modes

    def curvature(self, coefficients):
        """The negative second derivatives of the log densities."""
        return Curvature(self.terms, self._means(coefficients), self.precision)

    def _means(self, coefficients):
        """The means of the counts of some topics, (n_rows, n_topics)."""
        return self.exposures[:, None] * np.exp(np.clip(self.terms.predictors(coefficients), LOWEST, HIGHEST))

    def draw(self, rng, present):
        """New coefficients of all topics, by a step of elliptical slice sampling that keeps their posterior.

        The ellipse is that of the normal approximation at the mode; a point on it is accepted by the ratio of the
        posterior to the approximation (Nishihara, Murray & Adams 2014).
        """
        modes = self.modes(present)
        curvature = self.curvature(modes)
        other = curvature.draw(rng)
        own, drawn = present - modes, present.copy()

        def log_ratio(deviations, topics):
            return self.log_density(modes[topics] + deviations, topics) + curvature.norms(deviations, topics) / 2

        topics = np.arange(len(present))
        level = log_ratio(own, topics) - rng.standard_exponential(len(topics))
        angle = rng.uniform(0, 2 * np.pi, len(topics))
        low, high = angle - 2 * np.pi, angle.copy()
        while len(topics):
            at = angle[topics, None]
            deviations = own[topics] * np.cos(at) + other[topics] * np.sin(at)
            accepted = log_ratio(deviations, topics) >= level[topics]
            drawn[topics[accepted]] = (modes[topics] + deviations)[accepted]
            topics = topics[~accepted]
            back = angle[topics] < 0
            low[topics[back]], high[topics[~back]] = angle[topics[back]], angle[topics[~back]]
            angle[topics] = rng.uniform(low[topics], high[topics])
        return drawn
