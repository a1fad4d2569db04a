"""The mean over the labellings of topics, by which guided annealing corrects for the labelling of its guide."""

import numpy as np
from scipy.special import gammaln

from sklda._inference.evidence.permanent import log_permanent
from sklda._inference.rising import log_gamma_ratio


def log_mean_over_labels(chain, target, rng):
    """log of the mean of the joint over permutations of the guide's topics, less the log joint of the present ones.

    The joint is a product over topics k of a term that depends on the guide's topic for k alone. So the sum over
    permutations is a permanent. Only topics with equal priors are permuted.

    Parameters
    ----------
    chain : GibbsChain
        Its priors are those at the last strength of the guided path.
    target : Priors
        alpha and eta of the model, which determine what topics may be permuted.
    rng : numpy.random.Generator

    Returns
    -------
    value : float
    error : float
        As in `log_permanent`, in nats.
    """
    K, tilted = chain.priors.n_components, chain.priors
    changes = np.zeros((K, K))
    for counts, prior in (
        (chain.doc_topic_counts(), tilted.doc),
        (chain.word_topic_counts[:, :K], tilted.topic[:, :K].astype(np.float64)),
    ):
        rows, topics = np.nonzero(counts)
        counts = counts[rows, topics]
        for j in range(K):
            given = prior[rows, j]
            changes[:, j] += np.bincount(topics, log_gamma_ratio(given, counts), minlength=K)
    changes -= log_gamma_ratio(tilted.totals, chain.topic_totals[:, None])
    groups = exchangeable_groups(target)
    changes[groups[:, None] != groups] = -np.inf
    log_sum, error = log_permanent(changes, rng)
    return log_sum - np.trace(changes) - gammaln(np.bincount(groups) + 1.0).sum(), error


def exchangeable_groups(priors):
    """Number of each topic's group, (n_components,); topics with equal priors are in one group."""
    if priors.exchangeable:
        return np.zeros(priors.n_components, int)
    columns = np.concatenate([priors.doc, priors.topic[:, : priors.n_components]])
    return np.unique(columns, axis=1, return_inverse=True)[1].reshape(-1)
