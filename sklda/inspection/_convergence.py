"""Convergence of the chains of a fit: traces, and their form in ArviZ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklda._core.diagnostics import diagnose, draws_after
from sklda._core.types import Model, Values
from sklda._description.view import fitted
from sklda.inspection._axes import MUTED, Display, distinct_colours, legend_below

# The axis has the range of the draws, and beyond it at most this share of it, as far as there are sweeps, and room.
_BEYOND, _ROOM = 0.3, 0.05
# The part of the axis of sweeps that a word beside the end of burn-in needs.
_WORD = 0.15
# Chains above this number have no entry in the legend.
_LEGEND = 10


@dataclass(eq=False, repr=False, kw_only=True)
class ConvergenceDisplay(Display):
    """Traces of the chains of a fit, with R-hat and the effective number of draws.

    The axes show the range of the draws after burn-in and a little more; the first sweeps may lie outside.
    `from_estimator` plots a fitted estimator; the constructor takes the values to plot.

    Parameters
    ----------
    trace : array-like of shape (n_chains, n_sweeps)
        A quantity after every sweep; NaN after the end of chains that ended early.
    n_burn_in : int
        Sweeps before the first draw that counts.
    quantity : str, default="log_joint"
        Its name.
    n_tokens : int, default=None
        Size of the corpus. The log joint is shown in nats per token. None: in nats.
    best_chain : int, default=None
        The chain that the topics come from.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    diagnosis_ : object
        ``r_hat`` and ``n_effective`` of all chains together, ``r_hat_by_chain`` and ``n_effective_by_chain``
        (n_chains,), from the draws after burn-in that all chains have: rank-normalised split R-hat and effective draws
        of Vehtari et al. (2021). NaN with fewer than four draws.
    lines_ : list of matplotlib Line2D
        Traces of the chains.
    burn_in_ : matplotlib Line2D or None
        The end of burn-in; None for traces without a burn-in.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021). Rank-normalization, folding, and localization: an improved
    R-hat for assessing convergence of MCMC. Bayesian Analysis 16.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import ConvergenceDisplay
    >>> X = make_lda_corpus(50, 40, 3, random_state=0).data
    >>> lda = GibbsLDA(3, max_iter=100, n_chains=2, random_state=0).fit(X)
    >>> display = ConvergenceDisplay.from_estimator(lda)
    >>> len(display.lines_), display.ax_.get_ylabel()
    (2, 'log joint (nats per token)')
    """

    trace: Values
    n_burn_in: int
    quantity: str = "log_joint"
    n_tokens: int | None = None
    best_chain: int | None = None

    @classmethod
    def from_estimator(cls, estimator: Model, *, quantity: str = "log_joint", ax: Any = None) -> Self:
        """Plot the traces of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted by Gibbs sampling: any of this package.
        quantity : str, default="log_joint"
            A key of ``traces_``. Estimators without that attribute have the log joint alone.
        ax : matplotlib Axes, default=None
            None: those of a new figure.

        Returns
        -------
        ConvergenceDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        TypeError
            If the estimator has no chains.
        ValueError
            If the estimator has no trace of the quantity.
        """
        model, traces, n_burn_in = _traces(estimator)
        if quantity not in traces:
            raise ValueError(f"quantity must be one of {', '.join(sorted(traces))}; got {quantity!r}.")
        return cls(
            trace=traces[quantity],
            n_burn_in=n_burn_in,
            quantity=quantity,
            n_tokens=len(model.topic_assignments_),
            best_chain=getattr(model, "best_chain_", None),
        ).plot(ax)

    def _draw(self, ax):
        trace = np.atleast_2d(np.asarray(self.trace, dtype=np.float64))
        scale = self.n_tokens if self.quantity == "log_joint" else None
        trace = trace if scale is None else trace / scale
        self.diagnosis_ = diagnose({self.quantity: trace}, self.n_burn_in)[self.quantity]
        self._draw_traces(ax, trace)
        unit = " (nats per token)" if scale is not None else " (nats)" if self.quantity == "log_joint" else ""
        ax.set(xlabel="sweep", ylabel=self.quantity.replace("_", " ") + unit, title=self._title(trace))

    def _draw_traces(self, ax, trace):
        n_chains, n_sweeps = trace.shape
        self.lines_ = []
        for c, (values, color) in enumerate(zip(trace, distinct_colours(n_chains), strict=False)):
            best = c == self.best_chain
            label = f"chain {c}" + " (has the topics)" * best if n_chains <= _LEGEND else None
            options = {"color": color, "lw": 1.5 if best else 0.9, "zorder": 2.5 if best else 2}
            self.lines_ += ax.plot(np.arange(1, n_sweeps + 1), values, label=label, **options)
        self.burn_in_ = None
        if self.n_burn_in:
            self.burn_in_ = ax.axvline(self.n_burn_in + 0.5, color=MUTED, lw=1, ls="--", zorder=1.5)
        if n_chains <= _LEGEND:
            legend_below(ax, ncols=2 if n_chains <= 4 else 3)
        low, high = (f(trace[:, self.n_burn_in :], initial=-s * np.inf) for f, s in ((np.nanmin, -1), (np.nanmax, 1)))
        first = 0
        if low < high:
            reach, room = _BEYOND * (high - low), _ROOM * (high - low)
            bottom, top = max(low - reach, np.nanmin(trace)) - room, min(high + reach, np.nanmax(trace)) + room
            ax.set_ylim(bottom, top)
            # From the first sweep that is in sight.
            first = ((trace >= bottom) & (trace <= top)).any(axis=0).argmax()
        ax.set_xlim(first + 1 - 0.02 * n_sweeps, 1.02 * n_sweeps)
        self._name_parts(ax, n_sweeps, first)

    def _name_parts(self, ax, n_sweeps, first):
        """The words burn-in and draws on the two sides of its end, where they have room."""
        if self.burn_in_ is None:
            return
        end, sides = self.n_burn_in, (("burn-in", "right", -4), ("draws", "left", 4))
        for (word, side, shift), n in zip(sides, (end - first, n_sweeps - end), strict=True):
            if n > _WORD * (n_sweeps - first):
                place = {"xycoords": ("data", "axes fraction"), "xytext": (shift, 3), "textcoords": "offset points"}
                ax.annotate(word, (end + 0.5, 0), ha=side, va="bottom", color=MUTED, fontsize=9, **place)

    def _figsize(self):
        return 8, 4.5

    def _title(self, trace):
        found, n_draws = self.diagnosis_, draws_after(self.n_burn_in, trace).size
        if np.isnan(found.r_hat):
            return f"{n_draws} draws: too few for R-hat"
        if np.isnan(found.n_effective):
            return f"all {n_draws:,} draws are equal"
        return f"R-hat {found.r_hat:.2f}, {found.n_effective:,.0f} effective of {n_draws:,} draws"


def to_arviz(estimator: Model) -> Any:
    """The traces of a fitted estimator after burn-in, for ArviZ.

    Parameters
    ----------
    estimator : estimator
        Fitted by Gibbs sampling: any of this package.

    Returns
    -------
    xarray.DataTree
        The group ``posterior`` has a variable for each trace, with dimensions ``chain`` and ``draw``; the coordinate of
        a draw is its sweep, from 1. Draws after the end of the shortest chain are left out.

    Raises
    ------
    ImportError
        If arviz-base is not installed.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If the estimator has no chains.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import to_arviz
    >>> X = make_lda_corpus(50, 40, 3, random_state=0).data
    >>> lda = GibbsLDA(3, max_iter=100, n_chains=2, random_state=0).fit(X)
    >>> import arviz_stats  # doctest: +SKIP
    >>> arviz_stats.summary(to_arviz(lda))  # doctest: +SKIP
    """
    _, traces, n_burn_in = _traces(estimator)
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise ImportError('to_arviz needs ArviZ: pip install "sklda[diagnostics]"') from error
    draws = {name: draws_after(n_burn_in, trace) for name, trace in traces.items()}
    n_draws = min(each.shape[1] for each in draws.values())
    sweeps = n_burn_in + 1 + np.arange(n_draws)
    return from_dict({"posterior": {name: each[:, :n_draws] for name, each in draws.items()}}, coords={"draw": sweeps})


def _traces(estimator):
    """The fitted model, its traces, a dict of (n_chains, n_sweeps), and its number of sweeps before the draws."""
    # A variational fit has a trace of its bound, but no chain.
    needed = ("log_joint_trace_", "topic_assignments_")
    model = fitted(estimator, needed, "chains here", "give a fitted estimator that samples topics")
    traces = getattr(model, "traces_", {"log_joint": model.log_joint_trace_})
    return model, traces, getattr(model, "n_burn_in_", model.n_iter_ // 2)
