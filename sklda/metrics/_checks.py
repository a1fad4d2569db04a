"""Checks of the options that several scores share."""

from sklda._input.arguments import check_choice, check_int
from sklda._likelihood.held_out.log_likelihoods import METHODS


def check_options(method, n_temperatures, n_runs, return_std):
    """The options of an estimate of held-out likelihood, as a dict."""
    check_choice(method, "method", METHODS)
    numbers = {"n_temperatures": n_temperatures, "n_runs": n_runs}
    numbers = {name: check_int(value, name, 1) for name, value in numbers.items()}
    if return_std and n_runs < 2 and method != "exact":
        raise ValueError("a standard error is computed from several runs: return_std=True needs n_runs=2 or more.")
    return {"method": method, **numbers}
