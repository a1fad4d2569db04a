"""The base class of the estimators: validation, a fit that succeeds or changes nothing, `transform` and `score`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Bunch, check_scalar
from sklearn.utils.validation import check_is_fitted, validate_data

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import check_prior
from sklda._description.models import check_vocabulary, known_words
from sklda._input.arguments import check_bool, check_components, check_int, check_weights
from sklda._input.dask_arrays import by_block, is_dask
from sklda._input.document_values import DocumentValues, check_documents
from sklda._input.names import check_order_of_labels, index_of
from sklda._input.types import Counts, Seed
from sklda._input.warn import warn
from sklda._likelihood.held_out.averages import mean_per_token
from sklda._likelihood.held_out.fold_in import fold_in
from sklda._likelihood.held_out.log_likelihoods import log_likelihoods
from sklda._models.checkpoints import CheckpointMixin
from sklda._models.doc_topic_posterior import DocTopicPosterior, doc_topic_posterior
from sklda._models.parameters import ParametersMixin
from sklda._models.persistence import SavedMixin
from sklda._models.progress import CallbackSupportMixin
from sklda._models.topic_names import TopicNamesMixin


def check_tokens(corpus):
    """Refuse a corpus without a token."""
    if corpus.n_tokens == 0:
        raise ValueError(
            f"X has {corpus.n_documents} documents and no token at all: there is nothing to fit. "
            "Check the vocabulary and the stop words of the vectorizer."
        )


def warn_of_single_words(corpus):
    """Warn if no document has words that occur together, as if a vectorizer took columns of a frame for documents."""
    longest = len(corpus.length_histogram) - 1
    if longest == 1:
        warn(
            "No document of X has two words, so nothing tells topics apart: they are made of words that occur together "
            "in documents. A vectorizer takes the columns of a data frame for documents: give it one column, as in "
            "df['text'], and not df or df[['text']]."
        )


class BaseLDA(
    ParametersMixin,
    CheckpointMixin,
    SavedMixin,
    TopicNamesMixin,
    TransformerMixin,
    CallbackSupportMixin,
    BaseEstimator,
    ABC,
):
    """Base class of the estimators. Each has a `fit`; that of chains is `ChainLDA._fit_corpus`."""

    # Parameters that must not change before a warm start.
    _continued: tuple[str, ...] = ()

    @abstractmethod
    def fit(self, X: Counts, y: Any = None) -> Self:
        """Find topics in a corpus."""

    @abstractmethod
    def _set_results(self, chains: Any) -> None:
        """Set the fitted attributes that come from the chains of a fit, or from what it has in their place.

        `fit` calls it at its end, and callbacks of scikit-learn call it for a copy, to see the fit as it is.
        """

    @classmethod
    def _read(cls, X):
        """The corpus of `fit`, without checks of the names of its columns."""
        return Corpus.from_counts(X)

    def _training_corpus(self, X):
        """The corpus of `fit`, after checks; its features are stored."""
        corpus = Corpus.from_counts(X, partial(validate_data, self, reset=True))
        self._check_training(corpus)
        return corpus

    def _check_training(self, corpus):
        """Refuse a corpus that cannot be fitted, and warn of one that need not be."""
        check_tokens(corpus)
        warn_of_single_words(corpus)
        self._check_words_of_prior(corpus.n_features)

    def _check_words_of_prior(self, n_features):
        """Refuse an eta whose labels are not the words of X in their order."""
        eta = getattr(self, "topic_word_prior", None)
        if index_of(eta) is not None:
            words = known_words(self, n_features)
            check_order_of_labels(eta, "topic_word_prior", range(n_features) if words is None else words)

    def _training_documents(self, X, needed=None, **values):
        """The corpus of `fit`, and the `DocumentValues` of its documents, none of which may be missing."""
        values = DocumentValues.read(X, needed=needed, **values)
        self._validate_params()
        corpus = self._training_corpus(X)
        check_documents(n_documents=corpus.n_documents, **values.given)
        values.check_complete()
        return corpus, values

    def _documents(self, X, **values):
        """The corpus of documents that are given to a fitted estimator, their `DocumentValues`, and their alpha."""
        check_is_fitted(self)
        values = DocumentValues.read(X, **values)
        self._validate_params()
        corpus = self._new_corpus(X)
        check_documents(n_documents=corpus.n_documents, **values.given)
        return corpus, values, self._prior_given(values)

    def _prior_given(self, values):
        """alpha of documents with these `DocumentValues`, (1 or n_documents, n_components)."""
        return self._doc_prior()

    def _new_corpus(self, X):
        """The corpus of documents that are given to a fitted estimator; its features are compared."""
        check_vocabulary(X, self)
        return Corpus.from_counts(X, partial(validate_data, self, reset=False))

    def _doc_prior(self):
        """alpha of documents of which nothing is known, (1, n_components)."""
        K = self._n_features_out
        prior = check_prior(self.doc_topic_prior_, "doc_topic_prior_", {"one per topic": (K,)})
        return np.broadcast_to(prior, (1, K)).copy()

    def _prior_of_training(self):
        """alpha of the documents of the fit, (1 or n_documents, n_components); 0 for topics that a document lacks."""
        return self._doc_prior()

    def _components(self):
        """`components_`, which may have been replaced since the fit; another thread may fit the estimator again."""
        check_is_fitted(self, "components_")
        return check_components(self.components_, type(self).__name__, self.n_features_in_)

    def _known_topics(self):
        """phi for the held-out functions: an array, or an object of which columns are taken."""
        return self.topic_word_

    @property
    def topic_word_(self) -> np.ndarray:
        """Topics as distributions over words: ndarray of shape (n_components, n_features). Rows sum to one."""
        components = self._components()
        return components / check_weights(components, type(self).__name__)

    def fit_transform(self, X: Counts, y: Any = None, *, normalize: bool = True) -> np.ndarray:
        """Find topics in a corpus and return the topic proportions of its documents.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        normalize : bool, default=True
            Whether rows sum to one. Otherwise they are expected topic counts plus `doc_topic_prior_`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            The same as ``fit(X).transform(X)``.

        Raises
        ------
        ValueError
            If X has a negative, missing, infinite or fractional count, if X has no token, or if a parameter is out of
            range.
        TypeError
            If a parameter has the wrong type.

        Examples
        --------
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(40, 20, 2, random_state=0).data
        >>> GibbsLDA(2, max_iter=50, random_state=0).fit_transform(X).shape
        (40, 2)
        """
        return self._fit_transform(X, y, normalize)

    def _fit_transform(self, X, y, normalize, **values):
        """`fit_transform` with values of the documents, which are read once: they may be iterators."""
        values = DocumentValues.read(X, **values)
        given = dict.fromkeys(values.given, values)
        return self.fit(X, y, **given).transform(X, normalize=normalize, **given)

    def transform(self, X: Counts, *, normalize: bool = True) -> np.ndarray:
        """Topic proportions of documents, given the topics of the fit.

        The method is Gibbs sampling with fixed topics. It begins with CVB0 on the distinct words of a document. The
        full conditional of each token is averaged over the last two thirds of `fold_in_iter` sweeps, and the result of
        CVB0 counts for 30 sweeps in this mean. With more sweeps the mean converges to the exact posterior mean. The
        random stream of a document depends only on the seed of the fit and on the words of the document. So its row
        depends neither on the other rows nor on `n_jobs`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        normalize : bool, default=True
            Whether rows sum to one. Otherwise they are expected topic counts plus `doc_topic_prior_`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            The row of a document without words is the prior mean.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X is not a matrix of counts with the features of the fit, or a parameter is out of range.

        Examples
        --------
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(40, 20, 2, random_state=0).data
        >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X[:30])
        >>> theta = lda.transform(X[30:])
        >>> theta.shape, theta.sum(axis=1).round(6).tolist() == [1] * 10
        ((10, 2), True)
        """
        return self._transform(X, normalize)

    def _transform(self, X, normalize, **values):
        """`transform` with values of the documents."""
        check_is_fitted(self)
        if is_dask(X) and all(each is None for each in values.values()):
            return by_block(partial(_transform, normalize=normalize), copy(self), X, self._n_features_out)
        corpus, _, alpha = self._documents(X, **values)
        return self._proportions(corpus, alpha, normalize)

    def _proportions(self, corpus, alpha, normalize):
        """Expected topic counts of documents given the topics, plus alpha; with `normalize`, proportions."""
        theta = self._expected_counts(corpus, alpha)
        theta += alpha
        if normalize:
            theta /= theta.sum(axis=1, keepdims=True)
        return theta

    def _expected_counts(self, corpus, alpha):
        """Expected topic counts of documents given the topics, (n_documents, n_components)."""
        return fold_in(
            corpus,
            self.topic_word_,
            alpha,
            n_sweeps=self.fold_in_iter,
            seed=self._fold_in_seed_,
            n_jobs=self.n_jobs,
        )

    def sample_posterior(self, n_draws: int = 1, random_state: Seed = None) -> Bunch:
        """Draws of the topic proportions of the training documents and of the topics, given the words.

        theta and phi are drawn from their Dirichlet distributions given draws of the topics of all tokens. All draws
        come from the chain that was kept, so its topics keep their numbers, and differences between modes of the
        posterior are not contained.

        Parameters
        ----------
        n_draws : int, default=1
            Intervals of 95 % need 500 or more; see Notes.
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None

        Returns
        -------
        sklearn.utils.Bunch
            ``doc_topic`` (n_draws, n_documents, n_components) and ``topic_word`` (n_draws, n_components,
            n_features), both in single precision.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If `n_draws` is not a positive int.

        Notes
        -----
        The extreme quantiles of few draws lie too far inside. In simulated corpora, the 2.5 % and 97.5 % quantiles of
        15 draws contained the probability of a frequent word in 84 % of the cases. Those of 100 draws contained it in
        92 %, and those of 500 draws in 94 %. More draws than the fit has kept are possible, because theta and phi are
        drawn several times given each of these.

        Examples
        --------
        >>> import numpy as np
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(40, 20, 2, random_state=0).data
        >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
        >>> draws = lda.sample_posterior(500, random_state=0)
        >>> low, high = np.quantile(draws.doc_topic, [0.025, 0.975], axis=0)
        >>> low.shape, bool((low < high).all())
        ((40, 2), True)
        """
        check_is_fitted(self)
        n_draws = check_scalar(n_draws, "n_draws", Integral, min_val=1)
        theta, phi = self._sample_posterior(n_draws, random.seed_sequence(random_state))
        return Bunch(doc_topic=theta, topic_word=phi)

    def doc_topic_posterior(
        self, X: Counts, *, n_draws: int = 100, topic_uncertainty: bool = False
    ) -> DocTopicPosterior:
        """Posterior of the topic proportions of documents: means, standard deviations and draws.

        `transform` gives one number for each topic; this method says how exact it is. Proportions of short documents
        are not exact, and those of a document of ten words may be anything.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        n_draws : int, default=100
            Number of draws of the proportions of each document. Intervals of 95 % need 39 or more.
        topic_uncertainty : bool, default=False
            Whether the topics have a new draw from their posterior every ten draws. Those are draws of the chain that
            was kept, as in `sample_posterior`. A document that the fit did not have says something about the topics
            too, so its draws are those given its words, and take about nine times as long as with fixed topics. False:
            the topics are `topic_word_`. The prior of the proportions is that of the fit in both cases.

        Returns
        -------
        DocTopicPosterior
            ``mean`` and ``std`` (n_documents, n_components), ``draws`` (n_draws, n_documents, n_components), and
            ``interval(level=0.95)``, the two ends of the intervals.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X is not a matrix of counts with the features of the fit, or a parameter is out of range.
        MemoryError
            If there are too many draws. Rows do not depend on each other, so give fewer documents at a time.

        Notes
        -----
        The draws come from the Gibbs chain of `transform`, two sweeps apart, after CVB0 and twenty sweeps. As
        there, the random stream of a document depends only on the seed of the fit and on its words. So rows depend
        neither on the other rows nor on `n_jobs`, and documents with the same words have the same draws. The means are
        near those of `transform`, of which CVB0 is a part. The standard deviations are computed from z, and have
        less noise than those of the draws. Intervals of 95 % contain the proportions of documents that the model
        describes; see the user guide.

        Examples
        --------
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
        >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
        >>> posterior = lda.doc_topic_posterior(X[:3])
        >>> low, high = posterior.interval(0.95)
        >>> posterior.mean.shape, posterior.draws.shape, bool((low < posterior.mean).all())
        ((3, 2), (100, 3, 2), True)
        """
        return self._doc_topic_posterior(X, n_draws, topic_uncertainty)

    def _doc_topic_posterior(self, X, n_draws, topic_uncertainty, **values):
        """`doc_topic_posterior` with values of the documents."""
        corpus, _, alpha = self._documents(X, **values)
        return self._posterior_of(corpus, alpha, n_draws, topic_uncertainty)

    def _posterior_of(self, corpus, alpha, n_draws, topic_uncertainty):
        seed = random.child(np.random.SeedSequence(self._fold_in_seed_), 3)
        # Their number does not depend on the documents, so that these may be given in parts.
        topics = self._draw_topic_word if check_bool(topic_uncertainty, "topic_uncertainty") else None
        return doc_topic_posterior(
            corpus,
            self._known_topics(),
            alpha,
            check_int(n_draws, "n_draws", 1),
            topics,
            seed,
            self.n_jobs,
            **({} if topics is None else self._knowledge_of_draws(corpus)),
        )

    def _knowledge_of_draws(self, corpus):
        """Which documents the draws of phi do not know, and the parameters of these draws, if there are any."""
        return {}

    def _draw_topic_word(self, n_draws, seed):
        """Iterate over draws of phi, (n_components, n_features)."""
        for i in range(n_draws):
            yield self._sample_posterior(1, random.child(seed, i))[1][0]

    @abstractmethod
    def _sample_posterior(self, n_draws, seed):
        """theta and phi of `n_draws` draws."""

    def _draw_doc_topic(self, n_draws, seed):
        """Iterate over draws of theta of the training documents."""
        for i in range(n_draws):
            yield self._sample_posterior(1, random.child(seed, i))[0][0]

    # Whether there are draws of the topics, and of the proportions of the documents of the fit.
    _has_posterior = True
    # Whether the fit learnt one alpha for all documents.
    _learns_alpha: Any = False
    # The results of chains, if these are their topics.
    _chains: Any = None

    def _has_topics(self):
        """Which topics every chain of `_draw_doc_topic` has, (n_chains, n_components)."""
        return np.ones((1, len(self.components_)), bool)

    def _known_groups(self):
        """The columns of a linear model of the proportions that the prior of theta knows, or None."""
        return None

    def score_samples(self, X: Counts) -> np.ndarray:
        """Held-out log-likelihood of documents, log p(w_d | phi, alpha).

        The method is one run of guided annealed importance sampling with 100 temperatures.
        `sklda.metrics.held_out_log_likelihood` has other methods and standard errors. The random stream of a document
        depends only on the seed of the fit and on the words of the document.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.

        Returns
        -------
        ndarray of shape (n_documents,)
            In nats, without the multinomial coefficient; 0 for a document without words.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X is not a matrix of counts with the features of the fit, or a parameter is out of range.

        Examples
        --------
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(40, 20, 2, random_state=0).data
        >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X[:30])
        >>> lda.score_samples(X[30:]).shape
        (10,)
        """
        return self._score_samples(X)

    def _score_samples(self, X, **values):
        """`score_samples` with values of the documents."""
        check_is_fitted(self)
        if is_dask(X) and all(each is None for each in values.values()):
            return by_block(_score_samples, copy(self), X, None)
        corpus, _, alpha = self._documents(X, **values)
        return self._log_likelihood(corpus, alpha)

    def _log_likelihood(self, corpus, alpha):
        """log p(w_d | phi, alpha) of documents, (n_documents,)."""
        return log_likelihoods(
            corpus,
            self._known_topics(),
            alpha,
            seed=random.child(np.random.SeedSequence(self._fold_in_seed_), 1),
            n_jobs=self.n_jobs,
        )[0]

    def score(self, X: Counts, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean held-out log-likelihood per token, in nats. Greater is better.

        It is a mean per token, so that scores of folds of different sizes can be compared.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.

        Returns
        -------
        float
            The sum of `score_samples`, divided by the number of tokens.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X is not a matrix of counts with the features of the fit, X has no token, all tokens have weight zero,
            or a weight is negative or not finite.

        Examples
        --------
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(40, 20, 2, random_state=0).data
        >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X[:30])
        >>> mean = lda.score_samples(X[30:]).sum() / X[30:].sum()
        >>> bool(abs(lda.score(X[30:]) - mean) < 1e-12)
        True
        """
        return self._score(X, sample_weight)

    def _score(self, X, sample_weight=None, **values):
        """`score` with values of the documents."""
        corpus, values, alpha = self._documents(X, sample_weight=sample_weight, **values)
        return mean_per_token(self._log_likelihood(corpus, alpha), corpus.lengths, values["sample_weight"])

    def perplexity(self, X: Counts) -> float:
        """Held-out perplexity, ``exp(-score(X))``. Smaller is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.

        Returns
        -------
        float

        Examples
        --------
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(40, 20, 2, random_state=0).data
        >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X[:30])
        >>> bool(1 < lda.perplexity(X[30:]) < 20)  # a guess among all 20 words has 20
        True
        """
        return self._perplexity(X)

    def _perplexity(self, X, **values):
        """`perplexity` with values of the documents."""
        with np.errstate(over="ignore"):
            return float(np.exp(-self._score(X, **values)))

    @property
    def _n_features_out(self):
        return len(self._components())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        # With this tag the estimator checks of scikit-learn use whole numbers.
        tags.input_tags.categorical = True
        return tags


def _transform(model, block, normalize):
    return model.transform(block, normalize=normalize) if block.shape[0] else np.empty((0, model._n_features_out))


def _score_samples(model, block):
    return model.score_samples(block) if block.shape[0] else np.empty(0)
