"""Log ratios of the probabilities of words of a topic in groups of documents, from chains that know the groups.

The words of topic k in group g have a distribution from ``Dir(s_k * phi_k)``, and phi_k is from ``Dir(eta)``: one
distribution for each group, around that of the topic. The strength s_k has the uniform shrinkage prior (Daniels 1999):
with n tokens of a group, the weight n / (n + s_k) of its counts is uniform between 0 and 1. Here n is the mean of the
groups in the first state, plus one. It stays the same, because a prior that followed the topics of the tokens would
have to count when these are drawn.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import LARGEST, SMALLEST, Priors
from sklda._core.rising import log_gamma_ratio
from sklda._kernels import _compound
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain

# Bounds of the logarithm of the strength, in tokens: groups with no word in common, and equal groups.
_LOWEST, _HIGHEST = np.log(1.0), np.log(1e9)
# Width of the first interval of a slice step, in units of the logarithm of a strength.
_WIDTH = 2.0
# A slice shrinks to a point before this.
_MOST_TRIALS = 100
# Tokens of a word that a draw does not have in the topic, and of an empty group.
_ADDED = 0.05
# Samples of a block of words: 16 MB.
_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class GroupDraws:
    """Posterior draws of the counts of words by group and topic, with their priors.

    Attributes
    ----------
    counts : list of csr_array of shape (n_groups * n_components, n_features), int32
        Of every draw. Row ``g * n_components + k`` has group g and topic k.
    priors : list of csr_array of shape (n_components, n_features)
        ``s_k * phi_kv`` of the words that have tokens.
    strengths : ndarray of shape (n_draws, n_components)
    of_parts : list of csr_array of shape (n_parts * n_components, n_features), int32
        As `counts`, of parts of groups; empty if there are none.
    """

    counts: list
    priors: list
    strengths: np.ndarray
    of_parts: list

    def of(self, topic):
        """The draws of a topic: a `TopicByGroup`."""
        K = self.strengths.shape[1]
        counts = np.stack([each[topic::K].toarray() for each in self.counts])
        priors = np.stack([each[[topic]].toarray()[0] for each in self.priors])
        return TopicByGroup(counts, priors, self.strengths[:, topic])

    def parts(self, topic):
        """The counts of words of a topic by part of groups, csr_array (n_parts, n_features), of every draw."""
        return [each[topic :: self.strengths.shape[1]] for each in self.of_parts]


@dataclass(frozen=True, eq=False)
class TopicByGroup:
    """Posterior draws of the counts of words of one topic by group (n_draws, n_groups, n_features).

    `priors`, (n_draws, n_features), and `strengths`, (n_draws,), are those of `GroupDraws`.
    """

    counts: np.ndarray
    priors: np.ndarray
    strengths: np.ndarray

    def tokens(self):
        """Mean counts of all words in the groups, (n_groups, n_features)."""
        return self.counts.mean(axis=0)

    def log_ratios(self, words, probabilities, n_samples, rng):
        """Quantiles of the log ratios of words in each group and in all others.

        Parameters
        ----------
        words : ndarray of shape (n_words,), int
        probabilities : sequence of float
        n_samples : int
            At least this number of samples, the same from each draw.
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of shape (n_groups, n_probabilities, n_words)
        """
        n_draws, n_groups = self.counts.shape[:2]
        n_each = -(-n_samples // n_draws)
        n_block = max(_BLOCK // (n_draws * n_each * n_groups), 1)
        parts = [
            # Of all definitions, the probability below a "weibull" quantile has the right mean.
            np.quantile(self._samples(words[i : i + n_block], n_each, rng), probabilities, axis=0, method="weibull")
            for i in range(0, len(words), n_block)
        ]
        if not parts:
            return np.empty((n_groups, len(probabilities), 0))
        return np.concatenate(parts, axis=2).transpose(1, 0, 2)

    def _samples(self, words, n_each, rng):
        """(n_draws * n_each, n_groups, n_words)"""
        sizes = self.counts.sum(axis=2, dtype=np.float64)
        least = _ADDED * self.strengths / (sizes.sum(axis=1) + _ADDED)
        prior = np.maximum(self.priors[:, words], least[:, None])
        own = prior[:, None] + self.counts[:, :, words]
        rest = (self.strengths[:, None] + sizes)[:, :, None] - own
        shape = n_each, *own.shape
        x, y = (random.log_gamma(rng, np.broadcast_to(each, shape)) for each in (own, np.maximum(rest, SMALLEST)))
        log_p = (x - np.logaddexp(x, y)).reshape(-1, *own.shape[1:])
        return log_p - _of_others(log_p, np.tile(sizes + _ADDED, (n_each, 1))[:, :, None])


def _of_others(log_p, sizes):
    """Logarithms of the means over all other groups, weighted by their sizes (n, n_groups, 1)."""
    if log_p.shape[1] == 2:
        return log_p[:, ::-1]
    # Sums over the groups before and after each: no differences, which would lose digits.
    weighted = log_p + np.log(sizes)
    none = np.full_like(weighted[:, :1], -np.inf)
    before = np.logaddexp.accumulate(np.concatenate([none, weighted[:, :-1]], axis=1), axis=1)
    after = np.logaddexp.accumulate(np.concatenate([none, weighted[:, :0:-1]], axis=1), axis=1)[:, ::-1]
    return np.logaddexp(before, after) - np.log(sizes.sum(axis=1, keepdims=True) - sizes)


class GroupPriors:
    """The distributions phi of the topics and their strengths, drawn given the counts of words in the groups.

    Given the counts, auxiliary numbers of tables are drawn as in a Chinese restaurant process; given these, phi has a
    Dirichlet distribution. The strengths are drawn by slice steps given phi and the counts.

    Parameters
    ----------
    counts : ndarray of shape (n_groups, n_components, n_features), int
        From which phi begins.
    eta : ndarray that broadcasts to (n_components, n_features)
    seed : SeedSequence

    Attributes
    ----------
    phi : ndarray of shape (n_components, n_features)
    strengths : ndarray of shape (n_components,)
    """

    def __init__(self, counts, eta, seed):
        self._rng, self._stream = np.random.default_rng(random.child(seed, 0)), random.stream(random.child(seed, 1))
        self.eta = np.broadcast_to(eta, counts.shape[1:])
        self.phi = counts.sum(axis=0) + self.eta
        self.phi /= self.phi.sum(axis=1, keepdims=True)
        self._size = counts.sum(axis=2).mean(axis=0) + 1
        self.strengths = self._size.copy()

    def __call__(self):
        """``s_k * phi_kv``, (n_components, n_features)."""
        return np.clip(self.strengths[:, None] * self.phi, SMALLEST, LARGEST)

    def draw(self, counts):
        """Draw the strengths, then phi, given the counts of the groups."""
        groups, topics, words = np.nonzero(counts)
        n = counts[groups, topics, words]
        sizes = counts.sum(axis=2, dtype=np.float64)
        phi = np.maximum(self.phi[topics, words], SMALLEST)
        self.strengths = _draw_strengths(self._rng, self.strengths, phi, n, topics, sizes, self._size)
        tables = self._draw_tables(self.strengths[topics] * phi, n)
        at = topics * self.phi.shape[1] + words
        tables = np.bincount(at, tables, minlength=self.phi.size).reshape(self.phi.shape)
        self.phi = np.exp(random.log_dirichlet(self._rng, self.eta + tables))

    def _draw_tables(self, priors, n):
        """Numbers of tables for every cell: token i, from 0, has a new one with probability a / (a + i)."""
        offsets = np.concatenate([[0], np.cumsum(n)]).astype(np.int64)
        tables = np.zeros((len(n), 1), np.int64)
        # Each cell is a document with one topic.
        topics, cells = np.zeros(offsets[-1], np.int32), np.arange(len(n))
        _compound.draw_tables(offsets, topics, cells, priors[:, None], self._stream, tables, np.empty(1, np.int32))
        return tables[:, 0]


def _draw_strengths(rng, strengths, phi, n, topics, sizes, typical):
    """A slice step for the logarithm of the strength of every topic, without stepping out (Neal 2003).

    Parameters
    ----------
    rng : numpy.random.Generator
    strengths : ndarray of shape (n_components,)
    phi, n, topics : ndarray of shape (n_cells,)
        Of every word in every group: its probability in the topic, its tokens, and the topic.
    sizes : ndarray of shape (n_groups, n_components)
        Tokens.
    typical : ndarray of shape (n_components,)
        The tokens at which the prior of the weight is uniform.
    """

    def log_density(x, of):
        """Of the topics `of`, a mask; wrong for the others."""
        s, cells = np.exp(x), np.flatnonzero(of[topics])
        k = topics[cells]
        words = np.bincount(k, log_gamma_ratio(s[k] * phi[cells], n[cells]), minlength=len(s))
        return words - log_gamma_ratio(s, sizes).sum(axis=0) + x - 2 * np.log(typical + s)

    x, waits = np.log(strengths), np.ones(len(strengths), bool)
    level = log_density(x, waits) - rng.standard_exponential(len(x))
    low = x - _WIDTH * rng.random(len(x))
    low, high = np.maximum(low, _LOWEST), np.minimum(low + _WIDTH, _HIGHEST)
    found = x.copy()
    for _ in range(_MOST_TRIALS):
        trial = low + (high - low) * rng.random(len(x))
        taken = waits & (log_density(trial, waits) >= level)
        found[taken] = trial[taken]
        waits &= ~taken
        if not waits.any():
            break
        low, high = np.where(trial < x, trial, low), np.where(trial < x, high, trial)
    return np.exp(found)


def sample_group_counts(corpus, topics, group_of, alpha, eta, n_sweeps, seed, part_of=None):
    """Gibbs sweeps in which every group has its own distribution over words for each topic.

    The counts of a chain that does not know the groups would not do, because it makes them more alike than they are.

    Parameters
    ----------
    corpus : Corpus
    topics : ndarray of shape (n_tokens,), int32
        The first state.
    group_of : ndarray of shape (n_documents,), int
        Numbers of groups from 0; -1 for documents that are left out.
    alpha : ndarray of shape (1 or n_documents, n_components)
    eta : float or ndarray that broadcasts to (n_components, n_features)
    n_sweeps : int
        Draws are kept after every second sweep of the last two thirds. The priors move slower than the topics, so they
        are drawn after each sweep.
    seed : SeedSequence
    part_of : ndarray of shape (n_documents,), int, optional
        Numbers of parts of groups from 0, whose counts are kept as well.

    Returns
    -------
    GroupDraws
    """
    alpha = np.maximum(alpha, SMALLEST)
    n_groups, K = int(group_of.max()) + 1, alpha.shape[1]
    groups = [_Group(corpus, topics, np.flatnonzero(group_of == g), alpha) for g in range(n_groups)]
    for g, each in enumerate(groups):
        each.stream = random.stream(random.child(seed, g))
    counts = np.stack([each.counts for each in groups])
    priors, kept, of_parts = GroupPriors(counts, eta, random.child(seed, n_groups)), [], []
    for sweep in range(n_sweeps):
        own = priors()
        for g, each in enumerate(groups):
            counts[g] = each.sweep(own)
        priors.draw(counts)
        if sweep >= n_sweeps // 3 and (n_sweeps - 1 - sweep) % 2 == 0:
            used = csr_array(np.where(counts.any(axis=0), priors(), 0))
            kept.append((csr_array(counts.reshape(n_groups * K, -1)), used, priors.strengths))
            if part_of is not None:
                of_parts.append(sum(each.counts_of(part_of, int(part_of.max()) + 1, K) for each in groups))
    found, used, strengths = zip(*kept, strict=True)
    return GroupDraws(found, used, np.array(strengths), of_parts)


class _Group:
    """The documents of a group, and a chain of them: `topics`, `stream` and `counts`, (n_components, n_features)."""

    def __init__(self, corpus, topics, rows, alpha):
        self.rows, lengths = rows, corpus.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        at = np.repeat(corpus.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        self.corpus = Corpus(corpus.words[at], offsets, corpus.n_features)
        self.topics = topics[at].astype(np.int32)
        self.alpha = alpha[rows] if len(alpha) > 1 else alpha[0]
        used, K = self.topics >= 0, alpha.shape[1]
        cells = self.topics[used].astype(np.int64) * corpus.n_features + self.corpus.words[used]
        # 32 bits, as in a chain: there may be many groups.
        self.counts = np.bincount(cells, minlength=K * corpus.n_features).reshape(K, -1).astype(np.int32)

    def counts_of(self, part_of, n_parts, n_components):
        """Counts of words by part of documents and topic, csr_array (n_parts * n_components, n_features)."""
        used, parts = self.topics >= 0, part_of[self.rows][self.corpus.token_documents]
        rows = parts[used].astype(np.int64) * n_components + self.topics[used]
        shape = n_parts * n_components, self.corpus.n_features
        return csr_array((np.ones(len(rows), np.int32), (rows, self.corpus.words[used])), shape=shape)

    def sweep(self, eta):
        """Draw the topics of all tokens once, and return the counts."""
        if self.corpus.n_tokens:
            priors = Priors.make(self.alpha, eta, *eta.shape, self.corpus.n_documents)
            chain = GibbsChain(self.corpus, priors, ChainState(self.topics, self.stream))
            chain.sweep()
            self.topics, self.stream = chain.topics, chain.stream
            self.counts = chain.word_topic_counts[:, : len(eta)].T
        return self.counts
