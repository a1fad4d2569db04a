"""The partially collapsed sampler: phi is drawn given z, then z given phi, with theta integrated out."""

import numpy as np

from sklda._core import random
from sklda._kernels import _partially_collapsed
from sklda._sampling.blocked import BlockChain, dense_sweep
from sklda._sampling.chain import ChainState


class PartiallyCollapsedChain(BlockChain):
    """A `BlockChain` that draws phi given z, then the tokens of each document in turn, with theta integrated out."""

    sampler = "partially_collapsed"

    @classmethod
    def initialise_randomly(cls, corpus, priors, seed):
        """See `GibbsChain`. The topic of a token depends on its number, so a cluster begins with the same topics."""
        topics = random_topics(corpus.words, 0, priors, random.key(random.child(seed, 0)))
        return cls(corpus, priors, ChainState(topics, random.stream(random.child(seed, 1))))

    @staticmethod
    def _sweep_block(words, offsets, first, key, word_topic, prior_sums, doc_prior, row_of, topics):
        if len(prior_sums) == 0:
            tokens = words, offsets, first, key
            return dense_sweep(_partially_collapsed.dense, *tokens, word_topic, doc_prior, row_of, topics)
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


def random_topics(words, first, priors, key, among=None):
    """Topics of tokens: uniform, or if each topic has a separate eta, proportional to the prior mean of phi_kv.

    The topic of a token depends on `key`, its word and its number. The first token has the number `first`. `among` has
    the topics that are drawn; None: all.
    """
    among = np.arange(priors.n_components) if among is None else among
    topics = np.empty(len(words), np.int32)
    weights = np.cumsum((priors.topic[:, : priors.n_components] / priors.totals)[:, among], axis=1)
    for start in range(0, len(words), 2**16):
        own = slice(start, min(start + 2**16, len(words)))
        u = random.uniforms(key, first + own.start, own.stop - own.start)
        if not len(weights):
            places = np.minimum((u * len(among)).astype(np.int32), len(among) - 1)
        else:
            part = weights[words[own]]
            places = (u[:, None] * part[:, -1:] >= part[:, :-1]).sum(axis=1, dtype=np.int32)
        topics[own] = among[places]
    return topics
