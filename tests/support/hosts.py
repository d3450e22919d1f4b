"""Clusters for the long search: worker processes with nannies on this machine, and hosts of their own without nannies.

A host is a network namespace with one worker, joined to the others by a bridge: it has an address of its own, and
nobody starts its worker again but this file, before the next run. It takes root, and `ip`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import dask
from distributed import Client, LocalCluster

NET, BRIDGE = "10.77.3", "dgraph-chaos"
PRELOAD = "with_cugraph"


@contextmanager
def nannies(workers: int) -> Iterator[tuple[Client, None]]:
    where = {"threads_per_worker": 1, "dashboard_address": ":0", "host": "127.0.0.1"}
    with (
        dask.config.set({"distributed.worker.preload": [PRELOAD]}),
        LocalCluster(n_workers=workers, processes=True, **where) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client, None


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
            client.wait_for_workers(workers, timeout=60)
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
                command = ["ip", "netns", "exec", name, sys.executable, "-m", "distributed.cli.dask_worker"]
                command += [self.address, "--no-nanny", "--nthreads", "1", "--host", f"{NET}.{10 + number}"]
                command += ["--preload", PRELOAD]
                quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
                self.workers[name] = subprocess.Popen([*command, "--no-dashboard"], **quiet, env=where)

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


CLUSTERS = {"nannies": nannies, "hosts": hosts}
