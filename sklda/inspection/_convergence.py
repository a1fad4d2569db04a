"""Convergence of the chains of a fit: traces, and their form in ArviZ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklda._core.diagnostics import Diagnosis, diagnose, draws_after
from sklda._description.models import Description
from sklda._description.view import fitted
from sklda._input.names import topic_names
from sklda._input.types import Model, Values
from sklda.inspection._axes import Display, colours_of, legend_below, marks_along, series_styles

# The axis has the range of the draws, and beyond it at most this share of it, as far as there are sweeps, and room.
_BEYOND, _ROOM = 0.3, 0.05
# The part of the axis of sweeps that a word beside the end of burn-in needs.
_WORD = 0.15
# Traces that describe a state as a whole and are not parameters.
_LABEL_FREE = {"log_joint", "log_topics", "squared_shares"}
# More chains than this have one colour, except the one that the topics come from.
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
        self.diagnosis_: Diagnosis = diagnose({self.quantity: trace}, self.n_burn_in)[self.quantity]
        first = self._draw_traces(ax, trace)
        unit = " (nats per token)" if scale is not None else " (nats)" if self.quantity == "log_joint" else ""
        outside = f"\nsweeps 1 to {first} lie outside" if first else ""
        label = self.quantity.replace("_", " ") + unit
        ax.set(xlabel="sweep" + outside, ylabel=label, title=self._title(trace))
        legend_below(ax, ncols=3 if 4 < len(trace) <= _LEGEND else 2)

    def _draw_traces(self, ax, trace):
        """Draw the traces; the result is the number of first sweeps that are not in sight."""
        n_chains, n_sweeps = trace.shape
        self.lines_: list[Any] = []
        for c, values in enumerate(trace):
            best = c == self.best_chain
            options = {
                "lw": 1.5 if best else 0.9,
                "zorder": 2.5 if best else 2,
                **self._style(ax, c, n_chains, n_sweeps),
            }
            self.lines_ += ax.plot(np.arange(1, n_sweeps + 1), values, **options)
        self.burn_in_: Any = None
        if self.n_burn_in:
            self.burn_in_ = ax.axvline(self.n_burn_in + 0.5, color=colours_of(ax).muted, lw=1, ls="--", zorder=1.5)
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
        return int(first)

    def _style(self, ax, c, n_chains, n_sweeps):
        """Colour, markers and the entry in the legend of a chain."""
        best = " (has the topics)" * (c == self.best_chain)
        if n_chains <= _LEGEND:
            colour, marker = series_styles(ax, n_chains)[c]
            marks = {"marker": marker, "markersize": 6, "markevery": marks_along(c, n_chains, n_sweeps)}
            marks = marks if n_chains > 1 else {}
            return {"color": colour, "label": f"chain {c}{best}", **marks}
        if best:
            return {"color": colours_of(ax).accent, "label": f"chain {c}{best}"}
        # One entry for all of them.
        n_others = n_chains - (self.best_chain is not None)
        is_first = c == int(self.best_chain == 0)
        label = f"{n_others} {'chains' if self.best_chain is None else 'other chains'}" if is_first else None
        return {"color": colours_of(ax).muted, "alpha": 0.5, "label": label}

    def _name_parts(self, ax, n_sweeps, first):
        """The words burn-in and draws on the two sides of its end, where they have room."""
        if self.burn_in_ is None or self.n_burn_in >= n_sweeps:
            return
        end, sides = self.n_burn_in, (("burn-in", "right", -4), ("draws", "left", 4))
        for (word, side, shift), n in zip(sides, (end - first, n_sweeps - end), strict=True):
            if n > _WORD * (n_sweeps - first):
                place = {"xycoords": ("data", "axes fraction"), "xytext": (shift, 3), "textcoords": "offset points"}
                ax.annotate(word, (end + 0.5, 0), ha=side, va="bottom", color=colours_of(ax).muted, fontsize=9, **place)

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
    """The posterior draws and the traces of a fitted estimator, for ArviZ.

    Parameters
    ----------
    estimator : estimator
        Fitted by Gibbs sampling: any of this package. `describe` adds names of topics.

    Returns
    -------
    xarray.DataTree
        Variables have the dimensions ``chain`` and ``draw``, whose coordinate is the sweep, from 1, and others with
        names. Draws after the end of the shortest chain are left out. Groups:

        - ``posterior``: up to 256 draws behind the burn-in, a fixed number of sweeps apart, whatever ``n_draws``.
          ``topic_share`` (topic): shares of the tokens. `CompoundLDA` and `HDPLDA`: ``collection_topic`` (collection,
          topic), the mixtures, and the concentrations that are drawn. `CovariateLDA`: ``coef`` (topic, term) and
          ``intercept`` (topic);
        - ``sample_stats``: the traces of all sweeps after the burn-in, such as ``log_joint``.

        Topics of all chains are in the order of the kept one, and NaN in a chain that does not have them: the matched
        one is at a Jensen-Shannon distance above 0.5. A model without draws of this kind, such as `LabeledLDA`, has no
        ``posterior``.

    Raises
    ------
    ImportError
        If arviz-base is not installed.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If the estimator has no chains.

    Notes
    -----
    Priors that a fit learns by Gibbs-EM are points and have no draws. ArviZ below 1.0, which is that of Python 3.11,
    takes no tree: give ``arviz.summary`` one group, as ``tree["posterior"].to_dataset()``.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import to_arviz
    >>> X = make_lda_corpus(50, 40, 3, random_state=0).data
    >>> lda = GibbsLDA(3, max_iter=100, draw_every=5, n_chains=2, random_state=0).fit(X)
    >>> from arviz_stats import summary  # doctest: +SKIP
    >>> tree = to_arviz(lda)  # doctest: +SKIP
    >>> summary(tree)  # doctest: +SKIP
    >>> summary(tree, group="sample_stats")  # doctest: +SKIP
    """
    described = Description.of(estimator)
    model, traces, n_burn_in = _traces(described.estimator)
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise ImportError('to_arviz needs ArviZ: pip install "sklda[diagnostics]"') from error
    draws = {name: draws_after(n_burn_in, trace) for name, trace in traces.items()}
    n_draws = min(each.shape[1] for each in draws.values())
    sweeps = n_burn_in + 1 + np.arange(n_draws)
    stats = {"sample_stats": {name: each[:, :n_draws] for name, each in draws.items()}}
    tree = from_dict(stats, coords={"draw": sweeps})
    if getattr(model, "_chains", None) is not None:
        posterior, dims, kept = _posterior(model, traces)
        coords = {"draw": kept, **_coordinates(described, model, dims)}
        tree["posterior"] = from_dict({"posterior": posterior}, coords=coords, dims=dims)["posterior"]
    return tree


def _posterior(model, traces):
    """Draws of parameters (n_chains, n_draws, ...) by name, the names of their other dimensions, and their sweeps.

    Chains that end after different sweeps have no sweeps in common, and their draws are numbered from zero.
    """
    results = model._chains
    shares = results.topic_shares()
    n_draws = min(map(len, shares))
    sweeps = np.array([each[-n_draws:] for each in results.share_sweeps])
    unknown = ~results.has_topics(model.topic_word_)

    def in_chains(chains):
        """The last draws of all chains, with the topics on the last axis."""
        found = np.array([each[-n_draws:] for each in chains], dtype=np.float64)
        place = (slice(None), *[None] * (found.ndim - 2), slice(None))
        return np.where(unknown[place], np.nan, found)

    found, dims = {"topic_share": in_chains(shares)}, {"topic_share": ["topic"]}
    if "collection_topic_draws_" in results.records[0]:
        mixtures = results.in_order("collection_topic_draws_", before=(slice(None), slice(None)))
        found["collection_topic"], dims["collection_topic"] = in_chains(mixtures), ["collection", "topic"]
    if "coef_draws_" in results.records[0]:
        for name in ("coef", "intercept"):
            own = results.in_order(f"{name}_draws_", before=(slice(None),))
            found[name] = np.moveaxis(in_chains([np.moveaxis(each, 1, -1) for each in own]), -1, 2)
        dims |= {"coef": ["topic", "term"], "intercept": ["topic"]}
    for name in sorted(traces.keys() - _LABEL_FREE):
        found[name] = np.take_along_axis(traces[name], sweeps - 1, axis=1)
    return found, dims, sweeps[0] if (sweeps == sweeps[0]).all() else np.arange(n_draws)


def _coordinates(described, model, dims):
    """The names of topics, collections and terms."""
    n_topics = len(model.components_)
    names = topic_names(model, n_topics, described.topic_names)
    known = {
        "topic": np.arange(n_topics) if names is None else names,
        "collection": [str(label) for label in getattr(model, "collections_", [])],
        "term": [str(name) for name in getattr(model, "covariate_names_", [])],
    }
    return {name: known[name] for name in {each for own in dims.values() for each in own}}


def _traces(estimator):
    """The fitted model, its traces, a dict of (n_chains, n_sweeps), and its number of sweeps before the draws."""
    # A variational fit has a trace of its bound, but no chain.
    needed = ("log_joint_trace_", "topic_assignments_")
    model = fitted(estimator, needed, "chains here", "give a fitted estimator that samples topics")
    traces = getattr(model, "traces_", {"log_joint": model.log_joint_trace_})
    return model, traces, getattr(model, "n_burn_in_", model.n_iter_ // 2)
