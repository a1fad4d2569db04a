"""The labellings of topics: their mean, by which guided annealing corrects for that of its guide, and draws of one."""

import numpy as np
from scipy.special import gammaln

from sklda._core.rising import log_gamma_ratio
from sklda._likelihood.evidence.permanent import log_permanent

# Rounds of swaps before a labelling is drawn; each proposes to swap every topic with another one.
_SWAP_ROUNDS = 100


def log_mean_over_labels(changes, target, rng):
    """log of the mean of the joint over permutations of the guide's topics, less the log joint of the present ones.

    The joint is a product over topics k of a term that depends on the guide's topic for k alone, see `label_changes`.
    So the sum over permutations is a permanent, and the second result is its error, see `log_permanent`. Only
    topics with equal priors in the model, `target`, are permuted.
    """
    log_sum, error = log_permanent(changes, rng)
    n_labellings = gammaln(np.bincount(exchangeable_groups(target)) + 1.0).sum()
    return log_sum - np.trace(changes) - n_labellings, error


def label_changes(chain, target):
    """The terms of the log joint if topic k had the label of the guide's topic j; (n_components, n_components).

    The priors of the chain are those at the last strength of the guided path, and `target` those of the model. Topics
    that differ in these do not exchange labels.
    """
    K, tilted = chain.priors.n_components, chain.priors
    changes = np.zeros((K, K))
    for counts, prior in (
        (chain.doc_topic_counts(), tilted.doc_of()),
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
    return changes


def draw_labels(changes, rng):
    """New labels of the topics, int32 (n_components,), drawn in proportion to the joint by swaps of pairs of labels."""
    K, labels = len(changes), np.arange(len(changes), dtype=np.int32)
    for _ in range(_SWAP_ROUNDS if K > 1 else 0):
        a, b = rng.permutation(K)[: K // 2 * 2].reshape(2, -1)
        gains = changes[a, labels[b]] + changes[b, labels[a]] - changes[a, labels[a]] - changes[b, labels[b]]
        accepted = np.log(rng.random(len(a))) < gains
        a, b = a[accepted], b[accepted]
        labels[a], labels[b] = labels[b], labels[a]
    return labels


def exchangeable_groups(priors):
    """Number of each topic's group, (n_components,); topics with equal priors are in one group."""
    if priors.exchangeable:
        return np.zeros(priors.n_components, int)
    columns = np.concatenate([priors.doc, priors.topic[:, : priors.n_components]])
    return np.unique(columns, axis=1, return_inverse=True)[1].reshape(-1)
