"""Clusters for long searches: worker processes with nannies in this process, a scheduler and nannies in processes of
their own, and hosts of their own without nannies.

A host is a network namespace with one worker, joined to the others by a bridge: it has an address of its own, and
nobody starts its worker again but this file, before the next run. It takes root, and `ip`.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import dask
from distributed import Client, LocalCluster

NET, BRIDGE = "10.77.3", "dgraph-chaos"
PRELOAD = "with_cugraph"
START = 300  # seconds that a busy machine takes to start everybody
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@contextmanager
def nannies(workers: int, **options) -> Iterator[tuple[Client, None]]:
    where = {"threads_per_worker": 1, "dashboard_address": ":0", "host": "127.0.0.1", **options}
    with (
        dask.config.set({"distributed.worker.preload": [PRELOAD]}),
        LocalCluster(n_workers=workers, processes=True, **where) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client, None


@contextmanager
def processes(workers: int) -> Iterator[tuple[Client, "Processes"]]:
    with tempfile.TemporaryDirectory() as folder:
        found = Processes(workers, Path(folder) / "scheduler.json")
        try:
            found.mend()
            with Client(scheduler_file=str(found.file), timeout=START, set_as_default=False) as client:
                client.wait_for_workers(workers, timeout=START)
                yield client, found
        finally:
            found.close()


class Processes:
    """A scheduler, and nannies with a worker each."""

    def __init__(self, count: int, file: Path):
        self.count, self.file = count, file
        self.scheduler = _start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        self.nannies: list[subprocess.Popen] = []

    def mend(self) -> None:
        """Start nannies in place of those that are gone."""
        gone = [one for one in self.nannies if one.poll() is not None]
        self.nannies = [one for one in self.nannies if one not in gone]
        address = ["--scheduler-file", str(self.file), "--host", "127.0.0.1"]
        while len(self.nannies) < self.count:
            self.nannies.append(_start("worker", *address, "--nthreads", "1", "--preload", PRELOAD))

    def close(self) -> None:
        for process in (self.scheduler, *self.nannies):
            process.kill()  # a worker ends with its nanny
            process.wait()


def _start(what: str, *options: str, before: tuple[str, ...] = ()) -> subprocess.Popen:
    """A scheduler or worker in a process of its own."""
    command = [*before, sys.executable, "-m", f"distributed.cli.dask_{what}", *options, "--no-dashboard"]
    ttl = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": str(dask.config.get("distributed.scheduler.worker-ttl"))}
    return subprocess.Popen(command, **QUIET, env={**os.environ, **ttl, "PYTHONPATH": os.pathsep.join(sys.path)})


@contextmanager
def hosts(workers: int) -> Iterator[tuple[Client, "Hosts"]]:
    found = Hosts(workers)
    try:
        found.join()
        with (
            LocalCluster(n_workers=0, dashboard_address=":0", host=f"{NET}.1") as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            found.address = cluster.scheduler_address
            found.mend()
            client.wait_for_workers(workers, timeout=START)
            yield client, found
    finally:
        found.close()


class Hosts:
    """The namespaces, and what runs in them."""

    def __init__(self, count: int):
        self.names = [f"{BRIDGE}-{number}" for number in range(count)]
        self.workers: dict[str, subprocess.Popen] = {}
        self.address = ""

    def join(self) -> None:
        self.part()
        _ip("link", "add", BRIDGE, "type", "bridge")
        _ip("addr", "add", f"{NET}.1/24", "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")
        for number, name in enumerate(self.names):
            here, there = f"dgch{number}a", f"dgch{number}b"
            _ip("netns", "add", name)
            _ip("link", "add", here, "type", "veth", "peer", "name", there)
            _ip("link", "set", there, "netns", name)
            _ip("link", "set", here, "master", BRIDGE, "up")
            inside = ("netns", "exec", name, "ip")
            _ip(*inside, "addr", "add", f"{NET}.{10 + number}/24", "dev", there)
            _ip(*inside, "link", "set", there, "up")
            _ip(*inside, "link", "set", "lo", "up")

    def mend(self) -> None:
        """Start the workers that are gone."""
        for number, name in enumerate(self.names):
            if name not in self.workers or self.workers[name].poll() is not None:
                options = [self.address, "--no-nanny", "--nthreads", "1", "--host", f"{NET}.{10 + number}"]
                where = ("ip", "netns", "exec", name)
                self.workers[name] = _start("worker", *options, "--preload", PRELOAD, before=where)

    def unplug(self, address: str, *, again: bool = False) -> None:
        """Let no packet reach a worker, or leave it, or plug it in again."""
        number = int(address.rpartition(":")[0].rpartition(".")[2]) - 10
        _ip("link", "set", f"dgch{number}a", "up" if again else "down")

    def divide(self, *, again: bool = False) -> None:
        """Let no worker reach another, while all of them reach the scheduler, or join them again."""
        for number in range(len(self.names)):
            device = ("dev", f"dgch{number}a", "isolated", "off" if again else "on")
            subprocess.run(["bridge", "link", "set", *device], check=True, capture_output=True)

    def close(self) -> None:
        for process in self.workers.values():
            process.kill()
            process.wait()
        self.part()

    def part(self) -> None:
        for arguments in (*(("netns", "del", name) for name in self.names), ("link", "del", BRIDGE)):
            with suppress(subprocess.CalledProcessError):
                _ip(*arguments)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


CLUSTERS = {"nannies": nannies, "processes": processes, "hosts": hosts}
