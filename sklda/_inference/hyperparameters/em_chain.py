"""Chains whose priors change between sweeps: they learn them by Gibbs-EM, or visit given points.

No theory ensures that Gibbs-EM finds the maximum of m(h) (George & Doss 2018, section 5.1): the result depends on the
mode of z in which the chain is, and contains noise from its draws.
"""

import numpy as np

from sklda._inference.gibbs_em import GibbsEM, MStep
from sklda._inference.parallel import NEVER_STOP
from sklda._inference.priors import Priors
from sklda._inference.sampling.collapsed import GibbsChain
from sklda._inference.sampling.word_major import WordMajorChain


class EMChain(GibbsChain):
    """A `GibbsChain` that learns its priors, or keeps them, and stores the priors of every sweep.

    It makes the sweeps of the chain that it continues: for a `WordMajorChain` it is a `WordMajorEMChain`.

    Parameters
    ----------
    chain : GibbsChain
        The chain that it continues.
    em : GibbsEM or Visits, default=None
        It determines the priors of the chain. None: the chain's priors stay.

    Attributes
    ----------
    prior_path : list of (float, float)
        alpha and eta in every sweep, the mean alpha if topics have different ones; those of an `EMChain` that it
        continues included.
    """

    def __new__(cls, chain, em=None):
        return super().__new__(WordMajorEMChain if isinstance(chain, WordMajorChain) else cls)

    def __init__(self, chain, em=None):
        super().__init__(chain.corpus, chain.priors, chain.state())
        self.em, self.prior_path = em, list(getattr(chain, "prior_path", ()))
        if em is not None:
            self._set_present()

    @classmethod
    def learning(cls, chain, *, n_draws, n_burn_in, m_step=None):
        """A chain that learns, with its present priors as the first ones.

        Parameters
        ----------
        chain : GibbsChain
            With symmetric eta; alpha symmetric or one per topic.
        n_draws, n_burn_in : int
            See `GibbsEM`.
        m_step : MStep, default=None
            None: `MStep` with its default bounds.
        """
        m_step = MStep() if m_step is None else m_step
        alpha = chain.priors.doc[0] if m_step.per_topic else chain.priors.doc[0, :1]
        h = np.concatenate([chain.priors.word[:1], alpha])
        bounds = np.array([m_step.bounds[0], *[m_step.bounds[1]] * (len(h) - 1)])
        start = np.log(np.clip(h, *bounds.T))
        return cls(chain, GibbsEM(m_step, start, n_draws=n_draws, n_burn_in=n_burn_in))

    def __reduce__(self):
        kind, _ = self.plain()
        plain = kind(self.corpus, self.priors, self.state())
        return _restored, (plain, self.em, self.prior_path)

    def sweep(self, stop=NEVER_STOP):
        """Draw every token; at the end of an E-step, do the M-step."""
        h = float(self.priors.doc[0].mean()), float(self.priors.word[0])
        super().sweep(stop)
        self.prior_path.append(h)
        if self.em is not None and self.em.after_sweep(self):
            self._set_present()

    def learnt(self):
        """One or several log alpha, and log eta: means over the last half of the M-steps."""
        return np.roll(self.em.mean(), -1)

    def _set_present(self):
        # In `GibbsEM`, eta is the first entry.
        self.set_log_h(np.roll(self.em.log_h, -1) if isinstance(self.em, GibbsEM) else self.em.log_h)

    def set_log_h(self, log_h):
        """Set the priors: one or several log alpha, and log eta."""
        alpha = np.exp(log_h[:-1])
        alpha = alpha if len(alpha) > 1 else float(alpha[0])
        self.priors = Priors.make(alpha, float(np.exp(log_h[-1])), self.priors.n_components, self.corpus.n_features)


class WordMajorEMChain(EMChain, WordMajorChain):
    """An `EMChain` with word-major sweeps."""


def _restored(plain, em, prior_path):
    chain = EMChain(plain)
    chain.em, chain.prior_path = em, list(prior_path)
    return chain
