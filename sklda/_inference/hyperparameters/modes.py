"""The modes of z in which chains begin, and one curve of m(h) from chains in different modes.

Chains start annealed and learn h by Gibbs-EM. The posterior of z has modes that chains do not leave, and each has its
own maximum of m(h). So on small corpora a search between modes begins from each chain, one after the other, until two
of them have found the best mode. On larger corpora a search would cost too much: chains continue where they are.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from sklda._inference import random
from sklda._inference.held_out.averages import log_mean_exp
from sklda._inference.hyperparameters.em_chain import EMChain
from sklda._inference.hyperparameters.skeleton import find_maximum, no_topics
from sklda._inference.modes.mode_evidence import NEGLIGIBLE, can_tell_modes_apart, log_mode_weights, mode_evidence
from sklda._inference.modes.search import improve_modes
from sklda._inference.parallel import in_parallel
from sklda._inference.priors import Priors
from sklda._inference.sampling.annealed_start import ANNEAL_SWEEPS, anneal
from sklda._inference.sampling.prior_learning import LEAST_TOKENS
from sklda._inference.warn import warn

# Gibbs-EM of the start: sweeps, and sweeps for each M-step.
_LEARNING, _EVERY = 100, 5
# Modes are searched on corpora with this many tokens, if this many temperatures tell modes apart.
_SEARCHED, _TEMPERATURES = (2_000, 60_000), 200
# Largest number of sweeps of a search. On C-2, with 6,000 three of three ended 12 nats below the best mode.
_SEARCH_SWEEPS = 10_000
# Searches have found the same mode if their evidence differs by less than this many standard errors, or nats.
_ERRORS, _NATS = 2.0, 3.0
# Modes are weighed by this many runs from every chain, of at most this many times the temperatures. Weights are means
# over this many normal errors.
_RUNS, _LONGER, _SIMULATED = 3, 5, 4000
# Times that chains are moved to the best modes.
_ATTEMPTS = 2


@dataclass(frozen=True, eq=False)
class Beginning:
    """Where the chains of a pool begin.

    Attributes
    ----------
    log_h : ndarray of shape (2,)
    log_evidence : ndarray of shape (n_searches,)
        log p(w | h) of the modes found, in the order of the searches, in nats; empty if there was no search.
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
    corpus, quarter = pool.corpus, pool.settings.max_iter // 4
    n_anneal, n_learn = min(ANNEAL_SWEEPS, quarter), min(_LEARNING, quarter)
    tasks = [(corpus, pool.priors, random.child(seed, 0, c), n_anneal) for c in range(pool.n_chains)]
    pool.chains = in_parallel(_annealed, tasks, pool.n_jobs)
    log_h = np.log([pool.priors.word[0], pool.priors.doc[0, 0]])
    pool.left -= n_anneal
    found = _learn(pool, log_h, n_learn, seed)
    # Chains without records.
    pool.chains = [pool.unrecorded(chain) for chain in pool.chains]
    return found


def _learn(pool, log_h, n_learn, seed):
    """Learn log h by Gibbs-EM, and search for modes there."""
    corpus, K = pool.corpus, pool.priors.n_components
    # Few tokens say too little about h for Gibbs-EM, and chains leave all modes.
    if corpus.n_tokens < LEAST_TOKENS or n_learn < _EVERY:
        return Beginning(log_h)
    pool.chains = [EMChain.learning(chain, n_draws=1, n_burn_in=_EVERY - 1) for chain in pool.chains]
    pool.sweep(n_learn)
    log_h = np.median([chain.em.mean() for chain in pool.chains], axis=0)
    eta, alpha = np.exp(log_h)
    pool.say(f"{pool.n_chains} chains have learnt doc_topic_prior {alpha:.4g}, topic_word_prior {eta:.4g}")
    if no_topics(pool, log_h):
        return Beginning(log_h)
    few, many = _SEARCHED
    if not (few <= corpus.n_tokens <= many and can_tell_modes_apart(corpus, K, _TEMPERATURES)) or K == 1:
        return Beginning(log_h)
    return _search(pool, Priors.make(float(alpha), float(eta), K, corpus.n_features), log_h, random.child(seed, 1))


def _annealed(corpus, priors, seed, n_sweeps, stop):
    return anneal(corpus, priors, seed, stop, n_sweeps)


def _search(pool, priors, log_h, seed):
    """Search from one chain after the other, and let the chains continue in the best modes."""
    weighing = _RUNS * 2 * _TEMPERATURES
    budget, modes, values, stds = min(2 * pool.left // 3 - weighing, _SEARCH_SWEEPS), [], [], []
    options = {"n_jobs": pool.n_jobs, "max_sweeps": budget}
    for c, chain in enumerate(pool.chains):
        (mode,) = improve_modes(pool.corpus, priors, [chain.topics], seed=random.child(seed, c), **options)
        if not np.isfinite(mode.log_evidence):
            return Beginning(log_h)
        own = pool.unrecorded(chain, mode.topics)
        own.priors = priors
        found = mode_evidence([own], priors, 2 * _TEMPERATURES, _RUNS, random.child(seed, c, 1), pool.n_jobs)
        modes.append(mode.topics)
        values.append(found.value[0])
        stds.append(found.std)
        std = float(np.sqrt(np.mean(np.square(stds)) / _RUNS))
        pool.say(f"search {c + 1}: log evidence {values[-1]:.1f} +- {std:.1f} nats")
        n_best = int((max(values) - np.array(values) <= max(_ERRORS * np.sqrt(2) * std, _NATS)).sum())
        if n_best > 1:
            break
    pool.left -= budget + weighing
    if n_best == 1 and len(modes) > 1:
        warn(
            f"Only one of {len(modes)} searches found the best mode of the topic assignments; others may be better. "
            "Compare several seeds, or search longer (max_iter).",
            ConvergenceWarning,
        )
    log_weights = log_mode_weights(np.array(values), std)
    best = [modes[c] for c in np.argsort(-log_weights, kind="stable") if log_weights[c] > np.log(NEGLIGIBLE)]
    pool.chains = [pool.unrecorded(chain, best[c % len(best)]) for c, chain in enumerate(pool.chains)]
    return Beginning(log_h, np.array(values), std)


def resolve(pool, found, reserved, seed):
    """Chains that disagree: leave the modes with less evidence, and weigh those that the evidence cannot tell apart.

    Chains in the first continue in the best modes, and the search for the maximum is repeated. The result is weighted
    by the evidence of the modes at its maximum, and its Monte Carlo errors contain their spread. On corpora too large
    for annealing, all modes have the same weight.

    Returns
    -------
    found : Skeleton
    disagree : bool
        Whether chains still disagree.
    """
    for attempt in range(_ATTEMPTS):
        if found.agree or no_topics(pool, found.maximum.log_h):
            return found, False
        weights = _weights(pool, found, reserved, random.child(seed, attempt))
        best = [int(c) for c in np.argsort(-weights, kind="stable") if weights[c] > NEGLIGIBLE]
        if len(best) == len(weights):
            return type(found).of(found.points, found.visits, found.region, weights / weights.sum()), True
        for n, c in enumerate(np.flatnonzero(weights <= NEGLIGIBLE)):
            chain, path = pool.chains[c], pool.chains[c].prior_path
            pool.chains[c] = EMChain(pool.unrecorded(chain, pool.chains[best[n % len(best)]].topics))
            pool.chains[c].prior_path = path
        found = find_maximum(pool, found.maximum.log_h, reserved, pool.settings.tol)
    return found, not found.agree


def _weights(pool, found, reserved, seed):
    """Weights of the modes of the chains at the maximum, 1 for the best."""
    n_chains, K = len(found.visits), pool.priors.n_components
    n_temperatures = min((pool.left - reserved) // (2 * _RUNS), _LONGER * _TEMPERATURES)
    if n_chains < len(pool.chains) or not can_tell_modes_apart(pool.corpus, K, n_temperatures):
        return np.ones(n_chains)
    eta, alpha = found.maximum.h
    priors = Priors.make(alpha, eta, K, pool.corpus.n_features)
    pool.left -= _RUNS * n_temperatures
    evidence = mode_evidence(pool.chains, priors, n_temperatures, _RUNS, seed, pool.n_jobs)
    std = evidence.std / np.sqrt(_RUNS)
    pool.say(f"log evidence of the chains: {', '.join(f'{x:.1f}' for x in evidence.value)}, each +- {std:.1f} nats")
    return np.exp(_averaged(evidence.value, std))


def _averaged(log_evidence, std):
    """Log weights of modes, 0 for the largest: means of their posterior probabilities over errors of the evidence."""
    errors = np.random.default_rng(0).standard_normal((_SIMULATED, len(log_evidence))) * std
    log_weights, _ = log_mean_exp(log_softmax(log_evidence + errors, axis=1))
    return log_weights - log_weights.max()
