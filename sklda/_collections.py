"""The methods of an estimator whose documents come in collections."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklda._base import BaseLDA
from sklda._callbacks import with_callbacks
from sklda._fitting import all_or_nothing
from sklda._inference.compound.priors import document_prior
from sklda._inference.held_out.averages import mean_per_token
from sklda._inference.types import Counts
from sklda._labels import as_list, check_length, listed


class CollectionLDA(BaseLDA):
    """Base class of estimators whose methods take documents and their collections.

    A fit sets `collections_`, `collection_topic_`, `corpus_topic_`, `doc_concentration_` and `doc_topic_prior_`.
    """

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Counts, y: Any = None, *, collections: ArrayLike | None = None) -> Self:
        """Find topics in a corpus, and the mixture of every collection.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used. There is a UserWarning if y is given without `collections`.
        collections : sequence of n_documents hashable labels, default=None
            The collection of every document: strings, numbers, tuples. None: one collection.

        Returns
        -------
        self : estimator
            Fitted. If anything interrupts the fit, the estimator is left as it was before.

        Raises
        ------
        ValueError
            If X is not a matrix of counts or has no token, the number of labels is not the number of documents, or a
            label is missing (None or NaN). If a parameter is out of range, or `learn_priors` is True but both priors
            are given. With `warm_start`, if X, the collections or a parameter are not those of the previous fit.
        TypeError
            If a label is not hashable, or a parameter is of the wrong type.
        """
        return self._find_topics(X, y, collections=collections)

    def fit_transform(
        self, X: Counts, y: Any = None, *, collections: ArrayLike | None = None, normalize: bool = True
    ) -> np.ndarray:
        """Find topics, and return the topic proportions: ``fit(X, collections=c).transform(X, collections=c)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        collections : sequence of n_documents hashable labels, default=None
            The collection of every document.
        normalize : bool, default=True
            Whether rows sum to one.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
        """
        return self.fit(X, y, collections=collections).transform(X, collections=collections, normalize=normalize)

    def transform(self, X: Counts, *, collections: ArrayLike | None = None, normalize: bool = True) -> np.ndarray:
        """Topic proportions of documents, given the topics and mixtures found.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        collections : sequence of n_documents labels, default=None
            Labels of the fit. None, for all documents or for one: the collection is unknown, and the prior is
            `doc_topic_prior_`.
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
            If a label is not among `collections_`.
        """
        return self._proportions(X, normalize, collections=collections)

    def score_samples(self, X: Counts, *, collections: ArrayLike | None = None) -> np.ndarray:
        """Held-out log-likelihood of documents, log p(w_d | phi, gamma pi_j), by guided annealed importance sampling.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        collections : sequence of n_documents labels, default=None
            Labels of the fit. None, for all documents or for one: the collection is unknown.

        Returns
        -------
        ndarray of shape (n_documents,)
            Nats, without the multinomial coefficient; 0 for a document without words.
        """
        return self._score_samples(X, collections=collections)[0]

    def score(
        self, X: Counts, y: Any = None, sample_weight: ArrayLike | None = None, *, collections: ArrayLike | None = None
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
        collections : sequence of n_documents labels, default=None
            Labels of the fit. None, for all documents or for one: the collection is unknown.

        Returns
        -------
        float
        """
        log_likelihood, lengths = self._score_samples(X, collections=collections)
        return mean_per_token(log_likelihood, lengths, sample_weight)

    def perplexity(self, X: Counts, *, collections: ArrayLike | None = None) -> float:
        """Held-out perplexity, ``exp(-score(X))``: smaller is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        collections : sequence of n_documents labels, default=None
            Labels of the fit. None, for all documents or for one: the collection is unknown.

        Returns
        -------
        float
        """
        with np.errstate(over="ignore"):
            return float(np.exp(-self.score(X, collections=collections)))

    def document_prior(self, collections: ArrayLike) -> np.ndarray:
        """The Dirichlet parameter of theta for documents of the given collections, gamma pi_j.

        Parameters
        ----------
        collections : sequence of n_documents labels
            Labels of the fit; None for a document of unknown collection.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            A prior for the functions of `sklda.metrics`, together with `topic_word_`.

        Raises
        ------
        ValueError
            If a label is not among `collections_`.
        """
        check_is_fitted(self)
        index = {label: j for j, label in enumerate(self.collections_.tolist())}
        index[None] = len(index)
        mixtures = np.vstack([self.collection_topic_, self.corpus_topic_])
        labels = as_list(collections)
        for d, label in enumerate(labels):
            if label not in index:
                raise ValueError(
                    f"collections[{d}] = {label!r} is not a collection of the fit, which had "
                    f"{listed(self.collections_)}. Give None for a document of unknown collection."
                )
        return document_prior(self.doc_concentration_, mixtures[[index[label] for label in labels]])

    def _prior_of_training(self):
        return document_prior(self.doc_concentration_, self.collection_topic_)[self._model_.collections]

    def _doc_prior(self, corpus, collections=None):
        if collections is None:
            return super()._doc_prior(corpus)
        prior = self.document_prior(collections)
        check_length(prior, corpus)
        return prior
