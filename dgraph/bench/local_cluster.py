"""Starts worker processes on this machine, for the cases of a suite and for `--workers`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dgraph.native.threads import cores

STARTING = "2 minutes"  # that a worker or client may take to connect: a busy machine starts processes slowly


@contextmanager
def local_cluster(workers: int, threads: int | None = None, **options: Any) -> Iterator[Any]:
    """A client of `workers` local worker processes, which end with the block; None if `workers` is 0. By default the
    workers divide the cores among them as threads. `options` are those of Dask's `LocalCluster`."""
    if not workers:
        yield None
        return
    from dask import config
    from distributed import Client, LocalCluster

    threads = threads or max(1, cores() // workers)
    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with shield_workers_from_ctrl_c(), config.set({"distributed.comm.timeouts.connect": STARTING}):
        cluster = LocalCluster(n_workers=workers, threads_per_worker=threads, host="127.0.0.1", **quiet, **options)
    with cluster, Client(cluster, set_as_default=False, timeout=STARTING) as client:
        yield client


@contextmanager
def shield_workers_from_ctrl_c() -> Iterator[None]:
    """Make processes started in the block ignore Ctrl-C, which a terminal sends to all of them, so that this process
    can end them quietly."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
