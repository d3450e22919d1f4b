"""Worker processes for the cases of a suite that want some."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dgraph.partition.threads import cores


@contextmanager
def local_cluster(workers: int, threads: int | None = None) -> Iterator[Any]:
    """The client of so many worker processes on this machine, by default with the cores shared out; 0: no client."""
    if not workers:
        yield None
        return
    from distributed import Client, LocalCluster

    threads = threads or max(1, cores() // workers)
    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        LocalCluster(workers, threads_per_worker=threads, host="127.0.0.1", **quiet) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
