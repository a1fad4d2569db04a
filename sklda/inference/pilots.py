"""Before m(h) is estimated: chains in the best modes of z that were found, and the box of h in which to look.

The posterior of z has modes that chains do not leave, and each has a maximum of m(h) of its own. So several chains
start, each finds its h, guided annealing says what each mode weighs, and those that weigh nothing are dropped.
"""

from dataclasses import dataclass

import numpy as np

from sklda.inference import random
from sklda.inference.chain import ChainState, GibbsChain, side_by_side
from sklda.inference.evidence import Guide, guided_ais
from sklda.inference.held_out import combine
from sklda.inference.marginal_likelihood import Curve, mixture_denominators, region_of
from sklda.inference.priors import CountHistograms, Priors
from sklda.inference.starts import start_chains
from sklda.inference.tempering import Grid, TemperedChain

# The widest box that is searched, for eta and for alpha.
WIDEST = ((1e-5, 1e4), (1e-5, 1e4))
# Points along either axis of the grids of the pilots: over the widest box, then over what was found.
_COARSE, _FINE = 128, 32
# Nats below the maximum at which the grid ends: 3.5 standard deviations.
_DROP = 3.5**2 / 2
# Starts for every chain that goes on, and rounds of them at most; runs of guided annealing for each, and sweeps at the
# common h before them.
_STARTS, _ROUNDS, _RUNS, _SETTLING = 2, 3, 2, 20
_KINDS = ("prune", "anneal")
# Evidence counts against a start beyond this many standard errors; starts with less weight than this are dropped.
_ERRORS, DOMINATED = 2.0, 1e-3


@dataclass(frozen=True, eq=False)
class Pilots:
    """Where the chains go on from.

    Attributes
    ----------
    chains : list of GibbsChain
    mode_of : ndarray of shape (n_chains,)
        The start that each descends from.
    curve : Curve
        A first estimate of m(h) from the starts that were kept.
    region : pair of pairs of float
        Where that is within 3.5 standard deviations of its maximum.
    reference : (float, float)
        The common h of the evidence.
    log_evidence : ndarray of shape (n_starts,)
        log p(w | reference) of every start, nats.
    log_evidence_std : float
        Their standard error.
    log_weights : ndarray of shape (n_starts,)
        What the evidence beyond its errors says of them; -inf where they were dropped.
    """

    chains: list
    mode_of: np.ndarray
    curve: Curve
    region: tuple
    reference: tuple
    log_evidence: np.ndarray
    log_evidence_std: float
    log_weights: np.ndarray


def find_pilots(corpus, priors, within, *, n_chains, n_sweeps, seed, n_jobs=None):
    """Start chains, let each find its h, weigh their modes, keep the best.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        Where h starts; symmetric.
    within : pair of pairs of float
        The box of (eta, alpha) that is searched.
    n_chains : int
    n_sweeps : int
        Of every start on (h, z), and of every run of guided annealing.
    seed : numpy.random.SeedSequence
    n_jobs : int, default=None

    Returns
    -------
    Pilots
    """
    K = priors.n_components
    scout = GibbsChain.start(corpus, priors, random.child(seed, 0))
    _, curve, _ = _settle(scout, within, n_sweeps, random.child(seed, 1), lambda: False)
    priors = _symmetric(np.exp(curve.maximise(within)), corpus, K)

    found, reference, kept = [], None, []
    # A best mode that a single start has reached is no sign of there being no better one.
    while len(kept) < 2 and len(found) < _ROUNDS * _STARTS * n_chains:
        found += _explore(corpus, priors, within, _STARTS * n_chains, len(found), n_sweeps, seed, n_jobs)
        if reference is None:
            reference = tuple(float(x) for x in np.exp(np.median([each.maximum for each in found], axis=0)))
            priors = _symmetric(reference, corpus, K)
        new = [each for each in found if not each.runs]
        tasks = [(each.chain, priors, n_sweeps, _RUNS, random.child(seed, 4, each.number)) for each in new]
        for each, runs in zip(new, side_by_side(_anneal, tasks, n_jobs), strict=True):
            each.runs.extend(runs)
        evidence, error = evidence_of([each.runs for each in found])
        # A mode is judged at its own best h, to which its own curve leads from the common one.
        rises = [each.curve.log_ratio(*np.exp(each.maximum)[:, None], reference)[0][0] for each in found]
        log_weights = weigh(evidence + rises, error)
        order = np.argsort(-log_weights, kind="stable")
        kept = [c for c in order if log_weights[c] > np.log(DOMINATED)][:n_chains]
    log_weights[[c for c in range(len(found)) if c not in kept]] = -np.inf
    modes = np.array([kept[c % len(kept)] for c in range(n_chains)])
    going_on = [
        GibbsChain(corpus, priors, ChainState(_state(found[c], i // len(kept)), _stream(seed, i)))
        for i, c in enumerate(modes)
    ]
    low, high = (np.array([[end[side] for end in found[c].region] for c in kept]) for side in (0, 1))
    region = tuple((float(a), float(b)) for a, b in zip(low.min(axis=0), high.max(axis=0), strict=True))
    curves = [found[c].curve for c in kept]
    curve = Curve(
        CountHistograms.stack([each.draws for each in curves]),
        # Each mode's curve is put where its evidence says.
        np.concatenate([each.log_denominators + each.log_values(*np.array(reference)[:, None]) for each in curves]),
        [each.lengths[0] for each in curves],
        log_weights[kept],
    )
    return Pilots(going_on, modes, curve, region, reference, evidence, error, log_weights)


@dataclass(frozen=True, eq=False)
class _Start:
    """A chain that has found its h: its number, its curve and where that is high, and runs of annealing from it."""

    number: int
    chain: GibbsChain
    curve: Curve
    region: tuple
    maximum: np.ndarray
    runs: list


def _explore(corpus, priors, within, n_starts, first, n_sweeps, seed, n_jobs):
    """Starts with the numbers from `first` on, each after it has found its h."""
    numbers = range(first, first + n_starts)
    kinds = [_KINDS[c % len(_KINDS)] for c in numbers]
    chains = start_chains(corpus, priors, [random.child(seed, 2, c) for c in numbers], kinds, n_jobs)
    tasks = [(chain, within, n_sweeps, random.child(seed, 3, c)) for c, chain in zip(numbers, chains, strict=True)]
    settled = side_by_side(_settle, tasks, n_jobs)
    return [
        _Start(c, chain, curve, region, curve.maximise(region), [])
        for c, (chain, curve, region) in zip(numbers, settled, strict=True)
    ]


def mode_evidence(chains, priors, n_temperatures, n_runs, seed, n_jobs=None):
    """log p(w | priors) by guided annealing from the modes in which chains stand.

    Returns
    -------
    value : ndarray of shape (n_chains,)
    std : float
        Standard deviation of the logarithm of a single run, pooled over the chains. The error of `value` is smaller,
        but the delta method, which sees little more than the best run, would understate it by far.
    """
    tasks = [(chain, priors, n_temperatures, n_runs, random.child(seed, c)) for c, chain in enumerate(chains)]
    return evidence_of(side_by_side(_anneal, tasks, n_jobs))


def evidence_of(runs):
    """The same from a list of runs for each chain."""
    log_weights = np.array([[run.log_weight for run in each] for each in runs]).T
    return combine(log_weights)[0], float(np.sqrt(log_weights.var(axis=0, ddof=1).mean()))


def weigh(log_evidence, error):
    """Log weights of modes: what their evidence falls short of the best by, beyond two standard errors of that."""
    return -np.maximum(log_evidence.max() - log_evidence - _ERRORS * np.sqrt(2) * error, 0.0)


def _state(start, n):
    """Topics to go on from: the chain's own, then the ends of its annealing runs, the heaviest first."""
    ends = sorted(start.runs, key=lambda run: -run.log_weight)
    return ([start.chain.topics] + [run.state.topics for run in ends])[n % (1 + len(ends))]


def _stream(seed, c):
    return random.stream(random.child(seed, 5, c))


def _symmetric(h, corpus, n_components):
    return Priors.make(float(h[1]), float(h[0]), n_components, corpus.n_features)


def _settle(chain, within, n_sweeps, seed, stop):
    """Let a chain find its h: full Bayes on a wide box, then on what was found, twice.

    Returns
    -------
    chain : TemperedChain
    curve : Curve
        From the second half of the last round.
    region : pair of pairs of float
    """
    corpus, K = chain.corpus, chain.priors.n_components
    rng = np.random.default_rng(seed)
    region, n_points = within, _COARSE
    for share in (4, 4, 2):
        grid = Grid.over(corpus, K, region, (n_points, n_points))
        chain = TemperedChain(chain, grid, rng)
        for _ in range(max(n_sweeps // share, 4)):
            chain.sweep(stop)
        seen = chain.observations[len(chain.observations) // 2 :]
        if not seen:
            break
        draws = CountHistograms.stack([each.counts for each in seen])
        curve = Curve(draws, mixture_denominators(draws, grid), [len(draws)])
        region, n_points = region_of(curve, wider(region, within), _DROP), _FINE
    return chain, curve, region


def wider(region, within):
    """Half as long again at both ends, on the scale of logarithms, but not beyond `within`."""
    result = []
    for (low, high), (lowest, highest) in zip(region, within, strict=True):
        more = np.sqrt(high / low)
        result.append((max(low / more, lowest), min(high * more, highest)))
    return tuple(result)


def _anneal(chain, priors, n_temperatures, n_runs, seed, stop):
    """Runs of guided annealing from where a chain stands, at other priors."""
    corpus = chain.corpus
    plain = GibbsChain(corpus, priors, ChainState(chain.topics, random.stream(random.child(seed, 0))))
    for _ in range(_SETTLING):
        plain.sweep(stop)
    guide = Guide.along(plain, stop=stop)
    return [guided_ais(corpus, guide, n_temperatures, random.child(seed, 1, r), stop) for r in range(n_runs)]
