"""Plots of fitted estimators. They need matplotlib, which is imported by the first plot."""

from sklda.inspection._collections import CollectionTopicsDisplay, TopicWordsDisplay
from sklda.inspection._marginal_likelihood import MarginalLikelihoodDisplay, PosteriorExpectationDisplay
from sklda.inspection._topic_count import TopicCountDisplay

__all__ = [
    "CollectionTopicsDisplay",
    "MarginalLikelihoodDisplay",
    "PosteriorExpectationDisplay",
    "TopicCountDisplay",
    "TopicWordsDisplay",
]
