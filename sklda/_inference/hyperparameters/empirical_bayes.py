"""h = (eta, alpha) by maximum marginal likelihood: what is run, and what the draws say."""

from dataclasses import dataclass, replace

import numpy as np

from sklda._inference import random
from sklda._inference.hyperparameters.convergence import UNVISITED, disagree, effective_draws, split_r_hat, warn_of
from sklda._inference.hyperparameters.marginal_likelihood import (
    Curve,
    component_denominators,
    conditional_means,
    covariance_of_sums,
    mixture_denominators,
)
from sklda._inference.hyperparameters.maximum import Maximum, maximum_of, refine
from sklda._inference.hyperparameters.mode_search import (
    DOMINATED,
    can_be_weighed,
    find_pilots,
    mode_evidence,
    weigh,
    wider,
)
from sklda._inference.hyperparameters.serial_tempering import DirichletDraws, Grid
from sklda._inference.hyperparameters.settings import RESTARTS, Options
from sklda._inference.hyperparameters.subsampling import find_region
from sklda._inference.priors import CountHistograms, Priors
from sklda._inference.sampling.collapsed import GibbsChain

# Where chains disagree, their modes are weighed with this many times the temperatures, and this many runs.
_LONGER, _MORE_RUNS = 4, 3
# Full Bayes puts this many steps between neighbours of the grid: far ones would keep h, whose spread given z is small.
_REFINED = 4
# Chains whose R-hat is below this have been everywhere. Draws that are kept of every chain, at most: then every second.
_STEADY, _MOST_DRAWS = 1.1, 1500
# A grid whose ends have this part of the draws of its best values cuts m(h) off.
_CUT = 0.03
# At one h chains forget ten times sooner than on (h, z), and tell the maximum as precisely in a fifth of the sweeps:
# the curve's own may be this many times less precise than what is asked for, and gets this part of the sweeps at most.
_ROUGH, _PART = 2.0, 0.5
# Draws of every chain at one h from which on they tell themselves how slowly they forget.
_TELLING = 200
# Zeta is started again, as in the paper, until the rarest point gets this part of its due.
_EVEN = 0.5


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
        full = _full_bayes(plan, chains, region, pilots)
        tuned = _serial_tempering(plan, chains, region, curve)
        n_sweeps = min(plan.n_tuning, plan.max_iter)
        full, tuned = ([plan.sweep(each, n_sweeps), each[0].grid] for each in (full, tuned))
        method, (chains, grid) = (("full_bayes", full), ("serial_tempering", tuned))[_smaller_error(plan, full, tuned)]
    else:
        if method == "full_bayes":
            chains = _full_bayes(plan, chains, region, pilots)
        else:
            chains = _serial_tempering(plan, chains, region, curve)
        grid = chains[0].grid
        chains = plan.sweep(chains, min(plan.n_tuning, plan.max_iter))
    chains, grid, n_left = _extend(plan, chains, grid, pilots)
    return _conclude(plan, method, chains, grid, pilots, n_left)


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


def _full_bayes(plan, chains, region, pilots):
    """Chains with zeta = 1, near the posterior of (h, z), where those that agree are already."""
    # Chains that are still on their way are not to be held back at its ends.
    grid = plan.grid(region if plan.placed else wider(region, plan.region), _REFINED)
    if pilots is None or not pilots.agree:
        chains = plan.sweep(plan.tempered(chains, grid, 0), plan.n_tuning)
    return plan.tempered(chains, grid, 1)


def _extend(plan, chains, grid, pilots):
    """Sweep on until the maximum is precise enough, or `max_iter` sweeps were made.

    Returns
    -------
    chains : list of TemperedChain
    grid : Grid
        Wider than the one given, where m(h) was cut off by its ends; what was observed before is left out.
    n_left : int
        Sweeps that may yet be made.
    """
    tol, most, done = plan.tol, plan.max_iter, min(plan.n_tuning, plan.max_iter)
    if tol > 0 and plan.options == Options() and pilots.agree and not plan.functionals:
        tol, most = _ROUGH * tol, max(round(_PART * most), done)
    while done < most and len(plan.ended) < len(chains):
        region = _uncut(plan, chains, grid)
        share, steady = _precision(plan, chains, grid, pilots) if tol > 0 else (np.inf, False)
        n_sweeps = min(_wanted(done, share if steady else np.inf, tol), most - done)
        if region != grid.region:
            grid, n_sweeps = plan.grid(region, _REFINED), min(done, most - done)
            chains = plan.tempered(chains, grid, 3 + RESTARTS + done)
        elif share <= tol and steady:
            break
        chains = _on(plan, chains, n_sweeps)
        done += n_sweeps
    return chains, grid, plan.max_iter - done


def _wanted(done, share, tol):
    """Sweeps that are missing after so many: errors fall as the root; by how much is itself not known well."""
    wanted = 1.1 * (share / tol) ** 2 - 1 if np.isfinite(share) else 1.0
    return max(round(done * np.clip(wanted, 0.25, 2.0)), 1)


def _on(plan, chains, n_sweeps):
    """The chains after so many more sweeps, of which not too many draws are kept."""
    chains = plan.sweep(chains, n_sweeps)
    for chain in chains:
        chain.thin(_MOST_DRAWS)
    return chains


def _uncut(plan, chains, grid):
    """The region of a full Bayes grid, half as long again where its ends are visited, the present one otherwise."""
    if plan.placed or not grid.flat or 1 in grid.shape:
        return grid.region
    draws = _draws([chain.observations for chain in chains if chain.observations], False)
    occupancy, region = conditional_means(draws, grid)[0], []
    for axis, ends in enumerate(grid.region):
        share = occupancy.sum(axis=1 - axis)
        outer = wider(grid.region, plan.region)[axis]
        region.append(tuple(outer[side] if share[-side] > _CUT * share.max() else ends[side] for side in (0, 1)))
    return tuple(region)


def _precision(plan, chains, grid, pilots):
    """The larger Monte Carlo error of log eta and log alpha by its statistical one, and whether chains went everywhere.

    Chains in modes of their own are compared with themselves alone.
    """
    _, curve, maximum = _together(plan, chains, grid)
    series = _series(curve, grid)
    if pilots is not None and not pilots.agree:
        series = [each - each.mean(axis=0) for each in series]
    return maximum.share, bool(split_r_hat(series).max() < _STEADY)


def _series(curve, grid):
    """E(log h | z) along every chain, and nothing else."""
    return np.split(conditional_means(curve.draws, grid)[1], np.cumsum(curve.lengths)[:-1])


def _serial_tempering(plan, chains, region, curve):
    """Chains with zeta near m(h), frozen."""
    grid = plan.grid(region)
    if plan.options.tuning == "restarts":
        for attempt in range(RESTARTS):
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
    return plan.tempered(chains, grid, 2 + RESTARTS)


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


def _smaller_error(plan, full, tuned):
    """1 where serial tempering went everywhere and has the smaller error of log h a sweep, and so a second; else 0."""
    chains, grid = tuned
    draws = _draws([chain.observations for chain in chains], plan.options.ratio == "augmented")
    if conditional_means(draws, grid)[0].min() * grid.log_zeta.size < UNVISITED:
        return 0
    search = plan.search(tuned[1])
    a, b = (maximum_of(build_curve(*each, plan.options), search) for each in (full, tuned))
    if (a.interior != b.interior).any() or not a.interior.any():
        return 1
    block = np.ix_(a.interior, a.interior)
    return int(np.linalg.det(b.monte_carlo[block]) < np.linalg.det(a.monte_carlo[block]))


def _conclude(plan, method, chains, grid, pilots, n_left):
    """The curve and its maximum, the last sweeps at the maximum, and the diagnostics."""
    search = plan.search(grid)
    observed, curve, maximum = _together(plan, chains, grid)
    apart = disagree(curve, maximum)
    if apart and n_left:
        # What chains are apart by, sweeps at the maximum do not make up for: as many on the grid again.
        chains, n_left = _on(plan, chains, min(n_left, plan.max_iter - n_left)), 0
        observed, curve, maximum = _together(plan, chains, grid)
        apart = disagree(curve, maximum)
    log_shares = np.zeros(len(observed))
    if apart:
        log_shares, curve, maximum = _tie(plan, observed, curve, maximum, search)
    occupancy, series = conditional_means(curve.draws, grid)[0], _series(curve, grid)
    r_hat, ess = split_r_hat(series), effective_draws(series)
    functional_curve, values = _functionals(plan, observed, grid, curve)
    acceptance = float(np.mean([np.mean(_moves(chain)) for chain in observed]))

    chains = plan.sweep(plan.tempered(chains, _at(plan, maximum), 3 + RESTARTS), plan.n_tuning)
    if not apart and plan.options == Options():
        chains, maximum = _at_maximum(plan, chains, curve, maximum, search, n_left)
    if pilots is not None:
        maximum = maximum.in_doubt(pilots.doubt)
    warn_of(method, maximum, search, apart, r_hat, occupancy, grid, pilots)
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
        apart,
        np.empty(0) if pilots is None else pilots.log_evidence,
        np.nan if pilots is None else pilots.log_evidence_std,
        functional_curve,
        values,
    )


def _together(plan, chains, grid):
    """The chains that have draws, their curve and its maximum."""
    observed = [chain for chain in chains if chain.observations]
    curve = build_curve(observed, grid, plan.options)
    return observed, curve, maximum_of(curve, plan.search(grid))


def _moves(chain):
    at = np.array(chain.visited)
    return (at[1:] != at[:-1]).any(axis=1) if len(at) > 1 else np.zeros(1)


def _at(plan, maximum):
    return Grid(plan.corpus, plan.priors.n_components, *np.array(maximum.h)[:, None])


def _at_maximum(plan, chains, curve, maximum, search, n_left):
    """The chains after further sweeps at the maximum, until that is precise enough with them, and what it is then."""
    for chain in chains:
        # On their way from where they were on the grid.
        del chain.observations[: len(chain.observations) // 4]
    done, refined = plan.n_tuning, _refine(chains, curve, maximum, search)
    while n_left and refined.interior.any() and refined.share > plan.tol and len(plan.ended) < len(chains):
        n_sweeps = min(_wanted(done, refined.share, plan.tol), n_left)
        chains = _on(plan, chains, n_sweeps)
        done, n_left = done + n_sweeps, n_left - n_sweeps
        refined = _refine(chains, curve, maximum, search)
    return chains, refined


def _refine(chains, curve, maximum, search):
    """Take in the sweeps at the maximum.

    Where they are too few to tell how slowly they forget, that is taken from the curve's draws: chains that stay at one
    h forget no more slowly than those that move in h as well.
    """
    observed = [chain.observations for chain in chains if chain.observations]
    if not observed:
        return maximum
    lengths = [len(each) for each in observed]
    last = _draws(observed, False).derivatives(*np.exp(maximum.log_h)[:, None])[0][:, 0]
    equal = np.full(len(last), 1 / len(last))
    if min(lengths) >= _TELLING:
        score = covariance_of_sums(equal[:, None] * (last - last.mean(axis=0)), lengths)
    else:
        weights, gradients = curve.derivatives(maximum.log_h)
        independent = np.diag(_independent(weights, gradients))
        slowness = np.divide(np.diag(maximum.score), independent, out=np.ones(2), where=independent > 0).max()
        score = max(slowness, 1.0) * _independent(equal, last)
    return refine(maximum, last.mean(axis=0), score, search)


def _independent(weights, gradients):
    """Covariance of the weighted mean of independent draws."""
    terms = weights[:, None] * (gradients - weights @ gradients)
    return terms.T @ terms


def _tie(plan, chains, curve, maximum, search):
    """Put the chains' curves where guided evidence says that their modes belong, and widen the errors.

    On corpora that are too large for it all modes count alike.

    Returns
    -------
    log_shares : ndarray of shape (n_chains,)
    curve : Curve
        The sum of the chains' curves, each with the evidence of its mode at its own maximum.
    maximum : Maximum
        Of that curve; its Monte Carlo covariance contains the spread of the chains' maxima.
    """
    K, n_temperatures = plan.priors.n_components, _LONGER * plan.n_tuning
    priors, seed = Priors.make(maximum.h[1], maximum.h[0], K, plan.corpus.n_features), random.child(plan.seed, 2)
    weighable = can_be_weighed(plan.corpus, K, n_temperatures)
    if weighable:
        evidence, error, _ = mode_evidence(chains, priors, n_temperatures, _MORE_RUNS, seed, plan.n_jobs)
    own = [curve.of_chain(c) for c in range(len(chains))]
    peaks = np.array([each.maximise(search) for each in own])
    heights, there = (
        np.array([each.log_values(*h)[0] for each, h in zip(own, where, strict=True)])
        for where in (np.exp(peaks), [maximum.h] * len(own))
    )
    log_shares = weigh(evidence + heights - there, error) if weighable else np.zeros(len(chains))
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
