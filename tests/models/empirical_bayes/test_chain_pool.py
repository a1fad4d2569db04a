"""A pool of chains: who is swept, and who has ended."""

import numpy as np
import pytest
from enumeration import DOCS, make_corpus

from sklda._core.priors import Priors
from sklda._core.progress import SILENT, Progress
from sklda._models.empirical_bayes.chain_pool import ChainPool
from sklda._models.empirical_bayes.settings import Settings
from sklda._sampling.run_chains import Run


class EndAt(Progress):
    """Asks a chain to stop after this many sweeps, by its number."""

    def __init__(self, limits):
        self.limits, self.heard, self.ended = limits, [], set()

    def before(self, index):
        self.heard.append(index)

    def after(self, index, chain):
        if self.heard.count(index) == self.limits.get(index):
            self.ended.add(index)
        return index in self.ended


def make_pool(progress=SILENT, n_chains=3):
    pool = ChainPool(
        make_corpus(DOCS, 4),
        Priors.make(0.5, 0.5, 2, 4),
        Settings(n_last=5, max_iter=10),
        np.random.SeedSequence(0),
        n_chains=n_chains,
        run=Run(progress),
    )
    pool.initialise(pool.seed)
    return pool


@pytest.mark.parametrize("noted", [True, False])
def test_a_chain_that_a_callback_ends_is_not_swept_again(monkeypatch, noted):
    """Nor where it runs in another process, whose notes do not come back."""
    progress = EndAt({1: 3})
    if not noted:
        monkeypatch.setattr(EndAt, "after", lambda self, c, chain: self.heard.count(c) == self.limits.get(c))
    pool = make_pool(progress)
    pool.sweep(4)
    assert pool.ended == {1} and not pool.all_ended
    pool.sweep(2)
    assert [chain.n_sweeps for chain in pool.chains] == [4 + 2, 3, 4 + 2]
    assert [progress.heard.count(c) for c in range(3)] == [6, 3, 6]
    assert pool.left == pool.settings.max_iter - 6
    progress.limits = {0: 9, 2: 9}
    pool.sweep(5)
    assert pool.ended == {0, 1, 2} and pool.all_ended


def test_a_request_at_the_last_sweep_of_a_stage_counts():
    pool = make_pool(EndAt({2: 4}))
    pool.sweep(4)
    assert pool.ended == {2}
