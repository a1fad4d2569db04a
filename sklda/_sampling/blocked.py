"""Chains that draw the topics phi given z. Given phi, documents are independent, so blocks of them run in parallel."""

import numpy as np

from sklda._core import random
from sklda._core.parallel import NEVER_STOP
from sklda._kernels import LANES, STRIDE, _dirichlet, _tokens
from sklda._sampling.threaded import ThreadedChain, run_tasks

# phi is stored with this factor, so that products with it do not underflow in single precision.
_FACTOR = 2.0**60


class BlockChain(ThreadedChain):
    """A `GibbsChain` whose sweep draws phi from its Dirichlet distributions given z, and then documents in blocks.

    The target is p(z | w, alpha, eta), as for every `GibbsChain`. Draws depend only on the state, neither on `n_jobs`
    nor on the size of the blocks. Subclasses define `_sweep_block`.

    Attributes
    ----------
    stream : ndarray of shape (4,), uint64
        Seed of the random streams of the next sweep.
    first_document : int
        The number from which documents are counted for their random streams.
    """

    first_document = 0

    def sweep(self, stop=NEVER_STOP):
        """Draw phi, then every token once. ``stop()`` is called between blocks."""
        for own, topics in self._new_topics(stop):
            _tokens.move_topics(self.corpus.words[own], topics, self.topics[own], *self.rows.arrays, self.topic_totals)
        self.n_sweeps += 1

    def _new_topics(self, stop):
        """Draw phi, then z. Returns pairs of a slice of tokens and their new topics."""
        seed = np.random.SeedSequence(self.stream.tolist())
        word_key, doc_key, *stream = seed.generate_state(6, np.uint64)
        tasks = self._block_tasks(doc_key, self._draw_topics(word_key, random.child(seed, 0)), stop)
        new = run_tasks(self._team, self._sweep_block, tasks)
        self.stream, offsets = np.array(stream, np.uint64), self.corpus.offsets
        owned = (slice(offsets[first], offsets[last]) for first, last in self._blocks)
        return zip(owned, new, strict=True)

    def _block_tasks(self, key, phi, stop):
        """The arguments of `_sweep_block`, block by block."""
        offsets, priors = self.corpus.offsets, self.priors
        for first, last in self._blocks:
            stop()
            yield (
                self.corpus.words[offsets[first] : offsets[last]],
                offsets[first : last + 1] - offsets[first],
                self.first_document + first,
                key,
                *phi,
                priors.doc,
                priors.row_of[first:last],
                self.topics[offsets[first] : offsets[last]],
            )

    def _draw_topics(self, key, seed):
        """Draw phi given z.

        Returns
        -------
        word_topic : ndarray of shape (n_features, width), float32
            phi, one row for each word, times a constant factor; zero in the padding.
        prior_sums : ndarray of shape (n_features, n_sums) or (0, n_sums)
            Cumulative sums over topics of alpha_k times `word_topic`; empty if documents do not share alpha.
        """
        priors = self.priors
        word_topic = np.empty(self.rows.arrays[0].shape, np.float32)
        sums = np.empty((len(self._word_blocks), priors.n_components))
        run_tasks(
            self._team,
            _dirichlet.draw_words,
            (
                (*block, *self.rows.arrays, priors.word, priors.topic, key, word_topic, part)
                for block, part in zip(self._word_blocks, sums, strict=True)
            ),
        )
        totals = sums.sum(axis=0)
        # The Gamma variates of a topic without tokens may all underflow: these topics are drawn on the log scale.
        (small,) = np.nonzero(self.topic_totals + priors.totals < 1)
        if len(small):
            eta = np.broadcast_to(priors.topic_word(), (priors.n_components, self.corpus.n_features))
            word_topic[:, small] = np.exp(random.log_dirichlet(np.random.default_rng(seed), eta[small])).T
            totals[small] = 1
        factors = (_FACTOR / totals).astype(np.float32)
        shared = priors.shared
        prior_sums = np.empty((self.corpus.n_features if shared else 0, -(-priors.n_components // STRIDE)))
        run_tasks(
            self._team,
            _dirichlet.scale_words,
            ((*block, factors, priors.doc[0], word_topic, prior_sums) for block in self._word_blocks),
        )
        return word_topic, prior_sums


def dense_sweep(kernel, words, offsets, first, key, word_topic, doc_prior, row_of, topics):
    """New topics of a block of documents, by a kernel that computes the weights of all topics for every token."""
    width = word_topic.shape[1]
    topics = topics.copy()
    kernel(
        words,
        offsets,
        first,
        key,
        word_topic,
        doc_prior,
        row_of,
        topics,
        np.empty(width, np.float32),
        np.empty(width, np.int32),
        np.empty(width // LANES),
    )
    return topics
