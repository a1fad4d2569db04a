"""The search for modes before m(h) is estimated: chains near the posterior of (h, z), in the best modes of z.

The burn-in ends when chains agree. If they never do, the posterior of z has modes that chains do not leave, and each
mode has its own maximum of m(h). Then the evidence of many initialisations is estimated by guided annealing, and chains
from the best of them find their own h. Longer annealing gives the weight of each mode. Modes of negligible weight are
dropped.
"""

from dataclasses import dataclass, field

import numpy as np

from sklda._inference import random
from sklda._inference.count_histograms import CountHistograms
from sklda._inference.hyperparameters.burn_in import SettledChain, burn_in, grid_around, settle, sweep_on_grid, union
from sklda._inference.hyperparameters.marginal_likelihood import Curve
from sklda._inference.modes.mode_evidence import (
    NEGLIGIBLE,
    can_tell_modes_apart,
    log_mode_weights,
    mode_evidence,
)
from sklda._inference.parallel import in_parallel
from sklda._inference.priors import Priors
from sklda._inference.sampling.collapsed import ChainState, GibbsChain
from sklda._inference.sampling.initialisation import initialise_chains

# Initialisations that are screened for every chain. Their number is smaller if tokens times initialisations exceed the
# second number; if the tokens alone exceed it, all are random, because other kinds cost hundreds of sweeps each.
_SCREENED, _MOST_TOKENS = 12, 1.2e6
# The best initialisations, so many for every chain, find their h; then each is weighed by so many runs of annealing
# with this many times the temperatures.
_WEIGHED, _RUNS, _LONGER = 2, 2, 2


@dataclass(frozen=True, eq=False)
class ModeSearch:
    """The result of the search.

    Attributes
    ----------
    chains : list of GibbsChain
    agree : bool
        Whether the chains have the same distribution, or modes of the same evidence.
    curve : Curve
        A first estimate of m(h), from the chains that were kept.
    region : pair of (float, float)
        h within 3.5 standard deviations of the maximum of `curve`.
    log_evidence : ndarray of shape (n_initialisations,)
        log p(w | h) at a common h, of every initialisation that was screened, in nats; by longer annealing for the best
        of them. Empty if the chains agree at once, or if the corpus is too large for annealing.
    log_evidence_std : float
        Standard deviation of the logarithm of a longer run.
    n_weighed, n_plausible : int
        Initialisations that were weighed by longer annealing, and those of them whose weight is not negligible.
    modes_covariance : ndarray of shape (2, 2)
        Covariance of (log eta, log alpha) over the maxima of the weighed modes, if few are plausible; otherwise zero.
    """

    chains: list
    agree: bool
    curve: Curve
    region: tuple
    log_evidence: np.ndarray = field(default_factory=lambda: np.empty(0))
    log_evidence_std: float = np.nan
    n_weighed: int = 0
    n_plausible: int = 0
    modes_covariance: np.ndarray = field(default_factory=lambda: np.zeros((2, 2)))

    @property
    def few_plausible(self):
        """Whether so few initialisations have about the best evidence that better modes may have been missed."""
        return _few_plausible(self.agree, len(self.chains), self.n_plausible, self.n_weighed)


def _few_plausible(agree, n_chains, n_plausible, n_weighed):
    return not agree and n_chains > 1 and 2 * n_plausible <= n_weighed


def search_modes(pool, seed):
    """Initialise chains and burn them in. If they do not agree, keep the best of many modes.

    Parameters
    ----------
    pool : ChainPool
        It has the corpus, the first h, the box that is searched, and `n_tuning`: the sweeps of the first round of the
        burn-in and the temperatures of the shortest annealing runs. Its chains are not used.
    seed : numpy.random.SeedSequence

    Returns
    -------
    ModeSearch
    """
    corpus, within, n_sweeps = pool.corpus, pool.settings.region, pool.settings.n_tuning
    K, n_chains = pool.priors.n_components, pool.n_chains
    scout = GibbsChain.initialise_randomly(corpus, pool.priors, random.child(seed, 0))
    priors = _symmetric(settle(scout, within, n_sweeps // 2, random.child(seed, 1)).log_h, corpus, K)
    chains = _initialise(pool, priors, range(n_chains), seed)
    tasks = [(chain, within, n_sweeps, random.child(seed, 3, c)) for c, chain in enumerate(chains)]
    found = burn_in(in_parallel(settle, tasks, pool.n_jobs), within, n_sweeps, seed, pool.n_jobs)
    chains, agree = [each.chain for each in found.settled], found.agree
    evidence = {"n_weighed": n_chains, "n_plausible": n_chains}
    weighable = can_tell_modes_apart(corpus, K, n_sweeps)
    if weighable and not agree:
        log_reference = np.median([each.log_h for each in found.settled], axis=0)
        priors = _symmetric(log_reference, corpus, K)
        weighed = mode_evidence(chains, priors, n_sweeps, _RUNS, random.child(seed, 9), pool.n_jobs)
        evidence |= {"log_evidence": weighed.value, "log_evidence_std": weighed.std}
        # Chains of equal evidence are slow, not in different modes.
        agree = n_chains > 1 and not log_mode_weights(weighed.value, weighed.std).any()
        if not agree:
            return _best_modes(pool, found, priors, log_reference, seed)
    chains = [_restart(chain, priors, chain.topics, seed, c) for c, chain in enumerate(chains)]
    return ModeSearch(chains, agree, found.curve, found.region, **evidence)


def _best_modes(pool, found, priors, log_reference, seed):
    """Screen many initialisations by their evidence at the reference, and keep the modes of enough weight."""
    corpus, K = pool.corpus, pool.priors.n_components
    n_sweeps, n_chains = pool.settings.n_tuning, pool.n_chains
    most = int(_MOST_TOKENS / max(corpus.n_tokens, 1))
    n_screened = min(max(most, n_chains), _SCREENED * n_chains)
    chains = [each.chain for each in found.settled]
    chains += _initialise(pool, priors, range(n_chains, n_chains + n_screened), seed)
    log_evidence = mode_evidence(chains, priors, n_sweeps, 1, random.child(seed, 4), pool.n_jobs).value
    best = np.argsort(-log_evidence, kind="stable")[: _WEIGHED * n_chains]
    grid = grid_around(union(found.settled), pool.settings.region, corpus, K)
    tasks = [(chains[c], grid, n_sweeps, random.child(seed, 5, c)) for c in best]
    settled = [SettledChain.of(chain) for chain in in_parallel(sweep_on_grid, tasks, pool.n_jobs)]
    chains = [each.chain for each in settled]
    weighed = mode_evidence(chains, priors, _LONGER * n_sweeps, _RUNS, random.child(seed, 6), pool.n_jobs)
    log_evidence[best] = weighed.value
    # The weight of a mode is its evidence at its own best h. Its curve gives the difference from the common h.
    reference = np.exp(log_reference)
    rises = [each.curve.log_ratio(*np.exp(each.log_h)[:, None], reference)[0][0] for each in settled]
    log_weights = log_mode_weights(weighed.value + rises, weighed.std)
    order = np.argsort(-log_weights, kind="stable")
    plausible = [c for c in order if log_weights[c] > np.log(NEGLIGIBLE)]
    kept = plausible[:n_chains]
    few = _few_plausible(False, n_chains, len(plausible), len(best))
    apart = np.cov([each.log_h for each in settled], rowvar=False) if few and len(settled) > 1 else np.zeros((2, 2))
    return ModeSearch(
        _restart_in_modes(settled, weighed, kept, n_chains, priors, seed),
        False,
        _weighted_curve([settled[c].curve for c in kept], reference, log_weights[kept]),
        union([settled[c] for c in kept]),
        log_evidence,
        weighed.std,
        len(best),
        len(plausible),
        apart,
    )


def _weighted_curve(curves, reference, log_weights):
    """The sum of curves, each scaled to the weight of its mode at the reference."""
    return Curve(
        CountHistograms.stack([each.draws for each in curves]),
        np.concatenate([each.log_denominators + each.log_values(*reference[:, None]) for each in curves]),
        [each.lengths[0] for each in curves],
        log_weights,
    )


def _restart_in_modes(settled, weighed, kept, n_chains, priors, seed):
    """Chains from the kept modes in turn: first from the chain of each mode, then from the ends of its runs."""
    topics = {c: [settled[c].chain.topics, *weighed.ends[c]] for c in kept}
    chains = []
    for i in range(n_chains):
        c = kept[i % len(kept)]
        chains.append(_restart(settled[c].chain, priors, topics[c][i // len(kept) % len(topics[c])], seed, i))
    return chains


def _initialise(pool, priors, numbers, seed):
    """Pruned and annealed chains, which lead to good modes; if the corpus is large, random ones."""
    kinds = ["prune", "anneal"] if pool.corpus.n_tokens < _MOST_TOKENS else ["random"]
    seeds = [random.child(seed, 2, c) for c in numbers]
    return initialise_chains(pool.corpus, priors, seeds, [kinds[c % len(kinds)] for c in numbers], pool.n_jobs)


def _restart(chain, priors, topics, seed, c):
    return GibbsChain(chain.corpus, priors, ChainState(topics, random.stream(random.child(seed, 8, c))))


def _symmetric(log_h, corpus, n_components):
    eta, alpha = (float(x) for x in np.exp(log_h))
    return Priors.make(alpha, eta, n_components, corpus.n_features)
