"""The modes of z in which chains begin, and one curve of m(h) from chains in different modes.

Chains start annealed and learn h by Gibbs-EM. The posterior of z has modes that chains do not leave, and each has its
own maximum of m(h). So on small corpora a search between modes begins from each chain, one after the other, until two
of them have found the best mode. On larger corpora a search would cost too much, and where most tokens change their
topic in every sweep it has nothing to find: chains continue where they are.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from sklda._inference import random
from sklda._inference.hyperparameters.em_chain import EMChain
from sklda._inference.hyperparameters.settings import MOST_SEARCHED
from sklda._inference.hyperparameters.skeleton import find_maximum, no_topics
from sklda._inference.modes.mode_evidence import can_tell_modes_apart, mode_evidence
from sklda._inference.modes.search import improve_modes
from sklda._inference.parallel import in_parallel
from sklda._inference.priors import Priors
from sklda._inference.sampling.annealed_start import ANNEAL_SWEEPS, anneal
from sklda._inference.sampling.prior_learning import LEAST_TOKENS
from sklda._inference.sampling.run_chains import run_chains
from sklda._inference.warn import warn

# Sweeps of Gibbs-EM at the start. Every fifth has an M-step.
_LEARNING = 100
# Modes are searched if at most this share of the tokens changes topic in a sweep.
_MOST_CHANGED = 1 / 3
# Largest number of sweeps of a search. On C-2, with 6,000 three of three ended 12 nats below the best mode.
_SEARCH_SWEEPS = 10_000
# A mode is weighed by this many runs of this many temperatures.
_RUNS, _TEMPERATURES = 3, 400
# Searches have found the same mode if their evidence differs by at most this many standard errors.
_ERRORS = 2.5


@dataclass(frozen=True, eq=False)
class Beginning:
    """Where the chains of a pool begin.

    Attributes
    ----------
    log_h : ndarray of shape (2,)
    log_evidence : ndarray of shape (n_searches,)
        log p(w | h) of the modes found, each at the h learnt in it, in the order of the searches, in nats; empty if
        there was no search.
    log_evidence_std : float
        Standard error of a value.
    """

    log_h: np.ndarray
    log_evidence: np.ndarray = field(default_factory=lambda: np.empty(0))
    log_evidence_std: float = np.nan


def begin(pool, seed):
    """Give a pool its first chains: annealed, with learnt priors, and in the best modes that searches find.

    Returns
    -------
    Beginning
    """
    corpus, K, quarter = pool.corpus, pool.priors.n_components, pool.settings.max_iter // 4
    n_anneal, n_learn = min(ANNEAL_SWEEPS, quarter), min(_LEARNING, quarter)
    tasks = [(corpus, pool.priors, random.child(seed, 0, c), n_anneal) for c in range(pool.n_chains)]
    pool.chains = in_parallel(_annealed, tasks, pool.n_jobs)
    pool.left -= n_anneal
    log_h = np.log([pool.priors.doc[0, 0], pool.priors.word[0]])
    # Few tokens say too little about h for Gibbs-EM, and chains leave all modes.
    if corpus.n_tokens < LEAST_TOKENS or n_learn < 5:
        return Beginning(log_h)
    pool.chains = [_learning(chain) for chain in pool.chains]
    pool.sweep(n_learn)
    log_h = np.median([chain.learnt() for chain in pool.chains], axis=0)
    alpha, eta = np.exp(log_h)
    pool.say(f"{pool.n_chains} chains have learnt doc_topic_prior {alpha:.4g}, topic_word_prior {eta:.4g}")
    found = Beginning(log_h)
    if K > 1 and _has_modes(pool, log_h):
        found = _search(pool, found, random.child(seed, 1))
    # Chains without records.
    pool.chains = [pool.unrecorded(chain) for chain in pool.chains]
    return found


def _learning(chain):
    return EMChain.learning(chain, n_draws=1, n_burn_in=4)


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


def _search(pool, beginning, seed):
    """Search from one chain after the other, and let the chains continue in the best modes.

    Each mode found is weighed at the h that Gibbs-EM learns in it, and the next search is at the h of the best mode.
    The chains at the start are modes as well.
    """
    # Of a mode that is found, and of the start.
    weighing = _LEARNING + 2 * _RUNS * _TEMPERATURES
    budget, shape = min(2 * pool.left // 3 - weighing, _SEARCH_SWEEPS), pool.priors.shape
    options = {"n_jobs": pool.n_jobs, "max_sweeps": budget, "weigh": False}
    modes, values, stds, log_h = [], [], [], beginning.log_h

    def weigh(mode, what):
        alpha, eta = np.exp(mode.learnt()).tolist()
        key = random.child(seed, len(modes), 1)
        found = mode_evidence([mode], Priors.make(alpha, eta, *shape), _TEMPERATURES, _RUNS, key, pool.n_jobs)
        modes.append(mode)
        values.append(found.value[0])
        stds.append(found.std)
        pool.say(f"{what}: log evidence {values[-1]:.1f} at {alpha:.4g}, {eta:.4g}")
        return float(np.sqrt(np.mean(np.square(stds))))

    for c, chain in enumerate(pool.chains):
        priors = Priors.make(*np.exp(log_h).tolist(), *shape)
        (mode,) = improve_modes(pool.corpus, priors, [chain.topics], seed=random.child(seed, c), **options)
        if not np.isfinite(mode.log_evidence):
            return beginning
        own = pool.unrecorded(chain, mode.topics)
        own.priors = priors
        std = weigh(run_chains([_learning(own)], _LEARNING)[0], f"search {c + 1}")
        log_h = modes[int(np.argmax(values))].learnt()
        n_best = int((max(values) - np.array(values) <= _ERRORS * np.sqrt(2) * std).sum())
        if n_best > 1:
            break
    n_searches = len(modes)
    for c, chain in enumerate(pool.chains):
        std = weigh(chain, f"chain {c + 1}")
    pool.left -= budget + weighing
    if n_best == 1 and n_searches > 1:
        warn(
            f"Only one of {n_searches} searches found the best mode of the topic assignments; others may be better. "
            "Compare several seeds, or search longer (max_iter).",
            ConvergenceWarning,
        )
    shares = probabilities(np.array(values), std)
    kept = [modes[c] for c in np.argsort(-shares, kind="stable") if shares[c] > 0]
    pool.chains = [pool.unrecorded(chain, kept[c % len(kept)].topics) for c, chain in enumerate(pool.chains)]
    return Beginning(np.median([mode.learnt() for mode in kept], axis=0), np.array(values[:n_searches]), std)


def resolve(pool, found, reserved, seed):
    """Chains that disagree leave the modes with less evidence, and the search for the maximum is repeated, once.

    The curves of those that still disagree are averaged by the probability of their modes. On corpora too large for
    annealing, all modes have the same weight.

    Returns
    -------
    Skeleton
    """
    for attempt in range(2):
        if found.agree or no_topics(pool, found.maximum.log_h):
            break
        shares = _shares(pool, found, reserved, random.child(seed, attempt))
        worse = np.flatnonzero(shares == 0)
        if attempt or not len(worse):
            return found.averaged(shares)
        best = np.argsort(-shares, kind="stable")[: len(shares) - len(worse)]
        for n, c in enumerate(worse):
            path = pool.chains[c].prior_path
            pool.chains[c] = EMChain(pool.unrecorded(pool.chains[c], pool.chains[best[n % len(best)]].topics))
            pool.chains[c].prior_path = path
        found = find_maximum(pool, found.maximum.log_h, reserved, pool.settings.tol)
    return found


def _shares(pool, found, reserved, seed):
    """Probabilities of the modes of the chains at the maximum."""
    n_chains, K = len(found.at), pool.priors.n_components
    if n_chains < len(pool.chains) or not _can_weigh(pool) or pool.left - reserved < _RUNS * _TEMPERATURES:
        return np.full(n_chains, 1 / n_chains)
    pool.left -= _RUNS * _TEMPERATURES
    priors = Priors.make(*found.maximum.h, K, pool.corpus.n_features)
    evidence = mode_evidence(pool.chains, priors, _TEMPERATURES, _RUNS, seed, pool.n_jobs)
    values = ", ".join(f"{x:.1f}" for x in evidence.value)
    pool.say(f"log evidence of the chains: {values}, each +- {evidence.std:.1f} nats")
    return probabilities(evidence.value, evidence.std)


def probabilities(log_evidence, std):
    """Posterior probabilities of modes, means over errors of their evidence; 0 if below .02 times the largest."""
    errors = np.random.default_rng(0).standard_normal((4000, len(log_evidence))) * std
    shares = softmax(log_evidence + errors, axis=1).mean(axis=0)
    shares[shares < 0.02 * shares.max()] = 0
    return shares / shares.sum()
