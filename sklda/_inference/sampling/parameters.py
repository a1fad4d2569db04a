"""Draws of the topics phi and the topic proportions theta, given the topic assignments z."""

import numpy as np

from sklda._inference import random


def draw_parameters(chain, rng):
    """Draw theta and phi from their Dirichlet distributions, given the present z of a chain.

    Parameters
    ----------
    chain : GibbsChain
    rng : numpy.random.Generator

    Returns
    -------
    theta : ndarray of shape (n_documents, n_components)
    phi : ndarray of shape (n_components, n_features)
    """
    K, priors = chain.priors.n_components, chain.priors
    theta = draw_doc_topic(chain, rng)
    phi = np.exp(random.log_dirichlet(rng, chain.word_topic_counts[:, :K].T + priors.topic_word()))
    return theta, phi


def draw_doc_topic(chain, rng):
    """Draw theta from its Dirichlet distributions given the present z of a chain, (n_documents, n_components)."""
    return np.exp(random.log_dirichlet(rng, chain.priors.add_doc(chain.doc_topic_counts())))


def draw_dirichlets(parameters, n_samples, rng):
    """Draws from Dirichlet distributions, one for each row of each array of parameters.

    Returns
    -------
    tuple of ndarray of shape (n_samples, *shape of the parameters), float32
    """
    samples = tuple(np.empty((n_samples, *each.shape), np.float32) for each in parameters)
    for each, parameter in zip(samples, parameters, strict=True):
        for sample in each:
            sample[:] = np.exp(random.log_dirichlet(rng, parameter))
    return samples
