"""Annealing between topics: two models on the same documents, and one model along its training."""

import itertools

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from sklda._inference.held_out.fold_in import BLOCK_DOCUMENTS, word_rows
from sklda._inference.held_out.methods import (
    Block,
    anneal_between,
    fresh_state,
    guided_start,
    per_document,
    possible_rows,
)
from sklda._inference.parallel import side_by_side

# Sweeps under the first model before the first weight of a ratio.
_BURN_IN = 30
# The start of a curve has farther to go than its pieces.
_START_FACTOR = 5


def align(a, b):
    """The order of the rows of `b` that minimises the total L1 distance to the rows of `a` (Hungarian algorithm)."""
    return linear_sum_assignment(cdist(a, b, "cityblock"))[1]


def log_ratios(corpus, a, b, *, path, n_temperatures, n_runs, seed, n_jobs=None):
    """Estimates of log p(w_d | b) - log p(w_d | a), one a run, annealing from a to b.

    Parameters
    ----------
    corpus : Corpus
    a, b : (topic_word, doc_topic_prior)
        phi (n_components, n_features) and alpha (1 or n_documents, n_components); aligned topics, positive for every
        word of the corpus.
    path : {"convex", "geometric"}
        Foulds & Smyth 2014, equation 6, or the geometric mean of the topics; alpha moves on the straight line in both.
    n_temperatures, n_runs : int
    seed : numpy.random.SeedSequence

    Returns
    -------
    ndarray of shape (n_runs, n_documents)
    """
    rows, first, taken_a = word_rows(corpus, a[0])
    _, last, taken_b = word_rows(corpus, b[0])
    taken_out = per_document(corpus, (np.log(taken_b) - np.log(taken_a))[rows])
    blocks = corpus.blocks(n_documents=BLOCK_DOCUMENTS)
    positions = np.linspace(0, 1, n_temperatures + 1)[1:]
    tasks = (
        (Block(rows, corpus.offsets, keys, block, first, a[1]), last, _rows_of(b[1], block), positions, path)
        for keys in (corpus.document_keys(int(s)) for s in seed.generate_state(n_runs, np.uint64))
        for block in blocks
    )
    parts = side_by_side(_ratio_block, tasks, n_jobs)
    return np.concatenate(parts).reshape(n_runs, corpus.n_documents) + taken_out


def _rows_of(doc_topic_prior, block):
    return doc_topic_prior[block[0] : block[1]] if len(doc_topic_prior) > 1 else doc_topic_prior


def _ratio_block(block, last, last_prior, positions, path, stop):
    return anneal_between(
        block,
        block.word_topic,
        last,
        last_prior,
        positions,
        fresh_state(block),
        stop,
        geometric=path == "geometric",
        n_burn_in=_BURN_IN,
    )[0]


def training_curve(corpus, snapshots, doc_topic_prior, *, n_temperatures, n_runs, seed, n_jobs=None):
    """Estimates of log p(w_d | phi_s, alpha) for every snapshot phi_s, by annealing from one to the next.

    The first is a guided estimate; each further one adds the convex path from the snapshot before (iteration-AIS,
    Foulds & Smyth 2014, section 3.2, with a guided start in place of the prior).

    Parameters
    ----------
    corpus : Corpus
    snapshots : sequence of ndarray of shape (n_components, n_features)
    doc_topic_prior : ndarray of shape (1 or n_documents, n_components)
    n_temperatures : int
        Of each piece; the guided start has five times as many.
    n_runs : int
    seed : numpy.random.SeedSequence

    Returns
    -------
    ndarray of shape (n_runs, n_snapshots, n_documents)
    """
    word_topics, taken_out = [], []
    for topic_word in snapshots:
        rows, word_topic, taken = possible_rows(corpus, topic_word)
        word_topics.append(word_topic)
        taken_out.append(taken)
    blocks = corpus.blocks(n_documents=BLOCK_DOCUMENTS)
    positions = np.linspace(0, 1, n_temperatures + 1)[1:]
    tasks = (
        (
            Block(rows, corpus.offsets, keys, block, word_topics[0], doc_topic_prior),
            word_topics,
            positions,
            n_temperatures,
        )
        for keys in (corpus.document_keys(int(s)) for s in seed.generate_state(n_runs, np.uint64))
        for block in blocks
    )
    parts = side_by_side(_curve_block, tasks, n_jobs)
    runs = [np.concatenate(parts[i : i + len(blocks)], axis=1) for i in range(0, len(parts), len(blocks))]
    return np.array(runs) + np.array(taken_out)


def _curve_block(block, word_topics, positions, n_temperatures, stop):
    state = guided_start(block, _START_FACTOR * n_temperatures, stop)
    curve = [state[0].copy()]
    for first, last in itertools.pairwise(word_topics):
        stop()
        state = anneal_between(block, first, last, block.prior, positions, state, stop)
        curve.append(state[0].copy())
    return np.array(curve)
