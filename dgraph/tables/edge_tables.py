"""A partition's edges as kernels read them: which rows push and pull along each way, columns in their dtype, degrees.

What is made here (edges of both directions in one table, cast columns, degrees) is kept as long as the edges are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph.errors import ColumnError
from dgraph.partition.adjacency import Adjacency, EdgeSlice, build
from dgraph.partition.partition import Partition
from dgraph.programs.kernel_names import key

_made: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
_lock = threading.Lock()

ORDERS = {"out": ("out", "incoming"), "in": ("incoming", "out")}  # rows of those who send, of those who are sent to


class EdgeTables:
    """`columns` maps what the program reads to the graph's column and the dtype that kernels want."""

    def __init__(self, partition: Partition, directed: bool, columns: Mapping[str, tuple[str, str]], threads: int):
        self.partition, self.directed, self.columns, self.threads = partition, directed, columns, threads

    def senders(self, along: str) -> list[Adjacency]:
        """The tables whose rows are the vertices that send: two where messages go both ways, none if that order was not
        built, or without the columns that are read."""
        return self._found(along, 0)

    def receivers(self, along: str, *, at_once: bool) -> list[Adjacency]:
        """The tables whose rows are the vertices that are sent to; with `at_once`, all edges of a vertex are in one
        table."""
        found = self._found(along, 1)
        if len(found) < 2 or not at_once:
            return found
        first, second = found
        joined = partial(first.joined, second, self._read, self.threads)
        return [cached_on(self.partition, ("joined", frozenset(self._read)), joined)]

    def of_proxies(self, along: str) -> Adjacency:
        """Where messages go both ways: for each proxy its neighbours that are owned here."""
        (rows,) = self.receivers(along, at_once=True)
        return cached_on(rows, "of proxies", partial(_of_proxies, rows, self.partition.num_owned))

    def _found(self, along: str, end: int) -> list[Adjacency]:
        found = [getattr(self.partition, ORDERS[way][end]) for way in self.ways(along)]
        return found if all(side is not None and side.columns.keys() >= self._read for side in found) else []

    @property
    def _read(self) -> set[str]:
        """The graph's names of the columns that the program reads."""
        return {name for name, _ in self.columns.values()}

    def ways(self, along: str) -> tuple[str, ...]:
        """The directions in which messages along `along` cross edges. Rows of an undirected graph have both already."""
        if not self.directed:
            return ("out",)
        return ("out", "in") if along == "both" else (along,)

    def arguments(self, side: Adjacency) -> dict[str, np.ndarray]:
        """A table's arrays by the names that kernels use."""
        found: dict[str, np.ndarray] = {"indptr": side.indptr, "neighbours": side.neighbours}
        return found | {key(name): self.column(side, name) for name in self.columns}

    def column(self, side: Adjacency, name: str) -> Any:
        """What the program reads of the edges under a name, in the dtype that it wants; None if it does not."""
        if name not in self.columns:
            return None
        column, dtype = self.columns[name]
        values = side.columns[column]
        return (
            values if values.dtype == dtype else cached_on(side, (column, dtype), partial(_cast, name, values, dtype))
        )

    def numbers(self) -> np.ndarray:
        """The number of each local vertex, in the dtype that kernels want."""
        return cached_on(self.partition, "numbers", lambda: self.partition.numbers.astype(np.int64))

    def degrees(self, along: str) -> np.ndarray:
        """For each local vertex, the number of edges here along which it sends."""
        degree, *more = (self._degree(way) for way in self.ways(along))
        return sum(more, degree)

    def _degree(self, way: str) -> np.ndarray:
        """An array that nobody else has."""
        rows, columns = (getattr(self.partition, order) for order in ORDERS[way])
        if rows is not None:
            return np.diff(rows.indptr)
        size = self.partition.num_local
        return cached_on(columns, "degrees", lambda: np.bincount(columns.neighbours, minlength=size)).astype(np.int64)


def _of_proxies(rows: Adjacency, owned: int) -> Adjacency:
    far = rows.neighbours >= owned
    return build([EdgeSlice(rows.neighbours[far], rows.rows()[far])], len(rows.indptr) - 1)


def _cast(name: str, values: np.ndarray, dtype: str) -> np.ndarray:
    """A column in the dtype that the program declares, which must not change what it says."""
    with np.errstate(invalid="ignore"):  # NaN as a whole number, which is not the same
        cast = values.astype(dtype)
    if cast.dtype.kind != "f" and (changed := np.flatnonzero(cast != values)).size:
        value = values[changed[0]]
        raise ColumnError(f"edge column {name!r} is declared {dtype}, which {value} is not; declare another")
    return cast


def cached_on(owner: Any, what: Any, make: Callable[[], Any]) -> Any:
    """What `make` returns, computed once for each `what`, and kept as long as `owner` (a partition, or a table of
    edges) lives."""
    with _lock:
        found = _made.setdefault(owner, {})
    if what not in found:
        found[what] = make()
    return found[what]
