"""Before m(h) is estimated: chains near the posterior of (h, z), in the best modes of z that were found, and the box
of h in which to look.

Chains climb until they agree. Where they do not, however long they climb, the posterior of z has modes that chains do
not leave, and each has a maximum of m(h) of its own. Then many starts are screened by guided annealing, the best find
their h, longer annealing says what each mode weighs, and those that weigh nothing are dropped.
"""

from dataclasses import dataclass, replace

import numpy as np

from sklda._inference import random
from sklda._inference.evidence.estimates import Target, estimate
from sklda._inference.held_out.methods import combine
from sklda._inference.hyperparameters.convergence import split_r_hat
from sklda._inference.hyperparameters.marginal_likelihood import (
    Curve,
    conditional_means,
    mixture_denominators,
    region_of,
)
from sklda._inference.hyperparameters.serial_tempering import Grid, TemperedChain
from sklda._inference.parallel import GO_ON, side_by_side
from sklda._inference.priors import CountHistograms, Priors
from sklda._inference.sampling.collapsed import ChainState, GibbsChain
from sklda._inference.sampling.initialisation import start_chains

# The widest box that is searched, for eta and for alpha.
WIDEST = ((1e-5, 1e4), (1e-5, 1e4))
# Points along either axis of the grids of the pilots: over the widest box, then over what was found and this many times
# further at either end. A grid that ends sooner would hold back chains that are on their way, and one whose neighbours
# are far apart against the spread of h given z would slow all.
_COARSE, _FINE, _REACH = 128, 100, 8.0
# Nats below the maximum at which the grid ends: 3.5 standard deviations.
_DROP = 3.5**2 / 2
# Climbing: rounds at most, each as long as all before; chains agree in the last one below this R-hat. That of slow
# chains falls as the root of the length: where it will not get there, it is not tried.
_ROUNDS, _AGREE, _SLACK = 5, 1.3, 2.0
# Tokens drawn by a chain that climbs, at most.
_LONGEST_CLIMB = 1e9
# Starts that are screened for every chain, tokens times starts above which they are fewer, and how many of the best
# for every chain find their h and are weighed, by so many runs of annealing this many times as long.
_SCREENED, _MOST_TOKENS, _WEIGHED, _RUNS, _LONGER = 12, 1.2e6, 2, 2, 2
# Nats by which annealing may fall short, in order of magnitude, where it is still asked.
_WORST = 100
# Evidence counts against a start beyond this many standard errors; starts with less weight than this are dropped.
_ERRORS, DOMINATED = 2.0, 1e-3


@dataclass(frozen=True, eq=False)
class Pilots:
    """Where the chains go on from.

    Attributes
    ----------
    chains : list of GibbsChain
    agree : bool
        Whether the chains went the same ways, or their evidence does not tell them apart.
    mode_of : ndarray of shape (n_chains,)
        The start that each descends from.
    curve : Curve
        A first estimate of m(h) from the starts that were kept.
    region : pair of pairs of float
        Where that is within 3.5 standard deviations of its maximum.
    log_evidence : ndarray of shape (n_starts,)
        log p(w | h) at a common h, of every start that was screened, nats; of the best ones by longer annealing. Empty
        where it was not asked.
    log_evidence_std : float
        Standard deviation of the logarithm of a longer run.
    n_weighed, n_within : int
        Starts that were weighed by longer annealing, and those of them that it does not rule out.
    doubt : ndarray of shape (2, 2)
        Covariance of the starts' own maxima of (log eta, log alpha), if few are within reach; otherwise zero.
    """

    chains: list
    agree: bool
    mode_of: np.ndarray
    curve: Curve
    region: tuple
    log_evidence: np.ndarray
    log_evidence_std: float
    n_weighed: int
    n_within: int
    doubt: np.ndarray

    @property
    def few(self):
        """Whether so few starts are within reach of the best evidence that better modes may have been missed."""
        return not self.agree and len(self.chains) > 1 and 2 * self.n_within <= self.n_weighed


def find_pilots(corpus, priors, within, *, n_chains, n_sweeps, seed, n_jobs=None):
    """Start chains, let them climb, and where they do not agree keep the best of many modes.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        Where h starts; symmetric.
    within : pair of pairs of float
        The box of (eta, alpha) that is searched.
    n_chains : int
    n_sweeps : int
        Of the first round of climbing, and of the shortest runs of guided annealing.
    seed : numpy.random.SeedSequence
    n_jobs : int, default=None

    Returns
    -------
    Pilots
    """
    K = priors.n_components
    scout = GibbsChain.start(corpus, priors, random.child(seed, 0))
    scout = _settle(scout, within, n_sweeps // 2, random.child(seed, 1), GO_ON)
    priors = _symmetric(np.exp(scout.maximum), corpus, K)
    # The longer starts cost hundreds of sweeps each.
    kinds = ["prune", "anneal"] if corpus.n_tokens < _MOST_TOKENS else ["random"]
    chains = _starts(corpus, priors, range(n_chains), kinds, seed, n_jobs)
    tasks = [(chain, within, n_sweeps, random.child(seed, 3, c)) for c, chain in enumerate(chains)]
    found = side_by_side(_settle, tasks, n_jobs)
    found, curve, agree = _climb(found, within, n_sweeps, seed, n_jobs)
    region = region_of(curve, wider(_union(found), within), _DROP)
    evidence, error, weighable = np.empty(0), np.nan, can_be_weighed(corpus, K, n_sweeps)
    if weighable and not agree:
        reference = np.exp(np.median([each.maximum for each in found], axis=0))
        priors = _symmetric(reference, corpus, K)
        chains = [each.chain for each in found]
        evidence, error, _ = mode_evidence(chains, priors, n_sweeps, _RUNS, random.child(seed, 9), n_jobs)
        # Chains that are as good as each other are slow, and not in modes of their own.
        agree = n_chains > 1 and not weigh(evidence, error).any()
    if agree or not weighable:
        chains = [_plain(each.chain, priors, each.chain.topics, seed, c) for c, each in enumerate(found)]
        mode_of, doubt = np.arange(n_chains), np.zeros((2, 2))
        return Pilots(chains, agree, mode_of, curve, region, evidence, error, n_chains, n_chains, doubt)

    most = int(_MOST_TOKENS / max(corpus.n_tokens, 1))
    n_screened = min(max(most, n_chains), _SCREENED * n_chains)
    chains = [each.chain for each in found]
    chains += _starts(corpus, priors, range(n_chains, n_chains + n_screened), kinds, seed, n_jobs)
    screened, _, _ = mode_evidence(chains, priors, n_sweeps, 1, random.child(seed, 4), n_jobs)
    best = np.argsort(-screened, kind="stable")[: _WEIGHED * n_chains]
    grid = _around(_union(found), within, corpus, K)
    tasks = [(chains[c], grid, n_sweeps, random.child(seed, 5, c)) for c in best]
    found = [_Found.of(chain) for chain in side_by_side(_walk, tasks, n_jobs)]

    evidence, error, ends = mode_evidence(
        [each.chain for each in found], priors, _LONGER * n_sweeps, _RUNS, random.child(seed, 6), n_jobs
    )
    # A mode is judged at its own best h, to which its own curve leads from the common one.
    rises = [each.curve.log_ratio(*np.exp(each.maximum)[:, None], reference)[0][0] for each in found]
    log_weights = weigh(evidence + rises, error)
    order = np.argsort(-log_weights, kind="stable")
    within = [c for c in order if log_weights[c] > np.log(DOMINATED)]
    kept = within[:n_chains]
    chosen = [kept[c % len(kept)] for c in range(n_chains)]
    states = {c: [found[c].chain.topics] + ends[c] for c in kept}
    going_on = [
        _plain(found[c].chain, priors, states[c][i // len(kept) % len(states[c])], seed, i)
        for i, c in enumerate(chosen)
    ]
    curves = [found[c].curve for c in kept]
    curve = Curve(
        CountHistograms.stack([each.draws for each in curves]),
        # Each mode's curve is put where its evidence says.
        np.concatenate([each.log_denominators + each.log_values(*reference[:, None]) for each in curves]),
        [each.lengths[0] for each in curves],
        log_weights[kept],
    )
    region = _union([found[c] for c in kept])
    screened[best] = evidence
    doubt = np.cov([each.maximum for each in found], rowvar=False) if len(found) > 1 else np.zeros((2, 2))
    pilots = Pilots(going_on, False, best[chosen], curve, region, screened, error, len(best), len(within), doubt)
    return pilots if pilots.few else replace(pilots, doubt=np.zeros((2, 2)))


@dataclass(frozen=True, eq=False)
class _Found:
    """A chain that has found its h: its curve from the last half of its draws, where that is high and highest."""

    chain: TemperedChain
    curve: Curve
    region: tuple
    maximum: np.ndarray

    @classmethod
    def of(cls, chain):
        seen = chain.observations[len(chain.observations) // 2 :]
        draws = CountHistograms.stack([each.counts for each in seen])
        curve = Curve(draws, mixture_denominators(draws, chain.grid), [len(draws)])
        region = region_of(curve, chain.grid.region, _DROP)
        return cls(chain, curve, region, curve.maximise(region))


def _starts(corpus, priors, numbers, kinds, seed, n_jobs):
    return start_chains(
        corpus, priors, [random.child(seed, 2, c) for c in numbers], [kinds[c % len(kinds)] for c in numbers], n_jobs
    )


def _settle(chain, within, n_sweeps, seed, stop):
    """Let a chain find its h: full Bayes on the widest box, then around what was found."""
    corpus, K, rng = chain.corpus, chain.priors.n_components, np.random.default_rng(seed)
    grid = Grid.over(corpus, K, within, (_COARSE, _COARSE))
    for _ in range(2):
        found = _Found.of(_walk(chain, grid, max(n_sweeps // 2, 4), rng, stop))
        chain, grid = found.chain, _around(found.region, within, corpus, K)
    return found


def _around(region, within, corpus, n_components):
    """A grid over the region and far beyond."""
    low, high = np.log(region).T
    lowest, highest = np.log(within).T
    ends = np.maximum(low - np.log(_REACH), lowest), np.minimum(high + np.log(_REACH), highest)
    return Grid.over(corpus, n_components, np.exp(np.stack(ends, axis=1)), (_FINE, _FINE))


def _walk(chain, grid, n_sweeps, rng, stop):
    """A chain after sweeps on (h, z) over a grid."""
    chain = TemperedChain(chain, grid, np.random.default_rng(rng))
    for _ in range(n_sweeps):
        chain.sweep(stop)
    return chain


def _climb(found, within, n_sweeps, seed, n_jobs):
    """Sweep chains on one grid, then as long again, and again, until they agree or cannot be hoped to.

    Returns
    -------
    found : list of _Found
    curve : Curve
        From the draws of all.
    agree : bool
    """
    corpus, K = found[0].chain.corpus, found[0].chain.priors.n_components
    for climb in range(_ROUNDS):
        grid = _around(_union(found), within, corpus, K)
        more = n_sweeps << max(climb - 1, 0)
        tasks = [(each.chain, grid, more, random.child(seed, 7, climb, c)) for c, each in enumerate(found)]
        chains = side_by_side(_walk, tasks, n_jobs)
        if not climb:
            for chain in chains:
                del chain.observations[: len(chain.observations) // 2]
        observed = [chain.observations for chain in chains]
        draws = CountHistograms.stack([seen.counts for each in observed for seen in each])
        curve = Curve(draws, mixture_denominators(draws, grid), [len(each) for each in observed])
        log_h = conditional_means(draws, grid)[1]
        spread = split_r_hat(np.split(log_h, np.cumsum(curve.lengths)[:-1])).max() ** 2 - 1
        region = region_of(curve, grid.region, _DROP)
        found = [_Found(chain, curve.of_chain(c), region, None) for c, chain in enumerate(chains)]
        if spread < _AGREE**2 - 1:
            return found, curve, True
        too_long = corpus.n_tokens * (n_sweeps << (climb + 1)) > _LONGEST_CLIMB
        if too_long or spread / 2 ** (_ROUNDS - 1 - climb) > _SLACK * (_AGREE**2 - 1):
            break
    return [_Found.of(each.chain) for each in found], curve, False


def _union(found):
    regions = np.array([each.region for each in found])
    low, high = regions[:, :, 0].min(axis=0), regions[:, :, 1].max(axis=0)
    return tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))


def can_be_weighed(corpus, n_components, n_temperatures):
    """Whether guided annealing tells modes apart; it falls short by a few times K (D + V) / temperatures nats."""
    return n_components * (corpus.n_documents + corpus.n_features) < _WORST * n_temperatures


def mode_evidence(chains, priors, n_temperatures, n_runs, seed, n_jobs=None):
    """log p(w | priors) by guided annealing from the modes in which chains stand.

    Returns
    -------
    value : ndarray of shape (n_chains,)
    std : float
        Standard deviation of the logarithm of a single run, pooled over the chains. The error of `value` is smaller,
        but the delta method, which sees little more than the best run, would understate it by far.
    ends : list of list of ndarray
        Topics where the runs ended, of every chain, the heaviest first.
    """
    corpus = chains[0].corpus
    states = [ChainState(chain.topics, random.stream(random.child(seed, 0, c))) for c, chain in enumerate(chains)]
    targets = [Target(priors, states, random.child(seed, 1))]
    options = {"method": "guided_ais", "temperatures": [n_temperatures] * n_runs, "n_inner": 0, "also_prior_ais": False}
    (found,) = estimate(corpus, targets, **options, n_jobs=n_jobs)
    log_weights = found.log_weights
    ends = np.array([end.topics for end in found.ends]).reshape(*log_weights.shape, -1)
    ends = [list(own[np.argsort(-row)]) for own, row in zip(ends, log_weights, strict=True)]
    std = float(np.sqrt(log_weights.var(axis=1, ddof=1).mean())) if n_runs > 1 else np.nan
    return combine(log_weights.T)[0], std, ends


def weigh(log_evidence, error):
    """Log weights of modes: what their evidence falls short of the best by, beyond two standard errors of that."""
    return -np.maximum(log_evidence.max() - log_evidence - _ERRORS * np.sqrt(2) * error, 0.0)


def _plain(chain, priors, topics, seed, c):
    return GibbsChain(chain.corpus, priors, ChainState(topics, random.stream(random.child(seed, 8, c))))


def _symmetric(h, corpus, n_components):
    return Priors.make(float(h[1]), float(h[0]), n_components, corpus.n_features)


def wider(region, within):
    """Half as long again at both ends, on the scale of logarithms, but not beyond `within`."""
    result = []
    for (low, high), (lowest, highest) in zip(region, within, strict=True):
        more = np.sqrt(high / low)
        result.append((max(low / more, lowest), min(high * more, highest)))
    return tuple(result)
