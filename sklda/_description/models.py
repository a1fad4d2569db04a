"""The arrays of a model, from a fitted estimator, a pipeline, a search or a pair of arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.decomposition import NMF, MiniBatchNMF
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from sklda._core.priors import check_prior
from sklda._core.same_topics import has_own_words
from sklda._input.arguments import real_numbers
from sklda._input.counts import holds_texts
from sklda._input.dask_arrays import is_dask
from sklda._input.document_values import number_of_documents
from sklda._input.names import (
    check_order_of_words,
    find_words,
    is_missing,
    listed,
    python_value,
    read_vocabulary,
    read_words,
)

_ADVICE = (
    "give a fitted topic model, a pipeline that has one, or a pair (topic_word, doc_topic), for likelihoods and priors "
    "a pair (topic_word, doc_topic_prior)"
)


# What a description may say besides a model and documents.
_NAMES = "vocabulary", "topic_names", "document_names", "collections", "covariates"


@dataclass(frozen=True, eq=False, repr=False)
class Description:
    """A model with what is known of its words, topics and documents. `sklda.inspection.describe` makes it.

    All functions of `sklda.metrics` and `sklda.inspection` take it in place of the model.
    """

    estimator: Any
    X: Any = None
    vocabulary: Any = None
    topic_names: Any = None
    document_names: Any = None
    collections: Any = None
    covariates: Any = None
    said: set[str] = field(default_factory=set, init=False)  # warnings of its documents

    def __repr__(self) -> str:
        estimator = self.estimator
        kind = "pair of arrays" if isinstance(estimator, tuple) else type(unwrap(estimator)[0]).__name__
        if isinstance(estimator, Pipeline):
            kind = f"Pipeline with a {kind}"
        known = [name for name in _NAMES if getattr(self, name) is not None]
        n = None if self.X is None else number_of_documents(self.X)
        documents = "" if self.X is None else f", {'documents' if n is None else f'{n:,} documents'}"
        return f"<description of a {kind}{documents}{''.join(f', {name}' for name in known)}>"

    @classmethod
    def of(cls, model: Any, X: Any = None) -> Self:
        """That of any model, with the X that is given, if there is one. Names of documents belong to their X."""
        if not isinstance(model, cls):
            return cls(model, X)
        if X is None or X is model.X or (model.X is not None and hash_of_documents(X) == hash_of_documents(model.X)):
            return model
        return cls(model.estimator, X, model.vocabulary, model.topic_names)


def hash_of_documents(X):
    """A hash of documents, which is the same for equal ones in whatever form; NaN if they cannot be compared."""
    if hasattr(X, "__iter__") and not hasattr(X, "__len__") and not hasattr(X, "shape"):
        # An iterator, which can be read once.
        return np.nan
    if is_dask(X):
        return X.name
    if getattr(X, "ndim", 1) == 1 and not sp.issparse(X) and all(isinstance(text, str) for text in X):
        return joblib.hash(list(map(str, X)))
    try:
        counts = sp.csr_array(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=np.float64, copy=True)
    except (TypeError, ValueError):
        return joblib.hash(X)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return joblib.hash((counts.shape, counts.indptr.astype(np.int64), counts.indices.astype(np.int64), counts.data))


def topic_weights(X, model):
    """Weights of words in topics, neither normalised nor checked, and X as the model receives it.

    The model is an estimator, a pipeline, a pair (topic_word, doc_topic_prior), or the weights themselves.
    """
    check_order(X, model)
    described = Description.of(model, X)
    model, X = described.estimator, described.X
    if isinstance(model, tuple) and len(model) == 2 and np.ndim(model[0]) == 2:
        return model[0], X
    if not any(hasattr(model, name) for name in ("components_", "best_estimator_", "fit")):
        if isinstance(model, Mapping) or holds_texts(model):
            return _weights_of_words(model, X, described.vocabulary), X
        return model, X
    model, X = inner_model(model, X)
    return model.components_, X


def _weights_of_words(topics, X, vocabulary):
    """Weights of topics that are lists of words, such as those of another tool: the first word has the largest."""
    if not isinstance(topics, (list, tuple)) or not all(
        isinstance(words, (list, tuple)) and all(isinstance(word, str) for word in words) for words in topics
    ):
        raise TypeError("topics that are words must be a list with a list of str for each topic, the best word first.")
    known = getattr(X, "columns", None) if vocabulary is None else vocabulary
    if known is None:
        raise TypeError(
            "the topics are words, and nothing says which columns of X these are: give X as a data frame, or "
            "describe(topics, vocabulary=vectorizer.get_feature_names_out())."
        )
    n_features = len(known) if X is None else X.shape[1] if hasattr(X, "shape") else len(X[0])
    columns = read_vocabulary(known, "vocabulary", n_features)
    weights = np.zeros((len(topics), n_features))
    for k, words in enumerate(topics):
        found = find_words(words, columns, f"topic {k}")
        weights[k, found] = np.arange(len(found), 0, -1)
    return weights


def topics_with_words(model, weights):
    """Which topics have words of their own; of a model whose topics have no prior, have any words.

    `weights` are the ``components_`` of the model. The result is (n_components,) bool.
    """
    prior = getattr(model, "topic_word_prior_", None)
    return weights.any(axis=1) if prior is None else has_own_words(weights, prior)


def shares_of(model, weights):
    """Shares of the topics in the tokens, (n_components,); of a model that has none, parts of the weights of words."""
    share = getattr(model, "topic_share_", None)
    if share is not None and np.shape(share) == (len(weights),):
        return np.asarray(share, dtype=np.float64)
    sums = np.sum(np.asarray(weights, dtype=np.float64), axis=1)
    return sums / sums.sum()


def check_order(X, model):
    """Raise a TypeError if X is a model and the model is not: the arguments have been exchanged."""
    if _is_model(X) and not _is_model(model):
        shown = type(model).__name__
        raise TypeError(f"X is a {type(X).__name__} and the model is a {shown}: the two arguments are exchanged.")


def _is_model(value):
    return isinstance(value, BaseEstimator) or any(hasattr(value, each) for each in ("components_", "best_estimator_"))


def inner_model(model, X, attribute="components_", advice=_ADVICE, missing="raise"):
    """The fitted model inside pipelines and searches, and X as this model receives it.

    A NotFittedError or TypeError with this `advice` if the model has no such attribute; a ValueError if X has other
    column names than the X of the fit, or has them in another order. X may be None.
    """
    check_order(X, model)
    model, pipelines = unwrap(model)
    if not hasattr(model, attribute):
        if hasattr(model, "fit") and hasattr(model, "transform"):
            check_is_fitted(model)
        raise TypeError(f"{type(model).__name__} has no {attribute}: {advice}.")
    if X is None:
        return model, X
    for pipeline in pipelines:
        if len(pipeline) > 1:
            X = pipeline[:-1].transform(input_of(pipeline[0], X, missing))
    check_names(X, model)
    return model, X


def input_of(step, X, missing="raise"):
    """What the first step of a pipeline gets: X, or the texts of a vectorizer; missing ones are empty, or refused."""
    if not hasattr(step, "build_analyzer") or isinstance(X, str) or not hasattr(X, "__iter__"):
        return X
    if getattr(X, "ndim", 1) == 2 and hasattr(X, "columns"):
        # The vectorizer would take its columns for documents, and the words in their names for texts.
        raise ValueError(
            f"X is a data frame, and {type(step).__name__} takes its columns for documents: give the one with the "
            "texts, as in df['text'], and not df[['text']]."
        )
    if getattr(X, "ndim", 1) != 1:
        raise TypeError(
            f"X has rows and columns, and {type(step).__name__} takes texts, one for each document: give these, or the "
            "last step of the pipeline in its place, which takes counts."
        )
    texts = [text if isinstance(text, str) or text is np.ma.masked else python_value(text) for text in X]
    lacks = {d for d, text in enumerate(texts) if not isinstance(text, (str, bytes)) and is_missing(text)}
    if lacks and missing == "raise":
        raise ValueError(
            f"the text is missing in documents {listed(sorted(lacks))}: give '' for one without words, or leave these "
            "out of X and of all values of its documents."
        )
    return ["" if d in lacks else text for d, text in enumerate(texts)]


def check_names(X, model):
    """Raise a ValueError if X has other column names than the fit, or another order, as estimators do."""
    check_vocabulary(X, model)
    if isinstance(model, BaseEstimator) or hasattr(model, "feature_names_in_"):
        # Only the class, for messages, and the names: other checks of X are not the model's.
        fitted = type(type(model).__name__, (BaseEstimator,), {})()
        if hasattr(model, "feature_names_in_"):
            fitted.feature_names_in_ = model.feature_names_in_
        validate_data(fitted, X, reset=False, skip_check_array=True, ensure_2d=False)


def check_vocabulary(X, model):
    """A ValueError if X has the words of the model's `vocabulary` in other columns."""
    if not hasattr(model, "feature_names_in_") and len(getattr(X, "shape", ())) == 2:
        check_order_of_words(X, known_words(model, X.shape[1]))


def unwrap(model):
    """The topic model inside pipelines and searches, and the pipelines that end in it, outermost first."""
    pipelines = []
    while True:
        if isinstance(model, (Description, FrozenEstimator)):
            model = model.estimator
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, Pipeline):
            pipelines.append(up_to_topics(model))
            model = pipelines[-1][-1]
        else:
            return model, pipelines


def up_to_topics(pipeline):
    """A pipeline without what stands behind its topic model, such as a classifier."""
    for n in range(len(pipeline), 0, -1):
        if hasattr(unwrap(pipeline[n - 1])[0], "components_"):
            return pipeline[:n]
    return pipeline


def words_of(model, n_features):
    """Words of the columns, a list of n_features str: those of a description, or of its model; None without any.

    An error if a description has others than the model, or another number of them.
    """
    given, known = Description.of(model).vocabulary, known_words(model, n_features)
    return known if given is None else read_words(given, "vocabulary", n_features, known)


def known_words(model, n_features):
    """Words of a model, a list of n_features str; None if they are not known.

    They are those of its `vocabulary`, of the fit, or of the steps before it in pipelines.
    """
    model, pipelines = unwrap(model)
    names = getattr(model, "feature_names_in_", None)
    if getattr(model, "vocabulary", None) is not None:
        try:
            words = {column: word for word, column in columns_of_words(model, n_features).items()}
            names = [words[column] for column in range(n_features)]
        except (KeyError, TypeError, ValueError):
            # It may have the seed words alone.
            pass
    # A pipeline that has only the model changes no names.
    steps = next((each[:-1] for each in reversed(pipelines) if len(each) > 1), None)
    if names is None and steps is not None:
        names = names_of_steps(steps)
    if names is not None:
        return [str(name) for name in names]
    # Merged topics have the words of their model, and common topics those of their estimator.
    inner = getattr(model, "model", getattr(model, "estimator", None))
    return None if inner is None else known_words(inner, n_features)


def columns_of_words(model, n_features, n_documents=None):
    """The column of every word, a dict: by `vocabulary`, then by the names of columns in the fit; None without both."""
    fitted, given = getattr(model, "feature_names_in_", None), model.vocabulary
    names = fitted if given is None else given
    if names is None:
        return None
    if not isinstance(names, Mapping) and n_documents == np.size(names) != n_features:
        raise ValueError(
            f"vocabulary has {n_documents} words, as many as X has rows: each row of X is a document, or a cell. Give "
            "X.T."
        )
    columns = read_vocabulary(names, "vocabulary", n_features, fitted)
    if fitted is None:
        return columns
    # The vocabulary may have some words only.
    named = set(columns.values())
    return {str(name): j for j, name in enumerate(fitted) if j not in named} | columns


def names_of_steps(steps):
    """Names of the columns that a fitted pipeline makes; None if a step has no names, such as a function."""
    try:
        return steps.get_feature_names_out()
    except (AttributeError, ValueError):
        return None


def topic_proportions(model, X, **known):
    """theta of documents by the model's own `transform`, (n_documents, n_components). Rows sum to one.

    Those of `ConsensusTopics`, which has `unassigned_`, are left as they are. `known` has more arguments of
    `transform`. A TypeError if the model has none, or it returns no numbers.
    """
    if not hasattr(model, "transform"):
        raise TypeError(f"{type(model).__name__} has no transform, so it gives no topic proportions of X.")
    weights = real_numbers(model.transform(X, **known), "the topic proportions")
    if isinstance(model, (NMF, MiniBatchNMF)):
        # Part of a document's weight that each component explains: rows of components_ have different sums.
        weights = weights * model.components_.sum(axis=1)
    sums = weights.sum(axis=1, keepdims=True)
    if np.allclose(sums, 1) or hasattr(model, "unassigned_"):
        return weights
    return np.where(sums > 0, weights / np.where(sums > 0, sums, 1), 1 / weights.shape[1])


def check_arrays(topic_word, doc_topic_prior, corpus):
    """phi (K, V) and alpha (1 or D, K) as float64 arrays."""
    topic_word = real_numbers(topic_word, "topic_word")
    if topic_word.ndim != 2 or topic_word.shape[1] != corpus.n_features:
        raise ValueError(
            f"topic_word has shape {topic_word.shape}; X has {corpus.n_features} features, so it must be "
            f"(n_components, {corpus.n_features})."
        )
    if not len(topic_word):
        raise ValueError("topic_word has no topic: it needs at least one row.")
    if not (np.isfinite(topic_word).all() and (topic_word >= 0).all()):
        raise ValueError(
            "topic_word holds negative, NaN or infinite values; its rows must be distributions over words."
        )
    sums = topic_word.sum(axis=1)
    if not np.allclose(sums, 1, rtol=1e-4):
        k = int(np.argmax(np.abs(sums - 1)))
        raise ValueError(f"topic_word[{k}] sums to {sums[k]:g}, not 1: divide rows by their sums.")
    shapes = {"one per topic": (len(topic_word),), "documents, topics": (corpus.n_documents, len(topic_word))}
    alpha = np.asarray(check_prior(doc_topic_prior, "doc_topic_prior", shapes))
    wide = np.broadcast_to(alpha, (*alpha.shape[:-1], len(topic_word))).reshape(-1, len(topic_word))
    return topic_word, np.ascontiguousarray(wide)


def refuse_covariates(model):
    """A TypeError if the prior of a document depends on its covariates, which the caller does not know."""
    if has_covariates(model):
        raise TypeError(
            f"in the {type(model).__name__}, alpha of a document depends on its covariates: give "
            f"describe(lda, X, covariates=...), where lda is the fitted {type(model).__name__}, or a ConsensusTopics "
            "of such fits. Held-out scores also take covariates=. lda.doc_topic_prior_ is alpha at the mean covariates."
        )


def has_covariates(model):
    """Whether alpha of a document depends on its covariates."""
    return len(getattr(model, "covariate_names_", ())) > 0
