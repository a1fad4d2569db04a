"""Topic proportions of documents given the topics."""

import numpy as np

from sklda._inference.parallel import side_by_side
from sklda._inference.priors import padded
from sklda._kernels import LANES, _fold_in

# Documents of a unit of work; the grid does not depend on n_jobs.
BLOCK_DOCUMENTS = 64


def word_rows(corpus, topic_word):
    """Columns of phi for the words that a corpus has, in the form of the kernels.

    Returns
    -------
    rows : ndarray of shape (n_tokens,), int32
        The row of every token.
    word_topic : ndarray of shape (n_rows, width), float32
        phi by word, padded. A conditional needs phi up to a factor per word; with the largest entry at 1 nothing
        underflows that matters.
    largest : ndarray of shape (n_rows,)
        The factors taken out; 0 where no topic has the word.
    """
    present, rows = np.unique(corpus.words, return_inverse=True)
    columns = np.asarray(topic_word)[:, present].astype(np.float64)
    largest = columns.max(axis=0, initial=0)
    word_topic = np.zeros((len(present), padded(len(columns))), np.float32)
    word_topic[:, : len(columns)] = (columns / np.where(largest > 0, largest, 1)).T
    return rows.astype(np.int32), word_topic, largest


def fold_in(corpus, topic_word, doc_topic_prior, *, n_sweeps, seed, n_jobs=None):
    """Expected topic counts of documents, E(n_dk | w_d, phi, alpha), by Gibbs sampling with phi fixed.

    The full conditionals are averaged over the last two thirds of the sweeps (Papanikolaou et al. 2017, equation 33
    with many draws), so that the mean of ``(result + alpha) / (length + sum(alpha))`` is the posterior mean of theta.

    Parameters
    ----------
    corpus : Corpus
    topic_word : ndarray of shape (n_components, n_features)
        phi; each word's column may carry a factor of its own.
    doc_topic_prior : ndarray of shape (1 or n_documents, n_components)
        alpha.
    n_sweeps : int
    seed : int
        64 bits. Each document's stream depends on it and on the document's words, on nothing else.
    n_jobs : int, default=None
        Blocks of 64 documents at a time, as in joblib; results do not depend on it.

    Returns
    -------
    ndarray of shape (n_documents, n_components)
    """
    keys = corpus.document_keys(seed)
    rows, word_topic, _ = word_rows(corpus, topic_word)
    tasks = (
        (rows, corpus.offsets, keys, block, word_topic, doc_topic_prior, n_sweeps)
        for block in corpus.blocks(n_documents=BLOCK_DOCUMENTS)
    )
    parts = side_by_side(_fold_in_block, tasks, n_jobs)
    return np.concatenate(parts) if parts else np.zeros((0, len(topic_word)))


def _fold_in_block(rows, offsets, keys, block, word_topic, doc_topic_prior, n_sweeps, stop):
    first, last = block
    own = slice(offsets[first], offsets[last])
    offsets = offsets[first : last + 1] - offsets[first]
    if len(doc_topic_prior) > 1:
        doc_topic_prior = doc_topic_prior[first:last]
    width = word_topic.shape[1]
    result = np.empty((last - first, doc_topic_prior.shape[1]))
    _fold_in.fold_in(
        rows[own],
        offsets,
        keys[first:last],
        word_topic,
        doc_topic_prior,
        n_sweeps,
        n_sweeps // 3,
        result,
        np.empty(max(int(np.diff(offsets).max()), 1), np.int32),
        np.empty((2, width), np.float32),
        np.empty(width, np.int32),
        np.empty(width // LANES),
        stop.flag,
    )
    return result
