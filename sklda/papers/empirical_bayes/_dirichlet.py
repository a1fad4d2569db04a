"""The density of symmetric Dirichlet distributions, as a function of their parameter."""

import numpy as np
from scipy.special import digamma, gammaln, polygamma


def dirichlet_log_density(a, n, size, log_sums, order=0):
    """Log density of n vectors from the symmetric Dirichlet(a), or its derivative with respect to log a.

    Parameters
    ----------
    a : array-like of shape (n_priors,)
    n : int
        Number of vectors.
    size : int
        Number of entries of a vector.
    log_sums : array-like of shape (n_draws,)
        For each draw of the n vectors, the sum of the logarithms of all entries.
    order : {0, 1, 2}
        Order of the derivative; 0 is the log density.

    Returns
    -------
    ndarray of shape (n_draws, n_priors)
    """
    a = np.asarray(a, dtype=np.float64)
    if order == 0:
        return n * (gammaln(size * a) - size * gammaln(a)) + np.outer(log_sums, a - 1)
    first = n * size * a * (digamma(size * a) - digamma(a)) + np.outer(log_sums, a)
    if order == 1:
        return first
    return first + n * size * a**2 * (size * polygamma(1, size * a) - polygamma(1, a))
