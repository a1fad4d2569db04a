"""The terms of the variational bound with q(pi_j) = Dir(a_j omega_j), and Newton steps for a and omega.

One expectation has no closed form. It is bounded from above: for x = gamma pi_jk, the function
log Gamma(x) + log x - x log x is concave (its second derivative psi'(1 + x) - 1 / x is negative), so that with
m = gamma omega_jk

    E log Gamma(x) <= log Gamma(m) + (1 - m) [log omega_jk + psi(a) - psi(a omega_jk)] + gamma (1 - omega_jk) / a,

which is equation 65 of George, Xia & Michailidis (2019), after Kim, Voelker & Saul (2013), theorem 3.1.
"""

import numpy as np
from scipy.special import gammaln, polygamma, psi

from sklda._core.priors import SMALLEST
from sklda._core.rising import log_gamma_divergence

# Rounds of Newton steps for (omega, a) in one iteration. Chosen, not tuned: the next iteration continues from the last
# values.
_ROUNDS = 10
# The rounds end when one gains less than this part of the bound. Chosen: rounding errors are about 1e-16 of it.
_ROUND_TOLERANCE = 1e-10
# A Newton step in omega goes at most this part of the way to the edge of the simplex, and one in log a at most this
# far. A step that lowers the bound is halved at most this many times. These numbers are not tuned.
_TO_THE_EDGE, _LONGEST_LOG_A, _HALVINGS = 0.99, 2, 20
# Range of a, a sum of Dirichlet parameters.
_SMALLEST_A, _LARGEST_A = 1e-6, 1e15


class Mixtures:
    """The terms of the bound with q(pi_j) = Dir(a_j omega_j), and Newton steps that never lower them.

    Parameters
    ----------
    alpha, gamma : float
    n_documents : ndarray of shape (n_collections,)
    log_theta : ndarray of shape (n_collections, n_components)
        Sums over the documents of E log theta_dk.
    """

    def __init__(self, alpha, gamma, n_documents, log_theta):
        self.alpha, self.gamma, self.n, self.log_theta = alpha, gamma, n_documents[:, None], log_theta

    def bound(self, a, omega):
        """(n_collections,), without the terms that depend on neither a nor omega."""
        t, m = a * omega, self.gamma * omega
        terms = m * self.log_theta - self.n * self.log_gamma_bound(a, omega, m)
        # The Kullback-Leibler divergence from the prior of pi. The sum of t differs from a by rounding.
        terms -= log_gamma_divergence(self.alpha, t)
        return terms.sum(axis=1) + log_gamma_divergence(omega.shape[1] * self.alpha, t.sum(axis=1))

    def log_gamma_bound(self, a, omega, m):
        return gammaln(m) + (1 - m) * (np.log(omega) + psi(a) - psi(a * omega)) + self.gamma * (1 - omega) / a

    def omega_slopes(self, a, omega):
        """First and second derivative of each term in omega_jk, up to a constant (equations 69, 70)."""
        t, g = a * omega, self.gamma
        m, first, second = g * omega, polygamma(1, t), polygamma(2, t)
        slope = a * (self.alpha - t) * first + g * self.log_theta
        slope -= self.n * (
            g * psi(m) + (1 - m) * (1 / omega - a * first) - g * (np.log(omega) + psi(a) - psi(t)) - g / a
        )
        curvature = a**2 * ((self.alpha - t) * second - first)
        curvature -= self.n * (
            g**2 * polygamma(1, m) - 2 * g * (1 / omega - a * first) - (1 - m) * (1 / omega**2 + a**2 * second)
        )
        return slope, curvature

    def a_slopes(self, a, omega):
        """First and second derivative in a_j (equations 74, 75)."""
        t, K = a * omega, omega.shape[1]
        m, first, second = self.gamma * omega, polygamma(1, t), polygamma(2, t)

        def row(terms):
            return terms.sum(axis=1, keepdims=True)

        slope = row(omega * (self.alpha - t) * first) - (K * self.alpha - a) * polygamma(1, a)
        slope -= self.n * row((1 - m) * (polygamma(1, a) - omega * first))
        slope += self.n * self.gamma * (K - 1) / a**2
        curvature = row(omega**2 * ((self.alpha - t) * second - first)) + polygamma(1, a)
        curvature -= (K * self.alpha - a) * polygamma(2, a)
        curvature -= self.n * row((1 - m) * (polygamma(2, a) - omega**2 * second))
        curvature -= 2 * self.n * self.gamma * (K - 1) / a**3
        return slope, curvature

    def ascend(self, a, omega):
        """Newton steps in omega (its sum kept, equation 72) and log a in turn; each is halved until the bound rises."""
        value = self.bound(a, omega)
        for _ in range(_ROUNDS):
            slope, curvature = self.omega_slopes(a, omega)
            inverse = 1 / np.maximum(np.abs(curvature), 1e-300)
            mean = (slope * inverse).sum(axis=1, keepdims=True) / inverse.sum(axis=1, keepdims=True)
            step = (slope - mean) * inverse
            with np.errstate(divide="ignore", over="ignore"):
                step *= np.minimum(1, _TO_THE_EDGE / np.max(-step / omega, axis=1, keepdims=True, initial=1e-300))
            before = value
            omega, value = self._search(_along(a, omega, step), 1, omega, value)
            slope, curvature = self.a_slopes(a, omega)
            # With respect to log a.
            slope, curvature = slope * a, np.abs(curvature * a**2 + slope * a)
            step = np.clip(slope / np.maximum(curvature, 1e-300), -_LONGEST_LOG_A, _LONGEST_LOG_A)
            a, value = self._search(_scaled(a, omega, step), 0, a, value)
            if (value - before <= _ROUND_TOLERANCE * np.abs(value)).all():
                break
        return a, omega

    def _search(self, move, which, old, value):
        """For each collection the longest of the steps 1, 1/2, 1/4, ... that raises the bound, or none."""
        new, best, open_ = old, value, np.ones(len(value), bool)
        for halvings in range(_HALVINGS):
            trial = move(0.5**halvings)
            with np.errstate(all="ignore"):
                found = self.bound(*trial)
            better = open_ & (found > value)
            new = np.where(better[:, None], trial[which], new)
            best = np.where(better, found, best)
            open_ &= ~better
            if not open_.any():
                break
        return new, best


def _along(a, omega, step):
    return lambda s: (a, simplex(omega + s * step))


def _scaled(a, omega, log_step):
    return lambda s: (np.clip(a * np.exp(s * log_step), _SMALLEST_A, _LARGEST_A), omega)


def simplex(omega):
    """Rows that sum to one, no entry below 1e-12."""
    omega = np.maximum(omega, SMALLEST)
    return omega / omega.sum(axis=1, keepdims=True)
