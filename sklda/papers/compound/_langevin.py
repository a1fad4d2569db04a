"""Compound LDA by MMALA: Metropolis-adjusted Langevin steps with a position-dependent metric, for the mixtures given z.

George, Xia & Michailidis (2019), section 3.1.2, after Girolami & Calderhead (2011). Here the coordinates are log phi
rather than phi, so that no step leaves the domain.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax
from sklearn.utils import Bunch

from sklda._core import random
from sklda._input.types import Counts
from sklda._models.compound.estimator import CompoundLDA
from sklda._models.compound.gamma import tails_of
from sklda._models.compound.mixtures import Mixtures
from sklda._sampling.mixture_step import document_prior
from sklda._sampling.run_chains import best_chain

# Share of steps to accept: optimal for Langevin proposals in many dimensions (Roberts & Rosenthal 1998).
_TARGET_ACCEPTANCE = 0.574
# The first step, a standard deviation in units of the metric, is n_components to the power -1/6: the rate at which the
# optimal step shrinks (Roberts & Rosenthal 1998).
_STEP_ROOT = 6
# Sweep s changes the log step by s to this power times the error of the acceptance. Between -1 and -1/2, the changes
# die out and still reach every step size (Robbins & Monro 1951).
_ADAPTATION_EXPONENT = -0.6


def first_log_step(n_collections, n_components):
    """Logarithm of the first step size of each collection."""
    return np.full(n_collections, -np.log(n_components) / _STEP_ROOT)


def adapted(log_step, accepted, n_sweeps):
    """The next log step sizes, given which steps of sweep number `n_sweeps` were accepted."""
    return log_step + (accepted - _TARGET_ACCEPTANCE) * n_sweeps**_ADAPTATION_EXPONENT


def move_mixtures(rng, log_pi, log_step, tails, alpha, gamma):
    """One Metropolis-adjusted step for each collection.

    Parameters
    ----------
    rng : numpy.random.Generator
    log_pi : ndarray of shape (n_collections, n_components)
    log_step : ndarray of shape (n_collections,)
    tails : TailCounts
    alpha, gamma : float

    Returns
    -------
    log_pi : ndarray of shape (n_collections, n_components)
    accepted : ndarray of shape (n_collections,), bool
    """
    # p(z | pi) does not depend on the sum of phi, so the sum is drawn from its prior.
    log_total = random.log_gamma(rng, np.full((len(log_pi), 1), alpha * log_pi.shape[1]))
    here = LangevinPoint(log_pi + log_total, tails, alpha, gamma)
    step = np.exp(log_step)[:, None]
    noise = rng.standard_normal(log_pi.shape)
    there = LangevinPoint(here.mean(step) + step * noise / np.sqrt(here.metric), tails, alpha, gamma)
    with np.errstate(invalid="ignore", over="ignore"):
        log_ratio = there.log_density - here.log_density
        log_ratio += there.log_proposal(here, step) - here.log_proposal(there, step)
    accepted = -rng.standard_exponential(len(log_ratio)) < np.where(np.isnan(log_ratio), -np.inf, log_ratio)
    return log_softmax(np.where(accepted[:, None], there.log_phi, here.log_phi), axis=1), accepted


class LangevinPoint:
    """A point phi of every collection: density, gradient and metric in the coordinates log phi.

    With phi_k independent Gamma(alpha, 1), pi = phi / sum phi is Dirichlet(alpha) (equation 18). The log density of a
    collection is

        sum_k [alpha log phi_k - phi_k] + sum_dk [log Gamma(gamma pi_k + n_dk) - log Gamma(gamma pi_k)].

    The last term depends on pi and cannot be dropped. The metric is diagonal, alpha + E(s_k) + phi_k, with the expected
    auxiliary counts E(s_k) = sum_d sum_{i < n_dk} a_k / (a_k + i), a_k = gamma pi_k. It is close to the negative second
    derivative.

    Parameters
    ----------
    log_phi : ndarray of shape (n_collections, n_components)
    tails : TailCounts
    alpha, gamma : float
    """

    def __init__(self, log_phi, tails, alpha, gamma):
        self.log_phi = log_phi
        with np.errstate(over="ignore"):
            phi = np.exp(log_phi)
        pi = np.exp(log_softmax(log_phi, axis=1))
        a = document_prior(gamma, pi).ravel()[tails.cells]
        share = a / (a + tails.steps)
        tables = tails.sums(share)
        with np.errstate(invalid="ignore", over="ignore"):
            self.log_density = (alpha * log_phi - phi + self.log_likelihood(tails, a)).sum(axis=1)
            gradient = alpha - phi + tables - pi * tables.sum(axis=1, keepdims=True)
            self.metric = alpha + tables + phi
            slope = phi + (1 - pi) * tails.sums(share * (1 - share))
            # The mean of the proposal is half of this times the squared step; the slope of the metric belongs to it.
            self.drift = (gradient - slope / self.metric) / self.metric

    @staticmethod
    def log_likelihood(tails, a):
        return tails.sums(np.log(a + tails.steps))

    def mean(self, step):
        """Mean of the proposal from here."""
        return self.log_phi + 0.5 * step**2 * self.drift

    def log_proposal(self, other, step):
        """Log density of the proposal of `other` from here, without terms that are the same in both directions."""
        z = (other.log_phi - self.mean(step)) / step
        return 0.5 * (np.log(self.metric) - z**2 * self.metric).sum(axis=1)


class LangevinMixtures(Mixtures):
    """Moves the mixtures of the collections by a Langevin step after every sweep; the target is that of `Mixtures`.

    Attributes
    ----------
    log_step : ndarray of shape (n_collections,)
        Logarithm of the step size. It changes only in the burn-in.
    accepted : list of float
        The share of steps that were accepted in each sweep after the burn-in.
    """

    def __init__(self, model, seed, n_components):
        super().__init__(model, seed, n_components)
        self.log_step = first_log_step(model.n_collections, n_components)
        self.accepted = []

    def draw_mixtures(self, chain, rng):
        self.log_pi, accepted = move_mixtures(
            rng, self.log_pi, self.log_step, tails_of(chain, self), self.alpha, self.gamma
        )
        if chain.n_sweeps <= chain.n_burn_in:
            self.log_step = adapted(self.log_step, accepted, chain.n_sweeps)
        else:
            self.accepted.append(accepted.mean())

    def acceptance_rate(self):
        """Share of steps accepted after the burn-in."""
        return float(np.mean(self.accepted or [0.0]))


class _LangevinLDA(CompoundLDA):
    """The fit of `sklda.CompoundLDA` with `LangevinMixtures`."""

    def _priors(self, corpus, values, columns):
        doc_prior, topic_prior = super()._priors(corpus, values, columns)
        doc_prior.kind = LangevinMixtures
        return doc_prior, topic_prior

    def _set_results(self, chains):
        self.acceptance_rate_: float = chains[best_chain(chains)].step(LangevinMixtures).acceptance_rate()
        super()._set_results(chains)


def langevin(X: Counts, collections: ArrayLike, n_components: int = 10, **parameters: Any) -> Bunch:
    """Compound LDA whose mixtures move by a Metropolis-adjusted Langevin step after every sweep.

    The posterior is that of `sklda.CompoundLDA`, whose draws given auxiliary counts mix faster and take less time. The
    coordinates are log phi rather than the phi of section 3.1.2 of the paper, so no step leaves the domain.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts.
    collections : sequence of n_documents labels
        The collection of every document.
    n_components : int, default=10
        Number of topics, K.
    **parameters
        Those of `sklda.CompoundLDA`, such as ``max_iter``, ``burn_in`` and ``random_state``. The size of the steps
        changes only in the burn-in.

    Returns
    -------
    sklearn.utils.Bunch
        - ``collection_topic``, ``collection_topic_std`` (n_collections, n_components): means and standard deviations of
          the mixtures.
        - ``collection_topic_draws`` (n_draws, n_collections, n_components): their draws.
        - ``topic_word`` (n_components, n_features), ``doc_topic`` (n_documents, n_components): topics and proportions.
        - ``doc_concentration``, ``topic_word_prior``: gamma and eta.
        - ``acceptance_rate``: share of the steps accepted after the burn-in.

    Raises
    ------
    ValueError, TypeError
        As in `sklda.CompoundLDA.fit`.

    References
    ----------
    George, Xia & Michailidis (2019). Analyses of multi-collection corpora via compound topic modeling.

    Girolami & Calderhead (2011). Riemann manifold Langevin and Hamiltonian Monte Carlo methods. JRSS B 73.

    Examples
    --------
    >>> from sklda.datasets import make_compound_lda_corpus
    >>> from sklda.papers.compound import langevin
    >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
    >>> found = langevin(corpus.data, corpus.collections, 3, max_iter=100, random_state=0)
    >>> found.collection_topic.shape, bool(0 < found.acceptance_rate < 1)
    ((2, 3), True)
    """
    lda: Any = _LangevinLDA(n_components, **parameters).fit(X, collections=collections)
    return Bunch(
        collection_topic=lda.collection_topic_,
        collection_topic_std=lda.collection_topic_std_,
        collection_topic_draws=lda.collection_topic_draws_,
        topic_word=lda.topic_word_,
        doc_topic=lda.doc_topic_,
        doc_concentration=lda.doc_concentration_,
        topic_word_prior=lda.topic_word_prior_,
        acceptance_rate=lda.acceptance_rate_,
    )
