"""Steps that learn the priors of a chain by Gibbs-EM, and that store the priors of every sweep.

No theory ensures that Gibbs-EM finds the maximum of m(h) (George & Doss 2018, section 5.1): the result depends on the
mode of z in which the chain is, and contains noise from its draws.
"""

import numpy as np

from sklda._inference.gibbs_em import GibbsEM, MStep
from sklda._inference.priors import Priors
from sklda._inference.sampling.steps import Step


class PriorTrace(Step):
    """Stores alpha, its mean if topics have different ones, and eta of every sweep, in `path`."""

    def __init__(self, path=()):
        self.path = list(path)

    def before(self, chain):
        alpha = chain.priors.doc[0]
        mean = alpha[0] if (alpha == alpha[0]).all() else alpha.mean()
        self._h = float(mean), float(chain.priors.word[0])

    def after(self, chain, stop):
        self.path.append(self._h)


class EM(Step):
    """Learns the priors of a chain by a `GibbsEM`."""

    def __init__(self, em):
        self.em = em

    @classmethod
    def of(cls, chain, *, n_draws, n_burn_in, m_step=None):
        """With the present priors of a chain as the first ones.

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
        bounds = np.array([*[m_step.bounds[0]] * len(alpha), m_step.bounds[1]])
        start = np.log(np.clip([*alpha, chain.priors.word[0]], *bounds.T))
        return cls(GibbsEM(m_step, start, n_draws=n_draws, n_burn_in=n_burn_in))

    def state(self):
        return EM(self.em.copy())

    def begin(self, chain):
        set_log_h(chain, self.em.log_h)

    def after(self, chain, stop):
        """At the end of an E-step, do the M-step."""
        if self.em.after_sweep(chain):
            set_log_h(chain, self.em.log_h)

    def learnt(self):
        """One or several log alpha, and log eta: means over the last half of the M-steps."""
        return self.em.mean()


def set_log_h(chain, log_h):
    """Set the priors of a chain: one or several log alpha, and log eta."""
    alpha = np.exp(log_h[:-1])
    alpha = alpha if len(alpha) > 1 else float(alpha[0])
    chain.priors = Priors.make(alpha, float(np.exp(log_h[-1])), *chain.priors.shape)


def with_step(chain, step=None):
    """The chain with a step of its own, and with its `PriorTrace` so far."""
    trace = trace_of(chain)
    chain.steps = [trace] if step is None else [step, trace]
    return chain


def trace_of(chain):
    """The `PriorTrace` of a chain; a new one if it has none."""
    return next((step for step in chain.steps if isinstance(step, PriorTrace)), None) or PriorTrace()
