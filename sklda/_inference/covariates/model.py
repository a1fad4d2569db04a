"""The model of Dirichlet-multinomial regression (Mimno & McCallum 2008), and the settings of a fit.

alpha_dk = exp(x_d . lambda_k), where x_d has a one and the standardised covariates of document d. The intercept of
topic k is normal around the logarithm of a given alpha. Its other coefficients are normal around zero with a standard
deviation sigma, which may have a half-Cauchy prior.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklda._inference.arguments import check_memory
from sklda._inference.parallel import Aligned
from sklda._inference.priors import LARGEST, SMALLEST
from sklda._inference.sampling.annealed_start import NOT_ANNEALED, Annealing

# Prior standard deviation of an intercept, in units of log alpha: a factor of 50 for two of them.
INTERCEPT_SCALE = 2.0
# Sweeps between two draws of lambda: one for each of these entries of alpha that differ, but at most seven. With half a
# million entries and ten covariates, a draw takes as long as three sweeps over a million tokens.
_ENTRIES, _MOST_SWEEPS = 50_000, 7
# log alpha is cut off here, so that alpha stays in the range of the kernels.
LOWEST, HIGHEST = np.log(SMALLEST), np.log(LARGEST)
# The largest value of a covariate, and one over its smallest standard deviation.
_LARGEST_VALUE = 1e100
# With a thousand terms, a sweep of three topics takes about seven seconds.
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

    @property
    def sweeps_between(self):
        """Sweeps between two draws of lambda."""
        return self.every or min(1 + len(self.rows) * len(self.centre) // _ENTRIES, _MOST_SWEEPS)

    def first_coefficients(self):
        """lambda with the given intercepts and no effects, (n_components, n_terms)."""
        coefficients = np.zeros((len(self.centre), self.rows.shape[1]))
        coefficients[:, 0] = self.centre
        return coefficients

    def alpha(self, coefficients):
        """alpha of the distinct rows, (n_rows, n_components)."""
        return np.exp(log_alpha(self.rows, coefficients))

    def prior_precision(self, sigma):
        """Precisions of the coefficients of a topic, (n_terms,)."""
        precision = np.full(self.rows.shape[1], sigma**-2.0)
        precision[0] = INTERCEPT_SCALE**-2.0
        return precision


def log_alpha(rows, coefficients):
    """log alpha of documents with the terms `rows`, within the range of the kernels; (n_rows, n_components)."""
    return np.clip(rows @ coefficients.T, LOWEST, HIGHEST)


def distinct_rows(columns):
    """A column of ones and `columns`: the distinct rows, and the row of every document."""
    rows, index = np.unique(np.column_stack([np.ones(len(columns)), columns]), axis=0, return_inverse=True)
    return rows, index.reshape(-1).astype(np.int64)


def prior_of(columns, intercept, coef):
    """alpha of documents with these columns, which are not standardised; (n_documents, n_components)."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = intercept + columns @ coef.T
    if np.isnan(found).any():
        raise ValueError("covariates has values so large that the prior of a document is not a number.")
    return np.exp(np.clip(found, LOWEST, HIGHEST))


def standardise(columns, terms):
    """Means and standard deviations of columns, and the standardised columns."""
    if not columns.shape[1]:
        return np.zeros(0), np.zeros(0), columns
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        mean, std = columns.mean(axis=0), columns.std(axis=0)
        # Of a constant the standard deviation is zero but for rounding.
        constant = np.ptp(columns, axis=0) == 0
    # Squares of the values and of their coefficients are summed.
    bad = (np.abs(columns).max(axis=0) > _LARGEST_VALUE) | (~constant & ~(std >= 1 / _LARGEST_VALUE))
    if bad.any():
        raise ValueError(
            f"the term {terms[int(np.argmax(bad))]!r} has values too large or too small: change its unit. No "
            f"value must exceed {_LARGEST_VALUE:g}, nor their standard deviation be below {1 / _LARGEST_VALUE:g}."
        )
    standardised = np.where(constant, 0.0, (columns - mean) / np.where(constant, 1.0, std))
    return mean, np.where(constant, 0.0, std), standardised


def check_size(design, n_components):
    """Refuse so many terms that a sweep takes minutes: its time grows with the cube of their number."""
    n_terms = len(design.terms)
    if n_terms > _MOST_TERMS:
        largest = max(design.covariates, key=lambda each: len(each.terms))
        raise ValueError(
            f"the covariates have {n_terms} terms, {len(largest.terms)} of them from {largest.name!r}; at most "
            f"{_MOST_TERMS} are possible. Join levels of categories, and leave out a covariate that has another value "
            "in nearly every document."
        )
    # The second derivatives of each topic, their roots, and copies.
    check_memory(
        4 * 8 * n_components * n_terms**2,
        f"the regressions of {n_components} topics on {n_terms} terms of the covariates need at least",
        "Give fewer topics, or categories with fewer levels.",
    )
