"""Further sweeps until the maximum of m(h) is precise enough: on the grid, then at the maximum."""

import numpy as np

from sklda._inference.hyperparameters.convergence import disagree, split_r_hat
from sklda._inference.hyperparameters.marginal_likelihood import (
    conditional_means,
    covariance_of_sums,
    covariance_within_chains,
)
from sklda._inference.hyperparameters.maximum import refine
from sklda._inference.hyperparameters.settings import wider
from sklda._inference.hyperparameters.tempered_stages import (
    AT_MAXIMUM,
    REFINEMENT,
    current_curve,
    current_maximum,
    log_h_series,
    stack_draws,
)

# Chains with R-hat below this have visited the whole posterior.
_STEADY = 1.2
# Largest number of draws that are kept of each chain. Beyond it, every second draw is kept.
_MOST_DRAWS = 800
# The grid of full Bayes is widened at an end with more than this share of the draws of the most visited value.
_CUT = 0.03
# At one h the autocorrelation of chains is nine times shorter than on (h, z), and a fifth of the sweeps gives the same
# error of the maximum (measured with K = 8; see the benchmarks). So the error of the curve may be this many times the
# error that `tol` allows, and the curve gets this share of the sweeps.
_ROUGH, _PART = 3.0, 0.5
# More sweeps are of no use if the variance between chains in different modes is this many times the variance within
# chains. If no prior has a finite error, they are of no use after this many times the sweeps of tuning.
_APART, _LONG = 25.0, 4
# The number of further sweeps by the present error is multiplied by this factor, because that error is an estimate. The
# length of a stage, relative to all before it, is between these two.
_MORE, _SHORTEST, _LONGEST = 1.1, 0.25, 2.0
# With at least this many draws of every chain at one h, their own autocorrelation is estimated.
_ENOUGH = 200
# The first 1/4 of the sweeps at the maximum is not used: there the chains still depend on their last h on the grid.
_LEFT_OUT = 4


def extend(pool, placement):
    """Make further sweeps until the maximum is precise enough, or `max_iter` sweeps were made.

    The grid of full Bayes is widened if m(h) is not small at its ends. Earlier observations are then dropped.

    Parameters
    ----------
    pool : ChainPool
        After `n_tuning` sweeps on its grid.
    placement : Placement

    Returns
    -------
    int
        Sweeps left of `max_iter`.
    """
    settings = pool.settings
    tol, most, done = settings.tol, settings.max_iter, min(settings.n_tuning, settings.max_iter)
    if tol > 0 and settings.tempering.is_default and not settings.functionals:
        tol, most = _ROUGH * tol, max(round(_PART * most), done)
    while done < settings.max_iter and not pool.all_ended:
        region = _uncut_region(pool)
        excess, steady, useful = _precision(pool, placement, tol) if tol > 0 else (np.inf, False, True)
        # Sweeps at the maximum do not help chains that do not agree yet.
        left = (most if steady or placement.separate_modes else settings.max_iter) - done
        if left <= 0:
            break
        n_sweeps = min(_missing_sweeps(done, excess if steady else np.inf), left)
        if region != pool.grid.region:
            n_sweeps = min(done, left)
            pool.temper(pool.new_grid(region, REFINEMENT), AT_MAXIMUM + done)
        elif (excess <= 1 and steady) or not useful:
            break
        elif tol > 0 and not steady:
            # Slow chains may still depend on where they began.
            for chain in pool.chains:
                chain.keep(slice(chain.n_observations // 2, None))
        sweep_and_thin(pool, n_sweeps)
        done += n_sweeps
    return settings.max_iter - done


def _missing_sweeps(done, excess):
    """Further sweeps after `done` ones: errors are inversely proportional to the root of the length."""
    missing = _MORE * excess**2 - 1 if np.isfinite(excess) else 1.0
    return max(round(done * np.clip(missing, _SHORTEST, _LONGEST)), 1)


def sweep_and_thin(pool, n_sweeps):
    """Make more sweeps, and keep a limited number of draws."""
    pool.sweep(n_sweeps)
    for chain in pool.chains:
        chain.thin(_MOST_DRAWS)


def _uncut_region(pool):
    """The region of a full Bayes grid, wider by half at ends that are visited."""
    grid = pool.grid
    if pool.settings.grid_is_region or not grid.flat or 1 in grid.shape:
        return grid.region
    occupancy, region = conditional_means(stack_draws(pool.observed, False), grid)[0], []
    outer = wider(grid.region, pool.settings.region)
    for axis, ends in enumerate(grid.region):
        share = occupancy.sum(axis=1 - axis)
        region.append(tuple(outer[axis][s] if share[-s] > _CUT * share.max() else ends[s] for s in (0, 1)))
    return tuple(region)


def _precision(pool, placement, tol):
    """The larger ratio of the Monte Carlo errors to those allowed, whether R-hat is small, and whether sweeps can help.

    For chains in separate modes, R-hat compares the halves of each chain only.
    """
    curve = current_curve(pool)
    series = log_h_series(curve, pool.grid)
    if placement.separate_modes:
        series = [each - each.mean(axis=0) for each in series]
    maximum = current_maximum(pool, curve)
    steady = split_r_hat(series).max() < _STEADY and (placement.separate_modes or not disagree(curve, maximum))
    is_long = sum(curve.lengths) >= _LONG * pool.settings.n_tuning * len(curve.lengths)
    useful = maximum.interior.any() or not is_long
    useful = useful and not (placement.separate_modes and _are_apart(curve, maximum))
    (eta, alpha), errors = maximum.h, np.sqrt(np.diag(maximum.monte_carlo)[::-1])
    pool.say(
        f"{sum(curve.lengths)} draws of the priors: doc_topic_prior {alpha:.4g}, topic_word_prior {eta:.4g}; "
        f"Monte Carlo errors of their logarithms {errors[0]:.2g} and {errors[1]:.2g}"
    )
    return maximum.excess_error(tol), bool(steady), useful


def _are_apart(curve, maximum):
    """Whether the variance of the scores between chains is many times the one within them."""
    weights, gradients = curve.derivatives(maximum.log_h)
    terms = weights[:, None] * (gradients - weights @ gradients)
    within = np.diag(covariance_within_chains(terms, curve.lengths))
    return bool((np.diag(maximum.score) > _APART * within)[maximum.interior].any())


def extend_at_maximum(pool, curve, maximum, search, n_left):
    """Make further sweeps at the maximum until it is precise enough.

    Parameters
    ----------
    pool : ChainPool
        After `n_tuning` sweeps at the maximum.
    curve : Curve
    maximum : Maximum
        The maximum of the curve.
    search : pair of (float, float)
        The box in which it was searched.
    n_left : int
        Largest number of sweeps of a chain.

    Returns
    -------
    Maximum
        Refined by the sweeps at the maximum.
    """
    for chain in pool.chains:
        chain.keep(slice(chain.n_observations // _LEFT_OUT, None))
    done, refined = pool.settings.n_tuning, _refine(pool, curve, maximum, search)
    tol = pool.settings.tol
    while n_left and refined.interior.any() and refined.excess_error(tol) > 1 and not pool.all_ended:
        n_sweeps = min(_missing_sweeps(done, refined.excess_error(tol)), n_left)
        sweep_and_thin(pool, n_sweeps)
        done, n_left = done + n_sweeps, n_left - n_sweeps
        refined = _refine(pool, curve, maximum, search)
    return refined


def _refine(pool, curve, maximum, search):
    """Refine the maximum by the sweeps made there.

    If they are too few to estimate their autocorrelation, that of the curve's draws is used: chains at one h do not mix
    more slowly than chains that move in h as well.
    """
    observed = pool.observed
    if not observed:
        return maximum
    lengths = [chain.n_observations for chain in observed]
    last = stack_draws(observed, False).derivatives(*np.exp(maximum.log_h)[:, None])[0][:, 0]
    equal = np.full(len(last), 1 / len(last))
    if min(lengths) >= _ENOUGH:
        score = covariance_of_sums(equal[:, None] * (last - last.mean(axis=0)), lengths)
    else:
        weights, gradients = curve.derivatives(maximum.log_h)
        independent = np.diag(_independent(weights, gradients))
        inflation = np.divide(np.diag(maximum.score), independent, out=np.ones(2), where=independent > 0).max()
        score = max(inflation, 1.0) * _independent(equal, last)
    return refine(maximum, last.mean(axis=0), score, search)


def _independent(weights, gradients):
    """Covariance of the weighted mean of independent draws."""
    terms = weights[:, None] * (gradients - weights @ gradients)
    return terms.T @ terms
