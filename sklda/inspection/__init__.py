"""Plots of fitted estimators, and their chains for ArviZ. matplotlib and arviz-base are imported when needed."""

from sklda.inspection._collections import CollectionTopicsDisplay, TopicWordsDisplay
from sklda.inspection._convergence import ConvergenceDisplay, to_arviz
from sklda.inspection._marginal_likelihood import MarginalLikelihoodDisplay, PosteriorExpectationDisplay
from sklda.inspection._topic_count import TopicCountDisplay

__all__ = [
    "CollectionTopicsDisplay",
    "ConvergenceDisplay",
    "MarginalLikelihoodDisplay",
    "PosteriorExpectationDisplay",
    "TopicCountDisplay",
    "TopicWordsDisplay",
    "to_arviz",
]
