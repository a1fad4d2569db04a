"""Stochastic CVB0, SCVB0: topics from chunks of documents that are not kept (Foulds et al. 2013).

The expected counts m_kv are those of a corpus of `total_samples` documents. A chunk gives an estimate of them, and the
counts move towards it by a step that becomes smaller. Within a chunk the topics are fixed. A document of a stream is
new, so the counts of the topics do not contain it, and nothing is subtracted from them.
"""

from collections import deque

import numpy as np

from sklda._core.priors import padded
from sklda._input.memory import check_memory_of_topics
from sklda._kernels import _collapsed_variational
from sklda._models.variational.fixed_topics import infer_block, phi_rows
from sklda._models.variational.word_blocks import blocks_of_distinct_words, padded_alpha, word_prior_rows
from sklda._sampling.prior_learning import learns_from

# Documents of a block, the unit of parallel work, and number of blocks whose results are in memory together.
_BLOCK_DOCUMENTS, _GROUP_BLOCKS = 32, 16
# The factor of the stored counts below which they are multiplied by it.
_SMALLEST_SCALE = 1e-6
# The first counts of a stream: their sum as a share of the tokens, and the shape of their Gamma distribution. On a
# corpus of 780,000 tokens with 100 topics, a share of 1 and shapes of 1 and 100 were worse after a pass.
_FIRST_SHARE, _FIRST_SHAPE = 0.1, 10.0
# Chunks between two M-steps, and the number of last documents from which alpha is learnt.
_LEARN_EVERY, _LEARN_DOCUMENTS = 10, 2000


def initial_counts(corpus, priors, total_samples, seed):
    """Random m_kv, from which a stream with the first chunk `corpus` begins; (n_components, n_features)."""
    K, V = priors.shape
    # These counts, and those of the stream.
    check_memory_of_topics(K, 2 * 8 * V)
    size = _FIRST_SHARE * total_samples * max(corpus.n_tokens, 1) / max(corpus.n_documents, 1) / (K * V)
    return size / _FIRST_SHAPE * np.random.default_rng(seed).standard_gamma(_FIRST_SHAPE, (K, V))


class Stream:
    """Topics that follow a stream of documents, with one alpha for all documents.

    Parameters
    ----------
    counts : ndarray of shape (n_components, n_features)
        Expected counts m_kv in a corpus of `total_samples` documents.
    decay, offset : float
        Chunk t moves the counts by the step ``(offset + t) ** -decay``.
    n_updates, tolerance
        See `infer`.
    learner : VariationalLearner or None
        None: the priors are fixed.
    n_chunks, n_documents, n_tokens : int
        Numbers of chunks, documents and tokens so far.
    recent : sequence of (ndarray, ndarray)
        Expected counts and lengths of the last documents, from which alpha is learnt.
    """

    def __init__(
        self,
        counts,
        priors,
        *,
        total_samples,
        decay,
        offset,
        n_updates,
        tolerance,
        learner=None,
        n_chunks=0,
        n_documents=0,
        n_tokens=0,
        recent=(),
    ):
        self.priors, self.total_samples, self.decay, self.offset = priors, total_samples, decay, offset
        self.n_updates, self.tolerance, self.learner = n_updates, tolerance, learner
        self.n_chunks, self.n_documents, self.n_tokens, self.recent = n_chunks, n_documents, n_tokens, deque(recent)
        K, V = counts.shape
        # The counts are `_scale * _word_topic`: a step that makes them smaller changes only the scale.
        self._scale, self._word_topic = 1.0, np.zeros((V, padded(K)))
        self._word_topic[:, :K] = counts.T
        self.topic_totals = counts.sum(axis=1)

    @property
    def counts(self):
        """m_kv, (n_components, n_features)."""
        return self._scale * self._word_topic[:, : self.priors.n_components].T

    def position(self):
        """The place in the stream, with which another `Stream` continues."""
        return {
            "total_samples": self.total_samples,
            "n_chunks": self.n_chunks,
            "n_documents": self.n_documents,
            "n_tokens": self.n_tokens,
            "recent": tuple(self.recent),
        }

    def step(self, corpus, team, size=None):
        """Move the topics by one chunk of documents; nothing changes if it has no token.

        The step is `size`; None: as `decay` and `offset` say.
        """
        if not corpus.n_tokens:
            return
        self.n_chunks += 1
        size = (self.offset + self.n_chunks) ** -self.decay if size is None else size
        present, changes, doc_topic = self._expect(corpus, team)
        self._scale *= 1 - size
        if self._scale < _SMALLEST_SCALE:
            self._word_topic *= self._scale
            self._scale = 1.0
        factor = size * self.total_samples / corpus.n_documents
        self._word_topic[present] += factor / self._scale * changes
        self.topic_totals = (1 - size) * self.topic_totals + factor * doc_topic.sum(axis=0)
        self.n_documents += corpus.n_documents
        self.n_tokens += corpus.n_tokens
        if self.learner is not None:
            self._learn(doc_topic, corpus.lengths)

    def _expect(self, corpus, team):
        """The words of a chunk, their expected counts in topics, and the expected topic counts of its documents."""
        alpha, blocks = padded_alpha(self.priors.doc[0]), blocks_of_distinct_words(corpus, n_documents=_BLOCK_DOCUMENTS)
        present = np.unique(corpus.words)
        changes, parts = np.zeros((len(present), self._word_topic.shape[1])), []
        for g in range(0, len(blocks), _GROUP_BLOCKS):
            group = blocks[g : g + _GROUP_BLOCKS]
            found = team.run(self._infer, ((block, alpha, team.stop) for block in group))
            for block, (part, doc_topic) in zip(group, found, strict=True):
                _collapsed_variational.add_rows(np.searchsorted(present, block.words), part, 1.0, changes)
                parts.append(doc_topic)
        return present, changes, np.concatenate(parts)

    def _infer(self, block, alpha, stop):
        priors, K = self.priors, self.priors.n_components
        rows = self._scale * self._word_topic[block.words, :K]
        shared, own = word_prior_rows(priors, block.words)
        rows += own[:, :K] if len(priors.topic) else shared[:, None]
        rows /= self.topic_totals + priors.totals
        rows = phi_rows(rows)
        changes = np.zeros_like(rows)
        doc_topic = infer_block(block, rows, alpha, K, self.n_updates, self.tolerance, stop, changes)
        return changes, doc_topic

    def _learn(self, doc_topic, lengths):
        """Remember documents; do an M-step after every ten chunks."""
        self.recent.append((doc_topic[-_LEARN_DOCUMENTS:].astype(np.float32), lengths[-_LEARN_DOCUMENTS:]))
        while sum(len(each) for each, _ in self.recent) - len(self.recent[0][0]) >= _LEARN_DOCUMENTS:
            self.recent.popleft()
        if self.n_chunks % _LEARN_EVERY or not learns_from(self.n_tokens):
            return
        doc_topic, lengths = (np.concatenate(parts) for parts in zip(*self.recent, strict=True))
        # The topics are as certain as the documents seen make them.
        share = min(1.0, self.n_documents / self.total_samples) * self._scale
        word_topic = share * self._word_topic
        totals = word_topic.sum(axis=0)[: self.priors.n_components]
        self.priors = self.learner.maximise(self.learner.statistics(doc_topic, lengths, word_topic, totals))
