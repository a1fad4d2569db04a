"""Compound LDA: chains on (z, pi) with one topic mixture pi_j for each collection of documents.

George, Xia & Michailidis (2019), section 3.1. Given pi, z is drawn by the collapsed sweep with the prior gamma pi_j of
each document's collection; given z, pi is drawn by auxiliary counts or moved by Langevin dynamics.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from sklda._kernels import _compound
from sklda.inference import random
from sklda.inference.chain import ChainState, GibbsChain
from sklda.inference.compound_priors import GibbsEM, Tails, draw_alpha
from sklda.inference.parallel import GO_ON
from sklda.inference.priors import SMALLEST

# Sweeps between two M-steps of Gibbs-EM.
_EM_SWEEPS = 10
# Acceptance that is best for Langevin proposals in many dimensions (Roberts & Rosenthal 1998).
_BEST_ACCEPTANCE = 0.574


@dataclass(frozen=True, eq=False)
class Model:
    """What stays the same along a chain.

    Attributes
    ----------
    collections : ndarray of shape (n_documents,), int64
        The collection of every document.
    n_collections : int
    inference : {"augmented", "langevin"}
    alpha_prior : tuple of (shape, rate) or None
        Gamma prior of alpha; None: alpha stays as it is.
    learn_priors : bool
        Whether gamma and eta are learned in the burn-in.
    burn_in : int
        Sweeps that are not averaged, and in which whatever is tuned is tuned.
    draw_every : int or None
        Sweeps between draws of pi that are kept.
    """

    collections: np.ndarray
    n_collections: int
    inference: str = "augmented"
    alpha_prior: tuple | None = None
    learn_priors: bool = False
    burn_in: int = 0
    draw_every: int | None = None


@dataclass(frozen=True, eq=False)
class CompoundState(ChainState):
    """A `ChainState` with the collections' side of it.

    Attributes
    ----------
    seed : numpy.random.SeedSequence
        What is drawn for the collections after sweep s comes from its child s.
    log_pi : ndarray of shape (n_collections, n_components)
    alpha, gamma : float
    eta : float or None
        None where eta is not learned.
    log_step : ndarray of shape (n_collections,)
        Logarithm of the Langevin step.
    accepted : float
        Langevin proposals accepted after the burn-in, a collection.
    moments : ndarray of shape (2, n_collections, n_components)
        Sums of pi and of its square over the sweeps after the burn-in.
    alphas : tuple of float
        alpha after every sweep, where it is drawn.
    learned : tuple of (float, float)
        (gamma, eta) after every M-step.
    draws : tuple of ndarray
        pi at every `draw_every`-th sweep after the burn-in.
    gathered : tuple
        What `GibbsEM` has gathered since the last M-step.
    """

    seed: np.random.SeedSequence = None
    log_pi: np.ndarray = None
    alpha: float = 1.0
    gamma: float = 1.0
    eta: float | None = None
    log_step: np.ndarray = None
    accepted: float = 0.0
    moments: np.ndarray = None
    alphas: tuple = ()
    learned: tuple = ()
    draws: tuple = ()
    gathered: tuple = ()


class CompoundChain(GibbsChain):
    """A chain with target p(z, pi | w, alpha, gamma, eta), phi and theta integrated out.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        Of which eta is used; alpha of a document is max(gamma pi, 1e-12). Where pi is smaller, alpha stays in the range
        of the kernels, and the target is that of the model with this bound in it: the auxiliary counts and the Langevin
        density have the bounded value too. A topic without tokens does not feel it, and one with a token has so small a
        share with a probability of order 1e-12^(1 + alpha) / alpha.
    state : CompoundState
    model : Model
    """

    def __init__(self, corpus, priors, state, model):
        super().__init__(corpus, priors, state)
        self.model = model
        self.seed = state.seed
        self.log_pi, self.log_step = state.log_pi.copy(), state.log_step.copy()
        self.alpha, self.gamma, self.eta = state.alpha, state.gamma, state.eta
        self.accepted, self.moments = state.accepted, state.moments.copy()
        self.alphas, self.learned, self.draws = list(state.alphas), list(state.learned), list(state.draws)
        self.em = GibbsEM(corpus.lengths, corpus.n_features, state.gathered) if model.learn_priors else None
        self._set_eta(self.eta)
        self._set_doc_prior()

    def __reduce__(self):
        return type(self), (self.corpus, self.priors, self.snapshot(), self.model)

    @classmethod
    def start(cls, corpus, priors, seed, model, alpha, gamma, eta=None):
        """Begin with the topics of a `GibbsChain` and with the same mixture for every collection."""
        first = GibbsChain.start(corpus, priors, random.child(seed, 0))
        J, K = model.n_collections, priors.n_components
        state = CompoundState(
            first.topics,
            first.stream,
            seed=random.child(seed, 1),
            log_pi=np.full((J, K), -np.log(K)),
            alpha=alpha,
            gamma=gamma,
            eta=eta,
            log_step=np.full(J, -np.log(K) / 6),
            moments=np.zeros((2, J, K)),
        )
        return cls(corpus, priors, state, model)

    @property
    def pi(self):
        return np.exp(self.log_pi)

    @property
    def n_averaged(self):
        """Sweeps after the burn-in."""
        return max(self.n_sweeps - self.model.burn_in, 0)

    def mixtures(self):
        """Posterior mean and standard deviation of pi, over the sweeps after the burn-in; the present draw before."""
        if not self.n_averaged:
            return self.pi, np.zeros_like(self.log_pi)
        mean, square = self.moments / self.n_averaged
        return mean / mean.sum(axis=1, keepdims=True), np.sqrt(np.maximum(square - mean**2, 0))

    def alpha_mean(self):
        """Mean of alpha after the burn-in, where it is drawn."""
        return float(np.mean(self.alphas[-max(self.n_averaged, 1) :])) if self.alphas else self.alpha

    def sweep(self, stop=GO_ON):
        """Draw every token, then what belongs to the collections."""
        super().sweep(stop)
        rng = np.random.default_rng(random.child(self.seed, self.n_sweeps))
        self._move_mixtures(rng)
        if self.model.alpha_prior is not None:
            self.alpha = draw_alpha(rng, self.alpha, self.log_pi, *self.model.alpha_prior)
            self.alphas.append(self.alpha)
        if self.em is not None and self.n_sweeps <= self.model.burn_in:
            self._learn()
        self._set_doc_prior()
        if self.n_averaged:
            pi = self.pi
            self.moments += pi, pi**2
            if self.model.draw_every and self.n_averaged % self.model.draw_every == 0:
                self.draws.append(pi)

    def _move_mixtures(self, rng):
        if self.model.inference == "augmented":
            self.log_pi = random.log_dirichlet(rng, self.alpha + self.draw_tables())
        else:
            self._langevin(rng)

    def draw_tables(self):
        """Auxiliary counts summed over the documents of every collection, int64 (n_collections, n_components)."""
        tables = np.zeros(self.log_pi.shape, np.int64)
        _compound.draw_tables(
            self.corpus.offsets,
            self.topics,
            self.model.collections,
            self.priors.doc,
            self.stream,
            tables,
            self._counts,
        )
        return tables

    def tails(self):
        return Tails.count(self.corpus, self.topics, self.model.collections, self.log_pi.shape, self._counts)

    def _langevin(self, rng):
        """One Metropolis-adjusted step of all collections, each accepted or not."""
        tails = self.tails()
        # The total of phi has no say in pi, and is drawn anew.
        log_total = random.log_gamma(rng, np.full((len(self.log_pi), 1), self.alpha * self.log_pi.shape[1]))
        here = LangevinPoint(self.log_pi + log_total, tails, self.alpha, self.gamma)
        step = np.exp(self.log_step)[:, None]
        noise = rng.standard_normal(self.log_pi.shape)
        there = LangevinPoint(here.mean(step) + step * noise / np.sqrt(here.metric), tails, self.alpha, self.gamma)
        with np.errstate(invalid="ignore", over="ignore"):
            log_ratio = there.log_density - here.log_density
            log_ratio += there.log_proposal(here, step) - here.log_proposal(there, step)
        accept = -rng.standard_exponential(len(log_ratio)) < np.where(np.isnan(log_ratio), -np.inf, log_ratio)
        self.log_pi = log_softmax(np.where(accept[:, None], there.log_phi, here.log_phi), axis=1)
        if self.n_sweeps <= self.model.burn_in:
            self.log_step += (accept - _BEST_ACCEPTANCE) * self.n_sweeps**-0.6
        else:
            self.accepted += accept.mean()

    def _learn(self):
        """Gather a draw; now and then an M-step; at the end of the burn-in, the mean log over the later M-steps."""
        self.em.add(self.tails(), self.pi, self.word_topic_counts[:, : self.priors.n_components], self.topic_totals)
        if len(self.em.draws) == _EM_SWEEPS or self.n_sweeps == self.model.burn_in:
            self.gamma, self.eta = self.em.maximise(self.gamma, self.eta)
            self.learned.append((self.gamma, self.eta))
        if self.n_sweeps == self.model.burn_in:
            later = self.learned[len(self.learned) // 2 :]
            self.gamma, self.eta = (float(h) for h in np.exp(np.log(later).mean(axis=0)))
        self._set_eta(self.eta)

    def _set_eta(self, eta):
        if eta is not None:
            word = np.full(self.corpus.n_features, eta)
            self.priors = dataclasses.replace(
                self.priors, word=word, totals=np.full(self.priors.n_components, word.sum())
            )

    def _set_doc_prior(self):
        doc = bounded(self.gamma * self.pi)[self.model.collections]
        self.priors = dataclasses.replace(self.priors, doc=doc)

    def snapshot(self):
        state = super().snapshot()
        return CompoundState(
            **{field.name: getattr(state, field.name) for field in dataclasses.fields(ChainState)},
            seed=self.seed,
            log_pi=self.log_pi.copy(),
            alpha=self.alpha,
            gamma=self.gamma,
            eta=self.eta,
            log_step=self.log_step.copy(),
            accepted=self.accepted,
            moments=self.moments.copy(),
            alphas=tuple(self.alphas),
            learned=tuple(self.learned),
            draws=tuple(self.draws),
            gathered=tuple(self.em.draws) if self.em is not None else (),
        )


class LangevinPoint:
    """A point phi of every collection: density, gradient and metric on the scale of log phi.

    With phi_k independent Gamma(alpha, 1), pi = phi / sum phi is Dirichlet(alpha) (equation 18 of the paper). Here the
    coordinates are log phi, so that no step leaves the domain. The target of a collection is

        sum_k [alpha log phi_k - phi_k] + sum_dk [log Gamma(gamma pi_k + n_dk) - log Gamma(gamma pi_k)],

    where the second normaliser depends on pi and stays. The metric is diagonal, alpha + E(s_k) + phi_k, with the
    expected auxiliary counts E(s_k) = sum_d sum_{i < n_dk} a_k / (a_k + i), a_k = gamma pi_k: about the curvature.

    Parameters
    ----------
    log_phi : ndarray of shape (n_collections, n_components)
    tails : Tails
    alpha, gamma : float
    """

    def __init__(self, log_phi, tails, alpha, gamma):
        self.log_phi = log_phi
        with np.errstate(over="ignore"):
            phi = np.exp(log_phi)
        pi = np.exp(log_softmax(log_phi, axis=1))
        a = bounded(gamma * pi).ravel()[tails.cells]
        share = a / (a + tails.steps)
        tables = tails.sums(share)
        with np.errstate(invalid="ignore", over="ignore"):
            self.log_density = (alpha * log_phi - phi + self.log_likelihood(tails, a)).sum(axis=1)
            gradient = alpha - phi + tables - pi * tables.sum(axis=1, keepdims=True)
            self.metric = alpha + tables + phi
            slope = phi + (1 - pi) * tails.sums(share * (1 - share))
            # Half of it, times the squared step, is the drift: the metric's own slope belongs to it.
            self.drift = (gradient - slope / self.metric) / self.metric

    @staticmethod
    def log_likelihood(tails, a):
        return tails.sums(np.log(a + tails.steps))

    def mean(self, step):
        return self.log_phi + 0.5 * step**2 * self.drift

    def log_proposal(self, other, step):
        """log of the density of proposing `other` from here, up to what both ways share."""
        z = (other.log_phi - self.mean(step)) / step
        return 0.5 * (np.log(self.metric) - z**2 * self.metric).sum(axis=1)


def bounded(doc_prior):
    """gamma pi in the range of the kernels."""
    return np.maximum(doc_prior, SMALLEST)
