"""Checks of the options that several scores share."""

from sklda._core.arguments import check_choice, check_int
from sklda._likelihood.held_out.ais import SCHEDULES
from sklda._likelihood.held_out.log_likelihoods import METHODS

# Default number of particles of a particle filter: chosen, not measured.
_PARTICLES = 20


def check_options(method, n_temperatures, n_runs, n_particles, schedule, return_std):
    """The options of an estimate of held-out likelihood, as a dict."""
    check_choice(method, "method", METHODS)
    check_choice(schedule, "schedule", SCHEDULES)
    if n_particles is not None and method != "particle_filter":
        raise ValueError(f"n_particles is for method='particle_filter', but method is {method!r}.")
    n_particles = _PARTICLES if n_particles is None else n_particles
    numbers = {"n_temperatures": n_temperatures, "n_runs": n_runs, "n_particles": n_particles}
    numbers = {name: check_int(value, name, 1) for name, value in numbers.items()}
    if return_std and n_runs < 2 and method != "exact":
        raise ValueError("a standard error is computed from several runs: return_std=True needs n_runs=2 or more.")
    return {"method": method, **numbers, "schedule": schedule}
