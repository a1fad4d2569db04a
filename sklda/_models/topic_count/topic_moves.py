"""Moves between numbers of topics: a topic is added, or one is removed.

A topic is driven out, or grows: alpha of the documents goes from that with the topic to that without it in small steps,
or back, while all tokens are swept. This is annealed importance sampling (Neal 2001) as a proposal of a reversible jump
(Karagiannis & Andrieu 2013): with the weight of the path in its probability of acceptance, it leaves the posterior as
it is. The way back has the steps in the opposite order, so its sweeps go from the last token to the first one.
"""

from itertools import pairwise

import numpy as np

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import SMALLEST, Priors, padded
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.merge_and_split import part_of
from sklda._sampling.mixture_step import document_prior
from sklda._sampling.prior_path import PriorPath
from sklda._sampling.tables import draw_document_tables

# The number of steps of an exact move: for every second token one, within these bounds.
_STEPS = 10, 60
# The factors of the tables of a topic that is driven out, in a removal in the burn-in, and a loss in nats that is small
# in any case. doc/method/calibration.rst shows others.
_REMOVAL_FACTORS, _SMALL_LOSS = np.geomspace(1.0, 0.01, 300), 3.0
# In the burn-in a topic with a larger share of the tokens is not removed: it may be needed, while topics that are right
# after more sweeps are not yet so.
_LARGEST_REMOVED = 0.05


def add_or_remove(step, chain, rng, seed):
    """Try to go to the next number of topics, exactly: add a topic with a share from its prior, or remove one.

    It is more than one topic if p(T) has a gap. The others keep their shares among themselves, so p(T) and the weight
    of the path decide. Returns log pi of all topics if the move was accepted; otherwise None.
    """
    prior, sizes, is_member = step.prior, chain.topic_totals, np.isfinite(step.log_base)
    removes = rng.random() < 0.5
    place = prior.place[step.n_topics] - removes
    if place < 0 or place + 1 == len(prior.counts) or sizes[~is_member].any():
        return None
    T, T_with = prior.counts[place : place + 2]
    # The last topics of the path are removed or added. Small topics are removed more often.
    if removes:
        chances = _chances(sizes)
        if np.count_nonzero(chances) < T_with - T:
            return None
        last = rng.choice(len(sizes), T_with - T, replace=False, p=chances / chances.sum())
        is_member[last] = False
    else:
        last = np.flatnonzero(~is_member)[: T_with - T]
    others = np.flatnonzero(is_member)
    labels, without = np.append(others, last), step.log_base[others] - np.logaddexp.reduce(step.log_base[others])
    if removes:
        with_last = step.log_base[labels]
    else:
        log_rest, *log_shares = random.log_dirichlet(rng, step.g * np.array([[T] + [1] * len(last)]))[0]
        with_last = np.append(without + log_rest, log_shares)
    at_ends = (T, np.append(without, np.full(len(last), -np.inf))), (T_with, with_last)
    alphas = [document_prior(prior.gamma_at(n, step.gamma), np.exp(log_pi)) for n, log_pi in at_ends]
    topics, log_weight = _annealed(chain, labels, *alphas, removes, seed)
    found = np.bincount(topics, minlength=T_with)
    if ((found[T:] > 0) == removes).any():
        return None

    # What added topics gain beside the weight: p(T) T!, and the probability that they are removed one after the other.
    chances = _chances(sizes[labels] if removes else found)
    left = chances[:T].sum() + np.cumsum(chances[: T - 1 : -1])
    log_gain = prior.log_p[place + 1] - prior.log_p[place] + np.log(np.arange(T, T_with) + 1).sum()
    log_gain += np.log(chances[T:]).sum() - np.log(left).sum()
    if np.log(rng.random()) >= log_weight + (-log_gain if removes else log_gain):
        return None
    chain.topics[:] = labels[topics]
    chain.recount()
    log_base = np.full(len(sizes), -np.inf)
    log_base[others if removes else labels] = without if removes else with_last
    return log_base


def _chances(sizes):
    """The probability of each topic to be removed, up to a factor; zero if it is empty."""
    return np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0)


def _annealed(chain, labels, without, with_last, removes, seed):
    """Topics of the tokens, and the log weight, after a path from one alpha of the topics `labels` to another."""
    n, place = len(labels), np.zeros(len(chain.topic_totals), np.int32)
    place[labels] = np.arange(n)
    corpus, eta, order = chain.corpus, chain.priors.word, 1 if removes else -1
    n_steps = min(max(corpus.n_tokens // 2, _STEPS[0]), _STEPS[1])
    positions = np.append(np.geomspace(1.0, 0.01, n_steps), 0.0)[::order]
    if not removes:
        corpus = Corpus(corpus.words[::-1].copy(), corpus.n_tokens - corpus.offsets[::-1], corpus.n_features)
    priors = Priors(without[None], eta, np.empty((0, padded(n)), np.float32), np.full(n, eta.sum()))
    path = PriorPath(
        base=priors,
        doc_slope=(with_last - without)[None],
        slope_row_of=priors.row_of,
        word_slope=np.zeros_like(eta),
        topic_slope=np.empty((0, n)),
        # The last one has a sweep, too.
        positions=np.append(positions, positions[-1]),
    )
    local = GibbsChain(corpus, priors, ChainState(place[chain.topics][::order].copy(), random.stream(seed)))
    log_weight = local.anneal(path)
    return local.topics[::order], log_weight


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
    collections = np.zeros(len(chosen), np.int64)
    shares = np.exp(step.log_base[used])
    stream = random.stream(random.child(seed, 0))

    def alpha(f):
        return np.maximum(step.gamma * np.where(np.arange(n) == own, f * shares, shares), SMALLEST)[None]

    near_tables = draw_document_tables(part, part_topics, collections, alpha(1.0), stream)[0]
    # Tables of the other documents do not change.
    far_tables = np.maximum(tables[used] - near_tables, 0)
    # Only the words that move: the counts of all words in all topics take longer than the steps.
    (moved, words), eta = part_of(corpus, np.flatnonzero(moving)), chain.priors.word
    topic = np.zeros((len(words), padded(n)), np.float32)
    topic[:, :n] = chain.rows.dense(words)[:, used] + eta[words, None]
    totals = chain.topic_totals[used] + eta.sum()
    topic[:, own], totals[own] = eta[words], eta.sum()
    doc = doc_counts + alpha(1.0)
    priors = Priors(doc, np.empty(0), topic, totals, np.arange(len(doc), dtype=np.int32))
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
