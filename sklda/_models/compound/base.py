"""What models of collections have in common: their documents have labels, and priors gamma pi_j."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklda._core.types import Counts
from sklda._core.warn import warn
from sklda._models.base import BaseLDA
from sklda._models.compound.hyperparameters import document_prior
from sklda._models.compound.model import CompoundModel
from sklda._models.compound.results import mixtures_of
from sklda._models.doc_topic_posterior import DocTopicPosterior
from sklda._models.results import ChainAttributes

# Why learn_priors="symmetric" is refused.
NEVER_SYMMETRIC = "the prior of a document, gamma pi_j, has a mixture that differs between topics"


class CollectionsLDA(ChainAttributes, BaseLDA):
    """Base class of models whose documents come in collections, each with a mixture pi_j of the topics."""

    collections_: np.ndarray
    _model_: CompoundModel

    @abstractmethod
    def fit(self, X: Counts, y: Any = None, *, collections: ArrayLike | None = None) -> Self:
        """Find topics in a corpus, and the mixture of every collection."""

    def fit_transform(
        self, X: Counts, y: Any = None, *, normalize: bool = True, collections: ArrayLike | None = None
    ) -> np.ndarray:
        """Find topics, and return the proportions: ``fit(X, collections=z).transform(X, collections=z)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        normalize : bool, default=True
            Whether rows sum to one.
        collections : sequence of n_documents hashable labels, default=None
            See `fit`.

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
        return self._fit_transform(X, y, normalize, collections=collections)

    def transform(self, X: Counts, *, normalize: bool = True, collections: ArrayLike | None = None) -> np.ndarray:
        """Topic proportions of documents, given the topics and mixtures found.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        normalize : bool, default=True
            Whether rows sum to one; otherwise they are expected topic counts plus prior.
        collections : sequence of n_documents hashable labels, default=None
            Labels of the fit. None, for all documents or for one: the collection is unknown, and the prior is
            `doc_topic_prior_`.

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
            If X is not a matrix of counts with the features of the fit, or a label is not among `collections_`.

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
        return self._transform(X, normalize, collections=collections)

    def doc_topic_posterior(
        self,
        X: Counts,
        *,
        n_samples: int = 100,
        topic_uncertainty: bool = False,
        collections: ArrayLike | None = None,
    ) -> DocTopicPosterior:
        """Posterior of the topic proportions of documents: means, standard deviations and draws.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        n_samples : int, default=100
            Number of draws. Intervals of 95 % need 39 or more.
        topic_uncertainty : bool, default=False
            Whether the topics have a new draw from their posterior every ten draws. The mixtures are those
            fitted in both cases.
        collections : sequence of n_documents hashable labels, default=None
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
        return self._doc_topic_posterior(X, n_samples, topic_uncertainty, collections=collections)

    def score_samples(self, X: Counts, *, collections: ArrayLike | None = None) -> np.ndarray:
        """Held-out log-likelihood of documents, log p(w_d | phi, gamma pi_j), by guided annealed importance sampling.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        collections : sequence of n_documents hashable labels, default=None
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
        return self._score_samples(X, collections=collections)

    def score(
        self,
        X: Counts,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        collections: ArrayLike | None = None,
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
        collections : sequence of n_documents hashable labels, default=None
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
        return self._score(X, sample_weight, collections=collections)

    def perplexity(self, X: Counts, *, collections: ArrayLike | None = None) -> float:
        """Held-out perplexity, ``exp(-score(X))``: smaller is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        collections : sequence of n_documents hashable labels, default=None
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
        return self._perplexity(X, collections=collections)

    def _warn_of_no_collections(self, y):
        give = "Give them with fit(X, collections=...)."
        if y is not None:
            give = "It does not use y: call fit(X, collections=y)."
        name = type(self).__name__
        warn(f"{name} has no collections, so alpha differs between topics only, as in GibbsLDA. {give}")

    def _prior_given(self, values):
        collections = values["collections"]
        return self._doc_prior() if collections is None else self.document_prior(collections)

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

        Examples
        --------
        >>> from sklda import CompoundLDA
        >>> from sklda.datasets import make_compound_lda_corpus
        >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
        >>> X, year = corpus.data, corpus.collections
        >>> lda = CompoundLDA(3, max_iter=50, random_state=0).fit(X, collections=year)
        >>> prior = lda.document_prior([year[0], None])
        >>> prior.shape, bool((prior[1] == lda.doc_topic_prior_).all())
        ((2, 3), True)
        """
        check_is_fitted(self)
        return document_prior(self.doc_concentration_, mixtures_of(self, collections))

    @property
    def _collections_of_fit(self):
        """The labels of the documents of the fit, a list."""
        return self.collections_[self._model_.collections].tolist()

    def _prior_of_training(self):
        return document_prior(self.doc_concentration_, self.collection_topic_)[self._model_.collections]

    def _known_groups(self):
        return np.eye(len(self.collections_))[self._model_.collections]
