"""The evidence log p(w | K, alpha, eta) of a corpus: theta, phi and z are integrated out.

- ``annealing``: guided annealed importance sampling, and annealing from the prior.
- ``topic_labels``: the mean over the permutations of the guide's topics, by a permanent.
- ``bennett``: annealing runs of one chain in both directions.
- ``estimates``: annealing from several chains, in several runs from each.
- ``combining``: log p(w | K) of one or several K by the runs of all chains, and its standard error.
"""
