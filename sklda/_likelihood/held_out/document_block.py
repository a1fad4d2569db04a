"""Blocks of documents, and columns of phi, in the arrays that the kernels of this room take."""

import numpy as np

from sklda._core.parallel import Aligned
from sklda._core.priors import padded

# Number of documents of a block, the unit of parallel work. It does not depend on n_jobs.
BLOCK_DOCUMENTS = 64


def word_rows(corpus, topic_word):
    """The columns of phi for the words that occur in a corpus: their rows for the tokens, phi, and the largest entries.

    The rows are int32 (n_tokens,). phi is float32 (n_rows, width), one row for each word, padded. Conditionals need phi
    only up to a factor per word, so every row is divided by its largest entry; (n_rows,), 0 if the word has probability
    0 in all topics. Positive entries below the range of single precision become its smallest normal number: they change
    no draw, and with zeros the weight of a run could be zero.
    """
    present = np.flatnonzero(np.bincount(corpus.words, minlength=corpus.n_features))
    row_of = np.zeros(corpus.n_features, np.int32)
    row_of[present] = np.arange(len(present))
    columns = topic_word[:, present].astype(np.float64, copy=False)
    largest = columns.max(axis=0, initial=0)
    scaled = columns / np.where(largest > 0, largest, 1)
    np.maximum(scaled, np.finfo(np.float32).tiny, out=scaled, where=columns > 0)
    word_topic = np.zeros((len(present), padded(len(columns))), np.float32)
    word_topic[:, : len(columns)] = scaled.T
    return row_of[corpus.words], word_topic, largest


def possible_word_rows(corpus, topic_word):
    """`word_rows` in which every word has a positive probability, as the kernels need it, and a log scale.

    The scale (n_documents,) is to be added to log-likelihoods that are computed with these rows. It is -inf for a
    document with a word that has probability 0 in all topics.
    """
    rows, word_topic, largest = word_rows(corpus, topic_word)
    word_topic[largest == 0, : topic_word.shape[0]] = 1
    with np.errstate(divide="ignore"):
        return rows, word_topic, sum_by_document(corpus, np.log(largest)[rows])


def sum_by_document(corpus, values):
    """Sums of `values`, one for each token, over the tokens of every document; (n_documents,)."""
    return np.bincount(corpus.token_documents, weights=values, minlength=corpus.n_documents)


class DocumentBlock(Aligned):
    """Consecutive documents in the arrays that kernels take, and scratch arrays of the right sizes.

    `rows` and `word_topic` are those of `word_rows`; `offsets` (n_documents + 1,) are those of the corpus in `rows`,
    and `keys` (n_documents,) the seeds of its documents. `block` is the first document, and the one after the last.
    """

    def __init__(self, rows, offsets, keys, block, word_topic, doc_topic_prior):
        first, last = block
        self.words = rows[offsets[first] : offsets[last]]
        self.offsets = offsets[first : last + 1] - offsets[first]
        self.keys = keys[first:last]
        self.word_topic = word_topic
        self.prior = prior_of_block(doc_topic_prior, block)
        self.n_documents, self.width = last - first, word_topic.shape[1]
        self.longest = max(int(np.diff(self.offsets).max()), 1)

    @property
    def arguments(self):
        """The first arguments of the kernels."""
        return self.words, self.offsets, self.keys, self.word_topic, self.prior

    @property
    def most_distinct(self):
        """The largest number of distinct words in a document."""
        new = np.ones(len(self.words), bool)
        new[1:] = self.words[1:] != self.words[:-1]
        new[self.offsets[:-1][self.offsets[:-1] < len(self.words)]] = True
        running = np.concatenate([[0], np.cumsum(new)])
        return max(int(np.diff(running[self.offsets]).max()), 1)

    def floats(self, n):
        return np.empty((n, self.width), np.float32)

    def doubles(self, n):
        return np.empty((n, self.width))

    def counts(self):
        return np.empty(self.width, np.int32)

    def zeros(self):
        """The array of log weights, one for each document, to which kernels add."""
        return np.zeros(self.n_documents)


def document_blocks(corpus, rows, keys, word_topic, doc_topic_prior, offsets=None):
    """Every `DocumentBlock` of a corpus; `offsets` are those of the documents in `rows`, if it lacks some tokens."""
    offsets = corpus.offsets if offsets is None else offsets
    for block in corpus.blocks(n_documents=BLOCK_DOCUMENTS):
        yield DocumentBlock(rows, offsets, keys, block, word_topic, doc_topic_prior)


def prior_of_block(doc_topic_prior, block):
    """The rows of alpha for the documents of a block; the only row if documents share alpha."""
    return doc_topic_prior[block[0] : block[1]] if len(doc_topic_prior) > 1 else doc_topic_prior
