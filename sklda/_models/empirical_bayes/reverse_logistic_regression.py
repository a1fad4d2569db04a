"""Reverse logistic regression: the density of the distribution from which draws at a few fixed points come."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp


@dataclass(frozen=True, eq=False)
class ReverseLogisticRegression:
    """The distribution of draws at fixed points, with zeta at its fixed point on the same draws."""

    # log of sum_j s_j p(w, z_i | h_j) / zeta_j, where s_j is the share of the draws at point j; (n_draws,).
    log_denominators: np.ndarray
    # Probability of point j given draw i, (n_draws, n_points). Their sums over draws are the numbers of draws at the
    # points.
    members: np.ndarray

    @classmethod
    def of(cls, log_p, at):
        """From log p(w, z_i | h_j), (n_draws, n_points), and the point of each draw.

        log zeta_j = log mean_i p(w, z_i | h_j) / d_i (Geyer 1994; Buta & Doss 2011) maximises a concave function. The
        steps are those of Newton where the points overlap, and of the fixed point otherwise. They end when the numbers
        of draws at the points are right to ten digits, or after 500.
        """
        used, n_at = np.unique(at, return_counts=True)
        log_p = log_p[:, used]
        log_shares = np.log(n_at / len(at))
        log_zeta = log_p.mean(axis=0)
        for _ in range(500):
            log_terms = log_p - log_zeta + log_shares
            log_d = logsumexp(log_terms, axis=1)
            found = cls(log_denominators=log_d, members=np.exp(log_terms - log_d[:, None]))
            sums = found.members.sum(axis=0)
            if np.abs(sums - n_at).max() < 1e-10 * len(log_p):
                break
            step = found._slope @ (sums - n_at)
            log_zeta = log_zeta + (step if np.abs(step).max() < 1 else np.log(sums / n_at))
        return found

    @cached_property
    def _slope(self):
        """Change of log zeta for a change of the sums of `members`."""
        laplacian = np.diag(self.members.sum(axis=0)) - self.members.T @ self.members
        return np.linalg.pinv(laplacian, hermitian=True)

    def influences(self, terms):
        """`terms` (n_draws, n), whose columns add up to zero, plus the effect of each draw through log zeta."""
        return terms + self.members @ (self._slope @ (self.members.T @ terms))
