"""Names of topics that their words suggest."""

from __future__ import annotations

import numpy as np

from sklda._core.arguments import check_int
from sklda._core.largest import largest
from sklda._core.names import distinct
from sklda._core.types import Data, Model
from sklda._description.view import view


def name_topics(
    estimator: Model,
    X: Data | None = None,
    *,
    n_words: int = 3,
) -> list[str]:
    """Suggest a name for every topic: the words that distinguish it most from the corpus.

    Words v of topic k are ordered by ``phi_kv * log(phi_kv / p(v))``, where p(v) is the share of the word in the
    tokens. The sum of this over words is the Kullback-Leibler divergence of the topic from the corpus, in nats. So a
    word comes first if it is frequent in the topic, and more frequent there than in the corpus.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    X : array-like, sparse matrix, or whatever a pipeline takes, default=None
        Documents. They give p(v). None: the shares in the model.
    n_words : int, default=3
        Number of words of a name. Topics with the same words get more.

    Returns
    -------
    list of n_components str
        Distinct. Words are joined by commas. `GibbsLDA.set_topic_names` and `describe` take the list.

    Raises
    ------
    ValueError, TypeError
        If the model is not one that this function takes, or an argument does not fit it.

    References
    ----------
    Chuang, Manning & Heer (2012). Termite: visualization techniques for assessing textual topic models. AVI. The
    saliency of a word is a mean of such terms over topics.

    Examples
    --------
    >>> from sklda.inspection import describe, name_topics
    >>> topics = [[0.5, 0.4, 0.1], [0.5, 0.1, 0.4]], [[0.5, 0.5]]
    >>> name_topics(describe(topics, feature_names=["the", "cat", "sleeps"]), n_words=1)
    ['cat', 'sleeps']
    """
    found = view(estimator, X)
    return suggested_names(found, check_int(n_words, "n_words", 1))


def suggested_names(found, n_words=3):
    """See `name_topics`."""
    orders = [_distinguishing(row, found.word_share) for row in found.topic_word]
    names = [_joined(found, order[:n_words]) for order in orders]
    for n in range(n_words + 1, found.topic_word.shape[1] + 1):
        same = [k for k, name in enumerate(names) if names.count(name) > 1 and len(orders[k]) >= n]
        if not same:
            break
        for k in same:
            names[k] = _joined(found, orders[k][:n])
    return distinct(names)


def _distinguishing(probability, share):
    """Ids of the words that a topic has, in their order."""
    possible = probability > 0
    scores = np.full(len(probability), -np.inf)
    scores[possible] = probability[possible] * np.log(probability[possible] / share[possible])
    return largest(scores, np.count_nonzero(possible))


def _joined(view, words):
    return ", ".join(view.words[v] for v in words)
