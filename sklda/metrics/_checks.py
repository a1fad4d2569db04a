"""Checks of the options that several scores share."""

from numbers import Integral

from sklda._inference.arguments import check_choice
from sklda._inference.held_out.ais import SCHEDULES
from sklda._inference.held_out.log_likelihoods import METHODS

# Default number of particles of a particle filter: chosen, not measured.
_PARTICLES = 20


def check_int(value, name, at_least=1):
    """Raise an error if a value is not an int, or too small."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {value!r}.")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value}.")


def check_options(method, n_temperatures, n_runs, n_particles, schedule, return_std):
    """The options of an estimate of held-out likelihood, as a dict."""
    check_choice(method, "method", METHODS)
    check_choice(schedule, "schedule", SCHEDULES)
    if n_particles is not None and method != "particle_filter":
        raise ValueError(f"n_particles is for method='particle_filter', but method is {method!r}.")
    n_particles = _PARTICLES if n_particles is None else n_particles
    for name, value in (("n_temperatures", n_temperatures), ("n_runs", n_runs), ("n_particles", n_particles)):
        check_int(value, name)
    if return_std and n_runs < 2 and method != "exact":
        raise ValueError("a standard error is computed from several runs: return_std=True needs n_runs=2 or more.")
    return {
        "method": method,
        "n_temperatures": int(n_temperatures),
        "n_runs": int(n_runs),
        "n_particles": int(n_particles),
        "schedule": schedule,
    }
