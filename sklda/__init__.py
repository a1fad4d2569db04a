"""Latent Dirichlet allocation with measured uncertainty: scikit-learn estimators that use exact Gibbs samplers.

The package has three layers. A module imports only from its own layer and from lower ones. In the first layer,
``inspection`` imports from the estimators and ``metrics``, and the estimators from ``metrics``; ``metrics`` and
``datasets`` import only from lower layers. Inside ``_inference``, a folder imports only from the folders above it in
this list, and from the modules in the first line. No module imports itself by way of others::

    sklda            estimators          _base  _gibbs  _empirical_bayes  _topic_count  _compound  _labeled
                                          _collapsed_variational  _covariate
                     of several fits     _consensus  _consensus_fits
                     their fits          _fitting  _chain_results  _dask  _assignments
                     their parameters    _parameters
                     their progress      _callbacks  callbacks
                     their saved states  _persistence  _checkpoints
                     their topics        _topic_names  _merging
                     metadata            _metadata
                     collections         _labels  _compound_results
                     covariates          _design  _formulas
                     labels              _label_classifier  _label_targets  _label_results
                     m(alpha, eta)       _marginal_likelihood
      metrics        of documents        _held_out  _predictive  _comparison  _learning_curve  _leave_one_out
                     of K                _evidence  _topic_counts
                     of topics           _coherence  _exclusivity  _word_association  _matching
                     for searches        _scorers
                     their arguments     _models  _checks
      inspection     what they read      _view  _groups  _ranking  _names
                     in common           _parameters  _axes  _prior_axes
                     tables              _tables  _report  _tokens  _hierarchy  _fit_tree  _pyldavis  _label_words
                     a page              _texts  _explorer_data  _explorer
                     covariates          _effects  _topic_effects  _topic_effects_display
                     does a topic fit    _topic_check  _group_words  _contrast  _quality
                     plots               _topic_shares  _topic_words  _documents  _similarity  _correlation
                                         _document_topics  _collections  _convergence  _topic_count  _topic_counts
                                         _topic_flows
                                         _marginal_likelihood  _posterior_expectation
      datasets       corpora             _docstrings  _states  _synthetic  _tokens  _counts
        data         makes docstrings    make_docstrings
    ---------------------------------------------------------------------------------------------------------------------
      _inference     corpora             corpus  counts  arguments  names  dask_arrays
                     priors              priors  dirichlet  rising  count_histograms  newton  slice_sampling  gibbs_em
                     execution           random  parallel  progress  journal  checkpoint_folder  frames  warn
                     annotations         types
                     tables              records
                     convergence         diagnostics  rounding
                     of topics           distances  consensus_tree  consensus  composition  word_information
        sampling     chains of z         collapsed  word_major  partitioned  word_major_partitioned  grouped
                                         partially_collapsed  some_topics
                     in common           chain  threaded  blocked  count_rows  log_joint  choice  run_chains  steps
                     first states        initialisation  annealed_start
                     priors              prior_learning  prior_path  seed_words
                     theta and phi       point_estimates  draws  matching
                     phi of groups       group_words
        cluster      a chain on Dask     chain  actors  shard  shard_chain  tree
        variational  CVB0                batch  passes  stream  fixed_topics
                     in common           word_blocks  prior_learning
        held_out     theta               fold_in  token_topics
                     log p(w_d | phi)    log_likelihoods  ais  sequential  chib  exact
                     of hidden tokens    document_completion
                     comparisons         ratio_ais  leave_one_out
                     in common           document_block  averages
        evidence     log p(w | K)        annealing  topic_labels  permanent  cgs_transition  chib  harmonic_mean
                     from all chains     estimates  combining  bennett
        modes        groups of topics    groups  redraw
                     between modes       search  mode_evidence  initialisation
        hyperparameters  m(alpha, eta)   empirical_bayes  settings  chain_pool  skeleton  modes
                     its surface     marginal_likelihood  mixtures  batch_means  maximum  ellipse  convergence
                     on a grid       serial_tempering  observations  tempered_stages
                     by EM           expectation_maximisation  prior_steps  variational_em
        topic_count  p(T | w)            scan  curve  cost  pmmh  posterior
                     its models          runs  count_prior  prior_rules
        compound     collections         model  mixtures  augmented_gibbs  mmala  tail_counts  priors  driver
                     the HDP             hdp  merge_pass  concentrations
                     a lower bound       variational  variational_mixtures
        covariates   in the prior        model  coefficients  regression  terms
        labels       labels              open_topics  chain  fitting  label_topics
                     their prediction    dependency  selection
    ---------------------------------------------------------------------------------------------------------------------
      _kernels       Cython, no GIL, arrays in and arrays out

Data pass through these steps: texts, ``CountVectorizer``, counts, ``Corpus``, ``GibbsChain``, point estimates, fitted
attributes.
"""

from importlib.metadata import version
from pathlib import Path

try:
    from sklda._kernels import _tokens as _tokens
except ImportError as error:
    if (_folder := Path(__file__).resolve().parent.parent).joinpath("meson.build").exists():
        raise ImportError(
            f"{_folder} is the source tree of sklda, and its kernels are not compiled for this Python: install it with "
            f"`pip install {_folder}`, and start Python in another folder."
        ) from error
    raise

from sklda import callbacks, datasets, inspection, metrics
from sklda._collapsed_variational import CollapsedVariationalLDA
from sklda._compound import CompoundLDA
from sklda._consensus import ConsensusTopics
from sklda._covariate import CovariateLDA
from sklda._empirical_bayes import EmpiricalBayesLDA
from sklda._gibbs import GibbsLDA
from sklda._inference.sampling.point_estimates import point_estimates
from sklda._labeled import LabeledLDA
from sklda._merging import merge_topics
from sklda._topic_count import TopicCountLDA

__version__ = version("sklda")
__all__ = [
    "CollapsedVariationalLDA",
    "CompoundLDA",
    "ConsensusTopics",
    "CovariateLDA",
    "EmpiricalBayesLDA",
    "GibbsLDA",
    "LabeledLDA",
    "TopicCountLDA",
    "callbacks",
    "datasets",
    "inspection",
    "merge_topics",
    "metrics",
    "point_estimates",
]
