"""Pictures of what the estimators found; matplotlib is imported when one is drawn."""

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
