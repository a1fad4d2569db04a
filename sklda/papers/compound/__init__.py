"""Compound LDA as George, Xia & Michailidis (2019) fit it, beside the sampler that `sklda.CompoundLDA` has.

- ``LangevinCompoundLDA``: a Metropolis-adjusted Langevin step for the mixtures (MGS, section 3.1.2).
- ``VariationalCompoundLDA``: ascent on a lower bound of log p(w) (VEM, appendix E).
"""

from sklda.papers.compound._langevin import LangevinCompoundLDA
from sklda.papers.compound._variational import VariationalCompoundLDA

__all__ = ["LangevinCompoundLDA", "VariationalCompoundLDA"]
