"""A model together with the names of its words, topics and documents."""

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from sklda._description.models import Description, check_order
from sklda._input.counts import check_no_container
from sklda._input.covariates import covariate_frame
from sklda._input.document_values import DocumentValues, check_documents
from sklda._input.names import read_labels, read_once
from sklda._input.types import Data, Model, Values


def describe(
    estimator: Model,
    X: Data | None = None,
    *,
    vocabulary: ArrayLike | dict[str, int] | None = None,
    topic_names: Values | None = None,
    document_names: Values | None = None,
    collections: Values | None = None,
    covariates: Any = None,
) -> Description:
    """A model together with the names of its words, topics and documents, which all functions take in its place.

    The words of a model are known if X of the fit was a data frame, if a vectorizer is before it in a pipeline, or if
    it has the parameter ``vocabulary``. Names of topics are those of ``set_topic_names``. Documents in a data frame or
    a series have the names of its index. Where names are not known in one of these ways, say them here, once.

    Parameters
    ----------
    estimator : estimator, pipeline, search, pair (topic_word, doc_topic), or Description
        A fitted topic model, a pipeline or search that has one, or arrays of shapes (n_components, n_features) and
        (n_documents, n_components). A description keeps what is not given anew.
    X : array-like, sparse matrix, or whatever a pipeline takes, default=None
        The documents. Functions use them if they get no X. For another X, `document_names`, `collections` and
        `covariates` are not used.
    vocabulary : sequence of str of length n_features, or dict of {str: int}, default=None
        Words of the columns, as from ``get_feature_names_out()``, or ``vocabulary_`` of a vectorizer.
    topic_names : sequence of str of length n_components, default=None
        Names of the topics.
    document_names : sequence of n_documents str, default=None
        Names of the documents of X.
    collections : sequence of n_documents labels, default=None
        Collections of the documents of X, for a model with collections. Not needed for the X of the fit.
    covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
        Covariates of the documents of X, for a `CovariateLDA`: those of its fit. A document that lacks one has the
        prior of a document of which nothing is known. Not used for the X of the fit, which has its own.

    Returns
    -------
    Description
        With these as its attributes.

    Raises
    ------
    ValueError, TypeError
        If `document_names`, `collections` or `covariates` are given without X, or have the index of X in another
        order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.inspection import describe, topic_table
    >>> topics = np.array([[0.4, 0.5, 0.1], [0.5, 0.1, 0.4]]), np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> named = describe(topics, vocabulary=["the", "cat", "sleeps"])
    >>> topic_table(named, n_words=2)["words"].tolist()
    [['cat', 'the'], ['the', 'sleeps']]
    """
    check_order(X, estimator)
    known = Description.of(estimator, X)
    check_no_container(known.X)
    given: dict[str, Any] = {"vocabulary": read_once(vocabulary), "topic_names": read_once(topic_names)}
    check_documents(known.X, document_names=document_names, collections=collections, covariates=covariates)
    if covariates is not None and known.X is None:
        raise ValueError("covariates are those of the documents of X: give X, too.")
    given["covariates"] = DocumentValues.read(covariates=covariates)["covariates"]
    if covariates is not None:
        # What is no table is refused here, whatever the model is.
        covariate_frame(given["covariates"])
    for name, values in (("document_names", document_names), ("collections", collections)):
        if values is None:
            continue
        if known.X is None and not isinstance(known.estimator, tuple):
            raise ValueError(f"{name} are those of the documents of X: give X, too.")
        given[name] = read_labels(values, name, may_be_missing=name == "collections")
    return replace(known, **{name: values for name, values in given.items() if values is not None})
