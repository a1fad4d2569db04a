"""Axes for plots. matplotlib is an optional dependency, imported by the first plot."""


def pyplot():
    """matplotlib.pyplot, or an ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'sklda[plot]'.") from error
    return plt


def axes(ax):
    """The axes to draw on: `ax`, or the axes of a new figure if `ax` is None."""
    plt = pyplot()
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def style_bars(ax):
    """Horizontal bars from top to bottom, whose lengths are shares in percent."""
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)


def plain_text(name, most=40):
    """A name as matplotlib shows it without formulas, at most `most` characters long."""
    text = "".join(c if c.isprintable() else "?" for c in str(name))
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text.replace("$", r"\$")
