"""Workers of Dask clusters that start in hundredths of a second."""

import multiprocessing
import os
from contextlib import contextmanager
from unittest import mock

import pytest


def fast_context():
    """Processes that fork from a server, which has imported what workers need; spawned ones where there is no fork."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["distributed", "pandas", "sklda"])
    # The server does not import from the working directory: a checkout has no compiled kernels.
    with mock.patch.dict(os.environ, {"PYTHONSAFEPATH": "1"}):
        forkserver.ensure_running()
    return context


@contextmanager
def client_of(n_workers, n_threads):
    """A client of a cluster of processes."""
    dask, distributed = map(pytest.importorskip, ("dask", "distributed"))
    method = {"distributed.worker.multiprocessing-method": fast_context().get_start_method()}
    options = {"threads_per_worker": n_threads, "dashboard_address": ":0", "silence_logs": 50}
    with (
        dask.config.set(method),
        distributed.LocalCluster(n_workers=n_workers, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
