"""Which words distinguish which label: a table of labels, and a plot of the words of a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, Self

import numpy as np
from pandas import DataFrame

from sklda._core.arguments import check_int, lists_parameters
from sklda._core.names import is_hashable, listed, python_value, read_column
from sklda._core.types import Data, Model
from sklda._models.topic_names import label_topics
from sklda.inspection._axes import Display, plain_text
from sklda.inspection._parameters import described
from sklda.inspection._ranking import largest
from sklda.inspection._view import lacks, view


@described
@lists_parameters
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


@dataclass(eq=False, repr=False)
class DocumentLabelsDisplay(Display):
    """The words of a document, a row for each, and the labels that account for them, a column for each.

    Use `from_estimator` to make one.

    Parameters
    ----------
    words : list of str
        The words shown.
    labels : list of str
        The labels shown.
    tokens : ndarray of shape (n_words, n_labels)
        Expected number of tokens of every word that have each label.
    proportions : ndarray of shape (n_labels,)
        Proportions of the labels in the document.
    title : str, default=""

    Examples
    --------
    >>> from sklda import LabeledLDA
    >>> from sklda.inspection import DocumentLabelsDisplay, describe
    >>> X = [[3, 1, 0], [0, 1, 3], [2, 1, 2]]
    >>> model = LabeledLDA(random_state=0).fit(X, [[1, 0], [0, 1], [1, 1]])
    >>> named = describe(model, X, feature_names=["apple", "big", "wheel"])
    >>> DocumentLabelsDisplay.from_estimator(named, document=2).tokens.shape
    (3, 2)
    """

    words: Sequence[Any]
    labels: Sequence[Any]
    tokens: np.ndarray
    proportions: np.ndarray
    title: str = ""

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        document: int,
        n_labels: int = 5,
        n_words: int = 20,
        ax: Any = None,
    ) -> Self:
        """Plot the words and labels of a document.

        Parameters
        ----------
        estimator : LabeledLDA, or pipeline or search that has one
            Fitted.
        X : array-like, sparse matrix, or whatever a pipeline takes
            Documents. For the X of the fit, a word can have only the labels of its document.
        document : int
            Row of X.
        n_labels : int, default=5
            Number of labels, those with the highest proportions.
        n_words : int, default=20
            Number of words, those with the most tokens that have one of these labels.

        Raises
        ------
        TypeError
            If the estimator is not a `LabeledLDA`.
        ValueError
            If `document` is not a row of X, or has no words.
        """
        found = _labelled_view(estimator, X, needs="counts")
        document = found.document(document)
        theta, own = found.doc_topic[document], found.counts[[document]]
        if not found.takes_part[document]:
            reason = "no words" if not own.nnz else "no labels, so the fit left it out: it has none"
            raise ValueError(f"document {document} has {reason} to show.")
        chosen = largest(theta, check_int(n_labels, "n_labels", 1))
        chosen = chosen[theta[chosen] > 0]
        weights = theta[:, None] * found.topic_word[:, own.indices]
        tokens = (own.data * weights / weights.sum(axis=0))[chosen].T
        shown = largest(tokens.sum(axis=1), check_int(n_words, "n_words", 1))
        return cls(
            [found.words[v] for v in own.indices[shown]],
            [found.names[k] for k in chosen],
            tokens[shown],
            theta[chosen],
            f"document {found.document_names[document]}",
        ).plot(ax=ax)

    def _figsize(self):
        return 2.2 + 1.1 * len(self.labels), 1.2 + 0.22 * max(len(self.words), 1)

    def _draw(self, ax):
        image = ax.imshow(self.tokens, cmap="Blues", vmin=0, aspect="auto")
        ax.set_yticks(range(len(self.words)), [plain_text(word, 24) for word in self.words])
        names = [
            f"{plain_text(name, 24)}\n{share:.0%}" for name, share in zip(self.labels, self.proportions, strict=True)
        ]
        ax.set_xticks(range(len(names)), names)
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.set_xlabel(plain_text(self.title, 60))
        ax.figure.colorbar(image, ax=ax, label="expected tokens with the label")


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
