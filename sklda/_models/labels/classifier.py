"""The methods of a classifier whose topics are labels: proportions, ranking scores, sets of labels."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sklda._core import random
from sklda._input.document_values import check_documents
from sklda._input.types import Counts
from sklda._likelihood.held_out.fold_in import fold_in
from sklda._models.base import BaseLDA
from sklda._models.labels.dependency import fold_in_with_dependency
from sklda._models.labels.label_topics import LabelTopics
from sklda._models.labels.targets import read_known_labels

# --- Sets of labels from ranking scores -------------------------------------------------------------------------------


def top_labels(scores, numbers):
    """The highest labels of every document.

    Parameters
    ----------
    scores : ndarray of shape (n_documents, n_labels)
    numbers : ndarray of shape (n_documents,), int
        How many labels every document gets. Of equal scores the first is higher.

    Returns
    -------
    ndarray of shape (n_documents, n_labels), bool
    """
    chosen = np.zeros(scores.shape, bool)
    order = np.argsort(-scores, axis=1, kind="stable")
    np.put_along_axis(chosen, order, np.arange(scores.shape[1]) < numbers[:, None], axis=1)
    return chosen


# --- The methods of a classifier whose topics are labels: proportions, ranking scores, sets of labels -----------------


RANKING_SCORES = ("proportions", "shares")


def _has_one_label(estimator):
    """Whether `predict_proba` is there: after a fit with one label for each document.

    Several labels have no distribution over labels. Before a fit nobody knows, and a check of scikit-learn would try it
    on negative numbers.
    """
    if getattr(estimator, "multilabel_", True):
        raise AttributeError(
            f"predict_proba of {type(estimator).__name__} is there after a fit with one label for each document; with "
            "an indicator matrix, use decision_function."
        )
    return True


class LabelClassifier(ClassifierMixin, BaseLDA):
    """Base class of classifiers that predict labels by topics. A fit sets the attributes of `LabeledLDA`."""

    def fit_transform(self, X: Counts, y: Counts, *, normalize: bool = True) -> np.ndarray:
        """Find the words of labels and return the proportions of all labels: ``fit(X, y).transform(X)``.

        The labels `y` are used by the fit only; `transform` does not know them. `doc_topic_` has the proportions given
        the labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : array-like or sparse matrix of shape (n_documents, n_labels), or array-like of shape (n_documents,)
            Labels.
        normalize : bool, default=True
            Whether rows sum to one.

        Returns
        -------
        ndarray of shape (n_documents, n_labels + n_shared)

        Examples
        --------
        >>> from sklda import LabeledLDA
        >>> X = [[2, 1, 0, 0], [3, 0, 0, 0], [0, 0, 1, 2], [0, 0, 2, 1]]
        >>> y = ["fruit", "fruit", "cars", "cars"]
        >>> LabeledLDA(random_state=0).fit_transform(X, y).shape
        (4, 2)
        """
        return self.fit(X, y).transform(X, normalize=normalize)

    @property
    def components_(self) -> np.ndarray:
        """Counts of words in labels and shared topics plus eta: ndarray of shape (n_labels + n_shared, n_features).

        The fit stores only the counts that are not zero, so this is computed at every access.
        """
        return self._known_topics().components()

    @property
    def _n_features_out(self):
        return len(self._known_topics())

    def _known_topics(self):
        try:
            return LabelTopics(self._word_topic_counts_, np.float64(self.topic_word_prior_))
        except AttributeError as error:
            raise AttributeError(f"{type(self).__name__} is not fitted.") from error

    def _proportions(self, corpus, alpha, normalize):
        counts, prior = self._fold_in(corpus)
        counts += prior
        if normalize:
            counts /= counts.sum(axis=1, keepdims=True)
        return counts

    def _fold_in(self, corpus):
        """Estimates of the topic counts of documents, and their alpha."""
        phi = self._known_topics()
        options = {"n_sweeps": self.fold_in_iter, "n_jobs": self.n_jobs}
        if self.label_prior != "dependency":
            prior = self._doc_prior()
            return fold_in(corpus, phi, prior, seed=self._fold_in_seed_, **options), prior
        self._check_label_topics()
        options["n_label_tokens"] = self._n_label_tokens_ if self.dependency_sampler == "gibbs" else 0
        counts, priors = 0, 0
        for c, label_topics in enumerate(self.label_topics_):
            seed = random.key(random.child(np.random.SeedSequence(self._fold_in_seed_), 2, c))
            topics = label_topics, np.full(len(label_topics), 1 / len(label_topics))
            found = fold_in_with_dependency(
                corpus, phi, self._base_prior_[None, :], topics, self.label_weight, seed=seed, **options
            )
            counts, priors = counts + found[0], priors + found[1]
        n = len(self.label_topics_)
        return counts / n, priors / n

    def _posterior_of(self, corpus, alpha, n_draws, topic_uncertainty):
        if self.label_prior == "dependency":
            raise ValueError(
                "label_prior='dependency' has no fixed prior of the proportions, which doc_topic_posterior needs: fit "
                "with another label_prior."
            )
        return super()._posterior_of(corpus, alpha, n_draws, topic_uncertainty)

    def _check_label_topics(self):
        if not hasattr(self, "label_topics_"):
            raise ValueError("label_prior='dependency' needs the topics of labels: fit again with this label_prior.")

    def _scores(self, X):
        """Ranking scores of the labels, (n_documents, n_labels)."""
        check_is_fitted(self)
        self._validate_params()
        corpus = self._new_corpus(X)
        counts, prior = self._fold_in(corpus)
        if self.ranking_score == "shares":
            scores = counts / np.maximum(corpus.lengths, 1)[:, None] + prior / prior.sum(axis=1, keepdims=True)
        else:
            scores = counts + prior
            scores /= scores.sum(axis=1, keepdims=True)
        return scores[:, : len(self.classes_)]

    def decision_function(self, X: Counts) -> np.ndarray:
        """Ranking scores of labels; see `ranking_score`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.

        Returns
        -------
        ndarray of shape (n_documents, n_labels) or (n_documents,)
            A higher score means that the document more probably has the label. With one label per document and two
            labels in all: the score of the second label less that of the first.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X is not a matrix of counts with the features of the fit, or a parameter is out of range.

        Examples
        --------
        >>> from sklda import LabeledLDA
        >>> X = [[2, 1, 0, 0], [3, 0, 0, 0], [0, 0, 1, 2], [0, 0, 2, 1]]
        >>> y = ["fruit", "fruit", "cars", "cars"]
        >>> lda = LabeledLDA(random_state=0).fit(X, y)
        >>> (lda.decision_function([[1, 1, 0, 0], [0, 0, 1, 1]]) > 0).tolist()  # towards "fruit"
        [True, False]
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if not self.multilabel_ and scores.shape[1] == 2 else scores

    @available_if(_has_one_label)
    def predict_proba(self, X: Counts) -> np.ndarray:
        """The part of each label in the ranking scores, for a fit with one label for each document.

        With ``ranking_score="proportions"`` it is the expected share of the label in a document. It ranks labels as
        `predict` does, but is not a calibrated probability that the document has the label;
        `sklearn.calibration.CalibratedClassifierCV` gives one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.

        Returns
        -------
        ndarray of shape (n_documents, n_labels)
            Rows sum to one.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X is not a matrix of counts with the features of the fit, or a parameter is out of range.

        Examples
        --------
        >>> from sklda import LabeledLDA
        >>> X = [[2, 1, 0, 0], [3, 0, 0, 0], [0, 0, 1, 2], [0, 0, 2, 1]]
        >>> y = ["fruit", "fruit", "cars", "cars"]
        >>> lda = LabeledLDA(random_state=0).fit(X, y)
        >>> proba = lda.predict_proba([[1, 1, 0, 0], [0, 0, 1, 1]])
        >>> lda.classes_[proba.argmax(axis=1)].tolist(), proba.sum(axis=1).round(6).tolist()
        (['fruit', 'cars'], [1.0, 1.0])
        """
        scores = self._scores(X)
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: Counts) -> np.ndarray | csr_array:
        """Labels of documents.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.

        Returns
        -------
        ndarray or csr_array of shape (n_documents, n_labels), or ndarray of shape (n_documents,)
            After a fit with an indicator matrix, an indicator matrix; it is sparse if that of the fit was. Otherwise
            the label with the highest score. `label_count` has the rule for the number of labels.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X is not a matrix of counts with the features of the fit, or a parameter is out of range.
        """
        scores = self._scores(X)
        if not self.multilabel_:
            return self.classes_[scores.argmax(axis=1)]
        chosen = top_labels(scores, self._label_counts(X, len(scores)))
        return sp.csr_array(chosen, dtype=np.int64) if self._sparse_labels_ else chosen.astype(np.int64)

    def _label_counts(self, X, n_documents):
        """Number of labels of every document."""
        if isinstance(self.label_count, Integral):
            return np.full(n_documents, min(int(self.label_count), len(self.classes_)))
        if not hasattr(self, "label_count_regressor_"):
            raise ValueError("label_count needs a regression of the number of labels: fit again with it.")
        predicted = np.asarray(self.label_count_regressor_.predict(self._counts(X)), dtype=np.float64).ravel()
        if predicted.shape != (n_documents,) or not np.isfinite(predicted).all():
            raise ValueError(
                f"label_count: {self.label_count_regressor_!r} must predict one finite number for each document."
            )
        return np.clip(np.rint(predicted), *self._numbers_of_labels_).astype(int)

    def _counts(self, X):
        """X as the sparse matrix of counts that the regression of the number of labels takes."""
        return self._new_corpus(X).to_counts().astype(np.float64)

    def score(self, X: Counts, y: Counts, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy; for an indicator matrix, the share of documents with exactly the predicted set of labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : array-like or sparse matrix
            Labels, in the form of the fit.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.

        Returns
        -------
        float

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If y is malformed, has a label that the fit did not have, or has columns in another order.

        Examples
        --------
        >>> from sklda import LabeledLDA
        >>> X = [[2, 1, 0, 0], [3, 0, 0, 0], [0, 0, 1, 2], [0, 0, 2, 1]]
        >>> y = ["fruit", "fruit", "cars", "cars"]
        >>> lda = LabeledLDA(random_state=0).fit(X, y)
        >>> lda.score(X, y)
        1.0
        """
        check_is_fitted(self)
        check_documents(X, y=y, sample_weight=sample_weight)
        known = read_known_labels(y, self)
        if not self.multilabel_:
            return super().score(X, known, sample_weight)
        n_wrong = abs(sp.csr_array(self.predict(X)) - known.astype(np.int64)).sum(axis=1)
        return float(accuracy_score(n_wrong > 0, np.zeros(len(n_wrong), bool), sample_weight=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        # As MultinomialNB: the classes of the estimator checks do not differ in the shares of their words.
        tags.classifier_tags.poor_score = True
        return tags
