"""The topics that are open to each document, and the pairs of a word and a topic that can occur."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sklda._core.parallel import Aligned
from sklda._core.priors import check_prior
from sklda._input.counts import LARGEST_COUNT
from sklda._input.memory import check_memory_of_topics
from sklda._kernels import _label_counts


@dataclass(frozen=True, eq=False)
class OpenTopics(Aligned):
    """The open topics of the documents of a corpus: their labels, and topics that are shared by all documents.

    Memory is proportional to the number of open topics of all documents, and to the number of pairs that can occur; it
    does not contain a factor of documents times topics.

    Attributes
    ----------
    n_topics : int
        Number of labels and shared topics, K.
    offsets : ndarray of shape (n_documents + 1,), int64
        Document d has the open topics ``topics[offsets[d]:offsets[d + 1]]``.
    topics : ndarray, int32
        Ascending within a document.
    pair_offsets : ndarray of shape (n_features + 1,), int64
        Word v has the pairs ``pairs[pair_offsets[v]:pair_offsets[v + 1]]``.
    pairs : ndarray, int32
        The topics of the pairs, ascending within a word.
    place_offsets : ndarray of shape (n_documents + 1,), int64
    places : ndarray, int32
        For every document, distinct word and open topic, the position of the pair in `pairs`.
    """

    n_topics: int
    offsets: np.ndarray
    topics: np.ndarray
    pair_offsets: np.ndarray
    pairs: np.ndarray
    place_offsets: np.ndarray
    places: np.ndarray

    @classmethod
    def make(cls, corpus, labels, n_shared):
        """Open topics from labels.

        Parameters
        ----------
        corpus : Corpus
        labels : csr_array of shape (n_documents, n_labels)
            Its entries that are not zero are the labels of a document. Indices must be sorted.
        n_shared : int
            Number of further topics, which every document has.

        Raises
        ------
        ValueError
            If there are more pairs or topics than 32-bit numbers.
        MemoryError
            If the shared topics certainly need more memory than the computer has.
        """
        D, n_labels = labels.shape
        n_topics = n_labels + n_shared
        # Of every document: its place, and sums of counts, of theta and of its square, as measured.
        check_memory_of_topics(n_shared, 96 * D, "n_shared")
        offsets = labels.indptr.astype(np.int64) + n_shared * np.arange(D + 1)
        topics = np.empty(offsets[-1], np.int32)
        shared = (offsets[1:, None] - n_shared + np.arange(n_shared)).ravel()
        own = np.ones(len(topics), bool)
        own[shared] = False
        topics[own] = labels.indices
        topics[shared] = np.tile(np.arange(n_labels, n_topics), D)
        new = np.ones(corpus.n_tokens, bool)
        new[1:] = corpus.words[1:] != corpus.words[:-1]
        new[corpus.offsets[:-1][corpus.lengths > 0]] = True
        running = np.concatenate([[0], np.cumsum(new)])[corpus.offsets]
        occurs = sp.csr_array((np.ones(running[-1], bool), corpus.words[new], running), shape=(D, corpus.n_features))
        is_open = sp.csr_array((np.ones(len(topics), bool), topics, offsets), shape=(D, n_topics))
        can_occur = sp.csr_array(occurs.T @ is_open)
        can_occur.sort_indices()
        if max(can_occur.nnz, n_topics) > LARGEST_COUNT:
            raise ValueError(
                f"{can_occur.nnz} pairs of a word and a topic can occur, more than {LARGEST_COUNT}. Use fewer labels, "
                "shared topics or words."
            )
        pair_offsets, pairs = can_occur.indptr.astype(np.int64), can_occur.indices.astype(np.int32)
        place_offsets = np.concatenate([[0], np.cumsum(np.diff(running) * np.diff(offsets))]).astype(np.int64)
        places = np.empty(place_offsets[-1], np.int32)
        _label_counts.find_places(corpus.words, corpus.offsets, offsets, topics, pair_offsets, pairs, places)
        return cls(n_topics, offsets, topics, pair_offsets, pairs, place_offsets, places)

    @property
    def numbers(self):
        """Number of open topics of every document, int64 (n_documents,)."""
        return np.diff(self.offsets)

    def pair_matrix(self, values):
        """Values of the pairs as csr_array of shape (n_features, n_topics)."""
        shape = len(self.pair_offsets) - 1, self.n_topics
        return sp.csr_array((values, self.pairs, self.pair_offsets), shape=shape)

    def document_matrix(self, values):
        """Values of documents and their open topics as csr_array of shape (n_documents, n_topics)."""
        return sp.csr_array((values, self.topics, self.offsets), shape=(len(self.offsets) - 1, self.n_topics))


@dataclass(frozen=True, eq=False)
class LabelPriors(Aligned):
    """alpha and eta as the kernels of labelled LDA take them.

    Attributes
    ----------
    opened : OpenTopics
        Those of the documents.
    doc : ndarray of shape (n_topics,)
        alpha.
    word : ndarray of shape (n_features,) or (0,)
        eta if all topics share it; otherwise empty.
    pair : ndarray of shape (n_pairs,) or (0,)
        eta of every pair, if topics have different ones; otherwise empty.
    totals : ndarray of shape (n_topics,)
        Sum of eta over words.
    """

    opened: OpenTopics
    doc: np.ndarray
    word: np.ndarray
    pair: np.ndarray
    totals: np.ndarray

    @classmethod
    def make(cls, doc_topic_prior, topic_word_prior, opened):
        """Priors from floats or arrays; errors as `check_prior`."""
        K, V = opened.n_topics, len(opened.pair_offsets) - 1
        alpha = check_prior(doc_topic_prior, "doc_topic_prior", {"one per label and shared topic": (K,)})
        shapes = {"one per word": (V,), "labels and shared topics, words": (K, V)}
        eta = np.asarray(check_prior(topic_word_prior, "topic_word_prior", shapes))
        doc = np.array(np.broadcast_to(alpha, K), dtype=np.float64)
        if eta.ndim < 2:
            word = np.array(np.broadcast_to(eta, V), dtype=np.float64)
            return cls(opened, doc, word, np.empty(0), np.full(K, word.sum()))
        words = np.repeat(np.arange(V), np.diff(opened.pair_offsets))
        return cls(opened, doc, np.empty(0), eta[opened.pairs, words], eta.sum(axis=1))

    def proportions(self, counts):
        """theta of the open topics from counts of tokens, and the Dirichlet parameter's sum of their documents."""
        weights, starts = counts + self.doc[self.opened.topics], self.opened.offsets[:-1]
        sums = np.add.reduceat(np.append(weights, 0), starts) if len(starts) else np.zeros(0)
        totals = np.repeat(sums, self.opened.numbers)
        return weights / totals, totals
