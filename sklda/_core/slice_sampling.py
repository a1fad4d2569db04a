"""A slice step on the logarithm of a positive value (Neal 2003)."""

import numpy as np

# Width of the first interval of a slice step, in the logarithm. It affects the time of a step, not the distribution.
_SLICE_WIDTH = 1.0


def slice_on_log(rng, value, log_density, bounds):
    """One slice step on x = log of a positive value, within bounds.

    The interval grows by steps to both sides and shrinks to the present value (Neal 2003).

    Parameters
    ----------
    rng : numpy.random.Generator
    value : float
    log_density : callable
        Log density of x, up to a constant.
    bounds : pair of float
        Of the value.

    Returns
    -------
    float
        The new value.
    """
    # Floats of Python, which take a fraction of the time of those of NumPy.
    low, high = np.log(bounds).tolist()
    x = float(np.log(value))
    level = log_density(x) - rng.standard_exponential()
    left = x - rng.random() * _SLICE_WIDTH
    right = left + _SLICE_WIDTH
    while left > low and log_density(left) > level:
        left -= _SLICE_WIDTH
    while right < high and log_density(right) > level:
        right += _SLICE_WIDTH
    left, right = max(left, low), min(right, high)
    while True:
        new = rng.uniform(left, right)
        if log_density(new) >= level:
            return float(np.exp(new))
        left, right = (new, right) if new < x else (left, new)
