"""What displays of the priors (alpha, eta) share: checks, values on logarithmic axes, ticks and legends."""

import numpy as np
from sklearn.utils import check_scalar

from sklda._description.view import fitted
from sklda._input.arguments import real_numbers

PRIORS = ("doc_topic_prior", "topic_word_prior")
LABELS = {"doc_topic_prior": r"doc_topic_prior $\alpha$", "topic_word_prior": r"topic_word_prior $\eta$"}

# Factor by which a plot extends beyond the grid.
_MARGIN = 1.05


def read_curve(estimator, region, n_points):
    """A fitted model with a marginal likelihood, its maximum (alpha, eta), and the values of each prior to plot.

    These lie in `region`, or around the grid without one, evenly spaced in logarithms; the maximum is one of them if it
    lies there. A TypeError for other models, a ValueError for a wrong region.
    """
    model = fitted(estimator, ["log_marginal_likelihood"], "marginal likelihood", "give a fitted EmpiricalBayesLDA")
    maximum = (model.doc_topic_prior_, model.topic_word_prior_)
    # A callback sees a fit that has no curve yet: this is its error.
    model.log_marginal_likelihood(*maximum)
    check_scalar(n_points, "n_points", int, min_val=2)
    if region is None:
        edges = [(np.min(values) / _MARGIN, np.max(values) * _MARGIN) for values in model.grid_]
    else:
        edges = _checked(region)
    return model, maximum, [_span(*each, n_points) for each in zip(edges, maximum, strict=True)]


def _checked(region):
    edges = real_numbers(region, "region")
    if edges.shape != (2, 2) or not ((edges > 0).all() and (edges[:, 0] < edges[:, 1]).all()):
        raise ValueError(
            f"region must be ((alpha_low, alpha_high), (eta_low, eta_high)), 0 < low < high; got {region!r}."
        )
    return edges


def _span(edges, also, n_points):
    values = np.geomspace(*edges, n_points)
    return np.union1d(values, [also]) if edges[0] <= also <= edges[1] else values


def log_axis(axis):
    """Set ticks of a logarithmic axis with plain numbers, more of them if the axis is short."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axis.get_view_interval()
    steps = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0) if high < 5 * low else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=steps if high < 100 * low else (1.0,), numticks=8))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
