"""A partition's edges as kernels read them: the tables for pushing and pulling in each direction, columns in the
program's dtypes, and degrees.

Everything computed here (tables with edges of both directions, cast columns, degrees) is cached for as long as the
edges exist.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph.errors import ColumnError
from dgraph.partition.adjacency import Adjacency, EdgeSlice, build
from dgraph.partition.partition import Partition
from dgraph.programs.kernel_names import ORDINAL, field_name
from dgraph.programs.random_draws import encode_ordinal
from dgraph.tables.repeated_edges import places_among_repeats

_caches: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
_lock = threading.Lock()

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
        read, compared = self._columns_read, self._columns_compared if self.draws else None
        join = partial(first.joined, second, read | {ORDINAL} if self.draws else read, self.threads)
        return [cached_on(self.partition, ("joined", frozenset(read), compared), join)]

    def of_proxies(self, along: str) -> Adjacency:
        """For messages that go both ways: each proxy's neighbours that are owned here."""
        (rows,) = self.receivers(along, joined=True)
        return cached_on(rows, "of proxies", partial(_of_proxies, rows, self.partition.num_owned))

    def _tables(self, along: str, end: int) -> list[Adjacency]:
        directions = self.directions(along)
        tables = [getattr(self.partition, ORDERS[way][end]) for way in directions]
        if not all(side is not None and side.columns.keys() >= self._columns_read for side in tables):
            return []
        if self.draws:
            return [self._with_ordinals(side, way == "in") for side, way in zip(tables, directions, strict=True)]
        return tables

    def _with_ordinals(self, side: Adjacency, against: bool) -> Adjacency:
        """A table with the numbers that tell apart the edges between the same two vertices."""
        compared = [side.columns[name] for name in self._columns_compared]

        def made() -> Adjacency:
            numbers = encode_ordinal(places_among_repeats(side, compared, self.threads), against)
            return replace(side, columns={**side.columns, ORDINAL: numbers})

        return cached_on(side, (ORDINAL, self._columns_compared, against), made)

    @property
    def _columns_read(self) -> set[str]:
        """The graph's names for the columns that the program reads."""
        return {name for name, _ in self.columns.values()}

    @property
    def _columns_compared(self) -> tuple[str, ...]:
        """The graph's names for the columns by which repeated edges are put in order."""
        return tuple(name for name, _ in self.columns.values())

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
        return cached_on(columns, "degrees", lambda: np.bincount(columns.neighbours, minlength=size)).astype(np.int64)


def _of_proxies(rows: Adjacency, owned: int) -> Adjacency:
    far = rows.neighbours >= owned
    return build([EdgeSlice(rows.neighbours[far], rows.rows()[far])], len(rows.indptr) - 1)


def _cast(name: str, values: np.ndarray, dtype: str) -> np.ndarray:
    """A column in the dtype that the program declares; its values must not change."""
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
