"""Rows whose neighbours are in ascending order, so that the first that fits is the smallest. Sorting takes longer than
a search, so rows are sorted only once unsorted ones have cost enough."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, atomic_max, kernel, share, team
from dgraph.partition.adjacency import Adjacency

PATIENCE = 2  # how often all edges are looked at before rows are sorted


@dataclass
class Order:
    """What is known of a table's rows; `looked` counts the edges that sorted rows would have spared."""

    rows: Adjacency
    ascending: bool
    looked: int = 0


_known: WeakKeyDictionary[Adjacency, Order] = WeakKeyDictionary()
_lock = threading.Lock()


def order_of(rows: Adjacency, reverse: Adjacency, threads: int) -> Order:
    """The rows as they are, or a sorted copy without columns, made of the edges in their other order. It is kept as
    long as the rows are."""
    with _lock:
        if rows not in _known:
            disorder = np.zeros(1, np.int64)
            team(_find_disorder, threads, rows.indptr, rows.neighbours, disorder)
            # without the rows themselves, which would never be let go
            _known[rows] = Order(Adjacency(rows.indptr, rows.neighbours), not disorder[0])
        order = _known[rows]
        if not order.ascending and order.looked > PATIENCE * rows.num_edges:
            ends = Adjacency(reverse.indptr, reverse.neighbours)
            order = _known[rows] = Order(ends.transposed(threads), True)
    return order


@kernel
def _find_disorder(rank, size, signals, indptr, neighbours, disorder):
    """Sets disorder[0] if the neighbours of some row are not in ascending order."""
    first, last = share(rank, size, indptr.size - 1)
    for u in range(uint64(first), uint64(last)):
        before = np.uint32(0)
        for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
            if neighbours[e] < before:
                atomic_max(disorder, 0, 1)
                return
            before = neighbours[e]
