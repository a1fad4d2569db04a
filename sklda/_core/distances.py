"""Jensen-Shannon distances between distributions: square roots of the divergences in bits, from 0 to 1."""

import numpy as np
from scipy.special import rel_entr

from sklda._input.memory import check_memory

# Elements of the arrays of a block of columns, which stay in the cache, and its most columns: longer sums in single
# precision would be less exact.
_BLOCK, _COLUMNS = 1 << 17, 1024


def jensen_shannon(a, b=None, *, dtype=np.float64):
    """Distances of all rows of `a` from all rows of `b`.

    Parameters
    ----------
    a : ndarray of shape (n, m)
        Rows that sum to one.
    b : ndarray of shape (l, m), default=None
        None: `a`. The result is then symmetric, with zeros on the diagonal.
    dtype : dtype, default=float64
        Precision of the logarithms. Single precision takes a third of the time. Its error is below 1e-3 for equal rows,
        and below 1e-5 for distances from 0.1.

    Returns
    -------
    ndarray of shape (n, l)
    """
    same = b is None
    n, n_others = len(a), len(a if same else b)
    check_memory(8 * n * n_others, f"distances of {n} rows from {n_others} need at least", "Give fewer of them.")
    # No logarithm of zero.
    a = np.maximum(a, np.finfo(np.float32).tiny, dtype=dtype)
    b = a if same else np.maximum(b, np.finfo(np.float32).tiny, dtype=dtype)
    bits = np.ones((len(a), len(b)))
    width = min(max(_BLOCK // max(len(b), 1), 1), _COLUMNS)
    for start in range(0, a.shape[1], width):
        block, other = a[:, start : start + width], np.ascontiguousarray(b[:, start : start + width])
        both, logs = np.empty_like(other), np.empty_like(other)
        bits += (_information(block, np.log2(block))[:, None] + _information(other, np.log2(other))) / 2
        for i, topic in enumerate(block):
            # Of equal sets, each pair once.
            rest = slice(i + 1 if same else 0, None)
            np.log2(np.add(topic, other[rest], out=both[rest]), out=logs[rest])
            bits[i, rest] -= _information(both[rest], logs[rest]) / 2
    # Rounding errors may leave the range.
    np.clip(bits, 0, 1, out=bits)
    np.sqrt(bits, out=bits)
    return np.triu(bits, 1) + np.triu(bits, 1).T if same else bits


def jensen_shannon_pairs(a, b):
    """Distance of each row of `a` from the row of `b` in its place, (n,); one of them can be a single row."""
    middle = (a + b) / 2
    bits = (rel_entr(a, middle) + rel_entr(b, middle)).sum(axis=-1) / (2 * np.log(2))
    return np.sqrt(np.clip(bits, 0, 1))


def _information(p, logs):
    """Sum over columns of p log p, one for each row."""
    return np.einsum("kv,kv->k", p, logs)
