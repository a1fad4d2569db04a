"""h = (eta, alpha) by maximum marginal likelihood: what is run, and what the draws say."""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import chi2

from sklda.inference import random
from sklda.inference.chain import GibbsChain, run_chains, side_by_side
from sklda.inference.convergence import UNVISITED, effective_draws, split_r_hat, warn
from sklda.inference.expectation import EMChain, variational_em
from sklda.inference.marginal_likelihood import (
    Curve,
    component_denominators,
    conditional_means,
    mixture_denominators,
    n_batches,
)
from sklda.inference.maximum import Maximum, maximum_of, refine
from sklda.inference.pilots import DOMINATED, find_pilots, mode_evidence, weigh, wider
from sklda.inference.priors import CountHistograms, Priors
from sklda.inference.subsampling import find_region
from sklda.inference.tempering import DirichletDraws, Grid, TemperedChain

METHODS, EM_METHODS = ("serial_tempering", "full_bayes"), ("gibbs_em", "variational_em")

# Gibbs-EM: draws behind an M-step, and sweeps before them.
_DRAWS, _BURN_IN = 20, 5
# Chains disagree when their scores at the common maximum are as far apart as chance makes them once in a hundred.
_DISAGREE = 0.01
# Then their modes are weighed with this many times the temperatures, and this many runs.
_LONGER, _MORE_RUNS = 4, 3
# Restarts of zeta, as in the paper: at most so many, or until the rarest point gets half its due.
_RESTARTS, _EVEN = 4, 0.5


@dataclass(frozen=True)
class Options:
    """How serial tempering is done; the last value but for `estimator` is the paper's (George & Doss 2018).

    Attributes
    ----------
    ratio : {"collapsed", "augmented"}
        Ratios of p(w, z | h), or of nu_h(theta, beta, z) with theta and beta drawn after every sweep (equation 2.2).
    index : {"full_conditional", "neighbours"}
        How the grid point moves: from its full conditional, or by Metropolis-Hastings among neighbours (equation 2.8).
    tuning : {"stochastic_approximation", "restarts"}
        How zeta is found: adapted sweep by sweep, then frozen; or by runs from zeta = 1 (equation 2.16).
    grid : {"pilot", "subsampling"}
        Where the grid lies: around where short chains on (h, z) went, or by the iterative scheme of section 2.3 on a
        growing part of the documents.
    estimator : {"mixture", "component", "simple"}
        Equation 2.10, equation 2.17, or equation 2.1 from chains at one h. The weights of the last two have no
        variance at h far from the draw's own, so that over a wide grid their errors are understated.
    """

    ratio: str = "collapsed"
    index: str = "full_conditional"
    tuning: str = "stochastic_approximation"
    grid: str = "pilot"
    estimator: str = "mixture"

    ALLOWED = {
        "ratio": ("collapsed", "augmented"),
        "index": ("full_conditional", "neighbours"),
        "tuning": ("stochastic_approximation", "restarts"),
        "grid": ("pilot", "subsampling"),
        "estimator": ("mixture", "component", "simple"),
    }

    @classmethod
    def make(cls, given):
        """From None (the defaults), ``"paper"`` or a dict of some of the attributes."""
        if given is None:
            return cls()
        if isinstance(given, str) and given == "paper":
            return cls("augmented", "neighbours", "restarts", "subsampling", "mixture")
        if not isinstance(given, dict):
            raise TypeError(f"tempering must be None, 'paper' or a dict, got {given!r}.")
        for name, value in given.items():
            if name not in cls.ALLOWED:
                raise ValueError(f"tempering has no option {name!r}; its options are {sorted(cls.ALLOWED)}.")
            if value not in cls.ALLOWED[name]:
                raise ValueError(f"tempering[{name!r}] must be one of {cls.ALLOWED[name]}, got {value!r}.")
        return cls(**given)


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be run.

    Attributes
    ----------
    corpus : Corpus
    priors : Priors
        Where h starts; symmetric.
    region : pair of pairs of float
        The box of (eta, alpha) that is searched.
    placed : bool
        Whether the grid is that box, and not to be placed within it.
    options : Options
    functionals : tuple of callable
        Of (doc_topic, topic_word).
    n_tuning : int
        Sweeps of every chain to find the grid, to tune, and at the maximum.
    max_iter : int
        Sweeps of every chain that estimate m(h).
    grid_shape : (int, int)
    n_chains : int
    seed : numpy.random.SeedSequence
    n_jobs : int or None
    listener : object or None
        As in `run_chains`; hears of all sweeps after the grid is placed.
    """

    corpus: object
    priors: Priors
    region: tuple
    placed: bool
    options: Options
    functionals: tuple
    n_tuning: int
    max_iter: int
    grid_shape: tuple
    n_chains: int
    seed: np.random.SeedSequence
    n_jobs: int | None
    listener: object | None
    ended: set = field(default_factory=set)

    def sweep(self, chains, n_sweeps):
        """The chains after `n_sweeps` more sweeps; those that the listener has ended stay as they are."""
        live = [c for c in range(len(chains)) if c not in self.ended]
        listener = None if self.listener is None else _Some(self.listener, live, self.ended)
        swept = run_chains([chains[c] for c in live], n_sweeps, n_jobs=self.n_jobs, listener=listener)
        result = list(chains)
        for c, chain in zip(live, swept, strict=True):
            result[c] = chain
        return result

    def grid(self, region):
        if self.options.estimator == "simple":
            middle = np.sqrt([low * high for low, high in region])
            return Grid(self.corpus, self.priors.n_components, *middle[:, None])
        return Grid.over(self.corpus, self.priors.n_components, region, self.grid_shape)

    def tempered(self, chains, grid, stage, gain=None):
        """The chains on (h, z), with nothing observed yet."""
        return [
            TemperedChain(
                chain,
                grid,
                np.random.default_rng(random.child(self.seed, 1, stage, c)),
                index=self.options.index,
                augmented=self.options.ratio == "augmented",
                functionals=self.functionals,
                gain=gain,
            )
            for c, chain in enumerate(chains)
        ]


def most_sweeps(method, options, n_tuning, max_iter):
    """The sweeps of a chain that a listener hears of, at most."""
    restarts = n_tuning * (_RESTARTS - 1) if options.tuning == "restarts" else 0
    return {
        "serial_tempering": 2 * n_tuning + restarts + max_iter,
        "full_bayes": 2 * n_tuning + max_iter,
        "auto": 5 * n_tuning + restarts + max(max_iter - n_tuning, 0),
        "gibbs_em": n_tuning + max_iter,
        "variational_em": 2 * n_tuning,
    }[method]


class _Some:
    """A listener to some of the chains, who remembers which have ended."""

    def __init__(self, listener, live, ended):
        self.listener, self.live, self.ended = listener, live, ended

    def before(self, index):
        self.listener.before(self.live[index])

    def after(self, index, chain):
        if self.listener.after(self.live[index], chain):
            self.ended.add(self.live[index])
            return True
        return False


@dataclass(frozen=True, eq=False)
class Estimate:
    """What was found.

    Attributes
    ----------
    method : str
    chains : list of TemperedChain
        After their last sweeps, which were made at the maximum.
    log_shares : ndarray of shape (n_chains,)
        What the evidence says of the chains' modes where they differ; otherwise zeros.
    curve : Curve
        m(h).
    maximum : Maximum
    grid : Grid
    region : pair of pairs of float
        Where the maximum was looked for.
    occupancy : ndarray of shape (n_etas, n_alphas)
        Shares of the draws that the grid points have, by their full conditionals.
    acceptance : float
        Share of the sweeps that changed the grid point.
    r_hat, ess : ndarray of shape (2,)
        Split R-hat and effective number of draws, of E(log eta | z) and E(log alpha | z).
    disagree : bool
        Whether chains differ by more than their errors.
    log_evidence, log_evidence_std : ndarray, float
        Of the starts.
    functional_curve : Curve or None
        Weights of the draws of (theta, beta).
    functional_values : ndarray of shape (n_draws, n_functionals)
    """

    method: str
    chains: list
    log_shares: np.ndarray
    curve: Curve
    maximum: Maximum
    grid: Grid
    region: tuple
    occupancy: np.ndarray
    acceptance: float
    r_hat: np.ndarray
    ess: np.ndarray
    disagree: bool
    log_evidence: np.ndarray
    log_evidence_std: float
    functional_curve: Curve | None
    functional_values: np.ndarray

    def log_ratio(self, eta, alpha):
        """log m(h) less its value at the maximum, and the standard error: batch means, and the chains' spread."""
        value, std = self.curve.log_ratio(eta, alpha, self.maximum.h)
        if self.disagree:
            shares = np.exp(self.log_shares) / np.exp(self.log_shares).sum()
            own = [self.curve.of_chain(c).log_ratio(eta, alpha, self.maximum.h)[0] for c in np.flatnonzero(shares)]
            away, shares = np.array(own) - value, shares[shares > 0]
            if len(own) > 1:
                std = np.sqrt(std**2 + shares @ away**2 / (1 - (shares**2).sum()))
        return value, std


def estimate(plan, method):
    """Estimate m(h) and its maximum.

    Parameters
    ----------
    plan : Plan
    method : {"serial_tempering", "full_bayes", "auto"}

    Returns
    -------
    Estimate

    Warns
    -----
    ConvergenceWarning
        If the maximum lies at an edge, chains disagree, or a part of the grid was not visited.
    """
    chains, region, curve, pilots = _place(plan)
    if method == "auto":
        full, tuned = _full_bayes(plan, chains, region), _serial_tempering(plan, chains, region, curve)
        full, tuned = ([plan.sweep(each, plan.n_tuning), each[0].grid] for each in (full, tuned))
        method, (chains, grid) = (("full_bayes", full), ("serial_tempering", tuned))[
            _smaller_error(plan, full, tuned, region)
        ]
        chains = plan.sweep(chains, max(plan.max_iter - plan.n_tuning, 0))
    else:
        if method == "full_bayes":
            chains = _full_bayes(plan, chains, region)
        else:
            chains = _serial_tempering(plan, chains, region, curve)
        grid = chains[0].grid
        chains = plan.sweep(chains, plan.max_iter)
    return _conclude(plan, method, chains, grid, pilots)


def expectation_maximisation(plan, method, per_topic):
    """The priors by EM from random starts, as the paper compares them.

    Parameters
    ----------
    plan : Plan
    method : {"gibbs_em", "variational_em"}
    per_topic : bool
        Whether every topic has an alpha of its own; Gibbs-EM alone.

    Returns
    -------
    list of GibbsChain
        At the priors found, after `n_tuning` sweeps there.
    """
    chains = [GibbsChain.start(plan.corpus, plan.priors, random.child(plan.seed, 3, c)) for c in range(plan.n_chains)]
    if method == "gibbs_em":
        n_draws = max(min(_DRAWS, plan.max_iter - _BURN_IN), 1)
        options = {"n_draws": n_draws, "n_burn_in": _BURN_IN, "per_topic": per_topic}
        chains = plan.sweep([EMChain(chain, plan.region, **options) for chain in chains], plan.max_iter)
        found = [chain.log_h() for chain in chains]
        # Topics have no order, so each chain keeps the alphas of its own topics.
        found = found if per_topic else [np.mean(found, axis=0)] * len(found)
    else:
        chains = plan.sweep(chains, plan.n_tuning)
        tasks = [(chain, plan.region, plan.max_iter) for chain in chains]
        fits = side_by_side(_ascend, tasks, plan.n_jobs)
        found = [max(fits, key=lambda fit: fit.bound[-1]).log_h()] * len(chains)
    K, V = plan.priors.n_components, plan.corpus.n_features
    for c, log_h in enumerate(found):
        h = np.exp(log_h)
        priors = Priors.make(h[1:] if per_topic else float(h[1]), float(h[0]), K, V)
        chains[c] = GibbsChain(plan.corpus, priors, chains[c].snapshot())
    return plan.sweep(chains, plan.n_tuning)


def _ascend(chain, region, n_iter, stop):
    return variational_em(chain, region, n_iter=n_iter, stop=stop)


def _place(plan):
    """Chains to go on with, the region of the grid, a first curve, and what is known of the starts."""
    seed = random.child(plan.seed, 0)
    if plan.options.grid == "subsampling" and not plan.placed:
        region = find_region(plan, seed, _paper_peak)
        chains = [GibbsChain.start(plan.corpus, plan.priors, random.child(seed, c)) for c in range(plan.n_chains)]
        return chains, region, None, None
    pilots = find_pilots(
        plan.corpus,
        plan.priors,
        plan.region,
        n_chains=plan.n_chains,
        n_sweeps=plan.n_tuning,
        seed=seed,
        n_jobs=plan.n_jobs,
    )
    return pilots.chains, plan.region if plan.placed else pilots.region, pilots.curve, pilots


def _paper_peak(plan, chain, region, search):
    """log h at the maximum by a short serial tempering run of one chain."""
    chains = plan.sweep(_serial_tempering(plan, [chain], region, None), plan.n_tuning)
    return build_curve(chains, chains[0].grid, plan.options).maximise(search)


def _full_bayes(plan, chains, region):
    """Chains with zeta = 1, near the posterior of (h, z)."""
    chains = plan.sweep(plan.tempered(chains, plan.grid(region), 0), plan.n_tuning)
    return plan.tempered(chains, chains[0].grid, 1)


def _serial_tempering(plan, chains, region, curve):
    """Chains with zeta near m(h), frozen."""
    grid = plan.grid(region)
    if plan.options.tuning == "restarts":
        for attempt in range(_RESTARTS):
            chains = plan.sweep(plan.tempered(chains, grid, 2 + attempt), plan.n_tuning)
            log_values = build_curve(chains, grid, plan.options).log_values(*grid.points.T)
            visits = visited(chains, grid)
            grid = grid.with_log_zeta(log_values.reshape(grid.shape))
            if visits.min() * visits.size >= _EVEN:
                break
    else:
        if curve is not None:
            grid = grid.with_log_zeta(curve.log_values(*grid.points.T).reshape(grid.shape))
        chains = plan.sweep(plan.tempered(chains, grid, 2, gain=float(grid.log_zeta.size)), plan.n_tuning)
        adapted = np.mean([chain.log_zeta - chain.log_zeta.mean() for chain in chains], axis=0)
        grid = grid.with_log_zeta(adapted)
    return plan.tempered(chains, grid, 2 + _RESTARTS)


def visited(chains, grid):
    """Shares of the sweeps at the grid points."""
    counts = np.zeros(grid.shape)
    np.add.at(counts, tuple(np.array([seen.at for chain in chains for seen in chain.observations]).T), 1)
    return counts / counts.sum()


def build_curve(chains, grid, options):
    """The estimate of m(h) from what the chains observed."""
    observed = [chain.observations for chain in chains if chain.observations]
    draws = _draws(observed, options.ratio == "augmented")
    if options.estimator == "component":
        denominators = component_denominators(draws, grid, [seen.at for each in observed for seen in each])
    else:
        denominators = mixture_denominators(draws, grid)
    return Curve(draws, denominators, [len(each) for each in observed])


def _draws(observed, augmented):
    if augmented:
        return DirichletDraws.stack([seen.parameters for each in observed for seen in each])
    return CountHistograms.stack([seen.counts for each in observed for seen in each])


def _smaller_error(plan, full, tuned, region):
    """1 where serial tempering went everywhere and has the smaller error of log h a sweep, and so a second; else 0."""
    chains, grid = tuned
    draws = _draws([chain.observations for chain in chains], plan.options.ratio == "augmented")
    if conditional_means(draws, grid)[0].min() * grid.log_zeta.size < UNVISITED:
        return 0
    search = wider(region, plan.region)
    a, b = (maximum_of(build_curve(*each, plan.options), search) for each in (full, tuned))
    if (a.interior != b.interior).any() or not a.interior.any():
        return 1
    block = np.ix_(a.interior, a.interior)
    return int(np.linalg.det(b.monte_carlo[block]) < np.linalg.det(a.monte_carlo[block]))


def _conclude(plan, method, chains, grid, pilots):
    """The curve and its maximum, the last sweeps at the maximum, and the diagnostics."""
    observed = [chain for chain in chains if chain.observations]
    curve = build_curve(observed, grid, plan.options)
    search = plan.region if plan.placed else wider(grid.region, plan.region)
    if plan.options.estimator == "simple" and not plan.placed:
        search = plan.region
    maximum = maximum_of(curve, search)
    disagree = _disagree(curve, maximum)
    log_shares = np.zeros(len(observed))
    if disagree:
        log_shares, curve, maximum = _tie(plan, observed, curve, maximum, search)
    occupancy, expected = conditional_means(curve.draws, grid)
    series = np.split(expected, np.cumsum(curve.lengths)[:-1])
    r_hat, ess = split_r_hat(series), effective_draws(series)
    functional_curve, values = _functionals(plan, observed, grid, curve)
    acceptance = float(np.mean([np.mean(_moves(chain)) for chain in observed]))

    chains = plan.sweep(plan.tempered(chains, _at(plan, maximum), 3 + _RESTARTS), plan.n_tuning)
    if not disagree and plan.options == Options():
        maximum = _refine(chains, curve, maximum)
    warn(method, maximum, search, disagree, r_hat, occupancy, grid, pilots)
    return Estimate(
        method,
        chains,
        log_shares,
        curve,
        maximum,
        grid,
        search,
        occupancy,
        acceptance,
        r_hat,
        ess,
        disagree,
        np.empty(0) if pilots is None else pilots.log_evidence,
        np.nan if pilots is None else pilots.log_evidence_std,
        functional_curve,
        values,
    )


def _moves(chain):
    at = np.array([seen.at for seen in chain.observations])
    return (at[1:] != at[:-1]).any(axis=1) if len(at) > 1 else np.zeros(1)


def _at(plan, maximum):
    return Grid(plan.corpus, plan.priors.n_components, *np.array(maximum.h)[:, None])


def _refine(chains, curve, maximum):
    """Take in the last sweeps, which are too few to tell how slowly they forget: that is taken from the curve's draws.

    Chains that stay at one h forget no more slowly than those that move in h as well.
    """
    observed = [chain.observations for chain in chains if chain.observations]
    if not observed:
        return maximum
    weights, gradients, _ = curve.derivatives(maximum.log_h)
    independent = np.diag(_independent(weights, gradients))
    slowness = np.divide(np.diag(maximum.score), independent, out=np.ones(2), where=independent > 0).max()
    last, _ = _draws(observed, False).derivatives(*np.exp(maximum.log_h)[:, None])
    last = last[:, 0]
    equal = np.full(len(last), 1 / len(last))
    return refine(maximum, last.mean(axis=0), max(slowness, 1.0) * _independent(equal, last))


def _independent(weights, gradients):
    """Covariance of the weighted mean of independent draws."""
    terms = weights[:, None] * (gradients - weights @ gradients)
    return terms.T @ terms


def _disagree(curve, maximum):
    """Whether the chains' scores at the common maximum differ by more than their errors."""
    inside = maximum.interior
    n_chains = len(curve.lengths)
    if n_chains < 2 or not inside.any() or min(curve.lengths) < 16:
        return False
    scores, covariance = [], np.zeros((2, 2))
    for c in range(n_chains):
        own = curve.of_chain(c)
        weights, gradients, _ = own.derivatives(maximum.log_h)
        scores.append(weights @ gradients)
        covariance += own.covariance_of_sums(weights[:, None] * (gradients - scores[-1])) / n_chains
    scores, covariance = np.array(scores)[:, inside], covariance[np.ix_(inside, inside)]
    # The covariance is itself estimated, from so many batches.
    freedom = sum(n_batches(n) - 1 for n in curve.lengths)
    shrink = max(1 - (len(covariance) + 1) / freedom, 0.1)
    q = shrink * np.einsum("ci,ij,cj->", scores, np.linalg.pinv(covariance), scores)
    return bool(chi2.sf(q, scores.shape[1] * (n_chains - 1)) < _DISAGREE)


def _tie(plan, chains, curve, maximum, search):
    """Put the chains' curves where guided evidence says that their modes belong, and widen the errors.

    Returns
    -------
    log_shares : ndarray of shape (n_chains,)
    curve : Curve
        The sum of the chains' curves, each with the evidence of its mode at its own maximum.
    maximum : Maximum
        Of that curve; its Monte Carlo covariance contains the spread of the chains' maxima.
    """
    priors = Priors.make(maximum.h[1], maximum.h[0], plan.priors.n_components, plan.corpus.n_features)
    evidence, error = mode_evidence(
        chains, priors, _LONGER * plan.n_tuning, _MORE_RUNS, random.child(plan.seed, 2), plan.n_jobs
    )
    own = [curve.of_chain(c) for c in range(len(chains))]
    peaks = np.array([each.maximise(search) for each in own])
    heights, there = (
        np.array([each.log_values(*h)[0] for each, h in zip(own, where, strict=True)])
        for where in (np.exp(peaks), [maximum.h] * len(own))
    )
    log_shares = weigh(evidence + heights - there, error)
    log_shares[log_shares < np.log(DOMINATED)] = -np.inf
    tied = Curve(curve.draws, curve.log_denominators, curve.lengths, log_shares - heights)
    maximum = maximum_of(tied, search)
    shares = np.exp(log_shares) / np.exp(log_shares).sum()
    if shares.max() < 1:
        away = peaks - maximum.log_h
        spread = (away.T * shares) @ away / (1 - (shares**2).sum())
        maximum = replace(maximum, monte_carlo=maximum.monte_carlo + spread)
    return log_shares, tied, maximum


def _functionals(plan, chains, grid, curve):
    """Weights of the draws of (theta, beta), and the functionals there."""
    if not plan.functionals:
        return None, np.empty((0, 0))
    observed = [chain.observations for chain in chains]
    draws = _draws(observed, True)
    values = np.array([seen.values for each in observed for seen in each])
    return Curve(draws, mixture_denominators(draws, grid), curve.lengths, curve.log_shares), values
