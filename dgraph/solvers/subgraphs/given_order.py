"""A greedy coloring in an order that the caller gives."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.team import kernel
from dgraph.partition.adjacency import Adjacency

UNCOLORED = -1


def color_in_order(rows: Adjacency, order: np.ndarray) -> np.ndarray:
    """Each vertex of `order` takes the smallest color that none of its neighbours has by then. Other vertices stay
    uncolored."""
    n = len(rows.indptr) - 1
    colors = np.full(n, UNCOLORED, np.int64)
    _color_in_order(rows.indptr, rows.neighbours, order, colors, np.full(n + 1, UNCOLORED, np.int64))
    return colors


@kernel
def _color_in_order(indptr, neighbours, order, colors, taken):
    """`taken[color]` is the last vertex that has a neighbour of this color."""
    for i in range(order.size):
        v = order[i]
        for e in range(uint64(indptr[v]), uint64(indptr[v + 1])):
            color = colors[neighbours[e]]
            if color != UNCOLORED:
                taken[color] = v
        smallest = 0
        while taken[smallest] == v:
            smallest += 1
        colors[v] = smallest
