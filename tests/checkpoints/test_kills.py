"""Fits whose process is killed at random moments, again and again."""

import multiprocessing
import pickle

import numpy as np
import pytest
from checkpoint_cases import covariate, empirical_bayes, gibbs, topic_count

from sklda._inference import journal
from sklda.callbacks import Checkpoint

# A fork is faster; where there is none, a new interpreter does.
METHODS = multiprocessing.get_all_start_methods()
CONTEXT = multiprocessing.get_context("fork" if "fork" in METHODS else "spawn")
# Sweeps of the fits, which take tenths of a second.
CASES = {
    "collapsed": gibbs(max_iter=150, n_chains=2, n_jobs=2),
    "partitioned": gibbs(max_iter=150, sampler="partitioned", n_jobs=2),
    "covariates": covariate(),
    "empirical Bayes": empirical_bayes(),
    "number of topics": topic_count(max_sweeps=1500),
}


def fit(case, folder, corpus):
    journal.SHARE = np.inf
    lda = CASES[case]()
    if (folder / "header").exists():
        type(lda).resume(folder, corpus)
    else:
        lda.set_callbacks(Checkpoint(folder, every=0)).fit(corpus)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", CASES)
def test_kill(case, corpus, same_fit, tmp_path):
    folder, rng, n_kills = tmp_path / "fit", np.random.default_rng(0), 0
    while not (folder / "fitted").exists():
        process = CONTEXT.Process(target=fit, args=(case, folder, corpus))
        process.start()
        process.join(0.05 + 0.15 * rng.random() if n_kills < 6 else None)
        n_kills += process.is_alive()
        process.kill()
        process.join()
    assert n_kills
    whole = CASES[case]().fit(corpus)
    resumed = type(whole).resume(folder, corpus)
    assert same_fit(resumed.set_callbacks(), pickle.loads(pickle.dumps(whole)))
