"""log Gamma(a + n) - log Gamma(a) and its derivatives, for every a: differences of the functions lose large ones."""

import numpy as np
from scipy.special import digamma, polygamma

from sklda._kernels import _rising


def log_gamma_ratio(a, n):
    """log Gamma(a + n) - log Gamma(a), entry by entry.

    Parameters
    ----------
    a : array-like
        Positive.
    n : array-like
        Not negative; broadcast against `a`.

    Returns
    -------
    ndarray
        Accurate to 1e-13, or to rounding where it is larger than that.
    """
    a, n = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(n, dtype=np.float64))
    result = np.empty(a.shape)
    _rising.log_gamma_ratios(np.ravel(a), np.ravel(n), result.reshape(-1))
    return result


def log_rising(a, n, order=0):
    """Log of the rising factorial, log Gamma(a + n) - log Gamma(a), or a derivative with respect to log a.

    Parameters
    ----------
    a : array-like of shape (n_priors,)
        Positive.
    n : array-like of shape (n_counts,)
        Not negative.
    order : {0, 1, 2}
        Of the derivative.

    Returns
    -------
    ndarray of shape (n_priors, n_counts)
        Accurate to rounding for every a: large ones by the differences of Stirling's series.
    """
    a, n = np.asarray(a, dtype=np.float64)[:, None], np.asarray(n, dtype=np.float64)
    if order == 0:
        return log_gamma_ratio(a, n)
    result = np.empty((len(a), len(n)))
    small = a[:, 0] < 64
    for rows, value in ((small, _rising_by_functions), (~small, _rising_by_series)):
        if rows.any():
            result[rows] = value(a[rows], n, order)
    return result


def _rising_by_functions(a, n, order):
    first = a * (digamma(a + n) - digamma(a))
    return first if order == 1 else first + a**2 * (polygamma(1, a + n) - polygamma(1, a))


def _rising_by_series(a, n, order):
    log_ratio = np.log1p(n / a)

    def difference(*terms):
        """Of a sum of c / x**p at x = a + n and at x = a."""
        return sum(c * a ** -float(p) * np.expm1(-p * log_ratio) for p, c in terms)

    first = a * (log_ratio + difference((1, -1 / 2), (2, -1 / 12), (4, 1 / 120), (6, -1 / 252)))
    if order == 1:
        return first
    return first + a**2 * difference((1, 1), (2, 1 / 2), (3, 1 / 6), (5, -1 / 30), (7, 1 / 42))
