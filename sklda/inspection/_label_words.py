"""Which words distinguish which label: a table of labels, and a plot of the words of a document."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from pandas import DataFrame

from sklda._core.arguments import check_int
from sklda._core.largest import largest
from sklda._core.names import is_hashable, listed, python_value, read_column
from sklda._core.types import Model
from sklda._description.view import lacks, view
from sklda._models.topic_names import label_topics


def label_words(
    estimator: Model,
    *,
    labels: Sequence[Any] | None = None,
    n_words: int = 10,
) -> DataFrame:
    """The words that distinguish each label.

    Words are ordered by the expected number of their tokens with the label, times the logarithm of phi_kv / p(v). So a
    word comes first if it is frequent in the label and more frequent there than in the corpus.

    Parameters
    ----------
    estimator : LabeledLDA, or pipeline or search that has one
        Fitted.
    labels : sequence, default=None
        Classes of the fit, names of labels, or numbers of columns of an indicator matrix. If classes are numbers, a
        number is the class and not its place. From ``n_labels`` on, numbers that are not classes are those of shared
        topics. None: all.
    n_words : int, default=10
        Number of words of each label.

    Returns
    -------
    pandas.DataFrame
        A row for each label and word, with columns ``label`` and ``word``. ``count`` is the expected number of tokens
        of the word that have the label. ``share`` is this number divided by that of all tokens of the word.
        ``probability`` is phi_kv. A label has fewer rows if fewer words were seen with it.

    Raises
    ------
    TypeError
        If the model is not a `LabeledLDA`.

    Examples
    --------
    >>> from sklda import LabeledLDA
    >>> from sklda.inspection import describe, label_words
    >>> model = LabeledLDA(random_state=0).fit([[3, 1, 0], [0, 1, 3]], ["fruit", "car"])
    >>> table = label_words(describe(model, feature_names=["apple", "big", "wheel"]), n_words=1)
    >>> [(str(label), str(word)) for label, word in zip(table["label"], table["word"])]
    [('car', 'wheel'), ('fruit', 'apple')]
    """
    found = _labelled_view(estimator, needs="topics")
    counts = found.model._word_topic_counts_.toarray().T
    totals = counts.sum(axis=0)
    rows = []
    n_words = check_int(n_words, "n_words", 1)
    for k in _chosen_labels(found, labels):
        seen = np.flatnonzero(counts[k])
        gain = counts[k, seen] * (np.log(found.topic_word[k, seen]) - np.log(totals[seen] / totals.sum()))
        rows += [(k, v) for v in seen[largest(gain, min(n_words, len(seen)))]]
    k, v = np.array(rows, dtype=int).reshape(-1, 2).T
    return DataFrame(
        {
            "label": [found.names[each] for each in k],
            "word": [found.words[each] for each in v],
            "count": counts[k, v],
            "share": counts[k, v] / totals[v],
            "probability": found.topic_word[k, v],
        }
    )


def _chosen_labels(found, labels):
    """The topics of labels that were asked for."""
    if labels is None:
        return found.chosen(None)
    classes = found.model.classes_.tolist()
    place = {} if found.model.multilabel_ else {python_value(label): j for j, label in enumerate(classes)}
    have_numbers = any(isinstance(label, Number) for label in place)
    topics = []
    for label in [labels] if isinstance(labels, (str, Number)) else read_column(labels, "labels", "labels of the fit"):
        if is_hashable(label) and label in place:
            topics.append(place[label])
        elif have_numbers and isinstance(label, Number) and label < len(classes):
            raise ValueError(
                f"labels has {label!r}, which is not a class of the fit; its classes are {listed(classes)}."
            )
        else:
            topics.append(label)
    return found.chosen(topics)


def _labelled_view(model, X=None, **options):
    """The view of a `LabeledLDA`, with names: those of labels without names are their numbers."""
    found = view(model, X, **options)
    if not hasattr(found.model, "label_names_"):
        raise lacks(found.model, "labels", "give a fitted LabeledLDA")
    if found.names is None:
        labels = found.model.label_names_
        found.names = label_topics(labels, found.n_topics - len(labels))
    return found
