"""An order of topics in which similar ones stand side by side."""

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform


def leaf_order(distances):
    """Topics in the order of the leaves of average linkage; close ones stand side by side where n is at most 500."""
    n = len(distances)
    if n < 2:
        return np.zeros(1, int)
    return leaves_list(linkage(squareform(distances, checks=False), "average", optimal_ordering=n <= 500))
