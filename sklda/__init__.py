"""Latent Dirichlet allocation with honest uncertainty, as scikit-learn estimators over exact Gibbs kernels.

Three floors; imports go down only, and on the middle floor a room imports from the rooms above it in this list::

    sklda            estimators          _base  _gibbs  _empirical_bayes  _topic_count  _compound
                     their progress      _callbacks
                     collections         _collections  _labels
                     m(alpha, eta)       _marginal_likelihood
      metrics        of documents        _held_out  _predictive  _comparison  _learning_curve  _leave_one_out
                     of K, of topics     _evidence  _coherence
                     for searches        _scorers
                     their arguments     _models  _checks
      inspection     pictures            _axes  _collections  _marginal_likelihood  _topic_count
      datasets       corpora             _docstrings  _synthetic
        data         the script for one  make_docstrings
    ---------------------------------------------------------------------------------------------------------------------
      _inference     shared by all       counts  corpus  priors  rising  newton  gibbs_em  random  parallel  warn
        sampling     chains of z         collapsed  word_major  threaded  partitioned  blocked  choice
                     their beginning     initialisation
                     theta and phi       point_estimates  parameters
        held_out     new documents       fold_in  methods  ratio_ais
                     leave-one-out       leave_one_out
        evidence     log p(w | K)        annealing  topic_labels  permanent  cgs_transition  chib  harmonic_mean
                     from all chains     estimates  combining
        hyperparameters  m(eta, alpha)   empirical_bayes  settings  chain_pool  serial_tempering  tempered_stages
                         its surface     marginal_likelihood  maximum  ellipse  convergence  extension  disagreement
                         modes of z      placement  mode_search  burn_in  mode_evidence  subsampling
                     by EM               expectation_maximisation  gibbs_em  variational_em
        topic_count  p(T | w)            scan  candidates  evidence_by_count  pmmh  posterior
                     its models          count_prior  prior_rules  pruning  settings
        compound     collections         model  chain  augmented_gibbs  mmala  tail_counts  priors  driver
                     a lower bound       variational  variational_mixtures
    ---------------------------------------------------------------------------------------------------------------------
      _kernels       Cython, no GIL, arrays in and arrays out

The way of the data: text, ``CountVectorizer``, counts, ``Corpus``, ``GibbsChain``, point estimates, fitted attributes.
"""

from importlib.metadata import version

from sklda import datasets, inspection, metrics
from sklda._compound import CompoundLDA
from sklda._empirical_bayes import EmpiricalBayesLDA
from sklda._gibbs import GibbsLDA
from sklda._inference.sampling.point_estimates import point_estimates
from sklda._topic_count import TopicCountLDA

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
