"""Short fits of every estimator that samples, for the tests of checkpoints; and what other processes do in them."""

import time

import numpy as np

from sklda import CompoundLDA, CovariateLDA, EmpiricalBayesLDA, GibbsLDA, LabeledLDA, TopicCountLDA
from sklda._checkpoints import files, saver
from sklda.callbacks import Checkpoint


def gibbs(**parameters):
    return lambda: GibbsLDA(**{"n_components": 3, "max_iter": 40, "n_draws": 3, "random_state": 0, **parameters})


def empirical_bayes():
    return lambda: EmpiricalBayesLDA(3, n_chains=2, max_iter=60, n_draws=2, random_state=0)


def compound():
    return lambda: CompoundLDA(3, max_iter=30, n_draws=3, n_chains=2, random_state=0)


def covariate(**parameters):
    return lambda: CovariateLDA(3, max_iter=40, n_draws=3, n_chains=2, random_state=0, **parameters)


def labeled(**parameters):
    return lambda: LabeledLDA(max_iter=20, n_draws=2, n_chains=2, random_state=0, **parameters)


def topic_count(**parameters):
    parameters = {"max_iter": 40, **parameters}
    return lambda: TopicCountLDA(**{"min_components": 2, "max_components": 5, "random_state": 0, **parameters})


# Fits whose process is killed; they take tenths of a second.
KILLED = {
    "collapsed": gibbs(max_iter=150, n_chains=2, n_jobs=2),
    "partitioned": gibbs(max_iter=150, sampler="partitioned", n_jobs=2),
    "covariates": covariate(),
    "empirical Bayes": empirical_bayes(),
    "number of topics": topic_count(max_iter=100),
}


def fit_or_resume(case, folder, corpus):
    saver.SHARE = np.inf
    lda = KILLED[case]()
    if files.fits_in(folder):
        type(lda).resume(folder, corpus)
    else:
        lda.set_callbacks(Checkpoint(folder, every=0)).fit(corpus)


def hold(folder, ready):
    """Have the folder until the end of the process."""
    held = files.Lock(folder)
    ready.set()
    time.sleep(60)
    held.close()
