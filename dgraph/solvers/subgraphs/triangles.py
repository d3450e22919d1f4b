"""Triangles, each counted once, from its highest vertex: mark the lower neighbours of a vertex, then look for marks
among their own lower neighbours ("forward", Schank and Wagner, 2005).

If vertices are numbered by descending degree, lower neighbours are few. If all rows are short, marks are not worth it.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, atomic_add, barrier, kernel, part, prefetch, team
from dgraph.partition.adjacency import Adjacency
from dgraph.solvers.subgraphs.neighbours import Neighbours

GRAIN = 256  # rows that a thread takes at a time
SHORT_GRAIN = 4096
CURSOR, READ = 0, 1  # in `tally`: the next row to be taken; and edges read
SHORT_DEGREE = 8  # the mean degree of the vertices at the ends of edges


def are_short(table: Adjacency) -> bool:
    """Whether rows are too short for marks to be worth it."""
    lengths = np.diff(table.indptr)
    return bool(np.square(lengths, out=lengths).sum() <= SHORT_DEGREE * table.num_edges)


def of_short_rows(table: Adjacency, threads: int, *, degrees: bool) -> tuple[np.ndarray, np.ndarray | None, int]:
    """The number of triangles of each vertex and, with `degrees`, of its neighbours; and how many edges were read. Rows
    hold the edges of both directions."""
    counts, tally = np.zeros(len(table.indptr) - 1, np.int64), np.zeros(2, np.int64)
    degree = np.empty_like(counts) if degrees else None
    team(_of_short_rows, threads, tally, table.indptr, table.neighbours, counts, degree)
    return counts, degree, table.num_edges + int(tally[READ])


def count(
    mine: Neighbours, part: int, theirs: Neighbours, other: int, shift: int, size: int, threads: int
) -> tuple[np.ndarray, int]:
    """For each of `size` vertices, count the opposite edges, or their arcs, in all triangles with the highest vertex in
    one block and the middle one in another. Row r of block p is vertex r * 2**shift + p. Also returns how many of the
    other block's edges were read, each as often as that."""
    counts, marks = np.zeros((threads, size), np.int64), np.zeros((threads, size), np.uint8)
    tally = np.zeros(2, np.int64)
    sides = mine.bounds, mine.others, mine.ways, theirs.bounds, theirs.others, theirs.ways
    team(_count, threads, tally, *sides, part, other, shift, counts, marks)
    # the copy lets the counts of the other threads be freed
    return (counts[0].copy() if threads > 1 else counts[0]), int(tally[READ])


def ends(block: Neighbours, part: int, shift: int, size: int) -> np.ndarray:
    """For each of `size` vertices, the number of its edges in a block."""
    degree = np.zeros(size, np.int64)
    _count_ends(block.bounds, block.others, part, shift, degree)
    return degree


@kernel
def _count_ends(bounds, others, part, shift, degree):
    for row in range(uint64(len(bounds))):
        begin, end = uint64(bounds[row, 0]), uint64(bounds[row, 1])
        degree[(row << uint64(shift)) | uint64(part)] += np.int64(end - begin)
        for i in range(begin, end):
            degree[others[i]] += 1


@kernel
def _count(
    rank, size, signals,
    tally, bounds, others, ways, their_bounds, their_others, their_ways, part, other, shift, counts, marks,
):  # fmt: skip
    """Count triangles. Each thread writes its own `counts[rank]`, which are added to those of rank 0 at the end. While
    it counts the triangles of u, `marks[rank]` holds the ways of u's lower neighbours; it clears them afterwards."""
    mark, worth = marks[rank], counts[rank]
    n = len(bounds)
    shift, part, other = uint64(shift), uint64(part), uint64(other)
    blocks = (ONE << shift) - ONE
    while True:
        first, read = atomic_add(tally, CURSOR, GRAIN), uint64(0)
        if first >= n:
            break
        for row in range(uint64(first), uint64(min(first + GRAIN, n))):
            begin, end = uint64(bounds[row, 0]), uint64(bounds[row, 1])
            if end - begin < uint64(2):
                continue
            for i in range(begin, end):
                v = uint64(others[i])
                mark[v] = 1 if ways is None else ways[i]
                if v & blocks == other:
                    prefetch(their_others, their_bounds[v >> shift, 0])
            to_u = np.int64(0)
            for i in range(begin, end):
                v = uint64(others[i])
                if v & blocks != other:
                    continue
                across_w = np.int64(1 if ways is None else ways[i])
                to_v = np.int64(0)
                low, high = uint64(their_bounds[v >> shift, 0]), uint64(their_bounds[v >> shift, 1])
                read += high - low
                for k in range(low, high):
                    w = their_others[k]
                    across_v = np.int64(mark[w])  # 0: w is not a neighbour of u
                    closed = np.int64(across_v != 0)
                    to_u += closed * (1 if their_ways is None else np.int64(their_ways[k]))
                    to_v += across_v
                    worth[w] += closed * across_w
                if to_v:
                    worth[v] += to_v
            if to_u:
                worth[(row << shift) | part] += to_u
            for i in range(begin, end):
                mark[others[i]] = 0
        atomic_add(tally, READ, np.int64(read))
    barrier(size, signals)
    if rank == 0:
        for u in range(uint64(counts.shape[1])):
            for other_rank in range(1, size):
                if counts[other_rank, u]:  # never-written pages take no memory, so do not write zeros to them
                    counts[0, u] += counts[other_rank, u]


@kernel
def _of_short_rows(rank, size, signals, tally, indptr, neighbours, counts, degree):
    """For each pair of lower neighbours of a vertex, look for one in the row of the other. All threads add to `counts`;
    the thread that takes a row writes its `degree`."""
    lower = np.empty(64, np.uint32)
    n = indptr.size - 1
    while True:
        first, read = atomic_add(tally, CURSOR, SHORT_GRAIN), uint64(0)
        if first >= n:
            break
        end = uint64(indptr[first])
        for u in range(uint64(first), uint64(min(first + SHORT_GRAIN, n))):
            begin, end = end, uint64(indptr[u + ONE])
            if end - begin >= uint64(lower.size):
                lower = np.empty(end - begin + ONE, np.uint32)
            known = uint64(0)
            for e in range(begin, end):
                x = neighbours[e]
                lower[known] = x
                known += uint64(x < u)
            if degree is not None:
                degree[u] = 0
                for e in range(begin, end):
                    degree[u] += neighbours[e] != u and not _is_repeat(neighbours, begin, e)
            for i in range(ONE, known):
                for j in range(i):
                    v, w = max(lower[i], lower[j]), min(lower[i], lower[j])
                    closed, low, high = False, uint64(indptr[v]), uint64(indptr[uint64(v) + ONE])
                    read += high - low
                    for e in range(low, high):
                        closed |= neighbours[e] == w
                    if closed and v != w and not (_is_repeat(lower, 0, i) or _is_repeat(lower, 0, j)):
                        atomic_add(counts, u, 1)
                        atomic_add(counts, v, 1)
                        atomic_add(counts, w, 1)
        atomic_add(tally, READ, np.int64(read))


@part
def _is_repeat(values, first, i):
    """Whether values[i] is among those before it, from `first` on."""
    for j in range(uint64(first), uint64(i)):  # noqa: SIM110
        if values[j] == values[i]:
            return True
    return False
