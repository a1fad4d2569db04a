"""Newton's method with safeguards, for priors on the scale of their logarithms and between bounds."""

import numpy as np

# The longest step, in units of x (of log h: a factor of e^2 in a prior, which quadratic models of log-likelihoods of
# counts do not hold beyond), the step below which the search ends, and steps at most (from bad starts 12 were needed).
_LONGEST, _SHORTEST, _MOST_STEPS = 2.0, 1e-8, 100


def newton(function, start, low, high):
    """Maximise a smooth function over a box by Newton's method, with steps that never lead down.

    Parameters
    ----------
    function : callable
        Of x (n,): the value, the gradient (n,) and the second derivatives (n, n).
    start, low, high : array-like of shape (n,)

    Returns
    -------
    x : ndarray of shape (n,)
        A local maximum, perhaps at an edge of the box.
    n_steps : int
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
            # Rounding may make an equal value a little lower.
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
    """Newton's step along the free coordinates, shortened to the longest allowed."""
    # Where the function is convex, the step is as long as if it were concave with the same curvature.
    bends, axes = np.linalg.eigh(-curvature[np.ix_(free, free)])
    bends = np.maximum(np.abs(bends), 1e-12 + 1e-10 * np.abs(bends).max(initial=0))
    step = np.zeros(len(gradient))
    step[free] = axes @ ((axes.T @ gradient[free]) / bends)
    return step * min(1, _LONGEST / max(np.abs(step).max(initial=0), _LONGEST))


def newton_on_log(part, log_start, bounds):
    """Maximise a function of one positive number by Newton's method on its logarithm.

    Parameters
    ----------
    part : callable
        ``part(h, order=order)`` with h an ndarray of shape (1,) is, for order 0, 1 and 2, the function or its first or
        second derivative with respect to log h. It may return an array, of which the mean is maximised: one entry for
        each draw, as ``word_part`` and ``doc_part`` of `CountHistograms` do.
    log_start : float
    bounds : (float, float)
        Smallest and largest h.

    Returns
    -------
    float
        log h. A bound where the function rises towards it.
    """

    def function(x):
        value, first, second = (float(np.mean(part(np.exp(x), order=order))) for order in range(3))
        return value, np.array([first]), np.array([[second]])

    return newton(function, [log_start], *np.log(bounds)[:, None])[0][0]
