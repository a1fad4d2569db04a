"""Comparison of two topic models, document by document."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from sklda._core import random
from sklda._description.view import corpora_of_both
from sklda._input.types import Counts, Model, Seed
from sklda._likelihood.held_out.averages import log_mean_exp
from sklda._likelihood.held_out.log_likelihoods import log_likelihoods
from sklda.metrics._checks import check_options


def compare_topic_models(
    a: Model,
    b: Model,
    X: Counts,
    *,
    n_temperatures: int = 100,
    n_runs: int = 2,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """Log ratio of the probabilities of each document under two topic models.

    Parameters
    ----------
    a, b : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        Fitted topic models with ``components_`` and ``doc_topic_prior_``, or pipelines or searches that end in one; X
        is then what the pipelines take, and both must make the same counts from it. A pair of arrays: phi, of shape
        (n_components, n_features) with rows that sum to one, and alpha, a float or an array of shape (n_components,) or
        (n_documents, n_components). A `sklda.CompoundLDA` has the prior of a document of unknown collection;
        ``(lda.topic_word_, lda.document_prior(collections))`` has that of each document.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts; with pipelines, their input.
    n_temperatures : int, default=100
        Sweeps of each annealing run.
    n_runs : int, default=2
        Independent runs of each model; at least 2.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        Blocks of 64 documents that run at the same time, as in joblib; results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        - ``log_ratio`` (n_documents,): log p(w_d | a) - log p(w_d | b), in nats: the difference of two guided
          estimates. NaN for a document of probability zero in both models.
        - ``std`` (n_documents,): its Monte Carlo standard error.

    Raises
    ------
    ValueError
        If shapes disagree, or the models make different counts from X.
    TypeError
        If a model was fitted with covariates: give ``(lda.topic_word_, lda.document_prior(covariates))``.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import compare_topic_models
    >>> X = make_lda_corpus(80, 40, 3, random_state=0).data
    >>> good = GibbsLDA(3, max_iter=100, random_state=0).fit(X[:60])
    >>> bad = GibbsLDA(3, max_iter=1, random_state=0).fit(X[:60])
    >>> bool(compare_topic_models(good, bad, X[60:], random_state=0).log_ratio.mean() > 0)
    True
    """
    options = check_options("guided_ais", n_temperatures, n_runs, return_std=True)
    corpus, a, b = corpora_of_both(X, a, b)
    seed = random.seed_sequence(random_state)
    (first, first_std), (second, second_std) = (
        log_mean_exp(log_likelihoods(corpus, *model, seed=random.child(seed, i), n_jobs=n_jobs, **options))
        for i, model in enumerate((a, b))
    )
    return Bunch(log_ratio=_subtract(first, second), std=np.hypot(first_std, second_std))


def _subtract(a, b):
    """a - b; NaN for documents of probability zero in both models."""
    both = np.isneginf(a) & np.isneginf(b)
    return np.where(both, np.nan, np.subtract(a, b, where=~both, out=np.zeros_like(a)))
