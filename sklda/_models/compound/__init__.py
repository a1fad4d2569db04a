"""Compound LDA: collections of documents share topics, and each collection has its own mixture of them.

The notation is that of George, Xia & Michailidis (2019). alpha is the Dirichlet parameter per topic of a mixture pi_j.
gamma is the concentration of the documents of a collection around pi_j. eta is the Dirichlet parameter per word of a
topic.
"""
