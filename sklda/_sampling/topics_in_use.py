"""The step of a model in which topics come into use and go: sweeps over those in use, their numbers, and merges."""

from abc import abstractmethod

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import betaln

from sklda._core.parallel import NEVER_STOP
from sklda._core.rising import log_gamma_ratio
from sklda._kernels import LANES
from sklda._sampling.chain import compact_topics
from sklda._sampling.mixture_step import MixtureStep, document_prior

# --- Merges of topics in the burn-in of a chain of the HDP ------------------------------------------------------------


# A topic is compared with this number of topics, those with the most similar words.
_NEAREST = 3
# Counts in a block of words or pairs. `stop` is called between blocks; one takes about a tenth of a second.
_BLOCK_COUNTS = 2**20


def merged_numbers(chain, mixtures, tables, base_tables, stop=NEVER_STOP, most=None):
    """The topic that each topic becomes, int32 (n_components,). A topic takes part in one merge at most.

    Parameters
    ----------
    chain : GibbsChain
        The topics with tokens must have the first numbers.
    mixtures : TopicsInUse
    tables : ndarray of shape (n_collections, n_components), int64
        Tables of the documents.
    base_tables : ndarray of shape (n_components,), int64
        Tables of the collections; with one collection, those of the documents.
    stop : callable
    most : int or None
        Only so many merges, the best ones, whatever they gain. None: all that raise the log posterior.
    """
    K = chain.priors.n_components
    number, free = np.arange(K, dtype=np.int32), np.ones(K, bool)
    if np.count_nonzero(chain.topic_totals) > 1:
        pass_ = _Pass(chain, mixtures, stop)
        gains = pass_.gains(tables, base_tables)
        merged = 0
        for i in np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0) if most is None else len(gains)]:
            pair = pass_.first[i], pass_.second[i]
            if free[list(pair)].all() and merged != most:
                free[list(pair)], number[pair[1]] = False, pair[0]
                merged += 1
    return number


class _Pass:
    """Pairs of topics with similar words, `first` and `second`, and the counts of all topics with tokens."""

    def __init__(self, chain, mixtures, stop):
        self.chain, self.mixtures, self.stop, self.n = chain, mixtures, stop, np.count_nonzero(chain.topic_totals)
        self.totals, corpus = chain.topic_totals[: self.n], chain.corpus
        ones, shape = np.ones(corpus.n_tokens, np.int32), (corpus.n_documents, self.n)
        documents = csr_array((ones, chain.topics.copy(), corpus.offsets.copy()), shape=shape)
        # In place, so copies are made before.
        documents.sum_duplicates()
        self.documents, self.words = documents.T.tocsr(), self._word_counts().T.tocsr()
        self.first, self.second = self._similar_pairs()

    def _word_counts(self):
        rows, n_features = self.chain.rows, self.chain.corpus.n_features
        step, blocks = max(_BLOCK_COUNTS // self.n, 1), []
        for v in range(0, n_features, step):
            self.stop()
            blocks.append(csr_array(rows.dense(slice(v, v + step))[:, : self.n]))
        return vstack(blocks, format="csr")

    def _similar_pairs(self):
        """Each topic with those whose distributions over words are nearest in Hellinger distance."""
        n, roots = self.n, self.words.astype(np.float64)
        roots.data = np.sqrt(roots.data / np.repeat(self.totals, np.diff(roots.indptr)))
        by_word, affinity = roots.T.tocsr(), np.empty((n, n))
        step = max(_BLOCK_COUNTS // max(roots.nnz, 1), 1)
        for i in range(0, n, step):
            self.stop()
            affinity[i : i + step] = (roots[i : i + step] @ by_word).toarray()
        np.fill_diagonal(affinity, -1)
        nearest = np.argsort(-affinity, axis=1, kind="stable")[:, : min(_NEAREST, n - 1)]
        own = np.broadcast_to(np.arange(n)[:, None], nearest.shape)
        return np.divmod(np.unique(np.minimum(own, nearest) * n + np.maximum(own, nearest)), n)

    def gains(self, tables, base_tables):
        """Changes of the log posterior if each pair is merged, (n_pairs,)."""
        chain, mixtures, first, second = self.chain, self.mixtures, self.first, self.second
        labels = mixtures.collections
        eta, total, pi, base = chain.priors.word, chain.priors.totals[0], mixtures.pi, np.exp(mixtures.log_base)
        gains = self._of_counts(self.words, lambda topic, word: eta[word], lambda pair, word: eta[word])
        gains -= self._of_pairs(lambda n: log_gamma_ratio(total, n), self.totals)
        self.alpha, both = (
            document_prior(mixtures.gamma, pi),
            document_prior(mixtures.gamma, pi[:, first] + pi[:, second]),
        )
        gains += self._of_counts(
            self.documents, lambda topic, d: self.alpha[labels[d], topic], lambda pair, d: both[labels[d], pair]
        )
        if len(pi) > 1:
            prior = document_prior(mixtures.b, base)
            gains += of_shares(first, second, prior, tables, pi).sum(axis=0)
            gains += len(pi) * betaln(prior[first], prior[second])
        gains += mixtures.gains_of_shares(first, second, self.n, base_tables)
        self._add_log_divisions(gains)
        return gains

    def _of_pairs(self, function, values):
        alone = function(values)
        return function(values[self.first] + values[self.second]) - alone[self.first] - alone[self.second]

    def _of_counts(self, counts, prior, prior_of_pair):
        """Changes of the sum of the log rising factorials of counts, of which each row is a topic."""
        alone = _log_rising(counts, prior)
        gains = -alone[self.first] - alone[self.second]
        step = max(_BLOCK_COUNTS // (2 * int(np.diff(counts.indptr).max())), 1)
        for i in range(0, len(gains), step):
            self.stop()
            union = counts[self.first[i : i + step]] + counts[self.second[i : i + step]]
            gains[i : i + step] += _log_rising(union, lambda row, column, i=i: prior_of_pair(row + i, column))
        return gains

    def _add_log_divisions(self, gains):
        """Add the log pseudo-likelihood of the present division of tokens to gains above zero; it is negative."""
        corpus, topics = self.chain.corpus, compact_topics(self.chain.topics, self.n)
        tokens = np.split(np.argsort(topics, kind="stable"), np.cumsum(self.totals)[:-1])
        eta, total, documents = self.chain.priors.word, self.chain.priors.totals[0], corpus.token_documents
        for i in np.flatnonzero(gains > 0):
            self.stop()
            pair = [self.first[i], self.second[i]]
            m, n = ([_row(counts, k) for k in pair] for counts in (self.words, self.documents))
            for own, other in ((0, 1), (1, 0)):
                here = tokens[pair[own]]
                v, d = corpus.words[here], documents[here]
                alpha, size = self.alpha[:, pair][self.mixtures.collections[d]], self.totals[pair] + total
                stays = (m[own][v] - 1 + eta[v]) * (n[own][d] - 1 + alpha[:, own]) / (size[own] - 1)
                moves = (m[other][v] + eta[v]) * (n[other][d] + alpha[:, other]) / size[other]
                gains[i] -= np.log1p(moves / stays).sum()


def _row(counts, k):
    """A row of a sparse array as a dense one, which takes a tenth of the time of an index."""
    row, own = np.zeros(counts.shape[1]), slice(*counts.indptr[k : k + 2])
    row[counts.indices[own]] = counts.data[own]
    return row


def of_shares(first, second, prior, tables, shares):
    """log of the Beta density of pairs given their tables, at the present shares, without the powers of the prior."""
    pair, log_shares = (first, second), np.log(np.maximum(shares, np.finfo(float).tiny))
    log_sum = np.logaddexp(*(log_shares[..., k] for k in pair))
    at_present = sum(tables[..., k] * (log_shares[..., k] - log_sum) for k in pair)
    return at_present - betaln(*(prior[k] + tables[..., k] for k in pair))


def _log_rising(counts, prior):
    """The sum over each row of log Gamma(prior + count) - log Gamma(prior)."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return np.bincount(rows, log_gamma_ratio(prior(rows, counts.indices), counts.data), minlength=counts.shape[0])


# --- The step ---------------------------------------------------------------------------------------------------------


# The share of tokens that the large topics hold together.
LARGE_SHARE = 0.99
# The largest sum of a mixture over the topics that a sweep leaves out, times the number of documents. A document opens
# about gamma tables for each unit of it, so a sweep misses about gamma times this many of the tables that a full sweep
# opens. It affects the time of a sweep and the mixing, not the distribution.
_LEFT_OUT = 0.1
# The number of topics of a sweep is a multiple of this one: a vector takes as long as a part of it.
_WHOLE = LANES
# Sweeps between two merge passes, or fewer for this number of passes: a pass merges at most half of the topics.
_MERGE_EVERY, _PASSES = 10, 10


class TopicsInUse(MixtureStep):
    """Base class of the steps of models whose topics are exchangeable, and of which only some are in use.

    A sweep is one over the topics with the largest shares of the mixtures only, of which there are enough that the
    others have almost no share. Given the mixtures this choice does not depend on z, so it keeps the distribution of z
    given the mixtures; see `SomeTopicsChain`. Every topic can have a large share in a later sweep.

    In the first sweeps of the burn-in topics are merged about ten times.

    The topics are exchangeable, so their numbers can be changed. In the burn-in the topics with tokens have the first
    numbers, and at its end they are sorted by size. Afterwards a topic keeps its number while it has tokens, and a new
    topic takes the first number that is free.

    Attributes
    ----------
    log_base : ndarray of shape (n_components,)
        Logarithm of pi_0, the shares of the topics in the corpus.
    records : list of tuple
        Quantities after every sweep.
    n_merging : int
        The first sweeps of the chain, in which topics are merged.
    """

    # The share of the burn-in in which topics are merged.
    merging_share: float

    def __init__(self, collections, n_collections, seed, n_components, gamma):
        super().__init__(collections, n_collections, seed, n_components, gamma)
        self.log_base, self.records = np.full(n_components, -np.log(n_components)), []
        self.n_merging = 0

    @property
    def row_of(self):
        """As of `MixtureStep`; the documents of the only collection share alpha."""
        return np.empty(0, np.int32) if len(self.log_pi) == 1 else super().row_of

    def begin(self, chain):
        if chain.n_sweeps == 0:
            self.n_merging = int(self.merging_share * chain.n_burn_in)
        super().begin(chain)

    def before(self, chain):
        self._used_before, chain.swept = used(chain), self.swept_topics(self.pi, chain.corpus.n_documents)

    @property
    def merge_every(self):
        """Sweeps between two merge passes."""
        return max(min(_MERGE_EVERY, self.n_merging // _PASSES), 1)

    def merges_after(self, chain):
        """Whether topics are merged after this sweep."""
        return chain.n_sweeps <= self.n_merging and chain.n_sweeps % self.merge_every == 0

    def settled(self):
        return len(self.records) >= self.n_merging

    def merge(self, chain, tables, base_tables, stop, most=None):
        """Merge topics, see `merged_numbers`; the mixtures of a merged topic are the sums."""
        before, number = used(chain), merged_numbers(chain, self, tables, base_tables, stop, most)
        gone = np.flatnonzero(number != np.arange(len(number)))
        self.log_pi, self.log_base = self.log_pi.copy(), self.log_base.copy()
        for log_shares in (self.log_pi, self.log_base[None]):
            log_shares[:, number[gone]] = np.logaddexp(log_shares[:, number[gone]], log_shares[:, gone])
        chain.renumber(number)
        self._renumber(chain, before)

    @abstractmethod
    def gains_of_shares(self, first, second, n_used, base_tables):
        """Changes of the log posterior of the shares of the corpus if pairs of topics are merged, (n_pairs,)."""

    def _renumber(self, chain, before):
        """Change the numbers of topics. `before` has the topics with tokens before the sweep."""
        now, K = used(chain), len(self.log_base)
        if chain.n_sweeps == max(chain.n_burn_in, 1):
            source = np.argsort(-chain.topic_totals, kind="stable")
        else:
            wrong = now & ~before
            if chain.n_sweeps <= chain.n_burn_in:
                wrong = now & (np.arange(K) >= np.count_nonzero(now))
            free = ~now | wrong
            first = free & (np.cumsum(free) <= np.count_nonzero(wrong))
            # A new topic may have the first free number already.
            movers, places = np.flatnonzero(wrong & ~first), np.flatnonzero(first & ~wrong)
            source = np.arange(K)
            source[places], source[movers] = movers, places
        if (source == np.arange(K)).all():
            return
        number = np.empty(K, np.int32)
        number[source] = np.arange(K)
        chain.renumber(number)
        self.log_pi, self.log_base = np.ascontiguousarray(self.log_pi[:, source]), self.log_base[source]

    @staticmethod
    def swept_topics(pi, n_documents):
        """The topics of a sweep, ascending, int32: those with the largest shares, in whole vectors."""
        share = pi.max(axis=0)
        order = np.argsort(-share, kind="stable")
        # Beyond topic i of this order every mixture has at most the sum of these.
        left = np.cumsum(share[order][::-1])[::-1]
        n = np.count_nonzero(left > _LEFT_OUT / n_documents)
        return np.sort(order[: -(-max(n, 1) // _WHOLE) * _WHOLE]).astype(np.int32)


def used(chain):
    """The topics with tokens, a mask."""
    return chain.topic_totals > 0


def topic_counts(chain):
    """The number of topics with tokens, and of the largest ones that hold `LARGE_SHARE` of all tokens."""
    held = np.cumsum(np.sort(chain.topic_totals)[::-1])
    return np.count_nonzero(used(chain)), int(np.searchsorted(held, LARGE_SHARE * held[-1])) + 1
