"""Closed triads by the directions of their three arcs, found as triangles are; and the kinds of neighbours of vertices,
from which open triads follow.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, kernel, prefetch, team
from dgraph.solvers.subgraphs.neighbours import BACK, FORTH, Neighbours

GRAIN = 256  # rows that a thread takes at a time
CODES = 64  # of closed triads: the `ways` of their highest vertex to the middle and the lowest, and between those
OUT, IN, MUTUAL = 0, 1, 2  # kinds of neighbours


def closed_triads(
    mine: Neighbours, part: int, theirs: Neighbours, other: int, shift: int, size: int, threads: int
) -> np.ndarray:
    """The number of closed triads of each code that have their highest vertex in one block and the middle one in
    another. Row r of block p is vertex r * 2**shift + p."""
    counts, marks = np.zeros((threads, CODES), np.int64), np.zeros((threads, size), np.uint8)
    sides = mine.bounds, mine.others, mine.ways, theirs.bounds, theirs.others, theirs.ways
    team(_closed_triads, threads, np.zeros(1, np.int64), *sides, part, other, shift, counts, marks)
    total = counts.sum(axis=0).reshape(4, 4, 4)
    total[:, 0] = 0  # two arcs whose far ends no arc joins, which the kernel counts to avoid a branch
    return total.reshape(CODES)


def add_kinds(block: Neighbours, part: int, shift: int, kinds: np.ndarray) -> None:
    """Add the neighbours in a block to the number of each vertex's neighbours of each kind."""
    _add_kinds(block.bounds, block.others, block.ways, part, shift, kinds)


@kernel
def _closed_triads(
    rank, size, signals,
    cursor, bounds, others, ways, their_bounds, their_others, their_ways, part, other, shift, counts, marks,
):  # fmt: skip
    """Each thread writes its own `counts[rank]`. While it counts the triads of u, `marks[rank]` holds the ways of u's
    lower neighbours; it clears them afterwards."""
    mark, found = marks[rank], counts[rank]
    n = len(bounds)
    shift, other = uint64(shift), uint64(other)
    blocks = (ONE << shift) - ONE
    while atomic_load(signals, STOP) == 0:
        first = atomic_add(cursor, 0, GRAIN)
        if first >= n:
            break
        for row in range(uint64(first), uint64(min(first + GRAIN, n))):
            begin, end = uint64(bounds[row, 0]), uint64(bounds[row, 1])
            if end - begin < uint64(2):
                continue
            for i in range(begin, end):
                v = uint64(others[i])
                mark[v] = ways[i]
                if v & blocks == other:
                    prefetch(their_others, their_bounds[v >> shift, 0])
            for i in range(begin, end):
                v = uint64(others[i])
                if v & blocks != other:
                    continue
                across = uint64(ways[i]) << uint64(4)
                for k in range(uint64(their_bounds[v >> shift, 0]), uint64(their_bounds[v >> shift, 1])):
                    far = uint64(mark[their_others[k]])  # 0: not a neighbour of u
                    found[across | far << uint64(2) | uint64(their_ways[k])] += 1
            for i in range(begin, end):
                mark[others[i]] = 0


@kernel
def _add_kinds(bounds, others, ways, part, shift, kinds):
    for row in range(uint64(len(bounds))):
        u = (row << uint64(shift)) | uint64(part)
        for i in range(uint64(bounds[row, 0]), uint64(bounds[row, 1])):
            way, v = ways[i], others[i]
            kinds[u, OUT if way == FORTH else IN if way == BACK else MUTUAL] += 1
            kinds[v, IN if way == FORTH else OUT if way == BACK else MUTUAL] += 1
