"""The Langevin target of the mixtures: its slopes against finite differences."""

import numpy as np
from compound_cases import EXACT, corpus_of

from sklda._models.compound.gamma import TailCounts
from sklda.papers.compound._langevin import LangevinPoint


def test_the_slopes_of_the_langevin_target():
    rng = np.random.default_rng(0)
    corpus, labels = corpus_of(EXACT[0][0], 3)
    tails = TailCounts.count(corpus, rng.integers(2, size=10).astype(np.int32), labels, (2, 2), np.empty(16, np.int32))
    x, h = rng.normal(size=(2, 2)), 1e-5
    here = LangevinPoint(x, tails, 0.7, 1.5)
    for k in range(2):
        move = np.eye(2)[k] * h
        up, down = (LangevinPoint(x + s * move, tails, 0.7, 1.5) for s in (1, -1))
        gradient = (up.log_density - down.log_density) / (2 * h)
        slope = (up.metric - down.metric)[:, k] / (2 * h)
        drift = (gradient - slope / here.metric[:, k]) / here.metric[:, k]
        np.testing.assert_allclose(here.drift[:, k], drift, rtol=1e-6)
