"""Priors learnt in the burn-in of a chain by Gibbs-EM, and fixed afterwards."""

from dataclasses import dataclass

import numpy as np

from sklda._inference.gibbs_em import BOUNDS, MStep
from sklda._inference.priors import Priors

KINDS = ("asymmetric", "symmetric")

# Sweeps between two M-steps.
_EVERY = 10
# Sweeps before the first M-step, as a share of the burn-in. Directly after a random initialisation all topics are
# alike, and an M-step would choose an alpha that keeps them so.
_WAIT = 0.2
# Number of draws that the last M-step uses: those of the last M-steps.
_LAST_DRAWS = 12


@dataclass(frozen=True, eq=False)
class PriorLearning:
    """How the priors of a chain are learnt.

    Attributes
    ----------
    kind : {"asymmetric", "symmetric"}
        Whether there is an alpha for each topic. eta is one number.
    alpha, eta : float, ndarray or None
        Priors that are given stay fixed. None: the prior is learnt.
    """

    kind: str
    alpha: object = None
    eta: object = None

    def begin(self, chain):
        """A `Learner` for a chain that has its initial priors."""
        return Learner(self, chain)

    def priors(self, log_h, n_components, n_features):
        """The priors with the learnt values ``exp(log_h)``, log eta before log alpha."""
        alpha, eta = self.alpha, self.eta
        if alpha is None:
            alpha = np.exp(log_h[1:]) if self.kind == "asymmetric" else float(np.exp(log_h[1]))
        if eta is None:
            eta = float(np.exp(log_h[0]))
        return Priors.make(alpha, eta, n_components, n_features)


class Learner:
    """Learns the priors of one chain.

    An M-step uses the draw of its sweep. The last one uses the draws of the last M-steps together, so that the priors
    that are kept have little noise.

    Parameters
    ----------
    learning : PriorLearning
    chain : GibbsChain
    """

    def __init__(self, learning, chain):
        self.learning, self.draws = learning, []
        per_topic = learning.kind == "asymmetric"
        self.m_step = MStep(
            tuple(None if each is not None else BOUNDS for each in (learning.eta, learning.alpha)), per_topic
        )
        eta = chain.priors.word[0] if learning.eta is None else 1.0
        alpha = chain.priors.doc[0] if per_topic else chain.priors.doc[0, :1]
        self.log_h = np.log([eta, *alpha])

    def after_sweep(self, chain):
        """Do an M-step, if there is one after this sweep."""
        if chain.n_sweeps % _EVERY == 0 and chain.n_sweeps >= _WAIT * chain.n_burn_in:
            self.draws = [*self.draws, self.m_step.statistics(chain)][-_LAST_DRAWS:]
            self._maximise(chain, self.draws[-1:])

    def end(self, chain):
        """Do the last M-step."""
        if self.draws:
            self._maximise(chain, self.draws)

    def _maximise(self, chain, draws):
        self.log_h = self.m_step.maximum(draws, self.log_h)
        chain.priors = self.learning.priors(self.log_h, chain.priors.n_components, chain.corpus.n_features)
