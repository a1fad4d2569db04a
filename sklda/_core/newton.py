"""Newton's method within bounds and with steps that never decrease the function, for the logarithms of priors."""

from dataclasses import dataclass

import numpy as np

# The longest step, in units of x. x is the logarithm of a prior, so this is a factor of e^2: for larger changes the
# quadratic model of the log-likelihood of counts is not accurate.
_LONGEST = 2.0
# The search ends after a shorter step, in units of x.
_SHORTEST = 1e-8
# The largest number of steps. In tests, 12 were enough from bad initial values.
_MOST_STEPS = 100


@dataclass(frozen=True, eq=False)
class RankOneUpdate:
    """The matrix ``diag(diagonal) + factor * outer(vector, vector)``, with ``factor >= 0``.

    A step costs O(n), where a matrix without structure costs O(n^3).
    """

    diagonal: np.ndarray
    factor: float
    vector: np.ndarray

    def direction(self, gradient, free):
        """Newton's direction in the free coordinates; if the matrix is not negative definite, one that goes up."""
        bends, vector, gradient = _positive(-self.diagonal[free]), self.vector[free], gradient[free]
        share = self.factor * (vector**2 / bends).sum()
        step = gradient / bends
        if share < 1 and (self.diagonal[free] < 0).all():
            # The formula of Sherman and Morrison.
            step += self.factor * (vector / bends) * (vector @ step) / (1 - share)
        return step


def _positive(bends):
    """Absolute values, with a positive lower bound: in directions in which the function is convex, steps go up."""
    bends = np.abs(bends)
    return np.maximum(bends, 1e-12 + 1e-10 * bends.max(initial=0))


def newton(function, start, low, high):
    """Maximise a smooth function over a box by Newton's method, with steps that never decrease it.

    Parameters
    ----------
    function : callable
        Takes x (n,) and returns the value, the gradient (n,) and the second derivatives: a matrix (n, n) or a
        `RankOneUpdate`.
    start : array-like of shape (n,)
        Initial value of x.
    low, high : array-like of shape (n,)
        Bounds of x.

    Returns
    -------
    x : ndarray of shape (n,)
        A local maximum, which may lie on the boundary of the box.
    n_steps : int
        Number of steps taken.
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    x = np.clip(start, low, high)
    value, gradient, curvature = function(x)
    for n_steps in range(1, _MOST_STEPS + 1):
        free = ~((x <= low) & (gradient < 0) | (x >= high) & (gradient > 0))
        step = _step(gradient, curvature, free)
        while np.abs(step).max(initial=0) > _SHORTEST:
            new = np.clip(x + step, low, high)
            found = function(new)
            # The tolerance is for rounding.
            if found[0] >= value - 1e-12 * abs(value):
                break
            step /= 4
        else:
            return x, n_steps
        moved = np.abs(new - x).max()
        x, (value, gradient, curvature) = new, found
        if moved <= _SHORTEST:
            return x, n_steps
    return x, _MOST_STEPS


def _step(gradient, curvature, free):
    """Newton's step in the free coordinates, shortened to the longest step allowed."""
    step = np.zeros(len(gradient))
    if isinstance(curvature, RankOneUpdate):
        step[free] = curvature.direction(gradient, free)
    else:
        bends, axes = np.linalg.eigh(-curvature[np.ix_(free, free)])
        step[free] = axes @ ((axes.T @ gradient[free]) / _positive(bends))
    return step * min(1, _LONGEST / max(np.abs(step).max(initial=0), _LONGEST))


def newton_on_log(part, log_start, bounds):
    """Maximise a function of one positive number by Newton's method on its logarithm.

    Parameters
    ----------
    part : callable
        ``part(h, order=order)`` takes h as an ndarray of shape (1,). For order 0, 1 and 2 it returns the function and
        its first and second derivative with respect to log h. It may return an array with one entry for each draw, like
        ``word_part`` and ``doc_part`` of `CountHistograms`; then the mean over draws is maximised.
    log_start : float
        Initial value of log h.
    bounds : (float, float)
        Smallest and largest h.

    Returns
    -------
    float
        log h at the maximum, which may be a bound.
    """

    return newton_by_derivatives(
        lambda h: [float(np.mean(part(h, order=order))) for order in range(3)], log_start, bounds
    )


def newton_by_derivatives(part, log_start, bounds):
    """As `newton_on_log`, for a function that returns its derivatives together.

    Parameters
    ----------
    part : callable
        Takes h as an ndarray of shape (1,); returns the function and its first and second derivative with respect to
        log h, (3,).
    log_start : float
        Initial value of log h.
    bounds : (float, float)
        Smallest and largest h.

    Returns
    -------
    float
        log h at the maximum, which may be a bound.
    """

    def function(x):
        value, first, second = part(np.exp(x))
        # A single second derivative needs no eigenvectors.
        return float(value), np.array([first]), RankOneUpdate(np.array([second]), 0.0, np.ones(1))

    return newton(function, [log_start], *np.log(bounds)[:, None])[0][0]


def newton_each(function, start, low, high):
    """Maximise many functions of one number each, together, as `newton` does one of them.

    Parameters
    ----------
    function : callable
        Takes x (n,) and returns the values of all functions, and their first and second derivatives; (n,) each.
    start : array-like of shape (n,)
        Initial values of x.
    low, high : float
        Bounds of x.

    Returns
    -------
    ndarray of shape (n,)
        Local maxima, which may lie on a bound.
    """
    x = np.clip(start, low, high)
    value, first, second = function(x)
    shrink = np.ones(len(x))
    for _ in range(_MOST_STEPS):
        step = shrink * np.clip(first / np.maximum(np.abs(second), 1e-12), -_LONGEST, _LONGEST)
        new = np.clip(x + step, low, high)
        moves = np.abs(new - x) > _SHORTEST
        if not moves.any():
            break
        new = np.where(moves, new, x)
        found = function(new)
        better = found[0] >= value - 1e-12 * np.abs(value)
        shrink = np.where(better, 1.0, shrink / 4)
        x = np.where(better, new, x)
        value, first, second = (np.where(better, a, b) for a, b in zip(found, (value, first, second), strict=True))
    return x
