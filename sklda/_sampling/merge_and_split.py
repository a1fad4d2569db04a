"""Merge and split: moves of the burn-in to modes of z without copies of topics, and without mixtures of two.

Sweeps draw one token at a time, so a chain stays in a mode in which a large topic has copies and small topics share
one, although another mode is thousands of nats better. A move merges topics, and gives each one that is then empty a
part of another topic. What it changes in the log joint is known in advance: for a merge in closed form, and for a split
by a fit of two topics to the tokens of the topic. As these are different topics, the changes add up. The log joint
alone would always merge topics that are hard to tell apart, and never split such topics, because fewer states z are
then possible. The entropy of z makes up for this, but is known less well in advance. So moves are chosen by both.

Then a move is checked by sweeps over the tokens of its topics, with it and without it, by the log joint and the entropy
of z together. An alpha that is learnt goes with the topics, because the copies of a large topic have a large alpha
together.
"""

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from scipy.special import xlogy

from sklda._core import random
from sklda._core.corpus import Corpus, tally
from sklda._core.priors import Priors, padded
from sklda._kernels import _tokens
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.count_rows import CountRows
from sklda._sampling.merge_gains import merge_gains
from sklda._sampling.steps import Step

# benchmarks/bench_topics_found.py --part constants shows what half and twice of these do.
# Sweeps of the fit of two topics to the tokens of one, and of the fits that check a move.
_SPLIT_SWEEPS, _CHECK_SWEEPS = 20, 15
# Steps of the power iteration before such a fit. More lead to single odd documents.
_POWER_STEPS = 5
# Of the moves that gain by one estimate only: merges that are tried with each split, and the tokens of all these moves,
# as a share of the corpus.
_MERGES_EACH, _TRIALS = 2, 0.3
# The least gain of a move, in nats.
_LEAST_GAIN = 10.0
# Sweeps of the chain between two rounds.
_EVERY = 10
# The share of the burn-in, after the annealed sweeps, before the first round. In it, eta is learnt: at an eta that is
# far too small, all moves seem to be losses.
_WAIT = 1 / 3
# The fewest sweeps of the burn-in from the first round on. A round takes as long as 20 to 60 sweeps.
_LEAST_SWEEPS = 30
# The most rounds of a chain without a schedule, and the sweeps that take as long as a round and those after it.
_MOST_ROUNDS = 10
SWEEPS_OF_A_ROUND = 30
# Weights of tokens and topics in a block.
_BLOCK_WEIGHTS = 2**20
# The fewest tokens of a topic that may be two.
_LEAST_TOKENS = 30
# The most topics that take part, those with the most tokens. The gains of all pairs of 2,000 are 32 MB.
_MOST_TOPICS = 2000


@dataclass(frozen=True)
class Move:
    """Several topics become one, and each of those that are then empty takes a part of another topic.

    Attributes
    ----------
    joined : tuple of int
        The first one has the tokens of all.
    divided : tuple of int
        One for each of the others in `joined`, in their order.
    """

    joined: tuple[int, ...]
    divided: tuple[int, ...]

    @property
    def topics(self):
        return *self.joined, *self.divided

    def changes(self, alpha):
        """Whether alpha of the topics differs, (..., n_components), so that it goes with them."""
        own = alpha[..., list(self.topics)]
        return bool((own != own[..., :1]).any())

    def of_logs(self, logs):
        """Logarithms of positive numbers of all topics, (..., n_components), after the move, which keeps their sum."""
        logs = logs.copy()
        logs[..., self.joined[0]] = np.logaddexp.reduce(logs[..., list(self.joined)], axis=-1)
        for emptied, divided in zip(self.joined[1:], self.divided, strict=True):
            logs[..., divided] -= np.log(2)
            logs[..., emptied] = logs[..., divided]
        return logs

    def of_rows(self, values):
        """A row of each topic after the move: both parts of a topic have its own."""
        values = values.copy()
        values[list(self.joined[1:])] = values[list(self.divided)]
        return values

    def of_topics(self, topics, splits):
        """Topics of tokens, all of them in topics of the move, after it; `splits` as of `_splits`."""
        after = np.where(np.isin(topics, self.joined), np.int32(self.joined[0]), topics)
        for emptied, divided in zip(self.joined[1:], self.divided, strict=True):
            after[topics == divided] = np.where(splits[divided].second, emptied, divided)
        return after


class MergeAndSplit(Step):
    """Makes rounds of moves after the annealed sweeps, until a round finds none, or two in a row after a move.

    All rounds are in the burn-in, so that the draws after it are those of the sampler. Topics take part that have the
    same prior; an alpha that is learnt or drawn may differ.

    Parameters
    ----------
    alpha_moves : bool
    seed_words : SeedWords, default=None
        A topic with seeds is not merged into another one, and keeps the part with most of its seeds if it is split.

    Attributes
    ----------
    next_round : int or None
        The sweep after which the next round may follow. None: no round follows, or the burn-in is too short.
    n_moves : int
        Moves of the last round.
    n_left : int
        Rounds without a move before the rounds end. After a move, sweeps may prepare another one.
    """

    def __init__(self, alpha_moves, seed_words=None):
        self.alpha_moves = alpha_moves
        self.seed_words = seed_words
        self.next_round = 0
        self.n_moves = 0
        self.n_left = 1

    def begin(self, chain):
        if self.next_round is None:
            return
        first = chain.n_annealed + int(_WAIT * (chain.n_burn_in - chain.n_annealed))
        is_long = chain.n_burn_in - first >= _LEAST_SWEEPS
        self.next_round = max(self.next_round, first, chain.n_sweeps + 1) if is_long else None

    def after(self, chain, stop):
        if self.next_round is None or not self.next_round <= chain.n_sweeps < chain.n_burn_in:
            return
        seed = np.random.SeedSequence([*chain.stream.tolist(), chain.n_sweeps])
        own = exchangeable_topics(chain.priors, self.alpha_moves)
        topics, moves = round_of_moves(chain.corpus, chain.priors, chain.topics, own, seed, stop, self.seed_words)
        if moves:
            chain.move(topics, moves)
        self.n_moves = len(moves)
        self.n_left = 2 if moves else self.n_left - 1
        self.next_round = chain.n_sweeps + _EVERY if self.n_left else None

    def settled(self):
        return self.next_round is None


def make_rounds(chain, seed, stop):
    """Make rounds of moves at the present priors of a chain without a schedule, with sweeps after each of them.

    Returns
    -------
    chain : GibbsChain
    n_rounds : int
        The last round made no move, unless there were `_MOST_ROUNDS`.
    """
    own = exchangeable_topics(chain.priors, alpha_moves=True)
    for n in range(_MOST_ROUNDS):
        topics, moves = round_of_moves(chain.corpus, chain.priors, chain.topics, own, random.child(seed, n), stop)
        if not moves:
            return chain, n + 1
        chain.move(topics, moves)
        for _ in range(_EVERY):
            chain.sweep(stop)
    return chain, _MOST_ROUNDS


def exchangeable_topics(priors: Priors, alpha_moves: bool) -> np.ndarray:
    """The largest group of topics with equal priors; an alpha that is learnt need not be equal."""
    K = priors.n_components
    parts = [priors.topic.T[:K]] if len(priors.topic) else []
    if not alpha_moves:
        parts.append(priors.doc.T)
    if not parts:
        return np.arange(K)
    groups: dict[tuple, list] = {}
    for k in range(K):
        groups.setdefault(tuple(part[k].tobytes() for part in parts), []).append(k)
    return np.array(max(groups.values(), key=len))


def round_of_moves(corpus, priors, topics, own, seed, stop, seed_words=None):
    """Make all moves between topics `own` to better modes.

    Returns
    -------
    topics : ndarray of shape (n_tokens,), int32
        The topics of all tokens after the moves; the same array if there are none.
    moves : list of Move
    """
    if len(own) < 3:
        return topics, []
    if len(own) > _MOST_TOPICS:
        n_tokens = tally(topics, priors.n_components)[own]
        own = np.sort(own[np.argsort(-n_tokens, kind="stable")[:_MOST_TOPICS]])
    alpha = float(priors.doc[:, own].mean())
    eta = priors.word if len(priors.word) else priors.topic[:, own[0]].astype(np.float64)
    # All other topics are one more.
    labels = _places(topics, own)
    labels[labels < 0] = len(own)
    several = _equal_priors(alpha, eta, len(own) + 1)
    splits = _splits(corpus, topics, own, several.resized(2), seed, stop, seed_words)
    seeded = np.isin(own, () if seed_words is None else seed_words.seeded)
    moves: list[Move] = []
    log_alpha = np.log(priors.doc.mean(axis=0))
    checked, left = set(), _TRIALS * corpus.n_tokens
    for move, is_trial in _candidates(corpus, labels, several, own, splits, stop, seeded):
        if move in checked or (is_trial and left <= 0) or any(set(move.topics) & set(made.topics) for made in moves):
            continue
        checked.add(move)
        inside = np.flatnonzero(np.isin(topics, move.topics))
        left -= len(inside) if is_trial else 0
        before = topics[inside]
        log_alpha_after = move.of_logs(log_alpha) if move.changes(log_alpha) else log_alpha
        # The state before is swept as well: it is a draw at other priors.
        without, chain = (
            _swept(
                *_part_and_priors(
                    corpus, inside, _equal_priors(np.exp(logs[list(move.topics)]), eta, len(move.topics))
                ),
                _places(z, move.topics),
                random.child(seed, 2, move.joined[0], i),
                stop,
            )
            for i, (z, logs) in enumerate([(before, log_alpha), (move.of_topics(before, splits), log_alpha_after)])
        )
        if _log_evidence(chain) - _log_evidence(without) >= _LEAST_GAIN:
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
    entropy : float
        Of z, in nats.
    second : ndarray of bool
        The tokens of the topic, in their order, that the second one takes.
    """

    gain: float
    entropy: float
    second: np.ndarray


def _equal_priors(alpha, eta, n_components):
    """Priors of topics that are alike; `eta` (n_features,)."""
    totals = np.full(n_components, eta.sum())
    return Priors(
        np.broadcast_to(alpha, (1, n_components)).copy(), eta, np.empty((0, padded(n_components)), np.float32), totals
    )


class _Merges:
    """Changes of the log joint if two topics are merged, also after merges, or less the entropy that is then lost.

    Parameters
    ----------
    corpus : Corpus
    topics : ndarray of shape (n_tokens,), int32
        The last topic is never merged. They are changed.
    priors : Priors
    with_entropy : bool
    stop : callable
    seeded : ndarray of shape (n_components - 1,), bool, default=None
        Topics with seeds, which are not merged with each other. None: no topic.

    Attributes
    ----------
    gains : ndarray of shape (n_components - 1, n_components - 1)
        In nats, above the diagonal; minus infinity elsewhere, and for topics that are empty since they were merged.
        The entropy of a pair is subtracted when `best` needs it. It is positive, so a gain is an upper bound before.
    members : list of list of int
        The topics that each one now has, one with seeds first.
    """

    def __init__(self, corpus, topics, priors, with_entropy, stop, seeded=None):
        self.corpus, self.topics, self.priors, self.stop = corpus, topics, priors, stop
        self.with_entropy = with_entropy
        self.seeded = np.zeros(priors.n_components - 1, bool) if seeded is None else seeded.copy()
        self.members = [[k] for k in range(priors.n_components - 1)]
        # Those that were subtracted, by pair of topics.
        self._entropies: dict[tuple[int, int], float] = {}
        self._set_gains()

    def _set_gains(self):
        self.gains = merge_gains(self.corpus, self.topics, self.priors, self.stop)[:-1, :-1]
        for pair, entropy in self._entropies.items():
            self.gains[pair] -= entropy
        self.gains[np.tril_indices(len(self.gains))] = -np.inf
        gone = [k for k, members in enumerate(self.members) if not members]
        self.gains[gone] = self.gains[:, gone] = -np.inf
        self.gains[np.ix_(self.seeded, self.seeded)] = -np.inf

    def best(self, without, least):
        """The two topics whose merge gains most, and at least `least`, neither of them in `without`; or None."""
        gains = self.gains.copy()
        gains[without] = gains[:, without] = -np.inf
        while True:
            i, j = pair = divmod(int(gains.argmax()), len(gains))
            if gains[pair] < least:
                return None
            if not self.with_entropy or pair in self._entropies:
                return pair
            self.stop()
            self._entropies[pair] = self._entropy_of(i, j)
            self.gains[pair] -= self._entropies[pair]
            gains[pair] = self.gains[pair]

    def _entropy_of(self, i, j):
        """The entropy of the topics of all tokens of two topics, given that they are in one of both."""
        inside = np.flatnonzero((self.topics == i) | (self.topics == j))
        part, priors = _part_and_priors(self.corpus, inside, self.priors.resized(2))
        return _entropy(part, (self.topics[inside] == j).astype(np.int32), priors)

    def merge(self, i, j):
        """Merge topic j into topic i."""
        self.topics[self.topics == j] = i
        first, second = (j, i) if self.seeded[j] else (i, j)
        self.members[i] = self.members[first] + self.members[second]
        self.members[j] = []
        self.seeded[i] |= self.seeded[j]
        self.seeded[j] = False
        self._entropies = {pair: entropy for pair, entropy in self._entropies.items() if i not in pair}
        self._set_gains()


def _splits(corpus, topics, own, priors, seed, stop, seed_words=None):
    """Splits of topics, a dict by topic."""
    found = {}
    for k in own.tolist():
        inside = np.flatnonzero(topics == k)
        if len(inside) < _LEAST_TOKENS:
            continue
        part, own_priors = _part_and_priors(corpus, inside, priors)
        halves = _halves(part, np.random.default_rng(random.child(seed, 0, k)))
        chain = _swept(part, own_priors, halves, random.child(seed, 1, k), stop, _SPLIT_SWEEPS)
        if chain.topic_totals.min() > 0:
            gain = -merge_gains(part, chain.topics, own_priors, stop)[0, 1]
            second = chain.topics == 1
            if seed_words is not None and np.isin(corpus.words[inside], seed_words.of_topic(k)) @ (2 * second - 1) > 0:
                second = ~second
            found[k] = _Split(gain, _entropy(part, chain.topics, own_priors), second)
    return found


def _halves(corpus, rng):
    """The topics, 0 or 1, of the tokens of documents in two halves with different words.

    The halves are the signs of a vector over documents. It is near those singular vectors of the counts, less what the
    shares of words let expect, whose values are largest. After a random start, a fit would take thirty sweeps to
    separate documents of ten tokens. Every word of the corpus occurs in it.
    """
    lengths, frequencies = corpus.lengths, corpus.word_frequencies
    documents = np.repeat(np.arange(corpus.n_documents), lengths)
    share = frequencies / corpus.n_tokens
    vector = rng.standard_normal(corpus.n_documents)
    for _ in range(_POWER_STEPS):
        vector /= np.sqrt(lengths)
        words = (np.bincount(corpus.words, vector[documents]) - share * (lengths @ vector)) / frequencies
        vector = (np.bincount(documents, words[corpus.words]) - lengths * (share @ words)) / np.sqrt(lengths)
        vector /= max(np.abs(vector).max(), np.finfo(np.float64).tiny)
    return np.repeat((vector > 0).astype(np.int32), lengths)


def _log_evidence(chain):
    """An estimate of log p(w) of the mode of a chain, from below: the log joint, and the entropy of z."""
    return chain.log_joint() + _entropy(chain.corpus, chain.topics, chain.priors)


def _entropy(corpus, topics, priors):
    """The sum of the entropies of the full conditionals of all tokens, which the entropy of z exceeds."""
    K = priors.n_components
    totals, found = np.zeros(K, np.int64), 0.0
    rows = CountRows.of(corpus, topics, padded(K), totals)
    step = max(_BLOCK_WEIGHTS // K, 1)
    for first in range(0, corpus.n_tokens, step):
        block = slice(first, min(first + step, corpus.n_tokens))
        of = np.searchsorted(corpus.offsets, np.arange(block.start, block.stop), side="right") - 1
        offsets = corpus.offsets[of[0] : of[-1] + 2]
        counts = np.zeros((len(offsets) - 1, K))
        _tokens.count_documents(offsets - offsets[0], topics[offsets[0] : offsets[-1]], counts)
        words = corpus.words[block]
        is_own = topics[block, None] == np.arange(K)
        # Weights of all topics for a token, without the token itself.
        weights = rows.dense(words)[:, :K] + priors.word[words, None] - is_own
        weights *= (counts + priors.doc)[of - of[0]] - is_own
        weights /= totals + priors.totals - is_own
        weights /= weights.sum(axis=1, keepdims=True)
        found -= xlogy(weights, weights).sum()
    return found


def _candidates(corpus, labels, priors, own, splits, stop, seeded):
    """Moves that may gain enough, and whether each is a trial; those by the more reliable estimates first.

    Both changes are estimated by the log joint, or both with the entropy of z. The merges by the log joint, and the
    splits with the entropy, gain too much together, but find moves that both others miss: these are trials.
    """
    merges = _Merges(corpus, labels.copy(), priors, with_entropy=False, stop=stop, seeded=seeded)
    of_joint = merges.gains.copy()
    # A topic that is one loses by a split. Without this bound, a large gain of a merge would split such topics.
    for move in _best_moves(own, merges, {k: split.gain for k, split in splits.items() if split.gain >= 0}):
        yield move, False
    with_entropy = {k: split.gain + split.entropy for k, split in splits.items()}
    merges = _Merges(corpus, labels.copy(), priors, with_entropy=True, stop=stop, seeded=seeded)
    for move in _best_moves(own, merges, with_entropy):
        yield move, False
    for i, j, k in _trials(own, of_joint, with_entropy):
        i, j = (j, i) if seeded[j] else (i, j)
        yield Move((int(own[i]), int(own[j])), (int(own[k]),)), True


def _best_moves(own, merges, gains):
    """Moves without common topics that would gain enough.

    The best splits come first, each with the merge that then gains most. A merge may be of topics that were merged
    before: many copies of a topic become one move.
    """
    place = {int(k): i for i, k in enumerate(own)}
    # The splits of each topic that has merged others, and topics that are split.
    divided: dict[int, list] = {}
    split: list[int] = []
    for k in sorted(gains, key=lambda k: -gains[k]):
        least = _LEAST_GAIN - gains[k]
        if merges.gains.max() < least:
            # The other splits gain less.
            break
        if merges.members[place[k]] != [place[k]]:
            continue
        pair = merges.best([*split, place[k]], least)
        if pair is not None:
            i, j = pair
            merges.merge(i, j)
            split.append(place[k])
            divided[i] = [*divided.pop(i, []), *divided.pop(j, []), k]
    for i, of_splits in divided.items():
        yield Move(tuple(int(own[member]) for member in merges.members[i]), tuple(of_splits))


def _trials(own, merges, gains):
    """Places of two topics to merge and of one to split, those first that gain most; some merges for each split."""
    best = np.argsort(-merges, axis=None)[: (_MERGES_EACH + 1) * len(own)].tolist()
    found = []
    for k in np.flatnonzero(np.isin(own, list(gains))).tolist():
        pairs = (divmod(each, len(own)) for each in best)
        others = islice((pair for pair in pairs if k not in pair), _MERGES_EACH)
        found += [(merges[pair] + gains[int(own[k])], *pair, k) for pair in others]
    return [places for gain, *places in sorted(found, reverse=True) if gain >= _LEAST_GAIN]


def part_of(corpus, inside):
    """Some tokens, ascending, as a corpus of the documents and words that they have; and these words, ascending."""
    documents = np.searchsorted(corpus.offsets, inside, side="right")
    starts = np.flatnonzero(np.diff(documents, prepend=-1))
    words, places = np.unique(corpus.words[inside], return_inverse=True)
    return Corpus(places.astype(np.int32), np.append(starts, len(inside)), len(words)), words


def _part_and_priors(corpus, inside, priors):
    """As `part_of`, with the priors of these words."""
    part, words = part_of(corpus, inside)
    return part, replace(priors, word=priors.word[words])


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
