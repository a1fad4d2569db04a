"""Axes, colours and labels of plots. matplotlib is an optional dependency, imported by the first plot."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

# Okabe & Ito (2008): colours that colour-blind readers distinguish.
ORANGE, SKY, GREEN, PURPLE = "#e69f00", "#56b4e9", "#009e73", "#cc79a7"
BLUE, VERMILION, YELLOW = "#0072b2", "#d55e00", "#f0e442"
# Of single topics, the first for that which is to be seen first.
TOPIC_COLOURS = ORANGE, SKY, GREEN, PURPLE, BLUE, VERMILION, YELLOW
# Of lines that are to be told apart.
LINES = BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY
# Lines and bars of estimates, what is to be seen first, and what is not.
LINE, ACCENT, MUTED = "#1f5a91", "#c1440e", "#444444"
# A field of a heatmap without a value.
_NO_VALUE = "#dddddd"
# Topics of a heatmap that has names.
MOST_NAMES = 60


def pyplot():
    """matplotlib.pyplot, or an ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "sklda[plot]"') from error
    return plt


class Display:
    """A plot on one Axes. A subclass draws it, and says how large a new figure is."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: those of a new figure.

        Returns
        -------
        Self
            The display, with the artists as attributes.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from sklda.inspection import TopicSharesDisplay
        >>> display = TopicSharesDisplay([0.7, 0.3], ["0: cat dog", "1: bank rate"])
        >>> figure, ax = plt.subplots()
        >>> display.plot(ax).ax_ is ax
        True
        """
        return self._plot_on(ax)

    def _plot_on(self, ax, **options):
        plt = pyplot()
        if ax is None:
            ax = plt.subplots(figsize=self._figsize(), layout="constrained")[1]
        self._draw(ax, **options)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _figsize(self):
        """Width and height of a new figure in inches; None for those of matplotlib."""
        return None


class PanelsDisplay:
    """A plot on several Axes. A subclass says which panels there are, makes their Axes, and draws."""

    axes_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, default=None
            One for every panel, in the order of ``axes_``. None: those of a new figure.

        Returns
        -------
        Self
            The display, with the artists as attributes.

        Raises
        ------
        ValueError
            If `ax` does not hold one Axes for every panel.

        Examples
        --------
        >>> import numpy as np
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> from sklda.inspection import TopicEffectsDisplay, describe
        >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
        >>> named = describe(GibbsLDA(2, max_iter=50, random_state=0).fit(X), X, topic_names=["fruit", "cars"])
        >>> display = TopicEffectsDisplay.from_dates(named, dates=1990 + np.arange(60) // 6, random_state=0)
        >>> len(display.plot().axes_)  # once more, in a new figure
        2
        """
        return self._plot_on(ax)

    def _plot_on(self, ax):
        n_panels, wanted = self._panels()
        axes = self._new_axes() if ax is None else np.ravel(np.asarray(ax, object))
        if len(axes) != n_panels:
            raise ValueError(f"ax must hold {wanted}; got {len(axes)}.")
        self._draw(axes)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


class HeatmapDisplay(Display):
    """Topics by topics, in the order of `order`, with `names` on the left and numbers below."""

    order: Sequence[int]
    names: Sequence[str]

    def _figsize(self):
        side = 0.27 * min(max(len(self.order), 8), 24)
        return side + 3.8, side + 0.9

    def _show(self, ax, values, label, extend="neither", **colours):
        """Draw a matrix (n_topics, n_topics) as `image_`, with a bar of its colours. `values` are in `order`.

        The diagonal, where each topic meets itself, has no colour of its own.
        """
        values = np.array(values, dtype=np.float64)
        np.fill_diagonal(values, np.nan)
        self.image_: Any = ax.imshow(values, **colours)
        ax.set_facecolor(_NO_VALUE)
        if len(self.order) <= MOST_NAMES:
            ax.set_yticks(range(len(self.order)), [self.names[k] for k in self.order], fontsize=8)
            ax.set_xticks(range(len(self.order)), self.order, fontsize=8, rotation=90)
        ax.tick_params(length=0)
        ax.figure.colorbar(self.image_, ax=ax, label=label, extend=extend, shrink=0.8)


def distinct_colours(n):
    """A colour for each of n lines."""
    if n <= len(LINES):
        return list(LINES[:n])
    return list(pyplot().get_cmap("tab10" if n <= 10 else "turbo")(np.linspace(0, 1, max(n, 10)))[:n])


def style_bars(ax):
    """Horizontal bars from top to bottom, whose lengths are shares in percent."""
    ax.invert_yaxis()
    percent_axis(ax.xaxis)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)


def legend_below(ax, ncols=2):
    """Add a legend below the axes, where it covers no part of the plot."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=4, ncols=ncols, frameon=False)


def percent_axis(axis):
    """Ticks in percent, with as many decimals as they need."""
    axis.set_major_formatter(lambda x, _: f"{100 * x:.3g}%")
