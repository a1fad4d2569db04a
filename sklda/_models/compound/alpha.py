"""alpha of compound LDA: its bounds and first value, and a slice step for it."""

from numbers import Real

import numpy as np
from scipy.special import gammaln

from sklda._core.slice_sampling import slice_on_log

# The Gamma prior of alpha is cut off at these values.
DRAWN_ALPHA = (1e-6, 1e6)
# What has a Gamma prior begins at its mean, within these bounds.
_FIRST = (1e-3, 1e3)


def first_of_pair(given, name):
    """The first value of what has the Gamma prior of a tuple (shape, rate): its mean, within bounds."""
    if len(given) != 2 or not all(isinstance(each, Real) and 0 < each < np.inf for each in given):
        raise ValueError(f"{name} = {given!r}: a Gamma prior is a pair (shape, rate), both positive.")
    return float(np.clip(given[0] / given[1], *_FIRST))


def draw_alpha(rng, alpha, log_pi, shape, rate):
    """alpha given pi under a Gamma(shape, rate) prior, cut off at `DRAWN_ALPHA`: one slice step on log alpha."""
    J, K = log_pi.shape
    total = log_pi.sum()

    def log_density(x):
        a = np.exp(x)
        return J * (gammaln(K * a) - K * gammaln(a)) + a * total + shape * x - rate * a

    return slice_on_log(rng, alpha, log_density, DRAWN_ALPHA)
