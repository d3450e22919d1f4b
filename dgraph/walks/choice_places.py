"""The rows of neighbours that walks and samples choose from, where the edges are."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.partition.partition import Partition
from dgraph.runs.repartition import row_partitions
from dgraph.solvers.choice_rows import ChoiceRows, choice_rows
from dgraph.tables.edge_tables import cached_on

SORTING = 16  # about how many times as long as reading


class ChoicePlace:
    """The rows of a partition's vertices, whose numbers ascend. This is a plain class because Dask would search a
    dataclass or a tuple for tasks."""

    def __init__(self, numbers: np.ndarray, rows: ChoiceRows):
        self.numbers, self.rows = numbers, rows

    @property
    def _is_range(self) -> bool:
        return len(self.numbers) > 0 and int(self.numbers[-1]) - int(self.numbers[0]) == len(self.numbers) - 1

    def rows_of(self, vertices: np.ndarray) -> np.ndarray:
        """The rows of some vertices of this partition."""
        if self._is_range:
            return vertices.astype(np.int64) - int(self.numbers[0])
        return np.searchsorted(self.numbers, vertices)

    def owns(self, vertices: np.ndarray) -> np.ndarray:
        """Whether each vertex is one of this partition."""
        if not len(self.numbers):
            return np.zeros(len(vertices), np.bool_)
        if self._is_range:
            return (vertices >= self.numbers[0]) & (vertices <= self.numbers[-1])
        places = np.minimum(np.searchsorted(self.numbers, vertices), len(self.numbers) - 1)
        return self.numbers[places] == vertices

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.numbers.nbytes + self.rows.nbytes


def choice_places(graph: Graph, order: str, weight: str | None, *, summed: bool = True) -> list[Any]:
    """The `ChoicePlace` of each partition, by the edges that lead away ("out") or arrive ("incoming"), left on the
    workers, which keep it as long as the partition. Weights are added up if `summed`."""
    workers, summed = graph.workers, summed or weight is None
    held, order = row_partitions(graph, order, () if weight is None else (weight,))
    threads = workers.threads_each(len(held)) if len(held) == 1 or workers.client is not None else 1
    return workers.wait(workers.each(_of_partition, [(one, order, weight, summed, threads) for one in held]))


def _of_partition(partition: Partition, order: str, weight: str | None, summed: bool, threads: int) -> ChoicePlace:
    make = partial(_sorted, partition, order, weight, summed, threads)
    return cached_on(partition, ("choices", order, weight, summed), make)


@explain_lack_of_memory("the neighbours of all vertices, sorted,", "choose among them")
def _sorted(partition: Partition, order: str, weight: str | None, summed: bool, threads: int) -> ChoicePlace:
    table = partition.by_source if order == "out" else partition.incoming
    assert table is not None, "the caller asks for this order"
    owned, numbers = partition.num_owned, partition.numbers.astype(np.uint32, copy=False)
    indptr, arcs = table.indptr[: owned + 1], int(table.indptr[owned])
    neighbours, weights = table.neighbours[:arcs], None
    if partition.parts > 1:
        neighbours = numbers[neighbours]
    if weight is not None:  # which partitions without edges may lack
        weights = table.columns.get(weight, np.empty(0))[:arcs].astype(np.float64)
    threads = worthwhile_threads(threads, SORTING * arcs)
    sort = partial(choice_rows, indptr, neighbours, weights, summed, threads)
    return ChoicePlace(numbers[:owned], call_team(threads, sort, SORTING * arcs))
