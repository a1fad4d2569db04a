"""The papers' own ways, to repeat their tables: one module for each paper.

sklda has one good way for each task, and these are the others. Import the module of a paper by its name::

    sklda.papers.compound         George, Xia & Michailidis (2019): collections of documents that share topics
    sklda.papers.empirical_bayes  George & Doss (2018): the priors by serial tempering, full Bayes and EM
    sklda.papers.held_out         Foulds & Smyth (2014) and what they compare with: the likelihood of new documents
    sklda.papers.topic_count      Chen & Doss (2018): the number of topics by pseudo-marginal Metropolis-Hastings

They take the same models and counts as the rest of the package, which does not use them.
"""
