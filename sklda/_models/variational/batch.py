"""CVB0 for a whole corpus, with a stored distribution for every distinct word of every document.

The corpus is cut into blocks of documents, and the blocks into groups. The blocks of a group are updated independently
of each other, from the topics before the group, and their changes are added in order. So results do not depend on the
number of threads. A small corpus is one block; then every update uses all updates before it.
"""

import numpy as np
import scipy.sparse as sp

from sklda._core import random
from sklda._core.priors import padded
from sklda._input.memory import check_memory
from sklda._kernels import _collapsed_variational
from sklda._models.variational.word_blocks import blocks_of_distinct_words, padded_alpha, word_prior_rows
from sklda._sampling.merge_and_split import exchangeable_topics, round_of_moves

# Entries of a block, and blocks of a group. They change results, so they are constants.
BLOCK_ENTRIES, GROUP_BLOCKS = 2**14, 4
# Updates of a document that enters the counts. On a corpus of 780,000 tokens with 100 topics, one pass after this start
# is as good as ten passes after a start with all documents at once. With 500 topics, distributions over many topics in
# place of one topic for every word led to a much worse mode.
_FIRST_UPDATES = 5
# Passes before the first M-step, and between two M-steps.
_LEARN_FROM, _LEARN_EVERY = 5, 5


class Batch:
    """CVB0 on one corpus, with one alpha for all documents. The priors are fixed if `learner` is None.

    `word_topic` has the expected counts m_kv, one row for each word, (n_features, width), zero in the padding;
    `topic_totals` has m_k. `n_sweeps` counts the passes over the corpus, and `n_bytes` is the memory of the
    distributions.
    """

    def __init__(self, corpus, priors, seed, learner=None, *, block_entries=BLOCK_ENTRIES, group_blocks=GROUP_BLOCKS):
        self.priors, self.seed, self.learner, self.group_blocks = priors, seed, learner, group_blocks
        # In random order, because neighbours in a corpus are often alike.
        self.order = np.random.default_rng(random.child(seed, 0)).permutation(corpus.n_documents)
        shuffled = corpus.take(self.order)
        self.corpus, self._lengths = corpus, shuffled.lengths
        self.blocks = blocks_of_distinct_words(shuffled, n_entries=block_entries)
        K, width = priors.n_components, padded(priors.n_components)
        n_entries = sum(block.n_entries for block in self.blocks)
        self.n_bytes = 4 * n_entries * width
        needs = f"learning_method='batch' stores a distribution over {K} topics for {n_entries} words of documents:"
        # The counts of documents, and the proportions that a fit makes of them.
        n_counts = 2 * K * corpus.n_documents + width * corpus.n_features
        check_memory(self.n_bytes + 8 * n_counts, needs, _ALTERNATIVE)
        most = max(len(block.words) for block in self.blocks)
        try:
            self.own = [np.zeros((block.n_entries, width), np.float32) for block in self.blocks]
            self._slots = np.empty((min(group_blocks, len(self.blocks)), 2, most, width), np.float32)
            self.word_topic = np.zeros((corpus.n_features, width))
            self._doc_topic = np.zeros((corpus.n_documents, K))
        except MemoryError as error:
            raise MemoryError(f"{error} {_ALTERNATIVE}") from error
        self.topic_totals = np.zeros(K)
        self.n_sweeps, self.trace = 0, []

    def initialise(self, team):
        """Let the documents enter the counts one after the other, each with random topics that are then updated."""
        K = self.priors.n_components
        for b, (block, own) in enumerate(zip(self.blocks, self.own, strict=True)):
            topics = np.random.default_rng(random.child(self.seed, 1, b)).integers(K, size=block.n_entries)
            own[np.arange(block.n_entries), topics] = 1
            self._add([b], team.run(self._update, [(b, self._slots[0], team.stop, _FIRST_UPDATES, True)]))

    def sweep(self, team):
        """One update of every distinct word of every document."""
        for g in range(0, len(self.blocks), self.group_blocks):
            group = range(g, min(g + self.group_blocks, len(self.blocks)))
            tasks = ((b, slot, team.stop) for b, slot in zip(group, self._slots, strict=False))
            self._add(group, team.run(self._update, tasks))
        # Their sums of changes have rounding errors.
        self.topic_totals = self.word_topic.sum(axis=0)[: self.priors.n_components]
        self.n_sweeps += 1
        if self.learner is not None and self.n_sweeps >= _LEARN_FROM and self.n_sweeps % _LEARN_EVERY == 0:
            statistics = self._doc_topic, self._lengths, self.word_topic, self.topic_totals
            self.priors = self.learner.maximise(self.learner.statistics(*statistics))

    def merge_and_split(self, stop):
        """Merge topics that are alike and split others, from topics drawn from the distributions.

        Words of documents whose topics change then have one topic for each token. Returns whether there were any.
        """
        K = self.priors.n_components
        rng = np.random.default_rng(random.child(self.seed, 2, self.n_sweeps))
        drawn = []
        for block, own in zip(self.blocks, self.own, strict=True):
            running = np.cumsum(own[:, :K], axis=1)
            topics = (rng.random((len(own), 1), np.float32) * running[:, -1:] >= running).sum(axis=1)
            drawn.append(np.repeat(np.minimum(topics, K - 1).astype(np.int32), block.repeats.astype(np.int64)))
        before = np.concatenate(drawn)
        exchangeable = exchangeable_topics(self.priors, alpha_moves=self.learner is not None)
        seed = random.child(self.seed, 3, self.n_sweeps)
        shuffled = self.corpus.take(self.order)
        topics, moves = round_of_moves(shuffled, self.priors, before, exchangeable, seed, stop)
        if not moves:
            return False
        self.priors = self.priors.after_moves(moves)
        self.word_topic[:] = 0
        first = 0
        for block, own in zip(self.blocks, self.own, strict=True):
            entries = np.repeat(np.arange(block.n_entries), block.repeats.astype(np.int64))
            tokens = slice(first, first + len(entries))
            first += len(entries)
            moved = np.unique(entries[topics[tokens] != before[tokens]])
            shape = block.n_entries, own.shape[1]
            counts = sp.csr_array((np.ones(len(entries), np.float32), (entries, topics[tokens])), shape=shape)
            own[moved] = counts[moved].toarray() / block.repeats[moved, None]
            places = block.rows, np.arange(block.n_entries)
            of_words = sp.csr_array((block.repeats, places), shape=(len(block.words), block.n_entries))
            self.word_topic[block.words] += of_words @ own
            of_documents = sp.csr_array((block.repeats, places[1], block.offsets), (len(block.offsets) - 1, len(own)))
            self._doc_topic[slice(*block.documents)] = (of_documents @ own)[:, :K]
        self.topic_totals = self.word_topic.sum(axis=0)[:K]
        return True

    def _add(self, group, found):
        for b, (changes, total_changes) in zip(group, found, strict=True):
            _collapsed_variational.add_rows(self.blocks[b].words, changes, 1.0, self.word_topic)
            self.topic_totals += total_changes

    def _update(self, b, slot, stop, n_updates=1, new=False):
        block, priors, (rows, changes) = self.blocks[b], self.priors, slot
        first, last = block.documents
        _collapsed_variational.take_rows(block.words, self.word_topic, rows, changes)
        total_changes = np.zeros(priors.n_components)
        _collapsed_variational.update_documents(
            block.rows,
            block.repeats,
            block.offsets,
            padded_alpha(priors.doc[0]),
            *word_prior_rows(priors, block.words),
            priors.totals,
            self.topic_totals,
            rows,
            changes,
            total_changes,
            self.own[b],
            self._doc_topic[first:last],
            n_updates,
            new,
            np.empty((5, rows.shape[1]), np.float32),
            stop.flag,
        )
        return changes, total_changes

    @property
    def counts(self):
        """m_kv, (n_components, n_features)."""
        return self.word_topic[:, : self.priors.n_components].T

    def doc_topic(self, n_jobs=None):
        """Expected counts n_dk of the documents in the order of the corpus, (n_documents, n_components)."""
        doc_topic = np.empty_like(self._doc_topic)
        doc_topic[self.order] = self._doc_topic
        return doc_topic

    def position(self, chunk_documents):
        """The place in a stream of which the documents were the first ones, in chunks, for `partial_fit`."""
        n_documents = self.corpus.n_documents
        return {
            "total_samples": n_documents,
            "n_chunks": -(-n_documents // chunk_documents),
            "n_documents": n_documents,
            "n_tokens": self.corpus.n_tokens,
            "recent": (),
        }


_ALTERNATIVE = "learning_method='online' and partial_fit need memory only for the topics and a chunk of documents."
