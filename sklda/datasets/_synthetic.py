"""Corpora drawn from a model, with the parameters that generated them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch, check_scalar

from sklda._core.random import log_dirichlet, numpy_generator
from sklda._input.arguments import is_whole, real_numbers
from sklda._input.types import Seed


def make_lda_corpus(
    n_documents: int = 100,
    n_features: int = 1000,
    n_components: int = 10,
    *,
    doc_length: int | tuple[int, int] | ArrayLike | Any = 100,
    doc_topic_prior: ArrayLike = 0.1,
    topic_word_prior: ArrayLike = 0.1,
    zipf_exponent: float | None = None,
    random_state: Seed = None,
) -> Bunch:
    """Draw a corpus from latent Dirichlet allocation.

    The topics are drawn from a Dirichlet distribution over the words. The topic proportions of each document are drawn
    from a Dirichlet distribution over the topics. For each token a topic is drawn, and then a word from this topic
    [1]_.

    Parameters
    ----------
    n_documents : int, default=100
        Number of documents, D.

    n_features : int, default=1000
        Number of words of the vocabulary, V. Some words may not occur in the corpus.

    n_components : int, default=10
        Number of topics, K.

    doc_length : int, tuple (low, high), array-like of shape (n_documents,) or distribution, default=100
        Number of tokens of a document. An int: the same for all documents. A tuple: uniform on ``low, ..., high``,
        both ends included. An array or list: one length for each document. A frozen distribution such as
        ``scipy.stats.poisson(80)``: drawn from it. A tuple of two is always a range; for two documents use a list.

    doc_topic_prior : float or array-like of shape (n_components,), default=0.1
        alpha, the Dirichlet parameter of the topic proportions for each topic (not its sum).

    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=0.1
        eta, the Dirichlet parameter of the topics for each word.

    zipf_exponent : float, default=None
        At most 10. If given, the prior of word v is ``topic_word_prior`` times a weight. The weights are proportional
        to ``1 / (v + 1) ** zipf_exponent`` and have mean 1, so frequent words have small ids. In texts the exponent is
        about 1.

    random_state : int, RandomState, Generator or None, default=None
        With an int, every call draws the same corpus.

    Returns
    -------
    corpus : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the following attributes.

        data : csr_matrix of shape (n_documents, n_features), dtype int64
            Number of occurrences of each word in each document; column indices are sorted.
        topic_word : ndarray of shape (n_components, n_features)
            The topics; rows sum to 1.
        doc_topic : ndarray of shape (n_documents, n_components)
            The topic proportions; rows sum to 1.
        topic_assignments : ndarray of int32 of shape (n_tokens,)
            The topic of each token. Tokens are ordered by document and then by word id; a word with count c has c
            entries. The order of these c entries has no meaning; they are ascending.
        doc_length : ndarray of int64 of shape (n_documents,)
            Number of tokens of each document.
        doc_topic_prior : float or ndarray of shape (n_components,)
            The prior that was used.
        topic_word_prior : float or ndarray of shape (n_features,) or (n_components, n_features)
            The prior that was used, with Zipf weights.

    Raises
    ------
    TypeError
        If an argument is not a number where one is expected, or ``doc_length`` has another type.
    ValueError
        If a number is out of its range, a prior is not positive or has a wrong shape, or a length is negative or not an
        integer.

    Notes
    -----
    Dirichlet variates are drawn on the log scale. So rows sum to 1 also for small parameters, for which gamma variates
    underflow.

    References
    ----------
    .. [1] D. M. Blei, A. Y. Ng and M. I. Jordan (2003). Latent Dirichlet allocation. Journal of Machine
       Learning Research 3, 993-1022.

    Examples
    --------
    >>> from sklda.datasets import make_lda_corpus
    >>> corpus = make_lda_corpus(n_documents=20, n_features=50, n_components=3, random_state=0)
    >>> corpus.data.shape, int(corpus.data.sum())
    ((20, 50), 2000)
    >>> corpus.topic_word.shape, corpus.doc_topic.shape, corpus.topic_assignments.shape
    ((3, 50), (20, 3), (2000,))

    The words of the tokens, in the order of ``topic_assignments``:

    >>> import numpy as np
    >>> words = np.repeat(corpus.data.indices, corpus.data.data)
    >>> words.shape
    (2000,)
    """
    check_scalar(n_documents, "n_documents", Integral, min_val=1)
    check_scalar(n_features, "n_features", Integral, min_val=1)
    check_scalar(n_components, "n_components", Integral, min_val=1)
    doc_topic_prior = _check_prior(doc_topic_prior, "doc_topic_prior", [(n_components,)])
    topic_word_shapes = [(n_features,), (n_components, n_features)]
    topic_word_prior = _check_prior(topic_word_prior, "topic_word_prior", topic_word_shapes)
    if zipf_exponent is not None:
        check_scalar(zipf_exponent, "zipf_exponent", Real)
        if not 0 <= zipf_exponent <= 10:
            raise ValueError(f"zipf_exponent must lie between 0 and 10, got {zipf_exponent}; 1 is like text.")
        weights = np.arange(1, n_features + 1) ** -float(zipf_exponent)
        topic_word_prior = topic_word_prior * (weights / weights.mean())

    rng = numpy_generator(random_state)
    lengths = _draw_lengths(rng, doc_length, n_documents)
    topic_word = _draw_dirichlet(rng, topic_word_prior, (n_components, n_features))
    doc_topic = _draw_dirichlet(rng, doc_topic_prior, (n_documents, n_components))
    data, topic_assignments = _draw_tokens(rng, lengths, doc_topic, topic_word)
    return Bunch(
        data=data,
        topic_word=topic_word,
        doc_topic=doc_topic,
        topic_assignments=topic_assignments,
        doc_length=lengths,
        doc_topic_prior=doc_topic_prior,
        topic_word_prior=topic_word_prior,
    )


def _check_prior(prior, name, shapes):
    """Return a positive float, or an array of one of the shapes."""
    array = real_numbers(prior, name).copy()
    if array.shape not in [(), *shapes]:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"{name} has shape {array.shape}; give a float or an array of shape {expected}.")
    if not np.all((array > 0) & np.isfinite(array)):
        raise ValueError(f"{name} must be positive and finite, it is a Dirichlet parameter; got {prior!r}.")
    return array if array.ndim else float(array)


def _draw_lengths(rng, doc_length, n_documents):
    """Return the number of tokens of each document, given or drawn."""
    if hasattr(doc_length, "rvs"):
        lengths = np.asarray(doc_length.rvs(size=n_documents, random_state=rng))
    elif is_whole(doc_length):
        lengths = np.full(n_documents, doc_length)
    elif isinstance(doc_length, tuple) and len(doc_length) == 2:
        low, high = doc_length
        check_scalar(low, "the lower end of doc_length", Integral, min_val=0)
        check_scalar(high, "the upper end of doc_length", Integral, min_val=low)
        lengths = rng.integers(low, high, size=n_documents, endpoint=True)
    elif isinstance(doc_length, (tuple, list)) or hasattr(doc_length, "__array__"):
        lengths = np.asarray(doc_length)
    else:
        raise TypeError(
            "doc_length must be an int, a tuple (low, high), an array of shape (n_documents,) or a frozen "
            f"distribution such as scipy.stats.poisson(80), got {doc_length!r}."
        )
    if lengths.shape != (n_documents,):
        raise ValueError(
            f"doc_length has shape {lengths.shape}; give one length for each of the {n_documents} documents."
        )
    if not np.issubdtype(lengths.dtype, np.number):
        raise TypeError(f"doc_length must hold numbers, got an array of dtype {lengths.dtype}.")
    wrong = ~((lengths >= 0) & (lengths == np.floor(lengths)))
    if wrong.any():
        raise ValueError(
            f"doc_length must give non-negative integers, got {lengths[wrong][0]}; "
            "round lengths that are not whole, or choose a discrete distribution."
        )
    return lengths.astype(np.int64)


def _draw_dirichlet(rng, prior, shape):
    """Draw rows of the Dirichlet distribution."""
    return np.exp(log_dirichlet(rng, np.broadcast_to(prior, shape)))


def _draw_tokens(rng, lengths, doc_topic, topic_word):
    """Return the counts and the topics of the tokens."""
    (n_documents, n_components), n_features = doc_topic.shape, topic_word.shape[1]
    doc_topic_counts = rng.multinomial(lengths, doc_topic)
    # Each token is one integer, (document, word, topic) in mixed radix, so that one sort orders the tokens.
    keys = []
    for topic, probabilities in enumerate(topic_word):
        documents = np.repeat(np.arange(n_documents, dtype=np.int64), doc_topic_counts[:, topic])
        cumulative = np.cumsum(probabilities)
        # Uniform numbers are below 1 and the last sum is exactly 1, so every draw is a word.
        words = np.searchsorted(cumulative / cumulative[-1], rng.random(len(documents)), side="right")
        keys.append((documents * n_features + words) * n_components + topic)
    keys = np.sort(np.concatenate(keys))

    cells, counts = np.unique(keys // n_components, return_counts=True)
    indptr = np.searchsorted(cells, np.arange(n_documents + 1, dtype=np.int64) * n_features)
    data = csr_matrix((counts, cells % n_features, indptr), shape=(n_documents, n_features))
    return data, (keys % n_components).astype(np.int32)


def make_compound_lda_corpus(
    n_documents: ArrayLike = (50, 50),
    n_features: int = 1000,
    n_components: int = 10,
    *,
    doc_length: int | tuple[int, int] | ArrayLike | Any = 100,
    collection_topic_prior: ArrayLike = 1.0,
    doc_concentration: float = 1.0,
    topic_word_prior: ArrayLike = 0.1,
    collection_topic: ArrayLike | None = None,
    random_state: Seed = None,
) -> Bunch:
    """Draw a corpus of several collections from compound latent Dirichlet allocation.

    Collections share the topics. The mixture of each collection is drawn from a Dirichlet distribution. The topic
    proportions of each document are drawn from a Dirichlet distribution around the mixture of its collection (George,
    Xia & Michailidis 2019, equations 1 to 5).

    Parameters
    ----------
    n_documents : sequence of int, default=(50, 50)
        Number of documents of each collection.

    n_features : int, default=1000
        Number of words of the vocabulary, V.

    n_components : int, default=10
        Number of topics, K.

    doc_length : int, tuple (low, high), array-like of shape (sum(n_documents),) or distribution, default=100
        Number of tokens of a document. An int: the same for all documents. A tuple: uniform on ``low, ..., high``, both
        ends included. An array or list: one length for each document. A frozen distribution such as
        ``scipy.stats.poisson(80)``: drawn from it.

    collection_topic_prior : float or array-like of shape (n_components,), default=1.0
        alpha, the Dirichlet parameter of the mixtures for each topic.

    doc_concentration : float, default=1.0
        gamma, the concentration of topic proportions around the mixture of the collection. It is the sum of the
        Dirichlet parameter over topics.

    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=0.1
        eta, the Dirichlet parameter of the topics for each word.

    collection_topic : array-like of shape (n_collections, n_components), default=None
        The mixtures; rows sum to 1. None: they are drawn.

    random_state : int, RandomState, Generator or None, default=None
        With an int, every call draws the same corpus.

    Returns
    -------
    corpus : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the following attributes.

        data : csr_matrix of shape (sum(n_documents), n_features), dtype int64
            Number of occurrences of each word in each document; column indices are sorted.
        collections : ndarray of int of shape (sum(n_documents),)
            The collection of each document, ascending.
        collection_topic : ndarray of shape (n_collections, n_components)
            The mixtures; rows sum to 1.
        topic_word : ndarray of shape (n_components, n_features)
            The topics; rows sum to 1.
        doc_topic : ndarray of shape (sum(n_documents), n_components)
            The topic proportions; rows sum to 1.
        topic_assignments : ndarray of int32 of shape (n_tokens,)
            The topic of each token. Tokens are ordered by document and then by word id; a word with count c has c
            entries.
        doc_length : ndarray of int64 of shape (sum(n_documents),)
            Number of tokens of each document.

    Raises
    ------
    TypeError
        If an argument is not a number where one is expected.
    ValueError
        If a number is out of its range, a prior is not positive, or a prior or the mixtures have a wrong shape.

    References
    ----------
    George, Xia & Michailidis (2019). Analyses of multi-collection corpora via compound topic modeling.

    Examples
    --------
    >>> from sklda.datasets import make_compound_lda_corpus
    >>> corpus = make_compound_lda_corpus([20, 10], 50, 3, random_state=0)
    >>> corpus.data.shape, corpus.collection_topic.shape, corpus.collections[[0, 19, 20, 29]].tolist()
    ((30, 50), (2, 3), [0, 0, 1, 1])
    """
    sizes = np.atleast_1d(n_documents)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not len(sizes) or (sizes < 0).any() or not sizes.sum():
        raise ValueError(f"n_documents must hold the number of documents of every collection, got {n_documents!r}.")
    check_scalar(n_features, "n_features", Integral, min_val=1)
    check_scalar(n_components, "n_components", Integral, min_val=1)
    alpha = _check_prior(collection_topic_prior, "collection_topic_prior", [(n_components,)])
    gamma = _check_prior(doc_concentration, "doc_concentration", [])
    eta = _check_prior(topic_word_prior, "topic_word_prior", [(n_features,), (n_components, n_features)])
    rng = numpy_generator(random_state)
    lengths = _draw_lengths(rng, doc_length, int(sizes.sum()))
    topic_word = _draw_dirichlet(rng, eta, (n_components, n_features))
    if collection_topic is None:
        mixtures = _draw_dirichlet(rng, alpha, (len(sizes), n_components))
    else:
        mixtures = real_numbers(collection_topic, "collection_topic").copy()
        if mixtures.shape != (len(sizes), n_components) or not (
            (mixtures >= 0).all() and np.allclose(mixtures.sum(axis=1), 1)
        ):
            raise ValueError(
                f"collection_topic must have shape {(len(sizes), n_components)}, no negative value, and rows that sum "
                "to 1."
            )
    collections = np.repeat(np.arange(len(sizes)), sizes)
    # A positive bound, because the Dirichlet distribution needs positive parameters; it has no practical effect.
    prior = np.maximum(gamma * mixtures, 1e-300)[collections]
    doc_topic = _draw_dirichlet(rng, prior, prior.shape)
    data, topic_assignments = _draw_tokens(rng, lengths, doc_topic, topic_word)
    return Bunch(
        data=data,
        collections=collections,
        collection_topic=mixtures,
        topic_word=topic_word,
        doc_topic=doc_topic,
        topic_assignments=topic_assignments,
        doc_length=lengths,
    )
