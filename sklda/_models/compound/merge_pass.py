"""Merges of topics in the burn-in of a chain of the HDP.

A chain begins with more topics than the posterior has. By sweeps alone two topics with the same words become one only
if every token of one moves to the other, which takes very long. A pass merges such topics at once. It does not keep the
posterior, so there are passes in the burn-in only.

Two topics are merged if the posterior of one topic in their place is higher. The posterior of two topics is that of all
ways to divide their tokens: the joint of the present way, less the log probability of this way. That probability is the
pseudo-likelihood, the product over tokens of the full conditional of the present topic among the two. The share f of
one topic in the mixtures is integrated out in the same way, by log p(f) - log p(f | tables), where both are Beta.
"""

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import betaln

from sklda._core.parallel import NEVER_STOP
from sklda._core.rising import log_gamma_ratio
from sklda._models.compound.priors import document_prior
from sklda._sampling.chain import compact_topics

# A topic is compared with this number of topics, those with the most similar words.
_NEAREST = 3
# Counts in a block of words or pairs. `stop` is called between blocks; one takes about a tenth of a second.
_BLOCK_COUNTS = 2**20


def merged_numbers(chain, mixtures, tables, base_tables, stop=NEVER_STOP):
    """The topic that each topic becomes, int32 (n_components,). A topic takes part in one merge at most.

    Parameters
    ----------
    chain : GibbsChain
        The topics with tokens must have the first numbers.
    mixtures : HDPMixtures
    tables : ndarray of shape (n_collections, n_components), int64
        Tables of the documents.
    base_tables : ndarray of shape (n_components,), int64
        Tables of the collections; with one collection, those of the documents.
    stop : callable
    """
    K = chain.priors.n_components
    number, free = np.arange(K, dtype=np.int32), np.ones(K, bool)
    if np.count_nonzero(chain.topic_totals) > 1:
        pass_ = _Pass(chain, mixtures, stop)
        gains = pass_.gains(tables, base_tables)
        for i in np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0)]:
            pair = pass_.first[i], pass_.second[i]
            if free[list(pair)].all():
                free[list(pair)], number[pair[1]] = False, pair[0]
    return number


class _Pass:
    """Pairs of topics with similar words, `first` and `second`, and the counts of all topics with tokens."""

    def __init__(self, chain, mixtures, stop):
        self.chain, self.mixtures, self.stop, self.n = chain, mixtures, stop, np.count_nonzero(chain.topic_totals)
        self.totals, corpus = chain.topic_totals[: self.n], chain.corpus
        ones, shape = np.ones(corpus.n_tokens, np.int32), (corpus.n_documents, self.n)
        documents = csr_array((ones, chain.topics.copy(), corpus.offsets.copy()), shape=shape)
        # In place, hence the copies.
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
        labels, K = mixtures.model.collections, chain.priors.n_components
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
            gains += self._of_shares(prior, tables, pi).sum(axis=0) + len(pi) * betaln(prior[first], prior[second])
        gains += self._of_shares(np.full(len(base), mixtures.alpha), base_tables, base)
        # The prior of one topic more, a / K for each number that it can have.
        gains -= np.log(mixtures.alpha * (K - self.n + 1))
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

    def _of_shares(self, prior, tables, shares):
        """-log of the Beta density given the tables, at the present share of one topic in a pair."""
        pair, log_shares = (self.first, self.second), np.log(np.maximum(shares, np.finfo(float).tiny))
        log_sum = np.logaddexp(*(log_shares[..., k] for k in pair))
        at_present = sum(tables[..., k] * (log_shares[..., k] - log_sum) for k in pair)
        return at_present - betaln(*(prior[k] + tables[..., k] for k in pair))

    def _add_log_divisions(self, gains):
        """Add the log pseudo-likelihood of the present division of tokens to gains above zero; it is negative."""
        corpus, topics = self.chain.corpus, compact_topics(self.chain.topics, self.n)
        tokens = np.split(np.argsort(topics, kind="stable"), np.cumsum(self.totals)[:-1])
        eta, total, documents = self.chain.priors.word, self.chain.priors.totals[0], corpus.token_documents
        for i in np.flatnonzero(gains > 0):
            self.stop()
            pair = [self.first[i], self.second[i]]
            m, n = self.words[pair].toarray(), self.documents[pair].toarray()
            for own, other in ((0, 1), (1, 0)):
                here = tokens[pair[own]]
                v, d = corpus.words[here], documents[here]
                alpha, size = self.alpha[:, pair][self.mixtures.model.collections[d]], self.totals[pair] + total
                stays = (m[own, v] - 1 + eta[v]) * (n[own, d] - 1 + alpha[:, own]) / (size[own] - 1)
                moves = (m[other, v] + eta[v]) * (n[other, d] + alpha[:, other]) / size[other]
                gains[i] -= np.log1p(moves / stays).sum()


def _log_rising(counts, prior):
    """The sum over each row of log Gamma(prior + count) - log Gamma(prior)."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return np.bincount(rows, log_gamma_ratio(prior(rows, counts.indices), counts.data), minlength=counts.shape[0])
