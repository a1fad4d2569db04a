"""Where chains begin. The posterior of z has modes that sweeps do not leave, so the start decides which one is seen."""

from math import ceil

import numpy as np

from sklda._inference.parallel import GO_ON, side_by_side
from sklda._inference.rising import log_gamma_ratio
from sklda._inference.sampling.collapsed import ChainState, GibbsChain
from sklda._kernels import _merges

INITS = ("random", "sequential", "anneal", "prune")

# Annealing: both priors fall from this multiple to themselves, in this many sweeps.
_ANNEAL_FACTOR, ANNEAL_SWEEPS = 10.0, 300
# Pruning: this many times the topics at first, sweeps there, and sweeps after each merge.
_PRUNE_FACTOR, _PRUNE_FIRST, _PRUNE_BETWEEN = 2.0, 60, 15
# Python looks in between blocks of about this many pairs of topics: a tenth of a second.
_PAIRS = 2**22


def start_chains(corpus, priors, seeds, inits, n_jobs=None, kind=GibbsChain):
    """Chains for the same target, each from a start of its own.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        ``"prune"`` needs topics whose priors are equal.
    seeds : list of numpy.random.SeedSequence
    inits : list of {"random", "sequential", "anneal", "prune"}
        One kind a chain. ``"random"``: every token in a uniformly drawn topic (or by its word's prior, where topics
        have priors of their own). ``"sequential"``: every token from its full conditional given those before it, the
        documents in random order (Griffiths & Steyvers 2004, who call it on-line). ``"anneal"``: 300 sweeps while both
        priors fall from ten times their values, under which modes are fewer. ``"prune"``: 60 sweeps with twice as many
        topics, then the two topics whose union the log joint likes best are merged, 15 sweeps, and so on down.
    n_jobs : int, default=None
    kind : type, default=GibbsChain
        The class of the chains; whatever leads to the start is done by `GibbsChain`.

    Returns
    -------
    list of `kind`
        With no sweeps counted yet.
    """
    if "prune" in inits and not priors.exchangeable:
        raise ValueError(
            "init='prune' merges topics, so they must share their priors: "
            "give doc_topic_prior as one number and topic_word_prior without a row per topic, or use init='anneal'."
        )
    tasks = [(init, corpus, priors, seed, kind) for init, seed in zip(inits, seeds, strict=True)]
    return side_by_side(_start, tasks, n_jobs)


def _start(init, corpus, priors, seed, kind, stop):
    if init == "random":
        return kind.start(corpus, priors, seed)
    if init == "sequential":
        return kind.start_in_turn(corpus, priors, seed, stop)
    if init == "anneal":
        chain = anneal(corpus, priors, seed, stop)
    else:
        K = priors.n_components
        chain = longest_start(corpus, priors.resized(ceil(_PRUNE_FACTOR * K)), [seed], _PRUNE_FIRST, stop)
        while chain.priors.n_components > K:
            chain = merge(chain, priors.resized(chain.priors.n_components - 1), _PRUNE_BETWEEN, stop)
    return kind(corpus, priors, ChainState(chain.topics, chain.stream))


def anneal(corpus, priors, seed, stop, n_sweeps=ANNEAL_SWEEPS, factor=_ANNEAL_FACTOR):
    """A chain after `n_sweeps` sweeps in which both priors fall from `factor` times their values."""
    chain = GibbsChain.start(corpus, priors, seed)
    for multiple in np.geomspace(factor, 1, n_sweeps):
        chain.priors = priors.scaled(multiple, multiple)
        chain.sweep(stop)
    chain.priors = priors
    return chain


def longest_start(corpus, priors, seeds, n_sweeps, stop):
    """The best by log joint of chains of `n_sweeps` sweeps from random topics."""
    chains = [GibbsChain.start(corpus, priors, seed) for seed in seeds]
    for chain in chains:
        for _ in range(n_sweeps):
            chain.sweep(stop)
    return max(chains, key=GibbsChain.log_joint)


def merge_gains(chain, stop=GO_ON):
    """Change of the log joint by merging topics i and j, up to a constant; (K, K), above the diagonal."""
    K, priors = chain.priors.n_components, chain.priors
    gains = np.zeros((K, K))
    alpha = np.ascontiguousarray(np.broadcast_to(priors.doc[:, 0], chain.corpus.n_documents))
    eta = np.ascontiguousarray(priors.topic_word()[0], dtype=np.float64)
    scratch, step = (np.empty(K, np.int32), np.empty(K)), max(_PAIRS // K**2, 1)
    for counts, prior in ((chain.doc_topic_counts().astype(np.int32), alpha), (chain.word_topic_counts, eta)):
        for first in range(0, len(counts), step):
            stop()
            _merges.pair_gains(counts[first : first + step], prior[first : first + step], gains, *scratch)
    totals, prior_total = chain.topic_totals, priors.totals[0]
    alone = log_gamma_ratio(prior_total, totals)
    together = log_gamma_ratio(prior_total, totals[:, None] + totals)
    return gains + alone[:, None] + alone - together


def merge(chain, priors, n_sweeps, stop):
    """A chain with one topic less, under `priors`: the pair that the log joint likes best has become one.

    Parameters
    ----------
    chain : GibbsChain
        Its topics have equal priors.
    priors : Priors
        For one topic less.
    n_sweeps : int
        Sweeps thereafter.
    stop : callable
    """
    K = chain.priors.n_components
    gains = np.where(np.triu(np.ones((K, K), bool), 1), merge_gains(chain, stop), -np.inf)
    kept, gone = divmod(int(np.argmax(gains)), K)
    label = np.arange(K, dtype=np.int32)
    label[gone] = kept
    label[K - 1] = kept if gone == K - 1 else gone
    chain = GibbsChain(chain.corpus, priors, ChainState(label[chain.topics], chain.stream, chain.n_sweeps))
    for _ in range(n_sweeps):
        chain.sweep(stop)
    return chain
