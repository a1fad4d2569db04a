"""The modes of z in which chains begin, and one curve of m(h) from chains in different modes.

Chains start annealed and learn h by Gibbs-EM. The posterior of z has modes that chains do not leave, and each has its
own maximum of m(h). So on small corpora a search between modes begins from each chain, one after the other, until two
of them have found the best evidence. Other draws of a search are weighed too if they differ in more tokens than two
draws of a chain, because a mode of the same evidence can have another maximum. Chains continue in the modes that may be
the best, and have their probabilities. On larger corpora a search would cost too much, and where most tokens change
their topic in every sweep it has nothing to find: chains continue where they are.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from sklda._core import random
from sklda._core.priors import Priors
from sklda._core.warn import warn
from sklda._likelihood.evidence.bennett import sweeps_both_ways
from sklda._mode_search.mode_evidence import can_tell_modes_apart, mode_evidence
from sklda._mode_search.search import APART, counted_search
from sklda._models.empirical_bayes.chain_pool import EM_SWEEPS, LEARNING, learning, learnt
from sklda._models.empirical_bayes.settings import MOST_SEARCHED
from sklda._models.empirical_bayes.skeleton import no_topics
from sklda._sampling.annealed_start import ANNEAL_SWEEPS, anneal
from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.matching import differing
from sklda._sampling.prior_learning import LEAST_TOKENS

# Modes are searched if at most this share of the tokens changes topic in a sweep.
_MOST_CHANGED = 1 / 3
# Largest number of sweeps of a search. On C-2, with 6,000 three of three ended 12 nats below the best mode.
_SEARCH_SWEEPS = 10_000
# A mode is weighed by this many runs of this many temperatures in each direction.
_RUNS, _TEMPERATURES = 2, 300
_WEIGHING = sweeps_both_ways(_TEMPERATURES, _RUNS, guided=True)
# Error of the evidence of a mode by that of the h learnt in it, in nats. On C-5, log alpha is learnt within .15, where
# the statistical error is .21.
_LEARNT_ERROR = 0.5
# Searches have found the same evidence if it differs by at most this many standard errors.
_ERRORS = 2.5


@dataclass(frozen=True, eq=False)
class Beginning:
    """Where the chains of a pool begin.

    Attributes
    ----------
    log_h : ndarray of shape (2,)
    log_evidence : ndarray of shape (n_modes,)
        log p(w | h) of the modes found, each at the h learnt in it, the best first, in nats; empty if there was no
        search.
    log_evidence_std : float
        Standard error of a value.
    shares : ndarray of shape (n_chains,) or None
        Probabilities of the modes in which the chains begin; None without a search.
    several_modes : bool
        Whether the chains begin in different modes.
    """

    log_h: np.ndarray
    log_evidence: np.ndarray = field(default_factory=lambda: np.empty(0))
    log_evidence_std: float = np.nan
    shares: np.ndarray | None = None
    several_modes: bool = False


def begin(pool, seed):
    """Give a pool its first chains: annealed, with learnt priors, and in the best modes that searches find.

    Returns
    -------
    Beginning
    """
    corpus, K, quarter = pool.corpus, pool.priors.n_components, pool.settings.max_iter // 4
    n_anneal, n_learn = min(ANNEAL_SWEEPS, quarter), min(LEARNING, quarter)
    if corpus.n_tokens > MOST_SEARCHED:
        # Chains of large corpora need most sweeps to reach their posterior distribution, and there is no search.
        n_anneal, n_learn = quarter // 2, 2 * quarter
    tasks = [(corpus, pool.priors, random.child(seed, 0, c), n_anneal) for c in range(pool.n_chains)]
    pool.chains = pool.run.parallel(_annealed, tasks, pool.n_jobs)
    pool.left -= n_anneal
    log_h = np.log([pool.priors.doc[0, 0], pool.priors.word[0]])
    # Few tokens say too little about h for Gibbs-EM, and chains leave all modes.
    if corpus.n_tokens < LEAST_TOKENS or n_learn < EM_SWEEPS:
        return Beginning(log_h)
    log_h = pool.learn(n_learn)
    alpha, eta = np.exp(log_h)
    pool.run.progress.say(f"{pool.n_chains} chains have learnt doc_topic_prior {alpha:.4g}, topic_word_prior {eta:.4g}")
    found = Beginning(log_h)
    if K > 1 and _has_modes(pool, log_h):
        found = _search(pool, found, random.child(seed, 1))
    # Chains without records.
    pool.chains = [pool.unrecorded(chain) for chain in pool.chains]
    return found


def _annealed(corpus, priors, seed, n_sweeps, stop):
    return anneal(corpus, priors, seed, stop, n_sweeps)


def _has_modes(pool, log_h):
    """Whether a search may find better modes at a reasonable cost."""
    is_small = 2 * LEAST_TOKENS <= pool.corpus.n_tokens <= MOST_SEARCHED
    if not is_small or not _can_weigh(pool) or no_topics(pool, log_h):
        return False
    before = [chain.topics.copy() for chain in pool.chains]
    pool.sweep(1)
    changed = [(chain.topics != topics).mean() for chain, topics in zip(pool.chains, before, strict=True)]
    return np.mean(changed) <= _MOST_CHANGED


def _can_weigh(pool):
    return can_tell_modes_apart(pool.corpus, pool.priors.n_components, _TEMPERATURES // 2)


@dataclass(eq=False)
class _Mode:
    """A mode of z, and a chain in it that has learnt h there.

    Attributes
    ----------
    chain : GibbsChain
    moved : float
        The share of the tokens in which two draws of the chain differ.
    values : list of float
        log p(w | h) at the h learnt, of every time that the mode was found.
    """

    chain: GibbsChain
    moved: float
    values: list

    @property
    def value(self):
        return float(np.mean(self.values))

    def is_near(self, topics, n_components):
        """Whether a draw hardly differs more from that of the chain than two draws of a chain."""
        return differing(topics, self.chain.topics, n_components) <= APART * self.moved


class _Modes:
    """Modes of z, each weighed by annealing at the h that Gibbs-EM learns in it.

    Attributes
    ----------
    known : list of _Mode
    variances : list of float
        Of the value of every time that a mode was weighed.
    """

    def __init__(self, pool, seed):
        self.pool, self.seed, self.known, self.variances = pool, seed, [], []

    @property
    def n_sweeps(self):
        """Sweeps so far."""
        return len(self.variances) * (LEARNING + _WEIGHING)

    @property
    def values(self):
        return np.array([mode.value for mode in self.known])

    @property
    def std(self):
        """Standard error of the value of a mode that was found once."""
        return float(np.hypot(np.sqrt(np.mean(self.variances)), _LEARNT_ERROR))

    def same(self, values, other):
        """Whether the evidence does not differ by more than its errors."""
        return np.abs(np.asarray(values) - other) <= _ERRORS * np.sqrt(2) * self.std

    def weigh(self, topics, priors, what):
        """The mode of a draw, weighed: a known one if topics and evidence are the same, otherwise a new one."""
        pool, n, K = self.pool, len(self.variances), priors.n_components
        kind = chain_class("collapsed", pool.corpus, priors)
        state = ChainState(topics, random.stream(random.child(self.seed, n, 0)))
        (chain,) = pool.run.sweep([learning(kind(pool.corpus, priors, state), LEARNING)], LEARNING, reports=False)
        alpha, eta = np.exp(learnt(chain)).tolist()
        key, at = random.child(self.seed, n, 1), Priors.make(alpha, eta, *priors.shape)
        found = mode_evidence([chain], at, _TEMPERATURES, _RUNS, key, pool.n_jobs, pool.run)
        value = float(found.value[0])
        self.variances.append(found.std**2)
        pool.run.progress.say(f"{what}: log evidence {value:.1f} at {alpha:.4g}, {eta:.4g}")
        for mode in self.known:
            if mode.is_near(topics, K) and self.same(mode.value, value):
                mode.values.append(value)
                return mode
        self.known.append(_Mode(chain, differing(topics, chain.topics, K), [value]))
        return self.known[-1]

    def is_known(self, topics):
        return any(mode.is_near(topics, self.pool.priors.n_components) for mode in self.known)


def _search(pool, beginning, seed):
    """Search from one chain after the other, and let the chains continue in the best modes.

    The next search is at the h of the best mode. The chains at the start are modes as well. At most two modes are
    weighed for each chain. All this takes at most two thirds of the sweeps that are left. What it does not take, the
    chains have left.
    """
    share, weighing = 2 * pool.left // 3, LEARNING + _WEIGHING
    options = {
        "n_jobs": pool.n_jobs,
        "max_sweeps": min(share - weighing, _SEARCH_SWEEPS),
        "weigh": False,
        "run": pool.run,
    }
    modes, log_h, found, searched = _Modes(pool, random.child(seed, pool.n_chains)), beginning.log_h, [], 0

    def may_weigh(n_chains):
        fits = searched + modes.n_sweeps + weighing <= n_chains * share
        return fits and len(modes.variances) < 2 * n_chains

    for c, chain in enumerate(pool.chains):
        priors = Priors.make(*np.exp(log_h).tolist(), *pool.priors.shape)
        (best, *others), n_sweeps = counted_search(
            pool.corpus, priors, [chain.topics], random.child(seed, c), **options
        )
        searched += n_sweeps
        if not np.isfinite(best.log_evidence):
            return beginning
        found.append(modes.weigh(best.topics, priors, f"search {c + 1}"))
        for mode in others:
            if may_weigh(c + 1) and not modes.is_known(mode.topics):
                modes.weigh(mode.topics, priors, f"search {c + 1}, another mode")
        log_h = learnt(modes.known[np.argmax(modes.values)].chain)
        values = np.array([mode.value for mode in found])
        values = values[modes.same(values, modes.values.max())]
        if len(values) > 1:
            break
    for c, chain in enumerate(pool.chains):
        if may_weigh(pool.n_chains) and not modes.is_known(chain.topics):
            modes.weigh(chain.topics, chain.priors, f"chain {c + 1}")
    # Every chain has the same share of the sweeps that were made, rounded up.
    pool.left -= -(-(searched + modes.n_sweeps) // pool.n_chains)
    if len(values) < 2 <= pool.n_chains:
        warn(
            f"Only one of {len(found)} searches found the best mode of the topic assignments; others may be better. "
            "Compare several seeds, or search longer (max_iter).",
            ConvergenceWarning,
        )
    # Searches that end in modes of different evidence may both have missed the best by as much.
    std = max(modes.std, values.std(ddof=1) if len(values) > 1 else 0.0)
    shares = probabilities(modes.values, std)
    order = [m for m in np.argsort(-shares, kind="stable") if shares[m] > 0][: pool.n_chains]
    at = np.resize(order, pool.n_chains)
    kept = [modes.known[m].chain for m in at]
    pool.chains = [pool.unrecorded(*both) for both in zip(pool.chains, [each.topics for each in kept], strict=True)]
    log_h = np.median([learnt(modes.known[m].chain) for m in order], axis=0)
    return Beginning(log_h, -np.sort(-modes.values), modes.std, shares[at] / np.bincount(at)[at], len(order) > 1)


def resolve(pool, found, reserved, shares, seed):
    """Chains that disagree have a curve each, weighted by the probabilities of their modes.

    Without a search, annealing weighs the modes of the chains at the maximum. On corpora too large for it, or if a
    callback has ended chains, all have the same weight.

    Parameters
    ----------
    pool : ChainPool
    found : Skeleton
    reserved : int
        Sweeps of every chain that weighing leaves.
    shares : ndarray of shape (n_chains,) or None
        See `Beginning`.
    seed : numpy.random.SeedSequence

    Returns
    -------
    Skeleton
    """
    n_chains, K = len(found.at), pool.priors.n_components
    if found.agree or no_topics(pool, found.maximum.log_h):
        return found
    if n_chains < len(pool.chains):
        shares = None
    elif shares is None and _can_weigh(pool) and pool.left - reserved >= _WEIGHING:
        pool.left -= _WEIGHING
        priors = Priors.make(*found.maximum.h, K, pool.corpus.n_features)
        evidence = mode_evidence(pool.chains, priors, _TEMPERATURES, _RUNS, seed, pool.n_jobs, pool.run)
        values = ", ".join(f"{x:.1f}" for x in evidence.value)
        pool.run.progress.say(f"log evidence of the chains: {values}, each +- {evidence.std:.1f} nats")
        shares = probabilities(evidence.value, evidence.std)
    return found.averaged(np.ones(n_chains) if shares is None else shares)


def probabilities(log_evidence, std):
    """Posterior probabilities of modes, means over errors of their evidence; 0 if below .02 times the largest."""
    errors = np.random.default_rng(0).standard_normal((4000, len(log_evidence))) * std
    shares = softmax(log_evidence + errors, axis=1).mean(axis=0)
    shares[shares < 0.02 * shares.max()] = 0
    return shares / shares.sum()
