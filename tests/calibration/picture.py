"""The picture of all cases: empirical distribution functions of the ranks, less the uniform one, with their bands."""

import numpy as np

from calibration.cases import N_DRAWS
from calibration.ranks import bands

_COLUMNS = 3


def draw(cases, path, level=1e-4):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "sklda"
    from matplotlib import pyplot as plt

    n_rows = -(-len(cases) // _COLUMNS)
    figure, axes = plt.subplots(n_rows, _COLUMNS, figsize=(9, 2.2 * n_rows), sharex=True, sharey=True, squeeze=False)
    at = np.arange(1, N_DRAWS + 1) / (N_DRAWS + 1)
    for ax, (name, case) in zip(axes.flat, cases.items(), strict=False):
        lower, upper = (np.array(each) / case["fits"] - at for each in bands(case["fits"], N_DRAWS, level))
        ax.fill_between(at, lower, upper, color="0.88", step=None)
        ax.axhline(0, color="0.6", linewidth=0.8)
        for found in case["quantities"].values():
            ax.plot(at, np.array(found["below"]) / case["fits"] - at, linewidth=1)
        ax.set_title(name, fontsize=9)
    for ax in axes.flat[len(cases) :]:
        ax.set_axis_off()
    figure.supxlabel("share of the draws below the true value", fontsize=9)
    figure.supylabel("difference from uniform", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
