"""The neighbours of each vertex, each once, where all of them are known: for what compares whole neighbourhoods."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.building.weights import unit_of
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.partition.partition import Partition
from dgraph.runs.repartition import neighbourhood_partitions
from dgraph.solvers.similarity import Rows, simple_rows

LEAST = 1e-290  # a smaller share of the largest weight is 0


class Neighbourhoods:
    """The neighbours of a partition's vertices, with weights in units of about the largest, and the vertices that have
    these as neighbours. This is a plain class because Dask would search a dataclass or a tuple for tasks."""

    def __init__(self, numbers: np.ndarray, rows: Rows, back: Rows):
        self.numbers, self.rows, self.back = numbers, rows, back

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.numbers.nbytes + self.rows.nbytes + (0 if self.back is self.rows else self.back.nbytes)


def neighbourhoods(graph: Graph, direction: str = "out", weight: str | None = None) -> list[Any]:
    """The `Neighbourhoods` of each partition, left on the workers, by the edges that lead there or come from there."""
    workers, columns = graph.workers, () if weight is None else (weight,)
    if graph.num_parts == 1:
        held = graph.partitioned(("out", "incoming") if graph.directed else ("out",), columns).held
    else:
        orders = ("incoming", "out") if graph.directed else ("incoming",)
        held = neighbourhood_partitions(graph, columns, orders, twice=graph.directed, in_order=False)
    unit = 1.0 if weight is None else unit_of(graph)
    how = graph.directed, direction, weight, unit, threads_of(graph)
    return workers.wait(workers.each(_of_partition, [(one, *how) for one in held]))


def threads_of(graph: Graph) -> int:
    """The threads of a task for each partition."""
    workers, parts = graph.workers, graph.num_parts
    return workers.threads_each(parts) if parts == 1 or workers.client is not None else 1


@explain_lack_of_memory("the neighbours of all vertices, each once,", "compare vertices")
def _of_partition(
    partition: Partition, directed: bool, direction: str, weight: str | None, unit: float, threads: int
) -> Neighbourhoods:
    out, incoming = partition.out, partition.incoming
    if not directed:  # then only one of them has all edges of the vertices
        out = incoming = out if partition.parts == 1 else incoming
    rows, back = (out, incoming) if direction == "out" else (incoming, out)
    owned = partition.numbers[: partition.num_owned].astype(np.uint32, copy=False)
    threads = worthwhile_threads(threads, partition.num_edges)

    def simple(side: Any) -> Rows:
        weights, neighbours = None, side.neighbours
        if weight is not None:  # which partitions without edges may lack
            weights = side.columns.get(weight, np.empty(0)).astype(np.float64) * unit
            weights[weights < LEAST] = 0
        if partition.parts > 1:
            neighbours = partition.numbers.astype(np.uint32, copy=False)[neighbours]
        return simple_rows(side.indptr, neighbours, weights, owned, threads)

    def by_team() -> Neighbourhoods:
        listed = simple(rows)
        return Neighbourhoods(owned, listed, simple(back) if directed else listed)

    return call_team(threads, by_team)
