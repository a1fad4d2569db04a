"""Annealing of documents from one model to another: ratio-AIS, and iteration-AIS along several models."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np
from sklearn.utils import Bunch

from sklda._core import random
from sklda._core.parallel import in_parallel
from sklda._description.view import corpora_of_both, corpus_and_model
from sklda._input.arguments import check_choice, check_int
from sklda._input.types import Counts, Model, Seed
from sklda._likelihood.held_out.ais import guided_state
from sklda._likelihood.held_out.averages import log_mean_exp, mean_per_token
from sklda._likelihood.held_out.document_block import (
    BLOCK_DOCUMENTS,
    DocumentBlock,
    document_blocks,
    possible_word_rows,
    prior_of_block,
    sum_by_document,
    word_rows,
)
from sklda._sampling.matching import match_distributions
from sklda.papers.held_out._annealing import anneal_between, initial_state

# Number of standard errors by which the two directions may differ: a normal variate exceeds 3 once in 370 times.
_CONVERGED = 3
# Sweeps under the first model before the first weight of a ratio.
_BURN_IN = 30
# Temperatures of the guided AIS for the first model of a curve, as a multiple of those between two models, which
# are much closer to each other than the guide and the first model.
_FIRST_FACTOR = 5


def ratio_ais(
    a: Model,
    b: Model,
    X: Counts,
    *,
    path: Literal["convex", "geometric"] = "convex",
    n_temperatures: int = 100,
    n_runs: int = 2,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """Log ratio of the probabilities of each document under two models, by annealing from one to the other.

    It anneals in both directions, along mixtures or geometric means of matched topics; alpha changes linearly. It is
    precise when the models are similar. `sklda.metrics.compare_topic_models` is for any two models.

    Parameters
    ----------
    a, b : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        As in `sklda.metrics.compare_topic_models`. Both need the same number of topics, and all words of the documents
        need a positive probability in every topic.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts; with pipelines, their input.
    path : {"convex", "geometric"}, default="convex"
        Arithmetic or geometric means of the topics (Foulds & Smyth 2014, equations 6 and 5).
    n_temperatures : int, default=100
        Sweeps of each annealing run.
    n_runs : int, default=2
        Independent runs in each direction, at least 2.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        Blocks of 64 documents that run at the same time, as in joblib; results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        - ``log_ratio`` (n_documents,): log p(w_d | a) - log p(w_d | b), in nats: the mean of the two directions, whose
          biases have opposite signs.
        - ``std`` (n_documents,): its Monte Carlo standard error, at least half of the disagreement of the directions.
        - ``forward``, ``reverse`` (n_documents,): the same ratio by annealing from b to a, and from a to b.
        - ``disagreement``, ``disagreement_std``: mean over documents of forward minus reverse, in nats, and its error.
        - ``converged``: whether the disagreement is within 3 standard errors of zero, so no bias is visible.
        - ``alignment`` (n_components,): the topic of b that was matched to each topic of a.

    Raises
    ------
    ValueError
        If shapes disagree, or there is no path between these models.
    TypeError
        If a model was fitted with covariates: give ``(lda.topic_word_, lda.document_prior(covariates))``.

    References
    ----------
    Foulds & Smyth (2014). Annealing paths for the evaluation of topic models. UAI.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.held_out import ratio_ais
    >>> X = make_lda_corpus(80, 40, 3, random_state=0).data
    >>> lda = GibbsLDA(3, doc_topic_prior=0.1, max_iter=20, warm_start=True, random_state=0)
    >>> shorter, longer = ((lda.fit(X[:60]).topic_word_, 0.1) for _ in range(2))
    >>> ratio_ais(longer, shorter, X[60:], random_state=0).log_ratio.shape
    (20,)
    """
    check_choice(path, "path", ("convex", "geometric"))
    check_int(n_temperatures, "n_temperatures", 1)
    check_int(n_runs, "n_runs", 2)
    corpus, a, b = corpora_of_both(X, a, b)
    _check_path(corpus, a, b)
    alignment = match_distributions(a[0], b[0])[0]
    b = b[0][alignment], b[1][:, alignment]
    seed = random.seed_sequence(random_state)
    common = {"path": path, "n_temperatures": n_temperatures, "n_runs": n_runs, "n_jobs": n_jobs}
    forward, forward_std = log_mean_exp(log_ratios(corpus, b, a, seed=random.child(seed, 0), **common))
    reverse, reverse_std = log_mean_exp(log_ratios(corpus, a, b, seed=random.child(seed, 1), **common))
    # Weights are infinite where a probability underflows.
    with np.errstate(invalid="ignore"):
        gap, log_ratio = forward + reverse, (forward - reverse) / 2
        disagreement = gap.mean()
    if not np.isfinite(disagreement):
        gap_std = np.inf
    elif len(gap) > 1:
        gap_std = gap.std(ddof=1) / np.sqrt(len(gap))
    else:
        gap_std = np.hypot(forward_std, reverse_std)[0]
    return Bunch(
        log_ratio=log_ratio,
        std=np.maximum(np.hypot(forward_std, reverse_std), np.abs(gap)) / 2,
        forward=forward,
        reverse=-reverse,
        disagreement=float(disagreement),
        disagreement_std=float(gap_std),
        converged=bool(np.isfinite(disagreement) and abs(disagreement) <= _CONVERGED * gap_std + 1e-9),
        alignment=alignment,
    )


def _check_path(corpus, a, b):
    """A ValueError if the two models cannot be annealed into one another."""
    why_not = ""
    if len(a[0]) != len(b[0]):
        why_not = f"the models have {len(a[0])} and {len(b[0])} topics"
    else:
        present = np.unique(corpus.words)
        if not ((a[0][:, present] > 0).all() and (b[0][:, present] > 0).all()):
            why_not = "a word of X has probability zero in a topic"
    if why_not:
        raise ValueError(f"ratio-AIS is not possible: {why_not}. Use sklda.metrics.compare_topic_models.")


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
    state = initial_state(block)
    how = {"geometric": path == "geometric", "n_burn_in": _BURN_IN}
    anneal_between(block, block.word_topic, last, last_prior, positions, state, stop, **how)
    return state.log_weights


def held_out_curve(
    models: Sequence[Model],
    X: Counts,
    *,
    n_temperatures: int = 20,
    n_runs: int = 2,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """Held-out log-likelihood per token of models that follow each other, such as those along a fit.

    The first model has a guided estimate. Then the documents are annealed from each model to the next (iteration-AIS).
    Each estimate continues the ones before it, so the errors of the points are correlated, and differences between
    neighbours are more precise than the level.

    Parameters
    ----------
    models : list of models
        Each is a fitted estimator, a pipeline or search that has one, or a pair (topic_word, doc_topic_prior) of
        arrays, as in `sklda.metrics.held_out_log_likelihood`. All have the same doc_topic_prior.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts of documents that were not in the fit; with pipelines, their input.
    n_temperatures : int, default=20
        Sweeps from one model to the next, and five times as many for the first.
    n_runs : int, default=2
        Independent runs, at least 2.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        Blocks of 64 documents that run at the same time, as in joblib; results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        ``score`` (n_models,): mean per token, in nats; ``std`` (n_models,): its Monte Carlo standard error;
        ``log_likelihood`` (n_models, n_documents).

    Raises
    ------
    ValueError
        If there is no model, models differ in shape or in their priors, or X has no token.
    TypeError
        If `models` is not a list, or one of them is not a topic model.

    References
    ----------
    Foulds & Smyth (2014). Annealing paths for the evaluation of topic models. UAI. Section 3.2.

    Examples
    --------
    With ``warm_start``, a fit goes on where it ended, so its topics can be copied along the way:

    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.held_out import held_out_curve
    >>> X = make_lda_corpus(80, 40, 3, random_state=0).data
    >>> lda = GibbsLDA(3, doc_topic_prior=0.1, max_iter=10, warm_start=True, random_state=0)
    >>> models = [(lda.fit(X[:60]).topic_word_, 0.1) for _ in range(3)]
    >>> held_out_curve(models, X[60:], random_state=0).score.shape
    (3,)
    """
    if not isinstance(models, list):
        raise TypeError(
            f"models must be a list of fitted models or of pairs (topic_word, doc_topic_prior), got {models!r}."
        )
    if not models:
        raise ValueError("models is an empty list: the curve needs at least one model.")
    check_int(n_temperatures, "n_temperatures", 1)
    check_int(n_runs, "n_runs", 2)
    read = [corpus_and_model(X, model) for model in models]
    corpus, first, alpha = read[0]
    for i, (_, topic_word, prior) in enumerate(read):
        if topic_word.shape != first.shape:
            raise ValueError(
                f"models[{i}] has topics of shape {topic_word.shape}, and models[0] of shape {first.shape}: documents "
                "are annealed from one to the next, so they must have the same topics and words."
            )
        if not np.array_equal(prior, alpha):
            raise ValueError(
                f"models[{i}] has another doc_topic_prior than models[0]: give pairs (topic_word, doc_topic_prior) "
                "with one prior for all."
            )
    runs = curve_runs(
        corpus,
        [topic_word for _, topic_word, _ in read],
        alpha,
        n_temperatures=n_temperatures,
        n_runs=n_runs,
        seed=random.seed_sequence(random_state),
        n_jobs=n_jobs,
    )
    value, std = log_mean_exp(runs)
    return Bunch(
        score=np.array([mean_per_token(row, corpus.lengths) for row in value]),
        std=np.sqrt((std**2).sum(axis=1)) / corpus.n_tokens,
        log_likelihood=value,
    )


def curve_runs(corpus, topic_words, doc_topic_prior, *, n_temperatures, n_runs, seed, n_jobs=None):
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
