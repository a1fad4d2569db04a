"""The methods of an estimator that takes metadata of documents: their collections, or their covariates."""

from __future__ import annotations

from inspect import Parameter, signature, unwrap
from types import FunctionType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sklda._core.names import check_same_order
from sklda._core.types import Counts
from sklda._likelihood.held_out.averages import mean_per_token
from sklda._models.base import BaseLDA
from sklda._models.fitting import all_or_nothing
from sklda._models.progress import with_callbacks

# The words of docstrings and messages; `type` is the annotation of the argument.
COLLECTIONS = {
    "name": "collections",
    "type": "ArrayLike | None",
    "kind": "sequence of n_documents hashable labels",
    "of_fit": "The collection of every document: strings, numbers, tuples. None: one collection.",
    "later": "Labels of the fit. None, for all documents or for one: the collection is unknown, and the prior is\n"
    "            `doc_topic_prior_`.",
    "finds": "the mixture of every collection",
    "found": "mixtures",
    "prior": "gamma pi_j",
    "rows": "labels",
    "refused": "the number of labels is not the number of documents, or a label is None or NaN",
    "wrong_type": "a label is not hashable",
    "unknown": "a label is not among `collections_`",
}
COVARIATES = {
    "name": "covariates",
    "type": "Any",
    "kind": "array-like, sparse matrix or data frame with n_documents rows",
    "of_fit": "Numbers, or texts and other labels for categories. A category has a column for each level but the first"
    "\n            in order, its base. None: the prior of theta has an alpha for each topic, with a UserWarning.",
    "later": "Those of the fit. None: all documents have the mean covariates, and the prior is `doc_topic_prior_`.",
    "finds": "how their proportions depend on the covariates",
    "found": "coefficients",
    "prior": "alpha_d",
    "rows": "rows",
    "refused": "covariates have more than 1000 terms, no row for each document, or a missing or masked value",
    "wrong_type": "covariates are no array or data frame",
    "unknown": "covariates are not of the kind of the fit, or a category has a new level",
}


class MetadataLDA(BaseLDA):
    """Base class of estimators whose methods take documents and metadata of them.

    A subclass says what these are (`_metadata`), and has `document_prior(metadata)` and `_read_metadata(metadata)`. Its
    methods have the name of the metadata in their signatures, from which scikit-learn knows what to route.
    """

    _metadata: ClassVar[dict[str, str]]

    def __init_subclass__(cls, **kwargs):
        if "_metadata" in vars(cls):
            for name in ("fit", "fit_transform", "transform", "score_samples", "score", "perplexity"):
                method = _named(unwrap(getattr(MetadataLDA, name)), cls)
                setattr(cls, name, all_or_nothing(with_callbacks(method)) if name == "fit" else method)
        super().__init_subclass__(**kwargs)

    def fit(self, X: Counts, y: Any = None, **metadata: Any) -> Self:
        """Find topics in a corpus, and {finds}.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used. There is a UserWarning if y is given without `{name}`.
        {name} : {kind}, default=None
            {of_fit}

        Returns
        -------
        self : estimator
            Fitted. If anything interrupts the fit, the estimator is left as it was before.

        Raises
        ------
        ValueError
            If X is not a matrix of counts or has no token.
            If {refused}.
            If a parameter is out of range. With `warm_start`, if X, the {name} or a parameter are not those of the
            previous fit.
        TypeError
            If {wrong_type}, or a parameter is of the wrong type.
        """
        return self._find_topics(X, y, **self._checked("fit", X, metadata))

    def fit_transform(self, X: Counts, y: Any = None, *, normalize: bool = True, **metadata: Any) -> np.ndarray:
        """Find topics, and return the topic proportions: ``fit(X, {name}=z).transform(X, {name}=z)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        {name} : {kind}, default=None
            See `fit`.
        normalize : bool, default=True
            Whether rows sum to one.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
        """
        metadata = self._checked("fit_transform", X, metadata)
        return self.fit(X, y, **metadata).transform(X, **metadata, normalize=normalize)

    def transform(self, X: Counts, *, normalize: bool = True, **metadata: Any) -> np.ndarray:
        """Topic proportions of documents, given the topics and {found} found.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        {name} : {kind}, default=None
            {later}
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
            If {unknown}.
        """
        return self._proportions(X, normalize, **self._checked("transform", X, metadata))

    def score_samples(self, X: Counts, **metadata: Any) -> np.ndarray:
        """Held-out log-likelihood of documents, log p(w_d | phi, {prior}), by guided annealed importance sampling.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        {name} : {kind}, default=None
            {later}

        Returns
        -------
        ndarray of shape (n_documents,)
            Nats, without the multinomial coefficient; 0 for a document without words.
        """
        return self._score_samples(X, **self._checked("score_samples", X, metadata))[0]

    def score(self, X: Counts, y: Any = None, sample_weight: ArrayLike | None = None, **metadata: Any) -> float:
        """Mean held-out log-likelihood per token, in nats; greater is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.
        {name} : {kind}, default=None
            {later}

        Returns
        -------
        float
        """
        log_likelihood, lengths = self._score_samples(X, **self._checked("score", X, metadata))
        return mean_per_token(log_likelihood, lengths, sample_weight)

    def perplexity(self, X: Counts, **metadata: Any) -> float:
        """Held-out perplexity, ``exp(-score(X))``: smaller is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        {name} : {kind}, default=None
            {later}

        Returns
        -------
        float
        """
        with np.errstate(over="ignore"):
            return float(np.exp(-self.score(X, **self._checked("perplexity", X, metadata))))

    def _checked(self, method, X, metadata):
        """The metadata as `_read_metadata` reads them, by their name; None if they are not given.

        Another keyword of a method is refused.
        """
        name = self._metadata["name"]
        if others := metadata.keys() - {name}:
            raise TypeError(f"{type(self).__name__}.{method}() got an unexpected keyword argument {min(others)!r}.")
        values = metadata.get(name)
        if values is not None:
            check_same_order(X, values, name)
            values = self._read_metadata(values)
        return {name: values}

    def _doc_prior(self, corpus, **metadata):
        name, rows = self._metadata["name"], self._metadata["rows"]
        if metadata.get(name) is None:
            return super()._doc_prior(corpus)
        prior = self.document_prior(metadata[name])
        if len(prior) != corpus.n_documents:
            raise ValueError(f"{name} has {len(prior)} {rows}; X has {corpus.n_documents} documents.")
        return prior


def _named(method, cls):
    """A copy of a method for a class, with the name of its metadata in the signature and in the docstring."""
    words, own = cls._metadata, signature(method)
    name, code = words["name"], (method.__code__, method.__globals__, method.__name__)
    named = FunctionType(*code, method.__defaults__, method.__closure__)
    named.__kwdefaults__, named.__qualname__ = method.__kwdefaults__, f"{cls.__qualname__}.{method.__name__}"
    # Without docstrings (python -OO) it is None.
    named.__doc__ = method.__doc__ and method.__doc__.format(**words)
    added = Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=words["type"])
    parameters = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    named.__signature__ = own.replace(parameters=[*parameters, added])
    named.__annotations__ = {key: kind for key, kind in method.__annotations__.items() if key != "metadata"}
    named.__annotations__[name] = words["type"]
    return named
