"""Fits whose process is killed at random moments, again and again."""

import multiprocessing
import pickle
import time
from functools import partial

import numpy as np
import pytest
from checkpoint_cases import covariate, empirical_bayes, gibbs, topic_count

from sklda import GibbsLDA
from sklda._inference import journal
from sklda._inference.corpus import Corpus
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


def hold(folder, corpus, ready):
    """Have the folder until the end of the process."""
    held = journal.Journal(folder, Corpus.from_counts(corpus), 1)
    ready.set()
    time.sleep(60)
    held.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_two_processes(saves, corpus, tmp_path):
    """One of them waits for the other. Windows has no such locks."""
    folder = tmp_path / "fit"
    saves.interrupt(20, partial(CASES["collapsed"]().set_callbacks(Checkpoint(folder, every=0)).fit, corpus))
    ready = CONTEXT.Event()
    process = CONTEXT.Process(target=hold, args=(folder, corpus, ready))
    process.start()
    try:
        assert ready.wait(30)
        if journal.fcntl is not None:
            with pytest.raises(ValueError, match="is in use: another process"):
                GibbsLDA.resume(folder, corpus)
    finally:
        process.kill()
        process.join()
    GibbsLDA.resume(folder, corpus)
