"""The Markov chain of Dirichlet-multinomial regression: z, the coefficients lambda, and sigma."""

import dataclasses
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from sklda._inference import random
from sklda._inference.compound.augmented_gibbs import draw_tables
from sklda._inference.covariates.model import Model, log_alpha
from sklda._inference.covariates.regression import CollapsedLikelihood, PoissonRegressions, draw_exposures, draw_sigma
from sklda._inference.gibbs_em import BOUNDS, GibbsEM, MStep
from sklda._inference.parallel import NEVER_STOP
from sklda._inference.sampling.annealed_start import annealed_sweep
from sklda._inference.sampling.collapsed import ChainState, GibbsChain
from sklda._inference.sampling.kept_draws import KeptDraws
from sklda._kernels import _tokens

# Sweeps between two M-steps for eta, as for the priors of `GibbsLDA`.
_EM_EVERY = 10
# Entries n_dk of a block of documents whose topics are counted together: 8 MB.
_BLOCK_ENTRIES = 2**20


@dataclass(frozen=True, eq=False)
class CovariateState(ChainState):
    """A `ChainState`, and the state of the coefficients.

    Attributes
    ----------
    seed : numpy.random.SeedSequence
        Its child s seeds what is drawn after sweep s.
    coefficients : ndarray of shape (n_components, n_terms)
        lambda.
    sigma, auxiliary : float
    eta : float or None
        None if eta is not learnt.
    path : tuple of (ndarray, float)
        (lambda, sigma) of all draws after the burn-in.
    draw_coefficients : tuple of (int, ndarray)
        Sweep and lambda of the draws of z that were kept.
    m_steps : tuple of ndarray of shape (1,)
        log eta at first and after every M-step.
    """

    seed: np.random.SeedSequence | None = None
    coefficients: np.ndarray | None = None
    sigma: float = 1.0
    auxiliary: float = 1.0
    eta: float | None = None
    path: tuple = ()
    draw_coefficients: tuple = ()
    m_steps: tuple = ()


@dataclass(frozen=True, eq=False)
class CovariateDraws(KeptDraws):
    """Draws of z and of lambda, which gives alpha of each draw.

    Attributes
    ----------
    coefficients : ndarray of shape (n_draws, n_components, n_terms)
        lambda in each draw.
    path : ndarray of shape (n_steps, n_components, n_terms)
        All draws of lambda after the burn-in.
    model : Model
    """

    coefficients: np.ndarray
    path: np.ndarray
    model: Model

    def _alpha(self, index):
        return self.model.alpha(self.coefficients[index]), self.model.row_of

    def last(self, n_draws):
        return dataclasses.replace(super().last(n_draws), coefficients=self.coefficients[-n_draws:])


class CovariateChain(GibbsChain):
    """A chain with target p(z, lambda, sigma | w, x, eta), phi and theta integrated out.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        Only eta is used.
    state : CovariateState
    model : Model
    """

    def __init__(self, corpus, priors, state, model):
        super().__init__(corpus, priors, state)
        self.model, self.seed = model, state.seed
        self.coefficients = state.coefficients.copy()
        self.sigma, self.auxiliary, self.eta = state.sigma, state.auxiliary, state.eta
        self.path, self.draw_coefficients = list(state.path), list(state.draw_coefficients)
        self.em = None
        if model.learn_eta:
            self.em = GibbsEM(MStep((BOUNDS, None)), np.log([self.eta]), n_draws=1)
            self.em.path = list(state.m_steps) or self.em.path
            self._set_eta()
        self._set_alpha()

    def __reduce__(self):
        return type(self), (self.corpus, self.priors, self.state(), self.model)

    @classmethod
    def initialise(cls, corpus, priors, seed, model, eta=None):
        """Begin with random topics and without effects of covariates. `eta` is the first value, if it is learnt."""
        first = GibbsChain.initialise_randomly(corpus, priors, random.child(seed, 0))
        state = CovariateState(
            first.topics,
            first.stream,
            seed=random.child(seed, 1),
            coefficients=model.first_coefficients(),
            sigma=1.0 if model.sigma is None else model.sigma,
            eta=eta,
        )
        return cls(corpus, priors, state, model)

    def restart_stream(self, seed):
        super().restart_stream(random.child(seed, 0))
        self.seed = random.child(seed, 1)

    def sweep(self, stop=NEVER_STOP):
        """Draw every token; after some sweeps also lambda, and in the burn-in learn eta."""
        model = self.model
        if self.n_sweeps < model.annealing.n_sweeps:
            annealed_sweep(self, model.annealing.factors(self.priors)[self.n_sweeps], stop, super().sweep)
            return
        super().sweep(stop)
        if self.em is not None and self.n_sweeps <= model.burn_in:
            self._learn_eta()
        if self.n_sweeps % model.sweeps_between == 0:
            stop()
            self.move_coefficients(np.random.default_rng(random.child(self.seed, self.n_sweeps)))
            if self.n_sweeps > model.burn_in:
                self.path.append((self.coefficients, self.sigma))

    def move_coefficients(self, rng):
        """Draw the auxiliary counts and lambda, then the sum of alpha and sigma, each given the others."""
        model = self.model
        tables, exposures = self.draw_counts(rng)
        regressions = PoissonRegressions(model.rows, tables, exposures, model.centre, model.prior_precision(self.sigma))
        self.coefficients = regressions.draw(rng, self.coefficients)
        collapsed = CollapsedLikelihood(self._entries(), self.corpus.lengths, model, self.sigma)
        # Half of the steps change the sum for all documents alike.
        term = int(rng.integers(model.rows.shape[1])) if rng.random() < 0.5 else 0
        self.coefficients = collapsed.shift(rng, self.coefficients, term)
        if model.sigma is None and model.rows.shape[1] > 1:
            self.sigma, self.auxiliary = draw_sigma(rng, self.coefficients[:, 1:], self.auxiliary)
        self._set_alpha()

    def _entries(self):
        """The n_dk that are not zero, csr_array (n_documents, n_components), without all of them at once."""
        K, offsets, blocks = self.priors.n_components, self.corpus.offsets, []
        for first, last in self.corpus.blocks(n_documents=max(_BLOCK_ENTRIES // K, 1)):
            counts = np.zeros((last - first, K))
            _tokens.count_documents(offsets[first : last + 1], self.topics, counts)
            blocks.append(csr_array(counts))
        return vstack(blocks, "csr")

    def draw_counts(self, rng):
        """Auxiliary counts of the present draw: tables (n_rows, n_components), and exposures (n_rows,)."""
        index, lengths, alpha = self.model.index, self.corpus.lengths, self.model.alpha(self.coefficients)
        tables = draw_tables(self.corpus, self.topics, index, alpha, self.stream, self._counts)
        filled = lengths > 0
        exposures = draw_exposures(rng, alpha.sum(axis=1)[index[filled]], lengths[filled])
        return tables, np.bincount(index[filled], exposures, minlength=len(alpha))

    def keep_draw(self, n_draws):
        super().keep_draw(n_draws)
        self.draw_coefficients.append((self.n_sweeps, self.coefficients))
        del self.draw_coefficients[:-n_draws]

    def keep_only(self, n_burn_in, draw_every):
        super().keep_only(n_burn_in, draw_every)
        kept = {sweep for sweep, _ in self.draws}
        self.draw_coefficients = [(sweep, own) for sweep, own in self.draw_coefficients if sweep in kept]

    def kept_draws(self):
        draws = super().kept_draws()
        coefficients = [own for _, own in self.draw_coefficients] or [self.coefficients]
        path = [own for own, _ in self.path] or [self.coefficients]
        # alpha is made from these when it is needed: it may have a row for each document.
        alpha, no_rows = np.exp(log_alpha(self.model.rows[:1], self.coefficients)), self.model.row_of[:0]
        priors = dataclasses.replace(draws.priors, doc=alpha, row_of=no_rows)
        return CovariateDraws(priors, draws.topics, np.array(coefficients), np.array(path), self.model)

    def sigma_mean(self):
        """Mean of sigma over the draws after the burn-in."""
        return float(np.mean([sigma for _, sigma in self.path] or [self.sigma]))

    def _learn_eta(self):
        """An M-step in some sweeps; at the end of the burn-in, take the mean log over the later ones."""
        if self.n_sweeps % _EM_EVERY == 0:
            self.em.after_sweep(self)
            self.eta = float(np.exp(self.em.log_h[0]))
        if self.n_sweeps == self.model.burn_in:
            self.eta = float(np.exp(self.em.mean()[0]))
        self._set_eta()

    def _set_eta(self):
        word = np.full(self.corpus.n_features, self.eta)
        totals = np.full(self.priors.n_components, word.sum())
        self.priors = dataclasses.replace(self.priors, word=word, totals=totals)

    def _set_alpha(self):
        alpha = self.model.alpha(self.coefficients)
        # Before the first draw, all documents have the same.
        same = len(alpha) == 1 or not self.coefficients[:, 1:].any()
        rows = (alpha[:1].copy(), self.model.row_of[:0]) if same else (alpha, self.model.row_of)
        self.priors = dataclasses.replace(self.priors, doc=rows[0], row_of=rows[1])

    def state(self):
        state = super().state()
        return CovariateState(
            **{field.name: getattr(state, field.name) for field in dataclasses.fields(ChainState)},
            seed=self.seed,
            coefficients=self.coefficients.copy(),
            sigma=self.sigma,
            auxiliary=self.auxiliary,
            eta=self.eta,
            path=tuple(self.path),
            draw_coefficients=tuple(self.draw_coefficients),
            m_steps=tuple(self.em.path) if self.em is not None else (),
        )
