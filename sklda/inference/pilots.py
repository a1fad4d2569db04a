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
# Starts for every chain that goes on, runs of guided annealing for each, and sweeps at the common h before them.
_STARTS, _RUNS, _SETTLING = 2, 2, 20
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

    n_starts = _STARTS * n_chains
    kinds = [_KINDS[c % len(_KINDS)] for c in range(n_starts)]
    starts = start_chains(corpus, priors, [random.child(seed, 2, c) for c in range(n_starts)], kinds, n_jobs)
    settled = side_by_side(
        _settle, [(chain, within, n_sweeps, random.child(seed, 3, c)) for c, chain in enumerate(starts)], n_jobs
    )
    chains, curves, regions = zip(*settled, strict=True)

    maxima = np.array([curve.maximise(region) for curve, region in zip(curves, regions, strict=True)])
    reference = tuple(float(x) for x in np.exp(np.median(maxima, axis=0)))
    priors = _symmetric(reference, corpus, K)
    evidence, error, runs = mode_evidence(chains, priors, n_sweeps, _RUNS, random.child(seed, 4), n_jobs)
    # A mode is judged at its own best h, to which its own curve leads from the common one.
    rises = [c.log_ratio(*np.exp(h)[:, None], reference)[0][0] for c, h in zip(curves, maxima, strict=True)]
    log_weights = weigh(evidence + rises, error)

    order = np.argsort(-log_weights, kind="stable")
    kept = [c for c in order if log_weights[c] > np.log(DOMINATED)][:n_chains]
    log_weights[[c for c in range(n_starts) if c not in kept]] = -np.inf
    modes = np.array([kept[c % len(kept)] for c in range(n_chains)])
    going_on = [
        GibbsChain(corpus, priors, ChainState(_state(chains[c], runs[c], i // len(kept)), _stream(seed, i)))
        for i, c in enumerate(modes)
    ]
    low, high = (np.array([[end[side] for end in regions[c]] for c in kept]) for side in (0, 1))
    region = tuple((float(a), float(b)) for a, b in zip(low.min(axis=0), high.max(axis=0), strict=True))
    curve = Curve(
        CountHistograms.stack([curves[c].draws for c in kept]),
        # Each mode's curve is put where its evidence says.
        np.concatenate(
            [curves[c].log_denominators + curves[c].log_values(*np.array(reference)[:, None]) for c in kept]
        ),
        [curves[c].lengths[0] for c in kept],
        log_weights[kept],
    )
    return Pilots(going_on, modes, curve, region, reference, evidence, error, log_weights)


def mode_evidence(chains, priors, n_temperatures, n_runs, seed, n_jobs=None):
    """log p(w | priors) by guided annealing from the modes in which chains stand.

    Returns
    -------
    value : ndarray of shape (n_chains,)
    std : float
        Standard deviation of the logarithm of a single run, pooled over the chains. The error of `value` is smaller,
        but the delta method, which sees little more than the best run, would understate it by far.
    runs : list of list of Run
    """
    tasks = [(chain, priors, n_temperatures, n_runs, random.child(seed, c)) for c, chain in enumerate(chains)]
    runs = side_by_side(_anneal, tasks, n_jobs)
    log_weights = np.array([[run.log_weight for run in each] for each in runs]).T
    return combine(log_weights)[0], float(np.sqrt(log_weights.var(axis=0, ddof=1).mean())), runs


def weigh(log_evidence, error):
    """Log weights of modes: what their evidence falls short of the best by, beyond two standard errors of that."""
    return -np.maximum(log_evidence.max() - log_evidence - _ERRORS * np.sqrt(2) * error, 0.0)


def _state(chain, runs, n):
    """Topics to go on from: the chain's own, then the ends of its annealing runs, the heaviest first."""
    ends = sorted(runs, key=lambda run: -run.log_weight)
    return ([chain.topics] + [run.state.topics for run in ends])[n % (1 + len(ends))]


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
