"""Held-out likelihood of topic models, comparison, scorers for searches, and coherence, diversity and
exclusivity of topics.

Functions take the model first, then documents. The model is a fitted topic model (with ``components_`` and
``doc_topic_prior_``), a pipeline or search that has one, or a pair of arrays (topic_word, doc_topic_prior). With a
pipeline, X is what the pipeline takes. Functions that need only topics also take the array topic_word alone.
"""

from sklda.metrics._coherence import topic_coherence, topic_diversity
from sklda.metrics._comparison import compare_topic_models
from sklda.metrics._exclusivity import topic_exclusivity
from sklda.metrics._held_out import held_out_log_likelihood
from sklda.metrics._matching import match_topics
from sklda.metrics._new_topics import compare_new_topics
from sklda.metrics._scorers import (
    make_coherence_scorer,
    make_held_out_scorer,
    neg_ais_perplexity_scorer,
)
from sklda.metrics._word_association import word_association

__all__ = [
    "compare_new_topics",
    "compare_topic_models",
    "held_out_log_likelihood",
    "make_coherence_scorer",
    "make_held_out_scorer",
    "match_topics",
    "neg_ais_perplexity_scorer",
    "topic_coherence",
    "topic_diversity",
    "topic_exclusivity",
    "word_association",
]
