"""Latent Dirichlet allocation with honest uncertainty, as scikit-learn estimators over exact Gibbs kernels.

Three floors; imports go down only::

    estimators     _base  _gibbs  _empirical_bayes        parameters and fitted results; they decide nothing of sampling
                   _topic_count  _compound
                   metrics                                held-out likelihood, scorers, comparison; of any topic model
                   inspection                             pictures of results
                   datasets                               corpora, bundled and simulated
    ---------------------------------------------------------------------------------------------------------------------
    inference      topic_count  pmmh                      the posterior over the number of topics
                   evidence  permanent                    log p(w | alpha, eta, K) of a corpus
                   starts                                 where chains begin: random, annealed, merged from above
                   counts  corpus  priors  random         what a chain is made of
                   warn                                   warnings that point at the caller
                   chain                                  GibbsChain: z, counts, priors, stream; chains side by side
                   word_major  blocks                     the same for many topics; for several cores, phi drawn given z
                   samplers                               which of them a name stands for
                   point_estimates  fold_in               theta and phi from z; theta of new documents
                   compound                               collections: their mixtures by chains,
                   compound_priors                        gamma, eta and alpha, and
                   compound_variational                   a variational bound
                   held_out  model_comparison  coherence  log p(w_d | phi, alpha) of documents, and what scores topics
                   predictive                             p(w_d | the other documents), topics integrated out
                   tempering  pilots  subsampling         chains on (priors, z); where they start, and on what grid
                   marginal_likelihood  maximum           m(h) from their draws, its maximum and errors
                   empirical_bayes  expectation           what is run for that; both priors by EM
    ---------------------------------------------------------------------------------------------------------------------
    _kernels       Cython, no GIL, arrays in and arrays out

The way of the data: text, ``CountVectorizer``, counts, ``Corpus``, ``GibbsChain``, point estimates, fitted attributes.
"""

from importlib.metadata import version

from sklda import datasets, inspection, metrics
from sklda._compound import CompoundLDA
from sklda._empirical_bayes import EmpiricalBayesLDA
from sklda._gibbs import GibbsLDA
from sklda._topic_count import TopicCountLDA
from sklda.inference.point_estimates import point_estimates

__version__ = version("sklda")
__all__ = [
    "CompoundLDA",
    "EmpiricalBayesLDA",
    "GibbsLDA",
    "TopicCountLDA",
    "datasets",
    "inspection",
    "metrics",
    "point_estimates",
]
