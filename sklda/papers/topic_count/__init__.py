"""The number of topics as Chen & Doss (2018) choose it; `sklda.TopicCountLDA` has another model.

- ``pmmh``: pseudo-marginal Metropolis-Hastings over the number of topics (section 4.2).
- ``log_evidence``: the evidence of one number of topics at given priors, by annealing.
- ``log_evidence_by_sweeps``: the same by the transitions of a chain, Chib's method and harmonic means.
"""

from sklda.papers.topic_count._log_evidence import log_evidence, log_evidence_by_sweeps
from sklda.papers.topic_count._pmmh import pmmh

__all__ = ["log_evidence", "log_evidence_by_sweeps", "pmmh"]
