"""log p(w_d | phi, alpha) of documents, given the topics phi, by any of the methods of this package."""

from functools import partial

import numpy as np

from sklda._core.parallel import in_parallel
from sklda._likelihood.held_out.ais import ais, guided_ais
from sklda._likelihood.held_out.document_block import document_blocks, possible_word_rows
from sklda._likelihood.held_out.document_completion import document_completion
from sklda._likelihood.held_out.without_annealing import chib, exact, left_to_right, particle_filter

METHODS = ("guided_ais", "ais", "left_to_right", "particle_filter", "chib", "document_completion", "exact")


def log_likelihoods(
    corpus,
    topic_word,
    doc_topic_prior,
    *,
    seed,
    method="guided_ais",
    n_temperatures=100,
    n_runs=1,
    n_particles=20,
    schedule="linear",
    n_jobs=None,
):
    """Estimates of log p(w_d | phi, alpha), in nats, without the multinomial coefficient; (n_runs, n_documents).

    The exponentials of the estimates are unbiased. Two methods differ: ``"exact"`` has no Monte Carlo error and one
    row, and ``"document_completion"`` estimates another quantity. 0 for an empty document; -inf for a document with a
    word that has probability 0 in all topics. `sklda.metrics.held_out_log_likelihood` describes the options; alpha has
    the shape (1 or n_documents, n_components).
    """
    # One 64-bit seed for each run. The stream of a document depends on this seed and on the document's words only.
    run_seeds = [int(s) for s in seed.generate_state(n_runs, np.uint64)]
    model = corpus, topic_word, doc_topic_prior
    if method == "document_completion":
        return np.array(
            [document_completion(*model, n_sweeps=n_temperatures, seed=s, n_jobs=n_jobs) for s in run_seeds]
        )
    if method == "exact":
        return exact(*model)[None]
    rows, word_topic, log_scale = possible_word_rows(corpus, topic_word)
    # Words with the same probability in all topics give no information on z. Without them, estimates have less noise.
    kept = (word_topic[:, : len(topic_word)] != word_topic[:, :1]).any(axis=1)[rows]
    rows, offsets = rows[kept], np.concatenate([[0], np.cumsum(kept)])[corpus.offsets]
    run = {
        "guided_ais": partial(guided_ais, n_temperatures=n_temperatures),
        "ais": partial(ais, n_temperatures=n_temperatures, schedule=schedule),
        "left_to_right": left_to_right,
        "particle_filter": partial(particle_filter, n_particles=n_particles),
        "chib": partial(chib, n_sweeps=n_temperatures),
    }[method]
    keys = [corpus.document_keys(s) for s in run_seeds]
    tasks = ((b,) for k in keys for b in document_blocks(corpus, rows, k, word_topic, doc_topic_prior, offsets))
    parts = in_parallel(run, tasks, n_jobs)
    return np.concatenate(parts).reshape(n_runs, corpus.n_documents) + log_scale
