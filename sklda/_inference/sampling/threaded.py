"""Chains that have several cores to themselves."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import numpy as np
from joblib import cpu_count, effective_n_jobs

from sklda._inference.sampling.collapsed import GibbsChain
from sklda._kernels import _log_joint


class ThreadedChain(GibbsChain):
    """A `GibbsChain` with a pool of threads, by which its log joint is summed."""

    # Units of work of about ten milliseconds: tokens of a block of documents, and counts of a block of words.
    block_tokens, block_entries = 2**18, 2**18

    def _arrange(self, topics):
        super()._arrange(topics)
        corpus = self.corpus
        self._blocks = corpus.blocks(n_tokens=self.block_tokens)
        step = max(self.block_entries // self.word_topic_counts.shape[1], 1)
        self._word_blocks = [(v, min(v + step, corpus.n_features)) for v in range(0, corpus.n_features, step)]
        # Threads; None: here, one by one.
        self._pool, self._n_threads = None, 1

    @contextmanager
    def on_cores(self, n_jobs):
        n_threads = min(effective_n_jobs(n_jobs), cpu_count())
        if n_threads < 2:
            yield
            return
        # One pool for all sweeps; what interrupts them must not meet threads that are just being made.
        with ThreadPoolExecutor(n_threads) as self._pool:
            there = Barrier(n_threads)
            list(self._pool.map(lambda _: there.wait(), range(n_threads)))
            self._n_threads = n_threads
            try:
                yield
            finally:
                self._pool, self._n_threads = None, 1

    def log_topics(self):
        """log p(z | alpha)."""
        offsets, prior = self.corpus.offsets, self.priors.doc
        return sum(
            each(
                self._pool,
                _log_topics,
                (
                    (offsets[first : last + 1], self.topics, prior[first:last] if len(prior) > 1 else prior)
                    for first, last in self._blocks
                ),
            )
        )

    def log_words(self):
        """log p(w | z, eta)."""
        priors = self.priors
        # The totals of the topics go with the first block.
        totals = [self.topic_totals] + [np.zeros_like(self.topic_totals)] * (len(self._word_blocks) - 1)
        return sum(
            each(
                self._pool,
                _log_joint.words,
                (
                    (self.word_topic_counts[v:end], part, priors.word[v:end], priors.topic[v:end], priors.totals)
                    for (v, end), part in zip(self._word_blocks, totals, strict=True)
                ),
            )
        )


def each(pool, function, tasks):
    """``[function(*task) for task in tasks]``, by the threads of a pool if there is one."""
    return list((pool.map if pool else map)(lambda task: function(*task), tasks))


def _log_topics(offsets, topics, doc_prior):
    return _log_joint.documents(offsets, topics, doc_prior, np.empty(doc_prior.shape[1], np.int32))
