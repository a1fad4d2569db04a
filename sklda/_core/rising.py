"""Logarithms of rising factorials, log Gamma(a + n) - log Gamma(a), and their derivatives.

For large a the difference of the two log-gamma values loses its digits, so other formulas are used.
"""

import numpy as np
from scipy.special import digamma, zeta

from sklda._kernels import _rising

# The smallest a for which the series is used. There, the terms that are left out are about 1e-16 of the result.
_FIRST_OF_SERIES = 64
# Up to this count, the sums of `RisingOfEach` have a term for each token, which is faster than trigamma functions.
_FEW = 64
# Entries of a block of groups in `SumOfLogRising`; 2 MB.
_BLOCK = 2**18


def log_gamma_ratio(a, n):
    """log Gamma(a + n) - log Gamma(a), entry by entry.

    Parameters
    ----------
    a : array-like
        Positive.
    n : array-like
        Not negative. It is broadcast against `a`.

    Returns
    -------
    ndarray
        With an absolute error of at most 1e-13, or a relative error of rounding if that is larger.
    """
    a = np.asarray(a, dtype=np.float64)
    n = np.asarray(n, dtype=np.float64)
    # For a few numbers `np.broadcast_arrays` takes longer than the kernel.
    shape = np.broadcast(a, n).shape
    each_a, each_n, result = np.empty(shape), np.empty(shape), np.empty(shape)
    each_a[...] = a
    each_n[...] = n
    _rising.log_gamma_ratios(each_a.reshape(-1), each_n.reshape(-1), result.reshape(-1))
    return result


def sum_of_log_gamma_ratios(a, n, times):
    """The sum of log Gamma(a + n) - log Gamma(a) at one `a` over numbers n, each of which occurs as many `times`."""
    n, times = np.asarray(n, dtype=np.float64), np.asarray(times, dtype=np.float64)
    return _rising.sum_of_log_gamma_ratios(a, n, times)


def log_rising(a, n, order=0):
    """Log of the rising factorial, log Gamma(a + n) - log Gamma(a), or its derivative with respect to log a.

    Parameters
    ----------
    a : array-like of shape (n_priors,)
        Positive.
    n : array-like of shape (n_counts,)
        Not negative.
    order : {0, 1, 2}
        Order of the derivative; 0 is the function itself.

    Returns
    -------
    ndarray of shape (n_priors, n_counts)
        Accurate to rounding for every a. Derivatives at a >= 64 come from the difference of Stirling's series.
    """
    a, n = np.asarray(a, dtype=np.float64)[:, None], np.asarray(n, dtype=np.float64)
    if order == 0:
        return log_gamma_ratio(a, n)
    result = np.empty((len(a), len(n)))
    small = a[:, 0] < _FIRST_OF_SERIES
    for rows, value in ((small, _rising_by_functions), (~small, _rising_by_series)):
        if rows.any():
            result[rows] = value(a[rows], n, order)[-1]
    return result


def log_rising_and_derivatives(a, n):
    """`log_rising` of all orders at one `a`, (3, n_counts)."""
    derivatives = _rising_by_functions if a < _FIRST_OF_SERIES else _rising_by_series
    return np.array([log_gamma_ratio(a, n), *derivatives(a, n)])


def _rising_by_functions(a, n, order=2):
    """The derivatives up to an order."""
    first = a * (digamma(a + n) - digamma(a))
    # zeta(2, x) is the trigamma function, for which polygamma(1, x) computes the digamma function, too.
    return [first] if order == 1 else [first, first + a**2 * (zeta(2, a + n) - zeta(2, a))]


def _rising_by_series(a, n, order=2):
    log_ratio = np.log1p(n / a)

    def difference(*terms):
        """The sum of c / x**p at x = a + n minus the sum at x = a, over the pairs (p, c)."""
        return sum(c * a ** -float(p) * np.expm1(-p * log_ratio) for p, c in terms)

    first = a * (log_ratio + difference((1, -1 / 2), (2, -1 / 12), (4, 1 / 120), (6, -1 / 252)))
    if order == 1:
        return [first]
    return [first, first + a**2 * difference((1, 1), (2, 1 / 2), (3, 1 / 6), (5, -1 / 30), (7, 1 / 42))]


class SumOfLogRising:
    """The sum of log Gamma(a + n) - log Gamma(a) over many numbers n, and its derivatives with respect to log a.

    With f(i) the number of n > i, it is the sum of f(i) log(a + i) over i. This takes the time and the memory of the
    sum over groups of max(n), for any number of n.

    Parameters
    ----------
    histogram : csr_array or ndarray of shape (n_groups, n_values)
        ``histogram[g, n]`` is how often the number n occurs in group g.
    """

    def __init__(self, histogram):
        self.n_groups = histogram.shape[0]
        blocks = [(slice(0, self.n_groups), histogram)] if isinstance(histogram, np.ndarray) else _blocks(histogram)
        # Of every i below the largest n of each group: the group, i, and f(i).
        self._blocks = []
        for block, dense in blocks:
            dense = dense[:, : np.flatnonzero(dense.any(axis=0)).max(initial=0) + 1]
            tails = np.cumsum(dense[:, :0:-1], axis=1, dtype=np.float64)[:, ::-1]
            groups, i = np.nonzero(tails)
            self._blocks.append((block, groups, i, tails[groups, i]))

    def __call__(self, a):
        """Value, first and second derivative for every group, (3, n_groups); `a` has shape (n_groups,)."""
        result = np.empty((3, self.n_groups))
        for block, groups, i, tails in self._blocks:
            own = a[block][groups]
            x = own + i
            first = own / x
            for row, each in zip(result, (np.log(x), first, first * (1 - first)), strict=True):
                row[block] = np.bincount(groups, tails * each, block.stop - block.start)
        return result


def _blocks(histogram, first=0, last=None):
    """Iterate over slices of groups, and their dense histograms of at most `_BLOCK` entries, or of one group."""
    last = histogram.shape[0] if last is None else last
    ends = histogram.indptr[first : last + 1]
    own = slice(ends[0], ends[-1])
    width = int(histogram.indices[own].max(initial=0)) + 1
    if last - first > 1 and (last - first) * width > _BLOCK:
        middle = (first + last) // 2
        yield from _blocks(histogram, first, middle)
        yield from _blocks(histogram, middle, last)
        return
    dense = np.zeros((last - first, width), histogram.dtype)
    dense[np.repeat(np.arange(last - first), np.diff(ends)), histogram.indices[own]] = histogram.data[own]
    yield slice(first, last), dense


def rising_of_each(a, n):
    """log Gamma(a + n) - log Gamma(a), entry by entry, and its first two derivatives with respect to a; (3, ...)."""
    a, n = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(n, dtype=np.float64))
    result = np.empty((3, *a.shape))
    result[0] = log_gamma_ratio(a, n)
    small = a < _FIRST_OF_SERIES
    for own, by in ((small, _rising_by_functions), (~small, _rising_by_series)):
        x, count = a[own], n[own]
        first, second = by(x, count)
        result[1, own], result[2, own] = first / x, (second - first) / x**2
    return result


class RisingOfEach:
    """log Gamma(a + n) - log Gamma(a) of many cells with an `a` of their own, and its derivatives with respect to a.

    Parameters
    ----------
    n : ndarray of shape (n_cells,), int
        Positive.

    Attributes
    ----------
    order : ndarray of shape (n_cells,)
        The order in which the cells must be given, from large to small n.
    n : ndarray of shape (n_cells,)
        In this order.
    """

    def __init__(self, n):
        self.order = np.argsort(-n, kind="stable")
        self.n = n[self.order].astype(np.float64)
        # Number of cells with n > i.
        self._above = np.searchsorted(-self.n, -np.arange(_FEW + 1), side="left")

    def __call__(self, a):
        """Value, first and second derivative, (3, n_cells); `a` has shape (n_cells,), in the order of `order`."""
        result = np.zeros((3, len(a)))
        value, first, second = result
        n_large = self._above[_FEW]
        for i in range(_FEW):
            own = slice(n_large, self._above[i])
            x = a[own] + i
            value[own] += np.log(x)
            x = 1 / x
            first[own] += x
            second[own] -= x * x
        result[:, :n_large] = rising_of_each(a[:n_large], self.n[:n_large])
        return result
