"""Latent Dirichlet allocation with measured uncertainty: scikit-learn estimators that use exact Gibbs samplers.

Each model has a folder, with its estimator, its algorithm and its results. The folders below the models have the parts
that several of them share. A module imports only from its own folder and from folders further down; models do not
import each other (`tests/test_floors.py`)::

    papers                    the papers' own ways, to repeat their tables; nothing imports them
    papers/compound           Langevin steps and variational EM for collections that share topics
    papers/empirical_bayes    serial tempering, full Bayes and EM for priors
    papers/held_out           the likelihood of new documents: ratio-AIS, and what it is compared with
    papers/topic_count        pseudo-marginal Metropolis-Hastings over the number of topics
    inspection                what people look at: tables, plots, the page of the explorer
    _models/merging           one model of two or more topics that are the same, of any kind of model
    _models/dask              DaskGibbsLDA: one chain on the workers of a Dask cluster
    _models/variational       CollapsedVariationalLDA: CVB0, for corpora and for streams
    _models/empirical_bayes   EmpiricalBayesLDA: priors by marginal likelihood, with errors
    _models/topic_count       TopicCountLDA: the number of topics
    _models/compound          CompoundLDA, HDPLDA: mixtures of the topics for collections; numbers in use
    _models/covariates        CovariateLDA: priors of documents from covariates
    _models/labels            LabeledLDA: topics that are labels
    _models/consensus         ConsensusTopics: topics that most fits have
    _models                   GibbsLDA, and what all models share: parameters, fits, results, saved states
    callbacks                 what a user passes to a fit
    metrics                   scores of any topic model
    datasets                  corpora, simulators, readers
    _mode_search              searches between modes of z
    _likelihood/evidence      log p(w | K) of a corpus
    _likelihood/held_out      of new documents: proportions, log-likelihood, comparisons
    _sampling                 chains of z: samplers, steps, first states, draws, matching
    _description              a model and its documents, as metrics and inspection read them
    _checkpoints              fits that are saved while they run
    _core                     corpus, priors, random streams, parallel execution, Newton, diagnostics
    _input                    what people give: counts, names, values of documents, designs
    _kernels                  Cython, without the GIL: arrays in, arrays out
"""

from importlib.metadata import version
from pathlib import Path

try:
    from sklda._kernels import _tokens as _tokens
except ImportError as _error:
    if (_folder := Path(__file__).resolve().parent.parent).joinpath("meson.build").exists():
        raise ImportError(
            f"{_folder} is the source tree of sklda, and its kernels are not compiled for this Python: install it with "
            f"`pip install {_folder}`, and start Python in another folder."
        ) from _error
    raise

from sklda import callbacks, datasets, inspection, metrics
from sklda._models.compound.estimator import CompoundLDA
from sklda._models.compound.hdp_estimator import HDPLDA
from sklda._models.consensus.estimator import ConsensusTopics
from sklda._models.covariates.estimator import CovariateLDA
from sklda._models.dask.estimator import DaskGibbsLDA
from sklda._models.empirical_bayes.estimator import EmpiricalBayesLDA
from sklda._models.gibbs import GibbsLDA
from sklda._models.labels.estimator import LabeledLDA
from sklda._models.merging import merge_topics
from sklda._models.persistence import trusted_types
from sklda._models.topic_count.estimator import TopicCountLDA
from sklda._models.variational.estimator import CollapsedVariationalLDA

__version__ = version("sklda")
__all__ = [
    "HDPLDA",
    "CollapsedVariationalLDA",
    "CompoundLDA",
    "ConsensusTopics",
    "CovariateLDA",
    "DaskGibbsLDA",
    "EmpiricalBayesLDA",
    "GibbsLDA",
    "LabeledLDA",
    "TopicCountLDA",
    "callbacks",
    "datasets",
    "inspection",
    "merge_topics",
    "metrics",
    "trusted_types",
]
