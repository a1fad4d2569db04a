"""Which topic has the place of a known one: exchanges of places in the burn-in.

A known topic that has moved far may have the tokens of a new topic, and a new topic those of the known one. All topics
are found then, but two names are wrong. Sweeps do not leave this mode, and no merge or split does. But it is seen from
the counts n_t of the topics. If topic t takes the place of known topic k instead of that of a new one, log p(w | z)
changes by

    log p(n_t | eta + c m_k) - log p(n_t | eta).

The weight c is the same for all, because the learnt weight of k suits the topic that is in its place now. alpha goes
with the topics, so that log p(z) stays as it is.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from sklda._core.corpus import tally
from sklda._core.rising import log_gamma_ratio
from sklda._sampling.known_weights import counts_of_known
from sklda._sampling.prior_learning import EVERY
from sklda._sampling.steps import Step

# c as a share of the tokens of a topic of mean size: about the weight that is learnt for a topic of which seven tenths
# have moved. With a third and three times this, the best places were the same in benchmarks/bench_known_topics.py.
_SHARE = 0.01
# The least gain of an exchange, in nats.
_LEAST_GAIN = 5.0
# The fewest tokens in the place of a known topic, as a share of those of a topic of mean size. A known topic that is in
# no document had at most .02 in 17 of 18 of these corpora. It would gain by any topic with which it shares frequent
# words.
_LEAST_SIZE = 0.03
# Topics that are looked at for each known one, beside the one that has its place.
_MOST_OTHERS = 3


@dataclass(frozen=True, eq=False)
class Exchange:
    """Topics that exchange their places.

    Attributes
    ----------
    sources : ndarray of shape (n_components,)
        The topic that takes each place.
    """

    sources: np.ndarray

    def changes(self, alpha):
        """Whether alpha of the topics differs, (..., n_components), so that it goes with them."""
        return bool((alpha[..., self.sources] != alpha).any())

    def of_logs(self, logs):
        """Logarithms of positive numbers of all topics, (..., n_components), after the exchange."""
        return np.take(logs, self.sources, axis=-1)

    def of_rows(self, values):
        """A row of each topic after the exchange."""
        return values[self.sources]

    def of_topics(self, topics):
        """Topics of tokens after the exchange."""
        return np.argsort(self.sources).astype(np.int32)[topics]


class Places(Step):
    """Exchanges places of topics in the burn-in, after the annealed sweeps, and before an M-step that learns of them.

    A subclass has `exchange`, which returns the `Exchange` after a sweep, or None.
    """

    def after(self, chain, stop):
        if chain.n_sweeps % EVERY or not chain.n_annealed < chain.n_sweeps < chain.n_burn_in:
            return
        exchange = self.exchange(chain)
        if exchange is not None:
            chain.move(exchange.of_topics(chain.topics), [exchange])


class KnownPlaces(Places):
    """Gives known topics the places of those that are most like them, in the burn-in, after the annealed sweeps.

    The draws behind the burn-in are those of the sampler. Fixed topics take no part.

    Parameters
    ----------
    known : ndarray of shape (n_known, n_features)
        Distributions of the known topics, which are the first ones.
    alpha_moves : bool
        Whether alpha goes with topics. Otherwise it must be equal.
    apart : sequence of int, default=()
        New topics that keep their places, because they have seed words.
    """

    def __init__(self, known, alpha_moves, apart=()):
        self.known, self.alpha_moves, self.apart = known, alpha_moves, np.array(apart, int)

    def exchange(self, chain):
        return best_exchange(chain.corpus, chain.priors, chain.topics, self.known, self.alpha_moves, self.apart)


def best_exchange(corpus, priors, topics, known, alpha_moves, apart=()):
    """The best exchange of places between known topics and new ones.

    Returns
    -------
    Exchange or None
        None: all topics are in the right places, or there are none that may change it.
    """
    K = priors.n_components
    has_tokens = tally(topics, K)[: len(known)] >= _LEAST_SIZE * corpus.n_tokens / K
    free = np.flatnonzero(np.isfinite(priors.weights) & has_tokens)
    new = _new_topics(priors, len(known), alpha_moves, apart)
    if len(new) and not alpha_moves:
        free = free[(priors.doc[:, free] == priors.doc[:, new[:1]]).all(axis=0)]
    if not len(free) or not len(new):
        return None
    movable = np.concatenate([free, new])
    gains = _gains(corpus, priors, topics, known[free], movable)
    rows = np.arange(len(free))
    chosen = linear_sum_assignment(gains, maximize=True)[1]
    if gains[rows, chosen].sum() - gains[rows, rows].sum() < _LEAST_GAIN:
        return None
    sources = np.arange(K)
    sources[free] = movable[chosen]
    # The places of new topics that are now known ones go to those that have lost theirs.
    sources[np.setdiff1d(movable[chosen], free)] = np.setdiff1d(free, movable[chosen])
    return Exchange(sources)


def _new_topics(priors, n_known, alpha_moves, apart):
    """The topics behind the known ones and not `apart` that have the same priors as the one with the least eta."""
    new = np.setdiff1d(np.arange(n_known, priors.n_components), apart)
    if not len(new):
        return new
    first = new[np.argmin(priors.totals[new])]
    same = (priors.topic[:, new] == priors.topic[:, [first]]).all(axis=0)
    if not alpha_moves:
        same &= (priors.doc[:, new] == priors.doc[:, [first]]).all(axis=0)
    return new[same]


def _gains(corpus, priors, topics, known, movable):
    """The changes of log p(w | z), in nats, if topics are in the places of known ones instead of those of new ones.

    An ndarray of shape (len(known), len(movable)), whose first columns are the topics that have these places. It is
    minus infinity for pairs that are not looked at.
    """
    K = priors.n_components
    counts = counts_of_known(topics, corpus, K)[movable]
    totals = counts.sum(axis=1)
    eta, weight = priors.topic[:, movable[-1]].astype(np.float64), _SHARE * corpus.n_tokens / K
    of_totals = log_gamma_ratio(eta.sum() + weight, totals) - log_gamma_ratio(eta.sum(), totals)

    # Most of what a count n says about a prior a is in the first factor of a (a + 1) ... (a + n - 1).
    first = (counts > 0).astype(np.float64) @ np.log1p(weight * known / eta).T
    alike = first.T - of_totals
    own = np.arange(len(known))
    alike[own, own] = np.inf
    columns = np.argsort(-alike, axis=1, kind="stable")[:, : 1 + _MOST_OTHERS]
    rows, columns = np.repeat(own, columns.shape[1]), columns.reshape(-1)

    cells = counts[columns].tocoo()
    pair, word, n = cells.row, cells.col, cells.data
    near_known = log_gamma_ratio(eta[word] + weight * known[rows[pair], word], n)
    of_words = np.bincount(pair, near_known - log_gamma_ratio(eta[word], n), len(rows))
    gains = np.full((len(known), len(movable)), -np.inf)
    gains[rows, columns] = of_words - of_totals[columns]
    return gains
