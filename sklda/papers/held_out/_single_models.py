"""Unbiased estimators of log p(w_d | phi, alpha) that ratio-AIS and guided AIS are compared with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from sklda._core import random
from sklda._description.view import corpus_and_model
from sklda._input.arguments import check_choice, check_int
from sklda._input.types import Counts, Model, Seed
from sklda._kernels import LANES, _chib, _sequential
from sklda._likelihood.held_out.averages import log_mean_exp
from sklda._likelihood.held_out.log_likelihoods import estimates_by_block
from sklda.papers.held_out._annealing import anneal_between, initial_state

# The powers of phi along the path of plain AIS are equally spaced numbers to these powers.
SCHEDULES = {"linear": 1, "quadratic": 2}
# Sweeps of Chib's estimator before the state whose probability is estimated.
_BURN_IN = 20


def ais(
    estimator: Model,
    X: Counts,
    *,
    n_temperatures: int = 100,
    schedule: Literal["linear", "quadratic"] = "linear",
    n_runs: int = 1,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood of documents by annealing from the prior of their topics to its posterior, by powers of phi.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        As in `sklda.metrics.held_out_log_likelihood`.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts; with a pipeline, its input.
    n_temperatures : int, default=100
        Distributions on the path, one sweep each.
    schedule : {"linear", "quadratic"}, default="linear"
        Whether the powers of phi are equally spaced, or their roots are.
    n_runs : int, default=1
        Independent runs; the result is the log of the mean of p.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time, for every order of the documents.
    n_jobs : int, default=None
        Blocks of 64 documents that run at the same time, as in joblib.

    Returns
    -------
    log_likelihood, std : ndarray of shape (n_documents,)
        In nats, of the tokens as a sequence, and the standard errors over runs: NaN for one run.

    References
    ----------
    Wallach, Murray, Salakhutdinov & Mimno (2009). Evaluation methods for topic models. ICML.

    Foulds & Smyth (2014). Annealing paths for the evaluation of topic models. UAI.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.papers.held_out import ais
    >>> phi = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]])
    >>> log_likelihood, std = ais((phi, 0.5), [[1, 1, 0, 1]], n_runs=200, random_state=0)
    >>> bool(abs(log_likelihood[0] + 4.150915) < 4 * std[0])
    True
    """
    n_temperatures = check_int(n_temperatures, "n_temperatures", 1)
    check_choice(schedule, "schedule", tuple(SCHEDULES))
    run = partial(_annealed, n_temperatures=n_temperatures, power=SCHEDULES[schedule])
    return _estimate(estimator, X, run, n_runs, random_state, n_jobs)


def left_to_right(
    estimator: Model,
    X: Counts,
    *,
    n_runs: int = 1,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood of documents by one particle: all earlier tokens are drawn again before each token.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        As in `sklda.metrics.held_out_log_likelihood`.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts; with a pipeline, its input.
    n_runs : int, default=1
        Independent runs; the result is the log of the mean of p.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time, for every order of the documents.
    n_jobs : int, default=None
        Blocks of 64 documents that run at the same time, as in joblib.

    Returns
    -------
    log_likelihood, std : ndarray of shape (n_documents,)
        In nats, of the tokens as a sequence, and the standard errors over runs: NaN for one run.

    Notes
    -----
    The average over several particles inside the product, which Wallach et al. propose, would be biased upwards. The
    cost grows with the square of a document's length.

    References
    ----------
    Wallach, Murray, Salakhutdinov & Mimno (2009). Evaluation methods for topic models. ICML.

    Buntine (2009). Estimating likelihoods for topic models. ACML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.papers.held_out import left_to_right
    >>> phi = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]])
    >>> log_likelihood, std = left_to_right((phi, 0.5), [[1, 1, 0, 1]], n_runs=200, random_state=0)
    >>> bool(abs(log_likelihood[0] + 4.150915) < 4 * std[0])
    True
    """
    return _estimate(estimator, X, _left_to_right, n_runs, random_state, n_jobs)


def particle_filter(
    estimator: Model,
    X: Counts,
    *,
    n_particles: int = 20,
    n_runs: int = 1,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood of documents by a particle filter with systematic resampling.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        As in `sklda.metrics.held_out_log_likelihood`.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts; with a pipeline, its input.
    n_particles : int, default=20
        Particles of each run.
    n_runs : int, default=1
        Independent runs; the result is the log of the mean of p.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time, for every order of the documents.
    n_jobs : int, default=None
        Blocks of 64 documents that run at the same time, as in joblib.

    Returns
    -------
    log_likelihood, std : ndarray of shape (n_documents,)
        In nats, of the tokens as a sequence, and the standard errors over runs: NaN for one run.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.papers.held_out import particle_filter
    >>> phi = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]])
    >>> log_likelihood, std = particle_filter((phi, 0.5), [[1, 1, 0, 1]], n_runs=200, random_state=0)
    >>> bool(abs(log_likelihood[0] + 4.150915) < 4 * std[0])
    True
    """
    run = partial(_particle_filter, n_particles=check_int(n_particles, "n_particles", 1))
    return _estimate(estimator, X, run, n_runs, random_state, n_jobs)


def chib(
    estimator: Model,
    X: Counts,
    *,
    n_states: int = 100,
    n_runs: int = 1,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood of documents by the Chib-style estimator, with a chain through one state of the topics.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        As in `sklda.metrics.held_out_log_likelihood`.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts; with a pipeline, its input.
    n_states : int, default=100
        States of the chain, one sweep each.
    n_runs : int, default=1
        Independent runs; the result is the log of the mean of p.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time, for every order of the documents.
    n_jobs : int, default=None
        Blocks of 64 documents that run at the same time, as in joblib.

    Returns
    -------
    log_likelihood, std : ndarray of shape (n_documents,)
        In nats, of the tokens as a sequence, and the standard errors over runs: NaN for one run.

    References
    ----------
    Murray & Salakhutdinov (2009). Evaluating probabilities under high-dimensional latent variable models. NIPS 21.

    Wallach, Murray, Salakhutdinov & Mimno (2009). Evaluation methods for topic models. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.papers.held_out import chib
    >>> phi = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]])
    >>> log_likelihood, std = chib((phi, 0.5), [[1, 1, 0, 1]], n_runs=200, random_state=0)
    >>> bool(abs(log_likelihood[0] + 4.150915) < 4 * std[0])
    True
    """
    run = partial(_chib_style, n_states=check_int(n_states, "n_states", 1))
    return _estimate(estimator, X, run, n_runs, random_state, n_jobs)


def _estimate(
    estimator: Model, X: Counts, run: Callable[..., Any], n_runs: int, random_state: Seed, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """The log of the mean of p over runs, and its standard error; ``run(block, stop)`` has log weights of a block."""
    corpus, topic_word, alpha = corpus_and_model(X, estimator)
    n_runs = check_int(n_runs, "n_runs", 1)
    seed = random.seed_sequence(random_state)
    return log_mean_exp(estimates_by_block(corpus, topic_word, alpha, run, n_runs=n_runs, seed=seed, n_jobs=n_jobs))


def _annealed(block, stop, *, n_temperatures, power):
    """Log weights along powers of phi, which are equally spaced numbers to this `power`; (n_documents,)."""
    # With equal probabilities of all words in all topics, the posterior of z is its prior.
    flat = np.zeros_like(block.word_topic)
    flat[:, : block.prior.shape[1]] = 1
    positions = np.linspace(0, 1, n_temperatures + 1)[1:] ** power
    state = initial_state(block)
    anneal_between(block, flat, block.word_topic, block.prior, positions, state, stop, geometric=True)
    return state.log_weights


def _left_to_right(block, stop):
    """Log weights of the documents of a block, (n_documents,)."""
    log_weights = block.zeros()
    if len(block.words):
        _sequential.left_to_right(
            *block.arguments,
            log_weights,
            np.empty((2, block.longest), np.int32),
            block.floats(1),
            block.counts(),
            np.empty(block.width // LANES),
            stop.flag,
        )
    return log_weights


def _particle_filter(block, stop, *, n_particles):
    """Log weights of the documents of a block, (n_documents,)."""
    log_weights = block.zeros()
    if len(block.words):
        _sequential.particle_filter(
            *block.arguments,
            log_weights,
            np.empty(block.longest, np.int32),
            np.empty((2, n_particles, block.longest), np.int32),
            block.floats(n_particles),
            np.empty((n_particles, block.width), np.int32),
            np.empty(block.width // LANES),
            np.empty(n_particles),
            stop.flag,
        )
    return log_weights


def _chib_style(block, stop, *, n_states):
    """Log weights of the documents of a block, (n_documents,)."""
    log_weights = block.zeros()
    if len(block.words):
        _chib.chib(
            *block.arguments,
            n_states,
            _BURN_IN,
            log_weights,
            np.empty((4, block.longest), np.int32),
            block.floats(1),
            block.counts(),
            np.empty((2, max(block.width // LANES, n_states))),
            stop.flag,
        )
    return log_weights
