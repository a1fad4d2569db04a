"""Exclusivity of topics: how far their top words belong to them alone."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np

from sklda._description.models import topic_weights
from sklda._input.arguments import distributions
from sklda._input.types import Model
from sklda.metrics._coherence import top_word_ids


@overload
def topic_exclusivity(estimator: Model, *, n_words: int = ..., per_topic: Literal[False] = ...) -> float: ...
@overload
def topic_exclusivity(estimator: Model, *, n_words: int = ..., per_topic: Literal[True]) -> np.ndarray: ...
def topic_exclusivity(estimator: Model, *, n_words: int = 10, per_topic: bool = False) -> float | np.ndarray:
    """Exclusivity of topics: the mean of ``phi_kv / sum_j phi_jv`` over the top words v of topic k.

    MALLET's diagnostics of topics have the same quantity. Exclusive words can be rare ones that say little, so look at
    the coherence too.

    Parameters
    ----------
    estimator : estimator, pipeline, or array-like of shape (n_components, n_features)
        A fitted topic model with ``components_``, a pipeline or search that has one, or the weights of words in
        topics, not negative. In a pair of weights and a prior, the prior is not used. The top words of a topic are the
        `n_words` of largest weight; of equal ones, the smaller word id is first.
    n_words : int, default=10
        Number of top words, at least 1.
    per_topic : bool, default=False
        Whether to return a value for every topic rather than their mean.

    Returns
    -------
    float, or ndarray of shape (n_components,), float64
        From 0 to 1. It is 1 if no other topic has a top word, and ``1 / n_components`` for equal topics.

    Raises
    ------
    ValueError
        If the topics are not a matrix of finite values that are not negative, or a topic has no word. If `n_words` is
        below 1 or above the number of features.
    TypeError
        If `n_words` is not an integer, the topics are sparse, or the model has none.

    References
    ----------
    Bischof & Airoldi (2012). Summarizing topical content with word frequency and exclusivity. ICML.

    Examples
    --------
    >>> from sklda.metrics import topic_exclusivity
    >>> topics = [[0.5, 0.4, 0.1, 0.0], [0.5, 0.0, 0.1, 0.4]]
    >>> topic_exclusivity(topics, n_words=2, per_topic=True)
    array([0.75, 0.75])
    """
    weights, _ = topic_weights(None, estimator)
    top = top_word_ids(weights, n_words, at_least=1)
    topic_word = distributions(weights, "topic_word")
    sums = topic_word.sum(axis=0)
    # A top word can have the weight zero in all topics, if a topic has fewer words.
    own = np.take_along_axis(topic_word, top, axis=1) / np.maximum(sums[top], np.finfo(np.float64).tiny)
    exclusivity = own.mean(axis=1)
    return exclusivity if per_topic else float(exclusivity.mean())
