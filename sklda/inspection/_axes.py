"""Axes, colours, marks and labels of plots. matplotlib is an optional dependency, imported by the first plot."""

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np

from sklda._input.warn import warn

# --- Colours and marks -------------------------------------------------------------------------------------------

# Okabe & Ito (2008): colours that colour-blind readers distinguish.
ORANGE, SKY, GREEN, PURPLE = "#e69f00", "#56b4e9", "#009e73", "#cc79a7"
BLUE, VERMILION, YELLOW = "#0072b2", "#d55e00", "#f0e442"
# Of single topics, the first for that which is to be seen first.
TOPIC_COLOURS = ORANGE, SKY, GREEN, PURPLE, BLUE, VERMILION, YELLOW
# Of groups and lines that are to be told apart, also without colours. Triangles mark intervals that are cut.
MARKERS = "o", "s", "D", "P", "X", "*", "p"


@dataclass(frozen=True)
class Colours:
    """Colours that are seen on a background."""

    ink: str  # marks on bars
    muted: str  # captions, and lines that are not to be seen first
    rule: str  # lines that lead the eye
    line: str  # estimates
    accent: str  # what is to be seen first
    fill: str  # bars
    uncertain: str  # bars of estimates that are not known well
    pale: str  # the area of an interval, behind bars
    series: tuple[str, ...]  # groups and lines that are to be told apart
    shades: tuple[float, float]  # of the colour map "Blues": of the smallest and of the largest value


_LIGHT = Colours(
    ink="#000000",
    muted="#444444",
    rule="#dddddd",
    line="#1f5a91",
    accent="#c1440e",
    fill="#4682b4",
    uncertain="#a9bfd3",
    pale="#f3d3c6",
    series=(BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY),
    # A pale one keeps the marks on top visible.
    shades=(0.0, 0.6),
)
_DARK = Colours(
    ink="#ffffff",
    muted="#bbbbbb",
    rule="#444444",
    line="#7fb8ea",
    accent="#ff9466",
    fill="#5089bd",
    uncertain="#35536d",
    pale="#5a3324",
    series=(SKY, ORANGE, "#4fd1a5", "#e8a5c9", YELLOW, "#ff8a5c"),
    shades=(1.0, 0.55),
)


def colours_of(ax):
    """The colours for the background of `ax`."""
    from matplotlib.colors import to_rgb, to_rgba

    *own, opacity = to_rgba(ax.get_facecolor())
    *behind, opacity_behind = to_rgba(ax.figure.get_facecolor())
    # Behind a transparent figure is a page on which its texts can be read.
    page = 0.0 if np.mean(to_rgb(pyplot().rcParams["text.color"])) > 0.5 else 1.0
    brightness = opacity * np.mean(own) + (1 - opacity) * (
        opacity_behind * np.mean(behind) + (1 - opacity_behind) * page
    )
    return _LIGHT if brightness > 0.5 else _DARK


def series_styles(ax, n):
    """A colour and a marker for each of n groups or lines. They can be told apart in greyscale by their markers."""
    series = colours_of(ax).series
    return [(series[i % len(series)], MARKERS[i % len(MARKERS)]) for i in range(n)]


def marks_along(i, n, n_points):
    """At which points of a line its markers are: a few, at other places than those of the n - 1 other lines."""
    step = max(n_points // 6, 1)
    return i * step // n, step


# --- Displays ----------------------------------------------------------------------------------------------------


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
        >>> from sklda.inspection import DocumentTopicsDisplay
        >>> display = DocumentTopicsDisplay([("cat ", 0), ("rate", 1)], ["0: cat dog", "1: bank rate"])
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
        fit_texts([ax])
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
        fit_texts(axes)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


# --- Texts -------------------------------------------------------------------------------------------------------

# Points of the widest names of rows.
NAME_WIDTH = 190
# Screens round the widths of characters.
_ROUNDING = 1.04
# The smallest labels of ticks, in points.
_SMALLEST = 5.0


def text_width(text, size):
    """The width of a text without formulas, in points, in the font of labels."""
    fonts = _fonts()
    return _ROUNDING * size * sum(_measured(c, fonts)[0] for c in text.replace(r"\$", "$"))


def _fonts():
    """Where characters are looked for: a key of what is known of them."""
    rc = pyplot().rcParams
    return tuple(rc["font.family"]), tuple(rc["font.sans-serif"])


@lru_cache(maxsize=10_000)
def _measured(character, fonts):
    """The width of a character, in units of the size of the font, and whether a box is in its place."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        width = text_to_path.get_text_width_height_descent(character, FontProperties(size=10), False)[0] / 10
    return width, any(str(each.message).startswith("Glyph") for each in said)


def wrapped(text, width, size, most_lines=2):
    """A text in lines that are at most so many points wide. What is left after the last line is an ellipsis.

    A line ends at a space, if it has one, and otherwise between two characters, as in Chinese. Dollar signs stay
    escaped, as `plain_text` leaves them.
    """
    rest, lines = text.replace(r"\$", "$").strip(), []
    while rest:
        n = _that_fit(rest, width, size)
        if n == len(rest):
            lines.append(rest)
            break
        if len(lines) == most_lines - 1:
            n = _that_fit(rest, width - text_width("…", size), size)
            lines.append(rest[:n].rstrip() + "…")
            break
        space = rest.rfind(" ", 0, n + 1)
        # A word that is longer than a line is broken in any case.
        word = rest[space + 1 :].partition(" ")[0]
        cut = space if space > 0 and text_width(word, size) <= width else n
        lines.append(rest[:cut])
        rest = rest[cut:].lstrip()
    return "\n".join(lines).replace("$", r"\$")


def _that_fit(text, width, size):
    """How many of the first characters are at most so wide together, but at least one."""
    widths = np.cumsum([text_width(c, size) for c in text])
    return max(int(np.searchsorted(widths, width, side="right")), 1)


def names_size(names):
    """Inches that names beside rows need, and the number of lines that the longest has there, one or two."""
    widest = max((text_width(name, 10) for name in names), default=0)
    return min(widest, NAME_WIDTH) / 72 + 0.15, 1 if widest <= NAME_WIDTH else 2


def fit_texts(axes):
    """Break titles and labels that are longer than their axes, and keep labels of ticks from lying on each other."""
    lay_out(axes)
    is_broken = False
    for ax in axes:
        width, height = size_in_points(ax)
        for text in (*_titles(ax), ax.xaxis.label):
            is_broken |= _break_lines(text, width)
        is_broken |= _break_lines(ax.yaxis.label, height)
    if is_broken:
        # More lines leave less room.
        _draw(axes)
    for ax in axes:
        for axis in (ax.xaxis, ax.yaxis):
            _keep_apart(axis)
    _warn_of_missing_characters(axes[0].figure)


def _warn_of_missing_characters(figure):
    """One warning of the characters that no font has, in place of that of matplotlib for each of them."""
    from matplotlib.text import Text

    shown = {c for text in figure.findobj(Text) for c in text.get_text() if c.isprintable() and not c.isascii()}
    missing = sorted(c for c in shown if _measured(c, _fonts())[1])
    if missing:
        warn(
            f"The fonts of plots lack {len(missing)} characters, such as {missing[0]!r}, which are shown as boxes: "
            "name an installed font that has them, as in plt.rcParams['font.family'] = ['DejaVu Sans', 'Noto Sans CJK "
            'SC\']. The page "Labels by a language model, fonts for plots" lists some.'
        )
        glyphs = "|".join(str(ord(c)) for c in missing)
        warnings.filterwarnings("ignore", rf"Glyph ({glyphs}) ", UserWarning)


def lay_out(axes):
    """Let the layout say how large axes are. Titles that are not broken yet would move them."""
    titles = [title for ax in axes for title in _titles(ax)]
    for each in titles:
        each.set_visible(False)
    _draw(axes)
    for each in titles:
        each.set_visible(True)


def _draw(axes):
    figure = axes[0].figure.canvas.figure
    layout = figure.get_layout_engine()
    with warnings.catch_warnings():
        # What matplotlib has to say of fonts and sizes it says when the figure is shown or saved.
        warnings.simplefilter("ignore")
        # The sizes of axes are known without the rest of a drawing, which takes half of the time.
        figure.draw_without_rendering() if layout is None else layout.execute(figure)


def size_in_points(ax):
    """Width and height of axes."""
    return ax.get_window_extent().size * 72 / ax.figure.dpi


def _titles(ax):
    from matplotlib.text import Text

    return [each for each in ax.get_children() if isinstance(each, Text) and each not in ax.texts]


def _break_lines(text, length):
    """Break the lines of a text that are longer than so many points; whether there are any. Formulas stay."""
    shown, size = text.get_text(), text.get_fontsize()
    if "$" in shown.replace(r"\$", "") or all(text_width(line, size) <= length for line in shown.split("\n")):
        return False
    text.set_text("\n".join(wrapped(line, length, size, most_lines=3) for line in shown.split("\n")))
    return True


def _keep_apart(axis):
    """Make labels that were written at ticks smaller, until they have room; the smallest are at every nth tick."""
    from matplotlib.ticker import FixedLocator

    if not isinstance(axis.get_major_locator(), FixedLocator):
        return
    labels = [each for each in axis.get_ticklabels() if each.get_text() and each.get_visible()]
    if len(labels) < 2:
        return
    boxes = np.array([each.get_window_extent().get_points() for each in labels])[..., int(axis.axis_name == "y")]
    boxes = boxes[np.argsort(boxes[:, 0])]
    middles, sizes = boxes.mean(axis=1), np.ptp(boxes, axis=1)
    excess = ((sizes[1:] + sizes[:-1]) / 2 / np.maximum(np.diff(middles), 1e-9)).max()
    if excess <= 1:
        return
    size = labels[0].get_fontsize()
    smaller = max(size / excess, min(_SMALLEST, size))
    every = int(np.ceil(excess * smaller / size - 1e-9))
    texts = [each.get_text() for each in axis.get_ticklabels()]
    axis.set_ticks(axis.get_majorticklocs(), [t if i % every == 0 else "" for i, t in enumerate(texts)])
    axis.set_tick_params(labelsize=smaller)


def largest_of(n_shown, n_topics):
    """Says that not all topics are shown; empty if all are."""
    return "" if n_shown >= n_topics else f"the {n_shown} largest of {n_topics} topics"


# --- Parts of axes -----------------------------------------------------------------------------------------------


def style_bars(ax):
    """Horizontal bars from top to bottom, whose lengths are shares in percent."""
    ax.invert_yaxis()
    percent_axis(ax.xaxis)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)


def legend_below(ax, ncols=2):
    """Add a legend below the axes and the label of x, where it covers no part of the plot."""
    distance = 2.8 + 1.2 * (1 + ax.get_xlabel().count("\n"))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=distance, ncols=ncols, frameon=False)


def percent_axis(axis):
    """Ticks in percent, with as many decimals as they need."""
    axis.set_major_formatter(lambda x, _: f"{100 * x:.3g}%")
