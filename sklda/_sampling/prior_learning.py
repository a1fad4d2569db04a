"""Priors learnt in the burn-in of a chain by Gibbs-EM, and fixed afterwards."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import digamma, polygamma

from sklda._core.gibbs_em import BOUNDS, MStep, SeededMStep
from sklda._core.known_topic_priors import KnownMStep, KnownTopics
from sklda._core.priors import Priors
from sklda._kernels import _tokens
from sklda._sampling.steps import Step

KINDS = ("asymmetric", "symmetric")

# Sweeps between two M-steps.
EVERY = 10
# Sweeps before the first M-step without an annealed start, as a share of the burn-in. Directly after a random
# initialisation all topics are alike, and an M-step would choose an alpha that keeps them so.
_WAIT = 0.2
# Tokens from which on priors are learnt, and priors of smaller corpora. Measured on simulated corpora of 20 to 3,000
# tokens: below 1,000 a learnt alpha per topic overfits, and fits of a dozen tokens end at the bounds of the priors.
LEAST_TOKENS, SMALL_CORPUS_PRIOR = 1000, 0.1
# Number of draws that the last M-step uses: those of the last M-steps.
LAST_DRAWS = 12
# The information about alpha that is missing is measured in at most this number of documents, from at least this number
# of draws.
_MOST_DOCUMENTS, _FEWEST_DRAWS = 1000, 5
# With .73 to .97 missing, the learnt sum of alpha was .61 to 1.10 of the truth after default fits of simulated corpora,
# mostly below .9. With .15 to .52 missing it was .93 to 1.09.
MUCH_MISSING = 0.7


@dataclass(frozen=True, eq=False)
class PriorLearning:
    """How the priors of a chain are learnt.

    Attributes
    ----------
    kind : {"asymmetric", "symmetric"}
        Whether there is an alpha for each topic. eta is one number.
    alpha, eta : float, ndarray or None
        Priors that are given stay fixed. None: the prior is learnt.
    pseudo_counts : csr_array of shape (n_components, n_features) or None
        They are added to an eta that is learnt; with known topics, to any eta.
    known : KnownTopics or None
        Their weights may be learnt.
    """

    kind: str
    alpha: object = None
    eta: object = None
    pseudo_counts: object = None
    known: KnownTopics | None = None

    @property
    def names(self):
        """The names of the priors that are learnt."""
        given = {"doc_topic_prior": self.alpha, "topic_word_prior": self.eta}
        return [name for name, prior in given.items() if prior is None]

    @cached_property
    def m_step(self):
        """The M-step for the priors that are learnt."""
        bounds = tuple(BOUNDS if prior is None else None for prior in (self.alpha, self.eta))
        per_topic = self.kind == "asymmetric"
        if self.known is not None:
            return KnownMStep(bounds, per_topic, self.known, self.eta, self.pseudo_counts)
        if self.eta is None and self.pseudo_counts is not None:
            cells = self.pseudo_counts.tocoo()
            return SeededMStep(bounds, per_topic, (cells.row, cells.col, cells.data))
        return MStep(bounds, per_topic)


def refuse_symmetric(learn_priors: str | bool, reason: str) -> None:
    """Raise a ValueError if `learn_priors` is "symmetric", which a model cannot have for this reason."""
    if learn_priors == "symmetric":
        raise ValueError(
            f"learn_priors='symmetric' is not possible: {reason}. Give learn_priors='asymmetric' or False."
        )


def prior_settings(kind, alpha, eta, pseudo_counts, n_components, corpus, known=None):
    """The initial priors of chains, and how they are learnt.

    Parameters
    ----------
    kind : {"asymmetric", "symmetric", False}
    alpha, eta : float, array-like or None
        None: the prior is learnt, from the initial value ``1 / n_components``; with ``kind=False`` it stays there. With
        fewer than 1,000 tokens it is 0.1 and not learnt.
    pseudo_counts : csr_array of shape (n_components, n_features) or None
        They are added to eta.
    n_components : int
    corpus : Corpus
    known : KnownTopics, default=None
        Their weights that are not given are learnt, but not with fewer than 1,000 tokens.

    Returns
    -------
    priors : Priors
    learning : PriorLearning or None
    """
    n_features, default = corpus.n_features, 1.0 / n_components
    small = corpus.n_tokens < LEAST_TOKENS
    if kind and small:
        kind, default = False, SMALL_CORPUS_PRIOR
    first_alpha, first_eta = (default if prior is None else prior for prior in (alpha, eta))
    priors = Priors.make(first_alpha, first_eta, n_components, n_features)
    if known is not None:
        priors = known.with_priors(priors, first_eta, pseudo_counts, known.weights)
        if not kind:
            # Given or not, they stay.
            alpha, eta = first_alpha, first_eta
        known = replace(known, learnt=known.learnt & (not small))
        learning = PriorLearning(kind or "symmetric", alpha, eta, pseudo_counts, known)
        return priors, learning if learning.names or known.learnt.any() else None
    if pseudo_counts is not None:
        first_eta = priors.topic_word() + pseudo_counts.toarray()
        priors = Priors.make(first_alpha, first_eta, n_components, n_features)
    if not kind or (alpha is not None and eta is not None):
        return priors, None
    return priors, PriorLearning(kind, alpha, eta if eta is None else first_eta, pseudo_counts)


def continued_priors(priors, learning, former_priors, former):
    """The priors of chains that continue: those given, and for the others those that each chain has learnt.

    Parameters
    ----------
    priors : Priors
        The initial priors of new chains.
    learning : PriorLearning or None
        How new chains would learn.
    former_priors : list of Priors
        Those of the chains.
    former : PriorLearning or None
        How the chains have learnt theirs.

    Raises
    ------
    ValueError
        If a prior was given to the chains, but is not given for the continuation.
    """
    if learning is None:
        return [priors] * len(former_priors)
    for name in learning.names:
        if former is None or name not in former.names:
            raise ValueError(
                f"warm_start=True continues a fit with a given {name}, but {name} is now None, and priors are learnt "
                f"only in the first fit. Give a {name}, or fit with warm_start=False to begin again."
            )
    if learning.known is not None and (former is None or (learning.known.learnt & ~former.known.learnt).any()):
        raise ValueError(
            "warm_start=True continues a fit with a given known_weight, but one of them is now 'learn', and weights "
            "are learnt only in the first fit. Give all of them, or fit with warm_start=False to begin again."
        )
    found = []
    for own in former_priors:
        new = replace(priors, doc=own.doc, row_of=own.row_of) if learning.alpha is None else priors
        if learning.known is not None:
            weights = np.where(learning.known.learnt, own.weights, learning.known.weights)
            eta = own.base_eta if learning.eta is None else learning.eta
            found.append(learning.known.with_priors(new, eta, learning.pseudo_counts, weights))
            continue
        found.append(learning.m_step.with_eta(new, former.m_step.eta(own)) if learning.eta is None else new)
    return found


def missing_information(corpus, draws):
    """The share of the information about the sum of alpha in the topics of the tokens that the words do not have.

    After an M-step, this share of the distance from the maximum is left (Dempster, Laird & Rubin 1977). The information
    is the second derivative of -log p(z | alpha) in the logarithm of the sum. The variance of the first derivative over
    draws of z is what the words do not have (Louis 1982). Documents are taken as independent given the words.

    Parameters
    ----------
    corpus : Corpus
    draws : KeptDraws
        With one alpha for all documents.

    Returns
    -------
    float
        NaN with too few draws, and without any information, as with documents of one token.
    """
    if len(draws) < _FEWEST_DRAWS:
        return np.nan
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
    return float(np.var(firsts, axis=0, ddof=1).sum() / information) if information > 0 else np.nan


def _of_scale(a, n):
    """Derivatives of log Gamma(a s + n) - log Gamma(a s) in log s, at s = 1."""
    first = a * (digamma(a + n) - digamma(a))
    return first, first + a**2 * (polygamma(1, a + n) - polygamma(1, a))


class Learner(Step):
    """Learns the priors of one chain by Gibbs-EM, until the end of its burn-in.

    An M-step uses the last draws. The one at the end of the burn-in uses the draws of the last M-steps together, so
    that the priors that are kept have little noise.

    Parameters
    ----------
    m_step : MStep
        Or another object with four methods. ``present(chain)`` returns the logarithms of the present priors, and
        ``set(chain, log_h)`` sets them. ``statistics(chain)`` returns those of the present draw. ``maximum(draws,
        log_h)`` takes a list of them, and returns the next log_h.
    every : int
        Sweeps between two draws.
    n_draws : int
        Draws of an M-step.
    n_last : int
        Draws of the last M-step, at most.
    first_sweep : float, default=None
        Sweeps before the first draw. None: those of the annealed start, or a fifth of the burn-in without one.

    Attributes
    ----------
    log_h : ndarray
        Logarithms of the priors that were learnt last.
    learns : bool
        False after the last M-step.
    """

    def __init__(self, m_step, every=EVERY, n_draws=1, n_last=LAST_DRAWS, first_sweep=None):
        self.m_step, self.every, self.n_draws, self.n_last = m_step, every, n_draws, max(n_last, n_draws)
        self.first_sweep, self.log_h, self.draws, self.n_new, self.learns = first_sweep, None, [], 0, True

    def begin(self, chain):
        if self.log_h is not None:
            self.m_step.set(chain, self.log_h)
            return
        self.log_h = self.m_step.present(chain)
        if self.first_sweep is None:
            self.first_sweep = chain.n_annealed or _WAIT * chain.n_burn_in

    def after(self, chain, stop):
        """Take a draw and do an M-step, if there are any after this sweep."""
        if not self.learns:
            return
        if chain.moves:
            # The draws before had other topics.
            self.log_h, self.draws, self.n_new = self.m_step.present(chain), [], 0
        if chain.n_sweeps % self.every == 0 and chain.n_sweeps >= self.first_sweep:
            self.draws = [*self.draws, self.m_step.statistics(chain)][-self.n_last :]
            self.n_new += 1
            if self.n_new == self.n_draws:
                self._maximise(chain, self.draws[-self.n_draws :])
        if chain.n_sweeps == chain.n_burn_in:
            self.finish(chain)

    def finish(self, chain):
        """Do the last M-step."""
        if self.draws:
            self._maximise(chain, self.draws)
        self.learns, self.draws = False, []

    def has_learnt_for(self, n_sweeps):
        """Whether the priors have been learnt for at least this number of sweeps."""
        return len(self.draws) >= min(n_sweeps // self.every, self.n_last)

    def _maximise(self, chain, draws):
        self.log_h, self.n_new = self.m_step.maximum(draws, self.log_h), 0
        self.m_step.set(chain, self.log_h)
