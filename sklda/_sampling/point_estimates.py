"""Point estimates of theta and phi from topic assignments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklda._core.corpus import small_parts, tally
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import padded
from sklda._input.arguments import check_int, check_no_mask
from sklda._input.counts import LARGEST_COUNT
from sklda._kernels import _point_estimates, _tokens

METHODS = ("cgs_p", "cgs")
# The largest number of topics that is inferred from assignments, unless there are more tokens. A larger number is
# probably a mistake in the data.
_MOST_TOPICS = 10_000
# Weights (tokens times topics) of a block of documents. A block takes about a tenth of a second.
_BLOCK_WEIGHTS = 2**26
# Counts of a block of words: 4 MB, and 8 MB of expected counts.
_BLOCK_COUNTS = 2**20


def add_estimates(corpus, priors, topics, doc_topic, topic_word, method="cgs_p", stop=NEVER_STOP, all_counts=None):
    """Add topic counts of documents and of words for the point estimates, without the priors.

    The words are taken in blocks, so that little memory is needed beside the result.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
    topics : ndarray of shape (n_tokens,)
        Of any integer type.
    doc_topic : ndarray of shape (n_documents, n_components), float32 or float64
    topic_word : ndarray of shape (n_components, n_features), float32 or float64
    method : {"cgs_p", "cgs"}
        ``"cgs_p"``: expected counts, with each token's topic replaced by its full conditional (Papanikolaou et al.
        2017, equations 33 and 41). ``"cgs"``: the counts of `topics` (Griffiths & Steyvers 2004; equations 2 and 3
        there).
    stop : callable
        It is called between blocks of words and of documents.
    all_counts : ndarray of shape (n_features, width), int32, default=None
        The topic counts of the words, if `corpus` is a part of the documents.
    """
    K = priors.n_components
    totals = tally(topics, K) if all_counts is None else all_counts.sum(axis=0, dtype=np.int64)[:K]
    scratch = np.empty((7, K)), np.empty((2, K), np.int32)
    parts = corpus.blocks(n_tokens=_BLOCK_WEIGHTS // K)
    if method == "cgs":
        for first, last in parts:
            # Ones that are added to a sum of many draws in single precision would be lost from 2^24 on.
            counts = np.zeros((last - first, K))
            _tokens.count_documents(*_of_documents(corpus, topics, first, last), counts)
            doc_topic[first:last] += counts
    for block in word_blocks(corpus, K):
        stop()
        if method == "cgs":
            topic_word[:, block.features] += block.counts(topics, K)[:, :K].T
            continue
        counts = block.counts(topics, K) if all_counts is None else all_counts[block.features]
        words, own = np.zeros((len(counts), K)), block.of_tokens(topics)
        of_words = priors.word[block.features], priors.topic[block.features], priors.totals, counts, totals
        weights = np.empty(words.shape, np.float32)
        n_sums = len(words) if len(priors.doc) == 1 else 0
        sums, shares = np.empty(n_sums), np.zeros(n_sums)
        _point_estimates.weigh_words(*of_words, priors.doc[0], scratch[0][0], weights, sums)
        for first, last in parts:
            stop()
            _point_estimates.expected_counts(
                block.words,
                block.offsets[first : last + 1],
                own,
                *_of_documents(corpus, topics, first, last),
                priors.doc,
                priors.row_of[first:last],
                *of_words,
                weights,
                sums,
                doc_topic[first:last],
                words,
                shares,
                *scratch,
            )
        _point_estimates.add_prior_parts(priors.doc[0], weights, shares, words)
        topic_word[:, block.features] += words.T


def _of_documents(corpus, topics, first, last):
    """The offsets and the topics, int32, of consecutive documents."""
    offsets = corpus.offsets[first : last + 1]
    return offsets - offsets[0], topics[offsets[0] : offsets[-1]].astype(np.int32, copy=False)


@dataclass(frozen=True, eq=False)
class WordBlock:
    """The tokens of some consecutive words.

    Attributes
    ----------
    features : slice
        The words.
    words : ndarray of shape (n_tokens,), int32
        The words of the tokens, document by document, counted from the first word of the block.
    offsets : ndarray of shape (n_documents + 1,), int64
        Document d has the tokens from ``offsets[d]`` to ``offsets[d + 1]``.
    positions : ndarray of shape (n_tokens,) or None
        The tokens in the corpus. None: the block has all of them.
    """

    features: slice
    words: np.ndarray
    offsets: np.ndarray
    positions: np.ndarray | None

    def of_tokens(self, values):
        """The values of these tokens, int32, from the values of all tokens."""
        return (values if self.positions is None else values[self.positions]).astype(np.int32, copy=False)

    def counts(self, topics, n_components):
        """Topic counts of the words, (n_words, width) int32, zero in the padding."""
        counts = np.zeros((self.features.stop - self.features.start, padded(n_components)), np.int32)
        _tokens.count_topics(self.words, self.of_tokens(topics), counts, np.zeros(n_components, np.int64))
        return counts


def word_blocks(corpus, n_components):
    """Iterate over the `WordBlock`s of a corpus. Their counts of topics have at most `_BLOCK_COUNTS` numbers, and a
    block of several words has at most a quarter of the tokens.
    """
    V, size = corpus.n_features, max(_BLOCK_COUNTS // padded(n_components), 1)
    if V <= size:
        yield WordBlock(slice(0, V), corpus.words, corpus.offsets, None)
        return
    ends = np.cumsum(corpus.word_frequencies)
    first = 0
    while first < V:
        before = ends[first - 1] if first else 0
        last = int(np.searchsorted(ends, before + corpus.n_tokens // 4, side="right"))
        last = min(max(last, first + 1), first + size, V)
        positions, start = [], 0
        for part in small_parts(corpus.words):
            positions.append(np.flatnonzero((part >= first) & (part < last)) + start)
            start += len(part)
        positions = np.concatenate(positions)
        words = corpus.words[positions]
        words -= np.int32(first)
        yield WordBlock(slice(first, last), words, np.searchsorted(positions, corpus.offsets), positions)
        first = last


def check_assignments(topic_assignments, corpus, n_components=None, name="topic_assignments"):
    """Check the topic assignments of a corpus; `name` is that of the argument.

    Returns
    -------
    topics : ndarray of shape (n_tokens,), int32
    n_components : int

    Raises
    ------
    ValueError, TypeError
        If they are no whole numbers, are not as many as the tokens, or do not lie below `n_components`.
    """
    if n_components is not None:
        check_int(n_components, "n_components", 1, LARGEST_COUNT)
    if isinstance(topic_assignments, (str, bytes)) or not hasattr(topic_assignments, "__len__"):
        raise TypeError(f"{name} must hold a topic for every token, got {topic_assignments!r}.")
    check_no_mask(topic_assignments, name)
    topics = _flatten(topic_assignments, corpus, name)
    if n_components is None:
        n_components, most = int(topics.max(initial=0)) + 1, max(corpus.n_tokens, _MOST_TOPICS)
        if n_components > most:
            raise ValueError(
                f"{name} contains {n_components - 1}, so there would be {n_components} topics, but X has "
                f"{corpus.n_tokens} tokens. Set n_components if this is right; otherwise number topics from 0."
            )
    if len(topics) and not (0 <= topics.min() and topics.max() < n_components):
        raise ValueError(
            f"{name} ranges from {topics.min()} to {topics.max()}; with n_components={n_components} "
            f"it must lie between 0 and {n_components - 1}."
        )
    return np.require(topics, np.int32, ["C", "A"]), int(n_components)


def _flatten(topic_assignments, corpus, name):
    """The topics of all tokens as one array, after checks of its length and dtype."""
    if not isinstance(topic_assignments, np.ndarray):
        # Indexing a pandas Series would use its labels.
        topic_assignments = list(topic_assignments)
    if len(topic_assignments) and np.ndim(topic_assignments[0]):
        lengths = np.array([len(part) for part in topic_assignments])
        if len(lengths) != corpus.n_documents:
            raise ValueError(f"{name} has {len(lengths)} documents, X has {corpus.n_documents}.")
        if (lengths != corpus.lengths).any():
            d = int(np.argmax(lengths != corpus.lengths))
            raise ValueError(f"{name}[{d}] has {lengths[d]} topics; document {d} of X has {corpus.lengths[d]} tokens.")
        topic_assignments = np.concatenate([np.asarray(part) for part in topic_assignments if len(part)] or [[]])
    topics = np.asarray(topic_assignments)
    if topics.shape != (corpus.n_tokens,):
        raise ValueError(f"{name} has shape {topics.shape}; X has {corpus.n_tokens} tokens.")
    if topics.dtype.kind not in "iu" and len(topics):
        raise TypeError(f"{name} must hold integers, got {topics.dtype}.")
    return topics
