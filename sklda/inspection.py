"""Displays of fitted topic models, after scikit-learn's convention. Needs matplotlib."""

import numpy as np

__all__ = ["CollectionTopicsDisplay", "TopicWordsDisplay"]


def _pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("displays need matplotlib: pip install 'sklda[plot]'.") from error
    return plt


def _topic_names(estimator, topics, n_words):
    """Numbers of topics with their likeliest words."""
    words = getattr(estimator, "feature_names_in_", None)
    return [
        f"{k}" if words is None else f"{k}: " + " ".join(words[np.argsort(-estimator.components_[k])[:n_words]])
        for k in topics
    ]
