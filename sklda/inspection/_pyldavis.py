"""The input of pyLDAvis."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklda._core.distances import jensen_shannon
from sklda._description.view import view
from sklda._input.types import Data, Model
from sklda.inspection._scaling import classical_scaling


def to_pyldavis(estimator: Model, X: Data) -> dict[str, Any]:
    """The arguments of ``pyLDAvis.prepare(**arguments)``.

    Topics keep their order and their numbers from 0. Words that have probability 0 in all topics are left out.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents.

    Returns
    -------
    dict
        - ``topic_term_dists`` (n_components, n_words) and ``doc_topic_dists`` (n_documents, n_components): their rows
          sum to one
        - ``doc_lengths`` (n_documents,), ``vocab`` (n_words,) and ``term_frequency`` (n_words,). Documents that the fit
          left out have length 0, and their words do not count
        - ``sort_topics=False`` and ``start_index=0``
        - ``mds``: a function that places the topics in the plane by classical scaling of their Jensen-Shannon
          distances. pyLDAvis's own function can return complex numbers.

    Raises
    ------
    ValueError
        If X is None or has no token, or the model has only one topic.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import to_pyldavis
    >>> X = make_lda_corpus(30, 20, 3, random_state=0).data
    >>> arguments = to_pyldavis(GibbsLDA(3, max_iter=20, random_state=0).fit(X), X)
    >>> arguments["topic_term_dists"].shape, arguments["sort_topics"]
    ((3, 20), False)
    """
    found = view(estimator, X)
    if found.counts is None or found.lengths.sum() == 0:
        raise ValueError("pyLDAvis needs documents with words: give X.")
    if found.n_topics < 2:
        raise ValueError("pyLDAvis compares topics: it needs at least two, and the model has one.")
    kept = np.flatnonzero(found.topic_word.sum(axis=0) > 0)
    return {
        "topic_term_dists": found.topic_word[:, kept],
        # Documents of length 0 need some proportions.
        "doc_topic_dists": np.where(found.takes_part[:, None], found.doc_topic, 1 / found.n_topics),
        "doc_lengths": found.weights,
        "vocab": np.array([found.words[v] for v in kept]),
        "term_frequency": found.word_counts[kept],
        "mds": _in_the_plane,
        "sort_topics": False,
        "start_index": 0,
    }


def _in_the_plane(distributions):
    return classical_scaling(jensen_shannon(np.asarray(distributions, dtype=np.float64))).points
