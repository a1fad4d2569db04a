"""theta and phi from topic assignments."""

from numbers import Integral

import numpy as np
from sklearn.utils import Bunch

from sklda._inference.corpus import Corpus
from sklda._inference.counts import LARGEST_COUNT
from sklda._inference.priors import Priors, padded
from sklda._kernels import _point_estimates, _tokens

METHODS = ("cgs_p", "cgs")
# Where the number of topics is not given, more than this, and than there are tokens, are a mistake.
_PLAUSIBLE = 10_000

# Python looks in between blocks of about this many weights: a tenth of a second.
_BLOCK_WEIGHTS = 2**26


def estimate_counts(corpus, priors, topics, word_topic_counts, topic_totals, method="cgs_p"):
    """Counts of topics by document and by word that the point estimates rest on.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
    topics : ndarray of shape (n_tokens,), int32
    word_topic_counts : ndarray of shape (n_features, width), int32
    topic_totals : ndarray of shape (n_components,), int64
    method : {"cgs_p", "cgs"}
        Expected counts under each token's full conditional (Papanikolaou et al. 2017, equations 33 and 41), or the
        counts themselves (equations 2 and 3 there, after Griffiths and Steyvers).

    Returns
    -------
    doc_topic : ndarray of shape (n_documents, n_components)
    topic_word : ndarray of shape (n_components, n_features)
    """
    K = priors.n_components
    doc_topic = np.zeros((corpus.n_documents, K))
    if method == "cgs":
        _tokens.count_documents(corpus.offsets, topics, doc_topic)
        return doc_topic, word_topic_counts[:, :K].T.astype(np.float64, order="C")
    word_topic = np.zeros((corpus.n_features, K))
    scratch = np.empty((4, K)), np.empty(K, np.int32)
    for first, last in corpus.blocks(n_tokens=_BLOCK_WEIGHTS // K):
        _point_estimates.expected_counts(
            corpus.words,
            corpus.offsets[first : last + 1],
            topics,
            priors.doc[first:last] if len(priors.doc) > 1 else priors.doc,
            priors.word,
            priors.topic,
            priors.totals,
            word_topic_counts,
            topic_totals,
            doc_topic[first:last],
            word_topic,
            *scratch,
        )
    return doc_topic, np.ascontiguousarray(word_topic.T)


def reserve(corpus, n_components):
    """Room for what `estimate_counts` needs, to be held while chains run: a lack of memory shows before, not after.

    Returns
    -------
    list of ndarray
        Without values, which take no memory before they are written.

    Raises
    ------
    MemoryError
        Names the array that there is no room for.
    """
    D, V, K = corpus.n_documents, corpus.n_features, n_components
    return [np.empty(shape) for shape in ((D, K), (V, K), (K, V))]


def point_estimates(
    X, topic_assignments, *, n_components=None, doc_topic_prior=None, topic_word_prior=None, method="cgs_p"
):
    """Topics and topic proportions from the assignments of any LDA sampler.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts.
    topic_assignments : array-like of int, shape (n_tokens,), or sequence of n_documents such arrays
        A topic for every token: document by document, word ids ascending, a word of count c c times.
    n_components : int, default=None
        Number of topics; None: one more than the largest topic given, which may then be at most 9,999 or the number of
        tokens.
    doc_topic_prior : float or array-like of shape (n_components,) or (n_documents, n_components), default=None
        alpha, per topic; None: ``1 / n_components``.
    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=None
        eta, per word; None: ``1 / n_components``.
    method : {"cgs_p", "cgs"}, default="cgs_p"
        ``"cgs_p"`` replaces each token's topic by its full conditional given all others, which averages over all states
        one step away (Papanikolaou et al. 2017, equations 33 and 41); ``"cgs"`` uses the counts themselves.

    Returns
    -------
    sklearn.utils.Bunch
        ``doc_topic`` (n_documents, n_components) and ``topic_word`` (n_components, n_features), rows summing to one,
        and ``components``, the topics' counts plus prior before they are normalised.

    Raises
    ------
    ValueError
        If X is not a matrix of counts, the number of assignments is not the number of tokens, a topic is out of range,
        or a prior is not positive or has the wrong shape.

    References
    ----------
    Papanikolaou, Foulds, Rubin & Tsoumakas (2017). Dense distributions from sparse samples: improved Gibbs sampling
    parameter estimators for LDA. JMLR 18.

    Examples
    --------
    >>> import numpy as np
    >>> import sklda
    >>> X = np.array([[2, 1, 0], [0, 1, 2]])
    >>> found = sklda.point_estimates(X, [0, 0, 0, 1, 1, 1], doc_topic_prior=0.5, topic_word_prior=0.5)
    >>> found.doc_topic.round(2)
    array([[0.77, 0.23],
           [0.23, 0.77]])
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    corpus = Corpus.from_counts(X)
    topics, n_components = check_assignments(topic_assignments, corpus, n_components)
    default = 1.0 / n_components
    priors = Priors.make(
        default if doc_topic_prior is None else doc_topic_prior,
        default if topic_word_prior is None else topic_word_prior,
        n_components,
        corpus.n_features,
        corpus.n_documents,
    )
    word_topic_counts = np.zeros((corpus.n_features, padded(n_components)), np.int32)
    topic_totals = np.zeros(n_components, np.int64)
    _tokens.count_topics(corpus.words, topics, word_topic_counts, topic_totals)
    doc_topic, topic_word = estimate_counts(corpus, priors, topics, word_topic_counts, topic_totals, method)
    doc_topic += priors.doc
    topic_word += priors.topic_word()
    return Bunch(
        doc_topic=doc_topic / doc_topic.sum(axis=1, keepdims=True),
        topic_word=topic_word / topic_word.sum(axis=1, keepdims=True),
        components=topic_word,
    )


def check_assignments(topic_assignments, corpus, n_components=None):
    """One int32 array (n_tokens,) of topics that suit the corpus, and the number of topics.

    Raises
    ------
    ValueError, TypeError
        As `point_estimates`.
    """
    if n_components is not None:
        if not isinstance(n_components, Integral) or isinstance(n_components, bool):
            raise TypeError(f"n_components must be an int, got {n_components!r}.")
        if not 1 <= n_components <= LARGEST_COUNT:
            raise ValueError(f"n_components must lie between 1 and {LARGEST_COUNT}, got {n_components}.")
    topics = _flatten(topic_assignments, corpus)
    if n_components is None:
        n_components, most = int(topics.max(initial=0)) + 1, max(corpus.n_tokens, _PLAUSIBLE)
        if n_components > most:
            raise ValueError(
                f"topic_assignments hold {n_components - 1}, so that there would be {n_components} topics, and X has "
                f"{corpus.n_tokens} tokens. Give n_components if there are so many, or number topics from 0 on."
            )
    if len(topics) and not (0 <= topics.min() and topics.max() < n_components):
        raise ValueError(
            f"topic_assignments run from {topics.min()} to {topics.max()}; with n_components={n_components} "
            f"they must lie between 0 and {n_components - 1}."
        )
    return np.ascontiguousarray(topics, np.int32), int(n_components)


def _flatten(topic_assignments, corpus):
    """One array of integers, whose length is checked."""
    if not isinstance(topic_assignments, np.ndarray):
        # Whatever labels its rows have.
        topic_assignments = list(topic_assignments)
    if len(topic_assignments) and np.ndim(topic_assignments[0]):
        lengths = np.array([len(part) for part in topic_assignments])
        if len(lengths) != corpus.n_documents:
            raise ValueError(f"topic_assignments has {len(lengths)} documents, X has {corpus.n_documents}.")
        if (lengths != corpus.lengths).any():
            d = int(np.argmax(lengths != corpus.lengths))
            raise ValueError(
                f"topic_assignments[{d}] has {lengths[d]} topics; document {d} of X has {corpus.lengths[d]} tokens."
            )
        topic_assignments = np.concatenate([np.asarray(part) for part in topic_assignments if len(part)] or [[]])
    topics = np.asarray(topic_assignments)
    if topics.shape != (corpus.n_tokens,):
        raise ValueError(f"topic_assignments has shape {topics.shape}; X has {corpus.n_tokens} tokens.")
    if topics.dtype.kind not in "iu" and len(topics):
        raise TypeError(f"topic_assignments must hold integers, got {topics.dtype}.")
    return topics
