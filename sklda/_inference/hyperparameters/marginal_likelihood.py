"""m(h), the marginal likelihood of h = (eta, alpha) up to one constant, from draws of chains on (h, z) or at one h.

Every estimate is a mean over draws of exp(log p(w, z | h) - d), where d is the log density of the distribution of the
draws. Equations 2.1, 2.10 and 2.17 of George & Doss (2018) differ in d alone. Draws at a few fixed points have d of
equation 2.10 too, with zeta at its fixed point on the same draws (reverse logistic regression, Geyer 1994). All values
are kept as logarithms, and derivatives are with respect to (log eta, log alpha).
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from sklda._inference.hyperparameters.batch_means import (
    batch_sums,
    chain_sums,
    covariance_of_sums,
    n_batches,
    positive_part,
    variance_of_sums,
)
from sklda._inference.hyperparameters.mixtures import slices

# With fewer effective draws, the error of an estimate is not known.
FEWEST_DRAWS = 10.0


def _product(a, b):
    """``a.T @ b``, not by threads of a linear algebra library: on small matrices they cost more than they save."""
    return np.einsum("ni,nj->ij", a, b)


class Curve:
    """An estimate of m(h) up to one constant, with its Monte Carlo error.

    Parameters
    ----------
    draws : CountHistograms or DirichletDraws
        The draws of all chains, one chain after the other.
    log_denominators : ndarray of shape (n_draws,)
    lengths : list of int
        Draws of every chain.
    mixture : Mixture, default=None
        If zeta was estimated from the same draws.
    batches : Batches, default=None
        Of chains at fixed points; None: chains on (h, z).
    separate : ndarray of shape (n_chains,), default=None
        Shares of chains that stay in different modes. Errors then contain the whole spread between chains.
    """

    def __init__(self, draws, log_denominators, lengths, mixture=None, batches=None, separate=None):
        self.draws, self.lengths, self.log_denominators = draws, list(lengths), log_denominators
        self.mixture, self.batches, self.separate = mixture, batches, separate
        self._log_factors = -np.log(len(draws)) - log_denominators
        if mixture is not None:
            self._log_factors += np.log(mixture.weights)

    def variance(self, terms):
        """Variance of the sums of `terms` (n_draws, n), whose columns add up to zero; (n,)."""
        if self.batches is None:
            return variance_of_sums(terms, self.lengths)
        within, between = (sums**2 for sums in self._sums(terms))
        return np.maximum(within.sum(axis=0), between.sum(axis=0))

    def covariance(self, terms):
        """The same for a vector, (n, n)."""
        if self.batches is None:
            return covariance_of_sums(terms, self.lengths)
        within, between = (sums.T @ sums for sums in self._sums(terms))
        return within + positive_part(between - within)

    def _sums(self, terms):
        """Sums over batches and over chains, whose squares add up to a variance within and between chains."""
        terms = self.mixture.influences(terms)
        if self.separate is None:
            return self.batches.sums(terms), chain_sums(terms, self.lengths)
        chains = np.add.reduceat(terms, np.cumsum([0, *self.lengths[:-1]]), axis=0)
        return self.batches.sums(terms), chains / np.sqrt(self.separate)[:, None]

    def batch_sums(self, terms):
        """Sums over batches, scaled so that their squares add up to a variance; (n_batches, n)."""
        if self.batches is None:
            return batch_sums(terms, self.lengths, 1)
        return self.batches.sums(self.mixture.influences(terms))

    @property
    def freedom(self):
        """Degrees of freedom of the batches."""
        if self.batches is None:
            return max(sum(n_batches(n) - 1 for n in self.lengths), 1)
        return self.batches.freedom

    def log_terms(self, eta, alpha):
        """Logarithms of the terms whose sum over draws is the estimate, (n_draws, n_priors)."""
        etas, i = np.unique(eta, return_inverse=True)
        alphas, j = np.unique(alpha, return_inverse=True)
        word, doc = self.draws.word_part(etas), self.draws.doc_part(alphas)
        return self._log_factors[:, None] + word[:, i.ravel()] + doc[:, j.ravel()]

    def log_values(self, eta, alpha):
        """log of the estimate, (n_priors,)."""
        eta, alpha = np.broadcast_arrays(np.atleast_1d(eta), np.atleast_1d(alpha))
        parts = [
            logsumexp(self.log_terms(eta[part], alpha[part]), axis=0) for part in slices(len(eta), len(self.draws))
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def surface(self, etas, alphas):
        """log of the estimate at all pairs, (n_etas, n_alphas); -inf if hundreds of nats below the largest."""
        word, doc, logs = self.draws.word_part(etas), self.draws.doc_part(alphas), self._log_factors
        parts = []
        for part in (word, doc):
            top = part.max(axis=1)
            parts.append(np.exp(part - top[:, None]))
            logs = logs + top
        with np.errstate(divide="ignore"):
            return np.log(_product(parts[0] * np.exp(logs - logs.max())[:, None], parts[1])) + logs.max()

    def weights(self, eta, alpha):
        """The terms as shares of their sum, (n_draws, n_priors): weights of the draws under h."""
        terms = self.log_terms(eta, alpha)
        return np.exp(terms - logsumexp(terms, axis=0))

    def log_ratio(self, eta, alpha, reference):
        """log m(h) - log m(reference) and its Monte Carlo standard error by batch means.

        Parameters
        ----------
        eta, alpha : array-like of shape (n_priors,)
        reference : (float, float)

        Returns
        -------
        value, std : ndarray of shape (n_priors,)
            Nats. The error is infinite if h has fewer than ten effective draws.
        """
        eta, alpha = np.broadcast_arrays(np.atleast_1d(eta), np.atleast_1d(alpha))
        base = self.weights(*np.atleast_2d(reference).T)
        value = self.log_values(eta, alpha) - self.log_values(*np.atleast_2d(reference).T)
        std = np.empty(len(eta))
        for part in slices(len(eta), len(self.draws)):
            weights = self.weights(eta[part], alpha[part])
            variance = self.variance(weights - base)
            reached = 1 / (weights**2).sum(axis=0) >= FEWEST_DRAWS
            std[part] = np.where(reached, np.sqrt(variance), np.inf)
        return value, std

    def derivatives(self, log_h):
        """Derivatives of log m at one h with respect to (log eta, log alpha).

        Returns
        -------
        weights : ndarray of shape (n_draws,)
        gradients : ndarray of shape (n_draws, 2)
            Of log p(w, z_i | h); their weighted mean is the gradient of log m.
        """
        eta, alpha = np.exp(log_h)[:, None]
        gradients = np.concatenate([self.draws.word_part(eta, 1), self.draws.doc_part(alpha, 1)], axis=1)
        return self.weights(eta, alpha)[:, 0], gradients

    def expectations(self, values, eta, alpha):
        """Posterior expectations of a functional and their Monte Carlo standard errors by batch means.

        Parameters
        ----------
        values : ndarray of shape (n_draws,)
            The functional at every draw.
        eta, alpha : array-like of shape (n_priors,)

        Returns
        -------
        mean, std : ndarray of shape (n_priors,)
            Equation 2.14. The error is infinite if h has fewer than ten effective draws.
        """
        mean, std = np.empty(len(eta)), np.empty(len(eta))
        for part in slices(len(eta), len(self.draws)):
            mean[part], terms, reached = self.influences(values, eta[part], alpha[part])
            std[part] = np.where(reached, np.sqrt(self.variance(terms)), np.inf)
        return mean, std

    def influences(self, values, eta, alpha):
        """The contribution of every draw to the error of an expectation, to leading order.

        Returns
        -------
        mean : ndarray of shape (n_priors,)
        terms : ndarray of shape (n_draws, n_priors)
        reached : ndarray of bool, shape (n_priors,)
            Whether h has at least ten effective draws.
        """
        weights = self.weights(eta, alpha)
        mean = values @ weights
        return mean, weights * (values[:, None] - mean), 1 / (weights**2).sum(axis=0) >= FEWEST_DRAWS

    def maximise(self, region, n_points=25):
        """log h at the maximum of the estimate on the region: from the best point of a grid, by the gradient."""
        bounds = np.log(region)
        etas, alphas = (np.geomspace(*ends, n_points) for ends in region)
        i, j = divmod(int(np.argmax(self.surface(etas, alphas))), n_points)

        def negative(log_h):
            eta, alpha = np.exp(log_h)[:, None]
            terms = self.log_terms(eta, alpha)
            total = logsumexp(terms)
            weights = np.exp(terms[:, 0] - total)
            gradient = [weights @ self.draws.word_part(eta, 1)[:, 0], weights @ self.draws.doc_part(alpha, 1)[:, 0]]
            return -total, -np.array(gradient)

        # Of the methods with bounds and a gradient, the one that starts no threads of a linear algebra library.
        options = {"ftol": 1e-13, "gtol": 1e-7, "xtol": 1e-10}
        start = np.log([etas[i], alphas[j]])
        found = minimize(negative, start, jac=True, bounds=bounds, method="TNC", options=options)
        return np.clip(found.x, *bounds.T)


def region_of(curve, within, drop, n_points=41):
    """The box around all h whose log m is less than `drop` nats below the maximum.

    Parameters
    ----------
    curve : Curve
    within : pair of pairs of float
        The box in which these h are searched.
    drop : float

    Returns
    -------
    pair of pairs of float
        One step of the grid wider than the points found, and not beyond `within`.
    """
    axes = [np.geomspace(*ends, n_points) for ends in within]
    values = curve.surface(*axes)
    high = values > values.max() - drop
    result = []
    for axis, other in ((0, 1), (1, 0)):
        found = np.flatnonzero(high.any(axis=other))
        low, top = max(found[0] - 1, 0), min(found[-1] + 1, n_points - 1)
        result.append((float(axes[axis][low]), float(axes[axis][top])))
    return tuple(result)


def global_band(curve, values, region, level, n_points=15, n_replicates=2000):
    """Half the width of a band that covers a posterior expectation for all h of a region, by its standard errors.

    The errors at different h have a joint normal distribution with the covariance of the batch sums. Each is divided by
    its standard error, whose degrees of freedom are those of the batches; the result is a quantile of the largest
    ratio. Without the division this is equation 2.19 of George & Doss (2018), whose band has the same width for h with
    many and with few effective draws.

    Parameters
    ----------
    curve : Curve
    values : ndarray of shape (n_draws,)
    region : pair of pairs of float
        Only h with at least ten effective draws count.
    level : float
    n_points : int, default=15
        Values of each prior at which the errors are taken.
    n_replicates : int, default=2000

    Returns
    -------
    float
    """
    eta, alpha = (x.ravel() for x in np.meshgrid(*(np.geomspace(*ends, n_points) for ends in region)))
    sums = []
    for part in slices(len(eta), len(values)):
        _, terms, reached = curve.influences(values, eta[part], alpha[part])
        sums.append(curve.batch_sums(terms[:, reached]))
    sums = np.concatenate(sums, axis=1)
    scale = np.sqrt((sums**2).sum(axis=0))
    sums, freedom = sums[:, scale > 0] / scale[scale > 0], curve.freedom
    rng = np.random.default_rng(0)
    errors = np.abs(rng.standard_normal((n_replicates, len(sums))) @ sums).max(axis=1, initial=0)
    return float(np.quantile(errors * np.sqrt(freedom / rng.chisquare(freedom, n_replicates)), level))
