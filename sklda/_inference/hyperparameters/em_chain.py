"""Gibbs-EM as a method: chains that learn h = (eta, alpha) in all their sweeps.

No theory ensures that it finds the maximum of m(h) (George & Doss 2018, section 5.1): the result depends on the mode of
z in which the chain is, and contains noise from its draws.
"""

from dataclasses import dataclass

import numpy as np

from sklda._inference.count_histograms import CountHistograms
from sklda._inference.gibbs_em import GibbsEM, MStep
from sklda._inference.parallel import NEVER_STOP
from sklda._inference.priors import Priors
from sklda._inference.rising import log_rising
from sklda._inference.sampling.collapsed import GibbsChain
from sklda._inference.sampling.word_major import WordMajorChain


@dataclass(frozen=True)
class FixedPointMStep(MStep):
    """The M-step by Minka's fixed point, as in Wallach's Gibbs-EM; for symmetric priors.

    Let f be the sum of log rising factorials. The numerator is its derivative from the counts of topics, the
    denominator the derivative from the totals: a <- a * f_counts'(log a) / f_totals'(log a) (Minka 2003; Wallach 2006).
    It may take hundreds of steps where Newton's method takes ten.

    Attributes
    ----------
    n_iter : int
        Largest number of steps.
    tol : float
        The iteration ends when a step in log a is smaller than this.
    """

    n_iter: int = 1000
    tol: float = 1e-6

    def __post_init__(self):
        if self.per_topic:
            raise ValueError("The fixed point is for a symmetric alpha; with per_topic=True use MStep.")

    def maximum(self, draws, log_h):
        counts, K = CountHistograms.stack([each.counts for each in draws]), draws[0].counts.totals.shape[1]

        def topic_totals(x):
            return log_rising(x * counts.n_features, counts.totals.ravel(), 1).sum()

        def document_totals(x):
            return len(counts) * counts.lengths.sum_of_log_rising(x * K, 1).sum()

        parts = (counts.word, topic_totals), (counts.doc, document_totals)
        return np.array(
            [
                start if bounds is None else self._fixed_point(*part, start, bounds)
                for part, start, bounds in zip(parts, log_h, self.bounds, strict=True)
            ]
        )

    def _fixed_point(self, counts, totals, x, bounds):
        for _ in range(self.n_iter):
            prior = np.exp([x])
            new = np.clip(x + np.log(counts.sum_of_log_rising(prior, 1).sum() / totals(prior)), *np.log(bounds))
            x, moved = new, abs(new - x)
            if moved < self.tol:
                break
        return x


class EMChain(GibbsChain):
    """A `GibbsChain` that learns its priors, or keeps them, and stores the priors of every sweep.

    It makes the sweeps of the chain that it continues: for a `WordMajorChain` it is a `WordMajorEMChain`.

    Parameters
    ----------
    chain : GibbsChain
        The chain that it continues.
    em : GibbsEM, default=None
        It determines the priors of the chain. None: the chain's priors stay.

    Attributes
    ----------
    prior_path : list of (float, float)
        eta and alpha in every sweep, the mean alpha if topics have different ones; those of an `EMChain` that it
        continues included.
    """

    def __new__(cls, chain, em=None):
        return super().__new__(WordMajorEMChain if isinstance(chain, WordMajorChain) else cls)

    def __init__(self, chain, em=None):
        super().__init__(chain.corpus, chain.priors, chain.state())
        self.em, self.prior_path = em, list(getattr(chain, "prior_path", ()))
        if em is not None:
            self.set_log_h(em.log_h)

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
        h = float(self.priors.word[0]), float(self.priors.doc[0].mean())
        super().sweep(stop)
        self.prior_path.append(h)
        if self.em is not None and self.em.after_sweep(self):
            self.set_log_h(self.em.log_h)

    def set_log_h(self, log_h):
        """Set the priors: log eta and one or several log alpha."""
        eta, alpha = np.exp(log_h[0]), np.exp(log_h[1:])
        alpha = alpha if len(alpha) > 1 else float(alpha[0])
        self.priors = Priors.make(alpha, float(eta), self.priors.n_components, self.corpus.n_features)


class WordMajorEMChain(EMChain, WordMajorChain):
    """An `EMChain` with word-major sweeps."""


def _restored(plain, em, prior_path):
    chain = EMChain(plain)
    chain.em, chain.prior_path = em, list(prior_path)
    return chain
