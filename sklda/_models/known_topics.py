"""Known topics, as they are given to a fit: their distributions over the words of X, their weights, and their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from pandas import DataFrame
from sklearn.utils.validation import check_is_fitted

from sklda._core.known_topic_priors import LARGEST_WEIGHT, KnownTopics
from sklda._core.priors import dirichlet_variance
from sklda._description.models import Description, unwrap, words_of
from sklda._input.arguments import real_numbers
from sklda._input.names import (
    check_order_of_labels,
    distinct,
    in_memory,
    index_of,
    listed,
    python_value,
    read_column,
    topic_names,
)
from sklda._input.warn import warn
from sklda._models.results import ChainResults
from sklda._sampling.draws import topic_word_std_by_documents

LEARN = "learn"
# The first value of a learnt weight, as a share of the tokens of a topic of mean size. With .01 to .1,
# benchmarks/bench_known_topics.py lost no known topic. With .3, four of 24 went to a new topic where there was one too
# many. With .001, known topics of a large vocabulary were lost.
_FIRST_SHARE = 0.03
# Words that a message names.
_MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class _GivenRows:
    """Distributions of known topics over their own words."""

    topic_word: np.ndarray
    std: np.ndarray
    words: list[str] | None
    names: list[str] | None

    def name(self, k):
        return repr(self.names[k]) if self.names else str(k)


def read_known_topics(known_topics: Any, known_weight: Any, n_components: int, corpus, columns) -> KnownTopics:
    """Known topics over the words of X, with a message about words that only one side has.

    Parameters
    ----------
    known_topics : fitted model, pipeline, data frame or array-like of shape (n_known, n_words)
    known_weight : "learn", float, sequence or dict of these
    n_components : int
    corpus : Corpus
    columns : dict of {str: int} or None
        The column of each word of X. None: unknown.

    Raises
    ------
    ValueError, TypeError
        If the topics are not distributions, there are more of them than `n_components`, words cannot be compared, a
        topic has no word of X, or a weight is out of range.
    """
    known_topics = in_memory(known_topics)
    if hasattr(known_topics, "columns") and not hasattr(known_topics, "index"):
        # polars
        known_topics = DataFrame({name: list(known_topics[name]) for name in known_topics.columns})
    _refuse_words_as_rows(known_topics, columns, corpus.n_features)
    rows = _rows_of(known_topics)
    n_known = len(rows.topic_word)
    if n_known > n_components:
        raise ValueError(
            f"known_topics has {n_known} topics, and n_components={n_components}: it is the number of all topics, "
            "known and new."
        )
    weights, learnt = _weights_of(known_weight, rows, corpus.n_tokens / n_components)
    place = _columns_of(rows, columns, corpus.n_features)
    topic_word, std = _over_columns(rows, place, corpus, np.isinf(weights))
    if columns is not None:
        _tell_of_words(rows, place, corpus, columns)
    if n_known == n_components and np.isinf(weights).all():
        _refuse_impossible_words(topic_word, corpus, columns)
    names = None
    if rows.names is not None:
        names = distinct([*rows.names, *(f"new {j}" for j in range(n_components - n_known))])
    return KnownTopics(topic_word, weights, learnt, std, names)


def _refuse_words_as_rows(known_topics, columns, n_features):
    """A ValueError for tables with a row for each word, and for frames with a column of texts."""
    advice = "a row of known_topics is a topic"
    if not hasattr(known_topics, "columns") or not hasattr(known_topics, "index"):
        shape = np.shape(known_topics) if isinstance(known_topics, (np.ndarray, list)) else ()
        if len(shape) == 2 and shape[0] == n_features != shape[1]:
            raise ValueError(
                f"known_topics has {shape[0]} rows, as many as X has words; {advice}: give known_topics.T."
            )
        return
    for place, name in enumerate(known_topics.columns):
        column = known_topics.iloc[:, place] if hasattr(known_topics, "iloc") else known_topics[name]
        if any(isinstance(value, str) for value in column):
            raise ValueError(
                f"column {name!r} of known_topics has texts. If they are words, {advice}: give "
                f"known_topics.set_index({name!r}).T."
            )
    known = columns or {}
    if any(word in known for word in known_topics.index) and not any(word in known for word in known_topics.columns):
        raise ValueError(f"the index of known_topics has words of X; {advice}: give known_topics.T.")


def _rows_of(known_topics):
    """The distributions, with their errors and the names of their words and topics where these are known."""
    std = None
    if hasattr(known_topics, "columns") and hasattr(known_topics, "index") and hasattr(known_topics, "to_numpy"):
        values = known_topics.to_numpy()
        words, names = list(map(python_value, known_topics.columns)), list(map(python_value, known_topics.index))
        if _has_texts(words):
            words = _texts(words, "columns of known_topics", "the words")
        else:
            check_order_of_labels(known_topics, "known_topics", range(len(words)))
            words = None
        names = _texts(names, "the index of known_topics", "the topics") if _has_texts(names) else None
    elif hasattr(known_topics, "fit") or isinstance(known_topics, (Description, type)):
        model = unwrap(known_topics)[0]
        if isinstance(model, type) or not hasattr(model, "components_"):
            if hasattr(model, "transform") and not isinstance(model, type):
                _check_is_fitted(model)
            raise TypeError(
                f"known_topics has a {getattr(model, '__name__', type(model).__name__)} without components_: give a "
                "fitted topic model, or a pipeline that has one."
            )
        values = np.asarray(model.components_)
        words = words_of(known_topics, values.shape[1])
        given = Description.of(known_topics).topic_names
        names = topic_names(model, len(values), given)
        std = _std_of(model)
    else:
        values, words, names = known_topics, None, None
    values = _checked(values)
    return _GivenRows(values, np.zeros_like(values) if std is None else std, words, names)


def _std_of(model):
    """Standard errors of the topics of a model, (n_components, n_features); None if nothing is known of them."""
    results = vars(model).get("_results_")
    if isinstance(results, ChainResults):
        draws, _ = results.several_draws(results.best, np.random.SeedSequence(0))
        return topic_word_std_by_documents(results.corpus, draws)
    if hasattr(model, "topic_word_std_"):
        return model.topic_word_std_
    if not hasattr(model, "topic_word_prior_"):
        return None
    # The Dirichlet distribution with the counts and priors of a topic.
    return np.sqrt(dirichlet_variance(np.asarray(model.components_, dtype=np.float64)))


def _check_is_fitted(model):
    try:
        check_is_fitted(model)
    except Exception as error:
        raise ValueError(
            f"known_topics has a {type(model).__name__} that is not fitted. clone makes models unfitted: with a search "
            "or cross-validation, give known_topics=sklearn.frozen.FrozenEstimator(model), or a data frame."
        ) from error


def _has_texts(names):
    return any(isinstance(name, str) for name in names)


def _texts(names, what, of):
    """Distinct texts, or an error."""
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"{what} has {name!r} in place {i} and texts elsewhere: give the names of {of} as str.")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{what} has {twice!r} twice: names of {of} must differ.")
    return names


def _checked(values):
    """Rows of weights, normalised."""
    values = real_numbers(values, "known_topics")
    if values.ndim != 2 or not len(values):
        raise ValueError(
            f"known_topics has shape {values.shape}: give a row for each known topic, with a column for each word."
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(
            "known_topics has negative, NaN or infinite values: its rows must be distributions over words."
        )
    sums = values.sum(axis=1, keepdims=True)
    if not (sums > 0).all():
        raise ValueError(f"known_topics[{int(np.argmin(sums))}] has only zeros: it is not a distribution over words.")
    return values / sums


def _weights_of(known_weight, rows, tokens_each):
    """The weights, given or the first ones, and which of them are learnt."""
    n = len(rows.topic_word)
    if isinstance(known_weight, (str, Real)):
        given = [known_weight] * n
    elif isinstance(known_weight, Mapping) or (index_of(known_weight) is not None and len(known_weight) == n):
        given, read = [LEARN] * n, set()
        for name, value in known_weight.items():
            k = rows.names.index(name) if rows.names and name in rows.names else name
            if isinstance(k, (str, bool)) or not isinstance(k, (int, np.integer)) or not 0 <= k < n:
                names = ", or their names" if rows.names else ""
                raise ValueError(
                    f"known_weight has {name!r}: its keys are numbers of known topics from 0 to {n - 1}{names}."
                )
            if k in read:
                raise ValueError(f"known_weight has two weights for topic {rows.name(k)}: one by number, one by name.")
            given[k] = value
            read.add(k)
    else:
        given = read_column(known_weight, "known_weight", "one weight for each known topic")
        if len(given) != n:
            raise ValueError(f"known_weight has {len(given)} weights; there are {n} known topics.")
    weights, learnt = np.empty(n), np.array([isinstance(value, str) for value in given])
    for k, value in enumerate(given):
        if isinstance(value, str) and value == LEARN:
            weights[k] = max(_FIRST_SHARE * tokens_each, 1.0)
            continue
        if isinstance(value, (str, bool)) or not isinstance(value, Real):
            raise TypeError(f"known_weight of topic {rows.name(k)} is {value!r}: it must be a number or 'learn'.")
        if not (np.isinf(value) or value <= LARGEST_WEIGHT) or not value > 0:
            raise ValueError(
                f"known_weight of topic {rows.name(k)} is {value!r}: it must be positive and at most "
                f"{LARGEST_WEIGHT:g}, or numpy.inf for a topic that does not change."
            )
        weights[k] = value
    return weights, learnt


def _columns_of(rows, columns, n_features):
    """The column of X of each word of the known topics, -1 for words that X does not have."""
    n = rows.topic_word.shape[1]
    if rows.words is None:
        if n != n_features:
            raise ValueError(
                f"known_topics has {n} words without names, and X has {n_features} columns: give a data frame whose "
                "columns are the words, or a row entry for each column of X."
            )
        return np.arange(n)
    if columns is None:
        raise ValueError(
            "known_topics has words, but the words of the columns of X are not known. Give "
            "vocabulary=vectorizer.get_feature_names_out(), or an X with column names."
        )
    place = np.array([columns.get(word, -1) for word in rows.words], dtype=np.int64)
    if (place < 0).all():
        raise ValueError(
            f"X has none of the words of known_topics, such as {listed(rows.words, _MOST_NAMED)}: are they written in "
            "the same way?"
        )
    return place


def _over_columns(rows, place, corpus, is_fixed):
    """The distributions over the columns of X, and their standard errors, float32.

    Probabilities of words that X does not have are left out. In a fixed topic, a word that the known topics do not have
    is as probable as the rarest word of this topic; otherwise its prior is eta.
    """
    found, variance = np.zeros((2, len(rows.topic_word), corpus.n_features))
    # Several words may have one column, as in a vocabulary that is a dict.
    np.add.at(found.T, place[place >= 0], rows.topic_word[:, place >= 0].T)
    np.add.at(variance.T, place[place >= 0], rows.std[:, place >= 0].T ** 2)
    empty = np.flatnonzero(found.sum(axis=1) <= 0)
    if len(empty):
        raise ValueError(f"X has no word of the known topic {rows.name(empty[0])}: leave this topic out.")
    is_new = np.ones(corpus.n_features, bool)
    is_new[place[place >= 0]] = False
    found[np.ix_(is_fixed, is_new)] = rows.topic_word[is_fixed].min(axis=1, keepdims=True)
    sums = found.sum(axis=1, keepdims=True)
    return found / sums, (np.sqrt(variance) / sums).astype(np.float32)


def _tell_of_words(rows, place, corpus, columns):
    """A warning if there are words that only X has, or only the known topics."""
    gone, is_new = place < 0, np.ones(corpus.n_features, bool)
    is_new[place[~gone]] = False
    frequencies = corpus.word_frequencies
    is_new &= frequencies > 0
    parts = []
    if is_new.any():
        share = frequencies[is_new].sum() / corpus.n_tokens
        named = {column: word for word, column in columns.items()}
        most = np.flatnonzero(is_new)[np.argsort(-frequencies[is_new], kind="stable")]
        shown = listed([named.get(int(v), int(v)) for v in most], _MOST_NAMED)
        parts.append(
            f"{is_new.sum()} words of X, {100 * share:.1f} % of its tokens, are not in the known topics: {shown}. "
            "Their prior there is eta, or the probability of the rarest word of a topic that does not change."
        )
    if gone.any():
        lost = rows.topic_word[:, gone].sum(axis=1)
        k = int(np.argmax(lost))
        words = np.flatnonzero(gone)[np.argsort(-rows.topic_word[:, gone].max(axis=0), kind="stable")]
        shown = listed([rows.words[j] for j in words], _MOST_NAMED)
        parts.append(
            f"{gone.sum()} words of the known topics are not in X: {shown}. They are left out, with at most "
            f"{100 * lost[k]:.1f} % of the probability of a topic, in topic {rows.name(k)}."
        )
    if parts:
        warn("known_topics: " + " ".join(parts))


def _refuse_impossible_words(topic_word, corpus, columns):
    """An error if X has a word that no topic can have."""
    bad = np.flatnonzero((topic_word.max(axis=0) <= 0) & (corpus.word_frequencies > 0))
    if len(bad):
        named = {} if columns is None else {column: word for word, column in columns.items()}
        shown = listed([named.get(int(v), int(v)) for v in bad], _MOST_NAMED)
        raise ValueError(
            f"no known topic has the words {shown} of X, and none may change: add a new topic with a larger "
            "n_components, or give a finite known_weight."
        )
