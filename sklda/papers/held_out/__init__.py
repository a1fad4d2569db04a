"""The likelihood of new documents as papers estimate it: Foulds & Smyth (2014), and what they compare with.

- ``ratio_ais``: the ratio of two models by annealing from one to the other.
- ``held_out_curve``: iteration-AIS along the models of a fit.
- ``ais``, ``left_to_right``, ``particle_filter``, ``chib``: estimators of one model that other papers use.
- ``predictive_perplexity``: hidden words of documents, given their others, as in George, Xia & Michailidis (2019).
- ``leave_one_out_score``: each document given all others, the score of George & Doss (2018) and of Chen & Doss (2018).

`sklda.metrics` has what sklda recommends: guided annealed importance sampling.
"""

from sklda.papers.held_out._between_models import held_out_curve, ratio_ais
from sklda.papers.held_out._leave_one_out import leave_one_out_score
from sklda.papers.held_out._predictive import predictive_perplexity
from sklda.papers.held_out._single_models import ais, chib, left_to_right, particle_filter

__all__ = [
    "ais",
    "chib",
    "held_out_curve",
    "leave_one_out_score",
    "left_to_right",
    "particle_filter",
    "predictive_perplexity",
    "ratio_ais",
]
