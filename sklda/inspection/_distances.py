"""Jensen-Shannon distances between distributions."""

import numpy as np
from scipy.special import xlogy


def topic_distances(distributions):
    """Square roots of the Jensen-Shannon divergences, in bits, of all pairs of rows; they lie between 0 and 1.

    Parameters
    ----------
    distributions : ndarray of shape (n, m)
        Rows that sum to one.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric, with zeros on the diagonal.
    """
    n = len(distributions)
    divergence = np.zeros((n, n))
    negentropy = xlogy(distributions, distributions).sum(axis=1)
    for i in range(n - 1):
        rest = distributions[i + 1 :]
        # Blocks of rows, so that no array has more than 2^24 entries.
        blocks = np.array_split(rest, max(1, -(-rest.size // 2**24)))
        middle = np.concatenate([_middle(distributions[i], block) for block in blocks])
        divergence[i, i + 1 :] = (negentropy[i] + negentropy[i + 1 :]) / 2 - middle
    # Rounding errors may leave the range.
    distance = np.sqrt(np.clip(divergence / np.log(2), 0, 1))
    return distance + distance.T


def _middle(row, block):
    """Sum of m log m over columns, for the mean m of `row` and every row of `block`."""
    mean = (block + row) / 2
    return xlogy(mean, mean).sum(axis=1)
