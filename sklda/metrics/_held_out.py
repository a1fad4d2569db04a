"""Held-out likelihood of documents."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from sklda._core import random
from sklda._description.view import corpus_and_model
from sklda._input.types import Counts, Model, Seed
from sklda._likelihood.held_out.averages import log_mean_exp
from sklda._likelihood.held_out.log_likelihoods import log_likelihoods
from sklda.metrics._checks import check_options


@overload
def held_out_log_likelihood(
    estimator: Model,
    X: Counts,
    *,
    collections: ArrayLike | None = ...,
    covariates: Any = ...,
    method: str = ...,
    n_temperatures: int = ...,
    n_runs: int = ...,
    return_std: Literal[False] = ...,
    random_state: Seed = ...,
    n_jobs: int | None = ...,
) -> np.ndarray: ...
@overload
def held_out_log_likelihood(
    estimator: Model,
    X: Counts,
    *,
    collections: ArrayLike | None = ...,
    covariates: Any = ...,
    method: str = ...,
    n_temperatures: int = ...,
    n_runs: int = ...,
    return_std: Literal[True],
    random_state: Seed = ...,
    n_jobs: int | None = ...,
) -> tuple[np.ndarray, np.ndarray]: ...
def held_out_log_likelihood(
    estimator: Model,
    X: Counts,
    *,
    collections: ArrayLike | None = None,
    covariates: Any = None,
    method: str = "guided_ais",
    n_temperatures: int = 100,
    n_runs: int = 1,
    return_std: bool = False,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Estimate log p(w_d | phi, alpha) of every document under a topic model.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        A fitted topic model with ``components_`` and ``doc_topic_prior_``, or a pipeline or search that has one; X
        is then what the pipeline takes, for instance texts. A pair of arrays: phi, of shape (n_components, n_features)
        with rows that sum to one, and alpha, a float or an array of shape (n_components,) or (n_documents,
        n_components).
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts; with a pipeline, its input.
    collections : sequence of n_documents labels, default=None
        The collections of the documents, for `sklda.CompoundLDA`. None: they are unknown.
    covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
        The covariates of the documents, for a `sklda.CovariateLDA` that was fitted with some.
    method : str, default="guided_ais"
        - ``"guided_ais"``: annealed importance sampling along theta ~ Dir(alpha + c a), where a is the expected topic
          counts by ten CVB0 iterations plus alpha, and c falls from infinity through 10 ... 0.01 to 0; for alpha
          below 0.1, the last value before 0 is a tenth of alpha, but at least 1e-5. Unbiased.
        - ``"document_completion"``: log p of a random half of each document's tokens given theta from the other half,
          by `n_temperatures` sweeps. This is another quantity, of ``length // 2`` tokens, and needs no annealing.
        - ``"exact"``: dynamic programming over topic counts, for few topics and short documents.
    n_temperatures : int, default=100
        Distributions on an annealing path, one sweep each; for ``"document_completion"`` see there. ``"exact"`` does
        not use it.
    n_runs : int, default=1
        Independent runs. The result is the log of the mean of p; for ``"document_completion"`` the mean of log p.
    return_std : bool, default=False
        Whether to return Monte Carlo standard errors as well; needs two runs.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time. The random stream of a document depends on it and on the document's
        words only, so that rows depend neither on each other nor on `n_jobs`.
    n_jobs : int, default=None
        Blocks of 64 documents that run at the same time, as in joblib.

    Returns
    -------
    log_likelihood : ndarray of shape (n_documents,)
        In nats, of the tokens as a sequence: without the multinomial coefficient. 0 for an empty document; -inf for one
        with a word that has probability zero in every topic.
    std : ndarray of shape (n_documents,)
        Standard error over runs of `log_likelihood`, in nats. Only with ``return_std=True``.

    Raises
    ------
    ValueError
        If X is not a matrix of counts, shapes disagree, topics do not sum to one, an option is out of range, or
        ``method="exact"`` would take too long.
    TypeError
        If the model has no topics or no prior, if `collections` or `covariates` are given for a model without them, or
        if the model was fitted with covariates and none are given.

    References
    ----------
    Foulds & Smyth (2014). Annealing paths for the evaluation of topic models. UAI.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.metrics import held_out_log_likelihood
    >>> phi = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]])
    >>> X = np.array([[1, 1, 0, 1], [0, 0, 0, 0]])
    >>> held_out_log_likelihood((phi, 0.5), X, method="exact").round(6)
    array([-4.150915,  0.      ])
    >>> estimate, std = held_out_log_likelihood((phi, 0.5), X, n_runs=50, return_std=True, random_state=0)
    >>> bool(abs(estimate[0] + 4.150915) < 4 * std[0])
    True
    """
    corpus, topic_word, alpha = corpus_and_model(X, estimator, collections, covariates)
    options = check_options(method, n_temperatures, n_runs, return_std)
    value, std = estimate_log_likelihood(corpus, topic_word, alpha, options, random_state, n_jobs)
    return (value, std) if return_std else value


def estimate_log_likelihood(corpus, topic_word, alpha, options, random_state, n_jobs):
    """log p(w_d | phi, alpha) over all runs, and its standard error, both (n_documents,) in nats.

    The options are those of `check_options`.
    """
    seed = random.seed_sequence(random_state)
    runs = log_likelihoods(corpus, topic_word, alpha, **options, seed=seed, n_jobs=n_jobs)
    if options["method"] == "exact":
        return runs[0], np.zeros_like(runs[0])
    if options["method"] != "document_completion":
        return log_mean_exp(runs)
    value = runs.mean(axis=0)
    if len(runs) == 1:
        return value, np.full_like(value, np.nan)
    # A document of probability zero has the value -inf in all runs, without error.
    known = np.where(np.isfinite(value), runs, 0)
    return value, known.std(axis=0, ddof=1) / np.sqrt(len(runs))
