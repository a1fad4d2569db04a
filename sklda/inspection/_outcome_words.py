"""Whether an outcome depends on the words of a topic, and not on its share alone."""

import numpy as np
from scipy.sparse import csr_array

# Documents of the check at most, and replicates. The error of their standard deviation is seven per cent.
_MOST_DOCUMENTS, _REPLICATES = 5000, 100
# Words of a topic with fewer tokens do not count.
_FEWEST_TOKENS = 5


def words_beyond_shares(counts, topic_word, shares, residuals, columns, clusters, rng):
    """How far each topic is from one whose words do not matter, in standard deviations; NaN for a topic without words.

    If the shares have the right means given the words, residuals of the outcome are independent of all words. For each
    word of a topic, the residuals are summed over its tokens, less what tokens of all words of this topic in the same
    documents give. The sum of the squares is compared with that of residuals with random signs.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, n_features)
    topic_word : ndarray of shape (n_topics, n_features)
    shares : ndarray of shape (n_documents, n_topics)
    residuals : ndarray of shape (n_documents,)
        By their weights, so that they are orthogonal to the columns.
    columns : ndarray of shape (n_documents, n_columns)
        The terms of the regression.
    clusters : ndarray of shape (n_documents,), int, or None
        Documents of a cluster have the same sign. None: they are independent.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_topics,)
    """
    chosen = np.sort(rng.permutation(len(residuals))[:_MOST_DOCUMENTS])
    counts, shares, residuals, columns = csr_array(counts)[chosen], shares[chosen], residuals[chosen], columns[chosen]
    groups = np.arange(len(chosen)) if clusters is None else clusters[chosen]
    signs = rng.choice([-1.0, 1.0], (_REPLICATES, groups.max() + 1))[:, groups]
    drawn = np.vstack([residuals, signs * residuals])
    # A rare level may have no document here.
    columns = columns[:, columns.any(axis=0)]
    basis = np.linalg.qr(columns / np.abs(columns).max(axis=0))[0]
    drawn -= (drawn @ basis) @ basis.T

    documents, words = counts.nonzero()
    total = sum(own[documents] * of_topic[words] for own, of_topic in zip(shares.T, topic_word, strict=True))
    found = np.full(len(topic_word), np.nan)
    for k, of_topic in enumerate(topic_word):
        expected = counts.data * shares[documents, k] * of_topic[words] / np.where(total > 0, total, 1)
        tokens = csr_array((expected, (documents, words)), shape=counts.shape)
        frequencies = np.asarray(tokens.sum(axis=0)).ravel()
        used = frequencies >= _FEWEST_TOKENS
        if used.sum() < 2:
            continue
        tokens, frequencies = tokens[:, used], frequencies[used]
        lengths = np.asarray(tokens.sum(axis=1)).ravel()
        sums = (tokens.T @ drawn.T).T - np.outer(drawn @ lengths, frequencies / frequencies.sum())
        squares = (sums**2 / frequencies).sum(axis=1)
        found[k] = _deviation(squares[0], squares[1:])
    return found


def _deviation(value, replicates):
    """The normal deviate of a sum of squares, by the cube root of a chi-square (Wilson & Hilferty 1931)."""
    mean = replicates.mean()
    spread = 2 / 9 * replicates.var(ddof=1) / (2 * mean**2)
    return (np.cbrt(value / mean) - (1 - spread)) / np.sqrt(spread)
