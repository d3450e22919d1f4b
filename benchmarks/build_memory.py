"""Peak memory of a build beyond the caller's own arrays, as a multiple of the final partitions' bytes.

Each case runs in its own process, which makes the arrays, builds a small graph so that everything is compiled and
loaded, and then resets the kernel's record of the peak resident size. Linux only.

Two workers that read the edges from Parquet are measured together in the same way; they hold no arrays of a caller.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from build_strings import named, numbers_in
from harness import Claim, in_new_process, parser_of, rmat_edges, rows_of, same, sorted_pairs

import dgraph as dg
from dgraph.bench.local_cluster import local_cluster
from dgraph.bench.resources import resident, restart_peak

TARGET = 2.5
ROWS = {"small": 14, "edges": 20}  # log2 of the edges in a row group: each worker reads some, which loads its reader
ORDERS = {"by source": ("out",), "by source and by destination": ("out", "incoming")}


def main() -> None:
    options = parser_of(__doc__, scale=20, trials=3)
    options.add_argument("--ids", nargs="+", choices=["integer", "string"], default=["integer", "string"])
    given = options.parse_args()
    for ids in given.ids:
        for parts in (1, 4):
            for title, orders in ORDERS.items():
                found = [in_new_process(build, given.scale, ids, parts, orders) for _ in range(given.trials)]
                pieces = f"{parts} partition{'s' * (parts > 1)}"
                what = f"peak memory of {16 << given.scale >> 20} M edges, {ids} ids, {pieces}, {title}"
                record(what, TARGET, found)
        found = [in_new_process(on_workers, given.scale, ids) for _ in range(given.trials)]
        record(f"peak memory of {16 << given.scale >> 20} M edges, {ids} ids, from Parquet on 2 workers", None, found)


def record(what: str, target: float | None, found: list[dict[str, int]]) -> None:
    claim = Claim("build_memory", what, "the final partitions", target, unit="MB")
    claim.record([one["peak"] / 1e6 for one in found], [one["partitions"] / 1e6 for one in found])


def build(scale: int, ids: str, parts: int, orders: Sequence[str]) -> dict[str, int]:
    """Measure and verify one build in this process."""
    dg.Graph.from_edges(frame_of(14, ids), parts=parts).partitioned(orders)
    frame = frame_of(scale, ids)
    before = restart_peak()
    graph = dg.Graph.from_edges(frame, parts=parts)
    partitions = graph.partitioned(orders)
    peak = resident("VmHWM") - before

    held = partitions.workers.get(list(partitions.held))
    verify(held, graph.numbering.ids(), scale, ids, orders)
    return {"peak": peak, "partitions": sum(one.nbytes for one in held)}


def on_workers(scale: int, ids: str) -> dict[str, int]:
    """Measure and verify one build from Parquet on two workers of one thread."""

    def build(name: str) -> tuple[Any, Any]:
        graph = dg.read_edges(f"{folder}/{name}.parquet", client=client, format=dg.Parquet(lazy=True))
        return graph, graph.partitioned("out")

    with tempfile.TemporaryDirectory() as folder:
        for name, size in {"small": 14, "edges": scale}.items():
            table = pa.table(frame_of(size, ids))
            pq.write_table(table, f"{folder}/{name}.parquet", row_group_size=1 << ROWS[name])
            del table
        with local_cluster(2, 1, memory_limit=0) as client:
            build("small")
            before = client.run(restart_peak)
            graph, partitions = build("edges")
            peaks = client.run(resident, "VmHWM")
            held = partitions.workers.get(list(partitions.held))
            verify(held, graph.numbering.ids(), scale, ids, ["out"])
            return {"peak": sum(peaks.values()) - sum(before.values()), "partitions": sum(one.nbytes for one in held)}


def frame_of(scale: int, ids: str) -> Any:
    sources, destinations = rmat_edges(scale)
    if ids == "integer":
        return {"src": sources, "dst": destinations}
    return pa.table({"src": named(sources), "dst": named(destinations)})


def verify(held: list[Any], known: Any, scale: int, ids: str, orders: Sequence[str]) -> None:
    """Check that the partitions have the listed edges."""
    sources, destinations = rmat_edges(scale)
    numbered = known if ids == "integer" else numbers_in(known)
    for order in orders:
        sides = [(one.numbers, getattr(one, order)) for one in held]
        rows = numbered[np.concatenate([numbers[rows_of(side.indptr)] for numbers, side in sides])]
        others = numbered[np.concatenate([numbers[side.neighbours] for numbers, side in sides])]
        ends = (rows, others) if order == "out" else (others, rows)
        same(sorted_pairs(*ends), sorted_pairs(sources, destinations), f"the edges {order}")


if __name__ == "__main__":
    main()
