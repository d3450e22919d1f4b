"""Clusters that tests start: worker processes of one thread."""

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from distributed import Client, LocalCluster

# In a module that kills workers. Dask leaves sockets to those open; what is collected meanwhile fails no test.
KILLS = pytest.mark.filterwarnings("ignore:unclosed <socket")


@contextmanager
def worker_processes(workers: int = 2, **options) -> Iterator[Client]:
    """Their client, which is not the default one: a test that wants the cluster names it."""
    place = {"processes": True, "dashboard_address": ":0", "host": "127.0.0.1", **options}
    try:
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, **place) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client
    finally:
        with warnings.catch_warnings():  # what is left of it goes now, and not in the middle of a later test
            warnings.filterwarnings("ignore", "unclosed <socket", ResourceWarning)
            gc.collect()
