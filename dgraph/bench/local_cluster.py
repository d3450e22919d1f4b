"""Where the cases of a suite run: on worker processes that are started for them, or on the user's own cluster."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dgraph.bench.suite import Suite
from dgraph.native.threads import cores


@contextmanager
def local_cluster(workers: int, threads: int | None = None) -> Iterator[Any]:
    """A client of so many worker processes, which are started on this machine and end with the block; None where
    `workers` is 0. By default the workers share out the cores as threads."""
    if not workers:
        yield None
        return
    from distributed import Client, LocalCluster

    threads = threads or max(1, cores() // workers)
    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with shield_workers_from_ctrl_c():
        cluster = LocalCluster(n_workers=workers, threads_per_worker=threads, host="127.0.0.1", **quiet)
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


@contextmanager
def shield_workers_from_ctrl_c() -> Iterator[None]:
    """Have processes that are started in the block ignore Ctrl-C, which a terminal sends to all of them: this process
    ends them, in silence."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def moved(suite: Suite, workers: int) -> Suite:
    """The suite as it runs on a cluster of so many workers, whatever it says of workers itself."""
    settings = {
        name: replace(one, case={axis: value for axis, value in one.case.items() if axis != "workers"})
        for name, one in suite.settings.items()
    }
    return replace(suite, axes={**suite.axes, "workers": [workers]}, settings=settings)
