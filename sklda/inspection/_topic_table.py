"""The table of topics: a row for each topic, with the columns that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from pandas import DataFrame

from sklda._core.distances import jensen_shannon
from sklda._core.largest import largest
from sklda._description.view import View, view
from sklda._input.arguments import check_int
from sklda._input.names import distinct, listed, read_column
from sklda._input.types import Data, Model
from sklda.inspection._ranking import Ranking
from sklda.metrics._coherence import topic_coherence
from sklda.metrics._exclusivity import topic_exclusivity

DEFAULT_COLUMNS = "share", "words"
# Words of a suggested name.
_NAME = 3


def topic_table(
    estimator: Model,
    X: Data | None = None,
    *,
    columns: Sequence[str] | str | None = None,
    n_words: int = 10,
    rank_by: Literal["probability", "relevance", "frex"] = "probability",
    probability_weight: float | None = None,
) -> DataFrame:
    """The topics of a model, one row for each: their words and shares, and what else is asked for.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    X : array-like, sparse matrix, or whatever a pipeline takes, default=None
        Documents, those of the fit or others. They give the shares of words and topics in the tokens. None: the shares
        in the model. The coherence of documents that were not in the fit is more honest, because the topics are not
        made from them.
    columns : sequence of str, default=None
        Columns besides ``topic`` and the names of topics that have some; see Returns. None: ``["share", "words"]``.
        ``"all"``: all that the model and X have.
    n_words : int, default=10
        Number of words of a topic, also for the coherence and the exclusivity.
    rank_by : {"probability", "relevance", "frex"}, default="probability"
        Order of the words v of topic k. ``"probability"``: phi_kv. ``"relevance"``: ``w * log(phi_kv) + (1 - w)
        * log(phi_kv / p(v))`` (Sievert & Shirley 2014). ``"frex"``: the harmonic mean of two ranks in the topic, of
        phi_kv with weight w and of ``phi_kv / sum_j phi_jv`` with weight ``1 - w``; ranks are divided by the number of
        words (Bischof & Airoldi 2012).
    probability_weight : float in [0, 1], default=None
        w. None: 0.6 for the relevance, as in LDAvis; 0.5 for FREX, as in stm.

    Returns
    -------
    pandas.DataFrame
        A row for every topic, in the order of the model. Columns ``topic`` (its number), ``name`` if topics have names,
        and of these those that are asked for, in the order of `columns`:

        - ``name``: of the topic, or else a suggested one, which `GibbsLDA.set_topic_names` and `describe` take
        - ``share``: part of the tokens; ``share_std``: its posterior standard deviation, or that between the fits of
          `ConsensusTopics`, if X is the X of the fit and the model has it
        - ``words``: lists of str; ``probabilities`` and ``word_shares``: lists of the phi_kv and p(v) of these words
        - ``exclusive_words``: lists of str, by FREX
        - ``stability``, ``prevalence`` and ``found_in``: how alike the topic is in all chains or fits, the part of them
          that have it, and this part in words; only with several chains or fits. NaN, NaN and an empty text for a
          topic without words of its own, see `GibbsLDA`
        - ``coherence``: NPMI of the words in X, see `sklda.metrics.topic_coherence`; NaN with one word
        - ``exclusivity``: see `sklda.metrics.topic_exclusivity`
        - ``nearest`` and ``similarity``: the topic with the most similar words, and one minus their Jensen-Shannon
          distance: 1 for equal topics, 0 without a common word; -1 and NaN for the only topic
        - ``effective_documents``: over how many documents of X the topic is spread, see Notes
        - ``seed_share`` and ``seeds_here``: the part of the topic's tokens that are its seed words, and the part of the
          tokens of these words that are in the topic; only with `seed_words`. NaN for topics without seeds
        - ``document`` and ``proportion``: the document of X with the largest proportion of the topic

    Raises
    ------
    ValueError
        If a column does not exist, or the model and X do not have it; if X has no words, or an argument is out of
        range.
    TypeError
        If the model is not one that this function takes.

    See Also
    --------
    top_documents : The documents of every topic, with passages to read.
    document_table : A row for every document.
    sklda.metrics.match_topics : Distances between all topics.

    Notes
    -----
    ``table.explode(["words", "probabilities"])`` has a row for each word of a topic.

    A suggested name has the three words with the largest ``phi_kv * log(phi_kv / p(v))``, whose sum over words is the
    Kullback-Leibler divergence of the topic from the corpus. Topics with the same words get more (Chuang, Manning &
    Heer 2012).

    The tokens of topic k are in document d with the probability ``n_d theta_dk / sum_c n_c theta_ck``. The effective
    number of documents is the exponential of the entropy of this distribution: n if the topic is spread evenly over n
    documents. A topic with few of them belongs to a single text or source.

    References
    ----------
    Bischof & Airoldi (2012). Summarizing topical content with word frequency and exclusivity. ICML.

    Chuang, Manning & Heer (2012). Termite: visualization techniques for assessing textual topic models. AVI. The
    saliency of a word is a mean of such terms over topics.

    Sievert & Shirley (2014). LDAvis: a method for visualizing and interpreting topics. ACL workshop on interactive
    language learning, visualization, and interfaces.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklda import GibbsLDA
    >>> from sklda.inspection import topic_table
    >>> texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]
    >>> lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    >>> pipeline = make_pipeline(CountVectorizer(), lda).fit(texts)
    >>> sorted(words[0] for words in topic_table(pipeline, n_words=2)["words"])
    ['apple', 'wheel']
    >>> topic_table(pipeline, texts, columns=["coherence", "document"]).columns.tolist()
    ['topic', 'coherence', 'document']
    """
    n_words = check_int(n_words, "n_words", 1)
    found = view(estimator, X)
    ranking = Ranking(found, rank_by, probability_weight)
    makers = columns_of(found, ranking, n_words)
    if columns is None:
        columns = DEFAULT_COLUMNS
    elif isinstance(columns, str) and columns == "all":
        columns = [name for name, make in makers.items() if make is not None]
    else:
        columns = [columns] if isinstance(columns, str) else read_column(columns, "columns", "names of columns")
    for name in columns:
        if name not in makers:
            raise ValueError(f"columns has {name!r}; it may have {listed(list(makers), len(makers))}.")
        if makers[name] is None:
            raise ValueError(f"columns has {name!r}, which needs {_NEEDS[name]}.")
    return table_of(found, makers, columns)


def table_of(found: View, makers: dict[str, Any], columns: Sequence[str]) -> DataFrame:
    """The table with these columns, after the numbers and names of the topics."""
    return DataFrame(found.rows(range(found.n_topics)) | {name: makers[name]() for name in columns if name != "topic"})


_OF_SEVERAL, _OF_DOCUMENTS = "a fit with several chains or fits", "the documents: give X, or describe(model, X)"
# What columns need that not all models have.
_NEEDS = {
    "share_std": "a fit with draws, and no other documents than those of the fit",
    **dict.fromkeys(("stability", "prevalence", "found_in"), _OF_SEVERAL),
    **dict.fromkeys(("seed_share", "seeds_here"), "a fit with seed_words"),
    **dict.fromkeys(("coherence", "effective_documents", "document", "proportion"), _OF_DOCUMENTS),
}


def columns_of(found: View, ranking: Ranking, n_words: int) -> dict[str, Callable[[], Any] | None]:
    """What makes each column; None for those that the model and its documents do not have."""
    topics = range(found.n_topics)
    n = min(n_words, found.n_features)

    def of_words(values: Callable[[int, np.ndarray], Any], ranking: Ranking = ranking) -> Callable[[], Any]:
        return lambda: [values(k, ranking.top(k, n)) for k in topics]

    def names_of(_: int, top: np.ndarray) -> list[str]:
        return [found.words[v] for v in top]

    def known(values: Any) -> Callable[[], Any] | None:
        return None if values is None else lambda: values

    makers = {
        "topic": lambda: topics,
        "name": lambda: topic_names_of(found),
        "share": lambda: found.share,
        "share_std": known(found.share_std),
        "words": of_words(names_of),
        "probabilities": of_words(lambda k, top: found.topic_word[k, top].tolist()),
        "word_shares": of_words(lambda k, top: found.word_share[top].tolist()),
        "exclusive_words": of_words(names_of, Ranking(found, "frex")),
        "stability": known(found.stability),
        "prevalence": known(found.prevalence),
        "found_in": known(found.found_in),
        "coherence": None if found.counts is None else lambda: _coherence(found, n),
        "exclusivity": lambda: topic_exclusivity(found.topic_word, n_words=n, per_topic=True),
        "nearest": lambda: _nearest(found)[0],
        "similarity": lambda: _nearest(found)[1],
        "seed_share": known(found.seed_shares and found.seed_shares[0]),
        "seeds_here": known(found.seed_shares and found.seed_shares[1]),
    }
    if found.doc_topic is None:
        return makers | dict.fromkeys(("effective_documents", "document", "proportion"))
    theta = found.doc_topic
    return makers | {
        "effective_documents": lambda: _effective_documents(found.weights[found.used], theta[found.used]),
        "document": lambda: [found.document_names[d] for d in _typical(found)],
        "proportion": lambda: theta[_typical(found), topics],
    }


def topic_names_of(found: View) -> list[str]:
    """The names of the topics, or those that their words suggest."""
    if found.names is not None:
        return found.names
    orders = [_distinguishing(row, found.word_share) for row in found.topic_word]
    names = [_joined(found, order[:_NAME]) for order in orders]
    for n in range(_NAME + 1, found.n_features + 1):
        same = [k for k, name in enumerate(names) if names.count(name) > 1 and len(orders[k]) >= n]
        if not same:
            break
        for k in same:
            names[k] = _joined(found, orders[k][:n])
    return distinct(names)


def _distinguishing(probability: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Ids of the words that a topic has, those first that distinguish it most from the corpus."""
    possible = probability > 0
    scores = np.full(len(probability), -np.inf)
    scores[possible] = probability[possible] * np.log(probability[possible] / share[possible])
    return largest(scores, np.count_nonzero(possible))


def _joined(found: View, words: np.ndarray) -> str:
    return ", ".join(found.words[v] for v in words)


def _coherence(found: View, n_words: int) -> np.ndarray:
    _check_words(found)
    if n_words == 1:
        return np.full(found.n_topics, np.nan)
    return topic_coherence(found.topic_word, found.counts[found.used], n_words=n_words, per_topic=True)


def _nearest(found: View) -> tuple[np.ndarray, np.ndarray]:
    """The most similar topic of each, and their similarity; -1 and NaN for the only one."""
    if found.n_topics == 1:
        return np.array([-1]), np.array([np.nan])
    similarity = 1 - jensen_shannon(found.topic_word)
    np.fill_diagonal(similarity, -np.inf)
    return similarity.argmax(axis=1), similarity.max(axis=1)


def _typical(found: View) -> list[int]:
    """The document with the largest proportion of each topic."""
    _check_words(found)
    return [found.closest(k, 1)[0] for k in range(found.n_topics)]


def _check_words(found: View) -> None:
    if not len(found.used):
        raise ValueError("X has no words: all its documents are empty.")


def _effective_documents(lengths: np.ndarray, doc_topic: np.ndarray) -> np.ndarray:
    """Exponentials of the entropies of the distributions of topics over documents, (n_components,); 0 for no token."""
    weights = np.asarray(lengths, dtype=np.float64)[:, None] * doc_topic
    sums = weights.sum(axis=0)
    parts = weights / np.where(sums > 0, sums, 1)
    logs = np.log(np.where(parts > 0, parts, 1))
    return np.where(sums > 0, np.exp(-(parts * logs).sum(axis=0)), 0.0)
