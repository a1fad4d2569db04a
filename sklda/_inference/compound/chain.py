"""The Markov chain of compound LDA: z, one topic mixture pi_j for each collection, and alpha.

George, Xia & Michailidis (2019), section 3.1. A sweep draws z given pi, by the collapsed sampler with the prior
gamma pi_j for the documents of collection j. Then it draws pi given z, by augmented Gibbs sampling or by a Langevin
step, and alpha given pi. In the burn-in, gamma and eta may be learnt by Gibbs-EM.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from sklda._inference import random
from sklda._inference.compound import augmented_gibbs, mmala
from sklda._inference.compound.priors import CompoundMStep, document_prior, draw_alpha
from sklda._inference.compound.tail_counts import TailCounts
from sklda._inference.gibbs_em import GibbsEM
from sklda._inference.parallel import NEVER_STOP
from sklda._inference.sampling.annealed_start import annealed_sweep
from sklda._inference.sampling.collapsed import ChainState, GibbsChain
from sklda._inference.sampling.kept_draws import KeptDraws

# Draws of (pi, z), one a sweep, behind an M-step of Gibbs-EM. Chosen, not tuned; the mean over the later M-steps
# removes most of the noise of so few.
_EM_DRAWS = 10


@dataclass(frozen=True, eq=False)
class CompoundState(ChainState):
    """A `ChainState`, and the state of the collections.

    Attributes
    ----------
    seed : numpy.random.SeedSequence
        Its child s seeds what is drawn for the collections after sweep s.
    log_pi : ndarray of shape (n_collections, n_components)
    alpha, gamma : float
    eta : float or None
        None if eta is not learnt.
    log_step : ndarray of shape (n_collections,)
        Logarithm of the Langevin step size.
    accepted : float
        Sum over the sweeps after the burn-in of the share of Langevin steps that were accepted.
    moments : ndarray of shape (2, n_collections, n_components)
        Sums of pi and of its square over the sweeps after the burn-in.
    alphas : tuple of float
        alpha after every sweep, if it is drawn.
    prior_trace : tuple of (float, float)
        (gamma, mean of eta) in every sweep, if one of them is learnt.
    mixture_draws : tuple of (int, ndarray)
        Sweep and pi of the draws that were kept after the burn-in. Those of z are the last of them.
    m_steps : tuple of ndarray of shape (2,)
        log (gamma, eta) at first and after every M-step; NaN for an eta that is not learnt.
    gathered : tuple of CompoundStatistics
        Draws since the last M-step.
    """

    seed: np.random.SeedSequence | None = None
    log_pi: np.ndarray | None = None
    alpha: float = 1.0
    gamma: float = 1.0
    eta: float | None = None
    log_step: np.ndarray | None = None
    accepted: float = 0.0
    moments: np.ndarray | None = None
    alphas: tuple = ()
    prior_trace: tuple = ()
    mixture_draws: tuple = ()
    m_steps: tuple = ()
    gathered: tuple = ()


@dataclass(frozen=True, eq=False)
class CompoundDraws(KeptDraws):
    """Draws of z and of the mixtures, which give alpha of each draw.

    Attributes
    ----------
    mixtures : ndarray of shape (n_draws, n_collections, n_components)
        pi in each draw.
    gamma : float
    collections : ndarray of shape (n_documents,), int32
    """

    mixtures: np.ndarray
    gamma: float
    collections: np.ndarray

    def _alpha(self, index):
        return document_prior(self.gamma, self.mixtures[index]), self.collections

    def last(self, n_draws):
        return dataclasses.replace(super().last(n_draws), mixtures=self.mixtures[-n_draws:])


class CompoundChain(GibbsChain):
    """A chain with target p(z, pi | w, alpha, gamma, eta), phi and theta integrated out.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        Only eta is used: alpha of a document is max(gamma pi, 1e-12), so that it stays in the range of the kernels. The
        target is the posterior of the model with this bound: the auxiliary counts and the Langevin density use the
        bounded value too. A topic without tokens does not depend on it, and one with a token has so small a share with
        a probability of order 1e-12^(1 + alpha) / alpha.
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
        self.alphas, self.prior_trace = list(state.alphas), list(state.prior_trace)
        self.mixture_draws = list(state.mixture_draws)
        self.em = self._gibbs_em(state) if model.learns else None
        self._set_eta(self.eta)
        self._set_doc_prior()

    def __reduce__(self):
        return type(self), (self.corpus, self.priors, self.state(), self.model)

    @classmethod
    def initialise(cls, corpus, priors, seed, model, alpha, gamma, eta=None):
        """Begin with the topics of a `GibbsChain` and with the same mixture for every collection."""
        first = GibbsChain.initialise_randomly(corpus, priors, random.child(seed, 0))
        J, K = model.n_collections, priors.n_components
        state = cls._first_state(
            model,
            topics=first.topics,
            stream=first.stream,
            seed=random.child(seed, 1),
            log_pi=np.full((J, K), -np.log(K)),
            alpha=alpha,
            gamma=gamma,
            eta=eta,
            log_step=mmala.first_log_step(J, K),
            moments=np.zeros((2, J, K)),
        )
        return cls(corpus, priors, state, model)

    @classmethod
    def _first_state(cls, model, **fields):
        return CompoundState(**fields)

    def restart_stream(self, seed):
        super().restart_stream(random.child(seed, 0))
        self.seed = random.child(seed, 1)

    @property
    def pi(self):
        return np.exp(self.log_pi)

    @property
    def n_averaged(self):
        """Sweeps after the burn-in."""
        return max(self.n_sweeps - self.model.burn_in, 0)

    def mixtures(self):
        """Posterior mean and standard deviation of pi, over the sweeps after the burn-in; the present draw before."""
        n = self.n_averaged
        if not n:
            return self.pi, np.zeros_like(self.log_pi)
        mean, square = self.moments / n
        variance = np.maximum(square - mean**2, 0) * n / max(n - 1, 1)
        return mean / mean.sum(axis=1, keepdims=True), np.sqrt(variance)

    def alpha_mean(self):
        """Mean of alpha after the burn-in, if it is drawn; otherwise alpha."""
        return float(np.mean(self.alphas[-max(self.n_averaged, 1) :])) if self.alphas else self.alpha

    def acceptance_rate(self):
        """Share of Langevin steps accepted after the burn-in."""
        return self.accepted / max(self.n_averaged, 1)

    def sweep(self, stop=NEVER_STOP):
        """Draw every token, then the mixtures and, if it is drawn, alpha; in the burn-in, learn gamma and eta."""
        if self.n_sweeps < self.model.annealing.n_sweeps:
            # The mixtures, and so alpha, change in every sweep.
            factor = self.model.annealing.factors(self.priors)[self.n_sweeps]
            annealed_sweep(self, factor, stop, self._sweep_tokens)
        else:
            self._sweep_tokens(stop)
        rng = np.random.default_rng(random.child(self.seed, self.n_sweeps))
        self._move_mixtures(rng)
        if self.model.alpha_prior is not None:
            self.alpha = draw_alpha(rng, self.alpha, self.log_pi, *self.model.alpha_prior)
            self.alphas.append(self.alpha)
        if self.model.changes_priors:
            self.prior_trace.append((self.gamma, float(self.priors.topic_word().mean())))
        if self.em is not None and self.model.annealing.n_sweeps < self.n_sweeps <= self.model.burn_in:
            self._learn()
        self._set_doc_prior()
        if self.n_averaged:
            pi = self.pi
            self.moments += pi, pi**2

    def _sweep_tokens(self, stop=NEVER_STOP):
        super().sweep(stop)

    def keep_draw(self, n_draws):
        super().keep_draw(n_draws)
        self.mixture_draws.append((self.n_sweeps, self.pi))

    def keep_only(self, n_burn_in, draw_every):
        super().keep_only(n_burn_in, draw_every)
        self.mixture_draws = [
            (sweep, pi) for sweep, pi in self.mixture_draws if sweep > n_burn_in and sweep % draw_every == 0
        ]

    def kept_draws(self):
        draws = super().kept_draws()
        mixtures = [pi for _, pi in self.mixture_draws[-len(draws) :]] or [self.pi]
        return CompoundDraws(draws.priors, draws.topics, np.array(mixtures), self.gamma, draws.priors.row_of)

    def shown_mixture_draws(self):
        """pi of the draws, a list of arrays (n_collections, n_components)."""
        return [pi for _, pi in self.mixture_draws]

    def _move_mixtures(self, rng):
        if self.model.method == "augmented":
            self.log_pi = augmented_gibbs.draw_mixtures(rng, self.alpha, self.draw_tables())
            return
        self.log_pi, accepted = mmala.move_mixtures(
            rng, self.log_pi, self.log_step, self.tails(), self.alpha, self.gamma
        )
        if self.n_sweeps <= self.model.burn_in:
            self.log_step = mmala.adapted(self.log_step, accepted, self.n_sweeps)
        else:
            self.accepted += accepted.mean()

    def draw_tables(self):
        """Auxiliary counts of the present draw, int64 (n_collections, n_components)."""
        return augmented_gibbs.draw_tables(
            self.corpus,
            self.topics,
            self.model.collections,
            document_prior(self.gamma, self.pi),
            self.stream,
            self._counts,
        )

    def tails(self):
        """`TailCounts` of the present draw."""
        return TailCounts.count(self.corpus, self.topics, self.model.collections, self.log_pi.shape, self._counts)

    def _gibbs_em(self, state):
        log_h = np.log([self.gamma, np.nan if self.eta is None else self.eta])
        em = GibbsEM(CompoundMStep(self.model.learn_gamma, self.model.learn_eta), log_h, n_draws=_EM_DRAWS)
        em.path = list(state.m_steps) or em.path
        em.draws, em.n_sweeps = list(state.gathered), len(state.gathered)
        return em

    def _learn(self):
        """Add the present draw to Gibbs-EM; at the end of the burn-in, take the mean log over the later M-steps."""
        changed, log_h = self.em.after_sweep(self), self.em.log_h
        if self.n_sweeps == self.model.burn_in:
            if self.em.draws:
                self.em.maximise()
            changed, log_h = True, self.em.mean()
        if changed and self.model.learn_gamma:
            self.gamma = float(np.exp(log_h[0]))
        if changed and self.model.learn_eta:
            self.eta = float(np.exp(log_h[1]))
            self._set_eta(self.eta)

    def _set_eta(self, eta):
        if eta is not None:
            word = np.full(self.corpus.n_features, eta)
            self.priors = dataclasses.replace(
                self.priors, word=word, totals=np.full(self.priors.n_components, word.sum())
            )

    def _set_doc_prior(self):
        doc = document_prior(self.gamma, self.pi)
        self.priors = dataclasses.replace(self.priors, doc=doc, row_of=self.model.row_of)

    def state(self):
        state = super().state()
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
            prior_trace=tuple(self.prior_trace),
            mixture_draws=tuple(self.mixture_draws),
            m_steps=tuple(self.em.path) if self.em is not None else (),
            gathered=tuple(self.em.draws) if self.em is not None else (),
        )
