"""The parts of a model that inspection reads: topics, words, shares, and the documents with their proportions."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer

from sklda._inference.arguments import check_int, distributions, real_numbers
from sklda._inference.corpus import Corpus
from sklda._inference.counts import check_matrix
from sklda._inference.warn import warn
from sklda._topic_names import distinct, topic_names
from sklda.inspection._axes import plain_text
from sklda.inspection._ranking import largest
from sklda.metrics._models import (
    check_order,
    feature_names_of,
    has_covariates,
    inner_model,
    topic_proportions,
    unwrap,
)

# Of a topic in place of its stability.
NO_TOPIC = "no words of its own"
_ADVICE = "give a fitted topic model, a pipeline that ends in one, or a pair (topic_word, doc_topic)"


@dataclass
class View:
    """A topic model as arrays, with the documents X if there are any."""

    model: Any  # the fitted model inside pipelines and searches; None for arrays
    topic_word: np.ndarray  # phi (n_components, n_features); rows sum to one
    words: list  # names of the features; column numbers if `has_names` is False
    counts: Any = None  # the documents, csr_array (n_documents, n_features) with sorted indices
    # theta of the documents, (n_documents, n_components). Rows sum to one; those of `ConsensusTopics` may sum to less.
    doc_topic: np.ndarray | None = None
    is_training: bool = False  # whether the documents are those of the fit
    collections: Any = None  # labels of the documents, for a model with collections
    has_names: bool = True
    pipelines: list = field(default_factory=list)
    names: list | None = None  # of the topics

    @property
    def n_topics(self):
        return len(self.topic_word)

    @cached_property
    def has_counts(self):
        """Whether all entries of the documents are whole numbers."""
        return self.counts is not None and bool((self.counts.data == np.floor(self.counts.data)).all())

    @cached_property
    def lengths(self):
        """Number of tokens of the documents (sum of weights, if the entries are no counts)."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64).ravel()

    @cached_property
    def word_counts(self):
        """Number of tokens of the words in the documents; None without documents."""
        return None if self.counts is None else np.asarray(self.counts.sum(axis=0), dtype=np.float64).ravel()

    @cached_property
    def whole_documents(self):
        """theta with rows that sum to one: a further column has what is assigned to no topic, if there is something."""
        rest = 1 - self.doc_topic.sum(axis=1, keepdims=True, dtype=np.float64)
        return np.hstack([self.doc_topic, np.maximum(rest, 0)]) if (rest > 1e-3).any() else self.doc_topic

    @cached_property
    def share(self):
        """Share of every topic in the tokens, (n_components,)."""
        fitted = self.of_fit("topic_share_")
        if fitted is not None:
            return np.asarray(fitted, dtype=np.float64)
        if self.doc_topic is None:
            weights = np.asarray(self.model.components_, dtype=np.float64).sum(axis=1)
            return weights / weights.sum()
        if self.counts is None or self.lengths.sum() == 0:
            return self.doc_topic.mean(axis=0)
        return self.lengths @ self.doc_topic / self.lengths.sum()

    @cached_property
    def word_share(self):
        """p(w): the share of every word in the tokens. Where X has none of a word, its probability in the model.

        Never zero, so that its logarithm is finite.
        """
        marginal = np.maximum(self.share @ self.topic_word, np.finfo(np.float64).tiny)
        if self.counts is None or self.word_counts.sum() == 0:
            return marginal
        return np.where(self.word_counts > 0, self.word_counts / self.word_counts.sum(), marginal)

    @cached_property
    def deviations(self):
        """What an error bar of a share has: the differences between chains are known only with several of them."""
        return "two standard deviations" + (" within one chain" if self.n_chains == 1 else "")

    @property
    def n_chains(self):
        """Number of chains of the fit; 0 if there are none."""
        # Merged topics have chains, but no trace of them.
        return len(getattr(self.model, "log_joint_trace_", getattr(self.model, "_chain_states_", ())))

    @cached_property
    def stability(self):
        """How alike every topic is in all chains or fits, (n_components,); None for one fit of one chain.

        NaN for topics without words of their own, also in `prevalence`.
        """
        found = getattr(self.model, "topic_stability_", None)
        return getattr(self.model, "similarity_", None) if found is None else found

    @cached_property
    def prevalence(self):
        """The part of the chains or fits that have each topic, (n_components,); None for one fit of one chain."""
        found = getattr(self.model, "topic_prevalence_", None)
        return getattr(self.model, "prevalence_", None) if found is None else found

    @cached_property
    def found_in(self):
        """In how many chains or fits every topic is found, a list of str; None for one fit of one chain.

        Empty where the prevalence is NaN.
        """
        if self.prevalence is None:
            return None
        fits = getattr(self.model, "estimators_", None)
        n, kind = (self.n_chains, "chains") if fits is None else (len(fits), "fits")
        return ["" if np.isnan(part) else f"{round(n * part)} of {n} {kind}" for part in self.prevalence]

    def of_fit(self, name):
        """An attribute that describes the documents of the fit; None if it is absent or X has other documents."""
        return getattr(self.model, name, None) if self.counts is None or self.is_training else None


def view(model, X=None, feature_names=None, *, collections=None, names=None):
    """Read a model in any form that the functions of this package take: a `View`.

    Without `feature_names` the words are those of the steps before the model in a pipeline, ``feature_names_in_``, or
    column numbers. Without `names` the topics have those of the model.
    """
    found = _view(model, X, feature_names, collections)
    found.names = topic_names(found.model, found.n_topics, names)
    return found


def _view(model, X, feature_names, collections):
    check_order(X, model)
    if isinstance(model, tuple):
        if collections is not None:
            raise TypeError("arrays have no collections: do not give any.")
        return _of_arrays(model, X, feature_names)
    outer = model
    model, X = inner_model(model, X, advice=_ADVICE)
    if collections is not None and not hasattr(model, "collections_"):
        raise TypeError(f"{type(model).__name__} has no collections: do not give any.")
    pipelines = unwrap(outer)[1]
    topic_word = distributions(model.components_, f"components_ of the {type(model).__name__}")
    hashed = any(isinstance(step, HashingVectorizer) for each in pipelines for _, step in each.steps)
    if hashed and feature_names is None:
        warn("The columns of HashingVectorizer have no words, so words are column numbers. Use CountVectorizer.")
    words, has_names = _names(feature_names, feature_names_of(outer), topic_word.shape[1])
    found = View(model, topic_word, words, collections=collections, has_names=has_names, pipelines=pipelines)
    if X is None:
        return found
    found.counts = read_documents(X, topic_word.shape[1], model)
    found.is_training = _is_training(model, found.counts)
    if found.is_training and getattr(model, "doc_topic_", None) is not None:
        found.doc_topic = model.doc_topic_
    else:
        # Those of a consensus are in its fits.
        if any(map(has_covariates, [model, *getattr(model, "estimators_", ())])):
            warn(
                f"X is not the X of the fit, so the documents have the mean covariates of the {type(model).__name__}. "
                "The pair (model.topic_word_, model.transform(X, covariates=...)) has their own."
            )
        known = {} if collections is None else {"collections": collections}
        found.doc_topic = topic_proportions(model, X, **known)
    return found


def view_documents(model, X, feature_names=None, *, collections=None, names=None):
    """`view` for functions that need documents: X, or for arrays at least theta."""
    found = view(model, X, feature_names, collections=collections, names=names)
    if found.doc_topic is None and getattr(found.model, "doc_topic_", None) is not None:
        found.doc_topic = found.model.doc_topic_
    if found.doc_topic is None:
        raise ValueError(f"X is None, and {type(found.model).__name__} keeps no documents: give X.")
    return found


def read_documents(X, n_features, model=None):
    """Documents as csr_array with sorted indices; ValueError if they have negative values or other features."""
    X = sp.csr_array(check_matrix(X, ensure_non_negative=True, input_name="X"))
    if X.shape[1] != n_features:
        name = "topic_word" if model is None else f"the {type(model).__name__}"
        raise ValueError(f"X has {X.shape[1]} features; {name} has {n_features}.")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _of_arrays(pair, X, feature_names):
    if len(pair) != 2:
        raise ValueError(f"model is a tuple of {len(pair)}; a model given as arrays is a pair (topic_word, doc_topic).")
    topic_word = distributions(pair[0], "topic_word")
    doc_topic = real_numbers(pair[1], "doc_topic")
    if doc_topic.ndim != 2 or doc_topic.shape[1] != len(topic_word):
        raise ValueError(
            f"doc_topic has shape {doc_topic.shape}; with {len(topic_word)} topics it must be "
            f"(n_documents, {len(topic_word)})."
        )
    if len(doc_topic) == 0:
        raise ValueError("doc_topic has no document: it needs at least one row.")
    doc_topic = distributions(doc_topic, "doc_topic")
    words, has_names = _names(feature_names, None, topic_word.shape[1])
    found = View(None, topic_word, words, doc_topic=doc_topic, has_names=has_names)
    if X is not None:
        found.counts = read_documents(X, topic_word.shape[1])
        if found.counts.shape[0] != len(doc_topic):
            raise ValueError(f"X has {found.counts.shape[0]} documents; doc_topic has {len(doc_topic)}.")
    return found


def _names(feature_names, known, n_features):
    """Names of the features, given or known, and whether there are any."""
    feature_names = known if feature_names is None else feature_names
    if feature_names is None:
        return [str(v) for v in range(n_features)], False
    if isinstance(feature_names, (str, bytes)) or not hasattr(feature_names, "__len__"):
        raise TypeError(f"feature_names must hold a name for every feature, got {feature_names!r}.")
    if len(feature_names) != n_features:
        raise ValueError(f"feature_names has {len(feature_names)} names; the model has {n_features} features.")
    return [str(name) for name in feature_names], True


def _is_training(model, counts):
    """Whether the documents are those of the fit: their tokens have the same hash."""
    stored = getattr(model, "_fingerprint_", None)
    if stored is None or (counts.data != np.floor(counts.data)).any():
        return False
    return Corpus.from_counts(counts).fingerprint == stored


def topic_label(view, k, n_words=3):
    """The number of a topic, with its name or else its most probable words, as plots show it."""
    words = [view.words[v] for v in largest(view.topic_word[k], check_int(n_words, "n_words", 1))]
    return plain_text(f"{k}: {' '.join(words) if view.names is None else view.names[k]}", 60)


def with_names(view, topics):
    """The first columns of a table with a row for each of `topics`: their numbers, and names if they have some."""
    columns = {"topic": topics}
    return columns if view.names is None else columns | {"name": [view.names[k] for k in topics]}


def topic_columns(view, taken=()):
    """Names of the columns of a table that has one for each topic, none of which is `taken`."""
    return [f"topic_{k}" for k in range(view.n_topics)] if view.names is None else distinct(view.names, taken)


def document_labels(names, n_documents, what="document_names"):
    """Names of documents as strings; their row numbers, ints, if `names` is None."""
    if names is None:
        return list(range(n_documents))
    if isinstance(names, (str, bytes)) or not hasattr(names, "__len__") or getattr(names, "ndim", 1) != 1:
        raise TypeError(f"{what} must hold one value for every document, got {names!r}.")
    if len(names) != n_documents:
        raise ValueError(f"{what} has {len(names)} values; there are {n_documents} documents.")
    return [str(name) for name in names]
