"""Where pictures are drawn; matplotlib is imported when one is."""


def pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'sklda[plot]'.") from error
    return plt


def axes(ax):
    """The axes to draw on, made if there are none."""
    plt = pyplot()
    return plt.subplots(layout="constrained")[1] if ax is None else ax
