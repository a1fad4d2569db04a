"""Topic proportions of new documents, given the topics."""

import numpy as np

from sklda._inference.held_out.document_block import BLOCK_DOCUMENTS, prior_of_block, word_rows
from sklda._inference.parallel import in_parallel
from sklda._kernels import LANES, _fold_in

# What is averaged over the sweeps.
ESTIMATES = ("cgs_p", "cgs", "unnormalized")


def fold_in(corpus, topic_word, doc_topic_prior, *, n_sweeps, seed, n_jobs=None, n_burn_in=None, estimate="cgs_p"):
    """Expected topic counts of documents, E(n_dk | w_d, phi, alpha), by Gibbs sampling with phi fixed.

    The full conditionals are averaged over the last two thirds of the sweeps (Papanikolaou et al. 2017, equation 33
    with many draws). So ``(result + alpha) / (length + sum(alpha))`` is an estimate of the posterior mean of theta.

    Parameters
    ----------
    corpus : Corpus
    topic_word : ndarray of shape (n_components, n_features)
        phi. Each column may be multiplied by any positive factor.
    doc_topic_prior : ndarray of shape (1 or n_documents, n_components)
        alpha.
    n_sweeps : int
        Number of sweeps over each document.
    seed : int
        64 bits. The stream of a document depends only on it and on the document's words.
    n_jobs : int, default=None
        Number of blocks of 64 documents at a time, as in joblib. Results do not depend on it.
    n_burn_in : int, default=None
        Number of sweeps that are not averaged. None: a third.
    estimate : {"cgs_p", "cgs", "unnormalized"}, default="cgs_p"
        ``"cgs"``: the counts of the draws are averaged. ``"unnormalized"``: phi_kw (n_dk + alpha_k), summed over tokens
        without the normalisation of the full conditional; it weighs each token by its probability given the document
        and is no estimate of n_dk.

    Returns
    -------
    ndarray of shape (n_documents, n_components)
    """
    keys = corpus.document_keys(seed)
    rows, word_topic, largest = word_rows(corpus, topic_word)
    how = n_sweeps, n_sweeps // 3 if n_burn_in is None else n_burn_in, ESTIMATES.index(estimate)
    tasks = (
        (rows, corpus.offsets, keys, block, word_topic, largest.astype(np.float32), doc_topic_prior, how)
        for block in corpus.blocks(n_documents=BLOCK_DOCUMENTS)
    )
    parts = in_parallel(_fold_in_block, tasks, n_jobs)
    return np.concatenate(parts) if parts else np.zeros((0, len(topic_word)))


def _fold_in_block(rows, offsets, keys, block, word_topic, scale, doc_topic_prior, how, stop):
    first, last = block
    own = slice(offsets[first], offsets[last])
    offsets = offsets[first : last + 1] - offsets[first]
    doc_topic_prior = prior_of_block(doc_topic_prior, block)
    width = word_topic.shape[1]
    result = np.empty((last - first, doc_topic_prior.shape[1]))
    _fold_in.fold_in(
        rows[own],
        offsets,
        keys[first:last],
        word_topic,
        doc_topic_prior,
        *how,
        scale,
        result,
        np.empty(max(int(np.diff(offsets).max()), 1), np.int32),
        np.empty((3, width), np.float32),
        np.empty(width, np.int32),
        np.empty(width // LANES),
        stop.flag,
    )
    return result
