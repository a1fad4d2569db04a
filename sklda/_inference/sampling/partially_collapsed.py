"""The partially collapsed sampler: phi is drawn given z, then z given phi, with theta integrated out."""

import numpy as np

from sklda._inference.sampling.blocked import BlockChain, dense_sweep
from sklda._kernels import _partially_collapsed


class PartiallyCollapsedChain(BlockChain):
    """A `BlockChain` that draws phi given z, then the tokens of each document in turn, with theta integrated out."""

    sampler = "partially_collapsed"

    @staticmethod
    def _sweep_block(words, offsets, first, key, word_topic, prior_sums, doc_prior, topics):
        if len(prior_sums) == 0:
            return dense_sweep(_partially_collapsed.dense, words, offsets, first, key, word_topic, doc_prior, topics)
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
