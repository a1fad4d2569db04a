"""The modes of z in which chains begin, and one curve of m(h) from chains in different modes.

Chains start annealed and learn h by Gibbs-EM. The posterior of z has modes that chains do not leave, and each has its
own maximum of m(h). So on small corpora a search between modes begins from each chain, one after the other; two are
enough if they find one mode and nothing else. Other draws of a search are weighed too if they differ in more tokens
than two draws of a chain, because a mode of the same evidence can have another maximum. Chains continue in the modes
that may be the best, and have their probabilities. On larger corpora a search would cost too much, and where most
tokens change their topic in every sweep it has nothing to find: chains continue where they are. On these larger corpora
chains also need most sweeps to get there, so Gibbs-EM goes on until h has settled, and tells how far h still moved.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from sklda._core import random
from sklda._core.priors import Priors
from sklda._input.warn import warn
from sklda._likelihood.evidence.bennett import sweeps_both_ways
from sklda._mode_search.mode_evidence import can_tell_modes_apart, mode_evidence
from sklda._mode_search.search import APART, improve_modes
from sklda._models.empirical_bayes.chain_pool import EM_SWEEPS, LEARNING, ChainPool, learning, learnt
from sklda._models.empirical_bayes.settings import FINE_ENOUGH, MOST_SEARCHED
from sklda._models.empirical_bayes.skeleton import Skeleton, no_topics
from sklda._sampling.annealed_start import ANNEAL_SWEEPS, annealed_chain
from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.matching import differing
from sklda._sampling.merge_and_split import SWEEPS_OF_A_ROUND, make_rounds
from sklda._sampling.prior_learning import LEAST_TOKENS

# Modes are searched if at most this share of the tokens changes topic in a sweep.
_MOST_CHANGED = 1 / 3
# Largest number of sweeps of a search. On C-2, with 6,000 three of three ended 12 nats below the best mode.
_SEARCH_SWEEPS = 10_000
# A mode is weighed by this many runs of this many temperatures in each direction.
_RUNS, _TEMPERATURES = 2, 300
_WEIGHING = sweeps_both_ways(_TEMPERATURES, _RUNS)
# Sweeps for a mode that a search has found: Gibbs-EM learns h in it, then it is weighed.
_SWEEPS_OF_A_MODE = LEARNING + _WEIGHING
# Error of the evidence of a mode by that of the h learnt in it, in nats. On C-5, log alpha is learnt within .15, where
# the statistical error is .21.
_LEARNT_ERROR = 0.5
# Searches have found the same evidence if it differs by at most this many standard errors.
_ERRORS = 2.5
# Other modes of a search are weighed if their scores are at most this many nats below its best one.
_NEAR = 30.0


@dataclass(frozen=True, eq=False)
class Beginning:
    """Where the chains of a pool begin."""

    log_h: np.ndarray  # (2,)
    # How far log h has moved in the last half of a long Gibbs-EM, (2,): about what chains still lack. Zero after a
    # short one, behind which there are a search or longer rounds.
    moved: np.ndarray = field(default_factory=lambda: np.zeros(2))
    settled: bool = False  # whether a long Gibbs-EM has ended because log h hardly moved
    # log p(w | h) of the modes found, each at the h learnt in it, the best first, in nats; empty without a search.
    log_evidence: np.ndarray = field(default_factory=lambda: np.empty(0))
    log_evidence_std: float = np.nan  # standard error of a value
    # Probabilities of the modes in which the chains begin, (n_chains,); None without a search.
    shares: np.ndarray | None = None
    several_modes: bool = False  # whether the chains begin in different modes


def begin(pool: ChainPool, seed: np.random.SeedSequence) -> Beginning:
    """Give a pool its first chains: annealed, with learnt priors, and in the best modes that searches find."""
    corpus = pool.corpus
    quarter = pool.settings.max_iter // 4
    # Chains of large corpora need most sweeps to reach their posterior distribution, and there is no search.
    is_large = corpus.n_tokens > MOST_SEARCHED
    n_anneal = quarter // 2 if is_large else min(ANNEAL_SWEEPS, quarter)
    n_learn = 2 * quarter if is_large else min(LEARNING, quarter)

    tasks = [(corpus, pool.priors, random.child(seed, 0, c), n_anneal) for c in range(pool.n_chains)]
    pool.chains = pool.run.parallel(_annealed, tasks, pool.n_jobs)
    pool.left -= n_anneal

    # Few tokens say too little about h for Gibbs-EM, and chains leave all modes.
    if corpus.n_tokens < LEAST_TOKENS or n_learn < EM_SWEEPS:
        return Beginning(log_h=np.log([pool.priors.doc[0, 0], pool.priors.word[0]]))
    if is_large and n_learn >= 4 * EM_SWEEPS:
        found = _learn_until_settled(pool, n_learn, random.child(seed, 2))
    else:
        found = Beginning(log_h=pool.learn(n_learn))
        if _merge_and_split(pool, random.child(seed, 2)):
            found = Beginning(log_h=pool.learn(n_learn))
    alpha, eta = np.exp(found.log_h)
    pool.run.progress.say(f"{pool.n_chains} chains have learnt doc_topic_prior {alpha:.4g}, topic_word_prior {eta:.4g}")

    if pool.priors.n_components > 1 and _has_modes(pool, found.log_h):
        found = _search(pool, found.log_h, random.child(seed, 1))
    pool.chains = [pool.unrecorded(chain) for chain in pool.chains]
    return found


def _merge_and_split(pool: ChainPool, seed: np.random.SeedSequence) -> bool:
    """Make rounds of moves with every chain, at the h that it has learnt. Returns whether there were any moves.

    There are none where a round would take more than a twentieth of the sweeps that are left.
    """
    if pool.priors.n_components < 3 or pool.left < 20 * SWEEPS_OF_A_ROUND:
        return False
    tasks = [(chain, random.child(seed, c)) for c, chain in enumerate(pool.chains)]
    found = pool.run.parallel(make_rounds, tasks, pool.n_jobs)
    pool.chains = [chain for chain, _ in found]
    most = max(n_rounds for _, n_rounds in found)
    pool.left -= most * SWEEPS_OF_A_ROUND
    return most > 1


def _learn_until_settled(pool: ChainPool, most: int, seed: np.random.SeedSequence) -> Beginning:
    """Gibbs-EM of a quarter, a half, and all of `most` sweeps, until log h moves by less than `FINE_ENOUGH`.

    If the distance from the limit falls like one over the number of sweeps, what chains still lack is as much as h has
    moved in the last half of them. It falls faster if they mix well.
    """
    log_h = pool.learn(most // 4)
    _merge_and_split(pool, seed)
    for n_sweeps in (most // 2 - most // 4, most - most // 2):
        before = log_h
        log_h = pool.learn(n_sweeps)
        moved = log_h - before
        settled = bool((np.abs(moved) < FINE_ENOUGH).all())
        if settled:
            break
    return Beginning(log_h=log_h, moved=moved, settled=settled)


def _annealed(corpus, priors, seed, n_sweeps, stop):
    return annealed_chain(corpus, priors, seed, stop, n_sweeps)


def _has_modes(pool: ChainPool, log_h: np.ndarray) -> bool:
    """Whether a search may find better modes at a reasonable cost."""
    is_small = 2 * LEAST_TOKENS <= pool.corpus.n_tokens <= MOST_SEARCHED
    if not is_small or not _can_weigh(pool) or no_topics(pool, log_h):
        return False
    before = [chain.topics.copy() for chain in pool.chains]
    pool.sweep(1)
    changed = [(chain.topics != topics).mean() for chain, topics in zip(pool.chains, before, strict=True)]
    return bool(np.mean(changed) <= _MOST_CHANGED)


def _can_weigh(pool: ChainPool) -> bool:
    return can_tell_modes_apart(pool.corpus, pool.priors.n_components, _TEMPERATURES // 2)


@dataclass(eq=False)
class _Mode:
    """A mode of z, and the chains in it that have learnt h there: one for every time that it was found."""

    chains: list[GibbsChain]
    moved: float  # the share of the tokens in which two draws of the first chain differ
    values: list  # log p(w | h) at the h learnt of each chain

    @property
    def value(self) -> float:
        return float(np.mean(self.values))

    def is_near(self, topics: np.ndarray, n_components: int) -> bool:
        """Whether a draw hardly differs more from that of the chain than two draws of a chain."""
        return differing(topics, self.chains[0].topics, n_components) <= APART * self.moved

    @property
    def log_h(self) -> np.ndarray:
        """log h learnt in the mode, (2,)."""
        return np.mean([learnt(chain) for chain in self.chains], axis=0)


class _Modes:
    """The modes that searches have found, each weighed by annealing at the h that Gibbs-EM learns in it.

    Searching and weighing have `budget` sweeps for each chain; at most two modes are weighed for each chain.
    """

    def __init__(self, pool: ChainPool, seed: np.random.SeedSequence, budget: int) -> None:
        self.pool = pool
        self.seed = seed
        self.budget = budget
        self.known: list[_Mode] = []
        # The variance of the value of every time that a mode was weighed.
        self.variances: list[float] = []
        self.n_searched = 0

    @property
    def n_sweeps(self) -> int:
        """Sweeps so far, those of searches included."""
        return self.n_searched + len(self.variances) * _SWEEPS_OF_A_MODE

    def may_weigh(self, n_chains: int) -> bool:
        """Whether another mode may be weighed, by the budget of so many chains."""
        fits = self.n_sweeps + _SWEEPS_OF_A_MODE <= n_chains * self.budget
        return fits and len(self.variances) < 2 * n_chains

    @property
    def values(self) -> np.ndarray:
        return np.array([mode.value for mode in self.known])

    @property
    def std(self) -> float:
        """Standard error of the value of a mode that was found once."""
        return float(np.hypot(np.sqrt(np.mean(self.variances)), _LEARNT_ERROR))

    def same(self, values: ArrayLike, other: float) -> np.ndarray:
        """Whether the evidence does not differ by more than its errors."""
        return np.abs(np.asarray(values) - other) <= _ERRORS * np.sqrt(2) * self.std

    def weigh(self, topics: np.ndarray, priors: Priors, what: str) -> _Mode:
        """The mode of a draw, weighed: a known one if topics and evidence are the same, otherwise a new one."""
        pool = self.pool
        n = len(self.variances)
        kind = chain_class("collapsed", pool.corpus, priors)
        chain = kind(pool.corpus, priors, ChainState(topics, random.stream(random.child(self.seed, n, 0))))
        (chain,) = pool.run.sweep([learning(chain, LEARNING)], LEARNING, reports=False)
        alpha, eta = np.exp(learnt(chain)).tolist()
        found = mode_evidence(
            [chain],
            Priors.make(alpha, eta, *priors.shape),
            n_temperatures=_TEMPERATURES,
            n_runs=_RUNS,
            seed=random.child(self.seed, n, 1),
            n_jobs=pool.n_jobs,
            run=pool.run,
        )
        value = float(found.value[0])
        self.variances.append(found.std**2)
        pool.run.progress.say(f"{what}: log evidence {value:.1f} at {alpha:.4g}, {eta:.4g}")
        for mode in self.known:
            if mode.is_near(topics, priors.n_components) and self.same(mode.value, value):
                mode.chains.append(chain)
                mode.values.append(value)
                return mode
        moved = differing(topics, chain.topics, priors.n_components)
        self.known.append(_Mode([chain], moved=moved, values=[value]))
        return self.known[-1]

    def is_known(self, topics: np.ndarray) -> bool:
        return any(mode.is_near(topics, self.pool.priors.n_components) for mode in self.known)

    def learnt_in_the_best(self) -> np.ndarray:
        """log h learnt in the mode of the most evidence."""
        return self.known[np.argmax(self.values)].log_h


def _search(pool: ChainPool, log_h: np.ndarray, seed: np.random.SeedSequence) -> Beginning:
    """Search from one chain after the other, and let the chains continue in the best modes.

    Searching and weighing take at most two thirds of the sweeps that are left. What they do not take, the chains have
    left.
    """
    modes = _Modes(pool, random.child(seed, pool.n_chains), budget=2 * pool.left // 3)
    agreeing = _search_from_chains(modes, log_h, seed)
    if agreeing is None:
        return Beginning(log_h=log_h)
    # Every chain has the same share of the sweeps that were made, rounded up.
    pool.left -= -(-modes.n_sweeps // pool.n_chains)

    # Searches that end in modes of different evidence may both have missed the best by as much.
    std = max(modes.std, agreeing.std(ddof=1) if len(agreeing) > 1 else 0.0)
    shares = probabilities(modes.values, std)
    best = [m for m in np.argsort(-shares, kind="stable") if shares[m] > 0][: pool.n_chains]
    # With more chains than modes, several chains continue in a mode, and share its probability. They begin where
    # different searches have found it: copies of one draw would agree about h before they have left it.
    of_chain = np.resize(best, pool.n_chains)
    finds = {m: itertools.cycle(modes.known[m].chains) for m in best}
    pool.chains = [
        pool.unrecorded(chain, next(finds[m]).topics) for chain, m in zip(pool.chains, of_chain, strict=True)
    ]
    return Beginning(
        log_h=np.median([modes.known[m].log_h for m in best], axis=0),
        log_evidence=-np.sort(-modes.values),
        log_evidence_std=modes.std,
        shares=shares[of_chain] / np.bincount(of_chain)[of_chain],
        several_modes=len(best) > 1,
    )


def _search_from_chains(modes: _Modes, log_h: np.ndarray, seed: np.random.SeedSequence) -> np.ndarray | None:
    """Search from one chain after the other, and weigh what they find.

    Two searches that agree may both have missed the best mode. So they are the last ones only if they have found
    nothing else. Each search is at the h of the best mode so far. The result has the evidence of the searches that have
    found the best one, with a warning if it is one search; None if the sweeps did not suffice for a search.
    """
    pool = modes.pool
    found: list[_Mode] = []
    one_mode = True  # whether the searches have kept no other one
    for c, chain in enumerate(pool.chains):
        priors = Priors.make(*np.exp(log_h).tolist(), *pool.priors.shape)
        (best, *others), n_sweeps = improve_modes(
            pool.corpus,
            priors,
            [chain.topics],
            seed=random.child(seed, c),
            n_jobs=pool.n_jobs,
            max_sweeps=min(modes.budget - _SWEEPS_OF_A_MODE, _SEARCH_SWEEPS),
            weigh=False,
            run=pool.run,
        )
        modes.n_searched += n_sweeps
        if not np.isfinite(best.log_evidence):
            return None
        found.append(modes.weigh(best.topics, priors, f"search {c + 1}"))
        for mode in others:
            if modes.is_known(mode.topics):
                continue
            one_mode = False
            if best.log_evidence - mode.log_evidence <= _NEAR and modes.may_weigh(c + 1):
                modes.weigh(mode.topics, priors, f"search {c + 1}, another mode")
        if c > 0 and one_mode and len(modes.known) == 1:
            break
        log_h = modes.learnt_in_the_best()
    # Each time that a mode is found again, its value changes.
    values = np.array([mode.value for mode in found])
    agreeing = values[modes.same(values, values.max())]
    if len(agreeing) < 2 <= pool.n_chains:
        warn(
            f"Only one of {len(found)} searches found the best mode of the topic assignments; others may be better. "
            "Compare several seeds, or search longer (max_iter).",
            ConvergenceWarning,
        )
    return agreeing


def resolve(
    pool: ChainPool, found: Skeleton, *, reserved: int, shares: np.ndarray | None, seed: np.random.SeedSequence
) -> Skeleton:
    """Chains that disagree or do not mix have a curve each, weighted by the probabilities of their modes, (n_chains,).

    These are the `shares` that a search has found. Without a search, annealing weighs the modes of the chains at the
    maximum, if it leaves `reserved` sweeps. On corpora too large for it, or if a callback has ended chains, all have
    the same weight.
    """
    n_chains = len(found.at)
    if n_chains < 2 or (found.agree and found.mixed) or no_topics(pool, found.maximum.log_h):
        return found
    if n_chains < len(pool.chains):
        shares = None
    elif shares is None and _can_weigh(pool) and pool.left - reserved >= _WEIGHING:
        shares = _weigh_chains(pool, found, seed)
    return found.averaged(np.ones(n_chains) if shares is None else shares)


def _weigh_chains(pool: ChainPool, found: Skeleton, seed: np.random.SeedSequence) -> np.ndarray:
    """Probabilities of the modes in which the chains are, at the maximum, (n_chains,)."""
    pool.left -= _WEIGHING
    alpha, eta = found.maximum.h
    evidence = mode_evidence(
        pool.chains,
        Priors.make(alpha, eta, pool.priors.n_components, pool.corpus.n_features),
        n_temperatures=_TEMPERATURES,
        n_runs=_RUNS,
        seed=seed,
        n_jobs=pool.n_jobs,
        run=pool.run,
    )
    values = ", ".join(f"{x:.1f}" for x in evidence.value)
    pool.run.progress.say(f"log evidence of the chains: {values}, each +- {evidence.std:.1f} nats")
    return probabilities(evidence.value, evidence.std)


def probabilities(log_evidence: np.ndarray, std: float) -> np.ndarray:
    """Posterior probabilities of modes, means over errors of their evidence; 0 if below .02 times the largest."""
    errors = np.random.default_rng(0).standard_normal((4000, len(log_evidence))) * std
    shares = softmax(log_evidence + errors, axis=1).mean(axis=0)
    shares[shares < 0.02 * shares.max()] = 0
    return shares / shares.sum()
