"""Fits whose process is killed at random moments, again and again."""

import pickle
from functools import partial

import numpy as np
import pytest
from checkpoint_cases import KILLED, fit_or_resume, hold
from workers import fast_context

from sklda import GibbsLDA
from sklda._checkpoints import files
from sklda.callbacks import Checkpoint

# Seconds after which a fit that nothing disturbs has failed.
LIMIT = 120


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:CovariateLDA has no covariates:UserWarning")
@pytest.mark.parametrize("case", KILLED)
def test_kill(case, corpus, same_fit, tmp_path):
    folder, rng, n_kills = tmp_path / "fit", np.random.default_rng(0), 0
    while not list(folder.glob("fit-*/fitted")):
        process = fast_context().Process(target=fit_or_resume, args=(case, folder, corpus))
        process.start()
        process.join(0.05 + 0.15 * rng.random() if n_kills < 6 else LIMIT)
        killed = process.is_alive()
        process.kill()
        process.join()
        n_kills += killed
        assert n_kills <= 6 and (killed or process.exitcode == 0)
    assert n_kills
    whole = KILLED[case]().fit(corpus)
    resumed = type(whole).resume(folder, corpus)
    assert same_fit(resumed.set_callbacks(), pickle.loads(pickle.dumps(whole)))


def test_two_processes(saves, corpus, tmp_path):
    """One of them waits for the other. Windows has no such locks."""
    folder = tmp_path / "fit"
    saves.interrupt(20, partial(KILLED["collapsed"]().set_callbacks(Checkpoint(folder, every=0)).fit, corpus))
    context = fast_context()
    ready = context.Event()
    process = context.Process(target=hold, args=(folder, ready))
    process.start()
    try:
        assert ready.wait(30)
        if files.fcntl is not None:
            with pytest.raises(ValueError, match="is in use: another process"):
                GibbsLDA.resume(folder, corpus)
    finally:
        process.kill()
        process.join()
    GibbsLDA.resume(folder, corpus)
