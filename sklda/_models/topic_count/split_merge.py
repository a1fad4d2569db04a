"""Moves between numbers of topics: a topic is split, two are merged, or one is removed.

One topic is driven out, or grows. Its tables t_k have a factor, f^t_k, which goes from 1 to nearly 0 in small steps, or
back, while the tokens that may move are swept. This is annealed importance sampling (Neal 2001) as a proposal of a
reversible jump (Karagiannis & Andrieu 2013): with the product of the weights of the steps in its probability of
acceptance, it leaves the posterior as it is. The way back has the steps in the opposite order, so its sweeps go from
the last token to the first one.
"""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.special import gammaln

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import SMALLEST, Priors, padded
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.merge_and_split import part_of
from sklda._sampling.tables import draw_document_tables

# The last factor of the tables of a topic. The number of factors in a split or merge is this part of the number of
# tokens, within bounds.
_LAST_FACTOR = 0.01
_FACTORS_EACH, _FEWEST_FACTORS, _MOST_FACTORS = 1 / 10, 10, 100
# The number of factors in a removal, and a loss in nats that is small in any case. doc/method/calibration.rst shows
# others.
_REMOVAL_FACTORS, _SMALL_LOSS = 300, 3.0
# A change with weights below exp(this) is no move, in both directions.
_LEAST_WEIGHT = -150.0
# A topic is merged with another one in proportion to this power of the affinity of their words.
_AFFINITY_POWER = 6
# In the burn-in a topic with a larger share of the tokens is not removed: it may be needed, while topics that are right
# after more sweeps are not yet so.
_LARGEST_REMOVED = 0.05


def split_or_merge(step, chain, rng, tables, seed):
    """Try to split a topic or to merge two, exactly.

    Returns the tables of all topics, of which some changed if the move was accepted.
    """
    used = np.flatnonzero(tables)
    n, merges = len(used), rng.random() < 0.5
    if (merges and n == 1) or (not merges and n == step.prior.counts[-1]):
        return tables
    words = chain.rows.dense()[:, used].T.astype(np.float64)
    if merges:
        k = int(rng.integers(n))
        affinity = _affinity(words, k)
        a = int(rng.choice(n, p=affinity))
        log_choice = np.log(affinity[a] / n)
        pair = used[[a, k]]
    else:
        a = int(rng.integers(n))
        pair = np.array([used[a], np.flatnonzero(tables == 0)[0]])
    inside = np.flatnonzero((chain.topics == pair[0]) | (chain.topics == pair[1]))
    n_others = n - (2 if merges else 1)
    share = len(inside) / chain.corpus.n_tokens
    mass = max(step.prior.gamma_beside(n_others, step.gamma) * share, 2 * SMALLEST)
    path = _Pair(step, chain, inside, pair, tables[pair], mass, seed, rng, merges)
    M, before = int(tables.sum()), int(tables[pair].sum())

    def of_ends(n_topics, n_tables):
        """log of p(z, t) over what the path has at its end."""
        V = step.prior.log_v(n_topics, M - before + n_tables, step.g, step.gamma)
        return V - n_tables * np.log(mass) + gammaln(2 * step.g + n_tables)

    log_ratio = -of_ends(n, before)
    if merges:
        log_weight = path.shrink(_LEAST_WEIGHT)
        if log_weight is None or path.tables[1]:
            return tables
        log_ratio += log_weight + of_ends(n - 1, path.tables[0]) - np.log(n - 1) - log_choice
    else:
        log_weight = path.grow()
        if not path.tables.all() or log_weight > -_LEAST_WEIGHT:
            return tables
        own = np.bincount(chain.corpus.words[inside[path.topics == 1]], minlength=words.shape[1])
        words = np.vstack([words, own])
        words[a] -= own
        affinity = _affinity(words, n)
        log_ratio += log_weight + of_ends(n + 1, path.tables.sum()) + np.log(n) + np.log(affinity[a] / (n + 1))
    if np.log(rng.random()) >= log_ratio:
        return tables
    chain.topics[inside] = pair[path.topics]
    chain.recount()
    tables = tables.copy()
    tables[pair] = path.tables
    return tables


def remove_topics(step, chain, rng, tables, seed):
    """Try to remove each topic, the small ones first; its tokens go to all other topics.

    A topic goes if its tokens leave it with a loss that is smaller than the gain by the prior of T, or small. All other
    tokens stay where they are, so this is not the probability of the corpus with one topic less, and the posterior is
    not kept: it is for the burn-in. Returns the tables of all topics.
    """
    for i, k in enumerate(np.argsort(chain.topic_totals, kind="stable")):
        if 0 < chain.topic_totals[k] <= _LARGEST_REMOVED * chain.corpus.n_tokens:
            tables = _without(step, chain, int(k), rng, tables, random.child(seed, i))
    return tables


def _without(step, chain, k, rng, tables, seed):
    used = np.flatnonzero(tables)
    n, K = len(used), len(tables)
    own = int(np.searchsorted(used, k))
    place = np.full(K, -1, np.int32)
    place[used] = np.arange(n)
    topics, corpus = place[chain.topics], chain.corpus
    moving = topics == own
    documents = corpus.token_documents
    chosen = np.unique(documents[moving])
    near = np.zeros(corpus.n_documents, bool)
    near[chosen] = True
    around = near[documents]
    part, part_topics = corpus.take(chosen), topics[around]
    inside = np.flatnonzero(part_topics == own)
    fixed = part_topics != own
    doc_counts = np.bincount(part.token_documents[fixed] * n + part_topics[fixed], minlength=len(chosen) * n)
    doc_counts = doc_counts.reshape(len(chosen), n).astype(np.float64)
    words = chain.rows.dense()[:, used].T.astype(np.float64)
    words[own] = 0
    collections = np.zeros(len(chosen), np.int64)
    shares = np.exp(step.log_base[used])
    stream = random.stream(random.child(seed, 0))

    def alpha(f):
        return np.maximum(step.gamma * np.where(np.arange(n) == own, f * shares, shares), SMALLEST)[None]

    near_tables = draw_document_tables(part, part_topics, collections, alpha(1.0), stream)[0]
    # Tables of the other documents do not change.
    far_tables = np.maximum(tables[used] - near_tables, 0)
    moved = part_of(corpus, np.flatnonzero(moving))
    doc = doc_counts + alpha(1.0)
    priors = replace(Priors.make(doc, words + chain.priors.word, n, corpus.n_features, len(chosen)), doc=doc)
    local = GibbsChain(moved, priors, ChainState(part_topics[inside], random.stream(random.child(seed, 1))))

    now = far_tables + near_tables
    V, V_without = (step.prior.log_v(n_topics, int(now.sum()), step.g, step.gamma) for n_topics in (n, n - 1))
    most, loss = max(V_without - V, _SMALL_LOSS), 0.0
    for before, f in pairwise(_factors(_REMOVAL_FACTORS)):
        loss += now[own] * np.log(before / f)
        if loss > most:
            return tables
        prior = alpha(f)
        # In place, as in `_Pair`.
        np.add(doc_counts, prior, out=doc)
        local.sweep()
        part_topics[inside] = local.topics
        near_tables = draw_document_tables(part, part_topics, collections, prior, stream)[0]
        now = far_tables + near_tables
        shares = rng.dirichlet(step.g + now)
        if f < 0.1 and not now[own]:
            break
    if now[own]:
        return tables
    chain.topics[moving] = used[local.topics]
    chain.recount()
    found = np.zeros_like(tables)
    found[used] = now
    return found


@cache
def _factors(n):
    """The factors of the tables of a topic that is driven out, (n,)."""
    return np.geomspace(1.0, _LAST_FACTOR, n)


def _affinity(words, k):
    """Probabilities of the topics with which topic k is merged, (n_topics,), by counts of words."""
    roots = np.sqrt(words / words.sum(axis=1, keepdims=True))
    found = (roots @ roots[k]) ** _AFFINITY_POWER
    found += 1e-6
    found[k] = 0
    return found / found.sum()


class _Pair:
    """The tokens of two topics, and the division u of their shares: a model of two topics."""

    def __init__(self, step, chain, inside, pair, tables, mass, seed, rng, forward):
        self.g, self.mass, self.rng, self.forward = step.g, mass, rng, forward
        part = part_of(chain.corpus, inside)
        topics = (chain.topics[inside] == pair[1]).astype(np.int32)
        if not forward:
            part = Corpus(part.words[::-1].copy(), part.n_tokens - part.offsets[::-1], part.n_features)
            topics = topics[::-1].copy()
        eta = chain.priors.word
        priors = Priors(np.full((1, 2), mass / 2), eta, np.empty((0, padded(2)), np.float32), np.full(2, eta.sum()))
        self.chain = GibbsChain(part, priors, ChainState(topics, random.stream(seed)))
        self.collections = np.zeros(part.n_documents, np.int64)
        self.tables = tables
        n = int(np.clip(_FACTORS_EACH * len(inside), _FEWEST_FACTORS, _MOST_FACTORS))
        self.factors = _factors(n)

    @property
    def topics(self):
        return self.chain.topics if self.forward else self.chain.topics[::-1]

    def shrink(self, least):
        log_weight = 0.0
        self.divide()
        for before, f in pairwise(self.factors):
            log_weight += self.tables[1] * np.log(f / before)
            if log_weight < least:
                return None
            self.sweep(f)
            self.divide()
        return log_weight

    def grow(self):
        log_weight = 0.0
        for f, after in pairwise(self.factors[::-1]):
            self.divide()
            self.sweep(f)
            log_weight += self.tables[1] * np.log(after / f)
        return log_weight

    def divide(self):
        self.u = self.rng.beta(*(self.g + self.tables))

    def sweep(self, f):
        chain = self.chain
        # In place: a new `Priors` for each sweep takes as long as a sweep of a small corpus.
        alpha = chain.priors.doc
        alpha[:] = np.maximum((self.mass * self.u, self.mass * f * (1 - self.u)), SMALLEST)
        chain.sweep()
        self.tables = draw_document_tables(chain.corpus, chain.topics, self.collections, alpha, chain.stream)[0]
