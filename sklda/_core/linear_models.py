"""Linear models of drawn topic proportions, pooled over the draws: the method of composition.

A draw of theta stands for proportions that were observed. Its coefficients have the errors CR2 (Bell & McCaffrey 2002):
residuals are multiplied by (I - H_gg)^(-1/2), where H_gg is the part of the hat matrix of cluster g. The variance of a
combination of coefficients is then unbiased if the documents are independent and equally spread, and nearly so if they
are not. Its degrees of freedom are those of Satterthwaite under the same assumption. The posterior given this draw is
the t-distribution with these, and the posterior given the words is the mean of these distributions over the draws.
Without clusters, documents are independent, and the errors are HC2.

Documents may have weights W. With the columns X, let U = X R^-1 such that U'WU = I, and S = U'W^2U. The hat matrix is
then UU'W, and residuals of independent and equally spread documents have the covariance

    B = (I - UU'W)(I - UU'W)' = I - UU'W - WUU' + USU',

whose part of a cluster takes the place of I - H_gg. Without weights S is I, and B is I - H.

A combination of coefficients is a difference or a share. Intervals of differences have the quantiles of the posterior.
Those of shares lie between 0 and 1, see `share_interval`, and their errors are not left to few documents alone: most
documents have little of a topic, so the spread of ten of them often misses those that have much. The variance of the
proportion of a document is regarded as phi p (1 - p), where p is the mean by the model, with one phi for each topic.
Where the error of a share is smaller than by this, it moves towards it, as if `_DOCUMENTS_OF_ALL` documents had told.
With clusters it does not, because the spread of documents says nothing about that of clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize.elementwise import find_root
from scipy.sparse import csr_array
from scipy.special import expit, logit, stdtr, stdtrit

from sklda._core.least_squares import Columns, nonzero
from sklda._core.rounding import rounding

# The smallest p-value in a table: nobody knows the tails of these distributions better.
SMALLEST_P_VALUE = 1e-6
# The errors of a quantile: as a part of the distances between draws, and as a probability.
_PRECISION = {"xatol": 1e-10, "fatol": 1e-12}
# The spread of all documents counts for so many of those that a share is the mean of.
_DOCUMENTS_OF_ALL = 20
# If one cluster has all but this part of the information in a direction of the terms, its residuals are rounding there.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Combinations of the coefficients of linear models of topic proportions, for each draw and topic.

    Attributes
    ----------
    centres, scales : ndarray of shape (n_draws, n_combinations, n_topics)
        Estimates by least squares and their errors. NaN: this draw has no such topic.
    freedom : ndarray of shape (n_combinations,) or (n_draws, n_combinations)
        Degrees of freedom, of all draws or of each.
    determined : ndarray of shape (n_combinations,)
        The part of the variance, if documents are independent and equally spread, of which residuals tell. The rest is
        that of clusters each of which determines a coefficient alone, and `scales` takes it in proportion.
    of_all : ndarray of shape (n_draws, n_combinations, n_topics), optional
        The errors that the spread of all documents gives to shares; NaN with clusters.
    """

    centres: np.ndarray
    scales: np.ndarray
    freedom: np.ndarray
    determined: np.ndarray
    of_all: np.ndarray | None = None

    @classmethod
    def fit(cls, matrix, draws, combinations, clusters=None, weights=None):
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
        weights : ndarray of shape (n_documents,), optional
            Positive weights of the documents. With None, all documents count alike.
        """
        model = _Model(matrix, combinations, clusters, weights)
        return cls._pooled([model], ([model.of_draw(theta)] for theta in draws))

    @classmethod
    def means(cls, groups, draws, clusters=None, weights=None):
        """The means of groups of documents, each by a model of its own with a column of ones.

        They are those of one model with a column for each group, which would take more time and memory.

        Parameters
        ----------
        groups : ndarray of shape (n_documents,), int
            The group of every document, from zero. Every group has documents.
        draws : iterable of ndarray of shape (n_documents, n_topics)
        clusters : ndarray of shape (n_documents,), int, optional
        weights : ndarray of shape (n_documents,), optional
            As in `fit`.
        """
        order = np.argsort(groups, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(groups))[:-1])
        models = [
            _Model(
                np.ones((len(own), 1)),
                np.eye(1),
                None if clusters is None else _renumbered(clusters[own]),
                None if weights is None else weights[own],
            )
            for own in members
        ]
        return cls._pooled(
            models, ([model.of_draw(theta[own]) for model, own in zip(models, members, strict=True)] for theta in draws)
        )

    @classmethod
    def _pooled(cls, models, draws):
        """The combinations of all models, of draws each of which has what `_Model.of_draw` returns of each model."""
        size, determined, freedom = (
            np.concatenate([getattr(model, name) for model in models]) for name in ("size", "determined", "freedom")
        )
        centres, variances, of_all = [], [], []
        for each in draws:
            centres.append(np.concatenate([own.centre for own in each]))
            variances.append(np.concatenate([own.variance for own in each]))
            expected = sum(own.expected for own in each)
            phi = sum(own.squares for own in each) / np.where(expected > 0, expected, np.nan)
            of_all.append(phi * np.concatenate([own.spread for own in each]))
        known = determined > _ROUNDING
        inflation = 1 / np.where(known, determined, np.nan)
        scales = np.sqrt(np.array(variances) * inflation[:, None]) * size[:, None]
        return cls(
            np.array(centres) * size[:, None],
            scales,
            np.where(known, freedom, np.nan),
            determined,
            np.sqrt(of_all) * size[:, None],
        )

    @classmethod
    def together(cls, models: Sequence[Self]) -> Self:
        """The draws of several linear models, which have the same combinations and may have different terms."""
        return cls(
            np.concatenate([each.centres for each in models]),
            np.concatenate([each.scales for each in models]),
            np.concatenate([np.broadcast_to(each.freedom, each.scales.shape[:2]) for each in models]),
            np.min([each.determined for each in models], axis=0),
        )

    def summary(self, level, is_share=False):
        """Posterior of the combinations.

        Parameters
        ----------
        level : float
            Probability of the interval.
        is_share : bool, or ndarray of shape (n_combinations,)
            Which combinations are shares, and no differences.

        Returns
        -------
        estimate, error, low, high, p_value, freedom : ndarray of shape (n_combinations, n_topics)
            Mean, root of the mean squared error and the variance over draws, and quantiles of the mixture over draws,
            or `share_interval`. The p-value is twice the smaller of the probabilities on the two sides of zero. All but
            the estimate are NaN if no draw has residuals.
        """
        # A topic that is in no draw has no effects, and an error that no residual tells of is unknown.
        known = (self.scales > 0).any(axis=0)
        is_share = known & np.broadcast_to(is_share, len(known))[:, None]
        found = np.full((6, *known.shape), np.nan)
        found[0] = mean_of_known(self.centres)
        found[5] = np.fmin.reduce(np.where(np.isnan(self.scales), np.nan, self.freedom[..., None]))
        if known.any():
            mixtures = self._mixtures(known)
            found[1, known], found[4, known] = mixtures.error(), mixtures.p_value()
        if (known & ~is_share).any():
            found[2:4, known & ~is_share] = self._mixtures(known & ~is_share).interval(level)
        if is_share.any():
            found[:, is_share] = self._shares(found[:, is_share], is_share, level)
        return tuple(found)

    def _mixtures(self, chosen):
        c, k = np.nonzero(chosen)
        return _Mixtures(self.centres[:, c, k], self.scales[:, c, k], self.freedom[..., c])

    def _shares(self, found, chosen, level):
        """The summaries `found` of shares, whose errors take a part from the spread of all documents."""
        estimate, error, _, _, p_value, freedom = found
        own, of_all = (mean_of_known(each[:, chosen] ** 2) for each in (self.scales, self.of_all))
        both = (freedom * own + _DOCUMENTS_OF_ALL * of_all) / (freedom + _DOCUMENTS_OF_ALL)
        is_small = both > own
        error = np.where(is_small, np.sqrt(error**2 + np.fmax(both - own, 0)), error)
        freedom = np.where(is_small, freedom + _DOCUMENTS_OF_ALL, freedom)
        p_value = np.where(is_small, 2 * stdtr(freedom, -np.abs(estimate) / error), p_value)
        return estimate, error, *share_interval(estimate, error, freedom, level), p_value, freedom


def share_interval(share, error, freedom, level):
    """The ends of intervals of shares with standard errors of so many degrees of freedom; NaN for unknown errors.

    They are symmetric on the scale of log(p / (1 - p)), where the error of p is divided by p (1 - p), so they lie
    between 0 and 1 and are longer towards 1/2. The mean of proportions is seldom smaller than half of its symmetric
    reach. By a line or a curve it can be, or lie beyond 0 and 1: its interval is then that of a share as large as this
    half, moved and cut.
    """
    reach = stdtrit(freedom, (1 + level) / 2) * np.where(error > 0, error, np.nan)
    room = np.minimum(reach / 2, 0.5)
    p = np.clip(share, room, 1 - room)
    reach = reach / (p * (1 - p))
    return tuple(np.clip(expit(logit(p) + side * reach) + share - p, 0, 1) for side in (-1, 1))


@dataclass(frozen=True, eq=False)
class _OfDraw:
    """What a model says of one draw of proportions.

    Attributes
    ----------
    centre, variance, spread : ndarray of shape (n_combinations, n_topics)
        Estimates, their squared errors, and what these are if the variance of a proportion is p (1 - p).
    squares, expected : ndarray of shape (n_topics,)
        Sums of squared residuals, and what these are if the variance of a proportion is p (1 - p).
    """

    centre: np.ndarray
    variance: np.ndarray
    spread: np.ndarray
    squares: np.ndarray
    expected: np.ndarray


class _Model:
    """Combinations of the coefficients of a linear model, divided by `size`. Arguments as those of `LinearModels.fit`.

    Attributes
    ----------
    size, determined, freedom : ndarray of shape (n_combinations,)
    """

    def __init__(self, matrix, combinations, clusters, weights=None):
        self.basis = Basis.of(matrix, combinations, weights)
        self.size = self.basis.size
        self.errors = self.basis.errors(clusters)
        expected, self.freedom = self.errors.moments()
        self.determined = expected / self.basis.true_variance()
        self.factors = (self.basis.weighted @ self.basis.wanted) ** 2 if clusters is None else None
        self.left = self.basis.left()

    def of_draw(self, theta):
        """What this model says of proportions (n_documents, n_topics), an `_OfDraw`."""
        projected = self.basis.weighted.T @ theta
        fitted = self.basis.columns @ projected
        residuals = theta - fitted
        residuals[np.abs(residuals) <= rounding(theta, axis=0)] = 0
        fitted = np.clip(fitted, 0, 1)
        room = fitted * (1 - fitted)
        centre = self.basis.wanted.T @ projected
        return _OfDraw(
            centre=centre,
            variance=self.errors.variances(residuals),
            spread=np.full_like(centre, np.nan) if self.factors is None else self.factors.T @ room,
            squares=(residuals**2).sum(axis=0),
            expected=self.left @ room,
        )


@dataclass(frozen=True, eq=False)
class Basis:
    """The terms of a linear model in the basis U, and combinations of coefficients in it; see the top of the file.

    Attributes
    ----------
    columns, weighted : ndarray of shape (n_documents, n_terms)
        U and WU.
    squares : ndarray of shape (n_terms, n_terms)
        S.
    wanted : ndarray of shape (n_terms, n_combinations)
        The combinations, divided by their `size`: squares of very large or small terms would leave the range of floats.
    size : ndarray of shape (n_combinations,)
    has_weights : bool
        Otherwise WU is U and S is I.
    """

    columns: np.ndarray
    weighted: np.ndarray
    squares: np.ndarray
    wanted: np.ndarray
    size: np.ndarray
    has_weights: bool

    @classmethod
    def of(cls, matrix, combinations, weights):
        columns = Columns.of(matrix, weights)
        wanted = columns.in_basis(combinations)
        size = nonzero(np.abs(wanted).max(axis=0, initial=0))
        squares = np.eye(matrix.shape[1]) if weights is None else columns.weighted.T @ columns.weighted
        return cls(columns.basis, columns.weighted, squares, wanted / size, size, weights is not None)

    def forms(self):
        """The factors of the outcomes of documents in each combination, (n_combinations, n_documents)."""
        return self.size[:, None] * (self.weighted @ self.wanted).T

    def left(self):
        """The diagonal of B: the part of the variance of each document that is left in its residual."""
        u, w = self.columns, self.weighted
        return 1 - 2 * (u * w).sum(axis=1) + (u * (u @ self.squares)).sum(axis=1)

    def errors(self, clusters):
        return _Documents(self) if clusters is None else _Clusters(self, clusters)

    def true_variance(self):
        """Variances of the combinations if documents are independent with variance one, (n_combinations,)."""
        return (self.wanted * (self.squares @ self.wanted)).sum(axis=0)


class _Documents:
    """Squared errors HC2 of combinations of coefficients."""

    def __init__(self, basis):
        left = basis.left()
        known = left > _ROUNDING
        self.basis, self.left = basis, np.where(known, left, 0)
        self.loadings = (basis.weighted @ basis.wanted) * np.where(known, 1 / np.sqrt(np.where(known, left, 1)), 0)[
            :, None
        ]

    def variances(self, residuals):
        """(n_combinations, n_topics)"""
        return (self.loadings**2).T @ residuals**2

    def moments(self):
        return _moments(self.loadings**2 * self.left[:, None], self.loadings, self.basis)


class _Clusters:
    """As `_Documents`, but CR2: the residuals of a cluster are multiplied by a root of the inverse of B_gg."""

    def __init__(self, basis, clusters):
        n_documents = len(basis.columns)
        sizes = np.bincount(clusters)
        self.basis, self.loadings = basis, np.zeros((n_documents, basis.wanted.shape[1]))
        self.members = csr_array((np.ones(n_documents), (clusters, np.arange(n_documents))), (len(sizes), n_documents))
        self.own = np.zeros((len(sizes), basis.wanted.shape[1]))
        documents, first = np.argsort(clusters, kind="stable"), np.cumsum(sizes) - sizes
        # Clusters of one size together, so that no array has more numbers than twice the terms of all documents.
        for size in np.unique(sizes[sizes > 0]):
            of_size = np.flatnonzero(sizes == size)
            rows = documents[first[of_size, None] + np.arange(size)]
            # B_gg is I outside of the span of the rows of U and WU, of which z is a basis.
            z = np.eye(size)
            if size > basis.columns.shape[1]:
                z = np.linalg.qr(np.concatenate([basis.columns[rows], basis.weighted[rows]], axis=2))[0]
            u, w = z.mT @ basis.columns[rows], z.mT @ basis.weighted[rows]
            left = np.eye(z.shape[-1]) - u @ w.mT - w @ u.mT + u @ basis.squares @ u.mT
            values, vectors = np.linalg.eigh(left)
            known = values > _ROUNDING
            in_basis = np.where(known[:, :, None], vectors.mT @ (w @ basis.wanted), 0)
            self.own[of_size] = (in_basis**2).sum(axis=1)
            self.loadings[rows] = z @ (vectors @ (in_basis / np.sqrt(np.where(known, values, 1))[:, :, None]))

    def variances(self, residuals):
        """(n_combinations, n_topics)"""
        # The product of a column of one and all of the other, with as few products as possible.
        few, many = sorted((self.loadings, residuals), key=lambda each: each.shape[1])
        # Sums of residuals that cancel are rounding.
        tiny, found = rounding(self.members.sum(axis=1)[:, None] * np.abs(many).max(axis=0), axis=()), []
        for each in few.T:
            forms = self.members @ (each[:, None] * many)
            forms[np.abs(forms) <= tiny * np.abs(each).max()] = 0
            found.append((forms**2).sum(axis=0))
        return np.array(found) if few is self.loadings else np.array(found).T

    def moments(self):
        return _moments(self.own, self.loadings, self.basis, self.members)


def _moments(own, loadings, basis, members=None):
    """Expected variances with residuals of variance one, and Satterthwaite's degrees of freedom, (n_combinations,).

    The estimated variance is the sum of squares of one linear form of the residuals for each cluster. With its
    loadings s_g, let u_g = s_g' U_g and w_g = s_g' W_g U_g. The covariance of two forms is s_g' B_gh s_h = u_g S u_h -
    u_g w_h - w_g u_h. The sum of the squares of these needs only products of 2 n_terms columns. Without weights, u_g is
    w_g and S is I, and it needs those of n_terms.

    Parameters
    ----------
    own : ndarray of shape (n_clusters, n_combinations)
        Variances of the forms.
    loadings : ndarray of shape (n_documents, n_combinations)
    basis : Basis
    members : sparse array of shape (n_clusters, n_documents), default=None
        None: each document is a cluster.
    """
    sides, one = basis.columns, np.eye(len(basis.squares))
    if basis.has_weights:
        sides = np.hstack([sides, basis.weighted])
        between = np.block([[basis.squares, -one], [-one, np.zeros_like(one)]])
    squares = (own**2).sum(axis=0)
    for c, each in enumerate(loadings.T):
        rows = sides * each[:, None]
        rows = rows if members is None else members @ rows
        product, projected = rows.T @ rows, rows
        if basis.has_weights:
            product, projected = between @ product, rows @ between
        with_itself = (projected * rows).sum(axis=1)
        squares[c] += max((product * product.T).sum() - (with_itself**2).sum(), 0.0)
    expected = own.sum(axis=0)
    return expected, expected**2 / np.where(squares > 0, squares, 1)


class _Mixtures:
    """Mixtures over draws of t-distributions, (n_draws, n_mixtures). A draw that is NaN does not count."""

    def __init__(self, centres, scales, freedom):
        self.centres, self.scales, self.freedom = centres, scales, freedom

    def error(self):
        """Of a t-distribution with at most two degrees of freedom there is no variance, so scales are not inflated."""
        size = nonzero(np.nanmax(np.fmax(np.abs(self.centres), self.scales), axis=0))
        return size * np.sqrt(np.nanmean((self.scales / size) ** 2, axis=0) + np.nanvar(self.centres / size, axis=0))

    def below(self, x, side=1):
        """The probability of x and values below it; of x and values above it, if `side` is -1."""
        distance = side * (x - self.centres)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Without a residual, a component is a point.
            z = np.where(self.scales > 0, distance / self.scales, np.where(distance >= 0, np.inf, -np.inf))
        return np.nanmean(stdtr(self.freedom, np.where(np.isnan(distance), np.nan, z)), axis=0)

    def interval(self, level):
        return self._quantile((1 - level) / 2), self._quantile((1 + level) / 2)

    def _quantile(self, p):
        """The quantile p, which lies between the smallest and the largest of the components."""
        own = self.centres + self.scales * stdtrit(self.freedom, p)
        # With some room, because one component has no distance, and all have rounding errors.
        room = 1e-9 * np.nanmax(self.scales, axis=0)
        low, high = np.nanmin(own, axis=0) - room, np.nanmax(own, axis=0) + room

        def excess(part, i):
            mixtures = _Mixtures(self.centres[:, i], self.scales[:, i], self.freedom[..., i])
            return mixtures.below(low[i] + part * (high - low)[i]) - p

        found = find_root(excess, (0.0, 1.0), args=(np.arange(len(low)),), tolerances=_PRECISION)
        return low + found.x * (high - low)

    def p_value(self):
        # The two sides apart: one less a probability near one would be rounding.
        return np.minimum(2 * np.minimum(self.below(0.0), self.below(0.0, side=-1)), 1)


def _renumbered(clusters):
    return np.unique(clusters, return_inverse=True)[1]


def mean_of_known(values):
    """Means over the first axis without NaN; NaN where all are."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0).sum(axis=0) / known.sum(axis=0)
