"""The methods of an estimator whose documents have covariates."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklda._base import BaseLDA
from sklda._callbacks import with_callbacks
from sklda._design import check_rows, n_rows
from sklda._fitting import all_or_nothing
from sklda._inference.arguments import check_memory
from sklda._inference.covariates.model import HIGHEST, LOWEST
from sklda._inference.held_out.averages import mean_per_token
from sklda._inference.types import Counts

# With a thousand terms, a sweep of three topics takes about seven seconds.
_MOST_TERMS = 1000


class CovariateMethods(BaseLDA):
    """Base class of estimators whose methods take documents and their covariates.

    A fit sets `intercept_`, `coef_`, `doc_topic_prior_` and `_design_`.
    """

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Counts, y: Any = None, *, covariates: Any = None) -> Self:
        """Find topics in a corpus, and how their proportions depend on the covariates.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used. If y is given without `covariates`, the warning says so.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            Numbers, or texts and other labels for categories. A category has a column for each level but the first in
            order, its base. None: the prior of theta has an alpha for each topic, with a UserWarning.

        Returns
        -------
        self : estimator
            Fitted. If anything interrupts the fit, the estimator is left as it was before.

        Raises
        ------
        ValueError
            If X is not a matrix of counts or has no token. If covariates do not have a row for each document or have
            more than 1000 terms, or a value is missing or masked. If a parameter is out of range. With `warm_start`, if
            X, the covariates or a parameter are not those of the previous fit.
        TypeError
            If covariates are no array or data frame, or a parameter is of the wrong type.
        """
        return self._find_topics(X, y, covariates=covariates)

    def fit_transform(self, X: Counts, y: Any = None, *, covariates: Any = None, normalize: bool = True) -> np.ndarray:
        """Find topics, and return the topic proportions: ``fit(X, covariates=z).transform(X, covariates=z)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            See `fit`.
        normalize : bool, default=True
            Whether rows sum to one.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
        """
        return self.fit(X, y, covariates=covariates).transform(X, covariates=covariates, normalize=normalize)

    def transform(self, X: Counts, *, covariates: Any = None, normalize: bool = True) -> np.ndarray:
        """Topic proportions of documents, given the topics and coefficients found.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            Those of the fit. None: all documents have the mean covariates, and the prior is `doc_topic_prior_`.
        normalize : bool, default=True
            Whether rows sum to one; otherwise they are expected topic counts plus prior.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            By CVB0 and Gibbs sampling with the topics fixed; each token's full conditional is averaged over the last
            two thirds of `fold_in_iter` sweeps, and CVB0 counts for 30 sweeps. A row depends neither on the other rows
            nor on `n_jobs`.

        Raises
        ------
        ValueError
            If covariates are not of the kind of the fit, or a category has a new level.
        """
        return self._proportions(X, normalize, covariates=covariates)

    def score_samples(self, X: Counts, *, covariates: Any = None) -> np.ndarray:
        """Held-out log-likelihood of documents, log p(w_d | phi, alpha_d), by guided annealed importance sampling.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            Those of the fit. None: all documents have the mean covariates.

        Returns
        -------
        ndarray of shape (n_documents,)
            Nats, without the multinomial coefficient; 0 for a document without words.
        """
        return self._score_samples(X, covariates=covariates)[0]

    def score(
        self, X: Counts, y: Any = None, sample_weight: ArrayLike | None = None, *, covariates: Any = None
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
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            Those of the fit. None: all documents have the mean covariates.

        Returns
        -------
        float
        """
        log_likelihood, lengths = self._score_samples(X, covariates=covariates)
        return mean_per_token(log_likelihood, lengths, sample_weight)

    def perplexity(self, X: Counts, *, covariates: Any = None) -> float:
        """Held-out perplexity, ``exp(-score(X))``: smaller is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            Those of the fit. None: all documents have the mean covariates.

        Returns
        -------
        float
        """
        with np.errstate(over="ignore"):
            return float(np.exp(-self.score(X, covariates=covariates)))

    def document_prior(self, covariates: Any) -> np.ndarray:
        """The Dirichlet parameter of theta of documents, ``exp(intercept_ + x @ coef_.T)``.

        Parameters
        ----------
        covariates : array-like, sparse matrix or data frame with n_documents rows
            Those of the fit; x has their columns `covariate_names_`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            A prior for the functions of `sklda.metrics`, together with `topic_word_`. Its values are cut off at 1e-12
            and 1e12.

        Raises
        ------
        ValueError
            If covariates are not of the kind of the fit, or a category has a new level.
        """
        check_is_fitted(self)
        if self._design_ is None:
            raise ValueError("the fit had no covariates: do not give any, or fit with covariates.")
        return self._prior_of(self._design_.matrix(covariates, n_rows(covariates)))

    def _prior_of(self, columns):
        """alpha of documents with these columns of the design, (n_documents, n_components)."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.intercept_ + columns @ self.coef_.T
        if np.isnan(found).any():
            raise ValueError("covariates has values so large that the prior of a document is not a number.")
        return np.exp(np.clip(found, LOWEST, HIGHEST))

    def _prior_of_training(self):
        return self._prior_of(self._columns_)

    def _doc_prior(self, corpus, covariates=None):
        if covariates is None:
            return super()._doc_prior(corpus)
        prior = self.document_prior(covariates)
        check_rows(len(prior), corpus.n_documents)
        return prior


def check_size(design, n_components):
    """Refuse so many terms that a sweep takes minutes: its time grows with the cube of their number."""
    n_terms = len(design.terms)
    if n_terms > _MOST_TERMS:
        largest = max(design.covariates, key=lambda each: len(each.terms))
        raise ValueError(
            f"the covariates have {n_terms} terms, {len(largest.terms)} of them from {largest.name!r}; at most "
            f"{_MOST_TERMS} are possible. Join levels of categories, and leave out a covariate that has another value "
            "in nearly every document."
        )
    # The second derivatives of each topic, their roots, and copies.
    check_memory(
        4 * 8 * n_components * n_terms**2,
        f"the regressions of {n_components} topics on {n_terms} terms of the covariates need at least",
        "Give fewer topics, or categories with fewer levels.",
    )
