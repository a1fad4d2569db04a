"""The steps of models whose documents have a topic mixture pi_j for each collection; that of compound LDA.

George, Xia & Michailidis (2019), section 3.1. A sweep draws z given pi, with the prior gamma pi_j for the documents of
collection j. Then the step draws pi given z, by augmented Gibbs sampling, and what pi depends on.
"""

from dataclasses import replace

import numpy as np

from sklda._core import random
from sklda._models.compound.hyperparameters import document_prior, draw_alpha
from sklda._sampling.steps import Step
from sklda._sampling.tables import draw_document_tables


class MixtureStep(Step):
    """Base class of the steps that draw a mixture of the topics for each collection.

    alpha of a document is max(gamma pi, 1e-12), so that it stays in the range of the kernels. The target is the
    posterior of the model with this bound: the auxiliary counts use the bounded value too. A topic without tokens does
    not depend on it, and one with a token has so small a share with a probability of order 1e-12^(1 + alpha) / alpha.

    Parameters
    ----------
    collections : ndarray of shape (n_documents,), int64
        The collection of every document.
    n_collections : int
    seed : numpy.random.SeedSequence
        Its child s seeds what is drawn after sweep s.
    n_components : int
    gamma : float
        The first value.

    Attributes
    ----------
    log_pi : ndarray of shape (n_collections, n_components)
        The same mixture for every collection at first.
    """

    def __init__(self, collections, n_collections, seed, n_components, gamma):
        self.collections, self.seed, self.gamma = collections, seed, gamma
        self.log_pi = np.full((n_collections, n_components), -np.log(n_components))

    def begin(self, chain):
        self.set_alpha(chain)

    def draw(self):
        return {"mixtures": self.pi, "gamma": self.gamma}

    def parameters(self):
        return {"mixtures": self.pi}

    def alpha_of(self, added):
        return document_prior(added["gamma"], added["mixtures"]), self.row_of

    @property
    def row_of(self):
        """The row of alpha of each document, as `Priors` takes it."""
        return self.collections.astype(np.int32)

    @property
    def pi(self):
        return np.exp(self.log_pi)

    def draw_tables(self, chain):
        """Auxiliary counts of the present draw, int64 (n_collections, n_components)."""
        prior = document_prior(self.gamma, self.pi)
        return draw_document_tables(chain.corpus, chain.topics, self.collections, prior, chain.stream)

    def set_alpha(self, chain):
        """Give the documents of a chain their alpha."""
        doc = document_prior(self.gamma, self.pi)
        chain.priors = replace(chain.priors, doc=doc, row_of=self.row_of)


class Mixtures(MixtureStep):
    """Draws the mixtures of the collections and alpha, so that a chain has the target p(z, pi, alpha | w, gamma, eta).

    Parameters
    ----------
    model : CompoundModel
    seed, n_components
        See `MixtureStep`.

    Attributes
    ----------
    alpha : float
    alphas : list of float
        alpha after every sweep, if it is drawn.
    traces_priors : bool
        Whether gamma or eta changes.
    prior_trace : list of (float, float)
        (gamma, mean of eta) in every sweep, if one of them is learnt.
    """

    def __init__(self, model, seed, n_components):
        super().__init__(model.collections, model.n_collections, seed, n_components, model.gamma)
        self.model, self.alpha, self.traces_priors = model, model.alpha, model.changes_priors
        self.alphas, self.prior_trace = [], []

    def after(self, chain, stop):
        """Draw the mixtures and, if it is drawn, alpha."""
        model, rng = self.model, np.random.default_rng(random.child(self.seed, chain.n_sweeps))
        for move in chain.moves:
            self.log_pi = move.of_logs(self.log_pi)
        self.draw_mixtures(chain, rng)
        if model.alpha_prior is not None:
            self.alpha = draw_alpha(rng, self.alpha, self.log_pi, *model.alpha_prior)
            self.alphas.append(self.alpha)
        if self.traces_priors:
            self.prior_trace.append((self.gamma, float(chain.priors.topic_word().mean())))
        self.set_alpha(chain)

    def draw_mixtures(self, chain, rng):
        """Draw the mixtures given z."""
        self.log_pi = random.log_dirichlet(rng, self.alpha + self.draw_tables(chain))

    def alpha_mean(self, chain):
        """Mean of alpha after the burn-in, if it is drawn; otherwise alpha."""
        n = max(chain.n_sweeps - chain.n_burn_in, 1)
        return float(np.mean(self.alphas[-n:])) if self.alphas else self.alpha
