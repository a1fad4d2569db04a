"""The model of Dirichlet-multinomial regression (Mimno & McCallum 2008), and the settings of a fit.

alpha_dk = exp(x_d . lambda_k), where x_d has a one and the standardised covariates of document d. The intercept of
topic k is normal around the logarithm of a given alpha. Its other coefficients are normal around zero with a standard
deviation sigma, which may have a half-Cauchy prior.
"""

from dataclasses import dataclass

import numpy as np

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
