"""Fits of labelled LDA: chains, means over draws and chains, and draws of theta and phi."""

import numpy as np

from sklda._inference import random
from sklda._inference.labels.label_topics import LabelTopics
from sklda._inference.sampling.matching import match_topics

# Sweeps between two draws of theta and phi.
_SWEEPS_BETWEEN = 5


def mean_counts(chains, n_labels):
    """Means over draws and chains of n_dk and m_kv, as values of the documents' open topics and of the pairs.

    Topics are anchored to labels, so that chains can be averaged too. Nothing anchors shared topics; if there are
    several, those of each chain are matched to those of the first chain before the average.

    Parameters
    ----------
    chains : list of LabelChain
    n_labels : int

    Returns
    -------
    doc_counts, pair_counts : ndarray
    """
    opened = chains[0].open_topics
    n_shared = opened.n_topics - n_labels
    n_draws, sums = 0, [0, 0]
    reference = None
    for chain in chains:
        if chain.n_draws == 0:
            # A callback ended the chain early, or sees it before its first draw: the present state, in a copy.
            chain = chain.copy()
            chain.add_draw()
        own = [chain.doc_sums, chain.pair_sums]
        if n_shared > 1:
            topics = _shared_topics(chain, n_labels)
            reference = topics if reference is None else reference
            order = match_topics(reference, topics)[0]
            own = [
                _reordered(values, of, n_labels, order)
                for values, of in zip(own, (opened.topics, opened.pairs), strict=True)
            ]
        n_draws += chain.n_draws
        sums = [a + b for a, b in zip(sums, own, strict=True)]
    return [values / n_draws for values in sums]


def _shared_topics(chain, n_labels):
    counts = chain.open_topics.pair_matrix(chain.pair_sums / chain.n_draws)
    eta = chain.priors.word[None, :] if len(chain.priors.word) else 0.0
    # A word without pairs has only its eta; the same small number everywhere does not change the order.
    topics = counts[:, n_labels:].toarray().T + eta + np.finfo(float).tiny
    return topics / topics.sum(axis=1, keepdims=True)


def _reordered(values, topics, n_labels, order):
    """Values of shared topics in another order. Every word and document has all shared topics, in ascending order."""
    values, shared = values.copy(), topics >= n_labels
    values[shared] = values[shared].reshape(-1, len(order))[:, order].ravel()
    return values


def document_shares(chain, doc_counts):
    """Means of theta over the open topics of every document, csr_array of shape (n_documents, n_topics)."""
    opened = chain.open_topics
    weights = doc_counts + chain.priors.doc[opened.topics]
    sums = np.add.reduceat(np.append(weights, 0), opened.offsets[:-1]) if len(opened.offsets) > 1 else np.zeros(0)
    return opened.document_matrix(weights / np.repeat(sums, opened.numbers))


def sample_parameters(chain, eta, n_samples, seed):
    """Draws of theta and phi from their Dirichlet distributions, given draws of the chain.

    Parameters
    ----------
    chain : LabelChain
        It is changed.
    eta : float or ndarray
    n_samples : int
    seed : numpy.random.SeedSequence

    Returns
    -------
    theta : ndarray of shape (n_samples, n_documents, n_topics), float32
        Zero for topics that are not open.
    phi : ndarray of shape (n_samples, n_topics, n_features), float32
    """
    opened, D = chain.open_topics, chain.corpus.n_documents
    theta = np.zeros((n_samples, D, opened.n_topics), np.float32)
    phi = np.empty((n_samples, opened.n_topics, chain.corpus.n_features), np.float32)
    chain.stream = random.stream(random.child(seed, 0))
    rng = np.random.default_rng(random.child(seed, 1))
    documents = np.repeat(np.arange(D), opened.numbers)
    for i in range(n_samples):
        for _ in range(_SWEEPS_BETWEEN):
            chain.sweep()
        counts = LabelTopics(opened.pair_matrix(chain.pair_counts), eta).components()
        phi[i] = np.exp(random.log_dirichlet(rng, counts))
        logs = random.log_gamma(rng, chain.doc_counts() + chain.priors.doc[opened.topics])
        # From the largest down, so that small variates cannot underflow together.
        largest = np.full(D, -np.inf)
        np.maximum.at(largest, documents, logs)
        values = np.exp(logs - largest[documents])
        theta[i, documents, opened.topics] = values / np.bincount(documents, values, minlength=D)[documents]
    return theta, phi
