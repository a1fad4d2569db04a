"""Means and standard deviations of theta and phi over draws of z, and draws of theta and phi."""

from dataclasses import dataclass
from itertools import chain as chain_of
from itertools import islice

import numpy as np

from sklda._inference.parallel import NEVER_STOP
from sklda._inference.sampling.collapsed import ChainState, GibbsChain
from sklda._inference.sampling.matching import same_names
from sklda._inference.sampling.parameters import draw_parameters
from sklda._inference.sampling.point_estimates import estimate_counts

# Sweeps between two draws of a chain that is continued.
_SWEEPS_BETWEEN = 5


@dataclass(frozen=True, eq=False)
class PosteriorMoments:
    """Posterior means and standard deviations over draws of z.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        Mean of the topic-word counts, plus eta.
    doc_topic : ndarray of shape (n_documents, n_components)
        Mean of theta.
    doc_topic_std : ndarray of shape (n_documents, n_components), float32
        Standard deviation of theta.
    topic_shares : ndarray of shape (n_draws, n_components)
        Shares of the tokens in every topic, draw by draw.
    """

    components: np.ndarray
    doc_topic: np.ndarray
    doc_topic_std: np.ndarray
    topic_shares: np.ndarray


def posterior_moments(corpus, priors, draws, method, stop=NEVER_STOP):
    """Moments of theta and phi over the last draws of a chain.

    In every draw, the mean of phi and of theta is estimated by `estimate_counts`. The standard deviation of theta is
    the square root of the variance between draws of E(theta | z) plus the mean of Var(theta | z), where theta given z
    has a Dirichlet distribution. Draws are used backwards from the last one, up to the first pair of successive draws
    between which topics have switched names.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        Of all draws.
    draws : sequence of ndarray of shape (n_tokens,)
        The topics of all tokens; at least one draw.
    method : {"cgs_p", "cgs"}
    stop : callable

    Returns
    -------
    PosteriorMoments
    """
    D, K = corpus.n_documents, priors.n_components
    sums = {"topic_word": np.zeros((K, corpus.n_features), np.float32), "doc_topic": np.zeros((D, K), np.float32)}
    mean, squares = np.zeros((D, K), np.float32), np.zeros((D, K), np.float32)
    totals = corpus.lengths[:, None] + priors.doc.sum(axis=1, keepdims=True)
    shares, later = [], None
    for topics in reversed(draws):
        stop()
        chain = GibbsChain(corpus, priors, ChainState(topics, np.zeros(4, np.uint64)))
        if later is not None and not same_names(chain.word_topic_counts[:, :K], later):
            break
        later = chain.word_topic_counts[:, :K]
        shares.append(chain.topic_totals / corpus.n_tokens)
        stop()
        counts = estimate_counts(
            corpus, priors, chain.topics, chain.word_topic_counts, chain.topic_totals, method, stop
        )
        for name, each in zip(("doc_topic", "topic_word"), counts, strict=True):
            sums[name] += each
        theta = ((chain.doc_topic_counts() + priors.doc) / totals).astype(np.float32)
        # Welford's update of the mean and of the sum of squared deviations.
        theta -= mean
        mean += theta / len(shares)
        squares += theta**2 * (1 - 1 / len(shares))
    n = len(shares)
    between = squares / n
    within = (mean - between - mean**2) / (totals + 1)
    doc_topic = sums["doc_topic"].astype(np.float64) / n + priors.doc
    return PosteriorMoments(
        sums["topic_word"].astype(np.float64) / n + priors.topic_word(),
        # Rows sum to one also after sums in single precision.
        doc_topic / doc_topic.sum(axis=1, keepdims=True),
        np.sqrt(np.maximum(between + within, 0), dtype=np.float32),
        np.array(shares[::-1]),
    )


def sample_parameters(chains, n_samples, rng):
    """Draws of theta and phi from their Dirichlet distributions, one for each chain given its z.

    Parameters
    ----------
    chains : iterator of GibbsChain
        With at least `n_samples` states.
    n_samples : int
    rng : numpy.random.Generator

    Returns
    -------
    theta : ndarray of shape (n_samples, n_documents, n_components), float32
    phi : ndarray of shape (n_samples, n_components, n_features), float32
    """
    first = next(chains)
    K, V = first.priors.shape
    # Before the draws, so that too many samples fail at once.
    theta = np.empty((n_samples, first.corpus.n_documents, K), np.float32)
    phi = np.empty((n_samples, K, V), np.float32)
    for i, chain in enumerate(chain_of([first], islice(chains, n_samples - 1))):
        theta[i], phi[i] = draw_parameters(chain, rng)
    return theta, phi


def at_draws(corpus, priors, draws, n_samples):
    """Chains at draws of z: at equal distances if there are more draws than samples, else at each several times."""
    for i in range(n_samples):
        at = i * len(draws) // n_samples if n_samples < len(draws) else i % len(draws)
        yield GibbsChain(corpus, priors, ChainState(draws[at], np.zeros(4, np.uint64)))


def after_sweeps(chain):
    """A chain again and again, after some sweeps each time."""
    while True:
        for _ in range(_SWEEPS_BETWEEN):
            chain.sweep()
        yield chain
