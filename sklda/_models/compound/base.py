"""What models of collections have in common: their documents have labels, and priors gamma pi_j."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklda._models.compound.results import mixtures_of
from sklda._models.prior_by_document import PriorByDocument
from sklda._sampling.mixture_step import document_prior


class CollectionsLDA(PriorByDocument):
    """Base class of models whose documents come in collections, each with a mixture pi_j of the topics."""

    _takes = ("collections",)
    collections_: np.ndarray
    # The place of the collection of each document of the fit, (n_documents,).
    _collection_of_: np.ndarray

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
        return self.collections_[self._collection_of_].tolist()

    def _prior_of_training(self):
        return document_prior(self.doc_concentration_, self.collection_topic_)[self._collection_of_]

    def _known_groups(self):
        return np.eye(len(self.collections_))[self._collection_of_]
