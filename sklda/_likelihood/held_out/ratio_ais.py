"""Ratio-AIS: annealed importance sampling between two models, and along several models."""

import itertools

import numpy as np

from sklda._core.parallel import in_parallel
from sklda._likelihood.held_out.ais import AnnealingState, anneal_between, guided_state
from sklda._likelihood.held_out.document_block import (
    BLOCK_DOCUMENTS,
    DocumentBlock,
    document_blocks,
    possible_word_rows,
    prior_of_block,
    sum_by_document,
    word_rows,
)

# Sweeps under the first model before the first weight of a ratio.
_BURN_IN = 30
# Temperatures of the guided AIS for the first model of a curve, as a multiple of those between two models, which
# are much closer to each other than the guide and the first model.
_FIRST_FACTOR = 5


def log_ratios(corpus, a, b, *, path, n_temperatures, n_runs, seed, n_jobs=None):
    """Estimates of log p(w_d | b) - log p(w_d | a) by annealing from a to b, (n_runs, n_documents).

    Each model is a pair of phi (n_components, n_features) and alpha (1 or n_documents, n_components). The topics must
    be aligned, and positive for every word of the corpus. On the path "convex" topics are arithmetic means (Foulds &
    Smyth 2014, equation 6), on "geometric" geometric means; alpha is interpolated linearly in both.
    """
    rows, first, largest_a = word_rows(corpus, a[0])
    _, last, largest_b = word_rows(corpus, b[0])
    log_scale = sum_by_document(corpus, (np.log(largest_b) - np.log(largest_a))[rows])
    blocks = corpus.blocks(n_documents=BLOCK_DOCUMENTS)
    positions = np.linspace(0, 1, n_temperatures + 1)[1:]
    tasks = (
        (
            DocumentBlock(rows, corpus.offsets, keys, block, first, a[1]),
            last,
            prior_of_block(b[1], block),
            positions,
            path,
        )
        for keys in (corpus.document_keys(int(s)) for s in seed.generate_state(n_runs, np.uint64))
        for block in blocks
    )
    parts = in_parallel(_ratio_block, tasks, n_jobs)
    return np.concatenate(parts).reshape(n_runs, corpus.n_documents) + log_scale


def _ratio_block(block, last, last_prior, positions, path, stop):
    state = AnnealingState.initial(block)
    how = {"geometric": path == "geometric", "n_burn_in": _BURN_IN}
    anneal_between(block, block.word_topic, last, last_prior, positions, state, stop, **how)
    return state.log_weights


def training_curve(corpus, topic_words, doc_topic_prior, *, n_temperatures, n_runs, seed, n_jobs=None):
    """Estimates of log p(w_d | phi_s, alpha) for every model phi_s, (n_runs, n_models, n_documents).

    The first estimate is that of guided AIS, with five times as many temperatures. Each later one adds the log weight
    of the convex path from the model before (iteration-AIS, Foulds & Smyth 2014, section 3.2, which starts from the
    prior and not from a guide). Alpha has the shape (1 or n_documents, n_components).
    """
    word_topics, log_scales = [], []
    for topic_word in topic_words:
        rows, word_topic, log_scale = possible_word_rows(corpus, topic_word)
        word_topics.append(word_topic)
        log_scales.append(log_scale)
    positions = np.linspace(0, 1, n_temperatures + 1)[1:]
    tasks = (
        (block, word_topics, positions, n_temperatures)
        for keys in (corpus.document_keys(int(s)) for s in seed.generate_state(n_runs, np.uint64))
        for block in document_blocks(corpus, rows, keys, word_topics[0], doc_topic_prior)
    )
    parts = in_parallel(_curve_block, tasks, n_jobs)
    n_blocks = len(parts) // n_runs
    runs = [np.concatenate(parts[r * n_blocks : (r + 1) * n_blocks], axis=1) for r in range(n_runs)]
    return np.array(runs) + np.array(log_scales)


def _curve_block(block, word_topics, positions, n_temperatures, stop):
    state = guided_state(block, stop, n_temperatures=_FIRST_FACTOR * n_temperatures)
    curve = [state.log_weights.copy()]
    for first, last in itertools.pairwise(word_topics):
        stop()
        anneal_between(block, first, last, block.prior, positions, state, stop)
        curve.append(state.log_weights.copy())
    return np.array(curve)
