"""Topic proportions of new documents whose prior depends on topics of labels."""

import numpy as np

from sklda._core.parallel import in_parallel
from sklda._kernels import LANES, _label_fold_in
from sklda._likelihood.held_out.document_block import BLOCK_DOCUMENTS, word_rows
from sklda._likelihood.held_out.fold_in import empty_counts, joined

# "fast": the labels of the words take the place of label tokens. "gibbs": label tokens are drawn.
SAMPLERS = ("fast", "gibbs")


def fold_in_with_dependency(
    corpus,
    topic_word,
    base_prior,
    label_topics,
    strength,
    *,
    n_label_tokens,
    n_sweeps,
    seed,
    n_jobs=None,
    n_burn_in=None,
):
    """Expected topic counts of documents, and the means of their alpha: the test samplers of Dependency-LDA.

    Parameters
    ----------
    corpus : Corpus
    topic_word : ndarray of shape (n_components, n_features), or LabelTopics
        phi.
    base_prior : ndarray of shape (1, n_components)
        The part of alpha that is the same for all documents.
    label_topics : tuple of ndarray, shapes (n_label_topics, n_labels) and (n_label_topics,)
        Topics of labels, and the Dirichlet parameter of their proportions.
    strength : float
        Sum of the part of alpha that depends on the document.
    n_label_tokens : int
        Number of label tokens of a document, which are drawn too. 0: the fast approximation, in which the labels of the
        words take their place.
    n_sweeps, seed, n_jobs, n_burn_in
        See `fold_in`.

    Returns
    -------
    counts : ndarray of shape (n_documents, n_components)
    prior : ndarray of shape (n_documents, n_components)
    """
    keys = corpus.document_keys(seed)
    rows, word_topic, largest = word_rows(corpus, topic_word)
    shared = (
        word_topic,
        largest.astype(np.float32),
        np.ascontiguousarray(base_prior, np.float64),
        np.ascontiguousarray(label_topics[0].T, np.float64),
        np.ascontiguousarray(label_topics[1], np.float64),
    )
    how = float(strength), n_label_tokens, n_sweeps, n_sweeps // 3 if n_burn_in is None else n_burn_in, 0
    results = [empty_counts(corpus, len(topic_word)) for _ in range(2)]
    tasks = ((rows, corpus.offsets, keys, block, *shared, how) for block in corpus.blocks(n_documents=BLOCK_DOCUMENTS))
    parts = in_parallel(_fold_in_block, tasks, n_jobs)
    return tuple(joined([part[i] for part in parts], each) for i, each in enumerate(results))


def _fold_in_block(rows, offsets, keys, block, word_topic, scale, base, label_topic, topic_prior, how, stop):
    first, last = block
    own = rows[offsets[first] : offsets[last]]
    offsets = offsets[first : last + 1] - offsets[first]
    width, n_label_tokens = word_topic.shape[1], how[1]
    wide = max(width, label_topic.shape[1])
    results = np.empty((last - first, base.shape[1])), np.empty((last - first, base.shape[1]))
    _label_fold_in.fold_in(
        own,
        offsets,
        keys[first:last],
        word_topic,
        base,
        label_topic,
        topic_prior,
        *how,
        scale,
        *results,
        np.empty((3, max(int(np.diff(offsets).max(initial=0)), n_label_tokens, 1)), np.int32),
        np.empty((3, wide), np.int32),
        np.empty((3, width), np.float32),
        np.empty((3, max(wide, width // LANES)), np.float64),
        stop.flag,
    )
    return results
