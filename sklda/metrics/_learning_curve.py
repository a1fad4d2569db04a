"""Held-out likelihood along the sweeps of a fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import Bunch

from sklda._core import random
from sklda._core.types import Counts, Model, Seed
from sklda._likelihood.held_out.averages import log_mean_exp, mean_per_token
from sklda._likelihood.held_out.ratio_ais import training_curve
from sklda.metrics._checks import check_options
from sklda.metrics._models import corpus_and_model


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
        arrays, as in `held_out_log_likelihood`. All have the same doc_topic_prior.
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
    >>> from sklda.metrics import held_out_curve
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
    check_options("guided_ais", n_temperatures, n_runs, None, "linear", return_std=True)
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
    runs = training_curve(
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
