"""The priors as George & Doss (2018) choose them, beside the method of `sklda.EmpiricalBayesLDA`.

- ``SerialTemperingLDA``, ``FullBayesLDA``: chains on (h, z), with h = (alpha, eta) on a grid, and posterior
  expectations of functionals with bands that hold for all h.
- ``GibbsEMLDA``, ``VariationalEMLDA``: expectation maximisation, without m(h) and without errors.
- ``PosteriorExpectationDisplay``: a posterior expectation as a function of one prior.
"""

from sklda.papers.empirical_bayes._em_estimators import GibbsEMLDA, VariationalEMLDA
from sklda.papers.empirical_bayes._grid_estimators import FullBayesLDA, SerialTemperingLDA
from sklda.papers.empirical_bayes._posterior_expectation import PosteriorExpectationDisplay

__all__ = [
    "FullBayesLDA",
    "GibbsEMLDA",
    "PosteriorExpectationDisplay",
    "SerialTemperingLDA",
    "VariationalEMLDA",
]
