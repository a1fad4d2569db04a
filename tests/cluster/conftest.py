"""A small Dask cluster, and Dask arrays of sparse blocks."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from workers import client_of, fast_context


@pytest.fixture(scope="module")
def processes():
    """A client of a cluster of three processes with two threads each."""
    with client_of(3, 2) as client:
        yield client


@pytest.fixture
def killable(tmp_path):
    """A client of a cluster of three processes. A test may kill two of them, and nothing starts them again."""
    with client_of(0, 1) as client:
        options = ["--no-nanny", "--no-dashboard", "--nthreads=1", f"--local-directory={tmp_path}"]
        main = f"from distributed.cli import dask_worker; dask_worker.main({[client.scheduler.address, *options]})"
        workers = [fast_context().Process(target=exec, args=(main,)) for _ in range(3)]
        for worker in workers:
            worker.start()
        try:
            client.wait_for_workers(len(workers), timeout=120)
            yield client
        finally:
            for worker in workers:
                worker.kill()
                worker.join()


@pytest.fixture(scope="session")
def blocks():
    """A function that makes a Dask array of sparse blocks from a matrix; its blocks can have unknown lengths."""
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")

    def blocks(X, n_blocks, known=True):
        X = sp.csr_matrix(X)
        edges = np.linspace(0, X.shape[0], n_blocks + 1).astype(int)
        parts = [
            da.from_delayed(dask.delayed(X[a:b]), (b - a if known else np.nan, X.shape[1]), X.dtype)
            for a, b in itertools.pairwise(edges)
        ]
        return da.concatenate(parts)

    return blocks
