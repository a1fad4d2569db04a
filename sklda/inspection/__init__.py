"""Tables, plots and an interactive page of fitted topic models.

Tables are data frames of pandas. matplotlib and arviz-base are imported when they are needed.
"""

from sklda.inspection._coding import CodingTask
from sklda.inspection._coding_results import CodingResults
from sklda.inspection._contrast import contrast_topics
from sklda.inspection._convergence import ConvergenceDisplay, to_arviz
from sklda.inspection._correlation import topic_correlation
from sklda.inspection._describe import describe
from sklda.inspection._document_topics import DocumentTopicsDisplay
from sklda.inspection._explorer import TopicExplorer
from sklda.inspection._export import export_results
from sklda.inspection._group_words import group_words
from sklda.inspection._marginal_likelihood import MarginalLikelihoodDisplay
from sklda.inspection._outcome_effects import outcome_effects
from sklda.inspection._permutation_test import permutation_test
from sklda.inspection._pyldavis import to_pyldavis
from sklda.inspection._tables import document_table, top_documents
from sklda.inspection._tokens import token_topics
from sklda.inspection._topic_check import topic_check
from sklda.inspection._topic_count import TopicCountDisplay
from sklda.inspection._topic_counts import TopicCountComparison, compare_topic_counts
from sklda.inspection._topic_drift import topic_drift
from sklda.inspection._topic_effects import topic_effects
from sklda.inspection._topic_effects_display import TopicEffectsDisplay
from sklda.inspection._topic_table import topic_table
from sklda.inspection._topic_words import TopicWordsDisplay
from sklda.inspection._topics_by_group import topics_by_group
from sklda.inspection._topics_over_time import topics_over_time

__all__ = [
    "CodingResults",
    "CodingTask",
    "ConvergenceDisplay",
    "DocumentTopicsDisplay",
    "MarginalLikelihoodDisplay",
    "TopicCountComparison",
    "TopicCountDisplay",
    "TopicEffectsDisplay",
    "TopicExplorer",
    "TopicWordsDisplay",
    "compare_topic_counts",
    "contrast_topics",
    "describe",
    "document_table",
    "export_results",
    "group_words",
    "outcome_effects",
    "permutation_test",
    "to_arviz",
    "to_pyldavis",
    "token_topics",
    "top_documents",
    "topic_check",
    "topic_correlation",
    "topic_drift",
    "topic_effects",
    "topic_table",
    "topics_by_group",
    "topics_over_time",
]
