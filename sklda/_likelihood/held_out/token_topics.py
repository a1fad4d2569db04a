"""The topic of every token of new documents, given the topics."""

import numpy as np

from sklda._core.parallel import in_parallel
from sklda._kernels import LANES, _token_topics
from sklda._likelihood.held_out.document_block import document_blocks, word_rows


def draw_topics(corpus, topic_word, doc_topic_prior, *, n_sweeps, seed=None, keys=None, n_jobs=None, copies=None):
    """Draw the topics of all tokens, p(z | w, phi, alpha): the last state of the sweeps of `fold_in`.

    The arguments are those of `fold_in`. The result is int32 (n_tokens,); -1 for a word that has probability 0 in all
    topics. `keys` are the seeds of the documents, in place of `seed`. Equal documents have the same topics, unless they
    have different numbers in `copies`, as in `draw_proportions`.
    """
    keys = corpus.document_keys(seed, copies) if keys is None else keys
    rows, word_topic, _ = word_rows(corpus, topic_word)
    tasks = ((block, n_sweeps) for block in document_blocks(corpus, rows, keys, word_topic, doc_topic_prior))
    parts = in_parallel(_draw_block, tasks, n_jobs)
    return np.concatenate(parts) if parts else np.zeros(0, np.int32)


def _draw_block(block, n_sweeps, stop):
    topics = np.full(len(block.words), -1, np.int32)
    _token_topics.draw_topics(
        *block.arguments,
        n_sweeps,
        topics,
        np.empty(block.width, np.float32),
        block.counts(),
        np.empty(block.width // LANES),
        stop.flag,
    )
    return topics
