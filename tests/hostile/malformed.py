"""Sparse matrices whose arrays do not belong together, and labels of documents that are malformed or merely odd."""

import numpy as np
import scipy.sparse as sp

from hostile.corpora import Counts, draw_counts, pd, spoilt_compressed
from sklda import LabeledLDA

FAR = (2**31 - 1, 2**31, 2**32 + 1, 2**40, -(2**31), -(2**32) - 1, -1)


def malformed(draw, clean):
    """Counts of any sparse format with arrays that disagree."""
    full = np.maximum(clean, 1)
    if not full.size or draw.chance(0.5):
        return spoilt_compressed(draw, clean)
    kind, spoil = draw.pick([*_SPOILERS.items()])
    draw.kinds.add(f"malformed: {kind}")
    return Counts(spoil(draw, full), None, f"malformed {kind}")


def _coo(draw, X):
    X = draw.pick([sp.coo_matrix, sp.coo_array])(X)
    far, where = draw.pick(FAR), draw.whole(0, X.nnz - 1)
    rows, columns = (each.astype(np.int64) for each in (X.row, X.col))
    draw.pick([rows, columns])[where] = far
    X.coords = (rows, columns)
    return X


def _coo_short(draw, X):
    X = sp.coo_array(X)
    X.data = X.data[:-1]
    return X


def _dia(draw, X):
    X = draw.pick([sp.dia_matrix, sp.dia_array])(X)
    offsets = X.offsets.astype(np.int64)
    offsets[draw.whole(0, len(offsets) - 1)] = draw.pick([2**31, 2**32, 2**32 + 1, 2**40, -(2**32) - 1, -(2**62)])
    X.offsets = offsets
    return X


def _dia_short(draw, X):
    X = sp.dia_array(X)
    X.offsets = draw.pick([X.offsets[:-1], np.append(X.offsets, 1), X.offsets + 0.5, X.offsets[None]])
    return X


def _lil(draw, X):
    X = draw.pick([sp.lil_matrix, sp.lil_array])(X)
    row = draw.whole(0, X.shape[0] - 1)
    n = len(X.rows[row])
    X.rows[row] = draw.pick([[X.shape[1]] * n, [-1 - X.shape[1]] * n, [0] * (n + 1), [], ["a"] * n, None, 3])
    return X


def _dok(draw, X):
    X = draw.pick([sp.dok_matrix, sp.dok_array])(X)
    X._dict[draw.pick([(X.shape[0], 0), (0, X.shape[1]), (-1, 0), ("a", 0)])] = 1
    return X


def _bsr(draw, X):
    X = sp.bsr_array(X, blocksize=(1, 1))
    n = len(X.indices)
    taller, wider = X.shape[0] + 1, X.shape[1] + 1
    spoil = [
        ("indices", np.full(n, X.shape[1])),
        ("indices", np.full(n, -1)),
        ("indptr", X.indptr[::-1].copy()),
        ("data", np.ones((n, taller, 1), int)),
        ("data", np.ones((n, 1, wider), int)),
        ("data", np.ones((n, 0, 0), int)),
        ("data", np.ones(n, int)),
    ]
    setattr(X, *draw.pick(spoil))
    return X


_SPOILERS = {
    "coo: indices": _coo,
    "coo: short": _coo_short,
    "dia: offsets": _dia,
    "dia: short": _dia_short,
    "lil": _lil,
    "dok": _dok,
    "bsr": _bsr,
}


def labels(draw, session):
    """LabeledLDA with labels that must be refused, or that are the same in an odd form."""
    X = draw_counts(draw, odds=0)
    D = len(X.clean)
    Y = (draw.rng.random((D, draw.pick([2, 3, 5]))) < 0.5).astype(int)
    options = {"n_shared": draw.pick([0, 1]), "n_chains": 1, "burn_in": 1, "n_draws": 1, "random_state": 0}
    options["label_prior"] = draw.pick(["uniform", "frequency"])
    plain = LabeledLDA(**options)
    if session.call(plain.fit, X.given, Y, refuse=X.refuse) is None:
        return
    estimator = LabeledLDA(**options)
    if draw.chance(0.5):
        name, y = draw.pick([*_wrong(draw, Y).items()])
        draw.kinds.add(f"y: {name}")
        before = dict(vars(estimator))
        session.call(estimator.fit, X.given, y, refuse=f"y: {name}")
        session.require(before.keys() == vars(estimator).keys(), "a fit that fails changes nothing")
        session.call(plain.score, X.given, y, refuse=f"y: {name}")
        return
    name, (given, expected) = draw.pick([*_odd(draw, Y).items()])
    draw.kinds.add(f"y: {name}")
    if expected is not Y and session.call(plain.fit, X.given, expected) is None:
        return
    if session.call(estimator.fit, X.given, given) is not None:
        session.require(np.array_equal(estimator.components_, plain.components_), "the form of y does not matter")
        scores = [session.call(plain.score, X.given, y) for y in (given, expected)]
        session.require(scores[0] == scores[1], "the form of y does not matter to the score")


def _wrong(draw, Y):
    """Labels that must be refused, by name."""
    D = len(Y)
    names = np.where(Y[:, 0] > 0, "a", "b").astype(object)
    place = draw.whole(0, D - 1)
    gap = draw.pick([None, np.nan, np.datetime64("NaT", "s"), *([pd.NA, pd.NaT] if pd is not None else [])])
    gappy = names.copy()
    gappy[place] = gap
    dates = np.full(D, "2020", "M8[s]")
    dates[place] = "NaT"
    matrix = Y.astype(object)
    matrix[place, 0] = draw.pick([gap, "1", 2, -1, 0.5, [1]])
    ragged = np.empty(D, object)
    ragged[:] = [[1]] * D
    found = {
        "malformed": malformed(draw, Y).given,
        "malformed again": malformed(draw, Y).given,
        "a gap": gappy,
        "a date is missing": dates,
        "an entry that is no label": matrix,
        "lists": ragged,
        "masked": np.ma.masked_array(Y, np.eye(*Y.shape) > 0),
        "one sparse dimension": sp.coo_array(Y[:, 0]),
        "records": np.zeros(D, [("a", int)]),
        "rows": np.vstack([Y, Y[:1]]),
        "complex": Y.astype(complex),
        "too wide": sp.csr_array((D, 2**40), dtype=int),
    }
    if pd is not None:
        frame = pd.DataFrame(Y).astype(draw.pick(["Int64", "boolean", "Float64"]))
        frame.iloc[place, 0] = pd.NA
        found["a nullable column with a gap"] = draw.pick([frame, frame[0]])
    return found


def _odd(draw, Y):
    """Pairs of labels that mean the same, by name; the second is plain."""
    swapped = sp.csr_array(Y)
    swapped.data = swapped.data.astype(draw.pick([">i2", ">u8", ">f4", np.float16, "int8"]))
    turned = sp.csr_array(Y)
    turned.has_canonical_format  # noqa: B018
    for row in range(len(Y)):
        own = slice(*turned.indptr[row : row + 2])
        turned.indices[own] = turned.indices[own][::-1].copy()
    found = {
        "other types in a sparse matrix": (swapped, Y),
        "unsorted": (turned, Y),
        "other types": (Y.astype(draw.pick([">i4", ">f8", "float16", "longdouble", bool, object])), Y),
        "sparse": (draw.pick([sp.lil_matrix, sp.dok_array, sp.dia_array, sp.bsr_array, sp.csc_matrix])(Y), Y),
        "numbers as objects": (Y[:, 0].astype(object), Y[:, 0]),
        "one sparse column": (sp.csr_array(Y[:, :1]), sp.csc_array(Y[:, :1])),
    }
    if pd is not None:
        frame = pd.DataFrame(Y).astype(draw.pick(["Int64", "boolean", "UInt8", "Float64"]))
        found["nullable columns"] = (frame, Y)
        found["a nullable column"] = (pd.Series(Y[:, 0], dtype="Int64"), Y[:, 0])
    return found


CASES = {"malformed labels": labels}
