"""The edges of a graph as they are, for kernels that read a few rows: without merging the changes, if the rows of the
partition that they change tell all; else the graph's own partition is built."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.changes.batch import ends_of
from dgraph.changes.history import History
from dgraph.changes.new_ids import EndNumbers
from dgraph.frames.any_frame import numeric_column
from dgraph.native import threads
from dgraph.native.free_memory import has_room
from dgraph.partition.adjacency import Adjacency
from dgraph.partition.partition import Partition
from dgraph.solvers.paths.shortest_paths import NOT_CAST
from dgraph.tables.changed_rows import ChangedRows
from dgraph.tables.edge_tables import cached_on

NO_KEYS, NO_ROWS, NO_WEIGHTS = np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0)


class CurrentRows:
    """The rows of a graph of one partition in this process, with the weights in `weight` unless it is None."""

    def __init__(self, graph: PartitionedGraph, weight: str | None):
        self._graph, self._weight = graph, weight
        self._names: tuple[str, ...] = () if weight is None else (weight,)
        history = graph.input_edges.history if graph.built is None else None
        self._changes: Overlay | None = None
        if history is not None and history.base.partition is not None and tells_all(history, weight):
            self._changes = Overlay(history, weight, graph.input_edges.rules.skip_loops)

    @property
    def num_edges(self) -> int:
        return self._table("out").num_edges

    @property
    def lowest(self) -> float:
        """A weight that no edge is below; infinite without edges."""
        table = self._table("out")
        if self._weight is None:
            return 1.0
        weights, more = table.columns[self._weight], () if self._changes is None else self._changes.weights
        least = cached_on(table, ("lowest", self._weight), lambda: float(weights.min()) if len(weights) else np.inf)
        return min(least, *map(float, more)) if len(more) else least

    def has(self, order: str) -> bool:
        """Whether there are rows in this order, with weights."""
        if not self._graph.directed:
            return True
        if self._changes is not None:
            table = getattr(self._changes.base, order)
            return table is not None and table.columns.keys() >= set(self._names)
        built = self._graph.built
        return built is not None and order in built.kept and set(built.kept[order]) >= set(self._names)

    def __call__(self, order: str) -> ChangedRows:
        """The rows by source ("out") or by destination ("incoming")."""
        table = self._table(order)
        weights = NO_WEIGHTS if self._weight is None else _weights(table, self._weight)
        arrays = table.indptr, table.neighbours, weights
        if self._changes is None:
            return ChangedRows(*arrays, NO_KEYS, NO_ROWS, NO_ROWS, NO_WEIGHTS)
        return ChangedRows(*arrays, *self._changes.of(order))

    def _table(self, order: str) -> Adjacency:
        if not self._graph.directed:
            order = "out"
        if self._changes is not None:
            table = self._changes.table(order, self._names)
            if table is not None:
                return table
            self._changes = None
        built = self._graph.partitioned(("out", order), self._names)[0]
        return built.by_source if order == "out" else built.incoming


def _weights(table: Adjacency, name: str) -> np.ndarray:
    """The weights of a table, in the user's type if kernels support it."""
    values = table.columns[name]
    return values if values.dtype in NOT_CAST else cached_on(table, (name, "float64"), lambda: values.astype(float))


def tells_all(history: History, weight: str | None) -> bool:
    """Whether the rows of the base and the batches tell all edges, by numbers that stay: with weights, only if whole
    pairs were removed, and none of them gets another weight by merging."""
    if not history.base.is_built or not history.keeps_numbers:
        return False
    return weight is None or (not history.rule.merges and bool(history.net.emptied.all()))


class Overlay:
    """The batches since the base, as changes of rows."""

    def __init__(self, history: History, weight: str | None, skip_loops: bool):
        self._history, self._weight = history, weight
        ends: EndNumbers = history.net.listed() if history.since else (NO_ROWS, NO_ROWS)
        self._sources, self._destinations = ends
        self.weights = NO_WEIGHTS
        if weight is not None and len(self._sources):
            self.weights = numeric_column(history.net.frame, weight, is_weight=True).astype(np.float64)
        if skip_loops:
            kept = self._sources != self._destinations
            self._sources, self._destinations = self._sources[kept], self._destinations[kept]
            self.weights = self.weights[kept] if weight is not None else self.weights

    @property
    def base(self) -> Partition:
        assert self._history.base.partition is not None
        return self._history.base.partition

    def table(self, order: str, names: tuple[str, ...]) -> Adjacency | None:
        """The base's table, made by transposing the other one if need be; None if that takes more memory than there
        is, or columns are missing."""
        table, other = self.base.out, self.base.incoming
        if order == "incoming":
            table, other = other, table
        if table is not None and table.columns.keys() >= set(names):
            return table
        if other is None or not other.columns.keys() >= set(names) or not has_room(2 * other.nbytes):
            return None
        return cached_on(other, ("transposed", names), lambda: other.transposed(threads.cores(), columns=names))

    @cached_property
    def _gone(self) -> EndNumbers:
        net = self._history.net
        return ends_of(net.removed[net.emptied]) if self._history.since else (NO_ROWS, NO_ROWS)

    def of(self, order: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The keys of edges to leave out, and the rows, neighbours and weights of edges to put in."""
        (rows, others), _ = self._both_ways(self._gone, order)
        gone = np.sort(rows.astype(np.uint64) << np.uint64(32) | others.astype(np.uint64))
        (rows, others), which = self._both_ways((self._sources, self._destinations), order)
        by_row = np.argsort(rows, kind="stable")
        weights = self.weights[which[by_row]] if self._weight is not None else NO_WEIGHTS
        return gone, rows[by_row].astype(np.uint32), others[by_row].astype(np.uint32), weights

    def _both_ways(self, ends: EndNumbers, order: str) -> tuple[EndNumbers, np.ndarray]:
        """Rows and neighbours in an order; in both directions if edges have none. And which edge each is."""
        which = np.arange(len(ends[0]))
        if self._history.rule.directed:
            return (ends if order == "out" else ends[::-1]), which
        return (np.concatenate(ends), np.concatenate(ends[::-1])), np.concatenate([which, which])
