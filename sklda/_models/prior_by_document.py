"""What models have in common whose prior of a document depends on a value that belongs to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklda._input.types import Counts
from sklda._input.warn import warn
from sklda._models.base import BaseLDA
from sklda._models.capabilities import not_taken
from sklda._models.doc_topic_posterior import DocTopicPosterior


class PriorByDocument(BaseLDA):
    """Base class of models that take the collections or the covariates of documents, in `fit` and for new ones."""

    # Those that the model takes.
    _takes: tuple[str, ...]

    def _documents(self, X, **values):
        for name in ("collections", "covariates"):
            if values[name] is not None and name not in self._takes:
                raise not_taken(type(self).__name__, name)
        return super()._documents(X, **values)

    def _warn_of_none(self, name, y):
        """Warn that documents have no values of a name, which may have been given as y."""
        give = f"Give them with fit(X, {name}=...)."
        if y is not None:
            give = f"It does not use y: call fit(X, {name}=y)."
        model = type(self).__name__
        warn(f"{model} has no {name}, so alpha differs between topics only, as in GibbsLDA. {give}")

    def fit_transform(
        self,
        X: Counts,
        y: Any = None,
        *,
        normalize: bool = True,
        collections: ArrayLike | None = None,
        covariates: Any = None,
    ) -> np.ndarray:
        """Find topics, and return the topic proportions, as `fit` and then `transform`, with the same values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        normalize : bool, default=True
            Whether rows sum to one.
        collections : sequence of n_documents hashable labels, default=None
            See `fit` of `CompoundLDA`. Other models refuse it.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            See `fit` of `CovariateLDA`. Other models refuse it.

        Returns
        -------
        ndarray of shape (n_documents, n_components)

        Examples
        --------
        >>> from sklda import CompoundLDA
        >>> from sklda.datasets import make_compound_lda_corpus
        >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
        >>> X, year = corpus.data, corpus.collections
        >>> CompoundLDA(3, max_iter=50, random_state=0).fit_transform(X, collections=year).shape
        (60, 3)
        """
        return self._fit_transform(X, y, normalize, collections=collections, covariates=covariates)

    def transform(
        self, X: Counts, *, normalize: bool = True, collections: ArrayLike | None = None, covariates: Any = None
    ) -> np.ndarray:
        """Topic proportions of documents, given the topics of the fit and the prior of each document.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        normalize : bool, default=True
            Whether rows sum to one; otherwise they are expected topic counts plus prior.
        collections : sequence of n_documents hashable labels, default=None
            Labels of the fit. None, for all documents or for one: the collection is unknown, and the prior is
            `doc_topic_prior_`. Only models of collections take it.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            The covariates of the fit. None: all documents have the mean covariates, and the prior is
            `doc_topic_prior_`. Only `CovariateLDA` takes it.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            By CVB0 and Gibbs sampling with the topics fixed; each token's full conditional is averaged over the last
            two thirds of `fold_in_iter` sweeps, and CVB0 counts for 30 sweeps. A row depends neither on the other rows
            nor on `n_jobs`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X is not a matrix of counts with the features of the fit, a label is not among `collections_`, or
            covariates are not of the kind of the fit.
        TypeError
            If the model does not take these values.

        Warns
        -----
        UserWarning
            If a category of the covariates has a new level, see `document_prior`.

        Examples
        --------
        >>> from sklda import CompoundLDA
        >>> from sklda.datasets import make_compound_lda_corpus
        >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
        >>> X, year = corpus.data, corpus.collections
        >>> lda = CompoundLDA(3, max_iter=50, random_state=0).fit(X, collections=year)
        >>> lda.transform(X[:5], collections=year[:5]).shape, lda.transform(X[:5]).shape
        ((5, 3), (5, 3))
        """
        return self._transform(X, normalize, collections=collections, covariates=covariates)

    def doc_topic_posterior(
        self,
        X: Counts,
        *,
        n_draws: int = 100,
        topic_uncertainty: bool = False,
        collections: ArrayLike | None = None,
        covariates: Any = None,
    ) -> DocTopicPosterior:
        """Posterior of the topic proportions of documents: means, standard deviations and draws.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        n_draws : int, default=100
            Number of draws. Intervals of 95 % need 39 or more.
        topic_uncertainty : bool, default=False
            Whether the topics have a new draw from their posterior every ten draws. The priors of documents are those
            of `transform` in both cases.
        collections, covariates
            As in `transform`.

        Returns
        -------
        DocTopicPosterior
            See `GibbsLDA.doc_topic_posterior`.

        Examples
        --------
        >>> from sklda import CompoundLDA
        >>> from sklda.datasets import make_compound_lda_corpus
        >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
        >>> X, year = corpus.data, corpus.collections
        >>> lda = CompoundLDA(3, max_iter=50, random_state=0).fit(X, collections=year)
        >>> posterior = lda.doc_topic_posterior(X[:5], collections=year[:5])
        >>> low, high = posterior.interval(0.95)
        >>> posterior.mean.shape, bool((low < high).all())
        ((5, 3), True)
        """
        return self._doc_topic_posterior(X, n_draws, topic_uncertainty, collections=collections, covariates=covariates)

    def score_samples(self, X: Counts, *, collections: ArrayLike | None = None, covariates: Any = None) -> np.ndarray:
        """Held-out log-likelihood of documents, log p(w_d | phi, alpha_d), by guided annealed importance sampling.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        collections, covariates
            As in `transform`.

        Returns
        -------
        ndarray of shape (n_documents,)
            Nats, without the multinomial coefficient; 0 for a document without words.

        Examples
        --------
        >>> from sklda import CompoundLDA
        >>> from sklda.datasets import make_compound_lda_corpus
        >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
        >>> X, year = corpus.data, corpus.collections
        >>> lda = CompoundLDA(3, max_iter=50, random_state=0).fit(X, collections=year)
        >>> lda.score_samples(X[:5], collections=year[:5]).shape
        (5,)
        """
        return self._score_samples(X, collections=collections, covariates=covariates)

    def score(
        self,
        X: Counts,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        collections: ArrayLike | None = None,
        covariates: Any = None,
    ) -> float:
        """Mean held-out log-likelihood per token, in nats; greater is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.
        collections, covariates
            As in `transform`.

        Returns
        -------
        float

        Examples
        --------
        >>> from sklda import CompoundLDA
        >>> from sklda.datasets import make_compound_lda_corpus
        >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
        >>> X, year = corpus.data, corpus.collections
        >>> lda = CompoundLDA(3, max_iter=50, random_state=0).fit(X, collections=year)
        >>> bool(lda.score(X, collections=year) < 0)
        True
        """
        return self._score(X, sample_weight, collections=collections, covariates=covariates)

    def perplexity(self, X: Counts, *, collections: ArrayLike | None = None, covariates: Any = None) -> float:
        """Held-out perplexity, ``exp(-score(X))``: smaller is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        collections, covariates
            As in `transform`.

        Returns
        -------
        float

        Examples
        --------
        >>> from sklda import CompoundLDA
        >>> from sklda.datasets import make_compound_lda_corpus
        >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
        >>> X, year = corpus.data, corpus.collections
        >>> lda = CompoundLDA(3, max_iter=50, random_state=0).fit(X, collections=year)
        >>> bool(1 < lda.perplexity(X, collections=year) < 40)  # a guess among all 40 words has 40
        True
        """
        return self._perplexity(X, collections=collections, covariates=covariates)
