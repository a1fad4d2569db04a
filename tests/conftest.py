"""Small corpora, comparisons to the last bit, and figures that are closed."""

import inspect
import os
import sys
from functools import cached_property

# Threads of linear algebra wait for one another on matrices as small as those of the tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import numpy as np
import pytest
import scipy.sparse as sp
from mutations import pytest_collection_modifyitems, pytest_pyfunc_call  # noqa: F401  hooks

from sklda._core.corpus import Corpus
from sklda._core.progress import Progress
from sklda.datasets import make_lda_corpus

hypothesis.settings.register_profile("sklda", derandomize=True, deadline=None, max_examples=30)
hypothesis.settings.load_profile("sklda")
os.environ["MPLBACKEND"] = "Agg"


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def counts():
    """150 documents, the first, one inside and the last empty: three blocks of 64 in `transform`; read-only."""
    lengths = np.arange(150) % 40
    lengths[[0, 70, 149]] = 0
    X = make_lda_corpus(150, 60, 4, doc_length=lengths, random_state=0).data
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    return X


@pytest.fixture(scope="session")
def binary():
    """Counts of 0 and 1, which every dtype holds."""
    return sp.random(80, 25, density=0.3, format="csr", random_state=0, data_rvs=np.ones)


@pytest.fixture
def sweeps_made(monkeypatch):
    """A function that returns the sweeps of all chains since the last call, by the kernels' own calls."""
    from sklda._sampling.collapsed import GibbsChain

    made, sweep, anneal = [], GibbsChain.sweep, GibbsChain.anneal

    def counted_sweep(chain, *args):
        made.append(1)
        sweep(chain, *args)

    def counted_anneal(chain, path, *args, **options):
        made.append(len(path.positions) - 1)
        return anneal(chain, path, *args, **options)

    def since_last_call():
        n = sum(made)
        made.clear()
        return n

    monkeypatch.setattr(GibbsChain, "sweep", counted_sweep)
    monkeypatch.setattr(GibbsChain, "anneal", counted_anneal)
    return since_last_call


@pytest.fixture
def after_sweep(monkeypatch):
    """A function that lets something happen after the n-th sweep of the fits that follow, counted over their chains."""

    def after_sweep(n, do):
        after, left = Progress.after, [n]

        def watched(progress, index, chain):
            left[0] -= 1
            if left[0] == 0:
                do()
            return after(progress, index, chain)

        monkeypatch.setattr(Progress, "after", watched)

    return after_sweep


@pytest.fixture
def few_further_draws(monkeypatch):
    """A chain with few draws makes few others, where results are compared that have the same ones."""
    monkeypatch.setattr("sklda._models.results._FURTHER_DRAWS", 4)
    monkeypatch.setattr("sklda._models.results._FURTHER_BETWEEN", 1)


def without_cached(instance):
    """The attributes of an object. Which cached properties it has does not matter."""
    return {
        name: value
        for name, value in vars(instance).items()
        if not isinstance(inspect.getattr_static(type(instance), name, None), cached_property)
    }


@pytest.fixture(scope="session")
def same():
    """Whether two values are equal, bit for bit, whatever they hold."""

    def same(a, b):
        if a is b:
            return True
        if type(a) is not type(b):
            return False
        if isinstance(a, np.ndarray) and a.dtype != object:
            return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        if isinstance(a, dict):
            return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
        if isinstance(a, (list, tuple)):
            return len(a) == len(b) and all(map(same, a, b))
        if isinstance(a, Corpus):
            return a.fingerprint == b.fingerprint
        if isinstance(a, np.random.SeedSequence):
            return a.state == b.state
        if hasattr(a, "__dict__") and not callable(a):
            return same(*(without_cached(each) for each in (a, b)))
        return bool(np.all(a == b)) or (a != a and b != b)

    return same


@pytest.fixture(scope="session")
def same_fit(same):
    """Whether two estimators were fitted alike, bit for bit, whatever their parameters."""

    def same_fit(a, b):
        parameters = a.get_params()
        return same(*({k: v for k, v in vars(each).items() if k not in parameters} for each in (a, b)))

    return same_fit
