"""Estimators of log p(w | T) from the sweeps of a chain: by transitions (Chen & Doss 2018), Chib's, harmonic means."""

import numpy as np

from sklda._core.parallel import NEVER_STOP
from sklda._kernels import _transition
from sklda._likelihood.held_out.document_completion import token_probabilities
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.draws import draw_parameters

# --- The estimator of Chen & Doss (2018), by the transition density of collapsed Gibbs sampling (CGS) -----------------


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


# --- Chib's estimator of the evidence, a comparator (Chen & Doss 2018, section 5.1) -----------------------------------


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


# --- Harmonic means of the likelihood, comparators of the evidence (Chen & Doss 2018, section 5.1) --------------------


def harmonic_mean(chain, n_inner, seed, given, stop=NEVER_STOP):
    """Logarithms of 1 / p(w | z) along the next sweeps, (n_inner,).

    If `given` is "psi" rather than "z", those of 1 / p(w | theta, phi), with draws of theta and phi given z.
    """
    rng = np.random.default_rng(seed)
    log_weights = np.empty(n_inner)
    for i in range(n_inner):
        chain.sweep(stop)
        log_weights[i] = -(chain.log_words() if given == "z" else _log_likelihood(chain, rng))
    return log_weights


def _log_likelihood(chain, rng):
    """log p(w | theta, phi) at a draw of theta and phi given z."""
    return np.log(token_probabilities(chain.corpus, *draw_parameters(chain, rng))).sum()
