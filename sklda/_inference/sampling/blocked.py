"""One chain on several cores: topics phi are drawn given z, and documents are then independent of one another."""

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from sklda._inference import random
from sklda._inference.parallel import GO_ON
from sklda._inference.sampling.threaded import ThreadedChain, each
from sklda._kernels import LANES, STRIDE, _dirichlet, _grouped, _partially_collapsed, _tokens

# Other processes get so many blocks each, for to hand a task to them takes milliseconds, too.
_BLOCKS_EACH = 4
# phi by word is kept with this factor, so that no product with it gets near the smallest floats.
_FACTOR = 2.0**60


class BlockChain(ThreadedChain):
    """A `GibbsChain` whose sweeps draw phi from its Dirichlets given z, and then the documents in blocks.

    Its target is p(z | w, alpha, eta) too, and it has the same face. Draws depend on the state alone: neither on
    `n_jobs` nor on the cut into blocks. Another process, or another machine, gets tokens, topics and phi, and returns
    topics.

    Attributes
    ----------
    stream : ndarray of shape (4,), uint64
        Seeds the streams of the next sweep.
    """

    def _arrange(self, topics):
        super()._arrange(topics)
        # joblib's other processes for blocks of documents; None: threads.
        self._tasks, self._elsewhere = self._blocks, None

    def on_cores(self, n_jobs, work):
        backend, _ = get_active_backend(prefer="threads")
        if getattr(backend, "supports_sharedmem", False):
            return super().on_cores(n_jobs, work)

        def with_processes(stop):
            n_tokens = self.corpus.n_tokens // (_BLOCKS_EACH * effective_n_jobs(n_jobs))
            with Parallel(n_jobs=n_jobs) as self._elsewhere:
                self._tasks = self.corpus.blocks(n_tokens=max(n_tokens, self.block_tokens))
                return work(stop)

        try:
            return super().on_cores(n_jobs, with_processes)
        finally:
            self._tasks, self._elsewhere = self._blocks, None

    def sweep(self, stop=GO_ON):
        """Draw phi, then every token once; ``stop()`` between blocks."""
        seed = np.random.SeedSequence(self.stream.tolist())
        word_key, doc_key, *stream = seed.generate_state(6, np.uint64)
        tasks = self._block_tasks(doc_key, self._draw_topics(word_key, random.child(seed, 0)), stop)
        if self._elsewhere:
            new = self._elsewhere(delayed(self._sweep_block)(*task) for task in tasks)
        else:
            new = each(self._team, self._sweep_block, tasks)
        for (first, last), topics in zip(self._tasks, new, strict=True):
            own = slice(self.corpus.offsets[first], self.corpus.offsets[last])
            _tokens.move_topics(
                self.corpus.words[own], topics, self.topics[own], self.word_topic_counts, self.topic_totals
            )
        self.stream = np.array(stream, np.uint64)
        self.n_sweeps += 1

    def _block_tasks(self, key, phi, stop):
        offsets, prior = self.corpus.offsets, self.priors.doc
        for first, last in self._tasks:
            stop()
            yield (
                self.corpus.words[offsets[first] : offsets[last]],
                offsets[first : last + 1] - offsets[first],
                first,
                key,
                *phi,
                prior[first:last] if len(prior) > 1 else prior,
                self.topics[offsets[first] : offsets[last]],
            )

    def _draw_topics(self, key, seed):
        """Draw phi given z.

        Returns
        -------
        word_topic : ndarray of shape (n_features, width), float32
            phi by word times a factor, zero in the padding.
        prior_sums : ndarray of shape (n_features, n_sums) or (0, n_sums)
            Running sums over topics of alpha_k times that; empty where documents do not share alpha.
        """
        priors = self.priors
        # Not the one of the last sweep: joblib knows arrays that it has sent to processes by their identity.
        word_topic = np.empty(self.word_topic_counts.shape, np.float32)
        sums = np.empty((len(self._word_blocks), priors.n_components))
        # Rows of one array are filled in place. Other machines would not help: it takes longer to send phi.
        each(
            self._team,
            _dirichlet.draw_words,
            (
                (*block, self.word_topic_counts, priors.word, priors.topic, key, word_topic, part)
                for block, part in zip(self._word_blocks, sums, strict=True)
            ),
        )
        totals = sums.sum(axis=0)
        # All variates of an empty topic may be too small for floats.
        (small,) = np.nonzero(self.topic_totals + priors.totals < 1)
        if len(small):
            eta = np.broadcast_to(priors.topic_word(), (priors.n_components, self.corpus.n_features))
            word_topic[:, small] = np.exp(random.log_dirichlet(np.random.default_rng(seed), eta[small])).T
            totals[small] = 1
        factors = (_FACTOR / totals).astype(np.float32)
        shared = len(priors.doc) == 1
        prior_sums = np.empty((self.corpus.n_features if shared else 0, -(-priors.n_components // STRIDE)))
        each(
            self._team,
            _dirichlet.scale_words,
            ((*block, factors, priors.doc[0], word_topic, prior_sums) for block in self._word_blocks),
        )
        return word_topic, prior_sums


class GroupedChain(BlockChain):
    """theta and phi given z, then all z given both."""

    sampler = "grouped"

    @staticmethod
    def _sweep_block(words, offsets, first, key, word_topic, prior_sums, doc_prior, topics):
        return _dense_sweep(_grouped.sweep, words, offsets, first, key, word_topic, doc_prior, topics)


class PartiallyCollapsedChain(BlockChain):
    """phi given z, then z given phi, document by document, token after token, theta integrated out."""

    sampler = "partially_collapsed"

    @staticmethod
    def _sweep_block(words, offsets, first, key, word_topic, prior_sums, doc_prior, topics):
        if len(prior_sums) == 0:
            return _dense_sweep(_partially_collapsed.dense, words, offsets, first, key, word_topic, doc_prior, topics)
        K, width = doc_prior.shape[1], word_topic.shape[1]
        topics = topics.copy()
        _partially_collapsed.sparse(
            words,
            offsets,
            first,
            key,
            word_topic,
            doc_prior[0],
            prior_sums,
            topics,
            np.zeros(width, np.int32),
            np.full(K, -1, np.int32),
            np.zeros(width),
            np.empty(width),
        )
        return topics


def _dense_sweep(kernel, words, offsets, first, key, word_topic, doc_prior, topics):
    """New topics of a block of documents."""
    width = word_topic.shape[1]
    topics = topics.copy()
    kernel(
        words,
        offsets,
        first,
        key,
        word_topic,
        doc_prior,
        topics,
        np.empty(width, np.float32),
        np.empty(width, np.int32),
        np.empty(width // LANES),
    )
    return topics
