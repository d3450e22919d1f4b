"""A build on workers whose memory, all together, is less than the edge list: it finishes, and says that it spilled.

The workers make the edges themselves, block by block, so that no process ever holds the list. The limit is Dask's own,
kept by its nannies, which end a worker that goes over it; a build that lost a worker on the way does not count.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import Any

import dask
import numpy as np
from harness import Claim, Wrong

import dgraph as dg
from dgraph.io.generate import Rmat

ROW = 16  # bytes of an edge in the list: two ids of eight
SLICE = 1 << 20  # edges that the check looks at together


def main() -> None:
    from distributed import Client, LocalCluster

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=int, default=20)
    options.add_argument("--edge-factor", type=int, default=80, help="edges a vertex (80: 84 M edges, 1.3 GB)")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--limit", type=int, default=600, help="MB a worker")
    given = options.parse_args()
    source = Rmat(given.scale, given.edge_factor, seed=1)
    listed, limit = ROW * source.num_rows / 1e6, given.limit * given.workers
    if limit >= listed:
        raise SystemExit(f"{given.workers} x {given.limit} MB hold the {listed:.0f} MB of edges: lower --limit")
    with (
        tempfile.TemporaryDirectory() as folder,
        dask.config.set(temporary_directory=folder),
        LocalCluster(
            n_workers=given.workers,
            threads_per_worker=1,
            memory_limit=f"{given.limit}MB",
            dashboard_address=":0",
            host="127.0.0.1",
        ) as cluster,
        Client(cluster) as client,
    ):
        pids = client.run(_pid)
        start = time.perf_counter()
        graph = dg.rmat(scale=given.scale, edge_factor=given.edge_factor, seed=1, client=client)
        partitions = graph.partitioned(("out",))
        seconds = time.perf_counter() - start
        report = partitions.report
        print(report)
        alive(client, pids, "build")
        sums = client.gather([client.submit(fingerprint, one) for one in partitions.held])
        alive(client, pids, "check")
    if sum(sums) % 2**64 != expected(source):
        raise Wrong("the partitions hold other edges than the list")
    if not report.spilled:
        raise Wrong("the report does not say that the workers spilled; lower --limit")
    size = f"{source.num_rows / 2**20:g} M edges on {given.workers} workers"
    claim = Claim("build_spill", f"memory limit, all workers: {size}", "the edge list", 1.0, unit="MB")
    claim.record([limit], [listed])
    claim = Claim("build_spill", f"spilled to disk, by the report: {size}", "the edge list", None, unit="MB")
    claim.record([report.spilled / 1e6], [listed])
    print(f"  built in {seconds:.1f} s")


def alive(client: Any, pids: dict[str, int], step: str) -> None:
    now = client.run(_pid)
    if now != pids:
        raise Wrong(f"a worker went over its limit in the {step} and was restarted: {pids} are now {now}")


def _pid() -> int:
    import os

    return os.getpid()


def fingerprint(partition: Any) -> int:
    """A sum over all edges of a hash of both ends: it depends on every edge and on no order."""
    out, total = partition.out, 0
    numbers = partition.numbers
    for first in range(0, out.num_edges, SLICE):
        last = min(first + SLICE, out.num_edges)
        rows = np.searchsorted(out.indptr, np.arange(first, last), side="right") - 1
        total += hashes(numbers[rows], numbers[out.neighbours[first:last]])
    return total % 2**64


def expected(source: Rmat) -> int:
    """The same of the edges as they are generated."""
    total = 0
    for first in range(0, source.num_indices, SLICE):
        block = source.block(first, min(first + SLICE, source.num_indices))
        total += hashes(block["source"], block["destination"])
    return total % 2**64


def hashes(sources: np.ndarray, destinations: np.ndarray) -> int:
    mixed = sources.astype(np.uint64) << np.uint64(32) | destinations.astype(np.uint64)
    mixed = (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(32)) * np.uint64(0x94D049BB133111EB)
    return int((mixed ^ mixed >> np.uint64(29)).sum(dtype=np.uint64))


if __name__ == "__main__":
    main()
