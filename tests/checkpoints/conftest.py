"""Fits that are interrupted at a given save."""

import pickle
from functools import partial

import numpy as np
import pytest

from sklda._checkpoints import files, saver
from sklda.callbacks import Checkpoint
from sklda.datasets import make_lda_corpus


class Interrupted(Exception):
    """In place of the end of the process."""


@pytest.fixture(scope="session")
def corpus():
    """40 documents of 1,000 tokens in all, so that priors are learnt; the first is empty."""
    lengths = np.full(40, 26)
    lengths[0] = 0
    return make_lda_corpus(40, 30, 3, doc_length=lengths, random_state=0).data


@pytest.fixture
def saves(monkeypatch):
    """Saves without a limit of their time, and a counter that interrupts one of them in its middle."""
    counter = Saves()
    monkeypatch.setattr(saver, "SHARE", np.inf)
    monkeypatch.setattr(files.os, "fsync", lambda file: None)
    monkeypatch.setattr(files, "dump", counter.dump)
    return counter


class Saves:
    def __init__(self):
        self.n, self.interrupted, self.error, self._dump = 0, None, Interrupted, files.dump

    def dump(self, value, file, same_corpus):
        self.n += 1
        if self.n == self.interrupted:
            file.write(b"the beginning")
            raise self.error
        self._dump(value, file, same_corpus)

    def interrupt(self, at, call, error=Interrupted):
        """Interrupt the save with a number during a call. The estimator is save 1."""
        self.n, self.interrupted, self.error = 0, at, error
        with pytest.raises(error):
            call()
        self.interrupted = None


@pytest.fixture
def check(saves, same_fit, corpus, tmp_path):
    """A function that interrupts a fit at several saves, resumes it and compares it with the whole fit.

    A point is a share of the saves in this process, or the number of a save.
    """

    def check(make, *data, points=(0.5,), X=corpus, prepare=lambda estimator: estimator, **metadata):
        whole = prepare(make()).fit(X, *data, **metadata)
        saved = prepare(make()).set_callbacks(Checkpoint(tmp_path / "whole", every=0))
        saves.n = 0
        saved.fit(X, *data, **metadata)
        n_saves = saves.n
        assert n_saves >= 4
        assert same_fit(saved.set_callbacks(), whole)
        for part, point in enumerate(points):
            folder = tmp_path / str(part)
            begun = prepare(make()).set_callbacks(Checkpoint(folder, every=0))
            # Save 2 is the first after the estimator: an error in it leaves nothing to continue.
            at = point if point > 1 else max(int(point * n_saves), 3)
            saves.interrupt(at, partial(begun.fit, X, *data, **metadata))
            resumed = type(begun).resume(folder, X)
            assert same_fit(resumed.set_callbacks(), whole)
            # Its result was pickled.
            ended = type(begun).resume(folder, X)
            assert same_fit(ended.set_callbacks(), pickle.loads(pickle.dumps(whole)))
        return n_saves

    return check
