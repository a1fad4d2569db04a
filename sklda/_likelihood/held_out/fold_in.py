"""Topic proportions of new documents, given the topics."""

import numpy as np

from sklda._core.parallel import in_parallel
from sklda._input.memory import check_memory_of_topics
from sklda._kernels import LANES, _fold_in
from sklda._likelihood.held_out.document_block import document_blocks, word_rows

# The quantities that are averaged over the sweeps.
ESTIMATES = ("cgs_p", "cgs", "unnormalized")

# CVB0 begins the chain of a document. Its updates end if they move less than this share of the tokens.
MOST_UPDATES, TOLERANCE = 20, 0.01
# The number of sweeps that the result of CVB0 counts for in the mean. The squared error of CVB0 is mostly that of 20
# to 60 averaged sweeps, and at the extremes of 8 and 112, measured on five corpora with 20 and 100 topics.
_CVB0_SWEEPS = 30.0


def fold_in(
    corpus,
    topic_word,
    doc_topic_prior,
    *,
    n_sweeps,
    seed,
    n_jobs=None,
    n_burn_in=None,
    estimate="cgs_p",
    cvb0_sweeps=None,
):
    """Expected topic counts of documents, E(n_dk | w_d, phi, alpha), by CVB0 and Gibbs sampling; (n_documents, K).

    CVB0 gives a distribution of the topic for every distinct word of a document. The topics of the tokens are drawn
    from them. Then follow Gibbs sweeps, and the full conditionals are averaged over the last two thirds of them
    (Papanikolaou et al. 2017, equation 33 with many draws). The result is the mean of both, in which CVB0 counts for
    `cvb0_sweeps` sweeps. So ``(result + alpha) / (length + sum(alpha))`` is an estimate of the posterior mean of theta
    that converges to it as the number of sweeps grows.

    `topic_word` is phi (K, n_features), each column times any positive factor; `doc_topic_prior` is alpha (1 or
    n_documents, K). The stream of a document depends only on its words and on `seed`, 64 bits.

    Parameters
    ----------
    n_burn_in : int, default=None
        Number of sweeps that are not averaged. None: a third.
    estimate : {"cgs_p", "cgs", "unnormalized"}, default="cgs_p"
        ``"cgs"``: the counts of the draws are averaged. ``"unnormalized"``: phi_kw (n_dk + alpha_k), summed over tokens
        without the normalisation of the full conditional; it weighs each token by its probability given the document
        and is not an estimate of n_dk.
    cvb0_sweeps : float, default=None
        0: the mean over the sweeps alone, whose expectation after the burn-in is the exact posterior mean. None: 30 for
        ``"cgs_p"``, 0 for the other estimates.
    """
    keys = corpus.document_keys(seed)
    rows, word_topic, largest = word_rows(corpus, topic_word)
    if cvb0_sweeps is None:
        cvb0_sweeps = _CVB0_SWEEPS if estimate == "cgs_p" else 0.0
    sweeps = n_sweeps, n_sweeps // 3 if n_burn_in is None else n_burn_in
    how = *sweeps, ESTIMATES.index(estimate), MOST_UPDATES, TOLERANCE, cvb0_sweeps
    scale = largest.astype(np.float32)
    counts = empty_counts(corpus, len(topic_word))
    tasks = ((block, scale, how) for block in document_blocks(corpus, rows, keys, word_topic, doc_topic_prior))
    return joined(in_parallel(_fold_in_block, tasks, n_jobs), counts)


def empty_counts(corpus, n_components):
    """An array for a result of each document and topic, (n_documents, n_components), which is not initialised.

    Raises
    ------
    MemoryError
        The message names the bytes that are needed, or the shape of the array that does not fit.
    """
    instead = "Give fewer documents at a time."
    check_memory_of_topics(n_components, 8 * corpus.n_documents, instead=instead)
    return np.empty((corpus.n_documents, n_components))


def joined(parts, whole):
    """Write consecutive rows into `whole`, and free each part after it was written."""
    parts, end = parts[::-1], 0
    while parts:
        part = parts.pop()
        begin, end = end, end + len(part)
        whole[begin:end] = part
    return whole


def _fold_in_block(block, scale, how, stop):
    result = np.empty((block.n_documents, block.prior.shape[1]))
    _fold_in.fold_in(
        *block.arguments,
        *how,
        scale,
        result,
        np.empty((3, block.longest), np.int32),
        block.floats(block.most_distinct),
        block.floats(_fold_in.FLOAT_ROWS),
        block.counts(),
        np.empty(block.width // LANES),
        stop.flag,
    )
    return result
