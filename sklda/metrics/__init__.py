"""Held-out likelihood of any topic model, scorers for searches and cross-validation, and scores of topics.

Everything here works on arrays (phi, alpha), or on a fitted model through ``components_`` and ``doc_topic_prior_``.
"""

from sklda.metrics._coherence import topic_coherence, topic_diversity
from sklda.metrics._evidence import log_evidence
from sklda.metrics._held_out import (
    compare_topic_models,
    held_out_curve,
    held_out_log_likelihood,
    leave_one_out_score,
    predictive_perplexity,
)
from sklda.metrics._scorers import (
    make_coherence_scorer,
    make_diversity_scorer,
    make_held_out_scorer,
    neg_ais_perplexity_scorer,
)

__all__ = [
    "compare_topic_models",
    "held_out_curve",
    "held_out_log_likelihood",
    "leave_one_out_score",
    "log_evidence",
    "make_coherence_scorer",
    "make_diversity_scorer",
    "make_held_out_scorer",
    "neg_ais_perplexity_scorer",
    "predictive_perplexity",
    "topic_coherence",
    "topic_diversity",
]
