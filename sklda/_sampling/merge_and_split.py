"""Merge and split: moves of the burn-in to modes of z in which no topic is two, and no two topics are one.

Sweeps draw one token at a time, so a chain stays in a mode in which a large topic has copies and small topics share
one, although another mode is thousands of nats better. A move merges two topics and gives the one that is then empty to
a part of a third. What the log joint loses by merging is known for all pairs. What it gains by splitting a topic is
found by a fit of two topics to its tokens. As the topics of a move are different ones, the two changes add up, so that
all moves that may be worth it are known after one fit to each topic.
"""

from dataclasses import dataclass

import numpy as np

from sklda._core import random
from sklda._core.corpus import Corpus, count_tokens
from sklda._core.priors import Priors, padded
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.initialisation import merge_gains
from sklda._sampling.steps import Step

# Sweeps of the fit of two topics to the tokens of one, and of the fits of three topics that check a move.
_SPLIT_SWEEPS, _CHECK_SWEEPS = 30, 15
# The least gain of a move, in nats.
_LEAST_GAIN = 10.0
# Sweeps of the chain between two rounds of moves.
_EVERY = 10
# The fewest tokens of a topic that may be two, and the most topics that take part, those with the most tokens: the gains
# of all pairs of 2,000 are 32 MB.
_LEAST_TOKENS, _MOST_TOPICS = 30, 2000
# Without annealed sweeps, the share of the burn-in before the first round: after a random start all topics are alike.
_WAIT = 0.2


@dataclass(frozen=True)
class Move:
    """The tokens of topic `emptied` go to topic `joined`, and a part of those of topic `divided` go to `emptied`."""

    joined: int
    emptied: int
    divided: int

    @property
    def topics(self):
        return self.joined, self.emptied, self.divided

    def of_logs(self, logs):
        """Logarithms of positive numbers of all topics, (..., n_components), after the move, which keeps their sum."""
        logs = logs.copy()
        logs[..., self.joined] = np.logaddexp(logs[..., self.joined], logs[..., self.emptied])
        logs[..., self.divided] -= np.log(2)
        logs[..., self.emptied] = logs[..., self.divided]
        return logs


class MergeAndSplit(Step):
    """Makes rounds of moves after the annealed sweeps, until there is none that raises the log joint.

    All rounds are in the burn-in, so that the draws after it are those of the sampler. Topics take part that have the
    same prior. An alpha that is learnt or drawn may differ: moves are compared at its mean.

    Parameters
    ----------
    learns_alpha : bool

    Attributes
    ----------
    next_round : int or None
        The sweep after which the next round may follow. None: the last one made no move.
    n_moves : int
        Moves of the last round.
    """

    def __init__(self, learns_alpha):
        self.learns_alpha = learns_alpha
        self.next_round = 0
        self.n_moves = 0

    def begin(self, chain):
        if self.next_round is not None:
            first = chain.n_annealed or int(_WAIT * chain.n_burn_in)
            self.next_round = max(self.next_round, first, chain.n_sweeps + 1)

    def before(self, chain):
        chain.moves = ()

    def after(self, chain, stop):
        if self.next_round is None or not self.next_round <= chain.n_sweeps < chain.n_burn_in:
            return
        seed = np.random.SeedSequence([*chain.stream.tolist(), chain.n_sweeps])
        own = exchangeable_topics(chain.priors, self.learns_alpha)
        topics, moves = round_of_moves(chain.corpus, chain.priors, chain.topics, own, seed, stop)
        if moves:
            chain.move(topics, moves)
        self.n_moves = len(moves)
        self.next_round = chain.n_sweeps + _EVERY if moves else None

    def settled(self):
        return self.next_round is None


def exchangeable_topics(priors: Priors, learns_alpha: bool) -> np.ndarray:
    """The largest group of topics with equal priors; an alpha that is learnt need not be equal."""
    K = priors.n_components
    parts = [priors.topic.T[:K]] if len(priors.topic) else []
    if not learns_alpha:
        parts.append(priors.doc.T)
    if not parts:
        return np.arange(K)
    groups: dict[tuple, list] = {}
    for k in range(K):
        groups.setdefault(tuple(part[k].tobytes() for part in parts), []).append(k)
    return np.array(max(groups.values(), key=len))


def round_of_moves(corpus, priors, topics, own, seed, stop):
    """Make all moves between topics `own` that raise the log joint.

    Returns
    -------
    topics : ndarray of shape (n_tokens,), int32
        The topics of all tokens after the moves; the same array if there are none.
    moves : list of Move
    """
    if len(own) < 3:
        return topics, []
    if len(own) > _MOST_TOPICS:
        n_tokens = count_tokens(topics, priors.n_components)[own]
        own = np.sort(own[np.argsort(-n_tokens, kind="stable")[:_MOST_TOPICS]])
    alpha = float(priors.doc[:, own].mean())
    eta = priors.word if len(priors.word) else priors.topic[:, own[0]].astype(np.float64)
    gains = _gains_of_merges(corpus, topics, own, alpha, eta, stop)
    splits = _splits(corpus, topics, own, _equal_priors(alpha, eta, 2), _LEAST_GAIN - gains.max(), seed, stop)
    three, moves = _equal_priors(alpha, eta, 3), []
    for move in _candidates(own, gains, splits):
        inside = np.flatnonzero(np.isin(topics, move.topics))
        before = topics[inside]
        after = np.where(before == move.emptied, move.joined, before)
        after[before == move.divided] = np.where(splits[move.divided].second, move.emptied, move.divided)
        # Both are swept at the same priors: the topics before are a draw at others.
        part = _part(corpus, inside)
        without, chain = (
            _swept(part, three, _places(each, move.topics), random.child(seed, 2, *move.topics, i), stop)
            for i, each in enumerate((before, after))
        )
        if chain.log_joint() - without.log_joint() >= _LEAST_GAIN:
            topics = topics.copy() if not moves else topics
            topics[inside] = np.array(move.topics, np.int32)[chain.topics]
            moves.append(move)
    return topics, moves


@dataclass(frozen=True, eq=False)
class _Split:
    """A topic as two.

    Attributes
    ----------
    gain : float
        The change of the log joint, in nats.
    second : ndarray of bool
        The tokens of the topic, in their order, that the second one takes.
    """

    gain: float
    second: np.ndarray


def _equal_priors(alpha, eta, n_components):
    """Priors of topics that are alike; `eta` (n_features,)."""
    totals = np.full(n_components, eta.sum())
    return Priors(np.full((1, n_components), alpha), eta, np.empty((0, padded(n_components)), np.float32), totals)


def _gains_of_merges(corpus, topics, own, alpha, eta, stop):
    """What the log joint changes if two of the topics `own` are merged, (n_own, n_own), in nats; else minus infinity."""
    # All other topics are one more.
    labels = _places(topics, own)
    labels[labels < 0] = len(own)
    gains = merge_gains(corpus, labels, _equal_priors(alpha, eta, len(own) + 1), stop)[:-1, :-1]
    gains[np.tril_indices(len(own))] = -np.inf
    return gains


def _splits(corpus, topics, own, priors, least, seed, stop):
    """The splits of topics that gain at least so many nats, a dict by topic."""
    found = {}
    for k in own.tolist():
        inside = np.flatnonzero(topics == k)
        if len(inside) < _LEAST_TOKENS:
            continue
        part = _part(corpus, inside)
        rng = np.random.default_rng(random.child(seed, 0, k))
        halves = rng.integers(2, size=part.n_tokens, dtype=np.int32)
        chain = _swept(part, priors, halves, random.child(seed, 1, k), stop, _SPLIT_SWEEPS)
        gain = -merge_gains(part, chain.topics, priors, stop)[0, 1]
        if chain.topic_totals.min() > 0 and gain >= least:
            found[k] = _Split(gain, chain.topics == 1)
    return found


def _candidates(own, gains, splits):
    """Moves without common topics that would gain enough, those of the best splits first."""
    if not splits:
        return
    i, j = np.nonzero(gains >= _LEAST_GAIN - max(split.gain for split in splits.values()))
    best_first = np.argsort(-gains[i, j], kind="stable")
    pairs = np.column_stack([i, j])[best_first].tolist()
    taken: set[int] = set()
    for k in sorted(splits, key=lambda k: -splits[k].gain):
        if k in taken:
            continue
        for i, j in pairs:
            if splits[k].gain + gains[i, j] < _LEAST_GAIN:
                break
            move = Move(int(own[i]), int(own[j]), k)
            if len({*move.topics} - taken) == 3:
                taken.update(move.topics)
                yield move
                break


def _part(corpus, inside):
    """Some tokens, ascending, as a corpus of the documents that have them."""
    documents = np.searchsorted(corpus.offsets, inside, side="right")
    starts = np.flatnonzero(np.diff(documents, prepend=-1))
    return Corpus(corpus.words[inside], np.append(starts, len(inside)), corpus.n_features)


def _places(topics, own):
    """The places of topics among `own`, int32; -1 for others."""
    place = np.full(max(int(topics.max(initial=0)), *own) + 1, -1, np.int32)
    place[list(own)] = np.arange(len(own))
    return place[topics]


def _swept(corpus, priors, topics, seed, stop, n_sweeps=_CHECK_SWEEPS):
    """A chain after sweeps from given topics."""
    chain = GibbsChain(corpus, priors, ChainState(topics, random.stream(seed)))
    for _ in range(n_sweeps):
        chain.sweep(stop)
    return chain
