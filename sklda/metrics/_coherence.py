"""Coherence and diversity of topics, from their top words."""

from __future__ import annotations

from typing import Literal, TypeAlias, overload

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from sklda._core.rounding import rounding
from sklda._description.models import Description, topic_weights
from sklda._input.arguments import check_choice, is_whole
from sklda._input.counts import check_matrix, holds_texts
from sklda._input.types import Counts, Model

Measure: TypeAlias = Literal["npmi", "umass"]
METHODS = ("npmi", "umass")

# Röder et al. 2015: added to a joint probability before its logarithm is taken.
_EPSILON = 1e-12


@overload
def topic_coherence(
    estimator: Model, X: Counts, *, method: Measure = ..., n_words: int = ..., per_topic: Literal[False] = ...
) -> float: ...
@overload
def topic_coherence(
    estimator: Model, X: Counts, *, method: Measure = ..., n_words: int = ..., per_topic: Literal[True]
) -> np.ndarray: ...
def topic_coherence(
    estimator: Model,
    X: Counts,
    *,
    method: Measure = "npmi",
    n_words: int = 10,
    per_topic: bool = False,
) -> float | np.ndarray:
    """Coherence of topics: how often their top words occur in the same documents of a reference corpus.

    Parameters
    ----------
    estimator : estimator, pipeline, array-like of shape (n_components, n_features), or list of lists of str
        A fitted topic model with ``components_``, a pipeline or search that has one, or the weights of words in
        topics, not negative. In a pair of weights and a prior, the prior is not used. The top words of a topic are the
        `n_words` of largest weight; of equal ones, the smaller word id is first. Topics of another tool may be lists of
        words, the best first: X is then a data frame, or `sklda.inspection.describe` gives the words of its columns.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Reference corpus, not negative; with a pipeline, its input. A word occurs in a document if its entry is above
        zero; the number of times does not matter. Documents without words do not count.
    method : {"npmi", "umass"}, default="npmi"
        ``"npmi"``: normalised pointwise mutual information, without unit, from -1 (never together) to 1 (only
        together). ``"umass"``: log-probability of a word given a higher-ranked one, in nats, at most about 0, see ε
        below; gensim calls it ``"u_mass"``. gensim's ``"c_v"`` needs the order of words, which counts lack.
    n_words : int, default=10
        Number of top words, at least 2.
    per_topic : bool, default=False
        Whether to return a value for every topic rather than their mean.

    Returns
    -------
    float, or ndarray of shape (n_components,), float64
        Higher is more coherent. Never NaN or infinite.

    Raises
    ------
    ValueError
        If X or the topics are not a matrix of finite values that are not negative, or their numbers of features differ.
        If X has no documents or no words in them. If `n_words` is below 2 or above the number of features, or `method`
        is unknown.
    TypeError
        If `n_words` is not an integer, the topics are sparse, or the model has none.

    Notes
    -----
    Let p(v) be the share of documents in which v occurs, p(v, w) that in which both do, and ε = 1e-12. The coherence of
    a topic is the mean over its pairs of top words, v ranked below w, of

    - ``"npmi"``: log((p(v, w) + ε) / (p(v) p(w))) / -log(p(v, w) + ε)
    - ``"umass"``: log((p(v, w) + ε) / p(w))

    as in Röder et al. (2015) with whole documents as windows. These are the values of gensim's ``c_npmi``, with a
    window longer than every document, and of its ``u_mass``. Mimno et al. (2011) add one to the number of joint
    documents rather than ε to its share, and sum over pairs.

    There are three special cases. With ``"umass"``, a pair whose higher-ranked word never occurs has the value 0, as in
    gensim. This is the best value, so a reference corpus should contain the words. With ``"npmi"``, a pair with a word
    that never occurs has the value -1; gensim returns infinity. With ``"npmi"``, a pair of words that are both in every
    document has the value 0, as each pair with one such word has: that a document has it says nothing of the other
    word. Without ε the quotient would be 0 / 0, and with it gensim returns -1.

    References
    ----------
    Bouma (2009). Normalized (pointwise) mutual information in collocation extraction. GSCL.

    Mimno, Wallach, Talley, Leenders & McCallum (2011). Optimizing semantic coherence in topic models. EMNLP.

    Röder, Both & Hinneburg (2015). Exploring the space of topic coherence measures. WSDM.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.metrics import topic_coherence
    >>> X = np.array([[2, 1, 0, 0], [1, 3, 0, 1], [0, 0, 1, 1], [0, 0, 2, 0]])
    >>> topic_word = np.array([[0.5, 0.4, 0.05, 0.05], [0.1, 0.1, 0.4, 0.4]])
    >>> topic_coherence(topic_word, X, n_words=2, per_topic=True).round(3)
    array([1., 0.])
    >>> round(topic_coherence(topic_word, X, method="umass", n_words=2), 3)
    -0.347
    >>> from sklda.inspection import describe
    >>> of_another_tool = describe([["a", "b"], ["c", "d"]], vocabulary=["a", "b", "c", "d"])
    >>> topic_coherence(of_another_tool, X, n_words=2, per_topic=True).round(3)
    array([1., 0.])
    """
    check_method(method)
    topic_word, given = topic_weights(X, estimator)
    top = top_word_ids(topic_word, n_words, at_least=2)
    counts = check_matrix(given, ensure_non_negative=True, input_name="X")
    n_features = np.shape(topic_word)[1]
    listed = Description.of(estimator).estimator
    if isinstance(listed, list) and holds_texts(listed) and min(map(len, listed)) < n_words:
        raise ValueError(f"n_words={n_words}, and the shortest list of words has {min(map(len, listed))}.")
    if counts.shape[1] != n_features:
        raise ValueError(f"topic_word has {n_features} features, X has {counts.shape[1]}.")
    n_documents = len(np.unique(counts.nonzero()[0]))
    if not n_documents:
        raise ValueError("X has no words: all its documents are empty.")

    vocabulary, top = np.unique(top, return_inverse=True)
    occurs = sp.csc_array(counts[:, vocabulary] > 0, dtype=np.int64)
    by_topic = (occurs[:, words] for words in top.reshape(-1, n_words))
    p = np.array([(words.T @ words).toarray() for words in by_topic]) / n_documents

    low, high = np.tril_indices(n_words, -1)
    joint, p_low, p_high = p[:, low, high] + _EPSILON, p[:, low, low], p[:, high, high]
    if method == "npmi":
        expected, information = p_low * p_high, -np.log(joint)
        pairs = np.where(expected > 0, 0.0, -1.0)
        known = (expected > 0) & (information > rounding(1.0))
        pairs[known] = np.log(joint[known] / expected[known]) / information[known]
    else:
        pairs = np.log(np.divide(joint, p_high, out=np.ones_like(joint), where=p_high > 0))
    coherence = pairs.mean(axis=1)
    return coherence if per_topic else float(coherence.mean())


def check_method(method):
    """Raise a ValueError if there is no such method of coherence."""
    if isinstance(method, str) and method == "c_v":
        raise ValueError(
            "method='c_v' needs the order of the words in the texts, and X has only their counts. gensim computes it: "
            "CoherenceModel(topics=..., texts=..., coherence='c_v')."
        )
    check_choice(method, "method", METHODS)


def topic_diversity(estimator: Model, *, n_words: int = 25) -> float:
    """Share of distinct words among the top words of all topics.

    Parameters
    ----------
    estimator : estimator, pipeline, or array-like of shape (n_components, n_features)
        A fitted topic model with ``components_``, a pipeline or search that has one, or the weights of words in
        topics, not negative. In a pair of weights and a prior, the prior is not used. The top words of a topic are the
        `n_words` of largest weight; of equal ones, the smaller word id is first.
    n_words : int, default=25
        Number of top words, at least 1.

    Returns
    -------
    float
        1 if no two topics share a top word, ``1 / n_components`` if all have the same. It cannot be 1 if
        ``n_components * n_words`` exceeds the number of features.

    Raises
    ------
    ValueError
        If the topics are not a matrix of finite values that are not negative, or `n_words` is below 1 or above the
        number of features.
    TypeError
        If `n_words` is not an integer, the topics are sparse, or the model has none.

    References
    ----------
    Dieng, Ruiz & Blei (2020). Topic modeling in embedding spaces. TACL 8.

    Examples
    --------
    >>> from sklda.metrics import topic_diversity
    >>> topic_diversity([[0.5, 0.4, 0.1, 0.0], [0.0, 0.4, 0.5, 0.1]], n_words=2)
    0.75
    """
    top = top_word_ids(topic_weights(None, estimator)[0], n_words, at_least=1)
    return len(np.unique(top)) / top.size


def top_word_ids(topic_word, n_words, at_least):
    """Ids of the words of largest weight, largest first, the smaller id first among equals; (n_components, n_words)."""
    if not is_whole(n_words):
        raise TypeError(f"n_words must be an integer, got {n_words!r}.")
    topic_word = check_array(
        topic_word, dtype=(np.float64, np.float32), ensure_non_negative=True, input_name="topic_word"
    )
    n_features = topic_word.shape[1]
    if not at_least <= n_words <= n_features:
        raise ValueError(f"n_words must lie between {at_least} and the {n_features} features, got {n_words}.")
    return np.argsort(-topic_word, axis=1, kind="stable")[:, :n_words]
