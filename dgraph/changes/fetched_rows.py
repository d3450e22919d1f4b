"""The edges of a graph of several partitions, or on a cluster, for kernels that read a few rows: those that a kernel
looked for are fetched, and then it starts again. Changes are not merged, if what partitions have and the changes tell
all."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.changes.current_rows import NO_KEYS, NO_ROWS, NO_WEIGHTS, Overlay, tells_all
from dgraph.changes.spread_base import count_all
from dgraph.partition.local_numbers import lowest_weight, rows_at
from dgraph.partition.partition import Partition
from dgraph.tables.changed_rows import ASKED, HERE, IN_PART, ChangedRows, most_to_read
from dgraph.tables.edge_tables import cached_on

MOST_TRIPS = 64  # times that rows are fetched; what spreads farther is better computed anew
FIRST = 64  # edges of a row that are fetched first, if a kernel may do with some
EVERY = np.iinfo(np.int64).max
NO_TABLE = np.zeros(1, np.int64)


class FetchedRows:
    """The rows of a graph, with the weights in `weight` unless it is None. `in_part` says that kernels ask for the rest
    of a row once they have read its start."""

    def __init__(self, graph: PartitionedGraph, weight: str | None, *, in_part: bool = False):
        self._graph, self._weight, self._in_part = graph, weight, in_part
        self._names: tuple[str, ...] = () if weight is None else (weight,)
        self._orders: dict[str, FetchedTable] = {}
        self.trips = self.num_fetched = 0
        history = graph.input_edges.history if graph.built is None else None
        spread = None if history is None else history.base.spread
        self._changes: Overlay | None = None
        if history is not None and spread is not None and not spread.is_lost and tells_all(history, weight):
            self._changes, self._held = Overlay(history, weight, graph.input_edges.rules.skip_loops), spread.partitions

    @cached_property
    def num_edges(self) -> int:
        """The number of edges, in both directions if they have none."""
        return count_all(self._held if self._changes is not None else self._graph.partitions)

    @cached_property
    def lowest(self) -> float:
        """A weight that no edge is below; infinite without edges."""
        if self._weight is None:
            return 1.0
        workers, held = self._graph.workers, self._partitions("out")
        found = workers.bring(workers.each(_lowest_kept, [(one, self._weight) for one in held]))
        more = () if self._changes is None else self._changes.weights
        return min([*found, *map(float, more)], default=np.inf)

    def has(self, order: str) -> bool:
        """Whether there are rows in this order, with weights."""
        return not self._graph.directed or order in self._orders

    def __call__(self, order: str) -> ChangedRows:
        """The rows by source ("out") or by destination ("incoming") that are here."""
        if not self._graph.directed:
            order = "out"
        if order not in self._orders:
            self._partitions(order)
            self._orders[order] = FetchedTable(self._graph.num_vertices, self._weight is not None)
        return self._orders[order].rows(self.num_edges)

    def fetch(self) -> bool:
        """Fetch the rows that kernels looked for. Whether there were any."""
        missing = {order: table.missing for order, table in self._orders.items() if len(table.missing)}
        for order, vertices in missing.items():
            table = self._orders[order]
            most = np.where(table.has_start[vertices] | (not self._in_part), EVERY, FIRST)
            table.add(vertices, *self._rows_of(vertices, order, most))
        self.trips += bool(missing)
        self.num_fetched = sum(len(one.more_rows) for one in self._orders.values())
        return bool(missing)

    @property
    def is_beyond_use(self) -> bool:
        """Whether so many edges were fetched that an answer is better computed anew."""
        return any(len(one.more_rows) > 2 * most_to_read(one.rows(self.num_edges)) for one in self._orders.values())

    def _partitions(self, order: str) -> Any:
        """Partitions that have this order: those that were changed, or else the graph's own."""
        if not self._graph.directed:
            order = "out"
        if self._changes is not None:
            kept = self._held.kept
            if order in kept and set(self._names) <= set(kept[order]):
                return self._held
            self._changes = None  # what was fetched stays valid, since vertices keep their numbers
        return self._graph.partitioned(tuple(dict.fromkeys([*self._orders, order])), self._names)

    def _rows_of(
        self, vertices: np.ndarray, order: str, most: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The vertex of the row, the neighbour and the weight of each edge; and the vertices whose rows have more."""
        held, workers = self._partitions(order), self._graph.workers
        asked = [(one, vertices, order, self._weight, most) for one in held.held]
        found = workers.ask(rows_at, asked, workers.where(held.held))
        rows, others = (np.concatenate([one[k] for one in found]).astype(np.uint32) for k in (0, 1))
        weights = NO_WEIGHTS if self._weight is None else np.concatenate([one[2] for one in found])
        cut = np.concatenate([one[3] for one in found])
        if self._changes is None:
            return rows, others, weights, cut
        gone, more_rows, more_others, more_weights = self._changes.of(order)
        kept = ~np.isin(rows.astype(np.uint64) << np.uint64(32) | others.astype(np.uint64), gone)
        some = np.isin(more_rows, vertices)
        rows = np.concatenate([rows[kept], more_rows[some]])
        others = np.concatenate([others[kept], more_others[some]])
        if self._weight is not None:
            weights = np.concatenate([weights[kept], more_weights[some]])
        return rows, others, weights, cut


class FetchedTable:
    """The rows of one order that are here, in ascending order of their vertices."""

    def __init__(self, size: int, is_weighted: bool):
        self._asked, self._is_weighted = np.zeros(size, np.uint8), is_weighted
        self.has_start = np.zeros(size, bool)
        self.more_rows, self.more_others, self.more_weights = NO_ROWS, NO_ROWS, NO_WEIGHTS

    def rows(self, total: int) -> ChangedRows:
        more = self.more_rows, self.more_others, self.more_weights
        return ChangedRows(NO_TABLE, NO_ROWS, NO_WEIGHTS, NO_KEYS, *more, self._asked, total)

    @property
    def missing(self) -> np.ndarray:
        """The vertices whose rows kernels looked for and are not here."""
        return np.flatnonzero(self._asked == ASKED)

    def add(
        self, vertices: np.ndarray, rows: np.ndarray, others: np.ndarray, weights: np.ndarray, cut: np.ndarray
    ) -> None:
        """Add the rows of some vertices, in place of their starts; only the starts of those in `cut`."""
        if self.has_start[vertices].any():
            kept = ~np.isin(self.more_rows, vertices)
            self.more_rows, self.more_others = self.more_rows[kept], self.more_others[kept]
            self.more_weights = self.more_weights[kept] if self._is_weighted else self.more_weights
        self._asked[vertices], self._asked[cut], self.has_start[cut] = HERE, IN_PART, True
        rows = np.concatenate([self.more_rows, rows])
        order = np.argsort(rows, kind="stable")
        self.more_rows, self.more_others = rows[order], np.concatenate([self.more_others, others])[order]
        if self._is_weighted:
            self.more_weights = np.concatenate([self.more_weights, weights])[order]


def _lowest_kept(partition: Partition, weight: str) -> float:
    return cached_on(partition, ("lowest", weight), lambda: lowest_weight(partition, weight))
