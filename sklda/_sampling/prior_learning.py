"""Priors learnt in the burn-in of a chain by Gibbs-EM, and fixed afterwards."""

import copy
import math
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import digamma, polygamma

from sklda._kernels import _tokens
from sklda._sampling.steps import Step

# M-steps of a burn-in, about, and the most sweeps between two of them.
_STEPS, EVERY = 30, 10
# The longest extrapolation, in mean changes from one M-step to the next, and the fewest M-steps for it.
_LONGEST, _FEWEST_STEPS = 20.0, 5
# Sweeps before the first M-step without an annealed start, as a share of the burn-in. Directly after a random
# initialisation all topics are alike, and an M-step would choose an alpha that keeps them so.
_WAIT = 0.2
# Tokens from which on priors are learnt, and priors of smaller corpora. Measured on simulated corpora of 20 to 3,000
# tokens: below 1,000 a learnt alpha per topic overfits, and fits of a dozen tokens end at the bounds of the priors.
LEAST_TOKENS, SMALL_CORPUS_PRIOR = 1000, 0.1
# Number of draws that the last M-step uses, at most: those of the last M-steps.
LAST_DRAWS = 16
# Sweeps with M-steps before a burn-in may end because the log joint does not increase.
_SETTLED = 40
# The information about alpha that is missing is measured in at most this number of documents, from at least this number
# of draws.
_MOST_DOCUMENTS, _FEWEST_DRAWS = 1000, 5
# With .72 to .97 missing, the learnt sum of alpha was .7 to 1.5 of the maximum after fits of 100 to 1,000 sweeps of
# simulated corpora. With less missing it was .88 to 1.08 from 200 sweeps on.
MUCH_MISSING = 0.7
# The least distance of the learnt sum of alpha from the maximum that is worth a warning, in units of its logarithm, and
# as a multiple of its standard error. Fits at .98 to 1.02 of the maximum had distances of at most 0.04.
FAR, _SURE = 0.25, 3.0


def learns_from(n_tokens: int) -> bool:
    """Whether so many tokens determine priors."""
    return n_tokens >= LEAST_TOKENS


class DefaultPrior(NamedTuple):
    """An alpha or eta that is not given: whether it is learnt, and its value, the first one if it is learnt."""

    is_learnt: bool
    value: float

    @classmethod
    def of(cls, learn_priors: bool | str, n_tokens: int, n_components: int) -> Self:
        """That of a fit, for alpha and for eta."""
        if learn_priors and not learns_from(n_tokens):
            return cls(False, SMALL_CORPUS_PRIOR)
        return cls(bool(learn_priors), 1.0 / n_components)

    def or_given(self, given: Any) -> Any:
        """The prior that is given, a copy because the caller may change an array; the value if it is None."""
        return self.value if given is None else copy.deepcopy(given)

    def learns(self, given: Any) -> bool:
        """Whether a prior is learnt for which `given` is given."""
        return self.is_learnt and given is None


def missing_information(corpus, draws):
    """The share of the information about the sum of alpha in the topics of the tokens that the words do not have.

    Also the distance from alpha to the maximum, by one step of Newton's method. After an M-step, this share of the
    distance is left (Dempster, Laird & Rubin 1977). The information is the second derivative of -log p(z | alpha) in
    the logarithm of the sum. The variance of the first derivative over draws of z is what the words do not have, and
    its mean is the slope of log p(w | alpha) (Louis 1982). Documents are taken as independent given the words.

    Parameters
    ----------
    corpus : Corpus
    draws : KeptDraws
        With one alpha for all documents.

    Returns
    -------
    missing : float
        NaN with too few draws, and without any information, as with documents of one token.
    to_come : float
        The maximum less the present value, of the logarithm of the sum of alpha; 0 within three standard errors.
    """
    if len(draws) < _FEWEST_DRAWS:
        return np.nan, np.nan
    n = min(corpus.n_documents, _MOST_DOCUMENTS)
    chosen = np.linspace(0, corpus.n_documents - 1, n).astype(int)
    lengths = corpus.lengths[chosen]
    places = np.concatenate([np.arange(*corpus.offsets[d : d + 2]) for d in chosen])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    distinct, of_length, n_documents = np.unique(lengths, return_inverse=True, return_counts=True)
    firsts, seconds = [], []
    for i in range(len(draws)):
        alpha = draws.priors_at(i).doc[0]
        counts = np.zeros((n, len(alpha)))
        _tokens.count_documents(offsets, np.asarray(draws.topics[i])[places].astype(np.int32), counts)
        # Documents have few of the topics, and topics have few different counts.
        documents, topics = np.nonzero(counts)
        found = counts[documents, topics].astype(np.int64)
        width = int(found.max(initial=0)) + 1
        pairs, of_pair, n_cells = np.unique(topics * width + found, return_inverse=True, return_counts=True)
        first, second = _of_scale(alpha[pairs // width], pairs % width)
        of_total, second_of_total = _of_scale(alpha.sum(), distinct)
        firsts.append(np.bincount(documents, first[of_pair], n) - of_total[of_length])
        seconds.append(second @ n_cells - second_of_total @ n_documents)
    information = -np.mean(seconds)
    if not information > 0:
        return np.nan, np.nan
    missing = float(np.var(firsts, axis=0, ddof=1).sum() / information)
    observed = information * max(1 - missing, 1e-3)
    slopes = np.sum(firsts, axis=1) / observed
    # That of the draws, and that of the maximum itself.
    error = np.hypot(slopes.std(ddof=1) / np.sqrt(len(slopes)), observed**-0.5)
    return missing, float(slopes.mean()) if abs(slopes.mean()) > _SURE * error else 0.0


def _of_scale(a, n):
    """Derivatives of log Gamma(a s + n) - log Gamma(a s) in log s, at s = 1."""
    first = a * (digamma(a + n) - digamma(a))
    return first, first + a**2 * (polygamma(1, a + n) - polygamma(1, a))


class Learner(Step):
    """Learns the priors of one chain by Gibbs-EM, until the end of its burn-in.

    An M-step uses the last draws. The one at the end of the burn-in uses the draws of the last M-steps together, so
    that the priors that are kept have little noise.

    Without a given `every`, a burn-in has about thirty M-steps, however short it is. After a quarter and a half of
    them, and after the last one, the sum of alpha and eta go where the line through their last values leads them: EM
    only goes a share of the distance to the maximum in every step.

    Parameters
    ----------
    m_step : MStep
        Or another object with its methods. ``present(chain)`` returns the logarithms of the present priors, and
        ``set(chain, log_h)`` sets them. ``statistics(chain)`` returns those of the present draw. ``maximum(draws,
        log_h)`` takes a list of them, and returns the next log_h. Without `every`, ``scales(log_h)`` returns what is
        extrapolated, and ``with_scales(log_h, scales)`` sets it.
    every : int, default=None
        Sweeps between two draws. None: chosen by the length of the burn-in.
    n_draws : int
        Draws of an M-step.
    n_last : int
        Draws of the last M-step, at most.
    first_sweep : float, default=None
        Sweeps before the first draw. None: those of the annealed start, or a fifth of the burn-in without one, but at
        least ten.
    forming : float
        The share of the burn-in in which the topics form. The last M-step does not use draws of it. With `every`.

    Attributes
    ----------
    log_h : ndarray
        Logarithms of the priors that were learnt last.
    learns : bool
        False after the last M-step.
    """

    def __init__(self, m_step, every=None, n_draws=1, n_last=LAST_DRAWS, first_sweep=None, forming=0.0):
        self.m_step, self.every, self.n_draws, self.n_last = m_step, every, n_draws, max(n_last, n_draws)
        self.first_sweep, self.log_h, self.draws, self.n_new, self.learns = first_sweep, None, [], 0, True
        self.forming = forming
        # M-steps so far, those after which `scales` are extrapolated, and the scales since then.
        self.n_steps, self.jumps, self.scales = 0, (), []
        self.n_at_these_topics = 0  # draws since the last moves

    def begin(self, chain):
        if self.log_h is not None:
            self.m_step.set(chain, self.log_h)
            return
        self.log_h = self.m_step.present(chain)
        if self.first_sweep is None:
            self.first_sweep = max(chain.n_annealed or _WAIT * chain.n_burn_in, EVERY)
        if self.every is None:
            n_sweeps = max(chain.n_burn_in - self.first_sweep, 1)
            self.every = min(math.ceil(n_sweeps / _STEPS), EVERY)
            n_steps = min(int(n_sweeps // self.every), _STEPS)
            self.jumps = (n_steps // 4, n_steps // 2)
            self.n_last = min(self.n_last, n_steps - n_steps // 2 + 1)
        elif self.forming:
            n_sweeps = chain.n_burn_in - int(self.forming * chain.n_burn_in)
            self.n_last = max(min(n_sweeps // self.every, self.n_last), self.n_draws)

    def after(self, chain, stop):
        """Take a draw and do an M-step, if there are any after this sweep."""
        if not self.learns:
            return
        if chain.moves:
            # The draws before had other topics.
            self.log_h, self.draws, self.scales, self.n_new = self.m_step.present(chain), [], [], 0
            self.n_at_these_topics = 0
        if chain.n_sweeps % self.every == 0 and chain.n_sweeps >= self.first_sweep:
            self.draws = [*self.draws, self.m_step.statistics(chain)][-self.n_last :]
            self.n_new += 1
            self.n_at_these_topics += 1
            if self.n_new == self.n_draws:
                self._maximise(chain, self.draws[-self.n_draws :])
        if chain.n_sweeps == chain.n_burn_in:
            self.end_burn_in(chain)

    def end(self, chain):
        """Do one M-step with the present draw, if the chain has made no sweep."""
        if chain.n_sweeps == 0:
            self._set(chain, self.m_step.maximum([self.m_step.statistics(chain)], self.log_h))

    def settled(self):
        """Whether the priors were learnt for long. Before, the log joint can be flat: M-steps are still to come."""
        return not self.learns or self.n_at_these_topics >= min(_SETTLED // self.every, self.n_last)

    def end_burn_in(self, chain):
        """Do the last M-step."""
        if self.draws:
            m_step, scales = self.m_step, self.scales[-self.n_last :]
            self._set(chain, m_step.maximum(self.draws, self.log_h))
            if len(scales) >= _FEWEST_STEPS:
                to_come = fixed_point(scales) - np.mean(scales, axis=0)
                self._set(chain, m_step.with_scales(self.log_h, m_step.scales(self.log_h) + to_come))
        self.learns, self.draws = False, []

    def _maximise(self, chain, draws):
        log_h, self.n_new = self.m_step.maximum(draws, self.log_h), 0
        if self.jumps:
            self.n_steps += 1
            self.scales = [*self.scales, self.m_step.scales(log_h)]
            if self.n_steps in self.jumps and len(self.scales) >= _FEWEST_STEPS:
                log_h = self.m_step.with_scales(log_h, fixed_point(self.scales))
                self.draws, self.scales = [], []
        self._set(chain, log_h)

    def _set(self, chain, log_h):
        self.log_h = log_h
        self.m_step.set(chain, log_h)


def fixed_point(values):
    """Where each of several sequences goes that moves by the same share of the distance to its limit in every step.

    The share is estimated by the regression of each value on the one before, so noise around the limit gives the mean.

    Parameters
    ----------
    values : list of ndarray of shape (n_sequences,)

    Returns
    -------
    ndarray of shape (n_sequences,)
    """
    before, after = np.array(values[:-1]), np.array(values[1:])
    deviations = before - before.mean(axis=0)
    left = (deviations * after).sum(axis=0) / np.maximum((deviations**2).sum(axis=0), 1e-12)
    left = np.clip(left, 0, _LONGEST / (1 + _LONGEST))
    return after.mean(axis=0) + left / (1 - left) * (after.mean(axis=0) - before.mean(axis=0))
