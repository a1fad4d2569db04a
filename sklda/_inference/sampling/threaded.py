"""Chains that have several cores to themselves."""

import numpy as np
from joblib import cpu_count, effective_n_jobs

from sklda._inference.parallel import GO_ON, with_team
from sklda._inference.sampling.collapsed import GibbsChain
from sklda._kernels import _log_joint


class ThreadedChain(GibbsChain):
    """A `GibbsChain` with a team of threads, by which its log joint is summed."""

    # Units of work of about ten milliseconds: tokens of a block of documents, and counts of a block of words.
    block_tokens, block_entries = 2**18, 2**18

    def _arrange(self, topics):
        super()._arrange(topics)
        corpus = self.corpus
        self._blocks = corpus.blocks(n_tokens=self.block_tokens)
        step = max(self.block_entries // self.word_topic_counts.shape[1], 1)
        self._word_blocks = [(v, min(v + step, corpus.n_features)) for v in range(0, corpus.n_features, step)]
        # None: here, one by one.
        self._team = None

    def on_cores(self, n_jobs, work):
        """``work(stop)``, whose sweeps take `n_jobs` blocks or lanes at a time."""
        n_threads = min(effective_n_jobs(n_jobs), cpu_count())
        if n_threads < 2 and not self._is_slow():
            return work(GO_ON)

        def with_threads(team):
            self._team = team
            return work(team.stop)

        try:
            # One team for all sweeps.
            return with_team(n_threads, with_threads)
        finally:
            self._team = None

    def _is_slow(self):
        """Whether a single task takes so long that Ctrl-C must be heard meanwhile."""
        return False

    def log_topics(self):
        """log p(z | alpha)."""
        offsets, prior = self.corpus.offsets, self.priors.doc
        return sum(
            each(
                self._team,
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
                self._team,
                _log_joint.words,
                (
                    (self.word_topic_counts[v:end], part, priors.word[v:end], priors.topic[v:end], priors.totals)
                    for (v, end), part in zip(self._word_blocks, totals, strict=True)
                ),
            )
        )


def each(team, function, tasks):
    """``[function(*task) for task in tasks]``, by a `Team` if there is one."""
    return team.run(function, tasks) if team else [function(*task) for task in tasks]


def _log_topics(offsets, topics, doc_prior):
    return _log_joint.documents(offsets, topics, doc_prior, np.empty(doc_prior.shape[1], np.int32))
