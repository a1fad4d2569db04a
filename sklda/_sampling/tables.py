"""Auxiliary counts of topics in documents, given which mixtures have Dirichlet distributions."""

import numpy as np

from sklda._kernels import _compound


def draw_document_tables(corpus, topics, collections, prior, stream):
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
