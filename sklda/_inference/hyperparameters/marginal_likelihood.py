"""m(h), the marginal likelihood of h = (eta, alpha) up to one constant, from draws of chains on (h, z) or at one h.

Every estimate is a mean over draws of exp(log p(w, z | h) - d), where d is the log density of the distribution of the
draws. Equations 2.1, 2.10 and 2.17 of George & Doss (2018) differ in d alone. All values are kept as logarithms,
and derivatives are with respect to (log eta, log alpha).
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from scipy.stats import chi2

# Size of arrays over draws and values of h: 32 MB each.
_AT_A_TIME = 2**22
# With fewer effective draws, the error of an estimate is not known.
_FEWEST = 10.0
# Long batches have this many times the length of short ones (Vats & Flegal 2022).
_LUGSAIL = 3
# The variance between chains is scaled so that it lies below the true one with this probability.
_BELOW_TRUE = 0.75


def mixture_denominators(draws, grid):
    """log of (1 / J) sum_j p(w, z_i | h_j) / zeta_j: equation 2.10."""
    word, doc = draws.word_part(grid.etas), draws.doc_part(grid.alphas)
    if grid.flat:
        return logsumexp(word, axis=1) + logsumexp(doc, axis=1) - grid.log_zeta.ravel()[0] - np.log(grid.log_zeta.size)
    result = np.empty(len(draws))
    for part in _slices(len(draws), grid.log_zeta.size):
        log_p = word[part, :, None] + doc[part, None, :] - grid.log_zeta
        result[part] = logsumexp(log_p, axis=(1, 2))
    return result - np.log(grid.log_zeta.size)


def conditional_means(draws, grid):
    """Means of the full conditional of the grid point given every draw.

    Returns
    -------
    occupancy : ndarray of shape (n_etas, n_alphas)
        Its mean over the draws.
    log_h : ndarray of shape (n_draws, 2)
        Means of log eta and log alpha under it.
    """
    word, doc = draws.word_part(grid.etas), draws.doc_part(grid.alphas)
    if grid.flat:
        word, doc = softmax(word, axis=1), softmax(doc, axis=1)
        return _product(word, doc) / len(draws), np.stack([word @ np.log(grid.etas), doc @ np.log(grid.alphas)], axis=1)
    occupancy, log_h = np.zeros(grid.shape), np.empty((len(draws), 2))
    for part in _slices(len(draws), grid.log_zeta.size):
        p = word[part, :, None] + doc[part, None, :] - grid.log_zeta
        p = np.exp(p - p.max(axis=(1, 2), keepdims=True))
        p /= p.sum(axis=(1, 2), keepdims=True)
        occupancy += p.sum(axis=0) / len(draws)
        log_h[part] = np.stack([p.sum(axis=2) @ np.log(grid.etas), p.sum(axis=1) @ np.log(grid.alphas)], axis=1)
    return occupancy, log_h


def component_denominators(draws, grid, at):
    """log of p(w, z_i | h_j) / zeta_j at the draw's own grid point j: equation 2.17."""
    i, j = np.asarray(at).T
    rows = np.arange(len(draws))
    return draws.word_part(grid.etas)[rows, i] + draws.doc_part(grid.alphas)[rows, j] - grid.log_zeta[i, j]


def n_batches(n_draws):
    """Batches of one chain, for batch means."""
    return max(round(n_draws ** (1 / 3)), 1)


def variance_of_sums(terms, lengths):
    """Variance of the sum over draws of `terms` (n_draws, n), one chain after the other, by batch means; (n,).

    Batch means give too small a variance if autocorrelation is longer than a batch. Their difference from batch means
    of a third of the length is added (the lugsail estimator of Vats & Flegal 2022), which changes the sign of the
    leading term of that bias. The variance between chains, scaled to be too large in one case of four, is used if it is
    larger.
    """
    long, short = ((_batch_sums(terms, lengths, part) ** 2).sum(axis=0) for part in (1, _LUGSAIL))
    return np.maximum(long + np.maximum(long - short, 0), (_chain_sums(terms, lengths) ** 2).sum(axis=0))


def covariance_of_sums(terms, lengths):
    """The same for vectors, (n, n)."""
    within, between = covariance_within_chains(terms, lengths), _chain_sums(terms, lengths)
    return within + positive_part(between.T @ between - within)


def covariance_within_chains(terms, lengths):
    """The same by the batches alone, without the variance between chains."""
    long, short = (sums.T @ sums for sums in (_batch_sums(terms, lengths, part) for part in (1, _LUGSAIL)))
    return long + positive_part(long - short)


def positive_part(matrix):
    """A symmetric matrix without its negative directions."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def _chain_sums(terms, lengths):
    """Sums over chains minus their mean, scaled so that their squares add up to a variance that is rarely too large."""
    n = len(lengths)
    if n < 2:
        return np.zeros((1, *terms.shape[1:]))
    sums = np.add.reduceat(terms, np.cumsum([0, *lengths[:-1]]), axis=0)
    return (sums - sums.mean(axis=0)) * np.sqrt(n / chi2.ppf(_BELOW_TRUE, n - 1))


def _batch_sums(terms, lengths, part):
    """Sums over batches minus their mean in the chain, scaled so that their squares add up to a variance.

    Batches have n^(2/3) of n draws, longer than the paper's n^(1/2), because chains on (h, z) have long
    autocorrelation; or a part of that length. All draws are used.
    """
    result, first = [], 0
    for length in lengths:
        n = min(part * n_batches(length), length)
        starts = np.array([part[0] for part in np.array_split(np.arange(first, first + length), n)])
        sums = np.add.reduceat(terms[: first + length], starts, axis=0)
        result.append((sums - sums.mean(axis=0)) * np.sqrt(n / max(n - 1, 1)))
        first += length
    return np.concatenate(result)


def _product(a, b):
    """``a.T @ b``, not by threads of a linear algebra library: on small matrices they cost more than they save."""
    return np.einsum("ni,nj->ij", a, b)


def _slices(n, size):
    step = max(_AT_A_TIME // max(size, 1), 1)
    return [slice(start, start + step) for start in range(0, n, step)]


class Curve:
    """An estimate of m(h) up to one constant, with its Monte Carlo error.

    Parameters
    ----------
    draws : CountHistograms or DirichletDraws
        The draws of all chains, one chain after the other.
    log_denominators : ndarray of shape (n_draws,)
    lengths : list of int
        Draws of every chain.
    log_shares : ndarray of shape (n_chains,), default=None
        Logarithms of factors of the chains' curves; None: the same factor for all.
    """

    def __init__(self, draws, log_denominators, lengths, log_shares=None):
        self.draws, self.lengths = draws, list(lengths)
        self.log_denominators = log_denominators
        shares = np.zeros(len(self.lengths)) if log_shares is None else np.asarray(log_shares)
        self.log_shares = shares
        # The share of a chain does not depend on its number of draws.
        self._log_factors = np.repeat(shares - np.log(self.lengths), self.lengths) - log_denominators

    def of_chain(self, c):
        """The curve of one chain alone."""
        first = sum(self.lengths[:c])
        own = slice(first, first + self.lengths[c])
        return Curve(self.draws[own], self.log_denominators[own], [self.lengths[c]])

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
            logsumexp(self.log_terms(eta[part], alpha[part]), axis=0) for part in _slices(len(eta), len(self.draws))
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
        for part in _slices(len(eta), len(self.draws)):
            weights = self.weights(eta[part], alpha[part])
            variance = variance_of_sums(weights - base, self.lengths)
            reached = 1 / (weights**2).sum(axis=0) >= _FEWEST
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
        for part in _slices(len(eta), len(self.draws)):
            mean[part], terms, reached = self.influences(values, eta[part], alpha[part])
            std[part] = np.where(reached, np.sqrt(variance_of_sums(terms, self.lengths)), np.inf)
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
        return mean, weights * (values[:, None] - mean), 1 / (weights**2).sum(axis=0) >= _FEWEST

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
    for part in _slices(len(eta), len(values)):
        _, terms, reached = curve.influences(values, eta[part], alpha[part])
        sums.append(_batch_sums(terms[:, reached], curve.lengths, 1))
    sums = np.concatenate(sums, axis=1)
    scale = np.sqrt((sums**2).sum(axis=0))
    sums, freedom = sums[:, scale > 0] / scale[scale > 0], max(len(sums) - len(curve.lengths), 1)
    rng = np.random.default_rng(0)
    errors = np.abs(rng.standard_normal((n_replicates, len(sums))) @ sums).max(axis=1, initial=0)
    return float(np.quantile(errors * np.sqrt(freedom / rng.chisquare(freedom, n_replicates)), level))
