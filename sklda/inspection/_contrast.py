"""Words by which two topics differ."""

from __future__ import annotations

import numpy as np
from pandas import DataFrame
from scipy.special import rel_entr

from sklda._core.largest import largest
from sklda._description.view import view
from sklda._input.arguments import check_int
from sklda._input.types import Model


def contrast_topics(
    estimator: Model,
    *,
    topic: int | str,
    other_topic: int | str,
    other_estimator: Model | None = None,
    n_words: int = 10,
) -> DataFrame:
    """The words by which two topics differ most: two of one model, or one of each of two models.

    The order is that of the parts of words in the Jensen-Shannon divergence of the topics, so a word comes first if it
    is frequent in one topic and much rarer in the other.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    topic, other_topic : int or str
        Their numbers or names.
    other_estimator : estimator, pipeline, or pair (topic_word, doc_topic), default=None
        The model that has `other_topic`, such as another fit, with the same features. None: the first one.
    n_words : int, default=10
        Number of words for each topic.

    Returns
    -------
    pandas.DataFrame
        A row for each topic and word, first the words that are more probable in `topic`, then those in `other_topic`:

        - ``side``: the topic in which the word is more probable, its number with its name or words
        - ``word``
        - ``probability`` and ``probability_in_other``: of the word in `topic` and in `other_topic`
        - ``log_ratio``: of these, in nats; infinite if a probability is zero
        - ``divergence``: part of the word in the divergence, in bits. All words together have the divergence.

    Raises
    ------
    ValueError
        If a topic is not in its model, or the models have other features.
    TypeError
        If a model is not a topic model.

    See Also
    --------
    group_words : Words by which groups of documents differ within a topic.
    topic_table : The most similar topic of each.

    Examples
    --------
    >>> from sklda.inspection import contrast_topics, describe
    >>> topics = [[0.5, 0.4, 0.1], [0.5, 0.1, 0.4]], [[0.5, 0.5]]
    >>> table = contrast_topics(describe(topics, vocabulary=["the", "cat", "sleeps"]), topic=0, other_topic=1)
    >>> [str(word) for word in table["word"]]
    ['cat', 'sleeps']
    """
    n_words = check_int(n_words, "n_words", 1)
    first = view(estimator, needs="topics")
    second = first if other_estimator is None else view(other_estimator, needs="topics")
    if first.topic_word.shape[1] != second.topic_word.shape[1]:
        sizes = first.topic_word.shape[1], second.topic_word.shape[1]
        raise ValueError(
            "estimator has {} features and other_estimator {}: give fits of the same words.".format(*sizes)
        )
    if None not in (first.known_words, second.known_words) and first.known_words != second.known_words:
        raise ValueError("estimator and other_estimator have features with other names: give fits of the same words.")
    first.known_words = second.known_words = first.known_words or second.known_words
    chosen = [(each, each.chosen([k])[0]) for each, k in ((first, topic), (second, other_topic))]
    names = [each.labels([k])[0] for each, k in chosen]
    if other_estimator is not None:
        names = [f"{name} ({which})" for name, which in zip(names, ("model", "other model"), strict=True)]
    own, other = (each.topic_word[k] for each, k in chosen)
    parts = rel_entr([own, other], (own + other) / 2).sum(axis=0) / (2 * np.log(2))
    sides = [_words_of(own, other, parts, n_words), _words_of(other, own, parts, n_words)]
    v = np.concatenate(sides)
    with np.errstate(divide="ignore"):
        ratio = np.log(own[v]) - np.log(other[v])
    return DataFrame(
        {
            "side": [name for name, words in zip(names, sides, strict=True) for _ in words],
            "word": [first.words[each] for each in v],
            "probability": own[v],
            "probability_in_other": other[v],
            "log_ratio": ratio,
            "divergence": parts[v],
        }
    )


def _words_of(own: np.ndarray, other: np.ndarray, parts: np.ndarray, n_words: int) -> np.ndarray:
    """The words that are more probable in a topic than in the other, the largest parts of the divergence first."""
    words = largest(np.where(own > other, parts, -1), n_words)
    return words[own[words] > other[words]]
