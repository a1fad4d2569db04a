"""The priors as George & Doss (2018) choose them, beside the method of `sklda.EmpiricalBayesLDA`.

- ``serial_tempering``, ``full_bayes``: chains on (h, z), with h = (alpha, eta) on a grid, and posterior expectations of
  functionals with bands that hold for all h.
- ``gibbs_em``, ``variational_em``: expectation maximisation, without m(h) and without errors.
"""

from sklda.papers.empirical_bayes._em import gibbs_em, variational_em
from sklda.papers.empirical_bayes._grid_priors import full_bayes, serial_tempering

__all__ = ["full_bayes", "gibbs_em", "serial_tempering", "variational_em"]
