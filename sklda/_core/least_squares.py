"""The solver of all linear models: least squares and logistic regressions by QR of scaled columns, and what has none.

Columns may be dates in nanoseconds, populations, or years beside their squares. In an orthonormal basis of their span
none of this matters: what is fitted there is the same for every unit and origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import linprog
from scipy.special import expit, log_expit

# A column is a combination of others if its distance from their span is at most this part of its spread: that of
# rounding errors of double precision, with some for powers of years.
NEAREST = 1e-10
# Values of a column that differ by this part of their size differ by rounding.
_ROUNDING = 1e-14
# The largest value of a term, and the inverse of the smallest: its squares are summed.
_LARGEST = 1e100
# Newton's steps of a logistic regression, and the change of the log odds at which they end. Regressions that have a
# maximum take about ten; those without have steps of one at least.
_MOST_STEPS, _PRECISION = 30, 1e-8
# HiGHS has solutions with errors of 1e-7: differences of the two outcomes that are not larger are none.
_APART = 1e-5


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a linear model in an orthonormal basis.

    Attributes
    ----------
    basis : ndarray of shape (n_documents, n_columns)
        With the weights of the documents, of mean one, it is orthonormal: ``basis.T @ (weights * basis) = I``.
    weighted : ndarray of shape (n_documents, n_columns)
        The basis by the weights.
    triangle : ndarray of shape (n_columns, n_columns)
        The columns, divided by their `size`, are ``basis @ triangle``.
    size : ndarray of shape (n_columns,)
    """

    basis: np.ndarray
    weighted: np.ndarray
    triangle: np.ndarray
    size: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray, weights: np.ndarray | None = None) -> Self:
        """The columns of a matrix. One that is a combination of those before it has a coefficient of zero."""
        roots = np.ones((len(matrix), 1)) if weights is None else np.sqrt(weights / weights.mean())[:, None]
        size = nonzero(np.abs(matrix).max(axis=0, initial=0))
        q, r = np.linalg.qr(roots * (matrix / size))
        diagonal = np.abs(np.diagonal(r))
        lost = diagonal <= _ROUNDING * diagonal.max(initial=0)
        q[:, lost], r[lost, lost] = 0, 1
        return cls(q / roots, roots * q, r, size)

    def in_basis(self, combinations: np.ndarray) -> np.ndarray:
        """Combinations of coefficients (n_combinations, n_columns) in the basis, (n_columns, n_combinations)."""
        return np.asarray(solve_triangular(self.triangle, (combinations / self.size).T, trans="T"))

    def coefficients(self, in_basis: np.ndarray) -> np.ndarray:
        """The coefficients of the columns from those in the basis, (n_columns,)."""
        return np.asarray(solve_triangular(self.triangle, in_basis)) / self.size

    def least_squares(self, outcome: np.ndarray) -> np.ndarray:
        """Coefficients of the columns by least squares, (n_columns,)."""
        return self.coefficients(self.weighted.T @ outcome)

    def logistic(self, outcome: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """Coefficients in the basis of a logistic regression of an `outcome` of 0 and 1; None if it has no maximum."""
        weights = np.ones(len(outcome)) if weights is None else weights / weights.mean()
        columns, found = self.basis, np.zeros(self.basis.shape[1])
        sign = np.where(outcome > 0.5, 1.0, -1.0)

        def likelihood(coefficients):
            return weights @ log_expit(sign * (columns @ coefficients))

        before = likelihood(found)
        for _ in range(_MOST_STEPS):
            mean = expit(columns @ found)
            spread = np.sqrt(weights * mean * (1 - mean))
            q, r = np.linalg.qr(spread[:, None] * columns)
            diagonal = np.abs(np.diagonal(r))
            if diagonal.min() <= NEAREST * diagonal.max():
                return None
            rest = np.where(spread > 0, weights * (outcome - mean) / nonzero(spread), 0)
            step = solve_triangular(r, q.T @ rest)
            after = likelihood(found + step)
            while after < before - 1e-9 * abs(before) and np.abs(columns @ step).max() > _PRECISION:
                step = step / 2
                after = likelihood(found + step)
            found, before = found + step, after
            if np.abs(columns @ step).max() < _PRECISION:
                return found
        return None

    def separation(self, outcome: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Coefficients of columns whose sum tells outcomes apart, and the documents that it tells apart, or None.

        The likelihood of a logistic regression has no maximum if and only if there is a combination of the columns that
        is nowhere smaller than zero for outcomes of one, nowhere larger for those of zero, and not zero everywhere
        (Albert & Anderson 1984). A linear program finds it (Konis 2007).
        """
        signed = np.where(outcome > 0.5, 1.0, -1.0)[:, None] * self.basis * np.sqrt(len(self.basis))
        found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1), method="highs")
        if found.x is None:
            return None
        apart = signed @ found.x > _APART
        return (self.coefficients(found.x), apart) if apart.any() else None


def checked_columns(
    matrix: np.ndarray, terms: Sequence[str], advice: str, nearest: np.ndarray | float = NEAREST
) -> np.ndarray:
    """The columns, after checks that a linear model of them has one solution, and residuals."""
    n_documents, n_columns = matrix.shape
    if n_documents <= n_columns:
        raise ValueError(f"{n_documents} documents do not determine {n_columns} coefficients: give fewer terms.")
    largest = np.abs(matrix).max(axis=0)
    for term, size in zip(terms, largest, strict=True):
        if size > _LARGEST or 0 < size < 1 / _LARGEST:
            raise ValueError(f"the term {term!r} has values too large or too small: give it in another unit.")
    if not largest.all():
        raise ValueError(
            f"the term {terms[int(np.argmin(largest))]!r} is zero for all documents that take part, as that of a level "
            "that none of them has. Leave it out; pandas has cat.remove_unused_categories() for such levels."
        )
    j = collinear(matrix, nearest)
    if j is not None and is_constant(matrix[:, j]):
        raise ValueError(
            f"the term {terms[j]!r} is {matrix[0, j]:.12g} for all documents that take part, so it has no effect that "
            "can be told from the intercept. Leave it out."
        )
    if j is not None:
        raise ValueError(
            f"the term {terms[j]!r} is a combination of the terms before it, so it has no effect of its own. {advice}"
        )
    return matrix


def collinear(matrix: np.ndarray, nearest: np.ndarray | float = NEAREST) -> int | None:
    """The first column that is a combination of those before it and of a constant one; None if there is none.

    A column is one if its distance from their span is at most the part `nearest` of its spread.
    """
    constant = np.ptp(matrix, axis=0) == 0
    columns = np.where(constant, matrix, _centred(matrix)) if constant.any() else matrix
    distance = np.abs(np.diagonal(np.linalg.qr(_of_unit_length(columns), mode="r")))
    bad = np.ones(matrix.shape[1], bool)
    bad[: len(distance)] = distance <= np.broadcast_to(nearest, len(bad))[: len(distance)]
    return int(np.argmax(bad)) if bad.any() else None


def spans(base: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Which columns of `matrix` are combinations of the columns `base` and ones, (n_columns,)."""
    base, rest = (_of_unit_length(_centred(each.astype(np.float64))) for each in (base, matrix))
    basis, values, _ = np.linalg.svd(base, full_matrices=False)
    basis = basis[:, values > NEAREST * values.max(initial=1)]
    return np.asarray((np.abs(rest - basis @ (basis.T @ rest)) < 1e-8).all(axis=0))


def sum_to_one(matrix: np.ndarray) -> np.ndarray | None:
    """Coefficients of columns that sum up to one, as an intercept or the indicators of all levels; None if none do."""
    ones = np.flatnonzero((matrix == 1).all(axis=0))
    if len(ones):
        return np.eye(matrix.shape[1])[ones[0]]
    found = Columns.of(matrix).least_squares(np.ones(len(matrix)))
    return found if np.allclose(matrix @ found, 1) else None


def is_constant(values: np.ndarray) -> bool:
    """Whether values are the same, apart from rounding."""
    return bool(np.ptp(values) <= _ROUNDING * np.abs(values).max(initial=0))


def combination_of(columns: np.ndarray, coefficients: np.ndarray, names: Sequence[str]) -> str:
    """The names of the terms that have a part in a combination, for a message."""
    parts = np.abs(coefficients) * (columns - columns.mean(axis=0)).std(axis=0)
    most = parts.max(initial=0)
    shown = [repr(name) for name, part in zip(names, parts, strict=True) if part > 1e-6 * most]
    return ", ".join(shown[:5]) + (f" and {len(shown) - 5} more" if len(shown) > 5 else "")


def _centred(matrix):
    """The columns less their means; zero where that is rounding."""
    found = matrix - matrix.mean(axis=0)
    return np.where([is_constant(column) for column in matrix.T], 0, found) if matrix.shape[1] else found


def _of_unit_length(matrix):
    scaled = matrix / nonzero(np.abs(matrix).max(axis=0, initial=0))
    return scaled / nonzero(np.sqrt((scaled**2).sum(axis=0)))


def nonzero(sizes):
    """Sizes to divide by: one in place of zero."""
    return np.where(sizes > 0, sizes, 1)
