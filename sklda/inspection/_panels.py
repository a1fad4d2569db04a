"""Estimates with their intervals in panels: rows of a category, points and curves on a scale, and a key to their marks.

Nothing is drawn outside `bounds`, the values that are possible or those of the axis. What is cut there has a mark. The
argument `key` is a dict from the meaning of a mark to an artist, which fills while the panels are drawn; `add_key`
shows it.
"""

import numpy as np

from sklda.inspection._axes import (
    NAME_WIDTH,
    colours_of,
    lay_out,
    marks_along,
    names_size,
    percent_axis,
    pyplot,
    size_in_points,
    text_width,
    wrapped,
)

UNKNOWN, CUT, DOCUMENTS = "error unknown", "the interval goes on", "documents"
# Proportions, and their differences.
SHARES, DIFFERENCES = (0.0, 1.0), (-1.0, 1.0)
# Effects that are shrunk below this part get a note.
_SHRUNK = 0.9
# Opacity of the bands of curves.
_BAND = 0.18
# The rug lies below the axis, as parts of the height of the axes: its distance, and its longest line.
_GAP, _LONGEST = 0.02, 0.05
# Rows of a category that are in one column of panels.
_ROWS = 24
# Inches of a row: at most, at least, and of all rows of a panel as long as this allows.
_ROW, _SMALLEST_ROW, _ALL_ROWS = 0.23, 0.1, 11.0
# Inches of a key and of the label above it.
_KEY_HEIGHT = 0.75
# Points of the texts of a key, and of the mark and the gaps beside each.
_KEY_SIZE, _KEY_GAP = 9, 45
# Points: the smallest label of a row, and the longest label of a column that is written upwards.
_SMALLEST_LABEL, _COLUMN_NAME = 5.5, 110


# --- Marks -------------------------------------------------------------------------------------------------------


def draw_points(ax, places, estimate, low, high, *, colour, bounds, key, marker="o", horizontal=False, size=5.5):
    """Points with intervals at `places`. A point without an interval is open, and an arrow is where one is cut."""
    places, drawn = np.asarray(places), np.clip(estimate, *bounds)
    known, seen = np.isfinite(low) & np.isfinite(high), np.isfinite(drawn)
    ends = np.clip(low, *bounds), np.clip(high, *bounds)
    lines = ax.hlines if horizontal else ax.vlines
    if known.any():
        lines(places[known], ends[0][known], ends[1][known], color=colour, lw=1.8)
    is_open = {"markerfacecolor": ax.get_facecolor(), "markeredgewidth": 1.4}

    def points(chosen, values, marker, **style):
        x, y = (values, places[chosen]) if horizontal else (places[chosen], values)
        return ax.plot(x, y, marker, color=colour, clip_on=False, zorder=3, **style)[0]

    points(known & seen, drawn[known & seen], marker, markersize=size)
    if (seen & ~known).any():
        unknown = seen & ~known
        points(unknown, drawn[unknown], marker, markersize=size + 0.5, **is_open)
        key[UNKNOWN] = _handle(ax, "o", markersize=6, **is_open)
    with np.errstate(invalid="ignore"):
        cut = low < bounds[0], high > bounds[1]
    for chosen, bound, arrow in zip(cut, bounds, "<>" if horizontal else "v^", strict=True):
        if chosen.any():
            points(chosen, np.full(chosen.sum(), bound), arrow, markersize=6)
            key[CUT] = _handle(ax, arrow, markersize=6)


def draw_curve(ax, x, estimate, low, high, *, colour, bounds, key, marker=None, place=(0, 1)):
    """A curve with its band. It is dashed where its error is unknown, and dotted along a bound where it is cut.

    With a `marker`, the curve is the first of `place`, the number of a curve and that of all, and has a few of these.
    """
    known = np.isfinite(low) & np.isfinite(high)
    ax.fill_between(x, np.clip(low, *bounds), np.clip(high, *bounds), where=known, color=colour, alpha=_BAND, lw=0)
    drawn = np.clip(estimate, *bounds)
    marks = {"marker": marker, "markersize": 5, "markevery": marks_along(*place, len(x))}
    ax.plot(x, np.where(known, drawn, np.nan), color=colour, lw=1.8, **marks)
    if (np.isfinite(drawn) & ~known).any():
        ax.plot(x, np.where(known, np.nan, drawn), "--", color=colour, lw=1.4, **marks)
        key[UNKNOWN] = _handle(ax, "--")
    with np.errstate(invalid="ignore"):
        cut = low < bounds[0], high > bounds[1]
    for chosen, bound in zip(cut, bounds, strict=True):
        if chosen.any():
            ax.plot(x, np.where(chosen, bound, np.nan), ":", color=colour, lw=2.5, clip_on=False, zorder=3)
            key[CUT] = _handle(ax, ":", lw=2.5)


def draw_rug(ax, groups, styles, key):
    """Lines below the axis at the values of documents, the longer the more documents; a row for each of `groups`.

    Each row begins with the marker of its group.
    """
    groups = [(values, style) for values, style in zip(groups, styles, strict=False) if len(values)]
    across = ax.get_xaxis_transform()
    for place, (values, (colour, marker)) in enumerate(groups):
        distinct, counts = np.unique(values, return_counts=True)
        top = -_GAP - place * (_LONGEST + _GAP / 2)
        lengths = _LONGEST * (0.4 + 0.6 * counts / counts.max())
        ax.vlines(distinct, top - lengths, top, color=colour, lw=0.7, clip_on=False, transform=across)
        if len(groups) > 1:
            where = {"transform": ax.transAxes, "clip_on": False}
            ax.plot(-0.015, top - _LONGEST / 2, marker, color=colour, markersize=3.5, **where)
        key[DOCUMENTS] = _handle(ax, "|", markersize=7)
    if groups:
        height = size_in_points(ax)[1]
        ax.tick_params(axis="x", length=0, pad=3 + height * (_GAP + len(groups) * (_LONGEST + _GAP / 2)))


def _handle(ax, style, **options):
    from matplotlib.lines import Line2D

    is_line = style in ("--", ":", "-")
    shape = {"linestyle": style} if is_line else {"linestyle": "", "marker": style}
    return Line2D([], [], **{"color": colours_of(ax).muted, **shape, **options})


def group_handle(ax, colour, marker):
    """The entry of a group in a key."""
    return _handle(ax, "-", lw=2.5, color=colour, marker=marker, markersize=6)


def interval_handle(ax, kind):
    """The entry of intervals in a key: "|" or "_" beside points, or the "band" of a curve."""
    if kind == "band":
        return _handle(ax, "-", lw=9, alpha=2 * _BAND, solid_capstyle="butt")
    return _handle(ax, kind, markersize=10, markeredgewidth=1.8)


def note(ax, text, key):
    """Add a sentence to a key."""
    key[text] = _handle(ax, "")


def note_shrinkage(ax, attenuation, key):
    """Add a note to a key if short documents shrink effects by much."""
    least, most = np.min(attenuation, initial=1), np.max(attenuation, initial=0)
    if least < _SHRUNK:
        parts = " to ".join(dict.fromkeys([f"{100 * least:.0f}", f"{100 * most:.0f}"]))
        note(ax, f"short documents: {parts} % of the effects are left", key)


# --- Panels ------------------------------------------------------------------------------------------------------


def new_scales(n, labels=()):
    """Axes of a new figure for curves or points of n topics, which share both axes; `labels` are names below them."""
    if n == 1:
        return new_panels(1, 1, 6.5, 3.4)
    columns = 2 if n in (2, 4) else 3
    longest = max((text_width(label, 9) for label in labels), default=0)
    below = min(longest, _COLUMN_NAME) / 72 / -(-n // columns)
    return new_panels(n, columns, 8.4 / columns, below + (2.2 if n > columns else 2.7), sharex=True, sharey=True)


def new_rows(n, labels, rows_each=1):
    """Axes of a new figure for n topics with rows for each label, below each other if there are few rows."""
    rows = len(labels) * rows_each
    width, lines = names_size(labels)
    columns = 1 if n * rows <= _ROWS else n if rows > _ROWS and n <= 6 else min(n, 3)
    height = np.clip(
        _ALL_ROWS / max(rows, 1), _SMALLEST_ROW, _ROW if lines <= rows_each or rows > _ROWS else 1.5 * _ROW
    )
    # The names are on the left of the first column.
    each = width / columns + (4.8 if columns == 1 else 2.0 if columns <= 3 else 1.5)
    return new_panels(n, columns, each, 0.4 + height * rows, sharex=True, sharey=n > 1)


def new_panels(n, columns, width, height, **shared):
    """Axes of a new figure, n of them in rows of `columns`, each of a width and height in inches."""
    rows = -(-n // columns)
    figure = pyplot().figure(figsize=(width * columns, height * rows + _KEY_HEIGHT), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **shared).ravel()
    for ax in axes[n:]:
        ax.remove()
    return axes[:n]


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
    figure, style = axes[0].figure, {"frameon": False, "fontsize": _KEY_SIZE}
    handles, labels = list(key.values()), list(key)
    if figure.get_constrained_layout():
        width = 72 * figure.get_figwidth() - 10
        labels = [wrapped(label, width - _KEY_GAP, _KEY_SIZE, most_lines=3) for label in labels]
        widest = max(text_width(line, _KEY_SIZE) for label in labels for line in label.split("\n"))
        columns = int(width // (widest + _KEY_GAP))
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


def style_rows(ax, n_rows, bounds):
    """Rows from top to bottom, and lines that lead the eye to their labels."""
    ax.set_ylim(n_rows - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color=colours_of(ax).rule, lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    bounds_axis(ax.xaxis, bounds)


def name_rows(axes, labels):
    """The labels of the rows of panels, in two lines if there is room for them, and small ones if there is little."""
    _set_rows(axes, [wrapped(label, NAME_WIDTH, 10, 1) for label in labels], 8)
    lay_out(axes)
    width, height = size_in_points(axes[0])
    # The titles of the panels, of ten points, are above the rows.
    titles = max(wrapped(ax.get_title("left"), width, 10, 3).count("\n") + 1 for ax in axes)
    height = (height - 13 * titles - 6) / len(labels)
    size = float(np.clip(0.75 * height, _SMALLEST_LABEL, 10))
    _set_rows(axes, [wrapped(label, NAME_WIDTH, size, 2 if height > 2.3 * size else 1) for label in labels], size)


def _set_rows(axes, names, size):
    """Names at the rows. Axes that share their rows share the names, but not the size."""
    shared = axes[0].get_shared_y_axes()
    for ax in axes:
        if ax is axes[0] or not shared.joined(axes[0], ax):
            ax.set_yticks(range(len(names)), names)
        ax.tick_params(axis="y", labelsize=size)


def name_columns(ax, labels):
    """Labels below the axis in their order: in lines if there is room, and else upwards, as many as have room."""
    room, places = size_in_points(ax)[0] / len(labels), range(len(labels))
    words = [word for label in labels for word in label.split()]
    if all(text_width(word, 9) <= room - 6 for word in words):
        ax.set_xticks(places, [wrapped(label, room - 6, 9, 3) for label in labels], fontsize=9)
    else:
        size = float(np.clip(0.75 * room, 6, 9))
        every = int(np.ceil(1.3 * size / room))
        names = ["" if i % every else wrapped(label, _COLUMN_NAME, size, 1) for i, label in enumerate(labels)]
        ax.set_xticks(places, names, rotation=90, fontsize=size)
    ax.set_xlim(-0.5, len(labels) - 0.5)


def date_axis(ax):
    """Few ticks at dates, with no more of each date than tells them apart."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=7)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
