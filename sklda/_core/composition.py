"""Linear models of drawn topic proportions, pooled over the draws: the method of composition.

A draw of theta stands for proportions that were observed. Its coefficients have the errors CR2 (Bell & McCaffrey 2002):
residuals are multiplied by (I - H_gg)^(-1/2), where H_gg is the part of the hat matrix of cluster g. The variance of a
combination of coefficients is then unbiased if the documents are independent and equally spread, and nearly so if they
are not. Its degrees of freedom are those of Satterthwaite under the same assumption. The posterior given this draw is
the t-distribution with these, and the posterior given the words is the mean of these distributions over the draws.
Without clusters, documents are independent, and the errors are HC2.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array
from scipy.special import stdtr, stdtrit

from sklda._core.rounding import rounding

# Steps of the bisection for a quantile: the bracket shrinks by 2^40.
_STEPS = 40
# If one cluster has all but this part of the information in a direction of the terms, its residuals are rounding there.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Combinations of the coefficients of linear models of topic proportions, for each draw and topic.

    Attributes
    ----------
    centres, scales : ndarray of shape (n_draws, n_combinations, n_topics)
        Estimates by least squares and their errors. NaN: this draw has no such topic.
    freedom : ndarray of shape (n_combinations,)
        Degrees of freedom.
    determined : ndarray of shape (n_combinations,)
        The part of the variance, if documents are independent and equally spread, of which residuals tell. The rest is
        that of clusters each of which determines a coefficient alone, and `scales` takes it in proportion.
    """

    centres: np.ndarray
    scales: np.ndarray
    freedom: np.ndarray
    determined: np.ndarray

    @classmethod
    def fit(cls, matrix, draws, combinations, clusters=None):
        """Least squares for each draw.

        Parameters
        ----------
        matrix : ndarray of shape (n_documents, n_terms)
            Of full rank.
        draws : iterable of ndarray of shape (n_documents, n_topics)
            Topic proportions; columns of NaN are topics that a draw does not have.
        combinations : ndarray of shape (n_combinations, n_terms)
        clusters : ndarray of shape (n_documents,), int, optional
            The cluster of every document, from zero. None: documents are independent.
        """
        model = _Model(matrix, combinations, clusters)
        return cls._pooled([model], ([model.of_draw(theta)] for theta in draws))

    @classmethod
    def means(cls, groups, draws, clusters=None):
        """The means of groups of documents, each by a model of its own with a column of ones.

        They are those of one model with a column for each group, which would take more time and memory.

        Parameters
        ----------
        groups : ndarray of shape (n_documents,), int
            The group of every document, from zero. Every group has documents.
        draws : iterable of ndarray of shape (n_documents, n_topics)
        clusters : ndarray of shape (n_documents,), int, optional
        """
        order = np.argsort(groups, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(groups))[:-1])
        models = [
            _Model(np.ones((len(own), 1)), np.eye(1), None if clusters is None else _renumbered(clusters[own]))
            for own in members
        ]
        return cls._pooled(
            models, ([model.of_draw(theta[own]) for model, own in zip(models, members, strict=True)] for theta in draws)
        )

    @classmethod
    def _pooled(cls, models, draws):
        """The combinations of all models, of draws each of which has centres and variances by each model."""
        centres, variances = [], []
        for each in draws:
            centres.append(np.concatenate([centre for centre, _ in each]))
            variances.append(np.concatenate([variance for _, variance in each]))
        size, determined, freedom = (
            np.concatenate([getattr(model, name) for model in models]) for name in ("size", "determined", "freedom")
        )
        known = determined > _ROUNDING
        inflation = 1 / np.where(known, determined, np.nan)
        scales = np.sqrt(np.array(variances) * inflation[:, None]) * size[:, None]
        return cls(np.array(centres) * size[:, None], scales, np.where(known, freedom, np.nan), determined)

    def summary(self, level):
        """Posterior of the combinations.

        Parameters
        ----------
        level : float
            Probability of the interval.

        Returns
        -------
        estimate, error, low, high, p_value : ndarray of shape (n_combinations, n_topics)
            Mean, root of the mean squared error and the variance over draws, and quantiles of the mixture over draws.
            The p-value is twice the smaller of the probabilities on the two sides of zero. All but the estimate are NaN
            if no draw has residuals.
        """
        # A topic that is in no draw has no effects, and an error that no residual tells of is unknown.
        known = (self.scales > 0).any(axis=0)
        found = np.full((5, *known.shape), np.nan)
        found[0] = _mean(self.centres)
        if known.any():
            c, k = np.nonzero(known)
            mixtures = _Mixtures(self.centres[:, c, k], self.scales[:, c, k], self.freedom[c])
            found[1:, c, k] = mixtures.error(), *mixtures.interval(level), mixtures.p_value()
        return tuple(found)


class _Model:
    """Combinations of the coefficients of a linear model, divided by `size`. Arguments as those of `LinearModels.fit`.

    Attributes
    ----------
    size, determined, freedom : ndarray of shape (n_combinations,)
    """

    def __init__(self, matrix, combinations, clusters):
        self.q, r = np.linalg.qr(matrix)
        wanted = solve_triangular(r, combinations.T, trans="T")
        # Squares of combinations of very large or small terms would leave the range of floats.
        self.size = _nonzero(np.abs(wanted).max(axis=0, initial=0))
        self.wanted = wanted / self.size
        self.errors = _Documents(self.q, self.wanted) if clusters is None else _Clusters(self.q, self.wanted, clusters)
        expected, self.freedom = self.errors.moments()
        self.determined = expected / (self.wanted**2).sum(axis=0)

    def of_draw(self, theta):
        """Estimates for proportions (n_documents, n_topics), and their squared errors, (n_combinations, n_topics)."""
        projected = self.q.T @ theta
        residuals = theta - self.q @ projected
        residuals[np.abs(residuals) <= rounding(theta, axis=0)] = 0
        return self.wanted.T @ projected, self.errors.variances(residuals)


class _Documents:
    """Squared errors HC2 of combinations of coefficients.

    Parameters
    ----------
    q : ndarray of shape (n_documents, n_terms)
        An orthonormal basis of the terms.
    wanted : ndarray of shape (n_terms, n_combinations)
        The combinations in this basis.
    """

    def __init__(self, q, wanted):
        left = 1 - (q**2).sum(axis=1)
        known = left > _ROUNDING
        self.q, self.left = q, np.where(known, left, 0)
        self.weights = (q @ wanted) * np.where(known, 1 / np.sqrt(np.where(known, left, 1)), 0)[:, None]

    def variances(self, residuals):
        """(n_combinations, n_topics)"""
        return (self.weights**2).T @ residuals**2

    def moments(self):
        own = self.weights**2 * self.left[:, None]
        return _moments(own, (self.q * each[:, None] for each in self.weights.T))


class _Clusters:
    """As `_Documents`, but CR2: the residuals of a cluster are multiplied by a root of the inverse of I - H_gg."""

    def __init__(self, q, wanted, clusters):
        sizes = np.bincount(clusters)
        self.q, self.weights = q, np.zeros((len(q), wanted.shape[1]))
        self.members = csr_array((np.ones(len(q)), (clusters, np.arange(len(q)))), (len(sizes), len(q)))
        self.own = np.zeros((len(sizes), wanted.shape[1]))
        documents, first = np.argsort(clusters, kind="stable"), np.cumsum(sizes) - sizes
        # Clusters of one size together, so that no array has more numbers than the terms of all documents.
        for size in np.unique(sizes[sizes > 0]):
            of_size = np.flatnonzero(sizes == size)
            rows = documents[first[of_size, None] + np.arange(size)]
            # With the rows q_g of a cluster, H_gg is q_g q_g', whose eigenvalues are the squares of these values.
            left, values, right = np.linalg.svd(q[rows], full_matrices=False)
            rest = 1 - values**2
            known = rest > _ROUNDING
            in_basis = right @ wanted
            self.own[of_size] = ((np.where(known, values, 0)[:, :, None] * in_basis) ** 2).sum(axis=1)
            roots = np.where(known, values / np.sqrt(np.where(known, rest, 1)), 0)[:, :, None]
            self.weights[rows] = left @ (roots * in_basis)

    def variances(self, residuals):
        """(n_combinations, n_topics)"""
        largest, found = np.abs(residuals).max(axis=0), []
        for each in self.weights.T:
            forms = self.members @ (each[:, None] * residuals)
            # Sums of residuals that cancel are rounding.
            sizes = self.members.sum(axis=1)[:, None] * np.abs(each).max() * largest
            forms[np.abs(forms) <= rounding(sizes, axis=())] = 0
            found.append((forms**2).sum(axis=0))
        return np.array(found)

    def moments(self):
        return _moments(self.own, (self.members @ (self.q * each[:, None]) for each in self.weights.T))


def _moments(own, projected):
    """Expected variances with residuals of variance one, and Satterthwaite's degrees of freedom, (n_combinations,).

    The estimated variance is the sum of squares of one linear form of the residuals for each cluster. The covariances
    of these forms are -u_g . u_h between clusters; the sum of their squares needs only products of n_terms columns.

    Parameters
    ----------
    own : ndarray of shape (n_clusters, n_combinations)
        Variances of the forms.
    projected : iterable of ndarray of shape (n_clusters, n_terms)
        The rows u_g for each combination.
    """
    squares = (own**2).sum(axis=0)
    for c, rows in enumerate(projected):
        between = ((rows.T @ rows) ** 2).sum() - ((rows**2).sum(axis=1) ** 2).sum()
        squares[c] += max(between, 0.0)
    expected = own.sum(axis=0)
    return expected, expected**2 / np.where(squares > 0, squares, 1)


class _Mixtures:
    """Mixtures over draws of t-distributions, (n_draws, n_mixtures). A draw that is NaN does not count."""

    def __init__(self, centres, scales, freedom):
        self.centres, self.scales, self.freedom = centres, scales, freedom

    def error(self):
        """Of a t-distribution with at most two degrees of freedom there is no variance, so scales are not inflated."""
        size = _nonzero(np.nanmax(np.fmax(np.abs(self.centres), self.scales), axis=0))
        return size * np.sqrt(np.nanmean((self.scales / size) ** 2, axis=0) + np.nanvar(self.centres / size, axis=0))

    def below(self, x, side=1):
        """The probability of x and values below it; of x and values above it, if `side` is -1."""
        distance = side * (x - self.centres)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Without a residual, a component is a point.
            z = np.where(self.scales > 0, distance / self.scales, np.where(distance >= 0, np.inf, -np.inf))
        return np.nanmean(stdtr(self.freedom, np.where(np.isnan(distance), np.nan, z)), axis=0)

    def interval(self, level):
        return (self._quantile(p) for p in ((1 - level) / 2, (1 + level) / 2))

    def _quantile(self, p):
        """The quantile p, which lies between the smallest and the largest of the components."""
        own = self.centres + self.scales * stdtrit(self.freedom, p)
        low, high = np.nanmin(own, axis=0), np.nanmax(own, axis=0)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            below = self.below(middle) < p
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def p_value(self):
        # The two sides apart: one less a probability near one would be rounding.
        return np.minimum(2 * np.minimum(self.below(0.0), self.below(0.0, side=-1)), 1)


def _renumbered(clusters):
    return np.unique(clusters, return_inverse=True)[1]


def _mean(values):
    """Means over the first axis without NaN; NaN where all are."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0).sum(axis=0) / known.sum(axis=0)


def _nonzero(sizes):
    return np.where(sizes > 0, sizes, 1)


def collinear(matrix):
    """The first column that is a combination of those before it; None if there is none."""
    scaled = matrix / _nonzero(np.sqrt((matrix**2).sum(axis=0)))
    if np.linalg.matrix_rank(scaled) == matrix.shape[1]:
        return None
    # Distances of the columns from the space of those before them. Rounding is that of `matrix_rank`.
    distance = np.abs(np.diagonal(np.linalg.qr(scaled, mode="r")))
    bad = distance <= np.sqrt(matrix.shape[1]) * max(matrix.shape) * np.finfo(np.float64).eps
    return int(np.argmax(bad)) if bad.any() else int(np.argmin(distance))
