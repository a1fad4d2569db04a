"""Tables of documents and their topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pandas import DataFrame

from sklda._description.view import View, view
from sklda._input.arguments import check_int
from sklda._input.names import distinct
from sklda._input.types import Data, Model
from sklda.inspection._texts import Texts, texts_of


def top_documents(
    estimator: Model,
    X: Data | None = None,
    *,
    texts: Sequence[str] | None = None,
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
    texts : sequence of n_documents str, default=None
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
        `token_topics`; None if none of its words is found in the text.

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
    found = view(estimator, X, needs="proportions", texts=texts)
    return closest_documents(found, texts_of(found), n_documents, passage_length)


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
