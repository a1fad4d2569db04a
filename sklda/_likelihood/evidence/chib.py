"""Chib's estimator of the evidence, a comparator (Chen & Doss 2018, section 5.1)."""

import numpy as np

from sklda._core.parallel import NEVER_STOP
from sklda._likelihood.evidence.cgs_transition import log_transition
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain


def inverse_by_chib(chain, n_inner, stop=NEVER_STOP):
    """log p(z* | w) - log p(z*, w), where p(z* | w) is the mean probability of a sweep from the posterior to z*.

    In z* each token has the topic that it had most often during the first third of `n_inner` sweeps (Chen & Doss 2018,
    equation 5.1; phi, which cancels there, is integrated out here). The result has the logarithms of estimates of
    1 / p(w), one from each of the later sweeps.
    """
    corpus, K = chain.corpus, chain.priors.n_components
    n_first = max(n_inner // 3, 1)
    votes = np.zeros((corpus.n_tokens, K), np.uint16 if n_first < 2**16 else np.uint32)
    tokens = np.arange(corpus.n_tokens)
    for _ in range(n_first):
        chain.sweep(stop)
        votes[tokens, chain.topics] += 1
    at_mode = GibbsChain(corpus, chain.priors, ChainState(votes.argmax(axis=1).astype(np.int32), chain.stream))
    log_joint, log_weights = at_mode.log_joint(), []
    for _ in range(max(n_inner - n_first, 2)):
        chain.sweep(stop)
        log_weights.append(log_transition(at_mode, chain.topics, stop) - log_joint)
    return np.array(log_weights)
