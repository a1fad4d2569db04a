"""The number of topics, with unknown shares: a mixture of finite mixtures above the documents.

T is the number of topics, pi are their shares and g is the Dirichlet parameter of pi. gamma is the concentration of the
documents around pi, and eta the Dirichlet parameter per word of a topic.
"""
