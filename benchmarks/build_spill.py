"""A build on workers whose total memory is less than the edge list: it finishes, and reports that it spilled.

The workers generate the edges block by block, so that no process ever holds the list. Dask's nannies enforce the
memory limit by terminating a worker that exceeds it; a build that lost a worker does not count.
"""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any

import dask
import numpy as np
from harness import Claim, parser_of

import dgraph as dg
from dgraph.bench.local_cluster import local_cluster
from dgraph.errors import AnswerError
from dgraph.io.generate import Rmat

ROW = 16  # bytes per edge in the list: two ids of eight bytes
SLICE = 1 << 20  # edges that are checked at a time


def main() -> None:
    options = parser_of(__doc__, scale=20)
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
        local_cluster(given.workers, 1, memory_limit=f"{given.limit}MB") as client,
    ):
        pids = client.run(os.getpid)
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
        raise AnswerError("the partitions hold other edges than the list")
    if not report.spilled:
        raise AnswerError("the report does not say that the workers spilled; lower --limit")
    size = f"{source.num_rows / 2**20:g} M edges on {given.workers} workers"
    claim = Claim("build_spill", f"memory limit, all workers: {size}", "the edge list", 1.0, unit="MB")
    claim.record([limit], [listed])
    claim = Claim("build_spill", f"spilled to disk, by the report: {size}", "the edge list", None, unit="MB")
    claim.record([report.spilled / 1e6], [listed])
    print(f"  built in {seconds:.1f} s")


def alive(client: Any, pids: dict[str, int], step: str) -> None:
    now = client.run(os.getpid)
    if now != pids:
        raise AnswerError(f"a worker went over its limit in the {step} and was restarted: {pids} are now {now}")


def fingerprint(partition: Any) -> int:
    """The sum over all edges of a hash of both ends, which depends on every edge but not on their order."""
    out, total = partition.out, 0
    numbers = partition.numbers
    for first in range(0, out.num_edges, SLICE):
        last = min(first + SLICE, out.num_edges)
        rows = np.searchsorted(out.indptr, np.arange(first, last), side="right") - 1
        total += hashes(numbers[rows], numbers[out.neighbours[first:last]])
    return total % 2**64


def expected(source: Rmat) -> int:
    """The same sum, computed from the generated edges."""
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
