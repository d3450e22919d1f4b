"""Neighbours in the simple graph, which ignores directions, self loops and repeated edges: the rows for counting
triangles and peeling cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import uint64

from dgraph.native.free_memory import has_room, refuse_beyond_memory
from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, atomic_add, atomic_load, atomic_max, kernel, team
from dgraph.partition.adjacency import Adjacency
from dgraph.tables.edge_tables import cached_on

ALL, OTHERS, LOWER = 0, 1, 2  # the neighbours that a row keeps: all, all but itself, or those before it
GRAIN = 1024  # rows that a thread takes at a time
FORTH, BACK = 1, 2  # bits of `ways`
CURSOR, REPEATED = 0, 1  # in `tally`: the next row to be taken; and whether some row is not simple


@dataclass(frozen=True, eq=False)
class Neighbours:
    """`others[bounds[r, 0]:bounds[r, 1]]` are the neighbours of row r, each once. `ways` says whether arcs connect a
    neighbour in one direction (1) or in both (2); or with a bit for each direction, whether there is an arc to the
    neighbour (FORTH) or from it (BACK)."""

    bounds: np.ndarray  # int64, rows x 2; there are gaps between rows in place of repeated neighbours
    others: np.ndarray  # uint32
    ways: np.ndarray | None  # uint8, aligned with `others`

    def __len__(self) -> int:
        return len(self.bounds)

    @property
    def num_edges(self) -> int:
        return int((self.bounds[:, 1] - self.bounds[:, 0]).sum())

    def __sizeof__(self) -> int:  # Dask uses it to decide when to spill
        return self.bounds.nbytes + self.others.nbytes + (0 if self.ways is None else self.ways.nbytes)


def distinct(
    tables: Sequence[Adjacency],
    size: int,
    threads: int,
    *,
    kept: int,
    order: np.ndarray | None = None,
    ways: bool = False,
    bits: bool = False,
) -> Neighbours:
    """The rows of one table, or of one table for each direction, with every neighbour once. All neighbours are below
    `size`. `order` is a new number for each vertex, by which rows and neighbours are then identified. `ways` says how
    many directions a neighbour has, or with `bits` which."""
    first, second = tables[0], tables[1] if len(tables) > 1 else None
    total = sum(table.num_edges for table in tables)
    need = total * (4 + ways) + (len(first.indptr) - 1) * 16 + threads * size
    if not has_room(need):
        refuse_beyond_memory(f"the neighbours in {total:,} edges, each once,", need)
    result = Neighbours(
        np.empty((len(first.indptr) - 1, 2), np.int64),
        np.empty(total, np.uint32),
        np.empty(total, np.uint8) if ways else None,
    )
    more = (None, None) if second is None else (second.indptr, second.neighbours)
    marks, cursor = np.zeros((threads, size), np.uint8), np.zeros(1, np.int64)
    sides = first.indptr, first.neighbours, *more
    team(_distinct, threads, cursor, *sides, order, kept, result.bounds, result.others, result.ways, bits, marks)
    return result


def is_simple(rows: Adjacency, threads: int) -> bool:
    """Whether rows list every neighbour once, and no vertex is its own neighbour; cached with the rows."""

    def look() -> bool:
        marks, tally = np.zeros((threads, len(rows.indptr) - 1), np.bool_), np.zeros(2, np.int64)
        team(_find_repeats, threads, tally, rows.indptr, rows.neighbours, marks)
        return not tally[REPEATED]

    return bool(cached_on(rows, "simple", look))


@kernel
def _find_repeats(rank, size, signals, tally, indptr, neighbours, marks):
    """Set tally[REPEATED] if a row is not simple. A thread marks the neighbours of its current row in `marks[rank]`,
    unless they ascend, and clears the marks again."""
    mark, n, repeated = marks[rank], indptr.size - 1, False
    while not repeated and atomic_load(tally, REPEATED) == 0:
        begin = atomic_add(tally, CURSOR, GRAIN)
        if begin >= n:
            break
        for u in range(uint64(begin), uint64(min(begin + GRAIN, n))):
            first, last, ascends, before = uint64(indptr[u]), uint64(indptr[u + ONE]), True, np.int64(-1)
            for e in range(first, last):
                x = np.int64(neighbours[e])
                repeated = repeated or bool(x == np.int64(u))
                ascends = ascends and bool(x > before)
                before = x
            if not ascends:
                for e in range(first, last):
                    repeated = repeated or bool(mark[neighbours[e]])
                    mark[neighbours[e]] = True
                for e in range(first, last):
                    mark[neighbours[e]] = False
    if repeated:
        atomic_max(tally, REPEATED, 1)


@kernel
def _distinct(
    rank, size, signals,
    cursor, indptr, neighbours, more_indptr, more_neighbours, order, kept, bounds, others, ways, bits, marks,
):  # fmt: skip
    """Write the distinct neighbours of all rows. The thread that takes a row writes it at the row's place in the table.
    It marks the neighbours of its current row in `marks[rank]`, with a bit for each direction, and clears the marks
    again."""
    mark = marks[rank]
    n = indptr.size - 1
    while True:
        begin = atomic_add(cursor, 0, GRAIN)
        if begin >= n:
            break
        for u in range(uint64(begin), uint64(min(begin + GRAIN, n))):
            row = uint64(u) if order is None else uint64(order[u])
            start = uint64(indptr[u])
            if more_indptr is not None:
                start += uint64(more_indptr[u])
            end = _take(row, u, indptr, neighbours, order, kept, mark, FORTH, others, start)
            if more_indptr is not None:
                end = _take(row, u, more_indptr, more_neighbours, order, kept, mark, BACK, others, end)
            for i in range(start, end):
                x = others[i]
                if ways is not None:
                    ways[i] = mark[x] if bits else 2 if mark[x] == FORTH + BACK else 1
                mark[x] = 0
            bounds[row, 0], bounds[row, 1] = start, end


@inlined
def _take(row, u, indptr, neighbours, order, kept, mark, bit, others, end):
    """Append and mark the neighbours that the row keeps and does not have yet; returns the new end of the row."""
    for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
        x = uint64(neighbours[e]) if order is None else uint64(order[neighbours[e]])
        if kept == ALL or x < row or (kept == OTHERS and x != row):
            if mark[x] == 0:
                others[end] = x
                end += ONE
            mark[x] |= np.uint8(bit)
    return end


def by_degree(degree: np.ndarray) -> np.ndarray | None:
    """New numbers by descending degree, if some vertices have far more edges than others. Then no row of lower
    neighbours is long, and the data that is read most is adjacent. None if the old numbers are as good."""
    if not are_skewed(degree):
        return None
    order = np.empty(len(degree), np.uint32)
    order[np.argsort(-degree, kind="stable")] = np.arange(len(degree), dtype=np.uint32)
    return order


def are_skewed(degree: np.ndarray) -> bool:
    """Whether the vertices at the ends of edges have, on average, more than twice the mean degree."""
    degree = degree.astype(np.float64)
    return bool(np.square(degree).sum() * len(degree) > 2 * degree.sum() ** 2)  # np.dot would start BLAS threads
