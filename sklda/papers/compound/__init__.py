"""Compound LDA as George, Xia & Michailidis (2019) fit it, beside the sampler that `sklda.CompoundLDA` has.

- ``langevin``: a Metropolis-adjusted Langevin step for the mixtures (MGS, section 3.1.2).
- ``variational_em``: ascent on a lower bound of log p(w) (VEM, appendix E).
"""

from sklda.papers.compound._langevin import langevin
from sklda.papers.compound._variational import variational_em

__all__ = ["langevin", "variational_em"]
