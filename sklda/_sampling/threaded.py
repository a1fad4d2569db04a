"""Chains whose sweeps can use several threads."""

import numpy as np
from joblib import cpu_count, effective_n_jobs

from sklda._core.parallel import NEVER_STOP, with_team
from sklda._kernels import _log_joint
from sklda._sampling import log_joint
from sklda._sampling.collapsed import GibbsChain


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
