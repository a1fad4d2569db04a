"""joblib's Dask backend, with two worker processes: the same results as threads give, bit for bit.

What else has parallel work is in `test_processes.py`, which sends the same tasks to other processes.
"""

import joblib
import pytest
from workers import client_of

from sklda import GibbsLDA

# joblib 1.5 warns of its own Dask backend.
pytestmark = pytest.mark.filterwarnings("ignore:.apply_async. is deprecated:DeprecationWarning")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with client_of(2, 1) as client:
        yield client


@pytest.fixture
def on_dask(cluster, same):
    """Whether a function gives the same, bit for bit, on the cluster as in threads."""

    def executed():
        return sum(cluster.run(lambda dask_worker: dask_worker.state.executed_count).values())

    def on_dask(function):
        here, before = function(), executed()
        with joblib.parallel_config(backend="dask"):
            there = function()
        return same(there, here) and executed() > before

    return on_dask


def make(**parameters):
    return GibbsLDA(4, max_iter=4, random_state=0, **parameters)


def results(lda):
    """The results of a fit."""
    return {name: value for name, value in vars(lda).items() if name.endswith("_")}


@pytest.fixture(scope="module")
def fitted(counts):
    return make().fit(counts)


def test_chains(on_dask, counts):
    assert on_dask(lambda: results(make(n_chains=3).fit(counts)))


def test_transform_and_scores(on_dask, fitted, counts):
    assert on_dask(lambda: [fitted.transform(counts), fitted.score_samples(counts)])
