"""The topic of every token, and its full conditional."""

from __future__ import annotations

import numpy as np
from pandas import DataFrame

from sklda._core import random
from sklda._description.view import lacks, view
from sklda._input.types import Data, Model
from sklda._likelihood.held_out.token_topics import draw_topics

# Sweeps before the draw for a new document. `transform` needs fewer, because it begins with CVB0.
_LEAST_SWEEPS = 30
_NO_DRAWS = (
    "the most probable topics would make words depend on documents, so give a fitted estimator of this package, or one "
    "of the estimators_ of ConsensusTopics; GibbsLDA.from_assignments makes one of the topics of tokens of another "
    "sampler"
)


def token_topics(
    estimator: Model,
    X: Data | None = None,
    *,
    document: int | None = None,
) -> DataFrame:
    """Document, word and topic of every token; for one document also the probability of every topic given the rest.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents, as word counts. The indices of a sparse matrix need not be sorted.
    document : int, default=None
        Row of X. Only its tokens are returned, with the probabilities of all topics. None: the tokens of all documents.

    Returns
    -------
    pandas.DataFrame
        A row for every token, document by document, in ascending order of columns of X. Columns ``document``, ``word``
        and ``topic``; -1 for a word that no topic has. If topics have names, such as the labels of `LabeledLDA`, also
        ``name``. With `document` also ``topic_0``, ``topic_1``, ... or the names: the probability of each topic given
        the words, and given the topics of all other tokens where the model has these.

    Raises
    ------
    ValueError
        If X is not a matrix of counts with the features of the model, or `document` is not a row of X.
    TypeError
        If the model is not a topic model.

    Notes
    -----
    There are three cases.

    - X is the X of the fit, and the model has ``topic_assignments_``: the topics are those of the last draw. With
      counts that do not include the token, its full conditional is proportional to ``(n_dk + alpha_k)
      (m_kv + eta_kv) / (m_k + sum_v eta_kv)``. In `CompoundLDA` alpha is ``doc_concentration_`` times the posterior
      mean of the mixture of the document's collection. In `LabeledLDA` only the labels of the document have a
      probability.
    - Other documents, and an estimator of this package that samples: the topics are a draw given ``topic_word_``
      (phi), the last of at least 30 Gibbs sweeps. The full conditional is proportional to
      ``(n_dk + alpha_k) phi_kv``. The draw of a document depends only on the seed of the fit and on its words.
    - Other models: the probability is proportional to ``theta_dk phi_kv``, where theta comes from ``transform`` or from
      the arrays. The topic is the most probable one.

    Examples
    --------
    >>> from sklda.inspection import describe, token_topics
    >>> topics = [[0.5, 0.4, 0.1], [0.5, 0.1, 0.4]], [[0.5, 0.5], [0.9, 0.1]]
    >>> table = token_topics(describe(topics, vocabulary=["the", "cat", "sleeps"]), [[1, 2, 0], [0, 0, 1]])
    >>> [str(word) for word in table["word"]], [int(k) for k in table["topic"]]
    (['the', 'cat', 'cat', 'sleeps'], [0, 0, 0, 0])
    """
    found = view(estimator, X, needs="counts")
    tokens, corpus = Tokens(found), found.corpus
    if document is None:
        chosen, probability = slice(None), None
    else:
        document = found.document(document)
        chosen = slice(*corpus.offsets[document : document + 2])
        probability = tokens.conditional(document)
    columns = {
        "document": [found.document_names[d] for d in corpus.token_documents[chosen]],
        "word": [found.words[v] for v in corpus.words[chosen]],
        "topic": tokens.topics[chosen],
    }
    if found.names is not None:
        # The last name is that of topic -1.
        columns["name"] = [[*found.names, ""][k] for k in columns["topic"]]
    if probability is not None:
        columns |= dict(zip(found.titles(columns), probability.T, strict=True))
    return DataFrame(columns)


class Tokens:
    """The tokens of a view's documents with their topics, int32 (n_tokens,).

    `kind` says where the topics come from, see the three cases of `token_topics`: "state", "fold_in" or "likeliest".
    """

    def __init__(self, view):
        self.view = view
        self.corpus = view.corpus
        self.topics = view.of_fit("topic_assignments_") if view.is_training else None
        if self.topics is not None:
            self.kind = "state"
        elif view.fold_in is not None:
            self.kind, self.topics = "fold_in", self._draw()
        else:
            self.kind, self.topics = "likeliest", self._likeliest()

    def _draw(self, seed=None):
        n_sweeps, own_seed = self.view.fold_in or (0, None)
        options = {
            "n_sweeps": max(n_sweeps, _LEAST_SWEEPS),
            "seed": own_seed if seed is None else seed,
            "n_jobs": getattr(self.view.model, "n_jobs", None),
        }
        return draw_topics(self.corpus, self.view.topic_word, self.view.alpha, **options)

    def draws(self, n_draws, seed):
        """At most `n_draws` posterior draws of the topics, a list; the last ones that the fit kept, if it kept some.

        Raises
        ------
        TypeError
            If the model has no draws.
        """
        if not self.view.has_full_conditionals:
            raise lacks(self.view.model, "posterior draws of the topics of tokens", _NO_DRAWS)
        if self.kind != "state":
            return [self._draw(random.key(random.child(seed, i))) for i in range(n_draws)]
        results = getattr(self.view.model, "_results_", None)
        draws = None if results is None else results.kept_draws()
        return [self.topics] if draws is None else list(draws.last(n_draws).topics)

    def _likeliest(self):
        topics = np.empty(self.corpus.n_tokens, np.int32)
        for d in range(self.corpus.n_documents):
            own = slice(*self.corpus.offsets[d : d + 2])
            words, index = np.unique(self.corpus.words[own], return_inverse=True)
            topics[own] = likeliest(self.view, d, words)[index]
        return topics

    def conditional(self, d):
        """The full conditionals of the tokens of document d, (n_tokens, n_components). Rows sum to one, or to zero."""
        own = slice(*self.corpus.offsets[d : d + 2])
        words, topics = self.corpus.words[own], self.topics[own]
        # Tokens of one word and one topic have the same conditional.
        pairs, index = np.unique(np.stack([words, topics]), axis=1, return_inverse=True)
        words, topics = pairs.astype(np.int64)
        weights = self._word_weights(words, topics)
        if self.kind == "likeliest":
            weights *= self.view.doc_topic[d]
        else:
            counts = np.bincount(self.topics[own][self.topics[own] >= 0], minlength=self.view.n_topics)
            alpha = self.view.alpha
            others = np.tile(counts + alpha[d if len(alpha) > 1 else 0], (len(words), 1))
            has_topic = np.flatnonzero(topics >= 0)
            others[has_topic, topics[has_topic]] -= 1
            weights *= others
        sums = weights.sum(axis=1, keepdims=True)
        return (weights / np.where(sums > 0, sums, 1))[np.ravel(index)]

    def _word_weights(self, words, topics):
        """The factor of the word in the full conditional, for pairs of a word and its present topic."""
        if self.kind != "state":
            return self.view.topic_word[:, words].T.copy()
        K, V = self.view.topic_word.shape
        distinct, index = np.unique(words, return_inverse=True)
        # Documents without open topics do not count.
        same = np.isin(self.corpus.words, distinct) & (self.topics >= 0)
        rows = np.searchsorted(distinct, self.corpus.words[same])
        counts = np.bincount(rows * K + self.topics[same], minlength=len(distinct) * K).reshape(-1, K)[index]
        totals = np.tile(np.bincount(self.topics[self.topics >= 0], minlength=K), (len(words), 1))
        has_topic = np.flatnonzero(topics >= 0)
        pair = has_topic, topics[has_topic]
        counts[pair] -= 1
        totals[pair] -= 1
        eta = np.broadcast_to(np.asarray(self.view.model.topic_word_prior_, dtype=np.float64), (K, V))
        return (counts + eta[:, words].T) / (totals + eta.sum(axis=1))


def likeliest(view, d, words):
    """The most probable topic of each of `words` in document d given theta and phi; -1 for a word that no topic has."""
    weights = view.doc_topic[d, :, None] * view.topic_word[:, words]
    return np.where(weights.max(axis=0, initial=0) > 0, weights.argmax(axis=0), -1).astype(np.int32)
