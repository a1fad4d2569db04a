"""Tables of topics, their words and their documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pandas import DataFrame

from sklda._core.arguments import check_int
from sklda._core.distances import jensen_shannon
from sklda._core.names import distinct
from sklda._core.types import Data, Model
from sklda._description.models import Description
from sklda._description.view import View, view
from sklda.inspection._ranking import Ranking
from sklda.inspection._texts import Texts, texts_of


def top_words(
    estimator: Model,
    X: Data | None = None,
    *,
    n_words: int = 10,
    by: Literal["probability", "relevance", "frex"] = "probability",
    weight: float | None = None,
) -> DataFrame:
    """The top words of every topic.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    X : array-like, sparse matrix, or whatever a pipeline takes, default=None
        Documents. They give the shares of words and topics in the tokens. None: the shares in the model.
    n_words : int, default=10
        Number of words of each topic.
    by : {"probability", "relevance", "frex"}, default="probability"
        Order of the words; see `topic_table`.
    weight : float in [0, 1], default=None
        See `topic_table`.

    Returns
    -------
    pandas.DataFrame
        A row for every topic, in the order of the model. Columns ``topic`` (its number), ``name`` if topics have names,
        ``share`` (its part of the tokens) and ``words`` (lists of str).

    Raises
    ------
    ValueError, TypeError
        If the model is not one that this function takes, or an argument does not fit it.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklda import GibbsLDA
    >>> from sklda.inspection import top_words
    >>> texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]
    >>> lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    >>> pipeline = make_pipeline(CountVectorizer(), lda).fit(texts)
    >>> sorted(words[0] for words in top_words(pipeline, n_words=2)["words"])
    ['apple', 'wheel']
    """
    n_words = check_int(n_words, "n_words", 1)
    found = view(estimator, X)
    ranking = Ranking(found, by, weight)
    topics = range(found.n_topics)
    columns = found.rows(topics) | {
        "share": found.share,
        "words": [[found.words[v] for v in ranking.top(k, n_words)] for k in topics],
    }
    return DataFrame(columns)


def topic_table(
    estimator: Model,
    X: Data | None = None,
    *,
    by: Literal["probability", "relevance", "frex"] = "probability",
    weight: float | None = None,
    n_words: int = 10,
) -> DataFrame:
    """The top words of every topic with their probabilities and scores, one row for each word of a topic.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    X : array-like, sparse matrix, or whatever a pipeline takes, default=None
        Documents. They give p(w), the share of every word in the tokens, and the shares of topics. None, and for words
        that X does not have: the shares in the model.
    by : {"probability", "relevance", "frex"}, default="probability"
        Order of the words v of topic k. ``"probability"``: phi_kv. ``"relevance"``: ``weight * log(phi_kv) +
        (1 - weight) * log(phi_kv / p(v))`` (Sievert & Shirley 2014). ``"frex"``: the harmonic mean of two ranks in the
        topic, of phi_kv with weight ``weight`` and of ``phi_kv / sum_j phi_jv`` with weight ``1 - weight``; ranks are
        divided by the number of words (Bischof & Airoldi 2012).
    weight : float in [0, 1], default=None
        None: 0.6 for the relevance, as in LDAvis; 0.5 for FREX, as in stm.
    n_words : int, default=10
        Number of words of each topic.

    Returns
    -------
    pandas.DataFrame
        Columns ``topic``, ``name`` if topics have names, ``rank`` (from 1), ``word``, ``probability``, ``word_share``
        (p(v)) and, for relevance (nats) and FREX, ``score``.

    Raises
    ------
    ValueError, TypeError
        If the model is not one that this function takes, or an argument does not fit it.

    References
    ----------
    Bischof & Airoldi (2012). Summarizing topical content with word frequency and exclusivity. ICML.

    Sievert & Shirley (2014). LDAvis: a method for visualizing and interpreting topics. ACL workshop on interactive
    language learning, visualization, and interfaces.

    Examples
    --------
    >>> from sklda.inspection import describe, topic_table
    >>> topics = [[0.5, 0.4, 0.1], [0.5, 0.1, 0.4]], [[0.5, 0.5]]
    >>> named = describe(topics, feature_names=["the", "cat", "sleeps"])
    >>> table = topic_table(named, by="relevance", weight=0.3, n_words=1)
    >>> [str(word) for word in table["word"]]
    ['cat', 'sleeps']
    """
    n_words = check_int(n_words, "n_words", 1)
    found = view(estimator, X)
    ranking = Ranking(found, by, weight)
    top = [ranking.top(k, n_words) for k in range(found.n_topics)]
    topic = np.repeat(np.arange(found.n_topics), [len(row) for row in top])
    word = np.concatenate(top)
    columns = found.rows(topic) | {
        "rank": np.concatenate([np.arange(1, len(row) + 1) for row in top]),
        "word": [found.words[v] for v in word],
        "probability": found.topic_word[topic, word],
        "word_share": found.word_share[word],
    }
    if by != "probability":
        columns["score"] = np.concatenate([ranking.scores(k)[row] for k, row in enumerate(top)])
    return DataFrame(columns)


def top_documents(
    estimator: Model,
    X: Data | None = None,
    *,
    documents: Sequence[str] | None = None,
    n_documents: int = 3,
    passage_length: int = 50,
) -> DataFrame:
    """The documents with the largest proportion of every topic, and the passages to read.

    Documents without words, or that the fit left out, are not among them.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    X : array-like, sparse matrix, or whatever a pipeline takes, default=None
        Documents. None: those of `describe`, or of the fit, if the model has ``doc_topic_``, or the rows of
        ``doc_topic``.
    documents : sequence of n_documents str, default=None
        Texts. None: X, if a pipeline takes texts; otherwise there are no passages.
    n_documents : int, default=3
        Number of documents of each topic.
    passage_length : int, default=50
        Number of words of a passage.

    Returns
    -------
    pandas.DataFrame
        A row for every topic, in the order of the model. Columns ``topic``, ``name`` if topics have names,
        ``documents`` (lists of names), ``rows`` (lists of int) and ``proportions`` (lists of float). With texts also
        ``passages`` (lists of str): the place of each of these documents where most words have the topic, see
        `token_topics`.

    Raises
    ------
    ValueError, TypeError
        If the model is not one that this function takes, or an argument does not fit it.

    Examples
    --------
    >>> from sklda.inspection import describe, top_documents
    >>> topics = [[0.5, 0.5], [0.1, 0.9]], [[0.2, 0.8], [0.9, 0.1], [0.7, 0.3]]
    >>> top_documents(describe(topics, document_names=["a", "b", "c"]), n_documents=2)["documents"][0]
    ['b', 'c']

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklda import GibbsLDA
    >>> texts = ["apple banana apple", "banana cherry apple", "On Monday: car engine wheel", "engine wheel wheel"]
    >>> lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    >>> model = make_pipeline(CountVectorizer(stop_words=["on", "monday"]), lda).fit(texts)
    >>> table = top_documents(model, texts, n_documents=2, passage_length=3)
    >>> sorted(table["passages"].sum())
    ['apple banana apple', 'banana cherry apple', 'engine wheel wheel', '… car engine wheel']
    """
    n_documents = check_int(n_documents, "n_documents", 1)
    passage_length = check_int(passage_length, "passage_length", 1)
    X = Description.of(estimator, X).X
    found = view(estimator, X, needs="proportions", documents=documents)
    return closest_documents(found, texts_of(found, X, documents), n_documents, passage_length)


def closest_documents(found: View, texts: Any, n_documents: int, passage_length: int) -> DataFrame:
    """The table of `top_documents` of a model that has been read; without passages if `texts` is None."""
    assert found.doc_topic is not None
    rows = [found.closest(k, n_documents).tolist() for k in range(found.n_topics)]
    columns = found.rows(range(found.n_topics)) | {
        "documents": [[found.document_names[d] for d in top] for top in rows],
        "rows": rows,
        "proportions": [found.doc_topic[top, k].tolist() for k, top in enumerate(rows)],
    }
    if texts is not None:
        reader = Texts(found, np.arange(found.n_features), texts)
        columns["passages"] = reader.passages(rows, passage_length)
    return DataFrame(columns)


def document_table(estimator: Model, X: Data | None = None) -> DataFrame:
    """The topic proportions of documents, one row for each document.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    X : array-like, sparse matrix, or whatever a pipeline takes, default=None
        Documents. None: those of `describe`, or of the fit, if the model has ``doc_topic_``, or the rows of
        ``doc_topic``.

    Returns
    -------
    pandas.DataFrame
        Columns ``document``, ``tokens`` (only with X), ``main_topic``, and ``topic_0``, ``topic_1``, ...: proportions.
        If the model has standard deviations of the proportions of these documents, also ``topic_0_std``, ... If topics
        have names, these take the place of ``topic_0``, ... and of the numbers in ``main_topic``. A name that another
        column has gets a number: "tokens (2)". Documents without words, and those that the fit left out, have no main
        topic, and NaN in place of proportions.

    Raises
    ------
    ValueError, TypeError
        If the model is not one that this function takes, or an argument does not fit it.

    Examples
    --------
    >>> from sklda.inspection import document_table
    >>> table = document_table(([[0.5, 0.5], [0.1, 0.9]], [[0.2, 0.8], [0.9, 0.1]]))
    >>> [int(k) for k in table["main_topic"]]
    [1, 0]
    """
    return proportions_of(view(estimator, X, needs="proportions"))


def proportions_of(found: View) -> DataFrame:
    """The topic proportions of a model that has been read, with documents."""
    assert found.doc_topic is not None
    columns = {"document": found.document_names}
    if found.counts is not None:
        columns["tokens"] = found.lengths.astype(np.int64) if found.has_counts else found.lengths
    titles = found.titles([*columns, "main_topic"])
    values = list(range(found.n_topics)) if found.names is None else titles
    # The last value is that of -1.
    columns["main_topic"] = [[*values, None][k] for k in found.main_topics]
    columns |= dict(zip(titles, found.doc_topic.T, strict=True))
    if found.doc_topic_std is not None:
        titles = distinct([f"{title}_std" for title in titles], columns)
        columns |= dict(zip(titles, found.doc_topic_std.T, strict=True))
    return DataFrame(columns)


def similarity_table(estimator: Model) -> DataFrame:
    """Similarity of topics: one minus the Jensen-Shannon distance of their distributions over words.

    The distance is the square root of the Jensen-Shannon divergence in bits. It lies between 0 and 1.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.

    Returns
    -------
    pandas.DataFrame
        A row for every topic. Columns ``topic``, and ``topic_0``, ``topic_1``, ...: 1 for equal topics, 0 for topics
        that have no word in common. If topics have names, also ``name``, and the columns have these names.

    Raises
    ------
    ValueError, TypeError
        If the model is not one that this function takes, or an argument does not fit it.

    Examples
    --------
    >>> from sklda.inspection import similarity_table
    >>> table = similarity_table(([[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5]]))
    >>> [float(value) for value in table["topic_0"]]
    [1.0, 0.0]
    """
    found = view(estimator, needs="topics")
    columns = found.rows(np.arange(found.n_topics))
    similarity = 1 - jensen_shannon(found.topic_word)
    return DataFrame(columns | dict(zip(found.titles(columns), similarity, strict=True)))
