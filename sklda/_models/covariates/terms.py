"""Products with the terms of documents, and solutions of their weighted normal equations.

The columns of one category are disjoint: a document has one level. So their products with each other are zero, and the
equations of all levels are solved by themselves once the other terms are known. This takes a time that is linear in the
number of levels of the largest category, and grows with the cube of the number of other terms.

Another category with 20 levels or more is *crossed* with the largest one. Its coefficients are found by conjugate
gradients, from equations in which all others are eliminated. A product with them takes a time that is linear in the
number of pairs of levels that occur together, and about ten are enough where most levels occur with many others. The
equations that need too many products are solved as a whole.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array, vstack

from sklda._core.parallel import Aligned

# A category with as many columns is crossed with the largest one. With fewer, its columns are dense as those of
# numbers: iterations take longer than equations of this size.
_MANY = 20
# Conjugate gradients end when the residual is this part of the first one, in the norm of the diagonal. Draws need it:
# the error is that of rounding. Newton's method corrects the error of one step in the next.
_SMALL, _SMALL_FOR_NEWTON = 1e-12, 1e-6
# Equations that they have not solved after this number of steps are made and solved as a whole. It comes to this if
# levels that occur together are few, as with months in which few sources overlap, and the prior is weak.
_MOST_STEPS = 100
# A part of the second derivatives that is added to them, for equations that rounding would make singular: covariates
# may be combinations of others.
_STABLE = 1e-10


@dataclass(frozen=True, eq=False)
class Terms(Aligned):
    """The distinct x_d, whose first column is all ones.

    A column of levels or of products with them is one constant in most rows: zero, or another number if it was
    standardised. Less this constant it is sparse, and coefficients with the intercept of rows that have these constants
    have the same products with x_d. The order of such *plain* columns and coefficients is `order`.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_terms)
    """

    rows: np.ndarray

    @cached_property
    def _constants(self):
        """What each column has in most rows, if it does, (n_terms,); zero for a level, which may be in most rows."""
        middle, is_level = len(self.rows) // 2, ((self.rows == 0) | (self.rows == 1)).all(axis=0)
        return np.where(is_level, 0, np.partition(np.ascontiguousarray(self.rows.T), middle)[:, middle])

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
        """The columns that are kept in sparse matrices: those of the largest category, and of the crossed ones."""
        largest, *others = self._categories
        return np.concatenate([largest[: self.n_levels], *(each for each in others if len(each) >= _MANY)]).astype(int)

    @property
    def n_crossed(self):
        """Number of columns of the crossed categories."""
        return self.n_sparse - self.n_levels

    @property
    def n_sparse(self):
        return len(self._sparse)

    @cached_property
    def order(self):
        """The sparse columns, then that of ones, and the others."""
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
    def columns(self):
        """The same as rows, for sums over documents."""
        return csr_array(self.sparse.T)

    @cached_property
    def columns_and_squares(self):
        """The same, and below them their squares: both have sums in one product."""
        return vstack([self.columns, self.columns.power(2)], format="csr")

    @cached_property
    def crossings(self):
        """Products of the columns of the largest category with the crossed ones."""
        return Crossings.of(self.sparse[:, : self.n_levels], self.sparse[:, self.n_levels :])

    @cached_property
    def crossings_of_others(self):
        """Products of crossed columns with each other, without squares; None for one crossed category."""
        own = self.sparse[:, self.n_levels :]
        found = Crossings.of(own, own, squares=False)
        return found if len(found.first) else None

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
        return np.hstack([(self.columns @ values).T, values.T @ self.dense])

    def sums(self, values):
        """Sums of x with weights `values`."""
        return self.of_plain_sums(self.plain_sums(values))

    def of_plain_sums(self, plain):
        """Sums of x from those of the plain columns."""
        found = np.empty_like(plain)
        found[:, self.order] = plain - plain[:, [self.n_sparse]] * self.shift
        return found


@dataclass(frozen=True, eq=False)
class Crossings:
    """The pairs of columns of two sparse matrices with rows that both have, for sums of weighted products.

    Attributes
    ----------
    first, second : ndarray of shape (n_pairs,), int32
        The columns of each pair, sorted by the first.
    products : csr_array of shape (n_pairs, n_rows)
    shape : tuple of (int, int)
        Numbers of columns.
    """

    first: np.ndarray
    second: np.ndarray
    products: csr_array
    shape: tuple[int, int]

    @classmethod
    def of(cls, left, right, squares=True):
        """Without `squares`, pairs of a column with itself are left out."""
        left, right = csc_array(left), csr_array(right)
        n_rows = left.shape[0]
        # One entry for each row and column of `left`, and from this one for each column of `right` in the row.
        columns, rows = np.repeat(np.arange(left.shape[1]), np.diff(left.indptr)), left.indices
        numbers = np.diff(right.indptr)[rows]
        entry = np.repeat(np.arange(len(rows)), numbers)
        place = np.arange(len(entry)) - np.repeat(np.cumsum(numbers) - numbers, numbers) + right.indptr[rows[entry]]
        first, second = columns[entry], right.indices[place]
        if not squares:
            other = first != second
            first, second, entry, place = first[other], second[other], entry[other], place[other]
        pairs, pair = np.unique(first * right.shape[1] + second, return_inverse=True)
        products = csr_array((left.data[entry] * right.data[place], (pair, rows[entry])), shape=(len(pairs), n_rows))
        first, second = np.divmod(pairs, right.shape[1])
        return cls(first.astype(np.int32), second.astype(np.int32), products, (left.shape[1], right.shape[1]))

    def weighted(self, weights):
        """The sums of products with weights (n_rows, n_topics), a sparse matrix with a block for each topic."""
        n_topics, (n, c), n_pairs = weights.shape[1], self.shape, len(self.first)
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.first, minlength=n))])
        offsets = np.concatenate([(np.arange(n_topics)[:, None] * n_pairs + starts[:-1]).ravel(), [n_topics * n_pairs]])
        columns = (np.arange(n_topics, dtype=np.int32)[:, None] * np.int32(c) + self.second).ravel()
        values = np.ascontiguousarray((self.products @ weights).T).ravel()
        return csr_array((values, columns, offsets.astype(np.int32)), shape=(n_topics * n, n_topics * c))


class Curvature:
    """The matrices H = sum_r w_r x_r x_r' + P of some topics, with precisions P on the diagonal.

    In plain coefficients the levels of the largest category have no products with each other, but the prior of the
    intercept is a matrix of rank one. With one more unknown for it, the levels are eliminated.

    Parameters
    ----------
    terms : Terms
    weights : ndarray of shape (n_rows, n_topics)
    precision : ndarray of shape (n_terms,)

    Attributes
    ----------
    plain_sums : ndarray of shape (n_topics, n_terms)
        Sums of the plain columns with the weights.
    """

    def __init__(self, terms, weights, precision):
        self.terms, self.weights = terms, weights
        n, s = terms.n_levels, terms.n_sparse
        # The dense columns and the last unknown.
        m = terms.dense.shape[1] + 1
        # Products of the sparse columns with the others and with the last unknown, and of these with each other.
        border, corner = (np.zeros((weights.shape[1], size, m)) for size in (s, m))
        sums = (terms.columns_and_squares @ weights).T
        # The first dense column is all ones.
        border[:, :, 0], squares = sums[:, :s], sums[:, s:]
        for j, column in enumerate(terms.dense.T):
            # One product of matrices for all topics.
            corner[:, j, : j + 1] = weights.T @ (terms.dense[:, : j + 1] * column[:, None])
            corner[:, : j + 1, j] = corner[:, j, : j + 1]
            if s and j:
                border[:, :, j] = (terms.columns @ (weights * column[:, None])).T
        self.plain_sums = np.hstack([sums[:, :s], corner[:, 0, :-1]])
        diagonal = np.arange(m - 1)
        # Beside the products, what stands on the diagonal.
        self._beside = _STABLE * np.hstack([squares, corner[:, diagonal, diagonal]])
        self._intercept = precision[0]
        self._beside += np.where(terms.order == 0, 0, precision[terms.order])
        # The intercept is the sum of plain coefficients with these weights.
        self._weights = terms.shift + (terms.order == 0)
        corner[:, diagonal, diagonal] += self._beside[:, s:]
        last = np.sqrt(self._intercept) * self._weights
        border[:, :, -1] = last[:s]
        corner[:, -1, :-1] = corner[:, :-1, -1] = last[s:]
        corner[:, -1, -1] = -1
        squares += self._beside[:, :s]
        self._diagonal, self._of_crossed = squares[:, :n], squares[:, n:]
        self._border, self._border_of_crossed = border[:, :n], border[:, n:]
        self._shares = self._border / self._diagonal[:, :, None]
        self._rest = corner - self._border.transpose(0, 2, 1) @ self._shares
        if s > n:
            self._crossings = terms.crossings.weighted(weights)
            self._crossings_back = self._crossings.T
            others = terms.crossings_of_others
            self._crossings_of_others = None if others is None else others.weighted(weights)

    def solve(self, right, small=_SMALL_FOR_NEWTON):
        """H^-1 right, (n_topics, n_terms), with an error of about the part `small` if categories are crossed."""
        return self._solve(right[:, self.terms.order] + right[:, :1] * self.terms.shift, small)

    def _solve(self, plain, small):
        """The coefficients for right sides in plain columns."""
        terms, n, s = self.terms, self.terms.n_levels, self.terms.n_sparse
        levels, crossed = plain[:, :n], plain[:, n:s]
        # The last unknown has no right side.
        rest = np.hstack([plain[:, s:], np.zeros((len(plain), 1))])
        if s > n:
            right = crossed - self._from_others(*self._without_crossed(levels, rest))
            crossed, found = conjugate_gradients(self._eliminated, right, self._of_crossed, small)
            if not found.all():
                crossed[~found] = solved_as_a_whole(self._eliminated, right, ~found)
            levels, rest = (a - b for a, b in zip((levels, rest), self._to_others(crossed), strict=True))
        levels, rest = self._without_crossed(levels, rest)
        found = np.empty_like(plain)
        found[:, terms.order] = np.hstack([levels, crossed, rest[:, :-1]])
        found[:, 0] += found[:, terms.order] @ terms.shift
        return found

    def _without_crossed(self, levels, rest):
        """The solution of the equations of the largest category and of the rest alone."""
        rest = rest - np.einsum("kjb,kj->kb", self._shares, levels)
        solved = np.linalg.solve(self._rest, rest[:, :, None])[:, :, 0]
        return levels / self._diagonal - np.einsum("kjb,kb->kj", self._shares, solved), solved

    def _to_others(self, crossed):
        """The products of coefficients of crossed categories with the rows of H for the largest one and the rest."""
        of_levels = (self._crossings @ crossed.ravel()).reshape(len(crossed), -1)
        return of_levels, np.einsum("kjb,kj->kb", self._border_of_crossed, crossed)

    def _from_others(self, levels, rest):
        """The products of the other coefficients with the rows of H for the crossed categories."""
        of_levels = (self._crossings_back @ levels.ravel()).reshape(len(levels), -1)
        return of_levels + np.einsum("kjb,kb->kj", self._border_of_crossed, rest)

    def _eliminated(self, crossed):
        """The product with the matrix that is left of H when all but the crossed categories are eliminated."""
        found = self._of_crossed * crossed - self._from_others(*self._without_crossed(*self._to_others(crossed)))
        if self._crossings_of_others is not None:
            found += (self._crossings_of_others @ crossed.ravel()).reshape(crossed.shape)
        return found

    def draw(self, rng):
        """A draw from N(0, H^-1) for each topic: the solution for a right side with the covariance H."""
        plain = self.terms.plain_sums(np.sqrt(self.weights) * rng.standard_normal(self.weights.shape))
        # In the order of the terms, so that a draw does not depend on how the equations are solved.
        plain += np.sqrt(self._beside) * rng.standard_normal(plain.shape)[:, self.terms.order]
        plain += np.sqrt(self._intercept) * self._weights * rng.standard_normal((len(plain), 1))
        return self._solve(plain, _SMALL)

    def norms(self, deviations, predictors, topics):
        """v'Hv of a deviation of each of some topics, whose predictors are given; (n_topics,)."""
        found = np.einsum("rk,rk,rk->k", self.weights[:, topics], predictors, predictors)
        found += (self.terms.plain(deviations) ** 2 * self._beside[topics]).sum(axis=1)
        return found + self._intercept * deviations[:, 0] ** 2


def conjugate_gradients(product, right, diagonal, small):
    """Solutions x of A x = right for symmetric positive definite matrices A, and for which topics they were found.

    Parameters
    ----------
    product : callable
        Takes x and returns A x.
    right, diagonal : ndarray of shape (n_topics, n)
        `diagonal` is positive, and close to that of A: of the errors it makes comparable ones.
    small : float
        A solution is found when the norm of the residual, divided by the diagonal, is this part of that of `right`.

    Returns
    -------
    solutions : ndarray of shape (n_topics, n)
    found : ndarray of shape (n_topics,), bool
    """
    solutions, residual = np.zeros_like(right), right.copy()
    direction = residual / diagonal
    square = (residual * direction).sum(axis=1)
    enough = small**2 * square
    for _ in range(_MOST_STEPS):
        moving = square > enough
        if not moving.any():
            break
        image = product(direction)
        step = np.where(moving, square / np.where(moving, (direction * image).sum(axis=1), 1), 0)[:, None]
        solutions += step * direction
        residual -= step * image
        scaled = residual / diagonal
        before, square = square, np.where(moving, (residual * scaled).sum(axis=1), square)
        direction = scaled + np.where(moving, square / np.where(moving, before, 1), 0)[:, None] * direction
    return solutions, square <= enough


def solved_as_a_whole(product, right, topics):
    """Solutions of A x = right for some of the topics, a mask, with all entries of A; see `conjugate_gradients`."""
    n = right.shape[1]
    whole = np.empty((np.count_nonzero(topics), n, n))
    for j in range(n):
        unit = np.zeros_like(right)
        unit[:, j] = 1
        whole[:, :, j] = product(unit)[topics]
    return np.linalg.solve(whole, right[topics, :, None])[:, :, 0]
