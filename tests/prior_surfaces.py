"""Surfaces of log m(h) of tiny corpora in rational arithmetic, and how far estimates are from them.

Values of log m(h) / m(1, 1) are exact to all digits shown.
"""

import numpy as np

from sklda._core.count_histograms import CountHistograms

REGION = ((0.05, 10.0), (0.05, 10.0))
# By corpus (documents, V, K): log m(eta, alpha) - log m(1, 1), with a row for each alpha and a column for each eta.
_SURFACES = [
    ([[0, 0, 0, 0, 1], [2, 2, 2, 3, 3], [0, 1, 0, 2, 2]], 4, 2, (0.1, 0.5, 5), {
        0.1: (-1.163010288211181, 0.346697889638167, 0.177210205989501),
        0.5: (-1.147436396424659, 0.112101795272264, 0.059477869766606),
        5: (-2.413516257122552, -0.748456973444589, -0.099234141285876),
    }),
    ([[0, 0, 2], [2, 2, 0], [0, 2, 2], [0, 0, 0], [2, 2, 1]], 3, 2, (0.1, 0.5, 5), {
        0.1: (-1.918024258343708, -0.274019200119057, -0.403444104712339),
        0.5: (-0.916281319594125, -0.055952344807398, -0.430353961929474),
        5: (-0.434966851381976, 0.006512460866367, -0.473808582152249),
    }),
    ([[0, 1, 0], [2, 3, 2], [0, 1, 2], [3, 2, 0]], 4, 2, (0.1, 0.5, 5), {
        0.1: (-3.989273462404870, -1.066941213100910, 0.737896468597751),
        0.5: (-3.009132347930565, -0.749717656423576, 0.771626388598154),
        5: (-2.605084384548348, -0.515152890035221, 0.810577120147009),
    }),
    ([[0, 0, 0], [1, 1, 1], [2, 2, 0], [1, 1, 2]], 3, 3, (0.1, 0.5, 5), {
        0.1: (0.780843137725360, 0.946716896956784, 0.307803284970207),
        0.5: (0.599321380371758, 0.367192885326939, 0.133222602114354),
        5: (-0.836846704158282, -0.587043728354695, -0.036338711176411),
    }),
    ([[0, 0, 1], [1, 2, 2], [0, 0, 2]], 3, 2, (0.1, 0.3, 1), {
        0.1: (-2.741220785471, -1.230312903922, -0.104853402456),
        0.3: (-2.090118220698, -0.954862452314, -0.046803908627),
        1: (-1.625575829084, -0.735363335955, 0.000000000000),
        3: (-1.522834073754, -0.687823765240, 0.008190037513),
    }),
]  # fmt: skip
SURFACES = [
    (*model, [(eta, alpha, value) for alpha, row in rows.items() for eta, value in zip(etas, row, strict=True)])
    for *model, etas, rows in _SURFACES
]


def largest_z(table, *curves):
    """Of the mean error of independent estimates."""
    eta, alpha, exact = np.array(table).T
    away = (eta != 1) | (alpha != 1)
    value, std = np.swapaxes([curve.log_ratio(alpha[away], eta[away], (1.0, 1.0)) for curve in curves], 0, 1)
    # Where hardly a draw reaches, no error is claimed; that may happen at few points.
    assert np.isfinite(std).mean() > 0.6
    return np.abs((value - exact[away]).sum(axis=0) / np.sqrt((std**2).sum(axis=0))).max()


def without_lengths(histograms, alpha, order=0, right=CountHistograms.doc_part):
    """A wrong `CountHistograms.doc_part`, without the part of the lengths of documents."""
    of_lengths = histograms.lengths.sum_of_log_rising(np.asarray(alpha) * histograms.totals.shape[1], order)
    return right(histograms, alpha, order) + of_lengths
