"""Displays of m(h), the marginal likelihood of the priors h = (alpha, eta), and of posterior expectations given h."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from sklda._inference.arguments import check_choice, real_numbers
from sklda._inference.types import Model, Values
from sklda.inspection._axes import axes

PRIORS = ("doc_topic_prior", "topic_word_prior")
_LABELS = {"doc_topic_prior": r"doc_topic_prior $\alpha$", "topic_word_prior": r"topic_word_prior $\eta$"}

# Factor by which a plot extends beyond the grid.
_MARGIN = 1.05
# Levels of the contours, in nats below the maximum.
_DROPS = np.array([0.0, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100])
_LINE, _ACCENT, _MUTED = "#1f5a91", "#c1440e", "#444444"
# Area, in square points, of the grid point with the median share of visits.
_DOT = 10
# Darkest shade of the contours; a pale one keeps the marks on top visible.
_DEEPEST = 0.6


def _check_has_curve(estimator):
    """Raise an error if an estimator is not fitted, or has no marginal likelihood around its maximum."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "log_marginal_likelihood"):
        raise TypeError(f"{type(estimator).__name__} has no marginal likelihood: give a fitted EmpiricalBayesLDA.")
    # Its error names the methods that give one.
    estimator.log_marginal_likelihood(estimator.doc_topic_prior_, estimator.topic_word_prior_)


def _edges(region):
    """((alpha_low, alpha_high), (eta_low, eta_high)) as four checked floats, (2, 2)."""
    edges = real_numbers(region, "region")
    if edges.shape != (2, 2) or not ((edges > 0).all() and (edges[:, 0] < edges[:, 1]).all()):
        raise ValueError(
            f"region must be ((alpha_low, alpha_high), (eta_low, eta_high)), 0 < low < high; got {region!r}."
        )
    return edges


def _around(grid):
    """The edges of the grid, extended by the margin."""
    return np.array([(np.min(values) / _MARGIN, np.max(values) * _MARGIN) for values in grid])


def _span(edges, n_points, also):
    """Values from edge to edge, evenly spaced in logarithms; `also` is one of them if it lies between the edges."""
    values = np.geomspace(*edges, n_points)
    return np.union1d(values, [also]) if edges[0] <= also <= edges[1] else values


def _log_axis(axis):
    """Set ticks of a logarithmic axis with plain numbers, more of them if the axis is short."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axis.get_view_interval()
    steps = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0) if high < 5 * low else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=steps if high < 100 * low else (1.0,), numticks=8))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


class MarginalLikelihoodDisplay:
    """The marginal likelihood of the priors, m(h) with h = (alpha, eta), with confidence regions of its maximum.

    `from_estimator` plots a fitted estimator; the constructor takes the values to plot.

    Parameters
    ----------
    doc_topic_priors : array-like of shape (n_alphas,)
        alpha, ascending.
    topic_word_priors : array-like of shape (n_etas,)
        eta, ascending.
    log_marginal_likelihood : array-like of shape (n_alphas, n_etas)
        log m, nats, up to a constant.
    maximum : (float, float)
        (alpha, eta). A slice has the value of the other prior that is next to the maximum.
    std : array-like of shape (n_alphas, n_etas), default=None
        Monte Carlo standard error of log m(h) - log m(maximum), nats; infinite where it is unknown.
    ellipses : sequence of ellipses, default=()
        Confidence regions from `EmpiricalBayesLDA.confidence_region`, with `boundary`, `level` and `kind`.
    grid : pair of array-like, default=None
        The grid of the chains: values of alpha (n_grid_alphas,) and of eta (n_grid_etas,).
    occupancy : array-like of shape (n_grid_alphas, n_grid_etas), default=None
        Share of the draws at each grid point. Points without draws are crosses.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    contours_ : matplotlib QuadContourSet or None
        The contours, with ``kind="contour"``.
    ellipses_ : list of matplotlib Line2D
        The confidence regions, with ``kind="contour"``.
    line_, band_ : matplotlib artists or None
        The slice and its errors, with another `kind`.

    See Also
    --------
    PosteriorExpectationDisplay : A posterior expectation as a function of the priors.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.inspection import MarginalLikelihoodDisplay
    >>> alpha, eta = np.geomspace(0.05, 0.5, 25), np.geomspace(0.1, 1, 20)
    >>> log_m = -30 * (np.log(alpha / 0.2) ** 2)[:, None] - 20 * np.log(eta / 0.3) ** 2
    >>> display = MarginalLikelihoodDisplay(
    ...     doc_topic_priors=alpha, topic_word_priors=eta, log_marginal_likelihood=log_m, maximum=(0.2, 0.3)
    ... )
    >>> display.plot().ax_.get_xscale()
    'log'
    """

    def __init__(
        self,
        *,
        doc_topic_priors: Values,
        topic_word_priors: Values,
        log_marginal_likelihood: Values,
        maximum: tuple[float, float],
        std: Values | None = None,
        ellipses: Sequence[Any] = (),
        grid: tuple[Values, Values] | None = None,
        occupancy: Values | None = None,
    ) -> None:
        self.doc_topic_priors = doc_topic_priors
        self.topic_word_priors = topic_word_priors
        self.log_marginal_likelihood = log_marginal_likelihood
        self.maximum = maximum
        self.std = std
        self.ellipses = ellipses
        self.grid = grid
        self.occupancy = occupancy

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        *,
        kind: Literal["contour", "doc_topic_prior", "topic_word_prior"] = "contour",
        region: ArrayLike | None = None,
        n_points: int = 40,
        level: float = 0.95,
        ax: Any = None,
    ) -> Self:
        """Compute m(h) of a fitted estimator, and plot it.

        Parameters
        ----------
        estimator : EmpiricalBayesLDA
            A fitted estimator.
        kind : {"contour", "doc_topic_prior", "topic_word_prior"}, default="contour"
            Contours over both priors, or log m as a function of one prior; see `plot`.
        region : pair of pairs of float, default=None
            ((alpha_low, alpha_high), (eta_low, eta_high)) of the plot. None: the region of the grid.
        n_points : int, default=40
            Number of values of each prior.
        level : float, default=0.95
            Level of the two confidence regions.
        ax : matplotlib Axes, default=None
            None: the axes of a new figure.

        Returns
        -------
        MarginalLikelihoodDisplay
        """
        _check_has_curve(estimator)
        check_scalar(n_points, "n_points", int, min_val=2)
        maximum = (estimator.doc_topic_prior_, estimator.topic_word_prior_)
        grid = estimator.grid_
        edges = _around(grid) if region is None else _edges(region)
        alpha, eta = (_span(*each) for each in zip(edges, (n_points,) * 2, maximum, strict=True))
        value, std = estimator.log_marginal_likelihood(*np.meshgrid(alpha, eta, indexing="ij"), return_std=True)
        return cls(
            doc_topic_priors=alpha,
            topic_word_priors=eta,
            log_marginal_likelihood=value,
            maximum=maximum,
            std=std,
            ellipses=tuple(estimator.confidence_region(level, kind) for kind in ("statistical", "monte_carlo")),
            grid=grid,
            occupancy=estimator.occupancy_,
        ).plot(ax, kind=kind)

    def plot(
        self, ax: Any = None, *, kind: Literal["contour", "doc_topic_prior", "topic_word_prior"] = "contour"
    ) -> Self:
        """Plot the marginal likelihood.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: the axes of a new figure.
        kind : {"contour", "doc_topic_prior", "topic_word_prior"}, default="contour"
            ``"contour"``: contours of log m over both priors, with its maximum, the confidence regions and the grid.
            The area of a grid point shows its share of the draws. The name of a prior: log m as a function of this
            prior, with the other prior at the maximum and a pointwise band of two Monte Carlo standard errors.

        Returns
        -------
        MarginalLikelihoodDisplay
            The display, with the artists as attributes.
        """
        check_choice(kind, "kind", ("contour", *PRIORS))
        self.ax_ = axes(ax)
        self.figure_ = self.ax_.figure
        self.contours_, self.line_, self.band_ = None, None, None
        self.ellipses_: list[Any] = []
        below = np.asarray(self.log_marginal_likelihood) - np.max(self.log_marginal_likelihood)
        self.ax_.set_xscale("log")
        if kind == "contour":
            self._contours(below)
        else:
            self._slice(below, kind)
        return self

    def _contours(self, below):
        from matplotlib import colormaps

        ax = self.ax_
        alpha, eta = np.asarray(self.doc_topic_priors), np.asarray(self.topic_word_priors)
        ax.set_yscale("log")
        drops = _DROPS[: np.searchsorted(_DROPS, -below.min()) + 1]
        levels = -drops[::-1] if len(drops) > 1 else [-1e-9, 0]
        colors = colormaps["Blues"](np.linspace(0, _DEEPEST, len(levels)))
        self.contours_ = ax.contourf(alpha, eta, below.T, levels, colors=colors, extend="min")
        self.figure_.colorbar(self.contours_, ax=ax, label="log marginal likelihood below its maximum (nats)")
        if self.grid is not None:
            self._grid()
        for ellipse in self.ellipses:
            style = {"statistical": "-", "monte_carlo": ":"}[ellipse.kind]
            label = f"{ellipse.level:.0%} {ellipse.kind.replace('_', ' ')} region"
            self.ellipses_ += ax.plot(*ellipse.boundary().T, style, color=_ACCENT, lw=1.8, label=label)
        ax.plot(*self.maximum, "+", color=_ACCENT, ms=11, mew=2, label="maximum")
        ax.set(xlim=(alpha[0], alpha[-1]), ylim=(eta[0], eta[-1]), xlabel=_LABELS[PRIORS[0]], ylabel=_LABELS[PRIORS[1]])
        for axis in (ax.xaxis, ax.yaxis):
            _log_axis(axis)
        ax.legend(loc="best", fontsize="small")

    def _grid(self):
        alpha, eta = (part.ravel() for part in np.meshgrid(*self.grid, indexing="ij"))
        share = np.full(eta.shape, 1 / len(eta)) if self.occupancy is None else np.ravel(self.occupancy)
        seen = share > 0
        # Areas are relative to a typical share and limited, so that dots do not overlap and small shares are visible.
        ascending = np.sort(share)
        typical = ascending[np.searchsorted(np.cumsum(ascending), 0.5 * share.sum())]
        size = np.minimum(_DOT * share[seen] / typical, 2 * _DOT)
        label = "grid" if self.occupancy is None else "grid, area by visits"
        self.ax_.scatter(alpha[seen], eta[seen], size, color=_MUTED, lw=0, label=label)
        if not seen.all():
            self.ax_.scatter(alpha[~seen], eta[~seen], 18, color=_MUTED, marker="x", lw=1, label="never visited")

    def _slice(self, below, along):
        ax, axis = self.ax_, PRIORS.index(along)
        priors = [np.asarray(self.doc_topic_priors), np.asarray(self.topic_word_priors)]
        fixed = int(np.argmin(np.abs(np.log(priors[1 - axis] / self.maximum[1 - axis]))))
        x, y = priors[axis], np.take(below, fixed, axis=1 - axis)
        if self.std is not None:
            std = np.take(np.asarray(self.std), fixed, axis=1 - axis)
            known = np.isfinite(std)
            reach = 2 * np.where(known, std, 0)
            label = "two Monte Carlo standard errors"
            self.band_ = ax.fill_between(
                x, y - reach, y + reach, where=known, color=_LINE, alpha=0.2, lw=0, label=label
            )
        (self.line_,) = ax.plot(x, y, color=_LINE, lw=1.8)
        ax.axvline(self.maximum[axis], color=_ACCENT, lw=1.2, label="maximum")
        other = _LABELS[PRIORS[1 - axis]].split()[1]
        ax.set(xlim=(x[0], x[-1]), xlabel=_LABELS[along], title=f"at {other} = {priors[1 - axis][fixed]:.3g}")
        ax.set_ylabel("log marginal likelihood below its maximum (nats)")
        _log_axis(ax.xaxis)
        ax.legend(loc="best", fontsize="small")


class PosteriorExpectationDisplay:
    """A posterior expectation I(h) as a function of one prior, with bands that hold for all h simultaneously.

    The line is dotted where the band is infinite because there are too few effective draws. `from_estimator` plots a
    fitted estimator; the constructor takes the values to plot.

    Parameters
    ----------
    name : str
        Name of the functional.
    along : {"doc_topic_prior", "topic_word_prior"}
        The prior that varies.
    priors : array-like of shape (n_priors,)
        Its values, ascending.
    fixed : array-like of shape (n_lines,)
        Values of the other prior.
    value, low, high : array-like of shape (n_lines, n_priors)
        I(h), and its band.
    maximum : (float, float), default=None
        (alpha, eta) with the largest marginal likelihood. The plot marks the value of the prior that varies.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
    bands_ : list of matplotlib PolyCollection

    See Also
    --------
    MarginalLikelihoodDisplay : The marginal likelihood as a function of the priors.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.inspection import PosteriorExpectationDisplay
    >>> alpha = np.geomspace(0.05, 0.5, 25)
    >>> value = np.stack([alpha, alpha**2])
    >>> display = PosteriorExpectationDisplay(
    ...     name="distance", along="doc_topic_prior", priors=alpha, fixed=[0.7, 1.0], value=value, low=value - 0.1,
    ...     high=value + 0.1,
    ... )
    >>> len(display.plot().lines_)
    2
    """

    def __init__(
        self,
        *,
        name: str,
        along: Literal["doc_topic_prior", "topic_word_prior"],
        priors: Values,
        fixed: Values,
        value: Values,
        low: Values,
        high: Values,
        maximum: tuple[float, float] | None = None,
    ) -> None:
        self.name = name
        self.along = along
        self.priors = priors
        self.fixed = fixed
        self.value = value
        self.low = low
        self.high = high
        self.maximum = maximum

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        name: str,
        *,
        along: Literal["doc_topic_prior", "topic_word_prior"] = "doc_topic_prior",
        fixed: ArrayLike | None = None,
        region: ArrayLike | None = None,
        n_points: int = 40,
        level: float = 0.95,
        ax: Any = None,
    ) -> Self:
        """Compute I(h) of a fitted estimator, and plot it.

        Parameters
        ----------
        estimator : EmpiricalBayesLDA
            An estimator that was fitted with `functionals`.
        name : str
            Name of one of the functionals.
        along : {"doc_topic_prior", "topic_word_prior"}, default="doc_topic_prior"
            The prior that varies.
        fixed : float or array-like of shape (n_lines,), default=None
            Values of the other prior, one for each line. None: the value with the largest marginal likelihood.
        region : pair of pairs of float, default=None
            ((alpha_low, alpha_high), (eta_low, eta_high)); the pair of the prior that varies is used. None: the region
            of the grid.
        n_points : int, default=40
            Number of values of the prior that varies.
        level : float, default=0.95
            Confidence level of the bands.
        ax : matplotlib Axes, default=None
            None: the axes of a new figure.

        Returns
        -------
        PosteriorExpectationDisplay
        """
        _check_has_curve(estimator)
        check_scalar(n_points, "n_points", int, min_val=2)
        axis = PRIORS.index(check_choice(along, "along", PRIORS))
        maximum = (estimator.doc_topic_prior_, estimator.topic_word_prior_)
        edges = _around(estimator.grid_) if region is None else _edges(region)
        priors = _span(edges[axis], n_points, maximum[axis])
        fixed = np.atleast_1d(np.asarray(maximum[1 - axis] if fixed is None else fixed, dtype=np.float64))
        varied, other = np.meshgrid(priors, fixed)
        h = (varied, other) if axis == 0 else (other, varied)
        value, low, high = estimator.posterior_expectation(name, *h, level=level)
        return cls(
            name=name, along=along, priors=priors, fixed=fixed, value=value, low=low, high=high, maximum=maximum
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot the posterior expectation.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: the axes of a new figure.

        Returns
        -------
        PosteriorExpectationDisplay
            The display, with the artists as attributes.
        """
        axis = PRIORS.index(check_choice(self.along, "along", PRIORS))
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        self.lines_, self.bands_ = [], []
        x = np.asarray(self.priors)
        other = _LABELS[PRIORS[1 - axis]].split()[1]
        ax.set_xscale("log")
        for at, value, low, high in zip(self.fixed, self.value, self.low, self.high, strict=True):
            known = np.isfinite(low) & np.isfinite(high)
            (line,) = ax.plot(x, np.where(known, value, np.nan), lw=1.8, label=f"{other} = {at:.3g}")
            ax.plot(x, value, ":", color=line.get_color(), lw=0.8)
            band = ax.fill_between(x, low, high, where=known, color=line.get_color(), alpha=0.2, lw=0)
            self.lines_.append(line)
            self.bands_.append(band)
        if self.maximum is not None:
            ax.axvline(self.maximum[axis], color=_MUTED, lw=1.2, ls="--", label="largest marginal likelihood")
        ax.set(xlim=(x[0], x[-1]), xlabel=_LABELS[self.along], ylabel=f"posterior expectation of {self.name}")
        _log_axis(ax.xaxis)
        ax.legend(loc="best", fontsize="small")
        return self
