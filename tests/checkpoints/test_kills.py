"""Fits whose process is killed at random moments, again and again."""

import contextlib
import multiprocessing
import pickle
from functools import partial
from multiprocessing import forkserver

import numpy as np
import pytest
from checkpoint_cases import KILLED, fit_or_resume, hold

from sklda import GibbsLDA
from sklda._inference import journal
from sklda.callbacks import Checkpoint

# A fork of this process could wait for ever for the lock of a thread; a server without threads is forked instead.
SERVER = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT = multiprocessing.get_context("forkserver" if SERVER else "spawn")
# Seconds after which a fit that nothing disturbs has failed.
LIMIT = 120


@pytest.fixture(scope="module", autouse=True)
def server(tmp_path_factory):
    """The server imports from its folder first, and the checkout has no compiled kernels."""
    if SERVER:
        CONTEXT.set_forkserver_preload(["sklda"])
        with contextlib.chdir(tmp_path_factory.mktemp("server")):
            forkserver.ensure_running()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", KILLED)
def test_kill(case, corpus, same_fit, tmp_path):
    folder, rng, n_kills = tmp_path / "fit", np.random.default_rng(0), 0
    while not (folder / "fitted").exists():
        process = CONTEXT.Process(target=fit_or_resume, args=(case, folder, corpus))
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
