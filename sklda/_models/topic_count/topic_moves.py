"""Moves between numbers of topics: a topic is added, or one is removed.

A topic is driven out, or grows. Its tables t_k have a factor, f^t_k, which goes from 1 to nearly 0 in small steps, or
back, while tokens are swept. With a sweep of all tokens this is annealed importance sampling (Neal 2001) as a proposal
of a reversible jump (Karagiannis & Andrieu 2013): with the product of the weights of the steps in its probability of
acceptance, it leaves the posterior as it is. The way back has the steps in the opposite order, so its sweeps go from
the last token to the first one.
"""

from dataclasses import replace
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

# The factors of the tables of a topic that is driven out, in a removal in the burn-in, and a loss in nats that is small
# in any case. doc/method/calibration.rst shows others.
_REMOVAL_FACTORS, _SMALL_LOSS = np.geomspace(1.0, 0.01, 300), 3.0
# In the burn-in a topic with a larger share of the tokens is not removed: it may be needed, while topics that are right
# after more sweeps are not yet so.
_LARGEST_REMOVED = 0.05


def n_factors(corpus):
    """The number of factors of an exact move: for every second token one, within bounds."""
    return int(np.clip(corpus.n_tokens // 2, 10, 60))


def add_or_remove(step, chain, rng, tables, seed):
    """Try to add a topic or to remove one, exactly.

    Returns the tables of all topics, which have changed if the move was accepted.
    """
    used = np.flatnonzero(tables)
    n, removes = len(used), rng.random() < 0.5
    if n == (1 if removes else step.prior.counts[-1]):
        return tables
    # The topics of the path, of which the last one is removed or added. Small topics are removed more often.
    if removes:
        chances = 1 / tables[used]
        last = used[rng.choice(n, p=chances / chances.sum())]
        labels = np.append(used[used != last], last)
    else:
        labels = np.append(used, np.flatnonzero(tables == 0)[0])
    mass = step.prior.gamma_beside(len(labels) - 2, step.gamma)
    topics, found, log_weight = _annealed(step.g, mass, chain, labels, tables[labels], rng, seed, removes)
    if not (found[:-1].all() and removes == (found[-1] == 0)):
        return tables

    def of_ends(n_topics, n_tables):
        """log of p(z, t) over what the path has at its end."""
        V = step.prior.log_v(n_topics, n_tables, step.g, step.gamma)
        return V - n_tables * np.log(mass) + gammaln(len(labels) * step.g + n_tables)

    after = len(labels) - removes
    log_ratio = log_weight + of_ends(after, int(found.sum())) - of_ends(n, int(tables.sum()))
    with_last = tables[labels] if removes else found
    log_chance = -np.log(with_last[-1] * (1 / with_last).sum())
    log_ratio += -log_chance if removes else log_chance
    if np.log(rng.random()) >= log_ratio:
        return tables
    chain.topics[:] = labels[topics]
    chain.recount()
    tables = tables.copy()
    tables[labels] = found
    return tables


def _annealed(g, mass, chain, labels, tables, rng, seed, removes):
    """Topics of the tokens, tables, and the log weight, after a path of the topics `labels`."""
    n, place = len(labels), np.zeros(len(chain.topic_totals), np.int32)
    place[labels] = np.arange(n)
    corpus, topics, order = chain.corpus, place[chain.topics], 1 if removes else -1
    if not removes:
        corpus = Corpus(corpus.words[::-1].copy(), corpus.n_tokens - corpus.offsets[::-1], corpus.n_features)
    eta, alpha = chain.priors.word, np.empty((1, n))
    priors = Priors(alpha, eta, np.empty((0, padded(n)), np.float32), np.full(n, eta.sum()))
    local = GibbsChain(corpus, priors, ChainState(topics[::order].copy(), random.stream(seed)))
    collections, log_weight = np.zeros(corpus.n_documents, np.int64), 0.0
    for before, f in pairwise(np.geomspace(1.0, 0.01, n_factors(corpus))[::order]):
        if removes:
            log_weight += tables[-1] * np.log(f / before)
        shares = rng.standard_gamma(g + tables)
        # In place: a new `Priors` for each sweep takes as long as a sweep of a small corpus.
        np.multiply(shares, mass / sum(shares.tolist()), out=alpha[0])
        alpha[0, -1] *= min(before, f)
        np.maximum(alpha, SMALLEST, out=alpha)
        local.sweep()
        tables = draw_document_tables(corpus, local.topics, collections, alpha, local.stream)[0]
        if not removes:
            log_weight += tables[-1] * np.log(f / before)
    return local.topics[::order], tables, log_weight


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
    for before, f in pairwise(_REMOVAL_FACTORS):
        loss += now[own] * np.log(before / f)
        if loss > most:
            return tables
        prior = alpha(f)
        # In place, as above.
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
