"""Rows with neighbours in ascending order, so that the first match is the smallest. Sorting takes longer than a search,
so rows are sorted only once searches in unsorted ones have cost enough."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, atomic_max, kernel, share, team
from dgraph.partition.adjacency import Adjacency

READS_BEFORE_SORT = 2  # rows are sorted once all edges have been read this many times on average


@dataclass
class Order:
    """Rows, and whether they are sorted; `edges_read` counts the edges read while they were unsorted."""

    rows: Adjacency
    ascending: bool
    edges_read: int = 0


_orders: WeakKeyDictionary[Adjacency, Order] = WeakKeyDictionary()
_lock = threading.Lock()


def order_of(rows: Adjacency, reverse: Adjacency, threads: int) -> Order:
    """The rows, or a sorted copy of them without columns, made from the edges in the other order (`reverse`). It is
    cached with the rows."""
    with _lock:
        if rows not in _orders:
            disorder = np.zeros(1, np.int64)
            team(_find_disorder, threads, rows.indptr, rows.neighbours, disorder)
            # This is a new Adjacency, because a value that refers to its weak key would keep the key alive.
            _orders[rows] = Order(Adjacency(rows.indptr, rows.neighbours), not disorder[0])
        order = _orders[rows]
        if not order.ascending and order.edges_read > READS_BEFORE_SORT * rows.num_edges:
            ends = Adjacency(reverse.indptr, reverse.neighbours)
            order = _orders[rows] = Order(ends.transposed(threads), True)
    return order


@kernel
def _find_disorder(rank, size, signals, indptr, neighbours, disorder):
    """Set disorder[0] if the neighbours of some row are not in ascending order."""
    first, last = share(rank, size, indptr.size - 1)
    for u in range(uint64(first), uint64(last)):
        before = np.uint32(0)
        for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
            if neighbours[e] < before:
                atomic_max(disorder, 0, 1)
                return
            before = neighbours[e]
