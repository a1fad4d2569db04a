"""The estimator of Chen & Doss (2018), by the transition density of collapsed Gibbs sampling (CGS)."""

import numpy as np

from sklda._core.parallel import NEVER_STOP
from sklda._kernels import _transition
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain


def log_transition(chain, before, stop=NEVER_STOP):
    """log of the probability that one sweep leads from the topics `before` to those of the chain."""
    corpus, priors = chain.corpus, chain.priors
    start = GibbsChain(corpus, priors, ChainState(before, chain.stream))
    width = priors.topic.shape[1]
    return _transition.log_transition(
        corpus.words,
        corpus.offsets,
        priors.doc,
        priors.row_of,
        priors.word,
        priors.topic,
        priors.totals,
        start.topics,
        chain.topics,
        start.word_topic_counts,
        start.topic_totals,
        np.empty((2, width)),
        np.empty(width, np.int32),
        stop.flag,
    )


def cgs_transition(chain, n_inner, stop=NEVER_STOP):
    """Logarithms of p(z_l, w) / g(z_(l - 1), z_l) along the next sweeps (Chen & Doss 2018, equation 4.9); (n_inner,).

    g is the transition probability of a sweep. Each estimate is unbiased for p(w). Its logarithm is too low by the
    mutual information of successive sweeps.
    """
    log_weights = np.empty(n_inner)
    for i in range(n_inner):
        before = chain.topics.copy()
        chain.sweep(stop)
        log_weights[i] = chain.log_joint() - log_transition(chain, before, stop)
    return log_weights
