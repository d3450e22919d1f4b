"""A partition's edges as kernels read them: the tables for pushing and pulling in each direction, columns in the
program's dtypes, and degrees.

Everything computed here (tables with edges of both directions, cast columns, degrees) is cached for as long as the
edges exist.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba import uint64

from dgraph.errors import ColumnError
from dgraph.native import threads
from dgraph.native.free_memory import has_room, refuse_beyond_memory
from dgraph.native.machine_code import cached_njit
from dgraph.partition import build_kernels
from dgraph.partition.adjacency import Adjacency, EdgeSlice, build
from dgraph.partition.ids.bitmaps import IDENTITY
from dgraph.partition.partition import Partition
from dgraph.programs.kernel_names import ORDINAL, field_name
from dgraph.programs.random_draws import encode_ordinal

_caches: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
_lock = threading.Lock()

MOST_COUNTED = 1 << 26  # edges of one call of NumPy
ORDERS = {"out": ("out", "incoming"), "in": ("incoming", "out")}  # tables by sender and by receiver


class EdgeTables:
    """`columns` maps a name in the program to the graph's column and the dtype that kernels expect. `draws` says
    whether the program draws a random number for each edge."""

    def __init__(
        self,
        partition: Partition,
        directed: bool,
        columns: Mapping[str, tuple[str, str]],
        threads: int,
        draws: bool = False,
    ):
        self.partition, self.directed, self.columns, self.threads = partition, directed, columns, threads
        self.draws = draws
        # The graph's names for the columns that the program reads; repeated edges are put in order by them.
        self.names = tuple(name for name, _ in columns.values())

    def senders(self, along: str) -> list[Adjacency]:
        """The tables whose rows are the sending vertices: two if messages go both ways; none if that order was not
        built or lacks a column that the program reads."""
        return self._tables(along, 0)

    def receivers(self, along: str, *, joined: bool) -> list[Adjacency]:
        """The tables whose rows are the receiving vertices; with `joined`, one table that has all edges of a
        vertex."""
        tables = self._tables(along, 1)
        if len(tables) < 2 or not joined:
            return tables
        first, second = tables
        read, compared = set(self.names), self.names if self.draws else None
        join = partial(first.joined, second, read | {ORDINAL} if self.draws else read, self.threads)
        return [cached_on(self.partition, ("joined", frozenset(read), compared), join)]

    def of_proxies(self, along: str) -> Adjacency:
        """For messages that go both ways: each proxy's neighbours that are owned here."""
        (rows,) = self.receivers(along, joined=True)
        return cached_on(rows, "of proxies", partial(_of_proxies, rows, self.partition.num_owned))

    def _tables(self, along: str, end: int) -> list[Adjacency]:
        directions = self.directions(along)
        tables = [getattr(self.partition, ORDERS[way][end]) for way in directions]
        if not all(side is not None and side.columns.keys() >= set(self.names) for side in tables):
            return []
        if self.draws:
            return [self._with_ordinals(side, way == "in") for side, way in zip(tables, directions, strict=True)]
        return tables

    def _with_ordinals(self, side: Adjacency, against: bool) -> Adjacency:
        """A table with the numbers that tell apart the edges between the same two vertices."""
        compared = [side.columns[name] for name in self.names]

        def made() -> Adjacency:
            numbers = encode_ordinal(places_among_repeats(side, compared, self.threads), against)
            return replace(side, columns={**side.columns, ORDINAL: numbers})

        return cached_on(side, (ORDINAL, self.names, against), made)

    def directions(self, along: str) -> tuple[str, ...]:
        """The directions in which messages cross edges. The rows of an undirected graph already contain both."""
        if not self.directed:
            return ("out",)
        return ("out", "in") if along == "both" else (along,)

    def arguments(self, side: Adjacency) -> dict[str, np.ndarray]:
        """A table's arrays by the names that kernels use."""
        return {
            "indptr": side.indptr,
            "neighbours": side.neighbours,
            **({ORDINAL: side.columns[ORDINAL]} if self.draws else {}),
            **{field_name(name): self.column(side, name) for name in self.columns},
        }

    def column(self, side: Adjacency, name: str) -> Any:
        """The edge column that the program reads under a name, in its dtype; None if it does not read one."""
        if name not in self.columns:
            return None
        column, dtype = self.columns[name]
        values = side.columns[column]
        return (
            values if values.dtype == dtype else cached_on(side, (column, dtype), partial(_cast, name, values, dtype))
        )

    def numbers(self) -> np.ndarray:
        """The number of each local vertex, in the dtype that kernels expect."""
        return cached_on(self.partition, "numbers", lambda: self.partition.numbers.astype(np.int64))

    def degrees(self, along: str) -> np.ndarray:
        """For each local vertex, the number of edges of this partition along which it sends."""
        degree, *more = (self._degree(way) for way in self.directions(along))
        return sum(more, degree)

    def _degree(self, way: str) -> np.ndarray:
        """The degrees in one direction, as a new array."""
        rows, columns = (getattr(self.partition, order) for order in ORDERS[way])
        if rows is not None:
            return np.diff(rows.indptr)
        size = self.partition.num_local
        return cached_on(columns, "degrees", lambda: occurrences(columns.neighbours, size)).astype(np.int64)


def occurrences(vertices: np.ndarray, size: int) -> np.ndarray:
    """How often each of the vertices 0..size occurs."""
    counts = np.zeros(size, np.uint32)
    build_kernels.count_degrees(vertices, vertices, *IDENTITY.arguments, False, counts)
    return counts


def weight_sums(vertices: np.ndarray, size: int, weights: np.ndarray) -> np.ndarray:
    """The sum of the weights of each of the vertices 0..size, in which each vertex may occur several times. NumPy would
    copy all vertices at once."""
    step = max(MOST_COUNTED, size)
    total = np.zeros(size)
    for start in range(0, len(vertices), step):
        some = slice(start, start + step)
        total += np.bincount(vertices[some], weights[some], size)
    return total


def _of_proxies(rows: Adjacency, owned: int) -> Adjacency:
    far = rows.neighbours >= owned
    return build([EdgeSlice(rows.neighbours[far], rows.rows()[far])], len(rows.indptr) - 1)


def _cast(name: str, values: np.ndarray, dtype: str) -> np.ndarray:
    """A column in the dtype that the program declares; its values must not change. It is a copy in memory, even if the
    edges are on disk."""
    need = len(values) * np.dtype(dtype).itemsize
    if not has_room(need):
        refuse_beyond_memory(f"the values of edge column {name!r} as {dtype}", need)
    with np.errstate(invalid="ignore"):  # NaN cast to an integer differs, which the check below detects
        cast = values.astype(dtype)
    if cast.dtype.kind != "f" and (changed := np.flatnonzero(cast != values)).size:
        value = values[changed[0]]
        raise ColumnError(
            f"edge column {name!r} has the value {value}, which {dtype} cannot represent; declare another dtype"
        )
    return cast


def cached_on(owner: Any, what: Any, make: Callable[[], Any]) -> Any:
    """The result of `make`, computed once for each key `what` and cached as long as `owner` (a partition, or a table of
    edges) exists."""
    with _lock:
        cache = _caches.setdefault(owner, {})
    if what not in cache:
        cache[what] = make()
    return cache[what]


# -- places of repeated edges ------------------------------------------------------------------------------------------
# Random draws tell repeated edges apart by their places, which do not depend on how a graph is partitioned.


def places_among_repeats(table: Adjacency, columns: Sequence[np.ndarray], workers: int = 1) -> np.ndarray:
    """For each edge, how many of the edges between the same two vertices come before it. Edges are ordered by their
    values in the first column, then in the next, and so on. Edges with equal values are interchangeable, so they may be
    in any order. NaN is the largest value."""
    rows, size = len(table.indptr) - 1, table.num_edges
    places, repeated = np.empty(size, np.uint32), np.empty(size, bool)

    def count(some: slice) -> None:
        seen = np.zeros(rows, np.uint32)
        _count(table.indptr, table.neighbours, some.start, some.stop, seen, places, repeated)

    threads.parallel_map(count, threads.slices(rows, workers), size)
    if columns and repeated.any():
        _order(table, columns, np.flatnonzero(repeated), places)
    return places


def _order(table: Adjacency, columns: Sequence[np.ndarray], edges: np.ndarray, places: np.ndarray) -> None:
    """Set the places of some edges, which include all repeats of each edge, by their columns."""
    rows = np.searchsorted(table.indptr, edges, side="right") - 1
    ends = table.neighbours[edges]
    order = np.lexsort([*(values[edges] for values in reversed(columns)), ends, rows])
    edges, rows, ends = edges[order], rows[order], ends[order]
    first = np.flatnonzero(np.r_[True, (rows[1:] != rows[:-1]) | (ends[1:] != ends[:-1])])
    places[edges] = np.arange(len(edges)) - np.repeat(first, np.diff(np.r_[first, len(edges)]))


@cached_njit()
def _count(indptr, neighbours, lo, hi, seen, places, repeated):
    """Count the edges of each of the rows lo:hi to each neighbour; `seen` is zero before and after."""
    for row in range(uint64(lo), uint64(hi)):
        first, last = uint64(indptr[row]), uint64(indptr[row + uint64(1)])
        for e in range(first, last):
            v = uint64(neighbours[e])
            places[e] = seen[v]
            seen[v] += 1
        for e in range(first, last):
            repeated[e] = seen[uint64(neighbours[e])] > 1
        for e in range(first, last):
            seen[uint64(neighbours[e])] = 0
