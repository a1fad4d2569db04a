"""Labellings of topics: their mean, which is a permanent, and draws of one."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln

from sklda._core.rising import log_gamma_ratio
from sklda._likelihood.held_out.averages import log_mean

# --- The permanent of a matrix of weights given by their logarithms ---------------------------------------------------


# Blocks of up to this many rows are summed exactly, which takes 15 ms at 14 rows and doubles with each row; larger
# blocks by this many sampled permutations.
_EXACT_ROWS, _SAMPLES = 14, 200
# Entries of the doubly stochastic matrix (between 0 and 1) below this are dropped.
_NEGLIGIBLE = 1e-9
# Matrices of up to this many rows are one block.
_ONE_BLOCK = 6
# Sinkhorn's iterations: at most, and the difference of a row's sum from one at which they end.
_SINKHORN_STEPS, _SINKHORN_TOLERANCE = 50, 1e-2


def log_permanent(log_weights, rng):
    """log of the sum over permutations s of prod_k exp(log_weights[k, s(k)]), and its error.

    Columns are reordered until the heaviest permutation is the diagonal. Then the matrix is scaled until rows and
    columns sum to one (Sinkhorn), which leaves the permanent up to a known factor; entries that are then negligible are
    dropped, and the matrix falls into blocks. Blocks of up to 14 rows are summed exactly over subsets, others by
    sequential importance sampling. The error is the standard error of the sampling, plus what the dropped entries add:
    a permutation drawn by its weight has an entry with about the probability that is its value in the scaled matrix.
    """
    if len(log_weights) <= _ONE_BLOCK:
        scaled, log_scale = _with_heaviest_diagonal(log_weights)
        return _block(scaled, rng)[0] + log_scale, 0.0
    scaled, log_scale = _doubly_stochastic(log_weights)
    negligible = scaled < _NEGLIGIBLE
    n_blocks, block = connected_components(~negligible, directed=True, connection="strong")
    value, variance = 0.0, 0.0
    for b in range(n_blocks):
        inside = np.flatnonzero(block == b)
        log_part, relative = _block(scaled[np.ix_(inside, inside)], rng)
        value, variance = value + log_part, variance + relative**2
    dropped = np.where(negligible, scaled, 0).sum()
    return value + log_scale, float(np.log1p(dropped) + np.sqrt(variance))


def _with_heaviest_diagonal(log_weights):
    """The matrix of weights, scaled, with columns in an order in which no entry exceeds a diagonal of ones; log scale.

    exp(log scale) times the permanent of this matrix is the permanent.
    """
    log_weights = log_weights[:, linear_sum_assignment(log_weights, maximize=True)[1]]
    diagonal = np.diag(log_weights)
    relative, potential = log_weights - diagonal, np.zeros(len(log_weights))
    # Longest paths: the diagonal is the heaviest permutation, so no cycle gains, and with these potentials no entry
    # exceeds the diagonal.
    for _ in range(len(log_weights)):
        previous, potential = potential, (relative + potential).max(axis=1)
        if (potential == previous).all():
            break
    return np.exp(relative + potential - potential[:, None]), diagonal.sum()


def _doubly_stochastic(log_weights):
    """`_with_heaviest_diagonal`, scaled further to rows and columns that sum to about one."""
    scaled, log_scale = _with_heaviest_diagonal(log_weights)
    for _ in range(_SINKHORN_STEPS):
        rows = scaled.sum(axis=1, keepdims=True)
        log_scale += np.log(rows).sum()
        if np.abs(rows - 1).max() < _SINKHORN_TOLERANCE:
            return scaled / rows, log_scale
        scaled = scaled / rows
        columns = scaled.sum(axis=0)
        scaled, log_scale = scaled / columns, log_scale + np.log(columns).sum()
    return scaled, log_scale


def _block(weights, rng):
    """log permanent of a block, and its relative standard error."""
    n = len(weights)
    if n == 1:
        return np.log(weights[0, 0]), 0.0
    if n <= _EXACT_ROWS:
        sums = np.zeros(2**n)
        sums[0] = 1
        masks = np.arange(2**n)
        for row in weights:
            # Only sets of as many columns as there were rows so far have a sum.
            grown = np.zeros_like(sums)
            for j, weight in enumerate(row):
                free = masks[(masks >> j) & 1 == 0]
                grown[free | 1 << j] += sums[free] * weight
            sums = grown
        return np.log(sums[-1]), 0.0
    free = np.ones((_SAMPLES, n), bool)
    log_weight, samples = np.zeros(_SAMPLES), np.arange(_SAMPLES)
    for row in weights:
        running = np.cumsum(np.where(free, row, 0), axis=1)
        total = running[:, -1]
        with np.errstate(divide="ignore"):
            log_weight += np.log(total)
        chosen = (running <= (rng.random(_SAMPLES) * total)[:, None]).sum(axis=1)
        free[samples, np.minimum(chosen, n - 1)] = False
    value = log_mean(log_weight)
    relative = np.exp(log_weight - value).std(ddof=1) / np.sqrt(_SAMPLES)
    return value, relative


# --- The labellings of topics: their mean, by which guided annealing corrects for that of its guide, and draws of one -


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
    K, tilted, groups = chain.priors.n_components, chain.priors, exchangeable_groups(target)
    changes = np.zeros((K, K))
    for counts, prior in (
        (chain.doc_topic_counts(), tilted.doc_of()),
        (chain.word_topic_counts[:, :K], tilted.topic[:, :K].astype(np.float64)),
    ):
        rows, topics = np.nonzero(counts)
        counts = counts[rows, topics]
        for j in range(K):
            own = np.flatnonzero(groups[topics] == groups[j])
            terms = log_gamma_ratio(prior[rows[own], j], counts[own])
            changes[:, j] += np.bincount(topics[own], terms, minlength=K)
    changes -= log_gamma_ratio(tilted.totals, chain.topic_totals[:, None])
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
