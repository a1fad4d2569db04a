"""Matrices of counts in every container, and things that are not."""

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from hostile.values import DTYPES

try:
    import pandas as pd
except ImportError:  # pragma: no cover
    pd = None


@dataclass
class Counts:
    """The argument X.

    Attributes
    ----------
    given : object
    clean : ndarray of int64 (n_documents, n_features) or None
        What it says; None where it says nothing that a corpus could be.
    refuse : str or None
        Why it must be refused.
    """

    given: object
    clean: np.ndarray | None
    refuse: str | None = None


def draw_counts(draw, n_features=None, n_documents=None, *, long=False, odds=0.08):
    """Counts, with probability `odds` spoilt or no counts at all; `long`: a document may have 65,600 tokens."""
    clean = _clean(draw, n_documents, n_features, long)
    draw.kinds |= set(_shapes(clean))
    if draw.wrong(odds):
        # It imports this module.
        from hostile.malformed import malformed

        spoil, name = draw.pick(
            [*[(_spoilt, "no count")] * 2, *[(malformed, "malformed")] * 2, (_no_matrix, "no matrix")]
        )
        draw.kinds.add(f"X: {name}")
        return spoil(draw, clean)
    dtype = draw.pick(DTYPES)
    draw.kinds.add(f"dtype: {dtype}")
    if dtype == "bool":
        clean = np.minimum(clean, 1)
    elif dtype == "object":
        pass
    else:
        clean = np.minimum(clean, {"int8": 127, "uint8": 255, "float16": 2048, "int16": 2**15 - 1}.get(dtype, 65535))
    typed = clean.astype(dtype)
    return Counts(draw.pick(CONTAINERS)(draw, typed), clean, None if clean.size else "no documents or no words")


def _shapes(X):
    """Special shapes of a matrix of counts."""
    if not X.size:
        yield "shape: no documents or no words"
        return
    if X.shape[0] == 1:
        yield "shape: one document"
    if X.shape[1] == 1:
        yield "shape: one word"
    if not X.any(axis=1).all():
        yield "shape: a document without words"
    if X.sum(axis=1).max() > 65535:
        yield "shape: a document of 65,600 tokens"


def _clean(draw, n_documents, n_features, long):
    D = draw.pick([1, 2, 3, 4, 6, 6, 70]) if n_documents is None else n_documents
    V = draw.pick([1, 2, 3, 5, 8, 8, 20]) if n_features is None else n_features
    if draw.wrong(0.02):
        D, V = draw.pick([(0, V), (D, 0), (0, 0)])
    X = draw.rng.poisson(draw.pick([0.1, 0.5, 2.0]), (D, V))
    if D and V:
        X[draw.rng.random(D) < 0.1] = 0
        X[:, draw.rng.random(V) < 0.1] = 0
        if not draw.wrong(0.05) and not X.any():
            X[-1, draw.whole(0, V - 1)] = 1
        if draw.chance(0.1):
            X[draw.whole(0, D - 1), draw.whole(0, V - 1)] = draw.pick([100, 130, 300, 2000 if long else 300])
        if long and draw.chance(0.01):
            X[draw.whole(0, D - 1), draw.whole(0, V - 1)] = 65600
    return X.astype(np.int64)


def _spoilt(draw, clean):
    """One entry that is not a count."""
    if not clean.size:
        return Counts(clean, clean, "empty")
    bad = draw.pick([-1, -0.5, np.nan, np.inf, -np.inf, 0.5, 1e-300, 2.0**31, 2.0**53, 1e300, 2.5])
    X = clean.astype(np.float64)
    X.flat[draw.whole(0, X.size - 1)] = bad
    return Counts(draw.pick(CONTAINERS)(draw, X), None, f"holds {bad}")


def spoilt_compressed(draw, clean):
    """A compressed matrix whose arrays disagree."""
    form = draw.pick([sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array])
    X = form(np.maximum(clean, 1).astype(draw.pick(["int64", "int32", "float64", "uint8"])))
    if not X.nnz:
        return Counts(X, clean, "empty")
    where, limit = draw.whole(0, X.nnz - 1), X.shape[1] if X.format == "csr" else X.shape[0]
    indices, indptr = X.indices.copy(), X.indptr.copy()
    kind = draw.pick(["beyond", "far beyond", "negative", "falls", "begins late", "ends early", "ends late", "short"])
    if kind == "short":
        X.data = X.data[:-1]
    elif kind in ("beyond", "far beyond", "negative"):
        indices[where] = {"beyond": limit, "far beyond": 2**31 - 1, "negative": -1 - draw.whole(0, 5)}[kind]
        X.indices = indices
    else:
        at, value = {
            "falls": (draw.whole(0, len(indptr) - 2), X.nnz + draw.pick([1, 10**6])),
            "begins late": (0, draw.pick([1, -1])),
            # With one column, zero says that nothing of the data is used, which is allowed.
            "ends early": (-1, draw.pick([-1, -(10**6), 0 if indptr[-2] else -1])),
            "ends late": (-1, X.nnz + draw.pick([1, 10**6])),
        }[kind]
        indptr[at] = value
        X.indptr = indptr
    return Counts(X, None, f"malformed {X.format}: {kind}")


def _no_matrix(draw, clean):
    """Not a matrix of numbers."""
    D = len(clean)
    made = draw.pick(
        [
            lambda: ["a b a", "b c"],
            lambda: np.array([["a", "b"]]),
            lambda: [[1, None], [2, 3]],
            lambda: [[1, 2], [3]],
            lambda: None,
            lambda: 3,
            lambda: "text",
            lambda: {"a": 1},
            lambda: [],
            lambda: [[]],
            lambda: clean[None],
            lambda: clean.astype(complex),
            lambda: clean.astype("datetime64[s]"),
            lambda: (row for row in clean),
            lambda: np.zeros((D, 2), dtype=[("a", int), ("b", int)]),
            lambda: object(),
            lambda: pd.Series(["a b", "b"], index=[5, 7]) if pd is not None else "text",
            lambda: pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}) if pd is not None else "text",
        ]
    )()
    return Counts(made, None, "no matrix of counts")


def _duplicates(draw, X):
    """CSR of which some entries come in two parts, in no order."""
    draw.kinds.add("format: CSR with duplicates")
    with np.errstate(invalid="ignore"):
        parts = X // 2 if X.dtype.kind in "iuf" else np.zeros_like(X)
        rest = X - parts if X.dtype.kind in "iuf" else X
    kept = [part.nonzero() for part in (parts, rest)]
    rows, columns = (np.concatenate(each) for each in zip(*kept, strict=True))
    data = np.concatenate([part[where] for part, where in zip((parts, rest), kept, strict=True)])
    order = draw.rng.permutation(len(rows))
    order = order[np.argsort(rows[order], kind="stable")]
    indptr = np.searchsorted(rows[order], np.arange(len(X) + 1))
    return sp.csr_matrix((data[order], columns[order], indptr), shape=X.shape)


def _sparse(form):
    def make(draw, X):
        if X.dtype.kind == "O" or X.dtype in (np.float16, np.longdouble):
            X = X.astype(np.float64)
        X = form(X)
        if X.format in ("csr", "csc") and draw.chance(0.5):
            X.indices, X.indptr = (each.astype(draw.pick([np.int32, np.int64])) for each in (X.indices, X.indptr))
        if X.format == "csr" and draw.chance(0.3):
            draw.kinds.add("read-only")
            for array in (X.data, X.indices, X.indptr):
                array.flags.writeable = False
        elif X.format in ("csr", "csc") and draw.chance(0.1):
            X.data, X.indices, X.indptr = (draw.mapped(each) for each in (X.data, X.indices, X.indptr))
        draw.kinds.add(f"format: {type(X).__name__}")
        return X

    return make


def _compressed(make):
    def made(draw, X):
        if X.dtype.kind == "O" or X.dtype in (np.float16, np.longdouble):
            X = X.astype(np.float64)
        return make(draw, X)

    return made


def _frame(draw, X):
    if pd is None:
        return X
    frame = pd.DataFrame(X.astype(np.float64 if X.dtype in (np.float16, np.longdouble) else X.dtype))
    frame.index = draw.rng.permutation(len(frame)) + 5
    if draw.chance(0.5):
        frame.columns = [f"w{v}" for v in range(X.shape[1])]
    kind = draw.pick(["numpy", "Int64", "Sparse"]) if X.dtype.kind in "iu" else "numpy"
    draw.kinds.add(f"format: DataFrame, {kind}")
    if kind == "Int64":
        frame = frame.astype("Int64")
    elif kind == "Sparse":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = frame.astype(pd.SparseDtype(X.dtype, 0))
    return frame


def _explicit_zeros(draw, X):
    draw.kinds.add("format: CSR with explicit zeros")
    D, V = X.shape
    return sp.csr_array((X.ravel(), np.tile(np.arange(V), D), np.arange(D + 1) * V), shape=X.shape)


def _other_byte_order(draw, X):
    if X.dtype.kind not in "iuf" or X.dtype.itemsize > 8:
        return X
    draw.kinds.add("format: the other byte order")
    return X.byteswap().view(X.dtype.newbyteorder())


CONTAINERS = [
    lambda draw, X: draw.layout(X),
    lambda draw, X: draw.layout(X),
    lambda draw, X: draw.kinds.add("format: list") or X.tolist(),
    lambda draw, X: draw.kinds.add("not contiguous") or np.asfortranarray(X),
    _other_byte_order,
    lambda draw, X: draw.mapped(X),
    _frame,
    _frame,
    _compressed(_duplicates),
    _compressed(_explicit_zeros),
    *map(_sparse, (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array, sp.coo_matrix, sp.coo_array)),
    *map(_sparse, (sp.dok_array, sp.lil_matrix, sp.dia_array, sp.bsr_array)),
    lambda draw, X: draw.kinds.add("format: masked array") or np.ma.masked_array(X),
]
