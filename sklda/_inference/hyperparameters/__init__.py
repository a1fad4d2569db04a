"""The priors h = (eta, alpha) by maximum marginal likelihood, and by EM.

In this package h, its logarithms and all arrays over grids have eta (``topic_word_prior``) first and alpha
(``doc_topic_prior``) second, as in George & Doss (2018). `sklda._marginal_likelihood` reverses the order for the public
interface, where alpha comes first.
"""
