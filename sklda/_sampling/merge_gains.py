"""What the log joint gains if two topics are merged."""

import numpy as np

from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import padded
from sklda._core.rising import log_gamma_ratio
from sklda._kernels import _merges, _tokens
from sklda._sampling.count_rows import CountRows

# Pairs of topics, summed over rows, in a block of rows; `stop` is called between blocks. A block takes about a tenth of
# a second.
_BLOCK_PAIRS = 2**22


def merge_gains(corpus, topics, priors, stop=NEVER_STOP):
    """Change of the log joint if topics i < j are merged and all others stay; (K, K), valid above the diagonal.

    Parameters
    ----------
    corpus : Corpus
    topics : ndarray of shape (n_tokens,), int32
    priors : Priors
        Those of the first topic count for all.
    stop : callable, optional
    """
    K = priors.n_components
    gains = np.zeros((K, K))
    of_rows = priors.doc[:, 0]
    alpha = of_rows[priors.row_of] if len(priors.row_of) else np.full(corpus.n_documents, of_rows[0])
    eta = np.ascontiguousarray(np.broadcast_to(priors.topic_word()[0], corpus.n_features), dtype=np.float64)
    scratch, step = (np.empty(K, np.int32), np.empty(K)), max(_BLOCK_PAIRS // K**2, 1)
    # In blocks, because those of all documents can take more memory than the fit.
    for first, last in corpus.blocks(n_documents=step):
        stop()
        offsets, counts = corpus.offsets[first : last + 1], np.zeros((last - first, K))
        _tokens.count_documents(offsets - offsets[0], topics[offsets[0] : offsets[-1]], counts)
        _merges.pair_gains(counts.astype(np.int32), alpha[first:last], gains, *scratch)
    totals, prior_total = np.zeros(K, np.int64), priors.totals[0]
    rows = CountRows.of(corpus, topics, padded(K), totals)
    for first in range(0, corpus.n_features, step):
        stop()
        words = slice(first, first + step)
        _merges.pair_gains(rows.dense(words), eta[words], gains, *scratch)
    # Once for each distinct total: of many topics for few tokens, most are equal.
    distinct, which = np.unique(totals, return_inverse=True)
    alone = log_gamma_ratio(prior_total, distinct)
    together = log_gamma_ratio(prior_total, distinct[:, None] + distinct)
    alone, together = alone[which], together[which[:, None], which]
    return gains + alone[:, None] + alone - together
