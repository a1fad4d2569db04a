"""All that a paper reports of the topics of a model, one row for each."""

from __future__ import annotations

import numpy as np
from pandas import DataFrame

from sklda._core.arguments import check_int
from sklda._core.types import Data, Model
from sklda._description.view import View, view
from sklda.inspection._name_topics import suggested_names
from sklda.inspection._ranking import Ranking
from sklda.metrics._coherence import topic_coherence
from sklda.metrics._exclusivity import topic_exclusivity


def topic_report(
    estimator: Model,
    X: Data | None = None,
    *,
    n_words: int = 10,
) -> DataFrame:
    """All about the topics of a model, one row for each: words, share, stability, coherence, documents.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents: those of the fit, or others. The coherence of documents that were not in the fit is more honest,
        because the topics are not made from them.
    n_words : int, default=10
        Number of words of a topic, for the lists, the coherence and the exclusivity.

    Returns
    -------
    pandas.DataFrame
        A row for every topic, in the order of the model. Columns:

        - ``topic`` and ``name``
        - ``words`` and ``exclusive_words``: lists of str, by probability and by FREX (see `topic_table`)
        - ``share``: part of the tokens; ``share_std``: its posterior standard deviation, or that between the fits of
          `ConsensusTopics`, if X is the X of the fit and the model has it
        - ``stability``, ``prevalence`` and ``found_in``: how alike the topic is in all chains or fits, the part of them
          that have it, and this part in words; only with several chains or fits. NaN, NaN and an empty text for a
          topic without words of its own, see `GibbsLDA`
        - ``coherence``: NPMI of the words in X, see `sklda.metrics.topic_coherence`; NaN with one word
        - ``exclusivity``: see `sklda.metrics.topic_exclusivity`
        - ``effective_documents``: over how many documents the topic is spread, see Notes
        - ``document`` and ``proportion``: the document with the largest proportion of the topic

    Raises
    ------
    ValueError, TypeError
        If the model is not a topic model, X is None or has no words, or an option is wrong.

    Notes
    -----
    The tokens of topic k are in document d with the probability ``n_d theta_dk / sum_c n_c theta_ck``. The effective
    number of documents is the exponential of the entropy of this distribution: n if the topic is spread evenly over n
    documents. A topic with few of them belongs to a single text or source.

    Examples
    --------
    >>> from sklda.inspection import describe, topic_report
    >>> topics = [[0.5, 0.5, 0, 0], [0, 0.1, 0.5, 0.4]], [[1, 0], [0.5, 0.5], [0, 1]]
    >>> X = [[2, 1, 0, 0], [1, 1, 1, 1], [0, 0, 3, 2]]
    >>> report = topic_report(describe(topics, feature_names=["cat", "the", "bank", "rate"]), X, n_words=2)
    >>> report[["topic", "name", "share", "coherence", "document"]].round(2)
       topic             name  share  coherence  document
    0      0         the, cat   0.42        1.0         0
    1      1  bank, rate, the   0.58        1.0         2
    """
    return report_of(view(estimator, X, needs="counts"), check_int(n_words, "n_words", 1))


def report_of(found: View, n_words: int) -> DataFrame:
    """The report of a model that has been read, with documents."""
    assert found.doc_topic is not None
    n, topics = min(n_words, found.topic_word.shape[1]), range(found.n_topics)
    if not len(found.used):
        raise ValueError("X has no words: all its documents are empty.")
    typical = np.array([found.closest(k, 1)[0] for k in topics])
    by_probability, by_frex = (Ranking(found, by) for by in ("probability", "frex"))
    columns = {
        "topic": topics,
        "name": suggested_names(found) if found.names is None else found.names,
        "words": [[found.words[v] for v in by_probability.top(k, n)] for k in topics],
        "exclusive_words": [[found.words[v] for v in by_frex.top(k, n)] for k in topics],
        "share": found.share,
        "share_std": found.share_std,
        "stability": found.stability,
        "prevalence": found.prevalence,
        "found_in": found.found_in,
        "coherence": (
            topic_coherence(found.topic_word, found.counts[found.used], n_words=n, per_topic=True)
            if n > 1
            else np.full(len(topics), np.nan)
        ),
        "exclusivity": topic_exclusivity(found.topic_word, n_words=n, per_topic=True),
        "effective_documents": effective_documents(found.weights[found.used], found.doc_topic[found.used]),
        "document": [found.document_names[d] for d in typical],
        "proportion": found.doc_topic[typical, topics],
    }
    return DataFrame({name: column for name, column in columns.items() if column is not None})


def effective_documents(lengths, doc_topic):
    """Exponentials of the entropies of the distributions of topics over documents, (n_components,); 0 for no token."""
    weights = np.asarray(lengths, dtype=np.float64)[:, None] * doc_topic
    sums = weights.sum(axis=0)
    parts = weights / np.where(sums > 0, sums, 1)
    logs = np.log(np.where(parts > 0, parts, 1))
    return np.where(sums > 0, np.exp(-(parts * logs).sum(axis=0)), 0.0)
