"""The model of Dirichlet-multinomial regression (Mimno & McCallum 2008), and the settings of a fit.

alpha_dk = exp(x_d . lambda_k), where x_d has a one and the standardised covariates of document d. The intercept of
topic k is normal around the logarithm of a given alpha. Its other coefficients are normal around zero with a standard
deviation sigma, which may have a half-Cauchy prior.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklda._core.arguments import check_memory
from sklda._core.composition import collinear
from sklda._core.parallel import Aligned
from sklda._core.priors import LARGEST, SMALLEST
from sklda._core.warn import warn
from sklda._models.covariates.terms import Terms
from sklda._sampling.annealed_start import NOT_ANNEALED, Annealing

# Prior standard deviation of an intercept, in units of log alpha: a factor of 50 for two of them.
INTERCEPT_SCALE = 2.0
# Sweeps between two draws of lambda: one for each of these entries of alpha that differ, but at most seven. With half a
# million entries and ten covariates, a draw takes as long as three sweeps over a million tokens.
_ENTRIES, _MOST_SWEEPS = 50_000, 7
# log alpha is cut off here, so that alpha stays in the range of the kernels.
LOWEST, HIGHEST = np.log(SMALLEST), np.log(LARGEST)
# The largest value of a covariate, and one over its smallest standard deviation.
_LARGEST_VALUE = 1e100
# With a thousand terms that are not levels of one category, a sweep of three topics takes about seven seconds.
_MOST_TERMS = 1000


@dataclass(frozen=True, eq=False)
class Model(Aligned):
    """Settings that do not change along a chain.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_terms)
        The distinct x_d. The first column is one.
    index : ndarray of shape (n_documents,), int64
        The row of every document.
    centre : ndarray of shape (n_components,)
        Prior means of the intercepts.
    sigma : float or None
        None: it has a half-Cauchy prior of scale 1 and is drawn.
    learn_eta : bool
        Whether eta is learnt by Gibbs-EM in the burn-in.
    burn_in : int
        Sweeps of the burn-in.
    annealing : Annealing
        The first sweeps, in which both priors are larger and lambda stays.
    every : int
        Sweeps between two draws of lambda. 0: chosen by the number of entries of alpha that differ.
    """

    rows: np.ndarray
    index: np.ndarray
    centre: np.ndarray
    sigma: float | None = None
    learn_eta: bool = False
    burn_in: int = 0
    annealing: Annealing = NOT_ANNEALED
    every: int = 0

    @cached_property
    def row_of(self):
        """`index` as `Priors` takes it."""
        return self.index.astype(np.int32)

    @cached_property
    def terms(self):
        """`rows` with their products."""
        return Terms(self.rows)

    @property
    def sweeps_between(self):
        """Sweeps between two draws of lambda."""
        return self.every or min(1 + len(self.rows) * len(self.centre) // _ENTRIES, _MOST_SWEEPS)

    @property
    def draws_between(self):
        """Draws of lambda between two changes of a sum of alpha, whose time is that of all documents."""
        sweeps = min(1 + len(self.index) * len(self.centre) // _ENTRIES, _MOST_SWEEPS)
        return max(sweeps // self.sweeps_between, 1)

    def first_coefficients(self):
        """lambda with the given intercepts and no effects, (n_components, n_terms)."""
        coefficients = np.zeros((len(self.centre), self.rows.shape[1]))
        coefficients[:, 0] = self.centre
        return coefficients

    def alpha(self, coefficients):
        """alpha of the distinct rows, (n_rows, n_components)."""
        return np.exp(np.clip(self.terms.predictors(coefficients), LOWEST, HIGHEST))

    def prior_precision(self, sigma):
        """Precisions of the coefficients of a topic, (n_terms,)."""
        precision = np.full(self.rows.shape[1], sigma**-2.0)
        precision[0] = INTERCEPT_SCALE**-2.0
        return precision


def log_alpha(rows, coefficients):
    """log alpha of documents with the terms `rows`, within the range of the kernels; (n_rows, n_components)."""
    return np.clip(rows @ coefficients.T, LOWEST, HIGHEST)


def distinct_rows(columns):
    """A column of ones and `columns`: the distinct rows in the order of documents, and the row of every document."""
    # A zero has no sign after the addition.
    rows = np.ascontiguousarray(np.column_stack([np.ones(len(columns)), columns]) + 0.0)
    # Rows as bytes are compared many times faster than number by number. Their order would depend on rounding.
    whole = rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel()
    _, first, index = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return rows[first[order]], np.argsort(order)[index.reshape(-1)].astype(np.int64)


def prior_of(columns, intercept, coef):
    """alpha of documents with these columns, which are not standardised; (n_documents, n_components)."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = intercept + columns @ coef.T
    if np.isnan(found).any():
        raise ValueError("covariates has values so large that the prior of a document is not a number.")
    return np.exp(np.clip(found, LOWEST, HIGHEST))


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of the documents and what makes them comparable.

    Attributes
    ----------
    values, standardised : ndarray of shape (n_documents, n_terms)
        The second are the first less `mean`, divided by `scale`.
    mean, std, scale : ndarray of shape (n_terms,)
        Means, standard deviations, and what a coefficient of the prior belongs to.
    """

    values: np.ndarray
    standardised: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, values, terms):
        """ValueError if values are too large or too small, and a warning if a term is a combination of others."""
        none = np.zeros(0)
        if not values.shape[1]:
            return cls(values, values, none, none, none)
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            mean, std = values.mean(axis=0), values.std(axis=0)
        # Of a constant the standard deviation is zero but for rounding.
        constant = values.min(axis=0) == values.max(axis=0)
        # Squares of the values and of their coefficients are summed.
        bad = (np.abs(values).max(axis=0) > _LARGEST_VALUE) | (~constant & ~(std >= 1 / _LARGEST_VALUE))
        if bad.any():
            raise ValueError(
                f"the term {terms[int(np.argmax(bad))]!r} has values too large or too small: change its unit. No "
                f"value must exceed {_LARGEST_VALUE:g}, nor their standard deviation be below {1 / _LARGEST_VALUE:g}."
            )
        scale = np.where(constant, 1.0, _scales(values, std))
        standardised = np.where(constant, 0.0, (values - mean) / scale)
        found = cls(values, standardised, mean, np.where(constant, 0.0, std), scale)
        rows, index = found.distinct
        weighted = np.sqrt(np.bincount(index))[:, None] * rows[:, np.concatenate([[True], ~constant])]
        # The triangular factor has the same combinations.
        j = collinear(np.linalg.qr(weighted, mode="r"))
        if j is not None:
            warn(
                f"the term {terms[np.flatnonzero(~constant)[j - 1]]!r} is a combination of other terms and the "
                "intercept. Only sums of their coefficients are known, and the prior splits these: leave it out."
            )
        return found

    @cached_property
    def distinct(self):
        """See `distinct_rows`."""
        return distinct_rows(self.standardised)


def _scales(values, std):
    """What columns are divided by, so that all of them have the same prior.

    Of two values it is half of their distance, the standard deviation if half of the documents have each: a rare
    category has the prior of a frequent one. If most values are zero, as in a product with a category, it is half of
    the root mean square of the others. Otherwise it is the standard deviation.
    """
    low, high, filled = values.min(axis=0), values.max(axis=0), values != 0
    two = ((values == low) | (values == high)).all(axis=0)
    sizes = np.abs(values).max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sparse = sizes * np.sqrt(((values / sizes) ** 2).sum(axis=0) / filled.sum(axis=0)) / 2
    return np.where(two, high / 2 - low / 2, np.where(filled.mean(axis=0) < 0.5, sparse, std))


def check_size(design, n_components):
    """Refuse so many terms that a sweep takes minutes, see `Terms`."""
    n_terms, (name, n_own) = len(design.terms), design.widest()
    if n_terms > _MOST_TERMS:
        raise ValueError(
            f"the covariates have {n_terms} terms, {n_own} of them from {name}; at most "
            f"{_MOST_TERMS} are possible. Join levels of categories, and leave out a covariate that has another value "
            "in nearly every document."
        )
    # The second derivatives of each topic, beside those of a category, and copies.
    check_memory(
        4 * 8 * n_components * (n_terms - n_own + 1) ** 2,
        f"the regressions of {n_components} topics on {n_terms} terms of the covariates need at least",
        "Give fewer topics, or categories with fewer levels.",
    )
