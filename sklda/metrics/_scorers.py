"""Scorers: callables for searches and cross-validation, which find the topic model in a pipeline or search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from sklda._description.view import corpus_and_model
from sklda._input.arguments import check_choice
from sklda._input.types import Seed
from sklda._likelihood.held_out.averages import mean_per_token
from sklda.metrics._checks import check_options
from sklda.metrics._coherence import check_method, topic_coherence
from sklda.metrics._held_out import estimate_log_likelihood


class _Scorer:
    """A callable that scores the topic model inside pipelines and searches; compared and pickled by its options."""

    def __init__(self, **options):
        self.options = options
        self.requests = {}

    def set_score_request(self, *, collections=None, covariates=None):
        """Request `collections` or `covariates`, if scikit-learn's metadata routing is enabled.

        Parameters
        ----------
        collections, covariates : bool, str or None, default=None
            True: pass the caller's metadata of this name; a str: of that name; False or None: pass nothing.

        Returns
        -------
        callable
            A new scorer with this request.
        """
        copy = type(self)(**self.options)
        copy.requests = {"collections": collections, "covariates": covariates}
        return copy

    def get_metadata_routing(self):
        """The requests, as scikit-learn's `MetadataRequest`."""
        routing = MetadataRequest(owner=repr(self))
        for param, alias in self.requests.items():
            routing.score.add_request(param=param, alias=alias)
        return routing

    def __call__(self, estimator, X, y=None, **metadata):
        """Score a fitted estimator on raw data.

        Parameters
        ----------
        estimator : estimator, Pipeline or search
            A fitted model with ``components_``, or a pipeline or search that has one.
        X : array-like, sparse matrix or list of str
            The input of `estimator`.
        y : None
            Not used.
        **metadata : dict
            For held-out likelihood: ``collections`` of the documents under `sklda.CompoundLDA`, or ``covariates`` under
            `sklda.CovariateLDA`.

        Returns
        -------
        float or dict of {str: float}
            Greater is better.
        """
        return self._score(X, estimator, **self.options, **metadata)

    def __repr__(self):
        return f"{type(self).__name__[1:]}({', '.join(f'{k}={v!r}' for k, v in self.options.items())})"

    def __eq__(self, other):
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self):
        return hash(repr(self))


class _HeldOutScorer(_Scorer):
    def _score(
        self, X, model, *, metric, return_std, random_state, n_jobs, collections=None, covariates=None, **options
    ):
        corpus, topic_word, alpha = corpus_and_model(X, model, collections, covariates)
        value, std = estimate_log_likelihood(corpus, topic_word, alpha, options, random_state, n_jobs)
        scored = corpus.lengths // 2 if options["method"] == "document_completion" else corpus.lengths
        score = mean_per_token(value, scored)
        error = np.sqrt((std**2).sum()) / scored.sum()
        name = "log_likelihood"
        if metric == "perplexity":
            with np.errstate(over="ignore"):
                name, score = "neg_perplexity", float(-np.exp(-score))
            # An infinite perplexity has no error.
            error = error * -score if error else 0.0
        return {name: score, f"{name}_std": float(error)} if return_std else score


def make_held_out_scorer(
    *,
    method: str = "guided_ais",
    metric: Literal["perplexity", "log_likelihood"] = "perplexity",
    n_temperatures: int = 100,
    n_runs: int | None = None,
    return_std: bool = False,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> Callable[..., Any]:
    """A scorer of held-out likelihood per token, for searches and cross-validation.

    Parameters
    ----------
    method, n_temperatures, n_jobs
        See `held_out_log_likelihood`.
    metric : {"perplexity", "log_likelihood"}, default="perplexity"
        The negative of the perplexity, or the mean log-likelihood per token in nats: greater is better for both.
    n_runs : int, default=None
        Independent runs; None: 1, or 2 with `return_std`.
    return_std : bool, default=False
        Whether the scorer returns a dict of the score and its Monte Carlo standard error: ``neg_perplexity`` and
        ``neg_perplexity_std``, or ``log_likelihood`` and ``log_likelihood_std``. Searches then need
        for example ``refit="neg_perplexity"``.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=0
        With an int, the same model on the same documents has the same score, in any order and for every `n_jobs`.

    Returns
    -------
    callable
        ``scorer(estimator, X, y=None)`` for a topic model, a pipeline that has one (X is then what the pipeline
        takes, for instance raw text), or a search over either. The model may be scikit-learn's
        `LatentDirichletAllocation`, or anything else with ``components_`` and ``doc_topic_prior_``. With
        ``collections=``, the prior of each document is that of its collection (`sklda.CompoundLDA`). A
        `sklda.CovariateLDA` that was fitted with covariates needs ``covariates=``. With metadata routing,
        ``scorer.set_score_request(collections=True)`` makes searches pass them.

    Raises
    ------
    ValueError, TypeError
        If an option is out of range.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import make_held_out_scorer
    >>> X = make_lda_corpus(60, 30, 3, random_state=0).data
    >>> lda = GibbsLDA(3, max_iter=30, random_state=0)
    >>> scores = cross_val_score(lda, X, scoring=make_held_out_scorer(metric="log_likelihood"), cv=3)
    >>> bool((scores < 0).all())
    True
    """
    check_choice(metric, "metric", ("perplexity", "log_likelihood"))
    n_runs = (2 if return_std else 1) if n_runs is None else n_runs
    options = check_options(method, n_temperatures, n_runs, return_std)
    return _HeldOutScorer(**options, metric=metric, return_std=return_std, random_state=random_state, n_jobs=n_jobs)


neg_ais_perplexity_scorer: Callable[..., Any] = make_held_out_scorer()
"""Negative held-out perplexity by guided annealed importance sampling: `make_held_out_scorer` with its defaults."""


class _CoherenceScorer(_Scorer):
    def _score(self, X, model, **options):
        return topic_coherence(model, X, **options)


def make_coherence_scorer(*, method: str = "npmi", n_words: int = 10) -> Callable[..., Any]:
    """A scorer of `topic_coherence`, with the scored documents as reference corpus.

    Parameters
    ----------
    method, n_words
        See `topic_coherence`.

    Returns
    -------
    callable
        ``scorer(estimator, X, y=None)``, see `make_held_out_scorer`.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import make_coherence_scorer
    >>> X = make_lda_corpus(60, 30, 3, random_state=0).data
    >>> lda = GibbsLDA(3, max_iter=30, random_state=0).fit(X)
    >>> bool(-1 <= make_coherence_scorer(n_words=5)(lda, X) <= 1)
    True
    """
    check_method(method)
    return _CoherenceScorer(method=method, n_words=n_words)
