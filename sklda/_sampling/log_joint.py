"""log p(w, z | alpha, eta), in nats: the sums of _kernels/_log_joint.pyx for the priors of chains."""

import numpy as np

from sklda._kernels import _log_joint

# Numbers of the table of log rising factorials, at most, and tokens for each of them. A number takes about as long as
# four tokens.
_LONGEST, _TOKENS_EACH = 512, 32
ONE_EACH = np.empty(0, np.int64)


def cell_priors(prior, n_tokens, row_of=ONE_EACH):
    """The arguments of kernels for the priors of cells.

    Parameters
    ----------
    prior : ndarray of shape (n_rows, n_labels) or (n_rows, 1)
        Of a topic in a document or word. All labels may share it, and with one row all groups.
    n_tokens : int
    row_of : ndarray of shape (n_groups,), optional
        The row of `prior` of each group. Empty: the rows are those of the groups.
    """
    # Of priors that differ, the last one nearly always does: then not all of them are compared.
    if prior[-1, -1] == prior[0, 0] and (prior == prior[0, 0]).all():
        prior, row_of = prior[:1, :1], ONE_EACH
    n_labels = prior.shape[1]
    starts = (row_of.astype(np.int64) if len(row_of) else np.arange(len(prior))) * n_labels
    width = min(n_tokens // (_TOKENS_EACH * n_labels), _LONGEST) if len(starts) == 1 else 0
    table = np.empty((n_labels, width) if width > 1 else (0, 0))
    if table.size:
        # The kernel makes it from numbers in double precision.
        prior = prior.astype(np.float64)
    return *flat(prior), starts, int(n_labels > 1), table


def flat(prior):
    """The numbers of a prior in double and in single precision; one of the two arrays is empty."""
    values = np.ascontiguousarray(prior).reshape(-1)
    if values.dtype == np.float32:
        return np.empty(0), values
    return values, np.empty(0, np.float32)


def word_priors(priors, n_tokens, words=slice(None)):
    """`cell_priors` of eta, of some of the words."""
    prior = priors.topic[words] if len(priors.topic) else priors.word[words, None]
    return cell_priors(prior, n_tokens)


def of_topics(corpus, priors, cells):
    """log p(z | alpha) from the sum over its cells. With one topic it is zero, without the rounding errors."""
    if priors.n_components == 1:
        return 0.0
    totals = priors.doc.sum(axis=1)
    if priors.shared:
        return cells - _log_joint.totals(totals, *corpus.distinct_lengths)
    return cells - _log_joint.totals(totals[priors.row_of], corpus.lengths, ONE_EACH)


def word_totals(topic_totals, priors):
    """The part of log p(w | z, eta) that depends on the totals of the topics."""
    return -_log_joint.totals(priors.totals, topic_totals, ONE_EACH)
