"""Which tokens topics of two fits share: how each topic came about, and an order in which flows cross little."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

CHANGES = "stays", "part", "joined", "new"
# A topic is the same one, or a part of one, if more than this part of the tokens says so.
MOST = 0.5
# Sweeps of the order from the first fit to the last and back.
_SWEEPS = 12


def shared_tokens(a: np.ndarray, b: np.ndarray, n_a: int, n_b: int) -> np.ndarray:
    """Numbers of tokens in each topic of one fit and each of another, (n_a, n_b); tokens without a topic have -1."""
    known = (a >= 0) & (b >= 0)
    places = a[known].astype(np.int64) * n_b + b[known]
    return np.bincount(places, minlength=n_a * n_b).reshape(n_a, n_b)


def origins(shared: np.ndarray) -> dict[str, list]:
    """How each topic of a fit came about of the topics of the fit before: columns, each with a value for each topic.

    ``parent`` is the topic before that gives it the most tokens, or None if it has no tokens; ``from_parent`` is their
    part of its tokens, and ``of_parent`` their part of the tokens of the parent.
    """
    sizes, totals = shared.sum(axis=1), shared.sum(axis=0)
    parents = shared.argmax(axis=0)
    given = shared[parents, np.arange(shared.shape[1])]
    from_parent = given / np.maximum(totals, 1)
    of_parent = given / np.maximum(sizes[parents], 1)
    # Topics that have most of the tokens of one before.
    takes = (shared > MOST * sizes[:, None]).any(axis=0)
    kinds = np.where(from_parent > MOST, np.where(of_parent > MOST, "stays", "part"), np.where(takes, "joined", "new"))
    has_tokens = totals > 0
    return {
        "change": np.where(has_tokens, kinds, "").tolist(),
        "parent": [int(k) if known else None for k, known in zip(parents, has_tokens, strict=True)],
        "from_parent": np.where(has_tokens, from_parent, np.nan).tolist(),
        "of_parent": np.where(has_tokens, of_parent, np.nan).tolist(),
    }


def orders(shared: Sequence[np.ndarray], first: np.ndarray) -> list[np.ndarray]:
    """An order of the topics of every fit, in which shared tokens cross little; `first` has the sizes of the first.

    Each topic goes to the mean place of the tokens that it shares with the fit before, then with the fit behind, and so
    on. The best order of all sweeps is taken (Sugiyama, Tagawa & Toda 1981).
    """
    found = [np.argsort(-first, kind="stable")]
    for counts in shared:
        found.append(_beside(counts, found[-1]))
    best, least = found, _crossings(shared, found)
    for _ in range(_SWEEPS):
        found = list(found)
        for i in range(len(shared) - 1, -1, -1):
            found[i] = _beside(shared[i].T, found[i + 1])
        for i, counts in enumerate(shared):
            found[i + 1] = _beside(counts, found[i])
        crossings = _crossings(shared, found)
        if crossings < least:
            best, least = found, crossings
    return best


def _beside(counts: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The topics of a fit, by the mean places of their tokens in the topics of another fit, which are in an order."""
    sizes = counts.sum(axis=1)[order]
    places = np.empty(len(order))
    places[order] = np.cumsum(sizes) - sizes / 2
    totals = counts.sum(axis=0)
    # Topics without tokens are the last.
    means = np.where(totals > 0, places @ counts / np.maximum(totals, 1), np.inf)
    return np.argsort(means, kind="stable")


def _crossings(shared: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> float:
    """The number of pairs of tokens whose lines cross."""
    total = 0.0
    for counts, (rows, columns) in zip(shared, pairwise(found), strict=True):
        own = counts[np.ix_(rows, columns)].astype(np.float64)
        # Of each entry, those in later rows and earlier columns.
        below = own[::-1].cumsum(axis=0)[::-1] - own
        before = below.cumsum(axis=1) - below
        total += float((own * before).sum())
    return total
