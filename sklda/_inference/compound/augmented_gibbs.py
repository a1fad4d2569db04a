"""Augmented Gibbs sampling of the mixtures given z (George, Xia & Michailidis 2019, section 3.1.1).

Every token of topic k in document d adds one to the auxiliary count s_dk with probability a / (a + i). Here
a = gamma pi_jk, and i is the number of tokens of that topic before it in the document. Given these counts, pi_j is
Dirichlet(alpha + sum of s_dk over the documents of collection j), independently for each collection.
"""

import numpy as np

from sklda._inference import random
from sklda._kernels import _compound


def draw_mixtures(rng, alpha, tables):
    """log pi given the auxiliary counts of every collection, (n_collections, n_components)."""
    return random.log_dirichlet(rng, alpha + tables)


def draw_tables(corpus, topics, collections, prior, stream):
    """Draw auxiliary counts, summed over the documents of each collection.

    Parameters
    ----------
    corpus : Corpus
    topics : ndarray of shape (n_tokens,), int32
    collections : ndarray of shape (n_documents,), int64
    prior : ndarray of shape (n_collections, n_components)
        gamma pi; for other models, alpha of a group of documents.
    stream : ndarray of shape (4,), uint64
        Generator; it moves on.

    Returns
    -------
    ndarray of the shape of `prior`, int64
    """
    tables = np.zeros(prior.shape, np.int64)
    scratch = np.empty(prior.shape[1], np.int32)
    _compound.draw_tables(corpus.offsets, topics, collections, prior, stream, tables, scratch)
    return tables
