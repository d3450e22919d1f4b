"""The places of repeated edges, which random draws tell apart: they do not depend on how a graph is partitioned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import uint64

from dgraph.native import threads
from dgraph.native.machine_code import cached_njit
from dgraph.partition.adjacency import Adjacency

kernel = cached_njit()
one = uint64(1)


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


@kernel
def _count(indptr, neighbours, lo, hi, seen, places, repeated):
    """Count the edges of each of the rows lo:hi to each neighbour; `seen` is zero before and after."""
    for row in range(uint64(lo), uint64(hi)):
        first, last = uint64(indptr[row]), uint64(indptr[row + one])
        for e in range(first, last):
            v = uint64(neighbours[e])
            places[e] = seen[v]
            seen[v] += 1
        for e in range(first, last):
            repeated[e] = seen[uint64(neighbours[e])] > 1
        for e in range(first, last):
            seen[uint64(neighbours[e])] = 0
