"""Chains whose sweeps can use several threads: given the topics phi, documents are independent and drawn in blocks."""

import numpy as np
from joblib import cpu_count, effective_n_jobs

from sklda._core import random
from sklda._core.parallel import NEVER_STOP, with_team
from sklda._kernels import LANES, STRIDE, _dirichlet, _grouped, _log_joint, _tokens
from sklda._sampling import log_joint
from sklda._sampling.collapsed import GibbsChain

# --- Chains whose sweeps can use several threads ----------------------------------------------------------------------


class ThreadedChain(GibbsChain):
    """A `GibbsChain` with a team of threads for its sweeps and its log joint. Subclasses define `sweep`."""

    # Size of a task: tokens in a block of documents, and entries of the count matrix in a block of words. Either takes
    # about ten milliseconds.
    block_tokens, block_entries = 2**18, 2**18

    def _set_up(self, topics):
        super()._set_up(topics)
        corpus = self.corpus
        self._blocks = corpus.blocks(n_tokens=self.block_tokens)
        step = max(self.block_entries // self._width, 1)
        self._word_blocks = [(v, min(v + step, corpus.n_features)) for v in range(0, corpus.n_features, step)]
        # None: tasks run one after the other in the calling thread.
        self._team = None

    def with_workers(self, n_jobs, work):
        """Return ``work(stop)``. During this call, sweeps use `n_jobs` threads or processes."""
        n_threads = min(effective_n_jobs(n_jobs), cpu_count())
        if n_threads < 2 and not self._is_slow():
            return work(NEVER_STOP)

        def with_threads(team):
            self._team = team
            return work(team.stop)

        try:
            # The same threads serve all sweeps.
            return with_team(n_threads, with_threads)
        finally:
            self._team = None

    def _is_slow(self):
        """Whether one task takes so long that a separate thread is needed for the main thread to react to Ctrl-C."""
        return False

    def log_topics(self):
        """log p(z | alpha)."""
        return log_joint.of_topics(self.corpus, self.priors, sum(self._log_topics_of_blocks()))

    def _log_topics_of_blocks(self):
        """The sums of log p(z | alpha) over the topics of documents, block by block, without the totals."""
        offsets, priors = self.corpus.offsets, self.priors
        tasks = (
            (offsets[first : last + 1], self.topics, priors.doc, priors.row_of[first:last])
            for first, last in self._blocks
        )
        return run_tasks(self._team, _log_topics, tasks)

    def log_words(self):
        """log p(w | z, eta)."""
        tasks = ((self.priors, *block) for block in self._word_blocks)
        parts = run_tasks(self._team, self.rows.log_words, tasks)
        return sum(parts) + log_joint.word_totals(self.topic_totals, self.priors)


def run_tasks(team, function, tasks):
    """``[function(*task) for task in tasks]``, in the threads of a `Team` if `team` is not None."""
    return team.run(function, tasks) if team else [function(*task) for task in tasks]


def _log_topics(offsets, topics, doc_prior, row_of):
    K, n_tokens = doc_prior.shape[1], int(offsets[-1] - offsets[0])
    cells = log_joint.cell_priors(doc_prior, n_tokens, row_of)
    return _log_joint.tokens(offsets, topics, K, *cells, np.empty(K, np.int32))


# --- Chains that draw the topics phi given z. Given phi, documents are independent, so blocks of them run in parallel -


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


# --- The grouped sampler: theta and phi are drawn given z, then all topics z given theta and phi ----------------------


class GroupedChain(BlockChain):
    """A `BlockChain` that draws theta and phi given z, and then the topics z of all tokens given theta and phi."""

    sampler = "grouped"

    @staticmethod
    def _sweep_block(words, offsets, first, key, word_topic, prior_sums, doc_prior, row_of, topics):
        return dense_sweep(_grouped.sweep, words, offsets, first, key, word_topic, doc_prior, row_of, topics)
