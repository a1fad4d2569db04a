"""What every estimator shares: validation, the fit that succeeds or changes nothing, transform."""

from abc import ABC, abstractmethod
from functools import partial, wraps
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from sklda._callbacks import CallbackSupportMixin, with_callbacks
from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.held_out.fold_in import fold_in
from sklda._inference.held_out.methods import log_likelihoods, per_token
from sklda._inference.parallel import hears_interrupts
from sklda._inference.priors import Priors
from sklda._inference.sampling.point_estimates import estimate_counts


def _all_or_nothing(fit):
    """Whatever interrupts the fit, Ctrl-C included, the estimator is then as it was before."""

    @wraps(fit)
    def guarded(self, *args, **kwargs):
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            # One store, for another interrupt may come at any call.
            self.__dict__ = before
            raise

    return hears_interrupts(guarded)


class BaseLDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator, ABC):
    """Template of the estimators: children say how topics are found, in `_fit`."""

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "doc_topic_prior": [None, Interval(Real, 0, None, closed="neither"), "array-like"],
        "topic_word_prior": [None, Interval(Real, 0, None, closed="neither"), "array-like"],
        "fold_in_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    @_all_or_nothing
    @with_callbacks
    def fit(self, X, y=None):
        """Find topics in a corpus.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts: non-negative whole numbers of any dtype, as from `CountVectorizer`. Documents may be empty.
        y : None
            Not used.

        Returns
        -------
        self : estimator
            Fitted. If anything interrupts the fit, Ctrl-C included, the estimator is left as it was before.

        Raises
        ------
        ValueError
            If X holds a negative, missing, infinite or fractional count (the first is named) or no token at all, or a
            parameter is out of range.
        TypeError
            If a parameter is of the wrong type.
        """
        return self._find_topics(X, y)

    def _find_topics(self, X, y, **metadata):
        """What `fit` does; `_fit` also gets `metadata`, such as the collections of the documents."""
        self._validate_params()
        corpus = self._corpus(X, reset=True)
        if corpus.n_tokens == 0:
            raise ValueError(
                f"X has {corpus.n_documents} documents and no token at all: there is nothing to fit. "
                "Check the vocabulary and the stop words of the vectorizer."
            )
        fitted = self._fit(corpus, {"X": X, "y": y}, **metadata)
        # Nothing that an earlier fit found stays: all of it, private or not, has a name that ends in an underscore.
        for name in [name for name in vars(self) if name.endswith("_") and not name.endswith("_in_")]:
            delattr(self, name)
        vars(self).update(fitted)
        return self

    @abstractmethod
    def _fit(self, corpus, data):
        """Fitted attributes, as a dict; callbacks get the X and y in `data`."""

    def _priors(self, corpus):
        """The priors of `corpus` (the kernels' form), and the values that go into the fitted attributes."""
        given = {name: getattr(self, name) for name in ("doc_topic_prior", "topic_word_prior")}
        given = {name: 1.0 / self.n_components if value is None else value for name, value in given.items()}
        priors = Priors.make(**given, n_components=self.n_components, n_features=corpus.n_features)
        # Copies: what the user does to his arrays after the fit does not reach the estimator.
        return priors, {
            name + "_": np.array(value, dtype=np.float64) if np.ndim(value) else float(value)
            for name, value in given.items()
        }

    def _trace_attributes(self, chains):
        """What the chains were like, and which has the best log joint over the last half of its sweeps."""
        trace = np.full((len(chains), max(len(each.trace) for each in chains)), np.nan)
        for row, each in zip(trace, chains, strict=True):
            row[: len(each.trace)] = each.trace
        best = int(np.argmax([np.mean(chain.trace[len(chain.trace) // 2 :]) for chain in chains]))
        return {"log_joint_trace_": trace, "n_iter_": trace.shape[1], "best_chain_": best}

    def _topic_attributes(self, chain):
        """Topics and topic proportions by the present draw of a chain."""
        doc_topic, topic_word = estimate_counts(
            chain.corpus,
            chain.priors,
            chain.topics,
            chain.word_topic_counts,
            chain.topic_totals,
            self.point_estimate,
        )
        doc_topic += chain.priors.doc
        doc_topic /= doc_topic.sum(axis=1, keepdims=True)
        topic_word += chain.priors.topic_word()
        return {"components_": topic_word, "doc_topic_": doc_topic, "topic_assignments_": chain.topics.copy()}

    def _check_same_corpus(self, corpus):
        """Whether the states of the previous fit are about this corpus."""
        if corpus.fingerprint != self._fingerprint_:
            raise ValueError(
                "warm_start=True goes on with the X of the previous fit, and this X is another. "
                "Fit with warm_start=False, or clone the estimator, to start anew."
            )

    def _check_same_parameters(self, before):
        """Whether parameters are as they were `before`, a dict by name."""
        for name, value in before.items():
            if not np.array_equal(getattr(self, name), value):
                raise ValueError(
                    f"warm_start=True goes on with {name}={value!r}, and {name} is now {getattr(self, name)!r}. "
                    "Fit with warm_start=False to start anew."
                )

    def _corpus(self, X, *, reset):
        return Corpus.from_counts(X, partial(validate_data, self, reset=reset))

    def _doc_prior(self, corpus):
        """alpha of documents, (1 or n_documents, n_components)."""
        return np.broadcast_to(np.float64(self.doc_topic_prior_), (1, len(self.components_))).copy()

    @property
    def topic_word_(self):
        """Topics as distributions over words: ndarray of shape (n_components, n_features), rows sum to one."""
        return self.components_ / self.components_.sum(axis=1, keepdims=True)

    def fit_transform(self, X, y=None, *, normalize=True):
        """Find topics in a corpus and return the topic proportions of its documents.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        normalize : bool, default=True
            Whether rows sum to one; otherwise they are expected topic counts plus `doc_topic_prior_`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            The same as ``fit(X).transform(X)``.

        Raises
        ------
        ValueError, TypeError
            As `fit`.
        """
        return self.fit(X, y).transform(X, normalize=normalize)

    def transform(self, X, *, normalize=True):
        """Topic proportions of documents, given the topics found.

        Gibbs sampling with the topics fixed; each token's full conditional is averaged over the last two thirds of
        `fold_in_iter` sweeps. Every document draws from a stream of its own, keyed by the seed of the fit and by the
        document's words, so its row depends neither on the other rows nor on `n_jobs`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        normalize : bool, default=True
            Whether rows sum to one; otherwise they are expected topic counts plus `doc_topic_prior_`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            A document without words gets the prior mean.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X is not a matrix of counts with the features of the fit, or a parameter is out of range.
        """
        return self._proportions(X, normalize)

    def _proportions(self, X, normalize, **metadata):
        """What `transform` does; `_doc_prior` also gets `metadata`."""
        check_is_fitted(self)
        self._validate_params()
        corpus = self._corpus(X, reset=False)
        alpha = self._doc_prior(corpus, **metadata)
        theta = alpha + fold_in(
            corpus,
            self.topic_word_,
            alpha,
            n_sweeps=self.fold_in_iter,
            seed=self._fold_in_seed_,
            n_jobs=self.n_jobs,
        )
        return theta / theta.sum(axis=1, keepdims=True) if normalize else theta

    def score_samples(self, X):
        """Held-out log-likelihood of documents, log p(w_d | phi, alpha).

        One run of guided annealed importance sampling with 100 temperatures; see
        `sklda.metrics.held_out_log_likelihood` for other methods and for standard errors. Every document's stream is
        keyed by the seed of the fit and by its words.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.

        Returns
        -------
        ndarray of shape (n_documents,)
            Nats, without the multinomial coefficient; 0 for a document without words.
        """
        return self._score_samples(X)[0]

    def _score_samples(self, X, **metadata):
        """log p(w_d | phi, alpha) of the documents, and their lengths; `_doc_prior` also gets `metadata`."""
        check_is_fitted(self)
        self._validate_params()
        corpus = self._corpus(X, reset=False)
        log_likelihood = log_likelihoods(
            corpus,
            self.topic_word_,
            self._doc_prior(corpus, **metadata),
            seed=random.child(np.random.SeedSequence(self._fold_in_seed_), 1),
            n_jobs=self.n_jobs,
        )[0]
        return log_likelihood, corpus.lengths

    def score(self, X, y=None, sample_weight=None):
        """Mean held-out log-likelihood per token, in nats: folds of different sizes compare, and greater is better.

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
            Sum of `score_samples` over the number of tokens.

        Raises
        ------
        ValueError
            If X has no token, all tokens have weight zero, or a weight is negative or not finite.
        """
        return per_token(*self._score_samples(X), sample_weight)

    def perplexity(self, X):
        """Held-out perplexity, ``exp(-score(X))``: smaller is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.

        Returns
        -------
        float
        """
        with np.errstate(over="ignore"):
            return float(np.exp(-self.score(X)))

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        # Makes the estimator checks feed whole numbers, as counts are.
        tags.input_tags.categorical = True
        return tags
