"""The step of compound LDA: one topic mixture pi_j for each collection, and alpha.

George, Xia & Michailidis (2019), section 3.1. A sweep draws z given pi, with the prior gamma pi_j for the documents of
collection j. Then the step draws pi given z, by augmented Gibbs sampling, and alpha given pi.
"""

import numpy as np

from sklda._core import random
from sklda._models.compound.alpha import draw_alpha
from sklda._sampling.mixture_step import MixtureStep


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
    """

    def __init__(self, model, seed, n_components):
        super().__init__(model.collections, model.n_collections, seed, n_components, model.gamma)
        self.model, self.alpha, self.traces_priors = model, model.alpha, model.changes_priors
        self.alphas = []

    def after(self, chain, stop):
        """Draw the mixtures and, if it is drawn, alpha."""
        model, rng = self.model, np.random.default_rng(random.child(self.seed, chain.n_sweeps))
        for move in chain.moves:
            self.log_pi = move.of_logs(self.log_pi)
        self.draw_mixtures(chain, rng)
        if model.alpha_prior is not None:
            self.alpha = draw_alpha(rng, self.alpha, self.log_pi, *model.alpha_prior)
            self.alphas.append(self.alpha)
        self.trace_priors(chain)
        self.set_alpha(chain)

    def draw_mixtures(self, chain, rng):
        """Draw the mixtures given z."""
        self.log_pi = random.log_dirichlet(rng, self.alpha + self.draw_tables(chain))

    def alpha_mean(self, chain):
        """Mean of alpha after the burn-in, if it is drawn; otherwise alpha."""
        n = max(chain.n_sweeps - chain.n_burn_in, 1)
        return float(np.mean(self.alphas[-n:])) if self.alphas else self.alpha
