"""Display of a posterior expectation as a function of one prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sklda._core.arguments import check_choice
from sklda._core.types import Model, Values
from sklda.inspection._axes import Display, colours_of, legend_below, marks_along, series_styles
from sklda.inspection._prior_axes import LABELS, PRIORS, log_axis, read_curve


@dataclass(eq=False, repr=False, kw_only=True)
class PosteriorExpectationDisplay(Display):
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
    sklda.inspection.MarginalLikelihoodDisplay : The marginal likelihood as a function of the priors.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.papers.empirical_bayes import PosteriorExpectationDisplay
    >>> alpha = np.geomspace(0.05, 0.5, 25)
    >>> value = np.stack([alpha, alpha**2])
    >>> display = PosteriorExpectationDisplay(
    ...     name="distance", along="doc_topic_prior", priors=alpha, fixed=[0.7, 1.0], value=value, low=value - 0.1,
    ...     high=value + 0.1,
    ... )
    >>> len(display.plot().lines_)
    2
    """

    name: str
    along: Literal["doc_topic_prior", "topic_word_prior"]
    priors: Values
    fixed: Values
    value: Values
    low: Values
    high: Values
    maximum: tuple[float, float] | None = None

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
        estimator : SerialTemperingLDA or FullBayesLDA
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
            None: those of a new figure.

        Returns
        -------
        PosteriorExpectationDisplay

        Raises
        ------
        ValueError, TypeError
            If the model is not one that this function takes, or an argument does not fit it.

        Examples
        --------
        >>> from sklda.datasets import make_lda_corpus
        >>> from sklda.papers.empirical_bayes import FullBayesLDA, PosteriorExpectationDisplay
        >>> X = make_lda_corpus(60, 20, 2, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
        >>> def purity(doc_topic, topic_word):
        ...     return (doc_topic**2).sum(axis=1).mean()
        >>> lda = FullBayesLDA(2, max_iter=600, functionals={"purity": purity}, random_state=0).fit(X)
        >>> len(PosteriorExpectationDisplay.from_estimator(lda, "purity").lines_)
        1
        """
        model, maximum, values = read_curve(estimator, region, n_points)
        if not hasattr(model, "posterior_expectation"):
            raise TypeError(
                f"{type(model).__name__} has no posterior expectations: give a fitted SerialTemperingLDA or "
                "FullBayesLDA."
            )
        axis = PRIORS.index(check_choice(along, "along", PRIORS))
        priors = values[axis]
        fixed = np.atleast_1d(np.asarray(maximum[1 - axis] if fixed is None else fixed, dtype=np.float64))
        varied, other = np.meshgrid(priors, fixed)
        h = (varied, other) if axis == 0 else (other, varied)
        value, low, high = model.posterior_expectation(name, *h, level=level)
        return cls(
            name=name, along=along, priors=priors, fixed=fixed, value=value, low=low, high=high, maximum=maximum
        ).plot(ax)

    def _draw(self, ax):
        axis = PRIORS.index(check_choice(self.along, "along", PRIORS))
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        x = np.asarray(self.priors)
        other = LABELS[PRIORS[1 - axis]].split()[1]
        ax.set_xscale("log")
        n = len(self.fixed)
        bands = zip(self.fixed, self.value, self.low, self.high, strict=True)
        for i, (at, value, low, high) in enumerate(bands):
            color, marker = series_styles(ax, n)[i]
            known = np.isfinite(low) & np.isfinite(high)
            marks = {"marker": marker, "markersize": 6, "markevery": marks_along(i, n, len(x))} if n > 1 else {}
            label = f"{other} = {at:.3g}"
            (line,) = ax.plot(x, np.where(known, value, np.nan), color=color, lw=2.2, label=label, **marks)
            ax.plot(x, value, ":", color=color, lw=0.8)
            band = ax.fill_between(x, low, high, where=known, color=color, alpha=0.12, lw=0)
            # Where bands overlap, their edges tell them apart.
            for edge in (low, high):
                ax.plot(x, np.where(known, edge, np.nan), color=color, lw=0.9, alpha=0.8)
            self.lines_.append(line)
            self.bands_.append(band)
        if self.maximum is not None:
            ax.axvline(
                self.maximum[axis], color=colours_of(ax).muted, lw=1.2, ls="--", label="largest marginal likelihood"
            )
        ax.set(xlim=(x[0], x[-1]), xlabel=LABELS[self.along], ylabel=f"posterior expectation of {self.name}")
        log_axis(ax.xaxis)
        legend_below(ax)
