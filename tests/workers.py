"""Processes that start in hundredths of a second, forked from a server that has imported what they need."""

import multiprocessing
import os
import sys
import textwrap
import warnings
from contextlib import contextmanager
from multiprocessing import forkserver
from unittest import mock

import pytest

# A fork of the process of the tests could wait for ever for the lock of a thread; the server has no threads.
SERVER = "forkserver" in multiprocessing.get_all_start_methods()


def fast_context():
    """The context of processes that fork from the server; spawned ones where there is no fork."""
    if not SERVER:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["distributed", "pandas", "sklda"])
    # The server does not import from the working directory: a checkout has no compiled kernels.
    with mock.patch.dict(os.environ, {"PYTHONSAFEPATH": "1"}):
        forkserver.ensure_running()
    return context


@contextmanager
def client_of(n_workers, n_threads):
    """A client of a Dask cluster of processes."""
    dask, distributed = map(pytest.importorskip, ("dask", "distributed"))
    method = {"distributed.worker.multiprocessing-method": fast_context().get_start_method()}
    options = {"threads_per_worker": n_threads, "dashboard_address": ":0", "silence_logs": 50}
    # Distributed warns of a slow file system where the machine is busy.
    warnings.filterwarnings("ignore", "Creating scratch directories is taking")
    with (
        dask.config.set(method),
        distributed.LocalCluster(n_workers=n_workers, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def run_program(code, folder, *arguments, limit=300):
    """Run a program in a process; return its exit code, and what it prints to standard output and error."""
    process = fast_context().Process(target=_program, args=(textwrap.dedent(code), str(folder), arguments))
    process.start()
    process.join(limit)
    hangs = process.is_alive()
    process.kill()
    process.join()
    assert not hangs, f"no end after {limit} s"
    return process.exitcode, *((folder / name).read_text(encoding="utf-8") for name in ("1", "2"))


def _program(code, folder, arguments):
    for stream in (1, 2):
        os.dup2(os.open(os.path.join(folder, str(stream)), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    sys.argv[1:] = map(str, arguments)
    exec(code, {"__name__": "program"})
