"""Clusters for tests, with a scheduler, CPU workers and GPU workers all on this machine."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, Nanny, Scheduler, SpecCluster

from dgraph.arguments import check_integer
from dgraph.cluster.scheduler import worker_infos
from dgraph.devices.probe import SIMULATOR, gpus, missing_requirements

CONTEXT = "DASK_DISTRIBUTED_UCXX__CREATE_CUDA_CONTEXT"  # if True, a worker creates a context before UCX looks for one
SWITCHES = 1e-4  # seconds between switches of Python threads; short, because the simulator's threads meet at barriers


@contextmanager
def mixed_cluster(cpu: int = 1, gpu: int = 1, *, threads: int = 1, protocol: str = "tcp") -> Iterator[Client]:
    """Start CPU and GPU workers (experimental) on this machine, which end with the block, and yield a client.

    It does not become the current client: pass it on, as in `Graph.from_edges(frame, client=client)` and
    `result.frame.compute(scheduler=client)`.

    Parameters
    ----------
    cpu : int, default 1
        Number of CPU workers.
    gpu : int, default 1
        Number of GPU workers. They have ``resources={"GPU": 1}`` and share this machine's GPUs. Without a GPU, Numba
        simulates one, with the same results but thousands of times slower.
    threads : int, default 1
        Number of threads per worker.
    protocol : str, default "tcp"
        How workers communicate. With ``"ucxx"``, which needs the package distributed-ucxx, GPUs exchange data directly.

    Yields
    ------
    distributed.Client
        A client of the cluster.

    Examples
    --------
    >>> from dgraph.testing import mixed_cluster
    >>> with mixed_cluster() as client:  # doctest: +SKIP
    ...     graph = dg.rmat(scale=4, client=client, capacities=[1, 1])
    ...     dg.pagerank(graph).report["device"].unique()
    """
    check_integer("cpu", cpu, 0), check_integer("gpu", gpu, 0), check_integer("threads", threads)
    real = len(gpus()) if not missing_requirements() else 0
    without_gpu = {"env": {"CUDA_VISIBLE_DEVICES": "", SIMULATOR: "0"}}
    workers: dict[str, Any] = {f"cpu-{number}": without_gpu for number in range(cpu)}
    for number in range(gpu):
        shown = {"CUDA_VISIBLE_DEVICES": str(number % real), CONTEXT: "True"} if real else {}
        env = {SIMULATOR: "0" if real else "1", **shown}
        workers[f"gpu-{number}"] = {"env": env, "resources": {"GPU": 1}}
    config = {
        "distributed.worker.multiprocessing-method": "spawn",  # so that `env` is set before imports
        # Before Python 3.11.9, the profiler may hang a process in which many threads start and end.
        "distributed.worker.profile.enabled": False,
    }
    place = {"host": "127.0.0.1", "protocol": protocol}
    every = {**place, "nthreads": threads, "dashboard": False, "silence_logs": logging.WARNING}
    with (
        dask.config.set(config),
        SpecCluster(
            workers={name: {"cls": Nanny, "options": {**every, **options}} for name, options in workers.items()},
            scheduler={"cls": Scheduler, "options": {**place, "port": 0, "dashboard_address": ":0"}},
            silence_logs=logging.WARNING,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(len(workers))
        infos = worker_infos(client)
        simulators = [address for address, info in infos.items() if info["resources"] and not real]
        if simulators:
            client.run(sys.setswitchinterval, SWITCHES, workers=simulators)
            client.run(warnings.simplefilter, "ignore", workers=simulators)  # kernels divide by zero, as on devices
        yield client
