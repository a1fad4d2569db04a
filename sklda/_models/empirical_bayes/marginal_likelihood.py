"""m(h), the marginal likelihood of h = (alpha, eta) up to one constant, from draws of chains at a few points h.

Every estimate is a mean over draws of exp(log p(w, z | h) - d), where d is the log density of the distribution of the
draws. Draws at a few fixed points have d of equation 2.10 of George & Doss (2018), with zeta at its fixed point on the
same draws (reverse logistic regression, Geyer 1994). All values are kept as logarithms, and derivatives are with
respect to (log alpha, log eta).
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from sklda._core.count_histograms import CountHistograms
from sklda._models.empirical_bayes.batch_means import Batches, at_most
from sklda._models.empirical_bayes.reverse_logistic_regression import ReverseLogisticRegression

# With fewer effective draws, the error of an estimate is not known.
FEWEST_EFFECTIVE = 10.0
# Entries of large temporary arrays: 32 MB each.
AT_A_TIME = 2**22


class _Surface:
    """What all estimates of m(h) have in common."""

    def maximise(self, region, n_points=25):
        """log h at the maximum of the estimate on the region: from the best point of a grid, by the gradient."""
        bounds = np.log(region)
        axes = [np.geomspace(*ends, n_points) for ends in region]
        best = np.unravel_index(np.argmax(self.surface(*axes)), (n_points, n_points))
        start = np.log([axis[i] for axis, i in zip(axes, best, strict=True)])

        def negative(log_h):
            value, gradient = self.value_and_gradient(log_h)
            return -value, -gradient

        # Of the methods with bounds and a gradient, the one that starts no threads of a linear algebra library.
        options = {"ftol": 1e-13, "gtol": 1e-7, "xtol": 1e-10}
        found = minimize(negative, start, jac=True, bounds=bounds, method="TNC", options=options)
        return np.clip(found.x, *bounds.T)


class Curve(_Surface):
    """An estimate of m(h) up to one constant, with its Monte Carlo error.

    The draws are those of all chains, one chain after the other, as are `log_denominators`, (n_draws,). `regression`
    has the zeta of points if it was estimated from the same draws.
    """

    def __init__(
        self,
        draws: CountHistograms,
        log_denominators: np.ndarray,
        batches: Batches,
        regression: ReverseLogisticRegression | None = None,
    ) -> None:
        self.draws = draws
        self.batches = batches
        self.regression = regression
        self._log_factors = -np.log(len(draws)) - log_denominators

    @classmethod
    def at_points(cls, draws, at, points, batches):
        """From draws at fixed points, log h of shape (n_points, 2); `at` is the point of each draw."""
        log_p = draws.doc_part(np.exp(points[:, 0])) + draws.word_part(np.exp(points[:, 1]))
        regression = ReverseLogisticRegression.of(log_p, at)
        return cls(draws, regression.log_denominators, batches, regression)

    def influences_of(self, terms):
        """`terms` (n_draws, n) with the effect of each draw through an estimated zeta."""
        return terms if self.regression is None else self.regression.influences(terms)

    def log_terms(self, alpha, eta):
        """Logarithms of the terms whose sum over draws is the estimate, (n_draws, n_priors)."""
        alphas, i = np.unique(alpha, return_inverse=True)
        etas, j = np.unique(eta, return_inverse=True)
        doc = self.draws.doc_part(alphas)
        word = self.draws.word_part(etas)
        return self._log_factors[:, None] + doc[:, i.ravel()] + word[:, j.ravel()]

    def log_values(self, alpha, eta):
        """log of the estimate, (n_priors,)."""
        alpha, eta = np.broadcast_arrays(np.atleast_1d(alpha), np.atleast_1d(eta))
        parts = [logsumexp(self.log_terms(alpha[part], eta[part]), axis=0) for part in self.slices(len(alpha))]
        return np.concatenate(parts) if parts else np.empty(0)

    def surface(self, alphas, etas):
        """log of the estimate at all pairs, (n_alphas, n_etas); -inf if hundreds of nats below the largest."""
        doc = self.draws.doc_part(alphas)
        word = self.draws.word_part(etas)
        # The largest terms of every draw are taken out, so that no exponential is too large.
        largest_doc = doc.max(axis=1)
        largest_word = word.max(axis=1)
        logs = self._log_factors + largest_doc + largest_word
        of_alpha = np.exp(doc - largest_doc[:, None]) * np.exp(logs - logs.max())[:, None]
        of_eta = np.exp(word - largest_word[:, None])
        # Not a matrix product, because threads of a linear algebra library cost more than they save.
        with np.errstate(divide="ignore"):
            return np.log(np.einsum("ni,nj->ij", of_alpha, of_eta)) + logs.max()

    def weights(self, alpha, eta):
        """The terms as shares of their sum, (n_draws, n_priors): weights of the draws under h."""
        terms = self.log_terms(alpha, eta)
        return np.exp(terms - logsumexp(terms, axis=0))

    def log_ratio(self, alpha, eta, reference, spread=True):
        """log m(h) - log m(reference) and its Monte Carlo standard error by batch means; nats, (n_priors,).

        The error is infinite if h has fewer than ten effective draws. `spread` matters only for `AveragedCurve`.
        """
        alpha, eta = np.broadcast_arrays(np.atleast_1d(alpha), np.atleast_1d(eta))
        base = self.weights(*np.atleast_2d(reference).T)
        value = self.log_values(alpha, eta) - self.log_values(*np.atleast_2d(reference).T)
        std = np.empty(len(alpha))
        for part in self.slices(len(alpha)):
            weights = self.weights(alpha[part], eta[part])
            std[part] = self.errors(weights - base, weights)
        return value, std

    def derivatives(self, log_h):
        """Weights of the draws at one h, (n_draws,), and gradients of log p(w, z_i | h), (n_draws, 2).

        The weighted mean of the gradients is that of log m. All are with respect to (log alpha, log eta).
        """
        alpha, eta = np.exp(log_h)[:, None]
        gradients = np.concatenate([self.draws.doc_part(alpha, 1), self.draws.word_part(eta, 1)], axis=1)
        return self.weights(alpha, eta)[:, 0], gradients

    def value_and_gradient(self, log_h):
        """log of the estimate, a float, and its gradient."""
        weights, gradients = self.derivatives(log_h)
        return float(self.log_values(*np.exp(log_h))[0]), weights @ gradients

    def score_terms(self, log_h):
        """The contribution of every draw to the error of the gradient, (n_draws, 2)."""
        weights, gradients = self.derivatives(log_h)
        return self.influences_of(weights[:, None] * (gradients - weights @ gradients))

    def score_covariance(self, log_h):
        """Covariance of the estimated gradient of log m, (2, 2).

        The gradient is a mean of the gradients of the draws, so its error is at most as large as their spread. Where
        the draws of neighbouring points hardly overlap, zeta is not known, and the influences alone are much larger.
        """
        _, gradients = self.derivatives(log_h)
        return at_most(self.batches.covariance(self.score_terms(log_h)), np.cov(gradients.T, ddof=0))

    def effective_weights(self, log_h):
        """Effective number of the weights of the draws at one h, without autocorrelation."""
        return 1 / (self.weights(*np.exp(log_h)) ** 2).sum()

    def errors(self, terms, weights):
        """Standard errors of the sums of `terms`, infinite with too few effective draws."""
        reached = 1 / (weights**2).sum(axis=0) >= FEWEST_EFFECTIVE
        return np.where(reached, np.sqrt(self.batches.variance(self.influences_of(terms))), np.inf)

    def slices(self, n):
        """Parts of n values of h, so that arrays over the draws are not too large."""
        step = max(AT_A_TIME // max(len(self.draws), 1), 1)
        return [slice(start, start + step) for start in range(0, n, step)]


class AveragedCurve(_Surface):
    """The mean of log m over curves of which it is not known which is right, and their spread as its error.

    Chains that stay in different modes of the topic assignments have different curves. The weights are the
    probabilities that a curve is right.
    """

    def __init__(self, curves: list[Curve], weights: np.ndarray) -> None:
        self.curves = curves
        self.shares = np.asarray(weights) / np.sum(weights)

    def log_values(self, alpha, eta):
        return self._mean([curve.log_values(alpha, eta) for curve in self.curves])

    def surface(self, alphas, etas):
        return self._mean([curve.surface(alphas, etas) for curve in self.curves])

    def log_ratio(self, alpha, eta, reference, spread=True):
        """See `Curve`. Without `spread`, the error is that of the mean of the curves."""
        values, stds = zip(*(curve.log_ratio(alpha, eta, reference) for curve in self.curves), strict=True)
        value = self._mean(values)
        variance = self.shares**2 @ np.square(stds)
        if spread:
            variance = variance + self.shares @ np.square(np.array(values) - value)
        return value, np.sqrt(variance)

    def value_and_gradient(self, log_h):
        values, gradients = zip(*(curve.value_and_gradient(log_h) for curve in self.curves), strict=True)
        return self._mean(values), self._mean(gradients)

    def score_covariance(self, log_h):
        """Covariance of the gradient: that of the mean, and the spread of the curves."""
        gradients = np.array([curve.value_and_gradient(log_h)[1] for curve in self.curves])
        away = (gradients - self._mean(gradients)) * np.sqrt(self.shares)[:, None]
        own = [share**2 * curve.score_covariance(log_h) for share, curve in zip(self.shares, self.curves, strict=True)]
        return sum(own) + away.T @ away

    def effective_weights(self, log_h):
        """Those of the chain that has the fewest, whose error would be the least trustworthy."""
        return min(curve.effective_weights(log_h) for curve in self.curves)

    def _mean(self, values):
        return np.tensordot(self.shares, np.array(values), axes=1)
