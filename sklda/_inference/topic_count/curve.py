"""The log evidence as a smooth curve over the number of topics, from values with errors at some of them."""

import numpy as np
from scipy.special import softmax

# The curve's variance is drawn by its likelihood from these, relative to that with which its slope changes, over the
# whole width, by as much as the values differ.
_VARIANCES = np.geomspace(0.1, 100, 9)


def draw_curves(counts, at, values, stds, n_draws, seed=0):
    """Draws of the curve f(log T) given its values with errors.

    A priori f is a line plus an integrated Wiener process in log T. Given the values, it passes between them as a
    smoothing spline does, and where there are none its error grows with the distance.

    Parameters
    ----------
    counts : ndarray of shape (n_counts,)
        Numbers of topics T, ascending.
    at : ndarray of shape (n_values,)
        The positions in `counts` of those with values.
    values, stds : ndarray of shape (n_values,)
        In nats.
    n_draws : int
    seed : int, default=0

    Returns
    -------
    ndarray of shape (n_draws, n_counts)
    """
    rng = np.random.default_rng(seed)
    x = np.log(counts / counts[0])
    width, range_ = max(x[at].max(), x[-1] / 100, 1e-9), np.ptp(values) + stds.max() + 1e-9
    low, high = np.minimum(x[:, None], x), np.maximum(x[:, None], x)
    wiener = (low**2 * (3 * high - low)) / (6 * width**3)
    wiener += 1e-9 * max(wiener.max(), 1e-9) * np.eye(len(x))
    centre, noise = values.mean(), np.diag(np.maximum(stds, 1e-6 * range_) ** 2)
    scales, solved = _VARIANCES * range_**2, []
    # The line has the largest variance: so large that it says nothing.
    line = np.stack([np.ones(len(x)), x / width], axis=1) * np.sqrt(scales[-1])
    for scale in scales:
        to_all = scale * wiener[at] + line[at] @ line.T
        factor = np.linalg.cholesky(to_all[:, at] + noise)
        whitened = np.linalg.solve(factor, values - centre)
        solved.append((-whitened @ whitened / 2 - np.log(np.diag(factor)).sum(), factor, to_all))
    n_each = rng.multinomial(n_draws, softmax([log_likelihood for log_likelihood, *_ in solved]))
    # A draw given the values is a draw without them, moved by what the values with errors say against it (Matheron).
    free = rng.standard_normal((n_draws, len(x))) @ np.linalg.cholesky(wiener).T
    free *= np.sqrt(np.repeat(scales, n_each))[:, None]
    free += rng.standard_normal((n_draws, 2)) @ line.T
    missed = values - centre - free[:, at] - rng.standard_normal((n_draws, len(at))) @ np.sqrt(noise)
    for part, (_, factor, to_all) in zip(np.split(np.arange(n_draws), np.cumsum(n_each)[:-1]), solved, strict=True):
        whitened = np.linalg.solve(factor, missed[part].T)
        free[part] += whitened.T @ np.linalg.solve(factor, to_all)
    return centre + free
