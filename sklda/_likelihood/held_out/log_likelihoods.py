"""log p(w_d | phi, alpha) of documents, given the topics phi."""

from functools import partial

import numpy as np

from sklda._core.parallel import in_parallel
from sklda._likelihood.held_out.ais import guided_ais
from sklda._likelihood.held_out.document_block import document_blocks, possible_word_rows
from sklda._likelihood.held_out.document_completion import document_completion
from sklda._likelihood.held_out.exact import exact

METHODS = ("guided_ais", "document_completion", "exact")


def log_likelihoods(
    corpus,
    topic_word,
    doc_topic_prior,
    *,
    seed,
    method="guided_ais",
    n_temperatures=100,
    n_runs=1,
    n_jobs=None,
):
    """Estimates of log p(w_d | phi, alpha), in nats, without the multinomial coefficient; (n_runs, n_documents).

    The exponentials of the estimates are unbiased. Two methods differ: ``"exact"`` has no Monte Carlo error and one
    row, and ``"document_completion"`` estimates another quantity. 0 for an empty document; -inf for a document with a
    word that has probability 0 in all topics. `sklda.metrics.held_out_log_likelihood` describes the options; alpha has
    the shape (1 or n_documents, n_components).
    """
    model = corpus, topic_word, doc_topic_prior
    if method == "document_completion":
        return np.array(
            [
                document_completion(*model, n_sweeps=n_temperatures, seed=each, n_jobs=n_jobs)
                for each in _run_seeds(seed, n_runs)
            ]
        )
    if method == "exact":
        return exact(*model)[None]
    run = partial(guided_ais, n_temperatures=n_temperatures)
    return estimates_by_block(*model, run, n_runs=n_runs, seed=seed, n_jobs=n_jobs)


def estimates_by_block(corpus, topic_word, doc_topic_prior, run, *, n_runs, seed, n_jobs=None):
    """Log weights of ``run(block, stop)`` for all blocks of documents, (n_runs, n_documents)."""
    rows, word_topic, log_scale = possible_word_rows(corpus, topic_word)
    # Words with the same probability in all topics give no information on z. Without them, estimates have less noise.
    kept = (word_topic[:, : len(topic_word)] != word_topic[:, :1]).any(axis=1)[rows]
    rows, offsets = rows[kept], np.concatenate([[0], np.cumsum(kept)])[corpus.offsets]
    keys = [corpus.document_keys(each) for each in _run_seeds(seed, n_runs)]
    tasks = ((b,) for k in keys for b in document_blocks(corpus, rows, k, word_topic, doc_topic_prior, offsets))
    parts = in_parallel(run, tasks, n_jobs)
    return np.concatenate(parts).reshape(n_runs, corpus.n_documents) + log_scale


def _run_seeds(seed, n_runs):
    """One 64-bit seed for each run. The stream of a document depends on this seed and on the document's words only."""
    return [int(each) for each in seed.generate_state(n_runs, np.uint64)]
