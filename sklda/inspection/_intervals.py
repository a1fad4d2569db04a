"""Estimates with their intervals in panels: rows of a category, points and curves on a scale, and a key to their marks.

Nothing is drawn outside `bounds`, the values that are possible or those of the axis. What is cut there has a mark. The
argument `key` is a dict from the meaning of a mark to an artist, which fills while the panels are drawn; `add_key`
shows it.
"""

from textwrap import wrap

import numpy as np

from sklda.inspection._axes import LINE, MUTED, percent_axis, pyplot

UNKNOWN, CUT, DOCUMENTS = "error unknown", "the interval goes on", "documents"
# Proportions, and their differences.
SHARES, DIFFERENCES = (0.0, 1.0), (-1.0, 1.0)
# Effects that are shrunk below this part get a note.
_SHRUNK = 0.9
# The rug lies below the axis, as parts of the height of the axes: its distance, and its longest line.
_GAP, _LONGEST = 0.02, 0.05
# Rows of a category that are in one column of panels.
_ROWS = 24
# Characters for each inch of a title, and of a key.
_CHARACTERS, _KEY_CHARACTERS = 12, 14


# --- Marks -------------------------------------------------------------------------------------------------------


def draw_points(ax, places, estimate, low, high, *, colour, bounds, key, horizontal=False, size=5.5):
    """Points with intervals at `places`. A point without an interval is open, and an arrow is where one is cut."""
    places, drawn = np.asarray(places), np.clip(estimate, *bounds)
    known, seen = np.isfinite(low) & np.isfinite(high), np.isfinite(drawn)
    ends = np.clip(low, *bounds), np.clip(high, *bounds)
    lines = ax.hlines if horizontal else ax.vlines
    lines(places[known], ends[0][known], ends[1][known], color=colour, lw=1.8)

    def points(chosen, values, marker, **style):
        x, y = (values, places[chosen]) if horizontal else (places[chosen], values)
        return ax.plot(x, y, marker, color=colour, clip_on=False, zorder=3, **style)[0]

    points(known & seen, drawn[known & seen], "o", markersize=size)
    if (seen & ~known).any():
        unknown = seen & ~known
        points(unknown, drawn[unknown], "o", markersize=size + 0.5, markerfacecolor="white", markeredgewidth=1.4)
        key[UNKNOWN] = _handle("o", markersize=6, markerfacecolor="white", markeredgewidth=1.4)
    with np.errstate(invalid="ignore"):
        cut = low < bounds[0], high > bounds[1]
    for chosen, bound, marker in zip(cut, bounds, "<>" if horizontal else "v^", strict=True):
        if chosen.any():
            points(chosen, np.full(chosen.sum(), bound), marker, markersize=6)
            key[CUT] = _handle(marker, markersize=6)


def draw_curve(ax, x, estimate, low, high, *, colour, bounds, key):
    """A curve with its band. It is dashed where its error is unknown, and dotted along a bound where it is cut."""
    known = np.isfinite(low) & np.isfinite(high)
    ax.fill_between(x, np.clip(low, *bounds), np.clip(high, *bounds), where=known, color=colour, alpha=0.18, lw=0)
    drawn = np.clip(estimate, *bounds)
    ax.plot(x, np.where(known, drawn, np.nan), color=colour, lw=1.8)
    if (np.isfinite(drawn) & ~known).any():
        ax.plot(x, np.where(known, np.nan, drawn), "--", color=colour, lw=1.4)
        key[UNKNOWN] = _handle("--")
    with np.errstate(invalid="ignore"):
        cut = low < bounds[0], high > bounds[1]
    for chosen, bound in zip(cut, bounds, strict=True):
        if chosen.any():
            ax.plot(x, np.where(chosen, bound, np.nan), ":", color=colour, lw=2.5, clip_on=False, zorder=3)
            key[CUT] = _handle(":", lw=2.5)


def draw_rug(ax, groups, colours, key):
    """Lines below the axis at the values of documents, the longer the more documents; a row for each of `groups`."""
    groups = [values for values in groups if len(values)]
    for place, (values, colour) in enumerate(zip(groups, colours, strict=False)):
        distinct, counts = np.unique(values, return_counts=True)
        top = -_GAP - place * (_LONGEST + _GAP / 2)
        lengths = _LONGEST * (0.4 + 0.6 * counts / counts.max())
        ax.vlines(distinct, top - lengths, top, color=colour, lw=0.7, clip_on=False, transform=ax.get_xaxis_transform())
        key[DOCUMENTS] = _handle("|", markersize=7)
    if groups:
        height = ax.get_window_extent().height * 72 / ax.figure.dpi
        ax.tick_params(axis="x", length=0, pad=3 + height * (_GAP + len(groups) * (_LONGEST + _GAP / 2)))


def _handle(style, **options):
    from matplotlib.lines import Line2D

    is_line = style in ("--", ":", "-")
    shape = {"linestyle": style} if is_line else {"linestyle": "", "marker": style}
    return Line2D([], [], color=MUTED, **shape, **options)


def group_handle(colour):
    """The entry of a group in a key."""
    handle = _handle("-", lw=2.5)
    handle.set_color(colour)
    return handle


def interval_handle(horizontal):
    """The entry of intervals in a key."""
    handle = _handle("_" if horizontal else "|", markersize=10, markeredgewidth=1.8)
    handle.set_color(LINE)
    return handle


def note_shrinkage(attenuation, key, what):
    """Add a note to a key if short documents shrink effects by much."""
    least, most = np.min(attenuation, initial=1), np.max(attenuation, initial=0)
    if least < _SHRUNK:
        parts = " to ".join(dict.fromkeys([f"{least:.0%}", f"{most:.0%}"]))
        key[f"short documents: {parts} of the {what} are left"] = _handle("")


# --- Panels ------------------------------------------------------------------------------------------------------


def new_scales(n):
    """Axes of a new figure for curves or points of n topics, which share both axes."""
    if n == 1:
        return new_panels(1, 1, 6.5, 3.4)
    columns = 2 if n in (2, 4) else 3
    return new_panels(n, columns, 8.4 / columns, 2.2 if n > columns else 2.7, sharex=True, sharey=True)


def new_rows(n, rows):
    """Axes of a new figure for n topics with so many rows each, below each other if there are few rows."""
    columns = 1 if n * rows <= _ROWS else min(n, 3)
    return new_panels(n, columns, 7.4 if columns == 1 else 2.8, 0.4 + 0.23 * rows, sharex=True, sharey=n > 1)


def new_panels(n, columns, width, height, **shared):
    """Axes of a new figure, n of them in rows of `columns`, each of a width and height in inches."""
    rows = -(-n // columns)
    figure = pyplot().figure(figsize=(width * columns, height * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **shared).ravel()
    for ax in axes[n:]:
        ax.remove()
    return axes[:n]


def title_panel(ax, title):
    """The title of a panel at its left, in two lines if it is long."""
    width = ax.get_window_extent().width / ax.figure.dpi
    lines = wrap(title, max(int(_CHARACTERS * width), 12))
    ax.set_title("\n".join(lines[:2]) + ("…" if len(lines) > 2 else ""), loc="left", fontsize=10)


def label_panels(axes, xlabel, ylabel):
    """Labels of the axes at the left and at the bottom of panels that may be a grid with an incomplete last row."""
    specs = [ax.get_subplotspec() for ax in axes]
    for ax, spec in zip(axes, specs, strict=True):
        if spec is None or not any(_is_below(other, spec) for other in specs):
            ax.tick_params(axis="x", labelbottom=True)
            ax.set_xlabel(xlabel)
        if spec is None or spec.is_first_col():
            ax.set_ylabel(ylabel)


def _is_below(other, spec):
    return (
        other is not None
        and other.get_gridspec() is spec.get_gridspec()
        and other.colspan.start == spec.colspan.start
        and other.rowspan.start >= spec.rowspan.stop
    )


def add_key(axes, key):
    """A legend with what the marks of panels mean: below them, if the figure makes room, and else in the last panel."""
    if not key:
        return None
    figure, style = axes[0].figure, {"frameon": False, "fontsize": 9}
    handles, labels = list(key.values()), list(key)
    if figure.get_constrained_layout():
        columns = int(figure.get_figwidth() * _KEY_CHARACTERS // (6 + max(map(len, labels))))
        return figure.legend(handles, labels, loc="outside lower right", ncols=max(columns, 1), **style)
    return axes[-1].legend(handles, labels, **style)


def bounds_axis(axis, bounds):
    """Ticks in percent; those of differences have percentage points with a sign."""
    if bounds == SHARES:
        percent_axis(axis)
    else:
        axis.set_major_formatter(lambda x, _: _signed(100 * x))


def _signed(value):
    text = f"{value:+.3g}".replace("-", "−")
    return "0" if text[1:] == "0" else text


def style_rows(ax, labels, bounds):
    """Rows from top to bottom with their labels, and lines that lead the eye to them."""
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color="#dddddd", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    bounds_axis(ax.xaxis, bounds)


def date_axis(ax):
    """Few ticks at dates, with no more of each date than tells them apart."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=6)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
