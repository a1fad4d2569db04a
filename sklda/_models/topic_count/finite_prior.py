"""What is known before of an unknown, finite number of topics T, of their shares and of the priors; and its densities.

    T ~ p(T),  pi | T ~ Dir(g, ..., g),  theta_d ~ Dir(gamma pi),  phi_k ~ Dir(eta_1, ..., eta_V)

This is a mixture of finite mixtures (Miller & Harrison 2018; Frühwirth-Schnatter, Malsiner-Walli & Grün 2021) above the
documents. Given the tables t_k of the n topics with tokens, M of them in all, pi can be integrated out:

    p(z, t) = V(n) prod_k G(g + t_k) / G(g),   V(n) = sum_T p(T) T! / (T - n)! G(g T) / G(g T + M),

without the factors that depend on the tables of documents only; G is the gamma function. So T given n, M and g has the
probability of its term, and g and gamma can be drawn given the tables.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from sklda._core.rising import log_gamma_ratio, sum_of_log_gamma_ratios

# The logarithms of gamma and eta are normal around those of the first numbers, with the second number as standard
# deviation. So 95 % of eta lie between .002 and 5, and of gamma between .02 and 50.
GAMMA_PRIOR, ETA_PRIOR = (1.0, 2.0), (0.1, 2.0)
# That of g likewise; it is cut off at the bounds. With a g near 0, topics without tokens cost nothing, and T has no
# upper end.
G_PRIOR, G_BOUNDS = (1.0, 1.5), (0.5, 1e6)
# Shares are equal with this g, up to a part of 1e-3.
EQUAL = 1e6


@dataclass(frozen=True, eq=False)
class FinitePrior:
    """What is known before of T, g, gamma and eta for a corpus.

    Attributes
    ----------
    counts : ndarray of shape (n_counts,), int
        Numbers of topics of positive probability, ascending.
    log_p : ndarray of shape (n_counts,)
        log p(T), up to a constant.
    lengths : tuple of ndarray
        The different lengths of documents, and how many documents have each.
    n_features : int
    g : float or None
        None: unknown.
    gammas : ndarray of shape (n_counts,) or None
        gamma at each number of topics. None: unknown.
    etas : ndarray of shape (n_counts,) or None
        eta at each number of topics, if it depends on it.
    draws_eta : bool
    """

    counts: np.ndarray
    log_p: np.ndarray
    lengths: tuple[np.ndarray, np.ndarray]
    n_features: int
    g: float | None = None
    gammas: np.ndarray | None = None
    etas: np.ndarray | None = None
    draws_eta: bool = True

    @cached_property
    def place(self) -> dict[int, int]:
        """The position of each number of topics among `counts`."""
        return {int(T): i for i, T in enumerate(self.counts)}

    # --- The number of topics ---

    def log_terms(self, n, n_tables, g, others=0.0):
        """log of the terms of V(n), (n_counts,), minus infinity below n; `others` are added."""
        return self._log_choices(n) - log_gamma_ratio(g * self.counts, n_tables) + others

    def _log_choices(self, n):
        """log of p(T) T! / (T - n)!, (n_counts,), minus infinity below n."""
        log_factorials, left = self._log_factorials, self.counts - n
        return self.log_p + np.where(left < 0, -np.inf, log_factorials[self.counts] - log_factorials[left])

    def log_v(self, n, n_tables, g, gamma):
        """log V(n), and the factors of gamma."""
        return np.logaddexp.reduce(self.log_terms(n, n_tables, g, self.gamma_terms(n_tables, gamma)))

    def log_p_given_tables(self, tables, g, gamma):
        """log p(T | tables, g), (n_counts,)."""
        n, n_tables = np.count_nonzero(tables), int(tables.sum())
        log_p = self.log_terms(n, n_tables, g, self.gamma_terms(n_tables, gamma))
        return log_p - np.logaddexp.reduce(log_p)

    def gamma_terms(self, n_tables, gamma):
        """What p(t | T) has beside V by gamma: a number, or (n_counts,) if gamma depends on T."""
        if self.gammas is None:
            return n_tables * np.log(gamma)
        return n_tables * np.log(self.gammas) - self._log_lengths

    def eta_terms(self, counts):
        """log p(w | z, T), (n_counts,), given `WordCounts`, where eta depends on T."""
        etas = self.etas[:, None]
        of_words = log_gamma_ratio(etas, counts.values) @ np.bincount(counts.places)
        return of_words - log_gamma_ratio(etas * self.n_features, counts.totals).sum(axis=1)

    def gamma_at(self, n_topics, gamma):
        """gamma, or if it depends on T, that of a number of topics."""
        return gamma if self.gammas is None else float(self.gammas[self.place[n_topics]])

    @cached_property
    def _log_factorials(self):
        return gammaln(np.arange(self.counts[-1] + 1) + 1.0)

    @cached_property
    def _log_lengths(self):
        """The sum over documents of log G(gamma + n_d) - log G(gamma) at each number of topics."""
        lengths, numbers = self.lengths
        return log_gamma_ratio(self.gammas[:, None], lengths) @ numbers

    # --- Log densities of the logarithms of g, gamma and eta, up to constants ---

    def log_prior(self, n_topics, logs):
        """log p of a number of topics and of those of g, gamma and eta that are unknown."""
        value = self.log_p[self.place[n_topics]]
        if self.g is None:
            value += _log_normal(logs["g"], G_PRIOR)
        if self.gammas is None:
            value += _log_normal(logs["gamma"], GAMMA_PRIOR)
        if self.draws_eta:
            value += _log_normal(logs["eta"], ETA_PRIOR)
        return value

    def densities(self, sample, gamma) -> dict[str, Callable[[float], float]]:
        """The log densities of those that are unknown, given what else a `Sample` has."""
        found, tables = {}, sample.tables
        n_tables = int(tables.sum())
        if self.g is None:
            found["g"] = self.g_density(tables[tables > 0], self.gamma_terms(n_tables, gamma))
        if self.gammas is None:
            found["gamma"] = self.gamma_density(n_tables)
        if self.draws_eta:
            found["eta"] = self.eta_density(sample.words, sample.eta.levels)
        return found

    def g_density(self, tables, terms):
        """That of g given the tables of the topics with tokens; `terms` are the other terms of T."""
        M, tables, once = int(tables.sum()), tables.astype(np.float64), np.ones(len(tables))
        terms = self._log_choices(len(tables)) + terms

        def log_density(x):
            g = np.exp(x)
            rising = sum_of_log_gamma_ratios(g, tables, once)
            return _log_normal(x, G_PRIOR) + rising + np.logaddexp.reduce(terms - log_gamma_ratio(g * self.counts, M))

        return log_density

    def gamma_density(self, n_tables):
        """That of gamma given the number of tables."""
        lengths, numbers = (each.astype(np.float64) for each in self.lengths)

        def log_density(x):
            return _log_normal(x, GAMMA_PRIOR) + n_tables * x - sum_of_log_gamma_ratios(np.exp(x), lengths, numbers)

        return log_density

    def eta_density(self, counts, levels):
        """That of eta given the counts of words in topics, and the levels of the words."""
        log_density = counts.log_density(levels)
        return lambda x: _log_normal(x, ETA_PRIOR) + log_density(x)


def _log_normal(x, prior):
    """log density of x, up to a constant."""
    centre, spread = prior
    return -(((x - np.log(centre)) / spread) ** 2) / 2
