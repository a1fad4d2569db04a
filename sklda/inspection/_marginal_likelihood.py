"""Display of m(h), the marginal likelihood of the priors h = (alpha, eta)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sklda._input.arguments import check_choice
from sklda._input.types import Model, Values
from sklda.inspection._axes import Display, colours_of, legend_below, pyplot
from sklda.inspection._prior_axes import LABELS, PRIORS, log_axis, read_curve

# Levels of the contours, in nats below the maximum.
_DROPS = np.array([0.0, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100])
# Area, in square points, of the grid point with the median share of visits.
_DOT = 10
# Names and lines of the kinds of confidence regions, by what their error comes from.
_NAMES = {"statistical": "finite corpus", "monte_carlo": "Monte Carlo", "total": "both"}
_STYLES = {"statistical": "-", "monte_carlo": ":", "total": "--"}


@dataclass(eq=False, repr=False, kw_only=True)
class MarginalLikelihoodDisplay(Display):
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
        Share of the draws at each grid point: the visits of the chains, which move over the grid as well. Points
        without draws are crosses.

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

    doc_topic_priors: Values
    topic_word_priors: Values
    log_marginal_likelihood: Values
    maximum: tuple[float, float]
    std: Values | None = None
    ellipses: Sequence[Any] = ()
    grid: tuple[Values, Values] | None = None
    occupancy: Values | None = None

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
            None: those of a new figure.

        Returns
        -------
        MarginalLikelihoodDisplay

        Raises
        ------
        ValueError, TypeError
            If the model is not one that this function takes, or an argument does not fit it.

        Examples
        --------
        >>> from sklda import EmpiricalBayesLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> from sklda.inspection import MarginalLikelihoodDisplay
        >>> X = make_lda_corpus(60, 20, 2, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
        >>> lda = EmpiricalBayesLDA(2, max_iter=1000, random_state=0).fit(X)
        >>> MarginalLikelihoodDisplay.from_estimator(lda).ax_.get_xscale()
        'log'
        """
        model, maximum, (alpha, eta) = read_curve(estimator, region, n_points)
        value, std = model.log_marginal_likelihood(*np.meshgrid(alpha, eta, indexing="ij"), return_std=True)
        return cls(
            doc_topic_priors=alpha,
            topic_word_priors=eta,
            log_marginal_likelihood=value,
            maximum=maximum,
            std=std,
            ellipses=tuple(model.confidence_region(level, kind) for kind in ("statistical", "monte_carlo")),
            grid=model.grid_,
            occupancy=model.occupancy_,
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
        return self._plot_on(ax, kind=kind)

    def _figsize(self):
        return 7, 5.5

    def _draw(self, ax, kind):
        self.contours_: Any = None
        self.line_: Any = None
        self.band_: Any = None
        self.ellipses_: list[Any] = []
        below = np.asarray(self.log_marginal_likelihood) - np.max(self.log_marginal_likelihood)
        ax.set_xscale("log")
        if kind == "contour":
            self._contours(ax, below)
        else:
            self._slice(ax, below, kind)

    def _contours(self, ax, below):
        alpha, eta, found = np.asarray(self.doc_topic_priors), np.asarray(self.topic_word_priors), colours_of(ax)
        ax.set_yscale("log")
        drops = _DROPS[: np.searchsorted(_DROPS, -below.min()) + 1]
        levels = -drops[::-1] if len(drops) > 1 else [-1e-9, 0]
        colors = pyplot().get_cmap("Blues")(np.linspace(*found.shades, len(levels)))
        self.contours_ = ax.contourf(alpha, eta, below.T, levels, colors=colors, extend="min")
        ax.figure.colorbar(self.contours_, ax=ax, label="nats below the maximum")
        if self.grid is not None:
            self._grid(ax)
        for ellipse in self.ellipses:
            style = _STYLES[ellipse.kind]
            label = f"{100 * ellipse.level:.0f} % region: {_NAMES[ellipse.kind]}"
            self.ellipses_ += ax.plot(*ellipse.boundary().T, style, color=found.accent, lw=1.8, label=label)
        ax.plot(*self.maximum, "+", color=found.accent, ms=11, mew=2, label="maximum")
        ax.set(xlim=(alpha[0], alpha[-1]), ylim=(eta[0], eta[-1]), xlabel=LABELS[PRIORS[0]], ylabel=LABELS[PRIORS[1]])
        ax.set_title("log marginal likelihood")
        for axis in (ax.xaxis, ax.yaxis):
            log_axis(axis)
        legend_below(ax)

    def _grid(self, ax):
        alpha, eta = (part.ravel() for part in np.meshgrid(*self.grid, indexing="ij"))
        share = np.full(eta.shape, 1 / len(eta)) if self.occupancy is None else np.ravel(self.occupancy)
        seen, muted = share > 0, colours_of(ax).muted
        # Areas are relative to a typical share and limited, so that dots do not overlap and small shares are visible.
        ascending = np.sort(share)
        typical = ascending[np.searchsorted(np.cumsum(ascending), 0.5 * share.sum())]
        size = np.minimum(_DOT * share[seen] / typical, 2 * _DOT)
        label = "grid" if self.occupancy is None else "visits of the chains (area)"
        ax.scatter(alpha[seen], eta[seen], size, color=muted, lw=0, label=label)
        if not seen.all():
            ax.scatter(alpha[~seen], eta[~seen], 18, color=muted, marker="x", lw=1, label="no visit")

    def _slice(self, ax, below, along):
        axis = PRIORS.index(along)
        priors = [np.asarray(self.doc_topic_priors), np.asarray(self.topic_word_priors)]
        fixed = int(np.argmin(np.abs(np.log(priors[1 - axis] / self.maximum[1 - axis]))))
        found = colours_of(ax)
        x, y = priors[axis], np.take(below, fixed, axis=1 - axis)
        if self.std is not None:
            std = np.take(np.asarray(self.std), fixed, axis=1 - axis)
            known = np.isfinite(std)
            reach = 2 * np.where(known, std, 0)
            label = "two Monte Carlo errors"
            options = {"color": found.line, "alpha": 0.2, "lw": 0, "label": label}
            self.band_ = ax.fill_between(x, y - reach, y + reach, where=known, **options)
        (self.line_,) = ax.plot(x, y, color=found.line, lw=1.8)
        ax.axvline(self.maximum[axis], color=found.accent, ls="--", lw=1.2, label="maximum")
        other = LABELS[PRIORS[1 - axis]].split()[1]
        ax.set(xlim=(x[0], x[-1]), xlabel=LABELS[along], ylabel="nats below the maximum")
        ax.set_title(f"log marginal likelihood at {other} = {priors[1 - axis][fixed]:.3g}")
        log_axis(ax.xaxis)
        legend_below(ax)
