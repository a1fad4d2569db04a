"""Perplexity of the hidden words of documents, given their other words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklda._core import random
from sklda._description.view import corpus_and_model
from sklda._input.arguments import check_int
from sklda._input.document_values import check_same_index
from sklda._input.types import Counts, Model, Seed
from sklda._likelihood.held_out.document_completion import predictive_log_likelihood


def predictive_perplexity(
    estimator: Model,
    X_seen: Counts,
    X_hidden: Counts,
    *,
    collections: ArrayLike | None = None,
    covariates: Any = None,
    n_sweeps: int = 100,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> float:
    """Perplexity of the hidden words of documents, given their other words.

    ``sklda.metrics.held_out_log_likelihood(..., method="document_completion")`` divides the documents itself.

    Topic proportions come from Gibbs sampling over the seen words with fixed topics. They are averaged in the
    Rao-Blackwellised form (George, Xia & Michailidis 2019, section 4.2.2 and equations 21 and 98).

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        A fitted topic model with ``components_`` and ``doc_topic_prior_``, or a pipeline or search that has one; X
        is then what the pipeline takes, for instance texts. A pair of arrays: phi, of shape (n_components, n_features)
        with rows that sum to one, and alpha, a float or an array of shape (n_components,) or (n_documents,
        n_components).
    X_seen, X_hidden : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts of two parts of the same documents; with a pipeline, its inputs.
    collections : sequence of n_documents labels, default=None
        The collections of the documents, for `sklda.CompoundLDA`. None: they are unknown.
    covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
        The covariates of the documents, for a `sklda.CovariateLDA` that was fitted with some.
    n_sweeps : int, default=100
        Sweeps over the seen words. The last two thirds are averaged.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        Blocks of 64 documents that run at the same time, as in joblib; results do not depend on it.

    Returns
    -------
    float
        ``exp`` of minus the mean log probability of a hidden word; infinite if one has probability zero in every topic.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If X_seen and X_hidden differ in shape, there is no hidden word, or `n_sweeps` is below 1.
    TypeError
        If `n_sweeps` is not an int, the model has no topics, or it was fitted with covariates and none are given.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.held_out import predictive_perplexity
    >>> X = make_lda_corpus(80, 40, 3, random_state=0).data
    >>> lda = GibbsLDA(3, max_iter=50, random_state=0).fit(X[:60])
    >>> seen = (X[60:] / 2).floor()
    >>> bool(1 < predictive_perplexity(lda, seen, X[60:] - seen, random_state=0) < 40)
    True
    """
    check_int(n_sweeps, "n_sweeps", 1)
    check_same_index(X_seen, X_hidden=X_hidden)
    seen, topic_word, alpha = corpus_and_model(X_seen, estimator, collections, covariates)
    hidden = corpus_and_model(X_hidden, estimator, collections, covariates)[0]
    if (seen.n_documents, seen.n_features) != (hidden.n_documents, hidden.n_features):
        raise ValueError(
            f"X_seen has shape {(seen.n_documents, seen.n_features)} and X_hidden "
            f"{(hidden.n_documents, hidden.n_features)}: they must be parts of the same documents."
        )
    if hidden.n_tokens == 0:
        raise ValueError("X_hidden has no word to predict.")
    key = random.key(random.seed_sequence(random_state))
    log_p = predictive_log_likelihood(seen, hidden, topic_word, alpha, n_sweeps=n_sweeps, seed=key, n_jobs=n_jobs)
    with np.errstate(over="ignore"):
        return float(np.exp(-log_p.sum() / hidden.n_tokens))
