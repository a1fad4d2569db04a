"""The step of Dirichlet-multinomial regression: the coefficients lambda, and sigma."""

import dataclasses

import numpy as np

from sklda._core import random
from sklda._core.gibbs_em import BOUNDS, MStep
from sklda._kernels import _tokens
from sklda._models.covariates.model import log_alpha
from sklda._models.covariates.regression import CollapsedLikelihood, PoissonRegressions, draw_exposures, draw_sigma
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.prior_learning import Learner
from sklda._sampling.steps import Step
from sklda._sampling.tables import draw_tables

# Entries n_dk of a block of documents whose topics are counted together: 8 MB.
_BLOCK_ENTRIES = 2**20


class Coefficients(Step):
    """Draws the coefficients, so that a chain has the target p(z, lambda, sigma | w, x, eta).

    Parameters
    ----------
    model : Model
    seed : numpy.random.SeedSequence
        Its child s seeds what is drawn after sweep s.

    Attributes
    ----------
    coefficients : ndarray of shape (n_components, n_terms)
        lambda. At first, covariates have no effects.
    sigma, auxiliary : float
    path : list of (ndarray, float)
        (lambda, sigma) of all draws after the burn-in.
    """

    def __init__(self, model, seed):
        self.model, self.seed = model, seed
        self.coefficients, self.auxiliary, self.path = model.first_coefficients(), 1.0, []
        self.sigma = 1.0 if model.sigma is None else model.sigma

    def begin(self, chain):
        self._set_alpha(chain)

    def after(self, chain, stop):
        """After the annealed sweeps, draw lambda in some sweeps."""
        if chain.n_sweeps > chain.n_annealed and chain.n_sweeps % self.model.sweeps_between == 0:
            self.move(chain, np.random.default_rng(random.child(self.seed, chain.n_sweeps)))
            if chain.n_sweeps > chain.n_burn_in:
                self.path.append((self.coefficients, self.sigma))

    def draw(self):
        return {"coefficients": self.coefficients}

    def alpha_of(self, added):
        return self.model.alpha(added["coefficients"]), self.model.row_of

    def shown(self, draws):
        # alpha is made from lambda when it is needed: it may have a row for each document.
        alpha, no_rows = np.exp(log_alpha(self.model.rows[:1], self.coefficients)), self.model.row_of[:0]
        return dataclasses.replace(draws, priors=dataclasses.replace(draws.priors, doc=alpha, row_of=no_rows))

    def move(self, chain, rng):
        """Draw the auxiliary counts and lambda, in some draws the sum of alpha, and sigma, each given the others."""
        model = self.model
        tables, exposures = self.draw_counts(chain, rng)
        regressions = PoissonRegressions(
            model.terms, tables, exposures, model.centre, model.prior_precision(self.sigma)
        )
        self.coefficients = regressions.draw(rng, self.coefficients)
        if chain.n_sweeps % (model.sweeps_between * model.draws_between) == 0:
            collapsed = CollapsedLikelihood(_entries(chain), chain.corpus.lengths, model, self.sigma)
            # Half of the steps change the sum for all documents alike.
            term = int(rng.integers(model.rows.shape[1])) if rng.random() < 0.5 else 0
            self.coefficients = collapsed.shift(rng, self.coefficients, term)
        if model.sigma is None and model.rows.shape[1] > 1:
            self.sigma, self.auxiliary = draw_sigma(rng, self.coefficients[:, 1:], self.auxiliary)
        self._set_alpha(chain)

    def draw_counts(self, chain, rng):
        """Auxiliary counts of the present draw: tables (n_rows, n_components), and exposures (n_rows,)."""
        index, lengths, alpha = self.model.index, chain.corpus.lengths, self.model.alpha(self.coefficients)
        tables = draw_tables(chain.corpus, chain.topics, index, alpha, chain.stream)
        filled = lengths > 0
        exposures = draw_exposures(rng, alpha.sum(axis=1)[index[filled]], lengths[filled])
        return tables, np.bincount(index[filled], exposures, minlength=len(alpha))

    def draws(self):
        """All draws of lambda after the burn-in, or the present one, (n_steps, n_components, n_terms)."""
        return np.array([own for own, _ in self.path] or [self.coefficients])

    def sigma_mean(self):
        """Mean of sigma over the draws after the burn-in."""
        return float(np.mean([sigma for _, sigma in self.path] or [self.sigma]))

    def _set_alpha(self, chain):
        alpha = self.model.alpha(self.coefficients)
        # Before the first draw, all documents have the same.
        same = len(alpha) == 1 or not self.coefficients[:, 1:].any()
        rows = (alpha[:1].copy(), self.model.row_of[:0]) if same else (alpha, self.model.row_of)
        chain.priors = dataclasses.replace(chain.priors, doc=rows[0], row_of=rows[1])


def chain_with_coefficients(corpus, priors, seed, model):
    """A chain with random topics, and the steps that draw its coefficients and learn eta.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        Only eta is used.
    seed : numpy.random.SeedSequence
    model : Model
    """
    chain = GibbsChain.initialise_randomly(corpus, priors, random.child(seed, 0))
    chain.steps = [Coefficients(model, random.child(seed, 1))]
    if model.learn_eta:
        chain.steps.insert(0, Learner(MStep((None, BOUNDS))))
    chain.step(Coefficients).begin(chain)
    return chain


def continued(corpus, priors, model, states):
    """Chains at the states of an earlier fit."""
    chains = [GibbsChain(corpus, priors, state) for state in states]
    for chain in chains:
        chain.step(Coefficients).model = model
    return chains


def _entries(chain):
    """The documents, topics and values of the n_dk that are not zero, without all of them at once."""
    K, offsets, parts = chain.priors.n_components, chain.corpus.offsets, []
    for first, last in chain.corpus.blocks(n_documents=max(_BLOCK_ENTRIES // K, 1)):
        counts = np.zeros((last - first, K))
        _tokens.count_documents(offsets[first : last + 1], chain.topics, counts)
        documents, topics = (each.astype(np.int32) for each in np.nonzero(counts))
        parts.append((documents + np.int32(first), topics, counts[documents, topics]))
    return [np.concatenate(each) for each in zip(*parts, strict=True)]
