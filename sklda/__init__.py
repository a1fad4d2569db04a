"""Latent Dirichlet allocation with honest uncertainty, as scikit-learn estimators over exact Gibbs kernels.

Three floors; imports go down only::

    estimators     _base  _gibbs  _compound               parameters and fitted results; they decide nothing of sampling
                   metrics                                held-out likelihood, scorers, comparison; of any topic model
                   inspection                             displays
                   datasets                               corpora, bundled and simulated
    ---------------------------------------------------------------------------------------------------------------------
    inference      corpus  priors  random                 what a chain is made of
                   chain                                  GibbsChain: z, counts, priors, stream; chains side by side
                   point_estimates  fold_in               theta and phi from z; theta of new documents
                   compound                               collections: their mixtures by chains,
                   compound_priors                        gamma, eta and alpha, and
                   compound_variational                   a variational bound
                   held_out  model_comparison  coherence  log p(w_d | phi, alpha) of documents, and what scores topics
    ---------------------------------------------------------------------------------------------------------------------
    _kernels       Cython, no GIL, arrays in and arrays out

The way of the data: text, ``CountVectorizer``, counts, ``Corpus``, ``GibbsChain``, point estimates, fitted attributes.
"""

from importlib.metadata import version

from sklda import datasets, metrics
from sklda._compound import CompoundLDA
from sklda._gibbs import GibbsLDA
from sklda.inference.point_estimates import point_estimates

__version__ = version("sklda")
__all__ = ["CompoundLDA", "GibbsLDA", "datasets", "metrics", "point_estimates"]
