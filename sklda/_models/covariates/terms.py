"""Products with the terms of documents, and solutions of their weighted normal equations.

The columns of one category are disjoint: a document has one level. So their products with each other are zero, and the
equations of all levels are solved by themselves once the other terms are known. This takes a time that is linear in the
number of levels of the largest category, and grows with the cube of the number of other terms.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from sklda._core.parallel import Aligned

# The columns of another category than the largest are kept in a sparse matrix if there are as many of them. Fewer are
# as fast in a dense one.
_MANY = 20
# A part of the second derivatives that is added to them, for equations that rounding would make singular: covariates
# may be combinations of others.
_STABLE = 1e-10


@dataclass(frozen=True, eq=False)
class Terms(Aligned):
    """The distinct x_d, whose first column is all ones.

    Standardised, the column of a level is one constant in most rows. Less this constant it is sparse, and coefficients
    with the intercept of rows that have these constants have the same products with x_d. The order of such *plain*
    columns and coefficients is `order`.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_terms)
    """

    rows: np.ndarray

    @cached_property
    def _constants(self):
        """What each column has in most rows, if it does, (n_terms,)."""
        middle = len(self.rows) // 2
        return np.partition(np.ascontiguousarray(self.rows.T), middle)[:, middle]

    @cached_property
    def _categories(self):
        """Consecutive columns that are disjoint apart from their constants: lists of numbers, the longest first."""
        found, first, taken = [], 1, np.zeros(len(self.rows), bool)
        for j in range(1, self.rows.shape[1]):
            filled = self.rows[:, j] != self._constants[j]
            if (filled & taken).any():
                found.append(np.arange(first, j))
                first, taken = j, filled
            else:
                taken = taken | filled
        return sorted([*found, np.arange(first, self.rows.shape[1])], key=len, reverse=True)

    @cached_property
    def n_levels(self):
        """Number of columns of the largest category; 0 if it has one."""
        return len(self._categories[0]) if len(self._categories[0]) > 1 else 0

    @cached_property
    def _sparse(self):
        largest, *others = self._categories
        kept = [largest[: self.n_levels], *(each for each in others if len(each) >= _MANY)]
        return np.concatenate(kept).astype(int)

    @property
    def n_sparse(self):
        return len(self._sparse)

    @cached_property
    def order(self):
        """The sparse columns, with those of the largest category first; then that of ones, and the others."""
        return np.concatenate([self._sparse, np.setdiff1d(np.arange(self.rows.shape[1]), self._sparse)])

    @cached_property
    def shift(self):
        """The constants of the sparse columns times -1, and zero for the others, in `order`."""
        return np.where(np.arange(len(self.order)) < self.n_sparse, -self._constants[self.order], 0)

    @cached_property
    def sparse(self):
        """The sparse columns less their constants."""
        return csr_array(self.rows[:, self._sparse] - self._constants[self._sparse])

    @cached_property
    def dense(self):
        return np.ascontiguousarray(self.rows[:, self.order[self.n_sparse :]])

    def plain(self, coefficients):
        """The plain coefficients, (n_topics, n_terms)."""
        found = coefficients[:, self.order]
        found[:, self.n_sparse] -= found @ self.shift
        return found

    def predictors(self, coefficients):
        """x . lambda_k, (n_rows, n_topics)."""
        plain = self.plain(coefficients)
        return self.dense @ plain[:, self.n_sparse :].T + self.sparse @ plain[:, : self.n_sparse].T

    def plain_sums(self, values):
        """Sums of the plain columns with weights `values`, (n_rows, n_topics); the result is (n_topics, n_terms)."""
        return np.hstack([(self.sparse.T @ values).T, values.T @ self.dense])

    def sums(self, values):
        """Sums of x with weights `values`."""
        plain = self.plain_sums(values)
        found = np.empty_like(plain)
        found[:, self.order] = plain - plain[:, [self.n_sparse]] * self.shift
        return found


class Curvature:
    """The matrices H = sum_r w_r x_r x_r' + P of some topics, with precisions P on the diagonal.

    In plain coefficients the levels of the largest category have no products with each other, but the prior of the
    intercept is a matrix of rank one. With one more unknown for it, the levels are eliminated.

    Parameters
    ----------
    terms : Terms
    weights : ndarray of shape (n_rows, n_topics)
    precision : ndarray of shape (n_terms,)
    """

    def __init__(self, terms, weights, precision):
        self.terms, self.weights = terms, weights
        n, s, n_terms = terms.n_levels, terms.n_sparse, len(terms.order)
        # Products of levels with the other columns and with the last unknown, and of these with each other.
        border, corner = (np.zeros((weights.shape[1], m, n_terms - n + 1)) for m in (n, n_terms - n + 1))
        if s > n:
            others = terms.sparse[:, n:].T.tocsr()
            for k, own in enumerate(weights.T):
                products = (others @ terms.sparse.multiply(own[:, None]).tocsr()).toarray()
                border[k, :, : s - n], corner[k, : s - n, : s - n] = products[:, :n].T, products[:, n:]
        for j, column in enumerate(terms.dense.T):
            # One product of matrices for all topics.
            own = weights.T @ (terms.dense[:, : j + 1] * column[:, None])
            corner[:, s - n + j, s - n : s - n + j + 1] = corner[:, s - n : s - n + j + 1, s - n + j] = own
            if s:
                products = (terms.sparse.T @ (weights * column[:, None])).T
                border[:, :, s - n + j], corner[:, : s - n, s - n + j] = products[:, :n], products[:, n:]
                corner[:, s - n + j, : s - n] = products[:, n:]
        squares = (terms.sparse[:, :n].power(2).T @ weights).T
        diagonal = np.arange(n_terms - n)
        # Beside the products, what stands on the diagonal.
        self._beside = _STABLE * np.hstack([squares, corner[:, diagonal, diagonal]])
        self._intercept = precision[0]
        self._beside += np.where(terms.order == 0, 0, precision[terms.order])
        # The intercept is the sum of plain coefficients with these weights.
        self._weights = terms.shift + (terms.order == 0)
        corner[:, diagonal, diagonal] += self._beside[:, n:]
        last = np.sqrt(self._intercept) * self._weights
        border[:, :, -1] = last[:n]
        corner[:, -1, :-1] = corner[:, :-1, -1] = last[n:]
        corner[:, -1, -1] = -1
        self._diagonal, self._border, self._corner = squares + self._beside[:, :n], border, corner
        self._shares = border / self._diagonal[:, :, None]
        self._rest = corner - border.transpose(0, 2, 1) @ self._shares

    def solve(self, right):
        """H^-1 right, (n_topics, n_terms)."""
        return self._solve(right[:, self.terms.order] + right[:, :1] * self.terms.shift)

    def _solve(self, plain):
        """The coefficients for right sides in plain columns."""
        terms, n = self.terms, self.terms.n_levels
        rest = np.pad(plain[:, n:], [(0, 0), (0, 1)]) - np.einsum("kjb,kj->kb", self._shares, plain[:, :n])
        solved = np.linalg.solve(self._rest, rest[:, :, None])[:, :, 0]
        levels = plain[:, :n] / self._diagonal - np.einsum("kjb,kb->kj", self._shares, solved)
        found = np.empty_like(plain)
        found[:, terms.order] = np.hstack([levels, solved[:, :-1]])
        found[:, 0] += found[:, terms.order] @ terms.shift
        return found

    def draw(self, rng):
        """A draw from N(0, H^-1) for each topic: the solution for a right side with the covariance H."""
        plain = self.terms.plain_sums(np.sqrt(self.weights) * rng.standard_normal(self.weights.shape))
        plain += np.sqrt(self._beside) * rng.standard_normal(plain.shape)
        plain += np.sqrt(self._intercept) * self._weights * rng.standard_normal((len(plain), 1))
        return self._solve(plain)

    def norms(self, deviations, topics):
        """v'Hv of a deviation of each of some topics, (n_topics,)."""
        plain, n = self.terms.plain(deviations), self.terms.n_levels
        own, others = plain[:, :n], plain[:, n:]
        of_others = (self._corner[topics, :-1, :-1] @ others[:, :, None])[:, :, 0]
        of_both = (self._border[topics, :, :-1] @ others[:, :, None])[:, :, 0]
        found = (own * (self._diagonal[topics] * own + 2 * of_both)).sum(axis=1) + (others * of_others).sum(axis=1)
        return found + self._intercept * deviations[:, 0] ** 2
