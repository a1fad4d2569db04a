"""Topic counts for the point estimates of one state."""

import numpy as np

from sklda._sampling.point_estimates import add_estimates


def estimate_counts(corpus, priors, topics, method="cgs_p"):
    """Those of documents, (n_documents, n_components), and of words, (n_components, n_features), without the priors."""
    doc_topic, topic_word = np.zeros((corpus.n_documents, priors.n_components)), np.zeros(priors.shape)
    add_estimates(corpus, priors, topics, doc_topic, topic_word, method)
    return doc_topic, topic_word
