"""Documents as their distinct words with counts, in blocks that do not depend on the number of threads."""

from dataclasses import dataclass

import numpy as np

from sklda._core.parallel import Aligned
from sklda._core.priors import padded


@dataclass(frozen=True, eq=False)
class DistinctWords(Aligned):
    """The distinct words of consecutive documents."""

    documents: tuple  # the first document, and the one after the last
    words: np.ndarray  # the words of the block, ascending
    rows: np.ndarray  # int32 (n_entries,): for every distinct word of every document, its index in `words`
    repeats: np.ndarray  # float32 (n_entries,): its count
    offsets: np.ndarray  # document d has the entries offsets[d] to offsets[d + 1]

    @property
    def n_entries(self):
        return len(self.rows)

    @property
    def n_documents(self):
        return len(self.offsets) - 1

    @property
    def most_distinct(self):
        """The largest number of distinct words in a document."""
        return max(int(np.diff(self.offsets).max(initial=0)), 1)


def blocks_of_distinct_words(corpus, *, n_entries=None, n_documents=None):
    """Blocks of about `n_entries` entries, or of exactly `n_documents` documents; a list of `DistinctWords`."""
    new = np.ones(corpus.n_tokens + 1, bool)
    new[1:-1] = corpus.words[1:] != corpus.words[:-1]
    new[corpus.offsets] = True
    starts = np.flatnonzero(new)
    offsets = np.searchsorted(starts, corpus.offsets)
    words, repeats = corpus.words[starts[:-1]], np.diff(starts).astype(np.float32)
    if n_documents is not None:
        edges = np.arange(0, corpus.n_documents, n_documents)
    else:
        edges = np.searchsorted(offsets, np.arange(n_entries, offsets[-1], n_entries), side="right") - 1
    edges = np.unique(np.concatenate([[0], edges, [corpus.n_documents]]))
    blocks = []
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        own = slice(offsets[first], offsets[last])
        present, rows = np.unique(words[own], return_inverse=True)
        present, rows = present.astype(np.int64), rows.astype(np.int32)
        blocks.append(
            DistinctWords((first, last), present, rows, repeats[own], offsets[first : last + 1] - offsets[first])
        )
    return blocks


def padded_alpha(alpha):
    """alpha of (n_components,) as the kernels take it, float32 (width,), zero in the padding."""
    result = np.zeros(padded(len(alpha)), np.float32)
    result[: len(alpha)] = alpha
    return result


def word_prior_rows(priors, words):
    """eta of some words as the kernels take it: (n_words,) and (n_words, width), float32; one of them is empty."""
    if len(priors.topic):
        return np.empty(0, np.float32), priors.topic[words]
    return priors.word[words].astype(np.float32), priors.topic
