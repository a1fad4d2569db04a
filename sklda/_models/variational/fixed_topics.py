"""Topic proportions of documents by CVB0, given the topics. There is no random number."""

import numpy as np

from sklda._core.parallel import in_parallel
from sklda._core.priors import padded
from sklda._kernels import _collapsed_variational
from sklda._likelihood.held_out.document_block import BLOCK_DOCUMENTS
from sklda._models.variational.word_blocks import blocks_of_distinct_words, padded_alpha


def infer(corpus, topic_word, alpha, *, n_updates, tolerance, n_jobs=None):
    """Expected topic counts of documents by CVB0 with phi fixed, (n_documents, n_components).

    A distribution of the topic for every distinct word begins at alpha_k phi_kv and is updated in turn, at most
    `n_updates` times. The updates of a document end if the mean absolute change of its counts over topics is below
    `tolerance`. Each column of phi may be multiplied by any positive factor.
    """
    K = len(topic_word)
    alpha = padded_alpha(alpha)
    tasks = (
        (block, phi_rows(topic_word[:, block.words].T), alpha, K, n_updates, tolerance)
        for block in blocks_of_distinct_words(corpus, n_documents=BLOCK_DOCUMENTS)
    )
    parts = in_parallel(infer_block, tasks, n_jobs)
    return np.concatenate(parts) if parts else np.zeros((0, K))


def infer_block(block, rows, alpha, n_components, n_updates, tolerance, stop, changes=None):
    """The expected counts of the documents of a block; those of words are added to `changes`, if it is given."""
    doc_topic, width = np.empty((block.n_documents, n_components)), rows.shape[1]
    # Not a part of `rows`, which may be read-only in another process.
    changes = np.empty((0, width), np.float32) if changes is None else changes
    _collapsed_variational.infer_documents(
        block.rows,
        block.repeats.astype(np.int32),
        block.offsets,
        alpha,
        rows,
        n_updates,
        tolerance,
        changes,
        doc_topic,
        np.empty((block.most_distinct, width), np.float32),
        np.empty((3, width), np.float32),
        stop.flag,
    )
    return doc_topic


def phi_rows(rows):
    """phi by word, (n_words, width) float32: each row is divided by its largest entry, so that no entry underflows that
    could change a result.
    """
    largest = rows.max(axis=1, keepdims=True, initial=0)
    result = np.zeros((len(rows), padded(rows.shape[1])), np.float32)
    result[:, : rows.shape[1]] = rows / np.where(largest > 0, largest, 1)
    return result


def perplexity(corpus, doc_topic, topic_word):
    """exp(-log p / n) with log p the sum over tokens of log(theta_d phi_w), from normalised theta and phi."""
    log_likelihood, n_tokens = 0.0, 0
    for block in blocks_of_distinct_words(corpus, n_entries=2**14):
        first, last = block.documents
        documents = np.repeat(np.arange(first, last), np.diff(block.offsets))
        words = np.einsum(
            "ik,ik->i", doc_topic[documents], np.ascontiguousarray(topic_word[:, block.words].T)[block.rows]
        )
        log_likelihood += float(block.repeats @ np.log(np.maximum(words, np.finfo(float).tiny)))
        n_tokens += float(block.repeats.sum(dtype=np.float64))
    return float(np.exp(-log_likelihood / n_tokens))
