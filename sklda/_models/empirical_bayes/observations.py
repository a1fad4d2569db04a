"""The records of the sweeps of chains on (h, z)."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sklda._core.count_histograms import CountHistograms
from sklda._core.dirichlet import dirichlet_log_density


@dataclass(frozen=True, eq=False)
class DirichletDraws:
    """The statistics of draws of (theta, beta) in log nu_h(theta, beta), with the interface of `CountHistograms`.

    The paper's own ratio (equation 2.2), where theta and beta are drawn and not integrated out.
    """

    n_documents: int
    n_components: int
    n_features: int
    # Sums over all entries of log theta and of log beta, (n_draws,).
    log_theta: np.ndarray
    log_beta: np.ndarray

    @classmethod
    def stack(cls, parts):
        return replace(
            parts[0],
            log_theta=np.concatenate([part.log_theta for part in parts]),
            log_beta=np.concatenate([part.log_beta for part in parts]),
        )

    def __len__(self):
        return len(self.log_theta)

    def word_part(self, eta, order=0):
        """log density of beta, or its derivative of that order with respect to log eta; (n_draws, n_etas)."""
        return dirichlet_log_density(eta, self.n_components, self.n_features, self.log_beta, order)

    def doc_part(self, alpha, order=0):
        """log density of theta, or its derivative of that order with respect to log alpha; (n_draws, n_alphas)."""
        return dirichlet_log_density(alpha, self.n_documents, self.n_components, self.log_theta, order)


class Observation(NamedTuple):
    """What is kept of a sweep."""

    # Indices of alpha and of eta on the grid.
    at: tuple
    counts: CountHistograms
    parameters: DirichletDraws | None
    # The functionals at the draw of theta and beta.
    values: list
