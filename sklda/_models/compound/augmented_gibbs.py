"""Augmented Gibbs sampling of the mixtures given z (George, Xia & Michailidis 2019, section 3.1.1).

Every token of topic k in document d adds one to the auxiliary count s_dk with probability a / (a + i). Here
a = gamma pi_jk, and i is the number of tokens of that topic before it in the document. Given these counts, pi_j is
Dirichlet(alpha + sum of s_dk over the documents of collection j), independently for each collection.
"""

from sklda._core import random


def draw_mixtures(rng, alpha, tables):
    """log pi given the auxiliary counts of every collection, (n_collections, n_components)."""
    return random.log_dirichlet(rng, alpha + tables)
