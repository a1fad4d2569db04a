"""Burn-in of chains on (h, z), from any initialisation, until they agree."""

from dataclasses import dataclass

import numpy as np

from sklda._inference import random
from sklda._inference.count_histograms import CountHistograms
from sklda._inference.hyperparameters.convergence import split_r_hat
from sklda._inference.hyperparameters.marginal_likelihood import (
    Curve,
    conditional_means,
    mixture_denominators,
    region_of,
)
from sklda._inference.hyperparameters.serial_tempering import Grid, TemperedChain
from sklda._inference.hyperparameters.settings import FINE_ENOUGH, wider
from sklda._inference.parallel import NEVER_STOP, in_parallel

# Points along either axis: of the grid over the whole box, and of the grid around the region found, which is wider than
# the region by this factor at either end. On a narrower grid, chains that still move would stop at its ends. On a
# coarser grid, whose steps are large relative to the standard deviation of log h given z, all chains would be slow.
_COARSE, _FINE, _REACH = 128, 100, 8.0
# Nats below the maximum at which the region ends: 3.5 standard deviations.
_DROP = 3.5**2 / 2
# Each round is as long as all before it. Chains agree if their R-hat in the last round is below this.
_AGREE = 1.3
# R-hat^2 - 1 of slow chains is inversely proportional to their length. Further rounds are made only if this predicts a
# last value below this many times the limit.
_SLACK = 2.0
# Largest number of tokens that a chain draws in these rounds: about a second.
_MOST_DRAWS = 2e7


@dataclass(frozen=True, eq=False)
class SettledChain:
    """A chain that has found its h.

    Attributes
    ----------
    chain : TemperedChain
    curve : Curve
        m(h) from its draws.
    region : pair of (float, float)
        h within 3.5 standard deviations of the maximum of `curve`.
    log_h : ndarray of shape (2,) or None
        The maximum of `curve`.
    """

    chain: TemperedChain
    curve: Curve
    region: tuple
    log_h: np.ndarray | None

    @classmethod
    def of(cls, chain):
        """From the last half of a chain's draws."""
        draws = chain.observations[chain.n_observations // 2 :].counts
        curve = Curve(draws, mixture_denominators(draws, chain.grid), [len(draws)])
        region = region_of(curve, chain.grid.region, _DROP)
        return cls(chain, curve, region, curve.maximise(region))


@dataclass(frozen=True, eq=False)
class BurnIn:
    """Chains after their burn-in.

    Attributes
    ----------
    settled : list of SettledChain
    curve : Curve
        m(h) from the draws of all chains in the last round.
    region : pair of (float, float)
        h within 3.5 standard deviations of the maximum of `curve`.
    agree : bool
        Whether the chains have the same distribution, by R-hat.
    """

    settled: list
    curve: Curve
    region: tuple
    agree: bool


def settle(chain, within, n_sweeps, seed, stop=NEVER_STOP):
    """Let a chain find its h: full Bayes on the whole box, then on a grid around the region found.

    Parameters
    ----------
    chain : GibbsChain
    within : pair of (float, float)
        The box.
    n_sweeps : int
        Half of them on each of the two grids.
    seed : numpy.random.SeedSequence
    stop : callable, optional

    Returns
    -------
    SettledChain
    """
    corpus, K, rng = chain.corpus, chain.priors.n_components, np.random.default_rng(seed)
    grid = Grid.over(corpus, K, within, (_COARSE, _COARSE))
    for _ in range(2):
        settled = SettledChain.of(sweep_on_grid(chain, grid, max(n_sweeps // 2, 4), rng, stop))
        chain, grid = settled.chain, grid_around(settled.region, within, corpus, K)
    return settled


def grid_around(region, within, corpus, n_components):
    """A fine grid over a region that is a factor of eight wider at either end, but not beyond `within`."""
    low, high = np.log(region).T
    lowest, highest = np.log(within).T
    ends = np.maximum(low - np.log(_REACH), lowest), np.minimum(high + np.log(_REACH), highest)
    return Grid.over(corpus, n_components, np.exp(np.stack(ends, axis=1)), (_FINE, _FINE))


def sweep_on_grid(chain, grid, n_sweeps, rng, stop=NEVER_STOP):
    """A chain after sweeps on (h, z) over a grid."""
    chain = TemperedChain(chain, grid, np.random.default_rng(rng))
    chain.sweeps(n_sweeps, stop)
    return chain


def burn_in(settled, within, n_sweeps, seed, n_jobs=None, n_rounds=2):
    """Sweep chains on one grid, and double their length until they agree or are too slow to agree.

    Parameters
    ----------
    settled : list of SettledChain
    within : pair of (float, float)
    n_sweeps : int
        Sweeps of the first round.
    seed : numpy.random.SeedSequence
    n_jobs : int, default=None
    n_rounds : int, default=2
        The largest number of rounds.

    Returns
    -------
    BurnIn
    """
    corpus = settled[0].chain.corpus
    for number in range(n_rounds):
        settled, curve, excess = _round(settled, within, n_sweeps, number, seed, n_jobs)
        agree = excess < _AGREE**2 - 1
        too_long = corpus.n_tokens * (n_sweeps << (number + 1)) > _MOST_DRAWS
        if agree or too_long or excess / 2 ** (n_rounds - 1 - number) > _SLACK * (_AGREE**2 - 1):
            break
    if not agree:
        settled = [SettledChain.of(each.chain) for each in settled]
    region = region_of(curve, wider(union(settled), within), _DROP)
    return BurnIn(settled, curve, region, bool(agree))


def _round(settled, within, n_sweeps, number, seed, n_jobs):
    """One round; the chains, the curve from the draws of all, and R-hat^2 - 1."""
    corpus, K = settled[0].chain.corpus, settled[0].chain.priors.n_components
    grid = grid_around(union(settled), within, corpus, K)
    length = n_sweeps << max(number - 1, 0)
    tasks = [(each.chain, grid, length, random.child(seed, 7, number, c)) for c, each in enumerate(settled)]
    chains = in_parallel(sweep_on_grid, tasks, n_jobs)
    if number == 0:
        for chain in chains:
            chain.keep(slice(chain.n_observations // 2, None))
    observed = [chain.observations for chain in chains]
    draws = CountHistograms.stack([each.counts for each in observed])
    curve = Curve(draws, mixture_denominators(draws, grid), [len(each) for each in observed])
    series = np.split(conditional_means(draws, grid)[1], np.cumsum(curve.lengths)[:-1])
    # On large corpora chains can differ by many of their tiny standard deviations, and yet by less than matters. Their
    # halves are compared, because chains may also move together.
    halves = [half for each in series for half in np.array_split(each, 2) if len(half)]
    apart = np.ptp([half.mean(axis=0) for half in halves], axis=0).max()
    excess = split_r_hat(series).max() ** 2 - 1 if len(series) == 1 or apart > FINE_ENOUGH else 0.0
    region = region_of(curve, grid.region, _DROP)
    return [SettledChain(chain, curve.of_chain(c), region, None) for c, chain in enumerate(chains)], curve, excess


def union(settled):
    """The smallest box that contains the regions of several chains."""
    regions = np.array([each.region for each in settled])
    low, high = regions[:, :, 0].min(axis=0), regions[:, :, 1].max(axis=0)
    return tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))
