"""The grouped sampler: theta and phi are drawn given z, then all topics z given theta and phi."""

from sklda._kernels import _grouped
from sklda._sampling.blocked import BlockChain, dense_sweep


class GroupedChain(BlockChain):
    """A `BlockChain` that draws theta and phi given z, and then the topics z of all tokens given theta and phi."""

    sampler = "grouped"

    @staticmethod
    def _sweep_block(words, offsets, first, key, word_topic, prior_sums, doc_prior, row_of, topics):
        return dense_sweep(_grouped.sweep, words, offsets, first, key, word_topic, doc_prior, row_of, topics)
