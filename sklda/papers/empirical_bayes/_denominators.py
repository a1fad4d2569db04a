"""The denominators of an estimate of m(h) from draws on a grid: the density of their distribution."""

import numpy as np
from scipy.special import logsumexp, softmax

from sklda._core.count_histograms import CountHistograms
from sklda.papers.empirical_bayes._grid import DirichletDraws, Grid


def mixture_denominators(draws: CountHistograms | DirichletDraws, grid: Grid) -> np.ndarray:
    """log of (1 / J) sum_j p(w, z_i | h_j) / zeta_j: equation 2.10."""
    doc = draws.doc_part(grid.alphas)
    word = draws.word_part(grid.etas)
    log_p = (logsumexp(doc[i][:, None] + word[i] - grid.log_zeta) for i in range(len(draws)))
    return np.fromiter(log_p, float, len(draws)) - np.log(grid.log_zeta.size)


def component_denominators(draws: CountHistograms | DirichletDraws, grid: Grid, at: list) -> np.ndarray:
    """log of p(w, z_i | h_j) / zeta_j at the draw's own grid point j: equation 2.17."""
    rows = np.arange(len(draws))
    i, j = np.asarray(at).T
    return draws.doc_part(grid.alphas)[rows, i] + draws.word_part(grid.etas)[rows, j] - grid.log_zeta[i, j]


def conditional_means(draws: CountHistograms | DirichletDraws, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Means of the full conditional of the grid point given every draw.

    The first result is its mean over the draws, (n_alphas, n_etas): the share of the draws at every point. The second
    has its means of log alpha and log eta for every draw, (n_draws, 2).
    """
    doc = draws.doc_part(grid.alphas)
    word = draws.word_part(grid.etas)
    occupancy = np.zeros(grid.shape)
    log_h = np.empty((len(draws), 2))
    for i in range(len(draws)):
        p = softmax(doc[i][:, None] + word[i] - grid.log_zeta)
        occupancy += p / len(draws)
        log_h[i] = p.sum(axis=1) @ np.log(grid.alphas), p.sum(axis=0) @ np.log(grid.etas)
    return occupancy, log_h
