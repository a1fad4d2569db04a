"""The largest of many numbers."""

import numpy as np


def largest(scores, n):
    """Indices of the n largest scores, largest first; of equals the smaller index is first."""
    n = min(n, len(scores))
    if n == 0:
        return np.zeros(0, np.intp)
    least = np.partition(scores, len(scores) - n)[len(scores) - n]
    above = np.flatnonzero(scores > least)
    equal = np.flatnonzero(scores == least)[: n - len(above)]
    chosen = np.concatenate([above, equal])
    return chosen[np.lexsort((chosen, -scores[chosen]))]
