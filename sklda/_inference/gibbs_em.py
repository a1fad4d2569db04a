"""Gibbs-EM: priors learnt along a chain (Wallach 2006).

The E-step gathers draws of z, as count histograms. The M-step maximises the mean of log p(w, z | h) over h = (eta,
alpha), which is a function of eta plus a function of alpha. h follows the mode of z that the chain is in, and has noise
from the draws: its mean over the later M-steps has less.

Every chain with Gibbs-EM has a `GibbsEM` and calls its `after_sweep`; the M-step is an object with two methods,
``statistics(chain)`` and ``maximum(draws, log_h)``. `MStep` is the one for Dirichlet priors of LDA. A model with other
priors brings its own.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sklda._inference.newton import newton, newton_on_log
from sklda._inference.priors import CountHistograms, doc_histogram
from sklda._inference.rising import log_rising

# Priors that are learnt are sought between these, unless the caller says otherwise: at 1e-5 a topic of a document or a
# word of a topic is all or nothing, and 1e4 is equal to the uniform distribution, for counts below a thousand.
BOUNDS = (1e-5, 1e4)


@dataclass(frozen=True, eq=False)
class Statistics:
    """What an M-step needs of one draw of z.

    Attributes
    ----------
    counts : CountHistograms
        One draw.
    doc_by_topic : csr_array of shape (n_components, longest document + 1) or None
        Entry (k, n) is how often n_dk = n > 0; only for an alpha per topic.
    """

    counts: CountHistograms
    doc_by_topic: csr_array | None = None


@dataclass(frozen=True)
class MStep:
    """The h that maximises the mean of log p(w, z | h) over draws of z, by Newton's method.

    Attributes
    ----------
    bounds : pair of (float, float) or None
        Of eta and of alpha; None: that prior stays as it is.
    per_topic : bool
        Whether every topic has an alpha of its own. eta is one number.
    """

    bounds: tuple = (BOUNDS, BOUNDS)
    per_topic: bool = False

    def statistics(self, chain):
        """`Statistics` of the present draw of a chain."""
        per_topic = self.per_topic and self.bounds[1] is not None
        by_topic = csr_array(doc_histogram(chain, by_topic=True)) if per_topic else None
        return Statistics(CountHistograms.of(chain), by_topic)

    def maximum(self, draws, log_h):
        """log (eta, alpha) at the maximum.

        Parameters
        ----------
        draws : list of Statistics
        log_h : ndarray of shape (2,) or (1 + n_components,)
            Where Newton's method starts.

        Returns
        -------
        ndarray of the shape of `log_h`
        """
        counts, log_h = CountHistograms.stack([each.counts for each in draws]), np.array(log_h)
        bounds_of_eta, bounds_of_alpha = self.bounds
        if bounds_of_eta is not None:
            log_h[0] = newton_on_log(counts.word_part, log_h[0], bounds_of_eta)
        if bounds_of_alpha is not None and self.per_topic:
            histogram = sum(each.doc_by_topic for each in draws).toarray() / len(draws)
            log_h[1:] = topic_alphas(histogram, counts.lengths, log_h[1:], bounds_of_alpha)
        elif bounds_of_alpha is not None:
            log_h[1] = newton_on_log(counts.doc_part, log_h[1], bounds_of_alpha)
        return log_h


def topic_alphas(histogram, lengths, start, bounds):
    """log alpha, one per topic, that maximises the mean of log p(z | alpha).

    Parameters
    ----------
    histogram : ndarray of shape (n_components, n_counts)
        ``histogram[k, n]`` is how often n_dk = n, on average over draws.
    lengths : Histograms
        How often n_d = n; one histogram.
    start : ndarray of shape (n_components,)
        log alpha.
    bounds : (float, float)
        Of alpha.

    Returns
    -------
    ndarray of shape (n_components,)
    """
    occurs = np.flatnonzero(histogram.any(axis=0))
    histogram = histogram[:, occurs]

    def function(x):
        alpha = np.exp(x)
        share = alpha / alpha.sum()
        value, first, second = ((histogram * log_rising(alpha, occurs, order)).sum(axis=1) for order in range(3))
        rising = (log_rising(alpha.sum(keepdims=True), lengths.values, order) for order in range(3))
        totals = [(lengths.counts * each).sum() for each in rising]
        curvature = np.diag(second - share * totals[1]) - np.outer(share, share) * (totals[2] - totals[1])
        return value.sum() - totals[0], first - share * totals[1], curvature

    low, high = (np.full(len(start), bound) for bound in np.log(bounds))
    return newton(function, start, low, high)[0]


class GibbsEM:
    """Draws since the last M-step, and the priors after every M-step.

    Parameters
    ----------
    m_step : MStep
        Or another object with ``statistics(chain)``, what a draw leaves, and ``maximum(draws, log_h)``, the next log_h
        by a list of such.
    log_h : ndarray of shape (n_priors,)
        Logarithms of the priors to begin with.
    n_draws : int
        Draws of z, one a sweep, that an M-step rests on.
    n_burn_in : int, default=0
        Sweeps after an M-step whose draws are not used.

    Attributes
    ----------
    path : list of ndarray of shape (n_priors,)
        Logarithms of the priors at the start and after every M-step.
    draws : list
        What ``statistics`` gave since the last M-step.
    n_sweeps : int
        Sweeps since the last M-step.
    """

    def __init__(self, m_step, log_h, *, n_draws, n_burn_in=0):
        self.m_step, self.n_draws, self.n_burn_in = m_step, n_draws, n_burn_in
        self.path, self.draws, self.n_sweeps = [np.array(log_h, dtype=np.float64)], [], 0

    @property
    def log_h(self):
        """The priors now, in logarithms."""
        return self.path[-1]

    def after_sweep(self, chain):
        """Gather the present draw of a chain; where the E-step is complete, take the M-step.

        Returns
        -------
        bool
            Whether the priors have changed. The caller gives them to its chain.
        """
        self.n_sweeps += 1
        if self.n_sweeps > self.n_burn_in:
            self.draws.append(self.m_step.statistics(chain))
        if len(self.draws) < self.n_draws:
            return False
        self.maximise()
        return True

    def maximise(self):
        """The M-step with the draws there are, before the E-step is complete where the caller says so."""
        self.path.append(self.m_step.maximum(self.draws, self.log_h))
        self.draws, self.n_sweeps = [], 0

    def mean(self):
        """Mean of log h over the last half of the M-steps, whose noise of the draws averages out."""
        return np.mean(self.path[len(self.path) // 2 :], axis=0)
