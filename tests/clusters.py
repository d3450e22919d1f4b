"""Clusters that tests start: worker processes of one thread."""

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client, LocalCluster


@contextmanager
def worker_processes(workers: int = 2, **options) -> Iterator[Client]:
    """Their client, which is not the default one: a test that wants the cluster names it."""
    place = {"processes": True, "dashboard_address": ":0", "host": "127.0.0.1", **options}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, **place) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
