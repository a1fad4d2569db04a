"""Small models and corpora, and the check that a fit refuses its input."""

import numpy as np
import pytest

from sklda import GibbsLDA

TEXTS = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]
PHI, ALPHA = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]), 0.5
GOOD = np.array([[1, 0, 2], [0, 3, 1]])


def make(**parameters):
    return GibbsLDA(**{"n_components": 3, "max_iter": 5, "random_state": 0, **parameters})


FITTED = make(n_components=2).fit(GOOD)


def refuse(estimator, X, error, message, same):
    """The fit fails with the message, and leaves the estimator as it was."""
    before = dict(vars(estimator))
    with pytest.raises(error, match=message):
        estimator.fit(X)
    assert same(vars(estimator), before)
